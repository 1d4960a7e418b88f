"""Mechanisms with one thing done wrong, and a cluster by hand to show it."""

import math
from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.lora import Decision, Instance
from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.mechanism import ExactPrices
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.traces import LinearTrace, Offer, Rule
from tests.support.literal import schedules
from tests.support.lora_documents import make_instance, make_node

KINDS = ("honest", "second", "half", "falls", "by bid", "ignores room", "charges one more", "free", "dear above", "shy")
RULE = Rule(Fraction(1), Fraction(1), Fraction(1), by_bbar=False)


class Mutant:
    """The loop of `ratiobench.online.lora.mechanism` over enumerated schedules, with one thing done wrong."""

    arithmetic = "exact"

    def __init__(self, options: Mapping[str, str]) -> None:
        self.kind = options["kind"]

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self.public, self.book = public, ExactPrices(public, RULE)
        self._trace = LinearTrace("mutant", True, RULE, {})

    @property
    def trace(self) -> LinearTrace:
        """Offers and prices, as the genuine ones keep them."""
        self._trace.lam, self._trace.phi = self.book.final()
        return self._trace

    def _priced(self, task: Task, view: View) -> list[tuple[Fraction, int, int, list[tuple[int, int]]]]:
        kind = self.public.type_of_node.tolist()
        room = view.room(task, self.public)
        found = []
        for option, cells in schedules(task, self.public):
            if self.kind == "ignores room" or all(room[k, t - 1] for k, t in cells):
                cost = Fraction(task.options[option].price)
                for k, t in cells:
                    cost += self.book.lam.get((k, t), 0) * int(task.rate[kind[k]]) + int(task.cost[kind[k], t - 1])
                    cost += self.book.phi.get((k, t), 0) * task.memory_mb
                found.append((cost, option, len(cells), [(t, k) for k, t in cells]))
        return sorted(found)

    def decide(self, task: Task, view: View) -> Decision | None:
        priced = self._priced(task, view)
        if not priced:
            self._trace.offers.append(Offer(task.index, None))
            return None
        pick = task.bid % len(priced) if self.kind == "by bid" else 0
        cost, option, _, listed = priced[pick]
        paid = cost
        if self.kind == "second":
            paid = priced[min(1, len(priced) - 1)][0]
        if self.kind == "half":
            paid = Fraction(task.bid, 2)
        if self.kind == "charges one more":
            paid += 1
        if self.kind == "free":
            paid = Fraction(0)
        if self.kind == "dear above" and task.bid > 1000:
            paid += 1
        cells = tuple((k, t) for t, k in listed)
        admitted = task.bid > cost + (3 if self.kind == "shy" else 0)
        if self.kind == "ignores room":
            room = view.room(task, self.public)
            admitted = admitted and all(room[k, t - 1] for k, t in cells)
        if admitted:
            self.book.move(task, cells, Fraction(1))
            if self.kind == "falls":
                for table in (self.book.lam, self.book.phi):
                    for cell in table:
                        table[cell] /= 4
        told = paid if admitted else None
        self._trace.offers.append(Offer(task.index, task.bid - cost, option, cells, 0, 0, admitted, told))
        return Decision(task.options[option].vendor, cells, math.ceil(paid)) if admitted else None


def two_nodes(slots: int, tasks: list[tuple[int, int, list[int], int, int, list[list[int]]]]) -> Instance:
    """Nodes a and b of 160 samples and MB; tasks as (arrival, work, rates, memory, bid, costs), all till the end."""
    return make_instance(
        slots,
        [make_node(160, 160)] * 2,
        [{"arrival": a, "work": w, "rate": s, "memory_mb": r, "bid": b, "cost": e} for a, w, s, r, b, e in tasks],
    )
