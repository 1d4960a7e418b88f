"""Where the tasks of every user run, and the file form ``{"decisions": [[x_i1, ..., x_im] | null, ...]}``."""

from __future__ import annotations

from typing import Any

from ratiobench.instances.io.fields import LIMIT, decisions_of, integer, items

Decision = tuple[int, ...]  # x_i: how many of a user's tasks each machine gets
# One decision per user in order of arrival; None where there is none, which no valid solution has
Solution = tuple[Decision | None, ...]


def solution_document(solution: Solution) -> dict[str, Any]:
    """Convert a solution to its JSON document.

    Parameters
    ----------
    solution : of the family.

    Returns
    -------
    The document that `parse_solution` reads.
    """
    return {"decisions": [None if decision is None else list(decision) for decision in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a solution of a decoded document; further keys are ignored.

    Parameters
    ----------
    data : the decoded JSON document.
    source : name of the file, which errors name.

    Returns
    -------
    The solution; only its form is checked.

    Raises
    ------
    InputError : another form; names the file, the field and the value.
    """
    found: list[Decision | None] = []
    for i, raw in enumerate(decisions_of(source, data)):
        path = f"decisions[{i}]"
        if raw is None:
            found.append(None)
            continue
        shares = items(source, path, raw, None, "")
        found.append(tuple(integer(source, f"{path}[{j}]", x, -LIMIT, LIMIT) for j, x in enumerate(shares)))
    return tuple(found)
