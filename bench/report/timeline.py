"""The time line of a run: load, prices and arrivals over time, and a Gantt chart of the schedule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from ratiobench.bench.family.capabilities import Gantt, Timeline, TimeSeries
from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.pictures import COLORS, FAINT, INK, Picture, label_ends, style_of, use_thousands
from ratiobench.bench.report.tables import Section, render_page
from ratiobench.bench.results.ratios import format_number
from ratiobench.bench.show import Lines, value_text
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError
from ratiobench.online.outcome import OnlineRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 240  # Times up to which each has a place of its own; of more, neighbours share one
ASKED = 3.0  # Demand is drawn up to this multiple of the capacity
LISTED = 2000  # Refusals up to which they are listed one by one
MOST_ROWS, MOST_BLOCKS = 500, 20_000  # Machines and rectangles up to which a Gantt chart is drawn
TASKS = (COLORS[0], COLORS[1], COLORS[2], FAINT, "#cccccc")  # Colours of kinds of tasks


def render_timelines(
    family: Family, instance: Any, name: str, runs: Sequence[OnlineRun], best: tuple[Exact, Exact | None, Any] | None
) -> str:
    """The page of time lines of runs and OPT's schedule; `best`: the interval on OPT and the best solution known."""
    sections = [Section(run.label, list(_run_parts(family, instance, run))) for run in runs]
    if best is not None:
        lower, upper, solution = best
        value = value_text(lower, family, up=False)
        if upper is None:
            title, text = "Solution", f"{family.objective.capitalize()} {value}."
        else:
            bound = f"; OPT is at most {value_text(upper, family, up=True)}" * (upper != lower)
            title, text = "OPT", f"The best solution that is known, with {family.objective} {value}{bound}."
        sections.append(Section(title, [text, *_gantt_parts(family, instance, solution)]))
    return render_page(f"Time line of {name}", sections)


def _run_parts(family: Family, instance: Any, run: OnlineRun) -> Iterator[Any]:
    assert family.timeline is not None
    timeline = family.timeline(instance, run)
    if not run.valid:
        broken = "; ".join(map(str, run.violations[:3]))
        yield Markup('<p class="bad">This run is invalid: {}</p>').format(broken)
    reasons = Counter(refusal.reason for refusal in timeline.refused)
    arrivals = sum(timeline.admitted) + len(timeline.refused)
    whole = Fraction(run.welfare).denominator == 1
    exact = f"{format_number(run.welfare) if whole else Fraction(run.welfare)} {family.unit}"
    value = exact if family.dollars is None else f"{value_text(run.welfare, family)} ({exact})"
    counts = "".join(f", {reasons[reason]} {reason}" for reason in timeline.reasons if reasons[reason])
    yield f"{family.objective.capitalize()} {value}; {run.admitted} of {arrivals} arrivals admitted{counts}."
    yield from draw_timeline(timeline)
    yield from _gantt_parts(family, instance, run.decisions)
    if timeline.note:
        yield timeline.note
    if meanings := [f"{reason}: {timeline.reasons[reason]}." for reason in timeline.reasons if reasons[reason]]:
        yield " ".join(meanings)
    yield list_times(timeline)
    if timeline.refused:
        rest = len(timeline.refused) - LISTED
        yield "Rejected arrivals" + (f"; {rest} more are not listed" if rest > 0 else "") + ":"
        clock = {timeline.clock_title: timeline.clock} if timeline.clock else {}
        yield [
            {"arrival": str(refusal.number), timeline.unit: str(refusal.time)}
            | {title: begins[refusal.time - timeline.times[0]] for title, begins in clock.items()}
            | {"Reason": refusal.reason, "Figures": refusal.about}
            for refusal in timeline.refused[:LISTED]
        ]


