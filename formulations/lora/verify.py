"""The checker of certificates: both ends of an interval on OPT, recomputed from the instance's data alone.

It shares no code with what found them: of this project it uses the readers of instance and certificate files, beyond
that Python's integers and NumPy. Slow is fine; short, exact and easy to read is the point.

Upper end. Let a schedule l of task i be a vendor's offer and cells (type g, slot t), one per slot, from the offer's
first slot to the deadline, whose rates cover the work. A cell's class c is its type, its rate s and its memory r; it
pays p_ct = lam_gt s + phi_gt r + pi_ct, with pi = 0 for classes that are not listed. In any solution of P the cells on
one node of type g in slot t use at most C_p samples and C_m - r_b megabytes (4f, 4g). So, where no price is negative,
what they pay together is at most

    W_gt = C_p lam_gt + (C_m - r_b) phi_gt + max_n sum_c n_c pi_ct,

n running over the patterns, the counts of listed classes that fit on a node: sum_c n_c s_c <= C_p and
sum_c n_c r_c <= C_m - r_b. With e the operational cost and q a vendor's price, adding what all nodes earn and taking
away what all cells pay gives, for all prices lam, phi, pi >= 0,

    OPT <= sum_gt K_g W_gt + sum_i max(0, max_l b_i - q_l - sum_(g,t) in l (e_igt + p_ct)).

The best pattern is found by listing those to which no cell can be added: no other earns more than all of them do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from typing import Any

import numpy as np

from formulations.lora.certificate import Certificate, ClassPrice, parse, seal
from formulations.sealing import Verdict, Wrong, require
from instances.lora.format import content_hash
from instances.lora.model import Instance
from instances.lora.solution import Decision, Solution

Prices = tuple[tuple[int, ...], ...]

AMOUNTS_LIMIT = 20_000_000
"""Most amounts of remaining work of one task that are kept."""
COUNTS_LIMIT, MAXIMAL_LIMIT = 50_000_000, 500_000
"""Most counts (patterns times classes) of a node type, on the way to the maximal patterns and of those."""
STEPS_LIMIT, STEPS_PER_TASK = 2_000_000_000, 1_000_000
"""Most steps of a check: so many, and so many more per task. A day of 11,520 tasks takes about 40,000 a task.

A step is one entry of a table of costs in one slot, in 64 bits: a few nanoseconds.
"""
SORT, PYTHON = 16, 64
"""How many steps the sorting of an amount counts, and a step in Python's integers, where 64 bits do not do."""


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict[Certificate]:
    """Check a decoded certificate document against an instance: every number in it is recomputed and must be equal.

    Raises
    ------
    InputError : when `data` is no certificate document.
    """
    certificate, written_seal = parse(data, source)
    try:
        require(certificate.instance == content_hash(instance), "the certificate is about another instance")
        lower = welfare(instance, certificate.decisions)
        require(lower == certificate.lower, f"lower: {certificate.lower} claimed; the schedule is worth {lower}")
        upper = dual_bound(instance, certificate.unit, certificate.lam, certificate.phi, certificate.classes)
        require(upper == certificate.upper, f"upper: {certificate.upper} claimed; the prices prove {upper}")
        require(lower <= upper, f"lower {lower} is above upper {upper}")
        require(seal(certificate) == written_seal, "sha256: the certificate was changed after it was made")
    except Wrong as wrong:
        return Verdict(False, str(wrong), certificate)
    return Verdict(True, "", certificate)


class Steps:
    """The steps that a check may still take, so that no pair of small files keeps the checker busy for hours."""

    def __init__(self, tasks: int) -> None:
        self.limit = self.left = STEPS_LIMIT + STEPS_PER_TASK * tasks

    def take(self, number: int, what: str) -> None:
        """Wrong where so many are not left; nothing of the work has been done then."""
        left = f"{self.left} of {self.limit} left"
        require(number <= self.left, f"{what}: {number} steps are needed and {left}: too many to check")
        self.left -= number


