"""What family `edgeflow` compiles: the search for schedules, and the plans of the policies, side by side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from ratiobench.bench.family.capabilities import Step
from ratiobench.formulations.edgeflow.solve import warm
from ratiobench.online.edgeflow.run import ENVIRONMENT, run
from ratiobench.online.run import list_choices


def compilation_steps(algorithms: Collection[str] | None) -> Sequence[Step]:
    """The steps for these algorithms and any solve; None for all there are. All kinds of arrivals need the same."""
    names = list_choices(ENVIRONMENT) if algorithms is None else list(dict.fromkeys(algorithms))
    ours = [name for name in names if ENVIRONMENT.registry.parse(name).entry is not None]
    return [Step("prices and schedules", 45, warm), Step("the policies", 12, partial(_run_each, ours))]


def _run_each(names: Sequence[str]) -> None:
    instance = ENVIRONMENT.small()
    for name in names:
        run(instance, name)
