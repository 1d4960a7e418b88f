"""Some tasks at a time are scheduled again at best, by an integer program on what the others leave of the nodes.

The large-neighbourhood search of `blocks` takes tasks out and puts them back one by one; on few tasks it ends where
several would have to move at once. Here HiGHS moves them: tasks that meet in a slot, some of them rejected so far, with
all their offers and cells on single nodes. It runs in the worker process of HiGHS, with counts of work as limits, never
seconds, so the answer is the same on any machine. What comes out is verified like every solution.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends.highs import solve
from ratiobench.formulations.linear import LinearModel, RowBuilder
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, find_pool, places
from ratiobench.formulations.lora.bound.tree import CellRow
from ratiobench.formulations.lora.heuristic.state import (
    State,
    copy_state,
    empty_state,
    solution_of_state,
    state_of,
    type_of_node,
)
from ratiobench.formulations.lora.models.tight import Cover, covers_in_windows
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Solution

# Most cells (task, node, slot) of the programs, in turns, times the nodes that a task may use; two tasks at least
CELLS = (80, 150, 250)
WORK = 3  # Units of HiGHS's work for a program
# Nodes of a type that a task may use in a slot, the fullest that have room first, beside those that it uses now
NODES = 6


class Window(NamedTuple):
    """A program: offers of its tasks, then their cells."""

    model: LinearModel
    task: IntArray  # task, option: (offers,) place of the task among the pooled ones, and the pool's option
    option: IntArray
    owner: IntArray  # owner, entry, node, slot: (cells,) of the task, its type's entry in the pool, node, slot from 0
    entry: IntArray
    node: IntArray
    slot: IntArray


def improve(
    instance: Instance,
    solution: Solution,
    windows: int,
    seed: int,
    enough: int,
    seconds: float | None = None,
    cells: NDArray[np.bool_] | None = None,
) -> tuple[Solution, int]:
    """A solution that is no worse, and after how many programs.

    `cells`: (entries, T) of the pool: the cells that may be used beside those of the solution; None for all.
    """
    until = None if seconds is None else time.perf_counter() + seconds
    p = find_pool(instance)
    if p.tasks == 0:
        return solution, 0
    done = 0
    search = _Search(p, state_of(instance, p, solution), seed)
    while done < windows:
        if search.state.welfare >= enough or (until is not None and time.perf_counter() > until):
            break
        search.step(CELLS[done % len(CELLS)], cells)
        done += 1
    return solution_of_state(instance, p, search.state), done


class ProgramResult(NamedTuple):
    """A solution that is no worse, its welfare, and HiGHS's bound on all solutions in the cells."""

    solution: Solution
    welfare: int
    bound: float | None


def improve_within(
    instance: Instance,
    solution: Solution,
    welfare: int,
    cells: NDArray[np.bool_],
    facets: Sequence[CellRow],
    limits: Limits,
) -> ProgramResult:
    """One program of all tasks whose cells, beside those of the solution, are some alone.

    `cells`: (entries, T) of the pool: the cells that may be used beside those of the solution.
    """
    p = find_pool(instance)
    search = _Search(p, state_of(instance, p, solution), 0)
    bound = search.within(cells, facets, limits)
    if p.nodes.max(initial=0) > NODES:  # not all nodes are in the program
        bound = None
    if search.state.welfare <= welfare:
        return ProgramResult(solution, welfare, bound)
    return ProgramResult(solution_of_state(instance, p, search.state), search.state.welfare, bound)


def complete(
    instance: Instance, schedules: Sequence[tuple[int, int, IntArray]], limits: Limits
) -> tuple[Solution, int]:
    """A solution from schedules of some tasks, as far as they fit, and one program of all other tasks; its welfare.

    `schedules`: pooled task, option, and (width,) local type in each slot of its window, -1 for none.
    """
    p = find_pool(instance)
    search = _Search(p, empty_state(p), 0)
    for task, option, local in schedules:
        if search.state.option[task] < 0:
            search.book(task, option, local)
    search.add_rejected(limits)
    return solution_of_state(instance, p, search.state), search.state.welfare


def compute_welfare(instance: Instance, solution: Solution) -> int:
    """Welfare of a feasible solution."""
    return state_of(instance, find_pool(instance), solution).welfare


