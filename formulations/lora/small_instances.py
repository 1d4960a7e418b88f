"""Small instances from both ends, in the worker process of HiGHS: prices of single cells, programs, branch and bound.

The prices of `bound.decomposition` prove an upper end, and say which cells no better solution uses. Annealings look for
better solutions, then integer programs over the other cells: of some tasks at a time, of the tasks that a dive leaves,
and of all tasks, tightened by the facets that the prices came from. Then comes the tree.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.lora.bound.decomposition import Column, Decomposition, Search
from ratiobench.formulations.lora.bound.pricing import pool
from ratiobench.formulations.lora.bound.task_prices import Floats, table_size
from ratiobench.formulations.lora.bound.tree import UNIT, CellRow, Tree, whole_prices
from ratiobench.formulations.lora.direct_solve import safe_floor
from ratiobench.formulations.lora.heuristic import overload
from ratiobench.formulations.lora.heuristic.windows import complete, compute_welfare, improve, improve_within
from ratiobench.formulations.lora.models.tight import covers_in_windows
from ratiobench.formulations.lora.verify import count_affordable_tables
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Solution

# Units of HiGHS's work for a program of all tasks, per unit of effort, and for one of those that a dive leaves
WORK, REST = 60, 20
# Parts of the seconds in which better solutions are looked for before the tree, and by annealings
BEFORE_TREE, ANNEALING = 0.6, 0.35
# Up to so many tasks, of which the tree closes gaps, these are the parts in place of those
EARLY_TREE_TASKS, EARLY_BEFORE_TREE, EARLY_ANNEALING = 50, 0.3, 0.15
# Where annealings leave the lower end further from the root's bound, as a part of it, the tree begins later, and they
# may take the third number of the seconds left, and so many times as many runs
WIDE_GAP, LATE_BEFORE_TREE, MORE_ANNEALING, MORE_RUNS = 0.005, 0.8, 0.7, 10
# Part of the seconds after which the tree of so many tasks lets one program of all tasks take half of what is left
WHOLE_PROGRAM = 0.5
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
    facets: list[CellRow] = field(default_factory=list)  # rows that tighten the programs
    proved: bool = False  # by HiGHS's report no better solution uses the cells that are open
    # an upper bound on OPT that HiGHS reports, in floating point, micro-dollars; None for none.
    stated: int | None = None
    turn: int = 0

    def _seconds(self, part: float) -> float | None:
        return None if self.until is None else max(0.1, (self.until - time.perf_counter()) * part)

    def anneal(self, price: Floats, admitted: Floats, runs: int, part: float, target: float = 0.0) -> None:
        """Annealings that may overload nodes.

        `price`: (entries, T) dual prices of cells, micro-dollars; `admitted`: (n,) how far the linear programme admits
        each task, 0 to 1; `part`: of the seconds left that they may take; `target`: where they have not reached it,
        they may take `MORE_ANNEALING` of the seconds left.
        """
        soon, late = self._seconds(part), self._seconds(max(part, MORE_ANNEALING))
        began = time.perf_counter()

        def passed(seconds: float | None) -> bool:
            return seconds is not None and time.perf_counter() - began > seconds

        most = runs if late is None else MORE_RUNS * runs
        enough = overload.stop_at_target(runs, target, lambda: passed(soon))
        self.solution = overload.search(
            self.instance, self.solution, price, self.rent, admitted, most, 1, lambda: passed(late), enough
        )
        self.lower = max(self.lower, compute_welfare(self.instance, self.solution))

    def complete(self, schedules: list[Column]) -> None:
        """One program of the other tasks beside these schedules, as far as they fit."""
        given = [(each.task, each.option, each.local) for each in schedules]
        solution, welfare = complete(self.instance, given, Limits(work=REST, seconds=self._seconds(1 / 3)))
        if welfare > self.lower:
            self.solution, self.lower = solution, welfare

    def improve(self, cells: NDArray[np.bool_], whole: bool, units: float, part: float) -> None:
        """One program of all tasks in these cells.

        `whole`: no better solution uses other cells, so that what the program proves is an upper end of OPT; `units`:
        of work, `WORK` units of HiGHS's each; `part`: of the seconds left that it may take.
        """
        limits = Limits(work=round(WORK * units), seconds=self._seconds(part))
        before = self.lower
        found = improve_within(self.instance, self.solution, before, cells, self.facets, limits)
        self.solution, self.lower = found.solution, found.welfare
        if whole and found.bound is not None:
            bound = max(safe_floor(found.bound, exact=False), self.lower)
            self.stated = bound if self.stated is None else min(bound, self.stated)
            self.proved = bound == self.lower

    def search(self, cells: NDArray[np.bool_], windows: int) -> None:
        """Programs of some tasks at a time in these cells."""
        seconds = None if self.until is None else max(0.1, self.until - time.perf_counter())
        solution, _ = improve(self.instance, self.solution, windows, self.turn, 2**62, seconds, cells)
        self.turn += 1
        self.solution, self.lower = solution, max(self.lower, compute_welfare(self.instance, solution))


def warm(instance: Instance) -> None:
    """Load, or compile, the kernels of a tree by growing one of a tiny instance."""
    p = pool(instance, spare=1)
    rent, none = np.zeros((len(p.class_kind), instance.slots)), (None,) * instance.tasks
    grow(instance, rent, none, 0, 1, 1)
    Primal(instance, rent, none, 0, None).anneal(rent[p.klass], np.ones(p.tasks), 1, 1.0)


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
    """Solve nodes of branch and bound, those of the largest bounds first; the tree so far, None where none is built.

    `rent`: (C, T) micro-dollars per cell of each class of the pool, prices to begin with.
    """
    began = time.perf_counter()
    p = pool(instance, spare=1)
    if p.tasks == 0 or table_size(p) > TABLE:
        return None

    def passed(part: float) -> bool:
        return seconds is not None and time.perf_counter() - began > part * seconds

    search = Search(Decomposition(p, lambda: passed(1.0)), lower, covers_in_windows)
    owner = p.task[search.programme.slots.owner]

    def affordable(price: Floats) -> int:
        return int(CHECKED * count_affordable_tables(instance, UNIT, whole_prices(instance, owner, p.kind, price)))

    primal = Primal(instance, rent, solution, lower, None if seconds is None else began + seconds)
    early = p.tasks <= EARLY_TREE_TASKS
    before, annealing = (EARLY_BEFORE_TREE, EARLY_ANNEALING) if early else (BEFORE_TREE, ANNEALING)

    def time_to_branch() -> bool:
        wide = search.root.value - primal.lower > WIDE_GAP * search.root.value
        return passed(LATE_BEFORE_TREE if wide else before)

    def spent() -> float:
        return 0.0 if seconds is None else time.perf_counter() - began

    time_for_program = (lambda: passed(WHOLE_PROGRAM)) if early else lambda: False
    search.run(
        rent[p.klass], nodes, effort, primal, affordable, annealing, time_to_branch, spent, time_for_program,
        to_the_end, 1.0 - WIDE_GAP,
    )  # fmt: skip
    return search.tree()._replace(solution=primal.solution, stated=primal.stated)
