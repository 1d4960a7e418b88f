r"""Price laws: what a cell costs as a function of what it holds, or moved after every arrival.

`LoadPrices` prices the compute and the memory of each node by `LoadLaw`, a function of the part that is sold.
`WeightPrices` has one price per unit of weight for each node type and slot. `docs/theory/baselines.md` has Lemma P,
which says which laws are allowed; `LoadLaw` is rounded so that its assumptions hold of the very fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.online.lora.mechanism import ORACLE, settle_share
from ratiobench.online.lora.posted_prices import PostedPrices, ProposedPrices, find_free_cells, propose_cheapest
from ratiobench.online.lora.protocol import View, first_free_node
from ratiobench.online.lora.registry import Entry, Option, fraction, register, require_positive, settle_arithmetic
from ratiobench.online.lora.traces import Cell, LawTerms, list_prices

E_ABOVE = Fraction(2_718_281_829, 10**9)  # A little above e
JUST_BELOW = 1 - Fraction(1, 2**24)  # A price of this times P admits a task that is worth exactly P
LOAD_CONSTANTS = ("cap_compute", "cap_memory", "largest_share")
MOST_DIGITS = 10_000
TOO_LARGE = "B is too large a number: eps is too near 1"
_PRECISE = Context(prec=50)
# Prices are rounded up to so many digits, which keeps common denominators short
_UP = Context(prec=40, rounding=ROUND_CEILING)
_BITS = 30


def _decimal(value: Fraction) -> Decimal:
    return _PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator))


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """base^exponent next to the real number, in 40 decimal digits rounded up; the same on every machine."""
    log = _PRECISE.multiply(_decimal(base).ln(_PRECISE), _decimal(exponent))
    return Fraction(_UP.plus(log.exp(_PRECISE)))


def exponential(exponent: Fraction) -> Fraction:
    """e^exponent next to the real number, in 40 decimal digits rounded up; the same on every machine."""
    return Fraction(_UP.plus(_decimal(exponent).exp(_PRECISE)))


def logarithm(value: Fraction) -> Fraction:
    """ln of a value >= 1, next to the real number."""
    return Fraction(_decimal(value).ln(_PRECISE))


def round_up(value: Fraction) -> Fraction:
    """At least (1 + 2^-30) times the value, as a short fraction."""
    bits = 2 * _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    unit = Fraction(2) ** bits
    return Fraction(-(-(value * (1 + Fraction(1, 2**_BITS)) * unit) // 1)) / unit


@dataclass(frozen=True)
class LoadLaw:
    """The price of one unit of a resource on a cell where the part y is sold: zeta X zeta^(-y / reach), at most X."""

    top: Fraction  # X, micro-dollars per sample or per MB
    zeta: Fraction  # the price of an empty cell over X, above 0 and at most 1
    reach: Fraction  # the part that is sold over the whole rise
    width: Fraction = Fraction(0)  # the part that is sold at an advised price; reach + width is 1 - eps
    least: Fraction | None = None  # the price is no lower; None without
    jump: bool = False  # the price is 0 as long as the rise is below `least`
    _risen: dict[Fraction, Fraction] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> LoadLaw:
        return self

    def rise(self, part: Fraction) -> Fraction:
        """zeta X zeta^(-part / reach), at least zeta X and at most X."""
        if part <= 0:
            return self.zeta * self.top
        if part >= self.reach:
            return self.top
        if part not in self._risen:
            self._risen[part] = min(self.top, self.zeta * self.top * power(1 / self.zeta, part / self.reach))
        return self._risen[part]

    def price(self, part: Fraction, advice: Fraction | None = None) -> Fraction:
        """The price where `part` is sold; the width is sold at the advised price, put inside [zeta X, X]."""
        risen = self.rise(part)
        if advice is not None:
            flat = min(max(advice, self.zeta * self.top), self.top)
            return max(min(risen, flat), self.rise(part - self.width))
        if self.least is None:
            return risen
        if self.jump:
            return risen if risen >= self.least else Fraction(0)
        return max(risen, self.least)

    def growth(self, share: Fraction) -> Fraction | None:
        """B = (zeta^(-eps / reach) - 1) / eps, rounded up; None with more than `MOST_DIGITS` digits."""
        if share / self.reach * logarithm(1 / self.zeta) > 2 * MOST_DIGITS:
            return None
        return round_up((power(1 / self.zeta, share / self.reach) - 1) / share)


# From the constants and eps to the laws of compute and of memory
Settle = Callable[[Mapping[str, Fraction], Fraction], tuple[LoadLaw, LoadLaw]]


class LoadPrices:
    """Prices of the compute and the memory of each node and slot, by a law of what is sold there."""

    def __init__(
        self,
        name: str,
        constants: tuple[str, ...],  # with LOAD_CONSTANTS
        settle: Settle,
        *,
        exact: bool,
        margin: Fraction = Fraction(1),
        problem: str = "",  # why Lemma P does not cover the law; empty where it does
    ) -> None:
        self.constants, self._name, self._settle = constants, name, settle
        self._exact, self._problem = exact, problem
        self.margin = margin
        self.widened = tuple(name for name in ("cap_compute", "cap_memory", "spread") if name in constants)
        self._advice: tuple[list[list[Fraction]], list[list[Fraction]]] | None = None

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public = public
        kinds = public.type_of_node
        self._kind = kinds.tolist()
        self._sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        used = {key: value * (self.margin if key in self.widened else 1) for key, value in constants.items()}
        share = settle_share(self._name, used)
        self._laws = self._settle(used, share)
        self._sold = np.zeros((2, public.nodes, public.slots), np.int64)
        rows = [
            [[self._price(resource, g, t, 0) for t in range(public.slots)] for g in range(len(self._sizes))]
            for resource in (0, 1)
        ]
        dtype = object if self._exact else np.float64
        self._prices = [np.array(part, dtype).reshape(len(self._sizes), public.slots)[kinds] for part in rows]
        growth = self._laws[0].growth(share)  # of memory as of compute: only X differs
        self.terms = LawTerms(
            growth=Fraction(0) if growth is None else growth,
            caps=(self._laws[0].top, self._laws[1].top),
            share=used["largest_share"],
            zeta=self._laws[0].zeta,
            start=sum(  # at the prices as they are used
                (
                    size * sum(map(Fraction, prices[k].tolist()), Fraction(0))
                    for k, g in enumerate(self._kind)
                    for size, prices in zip(self._sizes[g], self._prices, strict=True)
                ),
                Fraction(0),
            ),
            problem=self._problem or (TOO_LARGE if growth is None else ""),
        )

    def _price(self, resource: int, g: int, t: int, sold: int) -> Any:
        advice = None if self._advice is None else self._advice[resource][g][t]
        price = self._laws[resource].price(Fraction(sold, self._sizes[g][resource]), advice)
        return price if self._exact else float(price)

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        return propose_cheapest(task, view, self._public, self._cell_prices)

    def _cell_prices(self, task: Task, first: int) -> NDArray[Any]:
        span = slice(first, task.deadline)
        lam, phi = (part[:, span] for part in self._prices)
        return np.asarray(lam * task.rate[self._public.type_of_node][:, None] + phi * task.memory_mb)

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        for k, t in cells:
            g = self._kind[k]
            for resource, amount in enumerate((int(task.rate[g]), task.memory_mb)):
                self._sold[resource, k, t - 1] += amount
                price = self._price(resource, g, t - 1, int(self._sold[resource, k, t - 1]))
                self._prices[resource][k, t - 1] = price

    def heard(self, task: Task) -> None:
        """Bids move nothing."""

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        return list_prices(self._prices[0]), list_prices(self._prices[1])


class WeightPrices:
    """One price per unit of weight for each node type and slot; a weight is the dominant share max(s / C, r / D)."""

    constants: tuple[str, ...] = ()
    fullest = False  # whether a task is offered the fullest node with free capacity, not the first one
    prices: list[NDArray[Any]]  # (T,) by type; a subclass sets them, and may move them in `moved`

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public, self._kind = public, public.type_of_node.tolist()
        self._sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        self._bought: tuple[Cell, ...] | None = None

    def weigh_exactly(self, task: Task, g: int) -> Fraction:
        """w of the task on a node of the type."""
        compute, memory = self._sizes[g]
        return max(Fraction(int(task.rate[g]), compute), Fraction(task.memory_mb, memory))

    def weigh(self, task: Task, g: int) -> Any:
        """w as prices are: a Fraction, or a double."""
        weight = self.weigh_exactly(task, g)
        return weight if self._exact else float(weight)

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        found = find_free_cells(task, view, self._public)
        if found is None:
            return None
        types, first, free = found
        span = slice(first, task.deadline)
        node = self._choose(free, view, span)
        price = [self.cell_prices(g, span, node[g]) * self.weigh(task, g) for g in types.tolist()]
        return ProposedPrices(types, first, node[types], np.array(price))

    def cell_prices(self, g: int, span: slice, node: IntArray) -> NDArray[Any]:
        """(W,) price per unit of weight of the type's cells on these nodes."""
        return self.prices[g][span]

    def _choose(self, free: NDArray[np.bool_], view: View, span: slice) -> IntArray:
        """(G, W) a node with free capacity, the first of equals; -1 without any."""
        if not self.fullest:
            usable, node = first_free_node(free, self._public.first_node)
            return np.where(usable, node, -1)
        rows = []
        for g, (compute, memory) in enumerate(self._sizes):
            low, high = self._public.first_node[g : g + 2]
            left = view.compute[low:high, span] / compute + view.memory_mb[low:high, span] / memory
            left = np.where(free[low:high], left, np.inf)
            rows.append(np.where(free[low:high].any(axis=0), low + left.argmin(axis=0), -1))
        return np.array(rows)

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """Kept until `moved` is called."""
        self._bought = cells

    def heard(self, task: Task) -> None:
        bought, self._bought = self._bought, None
        self.moved(task, bought)

    def moved(self, task: Task, cells: tuple[Cell, ...] | None) -> None:
        """Called after every arrival, with the cells that the task was sold, or None."""

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        """Half of the last prices for compute and half for memory: w is no less than the mean of the two shares."""
        half = Fraction(1, 2) if self._exact else 0.5
        tables = []
        for resource in (0, 1):
            table = [self.prices[g] * (half / sizes[resource]) for g, sizes in enumerate(self._sizes)]
            tables.append(np.array(table, object if self._exact else np.float64)[self._public.type_of_node])
        return list_prices(tables[0]), list_prices(tables[1])


