"""Figures that describe an instance: its load, and which tasks could run at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.lora.model import Instance, IntArray


def load(instance: Instance) -> Fraction:
    """The work of all tasks over the compute of all nodes and slots, sum M_i / (T sum_k C_kp)."""
    capacity = instance.slots * sum(node.count * node.compute for node in instance.node_types)
    return Fraction(int(instance.work.sum()), capacity)


def first_slots(instance: Instance) -> IntArray:
    """(I,) first slot of the widest window: the arrival, and the shortest delay of the task's vendors if it has any."""
    first = instance.arrival.copy()
    with_vendors = np.flatnonzero(np.diff(instance.vendor_start) > 0)
    if len(with_vendors):
        first[with_vendors] += np.minimum.reduceat(instance.vendor_delay, instance.vendor_start[with_vendors])
    return first


def servable(instance: Instance) -> NDArray[np.bool_]:
    """(I,) whether the task has a feasible schedule in the empty cluster, with some vendor.

    One node per slot, so the task can do at most its best usable rate in each slot from the end of the fastest
    vendor's delay to the deadline; a node type is usable if the rate is positive and rate and memory fit.
    """
    compute = np.array([node.compute for node in instance.node_types], dtype=np.int64)
    memory = np.array([node.memory_mb for node in instance.node_types], dtype=np.int64) - instance.base_memory_mb
    usable = (instance.rate > 0) & (instance.rate <= compute) & (instance.memory_mb[:, None] <= memory)
    best = np.where(usable, instance.rate, 0).max(axis=1, initial=0)
    slots = instance.deadline - first_slots(instance) + 1
    # Fewest slots, by division: the product of rate and slots could pass 64 bits in an odd file.
    needed = np.where(best > 0, -(-instance.work // np.maximum(best, 1)), np.iinfo(np.int64).max)
    return np.asarray(needed <= slots)
