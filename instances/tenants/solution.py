"""Where and when every job starts, and the file form ``{"decisions": [[gpu, start], ...]}``."""

from __future__ import annotations

from typing import Any, NamedTuple

from ratiobench.instances.io.fields import LIMIT, decisions_of, integer, items


class Start(NamedTuple):
    """The GPU that runs a job, numbered through the types, and the tick at which it starts."""

    gpu: int
    tick: int


# One start per job in order of release; None where there is none, which no valid solution has
Solution = tuple[Start | None, ...]


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {"decisions": [None if start is None else list(start) for start in solution]}


def parse_solution(data: Any, source: str) -> Solution:
    """Read a decoded document, of which only the form is checked; further keys are ignored."""
    found: list[Start | None] = []
    for j, raw in enumerate(decisions_of(source, data)):
        path = f"decisions[{j}]"
        if raw is None:
            found.append(None)
            continue
        gpu, tick = items(source, path, raw, 2, "the GPU and the tick of the start")
        found.append(Start(*(integer(source, f"{path}[{i}]", x, -LIMIT, LIMIT) for i, x in enumerate((gpu, tick)))))
    return tuple(found)
