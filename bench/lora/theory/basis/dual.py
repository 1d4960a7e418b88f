"""The dual of P at any non-negative prices of the cells: an upper bound on OPT, in exact arithmetic.

    D(lambda, phi) = sum_kt C_kp lambda_kt + sum_kt (C_km - r_b) phi_kt + sum_i max(0, max_l F'_il),
    F'_il = b_i - q_in - sum over the cells of l of (lambda_kt s_ik + phi_kt r_i + e_ikt)

docs/theory/mechanisms.md has the proof of weak duality; it needs nothing of the algorithm that left the prices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.theory.claim import keep_by_content
from ratiobench.formulations.lora.bound.pricing import Pricer, find_pool, node_rents
from ratiobench.formulations.lora.covering.schedules import Cover, space
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.search.additive import exact_cover
from ratiobench.online.lora.traces import Cell

Prices = Mapping[
    Cell, Fraction | float | int
]  # By (node, slot from 1), micro-dollars per sample or per MB; others are 0

# The grid of factors on final prices: 0, 1/512, ..., 1/4, 3/8, 1/2, 3/4, 1, 3/2
TAUS = tuple(Fraction(n, 512) for n in (0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768))
_HEADROOM = 2**61
_BITS = 40


class DualValue(NamedTuple):
    """D at some prices, and what every task adds to it."""

    value: Fraction  # D, micro-dollars
    surplus: tuple[int, ...]  # max(0, max_l F'_il) of every task, in 1/unit micro-dollars
    unit: int  # their denominator


class _Whole(NamedTuple):
    """Prices in whole 1/unit micro-dollars, zeros left out."""

    lam: dict[Cell, int]
    phi: dict[Cell, int]
    unit: int


def _whole(lam: Prices, phi: Prices) -> _Whole:
    for value in (*lam.values(), *phi.values()):
        if value < 0:
            raise ValueError(f"a price of {value}")
    parts = [{cell: Fraction(value) for cell, value in prices.items() if value} for prices in (lam, phi)]
    unit = math.lcm(1, *{value.denominator for part in parts for value in part.values()})
    whole = [{cell: v.numerator * (unit // v.denominator) for cell, v in part.items()} for part in parts]
    return _Whole(whole[0], whole[1], unit)


def best_schedule(task: Task, public: Public, lam: Prices, phi: Prices) -> Cover | None:
    """The schedule of largest F' = bid - cost at the prices, room not looked at; None if there is none."""
    prices = _whole(lam, phi)
    found = _cheapest(task, public, prices)
    return None if found is None else found._replace(cost=Fraction(found.cost, prices.unit))


def _cheapest(task: Task, public: Public, prices: _Whole) -> Cover | None:
    menu = space(task, public)
    first_node = public.first_node.tolist()
    cost: list[list[int | None]] = []
    node: list[list[int]] = []
    for g, rate in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
        cheapest = [
            min(
                (prices.lam.get((k, t), 0) * rate + prices.phi.get((k, t), 0) * task.memory_mb, k)
                for k in range(first_node[g], first_node[g + 1])
            )
            for t in range(menu.first, menu.last + 1)
        ]
        energy = task.cost[g, menu.first - 1 : menu.last].tolist()
        cost.append([least + e * prices.unit for (least, _), e in zip(cheapest, energy, strict=True)])
        node.append([k for _, k in cheapest])
    return exact_cover(task, menu, cost, node, prices.unit)


