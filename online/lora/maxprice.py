"""The best schedule under pdFTSP's max-price objective (10), exactly (9) or by the printed dynamic programme (13).

    F(il) = b_il - max lambda * S - max phi * R,      S = sum s_kt(il),  R = r_i * n,  b_il = b_i - q_in - E

The maximum runs over all schedules of all pre-processing options. Ties (specs of the project): fewest cells, then the
lexicographically smallest list of (slot, node); between options the first in list order.

Prices come as ranks (integers that order them exactly) and values. With `Fraction` values the searches are exact: the
compiled kernel works in doubles and keeps every candidate within a rigorous tolerance of the best, and the exact values
decide among those. With float values the order of operations is fixed: ((b - q - E) - lambda*S) - phi*(r*n).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.lora.schedules import FAR, Space, States, cover_table, first_cover, space, states
from instances.lora.model import IntArray, Public, Task


class Prices(NamedTuple):
    """Prices on the cells of a task's window, as ranks into sorted value lists; [0, ...] where all are zero.

    Parameters
    ----------
    lam_rank, phi_rank : (K', W) ranks of lambda_kt and phi_kt; rows are the nodes of the usable types in order.
    lam, phi : (number of ranks,) the values as doubles, ascending.
    lam_exact, phi_exact : the same as fractions, or None in float arithmetic.
    """

    lam_rank: IntArray
    phi_rank: IntArray
    lam: NDArray[np.float64]
    phi: NDArray[np.float64]
    lam_exact: list[Fraction] | None
    phi_exact: list[Fraction] | None


class Choice(NamedTuple):
    """The schedule that a search returns, whatever the sign of its F.

    Parameters
    ----------
    value : F(il), a Fraction in exact arithmetic, else a float.
    option : index into the task's options.
    cells : (node, slot) in slot order.
    work, energy : S in samples and E in micro-dollars.
    net : b_il = b_i - q_in - E, micro-dollars.
    """

    value: Fraction | float
    option: int
    cells: tuple[tuple[int, int], ...]
    work: int
    energy: int
    net: int


@njit(cache=True, nogil=True)
def _usable(lam_rank, phi_rank, first_node, lam_top, phi_top, usable, node):  # type: ignore[no-untyped-def]
    """Cells (g, t) with a node whose prices are at most the thresholds, and the first such node."""
    types, width = usable.shape
    for g in range(types):
        for t in range(width):
            usable[g, t] = False
            for k in range(first_node[g], first_node[g + 1]):
                if lam_rank[k, t] <= lam_top and phi_rank[k, t] <= phi_top:
                    usable[g, t] = True
                    node[g, t] = k
                    break


@njit(cache=True, nogil=True)
def _can_cover(usable, rates, work):  # type: ignore[no-untyped-def]
    types, width = usable.shape
    total = 0
    for t in range(width):
        fastest = 0
        for g in range(types):
            if usable[g, t] and rates[g] > fastest:
                fastest = rates[g]
        total += fastest
        if total >= work:
            return True
    return False


@njit(cache=True, nogil=True)
def _threshold_search(  # type: ignore[no-untyped-def]
    lam_rank, phi_rank, lam, phi, first_node, cost, rates, work, memory, less, state_work, state_cells,
    offsets, net, cheapest, least_cells, tolerance, found, best,
):  # fmt: skip
    """Best F over all threshold pairs; rows [lam, phi, option, state] of every candidate within `tolerance` of it.

    Called with `best` = -inf to find the best value, then with that value to collect (found has rows): two passes keep
    the list short whatever the order in which the candidates come.

    A pair (lam, phi) admits the cells priced at most so; on them the least E per count vector is a covering dynamic
    programme. lam runs over the values that some (type, slot) needs, phi likewise given lam. A pair is skipped when even
    the option's energy-only optimum cannot reach the best value: S >= M and n >= ceil(M / fastest rate).
    """
    types, width = cost.shape
    size = less.shape[0]
    options = len(offsets)
    collecting = found.shape[0] > 0
    rows = 0
    usable = np.zeros((types, width), np.bool_)
    table = np.empty((width + 1, size), np.int64)
    phi_floor = np.empty((types, width), np.int64)
    top = -np.inf
    for option in range(options):
        if cheapest[option] < FAR:
            top = max(top, float(net[option] - cheapest[option]))
    none = len(phi)
    # The prices that matter: a node is of use at (g, t) only if no other node there is as cheap in both.
    wanted_lam = np.zeros(len(lam), np.bool_)
    for g in range(types):
        for t in range(width):
            floor = none
            order = np.argsort(lam_rank[first_node[g] : first_node[g + 1], t], kind="mergesort")
            for j in order:
                k = first_node[g] + j
                if phi_rank[k, t] < floor:
                    floor = phi_rank[k, t]
                    wanted_lam[lam_rank[k, t]] = True
    wanted_phi = np.zeros(none, np.bool_)
    for i in range(len(lam)):
        if not wanted_lam[i]:
            continue
        if top - lam[i] * work < best - tolerance:
            break
        wanted_phi[:] = False
        for g in range(types):
            for t in range(width):
                floor = none
                for k in range(first_node[g], first_node[g + 1]):
                    if lam_rank[k, t] <= i and phi_rank[k, t] < floor:
                        floor = phi_rank[k, t]
                phi_floor[g, t] = floor
                if floor < none:
                    wanted_phi[floor] = True
        for j in range(none):
            if not wanted_phi[j]:
                continue
            if top - lam[i] * work - phi[j] * (memory * least_cells) < best - tolerance:
                break
            for g in range(types):
                for t in range(width):
                    usable[g, t] = phi_floor[g, t] <= j
            if not _can_cover(usable, rates, work):
                continue
            cover_table(cost, usable, less, FAR, table)
            for option in range(options):
                if offsets[option] >= width:
                    continue
                for x in range(size):
                    energy = table[offsets[option], x]
                    if state_work[x] >= work and energy < FAR:
                        value = float(net[option] - energy) - lam[i] * state_work[x]
                        value = value - phi[j] * (memory * state_cells[x])
                        if collecting:
                            if value >= best - tolerance:
                                if rows < found.shape[0]:
                                    found[rows, 0] = i
                                    found[rows, 1] = j
                                    found[rows, 2] = option
                                    found[rows, 3] = x
                                rows += 1
                        elif value > best:
                            best = value
    return best, rows


def _negative_slots(cost: IntArray) -> IntArray:
    return np.count_nonzero(cost < 0, axis=1).astype(np.int64)


class _Problem(NamedTuple):
    """What both searches need of a task: its window, count vectors and costs on the usable types."""

    menu: Space
    x: States
    cost: IntArray
    first_node: IntArray
    nodes: IntArray
    net: IntArray


def window(task: Task, public: Public) -> tuple[Space, IntArray] | None:
    """The task's space and the numbers of the nodes it can use; None without a usable slot or node."""
    menu = space(task, public)
    if menu.width == 0 or len(menu.types) == 0:
        return None
    first = public.first_node
    nodes = np.concatenate([np.arange(first[g], first[g + 1]) for g in menu.types])
    return menu, nodes


def _problem(task: Task, public: Public, menu: Space, nodes: IntArray) -> _Problem:
    cost = np.ascontiguousarray(task.cost[menu.types, menu.first - 1 : menu.last])
    x = states(menu.rates, task.work, menu.width, _negative_slots(cost))
    sizes = np.array([public.node_types[g].count for g in menu.types])
    first_node = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return _Problem(menu, x, cost, first_node, nodes, task.bid - menu.prices)


def exact_search(task: Task, public: Public, menu: Space, nodes: IntArray, prices: Prices) -> Choice | None:
    """The schedule that maximises F (9), by thresholds on both prices and a covering dynamic programme for each pair.

    Returns None when the task has no schedule at all. Source: theory of (10): given its two maxima, a schedule's F is
    additive over cells.
    """
    p = _problem(task, public, menu, nodes)
    everywhere = np.ones(p.cost.shape, np.bool_)
    table = np.empty((menu.width + 1, len(p.x.work)), np.int64)
    cover_table(p.cost, everywhere, p.x.less, FAR, table)
    covering = p.x.work >= task.work
    cheapest = np.array(
        [table[o, covering].min(initial=FAR) if o < menu.width else FAR for o in menu.offsets.tolist()], np.int64
    )
    if (cheapest >= FAR).all():
        return None
    fastest = int(menu.rates.max())
    exact = prices.lam_exact is not None
    # In doubles each of the three terms of a near-best F is off by a few units in the last place of at most `scale`.
    scale = float(task.bid + int(menu.prices.max(initial=0)) + int(np.abs(p.cost).max(axis=0).sum()) + 1)
    tolerance = 1e-12 * scale if exact else 0.0

    def sweep(found: IntArray, best: float, slack: float) -> tuple[float, int]:
        value, rows = _threshold_search(
            prices.lam_rank, prices.phi_rank, prices.lam, prices.phi, p.first_node, p.cost, menu.rates, task.work,
            task.memory_mb, p.x.less, p.x.work, p.x.cells, menu.offsets, p.net, cheapest, -(-task.work // fastest),
            slack, found, best,
        )  # fmt: skip
        return float(value), int(rows)

    best, _ = sweep(np.empty((0, 4), np.int64), -np.inf, tolerance)
    tolerance += 1e-12 * abs(best) if exact else 0.0
    found = np.empty((64, 4), np.int64)
    _, rows = sweep(found, best, tolerance)
    if rows > len(found):
        found = np.empty((rows, 4), np.int64)
        sweep(found, best, tolerance)
    return _best_candidate(task, prices, p, found[:rows])


def _best_candidate(task: Task, prices: Prices, p: _Problem, found: IntArray) -> Choice:
    """The winner among near-best (threshold pair, option, count vector) rows, by exact values and the tie rules."""
    usable = np.zeros(p.cost.shape, np.bool_)
    node = np.zeros(p.cost.shape, np.int64)
    table = np.empty((p.menu.width + 1, len(p.x.work)), np.int64)
    graded: list[tuple[Any, int, int, int, int, int, int]] = []
    pair: tuple[int, int] | None = None
    for i, j, option, x in found.tolist():
        if pair != (i, j):
            pair = (i, j)
            _usable(prices.lam_rank, prices.phi_rank, p.first_node, i, j, usable, node)
            cover_table(p.cost, usable, p.x.less, FAR, table)
        energy = int(table[p.menu.offsets[option], x])
        value = objective(
            prices, i, j, int(p.net[option]) - energy, int(p.x.work[x]), task.memory_mb, int(p.x.cells[x])
        )
        graded.append((-value, option, int(p.x.cells[x]), i, j, x, energy))
    graded.sort()
    head = graded[0][:3]
    best: tuple[list[tuple[int, int]], int, int] | None = None
    for row in graded:
        if row[:3] != head:
            break
        _, option, _, i, j, x, energy = row
        _usable(prices.lam_rank, prices.phi_rank, p.first_node, i, j, usable, node)
        cover_table(p.cost, usable, p.x.less, FAR, table)
        rows = first_cover(p.cost, usable, node, p.x.less, FAR, table, int(p.menu.offsets[option]), x)
        listed = [(int(t) + p.menu.first, int(p.nodes[k])) for k, t in rows]
        if best is None or listed < best[0]:
            best = (listed, x, energy)
    assert best is not None
    listed, x, energy = best
    option = int(head[1])
    return Choice(
        value=-head[0],
        option=option,
        cells=tuple((k, t) for t, k in listed),
        work=int(p.x.work[x]),
        energy=energy,
        net=int(p.net[option]) - energy,
    )


def objective(prices: Prices, i: int, j: int, net: int, work: int, memory: int, cells: int) -> Fraction | float:
    """F of a schedule whose price maxima have ranks i and j, in the arithmetic of the prices."""
    if prices.lam_exact is not None and prices.phi_exact is not None:
        return net - prices.lam_exact[i] * work - prices.phi_exact[j] * (memory * cells)
    return (float(net) - float(prices.lam[i]) * work) - float(prices.phi[j]) * (memory * cells)


@njit(cache=True, nogil=True)
def _printed_table(  # type: ignore[no-untyped-def]
    lam_rank, phi_rank, lam, phi, first_node, cost, rates, memory, less, goal, start,
    objective_, s_, n_, e_, lam_, phi_, from_node,
):  # fmt: skip
    """The dynamic programme (13) in doubles; each state keeps one path by its S, n, E and price ranks.

    State 0 is the empty prefix; state `goal` is M. less[w, g] is the state of max(0, w - s_g).
    from_node[t, w] is the node (row) that the path ends with in slot t, or -1 where it skips t.
    """
    types, width = cost.shape
    size = less.shape[0]
    for w in range(size):
        objective_[0, w] = np.inf
    objective_[0, 0] = 0.0
    s_[0, 0] = 0
    n_[0, 0] = 0
    e_[0, 0] = 0
    lam_[0, 0] = -1
    phi_[0, 0] = -1
    for t in range(start, width):
        a = t - start
        b = a + 1
        for w in range(size):
            objective_[b, w] = objective_[a, w]
            s_[b, w] = s_[a, w]
            n_[b, w] = n_[a, w]
            e_[b, w] = e_[a, w]
            lam_[b, w] = lam_[a, w]
            phi_[b, w] = phi_[a, w]
            from_node[b, w] = -1
        for g in range(types):
            for k in range(first_node[g], first_node[g + 1]):
                # A node that is no cheaper in either price than an earlier one of its type can never be strictly
                # better than what that one has already made of the state.
                dominated = False
                for m in range(first_node[g], k):
                    if lam_rank[m, t] <= lam_rank[k, t] and phi_rank[m, t] <= phi_rank[k, t]:
                        dominated = True
                        break
                if dominated:
                    continue
                for w in range(1, size):
                    source = less[w, g]
                    if objective_[a, source] == np.inf:
                        continue
                    i = max(lam_[a, source], lam_rank[k, t])
                    j = max(phi_[a, source], phi_rank[k, t])
                    s = s_[a, source] + rates[g]
                    n = n_[a, source] + 1
                    e = e_[a, source] + cost[g, t]
                    value = lam[i] * s + phi[j] * (memory * n) + e
                    if value < objective_[b, w]:
                        objective_[b, w] = value
                        s_[b, w] = s
                        n_[b, w] = n
                        e_[b, w] = e
                        lam_[b, w] = i
                        phi_[b, w] = j
                        from_node[b, w] = k


def _residuals(rates: IntArray, work: int, width: int) -> tuple[list[int], IntArray]:
    """The amounts w reachable from M by subtracting rates (clipped at 0), ascending, and for each its successors."""
    reached = {work}
    frontier = [work]
    for _ in range(width):
        frontier = sorted({max(0, w - int(s)) for w in frontier for s in rates} - reached)
        if not frontier:
            break
        reached.update(frontier)
    reached.add(0)
    amounts = sorted(reached)
    index = {w: j for j, w in enumerate(amounts)}
    # An amount first reached after `width` subtractions has no successor in the list and needs none.
    less = [[index.get(max(0, w - int(s)), j) for s in rates] for j, w in enumerate(amounts)]
    return amounts, np.array(less, dtype=np.int64).reshape(len(amounts), len(rates))


def printed_search(task: Task, public: Public, menu: Space, nodes: IntArray, prices: Prices) -> Choice | None:
    """The schedule that Algorithm 2 finds: one path per state, path maxima as running prices, overshoot clipped.

    Candidates in a state come in the order skip, node 0, 1, ...; one replaces the former only when strictly smaller.
    Options in list order, strictly better wins. The result can be worse than (9): running maxima break the principle
    of optimality. Returns None when no option has a schedule.
    """
    p = _problem(task, public, menu, nodes)
    amounts, less = _residuals(menu.rates, task.work, menu.width)
    goal = len(amounts) - 1
    best: Choice | None = None
    run = _printed_exact if prices.lam_exact is not None else _printed_float
    for option, offset in enumerate(menu.offsets.tolist()):
        if offset >= menu.width:
            continue
        path = run(task, prices, p, less, goal, offset)
        if path is None:
            continue
        i, j, work, cells, energy = path
        net = int(p.net[option]) - energy
        value = objective(prices, i, j, net, work, task.memory_mb, len(cells))
        if best is None or value > best.value:
            best = Choice(value, option, cells, work, energy, net)
    return best


_Path = tuple[int, int, int, tuple[tuple[int, int], ...], int]


def _printed_float(task: Task, prices: Prices, p: _Problem, less: IntArray, goal: int, offset: int) -> _Path | None:
    shape = (p.menu.width - offset + 1, len(less))
    objective_ = np.empty(shape)
    s_, n_, e_, lam_, phi_, from_node = (np.zeros(shape, np.int64) for _ in range(6))
    _printed_table(
        prices.lam_rank, prices.phi_rank, prices.lam, prices.phi, p.first_node, p.cost, p.menu.rates, task.memory_mb,
        less, goal, offset, objective_, s_, n_, e_, lam_, phi_, from_node,
    )  # fmt: skip
    layer = shape[0] - 1
    if objective_[layer, goal] == np.inf:
        return None
    type_of = np.searchsorted(p.first_node, np.arange(len(p.nodes)), side="right") - 1
    cells = []
    w = goal
    for b in range(layer, 0, -1):
        k = int(from_node[b, w])
        if k >= 0:
            cells.append((int(p.nodes[k]), p.menu.first + offset + b - 1))
            w = int(less[w, type_of[k]])
    end = (layer, goal)
    return int(lam_[end]), int(phi_[end]), int(s_[end]), tuple(reversed(cells)), int(e_[end])


def _printed_exact(task: Task, prices: Prices, p: _Problem, less: IntArray, goal: int, offset: int) -> _Path | None:
    """The same dynamic programme with exact comparisons: doubles decide where they safely can, fractions otherwise."""
    assert prices.lam_exact is not None
    assert prices.phi_exact is not None
    lam, phi = prices.lam.tolist(), prices.phi.tolist()
    lam_exact, phi_exact = prices.lam_exact, prices.phi_exact
    r = task.memory_mb
    cost, rates = p.cost.tolist(), p.menu.rates.tolist()
    lam_rank, phi_rank = prices.lam_rank.tolist(), prices.phi_rank.tolist()
    pred = less.tolist()
    # A path: (float objective, S, n, E, lam rank, phi rank, previous path, node row, slot offset).
    layer: list[Any] = [None] * len(pred)
    layer[0] = (0.0, 0, 0, 0, -1, -1, None, -1, -1)
    for t in range(offset, p.menu.width):
        new = list(layer)
        for g, rate in enumerate(rates):
            kept: list[tuple[int, int]] = []
            for k in range(int(p.first_node[g]), int(p.first_node[g + 1])):
                a, b = lam_rank[k][t], phi_rank[k][t]
                if any(i <= a and j <= b for i, j in kept):
                    continue
                kept.append((a, b))
                for w in range(1, len(pred)):
                    source = layer[pred[w][g]]
                    if source is None:
                        continue
                    i = a if a > source[4] else source[4]
                    j = b if b > source[5] else source[5]
                    s, n, e = source[1] + rate, source[2] + 1, source[3] + cost[g][t]
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
    end = layer[goal]
    if end is None:
        return None
    cells: list[tuple[int, int]] = []
    path = end
    while path[6] is not None:
        cells.append((int(p.nodes[path[7]]), p.menu.first + path[8]))
        path = path[6]
    return end[4], end[5], end[1], tuple(reversed(cells)), end[3]
