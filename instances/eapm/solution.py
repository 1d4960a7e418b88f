"""Where the tasks of every user run, and the file form ``{"decisions": [[x_i1, ..., x_im] | null, ...]}``."""

from __future__ import annotations

from typing import Any

import msgspec

from ratiobench.instances.io.documents import Signed, convert

Decision = tuple[Signed, ...]  # x_i: how many of a user's tasks each machine gets
# One decision per user in order of arrival; None where there is none, which no valid solution has
Solution = tuple[Decision | None, ...]


class SolutionDocument(msgspec.Struct):
    """A solution; further keys are ignored."""

    decisions: Solution


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {"decisions": [None if decision is None else list(decision) for decision in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a decoded document, of which only the form is checked."""
    return convert(data, SolutionDocument, source).decisions
