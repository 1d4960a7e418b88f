"""The certificate of an interval on OPT, `ratiobench/edgeflow-certificate/1`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: prices of GPU and edge seconds and what the jobs' work is worth at
them, which prove the upper end, and the schedule that meets as many jobs as the lower end says, all in integers.
`ratiobench.formulations.edgeflow.verify` recomputes both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ratiobench.formulations.checksums import CertificateFiles
from ratiobench.instances.edgeflow.solution import Solution
from ratiobench.instances.io.documents import Digest, Number, Signed

FORMAT = "ratiobench/edgeflow-certificate/1"
PRICE_LIMIT = 2**62

Price = Annotated[int, Meta(ge=0, le=PRICE_LIMIT)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: Digest  # of its content
    scale: Annotated[int, Meta(ge=1, le=PRICE_LIMIT)]  # prices and worths are in 1/scale jobs
    points: tuple[Signed, ...]  # seconds, ascending: prices are constant from each one to the next
    # gpu_prices, edge_prices: one less than points: of a second of a GPU, and of an edge server.
    gpu_prices: tuple[Price, ...]
    edge_prices: tuple[Price, ...]
    worths: tuple[Price, ...]  # per job, of its whole work
    upper: Number  # upper, lower: jobs, as claimed
    lower: Number
    decisions: Solution  # the schedule that meets `lower` jobs


FILES = CertificateFiles(Certificate, FORMAT)
document, seal, parse, read, write = FILES.document, FILES.seal, FILES.parse, FILES.read, FILES.write
