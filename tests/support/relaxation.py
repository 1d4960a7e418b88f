"""Bounds by the relaxation over cells, computed in the worker process of HiGHS: no test loads a solver by itself."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.bound.branching import CellBounds, Search, ranges_of
from ratiobench.formulations.lora.bound.facets import Separator
from ratiobench.formulations.lora.bound.pricing import pool
from ratiobench.formulations.lora.bound.relaxation import Relaxation
from ratiobench.formulations.lora.bound.task_prices import MANY, NEVER, no_decisions
from ratiobench.formulations.lora.bound.tree import CellRow
from ratiobench.formulations.lora.models.tight import covers_in_windows
from ratiobench.formulations.lora.small_instances import Primal
from ratiobench.instances.lora import Instance

Cells = NDArray[np.bool_]


def bound_thrice(instance: Instance, seed: int) -> list[list[tuple[float, float]]]:
    """The optimum of the relaxation and what its prices prove, round by round until no facet is broken.

    First without decisions, then with some cells forbidden, then with a task that is admitted or not, has at most a
    cell of its first type, and may have to begin at once. Nothing of a turn whose decisions allow no solution.
    """
    p, random = pool(instance, spare=1), np.random.default_rng(seed)
    bounds = CellBounds(p, lambda: False)
    separator = Separator(p, bounds.slots)
    relaxation = Relaxation(p, bounds.slots, covers_in_windows)
    relaxation.add(separator.knapsacks())
    turns: list[list[tuple[float, float]]] = []
    for turn in range(3):
        d, rounds = no_decisions(p), []
        if turn == 1:
            d.fixed[random.random(d.fixed.shape) < 0.1] = NEVER
        if turn == 2:
            i = int(random.integers(p.tasks))
            d = ranges_of(p, (((i,), bool(random.integers(2))), ((i, int(p.kind[p.type_start[i]]), 0, 1), False)))
            d.late[i] = random.choice([int(p.first[i]), MANY])
        turns.append(rounds)
        if bounds.evaluate(np.zeros((len(p.kind), instance.slots)), d).value == -np.inf:
            continue  # a task that must be admitted has no schedule
        relaxation.decide(d)
        for _ in range(30):
            found = relaxation.solve()
            rounds.append((float(found.value), float(bounds.evaluate(found.price, d).value)))
            facets = separator.separate(found.cells)
            relaxation.add(facets)
            relaxation.add_late_covers(found)
            if not facets:
                break
        relaxation.purge()
    return turns


def count_programs(instance: Instance, nodes: int) -> tuple[float, int, list[float]]:
    """A tree from no solution: its upper end, the welfare of its solution, gaps when programs of all tasks began."""
    p = pool(instance, spare=1)
    began: list[float] = []

    class Counted(Primal):
        def improve(self, cells: Cells, facets: Sequence[CellRow], whole: bool, units: float, part: float) -> None:
            began.append(search.tree().upper - self.lower)
            super().improve(cells, facets, whole, units, part)

    primal = Counted(instance, np.zeros((len(p.class_kind), instance.slots)), (None,) * instance.tasks, 0, None)
    search = Search(CellBounds(p, lambda: False), primal, lambda part: False, covers_in_windows)
    search.run(np.zeros((len(p.kind), instance.slots)), nodes, 1, lambda price: 2**62, to_the_end=True)
    return search.tree().upper, primal.lower, began
