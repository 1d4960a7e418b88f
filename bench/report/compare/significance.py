"""Which algorithms differ over the cases, by tests of significance, and the critical-difference diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from textwrap import wrap

import pandas as pd

from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import ALONE, LINE, Drawing, measure_widest
from ratiobench.bench.report.compare.algorithms import Comparison, compare_runs, rank_values
from ratiobench.bench.report.shared.cells import Cell, Table, count_cell, make_cell
from ratiobench.bench.report.shared.text import align_columns
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.significance import (
    ALPHA,
    Friedman,
    adjust_holm,
    critical_difference,
    friedman,
    least_cases,
    signed_rank_test,
)

COLUMNS = {
    "a": "name with options of the algorithm with the better mean rank",
    "b": "the other one",
    "cases": "N, cases that all compared algorithms have",
    "a_better": "cases on which the value of a is better, exactly",
    "b_better": "cases on which that of b is",
    "equal": "cases with equal values",
    "rank_a": "exact mean rank of a; 1 is best",
    "rank_b": "exact mean rank of b",
    "nemenyi": "whether the mean ranks are Nemenyi's critical difference apart, at 5 %",
    "p": "float: Wilcoxon's signed-rank test of the shares of OPT, two-sided",
    "p_holm": "float: the same with Holm's correction for all pairs",
}
"""Columns of significance.csv."""
PAIRED = (
    "Paired: all algorithms are run on the same cases, and only differences within a case count, so that easy and hard "
    "cases do not hide them."
)
CHOSEN = (
    "The cases are chosen, not drawn at random. A p-value says how often differences as regular as these would arise "
    "if on each case chance alone decided which is ahead; it says nothing of cases unlike these. Cases from one "
    "generator or trace resemble each other, and count as if they did not."
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two algorithms, the first with the better mean rank; fields as `COLUMNS`."""

    a: str
    b: str
    a_better: int
    b_better: int
    equal: int
    rank_a: Fraction
    rank_b: Fraction
    nemenyi: bool
    p: float
    p_holm: float

    @property
    def differs(self) -> bool:
        """Whether Wilcoxon's test with Holm's correction tells them apart."""
        return self.p_holm <= ALPHA


@dataclass(frozen=True)
class Significance:
    """The tests over the cases that all compared algorithms have.

    Parameters
    ----------
    algorithms : those that are compared, in the order of the suite.
    left_out : algorithms that were not to run on all of these cases.
    skipped : cases that are not compared, since a run is missing, or no algorithm has a valid run.
    counterexamples : cases that are not compared, since they were searched for against one algorithm.
    needed : the least number of cases from which on two of so many algorithms can differ significantly.
    overall : Friedman's test; None with too few cases.
    distance : Nemenyi's critical difference.
    pairs : all pairs; empty with too few cases.
    """

    algorithms: Sequence[str]
    left_out: Sequence[str]
    cases: int
    skipped: int
    counterexamples: int
    needed: int
    overall: Friedman | None
    distance: float
    pairs: Sequence[Pair]

    @property
    def is_enough(self) -> bool:
        """Whether there are enough cases to conclude anything."""
        return self.cases >= self.needed

    @property
    def ranked(self) -> list[tuple[str, Fraction]]:
        """The algorithms with their mean ranks, the best first."""
        ranks = [] if self.overall is None else zip(self.algorithms, self.overall.mean_ranks, strict=True)
        return sorted(ranks, key=lambda each: each[1])

    def conclusion(self) -> list[str]:
        """What the tests say, in sentences."""
        count = len(self.algorithms)
        size = f"N = {self.cases} case{'s' * (self.cases != 1)}, {count} algorithms"
        if self.counterexamples:
            size += f" (without {self.counterexamples} counterexamples, each found by a search against one algorithm)"
        if self.overall is None:
            return [
                f"{size}: too few cases, nothing can be concluded. With {count} algorithms Wilcoxon's test needs "
                f"{self.needed} cases to find any two different, even if one of them is better on every case."
            ]
        p = self.overall.p_value
        first = (
            f"{size}. Friedman's test: chi-square {self.overall.statistic:.2f} with {count - 1} degree"
            f"{'s' * (count > 2)} of freedom, {p_text(p)}"
        )
        if p > ALPHA:
            return [
                f"{first}: equal quality of all algorithms is not refuted. No difference of a pair can be concluded."
            ]
        told = sum(pair.differs for pair in self.pairs)
        apart = sum(pair.nemenyi for pair in self.pairs)
        pairs = f"{len(self.pairs)} pair{'s' * (len(self.pairs) != 1)}"
        return [
            f"{first}: not all algorithms are equally good.",
            f"Of {pairs}, {told} differ by Wilcoxon's signed-rank test with Holm's correction, and {apart} by "
            f"Nemenyi's test (mean ranks at least {self.distance:.2f} apart), both at 5 % over all pairs.",
        ]


