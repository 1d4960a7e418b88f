"""A backtest as tables and sentences, for terminals and for its page, which has four pictures besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ratiobench.bench.cluster.backtest import JUDGED_BY, Backtest, Policy, Span, WhatIf
from ratiobench.bench.cluster.measures import LEAST_PERIODS, Difference, Figures
from ratiobench.bench.report.pictures import Picture, label_ends, name_rows, write_right
from ratiobench.bench.report.tables import Section, list_html
from ratiobench.bench.report.tables import render_page as render_sections
from ratiobench.instances.io.errors import make_printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"wait": "a job", "wait-gpu-hours": "a GPU-hour"}
SHORT = {"wait": "job", "wait-gpu-hours": "GPU-h"}
MOST_DAYS = 60  # Longer logs are drawn by weeks
COLORS = ("#4d4d4d", "#0072b2", "#b84a00", "#00795a")  # Of `Days`: of the log, if there is one, today's policy, ...
Table = list[dict[str, str]]  # Rows with the same keys, which are the headings


def minutes(seconds: float) -> str:
    return f"{seconds / 60:,.1f}"


def percent(span: Span | None) -> str:
    if span is None:
        return "-"
    if span.high < 0:
        return "worse"
    low, high = (f"{100 * end:.0f}" for end in (span.low, span.high))
    return f"{low} %" if low == high else f"{low} to {high} %"


def difference_text(difference: Difference) -> str:
    mean, *ends = (f"{s / 60:+,.0f}" for s in (difference.mean, difference.low, difference.high) if s is not None)
    return mean + f" ({' to '.join(ends)})" * bool(ends)


def list_tables(result: Backtest) -> dict[str, Table]:
    """All tables by their titles, the most important one first."""
    title = "Mean wait of a job and of a GPU-hour, and what 95 % of jobs do not exceed, minutes"
    title += "; gain: share of what can be gained over today's policy, over all jobs" * bool(result.optima)
    title += "; difference: in a job's wait" + "; *: knows all lengths" * any(row.oracle for row in result.policies)
    tables = {title: _list_policies(result)}
    if result.what_ifs:
        over = "; OPT is over all jobs" * bool(result.optima)
        tables[f"What if: mean wait in minutes{over}"] = _list_what_ifs(result)
    for kind, groups in (("by width (GPUs of the job)", "widths"), ("by account", "accounts")):
        if getattr(result.policies[0], groups):
            tables[f"Mean wait of a job in minutes, {kind}"] = _list_groups(result, groups)
    return tables


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
    return rows


def _list_what_ifs(result: Backtest) -> Table:
    before = [row for row in result.policies if row.name in result.what_ifs[0].policies]
    figures = {row.name: row.figures for row in before}
    now = WhatIf("none", figures, {row.name: row.utilisation for row in before}, result.optima)
    rows = []
    for what_if in (now, *result.what_ifs):
        optima = what_if.optima.items()
        ends = {f"OPT, {SHORT[cost]}": f"{minutes(opt.lower)} to {minutes(opt.upper)}" for cost, opt in optima}
        for name, figures_ in what_if.policies.items():
            row = {"Change": what_if.change, "Policy": name, **_figures(figures_)}
            rows.append(row | {"utilisation": f"{100 * what_if.utilisation[name]:.1f} %"} | ends)
    return rows


def shown_policies(result: Backtest) -> list[Policy]:
    """The log, today's policy, and the recommended or else the best one."""
    rows = {row.name: row for row in result.policies}
    return [*filter(None, [result.log]), *(rows[name] for name in dict.fromkeys((result.today, result.best)))]


def _list_groups(result: Backtest, groups: str) -> Table:
    shown = shown_policies(result)
    rows = []
    for group, figures in getattr(shown[-1], groups).items():
        size = {"jobs": f"{figures.jobs:,}", "GPU-hours": f"{figures.gpu_hours:,.0f}"}
        waits = {policy.name: minutes(getattr(policy, groups)[group].wait) for policy in shown}
        rows.append({"Group": make_printable(group, 60), **size, **waits})
    return rows


