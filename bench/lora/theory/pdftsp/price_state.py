"""Prices per unit of alpha and beta after some decisions, so that one set of books serves every alpha and beta."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ratiobench.bench.lora.theory.basis.case import Cell, is_positive
from ratiobench.bench.lora.theory.pdftsp.auction import Auction
from ratiobench.bench.lora.theory.pdftsp.curve import Line
from ratiobench.formulations.lora.covering.schedules import Space
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import IntArray, Task
from ratiobench.online.lora.search.maxprice import Choice, Prices, exact_search, printed_search, window


class SearchLimitReached(Exception):
    """The allowance of schedule searches is used up."""


class SearchBudget:
    """Counts schedule searches."""

    def __init__(self, left: int | None) -> None:
        self._left = left
        self.spent = 0

    def spend(self) -> None:
        """One more search; OutOfSearches if it was not allowed any more."""
        if self._left is not None:
            if self._left == 0:
                raise SearchLimitReached
            self._left -= 1
        self.spent += 1


class PastDecision(NamedTuple):
    """What the mechanism did with a task: schedule, sign of F, admission (for the bidder itself: whether it fits)."""

    option: int
    cells: tuple[Cell, ...]
    positive: bool
    admitted: bool


def find_past_decision(auction: Auction, i: int) -> PastDecision | None:
    """What the run did with a task; None when it has no schedule."""
    step = auction.steps.get(i)
    if step is None or step.offer.value is None:
        return None
    offer = step.offer
    return PastDecision(offer.option, offer.cells, is_positive(offer), offer.admitted)


def changes_state(auction: Auction, past: PastDecision | None) -> bool:
    """Whether a decision changes prices or loads."""
    return past is not None and past.positive and (past.admitted or auction.trace.updates == "all")


History = tuple[PastDecision | None, ...]


class Regime(NamedTuple):
    """alpha and beta as linear functions of the bid, valid between two bids."""

    alpha: Line
    beta: Line


class PriceTable:
    """One price on every cell, in fractions; equal prices are one entry, so that they are compared once.

    `shape`: (K, T).
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._values = [Fraction(0)]
        self._entry = {Fraction(0): 0}
        self._at = np.zeros(shape, np.int64)

    def copy(self) -> PriceTable:
        """Another book with the same prices."""
        other = PriceTable((0, 0))
        other._values, other._entry, other._at = list(self._values), dict(self._entry), self._at.copy()
        return other

    def __getitem__(self, cell: Cell) -> Fraction:
        return self._values[int(self._at[cell[0], cell[1] - 1])]

    def __setitem__(self, cell: Cell, price: Fraction) -> None:
        entry = self._entry.setdefault(price, len(self._values))
        if entry == len(self._values):
            self._values.append(price)
        self._at[cell[0], cell[1] - 1] = entry

    def rank_cells(self, factor: Fraction, nodes: IntArray, first: int, last: int) -> tuple[IntArray, list[Fraction]]:
        """(K', W) ranks of the cells of some nodes in slots first..last, and their distinct prices times a factor."""
        entries, inverse = np.unique(self._at[nodes, first - 1 : last], return_inverse=True)
        inverse = inverse.reshape(len(nodes), -1)
        if factor == 0:
            return np.zeros_like(inverse), [factor]
        # Doubles keep the order up to ties: a fraction becomes the double nearest to it.
        here = sorted((float(self._values[e]), self._values[e], j) for j, e in enumerate(entries.tolist()))
        rank = np.empty(len(here), np.int64)
        rank[[j for _, _, j in here]] = np.arange(len(here))
        return rank[inverse], [factor * price for _, price, _ in here]


