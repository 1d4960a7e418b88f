"""The certificate of an interval on OPT: one JSON document that anybody can check.

It holds what makes both ends true for one instance: the dual prices that prove the upper end by weak duality, and the
schedule whose welfare is the lower end. All of it is integers. `ratiobench.formulations.lora.verify` recomputes both
ends.

`ratiobench/lora-certificate/2` is one table of prices. `ratiobench/lora-certificate/3` is a tree of decisions whose
leaves name tables of prices: table 0 is `lam`, `phi`, `classes`, the others stand in `more`. The tree is a list in
preorder. A number is a leaf and its table. `[i]` decides task i: out in the branch that follows, admitted in the next.
`[i, g, t]` decides a cell: task i does not run on type g in slot t in the branch that follows, and does in the next.

`ratiobench/lora-certificate/4` is such a tree, of one leaf at least, whose tables may have prices of single cells, too:
`cells` lists what the cells of one task on one type pay, slot by slot from `first` on. Its trees may decide more.
`[i, t]`: the offer by which task i is pre-processed lets it begin in slot t or before in the branch that follows, and
later in the next. `[i, g, t, k]` with t = 0: task i has at most k cells on type g in the branch that follows, and more
in the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """A table of dual prices; see `Certificate`."""

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
        """All tables of prices."""
        return (Prices(self.lam, self.phi, self.classes, self.cells), *self.more)

    @property
    def format(self) -> str:
        """The oldest format that can say it."""
        if any(table.cells for table in self.tables) or any(_is_new(node) for node in self.tree):
            return CELL_FORMAT
        return TREE_FORMAT if self.tree else FORMAT


def _is_new(node: Node) -> bool:
    return isinstance(node, tuple) and len(node) in (2, 4)


def document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as the JSON document that `parse` reads, sealed."""
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
    keys = ("type", "rate", "memory_mb", "price")
    classes = [dict(zip(keys, (*each[:3], list(each.price)), strict=True)) for each in prices.classes]
    table = {"lam": [list(row) for row in prices.lam], "phi": [list(row) for row in prices.phi], "classes": classes}
    if version == CELL_FORMAT:
        keys = ("task", "type", "first", "price")
        table["cells"] = [dict(zip(keys, (*each[:3], list(each.price)), strict=True)) for each in prices.cells]
    return table


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`, keys sorted, no spaces, payments written out.

    With it no change of a file passes unseen, not even one that leaves a true claim.
    """
    return sha256_of(_content(certificate))


Price = Annotated[int, Meta(ge=-PRICE_LIMIT, le=PRICE_LIMIT)]
Amount = Annotated[int, Meta(ge=0, le=PRICE_LIMIT)]
Table = tuple[tuple[Price, ...], ...]


class ClassDocument(Part, frozen=True, rename={"kind": "type"}):
    """`ClassPrice` in a file."""

    kind: Price
    rate: Price
    memory_mb: Price
    price: tuple[Price, ...]


class CellDocument(Part, frozen=True, rename={"kind": "type"}):
    """`CellPrice` in a file."""

    task: Amount
    kind: Amount
    first: Amount
    price: tuple[Price, ...]


class PricesDocument(Part, frozen=True):
    """`Prices` in a file without prices of cells."""

    lam: Table
    phi: Table
    classes: tuple[ClassDocument, ...]


class CellPricesDocument(PricesDocument, frozen=True):
    """`Prices` in a file."""

    cells: tuple[CellDocument, ...]


class CertificateDocument(PricesDocument, frozen=True):
    """A certificate of `FORMAT`."""

    instance: Digest
    unit: Annotated[int, Meta(ge=1, le=PRICE_LIMIT)]
    upper: Amount
    lower: Amount
    decisions: list[DecisionDocument | None]


class TreeDocument(CertificateDocument, frozen=True):
    """A certificate of `TREE_FORMAT`."""

    more: tuple[PricesDocument, ...]
    tree: Annotated[tuple[Amount | tuple[Amount, ...], ...], Meta(min_length=1)]


class CellTreeDocument(TreeDocument, frozen=True):
    """A certificate of `CELL_FORMAT`."""

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
