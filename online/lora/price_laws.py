r"""Price laws: what a cell costs as a function of what it holds, or moved after every arrival.

A law is a poster of `ratiobench.online.lora.posted_prices`: each task is offered its cheapest schedule with free
capacity at the present prices, takes it if its bid is above the cost, and pays the cost. Two kinds exist. `LoadPrices`
prices the compute and the memory of each node by `LoadLaw`, a function of the part that is sold. `WeightPrices` has one
price per unit of weight for each node type and slot; a task's weight on a type is its dominant share,
w = max(s / C, r / D).

Lemma P. Let the prices of each cell never fall, let a cell loaded by more than 1 - eps cost X per unit or more, and let
a sale of the part d <= eps raise a price lam by at most d (B lam + eta X). Then

    OPT <= D <= (max(1, B) + eta U) ALG + (the priced capacity before the first task).

`docs/theory/baselines.md` has the proof. `LoadLaw` has eta = 0 and is rounded so that the assumptions hold of its very
fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.online.lora.mechanism import ORACLE, settle_share
from ratiobench.online.lora.posted_prices import ProposedPrices, find_free_cells
from ratiobench.online.lora.protocol import View, first_free_node
from ratiobench.online.lora.registry import Option, fraction
from ratiobench.online.lora.traces import EXACT_TASKS, Cell, LawTerms
from ratiobench.online.spec import StatusFunction

E_ABOVE = Fraction(2_718_281_829, 10**9)  # A little above e
JUST_BELOW = 1 - Fraction(1, 2**24)  # A price of this times P admits a task that is worth exactly P
LOAD_CONSTANTS = ("cap_compute", "cap_memory", "largest_share")
MOST_DIGITS = 10_000
_PRECISION = 50
# Prices are rounded up to so many digits, which keeps common denominators short
_UP = Context(prec=40, rounding=ROUND_CEILING)
_BITS = 30
_LARGEST = Fraction(10) ** 60


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """base^exponent next to the real number, in 40 decimal digits rounded up; the same on every machine."""
    with localcontext() as context:
        context.prec = _PRECISION
        value = (_decimal(base).ln() * _decimal(exponent)).exp()
    return Fraction(_UP.plus(value))


def exponential(exponent: Fraction) -> Fraction:
    """e^exponent next to the real number, in 40 decimal digits; the same on every machine."""
    with localcontext() as context:
        context.prec = _PRECISION
        return Fraction(_UP.plus(_decimal(exponent).exp()))


def logarithm(value: Fraction) -> Fraction:
    """ln of a value >= 1, next to the real number."""
    with localcontext() as context:
        context.prec = _PRECISION
        return Fraction(_decimal(value).ln())


def round_up(value: Fraction) -> Fraction:
    """At least (1 + 2^-30) times the value, as a short fraction."""
    bits = 2 * _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    unit = Fraction(2) ** bits
    return Fraction(-(-(value * (1 + Fraction(1, 2**_BITS)) * unit) // 1)) / unit


@dataclass(frozen=True)
class LoadLaw:
    """The price of one unit of a resource on a cell, as a function of the part y of it that is sold.

    The rise is zeta X zeta^(-y / reach): from zeta X on an empty cell to X at y = reach, and X from there on.
    """

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
        """The price where `part` is sold; `advice` : the price at which the width is sold, put inside [zeta X, X]."""
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
        """B = (zeta^(-eps / reach) - 1) / eps, rounded up: (1 + B eps) is what the price grows by on a part eps.

        None where that has more than `MOST_DIGITS` digits.
        """
        if share / self.reach * logarithm(1 / self.zeta) > 2 * MOST_DIGITS:
            return None
        return round_up((power(1 / self.zeta, share / self.reach) - 1) / share)


# From the constants and eps to the laws of compute and of memory
Settle = Callable[[Mapping[str, Fraction], Fraction], tuple[LoadLaw, LoadLaw]]


class LoadPrices:
    """Prices of the compute and the memory of each node and slot, by a law of what is sold there.

    `name`: of the algorithm, for errors and audits; `constants`: that it declares; `LOAD_CONSTANTS` are among them;
    `exact`: prices are Fractions, else doubles next to them; `margin`: X_c, X_m (and U) are this times the constants;
    `problem`: why Lemma P does not cover the law; empty where it does.
    """

    def __init__(
        self,
        name: str,
        constants: tuple[str, ...],
        settle: Settle,
        *,
        exact: bool,
        margin: Fraction = Fraction(1),
        problem: str = "",
    ) -> None:
        self.constants, self._name, self._settle = constants, name, settle
        self._exact, self._problem = exact, problem
        self.margin = margin
        self.widened = tuple(name for name in ("cap_compute", "cap_memory", "spread") if name in constants)
        self._advice: tuple[list[list[Fraction]], list[list[Fraction]]] | None = None

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """All cells are empty."""
        self._public = public
        kinds = public.type_of_node
        self._kind = kinds.tolist()
        self._sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        used = {key: value * (self.margin if key in self.widened else 1) for key, value in constants.items()}
        share = settle_share(self._name, used)
        self._laws = self._settle(used, share)
        shape = (public.nodes, public.slots)
        self._sold = np.zeros((2, *shape), np.int64)
        rows = [
            [[self._price(resource, g, t, 0) for t in range(public.slots)] for g in range(len(self._sizes))]
            for resource in (0, 1)
        ]
        dtype = object if self._exact else np.float64
        self._prices = [np.array(part, dtype).reshape(len(self._sizes), public.slots)[kinds] for part in rows]
        growth = self._laws[0].growth(share)  # of memory as of compute: only X differs
        self.terms = LawTerms(
            law=self._name,
            growth=Fraction(0) if growth is None else growth,
            caps=(self._laws[0].top, self._laws[1].top),
            share=used["largest_share"],
            zeta=self._laws[0].zeta,
            start=self._price_capacity(),
            problem=self._problem or ("B is too large a number: eps is too near 1" if growth is None else ""),
        )

    def _price_capacity(self) -> Fraction:
        """sum C lambda + D phi of all nodes at the present prices, as they are used."""
        total = Fraction(0)
        for k, g in enumerate(self._kind):
            for size, prices in zip(self._sizes[g], self._prices, strict=True):
                total += size * sum(map(Fraction, prices[k].tolist()), Fraction(0))
        return total

    def _price(self, resource: int, g: int, t: int, sold: int) -> Any:
        advice = None if self._advice is None else self._advice[resource][g][t]
        price = self._laws[resource].price(Fraction(sold, self._sizes[g][resource]), advice)
        return price if self._exact else float(price)

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        """The cheapest node with free capacity of each type and slot."""
        found = find_free_cells(task, view, self._public)
        if found is None:
            return None
        types, first, free = found
        span = slice(first, task.deadline)
        nothing: Any = _LARGEST if self._exact else np.inf
        node, price = [], []
        for g in types.tolist():
            low, high = self._public.first_node[g : g + 2]
            lam, phi = (part[low:high, span] for part in self._prices)
            cost = np.where(free[low:high], lam * int(task.rate[g]) + phi * task.memory_mb, nothing)
            best = cost.argmin(axis=0)
            usable = free[low:high].any(axis=0)
            node.append(np.where(usable, low + best, -1))
            price.append(np.where(usable, cost[best, np.arange(cost.shape[1])], 0))
        return ProposedPrices(types, first, np.array(node), np.array(price))

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """The cells' prices follow what they hold."""
        for k, t in cells:
            g = self._kind[k]
            for resource, amount in enumerate((int(task.rate[g]), task.memory_mb)):
                self._sold[resource, k, t - 1] += amount
                price = self._price(resource, g, t - 1, int(self._sold[resource, k, t - 1]))
                self._prices[resource][k, t - 1] = price

    def heard(self, task: Task) -> None:
        """Bids move nothing."""

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        """The last prices of each node, zeros left out."""
        return list_prices(self._prices[0]), list_prices(self._prices[1])


