"""Branches on starts: a job starts before a second or from it on, and either side has prices of its own.

Prices alone let a wide job run half now and half later. Where its starts are split, they cannot: the bound is the least
of all leaves'. Each leaf is the relaxation of `bound.py` with first and last seconds at which every job may start.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from ratiobench.formulations.cluster.bound import ANY_START, ClassAscent
from ratiobench.formulations.cluster.certificate import Branch
from ratiobench.formulations.cluster.tables import FloatArray
from ratiobench.instances.arrays import IntArray

ROUNDS, FIRST_STEP, LAST_STEP = 200, 0.03, 0.1  # Of a leaf's ascent, which begins with the prices that were split


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """What is proved of the schedules in which every job starts within two seconds."""

    first: IntArray  # (jobs,)
    last: IntArray  # (jobs,)
    prices: FloatArray
    bound: float
    job: int  # which, and from which second on, to split next; -1 where all starts agree
    second: int


class Tree:
    """Leaves that together hold every schedule."""

    def __init__(self, ascent: ClassAscent, threads: int) -> None:
        """Begin with one leaf, where an ascent has ended."""
        shared = {id(part): part for part in (ascent.problem, ascent.grid)}
        self._ascents = [copy.deepcopy(ascent, dict(shared)) for _ in range(2)]
        self._threads, self.grid, self.classes = threads, ascent.grid, ascent.classes
        self.branches: list[Branch] = []
        self.seconds = 0.0  # that the checker took for a leaf
        last = np.full(len(ascent.problem), ANY_START)
        self.leaves = [_make_leaf(ascent, ascent.problem.release, last, ascent.bound)]

    @property
    def bound(self) -> float:
        """What all leaves prove."""
        return min(leaf.bound for leaf in self.leaves)

    def split(self, is_over: Callable[[], bool] = bool) -> bool:
        """Split the leaf that proves least; return whether it could be."""
        weakest = min(range(len(self.leaves)), key=lambda number: self.leaves[number].bound)
        leaf = self.leaves[weakest]
        if leaf.job < 0:
            return False
        early, late = leaf.last.copy(), leaf.first.copy()
        early[leaf.job], late[leaf.job] = leaf.second - 1, leaf.second
        sides = (leaf.first, early), (late, leaf.last)
        with ThreadPoolExecutor(self._threads) as threads:
            self.leaves[weakest], later = threads.map(partial(_climb, leaf, is_over), self._ascents, sides)
        self.leaves.append(later)
        self.branches.append(Branch(weakest, leaf.job, leaf.second))
        return True


def _climb(leaf: Leaf, is_over: Callable[[], bool], ascent: ClassAscent, starts: tuple[IntArray, IntArray]) -> Leaf:
    """Raise the prices of a leaf where its jobs start within less."""
    ascent.limit_starts(*starts, leaf.prices)
    ascent.evaluate()
    ascent.climb(ROUNDS, FIRST_STEP, LAST_STEP, lambda: float(is_over()))
    return _make_leaf(ascent, *starts, max(leaf.bound, ascent.bound))


def _make_leaf(ascent: ClassAscent, first: IntArray, last: IntArray, bound: float) -> Leaf:
    """Of the last climb, with the job to split next: the one whose starts disagree most, for its GPUs."""
    problem = ascent.problem
    weight = np.minimum(ascent.spread, problem.run) * problem.nodes * problem.gpus
    job = int(weight.argmax())
    second = min(int(last[job]), max(int(first[job]), int(ascent.mean_start[job])) + 1)
    splits = weight[job] > 0 and first[job] < last[job]
    return Leaf(first, last, ascent.best, bound, job if splits else -1, second)
