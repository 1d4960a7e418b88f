"""What can be on one node at the same time, as inequalities that every schedule of rigid tasks and gangs satisfies.

In the linear relaxation of `ratiobench.formulations.lora.models.rigid` a node holds fractions of tasks, so that jobs of
six tenths of a node fill it. In each slot and for each node type, the tasks that fit on a node together are patterns.
Where the relaxation asks more of K nodes than K times a combination of patterns, a linear programme over the patterns
finds an inequality a y <= K that it breaks, with a p <= 1 for each pattern p. Then a is rounded to integers, and its
right-hand side is computed again from them, exactly. Tasks that it leaves out are lifted into it one by one.

It runs in the process of HiGHS. What the inequalities are worth depends on floating point; that they are valid does
not. Source: decomposition by patterns as for the dual of P; lifting as for covers (Balas, Zemel).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.linear import FloatArray
from ratiobench.formulations.lora.models.rigid import RunMenu, SlotCut, list_menus
from ratiobench.instances.lora.model import Instance

ROUNDS, ROUND_COLUMNS = 40, 60_000  # At most so many rounds, and at most so many columns in all of them together
PATTERNS, STEPS = 500, 3_000  # At most so many patterns of the tasks in a slot, and steps of a search among them
# Coefficients are rounded to parts of this: a multiple of 2, 3, 4 and 5, as most coefficients are such fractions
UNIT = 60
BROKEN = 1e-3  # An inequality is taken if it is broken by more than this share of its right-hand side

LITTLE = 3e-4  # The rounds end where one lowers the relaxation by less than this share


class Item(NamedTuple):
    """A task that wants to be on a node: what it takes there, and what it counts for."""

    rate: int
    memory: int
    value: int = 0


def list_patterns(items: Sequence[Item], compute: int, memory: int) -> list[tuple[int, ...]] | None:
    """The sets of items that fit on a node together and that no other item fits beside; None above the limits."""
    found: list[tuple[int, ...]] = []
    steps = 0

    def extend(i: int, chosen: tuple[int, ...], compute: int, memory: int) -> bool:
        nonlocal steps
        steps += 1
        if steps > STEPS or len(found) > PATTERNS:
            return False
        if i == len(items):
            beside = (j for j in range(len(items)) if j not in chosen)
            if not any(items[j].rate <= compute and items[j].memory <= memory for j in beside):
                found.append(chosen)
            return True
        rate, size, _ = items[i]
        fits = rate <= compute and size <= memory
        if fits and not extend(i + 1, (*chosen, i), compute - rate, memory - size):
            return False
        return extend(i + 1, chosen, compute, memory)

    return found if extend(0, (), compute, memory) else None


def most_valuable(items: Sequence[Item], compute: int, memory: int) -> int | None:
    """The greatest value of items that fit on a node together, by depth-first search; None above the limit of steps."""
    items = sorted(items, key=lambda item: -item.value)
    rest = [0]
    for item in reversed(items):
        rest.append(rest[-1] + item.value)
    rest.reverse()
    best, steps = 0, 0

    def extend(i: int, compute: int, memory: int, value: int) -> bool:
        nonlocal best, steps
        steps += 1
        best = max(best, value)
        if i == len(items) or value + rest[i] <= best:
            return True
        if steps > STEPS:
            return False
        rate, size, worth = items[i]
        fits = rate <= compute and size <= memory
        if fits and not extend(i + 1, compute - rate, memory - size, value + worth):
            return False
        return extend(i + 1, compute, memory, value)

    return best if extend(0, compute, memory, 0) else None


class _Column(NamedTuple):
    """A run of the relaxation."""

    menu: RunMenu
    start: int
    value: int


def find(instance: Instance, seconds: float | None = None) -> list[SlotCut]:
    """Inequalities that are tight at the relaxation's optimum with all that were found.

    `seconds`: no further round begins after that long; None for no limit.
    """
    began = time.perf_counter()
    relaxation = _Relaxation(instance)
    size = len(relaxation.columns)
    if not size:
        return []
    value, x, dual = relaxation.program.solve()
    for _ in range(max(3, min(ROUNDS, ROUND_COLUMNS // size))):
        if seconds is not None and time.perf_counter() - began > seconds:
            break
        if not relaxation.separate(x):
            break
        before = value
        value, x, dual = relaxation.program.solve()
        if before - value < LITTLE * before:
            break
    prices = dual[relaxation.fixed_rows :]
    return [cut for cut, price in zip(relaxation.cuts, prices, strict=True) if abs(price) > 1e-9]


class _Relaxation:
    """The linear programme of runs on pooled nodes, with the inequalities that were found so far."""

    def __init__(self, instance: Instance) -> None:
        from ratiobench.formulations.backends.highs import Master, RowMaster

        self.search = Master
        self.types = [
            (node.count, node.compute, node.memory_mb - instance.base_memory_mb) for node in instance.node_types
        ]
        menus = list_menus(instance)
        self.menu = {(menu.task, menu.type): menu for menu in menus}
        self.columns = [
            _Column(menu, start, value)
            for menu in menus
            for start, value in zip(menu.starts.tolist(), menu.values.tolist(), strict=True)
        ]
        values = np.array([column.value for column in self.columns], dtype=np.float64)
        self.program = RowMaster(values / max(1.0, float(np.abs(values).max(initial=0.0))))
        self.covering: dict[tuple[int, int], list[int]] = {}
        of_task: dict[int, list[int]] = {}
        for c, (menu, start, _) in enumerate(self.columns):
            of_task.setdefault(menu.task, []).append(c)
            for t in range(start, start + menu.length):
                self.covering.setdefault((menu.type, t), []).append(c)
        for chosen in of_task.values():
            self.program.add(chosen, [1.0] * len(chosen), 1.0)
        for (g, _), chosen in self.covering.items():
            count, compute, memory = self.types[g]
            here = [self.columns[c].menu for c in chosen]
            # In nodes: numbers far apart take the simplex method minutes in place of seconds.
            self.program.add(chosen, [m.parts * m.rate / compute for m in here], float(count))
            self.program.add(
                chosen, [m.parts * m.memory / max(1, memory) for m in here], count * memory / max(1, memory)
            )
        self.fixed_rows = len(of_task) + 2 * len(self.covering)
        self.cuts: list[SlotCut] = []
        self.known: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]] | None] = {}

    def separate(self, x: FloatArray) -> int:
        """Add the inequalities that x breaks, at most one per type and slot; their number."""
        before = len(self.cuts)
        for (g, t), chosen in self.covering.items():
            cut = self._broken(g, t, chosen, x)
            if cut is not None:
                used = [c for c in chosen if self.columns[c].menu.task in cut.weight]
                weights = [float(cut.weight[m.task] * m.parts) for m in (self.columns[c].menu for c in used)]
                self.program.add(used, weights, float(cut.limit * self.types[g][0]))
                self.cuts.append(cut)
        return len(self.cuts) - before

    def _item(self, task: int, g: int, value: int = 0) -> Item:
        menu = self.menu[task, g]
        return Item(menu.rate, menu.memory, value)

    def _broken(self, g: int, t: int, chosen: list[int], x: FloatArray) -> SlotCut | None:
        """An inequality of type g and slot t that x breaks; None where there is none, or too much to look at."""
        count, compute, memory = self.types[g]
        share: dict[int, float] = {}
        for c in chosen:
            if x[c] > 1e-7:
                menu = self.columns[c].menu
                share[menu.task] = share.get(menu.task, 0.0) + float(x[c]) * menu.parts
        tasks = tuple(sorted(share))
        if len(tasks) < 2:
            return None
        if (g, tasks) not in self.known:
            self.known[g, tasks] = list_patterns([self._item(i, g) for i in tasks], compute, memory)
        patterns = self.known[g, tasks]
        if patterns is None:
            return None
        search = self.search(np.ones(len(patterns)))
        for j, i in enumerate(tasks):
            rows = [p for p, pattern in enumerate(patterns) if j in pattern]
            search.add(share[i], rows, [1.0] * len(rows))
        value, found, _ = search.solve()
        if value <= count * (1 + BROKEN):
            return None
        weight = {i: w for i, a in zip(tasks, found, strict=True) if (w := round(UNIT * float(a))) > 0}
        limit = most_valuable([self._item(i, g, w) for i, w in weight.items()], compute, memory)
        if limit is None or sum(share[i] * w for i, w in weight.items()) <= count * limit * (1 + BROKEN / 2):
            return None
        others = sorted({self.columns[c].menu.task for c in chosen} - weight.keys())
        others.sort(key=lambda i: -self.menu[i, g].rate / compute - self.menu[i, g].memory / memory)
        for i in others:
            beside = compute - self.menu[i, g].rate, memory - self.menu[i, g].memory
            rest = most_valuable([self._item(j, g, w) for j, w in weight.items()], *beside)
            if rest is not None and rest < limit:
                weight[i] = limit - rest
        return SlotCut(g, t, weight, limit)
