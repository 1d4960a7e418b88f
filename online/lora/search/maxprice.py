"""The best schedule under pdFTSP's max-price objective (10), exactly (9) or by the printed dynamic programme (13).

    F(il) = b_il - max lambda * S - max phi * R,      S = sum s_kt(il),  R = r_i * n,  b_il = b_i - q_in - E

Ties: between options the first, then fewest cells, then the lexicographically smallest list of (slot, node). Prices are
doubles, in a fixed order of operations, ((b - q - E) - lambda*S) - phi*(r*n), or fractions given by their ranks. Then
kernels in doubles keep every candidate within a rigorous tolerance of the best, and exact values decide among those.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.covering.schedules import Space, space, states
from ratiobench.instances.lora.model import IntArray, Public, Task, freeze
from ratiobench.online.lora.search.running_maxima import amounts, best_path, records
from ratiobench.online.lora.search.thresholds import Cells, best_pairs, first_schedule, layout, rank_prices


class Prices(NamedTuple):
    """Prices on the cells of a task's window; rows are the nodes of the usable types in order."""

    # lam, phi: (K', W) prices as doubles, or in exact arithmetic their ranks (int64) in the lists below.
    lam: NDArray[Any]
    phi: NDArray[Any]
    # lam_exact, phi_exact: the distinct prices as fractions, ascending; None in float arithmetic.
    lam_exact: list[Fraction] | None
    phi_exact: list[Fraction] | None


def slot_by_slot(prices: Prices) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """lam and phi as the compiled searches take them: (W, K') doubles, a slot's nodes side by side in memory."""
    # Not in Fortran order, which numba does not tell from C order where there is one node or slot. Ranks become doubles
    # too, which hold them exactly, so that the searches are compiled once.
    return np.ascontiguousarray(prices.lam.T, np.float64), np.ascontiguousarray(prices.phi.T, np.float64)


class Choice(NamedTuple):
    """The schedule that a search returns, whatever the sign of its F."""

    value: Fraction | float  # F(il), a Fraction in exact arithmetic, else a float
    option: int  # index into the task's options
    cells: tuple[tuple[int, int], ...]  # (node, slot) in slot order
    work: int  # work, energy: S in samples and E in micro-dollars
    energy: int
    net: int  # b_il = b_i - q_in - E, micro-dollars


def window(task: Task, public: Public) -> tuple[Space, IntArray] | None:
    """The task's space and the numbers of the nodes it can use; None without a usable slot or node."""
    menu = space(task, public)
    if menu.width == 0 or len(menu.types) == 0:
        return None
    return menu, _nodes(public, tuple(menu.types.tolist()))


@lru_cache(maxsize=256)
def _nodes(public: Public, types: tuple[int, ...]) -> IntArray:
    first = public.first_node
    return freeze(np.concatenate([np.arange(first[g], first[g + 1]) for g in types]))


def exact_search(task: Task, public: Public, menu: Space, nodes: IntArray, prices: Prices) -> Choice | None:
    """The schedule that maximises F (9): given its two largest prices, a schedule's F is additive over cells."""
    # The slowest type first: its counts are the longest rows of the dynamic programme.
    by_rate = np.argsort(menu.rates, kind="stable")
    rates = menu.rates[by_rate]
    cost = np.ascontiguousarray(task.cost[menu.types[by_rate], menu.first - 1 : menu.last])
    x = states(rates, task.work, menu.width, (cost < 0).sum(axis=1).astype(np.int64), task.index)
    covers = layout(x, cost, rates, task.work)
    sizes = _sizes(public)[menu.types]
    after = np.cumsum(sizes)
    first, last = (after - sizes)[by_rate], after[by_rate]
    lam, phi = slot_by_slot(prices)
    begin, lam_at, phi_at, lam_keys, phi_keys = rank_prices(lam, phi, first, last)
    cells = Cells(begin, lam_at, phi_at, _doubles(lam_keys, prices.lam_exact), _doubles(phi_keys, prices.phi_exact))
    exact = prices.lam_exact is not None
    # In doubles each of the three terms of a near-best F is off by a few units in the last place of at most `scale`.
    scale = float(task.bid + int(menu.prices.max(initial=0)) + int(np.abs(cost).max(axis=0).sum()) + 1)
    net = task.bid - menu.prices
    best, found = best_pairs(covers, cells, task.memory_mb, menu.offsets, net, scale, 1e-12 if exact else 0.0)
    if best == -np.inf:
        return None
    graded: list[tuple[Any, int, int, int, int, int, int]] = []
    for i, j, option, state, energy in found.tolist():
        n = int(x.cells[state])
        value = objective(
            prices, lam_keys[i], phi_keys[j], int(net[option]) - energy, int(x.work[state]), task.memory_mb, n
        )
        graded.append((-value, option, n, i, j, state, energy))
    graded.sort()
    head = graded[0][:3]
    listed: list[tuple[list[list[int]], int, int]] = []
    for _, option, _, i, j, state, energy in (row for row in graded if row[:3] == head):
        chosen = first_schedule(
            covers, cells, lam, phi, lam_keys[i], phi_keys[j], first, last, i, j, menu.offsets[option], state
        )
        listed.append((chosen.tolist(), state, energy))
    schedule, state, energy = min(listed, key=lambda each: each[0])
    option = head[1]
    return Choice(
        value=-head[0],
        option=option,
        cells=tuple((int(nodes[k]), t + menu.first) for t, k in schedule),
        work=int(x.work[state]),
        energy=energy,
        net=int(net[option]) - energy,
    )


