"""A backtest as tables and sentences, for terminals and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ratiobench.bench.cluster.backtest import JUDGED_BY, Backtest, Policy, Span, WhatIf
from ratiobench.bench.cluster.figures import LEAST_PERIODS, Difference, Figures
from ratiobench.instances.io.errors import make_printable

NAMES = {"wait": "a job", "wait-gpu-hours": "a GPU-hour"}
SHORT = {"wait": "job", "wait-gpu-hours": "GPU-h"}


class Table(NamedTuple):
    """A table: its rows have the same keys, which are the headings."""

    title: str
    rows: Sequence[Mapping[str, str]]


def minutes(seconds: float) -> str:
    """Seconds as minutes with one decimal."""
    return f"{seconds / 60:,.1f}"


def percent(span: Span | None) -> str:
    """A share as an interval in percent."""
    if span is None:
        return "-"
    if span.high < 0:
        return "worse"
    low, high = (f"{100 * end:.0f}" for end in (span.low, span.high))
    return f"{low} %" if low == high else f"{low} to {high} %"


def difference_text(difference: Difference) -> str:
    """A difference in minutes, with its interval."""
    if difference.low is None or difference.high is None:
        return f"{difference.mean / 60:+,.0f}"
    return f"{difference.mean / 60:+,.0f} ({difference.low / 60:+,.0f} to {difference.high / 60:+,.0f})"


def list_tables(result: Backtest) -> Iterator[Table]:
    """All tables, the most important one first."""
    yield _list_policies(result)
    if result.what_ifs:
        yield _list_what_ifs(result)
    for title, groups in (("by width (GPUs of the job)", "widths"), ("by account", "accounts")):
        if getattr(result.policies[0], groups):
            yield _list_groups(result, title, groups)


def _figures(figures: Figures) -> dict[str, str]:
    return {
        "job": minutes(figures.wait),
        "GPU-h": minutes(figures.gpu_wait),
        "95 %": minutes(figures.p95),
        "longest, h": f"{figures.longest / 3600:,.1f}",
        "slowdown": f"{figures.slowdown:,.1f}",
    }


def _list_policies(result: Backtest) -> Table:
    rows = []
    for row in [*filter(None, [result.log]), *result.policies]:
        name = row.name + " (today)" * (row.name == result.today) + " *" * row.oracle
        shares = {f"gain, {SHORT[cost]}": percent(row.shares.get(cost)) for cost in result.optima}
        differs = "-" if row.name == result.today else difference_text(row.differences["wait"])
        rows.append({"Policy": name, **_figures(row.figures), **shares, "difference": differs})
    title = "mean wait of a job and of a GPU-hour, and what 95 % of jobs do not exceed, minutes"
    title += "; gain: share of what can be gained over today's policy, over all jobs" * bool(result.optima)
    title += "; difference: in a job's wait" + "; *: knows all lengths" * any(row.oracle for row in result.policies)
    return Table(title, rows)


def _list_what_ifs(result: Backtest) -> Table:
    rows = []
    before = {row.name: row for row in result.policies if row.name in result.what_ifs[0].policies}
    shown = {name: row.figures for name, row in before.items()}
    used = {name: row.utilisation for name, row in before.items()}
    for each in (WhatIf("none", shown, used, result.optima), *result.what_ifs):
        ends = {
            f"OPT, {SHORT[cost]}": f"{minutes(optimum.lower)} to {minutes(optimum.upper)}"
            for cost, optimum in each.optima.items()
        }
        for name, figures in each.policies.items():
            row = {"Change": each.change, "Policy": name, **_figures(figures)}
            rows.append(row | {"utilisation": f"{100 * each.utilisation[name]:.1f} %"} | ends)
    return Table("what if: mean wait in minutes; OPT is over all jobs", rows)


def shown_policies(result: Backtest) -> list[Policy]:
    """The log, today's policy, and the recommended or else the best one."""
    rows = {row.name: row for row in result.policies}
    return [*filter(None, [result.log]), *(rows[name] for name in dict.fromkeys((result.today, result.best)))]


def _list_groups(result: Backtest, title: str, groups: str) -> Table:
    shown = shown_policies(result)
    rows = []
    for group, figures in getattr(shown[-1], groups).items():
        row = {"Group": make_printable(group, 60), "jobs": f"{figures.jobs:,}"}
        row |= {"GPU-hours": f"{figures.gpu_hours:,.0f}"}
        rows.append(row | {each.name: minutes(getattr(each, groups)[group].wait) for each in shown})
    return Table(f"mean wait of a job in minutes, {title}", rows)


def list_answers(result: Backtest) -> Iterator[str]:
    """The answer: whether the replay can be believed, which policy to take, what is to be gained at all."""
    if result.match is not None and not result.match.matches:
        yield "The replay does not match this log: no policy is recommended, and the order below may be wrong."
    elif not result.recommended and not any(row.differences["wait"].high is not None for row in result.policies):
        yield f"No policy is recommended: the log has fewer than {LEAST_PERIODS} days, too few for intervals."
    elif not result.recommended:
        yield f"No policy is recommended: none is better than {result.today} in the wait of jobs and worse in neither."
    else:
        row, today = next(row for row in result.policies if row.name == result.recommended), result.policies[0]
        figures, before = row.figures, today.figures
        yield (
            f"Recommended: {row.name}. A job waits {minutes(figures.wait)} min instead of {minutes(before.wait)}, a "
            f"GPU-hour {minutes(figures.gpu_wait)} instead of {minutes(before.gpu_wait)}; 95 % wait at most "
            f"{minutes(figures.p95)} ({minutes(before.p95)}), the longest {figures.longest / 3600:,.1f} h "
            f"({before.longest / 3600:,.1f})."
        )
    for cost in (cost for cost in JUDGED_BY if cost in result.optima):
        optimum, now = result.optima[cost], result.policies[0].costs[cost]
        yield (
            f"Over all jobs {NAMES[cost]} waits {minutes(now)} min under {result.today}; no schedule does better than "
            f"{minutes(optimum.lower)}, and one with {minutes(optimum.upper)} is known."
        )


def list_basis(result: Backtest) -> Iterator[str]:
    """What the answer rests on, in at most five lines."""
    if result.match is None:
        yield "The log has no starts, so nothing shows whether the replay is like the real cluster."
    else:
        match = result.match
        log, replay = ({name: minutes(mean) for name, mean in part.items()} for part in (match.log, match.replay))
        verdict, least = "matches" if match.matches else "DOES NOT MATCH", "at least " * (not match.exact)
        yield (
            f"Replay {verdict}: of {log['wait']} min in the log nothing was free for {least}{log['blocked']}; in the "
            f"replay of {result.today} for {replay['blocked']} of {replay['wait']}."
        )
        yield (
            f"The rest of the log's wait: {log['queue']} min behind an earlier job that was blocked, "
            f"{log['ineligible']} not eligible, {log['other']} neither (limits, or a slow scheduler)."
        )
    if result.optima:
        seconds = max(optimum.seconds for optimum in result.optima.values())
        yield f"OPT knows all lengths; its interval is proved, after {seconds:g} s for each cost (more: --seconds)."
    for row in result.policies[1:2]:
        difference = row.differences["wait"]
        known = "95 % interval, paired, of each policy alone"
        interval = "no interval: too short a log" if difference.low is None else known
        yield f"Differences are over {difference.periods} {difference.unit} of submits ({interval})."
    yield f"Waits are of {result.judged:,} of {result.jobs:,} jobs (`judged`; by default without the last day)."