def by_place(timeline: Timeline, values: Sequence[Any], take: Callable[[Sequence[Any]], Any]) -> list[Any]:
    """A value per place of a picture: each time has one; of more than `MOST`, neighbours share one."""
    step = -(-len(timeline.times) // MOST)
    return [take(values[start : start + step]) for start in range(0, len(timeline.times), step)]


def name_times(timeline: Timeline) -> list[str]:
    """The places in words: ``3``, ``3 to 5``, with when they begin if that is known."""
    names = by_place(timeline, timeline.times, lambda part: " to ".join(map(str, dict.fromkeys((part[0], part[-1])))))
    clock = timeline.clock and by_place(timeline, timeline.clock, itemgetter(0))
    return [f"{name} ({begin})" for name, begin in zip(names, clock, strict=True)] if clock else names


def shorten_series(timeline: Timeline, series: TimeSeries) -> TimeSeries:
    """A quantity by place: means of the means, the least and the largest of the others."""
    mean = by_place(timeline, series.mean, lambda part: sum(part, Fraction(0)) / len(part))
    low, high = (ends and by_place(timeline, ends, pick) for ends, pick in ((series.low, min), (series.high, max)))
    return TimeSeries(series.name, mean, low, high)


def count_arrivals(timeline: Timeline) -> dict[str, list[int]]:
    counts = {"admitted": list(timeline.admitted), **{name: [0] * len(timeline.times) for name in timeline.reasons}}
    for refusal in timeline.refused:
        counts[refusal.reason][refusal.time - timeline.times[0]] += 1
    return {name: by_place(timeline, row, sum) for name, row in counts.items()}


def draw_timeline(timeline: Timeline) -> list[Picture]:
    prices = [
        Picture(title[:1].upper() + title[1:], partial(draw_series, timeline=timeline, series=series, title=title), 2.6)
        for title, series in timeline.prices.items()
    ]
    load = Picture("Load", partial(draw_series, timeline=timeline, series=timeline.loads, title=""), 2.6, "load")
    return [load, *prices, Picture("Arrivals", partial(draw_arrivals, timeline=timeline), 2.6, "arrivals")]


def draw_series(axes: Axes, timeline: Timeline, series: Sequence[TimeSeries], title: str) -> None:
    """A line of steps per quantity, a band from the least to the largest; without a title shares of capacity."""
    places = range(len(name_times(timeline)) + 1)
    scale = 1 if title else 100
    if not title and timeline.asked:
        asked = shorten_series(timeline, TimeSeries("asked for", timeline.asked))
        demand = [100 * min(float(value), ASKED) for value in asked.mean]
        axes.stairs(demand, places, fill=True, color="#dddddd", label="asked for")
        axes.axhline(100, color=COLORS[1], linestyle="--", linewidth=0.8)
    ends = []
    for number, quantity in enumerate(series):
        short, style = shorten_series(timeline, quantity), style_of(number)
        mean, low, high = (scale * np.array(values, float) for values in (short.mean, short.low, short.high))
        if quantity.low is not None and quantity.high is not None:
            axes.stairs(high, places, baseline=low, fill=True, color=style["color"], alpha=0.15)
        axes.stairs(mean, places, baseline=None, linewidth=1.2, color=style["color"], linestyle=style["linestyle"])
        ends.append((float(mean[-1]), quantity.name, style["color"]))
    axes.set_ylim(bottom=min([0.0, *(end for end, _, _ in ends)]))
    what, _, unit = title.rpartition(", ")
    axes.set_title(f"{what[:1].upper()}{what[1:]}", fontsize=9, loc="left")
    axes.set_ylabel(unit or "capacity used, percent\n(grey: asked for)")
    if title:
        use_thousands(axes, "y")
    _name_time_axis(axes, timeline)
    label_ends(axes, ends)


def draw_arrivals(axes: Axes, timeline: Timeline) -> None:
    counts = count_arrivals(timeline)
    places = np.arange(len(counts["admitted"])) + 0.5
    base = np.zeros(len(places))
    for number, (name, row) in enumerate(counts.items()):
        hatch = ("", "////", "....", "xxxx")[number % 4]
        color = COLORS[number % len(COLORS)]
        fill = color if not number else "white"
        axes.bar(places, row, 0.85, base, label=name, color=fill, edgecolor=color, hatch=hatch, linewidth=0.4)
        base += row
    axes.set_ylabel("arrivals")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize=8)
    _name_time_axis(axes, timeline)


