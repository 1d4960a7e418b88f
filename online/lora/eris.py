"""An Eris-style auction: exponential posted prices per node, slot and resource, without sharing of the base model.

The formulas are those of the line of work around Eris, not Eris's own code; results are labelled so. The price at load
y is k(y) = L (U/L)^(y/C). It is computed in decimal arithmetic and rounded to a power of two, so that it is the same
integer on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.lora.schedules import FAR, cheapest_cover
from instances.lora.model import IntArray, Public, Task
from instances.lora.solution import Decision
from online.lora.protocol import View
from online.lora.registry import Entry, register

_DIGITS = 40
_PRECISION_BITS = 20


class Eris:
    """Best schedule by additive prices; admit if b - q - sum e is above the price; charge q + sum e + price.

    A task uses r_i + r_b of C_m on every node it runs on. Declared constants: L and U, the least and largest of
    b_i / (M_i + slots needed * (r_i + r_b)).
    """

    constants = ("eris_low", "eris_high")
    label = "eris (Eris-style)"

    def __init__(self, options: Mapping[str, str]) -> None:
        pass

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """All loads are zero, so every price is L."""
        self._public = public
        self._type_of = public.type_of_node
        self._first_node = public.first_node
        low, high = constants["eris_low"], constants["eris_high"]
        with localcontext() as context:
            context.prec = _DIGITS
            self._low = Decimal(low.numerator) / low.denominator
            self._growth = (Decimal(high.numerator) / high.denominator / self._low).ln()
        # The largest cell price times the number of slots must stay far inside 64 bits.
        heaviest = int(public.compute.max()) + int(public.memory_mb.max()) + public.base_memory_mb
        room = 2**56 // (public.slots * max(1, -(-high.numerator // high.denominator)) * heaviest)
        self._bits = min(_PRECISION_BITS, max(0, room.bit_length() - 1))
        self._memory_total = public.memory_mb + public.base_memory_mb
        shape = (public.nodes, public.slots)
        self._load = np.zeros(shape, np.int64)
        self._weight = np.zeros(shape, np.int64)
        start_price = self._price(0, 1)
        self._compute_price = np.full(shape, start_price, np.int64)
        self._memory_price = np.full(shape, start_price, np.int64)

    def _price(self, load: int, capacity: int) -> int:
        """k(y) in units of 2^-bits micro-dollars."""
        with localcontext() as context:
            context.prec = _DIGITS
            value = self._low * (self._growth * load / capacity).exp() * (1 << self._bits)
            return min(int(value.to_integral_value()), FAR >> 4)

    def decide(self, task: Task, view: View) -> Decision | None:
        """The cheapest schedule at the posted prices among nodes with room for the task and its own base model."""
        public = self._public
        memory = task.memory_mb + public.base_memory_mb
        room = view.room(task, public)
        room &= self._weight + memory <= self._memory_total[self._type_of][:, None]
        rate = task.rate[self._type_of][:, None]
        posted = self._compute_price * rate + self._memory_price * memory
        usable, price, node = self._cheapest_nodes(room, posted)
        # Huge operational costs leave fewer bits for the fractions of prices in the 64-bit search.
        reach = (int(np.abs(task.cost).max()) * public.slots) << self._bits
        bits = max(0, self._bits - max(0, reach.bit_length() - 58))
        cost = (task.cost << bits) + (price >> (self._bits - bits))
        cover = cheapest_cover(task, public, cost, usable, node, unit=1 << bits)
        if cover is None:
            return None
        option = task.options[cover.option]
        energy = sum(int(task.cost[self._type_of[k], t - 1]) for k, t in cover.cells)
        total = option.price + energy + Fraction(sum(int(posted[k, t - 1]) for k, t in cover.cells), 1 << self._bits)
        if task.bid <= total:
            return None
        for k, t in cover.cells:
            self._book(k, t, int(task.rate[self._type_of[k]]), memory)
        return Decision(option.vendor, cover.cells, math.ceil(total))

    def _cheapest_nodes(
        self, room: NDArray[np.bool_], posted: IntArray
    ) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
        types = len(self._first_node) - 1
        shape = (types, room.shape[1])
        usable, price, node = np.empty(shape, np.bool_), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for g in range(types):
            low, high = self._first_node[g], self._first_node[g + 1]
            block = np.where(room[low:high], posted[low:high], np.iinfo(np.int64).max)
            best = block.argmin(axis=0)
            usable[g] = room[low:high].any(axis=0)
            price[g] = np.where(usable[g], np.take_along_axis(block, best[None, :], axis=0)[0], 0)
            node[g] = low + best
        return usable, price, node

    def _book(self, node: int, slot: int, rate: int, memory: int) -> None:
        cell = (node, slot - 1)
        self._load[cell] += rate
        self._weight[cell] += memory
        g = self._type_of[node]
        self._compute_price[cell] = self._price(int(self._load[cell]), int(self._public.compute[g]))
        self._memory_price[cell] = self._price(int(self._weight[cell]), int(self._memory_total[g]))


register(Entry("eris", "Eris-style exponential posted prices, no sharing of the base model", "1", {}, Eris))
