"""The best schedule under pdFTSP's max-price objective (10), exactly (9) or by the printed dynamic programme (13).

    F(il) = b_il - max lambda * S - max phi * R,      S = sum s_kt(il),  R = r_i * n,  b_il = b_i - q_in - E

The maximum runs over all schedules of all pre-processing options. Ties (specs of the project): fewest cells, then the
lexicographically smallest list of (slot, node); between options the first in list order.

Prices are doubles, or fractions given by their ranks (integers that order them exactly). With fractions the searches
are exact: the compiled kernel works in doubles and keeps every candidate within a rigorous tolerance of the best, and
the exact values decide among those. With doubles the order of operations is fixed:
((b - q - E) - lambda*S) - phi*(r*n).
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
    """Prices on the cells of a task's window; rows are the nodes of the usable types in order.

    Parameters
    ----------
    lam, phi : (K', W) prices as doubles, or in exact arithmetic their ranks (int64) in the lists below.
    lam_exact, phi_exact : the distinct prices as fractions, ascending; None in float arithmetic.
    """

    lam: NDArray[Any]
    phi: NDArray[Any]
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
def _usable(lam, phi, first_node, lam_top, phi_top, usable, node):  # type: ignore[no-untyped-def]
    """Cells (g, t) with a node whose prices are at most the thresholds, and the first such node."""
    types, width = usable.shape
    for g in range(types):
        for t in range(width):
            usable[g, t] = False
            for k in range(first_node[g], first_node[g + 1]):
                if lam[k, t] <= lam_top and phi[k, t] <= phi_top:
                    usable[g, t] = True
                    node[g, t] = k
                    break


@njit(cache=True, nogil=True)
def _undominated(lam, phi, first_node, entries, lam_of, phi_of):  # type: ignore[no-untyped-def]
    """The cells that no other node of the same type and slot undercuts in both prices: rows [g, t], and their prices.

    Returns the number of rows.
    """
    types = len(first_node) - 1
    width = lam.shape[1]
    rows = 0
    for g in range(types):
        for t in range(width):
            begin = rows
            for k in range(first_node[g], first_node[g + 1]):
                a = lam[k, t]
                b = phi[k, t]
                beaten = False
                for j in range(begin, rows):
                    if lam_of[j] <= a and phi_of[j] <= b:
                        beaten = True
                        break
                if beaten:
                    continue
                write = begin
                for j in range(begin, rows):
                    if not (a <= lam_of[j] and b <= phi_of[j]):
                        lam_of[write] = lam_of[j]
                        phi_of[write] = phi_of[j]
                        write += 1
                lam_of[write] = a
                phi_of[write] = b
                rows = write + 1
            for j in range(begin, rows):
                entries[j, 0] = g
                entries[j, 1] = t
    return rows


@njit(cache=True, nogil=True)
def _energy_floor(usable, order_type, order_slot, ratio, rates, fastest, offset, work):  # type: ignore[no-untyped-def]
    """(E, n): lower bounds on the energy and the number of cells of any cover from `offset` on; E = inf if none.

    Fractional relaxation: each slot gives at most its fastest usable rate, at its least energy per sample. `order`
    lists the cells by that ratio.
    """
    types, width = usable.shape
    for t in range(width):
        fastest[t] = 0
    for t in range(offset, width):
        for g in range(types):
            if usable[g, t] and rates[g] > fastest[t]:
                fastest[t] = rates[g]
    # Cells: the fewest slots that can cover, taking types from the fastest down.
    left = work
    n = 0
    previous = np.iinfo(np.int64).max
    while left > 0:
        speed = 0
        for g in range(types):
            if rates[g] < previous and rates[g] > speed:
                speed = rates[g]
        if speed == 0:
            return np.inf, n
        previous = speed
        count = 0
        for t in range(offset, width):
            if fastest[t] == speed:
                count += 1
        needed = (left + speed - 1) // speed
        take = min(count, needed)
        n += take
        left -= take * speed
    energy = 0.0
    scale = 0.0
    left = work
    for j in range(len(order_slot)):
        t = order_slot[j]
        if t >= offset and fastest[t] > 0 and usable[order_type[j], t]:
            # Beyond the work only cells of negative cost can lower the energy.
            amount = fastest[t] if ratio[j] < 0 else min(fastest[t], left)
            energy += ratio[j] * amount
            scale += abs(ratio[j] * amount)
            left -= amount
            fastest[t] = 0
            if left < 0:
                left = 0
            if left == 0 and ratio[j] >= 0:
                break
    return np.floor(energy - 1e-9 * scale), n


@njit(cache=True, nogil=True)
def _threshold_search(  # type: ignore[no-untyped-def]
    entries, lam_at, phi_at, lam, phi, cost, rates, order_type, order_slot, ratio, work, memory, less, state_work,
    state_cells, offsets, net, tolerance, found, best,
):  # fmt: skip
    """Best F over all threshold pairs; rows [lam, phi, option, state] of every candidate within `tolerance` of it.

    Called with `best` = -inf to find the best value, then with that value to collect (`found` has rows): two passes
    keep the list short whatever the order in which the candidates come.

    A pair (lam[i], phi[j]) admits the cells priced at most so; on them the least E per count vector is a covering
    dynamic programme. Only prices of undominated cells are tried. A pair is skipped when S >= M and the relaxed E and n
    show for every option that it cannot reach the best value.

    Parameters
    ----------
    entries : (P, 2) [type, slot] of the undominated cells, by ascending lam; lam_at, phi_at : their price indices.
    lam, phi : distinct prices of those cells as doubles, ascending.
    order_type, order_slot, ratio : all cells by ascending energy per sample.
    """
    types, width = cost.shape
    size = less.shape[0]
    options = len(offsets)
    collecting = found.shape[0] > 0
    rows = 0
    usable = np.zeros((types, width), np.bool_)
    table = np.empty((width + 1, size), np.int64)
    none = len(phi)
    phi_floor = np.full((types, width), none, np.int64)
    wanted = np.zeros(none, np.bool_)
    fastest = np.zeros(width, np.int64)
    reachable = np.zeros(options, np.bool_)
    # With every cell open no pair can do better than these.
    usable[:] = True
    top = -np.inf
    fewest = np.iinfo(np.int64).max
    for option in range(options):
        if offsets[option] < width:
            energy, n = _energy_floor(usable, order_type, order_slot, ratio, rates, fastest, offsets[option], work)
            if energy < np.inf:
                top = max(top, net[option] - energy)
                fewest = min(fewest, n)
    if top == -np.inf:
        return best, rows
    position = 0
    for i in range(len(lam)):
        while position < len(lam_at) and lam_at[position] == i:
            g = entries[position, 0]
            t = entries[position, 1]
            if phi_at[position] < phi_floor[g, t]:
                phi_floor[g, t] = phi_at[position]
            position += 1
        if top - lam[i] * work < best - tolerance:
            break
        wanted[:] = False
        for g in range(types):
            for t in range(width):
                if phi_floor[g, t] < none:
                    wanted[phi_floor[g, t]] = True
        for j in range(none):
            if not wanted[j]:
                continue
            if top - lam[i] * work - phi[j] * (memory * fewest) < best - tolerance:
                break
            for g in range(types):
                for t in range(width):
                    usable[g, t] = phi_floor[g, t] <= j
            worth = False
            for option in range(options):
                reachable[option] = False
                if offsets[option] < width:
                    energy, n = _energy_floor(
                        usable, order_type, order_slot, ratio, rates, fastest, offsets[option], work
                    )
                    if energy < np.inf:
                        bound = ((net[option] - energy) - lam[i] * work) - phi[j] * (memory * n)
                        if bound >= best - tolerance:
                            reachable[option] = True
                            worth = True
            if not worth:
                continue
            cover_table(cost, usable, less, FAR, table)
            for option in range(options):
                if not reachable[option]:
                    continue
                for x in range(size):
                    energy_x = table[offsets[option], x]
                    if state_work[x] >= work and energy_x < FAR:
                        value = float(net[option] - energy_x) - lam[i] * state_work[x]
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
    counted: IntArray = np.count_nonzero(cost < 0, axis=1).astype(np.int64)
    return counted


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
    exact = prices.lam_exact is not None
    cells = prices.lam.size
    entries = np.empty((cells, 2), np.int64)
    lam_of, phi_of = np.empty(cells, prices.lam.dtype), np.empty(cells, prices.phi.dtype)
    rows = _undominated(prices.lam, prices.phi, p.first_node, entries, lam_of, phi_of)
    order = np.argsort(lam_of[:rows], kind="stable")
    lam_keys, lam_at = np.unique(lam_of[:rows], return_inverse=True)
    phi_keys, phi_at = np.unique(phi_of[:rows], return_inverse=True)
    thresholds = _Thresholds(
        entries[:rows][order], lam_at[order], phi_at[order], lam_keys, phi_keys,
        _doubles(lam_keys, prices.lam_exact), _doubles(phi_keys, prices.phi_exact),
    )  # fmt: skip
    per_sample = (p.cost / menu.rates[:, None]).ravel()
    by_ratio = np.argsort(per_sample, kind="stable")
    order_type, order_slot = np.divmod(by_ratio, menu.width)
    ratio = per_sample[by_ratio]
    # In doubles each of the three terms of a near-best F is off by a few units in the last place of at most `scale`.
    scale = float(task.bid + int(menu.prices.max(initial=0)) + int(np.abs(p.cost).max(axis=0).sum()) + 1)
    tolerance = 1e-12 * scale if exact else 0.0

    def sweep(found: IntArray, best: float, slack: float) -> tuple[float, int]:
        value, count = _threshold_search(
            thresholds.entries, thresholds.lam_at, thresholds.phi_at, thresholds.lam, thresholds.phi, p.cost,
            menu.rates, order_type, order_slot, ratio, task.work, task.memory_mb, p.x.less, p.x.work, p.x.cells,
            menu.offsets, p.net, slack, found, best,
        )  # fmt: skip
        return float(value), int(count)

    best, _ = sweep(np.empty((0, 4), np.int64), -np.inf, tolerance)
    if best == -np.inf:
        return None
    tolerance += 1e-12 * abs(best) if exact else 0.0
    found = np.empty((64, 4), np.int64)
    _, count = sweep(found, best, tolerance)
    if count > len(found):
        found = np.empty((count, 4), np.int64)
        sweep(found, best, tolerance)
    return _best_candidate(task, prices, p, thresholds, found[:count])


class _Thresholds(NamedTuple):
    """The undominated cells by ascending lambda, their price indices, and the prices as keys and as doubles."""

    entries: IntArray
    lam_at: IntArray
    phi_at: IntArray
    lam_keys: NDArray[Any]
    phi_keys: NDArray[Any]
    lam: NDArray[np.float64]
    phi: NDArray[np.float64]


def _doubles(keys: NDArray[Any], exact: list[Fraction] | None) -> NDArray[np.float64]:
    if exact is None:
        return keys
    return np.array([float(exact[key]) for key in keys.tolist()])


def _best_candidate(task: Task, prices: Prices, p: _Problem, thresholds: _Thresholds, found: IntArray) -> Choice:
    """The winner among near-best (threshold pair, option, count vector) rows, by exact values and the tie rules."""
    usable = np.zeros(p.cost.shape, np.bool_)
    node = np.zeros(p.cost.shape, np.int64)
    table = np.empty((p.menu.width + 1, len(p.x.work)), np.int64)

    def open_up(i: int, j: int) -> None:
        lam_top, phi_top = thresholds.lam_keys[i], thresholds.phi_keys[j]
        _usable(prices.lam, prices.phi, p.first_node, lam_top, phi_top, usable, node)
        cover_table(p.cost, usable, p.x.less, FAR, table)

    graded: list[tuple[Any, int, int, int, int, int, int]] = []
    pair: tuple[int, int] | None = None
    for i, j, option, x in found.tolist():
        if pair != (i, j):
            pair = (i, j)
            open_up(i, j)
        energy = int(table[p.menu.offsets[option], x])
        net, work, cells = int(p.net[option]) - energy, int(p.x.work[x]), int(p.x.cells[x])
        value = objective(prices, thresholds.lam_keys[i], thresholds.phi_keys[j], net, work, task.memory_mb, cells)
        graded.append((-value, option, cells, i, j, x, energy))
    graded.sort()
    head = graded[0][:3]
    best: tuple[list[tuple[int, int]], int, int] | None = None
    for row in graded:
        if row[:3] != head:
            break
        _, option, _, i, j, x, energy = row
        open_up(i, j)
        taken = first_cover(p.cost, usable, node, p.x.less, FAR, table, int(p.menu.offsets[option]), x)
        listed = [(int(t) + p.menu.first, int(p.nodes[k])) for k, t in taken]
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


def objective(
    prices: Prices, lam: float | int, phi: float | int, net: int, work: int, memory: int, cells: int
) -> Fraction | float:
    """F of a schedule whose largest prices are `lam` and `phi` (doubles, or ranks in exact arithmetic)."""
    if prices.lam_exact is not None and prices.phi_exact is not None:
        return net - prices.lam_exact[int(lam)] * work - prices.phi_exact[int(phi)] * (memory * cells)
    return (float(net) - float(lam) * work) - float(phi) * (memory * cells)


@njit(cache=True, nogil=True)
def _records(lam, phi, first_node, kept):  # type: ignore[no-untyped-def]
    """Mark the nodes that some price makes better than every earlier node of their type in the slot."""
    width = lam.shape[1]
    for g in range(len(first_node) - 1):
        for t in range(width):
            for k in range(first_node[g], first_node[g + 1]):
                kept[k, t] = True
                for m in range(first_node[g], k):
                    if kept[m, t] and lam[m, t] <= lam[k, t] and phi[m, t] <= phi[k, t]:
                        kept[k, t] = False
                        break


@njit(cache=True, nogil=True)
def _printed_table(  # type: ignore[no-untyped-def]
    lam, phi, kept, first_node, cost, rates, memory, less, start, objective_, s_, n_, e_, lam_, phi_, from_node,
):  # fmt: skip
    """The dynamic programme (13) in doubles; each state keeps one path by its S, n, E and largest prices.

    State 0 is the empty prefix. less[w, g] is the state of max(0, w - s_g). from_node[t, w] is the node (row) that the
    path ends with in slot t, or -1 where it skips t. A node that is no cheaper in either price than an earlier one of
    its type (not `kept`) can never be strictly better than what that one has already made of a state.
    """
    types, width = cost.shape
    size = less.shape[0]
    for w in range(size):
        objective_[0, w] = np.inf
    objective_[0, 0] = 0.0
    s_[0, 0] = 0
    n_[0, 0] = 0
    e_[0, 0] = 0
    lam_[0, 0] = 0.0
    phi_[0, 0] = 0.0
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
                if not kept[k, t]:
                    continue
                for w in range(1, size):
                    source = less[w, g]
                    if objective_[a, source] == np.inf:
                        continue
                    i = max(lam_[a, source], lam[k, t])
                    j = max(phi_[a, source], phi[k, t])
                    s = s_[a, source] + rates[g]
                    n = n_[a, source] + 1
                    e = e_[a, source] + cost[g, t]
                    value = i * s + j * (memory * n) + e
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
    kept = np.zeros(prices.lam.shape, np.bool_)
    _records(prices.lam, prices.phi, p.first_node, kept)
    best: Choice | None = None
    run = _printed_exact if prices.lam_exact is not None else _printed_float
    for option, offset in enumerate(menu.offsets.tolist()):
        if offset >= menu.width:
            continue
        path = run(task, prices, p, kept, less, goal, offset)
        if path is None:
            continue
        i, j, work, cells, energy = path
        net = int(p.net[option]) - energy
        value = objective(prices, i, j, net, work, task.memory_mb, len(cells))
        if best is None or value > best.value:
            best = Choice(value, option, cells, work, energy, net)
    return best


_Path = tuple[Any, Any, int, tuple[tuple[int, int], ...], int]
"""(largest lambda, largest phi, S, cells, E); prices as doubles or ranks."""


def _printed_float(
    task: Task, prices: Prices, p: _Problem, kept: NDArray[np.bool_], less: IntArray, goal: int, offset: int
) -> _Path | None:
    shape = (p.menu.width - offset + 1, len(less))
    objective_, lam_, phi_ = np.empty(shape), np.empty(shape), np.empty(shape)
    s_, n_, e_, from_node = (np.empty(shape, np.int64) for _ in range(4))
    _printed_table(
        prices.lam, prices.phi, kept, p.first_node, p.cost, p.menu.rates, task.memory_mb, less, offset,
        objective_, s_, n_, e_, lam_, phi_, from_node,
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
    return float(lam_[end]), float(phi_[end]), int(s_[end]), tuple(reversed(cells)), int(e_[end])


def _printed_exact(
    task: Task, prices: Prices, p: _Problem, kept: NDArray[np.bool_], less: IntArray, goal: int, offset: int
) -> _Path | None:
    """The same dynamic programme with exact comparisons: doubles decide where they safely can, fractions otherwise."""
    assert prices.lam_exact is not None
    assert prices.phi_exact is not None
    lam_exact, phi_exact = prices.lam_exact, prices.phi_exact
    lam, phi = [float(value) for value in lam_exact], [float(value) for value in phi_exact]
    r = task.memory_mb
    cost, rates = p.cost.tolist(), p.menu.rates.tolist()
    lam_rank, phi_rank = prices.lam.tolist(), prices.phi.tolist()
    pred = less.tolist()
    # A path: (float objective, S, n, E, lam rank, phi rank, previous path, node row, slot offset).
    layer: list[Any] = [None] * len(pred)
    layer[0] = (0.0, 0, 0, 0, -1, -1, None, -1, -1)
    for t in range(offset, p.menu.width):
        new = list(layer)
        for g, rate in enumerate(rates):
            for k in range(int(p.first_node[g]), int(p.first_node[g + 1])):
                if not kept[k, t]:
                    continue
                a, b = lam_rank[k][t], phi_rank[k][t]
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
