"""Bound for instances whose tasks are rigid, gangs, or of several kinds.

Upper end: prices lam of compute and phi of memory per node type and slot. At such prices a task that is never paused
answers with its best run, a sum over slots in a row, which prefix sums give for every start. The volume algorithm looks
for prices of least dual value; what they prove is computed in integers by `ratiobench.formulations.lora.verify`, each
task by its own kind.

Prices of classes prove no more where every part takes a share of a node that divides it, by compute and by memory
alike, as 1, 2, 4 or 8 of 8 GPUs: a node may be full of any one class, so its best pattern earns at least what all of
its compute earns at the dearest class's price per sample.

A task of another kind is scheduled as a run of one node, which is one of its schedules. Source of the bound: weak
duality, as for P; a gang's part is a cell like any. The lower end is in `run_search`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, inlined
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.restriction import list_runs

Prices = NDArray[np.float64]

ROUNDS = 2_500  # Rounds of the search for prices per unit of effort, up to four units
# Weight of the newest subgradient in their average, at first and at last; rounds between two looks at it
NEWEST, LEAST_NEWEST, CHECKED = 0.02, 0.001, 300
# Factor of the first step, and of one at which the search ends; rounds without a gain until it is a tenth less
FIRST_STEP, LEAST_STEP, PATIENCE = 0.5, 1e-5, 10
SUBGRADIENT_ROUNDS = 400  # Rounds of the subgradient method per unit of effort, up to four units
REACH = 0.02  # Steps are those to a dual value lower by this share of the best one, if no solution is worth more


class Runs(NamedTuple):
    """The tasks of an instance that have a run, in flat arrays; slots from 0 here."""

    task: IntArray  # (n,) index in the instance
    bid: IntArray  # bid, memory, parts: (n,)
    memory: IntArray
    parts: IntArray
    entry_start: IntArray  # (n+1,); an entry is a node type and a pre-processing option of a task
    # kind, vendor, price, length, low, high: (entries,) node type, option (-1 for none) and its price, slots of the
    # run, first and last start.
    kind: IntArray
    vendor: IntArray
    price: IntArray
    length: IntArray
    low: IntArray
    high: IntArray
    rate: IntArray  # (entries,) samples per slot of a part
    # row, factor: (entries,) the operational cost of a part in slots s .. s+n-1 is factor times sums[row, s+n] -
    # sums[row, s].
    row: IntArray
    factor: IntArray
    sums: IntArray  # (rows, T+1) prefix sums, micro-dollars
    place: IntArray  # (n+1,) where a task's nodes begin in a flat array of nodes
    first_node: IntArray  # (G+1,); compute, capacity_mb: (G,) C_kp and C_km - r_b
    compute: IntArray
    capacity_mb: IntArray
    held: IntArray  # (2, K, T) samples and MB that jobs from before hold; (2, 0, 0) where none runs


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
        compute=public.compute.copy(), capacity_mb=public.memory_mb.copy(), held=instance.held(),
    )  # fmt: skip


def count_cells(r: Runs) -> int:
    """Slots of all runs together."""
    return int((r.length * (r.high - r.low + 1)).sum())


@inlined
def worth_of_run(r, i, e, s, share, lam, phi):  # type: ignore[no-untyped-def]
    """Bid less price, operational cost and `share` of the rents of entry e of task i from slot s on."""
    g = r.kind[e]
    end = s + r.length[e]
    cost = np.float64(r.factor[e]) * np.float64(r.sums[r.row[e], end] - r.sums[r.row[e], s])
    rent = r.rate[e] * (lam[g, end] - lam[g, s]) + r.memory[i] * (phi[g, end] - phi[g, s])
    return np.float64(r.bid[i] - r.price[e]) - r.parts[i] * (cost + share * rent)


@compiled
def _answers(r, lam, phi, gain, compute, memory):  # type: ignore[no-untyped-def]
    """Best reduced profit of every task, and what the runs that have it use.

    `lam`, `phi`: (G, T+1) prefix sums of the prices; `gain`: (n,) out; negative where no run gains; `compute`,
    `memory`: (G, T+1) out, used samples and megabytes; the last column is scratch.
    """
    compute[:] = 0.0
    memory[:] = 0.0
    for i in range(len(r.task)):
        best = -np.inf
        entry, start = -1, -1
        for e in range(r.entry_start[i], r.entry_start[i + 1]):
            for s in range(r.low[e], r.high[e] + 1):
                worth = worth_of_run(r, i, e, s, 1.0, lam, phi)
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
    """Prices of least dual value."""

    lam: Prices  # lam, phi: (G, T) micro-dollars per sample and per MB
    phi: Prices
    value: float  # the dual value in doubles, micro-dollars
    gain: Prices  # (n,) best reduced profit of each task


def sum_by_type(r: Runs, table: IntArray) -> IntArray:
    """(n, G, T) sums of a table (n, K, T) over the nodes of each type."""
    return np.stack([table[:, low:high].sum(axis=1) for low, high in pairwise(r.first_node.tolist())], axis=1)


def prefix(prices: Prices) -> Prices:
    """(G, T+1) sums of the prices of the slots before."""
    return np.concatenate([np.zeros((len(prices), 1)), np.cumsum(prices, axis=1)], axis=1)


def no_prices(r: Runs) -> RunPrices:
    """Prices of 0; what a task gains at them is put down as its bid."""
    nothing = np.zeros((len(r.compute), r.sums.shape[1] - 1))
    bid = r.bid.astype(np.float64)
    return RunPrices(nothing, nothing, float(bid.sum()), bid)


def net_values(r: Runs) -> Prices:
    """(n,) bid less price and operational cost of each task's best run, in micro-dollars."""
    kinds, slots = len(r.compute), r.sums.shape[1]
    gain = np.empty(len(r.task))
    nothing = np.zeros((kinds, slots))
    _answers(r, nothing, nothing, gain, np.empty((kinds, slots)), np.empty((kinds, slots)))
    return gain


