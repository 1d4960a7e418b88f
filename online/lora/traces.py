"""What algorithms leave for audits after a run: offers, prices and rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]  # node, and slot from 1


def list_prices(price: NDArray[Any]) -> dict[Cell, Fraction | float]:
    """{(node, slot): price} of a (K, T) table, zeros left out."""
    nodes, slots = np.nonzero(price)
    cells = zip(nodes.tolist(), (slots + 1).tolist(), strict=True)
    return dict(zip(cells, price[nodes, slots].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Offer:
    """What the mechanism computed for one task."""

    task: int  # index
    value: Fraction | float | None  # F(il) of the schedule found, None when there is no schedule
    option: int = 0  # index of the pre-processing option
    cells: tuple[Cell, ...] = ()  # the schedule
    work: int = 0  # S in samples
    net: int = 0  # b_il in micro-dollars
    admitted: bool = False  # False for F <= 0 and for a task dropped in line 12
    payment: Fraction | float | None = None  # p_i of the payment rule, exact or a double; None unless admitted


@dataclass(slots=True)
class PriceTrace:
    """A run of pdFTSP."""

    search: str  # how schedules were found, exact (9) or printed (13)
    exact: bool  # prices are fractions
    money: Fraction  # money, memory: unit scale: bbar_il = money * b_il / (S + memory * R), prices in file units
    memory: Fraction
    alpha: Fraction  # alpha, beta: in the file's units
    beta: Fraction
    units: str
    updates: str = "all"  # whose offers move prices: those with F > 0 (all), or the admitted ones only (admitted)
    offers: list[Offer] = field(default_factory=list)  # one per task, in order
    lam: dict[Cell, Fraction | float] = field(default_factory=dict)  # lam, phi: final prices, zeros left out
    phi: dict[Cell, Fraction | float] = field(default_factory=dict)


class GreedyOffer(NamedTuple):
    """What a task was offered, taken or not: cost in micro-dollars, index of the option, cells."""

    cost: int | Fraction | float
    option: int
    cells: tuple[Cell, ...]
    admitted: bool

    @property
    def payment(self) -> int | Fraction | float | None:
        return self.cost if self.admitted else None


@dataclass(slots=True)
class GreedyTrace:
    """A run of `greedy`: one offer per task, in order; None where no schedule had room."""

    offers: list[GreedyOffer | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rule:
    """How the prices of a mechanism move, and what its theorem is about."""

    growth: Fraction  # B
    eta_c: Fraction  # eta_c, eta_m: micro-dollars per sample and per MB
    eta_m: Fraction
    by_bbar: bool  # v is bbar_il instead of 1
    # the G (or 2^(1-eps) - 1) behind eta, a lower bound on the real number; None where there is none.
    gain: Fraction | None = None
    tested: bool = True  # whether cells without room are left out. Only `posted` can do without
    # w_c, w_m of bbar_il, per sample and per MB: the units that it is measured in.
    weights: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1))

    def bbar(self, net: int, work: int, use: int) -> Fraction:
        """b_il / (w_c S + w_m R) of a schedule, R = `use` in MB."""
        return net / (self.weights[0] * work + self.weights[1] * use)


@dataclass(slots=True)
class LinearTrace:
    """A run of a mechanism with linear reduced cost; F' stands in the offers' `value`."""

    mechanism: str  # registered name
    exact: bool  # prices are fractions
    rule: Rule
    constants: Mapping[str, Fraction]  # the public constants that the run used, margin included
    offers: list[Offer] = field(default_factory=list)  # one per task, in order
    lam: dict[Cell, Fraction | float] = field(default_factory=dict)  # lam, phi: final prices, zeros left out
    phi: dict[Cell, Fraction | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LawTerms:
    """What Lemma P needs of a run with prices that follow loads."""

    growth: Fraction  # B
    caps: tuple[Fraction, Fraction]  # X_c and X_m, margin included
    share: Fraction  # the eps that was announced
    zeta: Fraction  # the price of an empty cell over X
    start: Fraction  # sum of capacity times price before the first task, over all nodes, micro-dollars
    problem: str = ""  # why Lemma P does not cover the law; empty where it does


@dataclass(frozen=True, slots=True)
class UnitTerms:
    """What Theorem A' needs of a run of `units`."""

    gamma: Fraction  # the factor
    low: Fraction  # L, the least value of a unit, micro-dollars
    theta: Fraction  # the largest value over the least
    prices: tuple[tuple[Fraction, ...], ...]  # final price of a unit over L, by node type and slot


class PoolTerms(NamedTuple):
    """What Theorem A for pools needs of a run of `pooled`."""

    growth: Fraction  # B
    gain: Fraction | None  # G where prices begin at 0; None where they begin at Z X
    tops: tuple[Fraction, ...]  # X by node type, micro-dollars per unit of weight
    caps: tuple[Fraction, Fraction]  # X_c and X_m, margin included
    share: Fraction  # the eps that was announced
    start: tuple[Fraction, ...]  # price of an empty slot by node type
    prices: tuple[tuple[Fraction, ...], ...]  # last prices by node type and slot, per unit of weight
    problem: str = ""  # why the theorem does not cover the run; empty where it does


@dataclass(frozen=True, slots=True)
class StaticTerms:
    """What Theorems S and S2 need of a run of `static`."""

    price: Fraction | None  # per unit of weight, micro-dollars; None where groups of nodes have different ones
    low: Fraction  # low, theta: L and theta, from which the price was drawn
    theta: Fraction
    drawn: bool  # the price was drawn, and not given
