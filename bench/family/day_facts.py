"""What a backtest must know of a day beside the runs on it: kept in the store as JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.instances.io.errors import InputError, make_printable, shorten

__all__ = ["Assumption", "DayFacts", "read_facts"]

GROUP = "days"  # The group of the days of a backtest; those under a what-if have the change as their group
# By what policies can be ranked (`ratiobench.bench.report.backtest.criteria`)
BY = ("welfare", "wait", "slowdown", "met", "revenue")
LEFT_OUT, ADDED = "left out", "added"
_FIGURES = ("hours", "load", "list_price", "busiest", "contended")


class Assumption(NamedTuple):
    """What the figures of a day rest on, and for how much of it."""

    what: str  # in words that are the same for every day of a load
    jobs: int  # of the day, to which it applies
    hours: Fraction | None  # GPU-hours that they use; None where that is not known
    # `LEFT_OUT` of jobs that no policy can serve, in the instance or not, `ADDED` of hours that no job asked for; else
    # empty.
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DayFacts:
    """Facts of a day."""

    kind: str = ""  # of its arrivals, as `Family.refusal` understands it
    # jobs, hours: all that arrived, those left out included, and the GPU-hours that they use; 0 where it is not known.
    jobs: int = 0
    hours: Fraction = Fraction(0)
    assumptions: Sequence[Assumption] = ()  # what its figures rest on
    # of a unit of the measure `admitted_work` of a run, in the family's unit; None where none is known.
    list_price: Fraction | None = None
    listed_bids: bool = False  # whether every arrival bids its list price
    # work of the arrivals that can be served over the capacity of the day; None: not known.
    load: Fraction | None = None
    # the largest share of capacity that is asked for at a time, if each arrival ran at once; None: not known.
    busiest: Fraction | None = None
    # so many times the arrivals ask for a tenth of their work when no capacity is free; None: not known.
    contended: Fraction | None = None
    empty: bool = True  # whether nothing of earlier days runs when it begins

    def document(self) -> Mapping[str, Any]:
        """Convert the facts to JSON values."""
        figures = {name: getattr(self, name) for name in _FIGURES}
        return {
            "kind": self.kind,
            "jobs": self.jobs,
            "listed_bids": self.listed_bids,
            "assumptions": [
                [each.what, each.jobs, None if each.hours is None else str(each.hours), each.kind]
                for each in self.assumptions
            ],
            **{name: str(value) for name, value in figures.items() if value is not None},
            **({} if self.empty else {"empty": False}),
        }


def read_facts(document: Any, source: str, field: str) -> DayFacts:
    """Read the facts of a document.

    Examples
    --------
    >>> from ratiobench.bench.family.day_facts import DayFacts, read_facts
    >>> read_facts(DayFacts(jobs=3).document(), "day.json", "facts").jobs
    3
    """
    try:
        figures = {name: Fraction(document[name]) for name in _FIGURES if name in document}
        found = [
            Assumption(
                make_printable(str(what), 300), _count(jobs), None if hours is None else Fraction(hours), str(kind)
            )
            for what, jobs, hours, kind in document["assumptions"]
        ]
        return DayFacts(
            kind=str(document["kind"]),
            jobs=_count(document["jobs"]),
            listed_bids=document["listed_bids"] is True,
            assumptions=tuple(found),
            empty=document.get("empty") is not False,
            **figures,
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
        raise InputError(source, field, f"{shorten(document)} are no facts of a day ({shorten(str(error))})") from None


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{shorten(value)} is no number of jobs")
    return value