class Dual:
    """D of one instance; keeps what does not depend on the prices."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._public = instance.public("")
        self._shape = instance.nodes, instance.slots

    @cached_property
    def _pricer(self) -> Pricer:
        return Pricer(find_pool(self._instance), parallel=False)

    def exact(self, lam: Prices, phi: Prices) -> DualValue:
        """At exactly these prices, in integers of any size over their common denominator."""
        prices = _whole(lam, phi)
        return self._in_64_bits(prices) or self._in_integers(prices)

    def near(self, lam: Prices, phi: Prices) -> DualValue:
        """At these prices, or the nearest multiples of some 2^-k if they do not fit 64 bits: an upper bound on OPT."""
        return self._scaled(lam, phi)(Fraction(1))

    @cached_property
    def _without_prices(self) -> Fraction:
        return self.exact({}, {}).value

    def rescale(self, lam: Prices, phi: Prices, near: Fraction = TAUS[0]) -> tuple[Fraction, Fraction]:
        """(tau, D) of the tau on the grid `TAUS` whose multiple of the prices is best; D is convex in tau.

        `near`: where it is looked for first.
        """
        scaled = self._scaled(lam, phi)
        known: dict[int, Fraction] = {}

        def at(j: int) -> Fraction:
            if j not in known:
                known[j] = scaled(TAUS[j]).value if j else self._without_prices
            return known[j]

        low, high = 0, len(TAUS) - 1
        guesses = [TAUS.index(near), max(0, TAUS.index(near) - 1)]
        while low < high:
            middle = (low + high) // 2
            if guesses and low <= guesses[0] < high:
                middle = guesses[0]
            guesses = guesses[1:]
            if at(middle) <= at(middle + 1):
                high = middle
            else:
                low = middle + 1
        value, j = min((at(j), j) for j in {low, *known})
        return TAUS[j], value

    def pool_prices(self, prices: Prices) -> dict[Cell, Fraction | float | int]:
        """Every node at the mean price of its type's nodes in the slot: D is convex, so it does not grow."""
        kind, first = self._public.type_of_node.tolist(), self._public.first_node.tolist()
        total: dict[Cell, Fraction | float | int] = {}
        for (k, t), value in prices.items():
            total[kind[k], t] = total.get((kind[k], t), 0) + value
        pooled: dict[Cell, Fraction | float | int] = {}
        for (g, t), value in total.items():
            count = first[g + 1] - first[g]
            mean = value / count if isinstance(value, float) else Fraction(value) / count
            pooled |= {(k, t): mean for k in range(first[g], first[g + 1])}
        return pooled

    def _scaled(self, lam: Prices, phi: Prices) -> Callable[[Fraction], DualValue]:
        """D at (nearly) tau times the prices, as a function of tau."""
        values = (*lam.values(), *phi.values())
        whole = _whole(lam, phi) if all(isinstance(value, Fraction | int) for value in values) else None
        doubles: list[NDArray[np.float64]] = []

        def at(tau: Fraction) -> DualValue:
            # Exactly, if 64 bits hold tau times the fractions over their common denominator.
            if whole is not None:
                parts = [{cell: tau.numerator * value for cell, value in part.items()} for part in whole[:2]]
                found = self._in_64_bits(_Whole(parts[0], parts[1], whole.unit * tau.denominator))
                if found is not None:
                    return found
            # Else the nearest multiples of 2^-bits, as fine as 64 bits allow: other prices, and an exact D of these.
            if not doubles:
                doubles.extend(_array(part, self._shape, np.float64) for part in (lam, phi))
            least = min(part.min(initial=0) for part in doubles)
            if least < 0:
                raise ValueError(f"a price of {least}")
            tops = [tau * Fraction(float(part.max(initial=0.0))) for part in doubles]
            free = (_HEADROOM // max(1, self._largest(tops[0], tops[1], 1))).bit_length() - 1
            for bits in range(min(_BITS, free), -1, -1):
                rounded = [np.rint(part * float(tau) * 2.0**bits).astype(np.int64) for part in doubles]
                found = self._in_arrays(rounded[0], rounded[1], 1 << bits)
                if found is not None:
                    return found
            # Else in integers of any size.
            exact = [{cell: tau * Fraction(value) for cell, value in part.items()} for part in (lam, phi)]
            return self._in_integers(_whole(*exact))

        return at

    def _in_integers(self, prices: _Whole) -> DualValue:
        surplus = [0] * self._instance.tasks
        for i in range(self._instance.tasks):
            task = self._instance.task(i)
            found = _cheapest(task, self._public, prices)
            if found is not None:
                surplus[i] = max(0, task.bid * prices.unit - found.cost)
        total, kind = sum(surplus), self._public.type_of_node.tolist()
        for part, capacity in zip(prices[:2], (self._public.compute, self._public.memory_mb), strict=True):
            size = capacity.tolist()
            total += sum(size[kind[k]] * price for (k, _), price in part.items())
        return DualValue(Fraction(total, prices.unit), tuple(surplus), prices.unit)

    def _largest(self, lam: Fraction | int, phi: Fraction | int, unit: int) -> int:
        """An upper bound on every number in the dynamic programmes at prices of at most lam and phi, in 1/unit."""
        instance, p = self._instance, self._pricer.pool
        energy = int(np.abs(p.energy).max(initial=0)) * int(np.abs(p.tariff).max(initial=0))
        cost = max(energy, int(np.abs(p.table_cost).max(initial=0)))
        cell = math.ceil(lam * int(p.rate.max(initial=1)) + phi * int(p.memory.max(initial=1))) + cost * unit
        worth = int(p.price.max(initial=0)) + int(instance.bid.max(initial=0))
        return cell * (int(p.width.max(initial=0)) + 1) + unit * worth

    def _in_64_bits(self, prices: _Whole) -> DualValue | None:
        """The same in int64, or None if 64 bits might not hold a number on the way."""
        top_lam, top_phi = (max(part.values(), default=0) for part in (prices.lam, prices.phi))
        if self._largest(top_lam, top_phi, prices.unit) >= _HEADROOM:
            return None
        return self._in_arrays(_array(prices.lam, self._shape), _array(prices.phi, self._shape), prices.unit)

    def _in_arrays(self, lam: IntArray, phi: IntArray, unit: int) -> DualValue | None:
        if self._largest(int(lam.max(initial=0)), int(phi.max(initial=0)), unit) >= _HEADROOM:
            return None
        every = np.zeros(self._instance.tasks, np.int64)
        pricer = self._pricer
        every[pricer.pool.task] = pricer.integers(node_rents(pricer.pool, lam, phi, self._public.first_node), unit)
        surplus = every.tolist()
        kind = self._public.type_of_node
        total = sum(surplus)
        for price, capacity in ((lam, self._public.compute), (phi, self._public.memory_mb)):
            # Halves of 32 bits, so that no sum passes 64.
            low, high = ((part.sum(axis=1)).tolist() for part in (price & 0xFFFFFFFF, price >> 32))
            total += sum(c * (a + (b << 32)) for c, a, b in zip(capacity[kind].tolist(), low, high, strict=True))
        return DualValue(Fraction(total, unit), tuple(surplus), unit)

    def doubles(self, lam: NDArray[np.float64], phi: NDArray[np.float64]) -> NDArray[np.float64]:
        """(I,) the largest F' of every task at (K, T) prices, in doubles; -inf for a task without a schedule."""
        every = np.full(self._instance.tasks, -np.inf)
        pricer = self._pricer
        every[pricer.pool.task] = pricer.signed(node_rents(pricer.pool, lam, phi, self._public.first_node))
        return every


def _array(prices: Mapping[Cell, Any], shape: tuple[int, int], dtype: Any = np.int64) -> NDArray[Any]:
    array = np.zeros(shape, dtype)
    if prices:
        cells = np.array(list(prices), dtype=np.int64)
        array[cells[:, 0], cells[:, 1] - 1] = list(prices.values())
    return array


@keep_by_content(content_hash, 8)
def dual_of(instance: Instance) -> Dual:
    return Dual(instance)


def warm() -> None:
    instance = named("tiny_two_types")
    dual = Dual(instance)
    dual.exact({}, {})
    none = np.zeros((instance.nodes, instance.slots))
    dual.doubles(none, none)
