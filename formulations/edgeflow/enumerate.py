"""OPT by looking at everything: every state that the jobs can be in, second by second. For very tiny instances.

It shares nothing with the bounds, the searches and the models, and is meant to be checked by reading.
"""

from __future__ import annotations

from itertools import product

from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Instance
from ratiobench.instances.edgeflow.solution import Piece, Solution

STATES_LIMIT = 200_000  # Most states that are held of one second

# Of a job: work left, the place and GPUs that it ran on in the second before (0 GPUs: it paused), the side of its last
# run (-1: none), and what is left of its stall
_State = tuple[int, int, int, int, int]
_DONE: _State = (0, CLOUD, 0, -1, 0)
# A job whose work can no longer be done in time, however it runs: nothing is gained by running it
_LOST: _State = (-1, CLOUD, 0, -1, 0)


def enumerate_optimum(instance: Instance, most: int = STATES_LIMIT) -> tuple[int, Solution]:
    """OPT and a schedule that attains it."""
    jobs = range(instance.jobs)
    begin, end = int(instance.submit.min(initial=0)), int(instance.deadline.max(initial=0))
    start = tuple((int(work), CLOUD, 0, -1, 0) for work in instance.work.tolist())
    layers: list[dict[tuple[_State, ...], tuple[tuple[_State, ...], tuple[tuple[int, int], ...]] | None]]
    layers = [{start: None}]
    for second in range(begin, end):
        found: dict[tuple[_State, ...], tuple[tuple[_State, ...], tuple[tuple[int, int], ...]] | None] = {}
        servers = sum(w.servers for w in instance.edge if w.start <= second < w.end)
        for state in layers[-1]:
            choices = [_choices(instance, i, state[i], second, servers) for i in jobs]
            for taken in product(*choices):
                if sum(gpus for place, gpus in taken if place == CLOUD) > instance.gpus:
                    continue
                if sum(gpus for place, gpus in taken if place == EDGE) > servers:
                    continue
                after = tuple(_after(instance, i, state[i], taken[i], second) for i in jobs)
                found.setdefault(after, (state, taken))
            if len(found) > most:
                raise ValueError(f"more than {most} states in second {second}")
        layers.append(found)
    best = max(layers[-1], key=lambda state: sum(each[0] == 0 for each in state))
    return sum(each[0] == 0 for each in best), _schedule(instance, layers, best, begin, end)


def _choices(instance: Instance, i: int, state: _State, second: int, servers: int) -> list[tuple[int, int]]:
    """(place, gpus) that the job can have in the second; 0 GPUs is a pause, and all there is for what is done."""
    job = instance.job(i)
    model = instance.models[job.model]
    if state in (_DONE, _LOST) or not job.submit <= second < job.deadline:
        return [(CLOUD, 0)]
    found = [(CLOUD, 0), *((CLOUD, gpus) for gpus in model.gpus if gpus <= instance.gpus)]
    if model.edge_speed and servers:
        found.append((EDGE, 1))
    return found


def _after(instance: Instance, i: int, state: _State, taken: tuple[int, int], second: int) -> _State:
    """The job's state after a second at this place on so many GPUs."""
    left, place, gpus, side, stall = state
    if state in (_DONE, _LOST):
        return state
    model = instance.models[int(instance.model[i])]
    if taken[1]:
        if taken != (place, gpus):
            stall = model.overhead_s + (model.edge_overhead_s if side not in (-1, taken[0]) else 0)
        if stall == 0:
            left -= model.edge_speed if taken[0] == EDGE else model.speed[model.gpus.index(taken[1])]
            if left <= 0:
                return _DONE
    if left > max(*model.speed, model.edge_speed) * (int(instance.deadline[i]) - max(second + 1, instance.submit[i])):
        return _LOST
    return (left, *taken, taken[0], max(0, stall - 1)) if taken[1] else (left, CLOUD, 0, side, 0)


def _schedule(instance: Instance, layers: list, state: tuple[_State, ...], begin: int, end: int) -> Solution:  # type: ignore[type-arg]
    """The pieces of a state of the last second, followed back; a window's end cuts a piece."""
    found: list[list[Piece]] = [[] for _ in range(instance.jobs)]
    ends = {w.end for w in instance.edge}
    for second in range(end - 1, begin - 1, -1):
        state, taken = layers[second - begin + 1][state]
        for i, (place, gpus) in enumerate(taken):
            if not gpus:
                continue
            last = found[i][-1] if found[i] else None
            cut = place == EDGE and second + 1 in ends
            if last is not None and (last.start, *last[2:]) == (second + 1, place, gpus) and not cut:
                found[i][-1] = last._replace(start=second)
            else:
                found[i].append(Piece(second, second + 1, place, gpus))
    return tuple(tuple(reversed(pieces)) for pieces in found)
