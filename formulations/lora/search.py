"""Feasible solutions on real nodes: insertion at dual prices, then large-neighbourhood search; the best is kept.

All capacities are integers on single nodes, so whatever comes out is feasible by construction; it is verified again by
`check` all the same. Randomness is a 64-bit xorshift seeded by the caller: the same effort gives the same solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.lora.lagrangian import LAST_PENALTY, DualBound, never, value_density
from formulations.lora.pricing import Pool, base_cost, cheapest, fill, trace
from instances.lora.model import Instance, IntArray
from instances.lora.solution import Decision, Solution

BLOCKS = 4_000
"""Ruin-and-recreate blocks per unit of effort, plus four per task up to FEW tasks."""
HEAT, HEAT_OF_MANY = 0.1, 0.003
"""First temperature of the annealing, as a fraction of the median bid; lower where blocks per task are few."""
FEW = 1_000
"""Below this many tasks more constructions are tried, and annealing begins hotter."""
CORRECTIONS = 8
"""Packings of the pooled answer, with capacities corrected between them."""
REPACKS = 300
"""Attempts to place what a packing left over, per node type and slot."""
ANSWERS = 6
"""Rounds of the method of multipliers between two packings."""
MOST = 12
"""Most tasks removed by one block."""


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
        option=np.full(p.tasks, -1, np.int64),
        place=np.full(int(p.width.sum()), -1, np.int64),
        net=np.zeros(p.tasks, np.int64),
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
def _chance(loss):  # type: ignore[no-untyped-def]
    """About exp(-loss), in products only, which every machine rounds alike: (1 - loss/4)^4 up to 4, then 0."""
    base = max(0.0, 1.0 - 0.25 * loss)
    return (base * base) * (base * base)


@njit(cache=True, nogil=True)
def _insert(p, s, at, first_node, i, price, share, cost, usable, node, chosen, table):  # type: ignore[no-untyped-def]
    """Schedule task i at operational cost plus `share` of the dual prices, tightest node first, if that pays.

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
            cost[g, t] = base_cost(p, i, kind, first + t)
            for r in range(len(price)):
                cost[g, t] += share * price[r, kind, first + t] * p.size[r, p.type_start[i] + g]
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
def _construct(p, s, at, first_node, order, price, share, scratch):  # type: ignore[no-untyped-def]
    cost, usable, node, chosen, table = scratch
    for i in order:
        if s.option[i] < 0:
            _insert(p, s, at, first_node, i, price, share, cost, usable, node, chosen, table)
    return s.net.sum()


@njit(cache=True, nogil=True)
def _improve(  # type: ignore[no-untyped-def]
    p,
    s,
    at,
    type_of,
    first_node,
    rank,
    price,
    first_block,
    last_block,
    blocks,
    best,
    heat,
    most,
    seed,
    scratch,
    best_option,
    best_place,
    best_net,
):
    """Blocks first_block .. last_block-1 of `blocks`: ruin and recreate with annealing.

    The best state found is written to the best_* arrays when it beats `best`; returns its welfare.

    A block takes a random moment, removes up to `most` admitted tasks whose windows contain it, and inserts them and
    some rejected ones again in a random order that leans to high rank, at a random share of the dual prices.
    """
    cost, usable, node, chosen, table = scratch
    n = len(p.task)
    value = s.net.sum()
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
    for block in range(first_block, last_block):
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
            _insert(p, s, at, first_node, touched[j], price, share, cost, usable, node, chosen, table)
        after = 0
        for j in range(count):
            after += s.net[touched[j]]
        change = after - before
        if change >= 0 or (temperature > 0 and _unit(seed) < _chance(-change / temperature)):
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
    bound: DualBound,
    effort: int = 1,
    seed: int = 1,
    start: Solution | None = None,
    over: Callable[[], bool] = never,
) -> Found:
    """A good solution: several constructions guided by the dual prices, the best of them improved.

    Constructions: the pooled answer behind the bound, packed onto nodes; insertion by value density or bid at shares of
    the dual prices; `start`.

    Parameters
    ----------
    bound : dual prices and pooled answer.
    effort : units of 4,000 blocks plus four per task (of 1,000 at most); up to 4, of 8 corrected packings too.
    start : a feasible solution to begin from as well.
    over : asked between steps; True ends the search early.
    """
    if p.tasks == 0:
        return Found((None,) * instance.tasks, 0, 0)
    price = bound.prices
    at, first_node, type_of = _layout(p)
    width = int(p.width.max())
    kinds = len(p.nodes)
    scratch = (
        np.empty((kinds, width)), np.zeros((kinds, width), np.bool_), np.zeros((kinds, width), np.int64),
        np.empty(width, np.int64), np.empty(p.table),
    )  # fmt: skip
    density = value_density(p)
    orders = [np.argsort(-rank, kind="stable") for rank in (density, p.bid.astype(np.float64))]

    def finished(s: State, order: IntArray, shares: tuple[float, ...]) -> tuple[int, State]:
        welfare = 0
        for share in (*shares, 0.0):
            welfare = int(_construct(p, s, at, first_node, order, price, share, scratch))
        return welfare, s

    best = finished(empty_state(p), orders[0], (0.5,))
    attempts: list[Callable[[], tuple[int, State]]] = []
    if start is not None:
        attempts.append(partial(finished, state_of(instance, p, start), orders[0], ()))
    if p.tasks < FEW:
        pairs = [(order, share) for order in orders for share in (0.0, 0.5, 1.0)]
        attempts += [partial(finished, empty_state(p), order, (share,)) for order, share in pairs]
    if bound.state is not None:
        packings = _corrected(p, bound, lambda s: finished(s, orders[0], (1.0, 0.5)))
        attempts += [partial(next, packings)] * (CORRECTIONS * min(effort, 4))
    for attempt in attempts:
        if over():
            break
        best = max(best, attempt(), key=lambda candidate: candidate[0])
    welfare, s = best
    keep = (s.option.copy(), s.place.copy(), s.net.copy())
    heat = (HEAT if p.tasks < FEW else HEAT_OF_MANY) * float(np.median(p.bid))
    stream = np.array([seed * 2654435769 + 88172645463325252], np.uint64)
    done = 0
    # Each annealing begins at the best solution and is longer than the one before: 1, 1, 2, 4, ... units.
    for units in _doubling(effort):
        s = state_of(instance, p, _solution(instance, p, at, keep[0], keep[1]))
        blocks = units * (BLOCKS + 4 * min(p.tasks, FEW))
        for first in range(0, blocks, BLOCKS):
            if over():
                break
            last = min(blocks, first + BLOCKS)
            found = _improve(
                p, s, at, type_of, first_node, density, price, first, last, blocks, welfare, heat, MOST, stream,
                scratch, *keep,
            )  # fmt: skip
            welfare = int(found)
            done += last - first
    return Found(_solution(instance, p, at, keep[0], keep[1]), welfare, done)


