"""The time line of a run: load, prices and arrivals over time, one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ratiobench.bench.draw.scales import Axis, format_compactly
from ratiobench.bench.draw.svg import ALONE, SERIES, Frame, measure_widest, style_series
from ratiobench.bench.family.capabilities import Timeline, TimeSeries
from ratiobench.bench.report.shared.cells import Cell, Column, Table, count_cell, exact_cell, make_cell
from ratiobench.bench.report.timeline.data import Line

ASKED = 3.0  # Demand is drawn up to this multiple of the capacity
LEFT = 62.0  # Space to the left of the charts, the same for all of them
LISTED = 2000  # Refusals up to which they are listed one by one


def draw_timeline(line: Line) -> list[tuple[str, str]]:
    """The charts, each with its heading: load by part of the capacity, prices, arrivals by outcome."""
    timeline = line.timeline
    charts = [("Load", _draw_courses(line, timeline.loads, "share of capacity used", share=True))]
    charts += [
        (title[:1].upper() + title[1:], _draw_courses(line, courses, title))
        for title, courses in timeline.prices.items()
    ]
    return [*charts, ("Arrivals", _draw_arrivals(line))]


def _axis(line: Line) -> Axis:
    return Axis(0.0, float(len(line.labels)), _time_title(line.timeline), labels=_time_labels(line))


def _time_title(timeline: Timeline) -> str:
    return f"{timeline.unit}, and when it begins ({timeline.clock_title})" if timeline.clock else timeline.unit


def _time_labels(line: Line) -> list[tuple[float, str]]:
    every, clock = line.timeline.times, line.timeline.clock
    texts = (
        [f"{time} ({begins})" for time, begins in zip(every, clock, strict=True)] if clock else list(map(str, every))
    )
    wide = ALONE - LEFT - measure_widest(_names(line)) - 10
    most = min(5 if clock else 12, max(2, int(wide // (measure_widest(texts) + 6))))
    step = max(1, -(-len(every) // most))
    return [(place + 0.5, texts[place]) for place in range(0, len(every), step)]


def _frame(line: Line, label: str, axis: Axis) -> Frame:
    """The axes, which stand one below the other in all charts."""
    return Frame(label, _axis(line), axis, width=ALONE, height=190, right=_names(line), left=LEFT)


def _names(line: Line) -> list[str]:
    """The texts to the right of the charts, with space for their signs."""
    return [f"{name}   " for name in [*line.counts, *(each.name for each in line.timeline.loads)]]


def _draw_columns(frame: Frame, labels: Sequence[str]) -> Iterator[tuple[int, float, float]]:
    """A mark for each time, as high as the frame; yields its number and where it begins and ends."""
    for place, text in enumerate(labels):
        left, right = frame.x(place), frame.x(place + 1)
        with frame.mark(text):
            frame.box("hit", left, frame.top, right, frame.bottom)
            yield place, left, right


def _draw_courses(line: Line, courses: Sequence[TimeSeries], title: str, share: bool = False) -> str:
    """A line of steps per course, and a band from its smallest to its largest figure."""
    tops = [max(each.high or each.mean, default=Fraction(0)) for each in courses]
    asked = [min(float(value), ASKED) for value in line.timeline.asked] if share else []
    top = max([1.0, *asked]) if share else float(max(tops, default=Fraction(0))) or 1.0
    part = 0.25 if top <= 1.25 else 0.5
    labels = [(part * step, f"{100 * part * step:g} %") for step in range(int(top / part) + 1)] if share else ()
    frame = _frame(line, title, Axis(0.0, top * 1.03, title.rpartition(", ")[2], labels=labels))
    if asked:
        rim = [(frame.x(place + step), frame.y(value)) for place, value in enumerate(asked) for step in (0, 1)]
        frame.area("level s6", [(frame.x.start, frame.y(0)), *rim, (frame.x.end, frame.y(0))])
        frame.line("opt dashed", (frame.x.start, frame.y(1)), (frame.x.end, frame.y(1)))
    heights = frame.place_labels([frame.y(float(each.mean[-1])) for each in courses])
    for number, each in enumerate(courses):
        if each.low is not None and each.high is not None:
            edge = _steps(frame, each.high) + _steps(frame, each.low)[::-1]
            frame.area(f"level s{number % SERIES + 1}", edge)
    for number, each in enumerate(courses):
        frame.line(style_series(number), *_steps(frame, each.mean))
        beside, height = frame.x.end + 5, heights[number]
        frame.line(style_series(number), (beside, height), (beside + 16, height))
        frame.text(beside + 20, height, each.name, css=f"s{number % SERIES + 1}")
    lines = []
    for place, label in enumerate(line.labels):
        wanted = f", asked for {100 * float(line.timeline.asked[place]):.4g} %" if asked else ""
        lines.append(f"{label}: {', '.join(_tell(each, place, share) for each in courses)}{wanted}")
    for _ in _draw_columns(frame, lines):
        pass
    return frame.render()


def _steps(frame: Frame, values: Sequence[Fraction]) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for place, value in enumerate(values):
        y = frame.y(float(value))
        points += [(frame.x(place), y), (frame.x(place + 1), y)]
    return points


def _tell(course: TimeSeries, place: int, share: bool) -> str:
    mean = float(course.mean[place])
    if share:
        return f"{course.name} {100 * mean:.4g} %"
    if course.low is None or course.high is None:
        return f"{course.name} {mean:.6g}"
    return f"{course.name} {mean:.6g} ({float(course.low[place]):.6g} to {float(course.high[place]):.6g})"


def _draw_arrivals(line: Line) -> str:
    """Stacked columns of the arrivals at each time, by outcome."""
    counts = line.counts
    top = max(map(sum, zip(*counts.values(), strict=True)), default=0) or 1
    axis = Axis(0.0, top * 1.03, "arrivals")
    frame = _frame(line, "Arrivals by outcome", axis)
    for number, name in enumerate(counts):
        x, y = frame.x.end + 5, frame.top + 6 + 13 * number
        frame.box(f"kind-{number}", x, y - 5, x + 12, y + 5)
        frame.text(x + 18, y, name)
    labels = [
        f"{label}: {', '.join(f'{name} {row[place]}' for name, row in counts.items())}"
        for place, label in enumerate(line.labels)
    ]
    for place, left, right in _draw_columns(frame, labels):
        base = 0
        for number, row in enumerate(counts.values()):
            if row[place]:
                gap = 0.1 * (right - left)
                frame.box(f"kind-{number}", left + gap, frame.y(base + row[place]), right - gap, frame.y(base))
                base += row[place]
    return frame.render()


def list_times(line: Line) -> Table:
    """The figures of the charts, a row per time."""
    timeline = line.timeline
    head: list[str | Column] = [_time_title(timeline), *(f"load of {each.name}" for each in timeline.loads)]
    for title, courses in timeline.prices.items():
        title = title.partition(",")[0]
        head += [f"{title}, {each.name}, {part}" for each in courses for part in ("mean", "least", "most")]
    head += list(line.counts)
    body = []
    for place, label in enumerate(line.labels):
        row: list[Cell] = [make_cell(label.removeprefix(f"{timeline.unit} "), sort=timeline.times[place], numeric=True)]
        row += [_share_cell(each.mean[place]) for each in timeline.loads]
        for courses in timeline.prices.values():
            for each in courses:
                low, high = each.low or each.mean, each.high or each.mean
                row += [_figure_cell(part[place]) for part in (each.mean, low, high)]
        body.append([*row, *(count_cell(counts[place]) for counts in line.counts.values())])
    return Table("Time line", head, body)


def _share_cell(value: Fraction) -> Cell:
    return make_cell(f"{100 * float(value):.4g} %", sort=float(value), title=str(value), numeric=True)


def _figure_cell(value: Fraction) -> Cell:
    text = f"{float(value):.6g}" if abs(value) < 9999 else format_compactly(float(value))
    return make_cell(text, sort=float(value), title=str(value)[:80], numeric=True)


def list_refusals(timeline: Timeline) -> Table:
    """Whoever was turned away, one by one, at most `LISTED`."""
    head: list[str | Column] = ["arrival", timeline.unit, "reason", "figures"]
    if timeline.clock:
        head[2:2] = [timeline.clock_title]
    body = [
        [
            count_cell(each.number),
            exact_cell(each.time),
            *([make_cell(timeline.clock[each.time - timeline.times[0]], css="n")] if timeline.clock else []),
            make_cell(each.reason),
            make_cell(each.about),
        ]
        for each in timeline.refused[:LISTED]
    ]
    return Table("Rejected arrivals", head, body)
