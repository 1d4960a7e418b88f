"""Figures of an instance: its size and load, and which tasks could run at all."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.lora.model import Instance, IntArray


def load(instance: Instance) -> Fraction:
    """The work of all tasks over the compute of all nodes and slots, sum M_i / (T sum_k C_kp)."""
    return Fraction(int(instance.work.sum()), capacity(instance))


def capacity(instance: Instance) -> int:  # Samples that all nodes can do in all slots
    return instance.slots * sum(node.count * node.compute for node in instance.node_types)


def first_slots(instance: Instance) -> IntArray:
    """(I,) first slot of the widest window: the arrival, and the shortest delay of the task's vendors if it has any."""
    first = instance.arrival.copy()
    with_vendors = np.flatnonzero(np.diff(instance.vendor_start) > 0)
    if len(with_vendors):
        first[with_vendors] += np.minimum.reduceat(instance.vendor_delay, instance.vendor_start[with_vendors])
    return first


def usable_types(instance: Instance) -> NDArray[np.bool_]:
    """(I, G) whether the task can run on empty nodes of the type: positive rate, rate and memory fit."""
    public = instance.public("")
    fits = (instance.rate <= public.compute) & (instance.memory_mb[:, None] <= public.memory_mb)
    return np.asarray((instance.rate > 0) & fits)


def fewest_slots(instance: Instance) -> IntArray:
    """(I,) ceil(M_i / the fastest rate on a type that can hold the task); the largest integer if none."""
    best = np.where(usable_types(instance), instance.rate, 0).max(axis=1, initial=0)
    return np.where(best > 0, -(-instance.work // np.maximum(best, 1)), np.iinfo(np.int64).max)


def servable(instance: Instance) -> NDArray[np.bool_]:
    """(I,) whether the task has a feasible schedule in the empty cluster: at its best rate, from `first_slots` on."""
    return np.asarray(fewest_slots(instance) <= instance.deadline - first_slots(instance) + 1)


def describe(instance: Instance) -> Mapping[str, Any]:
    return {
        "tasks": instance.tasks,
        "servable": int(servable(instance).sum()),
        "nodes": instance.nodes,
        "slots": instance.slots,
        "load": round(float(load(instance)), 3),
    }
