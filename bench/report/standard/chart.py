"""How seconds and gap grow with the size of an instance: two charts of a standard set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import median

from ratiobench.bench.draw.document import make_document
from ratiobench.bench.draw.plots import draw_curves
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import StandardSet
from ratiobench.bench.results import ratios
from ratiobench.bench.storage.payload import read_exact

LEAST = 0.001  # Percent; nothing smaller is told apart in the figure
Curve = tuple[str, list[tuple[float, float]]]


def draw_growth(chosen: StandardSet, families: Mapping[str, Family]) -> Iterator[tuple[str, str]]:
    """(name of the file, SVG document): seconds, and gap in percent, of the first solve over how many arrive.

    Medians of the instances of one size; both axes logarithmic. What was proved at once has no gap to show, and what is
    below `LEAST` is shown there.
    """
    seconds, gaps = _points(chosen, families)
    for name, title, words, curves in (
        ("seconds", "Seconds of the first solve", "seconds", seconds),
        ("gap", "Gap after the first solve", f"gap, percent ({LEAST} or less)", gaps),
    ):
        if curves:
            yield f"growth-{name}.svg", make_document(draw_curves(curves, title, "tasks, jobs or users", words))


def _points(chosen: StandardSet, families: Mapping[str, Family]) -> tuple[list[Curve], list[Curve]]:
    took: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    left: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for entry in chosen.entries:
        number = (entry.size or {}).get(families[entry.family].size[0], 0)
        if entry.first is None or not number:
            continue
        took[entry.family][number].append(max(0.01, float(entry.first["seconds"])))
        lower, upper = (read_exact(entry.first[end]) for end in ("lower", "upper"))
        if lower < upper:
            left[entry.family][number].append(max(LEAST, 100 * ratios.gap(lower, upper)))

    def curves(found: Mapping[str, Mapping[int, list[float]]]) -> list[Curve]:
        return [
            (family, [(float(size), median(values)) for size, values in sorted(points.items())])
            for family, points in found.items()
        ]

    return curves(took), curves(left)