def p_text(value: float) -> str:
    """A p-value for reading."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def find_significance(found: Results) -> Significance | None:
    """Test the results of a folder; None with a single case or algorithm, or before anything has run."""
    comparison = compare_runs(found)
    return None if comparison is None else take_significance(comparison)


def take_significance(comparison: Comparison) -> Significance | None:
    """Test the algorithms that were to run on most cases, over the cases that all of them have.

    Ranks are by exact values, those of invalid and failed runs below all others. Wilcoxon's test takes the shares of
    OPT that are certainly reached, which have the same bound within a case; such a run has a share of 0.
    """
    cases = [case for case in comparison.cases if case not in comparison.counterexamples]
    against = len(comparison.cases) - len(cases)
    planned = {name: sum((case, name) in comparison.outcomes for case in cases) for name in comparison.algorithms}
    most = max(planned.values())
    names = [name for name in comparison.algorithms if planned[name] == most]
    if len(names) < 2 or not cases:
        return None
    keys: list[list[int]] = []
    shares: list[list[Fraction | None]] = []
    skipped = 0
    for case in cases:
        outcomes = [comparison.outcomes.get((case, name)) for name in names]
        known = [each for each in outcomes if each is not None and each.state != "missing"]
        if len(known) < len(names) or all(each.value is None for each in known):
            skipped += 1
            continue
        places = rank_values(comparison, case)
        keys.append([places.get(name, len(places)) for name in names])
        shares.append([each.part if each.value is not None else Fraction(0) for each in known])
    needed, left_out = least_cases(len(names)), [name for name in comparison.algorithms if name not in names]
    if len(keys) < needed:
        return Significance(names, left_out, len(keys), skipped, against, needed, None, 0.0, ())
    overall = friedman(keys)
    distance = critical_difference(len(names), len(keys))
    pairs = _test_pairs(names, keys, shares, overall, distance)
    return Significance(names, left_out, len(keys), skipped, against, needed, overall, distance, pairs)


def _test_pairs(
    names: Sequence[str],
    keys: Sequence[Sequence[int]],
    shares: Sequence[Sequence[Fraction | None]],
    overall: Friedman,
    distance: float,
) -> list[Pair]:
    ranks = overall.mean_ranks
    order = sorted(range(len(names)), key=ranks.__getitem__)
    found: list[Pair] = []
    for i, j in combinations(order, 2):
        pairs = [(row[i], row[j]) for row in shares]
        p = signed_rank_test([a - b for a, b in pairs if a is not None and b is not None])
        better, worse = sum(row[i] < row[j] for row in keys), sum(row[i] > row[j] for row in keys)
        found.append(
            Pair(
                names[i], names[j], better, worse, len(keys) - better - worse, ranks[i], ranks[j],
                float(ranks[j] - ranks[i]) >= distance, p, 1.0,
            )
        )  # fmt: skip
    adjusted = adjust_holm([pair.p for pair in found])
    return [replace(pair, p_holm=p) for pair, p in zip(found, adjusted, strict=True)]


def make_frame(found: Significance) -> pd.DataFrame:
    """The pairs as significance.csv has them."""
    cells = [[found.cases if name == "cases" else getattr(pair, name) for name in COLUMNS] for pair in found.pairs]
    return pd.DataFrame(cells, columns=list(COLUMNS), dtype=object)


def list_pairs(found: Significance) -> Table:
    """The pairs as a table of the page."""
    head = ["A", "B", "A better", "B better", "equal", "mean rank A", "mean rank B"]
    head += ["Nemenyi", "Wilcoxon p", "p, Holm", "differ"]
    body: list[list[Cell]] = []
    for pair in found.pairs:
        counts = [count_cell(each) for each in (pair.a_better, pair.b_better, pair.equal)]
        ranks = [make_cell(f"{float(each):.2f}", sort=each, numeric=True) for each in (pair.rank_a, pair.rank_b)]
        values = [make_cell(f"{each:.2g}", sort=each, numeric=True) for each in (pair.p, pair.p_holm)]
        words = make_cell("yes" if pair.nemenyi else "no"), make_cell("yes" if pair.differs else "no")
        body.append([make_cell(pair.a), make_cell(pair.b), *counts, *ranks, words[0], *values, words[1]])
    return Table("Tests of pairs", head, body, folded=f"All {len(body)} pairs as a table")


def find_cliques(ranks: Sequence[Fraction], distance: float) -> list[tuple[int, int]]:
    """The largest groups of neighbours, by places in `ranks` (ascending), that are not the distance apart."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(
            place
            for place in range(first, len(ranks))
            if float(ranks[place] - ranks[first]) < distance or place == first
        )
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def draw_critical_difference(found: Significance) -> str:
    """The critical-difference diagram (Demsar, 2006, figure 1): mean ranks on a line, the best at its right.

    Thick bars join algorithms whose mean ranks are not a critical difference apart.
    """
    ranked = found.ranked
    cliques = find_cliques([rank for _, rank in ranked], found.distance)
    texts = [f"{float(rank):.2f}  {name}" for name, rank in ranked]
    right = min(ALONE * 0.55, measure_widest(texts) + 14)
    line = 50.0
    first = line + 14 + 7 * len(cliques)
    drawing = Drawing("Critical-difference diagram", ALONE, first + LINE * 1.25 * len(ranked) + 6)
    x = Axis(1, len(ranked)).scale(ALONE - right - 14, 16)
    drawing.line("axis", (x(1), line), (x(len(ranked)), line))
    for tick in range(1, len(ranked) + 1):
        drawing.line("axis", (x(tick), line - 4), (x(tick), line))
        drawing.text(x(tick), line - 10, str(tick), "middle")
    drawing.text(x(1), line + 0.5 - 26, "mean rank (1 is best)", "end")
    length = min(found.distance, len(ranked) - 1)
    left = x(len(ranked))
    end = left + abs(x(1 + length) - x(1))
    with drawing.mark(f"critical difference {found.distance:.3g} at 5 %, N = {found.cases} cases"):
        drawing.line("axis", (left, 14), (end, 14))
        for place in (left, end):
            drawing.line("axis", (place, 11), (place, 17))
        drawing.text(left, 6, f"critical difference {found.distance:.2f}")
    for place, ((name, rank), text) in enumerate(zip(ranked, texts, strict=True)):
        y = first + LINE * 1.25 * (place + 0.5)
        with drawing.mark(f"{name}: mean rank {float(rank):.4g}", name):
            drawing.line("axis", (x(float(rank)), line), (x(float(rank)), y), (ALONE - right - 2, y))
            drawing.dot("dot", x(float(rank)), line, 2.5)
            drawing.text(ALONE - right, y, text, css="name")
    for place, (best, worst) in enumerate(cliques):
        y = line + 8 + 7 * place
        ends = [x(float(ranked[each][1])) for each in (best, worst)]
        names = ", ".join(name for name, _ in ranked[best : worst + 1])
        with drawing.mark(f"not told apart: {names}"):
            drawing.line("thick", (ends[0] + 2, y), (ends[1] - 2, y))
    return drawing.render()


def significance_text(found: Significance) -> str:
    """What a terminal shows: the conclusion, and the tests of the algorithm with the best mean rank."""
    lines = ["Significance (paired over cases, N is the number of cases):"]
    lines += [
        part for each in found.conclusion() for part in wrap(each, 116, initial_indent="  ", subsequent_indent="  ")
    ]
    if found.overall is not None and len(found.pairs) and found.overall.p_value <= ALPHA:
        best = found.ranked[0][0]
        rows = [
            {
                "algorithm": pair.b,
                "Against": best,
                "worse": str(pair.a_better),
                "better": str(pair.b_better),
                "equal": str(pair.equal),
                "p (Holm)": f"{pair.p_holm:.2g}",
                "differ": "yes" if pair.differs else "no",
            }
            for pair in found.pairs
            if pair.a == best
        ]
        lines.append(align_columns(rows, indent="  ").rstrip())
    return "\n".join(lines) + "\n"