def _name_time_axis(axes: Axes, timeline: Timeline) -> None:
    names = [re.sub(r" to \S+", "", name) for name in name_times(timeline)]
    step = max(1, -(-len(names) // (5 if timeline.clock else 12)))
    axes.set_xticks([place + 0.5 for place in range(0, len(names), step)], names[::step])
    axes.set(xlim=(0, len(names)), xlabel=_time_title(timeline))


def _time_title(timeline: Timeline) -> str:
    return f"{timeline.unit}, and when it begins ({timeline.clock_title})" if timeline.clock else timeline.unit


def _gantt_parts(family: Family, instance: Any, solution: Any) -> Iterator[Any]:
    if family.gantt is None:
        return
    gantt = family.gantt(instance, solution)
    try:
        yield draw_gantt(gantt)
        yield [{"Schedule": task.title} for task in gantt.tasks[:LISTED]] or "No task runs."
    except InputError as error:
        yield f"{error.problem[:1].upper()}{error.problem[1:]}."


def draw_gantt(gantt: Gantt) -> Picture:
    blocks = sum(len(task.blocks) for task in gantt.tasks)
    for count, most, what in ((len(gantt.rows), MOST_ROWS, "nodes"), (blocks, MOST_BLOCKS, "pieces of tasks")):
        if count > most:
            raise InputError("", "", f"no Gantt chart of {count:,} {what}: it has at most {most:,}")
    present = {task.kind for task in gantt.tasks}
    note = "A block is a task on a node; its height is the share of the node's compute that the task takes. "
    note += " ".join(f"{kind.capitalize()}: {text}." for kind, text in gantt.kinds.items() if kind in present)
    height = 1.1 + min(7.0, 0.3 * max(1, len(gantt.rows)))
    return Picture("Which nodes run which tasks", partial(draw_schedule, gantt=gantt), height, "gantt", note)


def draw_schedule(axes: Axes, gantt: Gantt) -> None:
    from matplotlib.collections import PolyCollection

    for number, kind in enumerate(gantt.kinds):
        if not (tasks := [task for task in gantt.tasks if task.kind == kind]):
            continue
        corners = [
            [(start, row + low), (end, row + low), (end, row + high), (start, row + high)]
            for task in tasks
            for row, start, end, low, high in task.blocks
        ]
        color, label = TASKS[number % len(TASKS)], f"{kind} ({len(tasks):,})"
        axes.add_collection(PolyCollection(corners, facecolor=color, edgecolor="white", linewidth=0.3, label=label))
    rows = max(1, len(gantt.rows))
    axes.set(xlim=(0, len(gantt.times)), ylim=(rows, 0))
    step = -(-rows // 25)
    axes.set_yticks([row + 0.5 for row in range(0, len(gantt.rows), step)], gantt.rows[::step], fontsize=7)
    first = 0
    for name, count in gantt.groups:
        axes.axhline(first, color=INK, linewidth=0.6)
        beside = 1 - (first + count / 2) / rows
        axes.text(1.01, beside, name, transform=axes.transAxes, va="center", fontsize=8)
        first += count
    texts = gantt.clock or [str(time) for time in gantt.times]
    step = max(1, -(-len(gantt.times) // 12))
    axes.set_xticks(range(0, len(gantt.times), step), texts[: len(gantt.times) : step])
    axes.set_xlabel(gantt.clock_title if gantt.clock else gantt.unit)
    if gantt.tasks:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)


def list_times(timeline: Timeline) -> Lines:
    columns = {_time_title(timeline): name_times(timeline)}
    for load in timeline.loads:
        shares = shorten_series(timeline, load).mean
        columns[f"load of {load.name}, percent"] = [f"{100 * float(share):.4g}" for share in shares]
    for title, prices in timeline.prices.items():
        for price in prices:
            short = shorten_series(timeline, price)
            for word, values in (("mean", short.mean), ("least", short.low), ("most", short.high)):
                name = f"{title.partition(',')[0]}, {price.name}, {word}"
                columns[name] = [f"{float(value):.6g}" for value in values or short.mean]
    columns |= {outcome: list(map(str, counts)) for outcome, counts in count_arrivals(timeline).items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
