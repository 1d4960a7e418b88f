"""The checker of certificates: both ends of an interval on OPT, recomputed from the instance's data alone.

It shares no code with what found them: of this project it uses the readers of instance and certificate files, beyond
that Python's integers and NumPy. Slow is fine; short, exact and easy to read is the point.

Upper end. Let a schedule l of task i be a vendor's offer and cells (type g, slot t), one per slot, from the offer's
first slot to the deadline, whose rates cover the work. For all prices lam, phi >= 0 (weak duality, (4f) and (4g)
relaxed after adding them up over the nodes of a type)

    OPT <= sum_gt K_g (C_p lam + (C_m - r_b) phi) + sum_i max(0, max_l b_i - q_l - sum_(g,t) in l (e + lam s + phi r)).

Pattern weights w add a third resource: if no set of tasks that fits on one node weighs more than NODE_WEIGHT, then a
node has that much of it, at a price nu >= 0 (the term K_g NODE_WEIGHT nu on the left, nu w on the right).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from formulations.lora.certificate import NODE_WEIGHT, Certificate, parse, seal
from instances.lora.format import content_hash
from instances.lora.model import Instance
from instances.lora.solution import Decision, Solution

Prices = tuple[tuple[int, ...], ...]
Weights = tuple[tuple[int, int, int, int], ...]

AMOUNTS_LIMIT = 5_000_000
"""Most amounts of remaining work of one task that are kept."""
CLASSES_LIMIT, STEPS_LIMIT = 500, 5_000_000
"""Most classes of tasks with pattern weights on a node type, and most sets of them that are looked at."""


class Verdict(NamedTuple):
    """Whether lower <= OPT <= upper is proved, and the first thing wrong if not (empty when valid)."""

    valid: bool
    problem: str
    certificate: Certificate


class Wrong(Exception):
    """Something in a certificate that is not so."""


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict:
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
        upper = dual_bound(
            instance, certificate.lam, certificate.phi, certificate.unit, certificate.nu, certificate.weights
        )
        require(upper == certificate.upper, f"upper: {certificate.upper} claimed; the prices prove {upper}")
        require(lower <= upper, f"lower {lower} is above upper {upper}")
        require(seal(certificate) == written_seal, "sha256: the certificate was changed after it was made")
    except Wrong as wrong:
        return Verdict(False, str(wrong), certificate)
    return Verdict(True, "", certificate)


def require(true: bool, otherwise: str) -> None:
    """Raise Wrong unless true."""
    if not true:
        raise Wrong(otherwise)


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


def dual_bound(
    instance: Instance, lam: Prices, phi: Prices, unit: int, nu: Prices | None = None, weights: Weights = ()
) -> int:
    """The upper bound in micro-dollars that prices in 1/unit micro-dollars prove; Wrong for what are no such prices."""
    require(unit > 0 and unit & (unit - 1) == 0, f"unit: {unit} is not a power of two")
    nu = tuple((0,) * instance.slots for _ in instance.node_types) if nu is None else nu
    for name, table in (("lam", lam), ("phi", phi), ("nu", nu)):
        shape = [instance.slots] * len(instance.node_types)
        require([len(row) for row in table] == shape, f"{name}: not one price per node type and slot")
        for g, row in enumerate(table):
            require(min(row) >= 0, f"{name}[{g}][{row.index(min(row))}]: {min(row)} is negative")
    require(len({w[:3] for w in weights}) == len(weights), "weights: one class stands twice")
    total = 0
    for g, node in enumerate(instance.node_types):
        room = node.memory_mb - instance.base_memory_mb
        total += node.count * (node.compute * sum(lam[g]) + room * sum(phi[g]) + NODE_WEIGHT * sum(nu[g]))
        heaviest = _heaviest([w[1:] for w in weights if w[0] == g], node.compute, room)
        require(heaviest <= NODE_WEIGHT, f"weights: tasks that fit on a node of type {g} weigh {heaviest}")
    prices = tuple(np.array(table, dtype=object) for table in (lam, phi, nu))
    weight = {(g, rate, memory): each for g, rate, memory, each in weights}
    for i in range(instance.tasks):
        total += _surplus(instance, i, prices, weight, unit)
    return total // unit


def _heaviest(classes: list[tuple[int, ...]], compute: int, room: int) -> int:
    """The largest total weight of classes (rate, memory, weight) that fit on a node together, any number of each."""
    require(len(classes) <= CLASSES_LIMIT, "weights: too many classes to check")
    for rate, memory, _ in classes:
        require(rate > 0 and memory > 0, "weights: a class without rate or memory")
    order = sorted(classes, key=lambda c: Fraction(c[2], c[0]), reverse=True)
    best = steps = 0

    def search(j: int, compute: int, room: int, total: int) -> None:
        nonlocal best, steps
        best, steps = max(best, total), steps + 1
        require(steps < STEPS_LIMIT, "weights: too many sets of tasks to check")
        if j < len(order) and total + order[j][2] * compute // order[j][0] > best:
            rate, memory, weight = order[j]
            for count in range(min(compute // rate, room // memory), -1, -1):
                search(j + 1, compute - count * rate, room - count * memory, total + count * weight)

    search(0, compute, room, 0)
    return best


def _surplus(instance: Instance, i: int, prices: Any, weights: dict[tuple[int, int, int], int], unit: int) -> int:
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
    window = slice(first - 1, deadline)
    lam, phi, nu = (table[usable, window] for table in prices)
    energy = instance.cost(i)[usable, window]
    weight = np.array([weights.get((g, int(instance.rate[i, g]), memory), 0) for g in usable], dtype=object)
    # No sum of costs and prices of cells, and no profit, exceeds `limit`; with `far` above all of them, an amount that
    # cannot be done in time stays above them too, whatever negative costs take off. Else Python integers are used.
    largest = (
        unit * int(np.abs(energy).max()) + lam.max() * int(rate.max()) + phi.max() * memory + nu.max() * weight.max()
    )
    limit = energy.shape[1] * largest + unit * (bid + max(cheapest.values())) + 1
    far = 3 * limit
    exact = np.int64 if 5 * limit < 2**63 else object
    lam, phi, nu, weight = lam.astype(exact), phi.astype(exact), nu.astype(exact), weight.astype(exact)
    cost = unit * energy.astype(exact) + lam * rate.astype(exact)[:, None] + phi * memory + nu * weight[:, None]
    amounts = _amounts(int(instance.work[i]), rate, energy.shape[1])
    require(len(amounts) > 0, f"task {i}: more than {AMOUNTS_LIMIT} amounts of remaining work, too many to check")
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


def _amounts(work: int, rate: Any, slots: int) -> Any:
    """Every amount of work that can be left after at most `slots` slots, ascending; empty when there are too many."""
    amounts = latest = np.array([work])
    for _ in range(slots):
        latest = np.setdiff1d(np.maximum(0, latest - rate[:, None]), amounts)
        amounts = np.union1d(amounts, latest)
        if len(latest) == 0:
            break
        if len(amounts) > AMOUNTS_LIMIT:
            return amounts[:0]
    return amounts
