"""What an agent on `ratiobench/Lora-v0` sees and may do, compiled: a step of the environment takes microseconds.

`AgentView` shows it under the referee, task by task; it needs no Gymnasium, so that a policy's file can use it.
Arrays: K nodes, G node types, T slots, I tasks, V vendor options of a task at most, k candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratiobench.formulations.kernels import compiled
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT
from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.search.additive import first_schedule

__all__ = ["AgentView"]

CANDIDATE_FEATURES = 6
TASK_FEATURES = 4


@compiled
def observation_size(k: int, types: int, width: int) -> Any:
    """Numbers in an observation of so many candidates, node types and slots."""
    return TASK_FEATURES + CANDIDATE_FEATURES * k + 2 * types * width


def task_arrays(tasks: Sequence[Task]) -> tuple[tuple[Any, ...], tuple[Any, Any, Any]]:
    """The arrays `task` and `vendors` of the kernels below."""
    names = ("deadline", "memory_mb", "work", "bid", "rate", "cost")
    columns = tuple(np.array([getattr(task, name) for task in tasks], np.int64) for name in names)
    numbers = np.array([len(task.options) for task in tasks], np.int64)
    first, price = np.zeros((2, len(tasks), numbers.max(initial=1)), np.int64)
    for i, task in enumerate(tasks):
        for o, option in enumerate(task.options):
            first[i, o], price[i, o] = option.first, option.price
    return columns, (first, price, numbers)


def cluster_arrays(public: Public) -> tuple[Any, Any, Any]:
    """The arrays `cluster` of the kernels below."""
    return public.type_of_node, public.first_node, np.ascontiguousarray([public.compute, public.memory_mb])


def empty_candidates(k: int, slots: int) -> tuple[Any, Any, Any, Any]:
    """What `find_candidates` fills: gains (k,), options (k,), cells (k, T, 2), lengths (k,)."""
    return np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros((k, slots, 2), np.int64), np.zeros(k, np.int64)


def decision_of(vendor: int | None, cells: Any) -> Decision:
    """The decision for a candidate's cells, without a payment."""
    return Decision(vendor, tuple((node, slot) for node, slot in sorted(cells.tolist(), key=lambda cell: cell[1])), 0)


@compiled
def _add(found, count, most, gain, option, nodes, slots):  # type: ignore[no-untyped-def]
    """Put a schedule among the best ones, by gain; one that is there already is left out."""
    gains, options, cells, lengths = found
    length = len(nodes)
    for j in range(count):
        is_like = gains[j] == gain and lengths[j] == length
        if is_like and (cells[j, :length, 0] == nodes).all() and (cells[j, :length, 1] == slots).all():
            return count
    if count == most and gain <= gains[most - 1]:
        return count
    place = count if count < most else most - 1
    while place > 0 and gains[place - 1] < gain:
        gains[place], options[place], lengths[place] = gains[place - 1], options[place - 1], lengths[place - 1]
        cells[place, : lengths[place]] = cells[place - 1, : lengths[place]]
        place -= 1
    gains[place], options[place], lengths[place] = gain, option, length
    cells[place, :length, 0], cells[place, :length, 1] = nodes, slots
    return min(count + 1, most)


