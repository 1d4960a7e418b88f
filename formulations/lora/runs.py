"""Bound and solutions for instances whose tasks are rigid, gangs, or of several kinds.

Upper end: prices lam of compute and phi of memory per node type and slot. At such prices a task that is never paused
answers with its best run, a sum over slots in a row, which prefix sums give for every start. A subgradient method looks
for prices of least dual value; what they prove is computed in integers by `ratiobench.formulations.lora.verify`, each
task by its own kind.

Lower end: list schedules along these prices, then ruin and recreate. A task of another kind is scheduled as a run of
one node, which is one of its schedules. Source of the bound: weak duality, as for P; a gang's part is a cell like any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, inlined, sort_stably
from ratiobench.formulations.lora.heuristic.packing import draw_below, draw_unit
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.restriction import list_runs
from ratiobench.instances.lora.solution import Decision, Solution
from ratiobench.instances.seeds import Stream

Prices = NDArray[np.float64]

ROUNDS = 400
"""Rounds of the subgradient method per unit of effort, up to four units."""
LISTS = 100
"""List schedules in drawn orders per unit of effort."""
BLOCKS_PER_TASK, MOST_BLOCKS = 100, 200_000
"""Blocks of ruin and recreate per unit of effort: so many per task, and at most so many."""
CHUNK = 2_000
"""Blocks between two looks at the clock."""
MOST_OUT = 8
"""Most tasks that one block takes out."""


class Runs(NamedTuple):
    """The tasks of an instance that have a run, in flat arrays; slots from 0 here.

    Parameters
    ----------
    task : (n,) index in the instance.
    bid, memory, parts : (n,).
    entry_start : (n+1,); an entry is a node type and a pre-processing option of a task.
    kind, vendor, price, length, low, high : (entries,) node type, option (-1 for none) and its price, slots of the run,
        first and last start.
    rate : (entries,) samples per slot of a part.
    row, factor : (entries,) the operational cost of a part in slots s .. s+n-1 is factor times
        sums[row, s+n] - sums[row, s].
    sums : (rows, T+1) prefix sums, micro-dollars.
    place : (n+1,) where a task's nodes begin in a flat array of nodes.
    first_node : (G+1,); compute, capacity_mb : (G,) C_kp and C_km - r_b.
    """

    task: IntArray
    bid: IntArray
    memory: IntArray
    parts: IntArray
    entry_start: IntArray
    kind: IntArray
    vendor: IntArray
    price: IntArray
    length: IntArray
    low: IntArray
    high: IntArray
    rate: IntArray
    row: IntArray
    factor: IntArray
    sums: IntArray
    place: IntArray
    first_node: IntArray
    compute: IntArray
    capacity_mb: IntArray


def find_runs(instance: Instance) -> Runs:
    """The flat arrays of an instance; a task of another kind has the runs of a rigid one."""
    public = instance.public("")
    columns: dict[str, list[int]] = {
        key: [] for key in ("kind", "vendor", "price", "length", "low", "high", "rate", "row", "factor")
    }
    tasks: list[int] = []
    starts = [0]
    tables = [np.concatenate([[0], np.cumsum(node.tariff)]) for node in instance.node_types]
    for i in range(instance.tasks):
        task = instance.task(i)
        explicit = i in instance.explicit_cost
        begin = len(tables)
        if explicit:
            tables += [np.concatenate([[0], np.cumsum(row)]) for row in task.cost]
        for g, length, last in list_runs(task, public):
            for option in task.options:
                if option.first <= last:
                    values = (
                        g, -1 if option.vendor is None else option.vendor, option.price, length, option.first - 1,
                        last - 1, int(task.rate[g]), begin + g if explicit else g,
                        1 if explicit else int(instance.energy_wh[i, g]),
                    )  # fmt: skip
                    for key, value in zip(columns, values, strict=True):
                        columns[key].append(value)
        if len(columns["kind"]) > starts[-1]:
            tasks.append(i)
            starts.append(len(columns["kind"]))
    chosen = np.array(tasks, dtype=np.int64)
    parts = instance.parts[chosen]
    entries = {key: np.array(values, dtype=np.int64) for key, values in columns.items()}
    return Runs(
        task=chosen, bid=instance.bid[chosen], memory=instance.memory_mb[chosen], parts=parts,
        entry_start=np.array(starts, dtype=np.int64), **entries, sums=np.array(tables, dtype=np.int64),
        place=np.concatenate([[0], np.cumsum(parts)]).astype(np.int64), first_node=public.first_node.copy(),
        compute=public.compute.copy(), capacity_mb=public.memory_mb.copy(),
    )  # fmt: skip


@inlined
def _worth(r, i, e, s, share, lam, phi):  # type: ignore[no-untyped-def]
    """Bid less price, operational cost and `share` of the rents of entry e of task i from slot s on."""
    g = r.kind[e]
    end = s + r.length[e]
    cost = np.float64(r.factor[e]) * np.float64(r.sums[r.row[e], end] - r.sums[r.row[e], s])
    rent = r.rate[e] * (lam[g, end] - lam[g, s]) + r.memory[i] * (phi[g, end] - phi[g, s])
    return np.float64(r.bid[i] - r.price[e]) - r.parts[i] * (cost + share * rent)


@compiled
def _answers(r, lam, phi, gain, compute, memory):  # type: ignore[no-untyped-def]
    """Best reduced profit of every task, and what the runs that have it use.

    Parameters
    ----------
    lam, phi : (G, T+1) prefix sums of the prices.
    gain : (n,) out; negative where no run gains.
    compute, memory : (G, T+1) out, used samples and megabytes; the last column is scratch.
    """
    compute[:] = 0.0
    memory[:] = 0.0
    for i in range(len(r.task)):
        best = -np.inf
        entry, start = -1, -1
        for e in range(r.entry_start[i], r.entry_start[i + 1]):
            for s in range(r.low[e], r.high[e] + 1):
                worth = _worth(r, i, e, s, 1.0, lam, phi)
                if worth > best:
                    best, entry, start = worth, e, s
        gain[i] = best
        if best > 0:
            g = r.kind[entry]
            end = start + r.length[entry]
            compute[g, start] += r.parts[i] * r.rate[entry]
            compute[g, end] -= r.parts[i] * r.rate[entry]
            memory[g, start] += r.parts[i] * r.memory[i]
            memory[g, end] -= r.parts[i] * r.memory[i]
    for g in range(compute.shape[0]):
        for t in range(1, compute.shape[1]):
            compute[g, t] += compute[g, t - 1]
            memory[g, t] += memory[g, t - 1]


class RunPrices(NamedTuple):
    """Prices of least dual value.

    Parameters
    ----------
    lam, phi : (G, T) micro-dollars per sample and per MB.
    value : the dual value in doubles, micro-dollars.
    gain : (n,) best reduced profit of each task.
    """

    lam: Prices
    phi: Prices
    value: float
    gain: Prices


def _prefix(prices: Prices) -> Prices:
    return np.concatenate([np.zeros((len(prices), 1)), np.cumsum(prices, axis=1)], axis=1)


def find_prices(r: Runs, known: float, rounds: int, over: Callable[[], bool]) -> RunPrices:
    """Search for prices by a deflected subgradient method with Polyak's steps.

    Parameters
    ----------
    known : welfare of a solution, which the dual value cannot undercut.
    rounds : at most so many.
    over : asked in each round; True ends the search.
    """
    nodes = np.diff(r.first_node).astype(np.float64)[:, None]
    kinds, slots = len(nodes), r.sums.shape[1] - 1
    unit = np.stack([r.compute, r.capacity_mb]).astype(np.float64)[:, :, None]
    price = np.zeros((2, kinds, slots))  # of a whole node and slot, by compute and by memory
    density = [
        r.bid[i] / (r.parts[i] * r.length[e] * max(r.rate[e] / r.compute[g], r.memory[i] / r.capacity_mb[g]))
        for i in range(len(r.task))
        for e, g in [(int(r.entry_start[i]), int(r.kind[r.entry_start[i]]))]
    ]
    price[0] = 0.5 * float(np.median(density)) if density else 0.0
    gain, used = np.empty(len(r.task)), np.empty((2, kinds, slots + 1))
    best, best_price, best_gain = np.inf, price, gain.copy()
    direction, theta, waited = np.zeros_like(price), 1.0, 0
    for _ in range(rounds):
        lam, phi = price / unit
        _answers(r, _prefix(lam), _prefix(phi), gain, used[0], used[1])
        value = float((nodes * price).sum()) + float(np.maximum(gain, 0).sum())
        waited = 0 if value < best - 1e-6 * abs(best) else waited + 1
        if value < best:
            best, best_price, best_gain = value, price.copy(), gain.copy()
        if waited > 25:
            theta, waited, price = 0.6 * theta, 0, best_price.copy()
            direction[:] = 0.0
            if theta < 1e-4:
                break
            continue
        slack = nodes - used[:, :, :slots] / unit
        slack[(price <= 0) & (slack > 0)] = 0.0
        direction = 0.5 * direction + 0.5 * slack
        norm = float((direction**2).sum())
        if norm < 1e-9 or over():
            break
        step = theta * max(value - (known + 0.5 * (best - known)), 1e-4 * value) / norm
        price = np.maximum(0.0, price - step * direction)
    # A lone price of 0 everywhere is what each task is worth alone: a bound that is never missed.
    nothing = np.zeros((kinds, slots + 1))
    _answers(r, nothing, nothing, gain, used[0], used[1])
    if float(np.maximum(gain, 0).sum()) <= best:
        best, best_price, best_gain = float(np.maximum(gain, 0).sum()), np.zeros_like(price), gain.copy()
    lam, phi = best_price / unit
    return RunPrices(lam, phi, best, best_gain)


class Schedule(NamedTuple):
    """A feasible set of runs: chosen entry (-1 for none), start and nodes, net value per task, and what is free."""

    entry: IntArray
    start: IntArray
    nodes: IntArray
    net: IntArray
    compute: IntArray
    memory: IntArray


def empty_schedule(r: Runs) -> Schedule:
    """No task has a run; (K, T) samples and MB are free."""
    count, slots = np.diff(r.first_node), r.sums.shape[1] - 1
    free = [np.repeat(np.repeat(each, count)[:, None], slots, axis=1) for each in (r.compute, r.capacity_mb)]
    n = len(r.task)
    return Schedule(
        np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(int(r.place[-1]), -1, np.int64), np.zeros(n, np.int64),
        *(np.ascontiguousarray(each) for each in free),
    )  # fmt: skip


@inlined
def _take(r, z, i, sign):  # type: ignore[no-untyped-def]
    """Take the room of task i's run off what is free, or give it back (sign = -1)."""
    e = z.entry[i]
    for j in range(r.place[i], r.place[i] + r.parts[i]):
        for t in range(z.start[i], z.start[i] + r.length[e]):
            z.compute[z.nodes[j], t] -= sign * r.rate[e]
            z.memory[z.nodes[j], t] -= sign * r.memory[i]


