"""What the family adds to `evaluate`: tiny instances, shipped policies, and which jobs wait longer than in OPT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ratiobench.bench.family.capabilities import EvaluationSupport, Loss, LossReport, SizeRange
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.formulations.cluster.solve import CP_SAT
from ratiobench.instances.cluster.model import Instance, Schedule, make_costs


def tiny_recipe(seed: int, number: int) -> Mapping[str, Any]:
    """A day of eight jobs on two nodes, of eight and of four GPUs."""
    about = {"name": f"tiny_{seed}_{number}", "seed": ["evaluate", seed, number]}
    return {"kind": "month", **about, "days": 1, "nodes": 1, "jobs": 8, "load": (200, 400, 1000)[number % 3]}


def explain_loss(instance: Instance, decisions: Schedule, best: Schedule) -> LossReport:
    """Job by job what the run costs more than the best known schedule, and whose the job is."""
    jobs, costs = instance.jobs, make_costs(instance.jobs, instance.cost)
    more = ((costs.numerators(decisions.start) - costs.numerators(best.start)) / costs.unit).astype(float)
    later = decisions.start - best.start
    losses = []
    for j in np.argsort(-more, kind="stable")[: (more > 0).sum()].tolist():
        user = instance.users[jobs.user[j]] if jobs.user[j] >= 0 else ""
        about = ", ".join(filter(None, (f"job {jobs.ids[j]}", user, f"{jobs.nodes[j]} x {jobs.gpus[j]} GPUs")))
        text = f"{about}, runs {jobs.run[j]} s: waits {later[j]} s longer than in the best known schedule."
        figures = {column: int(getattr(jobs, column)[j]) for column in ("nodes", "gpus", "run")}
        figures |= {"start": int(decisions.start[j]), "best_start": int(best.start[j])}
        losses.append(Loss(j, round(float(more[j])), text, {"user": user, **figures}))
    total, gains = (round(float(part.sum())) for part in (more[more > 0], -more[more < 0]))
    summary = f"{len(losses)} jobs cost {total:,} more than in the best known schedule, the others {gains:,} less."
    return LossReport([summary], losses)


EVALUATION = EvaluationSupport(
    tiny_recipe,
    {"parts": SizeRange(9, 300, 10), "days": SizeRange(301, 20_000, 5)},
    ("easy", "easy:order=shortest", "replan"),
    explain_loss,
    settings=SolveSettings(formulation=CP_SAT),
)
