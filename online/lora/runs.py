"""Schedules of tasks that may not pause or move as they like, for algorithms that answer at arrival.

A rigid task or a gang has runs: a node type, a first slot, and as many nodes of the type as the task has parts, for as
many slots in a row as its work takes there. A task that stays on one node has any slots there. Each algorithm chooses
among these by its own rule; this module has the searches.

What is proved of an algorithm is about instances whose tasks are all of kind `any`: of others it leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.online.lora.search.additive import DOUBLES, offers
from ratiobench.online.lora.search.rigid import find_cheapest_run

Cells = tuple[tuple[int, int], ...]
Bools = NDArray[np.bool_]


class CheapestSchedule(NamedTuple):
    """Its cost, with the vendor's price; index of the option; cells; samples in them; their cost of operation."""

    cost: Any
    option: int
    cells: Cells
    work: int
    energy: int


def run_lengths(task: Task, public: Public) -> IntArray:
    """(G,) slots of a run on each type, on one node for a task that stays there; 0 where it cannot run."""
    count = np.diff(public.first_node)
    usable = (task.rate > 0) & (task.rate <= public.compute) & (task.memory_mb <= public.memory_mb)
    usable &= task.parts <= count
    lengths: IntArray = np.where(usable, -(-task.work // np.maximum(1, task.parts * task.rate)), 0)
    return lengths


def first_slot(task: Task) -> int:
    """The first slot in which some vendor is done."""
    return min(option.first for option in task.options)


def find_cheapest(task: Task, public: Public, price: NDArray[Any], room: Bools) -> CheapestSchedule | None:
    """The schedule of least vendor price plus costs of cells; None without one.

    Ties: the first vendor, the fewest cells, the smallest list of (slot, node).

    `price`: (K, W) of the cells from `first_slot` to the deadline, as doubles, or as Fractions or integers in an array
    of objects; `room`: (K, W) the cells that can be taken.
    """
    first = first_slot(task)
    lengths = run_lengths(task, public)
    if price.shape[1] <= 0:
        return None
    starts, prices = offers(task)
    exact = price.dtype == object
    if not exact and task.run is not ScheduleKind.ONE_NODE:
        total, option, kind, begin, nodes = find_cheapest_run(
            price, np.ascontiguousarray(room), task.cost, public.first_node, lengths, task.parts, starts, prices, first
        )
        if option < 0:
            return None
        cells = list_cells(range(begin, begin + int(lengths[kind])), nodes.tolist())
        return _found(task, public, total, int(option), cells)
    if task.run is ScheduleKind.ONE_NODE:
        choices = _on_one_node(task, public, price, room, lengths, starts, prices)
    else:
        choices = _runs(task, public, price, room, lengths, starts, prices)
    best = min(choices, default=None)
    if best is None:
        return None
    total, option, _, listed = best
    return _found(task, public, total, option, tuple((k, t) for t, k in listed))


def _found(task: Task, public: Public, total: Any, option: int, cells: Cells) -> CheapestSchedule:
    kind = public.type_of_node
    work = sum(int(task.rate[kind[k]]) for k, _ in cells)
    energy = sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
    return CheapestSchedule(total, option, cells, work, energy)


def list_cells(slots: range, nodes: list[int]) -> Cells:
    """The cells of a run, in slot order."""
    return tuple((k, t) for t in slots for k in nodes)


Choice = tuple[Any, int, int, list[tuple[int, int]]]  # Cost, option, number of cells, and the list of (slot, node)


def _runs(
    task: Task, public: Public, price: NDArray[Any], room: Bools, lengths: IntArray, starts: IntArray, prices: IntArray
) -> Iterator[Choice]:
    """The cheapest run of each type and first slot, in numbers of any kind."""
    first = first_slot(task)
    for g, length in enumerate(lengths.tolist()):
        low, high = public.first_node[g], public.first_node[g + 1]
        free = count_free(room[low:high])
        for t in range(room.shape[1] - length + 1) if length else ():
            there = np.flatnonzero(free[:, t] >= length)
            done = [(int(q), o) for o, q in enumerate(prices.tolist()) if starts[o] <= first + t]
            if len(there) < task.parts or not done:
                continue
            slots = range(t, t + length)
            operation = task.cost[g, first + t - 1 : first + t - 1 + length].tolist()
            rows = price[low:high][there]
            sums = [_add(list(zip(row[slots.start : slots.stop], operation, strict=True))) for row in rows.tolist()]
            cheapest = sorted((value, low + k) for value, k in zip(sums, there.tolist(), strict=True))[: task.parts]
            vendor, option = min(done)
            nodes = sorted(int(k) for _, k in cheapest)
            total = sum((value for value, _ in cheapest[1:]), cheapest[0][0]) + vendor
            cells = [(slot, k) for slot in range(first + t, first + t + length) for k in nodes]
            yield total, option, len(cells), cells


def _add(cells: list[tuple[Any, int]]) -> Any:
    """The sum of prices and operation, from the last cell to the first."""
    value: Any = 0
    for price, operation in reversed(cells):
        value = value + (price + operation)
    return value


def _on_one_node(
    task: Task, public: Public, price: NDArray[Any], room: Bools, lengths: IntArray, starts: IntArray, prices: IntArray
) -> Iterator[Choice]:
    """The cheapest slots on each node, those of negative cost all of them, for each vendor."""
    first = first_slot(task)
    table = price.tolist()
    for k, g in enumerate(public.type_of_node.tolist()):
        length = int(lengths[g])
        if length == 0:
            continue
        for option, (start, vendor) in enumerate(zip(starts.tolist(), prices.tolist(), strict=True)):
            free = [t for t in range(start - first, room.shape[1]) if room[k, t]]
            values = [table[k][t] + int(task.cost[g, first + t - 1]) for t in free]
            if len(free) < length:
                continue
            order = sorted(range(len(free)), key=values.__getitem__)
            taken = order[:length] + [j for j in order[length:] if values[j] < 0]
            total: Any = 0
            for j in sorted(taken, reverse=True):
                total = total + values[j]
            cells = [(first + free[j], k) for j in sorted(taken)]
            yield total + vendor, option, len(cells), cells


def count_free(room: Bools) -> IntArray:
    """(K, W) how many slots in a row, from each on, can be taken."""
    free = np.zeros((room.shape[0], room.shape[1] + 1), np.int64)
    for t in range(room.shape[1] - 1, -1, -1):
        free[:, t] = np.where(room[:, t], free[:, t + 1] + 1, 0)
    return free[:, :-1]


def zero_prices(task: Task, public: Public) -> NDArray[Any]:
    """(K, W) prices of 0: doubles, or integers of any size where doubles do not hold the costs of operation."""
    width = max(0, task.deadline - first_slot(task) + 1)
    dearest = max((vendor.price for vendor in task.vendors), default=0)
    dearest += task.parts * task.cost.shape[1] * int(np.abs(task.cost).max())
    return np.zeros((public.nodes, width), object if dearest >= DOUBLES else np.float64)


def find_earliest(task: Task, public: Public, first: int, room: Bools) -> Cells | None:
    """The schedule that ends first; None without one. Ties: the fewest cells, the smallest list of (slot, node).

    `room`: (K, W) the cells that can be taken, from slot `first` to the deadline.
    """
    lengths = run_lengths(task, public)
    best: tuple[int, int, list[tuple[int, int]]] | None = None
    if task.run is ScheduleKind.ONE_NODE:
        done = np.cumsum(room, axis=1)
        for k, g in enumerate(public.type_of_node.tolist()):
            length = int(lengths[g])
            if length and room.shape[1] and done[k, -1] >= length:
                slots = (first + np.flatnonzero(room[k])[:length]).tolist()
                found = slots[-1], length, [(t, k) for t in slots]
                best = found if best is None else min(best, found)
    else:
        for g, length in enumerate(lengths.tolist()):
            low, high = public.first_node[g], public.first_node[g + 1]
            fits = count_free(room[low:high]) >= length
            at = np.flatnonzero(fits.sum(axis=0) >= task.parts)
            if length and len(at):
                t = int(at[0])
                nodes = (low + np.flatnonzero(fits[:, t])[: task.parts]).tolist()
                slots = range(first + t, first + t + length)
                found = slots[-1], length * task.parts, [(slot, k) for slot in slots for k in nodes]
                best = found if best is None else min(best, found)
    return None if best is None else tuple((k, t) for t, k in best[2])


class LargestRun(NamedTuple):
    """The run of largest F (9): F, option, cells, samples, cost of operation, b_il."""

    value: Fraction | float
    option: int
    cells: Cells
    work: int
    energy: int
    net: int


def find_largest(task: Task, public: Public, lam: NDArray[Any], phi: NDArray[Any]) -> LargestRun | None:
    """The run that maximises F(il) = b_il - max lambda S - max phi R, whatever is free; None without one.

    A task that stays on one node gets a run, too.

    Ties: the fewest cells, the smallest list of (slot, node); among vendors the first.

    `lam`, `phi`: (K, W) prices from `first_slot` to the deadline, doubles or Fractions.
    """
    first = first_slot(task)
    lengths = run_lengths(task, public)
    width = task.deadline - first + 1
    exact = lam.dtype == object
    best: tuple[Any, ...] | None = None
    for g, length in enumerate(lengths.tolist()):
        if not 0 < length <= width:
            continue
        low, high = public.first_node[g], public.first_node[g + 1]
        n = length * task.parts
        work, use = n * int(task.rate[g]), task.memory_mb * n
        windows = (np.lib.stride_tricks.sliding_window_view(each[low:high], length, axis=1) for each in (lam, phi))
        top_lam, top_phi = (window.max(axis=-1) for window in windows)
        operation = np.concatenate([[0], np.cumsum(task.cost[g, first - 1 : task.deadline])])
        energies = task.parts * (operation[length:] - operation[:-length])
        for t, energy in enumerate(energies.tolist()):
            done = [(o.price, index) for index, o in enumerate(task.options) if o.first <= first + t]
            if not done:
                continue
            vendor, option = min(done)
            net = task.bid - vendor - energy
            charge, nodes = _cheapest_maxima(top_lam[:, t], top_phi[:, t], work, use, task.parts)
            value = (net if exact else float(net)) - charge[0] - charge[1]
            key = (-value, option, n, first + t, low + nodes[0])
            if best is None or key < best[:5]:
                best = (*key, g, [int(low + k) for k in nodes], energy, net)
    if best is None:
        return None
    value, option, _, begin, _, g, nodes, energy, net = best
    cells = list_cells(range(begin, begin + int(lengths[g])), nodes)
    return LargestRun(-value, option, cells, len(cells) * int(task.rate[g]), energy, net)


def _cheapest_maxima(
    lam: NDArray[Any], phi: NDArray[Any], work: int, use: int, parts: int
) -> tuple[tuple[Any, Any], list[int]]:
    """(max lambda S, max phi R) and the nodes, ascending, of so many nodes for which the sum of these is least."""
    if parts == 1:
        charge = lam * work + phi * use
        k = int(np.argmin(charge))
        return (lam[k] * work, phi[k] * use), [k]
    best: tuple[Any, list[int], tuple[Any, Any]] | None = None
    order = np.argsort(lam, kind="stable")
    for limit in sorted(set(lam.tolist())):
        below = order[: int((lam <= limit).sum())]
        if len(below) < parts:
            continue
        below = np.sort(below)
        nodes = sorted(below[np.argsort(phi[below], kind="stable")[:parts]].tolist())
        charge = max(lam[nodes]) * work, max(phi[nodes]) * use
        found = charge[0] + charge[1], nodes, charge
        best = found if best is None or found[:2] < best[:2] else best
    assert best is not None
    return best[2], best[1]
