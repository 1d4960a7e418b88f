"""Gurobi through gurobipy (extra ``gurobi``), one thread, zero gaps; a unit of work is Gurobi's (about a second)."""

from __future__ import annotations

import time

import gurobipy
import numpy as np

from ratiobench.formulations.backends import BackendResult, FloatArray, Limits, finite_or_none
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import Termination

SEED = 1

_ENDS = {
    gurobipy.GRB.OPTIMAL: Termination.OPTIMAL,
    gurobipy.GRB.INFEASIBLE: Termination.INFEASIBLE,
    gurobipy.GRB.UNBOUNDED: Termination.UNBOUNDED,
    gurobipy.GRB.MEM_LIMIT: Termination.MEMORY,
    gurobipy.GRB.TIME_LIMIT: Termination.LIMIT,
    gurobipy.GRB.WORK_LIMIT: Termination.LIMIT,
    gurobipy.GRB.NODE_LIMIT: Termination.LIMIT,
    gurobipy.GRB.INTERRUPTED: Termination.LIMIT,
}


def version() -> str:
    return ".".join(str(part) for part in gurobipy.gurobi.version())


def solve(model: LinearModel, limits: Limits, start: FloatArray | None = None) -> BackendResult:
    """Maximise the model; see `ratiobench.formulations.backends.solve`."""
    began = time.perf_counter()
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.Model(model.name, env=environment) as grb:
            return _solve(grb, model, limits, start, began)
    except gurobipy.GurobiError as error:
        # Mostly the licence: too large a model, or none.
        return BackendResult(Termination.ERROR, message=f"Gurobi: {error}", seconds=time.perf_counter() - began)


def _solve(
    grb: gurobipy.Model, model: LinearModel, limits: Limits, start: FloatArray | None, began: float
) -> BackendResult:
    settings = {"Threads": 1, "Seed": SEED, "MIPGap": limits.gap, "MIPGapAbs": 0.0}
    settings |= {"FeasibilityTol": 1e-9, "IntFeasTol": 1e-9, "OptimalityTol": 1e-9}
    if limits.work is not None:
        settings["WorkLimit"] = float(limits.work)
    if limits.seconds is not None:
        settings["TimeLimit"] = float(limits.seconds)
    for name, setting in settings.items():
        grb.setParam(name, setting)
    kinds = [gurobipy.GRB.INTEGER if whole else gurobipy.GRB.CONTINUOUS for whole in model.integer]
    variables = [
        grb.addVar(float(low), float(high), float(cost), kind, name)
        for low, high, cost, kind, name in zip(
            model.lower, model.upper, model.objective, kinds, model.columns, strict=True
        )
    ]
    grb.ModelSense = gurobipy.GRB.MAXIMIZE
    for j, name in enumerate(model.rows):
        index, value = model.row(j)
        expression = gurobipy.LinExpr(value.tolist(), [variables[c] for c in index])
        relation, side = model.relation(j)
        grb.addLConstr(expression, relation[0], side, name)  # GRB.EQUAL and the others are the first characters
    if start is not None:
        for variable, value in zip(variables, start, strict=True):
            variable.Start = float(value)
    grb.optimize()
    termination = _ENDS.get(grb.Status, Termination.ERROR)
    values = bound = stated = None
    if termination in (Termination.OPTIMAL, Termination.LIMIT):
        bound = finite_or_none(grb.ObjBound)
        if grb.SolCount > 0:
            values = np.array([variable.X for variable in variables])
            stated = finite_or_none(grb.ObjVal)
    return BackendResult(
        termination=termination,
        values=values,
        bound=bound,
        stated_value=stated,
        nodes=int(grb.NodeCount),
        iterations=int(grb.IterCount),
        seconds=time.perf_counter() - began,
        message="" if termination is not Termination.ERROR else f"status {grb.Status}",
    )
