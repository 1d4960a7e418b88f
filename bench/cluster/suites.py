"""The suites of family `cluster`: small logs against enclosed optima, generated months over loads."""

from __future__ import annotations

from functools import lru_cache

from ratiobench.bench.family.suite import Case, Plot, SolveSettings, Suite

RULES = (
    "fcfs", "easy", "easy:candidates=shortest", "easy:order=shortest", "easy:order=smallest", "easy:order=f1",
    "easy:order=wfp3", "easy:order=unicep", "easy:belief=last2,candidates=shortest", "firstfit", "conservative",
)  # fmt: skip
LOADS = (60, 80, 95)
COSTS = ("wait", "wait-gpu-hours")


def _cases(costs: tuple[str, ...], days: int, nodes: int, jobs: int, seeds: range) -> tuple[Case, ...]:
    cases = []
    for cost in costs:
        for load in LOADS:
            for seed in seeds:
                recipe = {"kind": "month", "seed": ["suite", seed], "days": days, "load": load, "nodes": nodes}
                recipe |= {"jobs": jobs, "cost": cost, "name": f"{cost}, load {load}, {seed}"}
                cases.append(Case(str(recipe["name"]), recipe, RULES, SolveSettings(), f"{cost}, load {load}"))
    return tuple(cases)


def _suite(name: str, summary: str, cases: tuple[Case, ...], costs: tuple[str, ...]) -> Suite:
    plots = tuple(
        Plot(f"ratio_{cost}", f"ALG / OPT, {cost}", "ratio", tuple(f"{cost}, load {load}" for load in LOADS), "load")
        for cost in costs
    )
    return Suite(name, summary, cases, plots, cases[:1])


@lru_cache(maxsize=1)
def suites() -> tuple[Suite, ...]:
    """All suites of the family."""
    small = _cases(COSTS, 2, 2, 60, range(1, 5))
    sequences = _cases(("slowdown",), 7, 4, 256, range(1, 5))
    summary = "Sequences of 256 jobs, bounded slowdown: the protocol of RLScheduler, with OPT beside"
    return (
        _suite("cluster-small", "At most 60 jobs on 4 nodes over loads, in both waits, against OPT", small, COSTS),
        _suite("cluster-sequences", summary, sequences, ("slowdown",)),
    )
