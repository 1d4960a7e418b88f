"""Exact verification of a solution of problem P against (4a)-(4k), in Python integers, from the data alone.

Tasks that may not have every schedule of P are verified against their own rules, (R1) to (R5), too.

Jobs from before that run when the first slot begins count in (4f) and (4g) with what they hold.

A void run (it was ended at the limit that its user claimed, or ended after the deadline) need not do its work nor end
in time. It takes what it takes, costs what it costs, if that is more than nothing, and earns nothing.

It shares nothing with the formulations, the algorithms or their arithmetic, so that it can judge them all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from ratiobench.formulations.violations import ConstraintViolation
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision, Solution


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the exact verification found."""

    valid: bool  # no constraint is violated
    violations: tuple[ConstraintViolation, ...]
    welfare: int  # objective (4) in micro-dollars, by bids
    true_welfare: int  # the same by valuations
    revenue: int | None  # sum of the payments that are given; None if no decision has one
    admitted: int  # number of decisions that are neither null nor void

    def document(self) -> dict[str, Any]:
        """The report as the command `check` shows it."""
        return {
            "valid": self.valid,
            "welfare": self.welfare,
            "true_welfare": self.true_welfare,
            "revenue": self.revenue,
            "admitted": self.admitted,
            "violations": [str(violation) for violation in self.violations],
        }


def check(instance: Instance, solution: Solution) -> CheckReport:
    """Verify a solution and compute its welfare, exactly.

    Constraints are named as in the paper: (4a)-(4h), and (4i) cells only when admitted (a null decision has none by
    construction), (4j) a vendor only for a task that needs one, (4k) no cell where the rate is 0. A task whose `run` is
    not `any` has more of them:

    (R1) a gang has all its nodes in every slot in which it runs; for a task of one part this is (4b).
    (R2) one-node, rigid, gang: the same nodes in all slots, as many as the task has parts.
    (R3) gang: all its nodes are of one type.
    (R4) rigid, gang: slots in a row, exactly as many as the work takes.
    (R5) rigid, gang: the run begins when pre-processing is done and ends by the deadline; for others (4c) and (4d).
    """
    breaches: list[ConstraintViolation] = []
    if len(solution) != instance.tasks:
        breaches.append(ConstraintViolation("4h", None, f"{len(solution)} decisions for {instance.tasks} tasks"))
    # Nodes below ends[g] that are not below ends[g-1] are of type g; a type may count a million million nodes.
    ends = list(accumulate(node.count for node in instance.node_types))
    compute: defaultdict[tuple[int, int], int] = defaultdict(int)
    memory: defaultdict[tuple[int, int], int] = defaultdict(int)
    for job in instance.running:
        for node in job.nodes:
            for slot in range(1, job.last + 1):
                compute[node, slot] += job.compute
                memory[node, slot] += job.memory_mb
    welfare = true_welfare = admitted = 0
    payments: list[int] = []
    columns = _Columns(*(getattr(instance, name).tolist() for name in _Columns._fields))
    for i, decision in enumerate(solution[: instance.tasks]):
        if decision is None:
            continue
        spent = _check_task(instance, columns, i, decision, ends, compute, memory, breaches)
        if decision.void:
            welfare -= max(0, spent)
            true_welfare -= max(0, spent)
        else:
            admitted += 1
            welfare += columns.bid[i] - spent
            true_welfare += columns.valuation[i] - spent
        if decision.payment is not None:
            payments.append(decision.payment)
    limits = [node.compute for node in instance.node_types]
    for (node, slot), load, limit in _overloads(compute, limits, ends):
        breaches.append(ConstraintViolation("4f", None, f"node {node} slot {slot}: compute {load} > {limit}"))
    base = instance.base_memory_mb
    limits = [node.memory_mb - base for node in instance.node_types]
    for (node, slot), load, limit in _overloads(memory, limits, ends):
        text = f"node {node} slot {slot}: memory {load + base} > {limit + base}"
        breaches.append(ConstraintViolation("4g", None, text))
    return CheckReport(
        valid=not breaches,
        violations=tuple(breaches),
        welfare=welfare,
        true_welfare=true_welfare,
        revenue=sum(payments) if payments else None,
        admitted=admitted,
    )


def _overloads(
    loads: Mapping[tuple[int, int], int], limits: Sequence[int], ends: list[int]
) -> list[tuple[tuple[int, int], int, int]]:
    """The cells (node, slot) with more load than the limit of their node's type, in order: cell, load, limit."""
    return sorted(
        [(cell, load, limit) for cell, load in loads.items() if load > (limit := limits[bisect_right(ends, cell[0])])]
    )


class _Columns(NamedTuple):
    """Columns of an instance as lists of plain integers, by the names that they have there."""

    arrival: list[int]
    deadline: list[int]
    memory_mb: list[int]
    work: list[int]
    bid: list[int]
    valuation: list[int]
    rate: list[list[int]]
    run: list[int]
    parts: list[int]
    limit: list[int]


