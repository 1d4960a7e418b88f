"""Rigid tasks and gangs as exact models: a column for every run, and where types have nodes to choose, their nodes.

r_igt is 1 if task i runs on type g from slot t on, with the cheapest vendor that is done by then. Runs that earn
nothing are left out: rejecting the task is worth no less. s_ikt says that node k is one of its nodes; a type of which a
task takes every node needs none.

Nodes of a type can be renumbered: ordered by their first task, the j-th task that may use the type is on its first
nodes, as many as the parts of tasks up to it, and on node k only if that or an earlier task is on node k - 1. Nodes of
a type on some of which jobs from before run cannot: there a task may be on every node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.linear import FloatArray, IntArray, LinearModel, RowBuilder
from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.restriction import list_runs
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision, Solution

NAME, CPSAT_NAME = "rigid", "rigid-cpsat"


class RunMenu(NamedTuple):
    """The runs of one task on one node type that are worth something."""

    task: int  # task, type: i and g
    type: int
    parts: int  # parts, rate, memory: m_i, s_ig and r_i
    rate: int
    memory: int
    length: int  # n_ig, slots of a run
    starts: IntArray  # (n,) their first slots, ascending
    vendors: IntArray  # (n,) position of the cheapest vendor that is done by then; -1 where none is needed
    values: IntArray  # (n,) bid less vendor and operational cost, above 0


class SlotCut(NamedTuple):
    """What one node can hold at most in one slot: sum of weights of the tasks on it <= limit."""

    type: int  # type, slot: node type and slot
    slot: int
    weight: Mapping[int, int]  # {task: its weight}, positive
    limit: int  # the greatest weight of tasks that fit on a node of the type together


def list_menus(instance: Instance) -> list[RunMenu]:
    """The runs of every task, task by task and type by type; a task of another kind has those of a rigid one."""
    public = instance.public("")
    found = []
    for i in range(instance.tasks):
        task = instance.task(i)
        options = sorted(task.options, key=lambda option: (option.price, option.first, option.vendor or 0))
        for g, length, last in list_runs(task, public):
            spent = np.concatenate([[0], np.cumsum(task.cost[g])])
            starts = np.arange(min(option.first for option in options), last + 1)
            vendors, prices = np.full(len(starts), -1), np.zeros(len(starts), dtype=np.int64)
            for option in reversed(options):  # the cheapest last, over dearer ones
                ready = starts >= option.first
                vendors[ready] = -1 if option.vendor is None else option.vendor
                prices[ready] = option.price
            cost = task.parts * (spent[starts + length - 1] - spent[starts - 1])
            values = task.bid - prices - cost
            worth = values > 0
            if worth.any():
                arrays = (starts[worth], vendors[worth], values[worth])
                found.append(RunMenu(i, g, task.parts, int(task.rate[g]), task.memory_mb, length, *arrays))
    return found


def count_nodes(instance: Instance, menus: list[RunMenu]) -> tuple[list[int], list[bool]]:
    """How many nodes of its type each menu may use, and whether all tasks of a type overload one node in some slot.

    Where they do not, a task may as well be on the first nodes of the type, as many as it has parts. Where jobs from
    before run on the type it may be on every node.
    """
    marked = held_types(instance)
    kinds = len(instance.node_types)
    load = np.zeros((2, kinds, instance.slots + 2), dtype=np.int64)
    for menu in menus:
        begin, end = int(menu.starts[0]), int(menu.starts[-1]) + menu.length
        for amount, table in zip((menu.rate, menu.memory), load, strict=True):
            table[menu.type, begin] += amount
            table[menu.type, end] -= amount
    most = np.cumsum(load, axis=2).max(axis=2)
    crowded = [
        marked[g] or bool(most[0, g] > node.compute or most[1, g] > node.memory_mb - instance.base_memory_mb)
        for g, node in enumerate(instance.node_types)
    ]
    seen, nodes = [0] * kinds, []
    for menu in menus:
        seen[menu.type] += menu.parts
        count = instance.node_types[menu.type].count
        most_nodes = count if marked[menu.type] else min(count, seen[menu.type])
        nodes.append(most_nodes if crowded[menu.type] else menu.parts)
    return nodes, crowded


def held_types(instance: Instance) -> list[bool]:
    """Whether jobs from before run on some node of each type when the first slot begins."""
    first_node = instance.public("").first_node
    busy = [node for job in instance.running for node in job.nodes]
    found = np.histogram(busy, first_node)[0] if busy else np.zeros(len(instance.node_types))
    return [bool(each) for each in found]


def columns(instance: Instance) -> int:
    """Number of columns of the model."""
    menus = list_menus(instance)
    nodes, _ = count_nodes(instance, menus)
    return sum(len(m.starts) * (1 + n * (n > m.parts)) for m, n in zip(menus, nodes, strict=True))


def build(instance: Instance, cuts: Sequence[SlotCut] = ()) -> LinearModel:
    """The model; `cuts` leave its optimum as it is, see `ratiobench.formulations.lora.slot_cuts`."""
    model = _Rigid(instance)
    model.patterns_on_nodes(cuts)
    return model.rows.binary_model("rigid", model.objective, model.names)


class _Site(NamedTuple):
    """A node that a menu may use: its place in the type, and the columns that say so, start by start."""

    menu: RunMenu
    local: int
    node: int
    columns: IntArray
    own: bool


class _Rigid:
    """Column numbers, then the rows, one method per constraint."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.rows = RowBuilder()
        self._columns()
        self.one_run_of_a_task()
        self.as_many_nodes_as_parts()
        self.capacities()
        self.nodes_in_order()

    def _columns(self) -> None:
        self.menus = list_menus(self.instance)
        first_node = self.instance.public("").first_node
        names: list[str] = []
        values: list[int] = []
        self.runs: list[IntArray] = []
        self.sites: list[_Site] = []
        nodes_of, _ = count_nodes(self.instance, self.menus)
        for menu, nodes in zip(self.menus, nodes_of, strict=True):
            runs = np.arange(len(names), len(names) + len(menu.starts))
            self.runs.append(runs)
            head = f"r_{menu.task}_{first_node[menu.type]}_{first_node[menu.type + 1] - 1}"
            for start, vendor in zip(menu.starts.tolist(), menu.vendors.tolist(), strict=True):
                names.append(f"{head}_{start}" + (f"_{vendor}" if vendor >= 0 else ""))
            values += menu.values.tolist()
            for local in range(nodes):
                here, node = runs, int(first_node[menu.type]) + local
                if nodes > menu.parts:
                    here = np.arange(len(names), len(names) + len(menu.starts))
                    names += [f"s_{menu.task}_{node}_{start}" for start in menu.starts.tolist()]
                    values += [0] * len(menu.starts)
                self.sites.append(_Site(menu, local, node, here, nodes > menu.parts))
        self.names, self.objective = tuple(names), np.array(values, dtype=np.float64)

    def _row(self, name: str, columns: IntArray, values: FloatArray, low: float, high: float) -> None:
        self.rows.block([name], np.zeros(len(columns), np.int64), columns, values, low, high)

    def one_run_of_a_task(self) -> None:
        """(R2), (R3), (R4): sum_gt r_igt <= 1."""
        columns: dict[int, list[IntArray]] = {}
        for menu, runs in zip(self.menus, self.runs, strict=True):
            columns.setdefault(menu.task, []).append(runs)
        for i, runs_of in columns.items():
            every = np.concatenate(runs_of)
            self._row(f"once_{i}", every, np.ones(len(every)), -np.inf, 1.0)

    def as_many_nodes_as_parts(self) -> None:
        """(R1): sum_k s_ikt = m_i r_igt, and s_ikt <= r_igt for gangs."""
        at = {id(menu): runs for menu, runs in zip(self.menus, self.runs, strict=True)}
        by_menu: dict[int, list[_Site]] = {}
        for site in self.sites:
            if site.own:
                by_menu.setdefault(id(site.menu), []).append(site)
        for key, sites in by_menu.items():
            menu, runs, number = sites[0].menu, at[key], np.arange(len(sites[0].columns))
            head, ones = f"{menu.task}_{menu.type}", np.ones(len(number))
            column = np.concatenate([runs, *(site.columns for site in sites)])
            value = np.concatenate([-menu.parts * ones, *(ones for _ in sites)])
            names = [f"parts_{head}_{start}" for start in menu.starts.tolist()]
            self.rows.block(names, np.tile(number, len(sites) + 1), column, value, 0.0, 0.0)
            if menu.parts > 1:
                for site in sites:
                    column = np.concatenate([runs, site.columns])
                    names = [f"part_{menu.task}_{site.node}_{start}" for start in menu.starts.tolist()]
                    self.rows.block(names, np.tile(number, 2), column, np.concatenate([-ones, ones]), -np.inf, 0.0)

    def capacities(self) -> None:
        """(4f), (4g): on every node and slot, where all candidates together would break it."""
        instance = self.instance
        by_node: dict[int, list[_Site]] = {}
        held = instance.held()
        for site in self.sites:
            by_node.setdefault(site.node, []).append(site)
        for node, sites in by_node.items():
            kind = instance.node_types[sites[0].menu.type]
            whole = (kind.compute, kind.memory_mb - instance.base_memory_mb)
            for t in range(1, instance.slots + 1):
                less = held[:, node, t - 1].tolist() if held.size else (0, 0)
                limits = [limit - taken for limit, taken in zip(whole, less, strict=True)]
                columns, menus = [], []
                for site in sites:
                    covers = (site.menu.starts <= t) & (t < site.menu.starts + site.menu.length)
                    if covers.any():
                        columns.append(site.columns[covers])
                        menus.append(site.menu)
                for name, limit, load in zip(
                    ("compute", "memory"), limits, zip(*((m.rate, m.memory) for m in menus), strict=True), strict=False
                ):
                    if sum(load) > limit:
                        sizes = [np.full(len(c), float(size)) for c, size in zip(columns, load, strict=True)]
                        row = f"{name}_{node}_{t}"
                        self._row(row, np.concatenate(columns), np.concatenate(sizes), -np.inf, float(limit))

    def patterns_on_nodes(self, cuts: Sequence[SlotCut]) -> None:
        """What fits on a node together, on every node: what follows from (4f) and (4g) for whole tasks."""
        by_node: dict[tuple[int, int], list[_Site]] = {}
        for site in self.sites:
            by_node.setdefault((site.menu.type, site.node), []).append(site)
        for number, cut in enumerate(cuts):
            for (g, node), sites in by_node.items():
                columns, weights = [], []
                for site in sites if g == cut.type else ():
                    begin = site.menu.starts
                    covers = (begin <= cut.slot) & (cut.slot < begin + site.menu.length)
                    if site.menu.task in cut.weight and covers.any():
                        columns.append(site.columns[covers])
                        weights.append(cut.weight[site.menu.task])
                if sum(weights) > cut.limit:
                    sizes = [np.full(len(c), float(w)) for c, w in zip(columns, weights, strict=True)]
                    name = f"pattern_{number}_{node}"
                    self._row(name, np.concatenate(columns), np.concatenate(sizes), -np.inf, float(cut.limit))

    def nodes_in_order(self) -> None:
        """Symmetry: on node k of a type only if this or an earlier task is on node k - 1."""
        before: dict[tuple[int, int], list[IntArray]] = {}
        marked = held_types(self.instance)
        for site in self.sites:
            if marked[site.menu.type]:
                continue
            here = (site.menu.type, site.local)
            mine = before.setdefault(here, [])
            mine.append(site.columns)
            if site.local and site.own:
                sites = before.get((site.menu.type, site.local - 1), [])
                earlier = np.concatenate([np.zeros(0, np.int64), *sites])
                values = np.concatenate([np.ones(len(site.columns)), -np.ones(len(earlier))])
                columns = np.concatenate([site.columns, earlier])
                self._row(f"order_{site.menu.task}_{site.node}", columns, values, -np.inf, 0.0)


