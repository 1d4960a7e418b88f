"""What the corrected mechanisms must know in advance, computed from a whole instance: best from another day's.

Only tasks with a schedule count, and of those the node types that can hold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, sort_stably
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT, cheapest_cover
from ratiobench.instances.lora.model import Instance, IntArray, ScheduleKind, Task, freeze
from ratiobench.instances.lora.quantities import first_slots, servable, usable_types
from ratiobench.online.lora.search.additive import DOUBLES, Cluster, first_schedule, offers, too_large


class ServedTask(NamedTuple):
    """A task with a schedule, as far as the constants look at it; all figures over the usable types and the window."""

    task: int  # index; bid, work, memory_mb: b_i, M_i, r_i
    bid: int
    work: int
    memory_mb: int
    worth: int  # b_i + sum_t max(0, -min_k e_ikt): where costs are negative a schedule is worth more than its bid
    slowest: int  # slowest, fastest: least and largest rate
    fastest: int
    # cells, samples: no schedule that can be cheapest has more: of a minimal cover n <= ceil(M / s_min) and S <= M +
    # s_max - 1; where a cost is negative, of any cover n <= W and S <= W s_max.
    cells: int
    samples: int
    net: int  # b_il is no less: the bid less the dearest vendor and the `cells` dearest slots; at least 1 micro-dollar

    @property
    def fewest(self) -> int:
        """Cells needed at the fastest usable rate, ceil(M / s_max)."""
        return -(-self.work // self.fastest)


@compiled
def _window(cost, usable, first, deadline, most, high):  # type: ignore[no-untyped-def]
    """(sum_t max(0, -min_k e), least e, sum of the `most` largest max_k max(0, e), or of all where some e < 0)."""
    width = deadline - first + 1
    credit = 0
    least = cost[usable[0], first - 1]
    for t in range(width):
        low = cost[usable[0], first - 1 + t]
        top = low
        for g in usable[1:]:
            low = min(low, cost[g, first - 1 + t])
            top = max(top, cost[g, first - 1 + t])
        credit += max(0, -low)
        least = min(least, low)
        high[t] = max(0, top)
    if least < 0:
        most = width
    dearest = 0
    order = sort_stably(high[:width])
    for t in range(width - min(most, width), width):
        dearest += high[order[t]]
    return credit, least, dearest


@lru_cache(maxsize=8)
def list_served(instance: Instance) -> tuple[ServedTask, ...]:
    able = usable_types(instance)
    first, high = first_slots(instance), np.empty(instance.slots, np.int64)
    found = []
    for i in np.flatnonzero(servable(instance)).tolist():
        usable = np.flatnonzero(able[i])
        rates = instance.rate[i, usable].tolist()
        slowest, fastest = min(rates), max(rates)
        bid, work, deadline = int(instance.bid[i]), int(instance.work[i]), int(instance.deadline[i])
        length, width = -(-work // slowest), deadline - int(first[i]) + 1
        # Compiled, kernels give Python's integers; run as plain Python (NUMBA_DISABLE_JIT=1) NumPy's, which overflow.
        credit, least, dearest = map(int, _window(instance.cost(i), usable, int(first[i]), deadline, length, high))
        vendors = slice(int(instance.vendor_start[i]), int(instance.vendor_start[i + 1]))
        within = instance.arrival[i] + instance.vendor_delay[vendors] <= deadline
        vendor = int(instance.vendor_price[vendors][within].max(initial=0))
        cells, samples = width, width * fastest
        if least >= 0:
            cells, samples = min(length, width), min(samples, work + fastest - 1)
        worth, net = bid + credit, max(1, bid - vendor - dearest)
        memory = int(instance.memory_mb[i])
        found.append(ServedTask(i, bid, work, memory, worth, slowest, fastest, cells, samples, net))
    return tuple(found)


def largest_ratio(pairs: Iterable[tuple[int, int]]) -> Fraction:
    """The largest p / q, q > 0 and no ratio negative; 0 without any."""
    top, under = 0, 1
    for p, q in pairs:
        if p * under > top * q:
            top, under = p, q
    return Fraction(top, under)


def cap_compute(instance: Instance) -> Fraction:
    """X_c = max (b_i + credit) / s_ik, micro-dollars per sample; 0 without tasks."""
    return largest_ratio((each.worth, each.slowest) for each in list_served(instance))


def cap_memory(instance: Instance) -> Fraction:
    """X_m = max (b_i + credit) / r_i, micro-dollars per MB; 0 without tasks."""
    return largest_ratio((each.worth, each.memory_mb) for each in list_served(instance))


def largest_share(instance: Instance) -> Fraction:
    """eps = max of s_ik / C_kp and r_i / (C_km - r_b); 1 without tasks."""
    public = instance.public("")
    index = np.array([each.task for each in list_served(instance)], dtype=np.int64)
    rate, memory = instance.rate[index], instance.memory_mb[index]
    shares = []
    for g, (compute, memory_mb) in enumerate(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True)):
        able = (rate[:, g] > 0) & (rate[:, g] <= compute) & (memory <= memory_mb)
        if able.any():
            shares += [Fraction(int(rate[able, g].max()), compute), Fraction(int(memory[able].max()), memory_mb)]
    return max(shares, default=Fraction(1)) or Fraction(1)


def spread(instance: Instance) -> Fraction:
    """U >= (X_c S + X_m R) / b_il of every schedule with b_il > 0 that can be cheapest, by bounds; 1 without tasks."""
    top_c, top_m = cap_compute(instance), cap_memory(instance)
    weight_c, weight_m = top_c.numerator * top_m.denominator, top_m.numerator * top_c.denominator
    pairs = (
        (weight_c * each.samples + weight_m * each.memory_mb * each.cells, each.net) for each in list_served(instance)
    )
    return largest_ratio(pairs) / (top_c.denominator * top_m.denominator) or Fraction(1)


def memory_density(instance: Instance) -> Fraction:
    """max b_i / (r_i ceil(M_i / s_max)), micro-dollars per MB and slot; 0 without tasks."""
    return largest_ratio((each.bid, each.memory_mb * each.fewest) for each in list_served(instance))


def lower_median(pairs: Iterable[tuple[int, int]]) -> Fraction:
    """The lower median of the positive p / q, q > 0; 1 where there is none."""
    positive = [pair for pair in pairs if pair[0] > 0]
    if not positive:
        return Fraction(1)
    # Two fractions that differ do so by at least 1 / (q q'), so their multiples of 2^bits have other integer parts.
    bits = 2 * max(q for _, q in positive).bit_length()
    positive.sort(key=lambda pair: (pair[0] << bits) // pair[1])
    return Fraction(*positive[(len(positive) - 1) // 2])


def median_work_density(instance: Instance) -> Fraction:
    return lower_median((each.bid, each.work) for each in list_served(instance))


def median_memory_density(instance: Instance) -> Fraction:
    return lower_median((each.bid, each.memory_mb * each.fewest) for each in list_served(instance))


def median_bbar(instance: Instance) -> Fraction:
    """median over tasks of bbar_il = b_il / (S + R) of the schedule l that is cheapest in an empty cluster."""
    public = instance.public("")
    alone = Cluster(public).of_one_node_each()
    # Read-only as what an algorithm sees of the cluster, so that the same compiled search serves both.
    memory = tuple(
        freeze(np.repeat(amount[:, None], instance.slots, axis=1)) for amount in (public.compute, public.memory_mb)
    )
    return lower_median(_value_alone(instance, each, alone, memory) for each in list_served(instance))


def _value_alone(
    instance: Instance, each: ServedTask, alone: tuple[IntArray, IntArray], memory: tuple[IntArray, ...]
) -> tuple[int, int]:
    """(b_il, S + R) of the cheapest schedule when every type has an empty node."""
    task = instance.task(each.task)
    choices = [task.rate]
    if instance.schedules is ScheduleKind.ONE_NODE:
        able = np.flatnonzero(usable_types(instance)[each.task])
        choices = [np.where(np.arange(len(task.rate)) == g, task.rate, 0) for g in able]
    found = [_cheapest_alone(instance, replace(task, rate=rate), alone, memory) for rate in choices]
    cost, _, work, cells = min(each for each in found if each is not None)
    return task.bid - cost, work + task.memory_mb * cells


def _cheapest_alone(
    instance: Instance, task: Task, alone: tuple[IntArray, IntArray], memory: tuple[IntArray, ...]
) -> tuple[int, int, int, int] | None:
    """(cost, option, samples, cells) of the cheapest schedule on empty nodes; None without one."""
    starts, prices = offers(task)
    if int(prices.max()) + instance.slots * int(np.abs(task.cost).max()) < DOUBLES:
        load = task.memory_mb, task.work, task.deadline
        total, option, cells, work, _ = first_schedule(
            *memory, alone, load, task.rate, task.cost, starts, prices, STATE_LIMIT
        )
        if option == -2:
            raise too_large(task)
        return None if option == -1 else (int(total), int(option), int(work), len(cells))
    everywhere = np.ones(task.cost.shape, np.bool_)
    node = np.repeat(np.arange(len(task.rate))[:, None], instance.slots, axis=1)
    cover = cheapest_cover(task, instance.public(""), task.cost, everywhere, node)
    if cover is None:
        return None
    return int(cover.cost), cover.option, sum(int(task.rate[g]) for g, _ in cover.cells), len(cover.cells)


@lru_cache(maxsize=8)
def _list_weights(instance: Instance) -> tuple[tuple[ServedTask, Fraction, Fraction], ...]:
    """Each served task with the least and the most that a schedule weighs; a cell weighs w = max(s / C, r / D)."""
    public = instance.public("")
    sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
    found = []
    for each in list_served(instance):
        able = [
            (rate, max(Fraction(rate, compute), Fraction(each.memory_mb, memory)))
            for rate, (compute, memory) in zip(instance.rate[each.task].tolist(), sizes, strict=True)
            if 0 < rate <= compute and each.memory_mb <= memory
        ]
        weights = [weight for _, weight in able]
        # A schedule weighs no less than its cells times the least w, nor than its samples times the least w / s.
        least = max(each.fewest * min(weights), each.work * min(weight / rate for rate, weight in able))
        found.append((each, least, each.cells * max(weights)))
    return tuple(found)


def least_density(instance: Instance) -> Fraction:
    """L of `static`: the least bid per unit of weight, of each task's heaviest schedule that can be cheapest."""
    values = (each.bid / most for each, _, most in _list_weights(instance) if each.bid > 0)
    return min(values, default=Fraction(1))


