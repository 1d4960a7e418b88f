"""The cheapest schedule at additive prices: the search that the corrected mechanisms of this folder share.

Linear reduced cost: F'(il) = b_i - q_in - sum over the cells of (lambda_kt s_ik + phi_kt r_i + e_ikt). A cell's cost
does not depend on the other cells, so the covering dynamic programme over count vectors is exact (unlike for the maxima
of equation (10)), a slot's best node of each type is the cheapest one with room, and overshoot is free (clip at 0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.lora.schedules import Cover, Space, states
from instances.lora.model import Task

Costs = Sequence[Sequence[int | None]]
"""(G', W) cell costs; None where no node of the type can be taken."""


def exact_cover(task: Task, menu: Space, cost: Costs, node: Sequence[Sequence[int]], unit: int = 1) -> Cover | None:
    """The schedule of least vendor price plus cell costs, in integers of any size.

    Ties: fewest cells, then the lexicographically smallest list of (slot, node); among options the first.

    Parameters
    ----------
    task, menu : the task and its space; the rows below are its usable types, the columns the slots of its window.
    cost : (G', W) in 1/unit micro-dollars; None for a cell that cannot be taken.
    node : (G', W) which node that is.
    unit : what one micro-dollar is (vendor prices are multiplied by it).

    Returns
    -------
    None if no schedule covers the work; else the cost is in 1/unit micro-dollars.
    """
    width = menu.width
    if width == 0 or len(menu.rates) == 0:
        return None
    negative = [sum(value is not None and value < 0 for value in row) for row in cost]
    x = states(menu.rates, task.work, width, np.array(negative, dtype=np.int64))
    less, size = x.less.tolist(), x.cells.tolist()
    covering = np.flatnonzero(x.work >= task.work).tolist()
    # Least cost of taking exactly x among slots t.. of the window; None where impossible.
    layer: list[int | None] = [0] + [None] * (len(size) - 1)
    table = [layer]
    for t in range(width - 1, -1, -1):
        new = list(layer)
        for row, costs in enumerate(cost):
            step = costs[t]
            if step is None:
                continue
            for state, before in enumerate(less):
                rest = layer[before[row]] if before[row] >= 0 else None
                if rest is not None:
                    value, old = rest + step, new[state]
                    if old is None or value < old:
                        new[state] = value
        layer = new
        table.append(layer)
    table.reverse()
    best: tuple[int, int, int] | None = None
    for option, (offset, price) in enumerate(zip(menu.offsets.tolist(), menu.prices.tolist(), strict=True)):
        if offset < width:
            reached = (table[offset][state] for state in covering)
            values = [value for value in reached if value is not None]
            if values and (best is None or min(values) + price * unit < best[0]):
                best = (min(values) + price * unit, option, min(values))
    if best is None:
        return None
    total, option, least = best
    offset = int(menu.offsets[option])
    tied = [state for state in covering if table[offset][state] == least]
    fewest = min(size[state] for state in tied)
    lists = [_first(cost, node, less, table, offset, state, menu.first) for state in tied if size[state] == fewest]
    return Cover(total, option, tuple((k, t) for t, k in min(lists)))


def _first(
    cost: Costs,
    node: Sequence[Sequence[int]],
    less: list[list[int]],
    table: list[list[int | None]],
    t: int,
    state: int,
    first: int,
) -> list[tuple[int, int]]:
    """The smallest list of (slot, node) among the covers that attain table[t][state]."""
    listed: list[tuple[int, int]] = []
    while state != 0:
        picks = []
        for row, values in enumerate(cost):
            step, before = values[t], less[state][row]
            rest = table[t + 1][before] if before >= 0 else None
            if step is not None and rest is not None and rest + step == table[t][state]:
                picks.append((node[row][t], before))
        if picks:
            pick, state = min(picks)
            listed.append((t + first, pick))
        t += 1
    return listed