@compiled
def _insert(r, z, i, share, noise, lam, phi, seed, count):  # type: ignore[no-untyped-def]
    """Give task i its best run with room at operational cost plus `share` of the rents, if its net value is positive.

    Of the nodes with room those are taken that are left with the least beside and above the run.
    count : (T,) scratch.
    """
    best = -np.inf
    entry, start = np.int64(-1), np.int64(-1)
    slots = z.compute.shape[1]
    for e in range(r.entry_start[i], r.entry_start[i + 1]):
        g, length, low, high = r.kind[e], r.length[e], r.low[e], r.high[e]
        for s in range(low, high + 1):
            count[s] = 0
        for k in range(r.first_node[g], r.first_node[g + 1]):
            run = 0
            for t in range(high + length - 1, low - 1, -1):
                run = run + 1 if z.compute[k, t] >= r.rate[e] and z.memory[k, t] >= r.memory[i] else 0
                if run >= length:
                    count[t] += 1
        for s in range(low, high + 1):
            if count[s] >= r.parts[i]:
                worth = _worth(r, i, e, s, share, lam, phi)
                if noise > 0:
                    worth -= noise * r.bid[i] * draw_unit(seed)
                if worth > best:
                    best, entry, start = worth, np.int64(e), np.int64(s)
    if entry < 0:
        return False
    end = start + r.length[entry]
    cost = r.factor[entry] * (r.sums[r.row[entry], end] - r.sums[r.row[entry], start])
    net = r.bid[i] - r.price[entry] - r.parts[i] * cost
    if net <= 0:
        return False
    g = r.kind[entry]
    for j in range(r.parts[i]):
        least, chosen = np.inf, np.int64(-1)
        for k in range(r.first_node[g], r.first_node[g + 1]):
            fits = True
            for other in range(r.place[i], r.place[i] + j):
                fits = fits and z.nodes[other] != k
            waste = 0.0
            if fits:
                for t in range(start, end):
                    if z.compute[k, t] < r.rate[entry] or z.memory[k, t] < r.memory[i]:
                        fits = False
                        break
                    waste += z.compute[k, t] - r.rate[entry]
            if fits:
                beside = 0.0
                if start > 0:
                    beside += z.compute[k, start - 1]
                if end < slots:
                    beside += z.compute[k, end]
                waste = waste / r.length[entry] + 0.5 * beside
                if waste < least:
                    least, chosen = waste, np.int64(k)
        z.nodes[r.place[i] + j] = chosen
    z.entry[i], z.start[i], z.net[i] = entry, start, net
    _take(r, z, i, 1)
    return True


