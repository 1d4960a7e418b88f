"""Solve one formulation with one solver, verify the solution exactly; what goes wrong is an answer with a message."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ratiobench.formulations import backends
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.models.formulation import Formulation, solution_of, vector_of
from ratiobench.formulations.report import SolverAnswer, Termination
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Solution

BUILD_COLUMNS = 400_000  # No formulation is built beyond this many columns
RELATIVE_SLACK = 1e-10
# A floating-point bound is raised by both before it is rounded down to the next value that the objective can take
ABSOLUTE_SLACK = 1e-4

# The welfare of a solution by the exact check, or None and the first constraint that it breaks
Verify = Callable[[Solution], tuple[int | None, str]]


@dataclass(frozen=True, slots=True)
class DirectSolve:
    answer: SolverAnswer  # the solver's answer, with the exact value of its solution
    note: str = ""  # the solver's own message, without what the exact check says
    built: bool = True  # there was a model to hand over
    solution: Solution | None = None  # the solver's solution, rounded, valid or not; None where there is none
    # upper bound on the optimum of the formulation, micro-dollars, rounded safely; None where none is believed.
    bound: int | None = None
    stated_bound: int | None = None  # the same of what the solver states, believed or not
    nodes: int = 0
    iterations: int = 0


def solve_direct(
    instance: Instance,
    formulation: Formulation,
    backend: str,
    limits: Limits,
    verify: Verify,
    start: Solution | None = None,
    *,
    reduced: bool = False,
    run: Callable[[Callable[[], BackendResult]], BackendResult] = lambda solve: solve(),
) -> DirectSolve:
    """Build the formulation, hand it to the solver, verify what it finds."""
    size = formulation.columns(instance)
    if size > BUILD_COLUMNS:
        text = f"not built, {size} columns are more than {BUILD_COLUMNS}"
        answer = SolverAnswer(formulation.name, backend, "", Termination.MEMORY, message=text)
        return DirectSolve(answer, text, built=False)
    began = time.perf_counter()
    built = build(instance, formulation, limits)
    building = time.perf_counter() - began
    solver = backends.installed_version(backend)
    if isinstance(built, BackendResult):
        answer = SolverAnswer(
            formulation.name, backend, solver, built.termination, build_seconds=building, message=built.message
        )
        return DirectSolve(answer, built.message, built=False)
    model, step = built.reduced() if reduced and isinstance(built, LinearModel) else (built, 1)
    begin = None
    if start is not None:
        canonical = formulation.canonical or (lambda _, solution: solution)
        begin = vector_of(model.columns, canonical(instance, start))
    began = time.perf_counter()
    result = run(lambda: backends.solve(backend, getattr(model, "text", model), limits, begin))
    solution, verified, problem = None, None, ""
    if result.values is not None:
        solution = solution_of(instance, model.columns, result.values)
        verified, problem = verify(solution)
    exact = backend == "cpsat"
    answer = SolverAnswer(
        formulation=formulation.name,
        backend=backend,
        solver=solver,
        status=result.termination,
        bound=None if result.stated_bound is None else result.stated_bound * step,
        value=None if result.stated_value is None else result.stated_value * step,
        verified=verified,
        columns=len(model.columns),
        rows=len(model.rows) if isinstance(model, LinearModel) else model.rows,
        build_seconds=building,
        solve_seconds=time.perf_counter() - began,
        message="; ".join(filter(None, [result.message, problem and f"its solution breaks {problem}"])),
    )

    def whole(bound: float | None) -> int | None:
        return None if bound is None else safe_floor(bound, exact=exact) * step

    return DirectSolve(
        answer,
        result.message,
        solution=solution,
        bound=whole(result.bound),
        stated_bound=whole(result.stated_bound),
        nodes=result.nodes,
        iterations=result.iterations,
    )


def safe_floor(bound: float, *, exact: bool) -> int:
    """The largest integer that a true bound this close to the reported one allows."""
    if exact:
        return round(bound)
    return math.floor(Fraction(bound) + Fraction(abs(bound) * RELATIVE_SLACK) + Fraction(ABSOLUTE_SLACK))


def build(instance: Instance, formulation: Formulation, limits: Limits | None = None) -> Any:
    """The formulation's model; a `BackendResult` that says why not, when it is built in a worker that fails."""
    if formulation.home is None:
        module, _, name = formulation.build.partition(":")
        return getattr(__import__(module, fromlist=[name]), name)(instance)
    reply = backends.call(formulation.home, formulation.build, instance, limits=limits)
    if reply.termination is not None:
        return BackendResult(reply.termination, message=reply.message)
    return reply.value
