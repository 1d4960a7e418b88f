"""OPT of tiny instances, exactly, second by second: by CP-SAT, and by looking at every state.

A job's schedule is a path of literals through (second, side of the last run): it pauses a second, or runs from one
second to another in one mode. Two runs in a row in one mode pay two starts here, and one run in their place pays one,
so nothing is lost. `enumerate_optimum` shares nothing with that.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Instance, Piece, Solution

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
from itertools import product

MOST_JOBS, MOST_SECONDS, MOST_GPUS = 5, 30, 4


class Run(NamedTuple):
    start: int
    end: int
    place: int
    gpus: int
    before: int
    progress: int


class SlotsModel(NamedTuple):
    text: str
    runs: tuple[tuple[int, Run] | None, ...]


def fits(instance: Instance) -> bool:
    seconds = int((instance.deadline - instance.submit).max(initial=0))
    return instance.jobs <= MOST_JOBS and seconds <= MOST_SECONDS and instance.gpus <= MOST_GPUS


def runs_of(instance: Instance, i: int) -> list[Run]:
    """Every run within the job's window, after every side."""
    job = instance.job(i)
    model = instance.models[job.model]
    modes = [(CLOUD, gpus, speed) for gpus, speed in model.useful(instance.gpus)]
    if model.edge_speed:
        modes.append((EDGE, 1, model.edge_speed))
    sides = sides_of(instance, i)
    found = []
    for start in range(job.submit, job.deadline):
        for end in range(start + 1, job.deadline + 1):
            for place, gpus, speed in modes:
                if place == EDGE and not all(_servers(instance, t) for t in range(start, end)):
                    continue
                for before in sides:
                    stall = model.overhead_s
                    if before not in (-1, place):
                        stall += model.edge_overhead_s
                    progress = speed * max(0, end - start - stall)
                    # A run without progress may be worth something only for its side.
                    if progress or len(sides) > 1:
                        found.append(Run(start, end, place, gpus, before, progress))
    return found


def sides_of(instance: Instance, i: int) -> tuple[int, ...]:
    """Which sides of the last run are told apart: only -1 if that makes no difference."""
    job = instance.job(i)
    model = instance.models[job.model]
    meets = any(w.start < job.deadline and job.submit < w.end for w in instance.edge)
    return (-1, CLOUD, EDGE) if model.edge_speed and model.edge_overhead_s and meets else (-1,)


def _servers(instance: Instance, second: int) -> int:
    return sum(w.servers for w in instance.edge if w.start <= second < w.end)


def build(instance: Instance) -> SlotsModel:
    """The model; runs in the worker process of CP-SAT."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    names: list[tuple[int, Run] | None] = []
    gpus: defaultdict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
    servers: defaultdict[int, list[cp_model.IntVar]] = defaultdict(list)
    met = []

    def literal(what: tuple[int, Run] | None) -> cp_model.IntVar:
        names.append(what)
        return model.new_bool_var(f"b{len(names)}")

    for i in range(instance.jobs):
        job = instance.job(i)
        z = literal(None)
        met.append(z)
        into: defaultdict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        out: defaultdict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        progress = []
        sides = sides_of(instance, i)
        for run in runs_of(instance, i):
            x = literal((i, run))
            out[run.start, run.before].append(x)
            into[run.end, run.place if len(sides) > 1 else -1].append(x)
            progress.append(min(run.progress, job.work) * x)
            for second in range(run.start, run.end):
                if run.place == CLOUD:
                    gpus[second].append((run.gpus, x))
                else:
                    servers[second].append(x)
        for second in range(job.submit, job.deadline):
            for side in sides:
                x = literal(None)
                out[second, side].append(x)
                into[second + 1, side].append(x)
        for second in range(job.submit, job.deadline):
            for side in sides:
                begins = 1 if (second, side) == (job.submit, -1) else 0
                model.add(sum(out[second, side]) == begins + sum(into[second, side]))
        model.add(sum(progress) >= job.work).only_enforce_if(z)
    for taken in gpus.values():
        model.add(sum(count * x for count, x in taken) <= instance.gpus)
    for second, used in servers.items():
        model.add(sum(used) <= _servers(instance, second))
    model.maximize(sum(met))
    return SlotsModel(str(model.proto), tuple(names))


def solution_from(instance: Instance, runs: tuple[tuple[int, Run] | None, ...], values: list[float]) -> Solution:
    """The runs whose literals are true, cut at the ends of edge windows."""
    found: list[list[Piece]] = [[] for _ in range(instance.jobs)]
    for what, value in zip(runs, values, strict=True):
        if what is None or value < 0.5:
            continue
        i, run = what
        cuts = [w.end for w in instance.edge if run.place == EDGE and run.start < w.end < run.end]
        for start, end in zip([run.start, *cuts], [*cuts, run.end], strict=True):
            found[i].append(Piece(start, end, run.place, run.gpus))
    return tuple(tuple(sorted(pieces)) for pieces in found)


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
    """(place, gpus) that the job can have in the second; 0 GPUs is a pause."""
    job = instance.job(i)
    model = instance.models[job.model]
    if state in (_DONE, _LOST) or not job.submit <= second < job.deadline:
        return [(CLOUD, 0)]
    found = [(CLOUD, 0), *((CLOUD, gpus) for gpus in model.gpus if gpus <= instance.gpus)]
    if model.edge_speed and servers:
        found.append((EDGE, 1))
    return found


def _after(instance: Instance, i: int, state: _State, taken: tuple[int, int], second: int) -> _State:
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
    """The pieces of a state of the last second, followed back."""
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
