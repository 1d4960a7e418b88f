"""The checker of certificates: both ends of an interval on OPT, recomputed from the instance's data alone.

It shares no code with what found them: it uses the readers of both files, Python's integers and NumPy.

A schedule l of task i is a vendor's offer and cells (type g, slot t), one per slot, from the offer's first slot to the
deadline, whose rates cover the work. A cell of class c (type, rate s, memory r) pays p_ct = lam_gt s + phi_gt r +
pi_ct, with pi = 0 for classes that are not listed. The cells on one node of type g in slot t use at most C_p samples
and C_m - r_b megabytes (4f, 4g). So, where no price is negative, what they pay together is at most

    W_gt = C_p lam_gt + (C_m - r_b) phi_gt + max_n sum_c n_c pi_ct,

n running over the counts of listed classes that fit on a node; those to which no cell can be added are enough.
With e the operational cost and q a vendor's price, adding what nodes earn and taking away what cells pay gives

    OPT <= sum_gt K_g W_gt + sum_i max(0, max_l b_i - q_l - sum_(g,t) in l (e_igt + p_ct)).

A task that stays on one node chooses among fewer schedules: those of cells of one type. With prices of single cells a
cell pays pi_igt on top, and the maximum is over the sets of tasks that fit on a node, a knapsack of two constraints.

A tree of decisions (`certificate` lists them): every solution of P belongs to one leaf, where a rejected task has no
cell and no late begin. There the bound holds with what is decided: a task that is out earns 0; one that is admitted, or
must have a cell, more cells than some number or a late begin, earns its best reduced profit even if that is negative;
schedules are those that the decisions allow; no node holds a cell of a task that must not have one there. OPT is at
most the largest bound of a leaf, and no less than 0.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate, chain
from math import inf
from operator import mul
from typing import Any

import numpy as np

from ratiobench.formulations.checksums import CertificateError, Verdict, require, run_checker
from ratiobench.formulations.lora.certificate import CellPrice, Certificate, ClassPrice, Node, Prices, parse, seal
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.format import parse as parse_instance
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision, Solution

# What a valid certificate proves, and how
PROVES = (
    "the decisions are a solution of P that is worth `lower`; and at the prices of compute (lam), memory (phi) and "
    "classes of cells, what all nodes can earn at most plus what every task gains at most from its best schedule is "
    "`upper`, which no solution of P exceeds (weak duality; where decisions branch, the largest of all branches)"
)

Table = tuple[tuple[int, ...], ...]
# What is decided of a task: () stands for its admission, (slot,) for its begin, (type, slot) for a cell, (type, 0, k)
# for the number of its cells
TaskDecisions = tuple[tuple[tuple[int, ...], bool], ...]
NodeDecisions = dict[int, TaskDecisions]
Counts = dict[tuple[int, int, int], Any]

AMOUNTS_LIMIT = 20_000_000  # Most amounts of remaining work of one task that are kept
# Most counts (patterns times classes) of a node type, on the way to the maximal patterns and of those
COUNTS_LIMIT, MAXIMAL_LIMIT = 50_000_000, 500_000
# Most steps of a check: so many, and so many more per task. A day of 11,520 tasks takes about 40,000 a task. A step is
# one entry of a table of costs in one slot, in 64 bits: a few nanoseconds.
STEPS_LIMIT, STEPS_PER_TASK = 5_000_000_000, 1_000_000
SPLIT_LIMIT = 2**25  # Most entries of a table of a task (places times cells); beyond it the amounts of work are listed
# Of more cells than the first number on a type in a slot the best set is found in the list of all patterns, where the
# cells have no more sizes than the second one; of no more, in the list of all sets
FEW_ITEMS, FEW_SIZES = 12, 12
SETS = 3_000  # Sets of each number of items that are kept in the search for the best one
# Compute has k eighths of the weight of both constraints, memory the others, for each k. Weights are whole numbers of
# which a node has `ROOM`.
WEIGHTS, ROOM = 8, 2**26
# How many steps an entry of a table of a split counts, the sorting of an amount or slot, and a step in Python's
# integers, where 64 bits do not do
SPLIT, SORT, PYTHON = 4, 16, 64


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict[Certificate]:
    """Check a decoded certificate document against an instance: every number in it is recomputed and must be equal."""
    certificate, written_seal = parse(data, source)
    try:
        require(certificate.instance == content_hash(instance), "the certificate is about another instance")
        lower = welfare(instance, certificate.decisions)
        require(lower == certificate.lower, f"lower: {certificate.lower} claimed; the schedule is worth {lower}")
        tables, tree = certificate.tables, certificate.tree
        proved = tree_bound(instance, certificate.unit, tables, tree) if tree else None
        upper = dual_bound(instance, certificate.unit, *tables[0][:3]) if proved is None else proved
        require(upper == certificate.upper, f"upper: {certificate.upper} claimed; the prices prove {upper}")
        require(lower <= upper, f"lower {lower} is above upper {upper}")
        require(seal(certificate) == written_seal, "sha256: the certificate was changed after it was made")
    except CertificateError as wrong:
        return Verdict(False, str(wrong), certificate)
    return Verdict(True, "", certificate)


class Steps:
    """The steps that a check may still take, so that no pair of small files keeps the checker busy for hours."""

    def __init__(self, tasks: int) -> None:
        self.limit = self.left = STEPS_LIMIT + STEPS_PER_TASK * tasks

    def take(self, number: int, what: str) -> None:
        left = f"{self.left} of {self.limit} left"
        require(number <= self.left, f"{what}: {number} steps are needed and {left}: too many to check")
        self.left -= number


def welfare(instance: Instance, decisions: Solution) -> int:
    """Objective (4) of a schedule in micro-dollars; CertificateError names the first constraint that it breaks."""
    require(len(decisions) == instance.tasks, f"{len(decisions)} decisions for {instance.tasks} tasks")
    ends = list(accumulate(node.count for node in instance.node_types))
    plain = _Plain(instance, decisions, ends)
    total = plain.total
    for i, decision in enumerate(decisions):
        if decision is None or i in plain.tasks:
            continue
        total += int(instance.bid[i]) - _outlay(instance, i, decision, ends)
    if len(plain.tasks) < sum(decision is not None for decision in decisions) or plain.overload:
        _require_room(instance, decisions, ends)
    return total


def _require_room(instance: Instance, decisions: Solution, ends: list[int]) -> None:
    compute: defaultdict[tuple[int, int], int] = defaultdict(int)
    memory: defaultdict[tuple[int, int], int] = defaultdict(int)
    for i, decision in enumerate(decisions):
        for node, slot in () if decision is None else decision.cells:
            compute[node, slot] += int(instance.rate[i, bisect_right(ends, node)])
            memory[node, slot] += int(instance.memory_mb[i])
    for (node, slot), load in compute.items():
        kind = instance.node_types[bisect_right(ends, node)]
        require(load <= kind.compute, f"(4f) node {node} slot {slot}: compute {load} > {kind.compute}")
        memory_mb = kind.memory_mb - instance.base_memory_mb
        require(
            memory[node, slot] <= memory_mb, f"(4g) node {node} slot {slot}: memory {memory[node, slot]} > {memory_mb}"
        )


class _Plain:
    """The decisions that keep (4a) to (4e) and (4h) to (4k) beyond doubt, what they earn, and whether they fit."""

    def __init__(self, instance: Instance, decisions: Solution, ends: list[int]) -> None:
        self.tasks: set[int] = set()
        self.total, self.overload = 0, False
        some: list[int] = []
        first: list[int] = []
        price: list[int] = []
        for i in range(0 if _is_one_node(instance) else instance.tasks):
            decision = decisions[i]
            if decision is None or not decision.cells or i in instance.explicit_cost:
                continue
            offers, vendor = instance.vendors(i), decision.vendor
            if (vendor is None) == (not offers) and (vendor is None or 0 <= vendor < len(offers)):
                some.append(i)
                first.append(int(instance.arrival[i]) + (0 if vendor is None else offers[vendor].delay))
                price.append(0 if vendor is None else offers[vendor].price)
        if not some:
            return
        length = np.array([len(decisions[i].cells) for i in some])  # type: ignore[union-attr]
        number = int(length.sum())
        tariff = [max(1, *map(abs, node.tariff.tolist())) for node in instance.node_types]
        most = [int(instance.rate.max()), int(instance.memory_mb.max()), int(instance.energy_wh.max()) * max(tariff)]
        if max(number * max(most), ends[-1] * instance.slots, *first) >= 2**62:
            return
        flat = chain.from_iterable(chain.from_iterable(decisions[i].cells for i in some))  # type: ignore[union-attr]
        try:
            node, slot = np.fromiter(flat, dtype=np.int64, count=2 * number).reshape(-1, 2).T
        except (OverflowError, ValueError, TypeError):
            return
        tasks, begin = np.array(some), np.cumsum(length) - length
        task, start = np.repeat(tasks, length), np.zeros(number, dtype=bool)
        start[begin] = True
        right = (node >= 0) & (node < ends[-1]) & (slot >= np.repeat(first, length)) & (slot <= instance.deadline[task])
        right[1:] &= start[1:] | (slot[1:] > slot[:-1])  # so no cell stands twice, and no slot
        kind = np.where(right, np.searchsorted(ends, node, side="right"), 0)
        rate = instance.rate[task, kind]
        right &= rate > 0
        cost = instance.energy_wh[task, kind]
        cost *= np.array([each.tariff for each in instance.node_types])[kind, np.where(right, slot, 1) - 1]
        fine = np.logical_and.reduceat(right, begin) & (np.add.reduceat(rate, begin) >= instance.work[tasks])
        self.tasks = set(tasks[fine].tolist())
        spent = (np.array(price) + np.add.reduceat(cost, begin))[fine].tolist()
        self.total = sum(instance.bid[tasks[fine]].tolist()) - sum(spent)
        keep = np.repeat(fine, length)
        self.overload = not _has_room(instance, node[keep], slot[keep], kind[keep], rate[keep], task[keep])


def _has_room(instance: Instance, node: Any, slot: Any, kind: Any, rate: Any, task: Any) -> bool:
    if not len(node):
        return True
    place = node * instance.slots + slot - 1
    order = np.argsort(place, kind="stable")
    place = place[order]
    begin = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    kind = kind[order][begin]
    compute = np.array([each.compute for each in instance.node_types])[kind]
    memory = np.array([each.memory_mb - instance.base_memory_mb for each in instance.node_types])[kind]
    loads = np.add.reduceat(rate[order], begin), np.add.reduceat(instance.memory_mb[task[order]], begin)
    return bool((loads[0] <= compute).all() and (loads[1] <= memory).all())


def _outlay(instance: Instance, i: int, decision: Decision, ends: list[int]) -> int:
    """Vendor price plus operational cost of one task's schedule, which must keep (4a)-(4e), (4h)-(4k), (R2)."""
    offers, cost = instance.vendors(i), instance.cost(i)
    require((decision.vendor is None) == (not offers), f"(4a, 4j) task {i}: vendor {decision.vendor}")
    require(decision.vendor is None or 0 <= decision.vendor < len(offers), f"(4h) task {i}: vendor {decision.vendor}")
    first, spent, done = int(instance.arrival[i]), 0, 0
    if decision.vendor is not None:
        first += offers[decision.vendor].delay
        spent += offers[decision.vendor].price
    require(len(set(decision.cells)) == len(decision.cells), f"(4h) task {i}: a cell stands twice")
    slots = {slot for _, slot in decision.cells}
    require(len(slots) == len(decision.cells), f"(4b) task {i}: two cells in one slot")
    for node, slot in decision.cells:
        require(0 <= node < ends[-1], f"(4h) task {i}: there is no node {node}")
        require(first <= slot <= instance.deadline[i], f"(4c, 4d) task {i}: slot {slot} is outside its window")
        g = bisect_right(ends, node)
        require(instance.rate[i, g] > 0, f"(4k) task {i}: rate 0 on node {node}")
        done += int(instance.rate[i, g])
        spent += int(cost[g, slot - 1])
    require(done >= instance.work[i], f"(4e) task {i}: {done} of {instance.work[i]} samples done")
    nodes = {node for node, _ in decision.cells}
    require(len(nodes) == 1 or not _is_one_node(instance), f"(R2) task {i}: {len(nodes)} nodes in all, not 1")
    return spent


