"""Section 5 of the main paper as suites: Figures 4 to 9, 12 and 13, a leaderboard, and `paper`, all of them together.

The paper leaves open what its figures keep fixed: here 100 nodes, A100 and A40 half and half, Poisson 50 arrivals a
slot, 5 vendors, deadlines `uniform`; each figure varies one thing. Run j has the same names of random streams in every
figure, so that instances of two figures that agree are one instance, and electricity prices of a day of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from msgspec import structs

from ratiobench.bench.family.suite import Case, Plot, PrintedGain, SolveSettings, Suite
from ratiobench.instances.lora.arrivals import days, list_earlier_days

# Whoever needs constants: here they come from the day before, as they would in use; with the margin that Theorem A
# needs for a day that is not the same (`ratiobench.online.lora.algorithms.posted`)
INFORMED = (
    "pdftsp:prior=yesterday",
    "pdftsp:prior=yesterday,units=given",
    "eris:prior=yesterday",
    "posted:prior=yesterday,margin=3/2",
    "minimal-edit:prior=yesterday",
    "capped:prior=yesterday",
    "bbar-rule:prior=yesterday",
)
# The mechanism in the paper's units, with an exact maximiser of (9), and with Algorithm 2, which is what the paper's
# figures show
PDFTSP = ("pdftsp", "pdftsp:search=printed")
# The paper's own, with alpha and beta of the very day, as the paper has them: memory in GB (section 2.1), in the MB of
# the file, and in the units in which Theorem 5 applies
AS_PRINTED = (*PDFTSP, "pdftsp:units=given", "pdftsp:units=canonical")
# EFT and NTM, rejecting who is worth nothing, and as the paper words them, taking whatever fits
EARLIEST = ("eft", "ntm", "eft:admit=all", "ntm:admit=all")
_OTHERS = (*INFORMED, "titan", *EARLIEST, "greedy")
ALGORITHMS = (*AS_PRINTED, *_OTHERS)
# What is learned from the days before, and the guard of Theorem H
LEARNED = ("learned:prior=history", "learned:guard=99,prior=history", "guarded:inner=greedy,prior=history")
# Price laws and baselines of the literature, with constants, advice and history of the day before
BASELINES = (
    "zcl:prior=yesterday,margin=3/2",
    "reserve:loss=1/100000,prior=yesterday,margin=3/2",
    "advice:loss=1/100000,prior=yesterday,margin=3/2",
    "units:prior=yesterday",
    "static:prior=yesterday",
    "mirror:prior=yesterday",
    "mirror:rule=first-order,prior=yesterday",
)
DAYS_BEFORE = 7
_SCALES = ("1/30", "1/10", "1/3", "3")
_MB_GRID = ("pdftsp:units=given", *(f"pdftsp:money={scale},units=given" for scale in _SCALES))
_GB_GRID = ("pdftsp", *(f"pdftsp:money={scale}" for scale in _SCALES))
# The paper's only amount of money is Figure 10's bid of 15, a random one: in this unit that is about the median
BID_OF_15 = "pdftsp:money=1/500"
# pdFTSP's welfare depends on the unit of money (theory: alpha, beta and bbar all scale with it)
GRID = (BID_OF_15, *_GB_GRID[1:], *_MB_GRID[1:])
HINDSIGHT = (
    ("pdftsp:units=given, best of 5 money scales in hindsight", _MB_GRID),
    ("pdftsp, best of 5 money scales in GB and in MB, in hindsight", (*_GB_GRID, *_MB_GRID)),
)
TRACES = ("pai", "philly", "helios")
# PJM's prices of run 0, 1, ...: all seasons; in 2017-09-04 some are negative. The day before has its day's prices.
TARIFF_DAYS = ("2017-05-08", "2017-02-02", "2017-07-12", "2017-09-04", "2017-12-29")


class Scale(NamedTuple):
    divisor: int
    runs: int


FULL, SMALL = Scale(1, 5), Scale(10, 3)
NO_SOLVER = SolveSettings(backend="none")  # Work on OPT of a day


def prices(j: int) -> dict[str, str]:
    return {"region": "PJM", "day": TARIFF_DAYS[j]}


def days_before(recipe: dict[str, Any], trace: str, day: str, number: int) -> dict[str, Any]:
    known = (*list_earlier_days(trace), *days(trace))
    chosen = known[: known.index(day)][-number:]
    seed, arrivals = [*recipe.get("seed", []), "history"], recipe["arrivals"]
    parts = [
        {**recipe, "name": each, "seed": [*seed, each], "arrivals": {**arrivals, "trace": trace, "day": each}}
        for each in chosen
    ]
    return {"kind": "joined", "recipes": parts}


def day_before(recipe: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The recipe of the day before, of the same trace or of other draws of the same law; None for other recipes."""
    if recipe.get("kind") != "paper" or "days" in recipe or "counts" in recipe["arrivals"]:
        return None
    name, trace = f"before {recipe['name']}", recipe["arrivals"].get("trace")
    if trace is None:
        return {**recipe, "name": name, "seed": [*recipe["seed"], "yesterday"]}
    day = recipe["arrivals"].get("day", days(trace)[0])
    return {**days_before(dict(recipe), trace, day, 1)["recipes"][0], "name": name}


