"""Prices per unit of alpha and beta after some decisions, so that one set of books serves every alpha and beta."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from bench.lora.theory.auction import Auction
from bench.lora.theory.case import Cell
from bench.lora.theory.curve import Line
from instances.lora.model import IntArray, Task
from online.lora.maxprice import Choice, Prices, exact_search, printed_search, window


class OutOfSearches(Exception):
    """The allowance of schedule searches is used up."""


class Meter:
    """Counts schedule searches."""

    def __init__(self, left: int | None) -> None:
        self._left = left

    def spend(self) -> None:
        """One more search; OutOfSearches if it was not allowed any more."""
        if self._left is not None:
            if self._left == 0:
                raise OutOfSearches
            self._left -= 1


class Past(NamedTuple):
    """What the mechanism did with a task: schedule, sign of F, admission (for the bidder itself: whether it fits)."""

    option: int
    cells: tuple[Cell, ...]
    positive: bool
    admitted: bool


History = tuple[Past | None, ...]


class Regime(NamedTuple):
    """alpha and beta as linear functions of the bid, valid between two bids."""

    alpha: Line
    beta: Line


class Ledger:
    """Prices per unit of alpha and beta, and loads, after some tasks; in file units."""

    def __init__(self, auction: Auction, meter: Meter) -> None:
        self._auction, self._meter = auction, meter
        self._public = auction.public
        self._types = self._public.type_of_node.tolist()
        self._compute, self._memory = self._public.compute.tolist(), self._public.memory_mb.tolist()
        self._search = exact_search if auction.trace.search == "exact" else printed_search
        self.lam: dict[Cell, Fraction] = {}
        self.phi: dict[Cell, Fraction] = {}
        self._load: dict[Cell, tuple[int, int]] = {}
        self._found: dict[int, Choice | None] = {}

    def search_again(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """As `search`, for tasks of the instance; like tasks are searched once while no price moves."""
        kind = self._auction.likeness[task.index]
        if kind not in self._found:
            self._found[kind] = self.search(task, alpha, beta)
        return self._found[kind]

    def search(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """The schedule that the mechanism chooses now."""
        where = window(task, self._public)
        if where is None:
            return None
        self._meter.spend()
        menu, nodes = where
        span = range(menu.first, menu.last + 1)
        lam, lam_exact = _ranked(self.lam, alpha, nodes, span)
        phi, phi_exact = _ranked(self.phi, beta, nodes, span)
        return self._search(task, self._public, menu, nodes, Prices(lam, phi, lam_exact, phi_exact))

    def line(self, task: Task, option: int, cells: tuple[Cell, ...], regime: Regime) -> Line:
        """F of a schedule as a function of the bid that alpha and beta follow; the task's own b_i as it stands."""
        work, net = self._figures(task, option, cells)
        a = max((self.lam.get(cell, Fraction(0)) for cell in cells), default=Fraction(0)) * work
        b = max((self.phi.get(cell, Fraction(0)) for cell in cells), default=Fraction(0)) * task.memory_mb * len(cells)
        return Line(net - regime.alpha.at * a - regime.beta.at * b, -(regime.alpha.slope * a + regime.beta.slope * b))

    def fits(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        """Whether the admitted tasks leave room."""
        for k, t in cells:
            g = self._types[k]
            samples, memory = self._load.get((k, t), (0, 0))
            if samples + int(task.rate[g]) > self._compute[g] or memory + task.memory_mb > self._memory[g]:
                return False
        return True

    def take(self, task: Task, past: Past) -> None:
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
                self.lam[k, t] = self.lam.get((k, t), Fraction(0)) * (1 + share) + lift * share
                share = Fraction(task.memory_mb, self._memory[g])
                self.phi[k, t] = self.phi.get((k, t), Fraction(0)) * (1 + share) + lift * share
        if past.admitted:
            for k, t in past.cells:
                samples, memory = self._load.get((k, t), (0, 0))
                self._load[k, t] = samples + int(task.rate[self._types[k]]), memory + task.memory_mb

    def decide(self, task: Task, alpha: Fraction, beta: Fraction) -> Past | None:
        """The mechanism's decision about a task, taken into the books."""
        choice = self.search_again(task, alpha, beta)
        if choice is None:
            return None
        won = choice.value > 0
        past = Past(choice.option, choice.cells, won, won and self.fits(task, choice.cells))
        self.take(task, past)
        return past

    def _figures(self, task: Task, option: int, cells: tuple[Cell, ...]) -> tuple[int, int]:
        """S and b_il."""
        work = energy = 0
        for k, t in cells:
            g = self._types[k]
            work += int(task.rate[g])
            energy += int(task.cost[g, t - 1])
        return work, task.bid - task.options[option].price - energy


def _ranked(
    price: Mapping[Cell, Fraction], factor: Fraction, nodes: IntArray, span: range
) -> tuple[IntArray, list[Fraction]]:
    """Prices on a window as ranks in the list of their distinct values."""
    zero = Fraction(0)
    here = [[factor * price.get((k, t), zero) for t in span] for k in nodes.tolist()]
    values = sorted({value for row in here for value in row})
    rank = {value: j for j, value in enumerate(values)}
    return np.array([[rank[value] for value in row] for row in here], dtype=np.int64), values
