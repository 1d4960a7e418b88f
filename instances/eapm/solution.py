"""Where the tasks of every user run, and the file form ``{"decisions": [[x_i1, ..., x_im] | null, ...]}``."""

from __future__ import annotations

from typing import Any

from ratiobench.instances.io.fields import LIMIT, decisions_of, integer, items

Decision = tuple[int, ...]  # x_i: how many of a user's tasks each machine gets
# One decision per user in order of arrival; None where there is none, which no valid solution has
Solution = tuple[Decision | None, ...]


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {"decisions": [None if decision is None else list(decision) for decision in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a decoded document, of which only the form is checked; further keys are ignored."""
    found: list[Decision | None] = []
    for i, raw in enumerate(decisions_of(source, data)):
        path = f"decisions[{i}]"
        if raw is None:
            found.append(None)
            continue
        shares = items(source, path, raw, None, "")
        found.append(tuple(integer(source, f"{path}[{j}]", x, -LIMIT, LIMIT) for j, x in enumerate(shares)))
    return tuple(found)
