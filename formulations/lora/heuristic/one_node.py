"""Solutions of P without migration: insertion node by node along the dual prices, then ruin and recreate."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, draw_below, draw_unit, inlined, inner_allocating, sort_stably
from ratiobench.formulations.lora.bound.lagrangian import DualBound, never_over, value_density
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost
from ratiobench.formulations.lora.heuristic.blocks import chance
from ratiobench.formulations.lora.heuristic.improve import (
    FEW,
    Found,
    Tell,
    anneal_side_by_side,
    follow,
    ignore_solution,
)
from ratiobench.formulations.lora.heuristic.insertion import Workspace, copy_workspace, new_workspace, put_back, remove
from ratiobench.formulations.lora.heuristic.state import State, copy_into, copy_state, empty_state, state_of
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Solution

# Blocks of an annealing per unit of effort: so many per task, and at most so many
BLOCKS, BLOCKS_OF_A_TASK = 100_000, 2_500
DESCENT = 10  # Blocks of a descent per unit of effort and task, where there are many tasks
HEATS = (0.1, 0.2)  # First temperatures of the annealings side by side, as fractions of the median bid
MOST = 5  # Most tasks removed by one block
CHUNK = 1_000  # Blocks between two looks at the clock
_NOBODY = np.empty(0, np.int64)


def heuristic(
    instance: Instance,
    p: Pool,
    bound: DualBound,
    effort: int = 1,
    seed: int = 1,
    start: Solution | None = None,
    over: Callable[[], bool] = never_over,
    enough: int | None = None,
    tell: Tell = ignore_solution,
    threads: int = 2,
) -> Found:
    """A good solution in which every task stays on one node; arguments as those of `improve.heuristic`."""
    if p.tasks == 0:
        return Found((None,) * instance.tasks, 0, 0)
    workspace = new_workspace(p, [None] * len(p.nodes), bound.rent, seed)
    rank = value_density(p)
    target = bound.upper if enough is None else enough
    best = empty_state(p) if start is None else state_of(instance, p, start)
    for order in (np.argsort(-each, kind="stable") for each in (rank, p.bid.astype(np.float64))):
        for share in (1.0, 0.5, 0.0):
            if best.welfare >= target or over():
                break
            state = empty_state(p)
            for each in (share, 0.0):
                _search(p, state, workspace, order, each, rank, 0, 0, 1, 0.0, state)
            best = max(best, state, key=lambda state: state.welfare)
    few = p.tasks < FEW
    unit = min(BLOCKS, BLOCKS_OF_A_TASK * p.tasks) if few else DESCENT * p.tasks
    heats = [heat * float(np.median(p.bid)) for heat in HEATS] if few else [0.0]
    with ThreadPoolExecutor(threads) as workers:
        desks = [copy_workspace(p, workspace, seed + chain, apart=True) for chain in range(len(heats))]
        steps = anneal_side_by_side(best, partial(_anneal, p, rank, over), desks, heats, unit, effort, over, workers)
        return follow(instance, p, best, steps, target, tell)


def _anneal(
    p: Pool, rank: NDArray[np.float64], over: Callable[[], bool], best: State, last: int, planned: int,
    workspace: Workspace, heat: float,
) -> State:  # fmt: skip
    state, best_state = copy_state(best), copy_state(best)
    for first in range(0, last, CHUNK):
        if over():
            break
        _search(p, state, workspace, _NOBODY, 0.0, rank, first, min(last, first + CHUNK), planned, heat, best_state)
    return best_state


@inner_allocating
def _insert(p, s, d, i, share, noise):  # type: ignore[no-untyped-def]
    """Schedule task i on one node at operational cost plus `share` of the rents, if its welfare is then positive."""
    width, first, memory = p.width[i], p.first[i], p.memory[i]
    begin = p.type_start[i]
    best = np.inf
    tightest = np.int64(0)
    at, node, option = np.int64(-1), np.int64(-1), np.int64(-1)
    chosen, row, count = np.empty((2, width), np.int64), 0, 0  # slots of the candidate in `row`, of the best beside it
    for entry in range(begin, p.type_start[i + 1]):
        kind, rate, c = p.kind[entry], p.rate[entry], p.klass[entry]
        need = (p.work[i] + rate - 1) // rate
        if need > width:
            continue
        cost = d.cost[entry - begin, :width]
        for t in range(width):
            cost[t] = base_cost(p, i, kind, first + t) + share * d.rent[c, first + t]
            if noise > 0:
                cost[t] += noise * p.bid[i] / need * draw_unit(d.seed)  # so that other slots have their turn
        order = sort_stably(cost)
        for k in range(d.first_node[kind], d.first_node[kind + 1]):
            for o in range(p.option_start[i], p.option_start[i + 1]):
                if width - p.offset[o] < need:
                    continue
                total = float(p.price[o])
                left = np.int64(0)
                taken = 0
                for t in order:
                    if (taken >= need and cost[t] >= 0) or (total > best and cost[t] >= 0):
                        break
                    if t >= p.offset[o] and s.free[k, first + t] >= rate and s.free_mb[k, first + t] >= memory:
                        total += cost[t]
                        left += s.free[k, first + t] - rate
                        chosen[row, taken] = t
                        taken += 1
                if taken >= need and (total < best or (total == best and entry == at and left < tightest)):
                    best, tightest, count, row = total, left, taken, 1 - row
                    at, node, option = np.int64(entry), np.int64(k), np.int64(o)
    if at < 0 or best >= p.bid[i]:
        return False
    place = np.full(width, np.int64(-1))
    net = p.bid[i] - p.price[option]
    for t in chosen[1 - row, :count]:
        place[t] = node
        net -= base_cost(p, i, p.kind[at], first + t)
    if net <= 0:
        return False
    put_back(p, s, d, i, option, net, place)
    return True


@inlined
def _block(p, s, d, rank, task, option, net, place, key, temperature):  # type: ignore[no-untyped-def]
    """Ruin and recreate at a random moment, half of the time on one node; the change of welfare, 0 if taken back."""
    t0 = draw_below(d.seed, p.tariff.shape[1])
    size = d.start[t0 + 1] - d.start[t0]
    if size == 0:
        return 0
    count, removed, added, node = 0, 0, 0, -1
    alike = draw_unit(d.seed) < 0.5
    want = 1 + draw_below(d.seed, MOST)
    for _ in range(8 * MOST):
        i = d.members[d.start[t0] + draw_below(d.seed, size)]
        seen = False
        for j in range(count):
            seen = seen or task[j] == i
        if seen:
            continue
        if s.option[i] >= 0:
            here = -1
            for t in range(p.width[i]):
                here = max(here, s.place[d.at[i] + t])
            if removed >= want or (alike and node >= 0 and here != node):
                continue
            node = here
            removed += 1
        else:
            if added > MOST:
                continue
            added += 1
        task[count], option[count], net[count] = i, s.option[i], s.net[i]
        for t in range(p.width[i]):
            place[count, t] = s.place[d.at[i] + t]
        count += 1
    change = 0
    for j in range(count):
        change -= net[j]
        if option[j] >= 0:
            remove(p, s, d, task[j])
    spread = 0.2 + 0.8 * draw_unit(d.seed)
    for j in range(count):
        key[j] = -rank[task[j]] * (1.0 + spread * (draw_unit(d.seed) - 0.5))
    share = 1.2 * draw_unit(d.seed)
    if draw_unit(d.seed) < 0.3:
        share = 0.0
    noise = 0.3 * max(0.0, draw_unit(d.seed) - 0.5)
    for j in sort_stably(key[:count]):
        _insert(p, s, d, task[j], share, noise)
    for j in range(count):
        change += s.net[task[j]]
    if change >= 0 or (temperature > 0 and draw_unit(d.seed) < chance(-change / temperature)):
        return change
    for j in range(count):
        if s.option[task[j]] >= 0:
            remove(p, s, d, task[j])
    for j in range(count):
        if option[j] >= 0:
            put_back(p, s, d, task[j], option[j], net[j], place[j])
    return 0


@compiled
def _search(p, s, d, order, share, rank, first, last, planned, heat, best_state):  # type: ignore[no-untyped-def]
    """Insert the tasks of `order` that have no place, then blocks first .. last-1 of an annealing of `planned`."""
    for i in order:
        if s.option[i] < 0:
            _insert(p, s, d, i, share, 0.0)
    size = 2 * MOST + 2
    task, option, net = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    place, key = np.empty((size, p.width.max()), np.int64), np.empty(size, np.float64)
    welfare, best = s.net.sum(), best_state.net.sum()
    for block in range(first, last):
        temperature = heat * (1.0 - block / planned)
        welfare += _block(p, s, d, rank, task, option, net, place, key, temperature)
        if welfare > best:
            best = welfare
            copy_into(s, best_state)
