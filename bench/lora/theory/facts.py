"""What the theorems need to know of an instance and of a run, in fractions: bbar, rho, kappa, alpha, beta, P~.

All quantities are in the units that the run used (file units, or canonical ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.lora.schedules import minimal_covers, space
from instances.lora.format import content_hash
from instances.lora.model import Instance, Public, Task
from online.lora.constants import alpha, beta
from online.lora.pdftsp import Offer, PriceTrace

ROUNDING = 1e-9
"""Relative error that no price in doubles reaches: 10^4 updates cost a few units in the last place each."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the theorems need of an instance, in given units of money and memory; tasks without a schedule left out.

    Parameters
    ----------
    negative : the first task with a usable cell of negative cost, or None.
    scheduled : number of tasks with a schedule.
    unprofitable : the first task with a minimal cover of b_il <= 0, or None.
    bbar_min, bbar_max : extremes of bbar over minimal covers.
    bbar_min_task : where the least stands.
    s_min, s_max, r_min, r_max : over the (task, node) pairs that can be used; r in the unit of memory.
    kappa : largest of n and S / slowest rate used, over minimal covers (over all covers where a cost is negative).
    alpha, beta : max b/M and max b/r over all tasks.
    """

    negative: int | None
    scheduled: int
    unprofitable: int | None
    bbar_min: Fraction
    bbar_max: Fraction
    bbar_min_task: int
    s_min: int
    s_max: int
    r_min: Fraction
    r_max: Fraction
    kappa: Fraction
    alpha: Fraction
    beta: Fraction

    @property
    def spread(self) -> Fraction:
        """max{s_max / s_min, r_max / r_min}."""
        return max(Fraction(self.s_max, self.s_min), self.r_max / self.r_min)


_KNOWN: dict[tuple[str, Fraction, Fraction], Facts] = {}


def facts(instance: Instance, money: Fraction, memory: Fraction) -> Facts:
    """The facts of an instance in units in which b counts `money` times and r `memory` times its file value."""
    key = (content_hash(instance), money, memory)
    if key not in _KNOWN:
        if len(_KNOWN) > 64:
            _KNOWN.clear()
        _KNOWN[key] = _facts(instance, money, memory)
    return _KNOWN[key]


def _facts(instance: Instance, money: Fraction, memory: Fraction) -> Facts:
    public = instance.public("")
    negative = unprofitable = None
    scheduled = 0
    low: tuple[Fraction, int] | None = None
    high: Fraction | None = None
    rates: list[int] = []
    sizes: list[int] = []
    kappa = Fraction(0)
    for i in range(instance.tasks):
        task = instance.task(i)
        menus = minimal_covers(task, public)
        if not menus:
            continue
        scheduled += 1
        menu = space(task, public)
        rates += menu.rates.tolist()
        sizes.append(task.memory_mb)
        below_zero = bool((task.cost[menu.types, menu.first - 1 : menu.last] < 0).any())
        if below_zero and negative is None:
            negative = i
        for m in menus:
            worst = task.bid - m.price - m.largest_cost
            best = task.bid - m.price - m.least_cost
            if unprofitable is None and (worst <= 0).any():
                unprofitable = i
            used = m.work + float(memory) * task.memory_mb * m.cells
            for j in _near(worst / used, least=True):
                value = money * int(worst[j]) / (int(m.work[j]) + memory * task.memory_mb * int(m.cells[j]))
                if low is None or value < low[0]:
                    low = (value, i)
            for j in _near(best / used, least=False):
                value = money * int(best[j]) / (int(m.work[j]) + memory * task.memory_mb * int(m.cells[j]))
                high = value if high is None else max(high, value)
        kappa = max(kappa, _kappa(task, public))
    if negative is not None:
        # A wasteful cover can be the best one then.
        kappa = max(_kappa_every(instance.task(i), public) for i in range(instance.tasks))
    return Facts(
        negative=negative,
        scheduled=scheduled,
        unprofitable=unprofitable,
        bbar_min=low[0] if low else Fraction(0),
        bbar_max=high if high is not None else Fraction(0),
        bbar_min_task=low[1] if low else -1,
        s_min=min(rates, default=1),
        s_max=max(rates, default=1),
        r_min=memory * min(sizes, default=1),
        r_max=memory * max(sizes, default=1),
        kappa=kappa,
        alpha=money * alpha(instance),
        beta=money * beta(instance) / memory,
    )


EVERY_COVER_LIMIT = 20_000_000
"""Most steps of the dynamic programme over all covers of all tasks for which their bbar is asked."""


def every_bbar(instance: Instance, money: Fraction, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    """Least and largest bbar over all covers, wasteful ones included, in units as in `facts`.

    None without a cover, and where the instance is too large to look at all count vectors.
    """
    key = (content_hash(instance), money, memory)
    if key not in _EVERY:
        if len(_EVERY) > 64:
            _EVERY.clear()
        _EVERY[key] = _every_bbar(instance, money, memory)
    return _EVERY[key]


_EVERY: dict[tuple[str, Fraction, Fraction], tuple[Fraction, Fraction] | None] = {}


def _every_bbar(instance: Instance, money: Fraction, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    public = instance.public("")
    steps = 0
    low: list[Fraction] = []
    high: list[Fraction] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        menu = space(task, public)
        steps += menu.width * (menu.width + 1) ** len(menu.types)
        if steps > EVERY_COVER_LIMIT:
            return None
        for m in minimal_covers(task, public, every_cover=True):
            used = m.work + float(memory) * task.memory_mb * m.cells
            for cost, kept, least in ((m.largest_cost, low, True), (m.least_cost, high, False)):
                net = task.bid - m.price - cost
                for j in _near(net / used, least=least):
                    kept.append(money * int(net[j]) / (int(m.work[j]) + memory * task.memory_mb * int(m.cells[j])))
    return (min(low), max(high)) if low else None


def _near(values: NDArray[np.float64], *, least: bool) -> list[int]:
    """Indices whose value is within rounding of the extreme one; fractions decide among them."""
    edge = values.min() if least else values.max()
    slack = 1e-9 * max(abs(float(edge)), 1e-300)
    close = values <= edge + slack if least else values >= edge - slack
    return [int(j) for j in np.flatnonzero(close)]


def _kappa(task: Task, public: Public) -> Fraction:
    """max of n and S / slowest rate used, over the minimal covers of a task."""
    largest = Fraction(0)
    for m in minimal_covers(task, public):
        largest = max(largest, Fraction(int(m.cells.max())))
        for j in _near(m.work / m.slowest, least=False):
            largest = max(largest, Fraction(int(m.work[j]), int(m.slowest[j])))
    return largest


def _kappa_every(task: Task, public: Public) -> Fraction:
    """The same over all covers: fill the widest window, one cell at the slowest rate and the others at the fastest."""
    menu = space(task, public)
    rates = menu.rates.tolist()
    if not rates or menu.width * max(rates) < task.work:
        return Fraction(0)
    works = [(slow, slow + (menu.width - 1) * max(rates)) for slow in rates]
    return max(Fraction(menu.width), *(Fraction(work, slow) for slow, work in works if work >= task.work))


@dataclass(frozen=True, slots=True)
class Observed:
    """What a run selected: bbar over the schedules with F > 0 and over the admitted, P~, longest schedule."""

    positive: int
    bbar_min: Fraction
    bbar_max: Fraction
    admitted_bbar_min: Fraction
    longest: int
    almost_feasible: int
    doubtful: int | None


def observed(instance: Instance, trace: PriceTrace) -> Observed:
    """The run's selected schedules in the trace's units."""

    def bbar(offer: Offer) -> Fraction:
        size = offer.work + trace.memory * int(instance.memory_mb[offer.task]) * len(offer.cells)
        return trace.money * offer.net / size

    positive = [offer for offer in trace.offers if offer.value is not None and offer.value > 0]
    values = [bbar(offer) for offer in positive]
    doubtful = None
    if not trace.exact:
        doubtful = next((offer.task for offer in trace.offers if _close_to_zero(offer, instance)), None)
    return Observed(
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
