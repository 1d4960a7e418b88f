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
from ratiobench.online.outcome import OnlineRun


@dataclass(frozen=True, slots=True)
class RunSection:
    """One run: its charts and tables, and in words what became of the arrivals."""

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


def render_timelines(family: Family, instance: Any, name: str, runs: Sequence[OnlineRun]) -> str:
    """The time lines of runs on an instance, one below the other, as one self-contained page.

    `family` is one that has time lines.
    """
    return render(
        "report/timeline/timeline.html",
        instance=name,
        objective=family.objective,
        lines=[_show(family, instance, run) for run in runs],
        script=load_scripts(),
    )


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
    )
