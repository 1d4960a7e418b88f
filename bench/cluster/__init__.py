"""Family `cluster`: the jobs of a batch cluster in whole seconds; waits or slowdown are the cost, least best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense

if TYPE_CHECKING:
    from ratiobench.formulations.report import SolveReport
    from ratiobench.instances.cluster.model import Instance


def _solve(instance: Instance, **settings: Any) -> SolveReport:
    """Solve by the instance's cost; the message has the interval as a mean, and what OPT does not keep."""
    from ratiobench.bench.cluster.measures import list_unkept, mean_text
    from ratiobench.formulations.cluster.solve import solve

    report = solve(instance, instance.cost, **settings)
    mean, unkept = mean_text(instance, report.lower, report.upper), " and ".join(list_unkept(instance))
    note = f"OPT keeps no {unkept}, which policies keep" if unkept else ""
    return replace(report, message="; ".join(filter(None, (mean, note, report.message))))


def _warm_solver() -> None:
    from ratiobench.online.cluster.run import ENVIRONMENT

    _solve(ENVIRONMENT.small())


FAMILY = Family(
    "cluster",
    "units of the cost",
    objective="cost",
    sense=Sense.LEAST,
    size=("jobs", "gpus", "pools"),
    places={
        "identity": "instances.format:identity",
        "sources": "bench.suites:SOURCES",
        "write_certificate": "formulations.certificate:write",
        "generate": "instances.generate:make",
        "recipe_forms": "instances.generate:forms",
        "crosscheck": "formulations.solve:crosscheck",
    },
    solver=_solve,
    warm_solver=_warm_solver,
)
