"""The fluid relaxation on the grid of events as linear programs: its primal, for bounds and for other solvers, and its
dual, for prices.

Between neighbouring events a schedule uses each mode for some average share of the time, whatever it changes inside.
Of job i let x_ikm be the share of cell k (of what of it lies in the job's window) in mode m, z_i whether it is met:

    max sum z,   sum_km speed_m len_ik x_ikm >= (work_i + overhead_i slowest_i) z_i,   sum_m x_ikm <= z_i,
    sum_im gpus_m len_ik x_ikm <= G len_k,   sum_i len_ik x_ik,edge <= E_k len_k.

Every met job starts at least once and stands still meanwhile, at its slowest speed or a faster one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.edgeflow.problem import Grid, Problem
from ratiobench.formulations.linear import FloatArray, IntArray, LinearModel, RowBuilder

COLUMNS_LIMIT = 400_000  # A model with more columns is not built


class _Uses(NamedTuple):
    """Every (job, cell, mode) in which the job can run there, in flat arrays, and every (job, cell)."""

    job: IntArray
    cell: IntArray
    gpus: IntArray
    speed: IntArray
    pair: IntArray
    pair_job: IntArray
    pair_cell: IntArray
    pair_span: FloatArray
    able: IntArray
    work: FloatArray


def columns(problem: Problem, grid: Grid) -> int:
    """At most how many columns a model has."""
    modes = np.diff(problem.mode_start)
    return int(((grid.last - grid.first) * (modes + 1)).sum()) + 2 * grid.cells + 2 * problem.jobs


def _uses(problem: Problem, grid: Grid) -> _Uses:
    job, cell, gpus, speed, pair = [], [], [], [], []  # type: list[int], list[int], list[int], list[int], list[int]
    pair_job, pair_cell, pair_span = [], [], []  # type: list[int], list[int], list[float]
    able, work = [], []
    for i in range(problem.jobs):
        modes = range(int(problem.mode_start[i]), int(problem.mode_start[i + 1]))
        if not modes:
            continue
        slowest = int(problem.mode_speed[modes.start : modes.stop].min())
        able.append(i)
        work.append(float(problem.work[i]) + float(problem.overhead[i]) * slowest)
        for k in range(int(grid.first[i]), int(grid.last[i])):
            low, high = int(problem.submit[i]), int(problem.deadline[i])
            for m in modes:
                if problem.mode_gpus[m] or grid.servers[k]:
                    job.append(len(able) - 1)
                    cell.append(k)
                    gpus.append(int(problem.mode_gpus[m]))
                    speed.append(int(problem.mode_speed[m]))
                    pair.append(len(pair_job))
            pair_job.append(len(able) - 1)
            pair_cell.append(k)
            pair_span.append(float(min(int(grid.points[k + 1]), high) - max(int(grid.points[k]), low)))

    def ints(values: list[int]) -> IntArray:
        return np.array(values, dtype=np.int64)

    return _Uses(
        ints(job), ints(cell), ints(gpus), ints(speed), ints(pair), ints(pair_job), ints(pair_cell),
        np.array(pair_span), ints(able), np.array(work),
    )  # fmt: skip


def primal(problem: Problem, grid: Grid, whole: bool) -> LinearModel:
    """Columns x_i_k_m (m: its number of GPUs, 0 the edge), then z_i, binary if `whole`, of the jobs that can be met."""
    u = _uses(problem, grid)
    n, uses, each = len(u.able), len(u.job), np.arange(len(u.job))
    span = u.pair_span[u.pair]
    length = grid.length
    rows = RowBuilder()
    jobs, cells = np.arange(n), np.arange(grid.cells)
    rows.block(
        [f"work_{i}" for i in u.able],
        np.concatenate([u.job, jobs]),
        np.concatenate([each, uses + jobs]),
        np.concatenate([u.speed * span / u.work[u.job], -np.ones(n)]),
        0.0,
        np.inf,
    )
    pairs = np.arange(len(u.pair_job))
    rows.block(
        [f"time_{u.able[a]}_{k}" for a, k in zip(u.pair_job, u.pair_cell, strict=True)],
        np.concatenate([u.pair, pairs]),
        np.concatenate([each, uses + u.pair_job]),
        np.concatenate([np.ones(uses), -np.ones(len(pairs))]),
        -np.inf,
        0.0,
    )
    cloud = u.gpus > 0
    share = span / length[u.cell] if uses else span
    rows.block(
        [f"gpus_{k}" for k in cells], u.cell[cloud], each[cloud], (u.gpus * share)[cloud], -np.inf, float(problem.gpus)
    )
    rows.block([f"edge_{k}" for k in cells], u.cell[~cloud], each[~cloud], share[~cloud], -np.inf, grid.servers)
    names = [f"x_{u.able[a]}_{k}_{g}" for a, k, g in zip(u.job, u.cell, u.gpus, strict=True)]
    names += [f"z_{i}" for i in u.able]
    objective = np.concatenate([np.zeros(uses), np.ones(n)])
    integer = np.concatenate([np.zeros(uses, np.bool_), np.full(n, whole)])
    return _model("fluid", names, objective, np.ones(uses + n), integer, rows)


def dual(problem: Problem, grid: Grid) -> LinearModel:
    """The dual: columns lam_k and mu_k, what all of cell k's GPUs and servers cost, then u_i, s_i and b_i_k.

    Minimise what all costs plus sum s over s_i >= 1 - u_i + sum_k b_ik and b_ik >= what a mode earns less what it costs
    in the cell.
    """
    u = _uses(problem, grid)
    n, uses, pairs, cells = len(u.able), len(u.job), len(u.pair_job), grid.cells
    span, length = u.pair_span[u.pair], grid.length
    at_u, at_s, at_b = 2 * cells, 2 * cells + n, 2 * cells + 2 * n
    jobs, each = np.arange(n), np.arange(uses)
    rows = RowBuilder()
    rows.block(
        [f"left_{i}" for i in u.able],
        np.concatenate([jobs, jobs, u.pair_job]),
        np.concatenate([at_s + jobs, at_u + jobs, at_b + np.arange(pairs)]),
        np.concatenate([np.ones(2 * n), -np.ones(pairs)]),
        1.0,
        np.inf,
    )
    # What all of a cell costs is a price times G len_k, or times E_k len_k.
    whole = np.where(u.gpus > 0, problem.gpus, np.maximum(grid.servers[u.cell], 1)) * length[u.cell] if uses else span
    cost = np.where(u.gpus > 0, u.gpus, 1) * span / whole
    column = np.where(u.gpus > 0, u.cell, cells + u.cell)
    rows.block(
        [f"earned_{a}" for a in range(uses)],
        np.concatenate([each, each, each]),
        np.concatenate([at_u + u.job, column, at_b + u.pair]),
        np.concatenate([u.speed * span / u.work[u.job], -cost, -np.ones(uses)]),
        -np.inf,
        0.0,
    )
    names = [f"{kind}_{k}" for kind in ("lam", "mu") for k in range(cells)]
    names += [f"{kind}_{i}" for kind in ("u", "s") for i in u.able]
    names += [f"b_{u.able[a]}_{k}" for a, k in zip(u.pair_job, u.pair_cell, strict=True)]
    objective = np.concatenate([-np.ones(2 * cells), np.zeros(n), -np.ones(n), np.zeros(pairs)])
    integer = np.zeros(len(names), np.bool_)
    return _model("prices", names, objective, np.full(len(names), np.inf), integer, rows)


def prices_from(problem: Problem, grid: Grid, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """lam and mu per second, and (n,) values of a milli-iteration, of a solution of `dual`."""
    cells, able = grid.cells, np.flatnonzero(np.diff(problem.mode_start) > 0)
    costs = np.maximum(0.0, values)
    lam = costs[:cells] / (problem.gpus * grid.length)
    mu = costs[cells : 2 * cells] / (np.maximum(grid.servers, 1) * grid.length)
    value = np.zeros(problem.jobs)
    value[able] = costs[2 * cells : 2 * cells + len(able)] / problem.work[able]
    return lam, np.where(grid.servers > 0, mu, 0.0), value


def _model(
    name: str, names: list[str], objective: FloatArray, upper: FloatArray, integer: np.ndarray, rows: RowBuilder
) -> LinearModel:
    row_start, index, value, row_lower, row_upper = rows.csr()
    return LinearModel(
        name=name,
        objective=objective,
        lower=np.zeros(len(names)),
        upper=upper,
        integer=integer,
        row_start=row_start,
        index=index,
        value=value,
        row_lower=row_lower,
        row_upper=row_upper,
        columns=tuple(names),
        rows=tuple(rows.names),
    )
