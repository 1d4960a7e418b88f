"""The certificate of an interval on OPT, `ratiobench/tenants-certificate/1`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: a price per job that proves the lower end by weak duality, and the
schedule whose cost is the upper end, all in integers. `ratiobench.formulations.tenants.verify` recomputes both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ratiobench.formulations.checksums import CertificateFiles
from ratiobench.instances.io.documents import Digest
from ratiobench.instances.tenants.solution import Solution

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


FILES = CertificateFiles(Certificate, FORMAT)
document, seal, parse, read, write = FILES.document, FILES.seal, FILES.parse, FILES.read, FILES.write
