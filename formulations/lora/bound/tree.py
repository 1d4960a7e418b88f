"""What branch and bound leaves; it travels from the process of a solver, whose modules nobody else imports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.lora import certificate
from ratiobench.formulations.lora.bound.lagrangian import Prices
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Solution

UNIT = 2**12  # Prices of trees are in parts of a micro-dollar: no finer, since each leaf has a table of them


class CellRow(NamedTuple):
    """weight @ x <= high on cells of tasks, on all nodes of a type together."""

    task: IntArray  # task, type, slot, weight: (cells,); slots from 1
    type: IntArray
    slot: IntArray
    weight: IntArray
    high: int


class Tree(NamedTuple):
    """The tree in preorder with tasks, types and slots as in the instance, and (entries, T) prices of its leaves."""

    nodes: tuple[int | tuple[int, ...], ...]
    tables: tuple[Prices, ...]
    task: IntArray  # task, kind: (entries,) whose cells a row of the tables prices
    kind: IntArray
    root: Prices  # (entries, T) prices without decisions
    upper: float  # the largest bound of a leaf, in doubles
    solved: int  # nodes whose bounds were computed
    solution: Solution = ()  # the best that was known at the end
    # an upper bound on OPT that HiGHS reports, in floating point, micro-dollars; None for none.
    stated: int | None = None


def whole_prices(instance: Instance, task: IntArray, kind: IntArray, price: Prices) -> certificate.Prices:
    """A table of prices of single cells as certificates have it: whole numbers, no zeros at the ends of a row."""
    nothing = ((0,) * instance.slots,) * len(instance.node_types)
    rows = []
    for i, g, row in zip(task.tolist(), kind.tolist(), np.rint(price * UNIT).astype(np.int64), strict=True):
        paid = np.flatnonzero(row)
        if len(paid):
            first, last = int(paid[0]), int(paid[-1])
            rows.append(certificate.CellPrice(i, g, first + 1, tuple(row[first : last + 1].tolist())))
    return certificate.Prices(nothing, nothing, (), tuple(rows))