def _doubling(total: int) -> Iterator[int]:
    """1, 1, 2, 4, ..., the last one cut so that they add up to `total`."""
    done = 0
    while done < total:
        part = min(max(1, done), total - done)
        yield part
        done += part


def _corrected(p: Pool, bound: DualBound, finish: Callable[[State], tuple[int, State]]) -> Iterator[tuple[int, State]]:
    """Pooled answers packed onto nodes, each after the capacities were cut to what the packing before could fill.

    A (type, slot) whose items do not fit although their sum does costs whole tasks; asking for a little less there
    costs a few samples. A handful of corrections settles it.
    """
    assert bound.state is not None
    state = bound.state.copy()
    price = bound.prices
    at, first_node, type_of = _layout(p)
    while True:
        s = empty_state(p)
        _pack(p, s, at, first_node, type_of, state.pooled, price)
        yield finish(s)
        filled = _filled(p, s, at, type_of)
        excess = state.used - filled
        cut = np.maximum(filled, state.capacity - 0.5 * excess - 0.02)
        state.capacity = np.where(excess > 1e-6, np.minimum(state.capacity, cut), state.capacity)
        for _ in range(ANSWERS):
            state.round(2 * LAST_PENALTY)


def _filled(p: Pool, s: State, at: IntArray, type_of: IntArray) -> NDArray[np.float64]:
    """(3, G, T) nodes that a state's tasks fill, by resource."""
    running = np.flatnonzero(s.place >= 0)
    tasks = np.repeat(np.arange(p.tasks), p.width)[running]
    slots = p.first[tasks] + running - at[tasks]
    kinds = type_of[s.place[running]]
    local = np.full((p.tasks, len(p.nodes)), -1, np.int64)
    local[np.repeat(np.arange(p.tasks), np.diff(p.type_start)), p.kind] = np.arange(len(p.kind))
    entry = local[tasks, kinds]
    filled = np.zeros((3, *p.tariff.shape))
    for r in range(3):
        np.add.at(filled[r], (kinds, slots), p.size[r, entry] / p.capacity[r, kinds])
    return filled


def _layout(p: Pool) -> tuple[IntArray, IntArray, IntArray]:
    """Where each task's places begin, the first node of each type (and K), the type of each node."""
    at = np.concatenate([[0], np.cumsum(p.width)[:-1]]).astype(np.int64)
    first_node = np.concatenate([[0], np.cumsum(p.nodes)]).astype(np.int64)
    type_of = np.repeat(np.arange(len(p.nodes)), p.nodes).astype(np.int64)
    return at, first_node, type_of


