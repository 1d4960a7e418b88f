"""The certificate of an interval on OPT, `ratiobench/eapm-certificate/1`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: the machine prices that prove the upper end by weak duality, and
the solution whose profit rate is the lower end, all in integers. `ratiobench.formulations.eapm.verify` recomputes both
ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.formulations.checksums import CertificateFiles
from ratiobench.instances.eapm.solution import Solution
from ratiobench.instances.io.documents import Digest
from ratiobench.instances.io.errors import InputError, shorten

FORMAT = "ratiobench/eapm-certificate/1"
PRICE_LIMIT = 2**62
RATE_DIGITS = 40  # Most digits of a rate's numerator and denominator

Price = Annotated[int, Meta(ge=-PRICE_LIMIT, le=PRICE_LIMIT)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: Digest  # of its content
    scale: Annotated[int, Meta(ge=1, le=PRICE_LIMIT)]  # prices are in 1/scale micro-units of money per millisecond
    prices: tuple[Price, ...]  # one per machine; none where OPT is negative and `upper` proves itself
    upper: Fraction  # upper, lower: units of money per second, as claimed
    lower: Fraction
    decisions: Solution  # the solution whose profit rate is `lower`


def _read_rate(_: Any, value: Any) -> Fraction:
    """A rate written as "p/q" in lowest terms, the only way to write it."""
    digits = rf"[0-9]{{1,{RATE_DIGITS}}}"
    if isinstance(value, str) and re.fullmatch(f"-?{digits}/{digits}", value):
        top, _, bottom = value.partition("/")
        if int(bottom) > 0:
            rate = Fraction(int(top), int(bottom))
            if f"{rate.numerator}/{rate.denominator}" == value:
                return rate
    raise InputError("", "", f'{shorten(value)} is not a fraction "p/q" in lowest terms')


FILES = CertificateFiles(Certificate, FORMAT, _read_rate)
document, seal, parse, read, write = FILES.document, FILES.seal, FILES.parse, FILES.read, FILES.write
