"""How fast one task is decided: the printed programme literally, as shipped, the exact search, and additive prices.

The kernels here are the yardsticks. The literal programme does what Algorithm 2 says, in units of one sample; the
exact search without pruning runs a covering programme for every pair of prices. Both are checked against what is
shipped. Additive prices are another problem, in which every cell costs its own price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bench.perf.measured import Bars, Measured, Part, Turns, Value, in_turns
from formulations.lora.covering.schedules import Space, cheapest_cover, states
from instances.lora.generate import generate
from instances.lora.model import Instance, IntArray, Public, Task
from online.lora.constants import CONSTANTS
from online.lora.registry import parse
from online.lora.search.maxprice import Choice, Prices, exact_search, printed_search, slot_by_slot, window
from online.lora.search.thresholds import Cells, fill, layout, limit, open_cells, ranked
from online.lora.table import Books
from online.lora.traces import PriceTrace

FloatArray = NDArray[np.float64]

DAY = {"kind": "paper", "nodes": 100, "arrivals": {"trace": "philly", "mean": 50}, "seed": ["perf", "online"]}
"""K = 100, T = 144, N = 5."""
AFTER = 4_000


# --------------------------------------------------------------------------------------------- Algorithm 2, literally


@njit(cache=True, nogil=True)
def _literal_programme(lam, phi, cost, rate, work, memory, start, taken):  # type: ignore[no-untyped-def]
    """dp[t, w] for w = 0..M in samples, one path per state; taken[t, w] is the node (row) of slot t, -1 for skip.

    lam, phi : (K', W); cost : (K', W); rate : (K',). Returns (objective, S, n, E, lambda-hat, phi-hat) of dp[., M].
    """
    nodes, width = lam.shape
    value = np.full(work + 1, np.inf)
    samples = np.zeros(work + 1, np.int64)
    slots = np.zeros(work + 1, np.int64)
    energy = np.zeros(work + 1, np.int64)
    top_lam = np.zeros(work + 1)
    top_phi = np.zeros(work + 1)
    value[0] = 0.0
    for t in range(start, width):
        value_before = value.copy()
        samples_before = samples.copy()
        slots_before = slots.copy()
        energy_before = energy.copy()
        lam_before = top_lam.copy()
        phi_before = top_phi.copy()
        taken[t, 0] = -1
        for w in range(1, work + 1):
            taken[t, w] = -1
            for k in range(nodes):
                source = max(0, w - rate[k])
                if value_before[source] == np.inf:
                    continue
                i = max(lam_before[source], lam[k, t])
                j = max(phi_before[source], phi[k, t])
                s = samples_before[source] + rate[k]
                n = slots_before[source] + 1
                e = energy_before[source] + cost[k, t]
                candidate = i * s + j * (memory * n) + e
                if candidate < value[w]:
                    value[w] = candidate
                    samples[w] = s
                    slots[w] = n
                    energy[w] = e
                    top_lam[w] = i
                    top_phi[w] = j
                    taken[t, w] = k
    return value[work], samples[work], slots[work], energy[work], top_lam[work], top_phi[work]


def literal_search(task: Task, public: Public, menu: Space, nodes: IntArray, prices: Prices) -> Choice | None:
    """Algorithm 2 with its table in units of one sample, in doubles, overshoot clipped, first slot usable."""
    kind = public.type_of_node[nodes]
    rate = task.rate[kind]
    cost = np.ascontiguousarray(task.cost[kind, menu.first - 1 : menu.last])
    lam, phi = np.ascontiguousarray(prices.lam), np.ascontiguousarray(prices.phi)
    taken = np.empty((menu.width, task.work + 1), np.int16)
    best: Choice | None = None
    for option, (offset, price) in enumerate(zip(menu.offsets.tolist(), menu.prices.tolist(), strict=True)):
        if offset >= menu.width:
            continue
        end = _literal_programme(lam, phi, cost, rate, task.work, task.memory_mb, offset, taken)
        if end[0] == np.inf:
            continue
        _, work, slots, energy, top_lam, top_phi = end
        net = task.bid - price - int(energy)
        value = (float(net) - top_lam * work) - top_phi * (task.memory_mb * slots)
        if best is None or value > best.value:
            best = Choice(value, option, _literal_cells(taken, rate, nodes, menu, offset), int(work), int(energy), net)
    return best


def _literal_cells(
    taken: NDArray[np.int16], rate: IntArray, nodes: IntArray, menu: Space, offset: int
) -> tuple[tuple[int, int], ...]:
    cells = []
    w = taken.shape[1] - 1
    for t in range(menu.width - 1, offset - 1, -1):
        k = int(taken[t, w])
        if k >= 0:
            cells.append((int(nodes[k]), menu.first + t))
            w = max(0, w - int(rate[k]))
    return tuple(reversed(cells))


# ----------------------------------------------------------------------------------------- (9) with no pruning at all


@njit(cache=True, nogil=True)
def _every_pair(p, cells, memory, offsets, net):  # type: ignore[no-untyped-def]
    """The best F by a covering dynamic programme for every pair of prices at which a cell opens, and their number."""
    types, width = p.cost.shape
    usable = np.zeros((types, width), np.bool_)
    length = np.empty(len(p.outer), np.int64)
    limit(p, np.ones(len(p.cover), np.bool_), length)
    slot_of = np.empty(width + 1, np.int64)
    table = np.empty((width + 1, len(p.state_work)), p.cost.dtype)
    best = -np.inf
    programmes = 0
    for i in range(len(cells.lam)):
        for j in range(len(cells.phi)):
            if open_cells(cells, i, j, usable) != (i, j):
                continue  # the same cells as at a lower pair
            m = fill(p, usable, length, slot_of, table)
            programmes += 1
            for option in range(len(offsets)):
                q = m
                while q > 0 and slot_of[q] < offsets[option]:
                    q -= 1
                for x in p.cover:
                    if p.state_cells[x] <= q and table[q, x] < p.far[0] // 2:
                        f = float(net[option] - table[q, x]) - cells.lam[i] * p.state_work[x]
                        best = max(best, f - cells.phi[j] * (memory * p.state_cells[x]))
    return best, programmes


def unpruned_search(task: Task, public: Public, menu: Space, prices: Prices) -> float:
    """The value of (9), -inf where there is no schedule."""
    by_rate = np.argsort(menu.rates, kind="stable")
    rates = menu.rates[by_rate]
    cost = np.ascontiguousarray(task.cost[menu.types[by_rate], menu.first - 1 : menu.last])
    x = states(rates, task.work, menu.width, np.count_nonzero(cost < 0, axis=1).astype(np.int64))
    after = np.cumsum([public.node_types[g].count for g in menu.types])
    before = np.concatenate([[0], after[:-1]])
    lam, phi = slot_by_slot(prices)
    cells = Cells(*ranked(lam, phi, before[by_rate], after[by_rate]))
    covers = layout(x, cost, rates, task.work)
    value, _ = _every_pair(covers, cells, task.memory_mb, menu.offsets, task.bid - menu.prices)
    return float(value)


# -------------------------------------------------------------------------------------------------- additive prices


class Batch(NamedTuple):
    """Tasks in flat arrays; slots from 0.

    Parameters
    ----------
    first, last : (n,) window. work, memory : (n,).
    rate, cost : (n, 2) and (n, 2, T); the faster type of each task first.
    node : (n, 2, 2) first node of that type, and the first after its last.
    start, offset, price : options of task i are start[i] .. start[i + 1] - 1, by ascending first slot.
    """

    first: IntArray
    last: IntArray
    work: IntArray
    memory: IntArray
    rate: IntArray
    cost: FloatArray
    node: IntArray
    start: IntArray
    offset: IntArray
    price: IntArray


def batch(tasks: Sequence[Task], public: Public) -> Batch:
    """The flat arrays of tasks that can use both types of a cluster of two types.

    Raises
    ------
    ValueError : for another number of types, or a negative cost.
    """
    if len(public.node_types) != 2:
        raise ValueError("additive prices are timed on clusters of two node types")
    first_node = public.first_node
    rows: list[tuple[int, int, int, int, IntArray, IntArray, IntArray]] = []
    start, offset, price = [0], [], []
    for task in tasks:
        runs = (task.rate > 0) & (task.rate <= public.compute) & (task.memory_mb <= public.memory_mb)
        if (task.cost < 0).any() or not runs.all():
            raise ValueError("additive prices are timed on tasks with no negative cost that run everywhere")
        by_rate = np.argsort(-task.rate, kind="stable")
        options = sorted((option.first, option.price) for option in task.options)
        begin = options[0][0]
        node = np.stack([first_node[by_rate], first_node[by_rate + 1]], axis=1)
        rows.append((begin - 1, task.deadline, task.work, task.memory_mb, task.rate[by_rate], task.cost[by_rate], node))
        offset += [slot - begin for slot, _ in options]
        price += [each for _, each in options]
        start.append(len(offset))
    first, last, work, memory, rate, cost, nodes = (np.array(column) for column in zip(*rows, strict=True))
    return Batch(
        first, last, work, memory, rate, cost.astype(np.float64), nodes,
        np.array(start), np.array(offset), np.array(price),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _least(lam, phi, begin, end, rate, memory):  # type: ignore[no-untyped-def]
    """The least lambda s + phi r among the nodes of one type in a slot; four at a time, as they do not wait for one
    another."""
    a = np.inf
    b = np.inf
    c = np.inf
    d = np.inf
    k = begin
    while k + 3 < end:
        v = lam[k] * rate + phi[k] * memory
        a = v if v < a else a
        v = lam[k + 1] * rate + phi[k + 1] * memory
        b = v if v < b else b
        v = lam[k + 2] * rate + phi[k + 2] * memory
        c = v if v < c else c
        v = lam[k + 3] * rate + phi[k + 3] * memory
        d = v if v < d else d
        k += 4
    while k < end:
        v = lam[k] * rate + phi[k] * memory
        a = v if v < a else a
        k += 1
    return min(min(a, b), min(c, d))


@njit(cache=True, nogil=True)
def _order(key, order, rank):  # type: ignore[no-untyped-def]
    """Slots by ascending key, and each slot's place; insertion, as windows are short and nearly in order of price."""
    for t in range(len(key)):
        place = t
        while place > 0 and key[order[place - 1]] > key[t]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = t
    for place in range(len(key)):
        rank[order[place]] = place


@njit(cache=True, nogil=True)
def _cheapest(fast, slow, first, rates, work, order, rank, state, kept):  # type: ignore[no-untyped-def]
    """The least cost of a cover in the slots from `first` on; in `kept` 0 none, 1 fast, 2 slow per slot.

    E(x1, x2) is the value of a minimum-cost flow of slots to three bins, so it is followed along the least covers
    (x1, x2), from x1 at its largest down, by shortest augmenting paths between the bins. Costs are non-negative.

    Parameters
    ----------
    fast, slow : (W,) costs. order, rank : (3, W) slots by fast, by slow, and by slow - fast, and their places.
    """
    width = len(fast)
    n = width - first
    many = -(-work // rates[0])
    if many > n:
        return np.inf
    state[:first] = -1
    state[first:] = 0
    total = 0.0
    enter = 0  # places where the next free slot by fast cost, by slow cost, ... can be at the earliest
    for _ in range(many):
        while state[order[0, enter]] != 0:
            enter += 1
        state[order[0, enter]] = 1
        total += fast[order[0, enter]]
    out = enter  # and the last slot on the fast and on the slow type at the latest
    into = 0
    leave = -1
    move = 0
    best = total
    kept[:] = state
    few = 0
    while many > 0:
        need = max(0, -(-(work - (many - 1) * rates[0]) // rates[1]))
        if many - 1 + need > n:
            break
        # One slot fewer on the fast type: straight, or through the slow one.
        while state[order[0, out]] != 1:
            out -= 1
        while state[order[2, move]] != 1:
            move += 1
        while leave >= 0 and state[order[1, leave]] != 2:
            leave -= 1
        gone = order[0, out]
        change = -fast[gone]
        moved = order[2, move]
        if leave >= 0 and slow[moved] - fast[moved] - slow[order[1, leave]] < change:
            gone = order[1, leave]
            change = slow[moved] - fast[moved] - slow[gone]
            state[moved] = 2
            leave = max(leave, rank[1, moved])
        state[gone] = 0
        total += change
        enter = min(enter, rank[0, gone])
        into = min(into, rank[1, gone])
        many -= 1
        while few < need:
            # One slot more on the slow type: straight, or through the fast one.
            while state[order[1, into]] != 0:
                into += 1
            while move < width and state[order[2, move]] != 1:
                move += 1
            come = order[1, into]
            change = slow[come]
            if move < width:
                while state[order[0, enter]] != 0:
                    enter += 1
                moved = order[2, move]
                other = order[0, enter]
                if fast[other] + slow[moved] - fast[moved] < change:
                    change = fast[other] + slow[moved] - fast[moved]
                    state[other] = 1
                    out = max(out, enter)
                    move = min(move, rank[2, other])
                    come = moved
            state[come] = 2
            leave = max(leave, rank[1, come])
            total += change
            few += 1
        if total < best:
            best = total
            kept[:] = state
    return best


@njit(cache=True, nogil=True)
def additive_decisions(p, lam, phi, cost, option, cells):  # type: ignore[no-untyped-def]
    """Decide every task of the batch at the prices as they stand; a schedule costs q + sum of e + lambda s + phi r.

    Parameters
    ----------
    lam, phi : (T, K).
    cost, option : (n,) least cost (inf where there is no schedule) and which of the sorted options has it.
    cells : (n, T) node per slot, -1 for none.
    """
    slots = cells.shape[1]
    rows = np.empty((2, slots))
    gain = np.empty(slots)
    order = np.empty((3, slots), np.int64)
    rank = np.empty((3, slots), np.int64)
    state = np.empty(slots, np.int8)
    kept = np.empty(slots, np.int8)
    chosen = np.empty(slots, np.int8)
    for i in range(len(p.first)):
        first = p.first[i]
        width = p.last[i] - first
        cost[i] = np.inf
        option[i] = -1
        cells[i] = -1
        if width <= 0:
            continue
        for g in range(2):
            for t in range(width):
                least = _least(
                    lam[first + t], phi[first + t], p.node[i, g, 0], p.node[i, g, 1], p.rate[i, g], p.memory[i]
                )
                rows[g, t] = p.cost[i, g, first + t] + least
        fast = rows[0, :width]
        slow = rows[1, :width]
        for t in range(width):
            gain[t] = slow[t] - fast[t]
        _order(fast, order[0], rank[0])
        _order(slow, order[1], rank[1])
        _order(gain[:width], order[2], rank[2])
        floor = 0.0
        for o in range(p.start[i], p.start[i + 1]):
            # A later start leaves fewer slots, so it never costs less.
            if p.offset[o] >= width or p.price[o] + floor >= cost[i]:
                continue
            value = _cheapest(fast, slow, p.offset[o], p.rate[i], p.work[i], order, rank, state[:width], kept[:width])
            if value == np.inf:
                break
            floor = value
            if value + p.price[o] < cost[i]:
                cost[i] = value + p.price[o]
                option[i] = o - p.start[i]
                chosen[:width] = 0
                chosen[p.offset[o] : width] = kept[p.offset[o] : width]
        if option[i] >= 0:
            for t in range(width):
                if chosen[t] > 0:
                    g = chosen[t] - 1
                    pick = p.node[i, g, 0]
                    for k in range(p.node[i, g, 0], p.node[i, g, 1]):
                        here = lam[first + t, k] * p.rate[i, g] + phi[first + t, k] * p.memory[i]
                        if here < lam[first + t, pick] * p.rate[i, g] + phi[first + t, pick] * p.memory[i]:
                            pick = k
                    cells[i, first + t] = pick


def additive_search(task: Task, public: Public, lam: FloatArray, phi: FloatArray) -> float:
    """The same cost by the covering dynamic programme in use (`cheapest_cover`), inf where there is no schedule.

    lam, phi : (K, T).
    """
    kind = public.type_of_node
    priced = lam * task.rate[kind][:, None] + phi * task.memory_mb
    least = np.stack([priced[kind == g].min(axis=0) for g in range(len(public.node_types))])
    nodes = np.zeros(least.shape, np.int64)
    cover = cheapest_cover(task, public, task.cost + least, np.ones(least.shape, np.bool_), nodes)
    return np.inf if cover is None else float(cover.cost)


# ---------------------------------------------------------------------------------------------------- the comparison


class State(NamedTuple):
    """Prices in the middle of a day: (K, T) each, and the tasks that are asked then."""

    public: Public
    lam: FloatArray
    phi: FloatArray
    tasks: list[Task]


def middle_of_day(instance: Instance, after: int, sample: int) -> State:
    """The prices of pdFTSP in doubles after the first tasks, and a sample of the tasks that follow, evenly spread."""
    spec = parse("pdftsp:arith=float")
    assert spec.entry is not None
    algorithm = spec.entry.make(dict(spec.options))
    public = instance.public("perf")
    algorithm.start(public, {name: CONSTANTS[name](instance)[0] for name in algorithm.constants})
    books = Books(public)
    for i in range(after):
        task = instance.task(i)
        decision = books.judge(task, algorithm.decide(task, books.view(task.arrival)))
        if decision is not None:
            books.book(task, decision)
    trace = algorithm.trace
    assert isinstance(trace, PriceTrace)
    lam, phi = (np.zeros((public.slots, public.nodes)).T for _ in range(2))
    for table, prices in ((lam, trace.lam), (phi, trace.phi)):
        for (k, t), price in prices.items():
            table[k, t - 1] = float(price)
    chosen = np.unique(np.linspace(after, instance.tasks - 1, min(sample, instance.tasks - after)).astype(np.int64))
    tasks = [instance.task(int(i)) for i in chosen]
    return State(public, lam, phi, [task for task in tasks if window(task, public) is not None])


def _asked(state: State, task: Task) -> tuple[Space, IntArray, Prices]:
    where = window(task, state.public)
    assert where is not None
    menu, nodes = where
    span = slice(menu.first - 1, menu.last)
    lam, phi = state.lam[:, span], state.phi[:, span]
    if len(nodes) < len(lam):
        lam, phi = lam[nodes], phi[nodes]
    return menu, nodes, Prices(lam, phi, None, None)


Decide = Callable[[State, Task], object]


def by_literal(state: State, task: Task) -> Choice | None:
    """Algorithm 2 in units of one sample."""
    menu, nodes, prices = _asked(state, task)
    return literal_search(task, state.public, menu, nodes, prices)


def by_printed(state: State, task: Task) -> Choice | None:
    """`search=printed` as shipped."""
    menu, nodes, prices = _asked(state, task)
    return printed_search(task, state.public, menu, nodes, prices)


def by_exact(state: State, task: Task) -> Choice | None:
    """`search=exact` as shipped."""
    menu, nodes, prices = _asked(state, task)
    return exact_search(task, state.public, menu, nodes, prices)


def by_unpruned(state: State, task: Task) -> float:
    """(9) by every pair of prices."""
    menu, _, prices = _asked(state, task)
    return unpruned_search(task, state.public, menu, prices)


def by_additive(state: State, task: Task) -> float:
    """Additive prices, called from Python."""
    return additive_search(task, state.public, state.lam, state.phi)


def additive_batch(state: State, tasks: Sequence[Task]) -> tuple[Callable[[], None], FloatArray]:
    """A call that decides all the tasks in one compiled loop, and the costs that it fills in."""
    flat = batch(tasks, state.public)
    lam, phi = np.ascontiguousarray(state.lam.T), np.ascontiguousarray(state.phi.T)
    cost, option = np.empty(len(tasks)), np.empty(len(tasks), np.int64)
    cells = np.empty((len(tasks), state.public.slots), np.int16)
    return (lambda: additive_decisions(flat, lam, phi, cost, option, cells)), cost


def disagreements(state: State, tasks: Sequence[Task]) -> list[str]:
    """Where a yardstick decides otherwise than what it stands beside; empty when all is well."""
    call, costs = additive_batch(state, tasks)
    call()
    found = []
    for task, cost in zip(tasks, costs.tolist(), strict=True):
        printed, literal = by_printed(state, task), by_literal(state, task)
        if printed != literal:
            found.append(f"task {task.index}: search=printed {printed}, literally {literal}")
        exact, value = by_exact(state, task), by_unpruned(state, task)
        if (-np.inf if exact is None else exact.value) != value:
            found.append(f"task {task.index}: search=exact {exact}, without pruning {value}")
        programme = by_additive(state, task)
        if not (cost == programme or abs(cost - programme) <= 1e-9 * abs(programme)):
            found.append(f"task {task.index}: additive {cost}, by the dynamic programme {programme}")
    return found


COLUMNS = (
    "search", "tasks", "microseconds", "decisions_per_second", "times_literal", "times_printed", "first_call_seconds",
)  # fmt: skip

_LITERAL = "Algorithm 2 literally, units of 1 sample"
_PRINTED = "search=printed as shipped"
_EXACT = "search=exact as shipped"
_UNPRUNED = "search=exact without pruning"
_ADDITIVE = "additive prices"
_COMPILED = "additive prices, one compiled loop"


def measure(instance: Instance, after: int, few: int, many: int, turns: int, say: Callable[[str], None]) -> Measured:
    """Rows for `few` tasks, on which everything runs, and for `many`, without what is slow.

    Raises
    ------
    RuntimeError : when two searches that must agree do not.
    """
    say(f"prices after {after:,} tasks")
    state = middle_of_day(instance, after, many)
    every = max(1, len(state.tasks) // few)
    sampled = state.tasks[every // 2 :: every][:few]
    say(f"decisions on {len(sampled)} tasks are compared")
    wrong = disagreements(state, sampled)
    if wrong:
        raise RuntimeError(wrong[0])
    quick: dict[str, Decide] = {_PRINTED: by_printed, _EXACT: by_exact, _ADDITIVE: by_additive}
    slow: dict[str, Decide] = {_LITERAL: by_literal, _UNPRUNED: by_unpruned}
    rows = []
    for tasks, contenders, times in ((sampled, slow | quick, max(2, turns // 2)), (state.tasks, quick, turns)):
        say(f"{len(tasks)} tasks, {len(contenders) + 1} contenders, {times} turns")
        calls = {name: _all(decide, state, tasks) for name, decide in contenders.items()}
        calls[_COMPILED] = additive_batch(state, tasks)[0]
        rows += _rows(in_turns(calls, times), len(tasks))
    bars = [(str(row["search"]), float(str(row["decisions_per_second"]))) for row in rows if row["times_literal"]]
    return Measured(
        COLUMNS,
        rows,
        [Bars(f"decisions per second, {len(sampled)} tasks", "decisions per second", bars)],
        (
            f"K = {instance.nodes}, T = {instance.slots}, prices of pdFTSP after {after:,} of {instance.tasks:,} "
            "tasks, tasks drawn evenly from those that follow.",
            f"On {len(sampled)} tasks the printed programme decided as the literal one, the pruned search as the "
            "unpruned one, and the compiled loop over additive prices as the dynamic programme. Additive prices are "
            "another problem: every cell costs its own price, not the largest.",
        ),
    )


def _all(decide: Decide, state: State, tasks: Sequence[Task]) -> Callable[[], None]:
    def call() -> None:
        for task in tasks:
            decide(state, task)

    return call


def _rows(spent: dict[str, Turns], tasks: int) -> list[dict[str, Value]]:
    literal, printed = spent.get(_LITERAL), spent[_PRINTED]
    return [
        {
            "search": name,
            "tasks": tasks,
            "microseconds": 1e6 * each.median / tasks,
            "decisions_per_second": tasks / each.median,
            "times_literal": None if literal is None else literal.median / each.median,
            "times_printed": printed.median / each.median,
            "first_call_seconds": each.first,
        }
        for name, each in spent.items()
    ]


def _measure(quick: bool, say: Callable[[str], None]) -> Measured:
    instance = generate(DAY)
    return measure(instance, AFTER, 2 if quick else 8, 100 if quick else 800, 3 if quick else 7, say)


PART = Part("online", "Decisions per second on a day of the paper's size", _measure)
