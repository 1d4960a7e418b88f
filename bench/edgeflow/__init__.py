"""Family `edgeflow`: elastic training jobs with deadlines on cloud GPUs and on idle edge servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratiobench.bench.family.packages import PackagedFamily
from ratiobench.bench.family.suite import NamedSummary

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import CompilationSteps, CounterexampleSearch, TimelineFunction


class EdgeflowFamily(PackagedFamily):
    """Elastic training jobs on cloud GPUs and on edge servers."""

    name = "edgeflow"
    unit = "jobs"
    objective = "met"
    size = ("jobs", "gpus", "windows")
    whole_values = True

    def traces(self) -> Sequence[NamedSummary]:
        from ratiobench.instances.edgeflow.arrivals import traces

        return NamedSummary.several(traces())

    @property
    def compilation_steps(self) -> CompilationSteps:
        from ratiobench.bench.edgeflow.compilation import compilation_steps

        return compilation_steps

    @property
    def timeline(self) -> TimelineFunction:
        from ratiobench.bench.edgeflow.timeline import timeline

        return timeline

    @property
    def counterexample_search(self) -> CounterexampleSearch:
        from ratiobench.bench.edgeflow.counterexample_search import COUNTEREXAMPLES

        return COUNTEREXAMPLES


FAMILY = EdgeflowFamily()
