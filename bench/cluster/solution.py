"""Schedules as solution documents, ``{"decisions": [[start, pool], ...], "nodes": [...]}``, and their exact check."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ratiobench.formulations.cluster.check import CheckReport, check
from ratiobench.instances.arrays import freeze
from ratiobench.instances.cluster.model import Instance, Schedule
from ratiobench.instances.io.documents import convert

_Whole = Annotated[int, Meta(ge=-(2**40), le=2**40)]


class _Document(msgspec.Struct):
    """A solution; other keys are ignored."""

    decisions: list[tuple[_Whole, _Whole]]
    nodes: list[_Whole]


@dataclass(frozen=True, slots=True)
class Checked:
    """What the exact check says, as commands print it."""

    report: CheckReport
    jobs: int

    def document(self) -> dict[str, Any]:
        """Convert to JSON values; `welfare` is the cost."""
        return {
            "valid": self.report.valid,
            "admitted": self.jobs if self.report.valid else 0,
            "welfare": self.report.cost or Fraction(0),
            "violations": [str(each) for each in self.report.violations],
        }


def check_schedule(instance: Instance, schedule: Schedule) -> Checked:
    """Check a schedule by the instance's cost."""
    return Checked(check(instance, instance.cost, schedule), len(instance.jobs))


def solution_document(schedule: Schedule) -> dict[str, Any]:
    """Start and pool of every job, and the nodes of all jobs, one behind the other, counted through all pools."""
    pairs = np.column_stack([schedule.start, schedule.pool])
    return {"decisions": pairs.tolist(), "nodes": schedule.node.tolist()}


def parse_solution(data: Any, source: str) -> Schedule:
    """Read a solution document; only its form is checked."""
    found: _Document = convert(data, _Document, source)
    pairs = np.array(found.decisions, dtype=np.int64).reshape(-1, 2)
    return Schedule(freeze(pairs[:, 0]), freeze(pairs[:, 1]), freeze(np.array(found.nodes, dtype=np.int64)))
