"""P without migration: every task runs on one node, the same in all its slots (section 3.1, 'a particular node').

A task's rate is constant on a node: a schedule is a vendor, a node k, and at least ceil(M_i / s_ik) slots of the
window. Nodes of a type are numbered by their first task: the j-th task that may use the type is on node 0..j of it, and
on node k only if an earlier task is on node k - 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.linear import IntArray, LinearModel, RowBuilder
from ratiobench.formulations.lora.bound.lagrangian import Capacity, DualBound
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.formulations.lora.models.tight import kept_vendor, menus
from ratiobench.instances.lora.model import Instance, Option, ScheduleKind
from ratiobench.instances.lora.solution import Decision, Solution

NAME = "one-node"


class NodeOption(NamedTuple):
    """How one task can be served on a node of one type."""

    task: int  # task, type, rate: i, g and s_ig
    type: int
    rate: int
    need: int  # slots that the work takes, ceil(M_i / s_ig)
    options: tuple[Option, ...]  # vendors that leave so many slots, by ascending first slot
    last: int  # d_i; the window is options[0].first .. last
    cost: IntArray  # (slots of that window,) operational cost e_igt

    @property
    def first(self) -> int:
        """The first slot of the window."""
        return self.options[0].first


def list_node_options(instance: Instance) -> list[NodeOption]:
    """Every task with every type on which it can be served alone, task by task."""
    found = []
    for menu in menus(instance):
        for g, rate in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
            need = -(-int(instance.work[menu.task]) // rate)
            options = tuple(option for option in menu.options if menu.last - option.first + 1 >= need)
            if options:
                cost = instance.cost(menu.task)[g, options[0].first - 1 : menu.last]
                found.append(NodeOption(menu.task, g, rate, need, options, menu.last, cost))
    return found


def standalone_bound(instance: Instance) -> int:
    """Sum over tasks of the best net value alone on an empty node, micro-dollars: an upper bound."""
    best: dict[int, int] = {}
    for stay in list_node_options(instance):
        offers = [(option.first - stay.first, option.price) for option in stay.options]
        value = int(instance.bid[stay.task]) - _least_cost(stay.cost, offers, stay.need, 1)
        best[stay.task] = max(value, best.get(stay.task, 0))
    return sum(best.values())


def _least_cost(cost: IntArray, offers: list[tuple[int, int]], need: int, unit: int) -> int:
    """The least cost of `need` cells or more from an offer's first slot on, with the offer's price."""
    found = []
    for offset, price in offers:
        if len(cost) - offset >= need:
            cells = np.sort(cost[offset:])
            cells[need:] = np.minimum(cells[need:], 0)
            found.append(price * unit + int(cells.sum()))
    return min(found)


def lagrangian_bound(p: Pool, dual: DualBound) -> int:
    """The bound that the dual prices of P prove when no task migrates, micro-dollars: a task stays on a single type."""
    capacity = Capacity(p) if dual.state is None else dual.state.capacity
    total = capacity.worth(dual.lam, dual.phi, dual.pi)
    rent = dual.pi + p.class_rate[:, None] * dual.lam[p.class_kind] + p.class_memory[:, None] * dual.phi[p.class_kind]
    for i in range(p.tasks):
        window = slice(int(p.first[i]), int(p.first[i] + p.width[i]))
        here = slice(int(p.option_start[i]), int(p.option_start[i + 1]))
        offers = list(zip(p.offset[here].tolist(), p.price[here].tolist(), strict=True))
        best = 0
        for entry in range(int(p.type_start[i]), int(p.type_start[i + 1])):
            need = -(-int(p.work[i]) // int(p.rate[entry]))
            if int(p.width[i]) < need:
                continue
            g, row = int(p.kind[entry]), int(p.explicit[i])
            base = p.energy[i, g] * p.tariff[g, window] if row < 0 else p.table_cost[row, g, window]
            cost = dual.unit * base + rent[p.klass[entry], window]
            best = max(best, dual.unit * int(p.bid[i]) - _least_cost(cost, offers, need, dual.unit))
        total += best
    return total // dual.unit


def _places(instance: Instance, listed: list[NodeOption]) -> tuple[list[int], list[bool]]:
    """How many nodes of its type each stay may use, and whether all tasks of a type overload one node in some slot."""
    kinds = len(instance.node_types)
    compute, memory = np.zeros((kinds, instance.slots + 2), np.int64), np.zeros((kinds, instance.slots + 2), np.int64)
    for stay in listed:
        for load, amount in ((compute, stay.rate), (memory, int(instance.memory_mb[stay.task]))):
            load[stay.type, stay.first] += amount
            load[stay.type, stay.last + 1] -= amount
    crowded = []
    for g, node in enumerate(instance.node_types):
        over = np.cumsum(compute[g]).max() > node.compute
        crowded.append(bool(over or np.cumsum(memory[g]).max() > node.memory_mb - instance.base_memory_mb))
    seen, nodes = [0] * kinds, []
    for stay in listed:
        seen[stay.type] += 1
        nodes.append(min(instance.node_types[stay.type].count, seen[stay.type]) if crowded[stay.type] else 1)
    return nodes, crowded


def columns(instance: Instance) -> int:
    """Number of columns of the model."""
    listed = list_node_options(instance)
    nodes, _ = _places(instance, listed)
    size = sum(n * (len(s.options) + s.last - s.first + 1) for n, s in zip(nodes, listed, strict=True))
    return size + len({stay.task for stay in listed})


def canonical(instance: Instance, solution: Solution) -> Solution:
    """The same solution with the nodes of each type renumbered in the order of their first task."""
    first_node = np.concatenate([[0], np.cumsum([node.count for node in instance.node_types])]).tolist()
    listed = list_node_options(instance)
    _, crowded = _places(instance, listed)
    known = {(stay.task, stay.type): stay for stay in listed}
    number: dict[int, dict[int, int]] = {}
    renamed: list[Decision | None] = []
    for i, decision in enumerate(solution):
        renamed.append(None)
        if decision is None or not decision.cells:
            continue
        node = decision.cells[0][0]
        g = int(np.searchsorted(first_node, node, side="right")) - 1
        stay = known.get((i, g))
        if stay is None:
            continue
        names = number.setdefault(g, {})
        node = first_node[g] + (names.setdefault(node, len(names)) if crowded[g] else 0)
        cells = tuple((node, slot) for _, slot in decision.cells)
        renamed[-1] = Decision(kept_vendor(stay.options, decision), cells, decision.payment)
    return tuple(renamed)


def build(instance: Instance) -> LinearModel:
    """The model: u_i admits, w_ikn chooses node and vendor, x_ikt the slots."""
    model = _OneNode(instance)
    return model.rows.binary_model("one_node", model.objective, model.names)


class _Site(NamedTuple):
    """One node that a stay may use, with its columns."""

    stay: NodeOption
    local: int
    node: int
    choose: list[int]
    run: IntArray


class _OneNode:
    """Column numbers, then the rows, one method per constraint."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.rows = RowBuilder()
        self._columns()
        self.one_node_and_vendor_when_admitted()
        self.runs_where_it_stays()
        self.work_done()
        self.capacities()
        self.nodes_in_order()

    def _columns(self) -> None:
        instance, listed = self.instance, list_node_options(self.instance)
        count, self.crowded = _places(instance, listed)
        first_node = np.concatenate([[0], np.cumsum([node.count for node in instance.node_types])]).tolist()
        tasks = sorted({stay.task for stay in listed})
        self.u = {i: c for c, i in enumerate(tasks)}
        names = [f"u_{i}" for i in tasks]
        objective: list[float] = [float(instance.bid[i]) for i in tasks]
        self.sites: list[_Site] = []
        for stay, nodes in zip(listed, count, strict=True):
            for local in range(nodes):
                node = first_node[stay.type] + local
                choose = list(range(len(names), len(names) + len(stay.options)))
                head = f"w_{stay.task}_{node}"
                names += [head if o.vendor is None else f"{head}_{o.vendor}" for o in stay.options]
                objective += [-float(option.price) for option in stay.options]
                run = np.arange(len(names), len(names) + len(stay.cost))
                names += [f"x_{stay.task}_{node}_{t}" for t in range(stay.first, stay.last + 1)]
                objective += [-float(e) for e in stay.cost.tolist()]
                self.sites.append(_Site(stay, local, node, choose, run))
        self.names, self.objective = tuple(names), np.array(objective, dtype=np.float64)

    def one_node_and_vendor_when_admitted(self) -> None:
        """(one node), (4a), (4j): sum_kn w_ikn = u_i."""
        chosen: dict[int, list[int]] = {i: [] for i in self.u}
        for site in self.sites:
            chosen[site.stay.task] += site.choose
        for i, places in chosen.items():
            self.rows.row(f"stay_{i}", [*places, self.u[i]], [1.0] * len(places) + [-1.0], 0.0, 0.0)

    def runs_where_it_stays(self) -> None:
        """(4b), (4c), (4i): x_ikt <= sum of w_ikn over the vendors done by t."""
        for site in self.sites:
            stay = site.stay
            slots = np.arange(stay.first, stay.last + 1)
            row, column, value = [np.arange(len(slots))], [site.run], [np.ones(len(slots))]
            for option, choose in zip(stay.options, site.choose, strict=True):
                ready = np.arange(option.first - stay.first, len(slots))
                row.append(ready)
                column.append(np.full(len(ready), choose))
                value.append(np.full(len(ready), -1.0))
            names = [f"run_{stay.task}_{site.node}_{t}" for t in slots.tolist()]
            self.rows.block(names, np.concatenate(row), np.concatenate(column), np.concatenate(value), -np.inf, 0.0)

    def work_done(self) -> None:
        """(4e): from vendor n's first slot on, x_ikt covers the work when n or a slower vendor is chosen."""
        for site in self.sites:
            stay = site.stay
            for j, option in enumerate(stay.options):
                inside = site.run[option.first - stay.first :].tolist()
                slower = site.choose[j:]
                values = [1.0] * len(inside) + [-float(stay.need)] * len(slower)
                self.rows.row(f"work_{stay.task}_{site.node}_{j}", inside + slower, values, 0.0, np.inf)

    def capacities(self) -> None:
        """(4f), (4g): on every node and slot, where all candidates together would break it."""
        cells: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
        for site in self.sites:
            if self.crowded[site.stay.type]:
                size = int(self.instance.memory_mb[site.stay.task])
                for t, column in enumerate(site.run.tolist(), site.stay.first):
                    cells.setdefault((site.stay.type, site.node, t), []).append((column, site.stay.rate, size))
        for (g, node, t), here in cells.items():
            about, (column, *loads) = self.instance.node_types[g], map(list, zip(*here, strict=True))
            limits = about.compute, about.memory_mb - self.instance.base_memory_mb
            for name, limit, load in zip(("compute", "memory"), limits, loads, strict=True):
                if sum(load) > limit:
                    self.rows.row(f"{name}_{node}_{t}", column, load, -np.inf, limit)

    def nodes_in_order(self) -> None:
        """Symmetry: on node k of a type only if an earlier task is on node k - 1."""
        before: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for site in self.sites:
            group = (site.stay.type, site.local)
            if site.local:
                earlier = [c for i, c in before.get((group[0], group[1] - 1), []) if i < site.stay.task]
                values = [1.0] * len(site.choose) + [-1.0] * len(earlier)
                self.rows.row(f"order_{site.stay.task}_{site.node}", site.choose + earlier, values, -np.inf, 0.0)
            before.setdefault(group, []).extend((site.stay.task, c) for c in site.choose)


FORMULATIONS = (
    Formulation(
        name=NAME,
        summary="P without migration: every task stays on one node; its optimum may be below OPT (see --no-migration)",
        backends=("highs", "cbc", "scip", "gurobi"),
        build=f"{__name__}:build",
        columns=columns,
        schedules=ScheduleKind.ONE_NODE,
        canonical=canonical,
    ),
)
