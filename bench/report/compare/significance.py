"""Which algorithms differ over the cases: Wilcoxon's signed-rank test of each pair, with Holm's correction.

The algorithms are paired: all of them are run on the same cases. Sources: Demsar, Statistical comparisons of
classifiers over multiple data sets, JMLR 7 (2006), 1-30; Holm, A simple sequentially rejective multiple test procedure,
Scandinavian Journal of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from textwrap import wrap
from typing import Any

import pandas as pd

from ratiobench.bench.report.compare.algorithms import Comparison, compare_runs, rank_values
from ratiobench.bench.report.shared.cells import Cell, Table, count_cell, make_cell
from ratiobench.bench.report.shared.text import align_columns
from ratiobench.bench.results.read import Results

ALPHA = 0.05  # Level over all pairs: the chance to call any two different that are not
EXACT_CASES = 60  # Differences up to which Wilcoxon's test is exact; of more it takes the normal distribution
# Columns of significance.csv
COLUMNS = {
    "a": "name with options of the algorithm with the better mean rank",
    "b": "the other one",
    "cases": "N, cases that all compared algorithms have",
    "a_better": "cases on which the value of a is better, exactly",
    "b_better": "cases on which that of b is",
    "equal": "cases with equal values",
    "rank_a": "exact mean rank of a; 1 is best",
    "rank_b": "exact mean rank of b",
    "p": "float: Wilcoxon's signed-rank test of the shares of OPT, two-sided",
    "p_holm": "float: the same with Holm's correction for all pairs",
}
PAIRED = (
    "Paired: all algorithms are run on the same cases, and only differences within a case count, so that easy and hard "
    "cases do not hide them."
)
CHOSEN = (
    "The cases are chosen, not drawn at random. A p-value says how often differences as regular as these would arise "
    "if on each case chance alone decided which is ahead; it says nothing of cases unlike these. Cases from one "
    "generator or trace resemble each other, and count as if they did not."
)


def mid_ranks(keys: Sequence[Any]) -> list[Fraction]:
    """The ranks of keys, 1 for the least; equal keys share the mean of their ranks."""
    counts = Counter(keys)
    below, ranks = 0, {}
    for key in sorted(counts):
        ranks[key] = Fraction(2 * below + counts[key] + 1, 2)
        below += counts[key]
    return [ranks[key] for key in keys]


def signed_rank_test(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test; differences of 0 are left out."""
    signed = [each for each in differences if each]
    if not signed:
        return 1.0
    doubled = [int(2 * rank) for rank in mid_ranks([abs(each) for each in signed])]
    total = sum(doubled)
    positive = sum(rank for rank, each in zip(doubled, signed, strict=True) if each > 0)
    least = min(positive, total - positive)
    if len(signed) > EXACT_CASES:
        deviation = math.sqrt(sum(rank * rank for rank in doubled)) / 2
        return min(1.0, math.erfc((total / 2 - least) / deviation / math.sqrt(2)))
    ways = [1] + [0] * total
    for rank in doubled:
        for place in range(total, rank - 1, -1):
            ways[place] += ways[place - rank]
    return float(min(Fraction(1), Fraction(2 * sum(ways[: least + 1]), 2 ** len(signed))))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: those below a level differ at this level, whatever is true of the others."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = largest
    return adjusted


def least_cases(count: int) -> int:
    """The least number of cases from which on the test can tell two of k algorithms apart at all.

    With fewer, it is not significant with Holm's correction even if one of them is better on every case.
    """
    pairs = count * (count - 1) // 2
    cases = 1
    while Fraction(2 * pairs, 2**cases) > Fraction(ALPHA):
        cases += 1
    return cases


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
    p: float
    p_holm: float

    @property
    def differs(self) -> bool:
        """Whether the test with Holm's correction tells them apart."""
        return self.p_holm <= ALPHA


