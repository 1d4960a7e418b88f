"""Kernels of family `lora` beside those of its algorithms: of solves and audits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np

from ratiobench.bench.lora.theory.basis import density, dual
from ratiobench.formulations.lora import solve
from ratiobench.formulations.lora.bound.minimal_covers import list_minimal_covers
from ratiobench.formulations.lora.covering.schedules import cheapest_cover
from ratiobench.instances.lora.model import ScheduleKind
from ratiobench.instances.lora.named import named


def compilations(algorithms: Collection[str] | None) -> Mapping[str, Callable[[], object]]:
    """The calls that compile them; those that few solves need come with all algorithms (None)."""
    rare: dict[str, Callable[[], object]] = {
        "OPT of single cells": solve.warm_cells,
        "OPT without migration": partial(solve.warm_search, ScheduleKind.ONE_NODE),
        "OPT of nodes with many patterns": solve.warm_consolidation,
    }
    return {
        "OPT": solve.warm_search,
        "covers": _find_covers,
        "minimal covers": lambda: list(list_minimal_covers(named("tiny_two_types"))),
        "audits of prices": dual.warm,
        "audits of densities": density.warm,
        **(rare if algorithms is None else {}),
    }


def _find_covers() -> None:
    small = named("tiny_two_types")
    task = small.task(0)
    everywhere, nodes = np.ones(task.cost.shape, np.bool_), np.zeros(task.cost.shape, np.int64)
    for cost in (task.cost, task.cost.astype(np.float64)):
        cheapest_cover(task, small.public(""), cost, everywhere, nodes)
