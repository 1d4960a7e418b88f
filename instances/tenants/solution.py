"""Where and when every job starts, and the file form ``{"decisions": [[gpu, start], ...]}``."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ratiobench.instances.io.documents import Signed, convert


class Start(NamedTuple):
    """The GPU that runs a job, numbered through the types, and the tick at which it starts."""

    gpu: Signed
    tick: Signed


# One start per job in order of release; None where there is none, which no valid solution has
Solution = tuple[Start | None, ...]


class SolutionDocument(msgspec.Struct):
    """A solution; further keys are ignored."""

    decisions: Solution


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {"decisions": [None if start is None else list(start) for start in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a decoded document, of which only the form is checked."""
    return convert(data, SolutionDocument, source).decisions