@compiled
def _insert_all(r, z, order, share, lam, phi, seed):  # type: ignore[no-untyped-def]
    """Insert the tasks of the order that have no run; the welfare."""
    count = np.empty(z.compute.shape[1] + 1, np.int64)
    for i in order:
        if z.entry[i] < 0:
            _insert(r, z, i, share, 0.0, lam, phi, seed, count)
    return z.net.sum()


@compiled
def _ruin_and_recreate(r, z, rank, lam, phi, members, begin, blocks, heat, seed):  # type: ignore[no-untyped-def]
    """Blocks: some tasks that run at a moment are taken out; they and some that wait are inserted in a drawn order.

    Parameters
    ----------
    rank : (n,) value per node and slot.
    members, begin : tasks whose window holds a slot, slot by slot.
    heat : a loss is accepted with a probability that falls with loss / heat; 0 for none.
    """
    slots = z.compute.shape[1]
    count = np.empty(slots + 1, np.int64)
    most = 2 * MOST_OUT
    task, key = np.empty(most, np.int64), np.empty(most, np.float64)
    entry, start, net = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    held = np.empty((most, r.parts.max()), np.int64)
    total = z.net.sum()
    for _ in range(blocks):
        t = draw_below(seed, slots)
        size = begin[t + 1] - begin[t]
        if size == 0:
            continue
        number, removed, node = 0, 0, np.int64(-1)
        alike = draw_unit(seed) < 0.6
        want = 1 + draw_below(seed, MOST_OUT)
        for _ in range(6 * MOST_OUT):
            i = members[begin[t] + draw_below(seed, size)]
            seen = False
            for j in range(number):
                seen = seen or task[j] == i
            if seen or number >= most:
                continue
            if z.entry[i] >= 0:
                if removed >= want or (alike and node >= 0 and z.nodes[r.place[i]] != node):
                    continue
                node = z.nodes[r.place[i]]
                removed += 1
            elif number - removed >= MOST_OUT:
                continue
            task[number], entry[number], start[number], net[number] = i, z.entry[i], z.start[i], z.net[i]
            for j in range(r.parts[i]):
                held[number, j] = z.nodes[r.place[i] + j]
            number += 1
        change = np.int64(0)
        for j in range(number):
            if entry[j] >= 0:
                _take(r, z, task[j], -1)
                change -= net[j]
                z.entry[task[j]] = -1
                z.net[task[j]] = 0
        spread = 0.2 + 0.8 * draw_unit(seed)
        for j in range(number):
            key[j] = -rank[task[j]] * (1.0 + spread * (draw_unit(seed) - 0.5))
        share = 1.2 * draw_unit(seed)
        noise = 0.1 * max(0.0, draw_unit(seed) - 0.5)
        for j in sort_stably(key[:number]):
            if _insert(r, z, task[j], share, noise, lam, phi, seed, count):
                change += z.net[task[j]]
        if change >= 0 or (heat > 0 and draw_unit(seed) < np.exp(change / heat)):
            total += change
            continue
        for j in range(number):
            if z.entry[task[j]] >= 0:
                _take(r, z, task[j], -1)
        for j in range(number):
            i = task[j]
            z.entry[i], z.start[i], z.net[i] = entry[j], start[j], net[j]
            for part in range(r.parts[i]):
                z.nodes[r.place[i] + part] = held[j, part]
            if entry[j] >= 0:
                _take(r, z, i, 1)
    return total


