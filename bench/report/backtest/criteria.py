"""By what policies are ranked: welfare, or what the users and the owner of a cluster ask beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.day_facts import DayFacts
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.shared.money import value_text
from ratiobench.bench.results.read import is_known
from ratiobench.bench.results.row import Row
from ratiobench.instances.io.errors import InputError, explain_unknown_name


@dataclass(frozen=True, slots=True)
class Criterion:
    """What makes a policy better than another."""

    name: str
    title: str  # in tables and sentences; empty for what the family's objective is called
    value: Callable[[Row, DayFacts], Fraction | None]  # of a run; None where it is not known
    # of figures that are no value of the objective: what is behind them; None for those that are.
    unit: str | None = None
    scale: Fraction = Fraction(1)  # what such a figure is multiplied by to be read
    least: bool | None = None  # whether the least is best; None: as of the objective
    is_total: bool = False  # whether days add up; else their mean counts
    measure: str = ""  # the measure that it is; empty where it is none

    def sense(self, family: Family) -> Sense:
        """Which way it is better."""
        if self.least is None:
            return family.sense
        return Sense.LEAST if self.least else Sense.MOST

    def name_in(self, family: Family) -> str:
        """What it is called."""
        return self.title or family.objective

    def over_days(self, values: Any) -> Fraction:
        """Of all days together."""
        total = sum(values, Fraction(0))
        return total if self.is_total or not values else total / len(values)

    def text(self, value: Fraction, family: Family, *, up: bool | None = None) -> str:
        """A value for reading."""
        return value_text(value, family, up=up) if self.unit is None else f"{float(value * self.scale):.2f}{self.unit}"


def list_revenue(row: Row, facts: DayFacts) -> Fraction | None:
    """What the admitted jobs of a run would pay at the list price; None where no list price is known."""
    if facts.list_price is None:
        return None
    work = row.measures.get("admitted_work")
    if is_known(work) and work is not None:
        return work * facts.list_price
    return Fraction(row.bids) if facts.listed_bids and is_known(row.bids) else None


def _revenue(row: Row, facts: DayFacts) -> Fraction | None:
    listed = list_revenue(row, facts)
    return listed if listed is not None else _figure(row.revenue)


def _figure(value: Any) -> Fraction | None:
    return Fraction(value) if is_known(value) else None


def _measure(name: str) -> Callable[[Row, DayFacts], Fraction | None]:
    return lambda row, facts: _figure(row.measures.get(name))


WELFARE = Criterion("welfare", "", lambda row, facts: _figure(row.welfare), is_total=True)
# By their names
CRITERIA = {
    each.name: each
    for each in (
        WELFARE,
        Criterion(
            "wait", "mean wait", _measure("wait_mean_s"), " min", Fraction(1, 60), least=True, measure="wait_mean_s"
        ),
        Criterion("slowdown", "slowdown", _measure("slowdown"), "", least=True, measure="slowdown"),
        Criterion(
            "met", "share of jobs in time", _measure("met_share"), " %", Fraction(100), least=False, measure="met_share"
        ),
        Criterion("revenue", "revenue", _revenue, least=False, is_total=True),
    )
}


def require_criterion(name: str, family: Family) -> Criterion:
    """The criterion of this name."""
    if name not in CRITERIA:
        raise InputError("--by", "", explain_unknown_name(name, CRITERIA))
    found, known = CRITERIA[name], family.measure_names
    if found.measure and known is not None and found.measure not in known:
        raise InputError("--by", "", f"runs of the family {family.name} have no {found.title}")
    return found