def canonical(instance: Instance, solution: Solution) -> Solution:
    """The same solution with the nodes of each type renumbered in the order of their first task.

    Runs that earn nothing go, and vendors become the cheapest ones that are done in time.
    """
    first_node = instance.public("").first_node
    menus = list_menus(instance)
    _, crowded = count_nodes(instance, menus)
    known = {(menu.task, menu.type): menu for menu in menus}
    number: dict[int, dict[int, int]] = {}
    marked = held_types(instance)
    renamed: list[Decision | None] = []
    for i, decision in enumerate(solution):
        renamed.append(None)
        if decision is None or not decision.cells:
            continue
        used = sorted({node for node, _ in decision.cells})
        slots = {slot for _, slot in decision.cells}
        g = int(np.searchsorted(first_node, used[0], side="right")) - 1
        begin = min(slots)
        menu = known.get((i, g))
        if menu is None or begin not in menu.starts:
            continue
        run = set(range(begin, begin + menu.length))
        if slots != run or len(used) != menu.parts or len(decision.cells) != menu.parts * menu.length:
            continue  # not a run
        names = number.setdefault(g, {})
        if marked[g]:
            used = [node - int(first_node[g]) for node in used]
        elif crowded[g]:
            used = [names.setdefault(node, len(names)) for node in used]
        else:
            used = list(range(menu.parts))
        vendor = int(menu.vendors[int(np.searchsorted(menu.starts, begin))])
        cells = tuple(
            (int(first_node[g]) + local, t) for t in range(begin, begin + menu.length) for local in sorted(used)
        )
        renamed[-1] = Decision(None if vendor < 0 else vendor, cells)
    return tuple(renamed)


def best_alone(instance: Instance) -> Solution:
    """The solution that admits one task only, the one whose best run is worth most on nodes that are empty.

    Where jobs from before run, none is admitted.
    """
    first_node = instance.public("").first_node
    found: list[Decision | None] = [None] * instance.tasks
    if instance.running:
        return tuple(found)
    menu = max(list_menus(instance), key=lambda menu: int(menu.values.max()), default=None)
    if menu is not None:
        best = int(menu.values.argmax())
        begin, vendor, node = int(menu.starts[best]), int(menu.vendors[best]), int(first_node[menu.type])
        places = range(node, node + menu.parts)
        cells = tuple((k, t) for t in range(begin, begin + menu.length) for k in places)
        found[menu.task] = Decision(None if vendor < 0 else vendor, cells)
    return tuple(found)


FORMULATIONS = (
    Formulation(
        name=NAME,
        summary="every task a run, or a gang of runs; its optimum is OPT where all tasks are rigid or gangs",
        backends=("highs", "cbc", "scip", "gurobi"),
        build=f"{__name__}:build",
        home=None,
        columns=columns,
        schedules=ScheduleKind.RIGID,
        canonical=canonical,
    ),
)
