"""Sweeps: the competitive ratio over one parameter of an instance, everything else kept.

Run j of every value has the same names of random streams, so that the instances of two values differ in the parameter
alone; it takes the arrivals of PAI, Philly and Helios in turn, a day and electricity prices of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ratiobench.bench.family.suite import Axis, Case, Suite
from ratiobench.bench.lora.paper_suites import NO_SOLVER, PDFTSP, TARIFF_DAYS, TRACES, prices
from ratiobench.instances.lora.arrivals import days

ALGORITHMS = (*PDFTSP, "titan", "eft", "ntm", "greedy")  # What a sweep compares; six lines can be told apart
RUNS = 6
# Tasks that make this load on the four nodes, on the average over the runs
_LOADS = {"0.5": 41, "0.75": 62, "1": 83, "1.5": 124, "2": 165}
# Sizes in percent that make this epsilon of tasks measured with 8 on a GPU, in batches of 4
_EPSILONS = {"0.063": 50, "0.126": 100, "0.252": 200, "0.503": 400, "0.88": 700}
_PROFILE = {"colocation": [8], "batch": [4]}


def _nodes(number: int) -> dict[str, int]:
    return {"a100": number // 2, "a40": number // 2}


def _axis(name: str, title: str, summary: str, changes: Mapping[str, Any], small: Sequence[str]) -> Axis:
    """An axis of these changes by value; of a list of changes run j takes the j-th."""

    def case(value: str, j: int, tasks: int) -> Case:
        trace, group, change = TRACES[j % len(TRACES)], f"{name} {value}", changes[value]
        recipe = {
            "kind": "paper", "name": f"{group}, run {j}", "seed": ["sweep", f"run {j}"], "start": 60, "slots": 36,
            "quiet": 8, "nodes": _nodes(4), "tasks": tasks,
            "arrivals": {"trace": trace, "day": days(trace)[j // len(TRACES)]}, "prices": prices(j % len(TARIFF_DAYS)),
        }  # fmt: skip
        recipe |= change[j % len(change)] if isinstance(change, list) else change
        return Case(f"{group}, run {j}", recipe, ALGORITHMS, NO_SOLVER, group)

    cases = tuple(case(value, j, 100) for value in changes for j in range(RUNS))
    return Axis(name, title, summary, cases, tuple(case(value, j, 70) for value in small for j in range(2)))


def _of_trace(trace: str) -> list[dict[str, Any]]:
    return [{"arrivals": {"trace": trace, "day": day}} for day in days(trace)[:RUNS]]


def sweep_axes() -> tuple[Axis, ...]:
    """The parameters that can be varied, the default one first."""
    return (
        _axis(
            "nodes",
            "nodes",
            "The number of nodes, half A100 and half A40, for the same tasks: the load falls as nodes are added.",
            {str(number): {"nodes": _nodes(number)} for number in (2, 4, 6, 8, 12)},
            ("4", "6", "8"),  # on 2 nodes an interval on OPT is 2 to 6 % wide
        ),
        _axis(
            "load",
            "load",
            "The work of all tasks over the work that the four nodes can do, about, by the number of tasks.",
            {load: {"tasks": tasks} for load, tasks in _LOADS.items()},
            ("0.5", "1", "2"),
        ),
        _axis(
            "tasks",
            "tasks",
            "The number of tasks, with a node for every 25 of them: the size at the same load.",
            {str(25 * number): {"tasks": 25 * number, "nodes": _nodes(number)} for number in (2, 4, 6, 8, 12)},
            ("50", "100", "150"),
        ),
        _axis(
            "trace",
            "arrivals",
            "Where arrivals come from: six days of each trace, or Poisson arrivals.",
            {**{trace: _of_trace(trace) for trace in TRACES}, "poisson": {"arrivals": {"poisson": 50}}},
            TRACES,
        ),
        _axis(
            "vendors",
            "labor vendors",
            "The number of labor vendors, between which half of the tasks choose.",
            {str(number): {"vendors": {"count": number}} for number in (1, 3, 5, 9)},
            ("1", "5", "9"),
        ),
        _axis(
            "deadlines",
            "deadlines",
            "A task's window is 1 to 1.5 (tight), 1 to 5 (uniform) or 4 to 8 times (loose) the fewest slots it needs.",
            {name: {"deadlines": name} for name in ("tight", "uniform", "loose")},
            ("tight", "uniform", "loose"),
        ),
        _axis(
            "epsilon",
            "epsilon",
            "Epsilon is the largest part of a node's compute or memory that one task takes, as in Theorems A, B, C and "
            "G; every task has the same size here, and the work of a task stays.",
            {value: {**_PROFILE, "sizes": [percent, percent]} for value, percent in _EPSILONS.items()},
            ("0.126", "0.252", "0.503"),
        ),
    )


def sweep_suite(axes: Sequence[Axis]) -> Suite:
    """The suite `sweep`, over the first axis by default."""
    first, *others = axes
    names = ", ".join(axis.name for axis in others)
    return Suite(
        "sweep",
        f"OPT/ALG over the number of nodes, with Theorem 5's bound; --over {names} varies another parameter",
        first.cases,
        (first.plot(first.cases),),
        first.small,
        axes=tuple(axes),
    )