@dataclass(frozen=True)
class Significance:
    """The tests over the cases that all compared algorithms have."""

    algorithms: Sequence[str]  # those that are compared, in the order of the suite
    left_out: Sequence[str]  # algorithms that were not to run on all of these cases
    cases: int
    skipped: int  # cases that are not compared, since a run is missing, or no algorithm has a valid run
    counterexamples: int  # cases that are not compared, since they were searched for against one algorithm
    pairs: Sequence[Pair]  # all pairs, those of the algorithm with the best mean rank first; empty with too few cases

    def conclusion(self) -> str:
        """What the tests say, in a sentence or two."""
        count = len(self.algorithms)
        size = f"N = {self.cases} case{'s' * (self.cases != 1)}, {count} algorithms"
        if self.counterexamples:
            size += f" (without {self.counterexamples} counterexamples, each found by a search against one algorithm)"
        if not self.pairs:
            return (
                f"{size}: too few cases, nothing can be concluded. With {count} algorithms Wilcoxon's test needs "
                f"{least_cases(count)} cases to find any two different, even if one of them is better on every case."
            )
        different = sum(pair.differs for pair in self.pairs)
        return (
            f"{size}. Of {len(self.pairs)} pair{'s' * (len(self.pairs) != 1)}, {different} differ by Wilcoxon's "
            "signed-rank test with Holm's correction, at 5 % over all pairs."
        )


def find_significance(found: Results) -> Significance | None:
    """Test the results of a folder; None with a single case or algorithm, or before anything has run."""
    comparison = compare_runs(found)
    return None if comparison is None else take_significance(comparison)


def take_significance(comparison: Comparison) -> Significance | None:
    """Test the algorithms that were to run on most cases, over the cases that all of them have.

    Ranks are by exact values, those of invalid and failed runs below all others. Wilcoxon's test takes the shares of
    OPT that are certainly reached, which have the same bound within a case; such a run has a share of 0.
    """
    cases = comparison.cases
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
    left_out = [name for name in comparison.algorithms if name not in names]
    pairs = _test_pairs(names, keys, shares) if len(keys) >= least_cases(len(names)) else []
    return Significance(names, left_out, len(keys), skipped, comparison.counterexamples, pairs)


def _test_pairs(
    names: Sequence[str], keys: Sequence[Sequence[int]], shares: Sequence[Sequence[Fraction | None]]
) -> list[Pair]:
    columns = zip(*map(mid_ranks, keys), strict=True)
    ranks = [sum(column, Fraction(0)) / len(keys) for column in columns]
    order = sorted(range(len(names)), key=ranks.__getitem__)
    pairs: list[Pair] = []
    for i, j in combinations(order, 2):
        values = [(row[i], row[j]) for row in shares]
        p = signed_rank_test([a - b for a, b in values if a is not None and b is not None])
        better, worse = sum(row[i] < row[j] for row in keys), sum(row[i] > row[j] for row in keys)
        equal = len(keys) - better - worse
        pairs.append(Pair(names[i], names[j], better, worse, equal, ranks[i], ranks[j], p, 1.0))
    adjusted = adjust_holm([pair.p for pair in pairs])
    return [replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True)]


def make_frame(found: Significance) -> pd.DataFrame:
    """The pairs as significance.csv has them."""
    cells = [[found.cases if name == "cases" else getattr(pair, name) for name in COLUMNS] for pair in found.pairs]
    return pd.DataFrame(cells, columns=list(COLUMNS), dtype=object)


def list_pairs(found: Significance) -> Table:
    """The pairs as a table of the page."""
    head = ["A", "B", "A better", "B better", "equal", "mean rank A", "mean rank B", "Wilcoxon p", "p, Holm", "differ"]
    body: list[list[Cell]] = []
    for pair in found.pairs:
        counts = [count_cell(each) for each in (pair.a_better, pair.b_better, pair.equal)]
        ranks = [make_cell(f"{float(each):.2f}", sort=each, numeric=True) for each in (pair.rank_a, pair.rank_b)]
        values = [make_cell(f"{each:.2g}", sort=each, numeric=True) for each in (pair.p, pair.p_holm)]
        differ = make_cell("yes" if pair.differs else "no")
        body.append([make_cell(pair.a), make_cell(pair.b), *counts, *ranks, *values, differ])
    return Table("Tests of pairs", head, body, folded=f"All {len(body)} pairs as a table")


def significance_text(found: Significance) -> str:
    """What a terminal shows: the conclusion, and the tests of the algorithm with the best mean rank."""
    lines = ["Significance (paired over cases, N is the number of cases):"]
    lines += wrap(found.conclusion(), 116, initial_indent="  ", subsequent_indent="  ")
    if found.pairs:
        best = found.pairs[0].a
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
