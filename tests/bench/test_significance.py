"""Tests of significance: against published tables and examples, plain enumeration, scipy where it is installed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import pytest

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.compare.algorithms import Comparison, Outcome
from ratiobench.bench.report.compare.significance import (
    COLUMNS,
    Significance,
    draw_critical_difference,
    find_cliques,
    make_frame,
    significance_text,
    take_significance,
)
from ratiobench.bench.results.significance import (
    adjust_holm,
    chi_square_tail,
    critical_difference,
    critical_value,
    friedman,
    least_cases,
    mid_ranks,
    signed_rank_test,
)
from tests.support.samples import samples

AUC = (
    (0.763, 0.768, 0.771, 0.798), (0.599, 0.591, 0.590, 0.569), (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657), (0.882, 0.888, 0.886, 0.898), (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685), (0.583, 0.583, 0.563, 0.625), (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000), (0.940, 0.962, 0.965, 0.962), (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.975, 0.975), (0.957, 0.978, 0.946, 0.970),
)  # fmt: skip
"""Demsar (2006), Table 6: four variants of C4.5 on 14 data sets; its ranks have more digits (`VOTING`)."""
VOTING = (4, 1, 2, 3)
"""The ranks on the data set voting, where two figures print alike."""


def keys() -> list[Sequence[float]]:
    """What is ranked of Demsar's table: less is better."""
    return [VOTING if row[0] == 0.972 else [-each for each in row] for row in AUC]


def test_the_example_of_demsar() -> None:
    """Mean ranks, the critical differences at 5 and 10 %, and Friedman's statistic, which it prints without ties."""
    found = friedman(keys())
    assert [round(float(each), 3) for each in found.mean_ranks] == [3.143, 2.0, 2.893, 1.964]
    uncorrected = 12 * 14 / (4 * 5) * (sum(float(each) ** 2 for each in found.mean_ranks) - 4 * 5**2 / 4)
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    ties = 6 + 6 + 60 + 6  # t^3 - t of three pairs and of the four that are equal on the data set mushroom
    assert found.statistic == pytest.approx(uncorrected / (1 - ties / (14 * 60)))
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.005)


def test_the_critical_values_are_those_of_the_table() -> None:
    """Demsar (2006), Table 5 (a), two to ten algorithms."""
    five = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)
    ten = (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920)
    for count, (one, other) in enumerate(zip(five, ten, strict=True), 2):
        assert critical_value(count) == pytest.approx(one, abs=0.001)
        assert critical_value(count, 0.10) == pytest.approx(other, abs=0.001)
    for count, alpha in ((1, 0.05), (3, 0.0), (3, 1.0)):
        with pytest.raises(ValueError, match="no critical value"):
            critical_value(count, alpha)


def test_chi_square_has_the_quantiles_of_every_textbook() -> None:
    """The 5 % points of 1 to 5, 10 and 12 degrees of freedom."""
    points = {1: 3.841, 2: 5.991, 3: 7.815, 4: 9.488, 5: 11.070, 10: 18.307, 12: 21.026}
    for freedom, point in points.items():
        assert chi_square_tail(point, freedom) == pytest.approx(0.05, abs=2e-5)
    assert chi_square_tail(0, 3) == 1


@pytest.mark.parametrize("seed", range(samples(20)))
def test_signed_ranks_are_those_of_all_signs(seed: int) -> None:
    """With ties and zeros: the share of all signs with a sum at least as far from the mean."""
    chance = random.Random(seed)
    given = [Fraction(chance.randint(-4, 6), chance.choice([1, 2])) for _ in range(9)]
    signed = [each for each in given if each]
    ranks = mid_ranks([abs(each) for each in signed])
    middle = sum(ranks, Fraction(0)) / 2
    far = abs(sum((rank for rank, each in zip(ranks, signed, strict=True) if each > 0), Fraction(0)) - middle)
    count = 0
    for signs in itertools.product((0, 1), repeat=len(ranks)):
        count += abs(sum((sign * rank for sign, rank in zip(signs, ranks, strict=True)), Fraction(0)) - middle) >= far
    assert signed_rank_test(given) == pytest.approx(count / 2 ** len(ranks))


