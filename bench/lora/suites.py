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
            "Real arrivals from PAI, Philly and Helios (40, 60, 100 tasks), four tiny instances solved to proven "
            "optimality, and two on which Theorem 5 fails",
            (
                *traces,
                *(_shipped(name, "tiny") for name in _TINY),
                *(_shipped(name, "counterexamples") for name in _VIOLATED),
            ),
        ),
        Suite(
            "tiny",
            "All shipped tiny instances and counterexamples",
            tuple(_shipped(name, "tiny" if name.startswith("tiny_") else "counterexamples") for name in names()),
        ),
    )


def _shipped(name: str, group: str) -> Case:
    return Case(name, {"kind": "named", "name": name}, ALGORITHMS, SolveSettings(), group)