@njit(cache=True, nogil=True)
def _pack(p, s, at, first_node, type_of, pooled, price):  # type: ignore[no-untyped-def]
    n = len(p.task)
    slots = p.tariff.shape[1]
    kinds = p.tariff.shape[0]
    for i in range(n):
        # The cheapest option that is done before the first cell; no welfare, no place.
        begin = -1
        net = p.bid[i]
        for t in range(p.width[i]):
            g = pooled[at[i] + t]
            if g >= 0:
                if begin < 0:
                    begin = t
                net -= base_cost(p, i, p.kind[p.type_start[i] + g], p.first[i] + t)
        if begin < 0:
            continue
        option = -1
        for o in range(p.option_start[i], p.option_start[i + 1]):
            if p.offset[o] <= begin and (option < 0 or p.price[o] < p.price[option]):
                option = o
        if option >= 0 and net - p.price[option] > 0:
            s.option[i] = option
            s.net[i] = net - p.price[option]
    members = np.empty(n, np.int64)
    compute = np.empty(n, np.int64)
    memory = np.empty(n, np.int64)
    pattern = np.empty(n, np.int64)
    seed = np.empty(1, np.uint64)
    for slot in range(slots):
        for kind in range(kinds):
            count = 0
            for i in range(n):
                t = slot - p.first[i]
                if s.option[i] >= 0 and 0 <= t < p.width[i]:
                    g = pooled[at[i] + t]
                    if g >= 0 and p.kind[p.type_start[i] + g] == kind:
                        members[count] = i
                        compute[count] = p.rate[p.type_start[i] + g]
                        memory[count] = p.memory[i]
                        pattern[count] = p.size[2, p.type_start[i] + g]
                        count += 1
            weight = price[0, kind, slot] * compute[:count] + price[1, kind, slot] * memory[:count]
            weight = weight + price[2, kind, slot] * pattern[:count]
            weight = weight + 1e-3 * (compute[:count] / p.compute[kind] + memory[:count] / p.capacity_mb[kind])
            seed[0] = np.uint64(slot * kinds + kind + 1) * np.uint64(2654435769)
            node = _best_fill(
                compute[:count], memory[:count], weight, p.compute[kind], p.capacity_mb[kind], p.nodes[kind], seed
            )
            for j in range(count):
                i = members[j]
                if node[j] < 0:
                    _remove(p, s, at, type_of, i)
                else:
                    k = first_node[kind] + node[j]
                    s.place[at[i] + slot - p.first[i]] = k
                    s.free[k, slot] -= compute[j]
                    s.free_mb[k, slot] -= memory[j]


@njit(cache=True, nogil=True)
def fill_nodes(compute, memory, weight, capacity, capacity_mb, nodes, limit, balance):  # type: ignore[no-untyped-def]
    """Pack items onto identical nodes, one node after the other, each as full as a bounded search can make it.

    Every node takes the subset of the items left of largest total value that a depth-first search of `limit` steps over
    classes of equal items finds (minimum bin slack, Gupta and Ho 1999, with two resources). The value of a class is its
    weight, a little more while it is used up more slowly than the nodes are (`balance`): the last nodes then get a
    mixture that still fits well, instead of what nobody wanted.

    Returns (items,) node of each item from 0, or -1.
    """
    count = len(compute)
    place = np.full(count, -1, np.int64)
    order = np.argsort(-weight, kind="mergesort")
    head = np.empty(count + 1, np.int64)
    classes = 0
    ranked = np.empty(count, np.int64)
    done = np.zeros(count, np.bool_)
    filled = 0
    for a in range(count):
        j = order[a]
        if done[j]:
            continue
        head[classes] = filled
        classes += 1
        for b in range(a, count):
            q = order[b]
            if weight[q] < weight[j]:
                break
            if not done[q] and compute[q] == compute[j] and memory[q] == memory[j]:
                done[q] = True
                ranked[filled] = q
                filled += 1
    head[classes] = filled
    total = np.empty(classes, np.int64)
    left = np.empty(classes, np.int64)
    for c in range(classes):
        total[c] = head[c + 1] - head[c]
        left[c] = total[c]
    value = np.empty(classes, np.float64)
    slope = np.empty(classes, np.float64)
    rate = np.empty(classes, np.int64)
    mb = np.empty(classes, np.int64)
    most = np.empty(classes, np.int64)
    sorted_value = np.empty(classes, np.float64)
    take = np.zeros(classes, np.int64)
    for k in range(nodes):
        for c in range(classes):
            j = ranked[head[c]]
            value[c] = weight[j] * (1.0 + balance * (left[c] / total[c] - (nodes - k) / nodes))
            slope[c] = -value[c] / compute[j]
        by_slope = np.argsort(slope, kind="mergesort")
        for c in range(classes):
            j = ranked[head[by_slope[c]]]
            rate[c] = compute[j]
            mb[c] = memory[j]
            most[c] = left[by_slope[c]]
            sorted_value[c] = value[by_slope[c]]
        _fullest(rate, mb, most, sorted_value, capacity, capacity_mb, limit, take)
        for a in range(classes):
            c = by_slope[a]
            for _ in range(take[a]):
                left[c] -= 1
                place[ranked[head[c] + left[c]]] = k
    return place