def test_signed_ranks_have_the_critical_values_of_wilcoxon() -> None:
    """Two-sided 5 %: T <= 0, 8 and 21 of 6, 10 and 14 differences are significant, the next larger T is not."""
    for count, critical in ((6, 0), (10, 8), (14, 21)):
        for least, significant in ((critical, True), (critical + 1, False)):
            left, signs = least, [1] * count
            for rank in range(count, 0, -1):
                if rank <= left:
                    left, signs[rank - 1] = left - rank, -1
            assert not left
            found = signed_rank_test([Fraction(sign * rank) for rank, sign in enumerate(signs, 1)])
            assert (found <= 0.05) is significant
    assert signed_rank_test([]) == signed_rank_test([Fraction(0)] * 9) == 1


def test_holm_adjusts_step_by_step() -> None:
    """By hand: 4 x 0.01, 3 x 0.02, and what follows is never smaller."""
    assert adjust_holm([0.04, 0.01, 0.02, 0.9]) == pytest.approx([0.08, 0.04, 0.06, 0.9])
    assert adjust_holm([0.03, 0.031]) == pytest.approx([0.06, 0.06])
    assert adjust_holm([]) == []


def test_scipy_agrees() -> None:
    """Where it is installed."""
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(3)
    rows = [[chance.randint(0, 5) for _ in range(6)] for _ in range(11)]
    found, known = friedman(rows), stats.friedmanchisquare(*zip(*rows, strict=True))
    assert (found.statistic, found.p_value) == pytest.approx((known.statistic, known.pvalue))
    given = [Fraction(chance.randint(-900, 1000), 7) for _ in range(25)]
    assert signed_rank_test(given) == pytest.approx(stats.wilcoxon(list(map(float, given)), method="exact").pvalue)
    many = [Fraction(chance.randint(-900, 1000), 7) for _ in range(90)]
    known = stats.wilcoxon(list(map(float, many)), method="approx", correction=False)
    assert signed_rank_test(many) == pytest.approx(known.pvalue)


def test_too_few_cases_are_those_on_which_the_clearest_win_says_nothing() -> None:
    """One is better on every case: below the least number no pair differs, from it on one does."""
    for count in (2, 3, 5, 13):
        least, pairs = least_cases(count), count * (count - 1) // 2
        assert pairs * signed_rank_test([Fraction(k) for k in range(1, least)]) > 0.05
        assert pairs * signed_rank_test([Fraction(k) for k in range(1, least + 1)]) <= 0.05


def comparison(cases: int, shares: dict[str, Any], sense: Sense = Sense.MOST) -> Comparison:
    """Algorithms with the same bound of 1000 on every case; `shares`: by name, a function of the case's number."""
    outcomes = {}
    for name, share in shares.items():
        for number in range(cases):
            part = share(number)
            value = None if part is None else 1000 * part if sense is Sense.MOST else 1000 / part
            outcomes[f"case {number}", name] = Outcome("invalid" if part is None else "ok", value, part, "")
    return Comparison([f"case {number}" for number in range(cases)], list(shares), outcomes, sense)


def shares(number: int, base: int) -> Fraction:
    """Different on every case, ordered by `base`."""
    return Fraction(base + number, 100)


def three_algorithms(cases: int, sense: Sense = Sense.MOST) -> Significance:
    """`good` is better than `middle`, and that than `<bad>`, which is invalid on the first case."""
    found = take_significance(
        comparison(
            cases,
            {
                "<bad>": lambda k: None if k == 0 else shares(k, 10),
                "good": lambda k: shares(2 * k, 60),
                "middle": lambda k: shares(k, 30),
            },
            sense,
        )
    )
    assert found is not None
    return found


