"""Room for one task more on the nodes of one type in one slot, by moving tasks between them.

What is on the nodes is packed anew only as far as it takes: one task moves to another node; two tasks on two nodes
change places; two tasks of one node move away; at last everything is packed afresh, the largest first, each where
least is left (best fit decreasing, by several sizes). Whoever finds no room here may have missed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined, sort_stably
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.online.lora.final_schedule import Move
from ratiobench.online.lora.traces import Cell

FRESH = 4
"""Sizes by which everything is sorted to be packed afresh: the larger share, the sum, of megabytes, of samples."""


@inlined
def _best_fit(free, free_mb, rate, memory, but, capacity, capacity_mb):  # type: ignore[no-untyped-def]
    """The node on which least is left, the first of equals; -1 without room."""
    best, least = -1, np.inf
    for k in range(len(free)):
        if k != but and free[k] >= rate and free_mb[k] >= memory:
            left = (free[k] - rate) / capacity + (free_mb[k] - memory) / capacity_mb
            if left < least:
                best, least = k, left
    return best


@compiled
def free_capacity(rate, memory, node, nodes, capacity, capacity_mb, need, need_mb):  # type: ignore[no-untyped-def]
    """The node with room for a task of `need` samples and `need_mb` when others have moved; -1 if none was found.

    Parameters
    ----------
    rate, memory : (n,) of the tasks that are there, all above 0. node : (n,) where they are, 0..nodes-1; changed, but
        only if room was found. capacity, capacity_mb : of an empty node.
    """
    count = len(node)
    free = np.empty(nodes, np.int64)
    free_mb = np.empty(nodes, np.int64)
    pooled, pooled_mb = -need, -need_mb
    for k in range(nodes):
        free[k] = capacity
        free_mb[k] = capacity_mb
        pooled += capacity
        pooled_mb += capacity_mb
    for i in range(count):
        free[node[i]] -= rate[i]
        free_mb[node[i]] -= memory[i]
        pooled -= rate[i]
        pooled_mb -= memory[i]
    if pooled < 0 or pooled_mb < 0:
        return -1
    found = _best_fit(free, free_mb, need, need_mb, -1, capacity, capacity_mb)
    if found >= 0:
        return found
    for i in range(count):  # one moves away
        k = node[i]
        if free[k] + rate[i] >= need and free_mb[k] + memory[i] >= need_mb:
            other = _best_fit(free, free_mb, rate[i], memory[i], k, capacity, capacity_mb)
            if other >= 0:
                node[i] = other
                return k
    for i in range(count):  # two change places
        k = node[i]
        for j in range(count):
            h = node[j]
            gain, gain_mb = rate[i] - rate[j], memory[i] - memory[j]
            if (
                h != k and free[k] + gain >= need and free_mb[k] + gain_mb >= need_mb
                and free[h] >= gain and free_mb[h] >= gain_mb
            ):  # fmt: skip
                node[i] = h
                node[j] = k
                return k
    for i in range(count):  # two of a node move away
        k = node[i]
        first = _best_fit(free, free_mb, rate[i], memory[i], k, capacity, capacity_mb)
        if first < 0:
            continue
        free[first] -= rate[i]
        free_mb[first] -= memory[i]
        for j in range(i + 1, count):
            if node[j] != k or free[k] + rate[i] + rate[j] < need or free_mb[k] + memory[i] + memory[j] < need_mb:
                continue
            second = _best_fit(free, free_mb, rate[j], memory[j], k, capacity, capacity_mb)
            if second >= 0:
                node[i] = first
                node[j] = second
                return k
        free[first] += rate[i]
        free_mb[first] += memory[i]
    place = np.empty(count + 1, np.int64)
    size = np.empty(count + 1)
    for way in range(FRESH):
        for i in range(count + 1):
            share = (need if i == count else rate[i]) / capacity
            share_mb = (need_mb if i == count else memory[i]) / capacity_mb
            if way == 0:
                size[i] = -max(share, share_mb)
            elif way == 1:
                size[i] = -(share + share_mb)
            elif way == 2:
                size[i] = -share_mb
            else:
                size[i] = -share
        for k in range(nodes):
            free[k] = capacity
            free_mb[k] = capacity_mb
        packed = True
        order = sort_stably(size)
        for at in range(count + 1):
            i = order[at]
            here = need if i == count else rate[i]
            here_mb = need_mb if i == count else memory[i]
            k = _best_fit(free, free_mb, here, here_mb, -1, capacity, capacity_mb)
            if k < 0:
                packed = False
                break
            place[i] = k
            free[k] -= here
            free_mb[k] -= here_mb
        if packed:
            for i in range(count):
                node[i] = place[i]
            return place[count]
    return -1


class Repacking(NamedTuple):
    """Room in a cell.

    Parameters
    ----------
    node : where the newcomer will be. moves : who has to move where.
    changes : (node, samples, megabytes) that each node that changes holds more than before, the newcomer included.
    """

    node: int
    moves: tuple[Move, ...]
    changes: tuple[tuple[int, int, int], ...]


class NodeContents:
    """Who is where, by node type and slot, and how room is made."""

    def __init__(self, public: Public) -> None:
        self._public = public
        self._kind, self._first = public.type_of_node.tolist(), public.first_node.tolist()
        self._capacity = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        self._there: dict[tuple[int, int], list[list[int]]] = {}

    def find(self, g: int, slot: int, rate: int, memory: int) -> Repacking | None:
        """Room for a cell of this size on nodes of type g in a slot; None where none was found."""
        there = self._there.get((g, slot), [])
        tasks = np.array(there, np.int64).reshape(-1, 4)
        node = np.ascontiguousarray(tasks[:, 3])
        columns = np.ascontiguousarray(tasks[:, 1]), np.ascontiguousarray(tasks[:, 2])
        k = free_capacity(*columns, node, self._first[g + 1] - self._first[g], *self._capacity[g], rate, memory)
        if k < 0:
            return None
        first = self._first[g]
        moves, more = [], {first + int(k): [rate, memory]}
        for i in np.flatnonzero(node != tasks[:, 3]).tolist():
            who, its_rate, its_memory, before = there[i]
            after = first + int(node[i])
            moves.append(Move(who, slot, after))
            for place, sign in ((first + before, -1), (after, 1)):
                amounts = more.setdefault(place, [0, 0])
                amounts[0] += sign * its_rate
                amounts[1] += sign * its_memory
        return Repacking(first + int(k), tuple(moves), tuple((place, a, m) for place, (a, m) in more.items()))

    def take(self, task: Task, cells: Sequence[Cell], moves: Iterable[Move]) -> None:
        """A task was admitted on these cells, and others have moved."""
        for who, slot, node in moves:
            g = self._kind[node]
            entry = next(each for each in self._there[g, slot] if each[0] == who)
            entry[3] = node - self._first[g]
        for node, slot in cells:
            g = self._kind[node]
            size = task.index, int(task.rate[g]), task.memory_mb, node - self._first[g]
            self._there.setdefault((g, slot), []).append(list(size))


def pool_free_capacity(task: Task, types: IntArray, free: tuple[IntArray, IntArray], public: Public) -> Any:
    """(G', W) whether the nodes of a type together have the samples and megabytes for a cell of the task.

    Parameters
    ----------
    free : (K, W) samples and megabytes that are free, slots from the first of the window on.
    """
    rows = []
    for g in types.tolist():
        low, high = public.first_node[g : g + 2]
        enough = free[0][low:high].sum(axis=0) >= int(task.rate[g])
        rows.append(enough & (free[1][low:high].sum(axis=0) >= task.memory_mb))
    return np.array(rows)
