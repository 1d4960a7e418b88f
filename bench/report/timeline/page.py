"""The page with the time lines of runs on one instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.shared.cells import Table
from ratiobench.bench.report.shared.money import exact_text, value_text
from ratiobench.bench.report.shared.render import load_scripts, render
from ratiobench.bench.report.timeline.charts import LISTED, draw_timeline, list_refusals, list_times
from ratiobench.bench.report.timeline.data import coarsen
from ratiobench.bench.report.timeline.gantt import draw_gantt
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError
from ratiobench.online.outcome import OnlineRun


@dataclass(frozen=True, slots=True)
class BestSolution:
    """The best solution known: OPT is in [lower, upper], and the solution is worth `lower`."""

    lower: Exact
    upper: Exact | None  # None for a solution of which nobody says that it is the best one
    solution: Any


@dataclass(frozen=True, slots=True)
class GanttSection:
    """A Gantt chart and the meaning of its colours, or why there is none."""

    svg: str = ""
    kinds: Sequence[tuple[str, str]] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RunSection:
    """One run: its charts and tables, and in words the outcome of the arrivals."""

    run: OnlineRun
    value: str
    broken: str
    arrivals: int
    counts: Sequence[tuple[str, int]]
    charts: Sequence[tuple[str, str]]
    note: str
    reasons: dict[str, str]
    times: Table
    refusals: Table
    unlisted: int
    gantt: GanttSection | None


def render_timelines(
    family: Family, instance: Any, name: str, runs: Sequence[OnlineRun], best: BestSolution | None = None
) -> str:
    """The time lines of runs on an instance and OPT's schedule, one below the other, as one self-contained page.

    `best`: the solution of OPT; None for none on the page.
    """
    opt = None
    if best is not None:
        opt = OptSection(
            value_text(best.lower, family, up=False),
            None if best.upper is None else value_text(best.upper, family, up=True),
            _draw_gantt(family, instance, best.solution),
        )
    return render(
        "report/timeline/timeline.html",
        instance=name,
        objective=family.objective,
        lines=[_show(family, instance, run) for run in runs],
        opt=opt,
        script=load_scripts(),
    )


@dataclass(frozen=True, slots=True)
class OptSection:
    """OPT's interval for reading, and the schedule of the best solution known."""

    lower: str
    upper: str | None
    gantt: GanttSection | None


def _draw_gantt(family: Family, instance: Any, solution: Any) -> GanttSection | None:
    """None for a family without Gantt charts."""
    if family.gantt is None:
        return None
    gantt = family.gantt(instance, solution)
    found = {task.kind for task in gantt.tasks}
    try:
        return GanttSection(draw_gantt(gantt), [(name, text) for name, text in gantt.kinds.items() if name in found])
    except InputError as error:
        return GanttSection(problem=error.problem)


def _show(family: Family, instance: Any, run: OnlineRun) -> RunSection:
    assert family.timeline is not None
    timeline = family.timeline(instance, run)
    line, exact = coarsen(timeline), exact_text(run.welfare, family)
    found = Counter(each.reason for each in timeline.refused)
    return RunSection(
        run=run,
        value=exact if family.dollars is None else f"{value_text(run.welfare, family)} ({exact})",
        broken="; ".join(map(str, run.violations[:3])),
        arrivals=sum(timeline.admitted) + len(timeline.refused),
        counts=[(reason, found[reason]) for reason in timeline.reasons if found[reason]],
        charts=draw_timeline(line),
        note=timeline.note,
        reasons={reason: timeline.reasons[reason] for reason in timeline.reasons if found[reason]},
        times=list_times(line),
        refusals=list_refusals(timeline),
        unlisted=max(0, len(timeline.refused) - LISTED),
        gantt=_draw_gantt(family, instance, run.decisions),
    )
