"""Exact verification of a solution against (5)-(7), in Python integers; shares nothing with what it judges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from ratiobench.formulations.report import ConstraintViolation
from ratiobench.instances.eapm.model import Instance, Solution
from ratiobench.instances.io.errors import shorten


@dataclass(frozen=True, slots=True)
class CheckReport:
    valid: bool  # no constraint is violated
    violations: tuple[ConstraintViolation, ...]
    profit: int  # sum of all prices less `energy_cost`, micro-units
    energy_cost: int  # of the tasks where they were placed, micro-units; shares that break (7) count nothing
    makespan_ms: int  # the latest finish of a machine: the least MS that (6) allows
    value: Fraction | None  # the objective (4), units of money per second; None when the solution is not valid
    placed: int  # number of users whose bag is placed as (5) and (7) ask

    def document(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "welfare": self.value,
            "profit": self.profit,
            "energy_cost": self.energy_cost,
            "makespan_ms": self.makespan_ms,
            "admitted": self.placed,
            "violations": [str(violation) for violation in self.violations],
        }


def check(instance: Instance, solution: Solution) -> CheckReport:
    """Verify a solution and compute its profit rate, exactly; (6) only says what the makespan is."""
    machines = len(instance.machines)
    breaches: list[ConstraintViolation] = []
    if len(solution) != instance.users:
        breaches.append(ConstraintViolation("5", None, f"{len(solution)} decisions for {instance.users} users"))
    load = [0] * machines
    spent = placed = 0
    for i, decision in enumerate(solution[: instance.users]):
        if decision is None:
            breaches.append(ConstraintViolation("5", i, "has no decision; every bag is placed", "user"))
            continue
        if len(decision) != machines:
            breaches.append(ConstraintViolation("7", i, f"{len(decision)} shares for {machines} machines", "user"))
            continue
        bad = next((j for j, x in enumerate(decision) if not _natural(x)), None)
        if bad is not None:
            problem = f"share {shorten(decision[bad])} on machine {bad} is not a non-negative integer"
            breaches.append(ConstraintViolation("7", i, problem, "user"))
            continue
        shares = [int(x) for x in decision]
        for j, x in enumerate(shares):
            if x:
                etc = int(instance.etc_ms[instance.kind[i], j])
                load[j] += x * etc
                spent += x * instance.energy_price * etc * int(instance.apc_mw[instance.kind[i], j])
        if sum(shares) != int(instance.tasks[i]):
            problem = f"{sum(shares)} tasks are placed of {int(instance.tasks[i])}"
            breaches.append(ConstraintViolation("5", i, problem, "user"))
        else:
            placed += 1
    profit, makespan = sum(int(p) for p in instance.price) - spent, max(load)
    return CheckReport(
        valid=not breaches,
        violations=tuple(breaches),
        profit=profit,
        energy_cost=spent,
        makespan_ms=makespan,
        value=None if breaches else Fraction(profit, 1000 * makespan),
        placed=placed,
    )


def _natural(share: object) -> bool:
    """A whole number from 0 on; True is none."""
    return isinstance(share, Integral) and not isinstance(share, bool) and int(share) >= 0
