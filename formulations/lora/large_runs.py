"""A first schedule for days of a few large gangs: the largest tasks decided together by a program.

On such days most of the welfare is that of some ten to thirty tasks, and annealings seldom find the right ones: a move
that brings one in throws out many others. Here a pooled program (a node type is one node as large as all of its nodes)
has a column for the best starts of every task at the dual prices. The columns of the largest tasks are whole, all
others may be fractions; there are so few whole ones that branch and bound ends. What the program admits by more than a
half is then given nodes: by packing (`ratiobench.formulations.lora.run_search`), and by annealings that may overload
nodes (`ratiobench.formulations.lora.overloaded_runs`). The best is a start for other annealings. Nothing is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.linear import BoolArray, LinearModel, RowBuilder
from ratiobench.formulations.lora.overloaded_runs import give_nodes
from ratiobench.formulations.lora.run_search import NODE_HEATS, Kept, Order, anneal, empty_schedule, keep, pack
from ratiobench.formulations.lora.runs import Prices, RunPrices, Runs, prefix
from ratiobench.instances.lora.model import IntArray

STARTS = 12  # Columns of a task: its runs of largest reduced profit
LEAST_GAIN = -0.25  # Tasks whose best reduced profit is below so many bids have no columns
LARGE = 0.7  # The largest tasks with this share of all values are decided whole
WORK = 30  # Units of work of the program (`Limits`) per unit of effort
GAP = 0.001  # Relative gap at which the program ends
LARGEST = 1000.0  # Value of the most valuable run in the program's objective
# Annealings that may overload nodes; blocks per task of each, and of the one without overloads that follows
ANNEALINGS, BLOCKS, POLISH = 3, 150, 10
FEWEST_GANGS = 5  # With fewer gangs among the largest tasks no program is made: annealings find as much
# Of fewer tasks a solver has a model of all; of more the linear relaxation takes minutes
FEWEST_TASKS, MOST_TASKS = 301, 2_000


class _Columns(NamedTuple):
    """Runs, one each: task, entry, start, net value in micro-dollars."""

    task: IntArray
    entry: IntArray
    start: IntArray
    value: IntArray


def limits(effort: int, seconds: float | None) -> Limits:
    """Limits of the program.

    `effort`: units of work of the whole search.
    """
    return Limits(work=WORK * min(effort, 4), gap=GAP, seconds=None if seconds is None else max(0.1, seconds / 3))


def has_large_gangs(r: Runs) -> bool:
    """Whether some gangs are among the largest tasks, and the tasks are few enough for a program."""
    if not FEWEST_TASKS <= len(r.task) <= MOST_TASKS:
        return False
    return int((r.parts[_largest(r.bid.astype(np.float64))] > 1).sum()) >= FEWEST_GANGS


def find_schedule(r: Runs, o: Order, prices: RunPrices, limits: Limits, over: Callable[[], bool]) -> Kept | None:
    """The schedule on nodes that the program leads to; None where the solver finds none."""
    columns = _choose_columns(r, prices)
    if not len(columns.task):
        return None
    most = np.zeros(len(r.task))
    np.maximum.at(most, columns.task, columns.value.astype(np.float64))
    large = np.zeros(len(r.task), np.bool_)
    largest = _largest(most)
    large[largest] = True
    found = backends.solve("highs", _make_model(r, columns, large[columns.task]), limits)
    if found.values is None:
        return None
    pooled = keep(empty_schedule(r, o, True))
    for j in np.flatnonzero(found.values > 0.5).tolist():
        i = int(columns.task[j])
        pooled.entry[i], pooled.start[i], pooled.net[i] = columns.entry[j], columns.start[j], columns.value[j]
    pooled.welfare[0] = pooled.net.sum()
    value, n = float(np.median(most[largest])), len(r.task)
    schedules = [pack(r, o, pooled)]
    for number in range(ANNEALINGS):
        schedules.append(give_nodes(r, o, pooled, prices, value, BLOCKS * n, number, over))
    better = (each if over() else anneal(r, o, each, POLISH * n, 0, NODE_HEATS[0]) for each in schedules)
    return max(better, key=lambda each: int(each.welfare[0]))


def _largest(value: Prices) -> IntArray:
    order = np.argsort(-value, kind="stable")
    count = int((np.cumsum(value[order]) < LARGE * value.sum()).sum()) + 1
    found: IntArray = order[: min(count, len(order))]
    return found


def _choose_columns(r: Runs, prices: RunPrices) -> _Columns:
    """The runs of largest reduced profit of each task, of those with a positive net value; ties: the earliest."""
    lam, phi = prefix(prices.lam), prefix(prices.phi)
    chosen = []
    for i in range(len(r.task)):
        rows = []
        for e in range(int(r.entry_start[i]), int(r.entry_start[i + 1])):
            g, n, parts = int(r.kind[e]), int(r.length[e]), int(r.parts[i])
            start = np.arange(r.low[e], r.high[e] + 1)
            end = start + n
            cost = r.factor[e] * (r.sums[r.row[e], end] - r.sums[r.row[e], start])
            value = r.bid[i] - r.price[e] - parts * cost
            rent = r.rate[e] * (lam[g, end] - lam[g, start]) + r.memory[i] * (phi[g, end] - phi[g, start])
            rows.append(
                np.stack([np.full(len(start), e), start, value, np.rint(value - parts * rent)]).astype(np.int64)
            )
        entry, start, value, profit = np.concatenate(rows, axis=1)
        if not len(profit) or profit.max() < LEAST_GAIN * r.bid[i]:
            continue
        best = np.argsort(-profit, kind="stable")[:STARTS]
        best = best[value[best] > 0]
        chosen.append(np.stack([np.full(len(best), i), entry[best], start[best], value[best]]))
    table = np.concatenate(chosen, axis=1) if chosen else np.zeros((4, 0), np.int64)
    return _Columns(*(np.ascontiguousarray(row, dtype=np.int64) for row in table))


def _make_model(r: Runs, columns: _Columns, whole: BoolArray) -> LinearModel:
    """At most one run of each task; of a node type in each slot no more than its nodes, by compute or memory."""
    i, e = columns.task, columns.entry
    g, length = r.kind[e], r.length[e]
    size = r.parts[i] * np.maximum(r.rate[e] / r.compute[g], r.memory[i] / np.maximum(1, r.capacity_mb[g]))
    kinds, slots = len(r.compute), r.sums.shape[1] - 1
    free = np.repeat(np.diff(r.first_node)[:, None].astype(np.float64), slots, axis=1)
    if r.held.size:
        share = np.maximum(
            r.held[0] / np.repeat(r.compute, np.diff(r.first_node))[:, None],
            r.held[1] / np.maximum(1, np.repeat(r.capacity_mb, np.diff(r.first_node)))[:, None],
        )
        free -= np.add.reduceat(share, r.first_node[:-1], axis=0)
    tasks, row = np.unique(i, return_inverse=True)
    column = np.arange(len(i))
    rows = RowBuilder()
    rows.block([f"task_{each}" for each in tasks.tolist()], row, column, np.ones(len(i)), -np.inf, 1.0)
    of_run = np.repeat(column, length)
    slot = columns.start[of_run] + np.arange(len(of_run)) - np.repeat(np.cumsum(length) - length, length)
    names = [f"capacity_{kind}_{t}" for kind in range(kinds) for t in range(slots)]
    rows.block(names, g[of_run] * slots + slot, of_run, size[of_run], -np.inf, free.ravel())
    # In parts of the largest value: in micro-dollars the same programs take many times as long.
    objective = columns.value.astype(np.float64) * (LARGEST / float(columns.value.max()))
    model = rows.binary_model("large_runs", objective, tuple(f"x_{j}" for j in column.tolist()))
    return replace(model, integer=whole)