@compiled
def find_candidates(i, task, vendors, free, cluster, limit, found):  # type: ignore[no-untyped-def]
    """Find the schedules with the largest gain for task i (bid less vendor and operation, above 0): how many there are.

    They are the cheapest schedule that may change nodes, as `greedy` finds it, and on every node the earliest and the
    cheapest slots that do the work, for every vendor. They fill `found` (`empty_candidates`), the best one first.

    task : deadline, memory, work, bid (I,), rate (I, G), cost (I, G, T).
    vendors : first slots, prices (I, V), number (I,).
    free : compute, memory (K, T); cluster : type of each node (K,), first nodes (G+1,), capacities (2, G).
    """
    deadlines, memories, works, bids, rates, costs = task
    firsts, prices, numbers = vendors
    compute, memory = free
    kind, first_node, capacity = cluster
    deadline, size, work, bid = deadlines[i], memories[i], works[i], bids[i]
    slots_of = compute.shape[1]
    most, count = len(found[0]), 0
    nodes, slots = np.empty(slots_of, np.int64), np.empty(slots_of, np.int64)
    open_, price = np.empty(slots_of, np.int64), np.empty(slots_of, np.int64)
    number = numbers[i]
    total, option, cells, _, _ = first_schedule(
        compute, memory, (first_node, capacity), (size, work, deadline), rates[i], costs[i],
        firsts[i, :number].copy(), prices[i, :number].copy(), limit,
    )  # fmt: skip
    if option >= 0 and bid > total:
        length = len(cells)
        nodes[:length], slots[:length] = cells[:, 0], cells[:, 1]
        count = _add(found, count, most, bid - np.int64(total), option, nodes[:length], slots[:length])
    for n in range(len(kind)):
        g = kind[n]
        rate = rates[i, g]
        if rate <= 0 or rate > capacity[0, g] or size > capacity[1, g]:
            continue
        needed = -(-work // rate)
        for o in range(number):
            begin = firsts[i, o]
            there = 0
            for t in range(begin, deadline + 1):
                if compute[n, t - 1] >= rate and memory[n, t - 1] >= size:
                    open_[there] = t
                    price[there] = costs[i, g, t - 1]
                    there += 1
            if there < needed:
                continue
            nodes[:needed] = n
            spent = prices[i, o] + price[:needed].sum()
            if bid > spent:
                count = _add(found, count, most, bid - spent, o, nodes[:needed], open_[:needed])
            if there > needed:
                chosen = np.sort(np.argsort(price[:there], kind="mergesort")[:needed])
                spent = prices[i, o] + price[chosen].sum()
                if bid > spent:
                    count = _add(found, count, most, bid - spent, o, nodes[:needed], open_[chosen])
    return count


@compiled
def book(i, cells, length, task, free, kind):  # type: ignore[no-untyped-def]
    """Take a schedule's cells off what is free."""
    _, memories, _, _, rates, _ = task
    compute, memory = free
    for x in range(length):
        n, t = cells[x, 0], cells[x, 1] - 1
        compute[n, t] -= rates[i, kind[n]]
        memory[n, t] -= memories[i]


@compiled
def observe(i, slot, count, task, free, cluster, found, types, width, scale):  # type: ignore[no-untyped-def]
    """What the agent sees, which the caller cuts to [0, 1].

    In order: clock, window, work, bid of the task; of each candidate whether it exists, gain / bid, first and last slot
    after the arrival, free part of its cells, gain per sample over `scale`; of each node type and slot the free part of
    compute, then of memory.
    """
    deadlines, _, works, bids, _, _ = task
    compute, memory = free
    kind, first_node, capacity = cluster
    gains, _, cells, lengths = found
    seen = np.zeros(observation_size(len(gains), types, width), np.float32)
    slots_of = compute.shape[1]
    seen[0] = slot / slots_of
    if i >= 0:
        seen[1] = (deadlines[i] - slot) / slots_of
        seen[2] = np.log1p(works[i]) / 32.0
        seen[3] = np.log1p(bids[i]) / 32.0
    at = TASK_FEATURES
    for j in range(len(gains)):
        if j < count:
            length = lengths[j]
            seen[at] = 1.0
            seen[at + 1] = min(1.0, gains[j] / max(1, bids[i]))
            seen[at + 2] = (cells[j, 0, 1] - slot) / slots_of
            seen[at + 3] = (cells[j, length - 1, 1] - slot) / slots_of
            share = 0.0
            for x in range(length):
                n = cells[j, x, 0]
                share += compute[n, cells[j, x, 1] - 1] / capacity[0, kind[n]]
            seen[at + 4] = share / length
            seen[at + 5] = min(1.0, gains[j] / max(1, works[i]) / scale)
        at += CANDIDATE_FEATURES
    for g in range(len(first_node) - 1):
        first, end = first_node[g], first_node[g + 1]
        for t in range(slots_of):
            seen[at + g * width + t] = compute[first:end, t].sum() / max(1, (end - first) * capacity[0, g])
            seen[at + (types + g) * width + t] = memory[first:end, t].sum() / max(1, (end - first) * capacity[1, g])
    return seen


class AgentView:
    """Observations and actions of `ratiobench/Lora-v0` for an algorithm that the referee runs.

    Parameters
    ----------
    public : the public part of the instance.
    k : candidates of a task.
    types, width : node types and slots of the environment's observation; an instance may have fewer.
    scale : the environment's `price_scale`, micro-dollars per sample.

    Raises
    ------
    ValueError : the instance has more node types or slots than the observation.
    """

    def __init__(self, public: Public, k: int, types: int, width: int, scale: float) -> None:
        if len(public.node_types) > types or public.slots > width:
            raise ValueError(f"the agent sees {types} node types and {width} slots")
        self._shape = types, width, scale
        self._cluster = cluster_arrays(public)
        self._found = empty_candidates(k, width)
        self._count = 0
        self._vendors: tuple[int | None, ...] = ()

    def see(self, task: Task, view: View) -> tuple[Any, Any]:
        """The observation and the mask of actions at an arrival.

        Parameters
        ----------
        task, view : as `decide` is given them.

        Returns
        -------
        (size,) numbers in [0, 1], and (k + 1,) booleans: which actions exist.
        """
        arrays, vendors = task_arrays([task])
        free = (np.array(view.compute), np.array(view.memory_mb))
        self._count = find_candidates(0, arrays, vendors, free, self._cluster, STATE_LIMIT, self._found)
        self._vendors = tuple(option.vendor for option in task.options)
        state = self._count, arrays, free, self._cluster, self._found
        seen = observe(0, task.arrival, *state, *self._shape)
        mask = np.arange(len(self._found[0]) + 1) <= self._count
        return np.clip(seen, 0.0, 1.0, out=seen), mask

    def decision(self, action: int) -> Decision | None:
        """What an action means at the arrival that was seen last.

        Parameters
        ----------
        action : 0 rejects; j takes candidate j.

        Returns
        -------
        The decision, without a payment; None where the action rejects or does not exist.
        """
        if not 0 < action <= self._count:
            return None
        _, options, cells, lengths = self._found
        j = action - 1
        return decision_of(self._vendors[options[j]], cells[j, : lengths[j]])
