"""The suites of family `lora`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

from ratiobench.bench.family.suite import COUNTEREXAMPLES, Case, Plot, SolveSettings, Study, Suite
from ratiobench.bench.lora import paper_suites as paper
from ratiobench.bench.lora.sweeps import sweep_axes, sweep_suite
from ratiobench.instances.lora.arrivals import days
from ratiobench.instances.lora.constructions import FAMILIES
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import names

ALGORITHMS = (*paper.AS_PRINTED, "titan", *paper.EARLIEST, "greedy", "eris")
# Of a whole day: the other two readings of pdFTSP are in `paper`, on more days than this one
OF_A_DAY = (paper.AS_PRINTED[0], *(name for name in ALGORITHMS if name not in paper.AS_PRINTED[:3]))

# Part of a working day on few nodes, so that tasks compete (load about 1) and every backend can still try it directly.
_TRACES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pai_40", {"arrivals": {"trace": "pai"}, "tasks": 40, "nodes": {"a100": 1, "a40": 1}}),
    ("philly_60", {"arrivals": {"trace": "philly"}, "tasks": 60, "slots": 48, "nodes": {"a100": 1, "a40": 1}}),
    ("helios_100", {"arrivals": {"trace": "helios"}, "tasks": 100, "nodes": {"a100": 2, "a40": 2}}),
)
_PART = {"kind": "paper", "start": 60, "slots": 36, "quiet": 8}
# Small enough for P as printed: HiGHS and CBC prove its optimum in a second.
_PAI_12 = {
    **_PART, "name": "pai_12", "seed": ["quick", "pai_12"], "arrivals": {"trace": "pai"}, "tasks": 12, "slots": 24,
    "nodes": {"a100": 1, "a40": 1},
}  # fmt: skip
# Work on OPT of a trace case: about five seconds of one core each
_EFFORTS = {
    "pai_40": SolveSettings(effort=6),
    "philly_60": SolveSettings(effort=6),
    "helios_100": SolveSettings(effort=2),
}
# A whole day at the paper's scale: 7,200 arrivals in 144 slots of 10 minutes on 100 nodes, A100 and A40 half and half.
_DAY: dict[str, Any] = {"kind": "paper", "nodes": 100, "arrivals": {"trace": "philly"}, "tasks": 7200}
# Rows of the table of gaps: tasks and nodes; arrivals of run j by _ARRIVALS[j], the days by j as well.
_ROWS = ((2000, 28), (4320, 50), (7200, 100), (11520, 200), (7200, 50), (11520, 50))
_SMALL_ROWS = ((100, 4), (200, 8), (300, 10))
_ARRIVALS: tuple[dict[str, Any], ...] = (
    {"trace": "pai", "day": "1970-03-10"},
    {"trace": "philly", "day": "2017-10-10"},
    {"trace": "helios", "day": "2020-04-21"},
    {"poisson": 50},
    {"trace": "pai", "day": "1970-03-12"},
)
# What can be proved beside what is printed; constants come from the day before, never from the day itself.
PROVED = ("posted", "minimal-edit", "capped", "bbar-rule", "greedy")
MECHANISMS = (
    "pdftsp",
    "pdftsp:prior=yesterday",
    "pdftsp:units=given",
    "pdftsp:prior=yesterday,units=given",
    "pdftsp:units=canonical",
    "posted:prior=yesterday,margin=3/2",
    "minimal-edit:prior=yesterday",
    "minimal-edit:units=canonical,prior=yesterday,margin=3/2",
    "capped:prior=yesterday",
    "bbar-rule:prior=yesterday",
    "greedy",
)
PLAIN = "learned:ahead=1,prior=history"  # No more demand is expected beyond an hour than counts foretell
# A guarantee that gets better from row to row, and rows to compare with
GUARDS = (
    "learned:prior=history",
    *(f"learned:guard={beta},prior=history" for beta in (99, 59, 39, 29)),
    "posted:prior=history",
)
# The same with the credits of slots that have passed taken back
SETTLED = "learned:guard=29,past=settled,prior=history"
# The load of history over that of the day, and days of history
_LOADS_OF_HISTORY = (("true history", 1.0, 3), ("a tenth of the load", 0.1, 3), ("ten times the load", 10.0, 1))
_FALSE = ("a tenth of the load", "ten times the load", "another trace's history", "bids ten times as high")
# Days of the paper's scale: tasks and nodes (A100 and A40 half and half) that make these loads.
_LOADS = (("0.8", 6850, 100), ("1.6", 6850, 50), ("2.5", 10700, 50))
_GROUPS = {"tiny": "tiny instances", COUNTEREXAMPLES: "counterexamples to claims"}
# Shipped instances in `quick`: tiny ones, and two on which Theorem 5 is violated
_QUICK = (
    *("tiny_contention", "tiny_two_types", "tiny_vendors", "tiny_negative_tariff"),
    *("thm5_T5_3tasks", "thm5_T4_4tasks_strict"),
)


@lru_cache(maxsize=1)
def suites() -> tuple[Suite, ...]:
    """All suites; effort is stated here, so a suite gives the same figures on every machine."""
    traces = tuple(
        Case(name, {**_PART, "name": name, "seed": ["quick", name], **recipe}, ALGORITHMS, _EFFORTS[name], "traces")
        for name, recipe in _TRACES
    )
    axes = sweep_axes()
    return (
        Suite(
            "quick",
            "Real arrivals from PAI, Philly and Helios (40, 60, 100 tasks, and a day of 7,200), five tiny instances "
            "solved to proven optimality, and two on which Theorem 5 is violated; at the end a small sweep over nodes. "
            "Whole days under pdFTSP's readings `search=printed` and `units=given`, its strongest, are in `paper`",
            tuple(
                _certified(case)
                for case in (
                    *traces,
                    Case(
                        "philly_7200",
                        _DAY | {"name": "philly_7200", "seed": ["day"]},
                        (*OF_A_DAY, *paper.LEARNED),
                        SolveSettings(),
                        "day",
                        history=paper.days_before(_DAY, "philly", days("philly")[0], 3),
                    ),
                    Case("pai_12", _PAI_12, ALGORITHMS, SolveSettings(), "tiny"),
                    *map(_shipped, _QUICK),
                    *axes[0].small,
                )
            ),
            (axes[0].plot(axes[0].small),),
            crosscheck=True,
            groups=_GROUPS | {"traces": "real arrivals", "day": "a day of 7,200 real arrivals"},
        ),
        sweep_suite(axes),
        Suite(
            "mechanisms",
            "Mechanisms with proved guarantees beside the printed one: three traces, loads 0.8, 1.6 and 2.5, five days "
            "each on 50 to 100 nodes (a tenth, and three days, at the small scale); public constants are those of the "
            "day before",
            tuple(_mechanisms(runs=5, divisor=1)),
            tuple(_mechanism_plots()),
            tuple(_mechanisms(runs=3, divisor=10)),
        ),
        Suite(
            "learning",
            "Learned prices on days that history predicts poorly: Poisson arrivals at loads 0.8, 1.6 and 2.5, tasks "
            "with sizes of their own, and a day of Philly whose number of tasks is not announced",
            tuple(_learning(divisor=1)),
            small=tuple(_learning(divisor=10)),
        ),
        Suite(
            "guards",
            "Consistency against robustness: the loss by a guarantee with true history, and its gain with a history of "
            "a tenth or ten times the load, of another trace, or with bids ten times as high",
            tuple(_guards(divisor=1)),
            (
                Plot(
                    "guards_history",
                    "Welfare over the upper bound on OPT, by the history that was learned from",
                    "reached",
                    ("true history", *_FALSE),
                    "history",
                    note="True history shows the loss by the guard, false history its gain. A day of each of three "
                    "traces at load 1.6, and their means.",
                ),
            ),
            tuple(_guards(divisor=10)),
        ),
        Suite(
            "theory",
            "Claims of the paper and their verdicts: every claim on all shipped instances and a part of a day, with "
            "utility curves (Figures 10 and 11 of the paper)",
            (*map(_theory, names()), _PAI_40),
            _THEORY_PLOTS,
            groups=_GROUPS | {"part of a day": "a part of a day"},
            verdicts_first=True,
        ),
        *paper.figure_suites((_bidding_suite("fig10"), _bidding_suite("fig11"))),
        Suite(
            "gaps",
            "Width of the interval on OPT: days of 2,000 to 11,520 tasks and contended parts of days of 100 to "
            "300, five runs each, no solver",
            (
                *(_gap(row, j, {}, 1) for row in _ROWS for j in range(5)),
                *(_gap(row, j, {"start": 60, "slots": 40, "quiet": 8}, 8) for row in _SMALL_ROWS for j in range(5)),
            ),
        ),
        Suite(
            "tiny",
            "All shipped tiny instances and counterexamples",
            tuple(map(_shipped, names())),
            groups=_GROUPS,
            verdicts_first=True,
        ),
    )


def _gap(row: tuple[int, int], j: int, part: dict[str, Any], effort: int) -> Case:
    tasks, nodes = row
    name = f"{tasks}_{nodes}_run{j}"
    recipe = {"kind": "paper", "nodes": nodes, "arrivals": _ARRIVALS[j], "tasks": tasks, "seed": ["gaps", name]}
    settings = SolveSettings(backend="none", effort=effort)
    return Case(name, {**recipe, **part, "name": name}, ("greedy",), settings, f"{tasks} tasks, {nodes} nodes")


def _day(
    name: str, seed: list[Any], nodes: int, tasks: int, divisor: int, arrivals: dict[str, Any], run: int = 0
) -> dict[str, Any]:
    return {
        "kind": "paper", "name": name, "seed": seed, "nodes": nodes // divisor, "tasks": tasks // divisor,
        "arrivals": arrivals, "prices": paper.prices(run),
    }  # fmt: skip


def _mechanisms(runs: int, divisor: int) -> Iterator[Case]:
    for trace, (load, tasks, nodes), j in product(paper.TRACES, _LOADS, range(runs)):
        name = f"{trace} load {load} run {j}"
        today, before = (
            _day(f"{name} {part}", ["mechanisms", name, part], nodes, tasks, divisor, {"trace": trace, "day": day}, j)
            for part, day in (("day", days(trace)[j + 1]), ("day before", days(trace)[j]))
        )
        history = paper.days_before(today, trace, days(trace)[j + 1], paper.DAYS_BEFORE)
        rows = (*MECHANISMS, *paper.LEARNED, *paper.BASELINES)
        yield Case(name, today, rows, paper.NO_SOLVER, f"{trace} {load}", prior=before, history=history)


def _learning(divisor: int) -> Iterator[Case]:
    """Days on which nothing was tuned, with the week before each, or as many days of Poisson arrivals."""

    def case(name: str, group: str, today: dict[str, Any], before: list[dict[str, Any]], rows: tuple[str, ...]) -> Case:
        history = {"kind": "joined", "recipes": before}
        return Case(name, today, rows, paper.NO_SOLVER, group, prior=before[-1], history=history)

    rows = (paper.LEARNED[0], "learned:guard=59,prior=history", PLAIN, "bbar-rule:prior=yesterday", "greedy")
    for load, tasks, nodes in _LOADS:
        name = f"poisson load {load} run 0"
        today, *before = (
            _day(f"{name} {k}", ["learning", name, k], nodes, tasks, divisor, {"poisson": 50})
            for k in range(paper.DAYS_BEFORE + 1)
        )
        yield case(name, f"poisson {load}", today, before, rows)
    _, tasks, nodes = _LOADS[1]
    unknown = ("learned:total=unknown,prior=history", *rows[:1], PLAIN)
    for group, more, algorithms, trace in (
        *(("own sizes", {"sizes": "own"}, rows, trace) for trace in paper.TRACES[:2]),
        ("unknown number", {}, unknown, "philly"),
    ):
        day, name = days(trace)[3], f"{trace} {group} run 0"
        today = _day(name, ["learning", name], nodes, tasks, divisor, {"trace": trace, "day": day}) | more
        before = paper.days_before(today, trace, day, paper.DAYS_BEFORE)["recipes"]
        yield case(name, f"{trace} {group}", today, before, algorithms)


def _guards(divisor: int) -> Iterator[Case]:
    _, tasks, nodes = _LOADS[1]
    for trace, other in zip(paper.TRACES, (*paper.TRACES[1:], paper.TRACES[0]), strict=True):
        day = days(trace)[6]
        seed, histories = ["guards", trace], []
        today = _day(f"{trace} {day}", seed, nodes, tasks, divisor, {"trace": trace, "day": day})
        for group, load, number in _LOADS_OF_HISTORY:
            drawn = today | {"tasks": int(tasks * load) // divisor, "seed": [*seed, f"{load:g}"]}
            histories.append((group, group, paper.days_before(drawn, trace, day, number)))
        history = paper.days_before(today | {"seed": [*seed, other]}, other, days(other)[6], 3)
        histories.append((f"history of {other}", _FALSE[2], history))
        dear = {"seed": [*seed, "dear"], "bids": {"per_1000": [600, 3600]}}
        histories.append((_FALSE[3], _FALSE[3], paper.days_before(today | dear, trace, day, 3)))
        rows = (*GUARDS, SETTLED, *paper.BASELINES)
        for name, group, history in histories:
            prior = history["recipes"][-1]
            yield Case(f"{trace}, {name}", today, rows, paper.NO_SOLVER, group, prior=prior, history=history)


def _mechanism_plots() -> Iterator[Plot]:
    groups = tuple(f"{trace} {load}" for trace in paper.TRACES for load, _, _ in _LOADS)
    for kind, title, note in (
        ("reached", "Welfare over the upper bound on OPT", "At least this part of the optimum."),
        ("certificate", "What a run proves of its own OPT/ALG", "D(tau prices) / ALG with the run's own final prices."),
        ("revenue_share", "Revenue over welfare", "What tasks pay over the welfare. (14) does not charge operation."),
        ("admitted_share", "Admitted tasks over those that could be served", ""),
        (
            "long_fairness",
            "Fairness to long tasks",
            "The admitted share among the quarter of the tasks that needs most slots, over that of all tasks.",
        ),
    ):
        note = f"{note} {paper.TRACE_RUNS}".lstrip()
        yield Plot(f"mechanisms_{kind}", title, kind, groups, "trace and load", note=note)


# alpha and beta of pai_40, kept: then a bid moves nothing but its own outcome, as in the paper's proof of Theorem 3.
_FIXED = "pdftsp:alpha=7253/17088,beta=2012/375"
_THEORY = ("pdftsp", "pdftsp:payment=critical", "pdftsp:updates=admitted", *PROVED)
_THEORY_PLOTS = (
    Plot(
        "fig10",
        "Figure 10: utility over the bid, alpha and beta kept",
        "curve",
        ("part of a day",),
        "bid",
        note="The paper shows a task of valuation 15 and expense 10 whose best bid is its valuation. That is so where "
        "its price plus its operation is below its valuation (task 5), and under the payment b - F (critical). Under "
        "(14) a task gains by overbidding where its valuation lies between its payment and payment plus operation "
        "(task 10): (14) does not charge the operation. "
        f"{paper.UNITS} {paper.WHICH}",
    ),
    Plot(
        "overbid",
        "Profitable misreports of the bid on the smallest counterexamples",
        "curve",
        (COUNTEREXAMPLES,),
        "bid",
        note="truth_overbid_e: (14) with a cost of operation. truth_alpha_underbid and truth_nonmonotone: alpha and "
        "beta taken from the bids, so that a bid moves the prices that it meets.",
    ),
    Plot(
        "fig11",
        "Figure 11: bids and payments",
        "charges",
        ("part of a day",),
        "admitted tasks",
        note="No payment is above its bid, as in the paper. Under (14) some are below what the task costs the provider "
        f"(vendor and operation); under b - F none is. {paper.UNITS} {paper.WHICH}",
    ),
)
_CURVES = {
    "truth_overbid_e": [("pdftsp:alpha=8,beta=1/125", 1), ("pdftsp:alpha=8,beta=1/125,payment=critical", 1)],
    "truth_alpha_underbid": [("pdftsp", 1)],
    "truth_nonmonotone": [("pdftsp", 2)],
}


# Charges and utility curves of Figures 10 and 11: both searches under (14), and the payment b - F
_BIDDING = tuple(
    Study(kind, algorithm, task)
    for algorithm in (_FIXED, f"{_FIXED},search=printed", f"{_FIXED},payment=critical")
    for kind, task in (("charges", None), ("curve", 5), ("curve", 10))
)
_PAI_40 = Case(
    "pai_40",
    {**_PART, "name": "pai_40", "seed": ["quick", "pai_40"], **dict(_TRACES)["pai_40"]},
    _THEORY,
    _EFFORTS["pai_40"],
    "part of a day",
    studies=_BIDDING,
)


def _theory(name: str) -> Case:
    studies = tuple(Study("curve", algorithm, task) for algorithm, task in _CURVES.get(name, ()))
    return replace(_shipped(name), algorithms=_THEORY, studies=studies)


def member(text: str) -> Suite | None:
    """The member of a parametric family that ``lead:L=6,n=4`` names; None if the name is no family's."""
    name, _, tail = text.partition(":")
    if name not in FAMILIES:
        return None
    recipe: dict[str, Any] = {"kind": "family", "name": name}
    for part in filter(None, tail.split(",")):
        key, _, value = part.partition("=")
        recipe[key] = int(value) if re.fullmatch(r"-?\d{1,15}", value) else value
    case = Case(generate(recipe).name, recipe, _THEORY, SolveSettings(), COUNTEREXAMPLES)
    return Suite(text, FAMILIES[name].summary, (case,), verdicts_first=True)


def _bidding_suite(name: str) -> Suite:
    plot = next(each for each in _THEORY_PLOTS if each.name == name)
    summaries = {"fig10": "Figure 10: a bidder's utility over its bid", "fig11": "Figure 11: bids and payments"}
    studies = tuple(study for study in _BIDDING if study.kind == plot.kind)
    case = replace(_PAI_40, algorithms=("pdftsp", "pdftsp:payment=critical"), studies=studies)
    return Suite(name, summaries[name], (case,), (plot,), (case,))


def _certified(case: Case) -> Case:
    """OPT of a case of `quick` comes from a certificate of R1 or of the manifest `suites/quick`."""
    is_in_r1 = case.recipe["kind"] == "named" or case.group == "day"
    name = case.name.replace(", ", "_").replace(" ", "_")
    return replace(case, certificate=f"{'R1' if is_in_r1 else 'suites/quick'}/{name}")


def _shipped(name: str) -> Case:
    group = "tiny" if name.startswith("tiny_") else COUNTEREXAMPLES
    return Case(name, {"kind": "named", "name": name}, ALGORITHMS, SolveSettings(), group)
