"""The certificate of an interval on OPT, `ratiobench/edgeflow-certificate/1`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: prices of GPU and edge seconds and what the jobs' work is worth at
them, which prove the upper end, and the schedule that meets as many jobs as the lower end says, all in integers.
`ratiobench.formulations.edgeflow.verify` recomputes both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ratiobench.formulations import checksums
from ratiobench.instances.edgeflow.solution import Solution, parse_solution, solution_document
from ratiobench.instances.io.documents import Documents
from ratiobench.instances.io.fields import LIMIT, integer, items
from ratiobench.instances.io.files import line_of, sha256_of

FORMAT = "ratiobench/edgeflow-certificate/1"
PRICE_LIMIT = 2**62

_KEYS = (
    "format", "instance", "scale", "points", "gpu_prices", "edge_prices", "worths", "upper", "lower", "decisions",
    "sha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: str  # SHA-256 of the instance's content
    scale: int  # prices and worths are in 1/scale jobs
    points: tuple[int, ...]  # seconds, ascending: prices are constant from each one to the next
    # gpu_prices, edge_prices: one less than points: of a second of a GPU, and of an edge server.
    gpu_prices: tuple[int, ...]
    edge_prices: tuple[int, ...]
    worths: tuple[int, ...]  # per job, of its whole work
    upper: int  # upper, lower: jobs, as claimed
    lower: int
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
    data = checksums.open_document(data, source, FORMAT, _KEYS)

    def row(field: str, least: int, most: int) -> tuple[int, ...]:
        listed = enumerate(items(source, field, data[field], None, ""))
        return tuple(integer(source, f"{field}[{k}]", x, least, most) for k, x in listed)

    found = Certificate(
        instance=checksums.require_digest(source, "instance", data["instance"]),
        scale=integer(source, "scale", data["scale"], 1, PRICE_LIMIT),
        points=row("points", -LIMIT, LIMIT),
        gpu_prices=row("gpu_prices", 0, PRICE_LIMIT),
        edge_prices=row("edge_prices", 0, PRICE_LIMIT),
        worths=row("worths", 0, PRICE_LIMIT),
        upper=integer(source, "upper", data["upper"], 0, LIMIT),
        lower=integer(source, "lower", data["lower"], 0, LIMIT),
        decisions=parse_solution({"decisions": data["decisions"]}, source),
    )
    return found, checksums.require_digest(source, "sha256", data["sha256"])


FILES = Documents(parse, document, line_of)
read, write = FILES.read, FILES.write