def _run(
    group: str, j: int, both: Sequence[dict[str, Any]], seed: list[str], more: tuple[str, ...], settings: SolveSettings
) -> Case:
    """Run j of a group: today, and the day before it with another seed."""
    before, today = both
    recipe = today | {"seed": seed, "name": f"{group}, run {j}"}
    prior = before | {"seed": [*seed, "yesterday"], "name": f"before {group}, run {j}"}
    return Case(recipe["name"], recipe, (*ALGORITHMS, *more), settings, group, prior)


def _case(scale: Scale, group: str, j: int, change: Mapping[str, Any], more: tuple[str, ...]) -> Case:
    """Run j of a group: the base day with one change, and the day before it."""
    base = {"kind": "paper", "nodes": 100, "arrivals": {"poisson": 50}, "prices": prices(j), **change}
    base["nodes"] //= scale.divisor
    arrivals = dict(base["arrivals"])
    key = "poisson" if "poisson" in arrivals else "mean"
    arrivals[key] //= scale.divisor
    both = [base | {"arrivals": arrivals}] * 2
    if key == "mean":
        both = [base | {"arrivals": arrivals | {"day": day}} for day in days(arrivals["trace"])[j : j + 2]]
    seed = ["paper", f"run {j}", *([f"divisor {scale.divisor}"] if scale.divisor > 1 else [])]
    return _run(group, j, both, seed, more, NO_SOLVER)


_LOADS = {"light, Poisson 30": 30, "medium, Poisson 50": 50, "high, Poisson 80": 80}
# What each column of a figure changes of the base day
_CHANGES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "fig4": {f"{nodes} nodes": {"nodes": nodes} for nodes in (50, 100, 150, 200)},
    # The generator's default is 5 vendors; the same words make the same instance.
    "fig5": {f"{count} vendors": {} if count == 5 else {"vendors": {"count": count}} for count in (1, 3, 5, 9)},
    "fig6": {"A100": {"mix": "a100"}, "A40": {"mix": "a40"}, "mixed": {}},
    "fig7": {trace: {"arrivals": {"trace": trace, "mean": 50}} for trace in TRACES},
    "fig8": {name: {"arrivals": {"poisson": mean}} for name, mean in _LOADS.items()},
    "fig9": {"tight": {"deadlines": "tight"}, "uniform": {}, "loose": {"deadlines": "loose"}},
    "fig13": {f"Poisson {mean}": {"arrivals": {"poisson": mean}} for mean in (10, *_LOADS.values())},
}


def _cases(figure: str, scale: Scale) -> Iterator[Case]:
    more = GRID if figure in ("fig7", "fig8") else ()
    for group, change in _CHANGES[figure].items():
        for j in range(scale.runs):
            yield _case(scale, group, j, change, more)


# Parts of days so small that a solver closes the interval, or nearly: tasks and nodes of each type.
_PARTS = (("40 tasks", 40, 1), ("100 tasks", 100, 2), ("200 tasks", 200, 4))


def _parts(scale: Scale) -> Iterator[Case]:
    for group, tasks, each in _PARTS[: 3 if scale is FULL else 2]:
        for j in range(scale.runs):
            trace = TRACES[j % len(TRACES)]
            base = {"kind": "paper", "start": 60, "slots": 36, "quiet": 8, "nodes": {"a100": each, "a40": each}}
            both = [
                base | {"arrivals": {"trace": trace, "day": day}, "tasks": tasks, "prices": prices(j)}
                for day in days(trace)[j : j + 2]
            ]
            yield _run(group, j, both, ["paper", group, f"run {j}"], GRID, SolveSettings(effort=6))


