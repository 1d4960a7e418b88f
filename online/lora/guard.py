"""The guard of Theorem H: any prices, kept between two limits, give a competitive ratio that is known beforehand.

The theorem, its proof and the names are in `docs/theory/mechanisms.md`, and `docs/theory/guard.md` has what stands here
beside it. In short: a cell (g, t) has a credit c per unit of weight, never below Phi = max_j X_j e^(-R_j). A task of
weight w is sold the cell at a price P with L <= P <= c w, where L = (Phi after it - c) K / beta_g, and c grows by
beta_g P / K. Raises of credits may take what sales and surplus leave of (rho + max(1, beta)) ALG.
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

from ratiobench.formulations.kernels import compiled, compiled_in_place, inner
from ratiobench.formulations.lora.bound.patterns import maximal_patterns
from ratiobench.instances.lora.model import Instance, IntArray, Public
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.public_constants import list_served

CLASSES = 128  # Most classes of a node type; where tasks have more shapes, classes are cells of a grid
# Factors between the sizes of a grid; the first with few enough cells in use
STEPS = (Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(4), Fraction(16), Fraction(2**40))
_ROOT_BITS = 40
# In doubles caps are announced so much larger: more than what rounding takes off a credit over 2^24 sales
_SLACK = Fraction(1, 2**24)
_PARTS = 16
# Units of weight that Phi counts, in doubles and in fractions; with more left Phi stays above what it must be
_MOST_UNITS, _MOST_UNITS_EXACTLY = 2**20, 2**8
_LONGEST_TABLE = 2**22  # Most a node may hold for a table by what is free of it
_LONGEST = 2**15  # Units of weight that a task counts at most
_FINEST = 16  # The lightest class counts so many units at most, fewer where its table would be longer than that
_CUTS = 16  # Parts that a class of a grid is cut into
# Pairs (a, b) that are tried: what a task's part of the compute, and of the memory, counts in its weight
_MIXES = tuple((Fraction(z, 4), Fraction(1)) for z in range(4)) + tuple((Fraction(1), Fraction(z, 4)) for z in range(5))
_RISE = 2  # About the logarithm of what credits rise by while a node fills up: it decides between those, no more
_KEPT_BACK = Fraction(1, 2**24)  # Part of what may be raised that is kept back for rounding, in doubles


class Kind(NamedTuple):
    """The announced classes of one node type."""

    rate: tuple[int, ...]  # rate, memory: (J,) sizes s_j, r_j of the classes
    memory: tuple[int, ...]
    cap: tuple[Fraction, ...]  # X_j, micro-dollars per unit of weight
    step: Fraction  # tasks of a class are no smaller than its sizes over this; 1 for exact classes
    omega: Fraction  # at least the weight of any tasks of the classes that fit one node
    unit: tuple[Fraction, Fraction]  # weight of a sample, and of a megabyte; a task has the larger one of its two

    def weigh(self, rate: int, memory: int) -> Fraction:
        return max(rate * self.unit[0], memory * self.unit[1])

    def find(self, rate: int, memory: int) -> int:
        """The class of a task; -1 where it has none."""
        best = -1
        for j, (s, r) in enumerate(zip(self.rate, self.memory, strict=True)):
            within = rate <= s and memory <= r and rate * self.step >= s and memory * self.step >= r
            if within and (best < 0 or (s, r) < (self.rate[best], self.memory[best])):
                best = j
        return best


@dataclass(frozen=True, slots=True)
class Announcement:
    """What the guard must know in advance, and its parameters."""

    kinds: tuple[Kind, ...]  # by node type. beta, rho: the two parts of the guarantee; beta > 0
    beta: Fraction
    rho: Fraction

    @property
    def factor(self) -> Fraction:
        return self.rho + max(Fraction(1), self.beta)


@lru_cache(maxsize=8)
def announce(
    instance: Instance, beta: Fraction, rho: Fraction, margin: Fraction, classes: int = CLASSES
) -> Announcement:
    """Classes, caps, weights and Omega from the tasks of an instance that have a schedule: best of earlier days."""
    public = instance.public("")
    tasks, rates = list_served(instance), instance.rate.tolist()
    shapes: list[dict[tuple[int, int], int]] = []
    need = [Fraction(0), Fraction(0)]  # nodes and slots
    sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
    for g, (compute, memory_mb) in enumerate(sizes):
        shapes.append({})
        samples = megabytes = 0
        for each in tasks:
            rate = rates[each.task][g]
            if 0 < rate <= compute and each.memory_mb <= memory_mb:
                shape, cells = (rate, each.memory_mb), -(-each.work // rate) * public.node_types[g].count
                shapes[g][shape] = max(shapes[g].get(shape, 0), each.worth)
                samples, megabytes = samples + rate * cells, megabytes + each.memory_mb * cells
        need[0] += Fraction(samples, compute)
        need[1] += Fraction(megabytes, memory_mb)
    kinds = []
    for here, size in zip(shapes, sizes, strict=True):
        mixes = [_classify(here, (a / size[0], b / size[1]), *size, margin, classes) for a, b in _MIXES]
        kinds.append(max(reversed(mixes), key=lambda kind: _most_filled(kind, need, *size, beta)))
    return Announcement(tuple(kinds), beta, rho)


def _most_filled(kind: Kind, need: Sequence[Fraction], compute: int, memory_mb: int, beta: Fraction) -> Fraction:
    """About the part of what is in demand that is sold before credits are high."""
    # A weight of Omega _RISE / beta is not. Of compute and memory, of which `need` is asked in nodes and slots, the one
    # that is more in demand runs out.
    filled = [Fraction(1)]
    for sizes, whole, asked in zip((kind.rate, kind.memory), (compute, memory_mb), need, strict=True):
        weights = [kind.weigh(*both) * whole / own for *both, own in zip(kind.rate, kind.memory, sizes, strict=True)]
        if weights:
            left = 1 - kind.omega * _RISE / (beta * min(weights))
            filled.append(max(Fraction(0), left) * max(need) / asked)
    return min(filled)


def _classify(
    shapes: dict[tuple[int, int], int],
    unit: tuple[Fraction, Fraction],
    compute: int,
    memory_mb: int,
    margin: Fraction,
    most: int,
) -> Kind:
    step, classes = Fraction(1), {shape: shape for shape in shapes}
    if len(shapes) > most:
        for step in STEPS:
            levels = _levels(compute, step), _levels(memory_mb, step)
            classes = {
                (s, r): (min(z for z in levels[0] if z >= s), min(z for z in levels[1] if z >= r)) for s, r in shapes
            }
            if len(set(classes.values())) <= most:
                break
    caps: dict[tuple[int, int], Fraction] = {}
    for shape, worth in shapes.items():
        cap = margin * worth / max(shape[0] * unit[0], shape[1] * unit[1])
        caps[classes[shape]] = max(caps.get(classes[shape], Fraction(0)), cap)
    listed = sorted(caps)
    rate, memory = tuple(s for s, _ in listed), tuple(r for _, r in listed)
    mix = unit[0] * compute, unit[1] * memory_mb
    omega = bound_weight(rate, memory, step, compute, memory_mb, mix)
    return Kind(rate, memory, tuple(caps[shape] for shape in listed), step, omega, unit)


def _levels(largest: int, step: Fraction) -> list[int]:
    """Sizes from the largest down, each smaller by a factor of `step` and by at least one."""
    levels = [largest]
    while levels[-1] > 1:
        levels.append(min(levels[-1] - 1, max(1, math.floor(levels[-1] / step))))
    return levels


def bound_weight(
    rate: Sequence[int],
    memory: Sequence[int],
    step: Fraction,
    compute: int,
    memory_mb: int,
    mix: tuple[Fraction, Fraction],
) -> Fraction:
    """An upper bound on the weight of tasks of these classes that fit one node: a + b, a linear one, or by patterns.

    With (a, b) = `mix` a task weighs w = max(a s / C, b r / D). For any part z, w <= theta (z s / C + (1 - z) r / D)
    with the largest such quotient theta, and the bracket sums to 1 at most.
    """
    a, b = mix
    best = a + b
    pairs = [(Fraction(s, compute), Fraction(r, memory_mb)) for s, r in zip(rate, memory, strict=True)]
    if not pairs:
        return Fraction(1)
    # Where one side of the weight is the larger one, the other size is at least so much of its own. The classes with
    # the least of it have the largest quotients, whatever z is.
    other = min(m / (step * c) for c, m in pairs)
    own = min(c / (step * m) for c, m in pairs)
    other, own = min(a / b, other) if b else other, min(b / a, own) if a else own
    for part in (Fraction(z, _PARTS) for z in range(_PARTS + 1)):
        sides = ((a, part + (1 - part) * other), (b, part * own + (1 - part)))
        if all(least for weight, least in sides if weight):
            best = min(best, max(weight / least for weight, least in sides if weight))
    if step == 1:
        patterns = maximal_patterns(np.array(rate, np.int64), np.array(memory, np.int64), compute, memory_mb)
        if patterns is not None:
            unit = compute * memory_mb * math.lcm(a.denominator, b.denominator)
            weights = [int(max(a * c, b * m) * unit) for c, m in pairs]
            most = max(sum(map(mul, row, weights)) for row in patterns.tolist())
            best = min(best, Fraction(most, unit))
    return best


def bound_root(value: Fraction, degree: int) -> Fraction:
    """A multiple of 1/2^40, at least 1, that is no larger than the root of a value of at least 1, and next to it."""
    unit = 2**_ROOT_BITS
    high = max(unit, math.floor(float(value) ** (1.0 / degree) * unit) + 2)

    def above(guess: int) -> bool:
        return guess > unit and Fraction(guess, unit) ** degree > value

    # The largest one that is not above is two lower at most, but for roots of which doubles have fewer bits than 40.
    step, low = 1, high
    while above(low):
        high, low, step = low, max(unit, low - step), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return Fraction(low, unit)


def _sorts(kind: Kind) -> list[tuple[Fraction, int, int]]:
    """Tasks of the classes as (weight, samples, megabytes): each weighs no less than one of them that is as large."""
    found = []
    for s, r in zip(kind.rate, kind.memory, strict=True):
        top = kind.weigh(s, r)
        # A class of a grid is cut by weight: what weighs little is small, too.
        cuts = [top] if kind.step == 1 else [top * (1 - (1 - 1 / kind.step) * z / _CUTS) for z in range(_CUTS + 1)]
        for above, least in zip(cuts, cuts[1:] or cuts, strict=False):
            sizes = [
                min(size, math.floor(above / unit)) if unit else size
                for size, unit in zip((s, r), kind.unit, strict=True)
            ]
            found.append((least, sizes[0], sizes[1]))
    return found


def _units(grows: Sequence[Fraction], most: Fraction, longest: int) -> tuple[Fraction, list[int]]:
    """(q, n of each): q^n is at most what a sale multiplies a credit by, and nearly that; 1 <= n <= `longest`."""
    if not grows:
        return Fraction(2), []
    unit = bound_root(min(grows), max(1, min(_FINEST, math.floor(most))))
    if unit == 1:  # one that weighs nothing to speak of
        return unit, [1] * len(grows)
    falls = []
    for grow in grows:
        n = min(longest, int(math.log(grow) / math.log(unit)) + 1)
        while n > 1 and unit**n > grow:
            n -= 1
        falls.append(n)
    return unit, falls


@lru_cache(maxsize=32)
def _cover(sizes: tuple[int, ...], units: tuple[int, ...], whole: int, longest: int) -> IntArray:
    """By n = 0, 1, ...: the most that tasks of n units take together, up to all of a node, or `longest` units."""
    largest: dict[int, int] = {}
    for one, n in sorted(zip(sizes, units, strict=True), key=lambda both: both[1]):
        if one > max(largest.values(), default=0):  # else one of no more units is as large
            largest[n] = one
    size, unit = np.array([*largest.values()], np.int64), np.array([*largest], np.int64)
    most = np.zeros(longest + 1, np.int64)
    for n in range(1, longest + 1 if largest else 1):
        here = unit <= n
        most[n] = max(most[n - 1], (most[n - unit[here]] + size[here]).max(initial=0))
        if most[n] > whole:
            return most[: n + 1]
    return most


class _Sizes(NamedTuple):
    """What the classes take of a node's compute, or of its memory, and the units that fit beside one of them."""

    size: IntArray  # (J,)
    cover: IntArray  # the most that 0, 1, ... units take
    units: IntArray  # (free + 1,) units by what is left then; empty where a node holds too much for a table


