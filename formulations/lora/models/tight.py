"""The strong formulation of P as sparse arrays: only usable cells, disaggregated links, valid inequalities.

Against (4): vendors that another one beats are left out; (4b), (4c) and (4i) become one row per task and slot; (4e)
becomes the facets of the hull of all covers. A slot's nodes can be renumbered by their first task, so the j-th task
that may run there needs nodes 0..j only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd, inf
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.linear import FloatArray, IntArray, LinearModel, RowBuilder
from ratiobench.formulations.lora.bound.tree import CellRow
from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.instances.lora.model import Instance, Option
from ratiobench.instances.lora.solution import Decision, Solution

_HULL_POINTS = 10_000  # No hull of more points, of tiny rates


class Menu(NamedTuple):
    """What can be done with a task: undominated options in order of their first slot, usable types, last slot."""

    task: int
    options: tuple[Option, ...]
    types: IntArray
    rates: IntArray
    first: int
    last: int


def menus(instance: Instance) -> list[Menu]:
    """The options with which each task can be covered on an empty cluster; tasks without any are left out."""
    compute = np.array([node.compute for node in instance.node_types])
    memory = np.array([node.memory_mb for node in instance.node_types]) - instance.base_memory_mb
    found = []
    for i in range(instance.tasks):
        task = instance.task(i)
        types = np.flatnonzero((task.rate > 0) & (task.rate <= compute) & (task.memory_mb <= memory))
        fastest = int(task.rate[types].max(initial=0))
        selection: list[Option] = []
        for option in sorted(task.options, key=lambda o: (o.price, o.first, o.vendor or 0)):
            enough = (task.deadline - option.first + 1) * fastest >= task.work
            if enough and all(option.first < other.first for other in selection):
                selection.append(option)
        if selection:
            selection.reverse()  # each begins before those that were taken before it
            found.append(Menu(i, tuple(selection), types, task.rate[types], selection[0].first, task.deadline))
    return found


def cover_inequalities(rates: IntArray, work: int) -> list[tuple[IntArray, int]]:
    """Inequalities a @ n >= c that the slot counts n of a cover satisfy, and no other integer counts do.

    For one or two types they are the facets of the hull of all covers, else (4e) clipped at M_i, and its roundings.
    """
    rates = np.minimum(rates, work)
    if len(rates) == 1:
        return [(np.ones(1, dtype=np.int64), -(-work // int(rates[0])))]
    if len(rates) == 2:
        return _hull(int(rates[0]), int(rates[1]), work)
    units = [unit for unit in sorted(set(rates.tolist())) if unit > 1]
    return [(rates, work), *((-(-rates // unit), -(-work // unit)) for unit in units)]


class Cover(NamedTuple):
    """weights @ n >= needed @ z for the numbers n of a task's cells of each type and the options z that are chosen."""

    weights: IntArray  # (G',) whole numbers
    needed: IntArray  # (options,) whole numbers
    since: int  # cells count from the first slot of this option on; earlier options need nothing then


def covers_in_windows(rates: IntArray, work: int, widths: list[int]) -> list[Cover]:
    """Inequalities on a schedule's cells, one a slot of the window that its option leaves; for two types the hull."""
    found = []
    if len(rates) == 2:
        points = [_counts_in_window(int(rates[0]), int(rates[1]), work, width) for width in widths]
        normals = dict.fromkeys(normal for each in points for normal in _normals(each))
        for normal in normals:
            weights = np.array(normal)
            needed = np.array([(each @ weights).min() for each in points])
            found += [(weights, needed)] if needed.any() else []
    else:
        found = [(weights, np.full(len(widths), needed)) for weights, needed in cover_inequalities(rates, work)]
    covers = []
    for weights, needed in found:
        covers.append(Cover(weights, needed, 0))
        if weights.min() >= 0:
            later = (k for k in range(1, len(widths)) if widths[k] < widths[k - 1])
            covers += [Cover(weights, np.where(np.arange(len(widths)) < k, 0, needed), k) for k in later]
    return covers


