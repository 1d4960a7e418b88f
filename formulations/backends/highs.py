"""HiGHS through highspy: whole sparse matrices, one thread, zero gaps.

One unit of work is 10 of the solver's own checks whether it should stop, to which it comes in the same state on every
machine; the total of simplex iterations is not told to callbacks.
"""

from __future__ import annotations

import math
import time
from typing import Any

import highspy
import numpy as np

from ratiobench.formulations.backends import BackendResult, FloatArray, Limits, finite_or_none
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import Termination

CHECKS_PER_UNIT = 10
SEED = 1

_ENDS = {
    highspy.HighsModelStatus.kOptimal: Termination.OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: Termination.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Termination.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Termination.UNBOUNDED,
    highspy.HighsModelStatus.kMemoryLimit: Termination.MEMORY,
    highspy.HighsModelStatus.kTimeLimit: Termination.LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Termination.LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: Termination.LIMIT,
    highspy.HighsModelStatus.kInterrupt: Termination.LIMIT,
}


def version() -> str:
    return f"{highspy.Highs().version()}"


def new_solver(limits: Limits) -> highspy.Highs:
    """A silent, single-threaded, exact-gap solver."""
    solver = highspy.Highs()
    options: dict[str, Any] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "random_seed": SEED,
        "mip_rel_gap": limits.gap,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": 1e-9,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
    }
    if limits.seconds is not None:
        options["time_limit"] = float(limits.seconds)
    for name, value in options.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS does not take {name} = {value}")
    return solver


def as_lp(model: LinearModel) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(model.columns), len(model.rows)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model.objective, model.lower, model.upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = model.row_start.astype(np.int32)
    lp.a_matrix_.index_ = model.index.astype(np.int32)
    lp.a_matrix_.value_ = model.value
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(whole)] for whole in model.integer]
    return lp


def solve(model: LinearModel, limits: Limits, start: FloatArray | None = None) -> BackendResult:
    """Maximise the model; see `ratiobench.formulations.backends.solve`."""
    began = time.perf_counter()
    solver = new_solver(limits)
    if solver.passModel(as_lp(model)) == highspy.HighsStatus.kError:
        return BackendResult(Termination.ERROR, message="HiGHS does not take the model")
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = list(start)
        solver.setSolution(solution)
    if limits.work is not None:
        left = limits.work * CHECKS_PER_UNIT

        def stop(event: Any) -> None:
            nonlocal left
            left -= 1
            state = event.data_out
            if left <= 0 or state.mip_primal_bound >= limits.value or state.mip_dual_bound <= limits.bound:
                event.interrupt()

        solver.cbMipInterrupt.subscribe(stop)
    solver.run()
    return _result(solver, model, time.perf_counter() - began)


def _result(solver: highspy.Highs, model: LinearModel, seconds: float) -> BackendResult:
    status = solver.getModelStatus()
    info = solver.getInfo()
    termination = _ENDS.get(status, Termination.ERROR)
    values = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = np.array(solver.getSolution().col_value, dtype=np.float64)
    bound, prices = None, None
    if termination in (Termination.OPTIMAL, Termination.LIMIT):
        if model.integer.any():
            bound = finite_or_none(info.mip_dual_bound)
        elif termination is Termination.OPTIMAL:
            bound = finite_or_none(info.objective_function_value)
            prices = np.abs(np.array(solver.getSolution().row_dual, dtype=np.float64))
        if values is not None and bound is not None and termination is Termination.OPTIMAL:
            # The reported bound of a finished search may lie a rounding error below its own incumbent.
            bound = max(bound, math.fsum(model.objective * values))
    return BackendResult(
        termination=termination,
        values=values,
        bound=bound,
        stated_value=None if values is None else finite_or_none(info.objective_function_value),
        nodes=max(0, int(info.mip_node_count)),
        iterations=max(0, int(info.simplex_iteration_count)),
        prices=prices,
        seconds=seconds,
        message="" if termination is not Termination.ERROR else f"status {solver.modelStatusToString(status)}",
    )


def optimum_of_file(path: str) -> tuple[float, bool]:
    """Read an MPS or LP file and solve it: the optimum as the file states it, and whether it is a maximisation."""
    solver = new_solver(Limits())
    if solver.readModel(path) == highspy.HighsStatus.kError:
        raise ValueError(f"HiGHS cannot read {path}")
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise ValueError(f"HiGHS: {solver.modelStatusToString(solver.getModelStatus())}")
    maximise = solver.getObjectiveSense()[1] == highspy.ObjSense.kMaximize
    return float(solver.getInfo().objective_function_value), maximise