def _leaderboard(scale: Scale) -> Iterator[Case]:
    """The days of Figures 7 and 8 with the week before each as history, or as many days of its kind."""
    for case in (*_cases("fig7", scale), *_cases("fig8", scale)):
        recipe, trace = dict(case.recipe), case.recipe["arrivals"].get("trace")
        if trace is not None:
            history = days_before(recipe, trace, recipe["arrivals"]["day"], DAYS_BEFORE)
        else:
            seeds = ([*recipe["seed"], "history", str(k)] for k in range(DAYS_BEFORE))
            history = {"kind": "joined", "recipes": [{**recipe, "name": seed[-1], "seed": seed} for seed in seeds]}
        yield replace(case, algorithms=(*_OTHERS, *LEARNED, *BASELINES), history=history)


WHICH = (
    "pdftsp chooses the best schedule (9) exactly; pdftsp:search=printed chooses it by Algorithm 2, as the paper does."
)
# In which units pdFTSP's rows are
UNITS = (
    "pdftsp measures memory in GB and compute in samples per slot, as section 2.1 does; units=given has the file's MB. "
    "The paper names no unit of money: here it is a micro-dollar (a median bid of about 7,000), and "
    "money=1/500 is that in which Figure 10's bid of 15 is about the median."
)
_ADMIT = (
    "The paper does not say that EFT and NTM look at a bid: eft:admit=all and ntm:admit=all take whatever fits, as it "
    "words them; eft and ntm reject tasks that are worth nothing."
)
_WHY = (
    "The paper gives neither its unit of money nor bids, vendor prices and rates s_ik; pdFTSP's welfare depends on the "
    "units, so it is shown in those that the paper names, in the file's, in canonical ones (bbar >= 1, as Theorem 5 "
    f"needs) and at its best money scale in hindsight where that was run. {UNITS} {WHICH} {_ADMIT}"
)
TRACE_RUNS = (
    "The runs of a trace are consecutive days of one week, each with the electricity prices of another day of 2017: "
    "no random sample of days, so the interval by Student's t says how much these runs differ and is only a rough "
    "guide to other days."
)
_POISSON_RUNS = "Runs with Poisson arrivals are independent draws, each with the electricity prices of another day."
_PART_RUNS = (
    "The parts of days of one size take the three traces in turn (PAI, Philly, Helios, PAI, Philly): their means and "
    "intervals mix differences between traces with those between days."
)
# What the repetitions of a figure are, which an interval cannot say
RUNS = f"{TRACE_RUNS} {_PART_RUNS} {_POISSON_RUNS}"
_TITAN = (
    "Titan gives every slot's arrivals the best answer that there is for them, proved to within 0.1 % of its value "
    "(batches of up to 5,000 cells to the end); where the proof was not finished its label says at how many batches, "
    "and how far off."
)


def _printed(group: str, titan: str, eft: str, ntm: str) -> tuple[PrintedGain, ...]:
    """By how many percent the paper has pdFTSP above the others: of both searches, over both forms of EFT and NTM."""
    printed = {"titan": titan, "eft": eft, "ntm": ntm}
    return tuple(
        PrintedGain(group, ours, than, printed[than.partition(":")[0]])
        for ours in PDFTSP
        for than in ("titan", *EARLIEST)
    )


