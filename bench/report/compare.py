"""Algorithms against each other over the cases of a run: performance profile, wins of one's own, tests of pairs.

Sources: Dolan and Moré, Benchmarking optimization software with performance profiles (2002); Demšar, Statistical
comparisons of classifiers over multiple data sets, JMLR 7 (2006), 1-30; Holm, A simple sequentially rejective multiple
test procedure, Scandinavian Journal of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from statistics import fmean
from textwrap import wrap
from typing import Any

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import COUNTEREXAMPLES, PROFILE
from ratiobench.bench.report.pictures import Picture, draw_profile
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import Lines, align_columns, count_text

ALPHA = 0.05  # Level over all pairs: the chance to call any two different that are not
EXACT_CASES = 60  # Differences up to which Wilcoxon's test is exact; of more it takes the normal distribution
FACTORS = tuple(map(Fraction, ("1.05", "1.1", "1.25", "1.5", "2", "5", "10")))  # Those of the profile's table


@dataclass(frozen=True)
class Comparison:
    """The runs of several algorithms on several cases, without counterexamples: each was found against one of them."""

    rows: Mapping[tuple[str, str], Row]  # by case and algorithm, of those that were to run
    sense: Sense
    counterexamples: int = 0  # cases that are not among them

    @cached_property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(case for case, _ in self.rows))

    @cached_property
    def names(self) -> dict[str, str]:
        return {row.algorithm: row.name for row in self.rows.values()}

    @cached_property
    def values(self) -> dict[tuple[str, str], Fraction]:
        valid = {key: row for key, row in self.rows.items() if row.state == "ok" and row.welfare is not None}
        return {key: Fraction(row.welfare) for key, row in valid.items()}

    @cached_property
    def best(self) -> dict[str, Fraction]:
        better = max if self.sense is Sense.MOST else min
        best: dict[str, Fraction] = {}
        for (case, _), value in self.values.items():
            best[case] = better(best.get(case, value), value)
        return best

    def rows_of(self, algorithm: str) -> list[Row]:
        """The rows of an algorithm that have run: on these its profile counts."""
        return [row for (_, name), row in self.rows.items() if name == algorithm and row.state != "missing"]

    def factors(self, algorithm: str) -> list[Fraction]:
        """How many times the algorithm's valid runs are behind the best of their cases, exactly, in ascending order."""
        pairs = [(value, self.best[case]) for (case, name), value in self.values.items() if name == algorithm]
        return sorted(
            Fraction(1) if value == best else max(value / best, best / value)
            for value, best in pairs
            if value == best or (value > 0 and best > 0)  # a quotient says nothing of other values
        )


def compare_runs(results: Results) -> Comparison | None:
    every = results.first_records
    rows = {(row.case, row.algorithm): row for row in every if row.group != COUNTEREXAMPLES}
    left_out = {row.case for row in every if row.group == COUNTEREXAMPLES}
    comparison = Comparison(rows, results.sense, len(left_out))
    is_of_several = min(len(comparison.cases), len(comparison.names)) >= 2
    return comparison if is_of_several and comparison.best else None


def draw_profiles(comparison: Comparison) -> Picture:
    ran = {name: count for name in comparison.names if (count := len(comparison.rows_of(name)))}
    factors = {comparison.names[name]: list(map(float, comparison.factors(name))) for name in ran}
    draw = partial(draw_profile, profiles=factors, cases=dict(zip(factors, ran.values(), strict=True)))
    return Picture("Performance profile", draw, max(3.2, 0.8 + 0.15 * len(ran)), PROFILE)


def list_profiles(comparison: Comparison) -> Lines:
    """The profiles as a table; unbounded are valid runs without a positive value on cases with a better one."""
    planned, lines = Counter(name for _, name in comparison.rows), []
    for name, called in comparison.names.items():
        rows, factors = comparison.rows_of(name), comparison.factors(name)
        valid = sum((row.case, name) in comparison.values for row in rows)
        line = {"algorithm": called, "cases": str(len(rows)), "best": str(factors.count(Fraction(1)))}
        line |= {f"within {float(most):g}": str(sum(factor <= most for factor in factors)) for most in FACTORS}
        line["largest factor"] = format_decimal(factors[-1], up=True) if factors else "-"
        line |= {"unbounded": str(valid - len(factors)), "invalid or failed": str(len(rows) - valid)}
        lines.append(line | {"not run yet": str(planned[name] - len(rows))})
    return lines


def count_wins(comparison: Comparison) -> Lines:
    """Every user's algorithm against all others on the same cases, by exact values, the strongest of these first."""
    rows, values = comparison.rows, comparison.values
    lines: list[dict[str, str]] = []
    for own in filter(is_user_algorithm, comparison.names):
        against = []
        for other in comparison.names:
            both = [case for case in comparison.cases if (case, own) in rows and (case, other) in rows]
            valid = [case for case in both if (case, own) in values and (case, other) in values]
            if other == own or not valid:
                continue
            counts = Counter(_judge(rows[case, own], rows[case, other], comparison.sense) for case in valid)
            line = {"algorithm": comparison.names[own], "Against": comparison.names[other], "cases": str(len(valid))}
            line |= {word: str(counts[word]) for word in ("better", "worse", "equal", "undecided")}
            line["left out"] = str(len(both) - len(valid))
            against.append((counts["better"] - counts["worse"], line))
        lines += [line for _, line in sorted(against, key=lambda pair: pair[0])]
    return lines


