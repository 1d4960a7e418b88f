"""The certificate of an interval on OPT: one JSON document of integers that anybody can check (`verify` does).

A tree (formats /3 and /4) is a list in preorder. A number is a leaf and its table of prices: table 0 is `lam`, `phi`,
`classes`, the others stand in `more`. A list decides something, for the branch that follows and for the next one:
`[i]`: task i is out, or admitted. `[i, g, t]`: it does not run on type g in slot t, or does. In format /4 also
`[i, t]`: its offer lets it begin in slot t or before, or later; `[i, g, 0, k]`: it has at most k cells on type g, or
more. There `cells` lists what the cells of one task on one type pay on top, slot by slot from `first` on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from msgspec import Meta
from msgspec.structs import astuple

from ratiobench.formulations import checksums
from ratiobench.instances.io.documents import Digest, Documents, Part
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import line_of, sha256_of
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import DecisionDocument, Solution, make_solution, solution_document

FORMAT = "ratiobench/lora-certificate/2"
TREE_FORMAT = "ratiobench/lora-certificate/3"
CELL_FORMAT = "ratiobench/lora-certificate/4"
PRICE_LIMIT = 2**62


class ClassPrice(NamedTuple):
    """What a cell of one class pays on top of lam and phi."""

    kind: int  # kind, rate, memory_mb: the class: node type, samples and MB of a cell
    rate: int
    memory_mb: int
    price: tuple[int, ...]  # per slot, in 1/unit micro-dollars


class CellPrice(NamedTuple):
    """What the cells of one task on one node type pay on top of lam, phi and the price of their class."""

    task: int  # task, kind: place in the instance, node type
    kind: int
    first: int  # the slot of the first price
    price: tuple[int, ...]  # slot by slot, in 1/unit micro-dollars


class Prices(NamedTuple):
    lam: tuple[tuple[int, ...], ...]
    phi: tuple[tuple[int, ...], ...]
    classes: tuple[ClassPrice, ...]
    cells: tuple[CellPrice, ...] = ()


# A leaf's table; or what an inner node decides: (task,), (task, slot), (task, type, slot), (task, type, 0, cells)
Node = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: str  # SHA-256 of the instance's content
    unit: int  # a power of two; prices are in 1/unit micro-dollars
    # lam, phi: per node type and slot, integer dual prices of (4f) per sample and of (4g) per MB.
    lam: tuple[tuple[int, ...], ...]
    phi: tuple[tuple[int, ...], ...]
    classes: tuple[ClassPrice, ...]  # prices of the cells of some classes; those of others pay lam and phi only
    upper: int  # upper, lower: micro-dollars, as claimed
    lower: int
    decisions: Solution  # the schedule whose welfare is `lower`
    more: tuple[Prices, ...] = ()  # the tables of prices behind the first
    tree: tuple[Node, ...] = ()  # nodes in preorder; without any, the first table is the proof
    cells: tuple[CellPrice, ...] = ()  # prices of single cells, of the first table; only with a tree

    @property
    def tables(self) -> tuple[Prices, ...]:
        return (Prices(self.lam, self.phi, self.classes, self.cells), *self.more)

    @property
    def format(self) -> str:
        """The oldest format that can say it."""
        new = any(isinstance(node, tuple) and len(node) in (2, 4) for node in self.tree)
        if new or any(table.cells for table in self.tables):
            return CELL_FORMAT
        return TREE_FORMAT if self.tree else FORMAT


def document(certificate: Certificate) -> dict[str, Any]:
    return checksums.add_checksum(_content(certificate))


def _content(certificate: Certificate) -> dict[str, Any]:
    version = certificate.format
    first, *more = [_table(prices, version) for prices in certificate.tables]
    tree = [list(node) if isinstance(node, tuple) else node for node in certificate.tree]
    return {
        "format": version,
        "instance": certificate.instance,
        "unit": certificate.unit,
        **first,
        **({"more": more, "tree": tree} if tree else {}),
        "upper": certificate.upper,
        "lower": certificate.lower,
        **solution_document(certificate.decisions),
    }


def _table(prices: Prices, version: str) -> dict[str, Any]:
    def objects(rows: Sequence[ClassPrice | CellPrice], *keys: str) -> list[dict[str, Any]]:
        return [dict(zip((*keys, "price"), (*row[:3], list(row.price)), strict=True)) for row in rows]

    table: dict[str, Any] = {"lam": list(map(list, prices.lam)), "phi": list(map(list, prices.phi))}
    table["classes"] = objects(prices.classes, "type", "rate", "memory_mb")
    if version == CELL_FORMAT:
        table["cells"] = objects(prices.cells, "task", "type", "first")
    return table


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`: no change of a file passes unseen, nor one that leaves a true claim."""
    return sha256_of(_content(certificate))


