"""The dual of P at any prices of the cells where tasks may not have every schedule of P: an upper bound on OPT.

    D(lambda, phi) = sum_kt C_kp lambda_kt + sum_kt (C_km - r_b) phi_kt + sum_i max(0, max_l F'_il)

as in `dual`, the largest F' of a task over the schedules that it may have: of a rigid task or a gang of m parts slots
in a row on m nodes of a type, and of all sets of m nodes the cheapest; of a task that stays on one node any cells
there. Weak duality needs no more of a schedule than that it is a set of cells, so the proof is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.lora.theory.basis.dual import (
    _BITS,
    _HEADROOM,
    Dual,
    DualValue,
    Prices,
    _array,
    _cheapest,
    _entries,
    _fraction,
    _Whole,
    _whole,
)
from ratiobench.bench.lora.theory.basis.dual import dual_of as _dual_of
from ratiobench.bench.lora.theory.basis.memo import keep_by_content
from ratiobench.instances.lora.model import Instance, Task
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.online.lora.runs import first_slot, run_lengths


class RunDual(Dual):
    """D of an instance with rigid tasks, gangs or tasks that stay on one node."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._tasks = [instance.task(i) for i in range(instance.tasks)]
        public = self._public
        self._lengths = [run_lengths(task, public) for task in self._tasks]

    def _scaled(self, lam: Prices, phi: Prices) -> Callable[[Fraction], DualValue]:
        """D at tau times the prices as a function of tau: at fractions exactly, at doubles rounded to 2^-bits.

        Other prices that are not negative prove another bound, and D of these is computed without rounding.
        """
        listed = [list(_entries(part)) for part in (lam, phi)]
        rounded = any(isinstance(value, float) for part in listed for _, value in part)

        def at(tau: Fraction) -> DualValue:
            parts = [{cell: tau * _fraction(value) for cell, value in part} for part in listed]
            for bits in range(_BITS, 0, -4) if rounded else ():
                near = [{cell: round(value * 2**bits) for cell, value in part.items()} for part in parts]
                whole = _Whole(near[0], near[1], 2**bits)
                if self._most(whole) < _HEADROOM:
                    return self._in_integers(whole)
            return self._in_integers(_whole(*parts))

        return at

    def exact(self, lam: Prices, phi: Prices) -> DualValue:
        """At exactly these prices, in integers of any size over their common denominator."""
        return self._in_integers(_whole(lam, phi))

    def doubles(self, lam: NDArray[np.float64], phi: NDArray[np.float64]) -> NDArray[np.float64]:
        """Not of such tasks: no claim about them asks it."""
        raise NotImplementedError

    def _in_integers(self, prices: _Whole) -> DualValue:
        exact = np.int64 if self._most(prices) < _HEADROOM else object
        lam, phi = (_array(part, self._shape, exact) for part in (prices.lam, prices.phi))
        if exact is object:
            lam, phi = lam + 0, phi + 0  # the zeros of an array of objects are 0, too
        surplus = []
        for task, lengths in zip(self._tasks, self._lengths, strict=True):
            if task.run is ScheduleKind.ANY:
                found = _cheapest(task, self._public, prices)
                cost = None if found is None else int(found.cost)
            else:
                cost = self._cheapest_of_kind(task, lengths, lam, phi, prices.unit)
            surplus.append(0 if cost is None else max(0, task.bid * prices.unit - cost))
        return self._priced(prices, surplus)

    def _most(self, prices: _Whole) -> int:
        """An upper bound on every number on the way, in 1/unit."""
        of = self._instance
        top_lam, top_phi = (max(part.values(), default=0) for part in (prices.lam, prices.phi))
        rate, memory = int(of.rate.max(initial=1)), int(of.memory_mb.max(initial=1))
        dearest = max((int(np.abs(task.cost).max(initial=0)) for task in self._tasks), default=0)
        cell = top_lam * rate + top_phi * memory + prices.unit * dearest
        more = prices.unit * (int(of.bid.max(initial=0)) + int(of.vendor_price.max(initial=0)))
        return 2 * cell * of.slots * int(of.parts.max(initial=1)) + 2 * more

    def _cheapest_of_kind(
        self, task: Task, lengths: NDArray[np.int64], lam: NDArray[Any], phi: NDArray[Any], unit: int
    ) -> int | None:
        """Least cost of a schedule of the task, in 1/unit; None without one."""
        begin, best = first_slot(task), None
        ends = self._public.first_node.tolist()
        for g, length in enumerate(lengths.tolist()):
            if not 0 < length <= task.deadline - begin + 1:
                continue
            span = slice(begin - 1, task.deadline)
            own = task.cost[g, span].astype(lam.dtype) * unit
            nodes = slice(ends[g], ends[g + 1])
            cells = lam[nodes, span] * int(task.rate[g]) + phi[nodes, span] * task.memory_mb + own
            for option in task.options:
                left = cells[:, option.first - begin :]
                if left.shape[1] < length:
                    continue
                if task.run is ScheduleKind.ONE_NODE:
                    costs = np.sort(left, axis=1)
                    spent = costs[:, :length].sum(axis=1) + np.minimum(costs[:, length:], 0).sum(axis=1)
                else:
                    sums = np.cumsum(left, axis=1)
                    windows = sums[:, length - 1 :].copy()
                    windows[:, 1:] -= sums[:, :-length]
                    spent = np.sort(windows, axis=0)[: task.parts].sum(axis=0)
                cost = unit * option.price + int(spent.min())
                best = cost if best is None else min(best, cost)
        return best


@keep_by_content(8)
def dual_of(instance: Instance) -> Dual:
    """The dual of the instance, by the kinds of its tasks; kept for the last few instances."""
    return RunDual(instance) if instance.run.any() else _dual_of(instance)
