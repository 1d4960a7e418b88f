"""A feasible solution of a pool on real nodes, as flat arrays, and its ways from and to decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import copy_list, copy_table, inlined
from ratiobench.formulations.lora.bound.pricing import Pool, class_cells, places
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution


class State(NamedTuple):
    """A feasible solution of a pool."""

    free: IntArray  # free, free_mb: (K, T) samples and MB left on each node
    free_mb: IntArray
    option: IntArray  # (n,) chosen option (index into the pool's options), -1 when rejected
    place: IntArray  # (sum of widths,) node of each task in each slot of its window, -1 where it does not run
    net: IntArray  # (n,) welfare of the task as scheduled, 0 when rejected

    @property
    def welfare(self) -> int:
        """Micro-dollars."""
        return int(self.net.sum())


def empty_state(p: Pool) -> State:
    """Everything rejected."""
    types = type_of_node(p)
    slots = p.tariff.shape[1]
    return State(
        free=np.repeat(p.compute[types][:, None], slots, axis=1),
        free_mb=np.repeat(p.capacity_mb[types][:, None], slots, axis=1),
        option=np.full(p.tasks, -1, np.int64),
        place=np.full(int(p.width.sum()), -1, np.int64),
        net=np.zeros(p.tasks, np.int64),
    )


def copy_state(s: State) -> State:
    """A copy that shares nothing."""
    return State(*(part.copy() for part in s))


@inlined
def copy_into(s, other):  # type: ignore[no-untyped-def]
    """Make the other state what this one is."""
    copy_table(other.free, s.free)
    copy_table(other.free_mb, s.free_mb)
    copy_list(other.option, s.option)
    copy_list(other.net, s.net)
    copy_list(other.place, s.place)


def type_of_node(p: Pool) -> IntArray:
    """(K,) type of each node."""
    return np.repeat(np.arange(len(p.nodes)), p.nodes).astype(np.int64)


def running_cells(p: Pool, s: State) -> NDArray[np.float64]:
    """(C, T) cells of each class that a state's tasks run in."""
    local = np.full((p.tasks, len(p.nodes)), -1, np.int64)
    entries = np.diff(p.type_start)
    local[np.repeat(np.arange(p.tasks), entries), p.kind] = np.arange(len(p.kind)) - np.repeat(
        p.type_start[:-1], entries
    )
    tasks = np.repeat(np.arange(p.tasks), p.width)
    pooled = np.where(s.place >= 0, local[tasks, type_of_node(p)[s.place]], -1)
    cells: NDArray[np.float64] = class_cells(p, pooled)
    return cells


def state_of(instance: Instance, p: Pool, solution: Solution, s: State | None = None) -> State:
    """The state of a feasible solution, on what `s` leaves; tasks outside the pool or of no welfare are left out."""
    s = empty_state(p) if s is None else s
    at, type_of = places(p), type_of_node(p)
    for j, i in enumerate(p.task.tolist()):
        decision = solution[i]
        if decision is None:
            continue
        vendor = -1 if decision.vendor is None else decision.vendor
        options = [o for o in range(p.option_start[j], p.option_start[j + 1]) if p.vendor[o] == vendor]
        if not options:
            # A dominated vendor: the cheapest that is done by the first cell costs no more.
            begin = min(t for _, t in decision.cells) - 1 - int(p.first[j])
            ready = [o for o in range(p.option_start[j], p.option_start[j + 1]) if p.offset[o] <= begin]
            options = sorted(ready, key=lambda o: int(p.price[o]))[:1]
        if not options:
            continue
        cost = instance.cost(i)
        net = int(p.bid[j] - p.price[options[0]]) - sum(int(cost[type_of[k], t - 1]) for k, t in decision.cells)
        if net <= 0:
            continue
        s.option[j], s.net[j] = options[0], net
        for k, t in decision.cells:
            s.place[at[j] + t - 1 - p.first[j]] = k
            s.free[k, t - 1] -= instance.rate[i, type_of[k]]
            s.free_mb[k, t - 1] -= p.memory[j]
    return s


def solution_of_state(instance: Instance, p: Pool, s: State) -> Solution:
    """The decisions of a state."""
    at = places(p)
    decisions: list[Decision | None] = [None] * instance.tasks
    for j, i in enumerate(p.task.tolist()):
        if s.option[j] < 0:
            continue
        here = s.place[at[j] : at[j] + p.width[j]]
        cells = tuple((int(k), int(p.first[j]) + 1 + t) for t, k in enumerate(here.tolist()) if k >= 0)
        vendor = int(p.vendor[s.option[j]])
        decisions[i] = Decision(None if vendor < 0 else vendor, cells)
    return tuple(decisions)
