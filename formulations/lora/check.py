"""Exact verification of a solution of problem P against (4a)-(4k), in Python integers, from the data alone.

It shares nothing with the formulations, the algorithms or their arithmetic, so that it can judge them all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision, Solution


class ConstraintViolation(NamedTuple):
    """One violated constraint: the equation, the task (None for a capacity), and the figures."""

    equation: str
    task: int | None
    detail: str

    def __str__(self) -> str:
        where = "" if self.task is None else f"task {self.task}: "
        return f"({self.equation}) {where}{self.detail}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the exact verification found.

    Parameters
    ----------
    valid : no constraint is violated.
    violations : every violated constraint found.
    welfare : objective (4) in micro-dollars, by bids.
    true_welfare : the same by valuations.
    revenue : sum of the payments that are given; None if no decision has one.
    admitted : number of decisions that are not null.
    """

    valid: bool
    violations: tuple[ConstraintViolation, ...]
    welfare: int
    true_welfare: int
    revenue: int | None
    admitted: int

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


ONE_NODE = "one node"
"""The constraint that P does not have: all cells of a task lie on one node."""


def check(instance: Instance, solution: Solution, *, schedules: ScheduleKind = ScheduleKind.ANY) -> CheckReport:
    """Verify a solution and compute its welfare, exactly.

    Constraints are named as in the paper: (4a)-(4h), and (4i) cells only when admitted (a null decision has none by
    construction), (4j) a vendor only for a task that needs one, (4k) no cell where the rate is 0. With `schedules`
    `ONE_NODE` one more, (one node): a task runs on one and the same node in all its slots.
    """
    breaches: list[ConstraintViolation] = []
    if len(solution) != instance.tasks:
        breaches.append(ConstraintViolation("4h", None, f"{len(solution)} decisions for {instance.tasks} tasks"))
    # Nodes below ends[g] that are not below ends[g-1] are of type g; a type may count a million million nodes.
    ends = list(accumulate(node.count for node in instance.node_types))
    compute: defaultdict[tuple[int, int], int] = defaultdict(int)
    memory: defaultdict[tuple[int, int], int] = defaultdict(int)
    welfare = true_welfare = admitted = 0
    payments: list[int] = []
    for i, decision in enumerate(solution[: instance.tasks]):
        if decision is None:
            continue
        admitted += 1
        spent = _check_task(instance, i, decision, ends, compute, memory, breaches)
        if schedules is ScheduleKind.ONE_NODE and len(nodes := {node for node, _ in decision.cells}) > 1:
            first, second = sorted(nodes)[:2]
            more = f" and {len(nodes) - 2} more" * (len(nodes) > 2)
            breaches.append(ConstraintViolation(ONE_NODE, i, f"runs on nodes {first}, {second}{more}"))
        welfare += int(instance.bid[i]) - spent
        true_welfare += int(instance.valuation[i]) - spent
        if decision.payment is not None:
            payments.append(decision.payment)
    for (node, slot), load in sorted(compute.items()):
        limit = instance.node_types[bisect_right(ends, node)].compute
        if load > limit:
            breaches.append(ConstraintViolation("4f", None, f"node {node} slot {slot}: compute {load} > {limit}"))
    for (node, slot), load in sorted(memory.items()):
        limit = instance.node_types[bisect_right(ends, node)].memory_mb
        if load + instance.base_memory_mb > limit:
            total = load + instance.base_memory_mb
            breaches.append(ConstraintViolation("4g", None, f"node {node} slot {slot}: memory {total} > {limit}"))
    return CheckReport(
        valid=not breaches,
        violations=tuple(breaches),
        welfare=welfare,
        true_welfare=true_welfare,
        revenue=sum(payments) if payments else None,
        admitted=admitted,
    )


def _check_task(
    instance: Instance,
    i: int,
    decision: Decision,
    ends: list[int],
    compute: defaultdict[tuple[int, int], int],
    memory: defaultdict[tuple[int, int], int],
    breaches: list[ConstraintViolation],
) -> int:
    """Check (4a)-(4e), (4h), (4j), (4k) of one task, add its loads, and return vendor price plus operational cost."""
    first, spent = int(instance.arrival[i]), 0
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
    deadline = int(instance.deadline[i])
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
        rate = int(instance.rate[i, g])
        if rate == 0:
            breaches.append(ConstraintViolation("4k", i, f"runs on node {node}, where its rate is 0"))
        done += rate
        spent += int(cost[g, slot - 1])
        compute[node, slot] += rate
        memory[node, slot] += int(instance.memory_mb[i])
    if done < int(instance.work[i]):
        breaches.append(ConstraintViolation("4e", i, f"work done {done} < {int(instance.work[i])}"))
    return spent
