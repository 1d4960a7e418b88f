"""What algorithms leave for audits after a run: offers, prices and rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

EXACT_TASKS = 64  # `arith=auto` is exact up to this many tasks, float above


@dataclass(frozen=True, slots=True)
class Offer:
    """What the mechanism computed for one task.

    Parameters
    ----------
    task : index.
    value : F(il) of the schedule found, None when there is no schedule.
    option : index of the pre-processing option.
    cells : the schedule.
    work, cells_used : S in samples and n.
    net : b_il in micro-dollars.
    admitted : False for F <= 0 and for a task dropped in line 12.
    payment : p_i of the payment rule, exact or a double; None unless admitted.
    """

    task: int
    value: Fraction | float | None
    option: int = 0
    cells: tuple[tuple[int, int], ...] = ()
    work: int = 0
    net: int = 0
    admitted: bool = False
    payment: Fraction | float | None = None


@dataclass(slots=True)
class PriceTrace:
    """What an audit reads after a run.

    Parameters
    ----------
    search : how schedules were found, exact (9) or printed (13).
    exact : prices are fractions.
    money, memory : unit scale: bbar_il = money * b_il / (S + memory * R), prices in file units.
    alpha, beta : in the file's units.
    updates : whose offers move prices: those with F > 0 (all), or the admitted ones only (admitted).
    offers : one per task, in order.
    lam, phi : final prices {(node, slot): value}, zeros left out.
    """

    search: str
    exact: bool
    money: Fraction
    memory: Fraction
    alpha: Fraction
    beta: Fraction
    units: str
    updates: str = "all"
    offers: list[Offer] = field(default_factory=list)
    lam: dict[tuple[int, int], Fraction | float] = field(default_factory=dict)
    phi: dict[tuple[int, int], Fraction | float] = field(default_factory=dict)


class GreedyOffer(NamedTuple):
    """What a task was offered, taken or not: cost in micro-dollars, index of the option, cells."""

    cost: int | Fraction | float
    option: int
    cells: tuple[tuple[int, int], ...]
    admitted: bool

    @property
    def payment(self) -> int | Fraction | float | None:
        """The charge; None for a rejected task."""
        return self.cost if self.admitted else None


@dataclass(slots=True)
class GreedyTrace:
    """What an audit reads after a run: one offer per task, in order; None where no schedule had room."""

    offers: list[GreedyOffer | None] = field(default_factory=list)


Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rule:
    """How prices move, and what the theorem of the mechanism is about.

    Parameters
    ----------
    growth : B.
    eta_c, eta_m : micro-dollars per sample and per MB.
    by_bbar : v is bbar_il instead of 1.
    gain : the G (or 2^(1-eps) - 1) behind eta, a lower bound on the real number; None where there is none.
    tested : whether cells without room are left out. Only `posted` can do without.
    weights : w_c, w_m of bbar_il, per sample and per MB: the units that it is measured in.
    """

    growth: Fraction
    eta_c: Fraction
    eta_m: Fraction
    by_bbar: bool
    gain: Fraction | None = None
    tested: bool = True
    weights: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1))

    def bbar(self, net: int, work: int, use: int) -> Fraction:
        """b_il / (w_c S + w_m R) of a schedule, R = `use` in MB."""
        return net / (self.weights[0] * work + self.weights[1] * use)


@dataclass(slots=True)
class LinearTrace:
    """What an audit reads after a run; F' stands in the offers' `value`.

    Parameters
    ----------
    mechanism : registered name.
    exact : prices are fractions.
    rule : how they moved.
    constants : the public constants that the run used, margin included.
    offers : one per task, in order.
    lam, phi : final prices {(node, slot): value}, zeros left out.
    """

    mechanism: str
    exact: bool
    rule: Rule
    constants: Mapping[str, Fraction]
    offers: list[Offer] = field(default_factory=list)
    lam: dict[Cell, Fraction | float] = field(default_factory=dict)
    phi: dict[Cell, Fraction | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LawTerms:
    """What Lemma P needs of a run with prices that follow loads (`ratiobench.online.lora.price_laws`).

    Parameters
    ----------
    law : name of the algorithm.
    growth : B.
    caps : X_c and X_m, margin included.
    share : the eps that was announced.
    zeta : the price of an empty cell over X.
    start : sum of capacity times price before the first task, over all nodes, micro-dollars.
    problem : why Lemma P does not cover the law; empty where it does.
    """

    law: str
    growth: Fraction
    caps: tuple[Fraction, Fraction]
    share: Fraction
    zeta: Fraction
    start: Fraction
    problem: str = ""


@dataclass(frozen=True, slots=True)
class UnitTerms:
    """What Theorem A' needs of a run of `units`.

    Parameters
    ----------
    gamma : the factor.
    low : L, the least value of a unit, micro-dollars.
    theta : the largest value over the least.
    prices : final price of a unit over L, by node type and slot.
    """

    gamma: Fraction
    low: Fraction
    theta: Fraction
    prices: tuple[tuple[Fraction, ...], ...]


class PoolTerms(NamedTuple):
    """What Theorem A for pools needs of a run of `pooled`.

    Parameters
    ----------
    growth : B.
    gain : G where prices begin at 0; None where they begin at Z X.
    tops : X by node type, micro-dollars per unit of weight. caps : X_c and X_m, margin included.
    share : the eps that was announced.
    start : price of an empty slot by node type. prices : last prices by node type and slot, per unit of weight.
    problem : why the theorem does not cover the run; empty where it does.
    """

    growth: Fraction
    gain: Fraction | None
    tops: tuple[Fraction, ...]
    caps: tuple[Fraction, Fraction]
    share: Fraction
    start: tuple[Fraction, ...]
    prices: tuple[tuple[Fraction, ...], ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StaticTerms:
    """What Theorems S and S2 need of a run of `static`.

    Parameters
    ----------
    price : per unit of weight, micro-dollars; None where groups of nodes have different ones.
    low, theta : L and theta, from which the price was drawn.
    drawn : the price was drawn, and not given.
    """

    price: Fraction | None
    low: Fraction
    theta: Fraction
    drawn: bool