class _Dual:
    """The dual value of prices of whole nodes and slots, by compute and by memory, and the least that was seen.

    `start`: (2, G, T) prices to begin with: half the median of what tasks bid for a node and slot; `least`, `price`,
    `gain`: the least dual value, its prices and reduced profits.
    """

    def __init__(self, r: Runs) -> None:
        self._runs = r
        self._nodes = np.diff(r.first_node).astype(np.float64)[:, None]
        kinds, self._slots = len(self._nodes), r.sums.shape[1] - 1
        self._unit = np.stack([r.compute, r.capacity_mb]).astype(np.float64)[:, :, None]
        if r.held.size:  # nodes that are left, by compute and by memory
            self._nodes = self._nodes - sum_by_type(r, r.held) / np.maximum(1.0, self._unit)
        self.start = np.zeros((2, kinds, self._slots))
        density = [
            r.bid[i] / (r.parts[i] * r.length[e] * max(r.rate[e] / r.compute[g], r.memory[i] / r.capacity_mb[g]))
            for i in range(len(r.task))
            for e, g in [(int(r.entry_start[i]), int(r.kind[r.entry_start[i]]))]
        ]
        self.start[0] = 0.5 * float(np.median(density)) if density else 0.0
        self._gain, self._used = np.empty(len(r.task)), np.empty((2, kinds, self._slots + 1))
        self.least, self.price, self.gain = np.inf, self.start, self._gain.copy()

    def value(self, price: Prices) -> tuple[float, Prices]:
        """The dual value at these prices, and the nodes that the tasks' best runs leave (a subgradient)."""
        lam, phi = price / self._unit
        _answers(self._runs, prefix(lam), prefix(phi), self._gain, self._used[0], self._used[1])
        value = float((self._nodes * price).sum()) + float(np.maximum(self._gain, 0).sum())
        if value < self.least:
            self.least, self.price, self.gain = value, price.copy(), self._gain.copy()
        return value, self._nodes - self._used[:, :, : self._slots] / self._unit

    def prices(self) -> RunPrices:
        """The best prices; never worse than prices of 0, at which each task is worth what it is alone."""
        self.value(np.zeros_like(self.start))
        lam, phi = self.price / self._unit
        return RunPrices(lam, phi, self.least, self.gain)


def find_prices(r: Runs, known: float, rounds: int, over: Callable[[], bool]) -> RunPrices:
    """Search for prices by the volume algorithm: steps from the best prices along an average of the subgradients."""
    dual = _Dual(r)
    price = dual.start
    direction, alpha, theta, waited, before = np.zeros_like(price), NEWEST, FIRST_STEP, 0, np.inf
    for number in range(rounds):
        best = dual.least
        value, slack = dual.value(price)
        direction = slack if number == 0 else (1 - alpha) * direction + alpha * slack
        if value < best:
            if float((slack * direction).sum()) > 0:
                theta = min(2.0, 1.1 * theta)
        else:
            waited += 1
            if waited == PATIENCE:
                theta, waited = 0.9 * theta, 0
        best = dual.least
        if number % CHECKED == CHECKED - 1:
            alpha = max(LEAST_NEWEST, 0.5 * alpha) if before - best < 5e-4 * best else alpha
            before = best
        step = np.where((dual.price <= 0) & (direction > 0), 0.0, direction)
        norm = float((step**2).sum())
        if norm < 1e-9 or theta < LEAST_STEP or over():
            break
        goal = max(known, (1 - REACH) * best)
        price = np.maximum(0.0, dual.price - theta * max(best - goal, 1e-4 * best) / norm * step)
    return dual.prices()


def find_prices_by_subgradients(r: Runs, known: float, rounds: int, over: Callable[[], bool]) -> RunPrices:
    """Search for prices by a deflected subgradient method with Polyak's steps.

    Its bound is less tight than that of `find_prices`. On some days list schedules along its prices are better.
    Parameters as of `find_prices`.
    """
    dual = _Dual(r)
    price = dual.start
    direction, theta, waited = np.zeros_like(price), 1.0, 0
    for _ in range(rounds):
        best = dual.least
        value, slack = dual.value(price)
        waited = 0 if value < best - 1e-6 * abs(best) else waited + 1
        if waited > 25:
            theta, waited, price = 0.6 * theta, 0, dual.price.copy()
            direction[:] = 0.0
            if theta < 1e-4:
                break
            continue
        slack[(price <= 0) & (slack > 0)] = 0.0
        direction = 0.5 * direction + 0.5 * slack
        norm = float((direction**2).sum())
        if norm < 1e-9 or over():
            break
        step = theta * max(value - 0.5 * (known + dual.least), 1e-4 * value) / norm
        price = np.maximum(0.0, price - step * direction)
    return dual.prices()


def value_per_slot(r: Runs) -> Prices:
    """(n,) bid per node and slot that a task's shortest run takes, by compute or memory, whichever binds."""
    found = np.empty(len(r.task))
    for i in range(len(r.task)):
        here = slice(int(r.entry_start[i]), int(r.entry_start[i + 1]))
        g = r.kind[here]
        size = np.maximum(r.rate[here] / r.compute[g], r.memory[i] / r.capacity_mb[g])
        found[i] = r.bid[i] / float((r.parts[i] * r.length[here] * size).min())
    return found