class _Search:
    """The state in work."""

    def __init__(self, p: Pool, state: State, seed: int) -> None:
        self.pool, self.state = p, state
        self._at, self._kinds = places(p), type_of_node(p)
        self._words = Stream("windows", p.tasks, seed)
        self._facets: dict[int, list[Cover]] = {}

    def step(self, size: int, cells: NDArray[np.bool_] | None = None) -> None:
        """Schedule some tasks again."""
        p, s = self.pool, self.state
        chosen = self._choose(size, cells)
        free, free_mb = s.free.copy(), s.free_mb.copy()
        for j in chosen:
            for node, slot, entry in self._cells(j):
                free[node, slot] += p.rate[entry]
                free_mb[node, slot] += p.memory[j]
        window = self._window(chosen, free, free_mb, cells)
        self._solve(window, chosen, free, free_mb, Limits(work=WORK), restart=False)

    def within(self, cells: NDArray[np.bool_], facets: Sequence[CellRow], limits: Limits) -> float | None:
        """Schedule all tasks again in these cells; HiGHS's bound on all solutions in them."""
        p = self.pool
        chosen = list(range(p.tasks))
        free = np.repeat(np.repeat(p.compute, p.nodes)[:, None], p.tariff.shape[1], axis=1)
        free_mb = np.repeat(np.repeat(p.capacity_mb, p.nodes)[:, None], p.tariff.shape[1], axis=1)
        return self._solve(self._window(chosen, free, free_mb, cells, facets), chosen, free, free_mb, limits)

    def book(self, j: int, option: int, local: IntArray) -> None:
        """Give a task this schedule, on the fullest nodes with room; nothing where there is none."""
        p, s = self.pool, self.state
        heads = np.concatenate([[0], np.cumsum(p.nodes)])
        cells = []
        net = int(p.bid[j] - p.price[option])
        for t in np.flatnonzero(local >= 0).tolist():
            e, slot = int(p.type_start[j] + local[t]), int(p.first[j]) + t
            nodes = np.arange(heads[p.kind[e]], heads[p.kind[e] + 1])
            fits = nodes[(s.free[nodes, slot] >= p.rate[e]) & (s.free_mb[nodes, slot] >= p.memory[j])]
            if not len(fits):
                return
            cells.append((t, int(fits[np.argmin(s.free[fits, slot])]), slot, e))
            net -= int(base_cost.py_func(p, j, int(p.kind[e]), slot))
        if net <= 0:
            return
        s.option[j], s.net[j] = option, net
        for t, node, slot, e in cells:
            s.place[self._at[j] + t] = node
            s.free[node, slot] -= p.rate[e]
            s.free_mb[node, slot] -= p.memory[j]

    def add_rejected(self, limits: Limits) -> None:
        """Schedule the tasks that are rejected beside the others, which stay as they are."""
        s = self.state
        chosen = np.flatnonzero(s.option < 0).tolist()
        if chosen:
            self._solve(self._window(chosen, s.free, s.free_mb), chosen, s.free.copy(), s.free_mb.copy(), limits)

    def _solve(
        self,
        window: Window,
        chosen: Sequence[int],
        free: IntArray,
        free_mb: IntArray,
        limits: Limits,
        *,
        restart: bool = True,
    ) -> float | None:
        """Solve a program from the state, and book its answer where that is better; HiGHS's bound."""
        start = self._vector(window)
        found = solve(window.model, limits, start, restart=restart)
        if found.values is None:
            return None
        before, after = (round(float(window.model.objective @ each)) for each in (start, found.values.round()))
        if after > before:
            self._book(window, found.values.round().astype(bool), chosen, free, free_mb)
        return found.bound

    def _choose(self, size: int, cells: NDArray[np.bool_] | None) -> list[int]:
        """Tasks that meet, or nearly, in a slot; half of the times in the window of one that is rejected."""
        p, words = self.pool, self._words
        last = p.first + p.width - 1
        rejected = np.flatnonzero(self.state.option < 0)
        noise = words.integers(0, 2**20, p.tasks) * (p.tariff.shape[1] / 2**22)
        if len(rejected) and words.integer(0, 1):
            one = int(rejected[words.integer(0, len(rejected) - 1)])
            slot = int(p.first[one]) + words.integer(0, int(p.width[one]) - 1)
            noise[one] = -1.0
        else:
            slot = words.integer(0, p.tariff.shape[1] - 1)
        away = np.maximum(0, np.maximum(p.first - slot, slot - last)) + noise
        chosen: list[int] = []
        nodes = np.minimum(p.nodes, NODES)
        size *= int(nodes.sum())
        for j in np.argsort(away, kind="stable").tolist():
            mine = slice(p.type_start[j], p.type_start[j + 1])
            open_ = np.full(mine.stop - mine.start, p.width[j]) if cells is None else cells[mine].sum(axis=1)
            size -= int(open_ @ nodes[p.kind[mine]])
            if size < 0 and len(chosen) >= 2:
                break
            chosen.append(j)
        return sorted(chosen)

    def _cells(self, j: int) -> Iterator[tuple[int, int, int]]:
        """(node, slot, entry) of what a task uses now."""
        p, s = self.pool, self.state
        if s.option[j] < 0:
            return
        entries = {int(p.kind[e]): e for e in range(p.type_start[j], p.type_start[j + 1])}
        for t in range(int(p.width[j])):
            node = int(s.place[self._at[j] + t])
            if node >= 0:
                yield node, int(p.first[j]) + t, entries[int(self._kinds[node])]

    def _room(self, j: int, free: IntArray, free_mb: IntArray) -> Iterator[tuple[int, int, int]]:
        """(node, slot, entry) of what it could use."""
        p = self.pool
        used = {(node, slot) for node, slot, _ in self._cells(j)}
        heads = np.concatenate([[0], np.cumsum(p.nodes)])
        for e in range(int(p.type_start[j]), int(p.type_start[j + 1])):
            nodes = np.arange(heads[p.kind[e]], heads[p.kind[e] + 1])
            for slot in range(int(p.first[j]), int(p.first[j] + p.width[j])):
                fits = nodes[(free[nodes, slot] >= p.rate[e]) & (free_mb[nodes, slot] >= p.memory[j])]
                if len(fits) > NODES:
                    fullest = fits[np.argsort(free[fits, slot], kind="stable")]
                    mine = [k for k in fits.tolist() if (k, slot) in used]
                    fits = np.array([*mine, *(k for k in fullest.tolist() if k not in mine)][:NODES])
                for node in sorted(fits.tolist()):
                    yield node, slot, e

    def _window(
        self,
        chosen: Sequence[int],
        free: IntArray,
        free_mb: IntArray,
        cells: NDArray[np.bool_] | None = None,
        facets: Sequence[CellRow] = (),
    ) -> Window:
        """The program of some tasks on these capacities, in some cells alone beside those that they use now."""
        p = self.pool
        offers = [(j, o) for j in chosen for o in range(int(p.option_start[j]), int(p.option_start[j + 1]))]
        parts = [
            (j, e, node, slot)
            for j in chosen
            for mine in [{(node, slot) for node, slot, _ in self._cells(j)}]
            for node, slot, e in self._room(j, free, free_mb)
            if cells is None or cells[e, slot] or (node, slot) in mine
        ]
        task, option = np.array(offers, dtype=np.int64).T
        owner, entry, node, slot = np.array(parts, dtype=np.int64).reshape(-1, 4).T
        size = len(owner)
        z, x = np.arange(len(task)), len(task) + np.arange(size)
        rows = RowBuilder()
        where = {j: n for n, j in enumerate(chosen)}
        of_offer = np.array([where[j] for j in task.tolist()])
        rows.block([f"once_{j}" for j in chosen], of_offer, z, np.ones(len(z)), -np.inf, 1.0)
        slots = p.tariff.shape[1]
        pairs, group = np.unique(owner * slots + slot, return_inverse=True)
        begin = p.first[task] + p.offset[option]
        open_at = [(n, o) for n, pair in enumerate(pairs.tolist())
                   for o in np.flatnonzero((task == pair // slots) & (begin <= pair % slots)).tolist()]  # fmt: skip
        line, offer = np.array(open_at, dtype=np.int64).reshape(-1, 2).T
        rows.block(
            [f"slot_{n}" for n in range(len(pairs))],
            np.concatenate([group, line]), np.concatenate([x, offer]),
            np.concatenate([np.ones(size), -np.ones(len(offer))]), -np.inf, 0.0,
        )  # fmt: skip
        for j in chosen:
            mine, offered = np.flatnonzero(owner == j), np.flatnonzero(task == j)
            for n, (weights, needed, since) in enumerate(self._covers(j)):
                late = mine[slot[mine] >= begin[offered[since]]]
                value = np.concatenate([weights[entry[late] - p.type_start[j]], -needed])
                column = np.concatenate([x[late], offered])
                rows.block([f"work_{j}_{n}"], np.zeros(len(column), np.int64), column, value, 0.0, np.inf)
        cell = node * slots + slot
        for name, amount, capacity_left in (("compute", p.rate[entry], free), ("memory", p.memory[owner], free_mb)):
            total = np.bincount(cell, weights=amount, minlength=capacity_left.size)
            tight = np.flatnonzero(total > capacity_left.reshape(-1))
            number = np.full(capacity_left.size, -1)
            number[tight] = np.arange(len(tight))
            inside = np.flatnonzero(number[cell] >= 0)
            names = [f"{name}_{n}" for n in range(len(tight))]
            rows.block(
                names, number[cell[inside]], x[inside], amount[inside], -np.inf, capacity_left.reshape(-1)[tight]
            )
        columns_of: dict[tuple[int, int], list[int]] = {}
        for n, key in enumerate(zip(entry.tolist(), slot.tolist(), strict=True)):
            columns_of.setdefault(key, []).append(n)
        for n, (entries, slots_, weights, high) in enumerate(facets):
            terms = [
                (len(z) + c, float(q))
                for e, t, q in zip(entries.tolist(), slots_.tolist(), weights.tolist(), strict=True)
                for c in columns_of.get((e, t), ())
            ]
            if sum(q for _, q in terms) > high:
                column, value = np.array([c for c, _ in terms]), np.array([q for _, q in terms])
                rows.block([f"facet_{n}"], np.zeros(len(column), np.int64), column, value, -np.inf, high)
        cost = p.energy[owner, p.kind[entry]] * p.tariff[p.kind[entry], slot]
        given = np.flatnonzero(p.explicit[owner] >= 0)
        cost[given] = p.table_cost[p.explicit[owner[given]], p.kind[entry[given]], slot[given]]
        objective = np.concatenate([p.bid[task] - p.price[option], -cost]).astype(np.float64)
        columns = (*(f"z_{n}" for n in range(len(z))), *(f"x_{n}" for n in range(size)))
        return Window(rows.binary_model("window", objective, columns), task, option, owner, entry, node, slot)

    def _covers(self, j: int) -> list[Cover]:
        p = self.pool
        if j not in self._facets:
            widths = p.width[j] - p.offset[p.option_start[j] : p.option_start[j + 1]]
            rates = p.rate[p.type_start[j] : p.type_start[j + 1]]
            self._facets[j] = covers_in_windows(rates, int(p.work[j]), widths.tolist())
        return self._facets[j]

    def _vector(self, window: Window) -> NDArray[np.float64]:
        s, p = self.state, self.pool
        place = s.place[self._at[window.owner] + window.slot - p.first[window.owner]]
        return np.concatenate([s.option[window.task] == window.option, place == window.node]).astype(np.float64)

    def _book(
        self, window: Window, taken: NDArray[np.bool_], chosen: Sequence[int], free: IntArray, free_mb: IntArray
    ) -> None:
        """The state with the program's answer, if that fits in integers as well."""
        p, s = self.pool, copy_state(self.state)
        for j in chosen:
            s.place[self._at[j] : self._at[j] + p.width[j]] = -1
            s.option[j], s.net[j] = -1, 0
        for n in np.flatnonzero(taken[: len(window.task)]).tolist():
            j, option = int(window.task[n]), int(window.option[n])
            s.option[j], s.net[j] = option, round(float(window.model.objective[n]))
        for n in np.flatnonzero(taken[len(window.task) :]).tolist():
            j, e, node, slot = (int(part[n]) for part in (window.owner, window.entry, window.node, window.slot))
            s.place[self._at[j] + slot - p.first[j]] = node
            s.net[j] += round(float(window.model.objective[len(window.task) + n]))
            free[node, slot] -= p.rate[e]
            free_mb[node, slot] -= p.memory[j]
        if free.min() >= 0 and free_mb.min() >= 0:
            self.state = s._replace(free=free, free_mb=free_mb)
