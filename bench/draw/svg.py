"""Charts as SVG, written directly: axes, and marks that carry their exact figures as text.

Nothing here has a colour: classes say what a part is, and the style sheets of the page choose, for light, dark and
print. A mark is a group with a title, which a pointer that rests on it shows; all titles of a chart stand in its
description as well. What belongs to an algorithm has its name in ``data-a``, by which a script can switch it off.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from ratiobench.bench.draw.scales import Axis, Scale
from ratiobench.bench.results.remarks import is_user_algorithm

WIDTH = 340.0  # Of a chart that stands beside others, in units of which a letter's size is ten
ALONE = 520.0  # Of a chart that stands alone
LETTER = 6.0  # What a letter takes in a wide font: which one the page is shown in is not known here
LINE = 12.0  # From line to line of a text
_GAP = 4.0
STROKES, SERIES = 6, 6  # Different strokes and colours of lines


def break_name(name: str, width: int = 17) -> list[str]:
    """A long name in as many lines as it needs, broken behind a colon, a comma or a space."""
    lines = [""]
    for part in re.findall(r"[^:, ]+[:, ]*", name):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def measure_widest(texts: Sequence[str]) -> float:
    """Room for the longest of the texts."""
    return max((LETTER * len(text) for text in texts), default=0.0)


class Drawing:
    """A chart that is being drawn."""

    def __init__(self, label: str, width: float, height: float) -> None:
        self.label, self.width, self.height = label, width, height
        self.parts: list[str] = []
        self.said: list[str] = []

    def line(self, css: str, *points: tuple[float, float]) -> None:
        """A line through points."""
        self.parts.append(f'<polyline class="{css}" points="{_join(points)}"/>')

    def area(self, css: str, points: Sequence[tuple[float, float]]) -> None:
        """What a line around points encloses."""
        self.parts.append(f'<polygon class="{css}" points="{_join(points)}"/>')

    def box(self, css: str, left: float, top: float, right: float, bottom: float) -> None:
        """A rectangle."""
        left, right = min(left, right), max(left, right)
        size = f'width="{_n(right - left)}" height="{_n(bottom - top)}"'
        self.parts.append(f'<rect class="{css}" x="{_n(left)}" y="{_n(top)}" {size}/>')

    def dot(self, css: str, x: float, y: float, radius: float = 2.5) -> None:
        """A circle."""
        self.parts.append(f'<circle class="{css}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", css: str = "", turned: bool = False) -> None:
        """A line of text, its middle at the height `y`."""
        named, message = f' class="{css}"' if css else "", escape(text, quote=False)
        turn = f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turned else ""
        self.parts.append(f'<text{named} x="{_n(x)}" y="{_n(y + 3.5)}" text-anchor="{anchor}"{turn}>{message}</text>')

    @contextmanager
    def mark_algorithm(self, algorithm: str) -> Iterator[None]:
        """What is drawn inside belongs to an algorithm (empty: nobody's) and says nothing."""
        own = ' class="own"' * is_user_algorithm(algorithm)
        self.parts.append(f'<g{own} data-a="{escape(algorithm)}">' if algorithm else "<g>")
        yield
        self.parts.append("</g>")

    @contextmanager
    def mark(self, title: str, algorithm: str = "", css: str = "") -> Iterator[None]:
        """What is drawn inside is one mark: `title` has its figures, `algorithm` is whose it is (empty: nobody's)."""
        whose = f' data-a="{escape(algorithm)}"' if algorithm else ""
        own = " own" * is_user_algorithm(algorithm)
        self.parts.append(f'<g class="{f"m{own} {css}".rstrip()}"{whose}><title>{escape(title, quote=False)}</title>')
        self.said.append(title)
        yield
        self.parts.append("</g>")

    def render(self) -> str:
        """The element for a page, with its label as its name and all that its marks say as its description."""
        text = f"<desc>{escape('; '.join(self.said), quote=False)}</desc>" if self.said else ""
        size = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        head = f'<svg class="chart" role="img" aria-label="{escape(self.label)}" {size}>'
        return "\n".join([f"{head}{text}", *self.parts, "</svg>"])


def _n(value: float) -> str:
    return f"{round(value, 2):.7g}"


def _join(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _draw_below(drawing: Drawing, axis: Axis, x: Scale, top: float, bottom: float) -> None:
    """Grid lines, numbers and title of the axis below; no text leaves the picture."""

    def inside(place: float, text: str) -> float:
        half = LETTER * len(text) / 2
        return max(half, min(drawing.width - half, place))

    for value, text in axis.marks():
        drawing.line("grid", (x(value), top), (x(value), bottom))
        drawing.text(inside(x(value), text), bottom + 9, text, "middle")
    drawing.line("axis", (x.start, bottom), (x.end, bottom))
    if axis.title:
        drawing.text(inside((x.start + x.end) / 2, axis.title), bottom + 23, axis.title, "middle")


class Panel(Drawing):
    """One row per name, from the top, the name left of the axis.

    Margins follow from the names and from the texts that stand to the `right`, so that panels with the same of both
    have axes of the same width; `top` is the room above the rows.
    """

    def __init__(
        self, label: str, names: Sequence[str], axis: Axis, *, right: Sequence[str] = (), top: float = 6.0
    ) -> None:
        self.names = [break_name(name) for name in names]
        heights = [8 + LINE * len(lines) for lines in self.names]
        self.edges = list(itertools.accumulate(heights, initial=top))
        self.top, self.bottom = top, self.edges[-1]
        super().__init__(label, WIDTH, self.bottom + (32 if axis.title else 18))
        third = WIDTH / 3
        left = 8 + min(third, measure_widest([line for name in self.names for line in name]))
        ends = max((LETTER * len(text) / 2 for _, text in axis.marks()[-1:]), default=0.0)
        self.x = axis.scale(left, WIDTH - max(8 + min(third, measure_widest(right)), ends + 2))
        _draw_below(self, axis, self.x, top, self.bottom)

    def y(self, place: int) -> float:
        """The middle of a row."""
        return (self.edges[place] + self.edges[place + 1]) / 2

    @contextmanager
    def line_of(self, place: int, title: str, algorithm: str = "") -> Iterator[float]:
        """The row of a name as a mark, all of its width; gives its middle."""
        middle = self.y(place)
        with self.mark(title, algorithm):
            self.box("hit", 0, self.edges[place], self.width, self.edges[place + 1])
            lines = self.names[place]
            for number, line in enumerate(lines):
                self.text(self.x.start - _GAP, middle + LINE * (number - (len(lines) - 1) / 2), line, "end", "name")
            yield middle

    def span(self, place: int, low: float, high: float, css: str = "") -> None:
        """A thin line for an interval, with an end where the interval ends within the axis."""
        y = self.y(place)
        self.line(f"span{css}", (self.x.clip(low), y), (self.x.clip(high), y))
        for end in (low, high):
            if self.x.low <= end <= self.x.high:
                self.line(f"span{css}", (self.x(end), y - 4), (self.x(end), y + 4))

    def bar(self, place: int, value: float, css: str = "") -> None:
        """A bar from 0, or from the end of the axis, to the value."""
        y = self.y(place)
        self.box(f"bar{css}", self.x.clip(0.0), y - 6.5, self.x.clip(value), y + 6.5)

    def write_figure(self, place: int, text: str) -> None:
        """A figure right of the axis."""
        self.text(self.x.end + 6, self.y(place), text)

    def words(self, place: int, text: str) -> None:
        """Words in place of a figure."""
        self.text(self.x.start + 6, self.y(place), text, css="words")

    def draw_vertical(self, css: str, value: float) -> None:
        """A line through all rows."""
        if self.x.low <= value <= self.x.high:
            self.line(css, (self.x(value), self.top), (self.x(value), self.bottom))


class Frame(Drawing):
    """Two axes; `right` are the texts for which there is room right of them, `above` the room above, `left` the least
    room left of them.
    """

    def __init__(
        self, label: str, x: Axis, y: Axis, *, width: float = WIDTH, height: float = 230.0, above: float = 8.0,
        right: Sequence[str] = (),
        left: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(label, width, height)
        marks = y.marks()
        left = max(left, 6 + measure_widest([text for _, text in marks]) + (14 if y.title else 0) + _GAP)
        self.top, self.bottom = above, height - (32 if x.title else 18)
        ends = max((LETTER * len(text) / 2 for _, text in x.marks()[-1:]), default=0.0)
        self.x = x.scale(left, width - max(6 + measure_widest(right) + _GAP * bool(right), ends + 2))
        self.y = y.scale(self.bottom, above)
        for value, text in marks:
            self.line("grid", (self.x.start, self.y(value)), (self.x.end, self.y(value)))
            self.text(left - _GAP, self.y(value), text, "end")
        _draw_below(self, x, self.x, self.top, self.bottom)
        self.line("axis", (left, self.top), (left, self.bottom))
        if y.title:
            self.text(7, (self.top + self.bottom) / 2, y.title, "middle", turned=True)

    def place_labels(self, heights: Sequence[float]) -> list[float]:
        """Where the names at the ends of lines stand: at the lines' heights, moved apart where they would touch."""
        found = list(heights)
        least = self.top + 4
        order = sorted(range(len(heights)), key=heights.__getitem__)
        for behind, number in zip(reversed(range(len(order))), order, strict=True):
            found[number] = max(least, min(heights[number], self.bottom - LINE * behind))
            least = found[number] + LINE
        return found


def style_series(number: int) -> str:
    """The classes of a line: 36 of them differ in their colour or their stroke."""
    return f"series s{number % SERIES + 1} d{(number + number // SERIES) % STROKES + 1}"


def draw_sign(drawing: Drawing, number: int, x: float, y: float, size: float = 3.2) -> None:
    """A sign by which lines are told apart without their colours: six, and 36 that differ in sign or colour."""
    css, s = f"sign s{number % SERIES + 1}", size
    corners = {
        1: [(-s, -s), (s, -s), (s, s), (-s, s)],
        2: [(0, -1.4 * s), (1.4 * s, 0), (0, 1.4 * s), (-1.4 * s, 0)],
        3: [(0, -1.3 * s), (1.2 * s, s), (-1.2 * s, s)],
        4: [(0, 1.3 * s), (1.2 * s, -s), (-1.2 * s, -s)],
        5: [(-1.3 * s, 0), (s, -1.2 * s), (s, 1.2 * s)],
    }.get((number + number // SERIES) % STROKES)
    if corners is None:
        drawing.dot(css, x, y, s)
    else:
        drawing.area(css, [(x + dx, y + dy) for dx, dy in corners])
