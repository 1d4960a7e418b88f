"""Feasible solutions on real nodes: insertion at dual prices, then large-neighbourhood search; the best is kept.

All capacities are integers on single nodes, so whatever comes out is feasible by construction; it is verified again by
`check` all the same. Randomness is a 64-bit xorshift seeded by the caller: the same effort gives the same solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.lora.pricing import Pool, base_cost, cheapest, fill, trace
from instances.lora.model import Instance, IntArray
from instances.lora.solution import Decision, Solution

BLOCKS = 4_000
"""Ruin-and-recreate blocks per unit of effort, plus four per task."""


class State(NamedTuple):
    """A feasible solution of a pool.

    Parameters
    ----------
    free, free_mb : (K, T) samples and MB left on each node.
    option : (n,) chosen option (index into the pool's options), -1 when rejected.
    place : (sum of widths,) node of each task in each slot of its window, -1 where it does not run.
    net : (n,) welfare of the task as scheduled, 0 when rejected.
    """

    free: IntArray
    free_mb: IntArray
    option: IntArray
    place: IntArray
    net: IntArray


def empty_state(p: Pool) -> State:
    """Everything rejected."""
    types = np.repeat(np.arange(len(p.nodes)), p.nodes)
    slots = p.tariff.shape[1]
    return State(
        free=np.repeat(p.compute[types][:, None], slots, axis=1),
        free_mb=np.repeat(p.capacity_mb[types][:, None], slots, axis=1),
        option=np.full(p.size, -1, np.int64),
        place=np.full(int(p.width.sum()), -1, np.int64),
        net=np.zeros(p.size, np.int64),
    )


@njit(cache=True, nogil=True)
def _next(seed):  # type: ignore[no-untyped-def]
    """xorshift64*; seed is a (1,) uint64 array."""
    x = seed[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    seed[0] = x
    return x * np.uint64(2685821657736338717)


@njit(cache=True, nogil=True)
def _below(seed, n):  # type: ignore[no-untyped-def]
    return np.int64((_next(seed) >> np.uint64(11)) % np.uint64(n))


@njit(cache=True, nogil=True)
def _unit(seed):  # type: ignore[no-untyped-def]
    return np.float64(_next(seed) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True, nogil=True)
def _insert(p, s, at, first_node, i, lam, phi, share, cost, usable, node, chosen, table):  # type: ignore[no-untyped-def]
    """Schedule task i at operational cost plus `share` of the dual prices, tightest node first, if its surplus is positive.

    Returns whether it was admitted; only schedules of positive welfare are.
    """
    types = p.type_start[i + 1] - p.type_start[i]
    width = p.width[i]
    first = p.first[i]
    memory = p.memory[i]
    for g in range(types):
        kind = p.kind[p.type_start[i] + g]
        rate = p.rate[p.type_start[i] + g]
        for t in range(width):
            best = -1
            left = np.int64(2**62)
            for k in range(first_node[kind], first_node[kind + 1]):
                room = s.free[k, first + t]
                if room >= rate and room < left and s.free_mb[k, first + t] >= memory:
                    best = k
                    left = room
            node[g, t] = best
            usable[g, t] = best >= 0
            cost[g, t] = base_cost(p, i, kind, first + t) + share * (
                lam[kind, first + t] * rate + phi[kind, first + t] * memory
            )
    fill(p, i, cost[:types, :width], usable, np.inf, table)
    total, option, x = cheapest(p, i, 1, np.inf, table)
    if option < 0 or p.bid[i] - total <= 0:
        return False
    trace(p, i, cost[:types, :width], usable, np.inf, table, option, x, chosen)
    net = p.bid[i] - p.price[option]
    for t in range(width):
        if chosen[t] >= 0:
            net -= base_cost(p, i, p.kind[p.type_start[i] + chosen[t]], first + t)
    if net <= 0:
        return False
    for t in range(width):
        if chosen[t] >= 0:
            k = node[chosen[t], t]
            s.place[at[i] + t] = k
            s.free[k, first + t] -= p.rate[p.type_start[i] + chosen[t]]
            s.free_mb[k, first + t] -= memory
    s.option[i] = option
    s.net[i] = net
    return True


@njit(cache=True, nogil=True)
def _remove(p, s, at, type_of, i):  # type: ignore[no-untyped-def]
    for t in range(p.width[i]):
        k = s.place[at[i] + t]
        if k >= 0:
            rate = 0
            for j in range(p.type_start[i], p.type_start[i + 1]):
                if p.kind[j] == type_of[k]:
                    rate = p.rate[j]
            s.free[k, p.first[i] + t] += rate
            s.free_mb[k, p.first[i] + t] += p.memory[i]
            s.place[at[i] + t] = -1
    s.option[i] = -1
    s.net[i] = 0


@njit(cache=True, nogil=True)
def _put_back(p, s, at, type_of, i, option, net, places):  # type: ignore[no-untyped-def]
    for t in range(p.width[i]):
        k = places[t]
        s.place[at[i] + t] = k
        if k >= 0:
            rate = 0
            for j in range(p.type_start[i], p.type_start[i + 1]):
                if p.kind[j] == type_of[k]:
                    rate = p.rate[j]
            s.free[k, p.first[i] + t] -= rate
            s.free_mb[k, p.first[i] + t] -= p.memory[i]
    s.option[i] = option
    s.net[i] = net


@njit(cache=True, nogil=True)
def _construct(p, s, at, first_node, order, lam, phi, share, scratch):  # type: ignore[no-untyped-def]
    cost, usable, node, chosen, table = scratch
    for i in order:
        if s.option[i] < 0:
            _insert(p, s, at, first_node, i, lam, phi, share, cost, usable, node, chosen, table)
    return s.net.sum()


@njit(cache=True, nogil=True)
def _improve(  # type: ignore[no-untyped-def]
    p, s, at, type_of, first_node, rank, lam, phi, blocks, heat, most, seed, scratch, best_option, best_place, best_net
):
    """Ruin and recreate with annealing; the best state found is written to the best_* arrays.

    A block takes a random moment, removes up to `most` admitted tasks whose windows contain it, and inserts them and some
    rejected ones again in a random order that leans to high rank, at a random share of the dual prices.
    """
    cost, usable, node, chosen, table = scratch
    n = len(p.task)
    value = s.net.sum()
    best = value
    widest = 0
    for i in range(n):
        widest = max(widest, p.width[i])
    slots = p.tariff.shape[1]
    # Tasks by slot of their windows, so that a block finds its neighbours at once.
    start = np.zeros(slots + 1, np.int64)
    for i in range(n):
        for t in range(p.width[i]):
            start[p.first[i] + t + 1] += 1
    for t in range(slots):
        start[t + 1] += start[t]
    members = np.empty(start[slots], np.int64)
    cursor = start[:-1].copy()
    for i in range(n):
        for t in range(p.width[i]):
            members[cursor[p.first[i] + t]] = i
            cursor[p.first[i] + t] += 1
    limit = 2 * most + 2
    touched = np.empty(limit, np.int64)
    old_option = np.empty(limit, np.int64)
    old_net = np.empty(limit, np.int64)
    old_place = np.empty((limit, widest), np.int64)
    key = np.empty(limit, np.float64)
    blocks_done = 0
    for block in range(blocks):
        blocks_done += 1
        temperature = heat * (1.0 - block / blocks)
        t0 = _below(seed, slots)
        size = start[t0 + 1] - start[t0]
        if size == 0:
            continue
        count = 0
        removed = 0
        added = 0
        want = 1 + _below(seed, most)
        for _ in range(6 * most):
            i = members[start[t0] + _below(seed, size)]
            seen = False
            for j in range(count):
                if touched[j] == i:
                    seen = True
            if seen:
                continue
            if s.option[i] >= 0:
                if removed >= want:
                    continue
                removed += 1
            else:
                if added > most:
                    continue
                added += 1
            touched[count] = i
            old_option[count] = s.option[i]
            old_net[count] = s.net[i]
            for t in range(p.width[i]):
                old_place[count, t] = s.place[at[i] + t]
            count += 1
        before = 0
        for j in range(count):
            before += old_net[j]
            if old_option[j] >= 0:
                _remove(p, s, at, type_of, touched[j])
        spread = 0.2 + 0.8 * _unit(seed)
        for j in range(count):
            key[j] = -rank[touched[j]] * (1.0 + spread * (_unit(seed) - 0.5))
        share = 1.2 * _unit(seed)
        if _unit(seed) < 0.3:
            share = 0.0
        for j in np.argsort(key[:count]):
            _insert(p, s, at, first_node, touched[j], lam, phi, share, cost, usable, node, chosen, table)
        after = 0
        for j in range(count):
            after += s.net[touched[j]]
        change = after - before
        if change >= 0 or (temperature > 0 and _unit(seed) < np.exp(change / temperature)):
            value += change
            if value > best:
                best = value
                best_option[:] = s.option
                best_place[:] = s.place
                best_net[:] = s.net
        else:
            for j in range(count):
                if s.option[touched[j]] >= 0:
                    _remove(p, s, at, type_of, touched[j])
            for j in range(count):
                if old_option[j] >= 0:
                    _put_back(p, s, at, type_of, touched[j], old_option[j], old_net[j], old_place[j])
    return best


class Found(NamedTuple):
    """A solution, its welfare, and the blocks that were tried."""

    solution: Solution
    welfare: int
    blocks: int


def heuristic(
    instance: Instance,
    p: Pool,
    lam: NDArray[np.float64],
    phi: NDArray[np.float64],
    effort: int = 1,
    seed: int = 1,
    start: Solution | None = None,
) -> Found:
    """A good solution: several constructions guided by the dual prices (and `start`), the best of them improved.

    Parameters
    ----------
    lam, phi : (G, T) dual prices in micro-dollars per sample and MB.
    effort : units of 4,000 blocks plus four per task.
    start : a feasible solution to begin from as well.
    """
    if p.size == 0:
        return Found((None,) * instance.tasks, 0, 0)
    at = np.concatenate([[0], np.cumsum(p.width)[:-1]]).astype(np.int64)
    first_node = np.concatenate([[0], np.cumsum(p.nodes)]).astype(np.int64)
    type_of = np.repeat(np.arange(len(p.nodes)), p.nodes).astype(np.int64)
    width = int(p.width.max())
    kinds = len(p.nodes)
    scratch = (
        np.empty((kinds, width)), np.zeros((kinds, width), np.bool_), np.zeros((kinds, width), np.int64),
        np.empty(width, np.int64), np.empty(p.table),
    )  # fmt: skip
    ranks = _ranks(p, lam, phi)
    best: tuple[int, State, Any] | None = None
    for rank in ranks:
        order = np.argsort(-rank, kind="stable")
        for share in (0.0, 0.5, 1.0):
            s = empty_state(p)
            _construct(p, s, at, first_node, order, lam, phi, share, scratch)
            welfare = int(_construct(p, s, at, first_node, order, lam, phi, 0.0, scratch))
            if best is None or welfare > best[0]:
                best = (welfare, s, rank)
    assert best is not None
    if start is not None:
        s = state_of(instance, p, start)
        welfare = int(_construct(p, s, at, first_node, np.argsort(-ranks[0], kind="stable"), lam, phi, 0.0, scratch))
        if welfare > best[0]:
            best = (welfare, s, ranks[0])
    welfare, s, rank = best
    keep = (s.option.copy(), s.place.copy(), s.net.copy())
    blocks = effort * (BLOCKS + 4 * p.size)
    heat = 0.3 * float(np.median(p.bid))
    found = _improve(
        p, s, at, type_of, first_node, rank, lam, phi, blocks, heat, 6,
        np.array([seed * 2654435769 + 88172645463325252], np.uint64), scratch, *keep,
    )  # fmt: skip
    return Found(_solution(instance, p, at, keep[0], keep[1]), int(found), blocks)


def _ranks(p: Pool, lam: NDArray[np.float64], phi: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Orders of insertion: bid per share of a node-slot used, by compute and by memory together, and the plain bid."""
    density = np.empty(p.size)
    for i in range(p.size):
        span = slice(int(p.type_start[i]), int(p.type_start[i + 1]))
        kinds, rates = p.kind[span], p.rate[span]
        slots = -(-p.work[i] // rates)
        use = slots * np.maximum(rates / p.compute[kinds], p.memory[i] / p.capacity_mb[kinds])
        density[i] = p.bid[i] / use.min()
    return [density, p.bid.astype(np.float64)]


def state_of(instance: Instance, p: Pool, solution: Solution) -> State:
    """The state of a feasible solution; decisions of tasks outside the pool or of no welfare are left out."""
    s = empty_state(p)
    at = np.concatenate([[0], np.cumsum(p.width)[:-1]]).astype(np.int64)
    type_of = np.repeat(np.arange(len(p.nodes)), p.nodes)
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


def _solution(instance: Instance, p: Pool, at: IntArray, option: IntArray, place: IntArray) -> Solution:
    decisions: list[Decision | None] = [None] * instance.tasks
    for j, i in enumerate(p.task.tolist()):
        if option[j] < 0:
            continue
        here = place[at[j] : at[j] + p.width[j]]
        cells = tuple((int(k), int(p.first[j]) + 1 + t) for t, k in enumerate(here.tolist()) if k >= 0)
        vendor = int(p.vendor[option[j]])
        decisions[i] = Decision(None if vendor < 0 else vendor, cells)
    return tuple(decisions)
