"""Family `edgeflow` played literally, second by second: slow, and as near to the words of its rules as code can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratiobench.instances.edgeflow.model import EDGE, Instance, Piece, Solution
from ratiobench.online.edgeflow.protocol import PAUSED, Event, View, plain


@dataclass
class State:
    """A job that has arrived: what is left, where it runs, how long it still stalls."""

    left: int
    place: int = PAUSED
    gpus: int = 0
    last: int = PAUSED
    ready: int = 0
    gone: bool = False


@dataclass
class Played:
    """A literal run: the pieces, the seconds at which the policy was asked, and the jobs met."""

    solution: Solution
    asked: list[int]
    met: list[int]


def play(instance: Instance, policy: Any, *, keep_late: bool = False, horizon: int = 400) -> Played:
    """Run a policy that answers arrivals one by one; `horizon` seconds at most."""
    policy.start(instance.public(), {})
    jobs: dict[int, State] = {}
    busy: list[list[tuple[int, int, int]]] = [[] for _ in range(instance.jobs)]  # seconds in which a job holds a place
    asked, met = [], []
    wake = None
    for second in range(horizon):
        if len(jobs) == instance.jobs and all(job.gone for job in jobs.values()):
            break
        edges = [t for window in instance.edge for t in (window.start, window.end)]
        servers = sum(w.servers for w in instance.edge if w.start <= second < w.end)
        events: list[Event] = []
        for i, job in jobs.items():
            if not job.gone and job.left <= 0:
                job.gone = True
                events.append(Event("completion", i))
                if second <= instance.deadline[i]:
                    met.append(i)
        late = [i for i, job in jobs.items() if not job.gone and instance.deadline[i] == second]
        for i in late:
            events.append(Event("deadline", i))
            jobs[i].gone = not keep_late
        if second in edges:
            events.append(Event("window", None))
        answer: Any = None
        shown = {i: (job.place, job.gpus) for i, job in jobs.items()}
        woken = [Event("wake", None)] if wake == second else []
        arrivals = [i for i in range(instance.jobs) if instance.submit[i] == second]
        for i in arrivals:
            jobs[i] = State(int(instance.work[i]))
            events.append(Event("arrival", i))
            given = policy.decide(instance.job(i), _view(instance, second, servers, jobs, shown, [*events, *woken]))
            asked.append(second)
            if given is not None:
                answer = plain(given)
                wake = answer[1]
        told = (*events, *woken)
        here = [i for i, job in jobs.items() if not job.gone]
        if here and not arrivals and told:
            given = policy.at_change(told, _view(instance, second, servers, jobs, shown, told))
            asked.append(second)
            if given is not None:
                answer = plain(given)
                wake = answer[1]
        wake = wake if here and wake is not None and wake > second else None
        _settle(instance, second, jobs, answer, closed=second in edges)
        for i in here:
            job = jobs[i]
            if job.place == PAUSED:
                continue
            busy[i].append((second, job.place, job.gpus))
            model = instance.models[int(instance.model[i])]
            if second >= job.ready:
                job.left -= model.edge_speed if job.place == EDGE else model.speed[model.gpus.index(job.gpus)]
    return Played(tuple(_pieces(seconds, instance) for seconds in busy), asked, sorted(met))


def _view(
    instance: Instance,
    second: int,
    servers: int,
    jobs: dict[int, State],
    shown: dict[int, Any],
    events: Sequence[Event],
) -> View:
    here = [i for i, job in jobs.items() if not job.gone]
    place = [shown.get(i, (PAUSED, 0))[0] for i in here]
    gpus = [shown.get(i, (PAUSED, 0))[1] for i in here]
    until = next((w.end for w in instance.edge if w.start <= second < w.end), None)
    columns = ([jobs[i].left for i in here], place, gpus, [jobs[i].last for i in here], [jobs[i].ready for i in here])
    arrays = (np.array(column, np.int64) for column in (here, *columns))
    return View(second, instance.gpus, servers, until, *arrays, tuple(events))


def _settle(instance: Instance, second: int, jobs: dict[int, State], answer: Any, *, closed: bool) -> None:
    """Who runs from this second on; where nothing was answered, who ran, but for servers that may be gone."""
    named = None if answer is None else {i: (place, gpus) for i, place, gpus in answer[0]}
    for i, job in jobs.items():
        if job.gone:
            job.place, job.gpus = PAUSED, 0
            continue
        if named is None:
            mode = (PAUSED, 0) if closed and job.place == EDGE else (job.place, job.gpus)
        else:
            mode = named.get(i, (PAUSED, 0))
        if mode == (job.place, job.gpus):
            continue
        if mode[0] != PAUSED:
            model = instance.models[int(instance.model[i])]
            across = job.last not in (PAUSED, mode[0])
            job.ready = second + model.overhead_s + (model.edge_overhead_s if across else 0)
            job.last = mode[0]
        job.place, job.gpus = mode


def _pieces(seconds: list[tuple[int, int, int]], instance: Instance) -> tuple[Piece, ...]:
    """Seconds in a row at one place and share, cut where a window begins or ends."""
    edges = {t for window in instance.edge for t in (window.start, window.end)}
    pieces: list[Piece] = []
    for second, place, gpus in seconds:
        goes_on = pieces and pieces[-1][1:] == (second, place, gpus)
        if goes_on and not (place == EDGE and second in edges):
            pieces[-1] = pieces[-1]._replace(end=second + 1)
        else:
            pieces.append(Piece(second, second + 1, place, gpus))
    return tuple(pieces)
