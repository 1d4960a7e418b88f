"""What a formulation of P is, how its columns are named, and the list of all of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ratiobench.formulations.linear import FloatArray
from ratiobench.instances.lora.model import Instance, ScheduleKind
from ratiobench.instances.lora.solution import Decision, Solution

PACKAGE = "ratiobench.formulations.lora.models"


@dataclass(frozen=True, slots=True)
class Formulation:
    """A way to write P down for a solver; a module beside this one that defines FORMULATIONS registers some.

    Columns are named ``u_i``, ``z_i_n``, ``x_i_k_t`` (task i, vendor n, node k from 0, slot t from 1), and where tasks
    stay on a node ``w_i_k`` or ``w_i_k_n``, so one pair of functions reads and writes the solutions of all of them.
    """

    name: str  # name, summary: as `list formulations` shows them
    summary: str
    backends: tuple[str, ...]  # the backends that solve it, the preferred one first
    build: str  # ``module:function``, instance -> `LinearModel` (or what the backend takes)
    columns: Callable[[Instance], int]  # number of columns that `build` would make, counted without making them
    home: str | None = None  # the backend in whose process `build` runs, None for the caller's own
    # what tasks may have where its optimum is the best there is; None where it is another problem.
    schedules: ScheduleKind | None = ScheduleKind.ANY
    # maps a solution to an equivalent one that the formulation's symmetry breaking admits.
    canonical: Callable[[Instance, Solution], Solution] | None = None


@lru_cache(maxsize=1)
def registry() -> Mapping[str, Formulation]:
    """All formulations: every module of this package that defines FORMULATIONS."""
    found: dict[str, Formulation] = {}
    for module in sorted(pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__), key=lambda m: m.name):
        for each in getattr(importlib.import_module(f"{PACKAGE}.{module.name}"), "FORMULATIONS", ()):
            if each.name in found:
                raise ValueError(f"two formulations are called {each.name}")
            found[each.name] = each
    return found


def solution_of(instance: Instance, names: Sequence[str], values: FloatArray) -> Solution:
    """Convert a vector of a model to a solution, rounded; `check` decides whether it is feasible."""
    cells: dict[int, list[tuple[int, int]]] = {}
    vendor: dict[int, int] = {}
    admitted = set()
    for c in np.flatnonzero(values > 0.5).tolist():
        kind, *parts = names[c].split("_")
        task, *numbers = map(int, parts)
        if kind == "u":
            admitted.add(task)
        if kind == "x":
            cells.setdefault(task, []).append((numbers[0], numbers[1]))
        elif kind == "z":
            vendor[task] = numbers[0]
        elif kind == "w" and len(numbers) == 2:
            vendor[task] = numbers[1]
    return tuple(
        Decision(vendor.get(i), tuple(sorted(cells.get(i, []), key=lambda cell: (cell[1], cell[0]))))
        if i in admitted
        else None
        for i in range(instance.tasks)
    )


def vector_of(names: Sequence[str], solution: Solution) -> FloatArray:
    """Convert a solution to a vector of a model."""
    position = {name: c for c, name in enumerate(names)}
    values = np.zeros(len(names))
    for i, decision in enumerate(solution):
        if decision is None or f"u_{i}" not in position:
            continue
        chosen = [f"u_{i}", *(f"x_{i}_{k}_{t}" for k, t in decision.cells)]
        if decision.vendor is not None:
            chosen.append(f"z_{i}_{decision.vendor}")
        for k in {k for k, _ in decision.cells}:
            chosen.append(f"w_{i}_{k}" if decision.vendor is None else f"w_{i}_{k}_{decision.vendor}")
        for name in chosen:
            if name in position:
                values[position[name]] = 1.0
    return values