# The figures, by the names of their suites and what follows a `_`; their groups are those of the suite's cases
_PLOTS = (
    Plot(
        "fig4", "Figure 4: number of nodes", "welfare", (), "nodes",
        printed=_printed("50 nodes", "30.78", "137.35", "155.84"), note=f"{_WHY} {_TITAN} {_POISSON_RUNS}",
    ),
    Plot(
        "fig5", "Figure 5: number of labor vendors", "welfare", (), "vendors",
        note="The paper: welfare rises slightly with the number of vendors. It names no numbers; 1, 3, 5, 9 are "
        f"ours. {_WHY} {_POISSON_RUNS}",
    ),
    Plot(
        "fig6", "Figure 6: A100, A40, half and half", "welfare", (), "node types",
        note=f"The paper: A100 above A40, and pdFTSP best on all three. {_WHY} {_POISSON_RUNS}",
    ),
    Plot(
        "fig7", "Figure 7: real traces", "welfare", (), "trace", hindsight=HINDSIGHT,
        note="Arrivals of real days, rescaled to 7,200 a day (a tenth at the small scale); the paper does not say "
        f"which days. The paper: pdFTSP best on all three. {_WHY} {TRACE_RUNS}",
    ),
    Plot(
        "fig8", "Figure 8: Poisson arrivals", "welfare", (), "arrivals a slot", hindsight=HINDSIGHT,
        printed=_printed("high, Poisson 80", "48.99", "151.57", "184.94"), note=f"{_WHY} {_TITAN} {_POISSON_RUNS}",
    ),
    Plot(
        "fig9", "Figure 9: deadlines", "welfare", (), "deadlines",
        note="The paper does not say how it draws deadlines; ours are 1 to 1.5, 1 to 5 and 4 to 8 times the fewest "
        f"slots that a task needs. {_WHY} {_POISSON_RUNS}",
    ),
    Plot(
        "fig12", "Figure 12: competitive ratio", "ratio", (), "instances", hindsight=HINDSIGHT,
        note="OPT/ALG; the paper reports at most 3 against Gurobi's optimum, at sizes that it does not state. Here "
        "OPT is known within a certified interval at every size, and the interval on the mean contains it. "
        f"{_WHY} {RUNS}",
    ),
    Plot(
        "fig13", "Figure 13: run time per task", "seconds", (), "arrivals a slot", (*PDFTSP, "titan"),
        note="Seconds of a whole run over its tasks, measured beside other work: only the order of magnitude is to "
        f"be read. The paper: pdFTSP faster than Titan, whose time grows with the problem. {UNITS} {WHICH}",
    ),
    *(
        Plot(
            name, title, kind, (), "arrivals",
            note=f"Constants of the day before, never of the day itself. {UNITS} {_ADMIT} {TRACE_RUNS} {_POISSON_RUNS}",
        )
        for name, title, kind in (
            ("leaderboard", "Welfare over the upper bound on OPT", "reached"),
            ("leaderboard_table", "Which algorithm to take", "leaderboard"),
        )
    ),
)  # fmt: skip
_SUMMARIES = {
    "fig4": "Figure 4 of the main paper: 50, 100, 150, 200 nodes",
    "fig5": "Figure 5: 1, 3, 5, 9 labor vendors",
    "fig6": "Figure 6: A100, A40, half and half",
    "fig7": "Figure 7: days of the PAI, Philly and Helios traces",
    "fig8": "Figure 8: Poisson 30, 50, 80 arrivals a slot",
    "fig9": "Figure 9: tight, uniform and loose deadlines",
    "fig12": "Figure 12: empirical competitive ratio, on parts of days and on all days of Figures 7 and 8",
    "fig13": "Figure 13: run time per task of pdFTSP and Titan",
    "leaderboard": "All algorithms on three traces and three loads, constants from the day before",
}


def _all_cases(figure: str, scale: Scale) -> tuple[Case, ...]:
    if figure == "fig12":
        return (*_parts(scale), *_cases("fig7", scale), *_cases("fig8", scale))
    return tuple(_leaderboard(scale) if figure == "leaderboard" else _cases(figure, scale))


def _figure(name: str) -> Suite:
    full, small = _all_cases(name, FULL), _all_cases(name, SMALL)
    groups = tuple(dict.fromkeys(case.group for case in full))
    plots = tuple(replace(plot, groups=groups) for plot in _PLOTS if plot.name.partition("_")[0] == name)
    return Suite(name, _SUMMARIES[name], full, plots, small)


def _within(suite: Suite) -> Suite:
    """The suite as a part of `paper`: its name before those of its cases and groups."""

    def named(text: str) -> str:
        return f"{suite.name}: {text}"

    def cases(those: tuple[Case, ...]) -> tuple[Case, ...]:
        return tuple(replace(case, name=named(case.name), group=named(case.group)) for case in those)

    plots = tuple(
        replace(
            plot,
            groups=tuple(map(named, plot.groups)),
            printed=tuple(structs.replace(figure, group=named(figure.group)) for figure in plot.printed),
        )
        for plot in suite.plots
    )
    return replace(suite, cases=cases(suite.cases), plots=plots, small=cases(suite.small))


def figure_suites(bidding: tuple[Suite, ...] = ()) -> tuple[Suite, ...]:
    """The suites of the figures, `leaderboard`, and `paper`; `bidding` are Figures 10 and 11, which have no scale."""
    figures = tuple(_figure(name) for name in _SUMMARIES)
    parts = [_within(suite) for suite in (*figures, *bidding)]
    paper = Suite(
        "paper",
        "Section 5 of the main paper: Figures 4 to 13 and the leaderboard, at the paper's scale",
        tuple(case for part in parts for case in part.cases),
        tuple(plot for part in parts for plot in part.plots),
        tuple(case for part in parts for case in (part.small or part.cases)),
    )
    return (*figures, *bidding, paper)