def welfare(instance: Instance, decisions: Solution) -> int:
    """Objective (4) of a schedule in micro-dollars; Wrong names the first constraint that it breaks."""
    require(len(decisions) == instance.tasks, f"{len(decisions)} decisions for {instance.tasks} tasks")
    ends = list(accumulate(node.count for node in instance.node_types))
    compute: defaultdict[tuple[int, int], int] = defaultdict(int)
    memory: defaultdict[tuple[int, int], int] = defaultdict(int)
    total = 0
    for i, decision in enumerate(decisions):
        if decision is None:
            continue
        total += int(instance.bid[i]) - _outlay(instance, i, decision, ends)
        for node, slot in decision.cells:
            compute[node, slot] += int(instance.rate[i, bisect_right(ends, node)])
            memory[node, slot] += int(instance.memory_mb[i])
    for (node, slot), load in compute.items():
        kind = instance.node_types[bisect_right(ends, node)]
        require(load <= kind.compute, f"(4f) node {node} slot {slot}: compute {load} > {kind.compute}")
        room = kind.memory_mb - instance.base_memory_mb
        require(memory[node, slot] <= room, f"(4g) node {node} slot {slot}: memory {memory[node, slot]} > {room}")
    return total


def _outlay(instance: Instance, i: int, decision: Decision, ends: list[int]) -> int:
    """Vendor price plus operational cost of one task's schedule, which must keep (4a)-(4e) and (4h)-(4k)."""
    offers, cost = instance.vendors(i), instance.cost(i)
    require((decision.vendor is None) == (not offers), f"(4a, 4j) task {i}: vendor {decision.vendor}")
    require(decision.vendor is None or 0 <= decision.vendor < len(offers), f"(4h) task {i}: vendor {decision.vendor}")
    first, spent, done = int(instance.arrival[i]), 0, 0
    if decision.vendor is not None:
        first += offers[decision.vendor].delay
        spent += offers[decision.vendor].price
    require(len({slot for _, slot in decision.cells}) == len(decision.cells), f"(4b) task {i}: two cells in one slot")
    for node, slot in decision.cells:
        require(0 <= node < ends[-1], f"(4h) task {i}: there is no node {node}")
        require(first <= slot <= instance.deadline[i], f"(4c, 4d) task {i}: slot {slot} is outside its window")
        g = bisect_right(ends, node)
        require(instance.rate[i, g] > 0, f"(4k) task {i}: rate 0 on node {node}")
        done += int(instance.rate[i, g])
        spent += int(cost[g, slot - 1])
    require(done >= instance.work[i], f"(4e) task {i}: {done} of {instance.work[i]} samples done")
    return spent


def dual_bound(instance: Instance, unit: int, lam: Prices, phi: Prices, classes: tuple[ClassPrice, ...]) -> int:
    """The upper bound in micro-dollars that prices in 1/unit micro-dollars prove; Wrong for what are no such prices."""
    require(unit > 0 and unit & (unit - 1) == 0, f"unit: {unit} is not a power of two")
    for name, table in (("lam", lam), ("phi", phi)):
        shape = [instance.slots] * len(instance.node_types)
        require([len(row) for row in table] == shape, f"{name}: not one price per node type and slot")
        for g, row in enumerate(table):
            _require_no_negative(row, f"{name}[{g}]")
    pi: dict[tuple[int, int, int], Any] = {}
    for j, (kind, rate, memory, price) in enumerate(classes):
        require(0 <= kind < len(instance.node_types), f"classes[{j}].type: there is no node type {kind}")
        require(rate > 0, f"classes[{j}].rate: {rate} is not positive")
        require(memory > 0, f"classes[{j}].memory_mb: {memory} is not positive")
        require((kind, rate, memory) not in pi, f"classes[{j}]: the class stands twice")
        require(len(price) == instance.slots, f"classes[{j}].price: not one price per slot")
        _require_no_negative(price, f"classes[{j}].price")
        pi[kind, rate, memory] = np.array(price, dtype=object)
    total = 0
    steps = Steps(instance.tasks)
    for g, node in enumerate(instance.node_types):
        room = node.memory_mb - instance.base_memory_mb
        total += node.count * (node.compute * sum(lam[g]) + room * sum(phi[g]))
        total += node.count * _patterns_worth([each for each in classes if each.kind == g], node.compute, room, steps)
    tables = np.array(lam, dtype=object), np.array(phi, dtype=object)
    for i in range(instance.tasks):
        total += _surplus(instance, i, unit, *tables, pi, steps)
    return total // unit


def _require_no_negative(row: tuple[int, ...], name: str) -> None:
    require(min(row) >= 0, f"{name}[{row.index(min(row))}]: {min(row)} is negative")


