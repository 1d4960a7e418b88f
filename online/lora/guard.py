"""The guard of Theorem H: any prices, kept between two limits, give a competitive ratio that is known beforehand.

On each node type g the tasks fall into announced classes: sizes s_j, r_j, and X_j at least a task's worth over its
weight w = max(s / C, r / D). A class is exact, or stands for all tasks within a factor `step` below its sizes. A cell
(g, t) has a credit c, per unit of weight, and N_j is how many more tasks of class j fit on its nodes. With

    kappa_j = min_c (1 + beta w_c / (step K))^(1 / ceil(max(s_c / s_j, r_c / r_j))),
    Phi(N) = max_j X_j kappa_j^(-N_j),

c is never below Phi(N): it begins there, and a task of weight w is sold the cell at a price P with L <= P <= c w, where
L = (Phi(N after it) - c) K / beta, and c grows by beta P / K. Any wish P* becomes such a P. Where a wish is above c w,
c is raised for it first, as far as rho ALG allows.

Theorem H. OPT <= (rho + max(1, Omega beta)) ALG + A0 + E, where Omega bounds the weight of what fits a node, A0 =
sum Omega_g K_g Phi(N of empty nodes), and E, 0 where what was announced bounds the day, is the worth of the tasks of no
class and what others are worth above X_j w. `online/lora/README.md` has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lora.bound.patterns import maximal_patterns
from instances.lora.model import Instance, IntArray, Public
from online.lora.public_constants import served

CLASSES = 24
"""Most classes of a node type; where tasks have more shapes, classes are the cells of a grid."""
STEPS = (Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(4), Fraction(16), Fraction(2**40))
"""Factors between the sizes of a grid; the first with few enough cells in use."""
_ROOT_BITS = 40
_SLACK = Fraction(1, 2**24)
"""In doubles caps are announced so much larger: more than what rounding takes off a credit over 2^24 sales."""
_PARTS = 16
_DEGREE = 2**12
"""Above it a root is taken for 1, which it nearly is."""
_MOST_LEFT, _MOST_LEFT_EXACTLY = 2**15, 2**8
"""Tasks left of a class that Phi counts; with more it stays where it is, and so above what it must be."""
_FEWEST_PARTS, _MOST_PARTS = 8, 1024
"""Parts of a node that volume is measured in, as many as keep its table within those lengths."""


class Kind(NamedTuple):
    """What is announced of one node type.

    Parameters
    ----------
    rate, memory : (J,) sizes s_j, r_j of the classes.
    cap : X_j, micro-dollars per unit of weight.
    step : tasks of a class are no smaller than its sizes over this; 1 for exact classes.
    omega : at least the weight of any tasks of the classes that fit one node.
    """

    rate: tuple[int, ...]
    memory: tuple[int, ...]
    cap: tuple[Fraction, ...]
    step: Fraction
    omega: Fraction

    def find(self, rate: int, memory: int) -> int:
        """The class of a task; -1 where it has none."""
        best = -1
        for j, (s, r) in enumerate(zip(self.rate, self.memory, strict=True)):
            within = rate <= s and memory <= r and rate * self.step >= s and memory * self.step >= r
            if within and (best < 0 or (s, r) < (self.rate[best], self.memory[best])):
                best = j
        return best


@dataclass(frozen=True, slots=True)
class Announced:
    """What the guard must know in advance, and its parameters.

    Parameters
    ----------
    kinds : by node type. beta, rho : the two parts of the guarantee; beta > 0. margin : that the caps were widened by.
    by_volume : Phi looks at the volume that is left as well, and takes the smaller one of each class.
    """

    kinds: tuple[Kind, ...]
    beta: Fraction
    rho: Fraction
    margin: Fraction
    by_volume: bool = False

    @property
    def factor(self) -> Fraction:
        """rho + max(1, Omega beta)."""
        omega = max((kind.omega for kind in self.kinds), default=Fraction(1))
        return self.rho + max(Fraction(1), omega * self.beta)


def weigh(rate: int, memory: int, compute: int, memory_mb: int) -> Fraction:
    """w = max(s / C, r / D)."""
    return max(Fraction(rate, compute), Fraction(memory, memory_mb))


@lru_cache(maxsize=8)
def announce(
    instance: Instance,
    beta: Fraction,
    rho: Fraction,
    margin: Fraction,
    classes: int = CLASSES,
    by_volume: bool = False,
) -> Announced:
    """Classes, caps and Omega from the tasks of an instance that have a schedule: best of earlier days.

    Parameters
    ----------
    margin : caps are this times what the tasks need. classes : above so many shapes of a node type, cells of a grid.
    """
    public = instance.public("")
    tasks = served(instance)
    kinds = []
    for g, (compute, memory_mb) in enumerate(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True)):
        shapes: dict[tuple[int, int], int] = {}
        for each in tasks:
            rate = int(instance.rate[each.task, g])
            if 0 < rate <= compute and each.memory_mb <= memory_mb:
                shape = rate, each.memory_mb
                shapes[shape] = max(shapes.get(shape, 0), each.worth)
        kinds.append(_classify(shapes, compute, memory_mb, margin, classes))
    return Announced(tuple(kinds), beta, rho, margin, by_volume)


def _classify(shapes: dict[tuple[int, int], int], compute: int, memory_mb: int, margin: Fraction, most: int) -> Kind:
    step, classes = Fraction(1), {shape: shape for shape in shapes}
    if len(shapes) > most:
        for step in STEPS:
            rates, sizes = _levels(compute, step), _levels(memory_mb, step)
            classes = {shape: (_level(rates, shape[0]), _level(sizes, shape[1])) for shape in shapes}
            if len(set(classes.values())) <= most:
                break
    caps: dict[tuple[int, int], Fraction] = {}
    for shape, worth in shapes.items():
        cap = margin * worth / weigh(*shape, compute, memory_mb)
        caps[classes[shape]] = max(caps.get(classes[shape], Fraction(0)), cap)
    listed = sorted(caps)
    rate, memory = tuple(s for s, _ in listed), tuple(r for _, r in listed)
    omega = bound_weight(rate, memory, step, compute, memory_mb)
    return Kind(rate, memory, tuple(caps[shape] for shape in listed), step, omega)


def _levels(largest: int, step: Fraction) -> list[int]:
    """Sizes from the largest down, each at least a whole number below the one before over `step`."""
    levels = [largest]
    while levels[-1] > 1:
        levels.append(min(levels[-1] - 1, max(1, math.floor(levels[-1] / step))))
    return levels


def _level(levels: Sequence[int], size: int) -> int:
    """The smallest level that is no smaller than the size."""
    return min(level for level in levels if level >= size)


def bound_weight(rate: Sequence[int], memory: Sequence[int], step: Fraction, compute: int, memory_mb: int) -> Fraction:
    """An upper bound on the weight of tasks of these classes that fit one node: 2, or a linear one, or by patterns.

    For any part a, w <= theta (a s / C + (1 - a) r / D) with the largest such quotient theta, and the bracket sums to 1
    at most.
    """
    best = Fraction(2)
    pairs = [(Fraction(s, compute), Fraction(r, memory_mb)) for s, r in zip(rate, memory, strict=True)]
    if not pairs:
        return Fraction(1)
    for part in (Fraction(z, _PARTS) for z in range(_PARTS + 1)):
        worst = Fraction(1)
        for c, m in pairs:
            by_compute = part + (1 - part) * min(Fraction(1), m / (step * c))
            by_memory = part * min(Fraction(1), c / (step * m)) + (1 - part)
            least = min(by_compute, by_memory)
            worst = max(worst, 1 / least) if least > 0 else Fraction(2)
        best = min(best, worst)
    if step == 1:
        patterns = maximal_patterns(np.array(rate, np.int64), np.array(memory, np.int64), compute, memory_mb)
        if patterns is not None:
            unit = compute * memory_mb
            weights = [int(max(pair) * unit) for pair in pairs]
            most = max(sum(map(mul, row, weights)) for row in patterns.tolist())
            best = min(best, Fraction(most, unit))
    return best


def root_below(value: Fraction, degree: int) -> Fraction:
    """A fraction in 1/2^40 that is no larger than the root of a value of at least 1, and nearly it; at least 1."""
    unit = 2**_ROOT_BITS
    if degree > _DEGREE:
        return Fraction(1)
    guess = max(unit, math.floor(float(value) ** (1.0 / degree) * unit) + 2)
    while guess > unit and Fraction(guess, unit) ** degree > value:
        guess -= 1
    return Fraction(guess, unit)


class Guard:
    """The credits of a run, and the limits that they set to prices.

    Parameters
    ----------
    exact : in fractions, else in doubles.

    Attributes
    ----------
    start : A0, exactly (of a run in doubles with the wider caps).
    """

    def __init__(self, public: Public, announced: Announced, *, exact: bool) -> None:
        self._announced, self._exact = announced, exact
        self._number: Any = Fraction if exact else float
        self._dtype = object if exact else np.float64
        self._capacity = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        self._nodes = [kind.count for kind in public.node_types]
        self._beta, self._rho = self._number(announced.beta), self._number(announced.rho)
        self._welfare, self._spent = 0, self._number(0)
        self._weights: dict[tuple[int, int, int], tuple[Any, bool]] = {}
        self._worth = [
            self._number(kind.omega * count) for kind, count in zip(announced.kinds, self._nodes, strict=True)
        ]
        self._tables: list[list[NDArray[Any]]] = []
        self._left: list[list[IntArray]] = []
        self._sizes: list[tuple[IntArray, IntArray]] = []
        self._parts: list[int] = []
        self.credit: list[NDArray[Any]] = []
        self.start = Fraction(0)
        for kind, count, (compute, memory_mb) in zip(announced.kinds, self._nodes, self._capacity, strict=True):
            g, longest = len(self._sizes), _MOST_LEFT_EXACTLY if exact else _MOST_LEFT
            self._sizes.append((np.array(kind.rate, np.int64), np.array(kind.memory, np.int64)))
            self._parts.append(max(_FEWEST_PARTS, min(_MOST_PARTS, longest // count)))
            whole = np.array([compute]), np.array([memory_mb])
            left = [count * here for here in self._room(g, *whole)]
            falls = [self._count_falls(kind)] + [self._volume_falls(g, kind)] * announced.by_volume
            self._tables.append(
                [
                    self._table(g, kind, fall, min(int(most.max(initial=0)), longest))
                    for fall, most in zip(falls, left, strict=True)
                ]
            )
            self._left.append([np.repeat(here, public.slots, axis=0) for here in left])
            first = self._floor(g, left)[0]
            self.credit.append(np.full(public.slots, first, self._dtype))
            self.start += public.slots * kind.omega * count * Fraction(first)

    def _count_falls(self, kind: Kind) -> list[list[int]]:
        """By class j and class c: how many tasks of j no longer fit, at most, when one of c is placed."""
        sizes = list(zip(kind.rate, kind.memory, strict=True))
        return [[max(-(-a // s), -(-m // r)) for a, m in sizes] for s, r in sizes]

    def _volume_falls(self, g: int, kind: Kind) -> list[list[int]]:
        """The same of the volume that can be sold before j no longer fits: at most the weight of c, in parts."""
        sizes = list(zip(kind.rate, kind.memory, strict=True))
        return [[math.ceil(weigh(a, m, *self._capacity[g]) * self._parts[g]) for a, m in sizes]] * len(sizes)

    def _table(self, g: int, kind: Kind, falls: list[list[int]], most: int) -> NDArray[Any]:
        """(J, most + 1) X_j kappa_j^(-n)."""
        rows = []
        sizes = list(zip(kind.rate, kind.memory, strict=True))
        grows = [
            1 + self._announced.beta * weigh(a, m, *self._capacity[g]) / (kind.step * self._nodes[g]) for a, m in sizes
        ]
        for cap, fall in zip(kind.cap, falls, strict=True):
            kappa = min(root_below(grow, down) for grow, down in zip(grows, fall, strict=True))
            factor = self._number(1 / kappa)
            row = [self._number(cap if self._exact else cap * (1 + _SLACK))]
            for _ in range(most):
                row.append(row[-1] * factor)
            rows.append(row)
        return np.array(rows, self._dtype).reshape(len(sizes), most + 1)

    def _floor(self, g: int, left: Sequence[IntArray]) -> NDArray[Any]:
        """(n,) Phi of rows (n, J) of what is left, by count and by volume."""
        if left[0].shape[1] == 0:
            return np.full(len(left[0]), self._number(0), self._dtype)
        classes = np.arange(left[0].shape[1])
        values = [
            table[classes, np.minimum(here, table.shape[1] - 1)]
            for table, here in zip(self._tables[g], left, strict=True)
        ]
        return np.asarray(np.maximum.reduce(np.minimum.reduce(values), axis=1))

    def _room(self, g: int, compute: IntArray, megabytes: IntArray) -> list[IntArray]:
        """(n, J) each: how many tasks of a class fit on nodes with so much left, and the volume before none does."""
        size, size_mb = self._sizes[g]
        fits = np.minimum(compute[:, None] // size, megabytes[:, None] // size_mb)
        if not self._announced.by_volume:
            return [fits]
        (whole, whole_mb), parts = self._capacity[g], self._parts[g]
        spare = np.minimum(
            (compute[:, None] - size) * parts // whole, (megabytes[:, None] - size_mb) * parts // whole_mb
        )
        return [fits, np.maximum(spare, 0)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Guard:
        twin = copy(self)
        twin.credit = [each.copy() for each in self.credit]
        twin._left = [[each.copy() for each in kind] for kind in self._left]
        return twin

    def raise_credit(
        self, task: tuple[int, int, list[int]], types: Sequence[int], wish: Sequence[NDArray[Any]]
    ) -> None:
        """Raise credits towards what wishes need, all by the same part of the need, as far as rho ALG allows.

        Parameters
        ----------
        task : first slot from 0, memory, rates by type. types : node types. wish : of each, (W,) prices.
        """
        first, memory, rates = task
        needs = []
        total = self._number(0)
        for g, prices in zip(types, wish, strict=True):
            weight, _ = self._weight(g, rates[g], memory)
            need = np.maximum(prices / weight - self.credit[g][first : first + len(prices)], self._number(0))
            needs.append(need)
            total += self._worth[g] * need.sum()
        if total <= 0:
            return
        part = min(self._number(1), max(self._number(0), self._rho * self._welfare - self._spent) / total)
        if part <= 0:
            return
        for g, need in zip(types, needs, strict=True):
            self.credit[g][first : first + len(need)] += part * need
        self._spent += part * total

    def _weight(self, g: int, rate: int, memory: int) -> tuple[Any, bool]:
        """w, and whether the task is of an announced class; kept."""
        key = g, rate, memory
        if key not in self._weights:
            known = self._announced.kinds[g].find(rate, memory) >= 0
            self._weights[key] = self._number(weigh(rate, memory, *self._capacity[g])), known
        return self._weights[key]

    def limits(
        self, g: int, first: int, rate: int, memory: int, room: tuple[IntArray, IntArray]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """(W,) L and c w, of which L counts where it is the larger one: of a task of no class; anything without room.

        Parameters
        ----------
        first : slot, from 0. room : (W,) samples and MB that are free on the node of each slot.
        """
        span = slice(first, first + len(room[0]))
        credit = self.credit[g][span]
        lost = self._lost(g, rate, memory, *room)
        after = [left[span] - down for left, down in zip(self._left[g], lost, strict=True)]
        least = np.maximum((self._floor(g, after) - credit) * self._nodes[g] / self._beta, self._number(0))
        weight, known = self._weight(g, rate, memory)
        top = credit * weight
        if known:
            assert not self._exact or bool((least <= top).all())
            least = np.minimum(least, top)
        return least, top

    @property
    def spares(self) -> bool:
        """Whether a task whose wish is below L goes to the node on which L is least."""
        return self._announced.by_volume

    def spare(self, g: int, slots: IntArray, rate: int, memory: int, room: tuple[IntArray, IntArray]) -> IntArray:
        """(n,) of the type's nodes with room the one that leaves the least Phi, the first of equals.

        Parameters
        ----------
        slots : (n,) from 0. room : (K_g, n) samples and MB that are free; in each slot some node has room.
        """
        shape = room[0].shape
        lost = self._lost(g, rate, memory, room[0].reshape(-1), room[1].reshape(-1))
        after = [
            (left[slots] - down.reshape(*shape, -1)).reshape(shape[0] * shape[1], -1)
            for left, down in zip(self._left[g], lost, strict=True)
        ]
        phi = self._floor(g, after).reshape(shape)
        fits = (room[0] >= rate) & (room[1] >= memory)
        most = self._tables[g][0].max() if self._tables[g][0].size else self._number(0)
        return np.asarray(np.where(fits, phi, most + 1).argmin(axis=0))

    def _lost(self, g: int, rate: int, memory: int, compute: IntArray, megabytes: IntArray) -> list[IntArray]:
        """(W, J) each: what a node's room falls by with this task; 0 where it does not fit itself."""
        fits = ((compute >= rate) & (megabytes >= memory))[:, None]
        rest = np.where(fits[:, 0], compute - rate, compute), np.where(fits[:, 0], megabytes - memory, megabytes)
        return [
            before - after
            for before, after in zip(self._room(g, compute, megabytes), self._room(g, *rest), strict=True)
        ]

    def sell(self, g: int, slot: int, rate: int, memory: int, price: Any, compute: int, megabytes: int) -> None:
        """A cell is sold: its credit grows and its room shrinks; compute, megabytes : free on its node before."""
        lost = self._lost(g, rate, memory, np.array([compute]), np.array([megabytes]))
        self.credit[g][slot] += self._beta * price / self._nodes[g]
        for left, down in zip(self._left[g], lost, strict=True):
            left[slot] -= down[0]

    def least_moved(
        self, g: int, slot: int, compute: IntArray, megabytes: IntArray, later: IntArray, later_mb: IntArray
    ) -> Any:
        """L of a cell for which others move: what keeps c >= Phi afterwards. Where no node had room nothing caps it.

        Parameters
        ----------
        compute, megabytes, later, later_mb : (n,) what is free on the nodes that change, before and after the sale.
        """
        after = [
            left[slot : slot + 1] - down
            for left, down in zip(self._left[g], self._moved(g, compute, megabytes, later, later_mb), strict=True)
        ]
        least = (self._floor(g, after)[0] - self.credit[g][slot]) * self._nodes[g] / self._beta
        return max(least, self._number(0))

    def sell_moved(
        self, g: int, slot: int, price: Any, compute: IntArray, megabytes: IntArray, later: IntArray, later_mb: IntArray
    ) -> None:
        """Such a cell is sold; parameters as for `least_moved`."""
        lost = self._moved(g, compute, megabytes, later, later_mb)
        self.credit[g][slot] += self._beta * price / self._nodes[g]
        for left, down in zip(self._left[g], lost, strict=True):
            left[slot] -= down

    def _moved(
        self, g: int, compute: IntArray, megabytes: IntArray, later: IntArray, later_mb: IntArray
    ) -> list[IntArray]:
        """(J,) each: what the room falls by, or rises if negative, on nodes that change."""
        before, after = self._room(g, compute, megabytes), self._room(g, later, later_mb)
        return [(x - y).sum(axis=0) for x, y in zip(before, after, strict=True)]

    def earn(self, net: int) -> None:
        """An admitted task is worth so much."""
        self._welfare += net

    def worth(self) -> Fraction:
        """sum Omega_g K_g c over the cells."""
        return sum(
            (
                kind.omega * count * sum(map(Fraction, credit.tolist()), Fraction(0))
                for kind, count, credit in zip(self._announced.kinds, self._nodes, self.credit, strict=True)
            ),
            Fraction(0),
        )
