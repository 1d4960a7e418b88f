"""The facts about a run that stand beside the algorithm's name: limits of work, charges above bids, solvers, ..."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

PARTS_PER_MILLION = 10**6
LIMITED, OVERCHARGED = "at limit", "charged above their bid"
SINGLE_NODE = "no migration"
BUBBLEWRAP, LANDLOCK, NO_ISOLATION = "bubblewrap", "Landlock", "none"  # How a user's algorithm was isolated
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


def isolation_text(isolation: str) -> str:
    """How a user's algorithm was isolated, in words."""
    return "not isolated" if isolation == NO_ISOLATION else f"isolated by {isolation}"


class Part(NamedTuple):
    """A number of things out of a total."""

    number: Count
    total: Count

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
    gap_ppm: Count | None = None  # largest (bound - value) / bound among these, parts per million, rounded up
    notes: tuple[str, ...] = ()  # the algorithm's own words, each in brackets of its own
    solvers: tuple[str, ...] = ()  # name and version of each solver that had a part in the decisions
    starts: tuple[str, ...] = ()  # programs that the algorithm's process started
    isolated: Annotated[str, Meta(pattern="^(bubblewrap|Landlock|none)?$")] = ""  # empty if it does not apply
    overcharged: Part | None = None  # admitted arrivals that pay more than they bid, of all admitted
    single_node: bool = False  # every task had to stay on one node
    repetitions: Count = 0  # of a mean, the number of its runs; 0 of a single run

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
            yield Remark("isolated", isolation_text(self.isolated))
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