Price = Annotated[int, Meta(ge=-PRICE_LIMIT, le=PRICE_LIMIT)]
Amount = Annotated[int, Meta(ge=0, le=PRICE_LIMIT)]
Table = tuple[tuple[Price, ...], ...]


class ClassDocument(Part, frozen=True, rename={"kind": "type"}):
    kind: Price
    rate: Price
    memory_mb: Price
    price: tuple[Price, ...]


class CellDocument(Part, frozen=True, rename={"kind": "type"}):
    task: Amount
    kind: Amount
    first: Amount
    price: tuple[Price, ...]


class PricesDocument(Part, frozen=True):
    lam: Table
    phi: Table
    classes: tuple[ClassDocument, ...]


class CellPricesDocument(PricesDocument, frozen=True):
    cells: tuple[CellDocument, ...]


class CertificateDocument(PricesDocument, frozen=True):
    instance: Digest
    unit: Annotated[int, Meta(ge=1, le=PRICE_LIMIT)]
    upper: Amount
    lower: Amount
    decisions: list[DecisionDocument | None]


class TreeDocument(CertificateDocument, frozen=True):
    more: tuple[PricesDocument, ...]
    tree: Annotated[tuple[Amount | tuple[Amount, ...], ...], Meta(min_length=1)]


class CellTreeDocument(TreeDocument, frozen=True):
    more: tuple[CellPricesDocument, ...]
    cells: tuple[CellDocument, ...]


_KINDS: Mapping[str, type[CertificateDocument]] = {
    FORMAT: CertificateDocument,
    TREE_FORMAT: TreeDocument,
    CELL_FORMAT: CellTreeDocument,
}
# The lengths of decisions in a tree of each format, and the message for others
_NODES = {
    TREE_FORMAT: ((1, 3), "neither a task nor a task, a type and a slot"),
    CELL_FORMAT: (
        (1, 2, 3, 4),
        "none of: a task; a task, a type and a slot; a task and a slot; a task, a type, 0 and a number of cells",
    ),
}


def parse(data: Any, source: str = "<document>") -> tuple[Certificate, str]:
    """A decoded document's certificate and its seal as written; only the form is judged, not the truth."""
    version = data.get("format") if isinstance(data, dict) else None
    version = version if version in (TREE_FORMAT, CELL_FORMAT) else FORMAT
    found, written = checksums.open_document(data, _KINDS[version], version, source)
    tree, more = (found.tree, found.more) if isinstance(found, TreeDocument) else ((), ())
    for j, node in enumerate(tree):
        if isinstance(node, tuple) and len(node) not in _NODES[version][0]:
            raise InputError(source, f"tree[{j}]", f"{shorten([*node])} is {_NODES[version][1]}")
    certificate = Certificate(
        instance=found.instance,
        unit=found.unit,
        **_prices_of(found)._asdict(),
        more=tuple(map(_prices_of, more)),
        tree=tree,
        upper=found.upper,
        lower=found.lower,
        decisions=make_solution(found.decisions),
    )
    return certificate, written


def _prices_of(table: PricesDocument) -> Prices:
    cells: Iterable[CellDocument] = getattr(table, "cells", ())
    classes = tuple(ClassPrice(*astuple(each)) for each in table.classes)
    return Prices(table.lam, table.phi, classes, tuple(CellPrice(*astuple(each)) for each in cells))


def value_limit(instance: Instance) -> int:
    """How many JSON values a certificate may have: prices and a tree, and a cell in each slot for each task."""
    return 2**22 + instance.tasks * instance.slots  # a week uses a tenth


FILES = Documents(parse, document, line_of)
read, write = FILES.read, FILES.write
