"""What the theorems need of an instance and of a run, in fractions and in the units that the run used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.theory.claim import keep_by_content
from ratiobench.formulations.lora.bound.minimal_covers import MinimalCovers, list_minimal_covers
from ratiobench.formulations.lora.covering.schedules import space
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.constants import alpha, beta
from ratiobench.online.lora.traces import Offer, PriceTrace

ROUNDING = 1e-9  # Relative error that no price in doubles reaches: 10^4 updates cost a few units in the last place each


class SearchLimitReached(Exception):
    """The allowance of a check is used up."""


class SearchBudget:
    """Counts what a check does: searches, or additions; None: without a limit."""

    def __init__(self, left: int | None) -> None:
        self._left = left
        self.spent = 0

    def spend(self, amount: int = 1) -> None:
        """Count, or raise SearchLimitReached."""
        if self._left is not None:
            if self._left < amount:
                raise SearchLimitReached
            self._left -= amount
        self.spent += amount


def find_outlay(instance: Instance, i: int, decision: Decision) -> int:
    """q + sum e of a decision about task i, micro-dollars."""
    kind, cost = instance.public("").type_of_node, instance.cost(i)
    fee = 0 if decision.vendor is None else instance.vendors(i)[decision.vendor].price
    return fee + sum(int(cost[kind[k], t - 1]) for k, t in decision.cells)


def sum_exactly(terms: Iterable[tuple[int, Fraction | float | int]]) -> Fraction:
    """The sum of times * value over pairs (times, value); a double stands for the fraction that it is."""
    over: dict[int, int] = {}
    for times, value in terms:
        top, under = value.as_integer_ratio()
        over[under] = over.get(under, 0) + times * top
    return sum((Fraction(top, under) for under, top in over.items()), Fraction(0))


@dataclass(frozen=True, slots=True)
class Facts:
    """What the theorems need of an instance, in given units of money and memory; tasks without a schedule left out."""

    negative: int | None  # the first task with a usable cell of negative cost, or None
    scheduled: int  # number of tasks with a schedule
    unprofitable: int | None  # the first task with a minimal cover of b_il <= 0, or None
    bbar_min: Fraction  # bbar_min, bbar_max: extremes of bbar over minimal covers
    bbar_max: Fraction
    s_min: int  # s_min, s_max, r_min, r_max: over the (task, node) pairs that can be used; r in the unit of memory
    s_max: int
    r_min: Fraction
    r_max: Fraction
    # largest of n and S / slowest rate used, over minimal covers (over all covers where a cost is negative).
    kappa: Fraction
    alpha: Fraction  # alpha, beta: max b/M and max b/r over all tasks
    beta: Fraction

    @property
    def spread(self) -> Fraction:
        return max(Fraction(self.s_max, self.s_min), self.r_max / self.r_min)


@keep_by_content(content_hash, 8)
def list_covers(instance: Instance) -> MinimalCovers:
    """The minimal covers of an instance in one piece."""
    parts = list(list_minimal_covers(instance))
    if len(parts) == 1:
        return parts[0]
    columns = np.concatenate([np.zeros((7, 0), np.int64), *(np.stack(part[:7]) for part in parts)], axis=1)
    negative = next((part.negative for part in parts if part.negative is not None), None)
    slow, fast = ([part.rates[end] for part in parts] for end in (0, 1))
    return MinimalCovers._make([*columns, negative, (min(slow, default=1), max(fast, default=1))])


def _extreme(near: NDArray[np.float64], exact: Callable[..., Fraction], *columns: IntArray, least: bool) -> Fraction:
    """The least or largest exact(*row), given doubles near to them: fractions decide among what is within rounding."""
    edge = float(near.min() if least else near.max())
    slack = 1e-9 * max(abs(edge), 1e-300)
    rows = np.flatnonzero(near <= edge + slack if least else near >= edge - slack)
    values = (exact(*row) for row in {*zip(*(column[rows].tolist() for column in columns), strict=True)})
    return min(values) if least else max(values)


def find_facts(instance: Instance, money: Fraction, memory: Fraction) -> Facts:
    """The facts of an instance in units in which b counts `money` times and r `memory` times its file value."""
    known = list_covers(instance)
    size = known.work + float(memory) * known.megabytes
    low = high = kappa = Fraction(0)
    if len(known.task):
        low, high = (
            money
            * _extreme(net / size, lambda b, s, r: b / (s + memory * r), net, known.work, known.megabytes, least=least)
            for net, least in ((known.worst, True), (known.best, False))
        )
        slowest = _extreme(known.work / known.slowest, Fraction, known.work, known.slowest, least=False)
        kappa = max(Fraction(int(known.cells.max())), slowest)
    scheduled = np.unique(known.task)
    losses = known.task[known.worst <= 0]
    sizes = instance.memory_mb[scheduled].tolist()
    if known.negative is not None:
        # A wasteful cover can be the best one then.
        public = instance.public("")
        kappa = max(_kappa_every(instance.task(i), public) for i in range(instance.tasks))
    return Facts(
        negative=known.negative,
        scheduled=len(scheduled),
        unprofitable=int(losses[0]) if len(losses) else None,
        bbar_min=low,
        bbar_max=high,
        s_min=known.rates[0],
        s_max=known.rates[1],
        r_min=memory * min(sizes, default=1),
        r_max=memory * max(sizes, default=1),
        kappa=kappa,
        alpha=money * alpha(instance),
        beta=money * beta(instance) / memory,
    )


def _kappa_every(task: Task, public: Public) -> Fraction:
    """kappa of a task over all covers: the widest window, one cell at the slowest rate, the others at the fastest."""
    menu = space(task, public)
    rates = menu.rates.tolist()
    if not rates or menu.width * max(rates) < task.work:
        return Fraction(0)
    works = [(slow, slow + (menu.width - 1) * max(rates)) for slow in rates]
    return max(Fraction(menu.width), *(Fraction(work, slow) for slow, work in works if work >= task.work))


@dataclass(frozen=True, slots=True)
class Observations:
    """What a run selected: bbar over the schedules with F > 0 and over the admitted, P~, longest schedule."""

    positive: int
    bbar_min: Fraction
    bbar_max: Fraction
    admitted_bbar_min: Fraction
    longest: int
    almost_feasible: int
    doubtful: int | None


def observe_run(instance: Instance, trace: PriceTrace) -> Observations:
    positive = [offer for offer in trace.offers if offer.value is not None and offer.value > 0]
    sizes = (o.work + trace.memory * int(instance.memory_mb[o.task]) * len(o.cells) for o in positive)
    values = [trace.money * offer.net / size for offer, size in zip(positive, sizes, strict=True)]
    doubtful = None
    if not trace.exact:
        doubtful = next((offer.task for offer in trace.offers if _close_to_zero(offer, instance)), None)
    return Observations(
        positive=len(positive),
        bbar_min=min(values, default=Fraction(0)),
        bbar_max=max(values, default=Fraction(0)),
        admitted_bbar_min=min((b for b, o in zip(values, positive, strict=True) if o.admitted), default=Fraction(0)),
        longest=max((len(offer.cells) for offer in positive), default=0),
        almost_feasible=sum(offer.net for offer in positive),
        doubtful=doubtful,
    )


def _close_to_zero(offer: Offer, instance: Instance) -> bool:
    """Whether the sign of a double F could be another one in exact arithmetic; at zero prices F = b_il is exact."""
    if offer.value is None or offer.value == offer.net:
        return False
    return abs(float(offer.value)) <= ROUNDING * max(int(instance.bid[offer.task]), abs(offer.net))
