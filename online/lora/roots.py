"""Real powers from below, as short fractions that integers can verify."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

DIGITS = 20  # Significant binary digits of what is returned
SHARES = 4096  # Largest denominator of a relative size in a power


def share_above(share: Fraction) -> Fraction:
    """The share, rounded up to a multiple of 1/4096 where its denominator is larger: powers stay short."""
    if share.denominator <= SHARES:
        return share
    return Fraction(-((-share.numerator * SHARES) // share.denominator), SHARES)


@lru_cache(maxsize=4096)
def gain_below(base: Fraction, exponent: Fraction) -> Fraction:
    """A fraction G of 20 significant bits with 0 <= G <= base^exponent - 1, next to it; verified in integers."""
    with localcontext() as context:
        context.prec = 40
        power = Decimal(exponent.numerator) / exponent.denominator
        guess = ((Decimal(base.numerator) / base.denominator).ln() * power).exp() - 1
        if guess <= 0:
            return Fraction(0)
        exact = Fraction(guess)
    bits = DIGITS - (exact.numerator.bit_length() - exact.denominator.bit_length())
    step = Fraction(2) ** -bits
    gain = (exact // step + 1) * step  # an exact power is guessed from below
    while gain > 0 and not is_gain_below(gain, base, exponent):
        gain -= step
    return gain


def is_gain_below(gain: Fraction, base: Fraction, exponent: Fraction) -> bool:
    """Whether 1 + gain <= base^exponent, in integers."""
    a, b = exponent.numerator, exponent.denominator
    one = 1 + gain
    return bool(one.numerator**b * base.denominator**a <= base.numerator**a * one.denominator**b)
