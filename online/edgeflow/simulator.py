"""The simulator of family `edgeflow`, in whole numbers.

`run.replay` makes the pieces of every job from the log, and `check` judges them; neither shares a line with this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Instance
from ratiobench.online.edgeflow.protocol import ARRIVAL as ARRIVES
from ratiobench.online.edgeflow.protocol import (
    CHANGE,
    COMPLETION,
    DEADLINE,
    PAUSED,
    WAKE,
    WINDOW,
    BookedAnswer,
    Event,
    View,
    plain,
)
from ratiobench.online.referee.simulator import Question, RuleViolation, copy_answer

WAKES_LIMIT = 2_000_000  # More wakes than that, and a run has no end in sight: a foul
Mode = tuple[int, int]  # A place and a number of GPUs


class Simulator:
    """The clock, the jobs that are here and the rules; `keep_late`, `hidden`: options `late` and `windows`."""

    noun = "job"

    def __init__(self, instance: Instance, *, keep_late: bool = False, hidden: bool = False) -> None:
        public = instance.public()
        self.public = replace(public, edge=()) if hidden else public
        self.arrivals = instance.jobs
        self._instance, self._keep_late, self._hidden = instance, keep_late, hidden
        self._submit, self._deadline = instance.submit.tolist(), instance.deadline.tolist()
        self._models = [instance.models[m] for m in instance.model.tolist()]
        self._allowed = [
            {g: s for g, s in zip(m.gpus, m.speed, strict=True) if g <= instance.gpus} for m in instance.models
        ]
        self._speeds = [self._allowed[m] for m in instance.model.tolist()]
        changes = {t: 0 for window in instance.edge for t in (window.start, window.end)}
        changes |= {window.start: window.servers for window in instance.edge}
        self._changes = sorted(changes.items(), reverse=True)
        self._servers = 0
        self._second = 0
        self._wake: int | None = None
        self._wakes = 0
        self._arrived = 0
        self._here: dict[int, None] = {}
        self._deadlines: list[tuple[int, int]] = []
        self._mode: dict[int, Mode] = {}
        self._end: dict[int, int] = {}
        self._asked: dict[int, Mode] = {}
        # Work left when the present run progresses from `ready` on; columns of the view.
        n = instance.jobs
        self._left = instance.work.copy()
        self._speed, self._ready = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._place, self._share = np.full(n, PAUSED, np.int64), np.zeros(n, np.int64)
        self._last = np.full(n, PAUSED, np.int64)

    # The clock.

    def questions(self, batch: bool) -> Iterator[Question]:
        while (second := self._next()) is not None:
            self._second = second
            self._asked = dict(self._mode)
            events = [*self._complete(), *self._expire(), *self._turn()]
            new = []
            while self._arrived < self.arrivals and self._submit[self._arrived] == second:
                new.append(self._arrived)
                self._arrived += 1
            woken = [Event(WAKE, None)] if self._wake == second else []
            if new and batch:
                self._enter(new)
                jobs = [self._instance.job(i) for i in new]
                yield Question(new, jobs, self._view([*events, *(Event(ARRIVES, i) for i in new), *woken]))
            elif new:
                for i in new:
                    self._enter([i])
                    events.append(Event(ARRIVES, i))
                    yield Question([i], [self._instance.job(i)], self._view([*events, *woken]))
            elif self._here and (events or woken):
                state = (*events, *woken)
                yield Question([None], [state], self._view(state), CHANGE)
            self._commit()
            if not self._here or (self._wake is not None and self._wake <= second):
                self._wake = None

    def _next(self) -> int | None:
        """The second of the next event that could matter."""
        coming = self._arrived < self.arrivals
        if not coming and not self._here:
            return None
        moments = list(self._end.values())
        if coming:
            moments.append(self._submit[self._arrived])
        if self._wake is not None:
            moments.append(self._wake)
        while self._deadlines and self._deadlines[0][1] not in self._here:
            heappop(self._deadlines)
        if self._deadlines:
            moments.append(self._deadlines[0][0])
        if self._changes:
            moments.append(self._changes[-1][0])
        return min(moments, default=None)

    def _complete(self) -> list[Event]:
        done = sorted(i for i, end in self._end.items() if end == self._second)
        for i in done:
            self._leave(i)
        return [Event(COMPLETION, i) for i in done]

    def _expire(self) -> list[Event]:
        late = []
        while self._deadlines and self._deadlines[0][0] == self._second:
            _, i = heappop(self._deadlines)
            if i in self._here:
                late.append(i)
                if not self._keep_late:
                    self._leave(i)
        return [Event(DEADLINE, i) for i in late]

    def _turn(self) -> list[Event]:
        """The edge servers change: what runs on them ends with its window, unless it is named again."""
        if not self._changes or self._changes[-1][0] != self._second:
            return []
        self._servers = self._changes.pop()[1]
        self._asked = {i: mode for i, mode in self._asked.items() if mode[0] != EDGE}
        return [Event(WINDOW, None)]

    def _enter(self, new: Sequence[int]) -> None:
        for i in new:
            self._here[i] = None
            heappush(self._deadlines, (self._deadline[i], i))

    def _leave(self, i: int) -> None:
        del self._here[i]
        for books in (self._mode, self._end, self._asked):
            books.pop(i, None)

    def _view(self, events: Sequence[Event]) -> View:
        here = np.fromiter(self._here, np.int64, len(self._here))
        left = self._left[here] - self._speed[here] * np.maximum(0, self._second - self._ready[here])
        until = None
        if self._servers and not self._hidden:
            until = next(w.end for w in self._instance.edge if w.start <= self._second < w.end)
        place, share, last, ready = (_sealed(x[here]) for x in (self._place, self._share, self._last, self._ready))
        state = (self._second, self._instance.gpus, self._servers, until)
        return View(*state, _sealed(here), _sealed(left), place, share, last, ready, tuple(events))

    # The answers.

    def copied(self, event: str, index: int | None, answer: Any) -> Any:
        return copy_answer(plain, "allocation", index, answer)

    def take(self, event: str, index: int | None, answer: Any) -> BookedAnswer | None:
        """Rules: `active` (the job is here), `levels` (rule 2 of section 3), `capacity` (rule 3), `wake`."""
        copy = self.copied(event, index, answer)
        if copy is None:
            return None
        shares, wake = copy
        gpus = servers = 0
        for i, place, share in shares:
            if i not in self._here:
                raise RuleViolation(
                    "active", i if 0 <= i < self._arrived else None, f"job {i} is not here at {self._second} s"
                )
            if place == EDGE:
                if share != 1 or self._models[i].edge_speed == 0:
                    raise RuleViolation("levels", i, f"{share} edge servers for model {self._models[i].name}")
                servers += 1
            elif place == CLOUD:
                if share not in self._speeds[i]:
                    raise RuleViolation("levels", i, f"{share} GPUs are no level of model {self._models[i].name}")
                gpus += share
            else:
                raise RuleViolation("levels", i, f"place {place} is neither {CLOUD} nor {EDGE}")
        for what, used, there in (("GPUs", gpus, self._instance.gpus), ("edge servers", servers, self._servers)):
            if used > there:
                raise RuleViolation("capacity", index, f"{used} of {there} {what} at {self._second} s")
        if wake is not None:
            if wake <= self._second:
                raise RuleViolation("wake", index, f"wake at {wake} s, asked at {self._second} s")
            self._wakes += 1
            if self._wakes > WAKES_LIMIT:
                raise RuleViolation("wake", index, f"more than {WAKES_LIMIT} wakes")
        self._wake = wake
        self._asked = {i: (place, share) for i, place, share in shares}
        booked = BookedAnswer(copy)
        booked.second = self._second
        return booked

    def _commit(self) -> None:
        """What was asked last in this second runs; a change costs its stall."""
        for i in [i for i in self._mode if i not in self._asked]:
            self._halt(i)
            self._place[i], self._share[i] = PAUSED, 0
            del self._mode[i], self._end[i]
        for i, mode in self._asked.items():
            if self._mode.get(i) == mode:
                continue
            self._halt(i)
            place, share = mode
            model, last = self._models[i], int(self._last[i])
            stall = model.overhead_s + (model.edge_overhead_s if last not in (PAUSED, place) else 0)
            speed = model.edge_speed if place == EDGE else self._speeds[i][share]
            self._mode[i] = mode
            self._place[i], self._share[i], self._last[i] = place, share, place
            self._speed[i], self._ready[i] = speed, self._second + stall
            self._end[i] = self._second + stall - -int(self._left[i]) // speed

    def _halt(self, i: int) -> None:
        self._left[i] -= self._speed[i] * max(0, self._second - int(self._ready[i]))
        self._speed[i] = 0


def _sealed(column: IntArray) -> IntArray:
    column.setflags(write=False)
    return column
