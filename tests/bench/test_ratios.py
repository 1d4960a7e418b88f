"""Competitive ratios: exact intervals, the edge cases of zero and negative welfare, rounding outward."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results.ratios import (
    Kind,
    Ratio,
    beats_bound,
    certain_share,
    format_decimal,
    format_truncated,
    gap,
    interval_text,
    is_better,
    ratio,
    share,
    shortfall,
)

amounts = st.integers(-(10**15), 10**15)
figures = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**9)


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.integers(1, 10**15), st.data())
def test_interval_holds_the_ratio_of_every_opt_in_the_interval(
    low: int, more: int, welfare: int, data: st.DataObject
) -> None:
    """Whatever OPT is between the two ends, OPT/ALG lies in the interval, and the ends are attained."""
    found = ratio(low, low + more, welfare)
    opt = data.draw(st.integers(low, low + more))
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= Fraction(opt, welfare) <= found.upper
    assert found.lower * welfare == low
    assert found.upper * welfare == low + more


@pytest.mark.parametrize(
    ("lower", "upper", "welfare", "expected"),
    [
        (0, 0, 0, Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))),
        (5, 7, 0, Ratio(Kind.UNBOUNDED)),
        (5, 7, -3, Ratio(Kind.UNBOUNDED)),
        (0, 7, 0, Ratio(Kind.UNDEFINED)),
        (0, 7, -3, Ratio(Kind.UNDEFINED)),
        (0, 0, -3, Ratio(Kind.UNDEFINED)),
        (0, 7, 2, Ratio(Kind.INTERVAL, Fraction(0), Fraction(7, 2))),
        (-4, 7, 2, Ratio(Kind.INTERVAL, Fraction(0), Fraction(7, 2))),
        (-4, -1, -2, Ratio(Kind.UNDEFINED)),
        (-2, -2, -2, Ratio(Kind.UNDEFINED)),
        (26, 26, 1, Ratio(Kind.INTERVAL, Fraction(26), Fraction(26))),
    ],
)
def test_zero_and_negative_welfare_are_told_apart(lower: int, upper: int, welfare: int, expected: Ratio) -> None:
    """Unbounded only where something could be earned for certain; never a division by zero or by a loss."""
    assert ratio(lower, upper, welfare) == expected


def test_an_empty_interval_on_opt_is_refused() -> None:
    """A lower end above the upper end, or a profit above a negative upper end: no number comes out."""
    with pytest.raises(ValueError, match="no interval"):
        ratio(3, 2, 1)
    with pytest.raises(ValueError, match="no interval"):
        ratio(-3, -1, 1)


@given(figures, st.integers(0, 6))
def test_decimals_are_rounded_outward_by_less_than_one_unit(value: Fraction, digits: int) -> None:
    """Rounded down is below, rounded up is above, and neither is off by a unit of the last place."""
    low, high = Fraction(format_decimal(value, digits, up=False)), Fraction(format_decimal(value, digits, up=True))
    assert low <= value <= high
    unit = Fraction(1, 10**digits)
    assert value - low < unit
    assert high - value < unit


def test_a_cut_decimal_says_so() -> None:
    """Dots follow where something was cut off, towards zero; thousands stand apart; an integer is itself."""
    assert format_truncated(Fraction(1_234_567, 1000)) == "1,234.567"
    assert format_truncated(Fraction(-4, 3)) == "-1.333..."
    assert format_truncated(-12_345) == "-12,345"
    assert format_truncated(Fraction(-1, 10_000)) == "-0..."


def test_the_gap_is_relative_to_the_upper_end() -> None:
    """Of its size where it is negative; nothing between equal ends; no number above zero."""
    assert gap(Fraction(3, 2), 2) == 0.25
    assert gap(-3, -2) == 0.5
    assert gap(0, 0) == 0.0
    assert gap(-1, 0) == float("inf")


def test_text_of_an_interval_is_one_number_only_where_that_is_exact() -> None:
    """26 prints as 26; a third prints as an interval although both ends are equal."""
    assert interval_text(Fraction(26), Fraction(26)) == "26"
    assert interval_text(Fraction(49, 2), Fraction(49, 2)) == "24.5"
    assert interval_text(Fraction(4, 3), Fraction(4, 3)) == "[1.333, 1.334]"
    assert interval_text(Fraction(-1, 3), Fraction(1, 3), 0) == "[-1, 1]"
    assert str(Ratio(Kind.UNBOUNDED)) == "unbounded"


@given(st.integers(0, 10**15), amounts)
def test_reached_is_one_over_the_ratios_upper_end(upper: int, welfare: int) -> None:
    """ALG/upper is the reciprocal of the ratio's upper end wherever that is defined and positive."""
    found = ratio(0, upper, welfare)
    part = certain_share(0, upper, welfare)
    if found.upper:
        assert part == 1 / found.upper
    elif upper > 0:
        assert part is not None
        assert part * upper == welfare


