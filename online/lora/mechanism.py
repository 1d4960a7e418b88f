"""A mechanism with linear reduced cost: posted prices of cells, moved on admission only, and the critical payment.

The cost c = q + sum (lambda s + phi r + e) of a task's cheapest schedule among the cells with room does not depend on
its bid. Admit if b_i > c, charge c, and only then, on the schedule's cells, with v = 1 or v = bbar_il,

    lambda_kt <- lambda_kt (1 + B s / C_kp)         + eta_c v s / C_kp
    phi_kt    <- phi_kt    (1 + B r / (C_km - r_b)) + eta_m v r / (C_km - r_b)

`docs/theory/mechanisms.md` has the theorems; T: it is truthful if no constant depends on the task's bid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT, space
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.one_node import NodeAnswer, with_one_node
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import (
    ARITHMETIC,
    Entry,
    Option,
    read_margin,
    register,
    require_positive,
    settle_arithmetic,
)
from ratiobench.online.lora.roots import share_above
from ratiobench.online.lora.search.additive import (
    Cluster,
    cheapest_schedule,
    cover_in_fractions,
    move_prices,
    offers,
    too_large,
)
from ratiobench.online.lora.traces import Cell, LinearTrace, Offer, Rule, list_prices


class Quote(NamedTuple):
    """The cheapest schedule: cost c, index of the option, cells, S, and sum e."""

    cost: Fraction | float
    option: int
    cells: tuple[Cell, ...]
    work: int
    energy: int


class FreeCapacity(NamedTuple):
    """(K, T) samples and MB that are free; None in place of it: room is not looked at."""

    compute: IntArray
    memory_mb: IntArray


class ExactPrices:
    """lambda and phi as fractions."""

    def __init__(self, public: Public, rule: Rule) -> None:
        self.lam: dict[Cell, Fraction] = {}
        self.phi: dict[Cell, Fraction] = {}
        self._public, self._rule = public, rule
        self._first_node = public.first_node.tolist()
        kind = public.type_of_node
        self._kind = kind.tolist()
        self._compute = public.compute[kind].tolist()
        self._memory = public.memory_mb[kind].tolist()

    def cheapest(self, task: Task, free: FreeCapacity | None) -> Quote | None:
        """The cheapest schedule among the cells with room (all usable cells without `free`)."""
        menu = space(task, self._public)
        zero, size = Fraction(0), task.memory_mb
        price: list[list[Fraction | None]] = []
        node: list[list[int]] = []
        for g, rate in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
            nodes = range(self._first_node[g], self._first_node[g + 1])
            best = [
                min(
                    (
                        (self.lam.get((k, t), zero) * rate + self.phi.get((k, t), zero) * size, k)
                        for k in nodes
                        if free is None or (rate <= free.compute[k, t - 1] and size <= free.memory_mb[k, t - 1])
                    ),
                    default=(None, -1),
                )
                for t in range(menu.first, menu.last + 1)
            ]
            price.append([least for least, _ in best])
            node.append([k for _, k in best])
        cover = cover_in_fractions(task, menu, price, node)
        if cover is None:
            return None
        kinds = [self._kind[k] for k, _ in cover.cells]
        work = sum(int(task.rate[g]) for g in kinds)
        energy = sum(int(task.cost[g, t - 1]) for g, (_, t) in zip(kinds, cover.cells, strict=True))
        return Quote(cover.cost, cover.option, cover.cells, work, energy)

    def move(self, task: Task, cells: tuple[Cell, ...], bbar: Fraction) -> None:
        rule = self._rule
        factor = bbar if rule.by_bbar else Fraction(1)
        for k, t in cells:
            share = Fraction(int(task.rate[self._kind[k]]), self._compute[k])
            self.lam[k, t] = self.lam.get((k, t), Fraction(0)) * (1 + rule.growth * share) + rule.eta_c * factor * share
            share = Fraction(task.memory_mb, self._memory[k])
            self.phi[k, t] = self.phi.get((k, t), Fraction(0)) * (1 + rule.growth * share) + rule.eta_m * factor * share

    def bbar(self, net: int, work: int, use: int) -> Fraction:
        return self._rule.bbar(net, work, use)

    def cells(self, task: Task, first: int) -> NDArray[Any]:
        """(K, W) lambda s + phi r from slot `first` (from 0) to the deadline."""
        zero = Fraction(0)
        rates = [int(task.rate[g]) for g in self._kind]
        rows = [
            [
                self.lam.get((k, t), zero) * rate + self.phi.get((k, t), zero) * task.memory_mb
                for t in range(first + 1, task.deadline + 1)
            ]
            for k, rate in enumerate(rates)
        ]
        return np.array(rows, object)

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        """Prices that are not zero."""
        return (
            {cell: value for cell, value in self.lam.items() if value},
            {cell: value for cell, value in self.phi.items() if value},
        )


class FloatPrices:
    """lambda and phi as doubles."""

    def __init__(self, public: Public, rule: Rule) -> None:
        shape = (public.nodes, public.slots)
        self.lam: NDArray[np.float64] = np.zeros(shape)
        self.phi: NDArray[np.float64] = np.zeros(shape)
        self._cluster = Cluster(public)
        self._nothing = FreeCapacity(*(np.zeros((0, 0), np.int64),) * 2)
        for array in self._nothing:
            array.setflags(write=False)
        self._growth, self._eta_c, self._eta_m = float(rule.growth), float(rule.eta_c), float(rule.eta_m)
        self._by_bbar, self._weights = rule.by_bbar, (float(rule.weights[0]), float(rule.weights[1]))

    def cheapest(self, task: Task, free: FreeCapacity | None) -> Quote | None:
        compute, memory = free if free is not None else self._nothing
        total, option, cells, work, energy = cheapest_schedule(
            self.lam, self.phi, compute, memory, free is not None, self._cluster.arrays,
            (task.memory_mb, task.work, task.deadline), task.rate, task.cost, *offers(task), STATE_LIMIT,
        )  # fmt: skip
        if option < 0:
            if option == -2:
                raise too_large(task)
            return None
        return Quote(total, option, tuple(map(tuple, cells.tolist())), work, energy)

    def move(self, task: Task, cells: tuple[Cell, ...], bbar: float) -> None:
        factor = bbar if self._by_bbar else 1.0
        move_prices(
            self.lam, self.phi, np.array(cells, dtype=np.int64), self._cluster.arrays, self._cluster.kind,
            task.memory_mb, task.rate, self._growth, self._eta_c, self._eta_m, float(factor),
        )  # fmt: skip

    def bbar(self, net: int, work: int, use: int) -> float:
        return net / (self._weights[0] * work + self._weights[1] * use)

    def cells(self, task: Task, first: int) -> NDArray[Any]:
        rate, span = task.rate[self._cluster.kind][:, None], slice(first, task.deadline)
        return np.asarray(self.lam[:, span] * rate + self.phi[:, span] * task.memory_mb)

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        return list_prices(self.lam), list_prices(self.phi)


def prices(public: Public, rule: Rule, *, exact: bool) -> ExactPrices | FloatPrices:
    return ExactPrices(public, rule) if exact else FloatPrices(public, rule)


# The eps that the prices are made for where some task fills a node (eps = 1) and no theorem holds
WITHOUT_GUARANTEE = Fraction(1, 2)


def settle_share(name: str, constants: Mapping[str, Fraction]) -> Fraction:
    """The eps that prices are made for: the constant, rounded up to a short fraction, or `WITHOUT_GUARANTEE`."""
    short = share_above(require_positive(name, "largest_share", constants["largest_share"]))
    return short if short < 1 else WITHOUT_GUARANTEE


# From the options and the public constants to the rule
Settle = Callable[[Mapping[str, str], Mapping[str, Fraction]], Rule]
# The constants that a mechanism needs, or those that it needs with some options
Declared = tuple[str, ...] | Callable[[Mapping[str, str]], tuple[str, ...]]


class Mechanism:
    """The loop over the tasks; the theorem is that of the rule."""

    def __init__(
        self, name: str, constants: Declared, settle: Settle, options: Mapping[str, str], widened: tuple[str, ...] = ()
    ) -> None:
        if options["constants"] not in ("oracle", "public"):
            problem = f"{shorten(options['constants'])} is not one of oracle, public"
            raise InputError("algorithm", f"{name}:constants", problem)
        self._name, self._settle, self._options = name, settle, options
        self.margin = read_margin(name, options) if widened else Fraction(1)
        self.widened = widened
        self.constants = constants(options) if callable(constants) else constants
        self.arithmetic = options["arith"]

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        constants = {key: value * (self.margin if key in self.widened else 1) for key, value in constants.items()}
        rule = self._settle(self._options, constants)
        exact = self._options["arith"] == "exact"
        self._public, self._rule = public, rule
        self._prices = prices(public, rule, exact=exact)
        self._trace = LinearTrace(self._name, exact, rule, constants)

    @property
    def trace(self) -> LinearTrace:
        self._trace.lam, self._trace.phi = self._prices.final()
        return self._trace

    def decide(self, task: Task, view: View) -> Decision | None:
        return self.settle(task, view, self.find(task, view))

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        free = FreeCapacity(view.compute, view.memory_mb) if self._rule.tested else None
        quote = self._prices.cheapest(task, free)
        return None if quote is None else NodeAnswer((quote.cost, quote.option, len(quote.cells)), quote.cells, quote)

    def cell_prices(self, task: Task, first: int) -> NDArray[Any]:
        return self._prices.cells(task, first)

    def move(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """The update where another rule sold the task these cells."""
        work = sum(int(task.rate[self._public.type_of_node[k]]) for k, _ in cells)
        bbar = self._prices.bbar(net, work, task.memory_mb * len(cells))
        self._prices.move(task, cells, bbar)  # type: ignore[arg-type]

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        """Admit it if the bid is above its cost, charge that, and move the prices."""
        quote: Quote | None = None if found is None else found.answer
        if quote is None:
            self._trace.offers.append(Offer(task.index, None))
            return None
        vendor, price = (quote.option, task.vendors[quote.option].price) if task.vendors else (None, 0)
        net = task.bid - price - quote.energy
        admitted = bool(task.bid > quote.cost)
        if admitted:
            self.move(task, quote.cells, net)
        value, payment = task.bid - quote.cost, quote.cost if admitted else None
        self._trace.offers.append(
            Offer(task.index, value, quote.option, quote.cells, quote.work, net, admitted, payment)
        )
        return Decision(vendor, quote.cells, math.ceil(quote.cost)) if admitted else None


OPTIONS = {
    "arith": ARITHMETIC,
    "constants": Option(
        "oracle", None, "source of constants that are neither given nor from a prior: oracle, or public to refuse them"
    ),
}
MARGIN = Option("1", None, "X_c, X_m and U are this times the constants: another day's may be too small for this one")
ORACLE = "no: constants come from the bids"
TRUTHFUL = "in bid, window, work and memory"
WITHIN = "where the public constants bound the day's"  # Of a guarantee that needs constants known in advance


def register_mechanism(
    name: str,
    summary: str,
    guarantee: str,
    constants: Declared,
    settle: Settle,
    options: Mapping[str, Option],
    widened: tuple[str, ...] = (),
) -> None:
    """Add a mechanism of this kind to the registry; it has an option `margin` where constants are `widened` by it."""
    margin = {"margin": MARGIN} if widened else {}
    register(
        with_one_node(
            Entry(
                name=name,
                summary=summary,
                version="1",
                options={**options, **margin, **OPTIONS},
                make=lambda chosen: Mechanism(name, constants, settle, chosen, widened),
                settle=settle_arithmetic,
                public_constants=True,
                standing=lambda _, oracle: {"guarantee": guarantee, "truthful": ORACLE if oracle else TRUTHFUL},
            )
        )
    )