def list_prices(price: NDArray[Any]) -> dict[Cell, Fraction | float]:
    """{(node, slot from 1): price} of a (K, T) table, zeros left out."""
    return {(k, t): value for k, row in enumerate(price.tolist()) for t, value in enumerate(row, 1) if value}


class WeightPrices:
    """One price per unit of weight for each node type and slot; weights are dominant shares of a node.

    A subclass sets `prices`, a list of (T,) rows by type, and may move them in `moved`.

    `exact`: prices and weights are Fractions, else doubles.
    """

    constants: tuple[str, ...] = ()
    prices: list[NDArray[Any]]

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        self._bought: tuple[Cell, ...] | None = None

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """All cells are empty."""
        self._public, self._kind = public, public.type_of_node.tolist()
        self._sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        self._bought = None

    def weigh(self, task: Task, g: int) -> Any:
        """w = max(s / C, r / D) on a node of the type."""
        compute, memory = self._sizes[g]
        weight = max(Fraction(int(task.rate[g]), compute), Fraction(task.memory_mb, memory))
        return weight if self._exact else float(weight)

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        """The price of the type and slot times the weight, on the node that `choose` names."""
        found = find_free_cells(task, view, self._public)
        if found is None:
            return None
        types, first, free = found
        node = self.choose(free, view, slice(first, task.deadline))
        span = slice(first, task.deadline)
        price = [self.cell_prices(g, span, node[g]) * self.weigh(task, g) for g in types.tolist()]
        return ProposedPrices(types, first, node[types], np.array(price))

    def cell_prices(self, g: int, span: slice, node: IntArray) -> NDArray[Any]:
        """(W,) price per unit of weight of the type's cells on these nodes."""
        return self.prices[g][span]

    def choose(self, free: NDArray[np.bool_], view: View, span: slice) -> IntArray:
        """(G, W) the first node with free capacity; -1 without."""
        usable, node = first_free_node(free, self._public.first_node)
        return np.where(usable, node, -1)

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """Kept until `moved` is called."""
        self._bought = cells

    def heard(self, task: Task) -> None:
        """The task was answered."""
        bought, self._bought = self._bought, None
        self.moved(task, bought)

    def moved(self, task: Task, cells: tuple[Cell, ...] | None) -> None:
        """Called after every arrival, with the cells that the task was sold, or None."""

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        """Half of the last prices for compute and half for memory: w is no less than the mean of the two shares."""
        half = Fraction(1, 2) if self._exact else 0.5
        kinds, rows = self._public.type_of_node, []
        for resource in (0, 1):
            table = [self.prices[g] * (half / sizes[resource]) for g, sizes in enumerate(self._sizes)]
            rows.append(np.array(table, object if self._exact else np.float64)[kinds])
        return list_prices(rows[0]), list_prices(rows[1])


