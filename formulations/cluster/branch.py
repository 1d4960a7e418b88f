"""Branch and bound on starts: a job starts before a second, or at it or later; each leaf has its own prices.

The relaxation of `bound.py` may run half of a wide job now and half later; a branch on its start forbids that. A leaf
is this relaxation with a first and a last start of every job. The bound is the least of all leaves.
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
    """The schedules in which every job starts from `first` to `last`, and a bound on their cost."""

    first: IntArray  # (jobs,)
    last: IntArray  # (jobs,)
    prices: FloatArray
    bound: float
    job: int  # to split next; -1 if the starts of every job agree
    second: int  # of the split


class Tree:
    """Leaves whose union is the set of all schedules."""

    def __init__(self, ascent: ClassAscent, threads: int) -> None:
        """Begin with one leaf, with the best prices of an ascent."""
        shared = {id(part): part for part in (ascent.problem, ascent.grid)}
        self._ascents = [copy.deepcopy(ascent, dict(shared)) for _ in range(2)]
        self._threads, self.grid, self.classes = threads, ascent.grid, ascent.classes
        self.branches: list[Branch] = []
        self.seconds = 0.0  # that the checker took for a leaf
        last = np.full(len(ascent.problem), ANY_START)
        self.leaves = [_make_leaf(ascent, ascent.problem.release, last, ascent.bound)]

    @property
    def bound(self) -> float:
        """The least bound of the leaves."""
        return min(leaf.bound for leaf in self.leaves)

    def split(self, is_over: Callable[[], bool] = bool) -> bool:
        """Split the leaf of the least bound; return False if it has no job to split."""
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
    """Raise the prices of one side of a leaf that is split."""
    ascent.limit_starts(*starts, leaf.prices)
    ascent.evaluate()
    ascent.climb(ROUNDS, FIRST_STEP, LAST_STEP, lambda: float(is_over()))
    return _make_leaf(ascent, *starts, max(leaf.bound, ascent.bound))


def _make_leaf(ascent: ClassAscent, first: IntArray, last: IntArray, bound: float) -> Leaf:
    """Make the leaf of the last climb; to split next: the job with the largest spread of starts times GPUs."""
    problem = ascent.problem
    weight = np.minimum(ascent.spread, problem.run) * problem.nodes * problem.gpus
    job = int(weight.argmax())
    second = min(int(last[job]), max(int(first[job]), int(ascent.mean_start[job])) + 1)
    splits = weight[job] > 0 and first[job] < last[job]
    return Leaf(first, last, ascent.best, bound, job if splits else -1, second)