@pytest.mark.parametrize("sense", Sense)
def test_what_is_better_on_every_case_differs(sense: Sense) -> None:
    """Of both senses; invalid runs rank last; the diagram, the table and the text name what the tests found."""
    found = three_algorithms(12, sense)
    assert [name for name, _ in found.ranked] == ["good", "middle", "<bad>"]
    assert [rank for _, rank in found.ranked] == [1, 2, 3]
    assert all(pair.differs and pair.a_better == 12 for pair in found.pairs)
    assert [pair.nemenyi for pair in found.pairs] == [True, True, True]
    text = " ".join(significance_text(found).split())
    assert "N = 12 cases, 3 algorithms" in text
    assert "Of 3 pairs, 3 differ by Wilcoxon's" in text
    assert list(make_frame(found).columns) == list(COLUMNS)
    drawing = draw_critical_difference(found)
    titles = [each.text for each in ElementTree.fromstring(drawing).iter("title")]
    assert titles[0].startswith("critical difference 0.957 at 5 %, N = 12 cases")  # type: ignore[union-attr]
    assert titles[1:] == ["good: mean rank 1", "middle: mean rank 2", "<bad>: mean rank 3"]


def test_too_few_cases_conclude_nothing() -> None:
    """The text says so, and how many are needed; there is neither a diagram nor a pair."""
    found = three_algorithms(least_cases(3) - 1)
    assert found.overall is None
    assert not found.pairs
    text = " ".join(significance_text(found).split())
    assert "N = 6 cases, 3 algorithms: too few cases, nothing can be concluded." in text
    assert "needs 7 cases" in text


def test_equal_algorithms_do_not_differ() -> None:
    """Friedman's test does not refute that they are equal; nothing is concluded of pairs."""
    found = take_significance(
        comparison(20, {"a": lambda k: shares(k, 1 + k % 2), "b": lambda k: shares(k, 2 - k % 2)})
    )
    assert found is not None
    assert found.overall is not None
    assert found.overall.p_value == 1
    assert "No difference of a pair can be concluded" in " ".join(significance_text(found).split())
    assert draw_critical_difference(found).count("not told apart: a, b") == 2


def test_cases_that_not_all_have_are_left_out() -> None:
    """An algorithm that was to run on fewer cases is named; a case with a run that is missing is counted."""
    given = comparison(
        14, {name: lambda k, base=base: shares(k, base) for name, base in (("a", 9), ("b", 5), ("c", 1))}
    )
    outcomes = dict(given.outcomes)
    del outcomes["case 3", "c"]
    outcomes["case 5", "a"] = Outcome("missing", None, None, "")
    found = take_significance(Comparison(given.cases, given.algorithms, outcomes, given.sense))
    assert found is not None
    assert (list(found.algorithms), list(found.left_out), found.cases, found.skipped) == (["a", "b"], ["c"], 13, 1)


def test_counterexamples_against_one_algorithm_do_not_count() -> None:
    """What was searched for to make an algorithm look bad is no sample; the text says how many cases that are."""
    given = comparison(14, {"a": lambda k: shares(k, 9), "b": lambda k: shares(k, 5 if k < 12 else 50)})
    every = take_significance(given)
    found = take_significance(replace(given, counterexamples={"case 12", "case 13"}))
    assert every is not None
    assert found is not None
    assert (every.cases, every.pairs[0].b_better) == (14, 2)
    assert (found.cases, found.counterexamples, found.pairs[0].b_better) == (12, 2, 0)
    assert "(without 2 counterexamples, each found by a search against one algorithm)" in found.conclusion()[0]
    assert take_significance(replace(given, counterexamples=set(given.cases))) is None


def test_bars_join_the_largest_groups() -> None:
    """Neighbours less than the distance apart; no bar within another, none for one algorithm."""
    ranks = [Fraction(each) for each in ("1", "1.5", "2.4", "4", "4.9")]
    assert find_cliques(ranks, 1.0) == [(0, 1), (1, 2), (3, 4)]
    assert find_cliques(ranks, 10.0) == [(0, 4)]
    assert find_cliques(ranks, 0.1) == []
