"""Solver backends, one file each, and the parent's side of calling them.

A backend is a module here with a function ``solve(model, limits, start) -> BackendResult`` and a function
``version() -> str``. It is imported in its own worker process and never in the caller's, so it imports its solver as it
likes. It solves what names it: a family's formulations say which backends they go with.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import SolverAnswer, Termination
from ratiobench.formulations.worker import Reply, worker
from ratiobench.instances.io.errors import InputError, install_command
from ratiobench.instances.io.plugins import BACKENDS, find_plugins

__all__ = ["BackendResult", "Limits", "backends", "solve", "version"]

FloatArray = NDArray[np.float64]

WALL_SECONDS = 1800.0  # Hard limit of a solve that is limited by work: far beyond what any sensible work limit takes
MEMORY_MB = 8192
# Up to this largest number in the rows of an integer model, a floating-point bound is believed. Solvers round by 2^-53
# of a number and call a row broken by more than a tolerance of 1e-9, whatever its size: beyond 2^22 one rounding alone
# takes what fits exactly for too much, and a bound below the optimum is 'proved'. On thousands of tiny instances whose
# capacities are met exactly, HiGHS did so from 2^25 on, SCIP and Gurobi later, and CBC called what is feasible
# infeasible from 2^24 on; below nothing was seen. Large numbers in the objective alone do no such harm.
LARGEST = 2**22
EXTRAS = ("gurobi", "scip")  # Backends whose solver comes with the optional extra of the backend's name
_INFINITE = 1e20  # What the solvers call infinite: HiGHS inf, SCIP 1e20, CBC 1e50, Gurobi 1e100


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop; None is no limit. Work limits are deterministic: the solver uses one thread and a fixed seed."""

    # units of work; each backend says in its file what one unit is (about a second of a slow core).
    work: int | None = None
    gap: float = 0.0  # relative gap
    value: float = math.inf  # HiGHS: an incumbent of this value, or a bound no larger than the next, is enough
    bound: float = -math.inf
    seconds: float | None = None  # soft limit in seconds; the hard one follows a little later
    wall_seconds: float = WALL_SECONDS  # wall_seconds, memory_mb: hard limits of the worker process
    memory_mb: int = MEMORY_MB


@dataclass(frozen=True, slots=True)
class BackendResult:
    termination: Termination  # how it ended
    values: FloatArray | None = None  # (n,) the incumbent; None where there is none
    # upper bound on the model's optimum; None where the status gives none. Never NaN, never infinite.
    bound: float | None = None
    # stated_bound, stated_value: bound and objective value as the solver states them, believed or not; None where it
    # states none. `solve` sets the bound.
    stated_bound: float | None = None
    stated_value: float | None = None
    # nodes, iterations: branch-and-bound nodes (CP-SAT: branches), simplex iterations (CP-SAT: conflicts).
    nodes: int = 0
    iterations: int = 0
    prices: FloatArray | None = None  # (m,) absolute dual values of the rows, of a model without integer columns
    seconds: float = 0.0  # wall time in the worker
    message: str = ""  # one line, where something went wrong

    def __post_init__(self) -> None:
        for figure in (self.bound, self.stated_bound, self.stated_value):
            if figure is not None and not math.isfinite(figure):
                raise ValueError(f"bound or value {figure}")
        if self.values is not None and not np.isfinite(self.values).all():
            raise ValueError("an incumbent value is not finite")


def finite_or_none(value: float) -> float | None:
    """The value as a bound: None for NaN and for what solvers use as infinity."""
    return float(value) if math.isfinite(value) and abs(value) < _INFINITE else None


def backends() -> tuple[str, ...]:
    """List the names of all backends, installed or not."""
    shipped = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return (*shipped, *(name for name in find_plugins(BACKENDS) if name not in shipped))


def with_plugins(names: Sequence[str]) -> tuple[str, ...]:
    """The backends that go with a formulation, and plug-ins where it is a linear model, which `highs` solves."""
    added = find_plugins(BACKENDS) if "highs" in names else ()
    return (*names, *(each for each in added if each not in names))


def _module(backend: str) -> str:
    plugin = find_plugins(BACKENDS).get(backend)
    shipped = any(module.name == backend for module in pkgutil.iter_modules(__path__))
    return f"{__name__}.{backend}" if plugin is None or shipped else plugin.value.partition(":")[0]


def call(backend: str, function: str, *arguments: Any, limits: Limits | None = None) -> Reply:
    """Run ``module:function`` in the worker process of a backend, where that backend's solver may be imported."""
    limits = limits or Limits()
    wall = limits.wall_seconds
    if limits.seconds is not None:
        wall = min(wall, 2 * limits.seconds + 10)
    return worker(backend).call(function, *arguments, wall_seconds=wall, memory_mb=limits.memory_mb)


def start_worker(backend: str) -> None:
    """Have the backend's worker process started and its solver loaded, where it is installed: before a clock runs."""
    if worker(backend).pid is None:
        version(backend)


def solve(backend: str, model: Any, limits: Limits | None = None, start: FloatArray | None = None) -> BackendResult:
    """Maximise a model in the backend's worker process; every failure is a result.

    A bound that floating point cannot prove is None, and `message` says so.
    """
    limits = limits or Limits()
    if isinstance(model, LinearModel) and not model.columns:
        # Nothing to decide; some solvers call that an error.
        return BackendResult(Termination.OPTIMAL, np.zeros(0), 0.0, 0.0, 0.0)
    reply = call(backend, f"{_module(backend)}:solve", model, limits, start, limits=limits)
    if reply.termination is not None:
        missing = reply.termination is Termination.UNAVAILABLE and backend in EXTRAS
        return BackendResult(reply.termination, message=reply.message + f": pip install -e '.[{backend}]'" * missing)
    assert isinstance(reply.value, BackendResult)
    result = reply.value
    if result.stated_bound is None:
        result = replace(result, stated_bound=result.bound)
    if isinstance(model, LinearModel) and result.bound is not None and model.integer.any():
        largest = model.largest_in_rows()
        if largest > LARGEST:
            refused = f"bound refused, floating point is no proof of rows with numbers up to {largest:.3g} (> 2^22)"
            result = replace(result, bound=None, message="; ".join(filter(None, [result.message, refused])))
    if result.message:
        return replace(result, message=f"{backend}: {result.message}")
    return result


def make_answer(
    formulation: str, backend: str, result: BackendResult, model: Any, *, sign: int = 1, objective: str = ""
) -> SolverAnswer:
    return SolverAnswer(
        formulation=formulation,
        backend=backend,
        solver=installed_version(backend),
        status=result.termination,
        bound=None if result.stated_bound is None else sign * result.stated_bound,
        value=None if result.stated_value is None else sign * result.stated_value,
        columns=len(getattr(model, "columns", ())),
        rows=len(getattr(model, "rows", ())),
        solve_seconds=result.seconds,
        message=result.message,
        objective=objective,
    )


def require_installed(backend: str) -> None:
    """Refuse a backend whose solver comes with an optional extra that is not installed; names of no backend pass."""
    if backend in EXTRAS:
        reply = call(backend, f"{__name__}.{backend}:version")
        if reply.termination is Termination.UNAVAILABLE:
            raise InputError("", "", f"the solver {backend} is not installed: {install_command(backend)}")


@cache
def installed_version(backend: str) -> str:
    """Version of the backend's solver, kept for the process; empty when it is not installed or does not start."""
    return version(backend) or ""


def version(backend: str) -> str | None:
    """The version of the backend's solver; None when it is not installed or does not start."""
    reply = call(backend, f"{_module(backend)}:version")
    return None if reply.termination is not None else str(reply.value)
