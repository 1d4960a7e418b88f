"""The pictures of a backtest: differences from the best policy, and the outcome of the arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ratiobench.bench.draw.scales import Axis, format_compactly
from ratiobench.bench.draw.svg import LETTER, LINE, WIDTH, Drawing, Panel
from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.backtest.criteria import WELFARE, Criterion
from ratiobench.bench.report.backtest.data import Difference, Policy
from ratiobench.bench.report.timeline.data import Line


def draw_differences(
    differences: Sequence[Difference], best: str, family: Family, criterion: Criterion = WELFARE
) -> str:
    """A dot for the mean difference a day from the best policy, a line for its 95 % interval."""
    scale = float(family.dollars or 1) if criterion.unit is None else float(criterion.scale)
    shown = [each for each in differences if each.estimate.mean is not None]
    means = [scale * float(each.estimate.mean or 0) for each in shown]
    ends = [
        (scale * (each.estimate.low or 0), scale * (each.estimate.high or 0))
        if each.estimate.low is not None
        else (mean, mean)
        for each, mean in zip(shown, means, strict=True)
    ]
    low, high = min([0.0, *(one for one, _ in ends)]), max([0.0, *(other for _, other in ends)])
    margin = 0.05 * ((high - low) or 1.0)
    unit = "dollars" if family.dollars is not None else family.unit
    unit = unit if criterion.unit is None else criterion.unit.strip() or criterion.title
    axis = Axis(low - margin, high + margin, f"{best} is ahead by, {unit} a day", most=3)
    figures = [format_compactly(mean) for mean in means]
    panel = Panel(f"How far ahead {best} is", [each.other for each in shown], axis, right=figures)
    panel.draw_vertical("zero", 0)
    for place, (each, mean, span, figure) in enumerate(zip(shown, means, ends, figures, strict=True)):
        text = f"{each.other}: {best} is ahead by {figure} a day, 95 % {span[0]:.4g} to {span[1]:.4g}"
        with panel.line_of(place, text, each.other) as y:
            panel.span(place, *span)
            panel.dot("dot", panel.x(mean), y)
            panel.write_figure(place, figure)
    return panel.render()


def draw_fates(policies: Sequence[Policy]) -> str:
    """A bar per policy: which share of the arrivals was admitted, and why the others were turned away."""
    shown = [(each, each.line) for each in policies if each.line is not None]
    reasons = list(dict.fromkeys(name for _, line in shown for name in line.counts))
    top = 6 + LINE * (1 + _key(None, reasons))
    axis = Axis(0.0, 1.0, "share of the arrivals", labels=[(part / 4, f"{25 * part} %") for part in range(5)])
    panel = Panel("Outcome of the arrivals", [each.name for each, _ in shown], axis, top=top)
    _key(panel, reasons)
    for place, (each, line) in enumerate(shown):
        shares = find_fates(line)
        text = ", ".join(f"{name} {100 * float(share):.3g} %" for name, share in shares.items())
        with panel.line_of(place, f"{each.name}: {text}", each.name) as y:
            start = 0.0
            for name, share in shares.items():
                end = start + float(share)
                panel.box(f"kind-{reasons.index(name)}", panel.x(start), y - 6.5, panel.x(end), y + 6.5)
                start = end
    return panel.render()


def find_fates(line: Line) -> dict[str, Fraction]:
    """The shares of the arrivals by outcome."""
    sums = {name: sum(row) for name, row in line.counts.items()}
    every = sum(sums.values()) or 1
    return {name: Fraction(count, every) for name, count in sums.items()}


def _key(drawing: Drawing | None, names: Sequence[str]) -> int:
    """What the signs mean, above the rows, and in how many further lines; drawn where there is a drawing."""
    x, row = 6.0, 0
    for number, name in enumerate(names):
        wide = 22 + LETTER * len(name)
        if x + wide > WIDTH and x > 6:
            x, row = 6.0, row + 1
        if drawing is not None:
            y = 8 + LINE * row
            drawing.box(f"kind-{number}", x, y - 5, x + 12, y + 5)
            drawing.text(x + 16, y, name)
        x += wide
    return row
