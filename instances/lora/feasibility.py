"""Figures that describe an instance: its load, and which tasks could run at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.lora.model import Instance, IntArray


def load(instance: Instance) -> Fraction:
    """The work of all tasks over the compute of all nodes and slots, sum M_i / (T sum_k C_kp).

    What jobs from before hold is no compute of the nodes; 0 where they hold all.
    """
    capacity = free_compute(instance)
    return Fraction(int(instance.work.sum()), capacity) if capacity else Fraction(0)


def free_compute(instance: Instance) -> int:
    """Samples that all nodes can do in all slots, less what jobs from before hold."""
    held = sum(len(job.nodes) * job.compute * job.last for job in instance.running)
    return instance.slots * sum(node.count * node.compute for node in instance.node_types) - held


def first_slots(instance: Instance) -> IntArray:
    """(I,) first slot of the widest window: the arrival, and the shortest delay of the task's vendors if it has any."""
    first = instance.arrival.copy()
    with_vendors = np.flatnonzero(np.diff(instance.vendor_start) > 0)
    if len(with_vendors):
        first[with_vendors] += np.minimum.reduceat(instance.vendor_delay, instance.vendor_start[with_vendors])
    return first


def killed(instance: Instance) -> NDArray[np.bool_]:
    """(I,) whether the task has more work than its user claims: every run of it is ended at the limit, and void."""
    return np.asarray((instance.limit > 0) & (instance.limit < instance.work))


def usable_types(instance: Instance) -> NDArray[np.bool_]:
    """(I, G) whether the task can run on empty nodes of the type: positive rate, rate and memory fit, enough nodes.

    A task with more work than its limit can use none.
    """
    public = instance.public("")
    count = np.array([node.count for node in instance.node_types])
    fits = instance.parts[:, None] <= count
    fits &= (instance.rate <= public.compute) & (instance.memory_mb[:, None] <= public.memory_mb)
    return np.asarray((instance.rate > 0) & fits & ~killed(instance)[:, None])


def fewest_slots(instance: Instance) -> IntArray:
    """(I,) ceil(M_i / (m_i times the fastest rate on a type that can hold the task)); the largest integer if none."""
    best = instance.parts * np.where(usable_types(instance), instance.rate, 0).max(axis=1, initial=0)
    return np.where(best > 0, -(-instance.work // np.maximum(best, 1)), np.iinfo(np.int64).max)


def servable(instance: Instance) -> NDArray[np.bool_]:
    """(I,) whether the task has a feasible schedule in the empty cluster, with some vendor.

    At most m_i nodes of one type per slot, so the task can do at most m_i times its best usable rate in each slot from
    the end of the fastest vendor's delay to the deadline.
    """
    return np.asarray(fewest_slots(instance) <= instance.deadline - first_slots(instance) + 1)
