"""Algorithms against each other over the cases of a run: performance profile, wins of one's own, tests of pairs.

Sources: Dolan and Moré, Benchmarking optimization software with performance profiles (2002); Demšar, Statistical
comparisons of classifiers over multiple data sets, JMLR 7 (2006), 1-30; Holm, A simple sequentially rejective multiple
test procedure, Scandinavian Journal of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from textwrap import wrap
from typing import Any

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import COUNTEREXAMPLES
from ratiobench.bench.report.pictures import Picture, draw_profile
from ratiobench.bench.results.ratios import format_decimal, is_better
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
    def algorithms(self) -> list[str]:
        return list(dict.fromkeys(algorithm for _, algorithm in self.rows))

    @cached_property
    def names(self) -> dict[str, str]:
        return {row.algorithm: row.name for row in self.rows.values()}

    @cached_property
    def values(self) -> dict[tuple[str, str], Fraction]:
        valid = {key: row for key, row in self.rows.items() if row.state == "ok" and row.welfare is not None}
        return {key: Fraction(row.welfare) for key, row in valid.items()}

    @cached_property
    def best(self) -> dict[str, Fraction]:
        best: dict[str, Fraction] = {}
        for (case, _), value in self.values.items():
            if case not in best or is_better(value, best[case], self.sense):
                best[case] = value
        return best

    def rows_of(self, algorithm: str) -> list[Row]:
        """The rows of an algorithm that have run: on these its profile counts."""
        rows = [row for (_, name), row in self.rows.items() if name == algorithm]
        return [row for row in rows if row.state != "missing"]

    def factors(self, algorithm: str) -> list[Fraction]:
        """How many times the algorithm's valid runs are behind the best of their cases, exactly, in ascending order."""
        factors = []
        for (case, name), value in self.values.items():
            best = self.best[case]
            if name == algorithm and value == best:
                factors.append(Fraction(1))
            elif name == algorithm and value > 0 and best > 0:  # a quotient says nothing of other values
                factors.append(best / value if self.sense is Sense.MOST else value / best)
        return sorted(factors)


def compare_runs(results: Results) -> Comparison | None:
    every = results.first_records
    rows = {(row.case, row.algorithm): row for row in every if row.group != COUNTEREXAMPLES}
    left_out = {row.case for row in every if row.group == COUNTEREXAMPLES}
    comparison = Comparison(rows, results.sense, len(left_out))
    if len(comparison.cases) < 2 or len(comparison.algorithms) < 2 or not comparison.best:
        return None
    return comparison


def draw_profiles(comparison: Comparison) -> Picture:
    ran = {name: len(comparison.rows_of(name)) for name in comparison.algorithms}
    drawn = {comparison.names[name]: name for name, count in ran.items() if count}
    factors = {called: list(map(float, comparison.factors(name))) for called, name in drawn.items()}
    cases = {called: ran[name] for called, name in drawn.items()}
    draw = partial(draw_profile, profiles=factors, cases=cases)
    return Picture("Performance profile", draw, max(3.2, 0.8 + 0.15 * len(drawn)), "profile")


def list_profiles(comparison: Comparison) -> Lines:
    """The profiles as a table; unbounded are valid runs without a positive value on cases with a better one."""
    planned, lines = Counter(name for _, name in comparison.rows), []
    for name in comparison.algorithms:
        rows, factors = comparison.rows_of(name), comparison.factors(name)
        valid = sum((row.case, name) in comparison.values for row in rows)
        line = {"algorithm": comparison.names[name], "cases": str(len(rows)), "best": str(factors.count(Fraction(1)))}
        line |= {f"within {float(most):g}": str(sum(factor <= most for factor in factors)) for most in FACTORS}
        line["largest factor"] = format_decimal(factors[-1], up=True) if factors else "-"
        line |= {"unbounded": str(valid - len(factors)), "invalid or failed": str(len(rows) - valid)}
        lines.append(line | {"not run yet": str(planned[name] - len(rows))})
    return lines


def count_wins(rows: Iterable[Row], sense: Sense) -> Lines:
    """Every user's algorithm against all others on the same cases, by exact values, the strongest of these first."""
    runs: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.group != COUNTEREXAMPLES:
            runs.setdefault(row.algorithm, {})[row.case] = row
    lines = []
    for own in filter(is_user_algorithm, runs):
        against = []
        for other in runs:
            pairs = [(row, runs[other][case]) for case, row in runs[own].items() if case in runs[other]]
            valid = [pair for pair in pairs if all(row.state == "ok" and row.welfare is not None for row in pair)]
            if other == own or not valid:
                continue
            signs = Counter(_compare(*pair, sense) for pair in valid)
            counts = {"better": signs[1], "worse": signs[-1], "equal": signs[0], "undecided": signs[None]}
            counts = {"cases": len(valid), **counts, "left out": len(pairs) - len(valid)}
            line = {"algorithm": valid[0][0].name, "Against": valid[0][1].name}
            against.append((signs[1] - signs[-1], line | {word: str(count) for word, count in counts.items()}))
        lines += [line for _, line in sorted(against, key=lambda pair: pair[0])]
    return lines


