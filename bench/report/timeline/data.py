"""What happened in runs over time: time lines made ready to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ratiobench.bench.family.capabilities import Timeline, TimeSeries

# Times up to which each has a place of its own in a figure and a row in the table; of more, neighbours share one
MOST = 240
ADMITTED = "admitted"


@dataclass(frozen=True)
class Line:
    """A time line made ready to be drawn."""

    timeline: Timeline  # with at most `MOST` times
    labels: Sequence[str]  # of the times; ``from to`` where several share a place
    counts: Mapping[str, Sequence[int]]  # arrivals by outcome, `ADMITTED` first, for each time


def coarsen(timeline: Timeline) -> Line:
    """The time line with at most `MOST` places: shares and mean prices are means over the times of a place."""
    counts = {ADMITTED: list(timeline.admitted), **{reason: [0] * len(timeline.times) for reason in timeline.reasons}}
    for each in timeline.refused:
        counts[each.reason][each.time - timeline.times[0]] += 1
    line = _shortened(Line(timeline, [f"{timeline.unit} {time}" for time in timeline.times], counts))
    clock = line.timeline.clock
    return replace(line, labels=[f"{a} ({b})" for a, b in zip(line.labels, clock, strict=True)]) if clock else line


def _shortened(line: Line) -> Line:
    timeline = line.timeline
    step = -(-len(timeline.times) // MOST)
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
    return Line(short, labels, counts)


def _span(one: str, other: str) -> str:
    """``slot 3 to 5``: the words that both begin with are said once."""
    shared, _, _ = one.rpartition(" ")
    return f"{one} to {other.removeprefix(f'{shared} ') if shared else other}"
