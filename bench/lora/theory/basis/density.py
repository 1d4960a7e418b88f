"""Least and largest bbar = b_il / (S + R) over all covers, wasteful ones included, by Dinkelbach's method.

A ratio N / D of sums with D > 0 is at most theta exactly if h(theta) = max (N - theta D) <= 0. From the ratio of any
cover the method goes to the ratio of the cover that maximises N - theta D, which is larger, until h = 0; the least
ratio is minus the largest of -N / D. A covering dynamic programme maximises N - theta D from the last slot to the
first: in each slot no cell or one cell of one type, the state a count vector of less work than M, or one state for
all covers. Nothing is assumed about signs. Doubles do the search, with a bound on their rounding; whatever they
cannot tell apart is decided in whole numbers of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.theory.claim import keep_by_content
from ratiobench.formulations.kernels import compiled
from ratiobench.formulations.lora.covering.schedules import States, space, states
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.named import named


class Totals(NamedTuple):
    """A cover: the option it uses, and its operational cost, work and number of cells."""

    option: int
    cost: int
    work: int
    cells: int


@dataclass(frozen=True, slots=True)
class Menu:
    """What decides the bbar of a task's covers."""

    memory_mb: int  # r_i
    rates: IntArray  # (G',) on the usable types
    cost: IntArray  # (G', W) e of a cell of each type in each slot of the widest window
    offsets: IntArray  # (n options,) first slot of each option, from 0; W or more where it has none
    net: IntArray  # (n options,) b_i - q_in
    work: int  # M
    states: States  # the count vectors that matter: those short of M, and those that just cover

    def ratio(self, cover: Totals, memory: Fraction) -> Fraction:
        return (int(self.net[cover.option]) - cover.cost) / (cover.work + memory * self.memory_mb * cover.cells)

    def search(self, sign: int, theta: float, memory: float) -> tuple[float, Totals, float]:
        """h(theta) of sign N / D in doubles, the cover that attains it, and what rounding may have added to h."""
        worth, base, slack = self._price(sign, theta, memory)
        value, *totals = _best(worth, base, *self._covers)
        return value, Totals(*totals), slack

    def is_below(self, sign: int, theta: float, memory: float) -> bool:
        """Whether an upper bound on h(theta) is below 0 by more than rounding."""
        worth, base, slack = self._price(sign, theta, memory)
        # M times the best worth of a sample is such a bound if it is negative, else every slot's best cell.
        most = (worth / self.rates[:, None]).max()
        if most < 0:
            return bool(base.max() + self.work * most < -2 * slack)
        behind = np.cumsum(np.maximum(worth.max(axis=0), 0.0)[::-1])[::-1]
        usable = self.offsets < len(behind)
        return bool((base[usable] + behind[self.offsets[usable]]).max() < -2 * slack)

    def _price(self, sign: int, theta: float, memory: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """(G', W) worth of cells, (n options,) what is added to their sum, and what rounding may add to h."""
        size = self.rates + memory * self.memory_mb
        base = sign * self.net.astype(np.float64)
        scale = np.abs(base).max() + (np.abs(self.cost) + abs(theta) * size[:, None]).max(axis=0).sum()
        return -sign * self.cost - theta * size[:, None], base, (len(self.cost[0]) + 16) * 2.0**-52 * float(scale)

    def decide(self, sign: int, theta: Fraction, memory: Fraction) -> tuple[int, Totals]:
        """The same in whole numbers; h is multiplied by something positive."""
        # sign N / D with D = S + (a/d) r n: theta = (p/q) d / (d S + a r n), so all times q.
        scaled = theta / memory.denominator
        p, q = scaled.numerator, scaled.denominator
        size = [memory.denominator * rate + memory.numerator * self.memory_mb for rate in self.rates.tolist()]
        worth = -sign * q * self.cost.astype(object) - p * np.array(size, dtype=object)[:, None]
        # The kernel as plain Python: few tasks come this far.
        value, *totals = _best.py_func(worth, sign * q * self.net.astype(object), *self._covers)
        return value, Totals(*map(int, totals))

    @property
    def _covers(self) -> tuple[Any, ...]:
        x = self.states
        return self.offsets, self.cost, self.rates, x.work, x.cells, x.less, self.work


def menus(instance: Instance) -> Iterator[Menu]:
    """The tasks that have a cover; those that are alike in all that matters here, once."""
    public = instance.public("")
    known = set()
    for i in range(instance.tasks):
        task = instance.task(i)
        menu = space(task, public)
        width = menu.width
        if width == 0 or len(menu.types) == 0 or width * int(menu.rates.max()) < task.work:
            continue
        cost = np.ascontiguousarray(task.cost[menu.types, menu.first - 1 : menu.last])
        net = task.bid - menu.prices
        kind = (task.work, task.memory_mb, *(a.tobytes() for a in (menu.rates, cost, menu.offsets, net)))
        if kind in known:
            continue
        known.add(kind)
        reached = states(menu.rates, task.work, width, task=i)
        yield Menu(task.memory_mb, menu.rates, cost, menu.offsets, net, task.work, reached)


@keep_by_content(content_hash, 64)
def find_bbar_range(instance: Instance, money: Fraction, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    """Least and largest bbar over all covers of all tasks, in units as in `facts`; None where no task has a cover."""
    ends = LargestRatio(-1, memory), LargestRatio(1, memory)
    for menu in menus(instance):
        for end in ends:
            end.add_task(menu)
    low, high = (end.find_largest() for end in ends)
    return None if low is None or high is None else (money * -low, money * high)


class LargestRatio:
    """The largest sign N / D over the covers of some tasks."""

    def __init__(self, sign: int, memory: Fraction) -> None:
        self._sign, self._memory = sign, memory
        self._best: Fraction | None = None
        self._open: list[Menu] = []

    def add_task(self, menu: Menu) -> None:
        """One more task, in doubles: theta only grows and h falls with it, so a task below 0 now never counts again."""
        if self._best is not None and menu.is_below(self._sign, float(self._best), float(self._memory)):
            return
        while True:
            value, cover, slack = menu.search(self._sign, float(self._best or 0), float(self._memory))
            if self._best is not None and value < -slack:
                return
            found = self._sign * menu.ratio(cover, self._memory)
            if self._best is not None and (value <= slack or found <= self._best):
                self._open.append(menu)
                return
            self._best = found

    def find_largest(self) -> Fraction | None:
        """The largest ratio, exactly; None if no task was added."""
        for menu in reversed(self._open):
            assert self._best is not None
            value, _, slack = menu.search(self._sign, float(self._best), float(self._memory))
            while value >= -slack:
                exact, cover = menu.decide(self._sign, self._best, self._memory)
                if exact <= 0:
                    break
                self._best = self._sign * menu.ratio(cover, self._memory)
        return self._best


@compiled
def _best(worth, base, offsets, cost, rates, done, count, less, need):  # type: ignore[no-untyped-def]
    """(value, option, cost, work, cells) of the cover of largest base + sum of worth, in doubles or integers."""
    # worth: (G', W) of a cell; base: (n options,) of an option; the others as in `Menu` and its states.
    types, width = worth.shape
    # Of each count vector short of M: its largest worth in the slots behind t, and what it costs; -inf if impossible.
    value = np.full(len(done), -np.inf).astype(worth.dtype)
    value[0] = 0
    spent = np.zeros(len(done), np.int64)
    # The same of all covers, with work and cells.
    top, e, s, n = -np.inf, 0, 0, 0
    best = (-np.inf, -1, 0, 0, 0)
    for t in range(width - 1, -1, -1):
        old, old_e, old_s, old_n = top, e, s, n
        for g in range(types):
            if old > -np.inf and old + worth[g, t] > top:
                top, e, s, n = old + worth[g, t], old_e + cost[g, t], old_s + rates[g], old_n + 1
        # Vectors with one cell fewer have a smaller index: they still stand as they were.
        for y in range(len(done) - 1, 0, -1):
            for g in range(types):
                x = less[y, g]
                if x < 0 or value[x] == -np.inf:
                    continue
                now = value[x] + worth[g, t]
                if done[y] < need and now > value[y]:
                    value[y] = now
                    spent[y] = spent[x] + cost[g, t]
                elif done[y] >= need and now > top:
                    top, e, s, n = now, spent[x] + cost[g, t], done[y], count[y]
        # A schedule of option o that begins here: b_i - q_in on top.
        for o in range(len(offsets)):
            if offsets[o] == t and top > -np.inf and base[o] + top > best[0]:
                best = (base[o] + top, o, e, s, n)
    return best


def warm() -> None:
    next(menus(named("tiny_two_types"))).search(1, 1.0, 1.0)
