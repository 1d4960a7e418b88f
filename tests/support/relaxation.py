"""Bounds by the relaxation over cells, computed in the worker process of HiGHS: no test loads a solver by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.bound.decomposition import Decomposition, Search, ranges_of
from ratiobench.formulations.lora.bound.pricing import pool
from ratiobench.formulations.lora.bound.relaxation import Relaxation
from ratiobench.formulations.lora.bound.task_prices import MANY, NEVER, no_decisions
from ratiobench.formulations.lora.models.tight import covers_in_windows
from ratiobench.formulations.lora.small_instances import Primal
from ratiobench.instances.lora import Instance


def bound_thrice(instance: Instance, seed: int) -> list[list[tuple[float, float]]]:
    """The optimum of the relaxation and what its prices prove, round by round until no facet is broken.

    First without decisions, then with some cells forbidden, then with a task that is admitted or not, has at most a
    cell of its first type, and may have to begin at once. Nothing of a turn whose decisions allow no solution.
    """
    p, random = pool(instance, spare=1), np.random.default_rng(seed)
    programme = Decomposition(p, lambda: False)
    relaxation = Relaxation(p, programme.slots, programme.cost, covers_in_windows)
    relaxation.add(programme.rows)
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
        if programme.evaluate(np.zeros((len(p.kind), instance.slots)), d).value == -np.inf:
            continue  # a task that must be admitted has no schedule
        relaxation.decide(d)
        for _ in range(30):
            found = relaxation.solve()
            rounds.append((float(found.value), float(programme.evaluate(found.price, d).value)))
            facets = programme.separator.separate(found.cells)
            relaxation.add(facets)
            relaxation.add_late_covers(found)
            if not facets:
                break
        relaxation.purge()
    return turns


def count_programs(instance: Instance, nodes: int) -> tuple[float, int, list[float]]:
    """A tree from no solution: its upper end, the welfare of its solution, gaps when programs of all tasks began."""
    p = pool(instance, spare=1)
    search = Search(Decomposition(p, lambda: False), 0, covers_in_windows)
    began: list[float] = []

    class Counted(Primal):
        def improve(self, cells: NDArray[np.bool_], whole: bool, units: float, part: float) -> None:
            began.append(search.tree().upper - self.lower)
            super().improve(cells, whole, units, part)

    rent = np.zeros((len(p.class_kind), instance.slots))
    primal = Counted(instance, rent, (None,) * instance.tasks, 0, None)
    search.run(np.zeros((len(p.kind), instance.slots)), nodes, 1, primal)
    return search.tree().upper, primal.lower, began
