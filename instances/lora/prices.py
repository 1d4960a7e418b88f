"""Hourly day-ahead electricity prices as tariffs per 10-minute slot."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from instances.errors import InputError, shown

SLOTS_PER_HOUR = 6
_TABLE = Path(__file__).with_name("data") / "prices.csv"


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

    Raises
    ------
    InputError : for a region or a day that is not shipped.
    """
    table = _shipped()
    if region not in table:
        raise InputError("prices", "region", f"{shown(region)} is none of {', '.join(table)}")
    if day not in table[region]:
        raise InputError("prices", "day", f"{shown(day)} is none of {', '.join(table[region])}")
    return tuple(price for price in table[region][day] for _ in range(SLOTS_PER_HOUR))
