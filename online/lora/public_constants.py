"""What the corrected mechanisms must know in advance, computed from a whole instance: best from another day's.

Only tasks with a schedule count, and of those the node types that can hold them. With a negative operational cost e a
schedule is worth more than its bid, so the price caps take b_i + sum_t max(0, -min_k e_ikt) in place of b_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from statistics import median_low
from typing import NamedTuple

import numpy as np

from formulations.lora.schedules import Space, cheapest_cover, space
from instances.lora.figures import servable
from instances.lora.model import Instance, IntArray, Task


class Served(NamedTuple):
    """A task with a schedule: its space, usable costs (G', W), and b_i + sum_t max(0, -min_k e_ikt)."""

    task: Task
    menu: Space
    cost: IntArray
    worth: int


def served(instance: Instance) -> Iterator[Served]:
    """The tasks with a schedule."""
    public = instance.public("")
    for i in np.flatnonzero(servable(instance)).tolist():
        task = instance.task(i)
        menu = space(task, public)
        cost = task.cost[menu.types, menu.first - 1 : menu.last]
        credit = sum(np.maximum(0, -cost.min(axis=0)).tolist())
        yield Served(task, menu, cost, task.bid + credit)


def cap_compute(instance: Instance) -> Fraction:
    """X_c = max (b_i + credit) / s_ik, micro-dollars per sample; 0 without tasks."""
    return max((Fraction(each.worth, int(each.menu.rates.min())) for each in served(instance)), default=Fraction(0))


def cap_memory(instance: Instance) -> Fraction:
    """X_m = max (b_i + credit) / r_i, micro-dollars per MB; 0 without tasks."""
    return max((Fraction(each.worth, each.task.memory_mb) for each in served(instance)), default=Fraction(0))


def largest_share(instance: Instance) -> Fraction:
    """eps = max of s_ik / C_kp and r_i / (C_km - r_b); 1 without tasks."""
    compute, memory = instance.public("").compute, instance.public("").memory_mb
    shares = {Fraction(0)}
    for task, menu, _, _ in served(instance):
        for g, rate in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
            shares.add(Fraction(rate, int(compute[g])))
            shares.add(Fraction(task.memory_mb, int(memory[g])))
    return max(shares) or Fraction(1)


def spread(instance: Instance) -> Fraction:
    """U >= (X_c S + X_m R) / b_il of every schedule with b_il > 0 that can be cheapest, by a formula; 1 without tasks.

    For a minimal cover S <= M + s_max - 1 and n <= ceil(M / s_min); where a cost is negative, for any cover,
    S <= W s_max and n <= W. The net value is at least 1 micro-dollar, or the bid less the dearest vendor and slots.
    """
    top_c, top_m = cap_compute(instance), cap_memory(instance)
    largest = Fraction(0)
    for task, menu, cost, _ in served(instance):
        cells, work = menu.width, menu.width * int(menu.rates.max())
        if cost.min() >= 0:
            cells = min(cells, -(-task.work // int(menu.rates.min())))
            work = min(work, task.work + int(menu.rates.max()) - 1)
        dearest = np.sort(cost.max(axis=0))[-cells:].tolist()
        usable = menu.offsets < menu.width
        net = task.bid - int(menu.prices[usable].max()) - sum(max(0, value) for value in dearest)
        largest = max(largest, (top_c * work + top_m * task.memory_mb * cells) / max(1, net))
    return largest or Fraction(1)


def _fewest(each: Served) -> int:
    """Slots needed at the fastest usable rate, ceil(M / s_max)."""
    return -(-each.task.work // int(each.menu.rates.max()))


def memory_density(instance: Instance) -> Fraction:
    """max b_i / (r_i ceil(M_i / s_max)), micro-dollars per MB and slot; 0 without tasks."""
    values = (Fraction(each.task.bid, each.task.memory_mb * _fewest(each)) for each in served(instance))
    return max(values, default=Fraction(0))


def _median(values: list[Fraction]) -> Fraction:
    """The lower median of the positive ones; 1 where there is none."""
    positive = [value for value in values if value > 0]
    return median_low(positive) if positive else Fraction(1)


def median_work_density(instance: Instance) -> Fraction:
    """median b_i / M_i."""
    return _median([Fraction(each.task.bid, each.task.work) for each in served(instance)])


def median_memory_density(instance: Instance) -> Fraction:
    """median b_i / (r_i ceil(M_i / s_max))."""
    return _median([Fraction(each.task.bid, each.task.memory_mb * _fewest(each)) for each in served(instance)])


def median_bbar(instance: Instance) -> Fraction:
    """median over tasks of bbar_il = b_il / (S + R) of the schedule l that is cheapest in an empty cluster."""
    public = instance.public("")
    kind = public.type_of_node
    found = []
    for each in served(instance):
        task = each.task
        everywhere = np.ones(task.cost.shape, np.bool_)
        node = np.repeat(public.first_node[:-1, None], instance.slots, axis=1)
        cover = cheapest_cover(task, public, task.cost, everywhere, node)
        if cover is not None:
            work = sum(int(task.rate[kind[k]]) for k, _ in cover.cells)
            found.append(Fraction(task.bid - int(cover.cost), work + task.memory_mb * len(cover.cells)))
    return _median(found)
