"""Prices of nodes by type and slot for runs, from earlier days, solved again within the day.

A task that runs without a pause pays the sum of the prices of the nodes and slots of its run. Prices nu_gt of a whole
node of type g in slot t are those of the dual of the pooled problem (the bound of `ratiobench.formulations.lora.runs`,
with one price per node in place of two): what is asked for at them, by the best runs of all tasks, is what there is.

    D(nu) = sum_gt K_gt nu_gt + sum_i w_i max(0, max over (g, s) of b_i - sum_{t=s}^{s+n_ig-1} (e_igt + size_ig nu_gt))

Before the day the tasks are those of D earlier days, each with the weight 1/D, on K_g nodes of each type. In slot t of
the day they are those that arrive later, times the cube root of today's work so far over that of earlier days by then,
and the tasks that wait; K_gt is what is still free. A few subgradient steps follow whatever has changed. Where jobs
from before hold nodes when the day begins, the prices are first solved again from the beginning, on what these leave.
What held nodes when an earlier day began is not looked at: of earlier days only the tasks count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled
from ratiobench.instances.lora.history import split
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.online.lora.runs import first_slot, run_lengths

Floats = NDArray[np.float64]
FIRST_ROUNDS = 400  # Steps before the day
# Size of the first of these steps, in median bids per node-slot, and after how many it is half of that
FIRST_STEP, HALVED = 0.5, 8
STEP = 0.05  # Size of a step within the day
TRUST = 0.05  # Part of a day's work that speaks for the amount of earlier days until as much of today's has come
MOST = 10_000  # Past tasks that are looked at; of more, every so many-th stands for all
_WHOLE = 1e-6  # Parts of a node by which sums of shares may miss the number of free nodes


class Demand(NamedTuple):
    """Tasks, n of them, on G node types; slots from 0."""

    arrival: IntArray  # (n,) slot of arrival
    first: IntArray  # first, end: (n,) first slot of a run, and the slot before which it ends
    end: IntArray
    bid: Floats  # (n,) less the cheapest vendor, micro-dollars
    length: IntArray  # (n, G) slots of a run; 0 where there is none
    size: Floats  # (n, G) nodes that it takes, parts of a node included
    energy: Floats  # (n, G) Wh per slot of all parts

    @property
    def tasks(self) -> int:
        """n."""
        return len(self.bid)

    def choose(self, places: Any) -> Demand:
        """Some of the tasks."""
        return Demand(*(np.ascontiguousarray(column[places]) for column in self))


def read_demand(tasks: Sequence[Task], public: Public) -> Demand:
    """The tasks as demand for runs; a cost that no tariff explains is not seen."""
    kinds = len(public.node_types)
    length, size, energy = np.zeros((len(tasks), kinds), np.int64), *np.zeros((2, len(tasks), kinds))
    tariff = np.maximum(1, public.tariff.sum(axis=1)).astype(float)
    for row, task in enumerate(tasks):
        length[row] = run_lengths(task, public)
        share = np.maximum(task.rate / np.maximum(1, public.compute), task.memory_mb / np.maximum(1, public.memory_mb))
        size[row] = task.parts * share
        energy[row] = task.parts * task.cost.sum(axis=1) / tariff
    vendor = [min((offer.price for offer in task.vendors), default=0) for task in tasks]
    return Demand(
        np.array([task.arrival - 1 for task in tasks], np.int64),
        np.array([first_slot(task) - 1 for task in tasks], np.int64),
        np.array([task.deadline for task in tasks], np.int64),
        np.array([task.bid for task in tasks], np.float64) - vendor,
        length, size, energy,
    )  # fmt: skip


def join_demands(parts: Sequence[Demand]) -> Demand:
    """All of them, in this order."""
    return Demand(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


@compiled
def _ask(d, weight, now, tariff, nu, used):  # type: ignore[no-untyped-def]
    """What the best runs of all tasks take at these prices, from slot `now` on.

    `weight`: (n,) of each task; `tariff`, `nu`: (G, T+1) prefix sums of micro-dollars per Wh, and per node; `used`: (G,
    T+1) out, nodes; the last column is scratch.
    """
    used[:] = 0.0
    for i in range(len(d.bid)):
        best, kind, start = 0.0, -1, -1
        for g in range(used.shape[0]):
            n = d.length[i, g]
            if n == 0:
                continue
            for s in range(max(now, d.first[i]), d.end[i] - n + 1):
                cost = d.energy[i, g] * (tariff[g, s + n] - tariff[g, s]) + d.size[i, g] * (nu[g, s + n] - nu[g, s])
                if d.bid[i] - cost > best:
                    best, kind, start = d.bid[i] - cost, g, s
        if kind >= 0:
            used[kind, start] += weight[i] * d.size[i, kind]
            used[kind, start + d.length[i, kind]] -= weight[i] * d.size[i, kind]
    for g in range(used.shape[0]):
        for t in range(1, used.shape[1]):
            used[g, t] += used[g, t - 1]


@compiled
def _gains(d, now, tariff, nu, gain):  # type: ignore[no-untyped-def]
    """(n,) what each task gains per node-slot by its best run that begins now; -1 for none that gains."""
    for i in range(len(d.bid)):
        gain[i] = -1.0
        for g in range(nu.shape[0]):
            n = d.length[i, g]
            if n == 0 or now + n > d.end[i]:
                continue
            cost = d.energy[i, g] * (tariff[g, now + n] - tariff[g, now]) + d.size[i, g] * (nu[g, now + n] - nu[g, now])
            gain[i] = max(gain[i], (d.bid[i] - cost) / (d.size[i, g] * n))


def prefix(values: NDArray[Any]) -> Floats:
    """(G, T+1) sums of the slots before."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=np.float64)], axis=1)


