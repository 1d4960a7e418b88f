"""The certificate of an interval on OPT, `ratiobench/lora-certificate/2`: one JSON document that anybody can check.

It holds what makes both ends true for one instance: the dual prices that prove the upper end by weak duality, and the
schedule whose welfare is the lower end. All of it is integers. `formulations.lora.verify` recomputes both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from formulations import sealing
from instances.documents import Documents
from instances.errors import InputError, shown
from instances.fields import integer, items
from instances.files import line_of, sha256_of
from instances.lora.solution import Solution, parse_solution, solution_document

FORMAT = "ratiobench/lora-certificate/2"
PRICE_LIMIT = 2**62

_KEYS = ("format", "instance", "unit", "lam", "phi", "classes", "upper", "lower", "decisions", "sha256")
_CLASS_KEYS = ("type", "rate", "memory_mb", "price")


class ClassPrice(NamedTuple):
    """What a cell of one class pays on top of lam and phi.

    Parameters
    ----------
    kind, rate, memory_mb : the class: node type, samples and MB of a cell.
    price : per slot, in 1/unit micro-dollars.
    """

    kind: int
    rate: int
    memory_mb: int
    price: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it.

    Parameters
    ----------
    instance : SHA-256 of the instance's content.
    unit : a power of two; prices are in 1/unit micro-dollars.
    lam, phi : per node type and slot, integer dual prices of (4f) per sample and of (4g) per MB.
    classes : prices of the cells of some classes; those of others pay lam and phi only.
    upper, lower : micro-dollars, as claimed.
    decisions : the schedule whose welfare is `lower`.
    """

    instance: str
    unit: int
    lam: tuple[tuple[int, ...], ...]
    phi: tuple[tuple[int, ...], ...]
    classes: tuple[ClassPrice, ...]
    upper: int
    lower: int
    decisions: Solution


def document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as the JSON document that `parse` reads, sealed."""
    return sealing.sealed(_content(certificate))


def _content(certificate: Certificate) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "instance": certificate.instance,
        "unit": certificate.unit,
        "lam": [list(row) for row in certificate.lam],
        "phi": [list(row) for row in certificate.phi],
        "classes": [dict(zip(_CLASS_KEYS, (*each[:3], list(each.price)), strict=True)) for each in certificate.classes],
        "upper": certificate.upper,
        "lower": certificate.lower,
        **solution_document(certificate.decisions),
    }


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`, keys sorted, no spaces, payments written out.

    With it no change of a file passes unseen, not even one that leaves a true claim.
    """
    return sha256_of(_content(certificate))


def parse(data: Any, source: str = "<document>") -> tuple[Certificate, str]:
    """A decoded document's certificate and its seal as written; only the form is judged, not the truth.

    Raises
    ------
    InputError : naming the file, the field and the value.
    """
    data = sealing.opened(data, source, FORMAT, _KEYS)
    found = Certificate(
        instance=sealing.digest(source, "instance", data["instance"]),
        unit=integer(source, "unit", data["unit"], 1, PRICE_LIMIT),
        lam=_prices(source, "lam", data["lam"]),
        phi=_prices(source, "phi", data["phi"]),
        classes=tuple(
            _class(source, f"classes[{j}]", each)
            for j, each in enumerate(items(source, "classes", data["classes"], None, ""))
        ),
        upper=integer(source, "upper", data["upper"], 0, PRICE_LIMIT),
        lower=integer(source, "lower", data["lower"], 0, PRICE_LIMIT),
        decisions=parse_solution({"decisions": data["decisions"]}, source),
    )
    return found, sealing.digest(source, "sha256", data["sha256"])


def _class(source: str, path: str, data: Any) -> ClassPrice:
    if not isinstance(data, dict):
        raise InputError(source, path, f"{shown(data)} is not an object")
    sealing.exactly(source, f"{path}.", data, _CLASS_KEYS)
    kind, rate, memory = (
        integer(source, f"{path}.{key}", data[key], -PRICE_LIMIT, PRICE_LIMIT) for key in _CLASS_KEYS[:3]
    )
    return ClassPrice(kind, rate, memory, _row(source, f"{path}.price", data["price"]))


def _prices(source: str, field: str, rows: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(_row(source, f"{field}[{g}]", row) for g, row in enumerate(items(source, field, rows, None, "")))


def _row(source: str, path: str, values: Any) -> tuple[int, ...]:
    return tuple(
        integer(source, f"{path}[{t}]", value, -PRICE_LIMIT, PRICE_LIMIT)
        for t, value in enumerate(items(source, path, values, None, ""))
    )


FILES = Documents(parse, document, line_of)
read, write = FILES.read, FILES.write
