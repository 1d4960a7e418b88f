"""When, where and on how many GPUs every job runs: ``{"decisions": [[[from, to, place, gpus], ...], ...]}``."""

from __future__ import annotations

from typing import Any, NamedTuple

from ratiobench.instances.io.fields import LIMIT, decisions_of, integer, items


class Piece(NamedTuple):
    """Seconds [start, end) of a job at one place.

    Parameters
    ----------
    start, end : seconds, `end` not included.
    place : 0 cloud, 1 edge.
    gpus : how many.
    """

    start: int
    end: int
    place: int
    gpus: int


Solution = tuple[tuple[Piece, ...], ...]  # The pieces of every job in order of time; none where it never runs


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {"decisions": [[list(piece) for piece in pieces] for pieces in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a decoded document, of which only the form is checked; further keys are ignored."""
    found = []
    for i, raw in enumerate(decisions_of(source, data)):
        pieces = []
        for j, piece in enumerate(items(source, f"decisions[{i}]", raw, None, "")):
            path = f"decisions[{i}][{j}]"
            values = items(source, path, piece, 4, "from, to, place, gpus")
            pieces.append(Piece(*(integer(source, f"{path}[{k}]", x, -LIMIT, LIMIT) for k, x in enumerate(values))))
        found.append(tuple(pieces))
    return tuple(found)