class DualPrices:
    """The prices over a day.

    `history`: earlier days, one after another in one instance; None without any: prices begin at 0; `rounds`: steps
    whenever prices are solved again; 0: they stay as they were when the day began; `nu`: (G, T) micro-dollars per node
    and slot.
    """

    def __init__(self, public: Public, history: Instance | None, rounds: int) -> None:
        self._public, self._rounds = public, rounds
        self._tariff = prefix(public.tariff)
        self._nodes = np.array([kind.count for kind in public.node_types], np.float64)[:, None]
        days = [] if history is None else split(history, public)
        parts = [read_demand([day.task(i) for i in range(day.tasks)], public) for day in days]
        past = join_demands(parts) if parts else read_demand([], public)
        stride = max(1, -(-past.tasks // MOST))
        self._past = past.choose(slice(None, None, stride))
        self._weight = np.full(self._past.tasks, stride / max(1, len(days)))
        self._expected = np.cumsum(np.bincount(self._past.arrival, self._weight * _work(self._past), public.slots))
        self._came, self._begun = 0.0, False
        self.nu = np.zeros((len(self._nodes), public.slots))
        self._unit = _median(_density(self._past))
        self._begin(np.repeat(self._nodes, public.slots, axis=1))

    def _begin(self, free: Floats) -> None:
        """Prices before the day, on the nodes that are free when it begins; 0 without a history."""
        if self._past.tasks and self._unit:
            self.nu[:] = 0.5 * self._unit
            steps = FIRST_STEP / (1.0 + np.arange(FIRST_ROUNDS) / HALVED)
            self.nu = self._solve(self._past, self._weight, 0, free, steps)

    def count(self, tasks: Demand) -> None:
        """These tasks have arrived."""
        self._came += float(_work(tasks).sum())

    def solve(self, slot: int, free: Floats, waiting: Demand) -> None:
        """Prices for what comes after slot `slot` (from 0), and for the tasks that wait.

        `free`: (G, T) nodes that are free, parts of a node included.
        """
        if not self._begun and (free < self._nodes - _WHOLE).any():  # before any task runs: by jobs from before
            self._begin(free)
        self._begun = True
        if not self._rounds:
            return
        later = np.flatnonzero(self._past.arrival > slot)
        trust = TRUST * float(self._expected[-1])
        level = _cube_root((self._came + trust) / (float(self._expected[slot]) + trust)) if trust else 1.0
        demand = join_demands([self._past.choose(later), waiting])
        weight = np.concatenate([level * self._weight[later], np.ones(waiting.tasks)])
        if not self._unit:
            self._unit = _median(_density(waiting))
        self.nu = self._solve(demand, weight, slot, free, np.full(self._rounds, STEP))

    def _solve(self, demand: Demand, weight: Floats, now: int, free: Floats, steps: Floats) -> Floats:
        """Subgradient steps; the mean of the last half of the prices."""
        nu, total, count = self.nu.copy(), np.zeros_like(self.nu), 0
        used = np.empty((len(nu), nu.shape[1] + 1))
        for number, step in enumerate(steps):
            _ask(demand, weight, now, self._tariff, prefix(nu), used)
            over = (used[:, :-1] - free) / np.maximum(1.0, self._nodes)
            nu[:, now:] = np.maximum(0.0, nu[:, now:] + step * self._unit * np.clip(over[:, now:], -1.0, 1.0))
            if 2 * number >= len(steps) - 1:
                total, count = total + nu, count + 1
        found: Floats = total / max(1, count)
        return found

    def gains(self, slot: int, tasks: Demand, scale: float) -> Floats:
        """(n,) micro-dollars per node-slot that each task gains by a run from this slot on; -1 for none."""
        gain = np.empty(tasks.tasks)
        _gains(tasks, slot, self._tariff, prefix(scale * self.nu), gain)
        return gain


def _work(demand: Demand) -> Floats:
    """(n,) node-slots of the smallest run of each task; 0 for one without any in its window."""
    fits = (demand.length > 0) & (demand.first[:, None] + demand.length <= demand.end[:, None])
    size = np.where(fits, demand.size * demand.length, np.inf).min(axis=1, initial=np.inf)
    found: Floats = np.where(np.isfinite(size), size, 0.0)
    return found


def _cube_root(value: float) -> float:
    """By Newton's method: the same double on any machine."""
    root = max(1.0, value)
    for _ in range(100):
        root = (2 * root + value / (root * root)) / 3
    return root


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 0.0


def _density(demand: Demand) -> Floats:
    """Bid per node-slot of the tasks that have a run."""
    work = _work(demand)
    found: Floats = demand.bid[work > 0] / work[work > 0]
    return found


def free_nodes(compute: IntArray, memory_mb: IntArray, public: Public) -> Floats:
    """(G, T) nodes that are free, parts of a node included: of compute or memory what is less."""
    kind = public.type_of_node
    whole = (np.maximum(1, each)[kind][:, None] for each in (public.compute, public.memory_mb))
    share = np.minimum(*(free / each for free, each in zip((compute, memory_mb), whole, strict=True)))
    found = np.zeros((len(public.node_types), compute.shape[1]))
    np.add.at(found, kind, share)
    return found
