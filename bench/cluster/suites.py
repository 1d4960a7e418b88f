"""The suites of family `cluster`: small logs against enclosed optima, generated months, as many jobs in fewer days."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from pathlib import Path

from ratiobench.bench.family.source import read_sources
from ratiobench.bench.family.suite import Case, Plot, SolveSettings, Suite

SOURCES = read_sources(Path(__file__).with_name("sources.toml"))  # Of the rules and public figures
RULES = (
    "fcfs", "easy", "easy:candidates=shortest", "easy:order=shortest", "easy:order=smallest", "easy:order=f1",
    "easy:order=wfp3", "easy:order=unicep", "easy:belief=last2,candidates=shortest", "firstfit", "conservative",
    "replan",
)  # fmt: skip
COSTS = ("wait", "wait-gpu-hours")


def _cases(costs: tuple[str, ...], days: tuple[int, ...], nodes: int, jobs: int) -> tuple[Case, ...]:
    """As many jobs in fewer days: the same draws under more load."""
    cases = []
    for cost, length, seed in product(costs, days, range(1, 5)):
        group = f"{cost}, {jobs} jobs in {length} days"
        recipe = {"kind": "month", "seed": ["suite", seed], "days": length, "load": 1000, "nodes": nodes}
        recipe |= {"jobs": jobs, "cost": cost, "name": f"{group}, {seed}"}
        cases.append(Case(str(recipe["name"]), recipe, RULES, SolveSettings(), group))
    return tuple(cases)


def _suite(name: str, summary: str, cases: tuple[Case, ...], costs: tuple[str, ...]) -> Suite:
    groups = {cost: dict.fromkeys(case.group for case in cases if case.recipe["cost"] == cost) for cost in costs}
    plots = tuple(Plot(f"ratio_{cost}", f"ALG / OPT, {cost}", "ratio", tuple(groups[cost]), "days") for cost in costs)
    return Suite(name, summary, cases, plots, cases[:1])


@lru_cache(maxsize=1)
def suites() -> tuple[Suite, ...]:
    small = _cases(COSTS, (3, 2, 1), 1, 60)
    sequences = _cases(("slowdown",), (6, 4, 3), 4, 256)
    summary = "Sequences of 256 jobs, bounded slowdown: the protocol of RLScheduler, with OPT beside"
    return (
        _suite("cluster-small", "60 jobs on 2 nodes in 3, 2 and 1 days, in both waits, against OPT", small, COSTS),
        _suite("cluster-sequences", summary, sequences, ("slowdown",)),
    )
