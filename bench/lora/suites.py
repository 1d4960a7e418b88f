"""The suites of family `lora`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bench.family import Case, SolveSettings, Suite
from instances.lora.named import names

ALGORITHMS = ("pdftsp", "pdftsp:units=canonical", "pdftsp:search=printed", "titan", "eft", "ntm", "greedy", "eris")

# Part of a working day on few nodes, so that tasks compete (load about 1) and every backend can still try it directly.
_TRACES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pai_40", {"arrivals": {"trace": "pai"}, "tasks": 40, "nodes": {"a100": 1, "a40": 1}}),
    ("philly_60", {"arrivals": {"trace": "philly"}, "tasks": 60, "slots": 48, "nodes": {"a100": 1, "a40": 1}}),
    ("helios_100", {"arrivals": {"trace": "helios"}, "tasks": 100, "nodes": {"a100": 2, "a40": 2}}),
)
_PART = {"kind": "paper", "start": 60, "slots": 36, "quiet": 8}
_EFFORT = SolveSettings(effort=6)
"""Work on OPT of a trace case: about five seconds of one core each."""
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
_TINY = ("tiny_contention", "tiny_two_types", "tiny_vendors", "tiny_negative_tariff")
_VIOLATED = ("thm5_T5_3tasks", "thm5_T4_4tasks_strict")


@lru_cache(maxsize=1)
def suites() -> tuple[Suite, ...]:
    """All suites; effort is stated here, so a suite gives the same figures on every machine."""
    traces = tuple(
        Case(name, {**_PART, "name": name, "seed": ["quick", name], **recipe}, ALGORITHMS, _EFFORT, "traces")
        for name, recipe in _TRACES
    )
    return (
        Suite(
            "quick",
            "Real arrivals from PAI, Philly and Helios (40, 60, 100 tasks, and a day of 7,200), four tiny instances "
            "solved to proven optimality, and two on which Theorem 5 fails",
            (
                *traces,
                Case(
                    "philly_7200", _DAY | {"name": "philly_7200", "seed": ["day"]}, ALGORITHMS, SolveSettings(), "day"
                ),
                *(_shipped(name, "tiny") for name in _TINY),
                *(_shipped(name, "counterexamples") for name in _VIOLATED),
            ),
        ),
        Suite(
            "gaps",
            "How narrow the interval on OPT is: days of 2,000 to 11,520 tasks and contended parts of days of 100 to "
            "300, five runs each, no solver",
            (
                *(_gap(tasks, nodes, j, {}, 1) for tasks, nodes in _ROWS for j in range(5)),
                *(
                    _gap(tasks, nodes, j, {"start": 60, "slots": 40, "quiet": 8}, 8)
                    for tasks, nodes in _SMALL_ROWS
                    for j in range(5)
                ),
            ),
        ),
        Suite(
            "tiny",
            "All shipped tiny instances and counterexamples",
            tuple(_shipped(name, "tiny" if name.startswith("tiny_") else "counterexamples") for name in names()),
        ),
    )


def _gap(tasks: int, nodes: int, j: int, part: dict[str, Any], effort: int) -> Case:
    name = f"{tasks}_{nodes}_run{j}"
    recipe = {"kind": "paper", "nodes": nodes, "arrivals": _ARRIVALS[j], "tasks": tasks, "seed": ["gaps", name]}
    settings = SolveSettings(backend="none", effort=effort)
    return Case(name, {**recipe, **part, "name": name}, ("greedy",), settings, f"{tasks} tasks, {nodes} nodes")


def _shipped(name: str, group: str) -> Case:
    return Case(name, {"kind": "named", "name": name}, ALGORITHMS, SolveSettings(), group)