def _list_sizes(sizes: Sequence[int], cover: IntArray, whole: int) -> _Sizes:
    left = np.arange(whole + 1 if whole <= _LONGEST_TABLE else 0)
    return _Sizes(np.array(sizes, np.int64), cover, np.searchsorted(cover, left, side="right"))


@inner
def _fit(part, j, free):  # type: ignore[no-untyped-def]
    """The units that fit beside a task of class j on a node with so much free; 0 without room for it."""
    left = free - part.size[j]
    if left < 0:
        return 0
    if left < len(part.units):
        return part.units[left]
    low = 0
    high = len(part.cover)
    while low < high:
        middle = (low + high) // 2
        if part.cover[middle] <= left:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _count_lost(compute_sizes, memory_sizes, rate, memory, compute, megabytes):  # type: ignore[no-untyped-def]
    """(n, J) units of weight by which the room of nodes falls with a task; 0 where it does not fit."""
    lost = np.zeros((len(compute), len(compute_sizes.size)), np.int64)
    for i in range(len(compute)):
        c = compute[i]
        m = megabytes[i]
        if rate <= c and memory <= m:
            for j in range(lost.shape[1]):
                before = min(_fit(compute_sizes, j, c), _fit(memory_sizes, j, m))
                lost[i, j] = before - min(_fit(compute_sizes, j, c - rate), _fit(memory_sizes, j, m - memory))
    return lost