@pytest.mark.parametrize(
    ("lower", "upper", "cost", "expected"),
    [
        (4, 8, 12, Ratio(Kind.INTERVAL, Fraction(3, 2), Fraction(3))),
        (4, 4, 4, Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))),
        (0, 0, 0, Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))),
        (0, 3, 0, Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))),
        (0, 0, 5, Ratio(Kind.UNBOUNDED)),
        (0, 4, 6, Ratio(Kind.OPEN, Fraction(3, 2))),
        (-2, 4, 6, Ratio(Kind.UNDEFINED)),
    ],
)
def test_of_costs_the_ratio_is_alg_over_opt(lower: int, upper: int, cost: int, expected: Ratio) -> None:
    """Never below 1; a cost of nothing makes it open or unbounded, never a division by zero."""
    assert ratio(lower, upper, cost, Sense.LEAST) == expected


def test_a_cost_below_the_bound_is_refused() -> None:
    """And beats it, as a value above the upper end does where the most is best."""
    with pytest.raises(ValueError, match="below the bound 4"):
        ratio(4, 8, 3, Sense.LEAST)
    assert beats_bound(4, 8, 3, Sense.LEAST)
    assert not beats_bound(4, 8, 9, Sense.LEAST)
    assert beats_bound(4, 8, 9, Sense.MOST)
    assert not beats_bound(4, 8, 3, Sense.MOST)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 30), st.sampled_from(list(Sense)))
def test_the_true_ratio_lies_in_the_interval(first: int, opt: int, last: int, value: int, sense: Sense) -> None:
    """Whatever OPT is within its interval: neither the ratio, nor what is reached, nor the distance leaves theirs."""
    lower, upper = min(first, opt), max(last, opt)
    if beats_bound(opt, opt, value, sense):
        return
    found = ratio(lower, upper, value, sense)
    above, below = (opt, value) if sense is Sense.MOST else (value, opt)
    if below:
        true = Fraction(above, below)
        assert true >= 1
        assert found.lower is None or found.lower <= true
        assert found.upper is None or true <= found.upper
        part = certain_share(lower, upper, value, sense)
        assert part is not None
        assert part <= 1 / true if true else part <= 0
    else:
        assert found.kind is not Kind.INTERVAL or above == 0
    least, most = shortfall(lower, upper, value, sense)
    assert least <= above - below <= most
    assert is_better(value, opt, sense) is False


def _part(opt: Fraction, value: Fraction, sense: Sense) -> Fraction:
    if sense is Sense.MOST:
        return value / opt if opt else Fraction(value == 0)
    return opt / value if value else Fraction(1)


@given(st.sampled_from(Sense), st.lists(amounts, min_size=3, max_size=3), amounts, st.fractions(0, 1))
def test_a_share_holds_wherever_opt_lies(sense: Sense, three: list[int], other: int, place: Fraction) -> None:
    low, value, high = map(Fraction, sorted(three))
    if sense is Sense.MOST:
        lower, upper, value = low, high, min(value, Fraction(low))
        values = [value, min(Fraction(other), low)]
    else:
        lower, upper = low, high
        values = [max(value, high), max(Fraction(other), high)]
    opt = lower + place * (upper - lower)
    assert share(lower, upper, values[0], sense) is None or lower <= opt <= upper
    for each in values:
        found = share(lower, upper, each, sense)
        if found is not None and (opt or sense is Sense.LEAST):
            assert found[0] <= _part(opt, each, sense) <= found[1] <= 1


def test_a_share_is_unknown_where_opt_may_be_negative() -> None:
    """A loss against an OPT that may be 0 has no share; nothing against such an OPT has any up to all of it."""
    assert share(-3, 5, -1) is None
    assert share(-3, -1, -2) is None
    assert share(0, 5, 0) == (0, 1)
    assert share(0, 0, 0) == (1, 1)
    assert share(-1, 5, 6, Sense.LEAST) is None
    assert share(0, 5, 6, Sense.LEAST) == (0, Fraction(5, 6))