def read_positive(name: str, key: str, options: Mapping[str, str]) -> Fraction:
    return require_positive(name, key, fraction(f"{name}:{key}", options[key]), shorten(options[key]))


def read_loss(name: str, options: Mapping[str, str]) -> Fraction:
    """The option `loss`: zeta, above 0 and at most 1."""
    zeta = read_positive(name, "loss", options)
    if zeta > 1:
        raise InputError("algorithm", f"{name}:loss", f"{shorten(options['loss'])} is above 1")
    return zeta


def register_law(
    name: str,
    summary: str,
    options: Mapping[str, Option],
    make: Callable[[Mapping[str, str], bool], Any],
    guarantee: Callable[[Mapping[str, str]], str],
    *,
    learns: bool = False,
    randomised: bool | Callable[[Mapping[str, str]], bool] = False,
) -> None:
    """Add a law: `make` builds its poster from the options and whether prices are Fractions."""

    def build(chosen: Mapping[str, str]) -> PostedPrices:
        exact = chosen.get("arith") == "exact"
        return PostedPrices(make(chosen, exact), None, exact=exact)

    register(
        Entry(
            name,
            summary,
            "1",
            options,
            build,
            settle=settle_arithmetic,
            public_constants=True,
            learns=learns,
            randomised=randomised,
            standing=lambda chosen, oracle: {
                "guarantee": guarantee(chosen),
                "truthful": ORACLE if oracle else "in the bid",
            },
        )
    )
