"""Money as it is read: units by size, rounded to the safe side."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.show import money_text, value_text
from tests.support.toy_family import ToyFamily


@pytest.mark.parametrize(
    ("micro", "down", "up"),
    [
        (37_948_897, "$37.94", "$37.95"),
        (1_234_567_000_000, "$1,234,567.00", "$1,234,567.00"),
        (1_000_000, "$1.00", "$1.00"),
        (999_999, "99.9 c", "100.0 c"),
        (123_456, "12.3 c", "12.4 c"),
        (120_000, "12.0 c", "12.0 c"),
        (10_000, "1.00 c", "1.00 c"),
        (1_834, "0.183 c", "0.184 c"),
        (312, "312 µ$", "312 µ$"),
        (1, "1 µ$", "1 µ$"),
        (0, "$0", "$0"),
        (-1_234_567, "-$1.24", "-$1.23"),
        (-123_456, "-12.4 c", "-12.3 c"),
    ],
)
def test_money_has_a_sensible_unit(micro: int, down: str, up: str) -> None:
    """Dollars, cents, parts of a cent; both ways to round."""
    assert money_text(Fraction(micro, 10**6), up=False) == down
    assert money_text(Fraction(micro, 10**6), up=True) == up


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**9))
def test_money_is_rounded_to_its_side_and_hardly(amount: Fraction) -> None:
    """Read back, it is no more (up: no less) than the amount, and within 1 % of it."""

    def back(text: str) -> Fraction:
        scale = Fraction(1, 100) if text.endswith(" c") else Fraction(1, 10**6) if text.endswith(" µ$") else Fraction(1)
        return scale * Fraction(text.removesuffix(" µ$").removesuffix(" c").replace("$", "").replace(",", ""))

    low, near, high = (back(money_text(amount, up=up)) for up in (False, None, True))
    assert low <= amount <= high
    assert high - low <= abs(amount) / 50 + Fraction(1, 10**12)
    assert near in (low, high)
    assert abs(near - amount) == min(amount - low, high - amount)
    assert money_text(-amount).removeprefix("-") == money_text(amount).removeprefix("-")


@pytest.mark.parametrize(
    ("micro", "told"),
    [
        (17_035_000, "$17.04"),
        (17_034_999, "$17.03"),
        (123_450, "12.3 c"),
        (123_500, "12.4 c"),
        (999_999, "100.0 c"),
        (1, "1 µ$"),
    ],
)
def test_a_difference_reads_the_same_both_ways(micro: int, told: str) -> None:
    """To the nearest, halves away from 0."""
    assert money_text(Fraction(micro, 10**6)) == told
    assert money_text(Fraction(-micro, 10**6)) == f"-{told}"


def test_what_is_no_money_keeps_its_unit() -> None:
    """A family says what its unit is worth; without that its figures stay as they are."""
    money = ToyFamily()
    money.unit, money.dollars = "mills", Fraction(1, 1000)
    assert value_text(12_345, money) == "$12.35"
    assert value_text(12_345, money, up=False) == "$12.34"
    rate = ToyFamily()
    rate.unit = "units/s"
    assert value_text(Fraction(1, 3), rate) == "0.333"
