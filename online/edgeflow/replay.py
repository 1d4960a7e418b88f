"""The pieces of every job, from the log of a run: job by job, without the clock and the books of the referee."""

from __future__ import annotations

from collections.abc import Iterator

from ratiobench.instances.edgeflow.model import EDGE, Instance
from ratiobench.instances.edgeflow.solution import Piece, Solution
from ratiobench.online.referee.simulator import Log

_NEVER = 2**62


def replay(instance: Instance, log: Log, *, keep_late: bool = False) -> Solution:
    """When, where and on how many GPUs every job ran, as the answers in the log say.

    A piece ends where the next answer says so, where the work is done, where its edge window closes, and, unless late
    jobs are kept, at the deadline.
    """
    edges = {t for window in instance.edge for t in (window.start, window.end)}
    answers = {entry.answer.second: entry.answer[0] for entry in log if entry.answer is not None}  # a second's last
    lines: list[list[tuple[int, int, int]]] = [[] for _ in range(instance.jobs)]
    running: dict[int, tuple[int, int]] = {}
    for second in sorted(edges | answers.keys()):
        was = running
        if second in edges:
            running = {i: mode for i, mode in running.items() if mode[0] != EDGE}
        if second in answers:
            running = {i: (place, gpus) for i, place, gpus in answers[second]}
        for i in was.keys() | running.keys():
            place, gpus = running.get(i, (EDGE, 0))
            if was.get(i) != running.get(i) or (second in edges and place == EDGE):
                lines[i].append((second, place, gpus))
    return tuple(tuple(_pieces(instance, i, lines[i], keep_late)) for i in range(instance.jobs))


def _pieces(instance: Instance, i: int, answers: list[tuple[int, int, int]], keep_late: bool) -> Iterator[Piece]:
    """The pieces of one job; `answers`: (second, place, GPUs) in the order of time, 0 GPUs for a pause."""
    model = instance.models[instance.model[i]]
    left, last = int(instance.work[i]), _NEVER if keep_late else int(instance.deadline[i])
    before, ready = Piece(0, 0, 0, 0), 0
    for k, (start, place, gpus) in enumerate(answers):
        if gpus == 0:
            continue
        if (before.end, before.place, before.gpus) != (start, place, gpus):
            ready = start + model.overhead_s
            ready += model.edge_overhead_s if before.gpus and before.place != place else 0
        speed = model.edge_speed if place == EDGE else model.speed[model.gpus.index(gpus)]
        done = max(start, ready) - -left // speed
        end = min(done, last, answers[k + 1][0] if k + 1 < len(answers) else _NEVER)
        if start < end:
            before = Piece(start, end, place, gpus)
            yield before
        if end == done:
            return
        left -= speed * max(0, end - max(start, ready))
