"""`pricelist`: fixed prices per GPU-hour, by node type and hour of the day, as clouds post them.

A task gets the cheapest schedule with room by the list, pays that and its vendor, and is admitted if it bids more. The
list depends on no bid, and what is asked only on what is free: as of every posted price, no bid is better than the
valuation (Theorem T). Whether the list covers the operation is up to whoever writes it:

    start = "00:00"                      # the time of day at which the first slot begins; this where it is left out
    [types.A100]
    gpus = 8                             # of a node; a task pays for its share of them
    price = 2.5                          # dollars per GPU-hour, or 24 prices, of the hours from midnight on
    [types.A40]
    gpus = 8
    price = [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]

Each cell's price is rounded up to a whole micro-dollar. A slot has the price of the hour in which it begins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import load_toml, read_bytes
from ratiobench.instances.lora.model import IntArray, NodeType, Public, Task, freeze
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.algorithms.greedy import Greedy
from ratiobench.online.lora.mechanism import TRUTHFUL
from ratiobench.online.lora.one_node import RUNS, NodeAnswer, with_one_node
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, register
from ratiobench.online.lora.traces import GreedyOffer
from ratiobench.online.spec import state_always

_DAY = 86400
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_LARGEST = 10**6  # Dollars per GPU-hour, and GPUs of a node


class PriceList(NamedTuple):
    """Micro-dollars per node-hour by type and hour, and the second of the day in which the first slot begins."""

    hourly: Mapping[str, tuple[Fraction, ...]]
    start: int = 0


def read_prices(path: str) -> PriceList:
    """Read a price list."""
    data, source = read_bytes(path)
    table = load_toml(data, source)
    for key in table:
        if key not in ("start", "types"):
            raise InputError(source, key, explain_unknown_name(key, ["start", "types"]))
    start = table.get("start", "00:00")
    match = _TIME.fullmatch(start) if isinstance(start, str) else None
    if match is None:
        raise InputError(source, "start", f"{shorten(start)} is no time of day such as 08:30")
    types = table.get("types")
    if not isinstance(types, dict) or not types:
        raise InputError(source, "types", "no node type has a price: write [types.NAME]")
    hourly = {}
    for name, each in types.items():
        where = f"types.{name}"
        if not isinstance(each, dict) or set(each) != {"gpus", "price"}:
            raise InputError(source, where, "a type has the keys gpus and price, and no others")
        gpus, price = each["gpus"], each["price"]
        prices = price if isinstance(price, list) else [price] * 24
        if len(prices) != 24:
            raise InputError(source, f"{where}.price", f"{len(prices)} prices; one, or one for each of 24 hours")
        count = _number(source, f"{where}.gpus", gpus)
        hourly[name] = tuple(10**6 * count * _number(source, f"{where}.price", value) for value in prices)
    return PriceList(hourly, 3600 * int(match[1]) + 60 * int(match[2]))


def _number(source: str, key: str, value: Any) -> Fraction:
    good = isinstance(value, int | Decimal) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= _LARGEST or len(str(value)) > 30:
        raise InputError(source, key, f"{shorten(value)} is no number in 0..{_LARGEST}")
    return Fraction(value)


class ListPrices:
    """See the module."""

    arithmetic = "integer"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._file = options["file"]
        self._list = None if self._file == "none" else read_prices(self._file)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """The prices of a sample, by node type and slot."""
        self._rows = [self._per_sample(kind, public) for kind in public.node_types]
        self._greedy = Greedy({})
        self._greedy.start(public, constants)

    def _per_sample(self, kind: NodeType, public: Public) -> list[Fraction]:
        """The price of a sample on the node type, slot by slot."""
        if self._list is None:
            return [Fraction(0)] * public.slots
        hourly = self._list.hourly.get(kind.name)
        if hourly is None:
            problem = f"no price for the node type {shorten(kind.name)}: it needs a table [types.NAME]"
            raise InputError(self._file, "types", problem)
        seconds = self._list.start + public.slot_seconds * np.arange(public.slots)
        prices = [price * public.slot_seconds / (3600 * kind.compute) for price in hourly]
        return [prices[hour] for hour in (seconds % _DAY // 3600).tolist()]

    def _listed(self, task: Task) -> Task:
        """The task with the list's prices in the place of its operation."""
        rows = [
            [-(-price.numerator * rate // price.denominator) for price in row] if rate else [0] * len(row)
            for row, rate in zip(self._rows, task.rate.tolist(), strict=True)
        ]
        cost: IntArray = freeze(rows)
        return replace(task, cost=cost)

    def decide(self, task: Task, view: View) -> Decision | None:
        """The cheapest schedule by the list, if the bid is above that."""
        return self.settle(task, view, self.find(task, view))

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        """The cheapest schedule with room, by the list."""
        return self._greedy.find(self._listed(task), view)

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        """Admit it if the bid is above its price, and charge that."""
        offer: GreedyOffer | None = None if found is None else found.answer
        if offer is None or not offer.admitted:
            return None
        return Decision(offer.option if task.vendors else None, offer.cells, int(offer.cost))


register(
    with_one_node(
        Entry(
            "pricelist",
            "fixed prices per GPU-hour by node type and hour; the cheapest schedule that fits, as a posted price",
            "1",
            {"file": Option("none", None, "TOML file of prices; none: all is free, but for vendors")},
            ListPrices,
            standing=state_always(guarantee="none", truthful=TRUTHFUL),
            forms=frozenset({RUNS}),
            files=lambda options: [options["file"]],
        )
    )
)
