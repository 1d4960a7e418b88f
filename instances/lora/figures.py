"""Figures that describe an instance: its load, and which tasks could run at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.lora.model import Instance


def load(instance: Instance) -> Fraction:
    """The work of all tasks over the compute of all nodes and slots, sum M_i / (T sum_k C_kp)."""
    capacity = instance.slots * sum(node.count * node.compute for node in instance.node_types)
    return Fraction(int(instance.work.sum()), capacity)


def servable(instance: Instance) -> NDArray[np.bool_]:
    """(I,) whether the task has a feasible schedule in the empty cluster, with some vendor.

    One node per slot, so the task can do at most its best usable rate in each slot from the end of the fastest
    vendor's delay to the deadline; a node type is usable if the rate is positive and rate and memory fit.
    """
    compute = np.array([node.compute for node in instance.node_types], dtype=np.int64)
    memory = np.array([node.memory_mb for node in instance.node_types], dtype=np.int64) - instance.base_memory_mb
    usable = (instance.rate > 0) & (instance.rate <= compute) & (instance.memory_mb[:, None] <= memory)
    best = np.where(usable, instance.rate, 0).max(axis=1, initial=0)
    first = [min(option.first for option in instance.task(i).options) for i in range(instance.tasks)]
    slots = instance.deadline - np.array(first, dtype=np.int64) + 1
    # Fewest slots, by division: the product of rate and slots could pass 64 bits in an odd file.
    needed = np.where(best > 0, -(-instance.work // np.maximum(best, 1)), np.iinfo(np.int64).max)
    return np.asarray(needed <= slots)