def _patterns_worth(classes: list[ClassPrice], compute: int, room: int, steps: Steps) -> int:
    """Sum over all slots of the largest sum_c n_c pi_c of any pattern n, in 1/unit micro-dollars."""
    if not classes:
        return 0
    count = _maximal_patterns([(each.rate, each.memory_mb) for each in classes], compute, room, steps)
    price = np.array([each.price for each in classes], dtype=object)
    # No pattern earns more than its number of cells times the largest price; where that may not fit into 64 bits,
    # Python's integers are used.
    exact = np.int64 if int(count.sum(axis=1).max()) * int(price.max()) < 2**63 else object
    steps.take(count.size * price.shape[1] * (PYTHON if exact is object else 1), "classes")
    count, price = count.astype(exact), price.astype(exact)
    return sum(int((count @ price[:, slot]).max()) for slot in range(price.shape[1]))


def _maximal_patterns(sizes: list[tuple[int, int]], compute: int, room: int, steps: Steps) -> Any:
    """(patterns, classes) all counts of cells of these samples and megabytes that fit, and with no cell more.

    Class by class every count that fits is appended to the patterns so far; of the last class as many as fit.
    """
    # Few cells of these classes fit on a node: that keeps the patterns on the way few.
    order = sorted(range(len(sizes)), key=lambda c: min(compute // sizes[c][0], room // sizes[c][1]))
    count = np.zeros((1, len(sizes)), dtype=np.int64)
    left = np.array([[compute, room]])
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


def _surplus(
    instance: Instance, i: int, unit: int, lam: Any, phi: Any, pi: dict[tuple[int, int, int], Any], steps: Steps
) -> int:
    """max(0, best reduced profit of task i), in 1/unit micro-dollars.

    f[x] at slot t is the least cost, from slot t to the deadline, of doing the x-th amount of work; more may be done
    than is left, so that a cell of negative cost can be added where nothing is left.
    """
    memory, bid, deadline = int(instance.memory_mb[i]), int(instance.bid[i]), int(instance.deadline[i])
    # Cells that no feasible schedule can use: no rate, a rate above compute, memory that does not fit.
    usable = [
        g
        for g, node in enumerate(instance.node_types)
        if 0 < instance.rate[i, g] <= node.compute and memory <= node.memory_mb - instance.base_memory_mb
    ]
    cheapest: dict[int, int] = {}  # first slot -> price of the offer
    for price, delay in instance.vendors(i) or ((0, 0),):
        slot = int(instance.arrival[i]) + delay
        if slot <= deadline:
            cheapest[slot] = min(price, cheapest.get(slot, price))
    if not usable or not cheapest:
        return 0
    first, rate = min(cheapest), instance.rate[i, usable]
    width = deadline - first + 1
    if width * int(rate.max()) < instance.work[i]:
        return 0
    window = slice(first - 1, deadline)
    steps.take(instance.slots * len(instance.node_types) + PYTHON * len(usable) * width, f"task {i}")
    cost = unit * instance.cost(i)[usable, window].astype(object)
    cost += lam[usable, window] * rate.astype(object)[:, None] + phi[usable, window] * memory
    for row, g in enumerate(usable):
        if (g, int(rate[row]), memory) in pi:
            cost[row] += pi[g, int(rate[row]), memory][window]
    # No sum of costs of cells, and no profit, exceeds `limit`; with `far` above all of them, an amount that cannot be
    # done in time stays above them too, whatever negative costs take off. Else Python integers are used.
    limit = width * int(np.abs(cost).max()) + unit * (bid + max(cheapest.values())) + 1
    far = 3 * limit
    exact = np.int64 if 5 * limit < 2**63 else object
    cost = cost.astype(exact)
    amounts = _amounts(int(instance.work[i]), rate, width, f"task {i}", steps)
    steps.take(len(amounts) * len(usable) * width * (PYTHON if exact is object else 1), f"task {i}")
    left = np.maximum(0, amounts - rate[:, None])
    after = np.searchsorted(amounts, left)
    # What is left only after the deadline is no amount of ours, and never read; 0 would be the safe side.
    after = np.where(amounts[after] == left, after, 0)
    f = np.full(len(amounts), far, dtype=exact)
    f[amounts == 0] = 0
    best = 0
    for slot in range(deadline, first - 1, -1):
        f = np.minimum(f, (cost[:, slot - first, None] + f[after]).min(axis=0))
        if slot in cheapest:
            best = max(best, unit * (bid - cheapest[slot]) - int(f[-1]))
    return best


def _amounts(work: int, rate: Any, slots: int, what: str, steps: Steps) -> Any:
    """Every amount of work that can be left after at most `slots` slots, ascending; Wrong when there are too many."""
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
