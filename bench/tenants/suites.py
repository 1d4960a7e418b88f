"""The suites of family `tenants`: all readings of the patent's search, policies over loads, wishes and prices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ratiobench.bench.family.suite import Case, Plot, SolveSettings, Suite
from ratiobench.instances.tenants.generate import expected, names

HEURISTICS = ("ratio", "ratio-money", "slack", "slack-late", "least", "zero")  # The readings of h
SIMPLE = ("greedy", "edf", "fifo", "wspt", "least-loaded", "fastest", "cheapest", "random")
BETTER = ("insertion", "replan", "lookahead")
OPT, LARGE = SolveSettings(), SolveSettings(gap=0.002)
SEEDS = range(1, 31)


def name_patent(**options: str) -> str:
    defaults = {"search": "beam", "width": "100", "h": "ratio", "load": "yes"}
    chosen = [f"{key}={value}" for key, value in sorted(options.items()) if value != defaults.get(key)]
    return f"patent:{','.join(chosen)}" if chosen else "patent"


def _searches(*widths: str) -> tuple[str, ...]:
    return tuple(name_patent(load=load, width=width) for width in widths for load in ("yes", "no"))


# A beam of 100 in every reading
READINGS = tuple(name_patent(h=h, load=load) for load in ("yes", "no") for h in HEURISTICS)
NARROW = tuple(name_patent(h=h, width=width) for h in ("ratio", "slack-late") for width in ("10", "1"))


def _case(group: str, kind: str, seed: int, algorithms: tuple[str, ...], solve: SolveSettings, **recipe: Any) -> Case:
    name = f"{group}, {recipe['trace']} {seed}" if "trace" in recipe else f"{group}, {seed}"
    whole = {"kind": kind, "seed": ["tenants", seed], **recipe, "name": name}
    return Case(name, whole, algorithms, solve, group)


def _small() -> Suite:
    sizes = {f"{jobs} jobs": jobs for jobs in (9, 12)}
    algorithms = (*READINGS, *NARROW, "edf", "insertion", "replan")
    cases = tuple(
        _case(group, "batch", seed, algorithms, OPT, jobs=jobs, gpus=[1, 1, 1])
        for group, jobs in sizes.items()
        for seed in SEEDS
    )
    note = "OPT is exact. Patent: a beam of 100 unless it is named otherwise; every h with and without the load term."
    plots = (
        Plot("ratio", "ALG / OPT of every reading", "ratio", tuple(sizes), "jobs", READINGS, note=note),
        Plot("narrow", "ALG / OPT of narrow beams, and of simple rules", "ratio", tuple(sizes), "jobs",
             ("patent", *NARROW, "edf", "insertion", "replan")),
        Plot("spread", "Deviation of the cost over the GPUs, over its mean", "spread", tuple(sizes), "jobs", READINGS),
    )  # fmt: skip
    summary = "Every reading of the patent's search against the exact optimum: 9 and 12 jobs on 3 GPUs, 30 seeds"
    return Suite("tenants-small", summary, cases, plots, cases[:2])


_SIZES = ((20, (1, 1, 2)), (40, (2, 2, 4)), (100, (2, 2, 4)), (200, (4, 4, 8)), (400, (4, 4, 8)))


def _batch() -> Suite:
    groups = {f"{jobs} jobs, {sum(gpus)} GPUs": (jobs, gpus) for jobs, gpus in _SIZES}
    cases = tuple(
        _case(
            group, "batch", seed,
            (*_searches("100", "1000"), *SIMPLE, *BETTER[:2]),
            OPT if jobs <= 40 else LARGE, jobs=jobs, gpus=list(gpus),
        )
        for group, (jobs, gpus) in groups.items()
        for seed in SEEDS[:5]
    )  # fmt: skip
    plots = (
        Plot("ratio", "ALG / OPT over the number of jobs", "ratio", tuple(groups), "jobs",
             tuple(each for each in dict.fromkeys(name for case in cases for name in case.algorithms)
                   if each not in ("fifo", "random", "least-loaded", "fastest", "cheapest", "greedy"))),
        Plot("met", "The part of the jobs that ends by its deadline", "met", tuple(groups), "jobs"),
        Plot("deciding", "Seconds of all decisions", "deciding", tuple(groups), "jobs"),
    )  # fmt: skip
    return Suite("tenants-batch", "All jobs at once: 20 to 400 of them on 4, 8 and 16 GPUs", cases, plots, cases[:1])


TRACES = ("pai", "philly", "helios")
LOADS = ("0.8", "1.2", "2")
# By the number of jobs: GPUs, the widths of the patent's beam (1,000 where a run takes seconds), seeds
_ONLINE = {60: ((1, 1, 2), ("100", "1000"), 2), 200: ((2, 2, 4), ("100",), 1), 400: ((4, 4, 8), ("100",), 1)}
# Deadlines that leave two mean runs of the job to wait. With half of the backlog of all jobs hardly one is missed.
TIGHT = ", tight"


def _online() -> Suite:
    kinds = [(jobs, load, "") for jobs in _ONLINE for load in LOADS] + [(60, load, TIGHT) for load in LOADS]
    cases = []
    for jobs, load, tight in kinds:
        group, wait = f"{jobs} jobs, load {load}{tight}", "runs" if tight else "backlog"
        gpus, widths, seeds = _ONLINE[jobs]
        cases += [
            _case(group, "online", seed, (*_searches(*widths), *SIMPLE, *BETTER), LARGE,
                  jobs=jobs, gpus=list(gpus), load=load, trace=trace, wait=wait)
            for trace in TRACES
            for seed in SEEDS[:seeds]
        ]  # fmt: skip
    good = tuple(name for name in dict.fromkeys(name for case in cases for name in case.algorithms)
                 if name.startswith("patent") or name in BETTER or name in ("edf", "wspt"))  # fmt: skip
    plots = tuple(
        Plot(f"ratio_{jobs}{tight[2:]}", f"ALG / OPT over the load, {jobs} jobs{tight}", "ratio",
             tuple(f"{jobs} jobs, load {load}{tight}" for load in LOADS), "load", good)
        for jobs, tight in dict.fromkeys((jobs, tight) for jobs, _, tight in kinds)
    )  # fmt: skip
    summary = "Released over time as in PAI, Philly and Helios, at loads 0.8, 1.2 and 2: 60, 200 and 400 jobs"
    return Suite("tenants-online", summary, tuple(cases), plots, tuple(cases[:1]))


WISHES = (0, 50, 100)


def _wishes() -> Suite:
    groups = {f"cs {cs}": cs for cs in WISHES}
    algorithms = (*_searches("100", "1000"), "edf", "wspt", "greedy", "cheapest", "fastest", *BETTER)
    recipe: dict[str, Any] = {"jobs": 100, "gpus": [2, 2, 4], "load": "1.2", "trace": "pai", "wait": "runs"}
    cases = tuple(
        _case(group, "online", seed, algorithms, LARGE, **recipe, cs=[cs, cs])
        for group, cs in groups.items()
        for seed in SEEDS[:3]
    )
    axis = "sensitivity to cost, percent"
    plots = (
        Plot("ratio", "ALG / OPT", "ratio", tuple(groups), axis, (*_searches("100", "1000"), "edf", "wspt", *BETTER)),
        *(
            Plot(name, title, name, tuple(groups), axis)
            for name, title in (
                ("lateness", "Ticks of lateness per job"),
                ("flow", "Ticks from release to end per job"),
                ("money", "Dollars of GPU time per job"),
            )
        ),
    )
    summary = "All tenants with the same preference: time only, both equally, money only; 100 jobs"
    return Suite("tenants-wishes", summary, cases, plots, cases[:1])


FACTORS = ("0.1", "1", "10")


def _params() -> Suite:
    groups = {f"theta x {theta}, late x {late}": (theta, late) for theta in FACTORS for late in FACTORS}
    algorithms = (name_patent(), name_patent(load="no"), "edf", "fifo", "wspt", "greedy", "insertion", "replan")
    cases = tuple(
        _case(group, "batch", seed, algorithms, LARGE, jobs=100, gpus=[2, 2, 4], theta=theta, late=late)
        for group, (theta, late) in groups.items()
        for seed in SEEDS[:2]
    )
    plots = (
        Plot("ratio", "ALG / OPT where time and lateness cost a tenth, the same, ten times as much", "ratio",
             tuple(groups), "prices of time and lateness"),
    )  # fmt: skip
    summary = "Stability of the order of algorithms under the uncertain prices of time and lateness; 100 jobs"
    return Suite("tenants-params", summary, cases, plots, cases[:1])


def _named() -> Suite:
    def algorithms(name: str) -> tuple[str, ...]:
        search = {key: value for key, value in expected(name).get("search", {}).items() if key != "cost"}
        complete = (name_patent(search="best-first"), name_patent(search="best-first", h="least", load="no"))
        return tuple(
            dict.fromkeys((*([name_patent(**search)] if search else []), *complete, "patent", *SIMPLE, *BETTER))
        )

    cases = tuple(Case(name, {"kind": "named", "name": name}, algorithms(name), OPT, "named") for name in names())
    summary = "Tiny instances on which the patent's search fails, and boundary cases of the problem"
    return Suite("tenants-named", summary, cases, groups={"named": "tiny instances"}, verdicts_first=True)


@lru_cache(maxsize=1)
def suites() -> tuple[Suite, ...]:
    return (_small(), _batch(), _online(), _wishes(), _params(), _named())
