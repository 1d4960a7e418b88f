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

from ratiobench.formulations import checksums
from ratiobench.instances.eapm.solution import Solution, solution_document
from ratiobench.instances.io.documents import Digest, Documents
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import line_of, sha256_of

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


def document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as the JSON document that `parse` reads, sealed."""
    return checksums.add_checksum(_content(certificate))


def _content(certificate: Certificate) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "instance": certificate.instance,
        "scale": certificate.scale,
        "prices": list(certificate.prices),
        "upper": _text(certificate.upper),
        "lower": _text(certificate.lower),
        **solution_document(certificate.decisions),
    }


def _text(rate: Fraction) -> str:
    return f"{rate.numerator}/{rate.denominator}"


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`, keys sorted, no spaces.

    With it no change of a file passes unseen, not even one that leaves a true claim.
    """
    return sha256_of(_content(certificate))


def parse(data: Any, source: str = "<document>") -> tuple[Certificate, str]:
    """A decoded document's certificate and its seal as written; only the form is judged, not the truth."""
    return checksums.open_document(data, Certificate, FORMAT, source, _rate)


def _rate(_: Any, value: Any) -> Fraction:
    """A rate written as "p/q" in lowest terms, the only way to write it."""
    digits = rf"[0-9]{{1,{RATE_DIGITS}}}"
    if isinstance(value, str) and re.fullmatch(f"-?{digits}/{digits}", value):
        top, _, bottom = value.partition("/")
        if int(bottom) > 0:
            found = Fraction(int(top), int(bottom))
            if _text(found) == value:
                return found
    raise InputError("", "", f'{shorten(value)} is not a fraction "p/q" in lowest terms')


FILES = Documents(parse, document, line_of)
read, write = FILES.read, FILES.write
