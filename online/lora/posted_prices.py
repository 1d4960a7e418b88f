"""Mechanisms that post a price per cell: wishes, the guard around them, the cheapest cover, take it or leave it.

A `Poster` is shown a task without its bid, so that neither schedule nor charge can depend on it: Theorem T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT, space
from ratiobench.instances.lora.history import require_cluster
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.guard import CLASSES, Announcement, Guard, announce
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.search.additive import (
    DOUBLES,
    cheapest_of_cells,
    choose_cheapest,
    cover_in_fractions,
    offers,
    too_large,
)
from ratiobench.online.lora.traces import Cell, GreedyOffer, LawTerms, PoolTerms, StaticTerms, UnitTerms

_LARGEST = 2**41  # Micro-dollars: no bid pays for a cell at this price, unless slots of negative cost help


class ProposedPrices(NamedTuple):
    """What a cell should cost, by node type and slot of a task's window."""

    types: IntArray  # (G',) the node types that can hold the task, the slowest first
    first: int  # slot of column 0, from 0: the first one in which some way of pre-processing is done
    node: IntArray  # (G', W) the node that a cell would be on; -1 where none has room
    price: NDArray[Any]  # (G', W) micro-dollars at least 0, doubles or Fractions


class Poster(Protocol):
    """Posts prices of cells."""

    # Optional: `constants`, `margin` and `widened` as of any mechanism; `learn(history)` before the day; `count(source,
    # tested)`, which returns by name what it takes from `source`, the history or else the tested day; for audits
    # `final()`, the prices of the moment by cell, and `terms`, what a theorem about them needs.

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None: ...

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        """Prices of the task's cells, its bid not shown (0); None where no type or slot is left for it."""
        ...

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """The task got these cells and is worth so much: b_il."""
        ...

    def heard(self, task: Task) -> None:
        """The task with its bid, after it was answered."""
        ...


class PostedCell(NamedTuple):
    """The price of a cell, what was wished for, and between which limits of a guard (None without one)."""

    price: Fraction
    wish: Fraction
    least: Fraction | None = None
    most: Fraction | None = None


@dataclass(slots=True)
class PostedTrace:
    """What an audit reads after a run of posted prices."""

    exact: bool  # prices are fractions
    history: Instance | None = None  # what was learned from; None without any
    # one per task, in order; None where no schedule had room.
    offers: list[GreedyOffer | None] = field(default_factory=list)
    # the prices of each offer's cells, of a run in fractions; else empty.
    posted: list[tuple[PostedCell, ...]] = field(default_factory=list)
    # lam, phi: last prices per sample and per MB, zeros left out.
    lam: Mapping[Cell, Fraction | float] = field(default_factory=dict)
    phi: Mapping[Cell, Fraction | float] = field(default_factory=dict)
    announced: Announcement | None = None  # of the guard; None without one
    start: Fraction = Fraction(0)  # A0 of Theorem H; credits: sum Omega_g K_g c at the end
    credits: Fraction = Fraction(0)
    settled: int = 0
    # what the theorem about the poster's prices needs; None without one.
    terms: LawTerms | UnitTerms | PoolTerms | StaticTerms | None = None


class GuardSettings(NamedTuple):
    """The guard's options."""

    beta: Fraction  # above 0
    rho: Fraction
    margin: Fraction  # what caps from history are widened by
    settles: bool = False  # whether slots that have passed are settled
    classes: int = CLASSES  # most classes of a node type