def list_answers(result: Backtest) -> Iterator[str]:
    """The answer: whether the replay can be believed, which policy to take, what is to be gained at all."""
    if result.match is not None and not result.match.matches:
        yield "The replay does not match this log: no policy is recommended, and the order below may be wrong."
    elif not result.recommended and not any(row.differences["wait"].high is not None for row in result.policies):
        yield f"No policy is recommended: the log has fewer than {LEAST_PERIODS} days, too few for intervals."
    elif not result.recommended:
        yield (
            f"No policy is recommended: under none do jobs wait less than under {result.today} (95 % confidence) and "
            "GPU-hours no longer."
        )
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
        knows = "OPT knows all lengths" + f", and keeps no {result.unkept}" * bool(result.unkept)
        yield f"{knows}; its interval is proved, after {seconds:g} s for each cost (more: --seconds)."
    for row in result.policies[1:2]:
        difference = row.differences["wait"]
        known = "95 % interval, paired, of each policy alone"
        interval = "no interval: too short a log" if difference.low is None else known
        yield f"Differences are over {difference.periods} {difference.unit} of submits ({interval})."
    yield f"Waits are of {result.judged:,} of {result.jobs:,} jobs (`judged`; by default without the last day)."


def _draw_accounts(axes: Axes, result: Backtest) -> None:
    groups = "accounts" if result.policies[0].accounts else "widths"
    shown = shown_policies(result)
    waits = {row.name: [figures.wait / 3600 for figures in getattr(row, groups).values()] for row in shown}
    names = [make_printable(name, 30) for name in getattr(shown[-1], groups)]
    frame = pd.DataFrame(waits, index=names)
    frame.plot.bar(ax=axes, width=0.8, rot=30, color=[*COLORS])
    axes.set_xlabel("account" if groups == "accounts" else "GPUs of the job")
    axes.set_ylabel("mean wait of a job, hours")
    axes.legend(fontsize="small")


def _list_gains(result: Backtest) -> dict[str, Span]:
    """The share of the possible gain in the wait of jobs, of every policy that is no worse than today's."""
    shares = ((row.name + " *" * row.oracle, row.shares.get("wait")) for row in result.policies[1:])
    return {name: span for name, span in shares if span and span.high >= 0}


def _draw_gains(axes: Axes, result: Backtest) -> None:
    gains = _list_gains(result)
    name_rows(axes, list(gains))
    for row, span in enumerate(gains.values()):
        axes.hlines(row, 100 * span.low, 100 * span.high, color=COLORS[1], linewidth=6)
        write_right(axes, row, percent(span))
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"share of the possible gain over {result.today}, percent ({NAMES['wait']}); *: knows all lengths")


def _draw_days(
    axes: Axes, lines: Mapping[str, Sequence[float | None]], unit: float, label: str, top: float = 0
) -> None:
    """A line for each name; means of weeks if there are many days."""
    days = pd.DataFrame(lines, dtype=float) / unit
    step = 7 if len(days) > MOST_DAYS else 1
    means = days.groupby(days.index // step).mean()
    for color, name in zip(COLORS, means, strict=False):
        axes.plot(means.index + 1, means[name], color=color, linewidth=1.2)
    highest, greatest = means.quantile(0.97).max(), means.max().max()
    axes.set_xlabel("week (mean of its days)" if step > 1 else "day")
    axes.set_ylabel(label)
    axes.set_ylim(0, top or 1.1 * highest or 1)  # few weeks with extreme waits would hide all others
    if greatest > axes.get_ylim()[1]:
        axes.set_title(f"lines leave the picture: up to {greatest:,.0f}", fontsize="small", loc="left")
    known = [(color, name, means[name].dropna()) for color, name in zip(COLORS, means, strict=False)]
    label_ends(axes, [(line.iloc[-1], str(name), color) for color, name, line in known if len(line)])


def render_page(result: Backtest) -> str:
    """The page as HTML; it needs nothing from a network."""
    (title, policies), *tables = list_tables(result).items()
    lead = [list_html([*list_answers(result)]), f"{title}.", policies, list_html([*list_basis(result)])]
    waits, utilisation = result.days.waits, result.days.utilisation
    pictures = {
        "Waits by time of submit": partial(_draw_days, lines=waits, unit=3600, label="mean wait of a job, hours"),
        "Utilisation": partial(_draw_days, lines=utilisation, unit=0.01, label="utilisation, percent", top=100),
        "Waits by account": partial(_draw_accounts, result=result),
        "Share of the possible gain": partial(_draw_gains, result=result),
    }
    sections = [Section(name, [Picture(name, draw, 3.4)]) for name, draw in pictures.items()]
    sections += [Section(name, [rows]) for name, rows in tables]
    note = f"ratiobench; instance {result.instance}. The command's --json has all figures in seconds."
    sections.append(Section("Source", [note]))
    return render_sections(f"Backtest of {result.name}", sections, lead)
