"""SCIP through PySCIPOpt (extra ``scip``), one thread, zero gaps; a unit of work is 100 branch-and-bound nodes."""

from __future__ import annotations

import operator
import time

import numpy as np
import pyscipopt

from ratiobench.formulations.backends import BackendResult, FloatArray, Limits, finite_or_none
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import Termination

NODES_PER_UNIT = 100
SEED = 1

_RELATIONS = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}
_ENDS = {
    "optimal": Termination.OPTIMAL,
    "gaplimit": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "memlimit": Termination.MEMORY,
}


def version() -> str:
    return f"{pyscipopt.Model().version()} (PySCIPOpt {pyscipopt.__version__})"


def solve(model: LinearModel, limits: Limits, start: FloatArray | None = None) -> BackendResult:
    """Maximise the model; see `ratiobench.formulations.backends.solve`."""
    began = time.perf_counter()
    scip = pyscipopt.Model(model.name)
    scip.hideOutput()
    scip.setParams({"limits/gap": limits.gap, "limits/absgap": 0.0, "randomization/randomseedshift": SEED})
    scip.setParam("numerics/feastol", 1e-9)
    if limits.work is not None:
        scip.setParam("limits/totalnodes", limits.work * NODES_PER_UNIT)
    if limits.seconds is not None:
        scip.setParam("limits/time", float(limits.seconds))
    variables = [
        scip.addVar(name, "I" if model.integer[c] else "C", float(model.lower[c]), float(model.upper[c]))
        for c, name in enumerate(model.columns)
    ]
    for j, name in enumerate(model.rows):
        index, value = model.row(j)
        expression = pyscipopt.quicksum(float(v) * variables[c] for c, v in zip(index, value, strict=True))
        relation, side = model.relation(j)
        scip.addCons(_RELATIONS[relation](expression, side), name)
    objective = pyscipopt.quicksum(float(v) * variable for v, variable in zip(model.objective, variables, strict=True))
    scip.setObjective(objective, "maximize")
    if start is not None:
        solution = scip.createSol()
        for variable, value in zip(variables, start, strict=True):
            scip.setSolVal(solution, variable, float(value))
        scip.addSol(solution)
    scip.optimize()
    status = str(scip.getStatus())
    termination = _ENDS.get(status, Termination.LIMIT if "limit" in status else Termination.ERROR)
    values = bound = stated = None
    if scip.getNSols() > 0 and termination in (Termination.OPTIMAL, Termination.LIMIT):
        best = scip.getBestSol()
        values = np.array([scip.getSolVal(best, variable) for variable in variables])
        stated = finite_or_none(scip.getObjVal())
    if termination in (Termination.OPTIMAL, Termination.LIMIT):
        bound = finite_or_none(scip.getDualbound())
    return BackendResult(
        termination=termination,
        values=values,
        bound=bound,
        stated_value=stated,
        nodes=int(scip.getNTotalNodes()),
        iterations=int(scip.getNLPIterations()),
        seconds=time.perf_counter() - began,
        message="" if termination is not Termination.ERROR else f"status {status}",
    )
