"""Prices of GPU and edge seconds that prove how many deadlines can be met at most: the dual bound.

For prices lam, mu >= 0, constant on the cells of a grid, no schedule meets more jobs than

    sum_k (G lam_k + E_k mu_k) len_k + sum_i max(0, 1 - g_i),

g_i being at most what any schedule costs that meets job i (`pricing`); `verify` has the proof. Prices are sought in
doubles by a deflected subgradient method; the bound is computed from integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ratiobench.formulations.edgeflow.pricing import price_jobs
from ratiobench.formulations.edgeflow.problem import Grid, Problem
from ratiobench.formulations.linear import FloatArray

SCALE = 10**12  # Integer prices are in 1/SCALE jobs
LARGEST = 2**62  # Of a worth, in 1/SCALE jobs
LINES = 6  # Schedules looked at for one job in one round
MEMORY = 0.9  # The weight of the direction so far; the rest is the newest derivative's
CLIP = 3.0  # A cell whose use is this many times what there is, or more, counts no more


@dataclass(slots=True, eq=False)
class Prices:
    grid: Grid
    lam: FloatArray  # lam, mu: (K,) per GPU second and per edge second, jobs
    mu: FloatArray
    value: FloatArray  # (n,) of a milli-iteration, jobs
    cost: FloatArray  # (n,) g of the jobs at these
    bound: float  # in doubles, no proof
    rounds: int = 0  # that were done


def begin(problem: Problem, grid: Grid) -> Prices:
    """Prices of 0: the bound is how many jobs can be met alone."""
    cells, jobs = grid.cells, problem.jobs
    zero = np.zeros(cells)
    return Prices(grid, zero, zero.copy(), np.zeros(jobs), np.zeros(jobs), float(problem.alone))


def unit_price(problem: Problem) -> float:
    """The price of a GPU second at which half the jobs cost one job, if prices are the same everywhere."""
    found = []
    for i in range(problem.jobs):
        modes = slice(int(problem.mode_start[i]), int(problem.mode_start[i + 1]))
        gpus, speed = problem.mode_gpus[modes], problem.mode_speed[modes]
        if gpus.any():
            found.append(float((speed[gpus > 0] / gpus[gpus > 0]).max()) / float(problem.work[i]))
    return float(np.median(found)) if found else 0.0


def descend(
    problem: Problem, prices: Prices, rounds: int, first: float, last: float, over: Callable[[], bool] = lambda: False
) -> Prices:
    """The best prices of these rounds; the step, in `unit_price`, falls from `first` to `last` geometrically."""
    grid, length = prices.grid, prices.grid.length
    cells, jobs, servers = grid.cells, problem.jobs, grid.servers.astype(np.float64)
    lam, mu, value = prices.lam.copy(), prices.mu.copy(), prices.value.copy()
    cost, gpu_use, edge_use = np.zeros(jobs), np.zeros(cells), np.zeros(cells)
    along, along_edge = np.zeros(cells), np.zeros(cells)
    unit, ratio = unit_price(problem), (last / first) ** (1.0 / rounds)
    best, done = prices, 0
    for done in range(1, rounds + 1):
        total = price_jobs(
            problem, grid.points, grid.servers, grid.first, grid.last, lam, mu, LINES, value, cost, gpu_use, edge_use
        )
        total += problem.gpus * float(lam @ length) + float((servers * mu) @ length)
        if total < best.bound or (done == 1 and total <= best.bound):
            best = Prices(grid, lam.copy(), mu.copy(), value.copy(), cost.copy(), total)
        if over():
            break
        excess = np.minimum(CLIP, gpu_use / length / problem.gpus - 1.0)
        excess_edge = np.minimum(CLIP, edge_use / length / np.maximum(servers, 1.0) - 1.0)
        along = MEMORY * along + (1.0 - MEMORY) * excess
        along_edge = MEMORY * along_edge + (1.0 - MEMORY) * np.where(servers > 0, excess_edge, 0.0)
        step = unit * first * ratio**done / (1.0 - MEMORY**done)
        lam, mu = np.maximum(0.0, lam + step * along), np.maximum(0.0, mu + step * along_edge)
    best.rounds = prices.rounds + done
    return best


@dataclass(frozen=True, slots=True)
class Proof:
    points: tuple[int, ...]  # of the grid
    lam: tuple[int, ...]  # lam, mu: per cell, in 1/SCALE jobs per second
    mu: tuple[int, ...]
    worths: tuple[int, ...]  # per job, of its whole work, in 1/SCALE jobs
    total: int  # the bound in 1/SCALE jobs

    @property
    def upper(self) -> int:
        return self.total // SCALE


def prove(problem: Problem, prices: Prices) -> Proof:
    grid = prices.grid
    points = tuple(grid.points.tolist())
    lam = tuple(round(price * SCALE) for price in prices.lam.tolist())
    mu = tuple(round(price * SCALE) for price in prices.mu.tolist())
    worths = tuple(
        min(LARGEST, round(value * work * SCALE))
        for value, work in zip(prices.value.tolist(), problem.work.tolist(), strict=True)
    )
    total = sum(
        (b - a) * (problem.gpus * price + count * edge)
        for a, b, price, edge, count in zip(points, points[1:], lam, mu, grid.servers.tolist(), strict=False)
    )
    for i, worth in enumerate(worths):
        total += excess_of(problem, grid, i, lam, mu, worth)
    return Proof(points, lam, mu, worths, total)


def excess_of(problem: Problem, grid: Grid, i: int, lam: Sequence[int], mu: Sequence[int], worth: int) -> int:
    """max(0, 1 - g_i) in 1/SCALE jobs, rounded up."""
    modes = range(int(problem.mode_start[i]), int(problem.mode_start[i + 1]))
    if not modes:
        return 0
    work, low, high = int(problem.work[i]), int(problem.submit[i]), int(problem.deadline[i])
    ways = [(int(problem.mode_gpus[m]), worth * int(problem.mode_speed[m])) for m in modes]
    stalls = [int(problem.overhead[i]) * earned for _, earned in ways]
    net: list[float | int] = [-math.inf] * len(ways)
    top = 0
    first, last = int(grid.first[i]), int(grid.last[i])
    points, servers = grid.points[first : last + 1].tolist(), grid.servers[first:last].tolist()
    for at in range(last - first):
        span = min(points[at + 1], high) - max(points[at], low)
        price, edge_price = work * lam[first + at], work * mu[first + at]
        start = top
        for m, (gpus, earned) in enumerate(ways):
            if not gpus and not servers[at]:
                net[m] = -math.inf
                continue
            on = max(net[m], start - stalls[m]) + (earned - (gpus * price if gpus else edge_price)) * span
            net[m] = on
            if on > top:
                top = int(on)
    return max(0, SCALE - worth - (-top // work))
