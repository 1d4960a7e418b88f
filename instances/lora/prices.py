"""Hourly day-ahead electricity prices, and tariffs: what a Wh costs in slots of any length."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ratiobench.instances.io.errors import require_known
from ratiobench.instances.io.text_files import read_table

DAY = 86_400  # Seconds
_TABLE = Path(__file__).with_name("data") / "prices.csv"


class Tariff(NamedTuple):
    """What a Wh costs on days that follow one another, again and again."""

    days: tuple[tuple[int, ...], ...]  # micro-dollars per Wh of each day, in equal parts of it

    def at_slots(self, start: int, slots: int, seconds: int) -> tuple[list[int], bool]:
        """The price at the beginning of each slot from `start` (a second of the first day), and whether days recur."""
        prices, recurs = [], False
        for slot in range(slots):
            day, second = divmod(start + slot * seconds, DAY)
            number = day - start // DAY
            recurs |= number >= len(self.days) > 1
            hours = self.days[number % len(self.days)]
            prices.append(hours[second * len(hours) // DAY])
        return prices, recurs


@lru_cache(maxsize=1)
def _shipped() -> dict[str, dict[str, tuple[int, ...]]]:
    header, rows = read_table(_TABLE)
    table: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, *prices in list(zip(header, *rows, strict=True))[1:]:
        region, day = name.split(" ")
        table.setdefault(region, {})[day] = tuple(map(int, prices))
    return table


def regions() -> dict[str, tuple[str, ...]]:
    """The shipped days per market region, ``PJM`` and ``DE``."""
    return {region: tuple(days) for region, days in _shipped().items()}


def tariff_from(region: str, day: str) -> Tariff:
    """The shipped days of a region from `day` on: dollars per MWh, rounded half to even; EUR taken 1:1."""
    require_known(region, _shipped(), "prices", "region")
    days = _shipped()[region]
    require_known(day, days, "prices", "day")
    first = list(days).index(day)
    prices = tuple(days.values())
    return Tariff((*prices[first:], *prices[:first]))
