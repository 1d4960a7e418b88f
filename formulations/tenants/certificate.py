"""The certificate of an interval on OPT, `ratiobench/tenants-certificate/1`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: a price per job that proves the lower end by weak duality, and the
schedule whose cost is the upper end, all in integers. `ratiobench.formulations.tenants.verify` recomputes both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.formulations import checksums
from ratiobench.instances.io.documents import Digest, Documents
from ratiobench.instances.io.files import line_of, sha256_of
from ratiobench.instances.tenants.solution import Solution, solution_document

FORMAT = "ratiobench/tenants-certificate/1"
PRICE_LIMIT = 2**62

Price = Annotated[int, Meta(ge=-PRICE_LIMIT, le=PRICE_LIMIT)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: Digest  # of its content
    prices: tuple[Price, ...]  # pi_j, one per job, 1/100 micro-dollar
    lower: Price  # lower, upper: 1/100 micro-dollar, as claimed
    upper: Price
    decisions: Solution  # the schedule whose cost is `upper`


def document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as the JSON document that `parse` reads, sealed."""
    return checksums.add_checksum(_content(certificate))


def _content(certificate: Certificate) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "instance": certificate.instance,
        "prices": list(certificate.prices),
        "lower": certificate.lower,
        "upper": certificate.upper,
        **solution_document(certificate.decisions),
    }


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`, keys sorted, no spaces.

    With it no change of a file passes unseen, not even one that leaves a true claim.
    """
    return sha256_of(_content(certificate))


def parse(data: Any, source: str = "<document>") -> tuple[Certificate, str]:
    """A decoded document's certificate and its seal as written; only the form is judged, not the truth."""
    return checksums.open_document(data, Certificate, FORMAT, source)


FILES = Documents(parse, document, line_of)
read, write = FILES.read, FILES.write