def _seed(name: str, number: int) -> NDArray[np.uint64]:
    """(1,) a state of the generator of the kernels, never 0."""
    return np.array([int(Stream("runs", f"{name} {number}").words(1)[0]) | 1], dtype=np.uint64)


def value_per_slot(r: Runs) -> Prices:
    """(n,) bid per node and slot that a task's shortest run takes, by compute or memory, whichever binds."""
    found = np.empty(len(r.task))
    for i in range(len(r.task)):
        here = slice(int(r.entry_start[i]), int(r.entry_start[i + 1]))
        g = r.kind[here]
        size = np.maximum(r.rate[here] / r.compute[g], r.memory[i] / r.capacity_mb[g])
        found[i] = r.bid[i] / float((r.parts[i] * r.length[here] * size).min())
    return found


def list_schedule(r: Runs, orders: Sequence[IntArray], shares: Sequence[float], prices: RunPrices | None) -> Schedule:
    """The best of the list schedules in these orders at these shares of the rents."""
    shape = (len(r.compute), r.sums.shape[1])
    lam, phi = (np.zeros(shape), np.zeros(shape)) if prices is None else (_prefix(prices.lam), _prefix(prices.phi))
    best = empty_schedule(r)
    for order in orders:
        for share in shares:
            z = empty_schedule(r)
            _insert_all(r, z, order, share, lam, phi, _seed("list", 0))
            if _insert_all(r, z, order, 0.0, lam, phi, _seed("list", 1)) > best.net.sum():
                best = z
    return best


