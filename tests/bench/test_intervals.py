"""Means and their intervals: quantiles against printed tables and against the density, Fieller by its definition."""

import math
import random
import statistics
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.results.intervals import improvement, mean, quantile
from tests.support.samples import samples

# Two-sided 95 % points as tables print them.
TABLE = {
    1: 12.706205,
    2: 4.302653,
    3: 3.182446,
    4: 2.776445,
    5: 2.570582,
    7: 2.364624,
    10: 2.228139,
    15: 2.131450,
    20: 2.085963,
    30: 2.042272,
    60: 2.000298,
    120: 1.979930,
}
FIGURES = st.lists(st.integers(1, 10**6).map(Fraction), min_size=2, max_size=8)


@pytest.mark.parametrize(("freedom", "printed"), TABLE.items())
def test_quantiles_are_those_of_the_tables(freedom: int, printed: float) -> None:
    assert quantile(freedom) == pytest.approx(printed, abs=6e-7)


def test_other_confidences_and_many_degrees_of_freedom() -> None:
    """99 % and 90 % points of tables; with many degrees of freedom it is the normal distribution's."""
    assert quantile(4, 0.99) == pytest.approx(4.604095, abs=6e-7)
    assert quantile(9, 0.99) == pytest.approx(3.249836, abs=6e-7)
    assert quantile(7, 0.9) == pytest.approx(1.894579, abs=6e-7)
    assert quantile(200_000) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), rel=1e-5)


@pytest.mark.parametrize("freedom", [1, 2, 3, 6, 11, 48])
def test_the_density_between_the_quantiles_integrates_to_the_confidence(freedom: int) -> None:
    """Simpson's rule over Student's density, which the quantile is not computed from."""
    scale = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
    end, steps = quantile(freedom), 4000
    values = [
        scale * (1 + (end * (2 * step / steps - 1)) ** 2 / freedom) ** (-(freedom + 1) / 2) for step in range(steps + 1)
    ]
    weights = [1, *[4, 2] * (steps // 2 - 1), 4, 1]
    total = sum(weight * value for weight, value in zip(weights, values, strict=True)) * 2 * end / steps / 3
    assert total == pytest.approx(0.95, abs=1e-9)


def test_quantiles_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        quantile(0)
    with pytest.raises(ValueError, match="confidence"):
        quantile(3, 1.0)


def test_a_mean_is_exact_and_its_interval_is_that_of_the_textbook() -> None:
    """Five figures, computed by hand: mean 6, s = sqrt(2.5), t = 2.776445."""
    found = mean([Fraction(value) for value in (4, 5, 6, 7, 8)])
    assert found.mean == 6
    assert found.cases == 5
    assert found.low == pytest.approx(6 - 2.776445 * math.sqrt(2.5 / 5), abs=1e-6)
    assert found.high == pytest.approx(6 + 2.776445 * math.sqrt(2.5 / 5), abs=1e-6)
    assert mean([Fraction(1, 3), Fraction(1, 7)]).mean == Fraction(5, 21)


def test_one_figure_has_no_interval_and_none_has_no_mean() -> None:
    assert (mean([Fraction(3)]).mean, mean([Fraction(3)]).low, mean([Fraction(3)]).high) == (3, None, None)
    assert mean([]).mean is None
    assert improvement([Fraction(3)], [Fraction(2)]).mean == 50
    assert improvement([Fraction(3)], [Fraction(2)]).low is None
    assert improvement([], []).mean is None


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """3,000 samples of five normal figures: the mean's interval and the ratio's cover in 95 % of them, within 1.5 %."""
    draw = random.Random(5)
    covered = ratios = 0
    for _ in range(3000):
        others = [Fraction(draw.gauss(10, 1)) for _ in range(5)]
        ours = [other * 2 + Fraction(draw.gauss(0, 1)) for other in others]
        found = mean(others)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 10 <= found.high
        better = improvement(ours, others)
        ratios += better.low is not None and better.high is not None and better.low <= 100 <= better.high
    assert abs(covered / 3000 - 0.95) < 0.015
    assert abs(ratios / 3000 - 0.95) < 0.015


@settings(max_examples=samples(60), deadline=None)
@given(FIGURES, st.data())
def test_fieller_intervals_are_the_ratios_that_a_paired_test_accepts(ours: list[Fraction], data: st.DataObject) -> None:
    """At both ends the paired differences are just at the limit of Student's t; the exact ratio lies between."""
    others = data.draw(st.lists(st.integers(1, 10**6).map(Fraction), min_size=len(ours), max_size=len(ours)))
    found = improvement(ours, others)
    assert found.mean == 100 * (sum(ours) / sum(others) - 1)
    count, limit = len(ours), quantile(len(ours) - 1)

    def excess(percent: float) -> float:
        ratio = 1 + percent / 100
        differences = [float(a) - ratio * float(b) for a, b in zip(ours, others, strict=True)]
        return abs(statistics.fmean(differences)) - limit * statistics.stdev(differences) / math.sqrt(count)

    if found.low is None or found.high is None:
        assert excess(1e12) < 0 or excess(-1e12) < 0  # no ratio is too large to be accepted
        return
    assert found.low - 1e-9 <= float(found.mean) <= found.high + 1e-9
    size = max(map(float, [*ours, *others])) * (1 + max(abs(found.low), abs(found.high)) / 100)
    assert abs(excess(found.low)) < 1e-6 * size
    assert abs(excess(found.high)) < 1e-6 * size


def test_percentages_of_nothing_are_not_given() -> None:
    assert improvement([Fraction(3), Fraction(4)], [Fraction(-2), Fraction(1)]).mean is None
    assert improvement([Fraction(3), Fraction(4)], [Fraction(0), Fraction(0)]).mean is None
    with pytest.raises(ValueError, match="shorter"):
        improvement([Fraction(3)], [])