class PostedPrices:
    """The loop over the tasks; `exact`: prices are Fractions, else doubles."""

    def __init__(self, poster: Any, guard: GuardSettings | None, *, exact: bool) -> None:
        self._poster, self._settings, self._exact = poster, guard, exact
        self.arithmetic = "exact" if exact else "float"
        if guard is None:
            self.arithmetic = getattr(poster, "arithmetic", self.arithmetic)
        self._announced: Announcement | None = None
        self._history: Instance | None = None
        self._limits: tuple[NDArray[Any], ...] = ()
        self.constants: tuple[str, ...] = tuple(getattr(poster, "constants", ()))
        self.margin: Fraction = getattr(poster, "margin", Fraction(1))
        self.widened: tuple[str, ...] = getattr(poster, "widened", ())

    def learn(self, history: Instance | None, tested: Instance) -> Mapping[str, Fraction]:
        """Take what must be known from earlier days, or else, for the guard, from the tested one."""
        if history is not None:
            require_cluster(history, tested)
        self._history = history
        learn = getattr(self._poster, "learn", None)
        if learn is not None:
            learn(history)
        source = tested if history is None else history
        count = getattr(self._poster, "count", None)
        counted: dict[str, Fraction] = {} if count is None else dict(count(source, tested))
        if self._settings is None:
            return counted
        given = self._settings
        self._announced = announce(source, given.beta, given.rho, given.margin, given.classes)
        return {**counted, "guard_factor": self._announced.factor}

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public, self._kind = public, public.type_of_node.tolist()
        self._poster.start(public, constants)
        self._guard = None if self._announced is None else Guard(public, self._announced, exact=self._exact)
        self._trace = PostedTrace(self._exact, self._history, announced=self._announced)
        self._owed: list[Any] = [0] * (public.slots + 1)
        if self._guard is not None:
            self._trace.start = self._guard.start

    def __deepcopy__(self, memo: dict[int, Any]) -> PostedPrices:
        twin = copy(self)
        parts = self._poster, self._guard
        twin._poster, twin._guard = deepcopy(parts, memo | {id(self._public): self._public})
        twin._owed = list(self._owed)
        twin._trace = replace(self._trace, offers=list(self._trace.offers), posted=list(self._trace.posted))
        return twin

    @property
    def trace(self) -> PostedTrace:
        if self._guard is not None:
            self._trace.credits, self._trace.settled = self._guard.worth(), self._guard.settled
        shown = getattr(self._poster, "final", None)
        if shown is not None:
            self._trace.lam, self._trace.phi = shown()
        self._trace.terms = getattr(self._poster, "terms", None)
        return self._trace

    def decide(self, task: Task, view: View) -> Decision | None:
        guard = self._guard if self._settings is not None and self._settings.settles else None
        passed = task.arrival - 1
        if guard is not None and passed > guard.settled:
            guard.settle(passed, sum(self._owed[guard.settled + 1 : passed + 1]))
        decision = self._decide(task, view)
        if guard is not None:
            offer = self._trace.offers[-1]
            surplus = 0 if offer is None else max(0, task.bid - offer.cost)
            # At least what any schedule is worth: the bid, and all that slots of negative cost can pay.
            paid = -task.cost[:, passed : task.deadline].min(axis=0, initial=0).sum()
            self._owed[task.arrival] += task.bid + int(paid) - surplus
        self._poster.heard(task)
        return decision

    def _decide(self, task: Task, view: View) -> Decision | None:
        offer = self._offer(replace(task, bid=0), view)
        if offer is None:
            self._trace.offers.append(None)
            if self._exact:
                self._trace.posted.append(())
            return None
        cost, option, cells, prices = offer
        admitted = bool(task.bid > cost)
        self._trace.offers.append(GreedyOffer(cost, option, cells, admitted))
        if not admitted:
            return None
        kinds = [self._kind[k] for k, _ in cells]
        energy = sum(int(task.cost[g, t - 1]) for g, (_, t) in zip(kinds, cells, strict=True))
        net = task.bid - energy - (task.vendors[option].price if task.vendors else 0)
        if self._guard is not None:
            nodes, slots = np.array(cells, np.int64).T - ((0,), (1,))
            free = view.compute[nodes, slots], view.memory_mb[nodes, slots]
            sizes = task.memory_mb, task.rate.tolist()
            self._guard.sell(sizes, np.array(kinds), slots, np.array(prices), free)
            self._guard.earn(net, sum(prices))
        self._poster.sold(task, cells, net)
        return Decision(option if task.vendors else None, cells, math.ceil(cost))

    def _offer(self, task: Task, view: View) -> tuple[Any, int, tuple[Cell, ...], list[Any]] | None:
        """(c, option, cells, price of each) of the cheapest cover; None without one."""
        wish = self._poster.wish(task, view)
        if wish is None:
            return None
        price = wish.price if self._guard is None else self._limit(self._guard, task, view, wish)
        found = self._find_cover(task, wish, price)
        if found is None:
            return None
        total, option, cells = found
        row = {g: z for z, g in enumerate(wish.types.tolist())}
        places = [(row[self._kind[k]], t - 1 - wish.first) for k, t in cells]
        if self._exact:
            tables = price, wish.price, *self._limits
            shown = ([Fraction(table[place]) for table in tables] for place in places)
            self._trace.posted.append(tuple(PostedCell(*values) for values in shown))
        return total, option, cells, [price[place] for place in places]

    def _find_cover(
        self, task: Task, wish: ProposedPrices, price: NDArray[Any]
    ) -> tuple[Any, int, tuple[Cell, ...]] | None:
        cost = task.cost[wish.types, wish.first : task.deadline]
        starts, prices = offers(task)
        # Doubles may not hold a sum of whole micro-dollars over the window, nor a price that only a payment outweighs.
        dearest = int(prices.max()) + task.cost.shape[1] * (_LARGEST + int(np.abs(task.cost).max(initial=0)))
        if self._exact or dearest >= DOUBLES or bool((cost < 0).any() and (price >= _LARGEST).any()):
            at = np.argsort(wish.types)  # in the order of the menu's types
            node = wish.node[at].tolist()
            values = [[Fraction(value) if k >= 0 else None for value, k in zip(*row, strict=True)]
                      for row in zip(price[at].tolist(), node, strict=True)]  # fmt: skip
            return cover_in_fractions(task, space(task, self._public), values, node)
        cell = np.where((wish.node >= 0) & (price < _LARGEST), price + cost, np.inf)
        total, option, rows = cheapest_of_cells(
            cell, wish.node, task.rate[wish.types], task.work, starts, wish.first + 1, prices, STATE_LIMIT
        )
        if option == -2:
            raise too_large(task)
        if option < 0:
            return None
        return total, int(option), tuple((k, t + wish.first + 1) for t, k, _ in rows.tolist())

    def _most_cells(self, task: Task, wish: ProposedPrices) -> int:
        """At least the cells that a task takes; it says nothing of the deadline, and does not fall with the work."""
        left = self._public.slots - wish.first
        if self._settings is None or not self._settings.settles or bool((task.cost < 0).any()):
            return left
        return min(left, -(-task.work // int(task.rate[wish.types].min())))

    def _limit(self, guard: Guard, task: Task, view: View, wish: ProposedPrices) -> NDArray[Any]:
        """The wishes, brought between the guard's limits; its node of a slot changes where the lower limit binds."""
        types = wish.types.tolist()
        rates = task.rate.tolist()
        there = [np.where(node >= 0, price, 0) for node, price in zip(wish.node, wish.price, strict=True)]
        if self._exact:
            there = [np.array([Fraction(value) for value in row.tolist()], object) for row in there]
        below = guard.allowance(self._most_cells(task, wish))
        guard.raise_credit((wish.first, task.memory_mb, rates), types, there)
        rows, limits = [], []
        slots = np.arange(wish.first, task.deadline)
        for g, node, price in zip(types, wish.node, there, strict=True):
            sizes = rates[g], task.memory_mb
            _, least, most = guard.limits(g, *sizes, slots, np.maximum(node, 0), node + 1, view)
            tight = np.flatnonzero((node >= 0) & (least > price))
            if len(tight):
                low, high = (np.full(len(tight), end) for end in self._public.first_node[g : g + 2])
                node[tight], least[tight], _ = guard.limits(g, *sizes, slots[tight], low, high, view)
            least = guard.discount(least, price, below)
            rows.append(np.maximum(np.minimum(price, most), least))
            limits.append((least, most))
        self._limits = tuple(np.array(each) for each in zip(*limits, strict=True))
        return np.array(rows)


def find_usable_types(task: Task, public: Public) -> tuple[IntArray, int] | None:
    """Usable node types, the slowest first, and the first slot from 0; None where no schedule can do the work."""
    menu = space(task, public)
    if menu.width == 0 or len(menu.types) == 0:
        return None
    return menu.types[np.argsort(menu.rates, kind="stable")], menu.first - 1


def find_free_cells(task: Task, view: View, public: Public) -> tuple[IntArray, int, NDArray[np.bool_]] | None:
    """As `find_usable_types`, with the (K, W) cells that can take the task."""
    found = find_usable_types(task, public)
    return None if found is None else (*found, view.room(task, public)[:, found[1] : task.deadline])


def propose_cheapest(
    task: Task, view: View, public: Public, cell_prices: Callable[[Task, int], NDArray[Any]]
) -> ProposedPrices | None:
    """Propose the cheapest node with free capacity at the (K, W) prices of the task's cells from a slot, from 0, on."""
    found = find_free_cells(task, view, public)
    if found is None:
        return None
    types, first, free = found
    node, price = choose_cheapest(cell_prices(task, first), free, public.first_node)
    return ProposedPrices(types, first, node[types], price[types])
