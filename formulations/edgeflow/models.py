"""The fluid relaxation on the grid of events: its primal, for bounds and for other solvers, and its dual, for prices.

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
    modes = np.diff(problem.mode_start)
    return int(((grid.last - grid.first) * (modes + 1)).sum()) + 2 * grid.cells + 2 * problem.jobs


def _uses(problem: Problem, grid: Grid) -> _Uses:
    uses: list[tuple[int, int, int, int, int]] = []
    pairs: list[tuple[int, int, int]] = []
    able: list[int] = []
    work: list[float] = []
    for i in range(problem.jobs):
        modes = range(int(problem.mode_start[i]), int(problem.mode_start[i + 1]))
        if not modes:
            continue
        slowest = int(problem.mode_speed[modes.start : modes.stop].min())
        number = len(able)
        able.append(i)
        work.append(float(problem.work[i]) + float(problem.overhead[i]) * slowest)
        for k in range(int(grid.first[i]), int(grid.last[i])):
            low, high = int(problem.submit[i]), int(problem.deadline[i])
            for m in modes:
                if problem.mode_gpus[m] or grid.servers[k]:
                    uses.append((number, k, int(problem.mode_gpus[m]), int(problem.mode_speed[m]), len(pairs)))
            pairs.append((number, k, min(int(grid.points[k + 1]), high) - max(int(grid.points[k]), low)))
    pair_job, pair_cell, span = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    job, cell, gpus, speed, pair = np.array(uses, dtype=np.int64).reshape(-1, 5).T
    about = np.array(able, np.int64), np.array(work)
    return _Uses(job, cell, gpus, speed, pair, pair_job, pair_cell, span.astype(np.float64), *about)


def primal(problem: Problem, grid: Grid, whole: bool) -> LinearModel:
    """Columns x_i_k_m (m: its number of GPUs, 0 the edge), then z_i, binary if `whole`, of jobs that can be met."""
    u = _uses(problem, grid)
    n, uses, each = len(u.able), len(u.job), np.arange(len(u.job))
    span = u.pair_span[u.pair]
    length = grid.length
    rows = RowBuilder()
    jobs, cells = np.arange(n), np.arange(grid.cells)
    work = [(u.job, each, u.speed * span / u.work[u.job]), (jobs, uses + jobs, -1.0)]
    rows.add([f"work_{i}" for i in u.able], work, 0.0, np.inf)
    time = [(u.pair, each, 1.0), (np.arange(len(u.pair_job)), uses + u.pair_job, -1.0)]
    rows.add([f"time_{u.able[a]}_{k}" for a, k in zip(u.pair_job, u.pair_cell, strict=True)], time, -np.inf, 0.0)
    cloud = u.gpus > 0
    share = span / length[u.cell] if uses else span
    gpus = (u.gpus * share)[cloud]
    rows.block([f"gpus_{k}" for k in cells], u.cell[cloud], each[cloud], gpus, -np.inf, float(problem.gpus))
    rows.block([f"edge_{k}" for k in cells], u.cell[~cloud], each[~cloud], share[~cloud], -np.inf, grid.servers)
    names = [f"x_{u.able[a]}_{k}_{g}" for a, k, g in zip(u.job, u.cell, u.gpus, strict=True)]
    names += [f"z_{i}" for i in u.able]
    objective = np.concatenate([np.zeros(uses), np.ones(n)])
    integer = np.concatenate([np.zeros(uses, np.bool_), np.full(n, whole)])
    return rows.model("fluid", objective, names, 1.0, integer)


def dual(problem: Problem, grid: Grid) -> LinearModel:
    """The dual: columns lam_k and mu_k, what all of cell k's GPUs and servers cost, then u_i, s_i and b_i_k.

    Minimise all costs plus sum s, s_i >= 1 - u_i + sum_k b_ik, b_ik >= what a mode earns less its cost in the cell.
    """
    u = _uses(problem, grid)
    n, uses, pairs, cells = len(u.able), len(u.job), len(u.pair_job), grid.cells
    span, length = u.pair_span[u.pair], grid.length
    at_u, at_s, at_b = 2 * cells, 2 * cells + n, 2 * cells + 2 * n
    jobs, each = np.arange(n), np.arange(uses)
    rows = RowBuilder()
    left = [(jobs, at_s + jobs, 1.0), (jobs, at_u + jobs, 1.0), (u.pair_job, at_b + np.arange(pairs), -1.0)]
    rows.add([f"left_{i}" for i in u.able], left, 1.0, np.inf)
    # What all of a cell costs is a price times G len_k, or times E_k len_k.
    whole = np.where(u.gpus > 0, problem.gpus, np.maximum(grid.servers[u.cell], 1)) * length[u.cell] if uses else span
    cost = np.where(u.gpus > 0, u.gpus, 1) * span / whole
    column = np.where(u.gpus > 0, u.cell, cells + u.cell)
    earned = [(each, at_u + u.job, u.speed * span / u.work[u.job]), (each, column, -cost), (each, at_b + u.pair, -1.0)]
    rows.add([f"earned_{a}" for a in range(uses)], earned, -np.inf, 0.0)
    names = [f"{kind}_{k}" for kind in ("lam", "mu") for k in range(cells)]
    names += [f"{kind}_{i}" for kind in ("u", "s") for i in u.able]
    names += [f"b_{u.able[a]}_{k}" for a, k in zip(u.pair_job, u.pair_cell, strict=True)]
    objective = np.concatenate([-np.ones(2 * cells), np.zeros(n), -np.ones(n), np.zeros(pairs)])
    return rows.model("prices", objective, names)


def prices_from(problem: Problem, grid: Grid, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """lam and mu per second, and (n,) values of a milli-iteration, of a solution of `dual`."""
    cells, able = grid.cells, np.flatnonzero(np.diff(problem.mode_start) > 0)
    costs = np.maximum(0.0, values)
    lam = costs[:cells] / (problem.gpus * grid.length)
    mu = costs[cells : 2 * cells] / (np.maximum(grid.servers, 1) * grid.length)
    value = np.zeros(problem.jobs)
    value[able] = costs[2 * cells : 2 * cells + len(able)] / problem.work[able]
    return lam, np.where(grid.servers > 0, mu, 0.0), value