def draw_lists(r: Runs, best: Schedule, prices: RunPrices, count: int, over: Callable[[], bool]) -> Schedule:
    """The best of list schedules in orders that are drawn around value per slot, reduced profit and bid.

    Parameters
    ----------
    count : lists to draw.
    over : asked between lists.
    """
    lam, phi = _prefix(prices.lam), _prefix(prices.phi)
    value = value_per_slot(r)
    size = np.maximum(r.bid, 1) / np.maximum(value, 1e-12)
    gain = prices.gain / size
    bases = [value, value, gain - min(0.0, float(gain.min())), r.bid.astype(np.float64)]
    stream = Stream("runs", "orders")
    for number in range(count):
        if over():
            break
        drawn = stream.words(len(r.task) + 1).astype(np.float64) / 2.0**64
        spread = 0.1 + 0.9 * drawn[-1]
        order = np.argsort(-bases[number % 4] * (1.0 + spread * (drawn[:-1] - 0.5)), kind="stable")
        z = empty_schedule(r)
        _insert_all(r, z, order, (0.0, 0.3, 0.6, 1.0)[(number // 4) % 4], lam, phi, _seed("list", 0))
        if _insert_all(r, z, order, 0.0, lam, phi, _seed("list", 1)) > best.net.sum():
            best = z
    return best


def improve(
    r: Runs, best: Schedule, prices: RunPrices, effort: int, enough: int, over: Callable[[], bool]
) -> tuple[Schedule, int]:
    """Annealings from the best schedule so far, of three temperatures in turn; the best one and the blocks done."""
    slots = r.sums.shape[1] - 1
    lists: list[list[int]] = [[] for _ in range(slots)]
    for i in range(len(r.task)):
        here = slice(int(r.entry_start[i]), int(r.entry_start[i + 1]))
        for t in range(int(r.low[here].min()), int((r.high[here] + r.length[here]).max())):
            lists[t].append(i)
    begin = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    members = np.array([i for each in lists for i in each], dtype=np.int64)
    rank, lam, phi = value_per_slot(r), _prefix(prices.lam), _prefix(prices.phi)
    mean, done = float(r.bid.mean()), 0
    left = effort * min(MOST_BLOCKS, BLOCKS_PER_TASK * len(r.task))
    turn = 0
    z = Schedule(*(each.copy() for each in best))
    while left > 0 and not over() and int(best.net.sum()) < enough:
        blocks = min(left, CHUNK)
        heat = mean * (0.02, 0.0, 0.1)[turn % 3] * (1.0 if turn % 6 < 3 else 0.3)
        _ruin_and_recreate(r, z, rank, lam, phi, members, begin, blocks, heat, _seed("blocks", turn))
        if z.net.sum() >= best.net.sum():
            best = Schedule(*(each.copy() for each in z))
        elif turn % 3 == 1:
            z = Schedule(*(each.copy() for each in best))
        left, turn, done = left - blocks, turn + 1, done + blocks
    return best, done


def solution_of_schedule(instance: Instance, r: Runs, z: Schedule) -> Solution:
    """The decisions, cells in order of slots."""
    found: list[Decision | None] = [None] * instance.tasks
    for j in np.flatnonzero(z.entry >= 0).tolist():
        e, start = int(z.entry[j]), int(z.start[j])
        nodes = sorted(z.nodes[int(r.place[j]) : int(r.place[j + 1])].tolist())
        cells = tuple((k, t + 1) for t in range(start, start + int(r.length[e])) for k in nodes)
        vendor = int(r.vendor[e])
        found[int(r.task[j])] = Decision(None if vendor < 0 else vendor, cells)
    return tuple(found)
