"""What happened in runs over time: time lines made ready to be drawn, and as rows of the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, takewhile
from typing import Any

from ratiobench.bench.family.capabilities import ClassArrivals, Timeline, TimeSeries
from ratiobench.instances.io.errors import InputError

# Times up to which each has a place of its own in a figure and a row in the table; of more, neighbours share one
MOST = 240
ADMITTED = "admitted"
CHAINED = 120  # The same of days one after another, of which there is a figure for each policy
DIGITS = 9  # Of a stored figure of a time line: they are drawn, and nothing else


@dataclass(frozen=True)
class Line:
    """A time line made ready to be drawn."""

    timeline: Timeline  # with at most `MOST` times
    labels: Sequence[str]  # of the times; ``from to`` where several share a place
    counts: Mapping[str, Sequence[int]]  # arrivals by outcome, `ADMITTED` first, for each time
    # places on the axis of time, with their texts; empty for the times themselves.
    marks: Sequence[tuple[float, str]] = ()


def coarsen(timeline: Timeline) -> Line:
    """The time line with at most `MOST` places: shares and mean prices are means over the times of a place."""
    counts = {ADMITTED: list(timeline.admitted), **{reason: [0] * len(timeline.times) for reason in timeline.reasons}}
    for each in timeline.refused:
        counts[each.reason][each.time - timeline.times[0]] += 1
    line = _shortened(Line(timeline, [f"{timeline.unit} {time}" for time in timeline.times], counts), MOST)
    clock = line.timeline.clock
    return replace(line, labels=[f"{a} ({b})" for a, b in zip(line.labels, clock, strict=True)]) if clock else line


def _shortened(line: Line, most: int) -> Line:
    timeline = line.timeline
    step = -(-len(timeline.times) // most)
    parts = [range(start, min(start + step, len(timeline.times))) for start in range(0, len(timeline.times), step)]

    def mean(values: Sequence[Fraction]) -> list[Fraction]:
        return [sum((values[i] for i in part), Fraction(0)) / len(part) for part in parts]

    def course(each: TimeSeries) -> TimeSeries:
        if each.low is None or each.high is None:
            return TimeSeries(each.name, mean(each.mean))
        low = [min(each.low[i] for i in part) for part in parts]
        return TimeSeries(each.name, mean(each.mean), low, [max(each.high[i] for i in part) for part in parts])

    first, last = ([line.labels[part[end]] for part in parts] for end in (0, -1))
    labels = [one if len(part) == 1 else _span(one, other) for part, one, other in zip(parts, first, last, strict=True)]
    prices = {title: [course(each) for each in courses] for title, courses in timeline.prices.items()}
    short = replace(
        timeline,
        times=[timeline.times[part[0]] for part in parts],
        clock=[timeline.clock[part[0]] for part in parts] if timeline.clock else (),
        loads=[course(each) for each in timeline.loads],
        prices=prices,
        asked=mean(timeline.asked) if timeline.asked else (),
    )
    counts = {name: [sum(row[i] for i in part) for part in parts] for name, row in line.counts.items()}
    return Line(short, labels, counts, [(place / step, text) for place, text in line.marks])


def _span(one: str, other: str) -> str:
    """``slot 3 to 5``: the words that both begin with are said once."""
    shared, _, _ = one.rpartition(" ")
    return f"{one} to {other.removeprefix(f'{shared} ') if shared else other}"


def list_timelines(timeline: Timeline) -> list[dict[str, Any]]:
    """The rows of a study of kind `timeline`: figures for drawing, and counts, of at most `MOST` times."""
    line = coarsen(timeline)
    short = line.timeline
    rows: list[dict[str, Any]] = [
        {
            "part": "times",
            "unit": short.unit,
            "times": list(short.times),
            "labels": list(line.labels),
            "clock": list(short.clock),
            "clock_title": short.clock_title,
            "note": short.note,
            "reasons": dict(short.reasons),
            "asked": _rounded(short.asked),
            "used": None if short.used is None else str(short.used),
        }
    ]
    rows += [{"part": "load", "name": each.name, "mean": _rounded(each.mean)} for each in short.loads]
    for title, courses in short.prices.items():
        for each in courses:
            ends = {
                name: None if part is None else _rounded(part)
                for name, part in (("low", each.low), ("high", each.high))
            }
            rows.append({"part": "price", "title": title, "name": each.name, "mean": _rounded(each.mean), **ends})
    rows += [{"part": "arrivals", "name": name, "counts": list(row)} for name, row in line.counts.items()]
    for title, classes in short.classes.items():
        rows += [{"part": "class", "title": title, **each._asdict()} for each in classes]
    return rows


def _rounded(values: Sequence[Fraction]) -> list[float]:
    return [float(f"{float(value):.{DIGITS}g}") for value in values]


@dataclass(frozen=True, slots=True)
class RunTimeline:
    """What the rows of one run say."""

    line: Line  # to be drawn; its loads and prices are rounded
    used: Fraction | None  # the share of all capacity that was used, exact; None where it is not said
    classes: Mapping[str, Sequence[ClassArrivals]] = field(default_factory=dict)  # arrivals by class, exact


def read_timelines(rows: Sequence[Mapping[str, Any]], where: str) -> RunTimeline | None:
    """What `list_timelines` wrote; None of no rows."""
    if not rows:
        return None
    try:
        return _read(rows)
    except (KeyError, TypeError, ValueError, ArithmeticError, StopIteration) as error:
        raise InputError(where, "", "is not as `run` stores it") from error


def _read(rows: Sequence[Mapping[str, Any]]) -> RunTimeline:
    def those(part: str) -> Iterator[Mapping[str, Any]]:
        return (row for row in rows if row["part"] == part)

    head = next(those("times"))
    length = len(head["times"])

    def figures(values: Any) -> list[Fraction]:
        if len(values) != length:
            raise ValueError("a row of another length")
        return [Fraction(value) for value in values]

    prices: dict[str, list[TimeSeries]] = {}
    for row in those("price"):
        ends = [None if row[name] is None else figures(row[name]) for name in ("low", "high")]
        prices.setdefault(str(row["title"]), []).append(TimeSeries(str(row["name"]), figures(row["mean"]), *ends))
    classes: dict[str, list[ClassArrivals]] = {}
    for row in those("class"):
        served = ClassArrivals(str(row["label"]), int(row["arrivals"]), int(row["admitted"]))
        classes.setdefault(str(row["title"]), []).append(served)
    counts = {str(row["name"]): [int(value) for value in figures(row["counts"])] for row in those("arrivals")}
    used = None if head["used"] is None else Fraction(head["used"])
    timeline = Timeline(
        unit=str(head["unit"]),
        times=[int(time) for time in head["times"]],
        loads=[TimeSeries(str(row["name"]), figures(row["mean"])) for row in those("load")],
        prices=prices,
        admitted=counts[ADMITTED],
        refused=(),
        reasons={str(name): str(meaning) for name, meaning in head["reasons"].items()},
        note=str(head["note"]),
        clock=[str(begins) for begins in head["clock"]],
        clock_title=str(head["clock_title"]),
        asked=figures(head["asked"]) if head["asked"] else (),
        used=used,
    )
    return RunTimeline(Line(timeline, [str(label) for label in head["labels"]], counts), used, classes)


def join_timelines(lines: Sequence[tuple[str, Line]]) -> Line:
    """Time lines of days, one after another, by the names of the days, with at most `CHAINED` places."""
    first = lines[0][1].timeline

    def joined(parts: Sequence[Sequence[TimeSeries]]) -> list[TimeSeries]:
        """Courses of the same name follow one another; where a day has none of it, it is 0."""
        names = list(dict.fromkeys(each.name for part in parts for each in part))
        found = []
        for name in names:
            mean: list[Fraction] = []
            low: list[Fraction] = []
            high: list[Fraction] = []
            for part, (_, line) in zip(parts, lines, strict=True):
                nothing = [Fraction(0)] * len(line.labels)
                own = next((each for each in part if each.name == name), TimeSeries(name, nothing))
                mean += own.mean
                low += own.low or own.mean
                high += own.high or own.mean
            banded = any(each.low is not None for part in parts for each in part)
            found.append(TimeSeries(name, mean, low, high) if banded else TimeSeries(name, mean))
        return found

    titles = dict.fromkeys(title for _, line in lines for title in line.timeline.prices)
    reasons = dict.fromkeys(name for _, line in lines for name in line.counts)
    asked = all(line.timeline.asked for _, line in lines)
    whole = replace(
        first,
        times=range(sum(len(line.labels) for _, line in lines)),
        loads=joined([line.timeline.loads for _, line in lines]),
        prices={title: joined([line.timeline.prices.get(title, ()) for _, line in lines]) for title in titles},
        admitted=(),
        clock=(),
        asked=[value for _, line in lines for value in line.timeline.asked] if asked else (),
    )
    labels = [f"{day}, {label}" for day, line in lines for label in line.timeline.clock or line.labels]
    counts = {name: [n for _, line in lines for n in line.counts.get(name, [0] * len(line.labels))] for name in reasons}
    begins = accumulate((len(line.labels) for _, line in lines), initial=0)
    names = shorten_names([day for day, _ in lines])
    return _shortened(Line(whole, labels, counts, list(zip(map(float, begins), names, strict=False))), CHAINED)


def shorten_names(names: Sequence[str]) -> list[str]:
    """The names without what all of them begin with, up to its last sign that is neither a letter nor a digit."""
    ends = zip(min(names), max(names), strict=False) if len(names) > 1 else ()
    shared = re.sub(r"[^\W_]*$", "", "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends)))
    return [name.removeprefix(shared) for name in names]
