"""The chart of several figures against each other: who is on the front, and what the marks say."""

from __future__ import annotations

import re

from ratiobench.bench.draw.pareto import Point, draw_pareto_front, find_pareto_front
from ratiobench.bench.results.means import OPT_LABEL

TITLES = ("dollars", "ticks of time", "ticks late")
POINTS = [
    Point("dear", (9.0, 1.0, 0.0)),
    Point("cheap <b>", (1.0, 900.0, 3.0)),
    Point("beaten", (9.0, 2.0, 0.0)),
    Point(OPT_LABEL, (2.0, 1.0, 0.0)),
    Point("late alone is less", (9.0, 950.0, -1.0)),
]


def test_the_front_is_who_is_beaten_by_nobody() -> None:
    assert [point.name for point in find_pareto_front(POINTS)] == ["cheap <b>", OPT_LABEL, "late alone is less"]
    twins = [Point("a", (1.0, 2.0)), Point("b", (1.0, 2.0))]
    assert find_pareto_front(twins) == twins


def test_marks_say_all_figures_and_rings_are_around_the_front() -> None:
    svg = draw_pareto_front("three <figures>", POINTS, TITLES)
    said = re.findall(r"<title>(.*?)</title>", svg)
    assert said[0] == "OPT: dollars 2, ticks of time 1, ticks late 0, on the front"
    assert "beaten: dollars 9, ticks of time 2, ticks late 0" in said
    assert svg.count('class="ring"') == 3
    assert "cheap &lt;b&gt;, 3<" in svg
    assert "<b>" not in svg
    assert "three &lt;figures&gt;" in svg


def test_one_point_alone_has_axes_around_it() -> None:
    svg = draw_pareto_front("one", [Point("a", (0.0, 5.0))], TITLES[:2])
    assert "nan" not in svg
    assert "ticks of time" in svg


def test_more_algorithms_than_signs_are_told_apart() -> None:
    """By the colour, and the way from the first corner to the next one."""
    svg = draw_pareto_front("nine", [Point(f"a{i}", (float(i), float(9 - i))) for i in range(9)], TITLES[:2])
    found = {(css, "circle") for css in re.findall(r'<circle class="(sign s.)"', svg)}
    for css, *corners in re.findall(r'<polygon class="(sign s.)" points="(\S+),(\S+) (\S+),(\S+)', svg):
        x, y, right, down = map(float, corners)
        found.add((css, f"{right - x:.1f} {down - y:.1f}"))
    assert len(found) == 9
