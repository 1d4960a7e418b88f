"""The best answer to a tiny batch by looking at every schedule, in integers of any size; no tolerance decides.

A solver compares doubles, so that its bound on a batch of large numbers leaves a gap even where its answer is the best
one. Where all that can be done is little, this proves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution

STEPS = 50_000  # Cells and schedules that are looked at before it is given up: a tenth of a second
DEPTH = 100  # No more tasks, and no more slots of a task: each is a level of a search by calls

_Cells = tuple[tuple[int, int], ...]


class _OutOfSteps(Exception):
    """There is too much to look at."""


def search_exhaustively(
    instance: Instance, tasks: Sequence[int], free: IntArray, free_mb: IntArray, least: int
) -> tuple[int, Solution | None] | None:
    """The optimum of a batch on what the nodes have left; None where there is too much to look at.

    `free`, `free_mb`: (K, T) samples and MB left; returns the optimum with a solution that has it, or `least` and None
    where nothing is better.
    """
    if max(len(tasks), int((instance.deadline - instance.arrival).max(initial=0))) >= DEPTH:
        return None
    search = _Search(instance, free, free_mb, least)
    try:
        menus = [(i, sorted(search.schedules(i), key=lambda each: -each[0])) for i in tasks]
        search.start(sorted((each for each in menus if each[1]), key=lambda each: -each[1][0][0]))
        search.run(0, 0)
    except _OutOfSteps:
        return None
    return search.best, search.solution


class _Search:
    """Depth first over the tasks, the one with the most valuable schedule first, against what the others could add."""

    def __init__(self, instance: Instance, free: IntArray, free_mb: IntArray, least: int) -> None:
        self._instance = instance
        self._free, self._free_mb = free.tolist(), free_mb.tolist()
        self._type_of = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
        self._memory = instance.memory_mb.tolist()
        self._steps = STEPS
        self._decisions: list[Decision | None] = [None] * instance.tasks
        self.best = least
        self.solution: Solution | None = None

    def _step(self, count: int = 1) -> None:
        self._steps -= count
        if self._steps < 0:
            raise _OutOfSteps

    def schedules(self, i: int) -> Iterator[tuple[int, _Cells]]:
        """Value and cells of every schedule of positive value on what is left, but for those with a cell to spare.

        A cell whose work is not needed and whose cost is not negative is better left out.
        """
        instance = self._instance
        rates, cost = instance.rate[i].tolist(), instance.cost(i).tolist()
        first, last = int(instance.arrival[i]), int(instance.deadline[i])
        work, bid = int(instance.work[i]), int(instance.bid[i])
        choices = []
        for t in range(first, last + 1):
            self._step(len(self._type_of))
            usable = [
                (k, rates[g], cost[g][t - 1])
                for k, g in enumerate(self._type_of)
                if 0 < rates[g] <= self._free[k][t - 1] and self._memory[i] <= self._free_mb[k][t - 1]
            ]
            choices.append(usable)
        most = [0]  # work that the slots from here on can do
        for usable in reversed(choices):
            most.append(most[-1] + max((rate for _, rate, _ in usable), default=0))
        most.reverse()
        cells: list[tuple[int, int, int, int]] = []

        def deeper(place: int, done: int, spent: int) -> Iterator[tuple[int, _Cells]]:
            self._step()
            if done + most[place] < work:
                return
            if place == len(choices):
                if bid > spent and not any(price >= 0 and rate <= done - work for _, _, rate, price in cells):
                    yield bid - spent, tuple((k, t) for k, t, _, _ in cells)
                return
            yield from deeper(place + 1, done, spent)
            for k, rate, price in choices[place]:
                if done >= work and price >= 0:
                    continue
                cells.append((k, first + place, rate, price))
                yield from deeper(place + 1, done + rate, spent + price)
                cells.pop()

        return deeper(0, 0, 0)

    def start(self, menus: list[tuple[int, list[tuple[int, _Cells]]]]) -> None:
        """Take the tasks' schedules, most valuable first."""
        self._menus = menus
        self._rest = [sum(menu[0][0] for _, menu in menus[place:]) for place in range(len(menus) + 1)]

    def run(self, place: int, value: int) -> None:
        """Try everything with the tasks from here on that could be better than the best."""
        if value > self.best:
            self.best, self.solution = value, tuple(self._decisions)
        if place == len(self._menus) or value + self._rest[place] <= self.best:
            return
        i, menu = self._menus[place]
        for worth, cells in menu:
            if value + worth + self._rest[place + 1] <= self.best:
                break
            self._step()
            if self._take(i, cells):
                self._decisions[i] = Decision(None, cells)
                self.run(place + 1, value + worth)
                self._decisions[i] = None
                self._give(i, cells)
        self.run(place + 1, value)

    def _take(self, i: int, cells: _Cells) -> bool:
        rates = self._instance.rate[i].tolist()
        for k, t in cells:
            if rates[self._type_of[k]] > self._free[k][t - 1] or self._memory[i] > self._free_mb[k][t - 1]:
                return False
        for k, t in cells:  # no slot stands twice in a schedule
            self._free[k][t - 1] -= rates[self._type_of[k]]
            self._free_mb[k][t - 1] -= self._memory[i]
        return True

    def _give(self, i: int, cells: _Cells) -> None:
        rates = self._instance.rate[i].tolist()
        for k, t in cells:
            self._free[k][t - 1] += rates[self._type_of[k]]
            self._free_mb[k][t - 1] += self._memory[i]
