"""Formulations that share no code, held against each other: prices, CP-SAT, enumeration.

The comparison of answers maximises, so bounds and values are those of the negated cost.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

from ratiobench.formulations.cluster.enumerate import WAYS_LIMIT, count_ways
from ratiobench.formulations.cluster.solve import CP_SAT, CP_SAT_JOBS, ENUMERATION, PRICES, solve
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow, compare_answers
from ratiobench.formulations.report import SolverAnswer, Termination
from ratiobench.instances.cluster.model import Instance
from ratiobench.instances.io.errors import InputError


def crosscheck(
    instance: Instance, *, effort: int = 1, seconds: float | None = None, tell: Callable[[str], None] = lambda _: None
) -> CrossCheck:
    """Solve by every formulation that takes so many jobs, and compare."""
    if instance.cost == "slowdown":
        raise InputError("crosscheck", "cost", "slowdown is no integer; take wait, wait-gpus or wait-gpu-hours")
    if len(instance.jobs) > CP_SAT_JOBS:
        raise InputError("crosscheck", "jobs", f"{len(instance.jobs)} jobs; at most {CP_SAT_JOBS} are compared")
    names = [CP_SAT, PRICES]
    with contextlib.suppress(ValueError):  # too many places of one job
        names[:0] = [ENUMERATION] if count_ways(instance) <= WAYS_LIMIT else []
    rows: list[CrossCheckRow] = []
    for name in names:
        tell(f"solving by {name}")
        report = solve(instance, instance.cost, name, effort=effort, seconds=seconds)
        bound, value = -math.floor(report.lower), -math.ceil(report.upper)
        answer = SolverAnswer(
            formulation=name,
            backend=report.backend,
            solver="" if report.solver is None else report.solver.solver,
            status=Termination.OPTIMAL if report.lower == report.upper else Termination.LIMIT,
            bound=float(bound),
            value=float(value),
            verified=value,
            solve_seconds=report.seconds,
            objective="the negated cost",
        )
        rows.append(CrossCheckRow(answer, bound, certified=name == PRICES))
    return compare_answers(rows, value, bound)
