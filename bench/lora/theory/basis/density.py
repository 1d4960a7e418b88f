"""Least and largest bbar = b_il / (S + R) over all covers, wasteful ones included, by Dinkelbach's method.

A ratio N / D of sums with D > 0 is at most theta exactly when h(theta) = max (N - theta D) <= 0, and N - theta D is a
sum over cells again. So from the ratio of any cover we go to the ratio of the cover that maximises N - theta D, which
is larger, until h = 0. The least ratio is minus the largest of -N / D.

N - theta D is maximised by a covering dynamic programme: slots from the last to the first, in each no cell or one cell
of one type (nodes of a type are alike to an empty cluster), the state the work done so far, clipped at M. Cells may be
worth anything: below M a cell is taken for its work although it costs, beyond M it is taken when it pays and left when
it does not. Nothing is assumed about signs, so negative costs, negative theta and b_il <= 0 are no cases of their own.
A vendor's option is the same programme begun at its first slot, plus its price. The states are sums of rates below M
that can be reached, and can still reach M, within the window: never more than there are count vectors.

Doubles do the search, with a bound on their rounding; whatever they cannot tell apart is decided in whole numbers of
any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.lora.theory.basis.facts import keep_by_content
from ratiobench.formulations.kernels import compiled
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT, StateSpaceTooLarge, space
from ratiobench.instances.lora.model import Instance, IntArray


def find_bbar_range(instance: Instance, money: Fraction, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    """Least and largest bbar over all covers of all tasks, in units as in `facts`; None where no task has a cover."""
    found = _extremes(instance, memory)
    return None if found is None else (money * found[0], money * found[1])


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
    after: IntArray  # (states + 1, G') see `_sums`

    def ratio(self, cover: Totals, memory: Fraction) -> Fraction:
        """b_il / (S + memory r n)."""
        return (int(self.net[cover.option]) - cover.cost) / (cover.work + memory * self.memory_mb * cover.cells)

    def search(self, sign: int, theta: float, memory: float) -> tuple[float, Totals, float]:
        """h(theta) of sign N / D in doubles, the cover that attains it, and what rounding may have added to h."""
        size = self.rates + memory * self.memory_mb
        worth = -sign * self.cost - theta * size[:, None]
        base = sign * self.net.astype(np.float64)
        value, option, cost, work, cells = _best(worth, self.cost, self.rates, self.after, self.offsets, base, -np.inf)
        scale = np.abs(base).max() + (np.abs(self.cost) + abs(theta) * size[:, None]).max(axis=0).sum()
        return value, Totals(option, cost, work, cells), (self.cost.shape[1] + 16) * 2.0**-52 * float(scale)

    def decide(self, sign: int, theta: Fraction, memory: Fraction) -> tuple[int, Totals]:
        """The same in whole numbers; h is multiplied by something positive."""
        # sign N / D with D = S + (a/d) r n: theta = (p/q) d / (d S + a r n), so all times q.
        scaled = theta / memory.denominator
        p, q = scaled.numerator, scaled.denominator
        size = [memory.denominator * rate + memory.numerator * self.memory_mb for rate in self.rates.tolist()]
        worth = -sign * q * self.cost.astype(object) - p * np.array(size, dtype=object)[:, None]
        base = sign * q * self.net.astype(object)
        return _best_of_any_size(worth, self.cost, self.rates, self.after, self.offsets, base)


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
        after, enough = _sums(menu.rates, task.work, width, STATE_LIMIT)
        if not enough:
            raise StateSpaceTooLarge(f"more than {STATE_LIMIT} sums of rates below {task.work}", i)
        yield Menu(task.memory_mb, menu.rates, cost, menu.offsets, net, after)


@keep_by_content(64)
def _extremes(instance: Instance, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    ends = LargestRatio(-1, memory), LargestRatio(1, memory)
    for menu in menus(instance):
        for end in ends:
            end.add_task(menu)
    low, high = (end.find_largest() for end in ends)
    return None if low is None or high is None else (-low, high)


class LargestRatio:
    """The largest sign N / D over the covers of some tasks."""

    def __init__(self, sign: int, memory: Fraction) -> None:
        self._sign, self._memory = sign, memory
        self._near_memory = float(memory)
        self._best: Fraction | None = None
        self._near = 0.0
        self._open: list[Menu] = []

    def add_task(self, menu: Menu) -> None:
        """One more task, in doubles. theta only grows and h falls with it, so who is below 0 now never counts again."""
        while True:
            value, cover, slack = menu.search(self._sign, self._near, self._near_memory)
            if self._best is not None and value <= slack:
                if value >= -slack:
                    self._open.append(menu)
                return
            found = self._sign * menu.ratio(cover, self._memory)
            if self._best is not None and found <= self._best:
                self._open.append(menu)
                return
            self._best, self._near = found, float(found)

    def find_largest(self) -> Fraction | None:
        """The largest ratio, exactly; None where no task was met."""
        if self._best is None:
            return None
        for menu in reversed(self._open):
            value, _, slack = menu.search(self._sign, self._near, self._near_memory)
            if value < -slack:
                continue
            while True:
                exact, cover = menu.decide(self._sign, self._best, self._memory)
                if exact <= 0:
                    break
                self._best = self._sign * menu.ratio(cover, self._memory)
                self._near = float(self._best)
        return self._best


@compiled
def _sums(rates, work, width, limit):  # type: ignore[no-untyped-def]
    """The sums of rates below `work` in ascending order, and where one more cell leads.

    Only sums of at most `width` cells from which `width` cells in all can still cover.
    """
    types = len(rates)
    fastest = 0
    for rate in rates:
        fastest = max(fastest, rate)
    size = 64
    total = np.zeros(size, np.int64)
    fewest = np.zeros(size, np.int64)
    after = np.empty((size, types), np.int64)
    for g in range(types):
        after[0, g] = -1
    at = np.zeros(types, np.int64)
    count = 1
    while True:
        # The next sum: every rate on top of the first sum it was not yet added to (a merge of G' ascending lists).
        value = work
        for g in range(types):
            if at[g] < count:
                value = min(value, total[at[g]] + rates[g])
        if value >= work:
            break
        # The fewest cells that make it.
        cells = width + 1
        # Every rate that leads here is done with that sum.
        for g in range(types):
            if at[g] < count and total[at[g]] + rates[g] == value:
                cells = min(cells, fewest[at[g]] + 1)
        # Of use in the window: it can be made, and what is left of the window can still cover M.
        mask = cells <= width and value + (width - cells) * fastest >= work
        if mask and count >= limit:
            return after[:1], False
        if mask and count == size:
            size *= 2
            # Every rate that leads here is done with that sum.
            longer = np.zeros(size, np.int64)
            more = np.zeros(size, np.int64)
            further = np.empty((size, types), np.int64)
            for j in range(count):
                longer[j], more[j] = total[j], fewest[j]
                for g in range(types):
                    further[j, g] = after[j, g]
            total, fewest, after = longer, more, further
        for g in range(types):
            if at[g] < count and total[at[g]] + rates[g] == value:
                after[at[g], g] = count if mask else -1
                at[g] += 1
        if mask:
            total[count] = value
            fewest[count] = cells
            for g in range(types):
                after[count, g] = -1
            count += 1
    # What leads to M or beyond is the covered row, which leads to itself.
    found = np.empty((count + 1, types), np.int64)
    for j in range(count):
        for g in range(types):
            found[j, g] = count if total[j] + rates[g] >= work else after[j, g]
    for g in range(types):
        found[count, g] = count
    return found, True


@compiled
def _best(worth, cost, rates, after, offsets, base, never):  # type: ignore[no-untyped-def]
    """(value, option, cost, work, cells) of the cover of largest base + sum of worth; value `never` if there is none.

    A state's row is overwritten in place: its successors have a larger index, and the covered one succeeds itself.
    """
    types, width = worth.shape
    states = after.shape[0]
    # Of each sum: the largest worth of cells in the slots behind t that cover the rest, and what those cells add up to.
    value = np.empty(states, worth.dtype)
    for j in range(states):
        value[j] = never
    value[states - 1] = 0
    spent = np.zeros((states, 3), np.int64)
    best = (never, -1, 0, 0, 0)
    for t in range(width - 1, -1, -1):
        for j in range(states):
            # No cell in slot t, or one cell of type g: worth is the summand of N - theta D.
            most = value[j]
            pick = -1
            for g in range(types):
                to = after[j, g]
                if to >= 0 and value[to] > never and worth[g, t] + value[to] > most:
                    most = worth[g, t] + value[to]
                    pick = g
            if pick >= 0:
                to = after[j, pick]
                value[j] = most
                spent[j, 0] = spent[to, 0] + cost[pick, t]
                spent[j, 1] = spent[to, 1] + rates[pick]
                spent[j, 2] = spent[to, 2] + 1
        # A schedule of option n that begins here: b_i - q_in on top.
        for n in range(len(offsets)):
            if offsets[n] == t and value[0] > never and base[n] + value[0] > best[0]:
                best = (base[n] + value[0], n, spent[0, 0], spent[0, 1], spent[0, 2])
    return best


def _best_of_any_size(
    worth: NDArray[Any], cost: IntArray, rates: IntArray, after: IntArray, offsets: IntArray, base: NDArray[Any]
) -> tuple[int, Totals]:
    """The same in Python's integers, a slot at a time."""
    types, width = worth.shape
    states = len(after)
    below = -(sum(abs(value) for value in worth.flat) + 1)  # less than any sum of cells
    value = np.full(states, 2 * below, dtype=object)
    value[-1] = 0
    spent = np.zeros((states, 3), np.int64)
    best: tuple[int, Totals] | None = None
    for t in range(width - 1, -1, -1):
        old, had = value.copy(), spent.copy()
        for g in range(types):
            new = np.where(after[:, g] >= 0, old[after[:, g]] + worth[g, t], 2 * below)
            better = (new > value).astype(np.bool_)
            value[better] = new[better]
            spent[better] = had[after[better, g]] + np.array([cost[g, t], rates[g], 1])
        for n in np.flatnonzero(offsets == t).tolist():
            if value[0] > below and (best is None or base[n] + value[0] > best[0]):
                best = base[n] + value[0], Totals(n, *spent[0].tolist())
    assert best is not None, "a task with a cover"
    return best


def warm() -> None:
    """Compile the kernels."""
    rates, cost = np.array([2, 1], dtype=np.int64), np.array([[1, 2, 1], [1, 1, 2]], dtype=np.int64)
    after, _ = _sums(rates, 3, 3, STATE_LIMIT)
    menu = Menu(1, rates, cost, np.zeros(1, np.int64), np.full(1, 9, np.int64), after)
    menu.search(1, 1.0, 1.0)
