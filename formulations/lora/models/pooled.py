"""A batch of tasks on residual capacity as an integer program: nodes pooled, or told apart where that is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.linear import FloatArray, LinearModel, RowBuilder
from ratiobench.formulations.lora.bound.lagrangian import DualBound
from ratiobench.formulations.lora.bound.residual import RENT_LEVELS, Residual, repeat_slots
from ratiobench.formulations.lora.models.tight import cover_inequalities
from ratiobench.instances.lora.model import IntArray


class BatchRelaxation(NamedTuple):
    """An integer program for a batch: columns u of its tasks, then x of cells."""

    model: LinearModel
    task: IntArray  # task, entry, slot: (cells,) task, entry of its node type, slot from 0
    entry: IntArray
    slot: IntArray
    node: IntArray  # (cells,) -1 where the nodes of the type are one pool in this slot


def relaxed_model(capacity: Residual, bound: DualBound, apart: set[tuple[int, int]]) -> BatchRelaxation:
    """A relaxation of the batch in which nodes are told apart only in some types and slots; exact where in all.

    Rows: one node per slot; the facets of all covers (4e). Pooled in each type and slot: samples, megabytes, the rents
    of the bound, and cells at least as large as one class: no more than the best sets of the single nodes have, added
    up. Where nodes are apart, (4f) and (4g) too.

    `apart`: (type, slot from 0) pairs in which nodes are told apart.
    """
    p = capacity.pool
    slots = p.tariff.shape[1]
    hosts = [capacity.hosts(c) for c in range(len(p.class_kind))]
    parts: list[tuple[int, ...]] = []
    for i in range(p.tasks):
        for e in range(p.type_start[i], p.type_start[i + 1]):
            g = int(p.kind[e])
            here = hosts[p.klass[e]][:, p.first[i] : p.first[i] + p.width[i]] > 0
            for t in (p.first[i] + np.flatnonzero(here.any(axis=0))).tolist():
                free = np.flatnonzero(here[:, t - p.first[i]])
                nodes = (capacity.first_node[g] + free).tolist() if (g, t) in apart else [-1]
                parts += [(i, e, t, k) for k in nodes]
    task, entry, slot, node = np.array(parts, dtype=np.int64).reshape(-1, 4).T
    klass, kind = p.klass[entry], p.kind[entry]
    cost = p.energy[task, kind] * p.tariff[kind, slot]
    given = np.flatnonzero(p.explicit[task] >= 0)
    cost[given] = p.table_cost[p.explicit[task[given]], kind[given], slot[given]]
    count, size = p.tasks, len(task)
    x = count + np.arange(size)
    rows = RowBuilder()

    def at_most(name: str, key: IntArray, value: IntArray | FloatArray, high: IntArray | FloatArray) -> None:
        """Sum of value x <= high[key] over the cells of each key >= 0, where it could be more."""
        high = high.reshape(-1)
        mine = np.flatnonzero(key >= 0)
        total = np.bincount(key[mine], weights=value[mine], minlength=len(high))
        selection = np.flatnonzero(total > high)
        number = np.full(len(high), -1)
        number[selection] = np.arange(len(selection))
        mine = mine[number[key[mine]] >= 0]
        rows.block(
            [f"{name}_{j}" for j in selection], number[key[mine]], x[mine], value[mine], -np.inf, high[selection]
        )

    once, group = np.unique(task * slots + slot, return_inverse=True)
    rows.block(
        [f"once_{j}" for j in range(len(once))],
        np.concatenate([group, np.arange(len(once))]),
        np.concatenate([x, once // slots]),
        np.concatenate([np.ones(size), -np.ones(len(once))]),
        -np.inf, 0.0,
    )  # fmt: skip
    bounds = np.searchsorted(task, np.arange(count + 1))
    for i in range(count):
        mine = np.arange(bounds[i], bounds[i + 1])
        rates = p.rate[p.type_start[i] : p.type_start[i + 1]]
        for j, (weights, needed) in enumerate(cover_inequalities(rates, int(p.work[i]))):
            value = np.append(weights[entry[mine] - p.type_start[i]], -needed)
            rows.block([f"work_{i}_{j}"], np.zeros(len(value), np.int64), np.append(x[mine], i), value, 0.0, np.inf)
    where = kind * slots + slot
    at_most("compute", where, p.rate[entry], capacity.fills(repeat_slots(p.class_rate, slots)))
    at_most("memory", where, p.memory[task], capacity.fills(repeat_slots(p.class_memory, slots)))
    rent = bound.pi // max(1, int(bound.pi.max(initial=0)) // RENT_LEVELS)
    at_most("rent", where, rent[klass, slot], capacity.fills(rent))
    for c in range(len(p.class_kind)):
        larger = (p.class_kind == p.class_kind[c]) & (p.class_rate >= p.class_rate[c])
        larger &= p.class_memory >= p.class_memory[c]
        at_most(f"large_{c}", np.where(larger[klass], slot, -1), np.ones(size), hosts[c].sum(axis=0))
    single = np.where(node >= 0, node * slots + slot, -1)
    at_most("node_compute", single, p.rate[entry], capacity.free)
    at_most("node_memory", single, p.memory[task], capacity.free_mb)
    objective = np.concatenate([p.bid - p.price[p.option_start[:-1]], -cost]).astype(np.float64)
    columns = (*(f"u_{j}" for j in range(count)), *(f"x_{j}" for j in range(size)))
    model = rows.binary_model("batch", objective, columns)
    return BatchRelaxation(model, task, entry, slot, node)
