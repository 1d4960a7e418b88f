"""The facts about a run that stand beside the algorithm's name: limits of work, charges above bids, solvers, ..."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

PARTS_PER_MILLION = 10**6
LIMITED, OVERCHARGED = "at limit", "charged above their bid"
SINGLE_NODE = "no migration"
BUBBLEWRAP, LANDLOCK, NO_ISOLATION = "bubblewrap", "Landlock", "none"  # How a user's algorithm was isolated
_ISOLATION = {
    BUBBLEWRAP: f"isolated by {BUBBLEWRAP}",
    LANDLOCK: f"isolated by {LANDLOCK}",
    NO_ISOLATION: "not isolated",
}


def isolation_text(isolation: str) -> str:
    """How a user's algorithm was isolated, in words."""
    return _ISOLATION[isolation]


class Part(NamedTuple):
    """A number of things out of a total."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number} of {self.total}"


def percentage(parts: int) -> str:
    """Parts per million as a percentage of two significant digits, rounded up."""
    step = 10 ** max(0, len(str(parts)) - 2)
    whole, rest = divmod(-(-parts // step) * step, PARTS_PER_MILLION // 100)
    return f"{whole}.{rest:04d}".rstrip("0").rstrip(".")


class Remark(NamedTuple):
    """One fact in words: the field of `Remarks` that it renders, and its text."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Remarks:
    """The facts about a run that must stand beside its algorithm's name; `label` renders them."""

    name: str  # the algorithm's name, without the options that stand in brackets
    options: tuple[str, ...] = ()  # options in brackets, ``key=value``
    limit: Part | None = None  # decisions that ended at the algorithm's limit of work, of all
    # largest (bound - value) / bound among these, in parts per million, rounded up; None where unknown.
    gap_ppm: int | None = None
    notes: tuple[str, ...] = ()  # the algorithm's own words, each in brackets of its own
    solvers: tuple[str, ...] = ()  # name and version of each solver that had a part in the decisions
    starts: tuple[str, ...] = ()  # programs that the algorithm's process started
    # how the user's algorithm was isolated: BUBBLEWRAP, LANDLOCK or NO_ISOLATION; empty if isolation does not apply.
    isolated: str = ""
    overcharged: Part | None = None  # admitted arrivals that pay more than they bid, of all admitted
    single_node: bool = False  # every task had to stay on one node
    repetitions: int = 0  # of a mean, the number of its runs; 0 of a single run

    def listed(self) -> Iterator[Remark]:
        """The facts in words, in the order in which they stand behind the name."""
        if self.options:
            yield Remark("options", ", ".join(self.options))
        if self.limit is not None:
            gap = "" if self.gap_ppm is None else f", gap {percentage(self.gap_ppm)} %"
            yield Remark("limit", f"{LIMITED} {self.limit}{gap}")
        yield from (Remark("notes", each) for each in self.notes)
        yield from (Remark("solvers", each) for each in self.solvers)
        if self.starts:
            yield Remark("starts", f"starts {', '.join(self.starts)}")
        if self.isolated:
            yield Remark("isolated", _ISOLATION[self.isolated])
        if self.overcharged is not None:
            yield Remark("overcharged", f"{OVERCHARGED}: {self.overcharged} admitted")
        if self.single_node:
            yield Remark("single_node", SINGLE_NODE)
        if self.repetitions:
            yield Remark("repetitions", f"mean of {self.repetitions} runs")

    @property
    def label(self) -> str:
        """The name with every fact in brackets, e.g. ``NAME (at limit 5 of 144, gap 0.32 %)``."""
        return " ".join([self.name, *(f"({each.text})" for each in self.listed())])

    def with_notes(self, *notes: str) -> Remarks:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def document(self) -> dict[str, Any]:
        """The fields as JSON values, without those that say nothing."""
        texts = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in texts.items() if value or name == "name"}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Remarks:
        """The remarks that `document` wrote."""
        values: dict[str, Any] = {}
        for name, value in document.items():
            reader = _READERS.get(name)
            if reader is None:
                raise ValueError(f"no such field: {name}")
            values[name] = reader(value)
        if "name" not in values:
            raise ValueError("no name")
        return cls(**values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return tuple(_text(each) for each in value)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("not a count")
    return value


def _part(value: Any) -> Part:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("not a part of a total")
    return Part(_count(value[0]), _count(value[1]))


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("not true or false")
    return value


def _isolation(value: Any) -> str:
    if value not in tuple(_ISOLATION):
        raise ValueError("no way of isolation")
    return str(value)


_READERS = {
    "name": _text, "options": _texts, "limit": _part, "gap_ppm": _count, "notes": _texts, "solvers": _texts,
    "starts": _texts, "isolated": _isolation, "overcharged": _part, "single_node": _flag,
    "repetitions": _count,
}  # fmt: skip
