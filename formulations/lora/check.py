"""Exact verification of a solution of P against (4a)-(4k) and (R2), in Python integers, from the data alone.

It shares nothing with the formulations, the algorithms or their arithmetic, so that it can judge them all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from ratiobench.formulations.report import ConstraintViolation
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision, Solution


@dataclass(frozen=True, slots=True)
class CheckReport:
    valid: bool  # no constraint is violated
    violations: tuple[ConstraintViolation, ...]
    welfare: int  # objective (4) in micro-dollars, by bids
    true_welfare: int  # the same by valuations
    revenue: int | None  # sum of the payments that are given; None if no decision has one
    admitted: int  # number of decisions that are not null

    @property
    def value(self) -> int | None:
        """The welfare of a valid solution."""
        return self.welfare if self.valid else None

    def document(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "welfare": self.welfare,
            "true_welfare": self.true_welfare,
            "revenue": self.revenue,
            "admitted": self.admitted,
            "violations": [str(violation) for violation in self.violations],
        }


def check(instance: Instance, solution: Solution) -> CheckReport:
    """Verify a solution and compute its welfare; (4i) holds by construction, (R2) is: the same node in all slots."""
    breaches: list[ConstraintViolation] = []
    if len(solution) != instance.tasks:
        breaches.append(ConstraintViolation("4h", None, f"{len(solution)} decisions for {instance.tasks} tasks"))
    # Nodes below ends[g] that are not below ends[g-1] are of type g; a type may count a million million nodes.
    ends = list(accumulate(node.count for node in instance.node_types))
    compute: defaultdict[tuple[int, int], int] = defaultdict(int)
    memory: defaultdict[tuple[int, int], int] = defaultdict(int)
    welfare = true_welfare = admitted = 0
    payments: list[int] = []
    columns = _Columns(*(getattr(instance, name).tolist() for name in _Columns._fields))
    for i, decision in enumerate(solution[: instance.tasks]):
        if decision is None:
            continue
        spent = _check_task(instance, columns, i, decision, ends, compute, memory, breaches)
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
    """Columns of an instance as lists of plain integers."""

    arrival: list[int]
    deadline: list[int]
    memory_mb: list[int]
    work: list[int]
    bid: list[int]
    valuation: list[int]
    rate: list[list[int]]


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
    """Check (4a)-(4e), (4h), (4j), (4k), (R2) of one task and add its loads; returns what vendor and operation cost."""
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
        if slot in seen_slots:
            breaches.append(ConstraintViolation("4b", i, f"two nodes in slot {slot}"))
        seen_slots.add(slot)
        if slot < first:
            breaches.append(ConstraintViolation("4c", i, f"runs in slot {slot}, before {first}"))
        if slot > deadline:
            breaches.append(ConstraintViolation("4d", i, f"runs in slot {slot}, after the deadline {deadline}"))
        g = bisect_right(ends, node)
        rate = rates[g]
        if rate == 0:
            breaches.append(ConstraintViolation("4k", i, f"runs on node {node}, where its rate is 0"))
        done += rate
        spent += int(cost[g, slot - 1])
        compute[node, slot] += rate
        memory[node, slot] += memory_mb
    nodes = sorted({node for node, _ in seen_cells})
    if instance.schedules.value == "one-node" and len(nodes) > 1:
        more = f" and {len(nodes) - 2} more" * (len(nodes) > 2)
        text = f"runs on nodes {nodes[0]}, {nodes[1]}{more}; it may run on 1"
        breaches.append(ConstraintViolation("R2", i, text))
    if done < columns.work[i]:
        breaches.append(ConstraintViolation("4e", i, f"work done {done} < {columns.work[i]}"))
    return spent
