"""Small instances from both ends, in the worker process of HiGHS: a tree over prices of cells, annealings, programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends.highs import solve
from ratiobench.formulations.lora.bound.branching import CellBounds, Search
from ratiobench.formulations.lora.bound.pricing import find_pool, pool
from ratiobench.formulations.lora.bound.task_prices import Floats, find_slots, table_size
from ratiobench.formulations.lora.bound.tree import UNIT, CellRow, Tree, whole_prices
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.direct_solve import safe_floor
from ratiobench.formulations.lora.heuristic import overload
from ratiobench.formulations.lora.models import tight
from ratiobench.formulations.lora.models.formulation import solution_of, vector_of
from ratiobench.formulations.lora.verify import count_affordable_tables
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Solution

WORK = 60  # Units of HiGHS's work for a program of all tasks, per unit of effort
PROGRAM_COLUMNS = 20_000  # No program of more columns
# Part of the seconds left that annealings take, and up to so many tasks, of which the tree closes gaps; that and so
# many times as many runs if they are far from the root's bound
ANNEALING, EARLY_TREE_TASKS, EARLY_ANNEALING = 0.35, 50, 0.15
MORE_ANNEALING, MORE_RUNS = 0.7, 10
CHECKED = 0.8  # The tree has no more leaves than can be checked in this part of the steps that the checker takes
TABLE = 10_000_000  # No tree where a task's table would have more entries


@dataclass(slots=True)
class Primal:
    """The best solution that is known, and annealings and programs of HiGHS that look for better ones."""

    instance: Instance
    rent: Floats  # (C, T) dual prices of cells by class, micro-dollars
    solution: Solution
    lower: int
    until: float | None  # moment of `time.perf_counter` after which no program is begun; None for none
    proved: bool = False  # by HiGHS's report no better solution uses the cells that are open
    # an upper bound on OPT that HiGHS reports, in floating point, micro-dollars; None for none.
    stated: int | None = None

    def _seconds(self, part: float) -> float | None:
        return None if self.until is None else max(0.1, (self.until - time.perf_counter()) * part)

    def _offer(self, solution: Solution) -> None:
        welfare = check(self.instance, solution).value
        if welfare is not None and welfare > self.lower:
            self.solution, self.lower = solution, welfare

    def anneal(self, price: Floats, admitted: Floats, runs: int, near: float) -> None:
        """Annealings that may overload nodes; they take longer if they have not reached the welfare `near`."""
        few = self.instance.tasks <= EARLY_TREE_TASKS
        soon, late = self._seconds(EARLY_ANNEALING if few else ANNEALING), self._seconds(MORE_ANNEALING)
        began = time.perf_counter()

        def passed(seconds: float | None) -> bool:
            return seconds is not None and time.perf_counter() - began > seconds

        most = runs if late is None else MORE_RUNS * runs
        enough = overload.stop_at_target(runs, near, lambda: passed(soon))
        self._offer(
            overload.search(
                self.instance, self.solution, price, self.rent, admitted, most, 1, lambda: passed(late), enough
            )
        )

    def improve(
        self, cells: NDArray[np.bool_], facets: Sequence[CellRow], whole: bool, units: float, part: float
    ) -> None:
        """A program of all tasks in these cells and the solution's; `whole`: no better solution uses others."""
        if tight.columns(self.instance) > PROGRAM_COLUMNS:
            return
        p = find_pool(self.instance)
        allowed = np.zeros((self.instance.tasks, *p.tariff.shape), np.bool_)
        allowed[np.repeat(p.task, np.diff(p.type_start)), p.kind] = cells
        start = tight.canonical(self.instance, self.solution)
        type_of = self.instance.public("").type_of_node
        for i, decision in enumerate(start):
            for node, slot in () if decision is None else decision.cells:
                allowed[i, type_of[node], slot - 1] = True
        model, step = tight.restrict(self.instance, allowed, facets).reduced()
        limits = Limits(work=round(WORK * units), seconds=self._seconds(part))
        result = solve(model, limits, vector_of(model.columns, start))
        if result.values is not None:
            self._offer(solution_of(self.instance, model.columns, result.values))
        if whole and result.bound is not None:
            bound = max(safe_floor(result.bound, exact=False) * step, self.lower)
            self.stated = bound if self.stated is None else min(bound, self.stated)
            self.proved = bound == self.lower


def warm(instance: Instance) -> None:
    """Load, or compile, the kernels of a tree by growing one of a tiny instance."""
    p = pool(instance, spare=1)
    rent, none = np.zeros((len(p.class_kind), instance.slots)), (None,) * instance.tasks
    grow(instance, rent, none, 0, 1, 1)
    Primal(instance, rent, none, 0, None).anneal(rent[p.klass], np.ones(p.tasks), 1, 0.0)


def grow(
    instance: Instance,
    rent: Floats,
    solution: Solution,
    lower: int,
    nodes: int,
    effort: int,
    seconds: float | None = None,
    to_the_end: bool = True,
) -> Tree | None:
    """Solve nodes of branch and bound, those of the largest bounds first; the tree so far, None where none is built."""
    began = time.perf_counter()
    p = pool(instance, spare=1)
    if p.tasks == 0 or table_size(p) > TABLE:
        return None

    def passed(part: float) -> bool:
        return seconds is not None and time.perf_counter() - began > part * seconds

    owner = p.task[find_slots(p).owner]

    def affordable(price: Floats) -> int:
        return int(CHECKED * count_affordable_tables(instance, UNIT, whole_prices(instance, owner, p.kind, price)))

    primal = Primal(instance, rent, solution, lower, None if seconds is None else began + seconds)
    search = Search(CellBounds(p, lambda: passed(1.0)), primal, passed, tight.covers_in_windows)
    search.run(rent[p.klass], nodes, effort, affordable, to_the_end)
    return search.tree()._replace(solution=primal.solution, stated=primal.stated)