def _is_one_node(instance: Instance) -> bool:
    return instance.schedules.value == "one-node"


def dual_bound(instance: Instance, unit: int, lam: Table, phi: Table, classes: tuple[ClassPrice, ...]) -> int:
    """The upper bound in micro-dollars that prices in 1/unit micro-dollars prove; CertificateError for others."""
    _require_unit(unit)
    found = _Priced(instance, unit, Prices(lam, phi, classes), "", Steps(instance.tasks)).bound({}, None)
    return found // unit


def tell_sum(instance: Instance, data: Any, source: str = "<document>") -> str:
    """The upper end of a valid certificate as a sum in numbers: what all nodes earn, and what each task gains."""
    certificate, _ = parse(data, source)
    if len(certificate.tree) > 1:
        leaves = sum(isinstance(node, int) for node in certificate.tree)
        return f"in numbers: {certificate.upper} is the largest bound of {leaves} branch{'es' if leaves > 1 else ''}"
    unit, steps = certificate.unit, Steps(instance.tasks)
    leaf = next((node for node in certificate.tree if isinstance(node, int)), 0)
    priced = _Priced(instance, unit, certificate.tables[leaf], "", steps)
    nodes = priced.bound({}, _present(instance, {}, {}, priced.shared) if certificate.tree else None)
    gains = [int(priced.known[i, ()] or 0) for i in range(instance.tasks)]
    nodes -= sum(gains)
    some = [_amount(gain, unit) for gain in gains if gain]
    tasks = " + ".join(some) or "0"
    if len(some) > GAINS_SHOWN:
        tasks = f"{_amount(sum(gains), unit)}, the gains of {len(some)} tasks,"
    total = nodes + sum(gains)
    down = f", rounded down {total // unit}" if total % unit else ""
    full = "" if nodes else ": no price is above 0, so each task gains its bid less its least cost"
    return (
        f"in numbers: nodes {_amount(nodes, unit)} + tasks {tasks} = {_amount(total, unit)}{down} >= any solution{full}"
    )