def _judge(mine: Row, other: Row, sense: Sense) -> str:
    """How the value of a run compares with another one; of means of runs their 95 % intervals decide."""
    ends: list[Any] = [
        (row.welfare_low, row.welfare_high) if row.is_mean else (row.welfare, row.welfare) for row in (mine, other)
    ]
    (low, high), (least, most) = ends if sense is Sense.MOST else reversed(ends)
    if None in (low, high, least, most):
        return "undecided"
    if low == high == least == most:
        return "equal"
    return "better" if low > most else "worse" if high < least else "undecided"


def mid_ranks(keys: Sequence[Any]) -> list[float]:
    """The ranks of keys, 1 for the least; equal keys share the mean of their ranks."""
    ordered = sorted(keys)
    return [(bisect_left(ordered, key) + bisect_right(ordered, key) + 1) / 2 for key in keys]


def signed_rank_test(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test; differences of 0 are left out."""
    signed = [difference for difference in differences if difference]
    if not signed:
        return 1.0
    doubled = [int(2 * rank) for rank in mid_ranks([abs(difference) for difference in signed])]
    total = sum(doubled)
    positive = sum(rank for rank, difference in zip(doubled, signed, strict=True) if difference > 0)
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
    steps = (min(1.0, (len(p_values) - place) * p_values[number]) for place, number in enumerate(order))
    adjusted = dict(zip(order, itertools.accumulate(steps, max), strict=True))
    return [adjusted[number] for number in range(len(p_values))]


def least_cases(count: int) -> int:
    """From how many cases on the test, with Holm's correction, can tell two of so many algorithms apart at all."""
    pairs = count * (count - 1) // 2
    return next(cases for cases in itertools.count(1) if Fraction(2 * pairs, 2**cases) <= Fraction(ALPHA))


@dataclass(frozen=True)
class Significance:
    algorithms: Sequence[str]  # those that are compared, in the order of the suite
    left_out: Sequence[str]  # algorithms that were not to run on all of these cases
    cases: int
    counterexamples: int
    # all pairs, those of the algorithm with the best mean rank first, A before B; empty with too few cases. Columns:
    # cases by exact values, mean ranks (1 is best), p of Wilcoxon's test of the shares of OPT, two-sided, p with
    # Holm's correction for all pairs, and whether they differ.
    pairs: Sequence[Mapping[str, Any]]

    def conclusion(self) -> str:
        count = len(self.algorithms)
        size = f"N = {count_text(self.cases, 'case')}, {count} algorithms"
        if self.counterexamples:
            size += f" (without {self.counterexamples} counterexamples, each found by a search against one algorithm)"
        if not self.pairs:
            return (
                f"{size}: too few cases, nothing can be concluded. With {count} algorithms Wilcoxon's test needs "
                f"{least_cases(count)} cases to find any two different, even if one of them is better on every case."
            )
        different = sum(pair["differ"] == "yes" for pair in self.pairs)
        return (
            f"{size}. Of {count_text(len(self.pairs), 'pair')}, {different} differ by Wilcoxon's "
            "signed-rank test with Holm's correction, at 5 % over all pairs."
        )

    def lines(self) -> Lines:
        forms = {"mean rank of A": ".2f", "mean rank of B": ".2f", "p": ".2g", "p (Holm)": ".2g"}
        return [{name: format(value, forms.get(name, "")) for name, value in pair.items()} for pair in self.pairs]

    def text(self) -> str:
        lines = ["Significance (paired over cases, N is the number of cases):"]
        lines += wrap(self.conclusion(), 116, initial_indent="  ", subsequent_indent="  ")
        best = [line for line in self.lines() if line["A"] == self.pairs[0]["A"]]
        return "\n".join(lines) + "\n" + align_columns(best, indent="  ")


def take_significance(comparison: Comparison) -> Significance | None:
    """Test the algorithms that were to run on most cases, over the cases that all of them have."""
    planned = Counter(algorithm for _, algorithm in comparison.rows)
    names = [name for name, count in planned.items() if count == max(planned.values())]
    if len(names) < 2:
        return None
    sign = -1 if comparison.sense is Sense.MOST else 1
    ranks: list[list[float]] = []
    shares: list[list[Fraction | None]] = []
    for case in comparison.cases:
        rows = [row for name in names if (row := comparison.rows.get((case, name))) and row.state != "missing"]
        values = [comparison.values.get((case, row.algorithm)) for row in rows]
        if len(rows) == len(names) and any(value is not None for value in values):
            ranks.append(mid_ranks([(value is None, sign * (value or 0)) for value in values]))
            shares.append(
                [Fraction(0) if value is None else row.reached for row, value in zip(rows, values, strict=True)]
            )
    called = [comparison.names[name] for name in names]
    left_out = [comparison.names[name] for name in planned if name not in names]
    means = [fmean(column) for column in zip(*ranks, strict=True)]
    order = sorted(range(len(means)), key=means.__getitem__) if len(ranks) >= least_cases(len(names)) else []
    pairs = []
    for i, j in itertools.combinations(order, 2):
        better, worse = sum(row[i] < row[j] for row in ranks), sum(row[i] > row[j] for row in ranks)
        pair: dict[str, Any] = {"A": called[i], "B": called[j], "cases, A better": better, "cases, B better": worse}
        pair |= {"cases, equal": len(ranks) - better - worse, "mean rank of A": means[i], "mean rank of B": means[j]}
        both = [(row[i], row[j]) for row in shares]
        pairs.append(pair | {"p": signed_rank_test([a - b for a, b in both if a is not None and b is not None])})
    for pair, p in zip(pairs, adjust_holm([pair["p"] for pair in pairs]), strict=True):
        pair |= {"p (Holm)": p, "differ": "yes" if p <= ALPHA else "no"}
    return Significance(called, left_out, len(ranks), comparison.counterexamples, pairs)