@lru_cache(maxsize=16)
def _sizes(public: Public) -> IntArray:
    return np.array([node.count for node in public.node_types], dtype=np.int64)


def _doubles(keys: NDArray[np.float64], exact: list[Fraction] | None) -> NDArray[np.float64]:
    if exact is None:
        return keys
    return np.array([float(exact[int(key)]) for key in keys.tolist()])


def objective(prices: Prices, lam: float, phi: float, net: int, work: int, memory: int, cells: int) -> Fraction | float:
    """F of a schedule whose largest prices are `lam` and `phi` (doubles, or ranks in exact arithmetic)."""
    if prices.lam_exact is not None and prices.phi_exact is not None:
        return net - prices.lam_exact[int(lam)] * work - prices.phi_exact[int(phi)] * (memory * cells)
    return (float(net) - float(lam) * work) - float(phi) * (memory * cells)


def printed_search(task: Task, public: Public, menu: Space, nodes: IntArray, prices: Prices) -> Choice | None:
    """The schedule that Algorithm 2 finds; it can be worse: running maxima break the principle of optimality."""
    cost = np.ascontiguousarray(task.cost[menu.types, menu.first - 1 : menu.last])
    first_node = np.concatenate([[0], np.cumsum(_sizes(public)[menu.types])])
    less, depth = amounts(menu.rates, task.work, menu.width, task.index)
    lam, phi = slot_by_slot(prices)
    result = records(lam, phi, first_node)
    net = task.bid - menu.prices
    if prices.lam_exact is None:
        option, value, work, energy, taken = best_path(
            *result, first_node, cost, menu.rates, task.memory_mb, less, depth, menu.offsets, net
        )
        if option < 0:
            return None
        cells = tuple((int(nodes[k]), t + menu.first) for k, t in taken.tolist())
        return Choice(value, option, cells, work, energy, int(net[option]) - energy)
    best: Choice | None = None
    for option, offset in enumerate(menu.offsets.tolist()):
        path = _printed_exact(task, prices, result, cost, menu.rates, less, offset)
        if path is None:
            continue
        i, j, work, taken, energy = path
        gain = int(net[option]) - energy
        value = objective(prices, i, j, gain, work, task.memory_mb, len(taken))
        if best is None or value > best.value:
            cells = tuple((int(nodes[k]), t + menu.first) for k, t in taken)
            best = Choice(value, option, cells, work, energy, gain)
    return best


def _printed_exact(
    task: Task,
    prices: Prices,
    selection: tuple[NDArray[Any], ...],
    cost: IntArray,
    rates: IntArray,
    less: IntArray,
    offset: int,
) -> tuple[int, int, int, list[tuple[int, int]], int] | None:
    """(rank of the largest lambda, of the largest phi, S, [(node row, slot offset)], E) of the path of an option."""
    # The programme of `best_path` with exact comparisons: doubles decide where they safely can, fractions otherwise.
    assert prices.lam_exact is not None
    assert prices.phi_exact is not None
    lam_exact, phi_exact = prices.lam_exact, prices.phi_exact
    lam, phi = [float(value) for value in lam_exact], [float(value) for value in phi_exact]
    r, width = task.memory_mb, cost.shape[1]
    begin, node, lam_rank, phi_rank = (array.astype(np.int64).tolist() for array in selection)
    costs, pred = cost.tolist(), less.tolist()
    # A path: (float objective, S, n, E, lam rank, phi rank, previous path, node row, slot offset).
    layer: list[Any] = [None] * len(pred)
    layer[0] = (0.0, 0, 0, 0, -1, -1, None, -1, -1)
    for t in range(offset, width):
        new = list(layer)
        for g, rate in enumerate(rates.tolist()):
            for entry in range(begin[g * width + t], begin[g * width + t + 1]):
                k, a, b = node[entry], lam_rank[entry], phi_rank[entry]
                for w in range(1, len(pred)):
                    source = layer[pred[w][g]]
                    if source is None:
                        continue
                    i = a if a > source[4] else source[4]
                    j = b if b > source[5] else source[5]
                    s, n, e = source[1] + rate, source[2] + 1, source[3] + costs[g][t]
                    left, right = lam[i] * s, phi[j] * (r * n)
                    value = left + right + e
                    old = new[w]
                    if old is not None:
                        gap = value - old[0]
                        margin = 1e-13 * (left + right + abs(e) + abs(old[0]) + abs(old[3]))
                        if gap > margin:
                            continue
                        if gap >= -margin:
                            if (i, j, s, n, e) == (old[4], old[5], old[1], old[2], old[3]):
                                continue
                            ours = lam_exact[i] * s + phi_exact[j] * (r * n) + e
                            theirs = (
                                Fraction(0)
                                if old[2] == 0
                                else lam_exact[old[4]] * old[1] + phi_exact[old[5]] * (r * old[2]) + old[3]
                            )
                            if ours >= theirs:
                                continue
                    new[w] = (value, s, n, e, i, j, source, k, t)
        layer = new
    end = layer[-1]
    if end is None:
        return None
    cells: list[tuple[int, int]] = []
    path = end
    while path[6] is not None:
        cells.append((path[7], path[8]))
        path = path[6]
    return end[4], end[5], end[1], cells[::-1], end[3]
