"""Annealing in which nodes may be overloaded at a price that rises, for few tasks that contend for few nodes.

To admit one task several others must change at once; here they change one after the other. A solution that overloads
nodes costs what the missing capacity is worth by the dual prices, times a factor that rises until overloads are worth
more than any task. The tasks that the linear programme admits are worth more at first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled_in_place, draw_below, draw_unit, inlined, inner
from ratiobench.formulations.lora.bound.lagrangian import value_density
from ratiobench.formulations.lora.bound.patterns import node_patterns
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill, find_pool, trace
from ratiobench.formulations.lora.heuristic.blocks import anneal, chance
from ratiobench.formulations.lora.heuristic.insertion import (
    begin,
    find_entry,
    new_workspace,
    place_chosen,
    put_back,
    remove,
)
from ratiobench.formulations.lora.heuristic.state import (
    State,
    copy_into,
    copy_state,
    empty_state,
    solution_of_state,
    state_of,
)
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Solution

Floats = NDArray[np.float64]

FIRST_RUNS = 3  # Annealings from nothing, before those that begin from the best solution
FIRST_BLOCKS, BLOCKS = 330, 80  # Blocks per task of an annealing from nothing and of one from the best solution
# After so many annealings from the best solution all begins anew, with annealings longer by the first number
LONGER, SHORT_RUNS = 4, 20
MOST_TASKS = 100  # Of more tasks an annealing has the blocks of so many
# First temperatures, as parts of the median bid: from nothing, from the best solution, and without overloads
FIRST_HEAT, HEAT, POLISH_HEAT = 0.02, 0.01, 0.01
HEAT_OF_MANY = 0.001  # First temperature from the best solution of more than `MOST_TASKS` tasks
# Price of an overload, in dual prices of the capacity: first from nothing, first from the best solution, by turns, and
# last
FIRST_FACTOR, FACTORS, LAST_FACTOR = 1.0, (1.0, 1.5, 3.0, 6.0), 200.0
POLISH = 0.2  # Blocks without overloads that follow an annealing, as a part of its own
# Part of its bid by which a task is worth more at first where the linear programme admits it, or less where not
BIAS = 0.6
# Parts of the prices of cells that count at first: a fixed one, and one times a random number for each cell
SHARE, NOISE = 0.5, 0.1
MOST = 3  # Most tasks that a block schedules again
AT_ONCE = 0.05  # What any overload costs at least, in nodes
CHUNK = 2_000  # Blocks between two looks at the clock


def search(
    instance: Instance,
    solution: Solution,
    price: Floats,
    rent: Floats,
    admitted: Floats,
    runs: int,
    seed: int,
    over: Callable[[], bool],
    enough: Callable[[int], bool] = lambda welfare: False,
) -> Solution:
    """A solution that is no worse than a known one; `enough` ends it, asked of the best welfare before an annealing.

    `price`: (entries, T), `rent`: (classes, T) dual prices of cells, micro-dollars; `admitted`: (n,) how far the linear
    program admits each task, 0 to 1.
    """
    p = find_pool(instance)
    if p.tasks == 0:
        return solution
    best = state_of(instance, p, solution)
    annealing = _Annealing(p, price, rent, admitted, seed, over)
    tasks, heat = min(p.tasks, MOST_TASKS), HEAT if p.tasks <= MOST_TASKS else HEAT_OF_MANY
    stages = [(1, runs)] if runs <= SHORT_RUNS else [(1, SHORT_RUNS), (LONGER, runs - SHORT_RUNS)]
    for length, some in stages:
        for _ in range(FIRST_RUNS):
            best = annealing.run(best, empty_state(p), length * FIRST_BLOCKS * tasks, FIRST_HEAT, FIRST_FACTOR)
        for run in range(some):
            if enough(best.welfare):
                break
            factor = FACTORS[run % len(FACTORS)]
            best = annealing.run(best, copy_state(best), length * BLOCKS * tasks, heat, factor)
    return solution_of_state(instance, p, best)


def stop_at_target(runs: int, target: float, soon: Callable[[], bool]) -> Callable[[int], bool]:
    """End annealings after some of them if they have reached a target, else never."""
    done, reached = 0, False

    def enough(welfare: int) -> bool:
        nonlocal done, reached
        done += 1
        if done == runs + 1 or (done <= runs and soon()):
            done, reached = runs + 1, welfare >= target
        return reached

    return enough


class _Block(NamedTuple):
    """Scratch: the tasks of a block and how they were, and the slots of the nodes that are overloaded."""

    task: IntArray
    option: IntArray
    net: IntArray
    place: IntArray
    slots: IntArray


class _Annealing:
    def __init__(
        self, p: Pool, price: Floats, rent: Floats, admitted: Floats, seed: int, over: Callable[[], bool]
    ) -> None:
        self.pool, self.price, self.over = p, price, over
        self.median = max(1.0, float(np.median(p.bid)))
        self.bonus = BIAS * (2.0 * admitted - 1.0) * p.bid
        self.node_price = _price_nodes(p, price)
        self.workspace = new_workspace(p, node_patterns(p), rent, seed)
        self.rank = value_density(p)
        task, option, net = (np.empty(MOST, np.int64) for _ in range(3))
        slots = np.empty(int(p.nodes.sum()) * p.tariff.shape[1], np.int64)
        self._block = _Block(task, option, net, np.empty((MOST, int(p.width.max())), np.int64), slots)

    def run(self, best: State, s: State, blocks: int, heat: float, factor: float) -> State:
        p, d, found, b = self.pool, self.workspace, empty_state(self.pool), self._block
        cooling = np.array([heat * self.median, factor, LAST_FACTOR])
        for first in range(0, blocks, CHUNK):
            if self.over():
                break
            last = min(first + CHUNK, blocks)
            _search(p, s, d, b, self.price, self.node_price, self.bonus, cooling, first, last, blocks, found)
        if found.welfare > 0 and not self.over():
            state, more = copy_state(found), int(POLISH * blocks)
            begin(p, d, state)
            anneal(p, state, d, self.rank, 0, more, more, POLISH_HEAT * self.median, found)
        return max(best, found, key=lambda each: each.welfare)


def _price_nodes(p: Pool, price: Floats) -> Floats:
    """(G, T) what a whole node is worth, by the cell whose price is largest for its share of a node."""
    owner = np.repeat(np.arange(p.tasks), np.diff(p.type_start))
    part = np.maximum(p.rate / p.compute[p.kind], p.memory[owner] / p.capacity_mb[p.kind])
    worth = np.zeros((len(p.nodes), price.shape[1]))
    np.maximum.at(worth, p.kind, price / part[:, None])
    return worth + max(1.0, 1e-3 * float(worth.max()))


# Numbers are passed, not tuples of arrays, whose references would be counted at each call.
@inlined
def overload(free, free_mb, compute, capacity_mb):  # type: ignore[no-untyped-def]
    """How far a node is overloaded, in nodes, by what is free of it."""
    total = 0.0
    if free < 0:
        total += AT_ONCE - free / compute
    if free_mb < 0:
        total += AT_ONCE - free_mb / capacity_mb
    return total


@inner
def _penalty(p, s, d, i, node_price):  # type: ignore[no-untyped-def]
    """What the overloads that vanish with a task cost at their first price."""
    total = 0.0
    for t in range(p.width[i]):
        k = s.place[d.at[i] + t]
        if k < 0:
            continue
        slot = p.first[i] + t
        kind = d.type_of[k]
        compute, capacity = p.compute[kind], p.capacity_mb[kind]
        free, free_mb = s.free[k, slot], s.free_mb[k, slot]
        if free >= 0 and free_mb >= 0:
            continue
        rate = p.rate[find_entry(p, i, kind)]
        without = overload(free + rate, free_mb + p.memory[i], compute, capacity)
        total += node_price[kind, slot] * (overload(free, free_mb, compute, capacity) - without)
    return total


@inner
def _insert(p, s, d, i, price, node_price, factor, rest, bonus):  # type: ignore[no-untyped-def]
    """Schedule a task at operational cost, overloads, and a part of the prices of cells, if that pays."""
    types = p.type_start[i + 1] - p.type_start[i]
    width, first, memory = p.width[i], p.first[i], p.memory[i]
    for g in range(types):
        e = p.type_start[i] + g
        kind, rate = p.kind[e], p.rate[e]
        compute, capacity = p.compute[kind], p.capacity_mb[kind]
        for t in range(width):
            slot = first + t
            least = np.inf
            left = np.int64(2**62)
            for k in range(d.first_node[kind], d.first_node[kind + 1]):
                free, free_mb = s.free[k, slot], s.free_mb[k, slot]
                more = overload(free - rate, free_mb - memory, compute, capacity)
                more -= overload(free, free_mb, compute, capacity)
                if more < least or (more == least and free < left):
                    d.target[g, t] = k
                    least = more
                    left = free
            d.usable[g, t] = True
            part = rest * (SHARE + NOISE * draw_unit(d.seed))
            d.cost[g, t] = base_cost(p, i, kind, slot) + factor * node_price[kind, slot] * least + part * price[e, slot]
    fill(p, i, d.cost, d.usable, np.inf, d.table)
    total, option, x = cheapest(p, i, 1.0, np.inf, d.table)
    if option < 0 or p.bid[i] + rest * bonus - total <= 0:
        return
    trace(p, i, d.cost, d.usable, np.inf, d.table, option, x, d.chosen)
    net = p.bid[i] - p.price[option]
    for t in range(width):
        if d.chosen[t] >= 0:
            net -= base_cost(p, i, p.kind[p.type_start[i] + d.chosen[t]], first + t)
    if net <= 0:
        return
    place_chosen(p, s, d, i, option, net)


@inlined
def list_overloads(free, free_mb, slots):  # type: ignore[no-untyped-def]
    """Write the slots of overloaded nodes into a list; how many there are."""
    count = 0
    for k in range(free.shape[0]):
        for t in range(free.shape[1]):
            if free[k, t] < 0 or free_mb[k, t] < 0:
                slots[count] = t
                count += 1
    return count


@compiled_in_place
def _search(p, s, d, b, price, node_price, bonus, cooling, first, last, planned, best_state):  # type: ignore[no-untyped-def]
    """Blocks first .. last-1 of `planned`; the best state without overloads is written to `best_state`.

    A block removes up to `MOST` tasks that meet at a moment, half of the times one with an overload, and inserts them
    again. `cooling`: first temperature, first factor of the prices of overloads, and the last one.
    """
    best = 0
    for i in range(len(s.net)):
        best += best_state.net[i]
    task, option, net, place, slots = b
    overloads = list_overloads(s.free, s.free_mb, slots)
    for block in range(first, last):
        rest = 1.0 - block / planned
        done = (1.0 - rest) * (1.0 - rest)
        factor = cooling[1] + (cooling[2] - cooling[1]) * (done * done)
        if overloads > 0 and draw_unit(d.seed) < 0.5:
            slot = slots[draw_below(d.seed, overloads)]
        else:
            slot = draw_below(d.seed, s.free.shape[1])
        size = d.start[slot + 1] - d.start[slot]
        if size == 0:
            continue
        count = 0
        for _ in range(1 + draw_below(d.seed, MOST)):
            i = d.members[d.start[slot] + draw_below(d.seed, size)]
            seen = False
            for a in range(count):
                seen = seen or task[a] == i
            if not seen:
                task[count] = i
                count += 1
        change = 0.0
        for a in range(count):
            i = task[a]
            option[a] = s.option[i]
            net[a] = s.net[i]
            for t in range(p.width[i]):
                place[a, t] = s.place[d.at[i] + t]
            if s.option[i] >= 0:
                change += factor * _penalty(p, s, d, i, node_price) - (s.net[i] + rest * bonus[i])
                remove(p, s, d, i)
        for a in range(count):
            i = task[a]
            _insert(p, s, d, i, price, node_price, factor, rest, bonus[i])
            if s.option[i] >= 0:
                change += s.net[i] + rest * bonus[i] - factor * _penalty(p, s, d, i, node_price)
        if change < 0 and not draw_unit(d.seed) < chance(-change / (cooling[0] * rest)):
            for a in range(count):
                if s.option[task[a]] >= 0:
                    remove(p, s, d, task[a])
            for a in range(count):
                if option[a] >= 0:
                    put_back(p, s, d, task[a], option[a], net[a], place[a])
            continue
        overloads = list_overloads(s.free, s.free_mb, slots)
        if overloads == 0:
            welfare = 0
            for i in range(len(s.net)):
                welfare += s.net[i]
            if welfare > best:
                best = welfare
                copy_into(s, best_state)