def _compare(mine: Row, other: Row, sense: Sense) -> int | None:
    """1, -1 or 0: better, worse or equal; None if the 95 % intervals of means of runs leave it open."""
    ends = []
    for row in (mine, other):
        values = (row.welfare_low, row.welfare_high) if row.is_mean else (row.welfare, row.welfare)
        ends.append([Fraction(value) for value in values if value is not None])
    one, two = ends
    if len(one) < 2 or len(two) < 2:
        return None
    if one == two and one[0] == one[1]:
        return 0
    above = 1 if one[0] > two[1] else -1 if one[1] < two[0] else None
    return above if above is None or sense is Sense.MOST else -above


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
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = largest
    return adjusted


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
    # cases by exact values, exact mean ranks (1 is best), p of Wilcoxon's test of the shares of OPT, two-sided, p with
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

    def lines(self, names: Mapping[str, str]) -> Lines:
        lines = []
        for pair in self.pairs:
            line = {name: str(value) for name, value in pair.items()}
            line |= {side: names.get(pair[side], pair[side]) for side in "AB"}
            line |= {name: f"{float(pair[name]):.2f}" for name in ("mean rank of A", "mean rank of B")}
            lines.append(line | {name: f"{pair[name]:.2g}" for name in ("p", "p (Holm)")})
        return lines

    def text(self, names: Mapping[str, str]) -> str:
        lines = ["Significance (paired over cases, N is the number of cases):"]
        lines += wrap(self.conclusion(), 116, initial_indent="  ", subsequent_indent="  ")
        table = zip(self.pairs, self.lines(names), strict=True)
        best = [line for pair, line in table if pair["A"] == self.pairs[0]["A"]]
        return "\n".join(lines) + "\n" + align_columns(best, indent="  ")


def take_significance(comparison: Comparison) -> Significance | None:
    """Test the algorithms that were to run on most cases, over the cases that all of them have."""
    planned = Counter(algorithm for _, algorithm in comparison.rows)
    most = max(planned.values())
    names = [name for name in comparison.algorithms if planned[name] == most]
    if len(names) < 2:
        return None
    sign = -1 if comparison.sense is Sense.MOST else 1
    ranks: list[list[Fraction]] = []
    shares: list[list[Fraction | None]] = []
    for case in comparison.cases:
        rows = [comparison.rows.get((case, name)) for name in names]
        known = [row for row in rows if row is not None and row.state != "missing"]
        values = [comparison.values.get((case, name)) for name in names]
        if len(known) == len(names) and any(value is not None for value in values):
            ranks.append(mid_ranks([(value is None, sign * (value or 0)) for value in values]))
            shares.append(
                [Fraction(0) if value is None else row.reached for row, value in zip(known, values, strict=True)]
            )
    left_out = [name for name in comparison.algorithms if name not in names]
    pairs = _test_pairs(names, ranks, shares) if len(ranks) >= least_cases(len(names)) else []
    return Significance(names, left_out, len(ranks), comparison.counterexamples, pairs)


def _test_pairs(
    names: Sequence[str], ranks: Sequence[Sequence[Fraction]], shares: Sequence[Sequence[Fraction | None]]
) -> list[dict[str, Any]]:
    means = [sum(column, Fraction(0)) / len(ranks) for column in zip(*ranks, strict=True)]
    pairs = []
    for i, j in itertools.combinations(sorted(range(len(names)), key=means.__getitem__), 2):
        better, worse = sum(row[i] < row[j] for row in ranks), sum(row[i] > row[j] for row in ranks)
        pair: dict[str, Any] = {"A": names[i], "B": names[j], "cases, A better": better, "cases, B better": worse}
        pair |= {"cases, equal": len(ranks) - better - worse, "mean rank of A": means[i], "mean rank of B": means[j]}
        values = [(row[i], row[j]) for row in shares]
        p = signed_rank_test([a - b for a, b in values if a is not None and b is not None])
        pairs.append(pair | {"p": p})
    for pair, p in zip(pairs, adjust_holm([pair["p"] for pair in pairs]), strict=True):
        pair |= {"p (Holm)": p, "differ": "yes" if p <= ALPHA else "no"}
    return pairs