def largest_density(instance: Instance) -> Fraction:
    """L theta of `static`: the largest worth per unit of weight, each task's lightest schedule; 1 without tasks."""
    return max((each.worth / least for each, least, _ in _list_weights(instance)), default=Fraction(1)) or Fraction(1)


def median_density(instance: Instance) -> Fraction:
    """The lower median of bid over the weight of the lightest schedule, micro-dollars; 1 without tasks."""
    return lower_median((each.bid * least.denominator, least.numerator) for each, least, _ in _list_weights(instance))


def least_unit_value(instance: Instance) -> Fraction:
    """L of `units`: the least bid per cell; 1 without tasks."""
    return min((Fraction(each.bid, each.cells) for each in list_served(instance) if each.bid), default=Fraction(1))


def largest_unit_value(instance: Instance) -> Fraction:
    """L theta of `units`: the largest worth per cell; 1 without tasks."""
    return largest_ratio((each.worth, each.fewest) for each in list_served(instance)) or Fraction(1)


def units_of(compute: int, memory_mb: int, rate: int, memory: int) -> int:
    """How many tasks of this size fit an empty node."""
    return min(compute // rate, memory_mb // memory)


def fewest_units(instance: Instance) -> Fraction:
    """N of `units`: the fewest tasks of one size that the nodes of a type hold in a slot; 1 without tasks."""
    public = instance.public("")
    kinds = list(zip(public.node_types, public.compute.tolist(), public.memory_mb.tolist(), strict=True))
    counts = [
        kind.count * units_of(compute, memory, rate, each.memory_mb)
        for each in list_served(instance)
        for rate, (kind, compute, memory) in zip(instance.rate[each.task].tolist(), kinds, strict=True)
        if 0 < rate <= compute and each.memory_mb <= memory
    ]
    return Fraction(min(counts, default=1))