def choose_fullest(free: NDArray[np.bool_], view: View, public: Public, span: slice) -> IntArray:
    """(G, W) of the nodes with free capacity the one with the least of it left, the first of equals; -1 without any."""
    node = []
    for g in range(len(public.node_types)):
        low, high = public.first_node[g : g + 2]
        left = view.compute[low:high, span] / int(public.compute[g])
        left = left + view.memory_mb[low:high, span] / int(public.memory_mb[g])
        left = np.where(free[low:high], left, np.inf)
        node.append(np.where(free[low:high].any(axis=0), low + left.argmin(axis=0), -1))
    return np.array(node)


def read_positive(name: str, key: str, options: Mapping[str, str]) -> Fraction:
    """The number above 0 of an option."""
    value = fraction(f"{name}:{key}", options[key])
    if value <= 0:
        raise InputError("algorithm", f"{name}:{key}", f"{shorten(options[key])} is not above 0")
    return value


def read_margin(name: str, options: Mapping[str, str]) -> Fraction:
    """The option `margin`, at least 1."""
    margin = fraction(f"{name}:margin", options["margin"])
    if margin < 1:
        raise InputError("algorithm", f"{name}:margin", f"{shorten(options['margin'])} is below 1")
    return margin


ARITHMETIC = Option("auto", ("auto", "exact", "float"), "exact rationals, doubles, or by size")


def read_loss(name: str, options: Mapping[str, str]) -> Fraction:
    """The option `loss`: zeta, above 0 and at most 1."""
    zeta = read_positive(name, "loss", options)
    if zeta > 1:
        raise InputError("algorithm", f"{name}:loss", f"{shorten(options['loss'])} is above 1")
    return zeta


def settle_arithmetic(options: dict[str, str], tasks: int) -> dict[str, str]:
    """Exact for few tasks."""
    if options["arith"] == "auto":
        options["arith"] = "exact" if tasks <= EXACT_TASKS else "float"
    return options


def state_law(guarantee: Callable[[Mapping[str, str]], str]) -> StatusFunction:
    """What is known of a law: its guarantee, and that it is truthful in the bid where no constant follows the bids."""
    return lambda options, oracle: {"guarantee": guarantee(options), "truthful": ORACLE if oracle else "in the bid"}
