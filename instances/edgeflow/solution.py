"""When, where and on how many GPUs every job runs: ``{"decisions": [[[from, to, place, gpus], ...], ...]}``."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ratiobench.instances.io.documents import Signed, convert


class Piece(NamedTuple):
    """Seconds [start, end) of a job at one place.

    Parameters
    ----------
    start, end : seconds, `end` not included.
    place : 0 cloud, 1 edge.
    gpus : how many.
    """

    start: Signed
    end: Signed
    place: Signed
    gpus: Signed


Solution = tuple[tuple[Piece, ...], ...]  # The pieces of every job in order of time; none where it never runs


class SolutionDocument(msgspec.Struct):
    """A solution; further keys are ignored."""

    decisions: Solution


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {"decisions": [[list(piece) for piece in pieces] for pieces in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a decoded document, of which only the form is checked."""
    return convert(data, SolutionDocument, source).decisions