class PriceState:
    """Prices per unit of alpha and beta, and loads, after some tasks; in file units."""

    def __init__(self, auction: Auction, meter: SearchBudget) -> None:
        self._auction, self._meter = auction, meter
        self._public = auction.public
        self._types = self._public.type_of_node.tolist()
        self._compute, self._memory = self._public.compute.tolist(), self._public.memory_mb.tolist()
        self._search = exact_search if auction.trace.search == "exact" else printed_search
        self._lam, self._phi = (PriceTable((self._public.nodes, self._public.slots)) for _ in range(2))
        self._load: dict[Cell, tuple[int, int]] = {}
        self._found: dict[int, Choice | None] = {}

    def copy(self, meter: SearchBudget | None = None) -> PriceState:
        """Another ledger that goes on from here, on the same meter or another."""
        other = PriceState(self._auction, self._meter if meter is None else meter)
        other._lam, other._phi, other._load = self._lam.copy(), self._phi.copy(), dict(self._load)
        return other

    def follow(self, task: Task) -> None:
        """Move prices and loads as the run did with the task."""
        past = find_past_decision(self._auction, task.index)
        if past is not None:
            self.take(task, past)

    def search_again(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """As `search`, for tasks of the instance; like tasks are searched once while no price moves."""
        kind = self._auction.likeness[task.index]
        if kind not in self._found:
            self._found[kind] = self.search(task, alpha, beta)
        return self._found[kind]

    def search(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """The schedule that the mechanism chooses now."""
        met = self._met(task, alpha, beta)
        return None if met is None else self._search(task, self._public, *met)

    def find_both_choices(self, task: Task, alpha: Fraction, beta: Fraction) -> tuple[Choice, Choice] | None:
        """A schedule of largest F, and the one that Algorithm 2 finds now; None when there is no schedule."""
        met = self._met(task, alpha, beta)
        best = None if met is None else exact_search(task, self._public, *met)
        if met is None or best is None:
            return None
        found = printed_search(task, self._public, *met)
        assert found is not None, "Algorithm 2 reaches W wherever a cover exists"
        return best, found

    def _met(self, task: Task, alpha: Fraction, beta: Fraction) -> tuple[Space, IntArray, Prices] | None:
        """What a search has to do with: the task's space, its nodes, and their prices; None where it cannot run."""
        where = window(task, self._public)
        if where is None:
            return None
        self._meter.spend()
        menu, nodes = where
        lam, lam_exact = self._lam.rank_cells(alpha, nodes, menu.first, menu.last)
        phi, phi_exact = self._phi.rank_cells(beta, nodes, menu.first, menu.last)
        return menu, nodes, Prices(lam, phi, lam_exact, phi_exact)

    def find_best_fitting(self, task: Task, alpha: Fraction, beta: Fraction, *, free: bool) -> Choice | None:
        """The schedule of largest F among those with room, found exactly whatever the mechanism's own search.

        Returns its value is not positive where no schedule with room has a positive F; None when there is no schedule
        at all.
        """
        if free:
            task = replace(task, cost=np.zeros_like(task.cost))
        met = self._met(task, alpha, beta)
        if met is None:
            return None
        menu, nodes, prices = met
        row = {k: j for j, k in enumerate(nodes.tolist())}
        full = [
            (row[k], t - menu.first)
            for k, t in self._load
            if k in row and menu.first <= t <= menu.last and not self.fits(task, ((k, t),))
        ]
        if full:
            # A price that no bid can pay, with all that negative costs could give back.
            levels = prices.lam_exact
            assert levels is not None
            levels = [*levels, max(Fraction(LIMIT) * (self._public.slots + 2), levels[-1] + 1)]
            prices.lam[tuple(np.array(full).T)] = len(levels) - 1
            prices = prices._replace(lam_exact=levels)
        return exact_search(task, self._public, menu, nodes, prices)

    def line(self, task: Task, option: int, cells: tuple[Cell, ...], regime: Regime) -> Line:
        """F of a schedule as a function of the bid that alpha and beta follow; the task's own b_i as it stands."""
        work, net = self._figures(task, option, cells)
        a = max((self._lam[cell] for cell in cells), default=Fraction(0)) * work
        b = max((self._phi[cell] for cell in cells), default=Fraction(0)) * task.memory_mb * len(cells)
        return Line(net - regime.alpha.at * a - regime.beta.at * b, -(regime.alpha.slope * a + regime.beta.slope * b))

    def fits(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        """Whether the admitted tasks leave room."""
        for k, t in cells:
            g = self._types[k]
            samples, memory = self._load.get((k, t), (0, 0))
            if samples + int(task.rate[g]) > self._compute[g] or memory + task.memory_mb > self._memory[g]:
                return False
        return True

    def take(self, task: Task, past: PastDecision) -> None:
        """Move prices and loads as the mechanism does after its decision."""
        trace = self._auction.trace
        if not past.positive:
            return
        if past.admitted or trace.updates == "all":
            work, net = self._figures(task, past.option, past.cells)
            self._found.clear()
            lift = trace.money * net / (work + trace.memory * task.memory_mb * len(past.cells))
            for k, t in past.cells:
                g = self._types[k]
                share = Fraction(int(task.rate[g]), self._compute[g])
                self._lam[k, t] = self._lam[k, t] * (1 + share) + lift * share
                share = Fraction(task.memory_mb, self._memory[g])
                self._phi[k, t] = self._phi[k, t] * (1 + share) + lift * share
        if past.admitted:
            for k, t in past.cells:
                samples, memory = self._load.get((k, t), (0, 0))
                self._load[k, t] = samples + int(task.rate[self._types[k]]), memory + task.memory_mb

    def decide(self, task: Task, alpha: Fraction, beta: Fraction) -> PastDecision | None:
        """The mechanism's decision about a task, taken into the books."""
        choice = self.search_again(task, alpha, beta)
        if choice is None:
            return None
        won = choice.value > 0
        past = PastDecision(choice.option, choice.cells, won, won and self.fits(task, choice.cells))
        self.take(task, past)
        return past

    def _figures(self, task: Task, option: int, cells: tuple[Cell, ...]) -> tuple[int, int]:
        work = energy = 0
        for k, t in cells:
            g = self._types[k]
            work += int(task.rate[g])
            energy += int(task.cost[g, t - 1])
        return work, task.bid - task.options[option].price - energy