@compiled_in_place
def _find_least(left, powers, caps, sizes, memory_sizes, rate, memory, compute, megabytes, slots, low, high, node, phi):  # type: ignore[no-untyped-def]
    """Of nodes low..high-1 with room in each slot the one that leaves the least Phi, the first of equals, and it."""
    for at in range(len(slots)):
        t = slots[at]
        least = np.inf
        for k in range(low[at], high[at]):
            c = compute[k, t]
            m = megabytes[k, t]
            if rate > c or memory > m:
                continue
            most = 0.0
            for j in range(len(caps)):
                units = min(_fit(sizes, j, c - rate), _fit(memory_sizes, j, m - memory))
                units += left[t, j] - min(_fit(sizes, j, c), _fit(memory_sizes, j, m))
                most = max(most, powers[min(units, len(powers) - 1)] * caps[j])
                if most >= least:
                    break
            if most < least:
                least = most
                node[at] = k
                phi[at] = most


class Guard:
    """The credits of a run, in fractions or in doubles, and the limits that they set to prices."""

    def __init__(self, public: Public, announced: Announcement, *, exact: bool) -> None:
        self._announced, self._exact = announced, exact
        self._number: Any = Fraction if exact else float
        self._dtype = object if exact else np.float64
        self._capacity = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        self._nodes = [kind.count for kind in public.node_types]
        self._beta = [self._number(announced.beta / kind.omega) for kind in announced.kinds]
        self._factor = self._number(announced.factor)
        self._welfare, self._spent, self._surplus = 0, self._number(0), self._number(0)
        self.settled = 0  # slots 1, ..., settled are settled: their credits are 0
        self._weights: dict[tuple[int, int, int], tuple[Any, bool]] = {}
        self._worth = [
            self._number(kind.omega * count) for kind, count in zip(announced.kinds, self._nodes, strict=True)
        ]
        self._powers: list[NDArray[Any]] = []
        self._left: list[IntArray] = []
        self._sizes: list[list[_Sizes]] = []  # of compute and memory
        wider = 1 if exact else 1 + _SLACK
        self._cap = [np.array([self._number(cap * wider) for cap in kind.cap], self._dtype) for kind in announced.kinds]
        self.credit: list[NDArray[Any]] = []
        self.start = Fraction(0)  # A0, exactly
        for g, (kind, count) in enumerate(zip(announced.kinds, self._nodes, strict=True)):
            longest = _MOST_UNITS_EXACTLY if exact else _MOST_UNITS
            unit, covers = self._weigh(g, kind, longest)
            known = zip((kind.rate, kind.memory), covers, self._capacity[g], strict=True)
            self._sizes.append([_list_sizes(*each) for each in known])
            whole = self._capacity[g]
            left = count * self._lost(g, *whole, *np.array(whole)[:, None])
            powers = np.full(min(int(left.max(initial=0)), longest) + 1, self._number(1 / unit), self._dtype)
            powers[0] = 1
            self._powers.append(np.multiply.accumulate(powers))
            self._left.append(np.repeat(left, public.slots, axis=0))
            first = self._floor(g, left)[0]
            self.credit.append(np.full(public.slots, first, self._dtype))
            self.start += public.slots * kind.omega * count * Fraction(first)

    def _weigh(self, g: int, kind: Kind, longest: int) -> tuple[Fraction, tuple[IntArray, IntArray]]:
        """q, and by units what they take of compute, and of memory."""
        count, sorts = self._nodes[g], _sorts(kind)
        lightest = min((weight for weight, _, _ in sorts), default=Fraction(1))
        grows = [1 + self._announced.beta / kind.omega * weight / count for weight, _, _ in sorts]
        many = max(1, longest // count)
        unit, units = _units(grows, longest * lightest / count, min(many, _LONGEST))
        by_compute, by_memory = (
            _cover(tuple(size[at] for size in sorts), tuple(units), whole, many)
            for at, whole in zip((1, 2), self._capacity[g], strict=True)
        )
        return unit, (by_compute, by_memory)

    def _floor(self, g: int, left: IntArray) -> NDArray[Any]:
        """(n,) Phi of rows (n, J) of the units that are left: the largest X_j q^(-units)."""
        if left.shape[1] == 0:
            return np.full(len(left), self._number(0), self._dtype)
        powers = self._powers[g]
        phi = powers[np.minimum(left, len(powers) - 1)] * self._cap[g]
        return np.asarray(np.maximum.reduce(phi, axis=1))

    def __deepcopy__(self, memo: dict[int, Any]) -> Guard:
        twin = copy(self)
        twin.credit = [each.copy() for each in self.credit]
        twin._left = [each.copy() for each in self._left]
        return twin

    def raise_credit(
        self, task: tuple[int, int, list[int]], types: Sequence[int], wish: Sequence[NDArray[Any]]
    ) -> None:
        """Raise credits towards what wishes need, all by one part of it, for half of what may be raised."""
        first, memory, rates = task  # first slot from 0
        needs = []
        total = self._number(0)
        for g, prices in zip(types, wish, strict=True):
            weight, _ = self._weight(g, rates[g], memory)
            need = np.maximum(prices / weight - self.credit[g][first : first + len(prices)], self._number(0))
            needs.append(need)
            total += self._worth[g] * need.sum()
        if total <= 0:
            return
        part = min(self._number(1), self._may_raise() / (total * 2))
        if self._exact:  # few digits: denominators would multiply from task to task
            part = Fraction(math.floor(part * 2**_ROOT_BITS), 2**_ROOT_BITS)
        if part <= 0:
            return
        for g, need in zip(types, needs, strict=True):
            self.credit[g][first : first + len(need)] += part * need
        self._spent += part * total

    def _may_raise(self) -> Any:
        """What raises may still cost: what sales, surplus and earlier raises leave of the factor times the welfare."""
        left = self._factor * self._welfare - self._surplus - self._spent
        return max(self._number(0), left if self._exact else left * float(1 - _KEPT_BACK))

    def _weight(self, g: int, rate: int, memory: int) -> tuple[Any, bool]:
        """w, and whether the task is of an announced class."""
        key = g, rate, memory
        if key not in self._weights:
            kind = self._announced.kinds[g]
            self._weights[key] = self._number(kind.weigh(rate, memory)), kind.find(rate, memory) >= 0
        return self._weights[key]

    def limits(
        self, g: int, rate: int, memory: int, slots: IntArray, low: IntArray, high: IntArray, view: View
    ) -> tuple[IntArray, NDArray[Any], NDArray[Any]]:
        """(W,) by slot: the node low..high-1 that leaves the least Phi, L and c w there; anything without room.

        L counts where it is the larger one, of a task of no class.
        """
        node, phi = low.copy(), np.full(len(slots), self._number(0), self._dtype)
        if not self._exact:
            tables = self._left[g], self._powers[g], self._cap[g], *self._sizes[g]
            _find_least(*tables, rate, memory, view.compute, view.memory_mb, slots, low, high, node, phi)
        for at, t in enumerate(slots.tolist() if self._exact else ()):
            nodes = np.arange(low[at], high[at])
            compute, megabytes = view.compute[nodes, t], view.memory_mb[nodes, t]
            fits = (compute >= rate) & (megabytes >= memory)
            if fits.any():
                lost = self._lost(g, rate, memory, compute[fits], megabytes[fits])
                found = self._floor(g, self._left[g][t] - lost)
                best = found.argmin()
                node[at], phi[at] = nodes[fits][best], found[best]
        return node, *self._limit(g, self.credit[g][slots], rate, memory, phi)

    def _limit(
        self, g: int, credit: NDArray[Any], rate: int, memory: int, phi: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        least = np.maximum((phi - credit) * self._nodes[g] / self._beta[g], self._number(0))
        weight, known = self._weight(g, rate, memory)
        top = credit * weight
        if known:
            assert not self._exact or bool((least <= top).all())
            least = np.minimum(least, top)
        return least, top

    def allowance(self, slots: int) -> Any:
        """How far below L a cell may be offered: half of what may be raised, in equal parts for the slots."""
        # It is asked for before the task's wishes raise credits: the other half is theirs.
        return self._may_raise() / (2 * self._number(self._announced.beta) * slots)

    def discount(self, least: NDArray[Any], price: NDArray[Any], most: Any) -> NDArray[Any]:
        """(W,) L, or less by at most the allowance, towards what is wished for: a raise will make up for it."""
        return np.asarray(least - np.minimum(np.maximum(least - price, self._number(0)), most)) if most else least

    def _lost(self, g: int, rate: int, memory: int, compute: IntArray, megabytes: IntArray) -> IntArray:
        found: IntArray = _count_lost(*self._sizes[g], rate, memory, compute, megabytes)
        return found

    def sell(
        self, task: tuple[int, list[int]], kinds: IntArray, slots: IntArray, price: NDArray[Any],
        free: tuple[IntArray, IntArray],
    ) -> None:  # fmt: skip
        """A task's cells are sold, one a slot: their credits grow and their room shrinks; `task`: memory, rates."""
        memory, rates = task
        spent = np.empty((len(kinds), 2), self._dtype)
        for g in set(kinds.tolist()):
            at = np.flatnonzero(kinds == g)
            here, paid = slots[at], self._beta[g] * price[at]
            self._left[g][here] -= self._lost(g, rates[g], memory, free[0][at], free[1][at])
            credit = self.credit[g][here] + paid / self._nodes[g]
            raised = np.maximum(credit, self._floor(g, self._left[g][here]))
            spent[at, 0] = self._worth[g] * self._beta[g] * price[at] / self._nodes[g]
            spent[at, 1] = self._worth[g] * (raised - credit)
            self.credit[g][here] = raised
        for part in spent.reshape(-1).tolist():  # one by one: `sum` rounds otherwise in later versions of Python
            self._spent += part

    def settle(self, slots: int, owed: Any) -> bool:
        """Take back the credits of slots up to `slots`, which have passed, if that sets more free than is owed."""
        # Owed: what tasks that arrived in one of these slots that is not settled yet are worth above their surplus.
        span = slice(self.settled, slots)
        freed = sum(
            (worth * credit[span].sum() for worth, credit in zip(self._worth, self.credit, strict=True)),
            self._number(0),
        )
        if freed <= owed:
            return False
        for credit in self.credit:
            credit[span] = self._number(0)
        self._spent -= freed
        self._surplus += owed
        self.settled = slots
        return True

    def earn(self, net: int, paid: Any) -> None:
        """Count an admitted task, and what it pays for its cells."""
        self._welfare += net
        self._surplus += net - paid

    def worth(self) -> Fraction:
        """sum Omega_g K_g c over the cells."""
        return sum(
            (
                kind.omega * count * sum(map(Fraction, credit.tolist()), Fraction(0))
                for kind, count, credit in zip(self._announced.kinds, self._nodes, self.credit, strict=True)
            ),
            Fraction(0),
        )
