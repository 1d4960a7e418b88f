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

from dataclasses import dataclass
from typing import Any, NamedTuple

from ratiobench.formulations import checksums
from ratiobench.instances.io.documents import Documents
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import are_integers, integer, items
from ratiobench.instances.io.files import line_of, sha256_of
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Solution, parse_solution, solution_document

FORMAT = "ratiobench/lora-certificate/2"
TREE_FORMAT = "ratiobench/lora-certificate/3"
CELL_FORMAT = "ratiobench/lora-certificate/4"
PRICE_LIMIT = 2**62

_KEYS = ("format", "instance", "unit", "lam", "phi", "classes", "upper", "lower", "decisions", "sha256")
_PRICE_KEYS = ("lam", "phi", "classes")
_TREE_KEYS = (*_KEYS, "more", "tree")
_CELL_KEYS = (*_TREE_KEYS, "cells")
_FIELDS = {FORMAT: _KEYS, TREE_FORMAT: _TREE_KEYS, CELL_FORMAT: _CELL_KEYS}
# The lengths of decisions in a tree of each format, and the message for others
_NODES = {
    TREE_FORMAT: ((1, 3), "neither a task nor a task, a type and a slot"),
    CELL_FORMAT: (
        (1, 2, 3, 4),
        "none of: a task; a task, a type and a slot; a task and a slot; a task, a type, 0 and a number of cells",
    ),
}
_LISTED_KEYS = ("task", "type", "first", "price")
_CLASS_KEYS = ("type", "rate", "memory_mb", "price")


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
    classes = [dict(zip(_CLASS_KEYS, (*each[:3], list(each.price)), strict=True)) for each in prices.classes]
    table = {"lam": [list(row) for row in prices.lam], "phi": [list(row) for row in prices.phi], "classes": classes}
    if version == CELL_FORMAT:
        table["cells"] = [dict(zip(_LISTED_KEYS, (*each[:3], list(each.price)), strict=True)) for each in prices.cells]
    return table


def seal(certificate: Certificate) -> str:
    """SHA-256 of the document without `sha256`, keys sorted, no spaces, payments written out.

    With it no change of a file passes unseen, not even one that leaves a true claim.
    """
    return sha256_of(_content(certificate))


def parse(data: Any, source: str = "<document>") -> tuple[Certificate, str]:
    """A decoded document's certificate and its seal as written; only the form is judged, not the truth."""
    version = data.get("format") if isinstance(data, dict) else None
    version = version if version in (TREE_FORMAT, CELL_FORMAT) else FORMAT
    branched, priced = version != FORMAT, version == CELL_FORMAT
    data = checksums.open_document(data, source, version, _FIELDS[version])
    more, tree = (items(source, key, data[key], None, "") if branched else [] for key in ("more", "tree"))
    if branched and not tree:
        raise InputError(source, "tree", "it has no node")
    found = Certificate(
        instance=checksums.require_digest(source, "instance", data["instance"]),
        unit=integer(source, "unit", data["unit"], 1, PRICE_LIMIT),
        **_prices_of(source, "", data, priced)._asdict(),
        more=tuple(_prices_of(source, f"more[{j}]", each, priced) for j, each in enumerate(more)),
        tree=tuple(_node(source, f"tree[{j}]", each, version) for j, each in enumerate(tree)),
        upper=integer(source, "upper", data["upper"], 0, PRICE_LIMIT),
        lower=integer(source, "lower", data["lower"], 0, PRICE_LIMIT),
        decisions=parse_solution({"decisions": data["decisions"]}, source),
    )
    return found, checksums.require_digest(source, "sha256", data["sha256"])


def _prices_of(source: str, path: str, data: Any, priced: bool) -> Prices:
    """The table of prices that stands in the fields of `data`; of the document itself where the path is empty."""
    inside = f"{path}." if path else ""
    if path:
        if not isinstance(data, dict):
            raise InputError(source, path, f"{shorten(data)} is not an object")
        checksums.require_fields(source, inside, data, (*_PRICE_KEYS, *(["cells"] if priced else [])))
    classes = items(source, f"{inside}classes", data["classes"], None, "")
    return Prices(
        _prices(source, f"{inside}lam", data["lam"]),
        _prices(source, f"{inside}phi", data["phi"]),
        tuple(_class(source, f"{inside}classes[{j}]", each) for j, each in enumerate(classes)),
        tuple(
            _cells(source, f"{inside}cells[{j}]", each)
            for j, each in enumerate(items(source, f"{inside}cells", data["cells"], None, "") if priced else [])
        ),
    )


def _node(source: str, path: str, data: Any, version: str) -> Node:
    if not isinstance(data, list):
        return integer(source, path, data, 0, PRICE_LIMIT)
    lengths, otherwise = _NODES[version]
    if len(data) not in lengths:
        raise InputError(source, path, f"{shorten(data)} is {otherwise}")
    return tuple(integer(source, f"{path}[{k}]", value, 0, PRICE_LIMIT) for k, value in enumerate(data))


def _class(source: str, path: str, data: Any) -> ClassPrice:
    if not isinstance(data, dict):
        raise InputError(source, path, f"{shorten(data)} is not an object")
    checksums.require_fields(source, f"{path}.", data, _CLASS_KEYS)
    kind, rate, memory = (
        integer(source, f"{path}.{key}", data[key], -PRICE_LIMIT, PRICE_LIMIT) for key in _CLASS_KEYS[:3]
    )
    return ClassPrice(kind, rate, memory, _row(source, f"{path}.price", data["price"]))


def _cells(source: str, path: str, data: Any) -> CellPrice:
    if not isinstance(data, dict):
        raise InputError(source, path, f"{shorten(data)} is not an object")
    checksums.require_fields(source, f"{path}.", data, _LISTED_KEYS)
    task, kind, first = (integer(source, f"{path}.{key}", data[key], 0, PRICE_LIMIT) for key in _LISTED_KEYS[:3])
    return CellPrice(task, kind, first, _row(source, f"{path}.price", data["price"]))


def _prices(source: str, field: str, rows: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(_row(source, f"{field}[{g}]", row) for g, row in enumerate(items(source, field, rows, None, "")))


def _row(source: str, path: str, values: Any) -> tuple[int, ...]:
    values = items(source, path, values, None, "")
    if are_integers(values, -PRICE_LIMIT, PRICE_LIMIT):
        return tuple(values)
    return tuple(integer(source, f"{path}[{t}]", value, -PRICE_LIMIT, PRICE_LIMIT) for t, value in enumerate(values))


def value_limit(instance: Instance) -> int:
    """How many JSON values a certificate may have: prices and a tree, and a cell in each slot for each task."""
    return 2**22 + instance.tasks * instance.slots  # a week uses a tenth


FILES = Documents(parse, document, line_of)
read, write = FILES.read, FILES.write
