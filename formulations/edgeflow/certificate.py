"""The certificate of an interval on OPT, `ratiobench/edgeflow-certificate/1`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: prices of GPU and edge seconds and what the jobs' work is worth at
them, which prove the upper end, and the schedule that meets as many jobs as the lower end says, all in integers.
`ratiobench.formulations.edgeflow.verify` recomputes both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.formulations import checksums
from ratiobench.instances.edgeflow.solution import Solution, solution_document
from ratiobench.instances.io.documents import Digest, Documents, Number, Signed
from ratiobench.instances.io.files import line_of, sha256_of

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


def document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as the JSON document that `parse` reads, sealed."""
    return checksums.add_checksum(_content(certificate))


def _content(certificate: Certificate) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "instance": certificate.instance,
        "scale": certificate.scale,
        "points": list(certificate.points),
        "gpu_prices": list(certificate.gpu_prices),
        "edge_prices": list(certificate.edge_prices),
        "worths": list(certificate.worths),
        "upper": certificate.upper,
        "lower": certificate.lower,
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
