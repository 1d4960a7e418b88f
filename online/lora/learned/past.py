"""Tasks that are past, of earlier days and of today, as demand that may come again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.instances.lora.quantities import usable_types

Floats = NDArray[np.float64]
OPTIONS = 8  # Ways of pre-processing that are kept of a task: those that are not both later and dearer than another


class Past(NamedTuple):
    """Past tasks, n of them, on G node types."""

    arrival: IntArray  # (n,) slot of the day, from 0
    window: IntArray  # (n,) slots from arrival to deadline, both counted
    memory: IntArray  # memory, work, bid: (n,) MB, samples, micro-dollars
    work: IntArray
    bid: IntArray
    rate: IntArray  # (n, G) samples per slot; 0 where a node cannot hold the task
    energy: Floats  # energy, flat: (n, G) Wh per slot, and micro-dollars per slot that no tariff explains
    flat: Floats
    # delay, price: (n, OPTIONS) of each way of pre-processing, the earliest first; delay is -1 where there is none.
    delay: IntArray
    price: IntArray

    @property
    def tasks(self) -> int:
        return len(self.arrival)


def empty_past(types: int) -> Past:
    none, wide = np.zeros(0, np.int64), np.zeros((0, types), np.int64)
    ways = np.zeros((0, OPTIONS), np.int64)
    return Past(none, none, none, none, none, wide, wide.astype(float), wide.astype(float), ways, ways)


def read_past(instance: Instance, slots: int) -> Past:
    """The tasks of an instance of one day or of several days of `slots` slots, each at its slot of its day."""
    able = usable_types(instance)
    energy, flat = instance.energy_wh.astype(float), np.zeros(instance.rate.shape)
    for i, cost in instance.explicit_cost.items():  # no tariff explains it: its mean is kept
        energy[i] = 0.0
        flat[i] = cost[:, int(instance.arrival[i]) - 1 : int(instance.deadline[i])].mean(axis=1)
    ways = [_undominated(instance.vendors(i)) for i in range(instance.tasks)]
    delay, price = np.array(ways, np.int64).reshape(instance.tasks, 2, OPTIONS).transpose(1, 0, 2)
    return Past(
        (instance.arrival - 1) % slots,
        instance.deadline - instance.arrival + 1,
        instance.memory_mb,
        instance.work,
        instance.bid,
        np.where(able, instance.rate, 0),
        energy,
        flat,
        np.ascontiguousarray(delay),
        np.ascontiguousarray(price),
    )


def _undominated(vendors: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """(delays, prices) of the ways that no other one is both earlier and cheaper than."""
    if not vendors:
        return [0] + [-1] * (OPTIONS - 1), [0] * OPTIONS
    selection: list[tuple[int, int]] = []
    for delay, price in sorted((delay, price) for price, delay in vendors):
        if not selection or price < selection[-1][1]:
            selection.append((delay, price))
    selection = selection[:OPTIONS]
    left = OPTIONS - len(selection)
    return [delay for delay, _ in selection] + [-1] * left, [price for _, price in selection] + [0] * left


def note(tasks: Sequence[Task], public: Public) -> Past:
    """The tasks of today, one at least, as past ones."""
    figures = [(task.arrival, task.deadline, task.memory_mb, task.work, task.bid) for task in tasks]
    arrival, deadline, memory, work, bid = np.array(figures, np.int64).T
    rate = np.stack([task.rate for task in tasks])
    rate = np.where((rate <= public.compute) & (memory[:, None] <= public.memory_mb), rate, 0)
    # Over the whole day cost and tariff are known, and where one is a multiple of the other so are their sums.
    cost, whole = np.stack([task.cost.sum(axis=1) for task in tasks]), public.tariff.astype(float).sum(axis=1)
    energy = np.divide(cost, whole, out=np.zeros(cost.shape), where=whole > 0)
    flat = np.where(whole > 0, 0.0, cost / public.slots)
    ways = np.array([_undominated(task.vendors) for task in tasks], np.int64)
    return Past(arrival - 1, deadline - arrival + 1, memory, work, bid, rate, energy, flat, ways[:, 0], ways[:, 1])


def thin(past: Past, stride: int) -> Past:
    return Past._make(np.ascontiguousarray(column[::stride]) for column in past)


def join_pasts(parts: Sequence[Past]) -> Past:
    return Past._make(np.ascontiguousarray(np.concatenate(columns)) for columns in zip(*parts, strict=True))
