"""Prices per unit of alpha and beta after some decisions, so that one state serves every alpha and beta.

States do not change. Each keeps the state after it that was asked for last, with the searches made in it, so that
courses through the tasks that begin alike, at other bids or for other bidders, share what they have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ratiobench.bench.lora.theory.basis.facts import SearchBudget
from ratiobench.bench.lora.theory.pdftsp.auction import Auction
from ratiobench.bench.lora.theory.pdftsp.curve import Line
from ratiobench.formulations.lora.covering.schedules import Space
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import IntArray, Task
from ratiobench.online.lora.search.maxprice import Choice, Prices, exact_search, printed_search, window
from ratiobench.online.lora.traces import Cell

KEPT = 10**7  # Most prices of all states together, tasks times nodes times slots, with which states are kept


class PastDecision(NamedTuple):
    """What the mechanism did with a task: schedule, sign of F, admission (for the bidder itself: whether it fits)."""

    option: int
    cells: tuple[Cell, ...]
    positive: bool
    admitted: bool


def find_past_decision(auction: Auction, i: int) -> PastDecision | None:
    """What the run did with a task; None if it has no schedule."""
    step = auction.steps.get(i)
    if step is None:
        return None
    return PastDecision(step.offer.option, step.offer.cells, step.positive, step.offer.admitted)


def changes_state(auction: Auction, past: PastDecision | None) -> bool:
    return past is not None and past.positive and (past.admitted or auction.trace.updates == "all")


History = tuple[PastDecision | None, ...]


class Regime(NamedTuple):
    """alpha and beta as linear functions of the bid, valid between two bids."""

    alpha: Line
    beta: Line


class PriceTable:
    """One price on every cell, in fractions; equal prices are one entry, so that they are compared once."""

    def __init__(self, at: IntArray, values: list[Fraction], entries: dict[Fraction, int]) -> None:
        # (K, T) entry of each cell; values and entries of all tables that were made from one another
        self._at, self._values, self._entries = at, values, entries
        self._ranked: dict[tuple[bytes, int, int], tuple[IntArray, list[Fraction]]] = {}

    def __getitem__(self, cell: Cell) -> Fraction:
        return self._values[int(self._at[cell[0], cell[1] - 1])]

    def move(self, prices: Mapping[Cell, Fraction]) -> PriceTable:
        at = self._at.copy()
        for (k, t), price in prices.items():
            at[k, t - 1] = entry = self._entries.setdefault(price, len(self._values))
            if entry == len(self._values):
                self._values.append(price)
        return PriceTable(at, self._values, self._entries)

    def rank_cells(self, factor: Fraction, nodes: IntArray, first: int, last: int) -> tuple[IntArray, list[Fraction]]:
        """(K', W) ranks of the cells of some nodes in slots first..last, and their distinct prices times a factor."""
        key = nodes.tobytes(), first, last
        if key not in self._ranked:
            entries, inverse = np.unique(self._at[nodes, first - 1 : last], return_inverse=True)
            # Doubles keep the order up to ties: a fraction becomes the double nearest to it.
            here = sorted((float(self._values[e]), self._values[e], j) for j, e in enumerate(entries.tolist()))
            rank = np.empty(len(here), np.int64)
            rank[[j for _, _, j in here]] = np.arange(len(here))
            self._ranked[key] = rank[inverse.reshape(len(nodes), -1)], [price for _, price, _ in here]
        rank, prices = self._ranked[key]
        return (rank, [factor * price for price in prices]) if factor else (np.zeros_like(rank), [factor])


class PriceState:
    """Prices per unit of alpha and beta, and loads, after some decisions; in file units."""

    def __init__(self, auction: Auction) -> None:
        self.auction = auction
        self._public = auction.public
        self._types = self._public.type_of_node.tolist()
        self._compute, self._memory = self._public.compute.tolist(), self._public.memory_mb.tolist()
        self._search = exact_search if auction.trace.search == "exact" else printed_search
        nothing, zero = np.zeros((self._public.nodes, self._public.slots), np.int64), Fraction(0)
        self._lam, self._phi = (PriceTable(nothing, [zero], {zero: 0}) for _ in range(2))
        self._load: dict[Cell, tuple[int, int]] = {}
        self._is_kept = nothing.size * len(auction.tasks) <= KEPT
        self._found: dict[tuple[int, Fraction, Fraction], tuple[Choice | None, bool]] = {}
        self._next: tuple[int, PastDecision, PriceState] | None = None

    def after(self, task: Task, past: PastDecision | None) -> PriceState:
        """The state after the mechanism decided so about a task of the run."""
        if past is None or not changes_state(self.auction, past):
            return self
        if self._next is not None and self._next[:2] == (task.index, past):
            return self._next[2]
        work, net = self._figures(task, past.option, past.cells)
        trace = self.auction.trace
        lift = trace.money * net / (work + trace.memory * task.memory_mb * len(past.cells))
        lam, phi, load = {}, {}, dict(self._load)
        for k, t in past.cells:
            g = self._types[k]
            rate = int(task.rate[g])
            share = Fraction(rate, self._compute[g])
            lam[k, t] = self._lam[k, t] * (1 + share) + lift * share
            share = Fraction(task.memory_mb, self._memory[g])
            phi[k, t] = self._phi[k, t] * (1 + share) + lift * share
            samples, memory = load.get((k, t), (0, 0))
            load[k, t] = samples + rate, memory + task.memory_mb
        state = copy(self)
        state._lam, state._phi = self._lam.move(lam), self._phi.move(phi)
        state._load = load if past.admitted else self._load
        state._found, state._next = {}, None
        if self._is_kept:
            self._next = task.index, past, state
        return state

    def follow(self, task: Task) -> PriceState:
        """The state after the run's own decision about the task."""
        return self.after(task, find_past_decision(self.auction, task.index))

    def find(self, task: Task, alpha: Fraction, beta: Fraction) -> tuple[Choice | None, bool]:
        """The schedule that the mechanism chooses now, and whether that takes a search."""
        is_reported = task is not self.auction.tasks[task.index]
        key = self.auction.likeness[task.index], alpha, beta
        if is_reported or key not in self._found:
            met = self._met(task, alpha, beta)
            found = (None, False) if met is None else (self._search(task, self._public, *met), True)
            if is_reported:
                return found
            self._found[key] = found
        return self._found[key]

    def find_both_choices(
        self, task: Task, alpha: Fraction, beta: Fraction, budget: SearchBudget
    ) -> tuple[Choice, Choice] | None:
        """A schedule of largest F, and the one that Algorithm 2 finds now; None if there is no schedule."""
        met = self._met(task, alpha, beta)
        if met is None:
            return None
        budget.spend()
        best = exact_search(task, self._public, *met)
        if best is None:
            return None
        found = printed_search(task, self._public, *met)
        assert found is not None, "Algorithm 2 reaches W wherever a cover exists"
        return best, found

    def _met(self, task: Task, alpha: Fraction, beta: Fraction) -> tuple[Space, IntArray, Prices] | None:
        """What a search needs: the task's space, its nodes, and their prices; None if there is no schedule."""
        where = window(task, self._public)
        if where is None:
            return None
        menu, nodes = where
        lam, lam_exact = self._lam.rank_cells(alpha, nodes, menu.first, menu.last)
        phi, phi_exact = self._phi.rank_cells(beta, nodes, menu.first, menu.last)
        return menu, nodes, Prices(lam, phi, lam_exact, phi_exact)

    def find_best_fitting(
        self, task: Task, alpha: Fraction, beta: Fraction, budget: SearchBudget, *, free: bool
    ) -> Choice | None:
        """The schedule of largest F (`free`: without operation) among those with room, by exact search."""
        if free:
            task = replace(task, cost=np.zeros_like(task.cost))
        met = self._met(task, alpha, beta)
        if met is None:
            return None
        budget.spend()
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
            lam = prices.lam.copy()
            lam[tuple(np.array(full).T)] = len(levels) - 1
            prices = prices._replace(lam=lam, lam_exact=levels)
        return exact_search(task, self._public, menu, nodes, prices)

    def line(self, task: Task, option: int, cells: tuple[Cell, ...], regime: Regime) -> Line:
        """F of a schedule as a function of the bid that alpha and beta follow; the task's own b_i as it stands."""
        work, net = self._figures(task, option, cells)
        a = max((self._lam[cell] for cell in cells), default=Fraction(0)) * work
        b = max((self._phi[cell] for cell in cells), default=Fraction(0)) * task.memory_mb * len(cells)
        return Line(net - regime.alpha.at * a - regime.beta.at * b, -(regime.alpha.slope * a + regime.beta.slope * b))

    def fits(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        for k, t in cells:
            g = self._types[k]
            samples, memory = self._load.get((k, t), (0, 0))
            if samples + int(task.rate[g]) > self._compute[g] or memory + task.memory_mb > self._memory[g]:
                return False
        return True

    def _figures(self, task: Task, option: int, cells: tuple[Cell, ...]) -> tuple[int, int]:
        work = energy = 0
        for k, t in cells:
            g = self._types[k]
            work += int(task.rate[g])
            energy += int(task.cost[g, t - 1])
        return work, task.bid - task.options[option].price - energy


@lru_cache(maxsize=1)
def first_state(auction: Auction) -> PriceState:
    return PriceState(auction)


class Course:
    """A course through the tasks from a state on; like tasks count as one search while no price moves."""

    def __init__(self, state: PriceState, budget: SearchBudget) -> None:
        self.state, self._budget = state, budget
        self._searched: set[int] = set()

    def search(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        choice, is_search = self.state.find(task, alpha, beta)
        if is_search:
            self._budget.spend()
        return choice

    def search_again(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """The same for tasks of the run, not counted if a like task was searched since prices moved."""
        kind = self.state.auction.likeness[task.index]
        if kind in self._searched:
            return self.state.find(task, alpha, beta)[0]
        self._searched.add(kind)
        return self.search(task, alpha, beta)

    def take(self, task: Task, past: PastDecision | None) -> None:
        state = self.state.after(task, past)
        if state is not self.state:
            self.state = state
            self._searched.clear()

    def decide(self, task: Task, alpha: Fraction, beta: Fraction) -> PastDecision | None:
        """Go on by the mechanism's decision about a task."""
        choice = self.search_again(task, alpha, beta)
        if choice is None:
            return None
        won = choice.value > 0
        past = PastDecision(choice.option, choice.cells, won, won and self.state.fits(task, choice.cells))
        self.take(task, past)
        return past
