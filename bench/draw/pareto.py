"""Several figures of algorithms, all best if least: two of them are axes, all of them decide the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import ALONE, LINE, SERIES, Frame, draw_sign
from ratiobench.bench.results.means import OPT_LABEL

MARGIN = 0.08  # What lies between the outermost points and the ends of an axis, as a part of it


@dataclass(frozen=True, slots=True)
class Point:
    """An algorithm, or OPT, with its figures in the order of the axes; those behind the first two are told only."""

    name: str
    values: tuple[float, ...]


def find_pareto_front(points: Sequence[Point]) -> list[Point]:
    """The points such that no other one has all figures as small, and one of them smaller."""

    def beats(one: Point, other: Point) -> bool:
        pairs = list(zip(one.values, other.values, strict=True))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    return [point for point in points if not any(beats(other, point) for other in points)]


def draw_pareto_front(label: str, points: Sequence[Point], titles: Sequence[str]) -> str:
    """A sign for each algorithm, a dot for OPT, a ring around the points of the front; names have the other figures."""
    front = find_pareto_front(points)
    texts = [", ".join([point.name, *(f"{value:.3g}" for value in point.values[2:])]) for point in points]
    x, y = (_axis([point.values[i] for point in points], titles[i]) for i in (0, 1))
    high = max(230.0, 60 + LINE * len(points))
    frame = Frame(label, x, y, width=ALONE, height=high, right=[f"{text}        " for text in texts])
    places = [(frame.x(point.values[0]), frame.y(point.values[1])) for point in points]
    heights = frame.place_labels([place for _, place in places])
    first = -(OPT_LABEL in [point.name for point in points])
    ordered = sorted(range(len(points)), key=lambda i: points[i].name != OPT_LABEL)
    for number, i in enumerate(ordered, first):
        point, is_opt = points[i], points[i].name == OPT_LABEL
        figures = ", ".join(f"{title} {value:.6g}" for title, value in zip(titles, point.values, strict=True))
        on_front = point in front
        algorithm = "" if is_opt else point.name
        with frame.mark(f"{point.name}: {figures}{', on the front' * on_front}", algorithm):
            if on_front:
                frame.dot("ring", *places[i], 6)
            _sign(frame, number, is_opt, *places[i])
        with frame.mark_algorithm(algorithm):
            _sign(frame, number, is_opt, frame.x.end + 10, heights[i])
            frame.text(frame.x.end + 18, heights[i], texts[i], css=f"name {_colour(number, is_opt)}")
    return frame.render()


def _colour(number: int, is_opt: bool) -> str:
    return "of-opt" if is_opt else f"s{number % SERIES + 1}"


def _sign(frame: Frame, number: int, is_opt: bool, x: float, y: float) -> None:
    if is_opt:
        frame.dot("dot of-opt", x, y, 3)
    else:
        draw_sign(frame, number, x, y)


def _axis(values: Sequence[float], title: str) -> Axis:
    """From the least to the largest; by logarithms where these are more than three times apart."""
    low, high = min(values), max(values)
    if low > 0 and high > 3 * low:
        margin = MARGIN * math.log(high / low)
        return Axis(low * math.exp(-margin), high * math.exp(margin), title, True)
    margin = MARGIN * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(low - margin, high + margin, title)
