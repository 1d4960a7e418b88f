"""Hourly day-ahead electricity prices, and tariffs: what a Wh costs in slots of any length."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ratiobench.instances.io.errors import InputError, shorten

SLOTS_PER_HOUR = 6
DAY = 86_400  # Seconds
_TABLE = Path(__file__).with_name("data") / "prices.csv"


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a Wh costs when."""

    source: str  # where the prices are from, in words
    # micro-dollars per Wh and (day, second of the day from which it holds), in order.
    days: Mapping[int, tuple[tuple[int, int], ...]]
    # whether these are calendar days, to be met by date; else they follow one another from the first day on.
    dated: bool

    def at_slots(self, start: int, slots: int, seconds: int) -> tuple[list[int], bool]:
        """The price at the beginning of each slot from `start` (a second of the log's clock), and whether days recur.

        Where the table has not the day, its days follow one another from the first, again and again.
        """
        known = sorted(self.days)
        found, recurs = [], False
        for slot in range(slots):
            day, second = divmod(start + slot * seconds, DAY)
            if self.dated and known[0] < day < known[-1] and day not in self.days:
                day, second = max(each for each in known if each < day), DAY  # the last price holds until the next row
            if not (self.dated and day in self.days):
                number = day - start // DAY
                recurs |= self.dated or number >= len(known) > 1
                day = known[number % len(known)]
            prices = self.days[day]
            found.append(next((price for begin, price in reversed(prices) if begin <= second), prices[0][1]))
        return found, recurs


@lru_cache(maxsize=1)
def _shipped() -> dict[str, dict[str, tuple[int, ...]]]:
    with _TABLE.open(newline="", encoding="ascii") as file:
        header, *rows = csv.reader(file)
    table: dict[str, dict[str, tuple[int, ...]]] = {}
    for column, name in enumerate(header):
        if column > 0:
            region, day = name.split(" ")
            table.setdefault(region, {})[day] = tuple(int(row[column]) for row in rows)
    return table


def regions() -> dict[str, tuple[str, ...]]:
    """The shipped days per market region, ``PJM`` and ``DE``."""
    return {region: tuple(days) for region, days in _shipped().items()}


def tariff(region: str, day: str) -> tuple[int, ...]:
    """The 144 slots' tariff of a day, micro-dollars per Wh (dollars per MWh, rounded half to even; EUR taken 1:1).

    Each hour's price holds in its six slots; negative prices occur.
    """
    if day not in (days := _days(region)):
        raise InputError("prices", "day", f"{shorten(day)} is none of {', '.join(days)}")
    return tuple(price for price in _shipped()[region][day] for _ in range(SLOTS_PER_HOUR))


def tariff_from(region: str, day: str | None) -> Tariff:
    """The shipped days of a region one after the other, beginning with `day`, or with the first one."""
    days = _days(region)
    if day is not None and day not in days:
        raise InputError("prices", "day", f"{shorten(day)} is none of {', '.join(days)}")
    order = days if day is None else (*days[days.index(day) :], *days[: days.index(day)])
    table = {}
    for number, each in enumerate(order):
        prices = _shipped()[region][each]
        seconds = DAY // len(prices)
        table[number] = tuple((hour * seconds, price) for hour, price in enumerate(prices))
    return Tariff(f"day-ahead prices of {region}, {', '.join(order)} one after the other", table, False)


def _days(region: str) -> tuple[str, ...]:
    if region not in regions():
        raise InputError("prices", "region", f"{shorten(region)} is none of {', '.join(regions())}")
    return regions()[region]