def _check_task(
    instance: Instance,
    columns: _Columns,
    i: int,
    decision: Decision,
    ends: list[int],
    compute: defaultdict[tuple[int, int], int],
    memory: defaultdict[tuple[int, int], int],
    breaches: list[ConstraintViolation],
) -> int:
    """Check (4a)-(4e), (4h), (4j), (4k) of one task, add its loads, and return vendor price plus operational cost."""
    first, spent = columns.arrival[i], 0
    vendors = instance.vendors(i)
    if decision.vendor is None:
        if vendors:
            breaches.append(ConstraintViolation("4a", i, "needs pre-processing and has no vendor"))
    elif not vendors:
        breaches.append(ConstraintViolation("4j", i, f"vendor {decision.vendor} for a task without pre-processing"))
    elif not 0 <= decision.vendor < len(vendors):
        breaches.append(ConstraintViolation("4h", i, f"vendor {decision.vendor} is not in 0..{len(vendors) - 1}"))
    else:
        first += vendors[decision.vendor].delay
        spent += vendors[decision.vendor].price
    deadline, memory_mb, rates = columns.deadline[i], columns.memory_mb[i], columns.rate[i]
    kind, parts = _KINDS[columns.run[i]], columns.parts[i]
    before, after = ("R5", "R5") if kind in ("rigid", "gang") else ("4c", "4d")
    cost = instance.cost(i)
    done = 0
    seen_cells: set[tuple[int, int]] = set()
    seen_slots: set[int] = set()
    for node, slot in decision.cells:
        if not (0 <= node < ends[-1] and 1 <= slot <= instance.slots):
            allowed = f"nodes 0..{ends[-1] - 1}, slots 1..{instance.slots}"
            breaches.append(ConstraintViolation("4h", i, f"cell [{node}, {slot}] is not in {allowed}"))
            continue
        if (node, slot) in seen_cells:
            breaches.append(ConstraintViolation("4h", i, f"cell [{node}, {slot}] stands twice"))
            continue
        seen_cells.add((node, slot))
        if slot in seen_slots and parts == 1:
            breaches.append(ConstraintViolation("4b", i, f"two nodes in slot {slot}"))
        seen_slots.add(slot)
        if slot < first:
            breaches.append(ConstraintViolation(before, i, f"runs in slot {slot}, before {first}"))
        if slot > deadline and not decision.void:
            breaches.append(ConstraintViolation(after, i, f"runs in slot {slot}, after the deadline {deadline}"))
        g = bisect_right(ends, node)
        rate = rates[g]
        if rate == 0:
            breaches.append(ConstraintViolation("4k", i, f"runs on node {node}, where its rate is 0"))
        done += rate
        spent += int(cost[g, slot - 1])
        compute[node, slot] += rate
        memory[node, slot] += memory_mb
    if kind != "any":
        breaches += _check_kind(instance, i, kind, parts, seen_cells, ends)
    limit, work = columns.limit[i], columns.work[i]
    if 0 < limit < work and not decision.void:
        text = f"its work {work} is above its limit {limit}: every run of it is void"
        breaches.append(ConstraintViolation("4e", i, text))
    elif done < work and not decision.void:
        breaches.append(ConstraintViolation("4e", i, f"work done {done} < {work}"))
    return spent


# What the numbers in an instance's column `run` stand for, as its format says
_KINDS = ("any", "one-node", "rigid", "gang")


def _check_kind(
    instance: Instance, i: int, kind: str, parts: int, cells: set[tuple[int, int]], ends: list[int]
) -> list[ConstraintViolation]:
    """(R1) to (R4) of one task whose cells exist and are distinct."""
    breaches = []
    if not cells:
        return []
    nodes = sorted({node for node, _ in cells})
    slots = sorted({slot for _, slot in cells})
    for slot in slots:
        running = sum((node, slot) in cells for node in nodes)
        if running < parts:
            breaches.append(ConstraintViolation("R1", i, f"runs on {running} of its {parts} nodes in slot {slot}"))
            break
    if len(nodes) > parts:
        more = f" and {len(nodes) - 2} more" * (len(nodes) > 2)
        text = f"runs on nodes {nodes[0]}, {nodes[1]}{more}; it may run on {parts}"
        breaches.append(ConstraintViolation("R2", i, text))
    types = sorted({bisect_right(ends, node) for node in nodes})
    if kind == "gang" and len(types) > 1:
        breaches.append(ConstraintViolation("R3", i, f"runs on node types {types[0]} and {types[1]}"))
    if kind in ("rigid", "gang"):
        if slots[-1] - slots[0] + 1 > len(slots):
            missing = next(slot for slot in range(slots[0], slots[-1]) if slot not in slots)
            breaches.append(ConstraintViolation("R4", i, f"pauses in slot {missing}"))
        rate = int(instance.rate[i, types[0]])
        length = -(-int(instance.work[i]) // (parts * rate)) if rate else 0
        if len(slots) > length > 0:
            breaches.append(ConstraintViolation("R4", i, f"runs in {len(slots)} slots where {length} do its work"))
    return breaches
