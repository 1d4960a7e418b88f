"""An Eris-style auction: exponential posted prices per node, slot and resource, without sharing of the base model.

The formulas are those of the line of work around Eris, not Eris's own code; results are labelled so. The price at load
y is k(y) = L (U/L)^(y/C), L and U being the least and largest b_i / (M_i + slots needed * (r_i + r_b)). A task uses
r_i + r_b of C_m on every node it runs on. Prices are computed in decimal arithmetic and rounded to 2^-20 micro-dollars
(to a double where figures are enormous), so that they are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.covering.schedules import Cover, cheapest_cover
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.one_node import NodeAnswer, with_one_node
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, register
from ratiobench.online.lora.search.additive import choose_cheapest
from ratiobench.online.remarks import Remarks
from ratiobench.online.spec import state_always

_DIGITS = 40
_BITS = 20
# Prices that are kept: many cells have the same load, and a cell's price is needed again when it is charged
_KEPT = 1 << 16

Amounts = NDArray[Any]  # Prices: int64 in units of 2^-20 micro-dollars, or float64


class Eris:
    """Best schedule by additive prices; admit if b - q - sum e is above the price; charge q + sum e + price."""

    constants = ("eris_low", "eris_high")
    remarks = Remarks("eris", notes=("Eris-style",))

    def __init__(self, options: Mapping[str, str]) -> None:
        pass

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public = public
        self._type_of = public.type_of_node
        self._kind, self._compute = self._type_of.tolist(), public.compute.tolist()
        low, high = constants["eris_low"], constants["eris_high"]
        if not 0 < low <= high:
            raise InputError("algorithm", "eris", f"eris_low = {low} and eris_high = {high}; 0 < low <= high is needed")
        self._exact_low = low
        with localcontext() as context:
            context.prec = _DIGITS
            self._low = Decimal(low.numerator) / low.denominator
            self._growth = (Decimal(high.numerator) / high.denominator / self._low).ln()
        # Prices are integers of 2^-20 micro-dollars where the dearest schedule stays far inside 64 bits, else doubles.
        heaviest = int(public.compute.max()) + int(public.memory_mb.max()) + public.base_memory_mb
        self._integral = public.slots * heaviest * math.ceil(high) << _BITS < 2**56
        self.arithmetic = "integer" if self._integral else "float"
        self._memory_total = public.memory_mb + public.base_memory_mb
        self._memory = self._memory_total.tolist()
        self._decimal = lru_cache(_KEPT)(self._compute_decimal)
        self._exact = lru_cache(_KEPT)(self._compute_exact)
        shape = (public.nodes, public.slots)
        self._load = np.zeros(shape, np.int64)
        self._weight = np.zeros(shape, np.int64)
        start_price = self._price(0, 1)
        self._compute_price: Amounts = np.full(shape, start_price, np.int64 if self._integral else np.float64)
        self._memory_price: Amounts = self._compute_price.copy()

    def _price(self, load: int, capacity: int) -> int | float:
        """k(y) for the search, in units of 2^-20 micro-dollars where prices are integers."""
        value = self._decimal(load, capacity)
        return int((value * (1 << _BITS)).to_integral_value()) if self._integral else float(value)

    def _compute_decimal(self, load: int, capacity: int) -> Decimal:
        with localcontext() as context:
            context.prec = _DIGITS
            return self._low * (self._growth * load / capacity).exp()

    def _compute_exact(self, load: int, capacity: int) -> Fraction:
        """k(y) for the comparison with the bid: L itself at load 0, where ties are possible, else 40 digits."""
        return self._exact_low if load == 0 else Fraction(self._decimal(load, capacity))

    def decide(self, task: Task, view: View) -> Decision | None:
        return self.settle(task, view, self.find(task, view))

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        public = self._public
        memory = task.memory_mb + public.base_memory_mb
        first = min(option.first for option in task.options)
        span = slice(first - 1, task.deadline)
        free = view.between(first, task.deadline).room(task, public)
        free &= self._weight[:, span] + memory <= self._memory_total[self._type_of][:, None]
        rate = task.rate[self._type_of][:, None]
        posted = self._compute_price[:, span] * rate + self._memory_price[:, span] * memory
        shape = (len(public.node_types), public.slots)
        price, node = np.zeros(shape, posted.dtype), np.full(shape, -1)
        node[:, span], price[:, span] = choose_cheapest(posted, free, public.first_node)
        usable = node >= 0
        unit = 1 << _BITS if self._integral else 1
        cost: Amounts
        if self._integral and int(np.abs(task.cost).max()) * public.slots < 2**38:
            cost = task.cost * unit + price
            cover = cheapest_cover(task, public, cost, usable, node, unit)
        else:
            cost = task.cost + price / unit
            unit = 1
            cover = cheapest_cover(task, public, cost, usable, node)
        if cover is None:
            return None
        total = cover.cost if unit == 1 else Fraction(int(cover.cost), unit)
        return NodeAnswer((total, cover.option, len(cover.cells)), cover.cells, cover)

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        if found is None:
            return None
        memory, rate = task.memory_mb + self._public.base_memory_mb, task.rate.tolist()
        cover: Cover = found.answer
        option, total = task.options[cover.option], found.key[0]
        # Prices of the search were rounded by half a unit: the exact ones are summed up where that may decide.
        weight = sum(rate[self._kind[k]] + memory + 1 for k, _ in cover.cells)
        off = Fraction(weight, 2 << _BITS) if isinstance(total, Fraction) else None
        if off is None or (total - off < task.bid and math.ceil(total - off) != math.ceil(total + off)):
            energy = sum(int(task.cost[self._kind[k], t - 1]) for k, t in cover.cells)
            total = option.price + energy + sum(self._exact_cell(rate, memory, k, t) for k, t in cover.cells)
        if task.bid <= total:
            return None
        for k, t in cover.cells:
            g, cell = self._kind[k], (k, t - 1)
            self._load[cell] += rate[g]
            self._weight[cell] += memory
            self._compute_price[cell] = self._price(int(self._load[cell]), self._compute[g])
            self._memory_price[cell] = self._price(int(self._weight[cell]), self._memory[g])
        return Decision(option.vendor, cover.cells, math.ceil(total))

    def _exact_cell(self, rate: list[int], memory: int, node: int, slot: int) -> Fraction:
        g = self._kind[node]
        load, weight = int(self._load[node, slot - 1]), int(self._weight[node, slot - 1])
        price: Fraction = self._exact(load, self._compute[g]) * rate[g]
        return price + self._exact(weight, self._memory[g]) * memory


register(
    with_one_node(
        Entry(
            "eris",
            "Eris-style exponential posted prices, no sharing of the base model",
            "2",
            {},
            Eris,
            standing=state_always(guarantee="none proved here", truthful="posted prices; not examined"),
        )
    )
)