def _counts_in_window(first: int, second: int, work: int, width: int) -> IntArray:
    """(points, 2) numbers of cells that do the work: for each number of the first type the fewest and most others."""
    a = np.arange(width + 1)
    least = np.maximum(0, -(-(work - a * first) // second))
    fits = a + least <= width
    a, least = a[fits], least[fits]
    return np.concatenate([np.stack([a, least], axis=1), np.stack([a, width - a], axis=1)])


def _normals(points: IntArray) -> list[tuple[int, int]]:
    """Normals of the facets of the hull of such points, without that of all slots."""
    chain: list[tuple[int, int]] = []
    for point in map(tuple, points[: len(points) // 2].tolist()):
        while len(chain) >= 2 and not _turns_up(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    slopes = [(b - d, c - a) for (a, b), (c, d) in pairwise(chain)]
    return [(p // gcd(p, q), q // gcd(p, q)) for p, q in slopes] + [(1, 0), (-1, 0), (0, 1)]


def _hull(first: int, second: int, work: int) -> list[tuple[IntArray, int]]:
    """Facets of the hull of {(a, b) >= 0 integer : first a + second b >= work}, by a monotone chain."""
    swap = first < second
    big, small = (second, first) if swap else (first, second)
    most = -(-work // big)
    if most > _HULL_POINTS:
        pair = np.array([first, second])
        return [(pair, work), *((-(-pair // unit), -(-work // unit)) for unit in {first, second} if unit > 1)]
    chain: list[tuple[int, int]] = []
    for a in range(most + 1):
        point = (a, max(0, -(-(work - a * big) // small)))
        while len(chain) >= 2 and not _turns_up(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    facets = []
    for (a, b), (c, d) in pairwise(chain):
        weights = [c - a, b - d] if swap else [b - d, c - a]
        facets.append((np.array(weights, dtype=np.int64), (b - d) * a + (c - a) * b))
    return facets


def _turns_up(p: tuple[int, int], q: tuple[int, int], r: tuple[int, int]) -> bool:
    """Does the lower hull bend upwards at q?"""
    return (q[0] - p[0]) * (r[1] - p[1]) > (q[1] - p[1]) * (r[0] - p[0])


class Cells(NamedTuple):
    """The cells (task, type, slot) that may be used, and how many nodes of the type each needs to tell apart."""

    task: IntArray
    type: IntArray
    slot: IntArray
    rate: IntArray
    nodes: IntArray
    crowded: np.typing.NDArray[np.bool_]


def cells(instance: Instance, served: list[Menu]) -> Cells:
    """All usable cells, task by task, slot by slot, type by type."""
    empty = np.zeros(0, dtype=np.int64)
    width = [each.last - each.first + 1 for each in served]
    task = np.concatenate([empty, *(np.full(w * len(m.types), m.task) for w, m in zip(width, served, strict=True))])
    kind = np.concatenate([empty, *(np.tile(m.types, w) for w, m in zip(width, served, strict=True))])
    slot = np.concatenate([empty, *(np.repeat(np.arange(m.first, m.last + 1), len(m.types)) for m in served)])
    rate = instance.rate[task, kind]
    # Position of each cell among the cells of its (type, slot), in the order of tasks.
    order = np.lexsort((task, slot, kind))
    group = kind[order] * (instance.slots + 1) + slot[order]
    new = np.concatenate([[True], group[1:] != group[:-1]]) if len(group) else np.zeros(0, dtype=bool)
    begin = np.flatnonzero(new)
    member = np.cumsum(new) - 1
    rank = np.empty_like(task)
    rank[order] = np.arange(len(order)) - begin[member] if len(order) else 0
    # Loads can pass int64 nowhere: at most 2^40 each and far fewer than 2^22 tasks in a model that is built.
    load = np.add.reduceat(rate[order], begin) if len(begin) else empty
    memory = np.add.reduceat(instance.memory_mb[task[order]], begin) if len(begin) else empty
    compute_limit = np.array([node.compute for node in instance.node_types])[kind[order][begin]]
    memory_limit = np.array([node.memory_mb for node in instance.node_types])[kind[order][begin]]
    crowded = np.empty(len(task), dtype=bool)
    crowded[order] = ((load > compute_limit) | (memory > memory_limit - instance.base_memory_mb))[member]
    count = np.array([node.count for node in instance.node_types])[kind]
    nodes = np.where(crowded, np.minimum(count, rank + 1), 1)
    return Cells(task, kind, slot, rate, nodes, crowded)


def columns(instance: Instance) -> int:
    """Number of columns of the model, counted per cell (not per node)."""
    served = menus(instance)
    size = sum((each.last - each.first + 1) * len(each.types) for each in served)
    if size > 5_000_000:
        return size
    return int(cells(instance, served).nodes.sum()) + sum(1 + len(each.options) for each in served)


def kept_vendor(options: Sequence[Option], decision: Decision) -> int | None:
    """The cheapest kept vendor that is done before the first cell; it costs no more than the solution's own."""
    begin = min((slot for _, slot in decision.cells), default=inf)
    ready = [option for option in options if option.first <= begin]
    return min(ready, key=lambda option: option.price).vendor if ready else decision.vendor


def canonical(instance: Instance, solution: Solution) -> Solution:
    """The same solution with the nodes of each type renumbered, slot by slot, in the order of their first task."""
    first_node = np.concatenate([[0], np.cumsum([node.count for node in instance.node_types])]).tolist()
    served = {each.task: each for each in menus(instance)}
    usable = cells(instance, list(served.values()))
    alone = set(zip(usable.type[~usable.crowded].tolist(), usable.slot[~usable.crowded].tolist(), strict=True))
    number: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    renamed: list[Decision | None] = []
    for i, decision in enumerate(solution):
        if decision is None or i not in served:
            renamed.append(None)
            continue
        place = []
        for node, slot in decision.cells:
            kind = int(np.searchsorted(first_node, node, side="right")) - 1
            names = number[kind, slot]
            local = 0 if (kind, slot) in alone else names.setdefault(node, len(names))
            place.append((first_node[kind] + local, slot))
        renamed.append(Decision(kept_vendor(served[i].options, decision), tuple(place), decision.payment))
    return tuple(renamed)


def build(instance: Instance) -> LinearModel:
    """The model; its constraints in the order of (4a)-(4g)."""
    return _Tight(instance).model()


def restrict(instance: Instance, allowed: np.typing.NDArray[np.bool_], rows: Sequence[CellRow]) -> LinearModel:
    """The model in some cells alone, (I, G, T), with more rows that its solutions keep."""
    tight = _Tight(instance)
    weight = np.zeros(allowed.shape, np.int64)
    place = tight.x_task, tight.x_type, tight.x_slot - 1
    for n, row in enumerate(rows):
        cells = row.task, row.type, row.slot - 1
        weight[cells] = row.weight
        amount = weight[place] * allowed[place]
        weight[cells] = 0
        used = np.flatnonzero(amount)
        tight.rows.row(f"cells_{n}", tight.x_column[used], amount[used], -np.inf, row.high)
    model = tight.model()
    upper = model.upper.copy()
    upper[tight.x_column[~allowed[place]]] = 0.0
    return replace(model, upper=upper)


class _Tight:
    """Column numbers, then the rows, one method per constraint."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.served = menus(instance)
        self.covers = {m.task: cover_inequalities(m.rates, int(instance.work[m.task])) for m in self.served}
        self._columns()
        self.rows = RowBuilder()
        self.one_vendor_when_admitted()
        self.one_node_after_preprocessing_when_admitted()
        self.work_done()
        self.late_vendors_leave_enough_work()
        self.compute_capacity()
        self.memory_capacity()

    def _columns(self) -> None:
        instance, served = self.instance, self.served
        first_node = np.concatenate([[0], np.cumsum([node.count for node in instance.node_types])])
        each = cells(instance, served)
        self.u = {m.task: c for c, m in enumerate(served)}
        self.z: dict[tuple[int, int], int] = {}
        names = [f"u_{m.task}" for m in served]
        objective: list[float] = [float(instance.bid[m.task]) for m in served]
        for m in served:
            for option in m.options:
                if option.vendor is not None:
                    self.z[m.task, option.vendor] = len(names)
                    names.append(f"z_{m.task}_{option.vendor}")
                    objective.append(-float(option.price))
        self.x0 = len(names)
        cell = np.repeat(np.arange(len(each.task)), each.nodes)
        begin = np.cumsum(each.nodes) - each.nodes
        self.x_node = first_node[each.type[cell]] + np.arange(len(cell)) - begin[cell]
        self.x_task, self.x_slot, self.x_type = each.task[cell], each.slot[cell], each.type[cell]
        self.x_rate, self.x_crowded = each.rate[cell], each.crowded[cell]
        self.x_column = self.x0 + np.arange(len(cell))
        names.extend(
            f"x_{i}_{k}_{t}"
            for i, k, t in zip(self.x_task.tolist(), self.x_node.tolist(), self.x_slot.tolist(), strict=True)
        )
        cost = [instance.cost(m.task)[np.ix_(m.types, np.arange(m.first - 1, m.last))].T.reshape(-1) for m in served]
        cell_cost = np.concatenate([np.zeros(0, dtype=np.int64), *cost])
        self.names = tuple(names)
        self.objective = np.concatenate([np.array(objective, dtype=np.float64), -cell_cost[cell].astype(np.float64)])
        bounds = np.searchsorted(self.x_task, [m.task for m in served] + [instance.tasks])
        self.span = {m.task: slice(int(a), int(b)) for m, a, b in zip(served, bounds, bounds[1:], strict=False)}

    def model(self) -> LinearModel:
        return self.rows.binary_model("tight", self.objective, self.names)

    def one_vendor_when_admitted(self) -> None:
        """(4a), (4j): sum_n z_in = u_i."""
        for m in self.served:
            offers = [self.z[m.task, option.vendor] for option in m.options if option.vendor is not None]
            if offers:
                self.rows.row(f"vendor_{m.task}", [*offers, self.u[m.task]], [1.0] * len(offers) + [-1.0], 0.0, 0.0)

    def one_node_after_preprocessing_when_admitted(self) -> None:
        """(4b), (4c), (4i): sum_k x_ikt <= sum of z_in over the vendors done by t (u_i without vendors)."""
        for m in self.served:
            span = self.span[m.task]
            slots = np.arange(m.first, m.last + 1)
            row, column = [self.x_slot[span] - m.first], [self.x_column[span]]
            value = [np.ones(span.stop - span.start)]
            for option in m.options:
                switch = self.u[m.task] if option.vendor is None else self.z[m.task, option.vendor]
                ready = np.arange(option.first - m.first, len(slots))
                row.append(ready)
                column.append(np.full(len(ready), switch))
                value.append(np.full(len(ready), -1.0))
            names = [f"run_{m.task}_{t}" for t in slots.tolist()]
            self.rows.block(names, np.concatenate(row), np.concatenate(column), np.concatenate(value), -np.inf, 0.0)

    def work_done(self) -> None:
        """(4e) as `cover_inequalities`: sum a_g x_ikt >= c u_i."""
        for m in self.served:
            for j, (weights, needed) in enumerate(self.covers[m.task]):
                self._cover(f"work_{m.task}_{j}", m, weights, needed, m.first, [self.u[m.task]])

    def late_vendors_leave_enough_work(self) -> None:
        """(4e) with (4c): the slots from vendor n's first on cover M_i when n or a slower vendor is chosen."""
        for m in self.served:
            for option in m.options[1:]:
                slower = [
                    self.z[m.task, o.vendor] for o in m.options if o.vendor is not None and o.first >= option.first
                ]
                for j, (weights, needed) in enumerate(self.covers[m.task]):
                    self._cover(f"late_{m.task}_{option.vendor}_{j}", m, weights, needed, option.first, slower)

    def _cover(self, name: str, m: Menu, weights: IntArray, needed: int, first: int, switches: list[int]) -> None:
        """sum over slots first.. of weights[type] x_ikt >= needed * sum of the switches."""
        span = self.span[m.task]
        inside = self.x_slot[span] >= first
        amount = weights[np.searchsorted(m.types, self.x_type[span][inside])]
        column = np.concatenate([self.x_column[span][inside], switches])
        value = np.concatenate([amount.astype(np.float64), np.full(len(switches), -float(needed))])
        self.rows.row(name, column, value, 0.0, np.inf)

    def compute_capacity(self) -> None:
        """(4f): sum_i s_ik x_ikt <= C_kp, where all candidates together would break a capacity."""
        limit = np.array([node.compute for node in self.instance.node_types], dtype=np.int64)
        self._capacity("compute", self.x_rate.astype(np.float64), limit)

    def memory_capacity(self) -> None:
        """(4g): sum_i r_i x_ikt <= C_km - r_b, likewise."""
        limit = np.array([node.memory_mb for node in self.instance.node_types]) - self.instance.base_memory_mb
        self._capacity("memory", self.instance.memory_mb[self.x_task].astype(np.float64), limit)

    def _capacity(self, name: str, load: FloatArray, limit: IntArray) -> None:
        crowded = np.flatnonzero(self.x_crowded)
        key = self.x_node[crowded] * (self.instance.slots + 1) + self.x_slot[crowded]
        pairs, row = np.unique(key, return_inverse=True)
        total = np.bincount(row, weights=load[crowded], minlength=len(pairs))
        kind = np.zeros(len(pairs), dtype=np.int64)
        kind[row] = self.x_type[crowded]
        binding = total > limit[kind]
        renumber = np.cumsum(binding) - 1
        keep = binding[row]
        names = [f"{name}_{p // (self.instance.slots + 1)}_{p % (self.instance.slots + 1)}" for p in pairs[binding]]
        self.rows.block(
            names, renumber[row[keep]], self.x_column[crowded[keep]], load[crowded[keep]], -np.inf, limit[kind[binding]]
        )


FORMULATIONS = (
    Formulation(
        name="tight",
        summary="strong sparse formulation: usable cells only, vendor windows disaggregated, work rounded up",
        backends=("highs", "cbc", "scip", "gurobi"),
        build=f"{__name__}:build",
        columns=columns,
        canonical=canonical,
    ),
)
