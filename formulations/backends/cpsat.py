"""CP-SAT through OR-Tools: integer models, one thread; a unit of work is one of its deterministic time (a second)."""

from __future__ import annotations

import time

import numpy as np
import ortools
from ortools.sat.python import cp_model

from ratiobench.formulations.backends import BackendResult, FloatArray, Limits, finite_or_none
from ratiobench.formulations.report import Termination

SEED = 1

_ENDS = {
    cp_model.OPTIMAL: Termination.OPTIMAL,
    cp_model.FEASIBLE: Termination.LIMIT,
    cp_model.UNKNOWN: Termination.LIMIT,
    cp_model.INFEASIBLE: Termination.INFEASIBLE,
}


def version() -> str:
    return str(ortools.__version__)


def solve(model: str, limits: Limits, start: FloatArray | None = None) -> BackendResult:
    """Maximise the model, a CpModelProto as text; see `ratiobench.formulations.backends.solve`."""
    began = time.perf_counter()
    cp = cp_model.CpModel()
    if not cp.proto.parse_text_format(model):
        return BackendResult(Termination.ERROR, message="CP-SAT cannot read the model")
    if start is not None:
        for c, value in enumerate(start):
            cp.add_hint(cp.get_int_var_from_proto_index(c), round(value))
    wrong = cp.validate()
    if wrong:
        return BackendResult(Termination.ERROR, message=" ".join(wrong.split())[:300])
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.random_seed = SEED
    parameters.linearization_level = 2
    # or-tools #5293: the inclusion presolve of 9.15 certified wrong optima.
    parameters.presolve_inclusion_work_limit = 0
    parameters.relative_gap_limit = limits.gap
    parameters.absolute_gap_limit = 0.0
    if limits.work is not None:
        parameters.max_deterministic_time = float(limits.work)
    if limits.seconds is not None:
        parameters.max_time_in_seconds = float(limits.seconds)
    status = solver.solve(cp)
    termination = _ENDS.get(status, Termination.ERROR)
    values = bound = stated = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        # Only with a solution: the 0.0 that UNKNOWN reports is no bound.
        values = np.array(solver.response_proto.solution, dtype=np.float64)
        bound = finite_or_none(solver.best_objective_bound)
        stated = finite_or_none(solver.objective_value)
    return BackendResult(
        termination=termination,
        values=values,
        bound=bound,
        stated_value=stated,
        nodes=int(solver.num_branches),
        iterations=int(solver.num_conflicts),
        seconds=time.perf_counter() - began,
        message="" if termination is not Termination.ERROR else f"status {solver.status_name(status)}",
    )
