"""How fast one task is decided: the printed programme literally, as shipped, the exact search, and additive prices.

The kernels here are the yardsticks. The literal programme does what Algorithm 2 says, in units of one sample; the
exact search without pruning runs a covering programme for every pair of prices. Both are checked against what is
shipped. Additive prices are another problem, in which every cell costs its own price; it is the one that the mechanisms
of linear reduced cost solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ratiobench.bench.perf.measurement import Bars, Measurement, Part, Turns, Value, time_in_turns
from ratiobench.formulations.lora.covering.schedules import Space, cheapest_cover, states
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.online.lora.constants import CONSTANTS
from ratiobench.online.lora.mechanism import FloatPrices
from ratiobench.online.lora.registry import parse
from ratiobench.online.lora.search.maxprice import Choice, Prices, exact_search, printed_search, slot_by_slot, window
from ratiobench.online.lora.search.thresholds import Cells, fill, layout, limit, open_cells, rank_prices
from ratiobench.online.lora.simulator import CapacityState
from ratiobench.online.lora.traces import PriceTrace, Rule

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
    cells = Cells(*rank_prices(lam, phi, before[by_rate], after[by_rate]))
    covers = layout(x, cost, rates, task.work)
    value, _ = _every_pair(covers, cells, task.memory_mb, menu.offsets, task.bid - menu.prices)
    return float(value)


# -------------------------------------------------------------------------------------------------- additive prices


def additive_search(task: Task, public: Public, lam: FloatArray, phi: FloatArray) -> float:
    """The least cost of a schedule, each cell at its own price, by `cheapest_cover`; inf where there is none.

    lam, phi : (K, T).
    """
    kind = public.type_of_node
    priced = lam * task.rate[kind][:, None] + phi * task.memory_mb
    least = np.stack([priced[kind == g].min(axis=0) for g in range(len(public.node_types))])
    nodes = np.zeros(least.shape, np.int64)
    cover = cheapest_cover(task, public, task.cost + least, np.ones(least.shape, np.bool_), nodes)
    return np.inf if cover is None else float(cover.cost)


# ---------------------------------------------------------------------------------------------------- the comparison


@dataclass(frozen=True)
class State:
    """Prices in the middle of a day: (K, T) each, and the tasks that are asked then."""

    public: Public
    lam: FloatArray
    phi: FloatArray
    tasks: list[Task]

    @cached_property
    def linear(self) -> FloatPrices:
        """The same prices as the mechanisms of linear reduced cost keep theirs."""
        book = FloatPrices(self.public, Rule(Fraction(0), Fraction(0), Fraction(0), by_bbar=False))
        book.lam[:], book.phi[:] = self.lam, self.phi
        return book


def take_midday_state(instance: Instance, after: int, sample: int) -> State:
    """The prices of pdFTSP in doubles after the first tasks, and a sample of the tasks that follow, evenly spread."""
    spec = parse("pdftsp:arith=float")
    assert spec.entry is not None
    algorithm = spec.entry.make(dict(spec.options))
    public = instance.public("perf")
    algorithm.start(public, {name: CONSTANTS[name](instance)[0] for name in algorithm.constants})
    books = CapacityState(public)
    for i in range(after):
        task = instance.task(i)
        books.take(task, algorithm.decide(task, books.view(task.arrival)))
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


def decide_literal(state: State, task: Task) -> Choice | None:
    """Algorithm 2 in units of one sample."""
    menu, nodes, prices = _asked(state, task)
    return literal_search(task, state.public, menu, nodes, prices)


def decide_printed(state: State, task: Task) -> Choice | None:
    """`search=printed` as shipped."""
    menu, nodes, prices = _asked(state, task)
    return printed_search(task, state.public, menu, nodes, prices)


def decide_exact(state: State, task: Task) -> Choice | None:
    """`search=exact` as shipped."""
    menu, nodes, prices = _asked(state, task)
    return exact_search(task, state.public, menu, nodes, prices)


def decide_unpruned(state: State, task: Task) -> float:
    """(9) by every pair of prices."""
    menu, _, prices = _asked(state, task)
    return unpruned_search(task, state.public, menu, prices)


def decide_additive(state: State, task: Task) -> float:
    """The search of the mechanisms of linear reduced cost as shipped: the least cost, inf without a schedule."""
    quote = state.linear.cheapest(task, None)
    return np.inf if quote is None else float(quote.cost)


def find_disagreements(state: State, tasks: Sequence[Task]) -> list[str]:
    """Where a yardstick decides otherwise than what it stands beside; empty when all is well."""
    found = []
    for task in tasks:
        printed, literal = decide_printed(state, task), decide_literal(state, task)
        if printed != literal:
            found.append(f"task {task.index}: search=printed {printed}, literally {literal}")
        exact, value = decide_exact(state, task), decide_unpruned(state, task)
        if (-np.inf if exact is None else exact.value) != value:
            found.append(f"task {task.index}: search=exact {exact}, without pruning {value}")
        cost, programme = decide_additive(state, task), additive_search(task, state.public, state.lam, state.phi)
        if cost != programme:
            found.append(f"task {task.index}: additive {cost}, by the dynamic programme {programme}")
    return found


COLUMNS = (
    "search", "tasks", "microseconds", "decisions_per_second", "times_literal", "times_printed", "first_call_seconds",
)  # fmt: skip

_LITERAL = "Algorithm 2 literally, units of 1 sample"
_PRINTED = "search=printed as shipped"
_EXACT = "search=exact as shipped"
_UNPRUNED = "search=exact without pruning"
_ADDITIVE = "additive prices as shipped"


def measure(instance: Instance, after: int, few: int, many: int, turns: int, say: Callable[[str], None]) -> Measurement:
    """Rows for `few` tasks, on which everything runs, and for `many`, without what is slow.

    Raises
    ------
    RuntimeError : when two searches that must agree do not.
    """
    say(f"prices after {after:,} tasks")
    state = take_midday_state(instance, after, many)
    every = max(1, len(state.tasks) // few)
    sampled = state.tasks[every // 2 :: every][:few]
    say(f"decisions on {len(sampled)} tasks are compared")
    wrong = find_disagreements(state, sampled)
    if wrong:
        raise RuntimeError(wrong[0])
    quick: dict[str, Decide] = {_PRINTED: decide_printed, _EXACT: decide_exact, _ADDITIVE: decide_additive}
    slow: dict[str, Decide] = {_LITERAL: decide_literal, _UNPRUNED: decide_unpruned}
    rows = []
    for tasks, contenders, times in ((sampled, slow | quick, max(2, turns // 2)), (state.tasks, quick, turns)):
        say(f"{len(tasks)} tasks, {len(contenders)} contenders, {times} turns")
        calls = {name: _all(decide, state, tasks) for name, decide in contenders.items()}
        rows += _rows(time_in_turns(calls, times), len(tasks))
    bars = [(str(row["search"]), float(str(row["decisions_per_second"]))) for row in rows if row["times_literal"]]
    return Measurement(
        COLUMNS,
        rows,
        [Bars(f"decisions per second, {len(sampled)} tasks", "decisions per second", bars)],
        (
            f"K = {instance.nodes}, T = {instance.slots}, prices of pdFTSP after {after:,} of {instance.tasks:,} "
            "tasks, tasks drawn evenly from those that follow.",
            f"On {len(sampled)} tasks the printed programme decided as the literal one, the pruned search as the "
            "unpruned one, and the search at additive prices as the dynamic programme. Additive prices are "
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


def _measure(quick: bool, say: Callable[[str], None]) -> Measurement:
    instance = generate(DAY)
    return measure(instance, AFTER, 2 if quick else 8, 100 if quick else 800, 3 if quick else 7, say)


PART = Part("online", "Decisions per second on a day of the paper's size", _measure)