@njit(cache=True, nogil=True)
def _fullest(rate, memory, most, value, capacity, capacity_mb, limit, best_take):  # type: ignore[no-untyped-def]
    """The counts of largest total value for one node, classes by descending value per sample; greedy first."""
    classes = len(rate)
    take = np.zeros(classes, np.int64)
    opened = np.zeros(classes, np.bool_)
    best_take[:] = 0
    room = capacity
    room_mb = capacity_mb
    total = 0.0
    best = 0.0
    steps = 0
    level = 0
    while level >= 0:
        if level == classes:
            if total > best:
                best = total
                best_take[:] = take
            level -= 1
            continue
        if not opened[level]:
            steps += 1
            if steps > limit or total + value[level] / rate[level] * room <= best * (1 + 1e-12):
                if total > best:
                    best = total
                    best_take[:] = take
                level -= 1
                continue
            opened[level] = True
            count = min(most[level], room // rate[level], room_mb // memory[level])
            take[level] = count
            room -= count * rate[level]
            room_mb -= count * memory[level]
            total += count * value[level]
            level += 1
            continue
        if take[level] == 0 or steps > limit:
            room += take[level] * rate[level]
            room_mb += take[level] * memory[level]
            total -= take[level] * value[level]
            take[level] = 0
            opened[level] = False
            level -= 1
            continue
        take[level] -= 1
        room += rate[level]
        room_mb += memory[level]
        total -= value[level]
        level += 1


@njit(cache=True, nogil=True)
def _best_fill(compute, memory, weight, capacity, capacity_mb, nodes, seed):  # type: ignore[no-untyped-def]
    """The packing of least weight left over among several balances, then repacked where something is left."""
    best = np.empty(0, np.int64)
    least = np.inf
    for balance in (0.03, 0.0, 0.2):
        place = fill_nodes(compute, memory, weight, capacity, capacity_mb, nodes, 2000, balance)
        left = 0.0
        for j in range(len(compute)):
            if place[j] < 0:
                left += weight[j]
        if left < least:
            least = left
            best = place
        if least == 0.0:
            return best
    repack_nodes(compute, memory, weight, capacity, capacity_mb, nodes, best, REPACKS, seed)
    return best


@njit(cache=True, nogil=True)
def repack_nodes(compute, memory, weight, capacity, capacity_mb, nodes, place, tries, seed):  # type: ignore[no-untyped-def]
    """Try to place what `fill_nodes` left over: empty three nodes at random, and fill them again together with it.

    A refilling stands when no less weight is placed; `place` is changed.
    """
    count = len(compute)
    few = min(3, nodes)
    item = np.empty(count, np.int64)
    part_compute = np.empty(count, np.int64)
    part_memory = np.empty(count, np.int64)
    part_weight = np.empty(count, np.float64)
    chosen = np.empty(few, np.int64)
    for _ in range(tries):
        left = 0
        for j in range(count):
            if place[j] < 0:
                left += 1
        if left == 0:
            return
        for a in range(few):
            chosen[a] = _below(seed, nodes)
            repeated = True
            while repeated:
                repeated = False
                for b in range(a):
                    if chosen[b] == chosen[a]:
                        chosen[a] = (chosen[a] + 1) % nodes
                        repeated = True
        size = 0
        before = 0.0
        for j in range(count):
            taken = place[j] < 0
            for a in range(few):
                if place[j] == chosen[a]:
                    taken = True
            if taken:
                item[size] = j
                part_compute[size] = compute[j]
                part_memory[size] = memory[j]
                # A little noise breaks ties between classes another way each time.
                part_weight[size] = weight[j] * (1.0 + 1e-3 * _unit(seed))
                if place[j] >= 0:
                    before += weight[j]
                size += 1
        refilled = fill_nodes(
            part_compute[:size], part_memory[:size], part_weight[:size], capacity, capacity_mb, few, 500, 0.0
        )
        after = 0.0
        for a in range(size):
            if refilled[a] >= 0:
                after += weight[item[a]]
        if after >= before * (1 - 1e-12):
            for a in range(size):
                place[item[a]] = chosen[refilled[a]] if refilled[a] >= 0 else -1


def state_of(instance: Instance, p: Pool, solution: Solution) -> State:
    """The state of a feasible solution; decisions of tasks outside the pool or of no welfare are left out."""
    s = empty_state(p)
    at, _, type_of = _layout(p)
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