GAINS_SHOWN = 12  # Tasks up to which the gain of each is told


def _amount(value: int, unit: int) -> str:
    """An amount of 1/unit micro-dollars, to three decimals, with dots where digits were cut off."""
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    places, cut = divmod(1000 * rest, unit)
    return f"{whole}.{places:03d}" + "..." * bool(cut)


def tree_bound(instance: Instance, unit: int, tables: tuple[Prices, ...], tree: tuple[Node, ...]) -> int:
    """The largest bound of a leaf in micro-dollars, 0 at least."""
    _require_unit(unit)
    require(not _is_one_node(instance), "tree: decisions are about tasks that may have any schedule")
    steps = Steps(instance.tasks)
    names = ["", *(f"more[{j}]." for j in range(len(tables) - 1))]
    shared = _Shared(instance)
    priced = [_Priced(instance, unit, prices, name, steps, shared) for prices, name in zip(tables, names, strict=True)]
    usual = _present(instance, {}, {}, shared)
    upper = 0
    for table, decided in _leaves(instance, len(tables), tree, steps):
        steps.take(PYTHON * instance.tasks, "tree")
        present = None
        if priced[table].patterns:
            steps.take(len(usual) * instance.slots, "tree")
            present = _present(instance, decided, usual, shared)
        upper = max(upper, priced[table].bound(decided, present) // unit)
    return upper


def count_affordable_tables(instance: Instance, unit: int, prices: Prices) -> int:
    """How many leaves with tables like this one a tree may have before it is too large to check."""
    steps = Steps(instance.tasks)
    try:
        _Priced(instance, unit, prices, "", steps).bound({}, None)
    except CertificateError:
        return 0
    return steps.limit // max(1, steps.limit - steps.left)


def _require_unit(unit: int) -> None:
    require(unit > 0 and unit & (unit - 1) == 0, f"unit: {unit} is not a power of two")


def _leaves(
    instance: Instance, tables: int, tree: tuple[Node, ...], steps: Steps
) -> Iterator[tuple[int, NodeDecisions]]:
    """Table and decisions of every leaf; CertificateError where a branch has none, or a path decides a thing twice."""
    tasks, types, slots, none = (
        range(instance.tasks), range(len(instance.node_types)), range(1, instance.slots + 1), range(1)
    )  # fmt: skip
    counts = range(instance.slots + 1)
    shapes = {1: (tasks,), 2: (tasks, slots), 3: (tasks, types, slots), 4: (tasks, types, none, counts)}
    waiting: list[NodeDecisions] = [{}]
    for at, node in enumerate(tree):
        require(bool(waiting), f"tree[{at}]: there is no branch left for it")
        decided = waiting.pop()
        steps.take(PYTHON * (1 + sum(map(len, decided.values()))), "tree")
        if isinstance(node, int):
            require(node < tables, f"tree[{at}]: there is no table {node}")
            yield node, decided
            continue
        shape = shapes.get(len(node), ())
        known = len(node) == len(shape) and all(value in each for value, each in zip(node, shape, strict=True))
        ranges = f": tasks are 0 to {len(tasks) - 1}, types 0 to {len(types) - 1}, slots 1 to {len(slots)}"
        require(known, f"tree[{at}]: there is no task or cell {list(node)}{ranges}")
        task, what = node[0], node[1:]
        before = decided.get(task, ())
        require(what not in dict(before), f"tree[{at}]: {list(node)} is decided twice")
        waiting += [decided | {task: (*before, (what, side))} for side in (True, False)]
    require(not waiting, f"tree: {len(waiting)} branches have no leaf")


class _Shared:
    def __init__(self, instance: Instance) -> None:
        self.usable = [_usable(instance, i) for i in range(instance.tasks)]
        self.bases: dict[Any, int] = {}  # numbers of the prices of compute, memory and classes
        self.surplus: dict[Any, int | None] = {}
        self.worth: dict[Any, int] = {}
        self.patterns: dict[Any, Any] = {}


def _present(instance: Instance, decided: NodeDecisions, usual: Counts, shared: _Shared) -> Counts:
    """(slots,) how many tasks may have a cell of each class; `usual` is that of no decisions, where it is known."""
    present = {key: row.copy() for key, row in usual.items()}
    for i in decided if usual else range(instance.tasks):
        usable, offers = shared.usable[i]
        decisions = dict(decided.get(i, ()))
        window = slice(min(offers, default=1) - 1, int(instance.deadline[i]))
        for g in usable:
            key = (g, int(instance.rate[i, g]), int(instance.memory_mb[i]))
            row = present.setdefault(key, np.zeros(instance.slots, dtype=np.int64))
            if not usual:
                row[window] += 1
            elif decisions.get((), True):
                for _, slot in (
                    cell for cell, side in decisions.items() if len(cell) == 2 and cell[0] == g and not side
                ):
                    row[slot - 1] -= window.start < slot <= window.stop
            else:
                row[window] -= 1
    return present


class _Priced:
    """What a table of prices proves; what several leaves ask is computed once."""

    def __init__(
        self, instance: Instance, unit: int, prices: Prices, name: str, steps: Steps, shared: _Shared | None = None
    ) -> None:
        for part, table in (("lam", prices.lam), ("phi", prices.phi)):
            shape = [instance.slots] * len(instance.node_types)
            require([len(row) for row in table] == shape, f"{name}{part}: not one price per node type and slot")
            for g, row in enumerate(table):
                _require_no_negative(row, f"{name}{part}[{g}]")
        self.pi: dict[tuple[int, int, int], Any] = {}
        for j, (kind, rate, memory, price) in enumerate(prices.classes):
            place = f"{name}classes[{j}]"
            require(0 <= kind < len(instance.node_types), f"{place}.type: there is no node type {kind}")
            require(rate > 0, f"{place}.rate: {rate} is not positive")
            require(memory > 0, f"{place}.memory_mb: {memory} is not positive")
            require((kind, rate, memory) not in self.pi, f"{place}: the class stands twice")
            require(len(price) == instance.slots, f"{place}.price: not one price per slot")
            _require_no_negative(price, f"{place}.price")
            self.pi[kind, rate, memory] = np.array(price, dtype=object)
        self.cells: dict[tuple[int, int], tuple[int, Any]] = {}
        for j, (task, kind, first, price) in enumerate(prices.cells):
            place = f"{name}cells[{j}]"
            require(task < instance.tasks, f"{place}.task: there is no task {task}")
            require(kind < len(instance.node_types), f"{place}.type: there is no node type {kind}")
            inside = first >= 1 and first + len(price) - 1 <= instance.slots and len(price) > 0
            require(inside, f"{place}.price: {len(price)} slots from slot {first} are not in 1..{instance.slots}")
            require((task, kind) not in self.cells, f"{place}: the task and type stand twice")
            _require_no_negative(price, f"{place}.price")
            self.cells[task, kind] = first, np.array(price, dtype=object)
        self.instance, self.unit, self.steps = instance, unit, steps
        self.shared = shared = _Shared(instance) if shared is None else shared
        self.lam, self.phi = np.array(prices.lam, dtype=object), np.array(prices.phi, dtype=object)
        more = {key: price for key, (_, price) in self.cells.items()}
        # The largest price of each kind, and prices as Python integers and, if they fit, in 64 bits
        self.largest = [
            int(max((table.max() for table in tables), default=0))
            for tables in ((self.lam,), (self.phi,), self.pi.values(), more.values())
        ]
        self.tables: dict[Any, Any] = {object: (self.lam, self.phi, self.pi, more)}
        if max(self.largest) < 2**62:
            self.tables[np.int64] = (
                self.lam.astype(np.int64),
                self.phi.astype(np.int64),
                {key: price.astype(np.int64) for key, price in self.pi.items()},
                {key: price.astype(np.int64) for key, price in more.items()},
            )
        self.linear = 0
        self.patterns: list[tuple[int, list[ClassPrice], Any]] = []
        for g, node in enumerate(instance.node_types):
            memory_mb = node.memory_mb - instance.base_memory_mb
            self.linear += node.count * (node.compute * sum(prices.lam[g]) + memory_mb * sum(prices.phi[g]))
            listed = [each for each in prices.classes if each.kind == g]
            if listed and all(kind != g for _, kind in self.cells):
                sizes = [(each.rate, each.memory_mb) for each in listed]
                key = (g, *sizes)
                if key not in shared.patterns:
                    shared.patterns[key] = _maximal_patterns(sizes, node.compute, memory_mb, steps)
                self.patterns.append((node.count, listed, shared.patterns[key]))
        self.known: dict[Any, int | None] = {}
        self.base = shared.bases.setdefault(prices[:3], len(shared.bases))
        self.paid: list[tuple[CellPrice, ...]] = [()] * instance.tasks
        for cell in prices.cells:
            self.paid[cell.task] += (cell,)
        self.sets: dict[tuple[int, int], list[tuple[int, int, int, int]]] = self._list_items()
        self.worth: dict[tuple[int, int, frozenset[int]], int] = {}
        self.sizes: dict[int, tuple[list[tuple[int, int]], Any] | None] = {}

    def _list_items(self) -> dict[tuple[int, int], list[tuple[int, int, int, int]]]:
        """By type and slot, of types with prices of single cells: (price, rate, memory, task) of the cells that pay."""
        found: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
        kinds = {kind for _, kind in self.cells}
        for i in range(self.instance.tasks if kinds else 0):
            usable, offers = self.shared.usable[i]
            memory = int(self.instance.memory_mb[i])
            for g in kinds.intersection(usable):
                rate = int(self.instance.rate[i, g])
                price = self.pi.get((g, rate, memory), np.zeros(self.instance.slots, dtype=object)).copy()
                first, more = self.cells.get((i, g), (1, price[:0]))
                price[first - 1 : first - 1 + len(more)] += more
                for slot in range(min(offers), int(self.instance.deadline[i]) + 1):
                    if price[slot - 1] > 0:
                        found.setdefault((g, slot), []).append((int(price[slot - 1]), rate, memory, i))
        return found

    def _sets_worth(self, decided: NodeDecisions) -> int:
        """What all nodes of types with prices of single cells earn at most from them."""
        gone = {i for i, decisions in decided.items() if not dict(decisions).get((), True)}
        never = {
            (i, what) for i, decisions in decided.items() for what, side in decisions if len(what) == 2 and not side
        }
        total = 0
        for (g, slot), listed in self.sets.items():
            absent = frozenset(i for *_, i in listed if i in gone or (i, (g, slot)) in never)
            key = g, slot, absent
            if key not in self.worth:
                present = [each[:3] for each in listed if each[3] not in absent]
                self.worth[key] = self.instance.node_types[g].count * self._worth(g, present)
            total += self.worth[key]
        return total

    def _worth(self, g: int, items: list[tuple[int, int, int]]) -> int:
        """Largest sum of prices of (price, rate, memory) that fit on a node of type g."""
        node, worth = self.instance.node_types[g], self.shared.worth
        memory_mb = node.memory_mb - self.instance.base_memory_mb
        patterns = self._patterns_of_sizes(g) if len(items) > FEW_ITEMS else None
        key = g, patterns is None, tuple(items)
        if key not in worth:
            if len(items) <= FEW_ITEMS:
                worth[key] = _best_of_all_sets(items, node.compute, memory_mb, self.steps)
            elif patterns is None:
                worth[key] = _best_set(items, node.compute, memory_mb, self.steps)
            else:
                worth[key] = _best_of_patterns(items, *patterns, self.steps)
        return worth[key]

    def _patterns_of_sizes(self, g: int) -> tuple[list[tuple[int, int]], Any] | None:
        """The sizes of cells on a type, and the maximal patterns of them; None where they are not few."""
        if g not in self.sizes:
            node = self.instance.node_types[g]
            sizes = sorted({each[1:3] for (kind, _), listed in self.sets.items() if kind == g for each in listed})
            self.sizes[g] = None
            if len(sizes) <= FEW_SIZES:
                key, memory_mb = (g, *sizes), node.memory_mb - self.instance.base_memory_mb
                with suppress(CertificateError):  # too many patterns: branch and bound does it
                    if key not in self.shared.patterns:
                        self.shared.patterns[key] = _maximal_patterns(sizes, node.compute, memory_mb, self.steps)
                    self.sizes[g] = sizes, self.shared.patterns[key]
        return self.sizes[g]

    def cell_costs(self, i: int, usable: list[int], window: slice) -> Any:
        """(usable types, slots) what a cell of task i pays and costs in 1/unit micro-dollars: in 64 bits if it fits."""
        instance, cost = self.instance, self.instance.cost(i)[usable, window]
        rate, memory = instance.rate[i, usable].tolist(), int(instance.memory_mb[i])
        factors = self.unit, max(rate), memory, 1, 1
        largest = int(np.abs(cost).max()), *self.largest
        exact = np.int64 if sum(map(mul, factors, largest)) < 2**62 else object
        lam, phi, pi, cells = self.tables[exact]
        cost = self.unit * cost.astype(exact)
        cost += lam[usable, window] * np.array(rate, dtype=exact)[:, None] + phi[usable, window] * memory
        for row, g in enumerate(usable):
            if (g, rate[row], memory) in pi:
                cost[row] += pi[g, rate[row], memory][window]
            if (i, g) in cells:
                begin, more = self.cells[i, g][0], cells[i, g]
                low, high = max(begin - 1, window.start), min(begin - 1 + len(more), window.stop)
                if low < high:
                    cost[row, low - window.start : high - window.start] += more[low - begin + 1 : high - begin + 1]
        return cost

    def bound(self, decided: NodeDecisions, present: Counts | None) -> int:
        """In 1/unit micro-dollars, of the solutions that the decisions allow; 0 where there are none for sure."""
        total = self.linear
        for nodes, listed, count in self.patterns:
            total += nodes * _patterns_worth(listed, count, present, self.steps)
        total += self._sets_worth(decided)
        for i in range(self.instance.tasks):
            key = i, decided.get(i, ())
            if key not in self.known:
                known, priced = self.shared.surplus, (*key, self.base, self.paid[i])
                if priced not in known:
                    known[priced] = _surplus(*key, self.shared.usable[i], self)
                self.known[key] = known[priced]
            profit = self.known[key]
            if profit is None:
                return 0
            total += profit
        return total


def _require_no_negative(row: tuple[int, ...], name: str) -> None:
    require(min(row) >= 0, f"{name}[{row.index(min(row))}]: {min(row)} is negative")


def _patterns_worth(classes: list[ClassPrice], count: Any, present: Counts | None, steps: Steps) -> int:
    """Sum over all slots of the largest sum_c n_c pi_c of any pattern n, in 1/unit micro-dollars."""
    price = np.array([each.price for each in classes], dtype=object)
    # No pattern earns more than its number of cells times the largest price; where that may not fit into 64 bits,
    # Python's integers are used.
    exact = np.int64 if int(count.sum(axis=1).max()) * int(price.max()) < 2**63 else object
    steps.take(count.size * price.shape[1] * (PYTHON if exact is object else 1), "classes")
    count, price = count.astype(exact), price.astype(exact)
    if present is None:
        return sum(int((count @ price[:, slot]).max()) for slot in range(price.shape[1]))
    nobody = np.zeros(price.shape[1], dtype=np.int64)
    most = np.array([present.get(each[:3], nobody) for each in classes]).astype(exact)
    return sum(int((np.minimum(count, most[:, slot]) @ price[:, slot]).max()) for slot in range(price.shape[1]))


def _best_of_patterns(items: list[tuple[int, int, int]], sizes: list[tuple[int, int]], count: Any, steps: Steps) -> int:
    """As `_best_set`, from all maximal patterns of the sizes: of each size the items of the largest values."""
    most = int(count.max(initial=0))
    worth = np.zeros((len(sizes), most + 1), dtype=object)
    for c, size in enumerate(sizes):
        values = sorted((value for value, *mine in items if tuple(mine) == size), reverse=True)[:most]
        worth[c] = list(accumulate([0, *values, *[0] * (most - len(values))]))
    exact = np.int64 if sum(value for value, *_ in items) < 2**63 else object
    steps.take(SORT * PYTHON * len(items) + count.size * (PYTHON if exact is object else 1), "cells")
    return int(worth.astype(exact)[np.arange(len(sizes)), count].sum(axis=1).max(initial=0))


def _best_of_all_sets(items: list[tuple[int, int, int]], compute: int, memory: int, steps: Steps) -> int:
    exact = np.int64 if max(map(sum, zip(*items, strict=True)), default=0) < 2**63 else object
    steps.take(SORT * PYTHON * len(items), "cells")
    sums = np.zeros((1, 3), dtype=exact)
    for item in items:
        steps.take(3 * len(sums) * (PYTHON if exact is object else 1), "cells")
        more = sums + np.array(item, dtype=exact)
        sums = np.concatenate([sums, more[(more[:, 1] <= compute) & (more[:, 2] <= memory)]])
    return int(sums[:, 0].max())


def _best_set(items: list[tuple[int, int, int]], compute: int, memory: int, steps: Steps) -> int:
    """Largest sum of values of (value, samples, megabytes) that fit on a node, or a value that no set exceeds.

    Both constraints, in parts of their capacities and weighted, add up to one; with parts of items allowed, items by
    value per weight bound what a set still can be worth. Sets of one item more come from those that may become better
    than the best so far; beyond `SETS` of them the others count as what they can be worth at most. An item is not taken
    without the last earlier one that is no larger and worth no less: exchanging the two loses nothing.
    """
    items = [each for each in items if each[1] <= compute and each[2] <= memory]
    if not items or (sum(rate for _, rate, _ in items) <= compute and sum(size for *_, size in items) <= memory):
        return sum(value for value, _, _ in items)
    n = len(items)
    steps.take(SORT * PYTHON * WEIGHTS * n + SORT * n * n, "cells")
    # Values times weights have 62 bits at most: larger values are counted in a power of two, rounded up.
    shift = max(0, sum(value for value, _, _ in items).bit_length() - 36)
    items = [(-(-value >> shift), rate, size) for value, rate, size in items]
    orders = [_by_density(items, compute, memory, share) for share in range(WEIGHTS + 1)]
    order = min(orders, key=_at_most)
    exact = np.int64 if max(compute, memory, *map(sum, zip(*order, strict=True))) < 2**62 else object
    value, weight, rate, size = (np.array(column, dtype=exact) for column in zip(*order, strict=True))
    better = (value >= value[:, None]) & (rate <= rate[:, None]) & (size <= size[:, None])
    better &= np.tri(n, k=-1, dtype=bool)
    needed = np.where(better.any(axis=1), n - 1 - better[:, ::-1].argmax(axis=1), n)  # the last of them, n for none
    best = _best_by_turns(value, rate, size, compute, memory)
    values, weights = _sums(value[None]), _sums(weight[None])
    value, weight = np.append(value, 0), np.append(weight, 1)
    # Of each set: its items, the place from which on others may follow, its value, and what it leaves.
    member, begin = np.arange(n + 1)[None] == n, np.zeros(1, dtype=np.int64)
    worth, left, free, free_mb = (np.full(1, each, dtype=exact) for each in (0, ROOM, compute, memory))
    while len(begin):
        steps.take(SORT * len(begin) * n * (PYTHON if exact is object else 1), "cells")
        fits = (rate <= free[:, None]) & (size <= free_mb[:, None]) & member[:, needed]
        row, item = np.nonzero(fits & (np.arange(n) >= begin[:, None]))
        worth, left = worth[row] + value[item], left[row] - weight[item]
        best = max(best, int(worth.max(initial=0)))
        # The items from the next one up to `last` fit into what is left, and a part of that one.
        reach = weights[item + 1] + left
        last = np.searchsorted(weights, reach, side="right") - 1
        most = worth + values[last] - values[item + 1] + value[last] * (reach - weights[last]) // weight[last]
        if (most > best).sum() > SETS:
            best = int(np.sort(most)[-SETS - 1])
        keep = most > best
        row, item, worth, left = row[keep], item[keep], worth[keep], left[keep]
        member, begin, free, free_mb = member[row], item + 1, free[row] - rate[item], free_mb[row] - size[item]
        member[np.arange(len(item)), item] = True
    return best << shift


def _best_by_turns(value: Any, rate: Any, size: Any, compute: int, memory: int) -> int:
    """The largest value of a set that has one of the items, and of the others in order whatever fits."""
    worth, free, free_mb = value.copy(), compute - rate, memory - size
    for a in range(len(value)):
        fits = (rate[a] <= free) & (size[a] <= free_mb) & (np.arange(len(value)) != a)
        worth = np.where(fits, worth + value[a], worth)
        free, free_mb = np.where(fits, free - rate[a], free), np.where(fits, free_mb - size[a], free_mb)
    return int(worth.max())


def _by_density(
    items: list[tuple[int, int, int]], compute: int, memory: int, share: int
) -> list[tuple[int, int, int, int]]:
    """(value, weight, samples, megabytes) by falling value per weight; samples weigh so many parts of `WEIGHTS`."""
    whole, whole_mb = WEIGHTS * max(1, compute), WEIGHTS * max(1, memory)
    weighed = []
    for value, rate, size in items:
        # Rounded down, so that items that fit weigh no more than `ROOM`
        weight = ROOM * (share * rate * whole_mb + (WEIGHTS - share) * size * whole) // (whole * whole_mb)
        weighed.append((value, weight, rate, size))
    # Weights are at most `ROOM`, so values per weight that differ do by one in its square at least.
    return sorted(weighed, key=lambda each: -(each[0] * ROOM**2 // each[1]) if each[1] else -inf)


def _at_most(listed: list[tuple[int, int, int, int]]) -> int:
    """What no set of items in this order that weighs at most `ROOM` is worth more than."""
    worth, room = 0, ROOM
    for value, weight, _, _ in listed:
        if weight > room:
            return worth + value * room // weight
        room -= weight
        worth += value
    return worth


def _maximal_patterns(sizes: list[tuple[int, int]], compute: int, memory: int, steps: Steps) -> Any:
    """(patterns, classes) all counts of cells of these samples and megabytes that fit, and with no cell more."""
    # Few cells of these classes fit on a node: that keeps the patterns on the way few.
    order = sorted(range(len(sizes)), key=lambda c: min(compute // sizes[c][0], memory // sizes[c][1]))
    count = np.zeros((1, len(sizes)), dtype=np.int64)
    left = np.array([[compute, memory]])
    for c in order:
        most = (left // sizes[c]).min(axis=1)
        if c == order[-1]:
            number = most
        else:
            patterns = int(np.minimum(most, COUNTS_LIMIT).sum()) + len(most)
            require(patterns * len(sizes) <= COUNTS_LIMIT, "classes: too many patterns to check")
            steps.take(patterns * len(sizes), "classes")
            begin = np.repeat(np.cumsum(most + 1) - (most + 1), most + 1)
            number = np.arange(patterns) - begin
            count, left = np.repeat(count, most + 1, axis=0), np.repeat(left, most + 1, axis=0)
        count[:, c] = number
        left = left - number[:, None] * np.array(sizes[c])
    full = np.ones(len(count), dtype=bool)
    for size in sizes:
        full &= (left < size).any(axis=1)
    require(int(full.sum()) * len(sizes) <= MAXIMAL_LIMIT, "classes: too many patterns to check")
    return count[full]


def _usable(instance: Instance, i: int) -> tuple[list[int], dict[int, int]]:
    """Node types whose cells some schedule of task i can use, and the price of the cheapest offer by first slot."""
    memory, deadline = int(instance.memory_mb[i]), int(instance.deadline[i])
    usable = [
        g
        for g, node in enumerate(instance.node_types)
        if 0 < instance.rate[i, g] <= node.compute and memory <= node.memory_mb - instance.base_memory_mb
    ]
    cheapest: dict[int, int] = {}
    for price, delay in instance.vendors(i) or ((0, 0),):
        slot = int(instance.arrival[i]) + delay
        if slot <= deadline:
            cheapest[slot] = min(price, cheapest.get(slot, price))
    if not usable or not cheapest:
        return [], {}
    in_time = (deadline - min(cheapest) + 1) * int(instance.rate[i, usable].max()) >= instance.work[i]
    return (usable, cheapest) if in_time else ([], {})


def _surplus(
    i: int, decisions: TaskDecisions, offered: tuple[list[int], dict[int, int]], priced: _Priced
) -> int | None:
    """Best reduced profit of task i in 1/unit micro-dollars: 0 at least unless it is admitted, None for no schedule."""
    instance, unit, steps = priced.instance, priced.unit, priced.steps
    decided = dict(decisions)
    placed = [(*what, side) for what, side in decisions if len(what) == 2]
    needed = {slot: g for g, slot, side in placed if side}
    admitted = any(side for _, side in decisions)
    if not decided.get((), True):
        return None if admitted else 0
    if len(needed) < sum(side for _, _, side in placed):  # two cells in one slot
        return None
    bid, deadline = int(instance.bid[i]), int(instance.deadline[i])
    usable, cheapest = offered
    for (slot,), side in ((what, side) for what, side in decisions if len(what) == 1):
        cheapest = {begin: price for begin, price in cheapest.items() if (begin > slot) == side}
    if not usable or not cheapest:
        return None if admitted else 0
    first, rate = min(cheapest), instance.rate[i, usable]
    width = deadline - first + 1
    if any(g not in usable or not first <= slot <= deadline for slot, g in needed.items()):
        return None
    window = slice(first - 1, deadline)
    steps.take(instance.slots * len(instance.node_types) + PYTHON * len(usable) * width, f"task {i}")
    cost = priced.cell_costs(i, usable, window)
    if _is_one_node(instance):
        return _surplus_on_one_node(i, instance, unit, cost.astype(object), rate, cheapest, steps)
    # No sum of costs of cells, and no profit, exceeds `limit`; with `far` above all of them, an amount that cannot be
    # done in time stays above them too, whatever negative costs take off. Else Python integers are used.
    limit = width * int(np.abs(cost).max()) + unit * (bid + max(cheapest.values())) + 1
    far = 3 * limit
    cost = cost.astype(np.int64 if 8 * limit < 2**63 else object, copy=False)
    for g, slot, side in placed:
        if not side and g in usable and first <= slot <= deadline:
            cost[usable.index(g), slot - first] = far
    work, what = int(instance.work[i]), f"task {i}"
    if not decisions and cost.min() >= 0:
        least_of_sample = int((cost // rate[:, None]).min())
        if work * least_of_sample >= unit * (bid - min(cheapest.values())):
            return 0
    counts = [min(width, -(-work // int(s)) + int((row < 0).sum())) for s, row in zip(rate, cost, strict=True)]
    few = len(usable) <= 2 and (width + 1) * (max(counts) + 1) <= SPLIT_LIMIT
    numbers = [(what[0], what[2], side) for what, side in decisions if len(what) == 3]
    if numbers:
        types = {slot - first: usable.index(g) for slot, g in needed.items()}
        found = _by_counts(cost, rate, work, far, what, steps, types, _ranges(usable, width, numbers))
        least = {slot: found[slot - first] for slot in cheapest if slot <= min(needed, default=slot)}
    elif few and not placed:
        least, before, gain, spent, start = {}, inf, -far if admitted else 0, -far, None
        for slot in sorted(cheapest):
            if cheapest[slot] < before:  # an offer that is no cheaper than an earlier one is no better
                before = cheapest[slot]
                no_gain = unit * (bid - before) - gain
                spent, start = _by_split(
                    cost[:, slot - first :], rate, work, far, counts, what, steps, no_gain, spent, start
                )
                least[slot], gain = spent, max(gain, unit * (bid - before) - spent)
    else:
        types = {slot - first: usable.index(g) for slot, g in needed.items()}
        found = _by_amounts(cost, rate, work, far, what, steps, types)
        least = {slot: found[slot - first] for slot in cheapest if slot <= min(needed, default=slot)}
    best = None if admitted else 0
    for slot, spent in least.items():
        if spent <= limit:
            profit = unit * (bid - cheapest[slot]) - spent
            best = profit if best is None else max(best, profit)
    return best


def _surplus_on_one_node(
    i: int, instance: Instance, unit: int, cost: Any, rate: Any, cheapest: dict[int, int], steps: Steps
) -> int:
    """Best reduced profit, 0 at least, of a task that stays on one node."""
    work, first, width, best = int(instance.work[i]), min(cheapest), cost.shape[1], 0
    for row, speed in zip(cost, rate.tolist(), strict=True):
        length = -(-work // speed)
        for slot, price in cheapest.items():
            begin = slot - first
            if width - begin < length:
                continue
            steps.take(SORT * PYTHON * (width - begin), f"task {i}")
            cells = sorted(row[begin:].tolist())
            spent = sum(cells[:length]) + sum(each for each in cells[length:] if each < 0)
            best = max(best, unit * (int(instance.bid[i]) - price) - spent)
    return best


def _sums(prices: Any) -> Any:
    """Sums of the prices of each row up to each slot, from 0 on; the rows one after the other."""
    return np.concatenate([np.zeros_like(prices[:, :1]), np.cumsum(prices, axis=1)], axis=1).ravel()


def _ranges(usable: list[int], width: int, numbers: list[tuple[int, int, bool]]) -> list[tuple[int, int]]:
    """Least and most cells on each usable type; of another type it has none, whatever is decided."""
    low, high = dict.fromkeys(usable, 0), dict.fromkeys(usable, width)
    for g, k, more in numbers:
        if g not in low:
            low[usable[0]] = max(low[usable[0]], width + 1) if more else low[usable[0]]
        elif more:
            low[g] = max(low[g], k + 1)
        else:
            high[g] = min(high[g], k)
    return [(low[g], high[g]) for g in usable]


def _by_counts(
    cost: Any, rate: Any, work: int, far: int, what: str, steps: Steps, needed: dict[int, int],
    ranges: list[tuple[int, int]],
) -> list[int]:  # fmt: skip
    """Least costs from each slot on with numbers of cells in these ranges, `far` at least; `needed`: slots' types.

    f[n] at slot t is the least cost of n_g cells of each type g from slot t to the last.
    """
    width = cost.shape[1]
    shape = tuple(high + 1 for _, high in ranges)
    size = int(np.prod([float(each) for each in shape]))
    require(size <= AMOUNTS_LIMIT, f"{what}: more than {AMOUNTS_LIMIT} numbers of cells, too many to check")
    steps.take(size * len(rate) * width * (PYTHON if cost.dtype == object else 1), what)
    numbers = np.indices(shape)
    done = np.tensordot(rate.astype(object), numbers.astype(object), 1)
    fine = done >= work
    for axis, (low, _) in enumerate(ranges):
        fine &= numbers[axis] >= low
    f = np.full(shape, far, dtype=cost.dtype)
    f[(0,) * len(shape)] = 0
    found = []
    for slot in reversed(range(width)):
        after = np.full(shape, far, dtype=cost.dtype) if slot in needed else f.copy()
        for axis in range(len(shape)):
            if needed.get(slot, axis) == axis and shape[axis] > 1:
                one, rest = (tuple(slice(*part) if a == axis else slice(None) for a in range(len(shape)))
                             for part in ((1, None), (0, -1)))  # fmt: skip
                after[one] = np.minimum(after[one], f[rest] + cost[axis, slot])
        f = np.minimum(after, far)
        found.append(int(f[fine].min(initial=far)))
    return found[::-1]


def _by_split(
    cost: Any, rate: Any, work: int, far: int, counts: list[int], what: str, steps: Steps, no_gain: int, known: int,
    start: int | None,
) -> tuple[int, int | None]:  # fmt: skip
    """Least cost of the work in some of the slots, on one or two types, and a good `start` for a part of the slots.

    More than `far` / 3 where it cannot be done. It is `known` to be so much at least; where it is no less than
    `no_gain`, neither is what is returned. `counts`: as many cells of each type as cover alone or cost less than 0.

    With n cells of the first type the second one has m(n) at least. If those of the first cost d less, each slot has
    the cheaper type, and the n + m(n) cheapest slots or more cost, with d n added, no more than n and m(n) cells do.
    The largest such sum over d is what they cost (an assignment to two types has no duality gap). It is concave in d,
    and how many cells of the first type were chosen says on which side it is larger. So for the n of least bound other
    d are tried until its bound is what n costs.
    """
    width, scale = cost.shape[1], PYTHON if cost.dtype == object else 1
    if len(cost) == 1:
        steps.take(SORT * width * scale, what)
        sums = np.append(0, np.cumsum(np.sort(cost[0])))[-(-work // int(rate[0])) :]
        return int(sums.min(initial=far)), start
    steps.take((width + 1) * (sum(counts) + 2) * SPLIT * scale, what)
    number = np.arange(counts[0] + 1)
    cells = number + np.maximum(0, -(-(work - number * int(rate[0])) // int(rate[1])))
    number, cells = number[cells <= width].astype(cost.dtype, copy=False), cells[cells <= width]
    if known >= no_gain or not len(number):
        return (known if len(number) else far), start
    # Beyond these all slots have the same type; within them no sum exceeds 6 limits.
    least, most = int(cost[0].min() - cost[1].max()) - 1, int(cost[0].max() - cost[1].min()) + 1
    discount = min(max(_start(cost, rate, work) if start is None else start, least), most)
    step = 1 + (most - least) // 32
    keys = 2 * cost[0] + 1, 2 * cost[1]  # the lowest bit says which type it is
    bound: Any = known
    tried: list[tuple[int, Any, Any]] = []  # of each d: the bound of each n, and how it changes with d
    while True:
        key = np.sort(np.minimum(keys[0] - 2 * discount, keys[1]))
        chosen = np.maximum(cells, (key < 0).sum()) - 1
        value = np.cumsum(key >> 1)[chosen] + discount * number
        tried.append((discount, value, number - np.cumsum(key & 1)[chosen]))
        bound = np.maximum(bound, value)
        at = int(bound.argmin())
        found = int(bound[at])
        sides = [(d, int(values[at]), int(rises[at])) for d, values, rises in tried]
        below = max((side for side in sides if side[2] > 0), default=None)
        above = min((side for side in sides if side[2] < 0), default=None)
        if found >= no_gain or any(not rise for *_, rise in sides):
            return found, discount
        if below is None or above is None:
            discount = min(discount + step, most) if above is None else max(discount - step, least)
            step *= 4
            continue
        # The largest bound is below two lines: nowhere larger than where they meet
        (low, value, rise), (high, high_value, fall) = below, above
        discount = (high_value - value + rise * low - fall * high) // (rise - fall)
        if high - low == 1 or value + rise * (discount + 1 - low) <= found:
            return found, discount
        discount = min(max(discount, low + 1), high - 1)


def _start(cost: Any, rate: Any, work: int) -> int:
    """How much more a cell of the first type is worth than one of the second, at about the dearest sample needed."""
    prices = np.sort(np.minimum(*(row / float(speed) for row, speed in zip(cost, rate, strict=True))))
    return int(prices[min(cost.shape[1] - 1, work // int(rate.max()))] * float(rate[0] - rate[1]))


def _by_amounts(
    cost: Any, rate: Any, work: int, far: int, what: str, steps: Steps, needed: dict[int, int]
) -> list[int]:
    """Least costs of doing the work from each slot on, `far` at least where it cannot be; `needed`: slots' types.

    f[x] at slot t is the least cost, from t on, of doing the x-th amount of work; more may be done than is left, so
    that a cell of negative cost can be added where nothing is left.
    """
    width = cost.shape[1]
    amounts = _amounts(work, rate, width, what, steps)
    steps.take(len(amounts) * len(rate) * width * (PYTHON if cost.dtype == object else 1), what)
    left = np.maximum(0, amounts - rate[:, None])
    after = np.searchsorted(amounts, left)
    # What is left only after the last slot is no amount of ours, and never read; 0 would be the safe side.
    after = np.where(amounts[after] == left, after, 0)
    f = np.full(len(amounts), far, dtype=cost.dtype)
    f[amounts == 0] = 0
    found = []
    for slot in reversed(range(width)):
        here = cost[:, slot, None] + f[after]
        f = np.minimum(here[needed[slot]], far) if slot in needed else np.minimum(f, here.min(axis=0))
        found.append(int(f[-1]))
    return found[::-1]


def _amounts(work: int, rate: Any, slots: int, what: str, steps: Steps) -> Any:
    """Every amount of work that can be left after at most `slots` slots, ascending; CertificateError for too many."""
    amounts = np.array([work])
    for s in rate.tolist():
        # In how many slots this rate may be used; after so many there is no slot or no work left.
        often = min(slots, -(-work // s)) + 1
        number = len(amounts) * often
        too_many = f"{what}: more than {AMOUNTS_LIMIT} amounts of remaining work, too many to check"
        require(number <= AMOUNTS_LIMIT, too_many)
        steps.take(SORT * number, what)
        # Sorted: `np.unique` counts in a hash table, which takes twenty times as long where most amounts differ.
        found = np.sort(np.maximum(0, amounts[:, None] - s * np.arange(often)), axis=None)
        amounts = found[np.append(True, found[1:] != found[:-1])]
    return amounts


if __name__ == "__main__":
    sys.exit(run_checker(parse_instance, verify, sys.argv[1:]))
