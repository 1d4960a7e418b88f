"""What is proved of each mechanism beside what no algorithm can beat at the same parameters.

The parameters are those of unit instances: a spread theta of values, n tasks on a node, K nodes, so that eps = 1/n and
N = n K. Memories are in proportion to bids, so that U = theta + 1, the least that U can be (2 theta where memories are
equal). Rows are made for the mechanisms that are registered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ratiobench.bench.family.capabilities import LimitRow
from ratiobench.bench.lora.theory.limits import formulas
from ratiobench.online.lora.algorithms.posted import best_growth, gain
from ratiobench.online.lora.registry import entries

LOSS = 1e-6
"""What a factor with an additive loss is shown for: so much of the worth of all capacity at the largest density."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """A class of unit instances.

    Parameters
    ----------
    theta : largest value of a task over the least.
    units : n, tasks that fit a node in a slot.
    nodes : K, of each type.
    """

    theta: Fraction = Fraction(1000)
    units: int = 16
    nodes: int = 2

    @property
    def share(self) -> Fraction:
        """eps."""
        return Fraction(1, self.units)

    @property
    def spread(self) -> Fraction:
        """U."""
        return self.theta + 1

    @property
    def total(self) -> int:
        """N."""
        return self.units * self.nodes

    @property
    def text(self) -> str:
        """The parameters in words."""
        return (
            f"theta = {self.theta}, U = {self.spread}, eps = 1/{self.units}, {self.nodes} nodes of each type, "
            f"N = {self.total} units per slot and type"
        )


def factor_posted(given: Parameters) -> Fraction:
    """Theorem A: Gamma = max(1, B) + B U / G at the B and the G that the mechanism takes."""
    growth = best_growth(given.spread, given.share)
    return max(Fraction(1), growth) + growth * given.spread / gain(growth, given.share)


def least_of_deterministic(given: Parameters) -> float:
    """The larger one of c_N (Theorem N4) and Gamma* (Theorem N3)."""
    theta = float(given.theta)
    return max(formulas.bound_units(given.total, theta), formulas.bound_any_choice(theta))


def _up(value: float | Fraction) -> Fraction:
    return -formulas.round_down(-float(value))


_Row = Callable[[Parameters], LimitRow]
DETERMINISTIC = "deterministic: max(c_N, Gamma*) (N4, N3)"
LOST = f"with an additive loss of {LOSS:g} of all capacity"


def _of_greedy(given: Parameters) -> LimitRow:
    factor = _up(formulas.factor_greedy(float(given.spread), float(given.share)))
    return LimitRow(
        "greedy", "1 + U/(1 - eps) (Theorem G)", factor, DETERMINISTIC,
        formulas.round_down(least_of_deterministic(given)),
        "linear against logarithmic; greedy itself has theta on the levels 1, theta",
    )  # fmt: skip


def _of_posted(given: Parameters) -> LimitRow:
    return LimitRow(
        "posted", "min over B of max(1, B) + B U/G (Theorem A)", _up(factor_posted(given)), DETERMINISTIC,
        formulas.round_down(least_of_deterministic(given)),
        "ln ln U + O(1) for small eps, which no price of the load avoids (N8); else one price per node costs the rest",
    )  # fmt: skip


def _of_minimal_edit(given: Parameters) -> LimitRow:
    factor = _up(formulas.factor_minimal_edit(float(given.spread), float(given.share)))
    return LimitRow(
        "minimal-edit", "1 + U/(2^(1-eps) - 1), canonical units (Theorem B)", factor, DETERMINISTIC,
        formulas.round_down(least_of_deterministic(given)), "linear against logarithmic",
    )  # fmt: skip


def _of_certificate(name: str) -> _Row:
    def row(given: Parameters) -> LimitRow:
        return LimitRow(
            name, "Gamma' + U/(1 - eps), Gamma' >= 1 known when the run ends (Theorem C)", None, DETERMINISTIC,
            formulas.round_down(least_of_deterministic(given)),
            "linear against logarithmic; a certificate per run instead",
        )  # fmt: skip

    return row


def _of_pdftsp(given: Parameters) -> LimitRow:
    return LimitRow(
        "pdftsp", "kappa rho_L (1 + A) (Theorem 5'); as printed false", None, DETERMINISTIC,
        formulas.round_down(least_of_deterministic(given)), "at least linear",
    )  # fmt: skip


def _of_guard(name: str, when: str) -> _Row:
    def row(given: Parameters) -> LimitRow:
        return LimitRow(
            name, f"rho + max(1, Omega beta), and a loss A0{when} (Theorem H)", None, "ln(V/A0) (L); N7", None,
            "of the guard's announced figures; `audit --claim theorem_h` prints both as factor and least_factor",
        )  # fmt: skip

    return row


def _of_loss(name: str, proved: str, factor: Callable[[float, float], float], loss: Callable[[float], float]) -> _Row:
    def row(given: Parameters) -> LimitRow:
        lost = loss(float(given.spread))
        return LimitRow(
            name, proved, _up(factor(lost, float(given.share))), "ln(V/A) (L)",
            formulas.round_down(max(1.0, math.log(1 / lost))), "none for one binding resource and small eps",
        )  # fmt: skip

    return row


def _of_units(given: Parameters) -> LimitRow:
    factor = _up(formulas.factor_units(given.total, float(given.theta)))
    return LimitRow(
        "units", "Gamma_N, tasks of one cell (Theorem A')", factor, DETERMINISTIC,
        formulas.round_down(least_of_deterministic(given)), "at most 1; none for many units",
    )  # fmt: skip


def _of_pools(given: Parameters) -> LimitRow:
    factor = formulas.factor_pooled(float(given.spread), float(given.share), given.nodes)
    return LimitRow(
        "pooled", "min over G of Omega B (1 + U/G), mixed sizes, Omega = 1 here (Theorem A for pools)", _up(factor),
        DETERMINISTIC, formulas.round_down(least_of_deterministic(given)),
        "Omega/(1 - eps) for mixed sizes; ln ln U for several cells (N8)",
    )  # fmt: skip


def _of_static(given: Parameters) -> LimitRow:
    bound = formulas.bound_theta(float(given.theta))
    return LimitRow(
        "static", "1 + ln theta in the mean, equal tasks of one cell and one slot", _up(bound),
        "with coins: 1 + ln theta (N1)", formulas.round_down(bound), "none there; else the factor of the slack (S2)",
    )  # fmt: skip


FLAT, PARTS = 0.5, 2
"""Default options: the part of the load that `advice` sells at the advised price; nodes over b's nodes in `combine`."""


def _of_advice(given: Parameters) -> LimitRow:
    factor = formulas.factor_reserve(LOSS, float(given.share), FLAT)
    return LimitRow(
        "advice", f"B, half of the load at the advised price, any advice, {LOST} (Lemma P)", _up(factor),
        "ln(V/A) (L); with a share of the day that advice gets: N7", formulas.round_down(math.log(1 / LOSS)),
        "1/(1 - flat): what the advised price may sell without a rise",
    )  # fmt: skip


def _of_mirror(given: Parameters) -> LimitRow:
    return LimitRow(
        "mirror", "none", None, DETERMINISTIC, formulas.round_down(least_of_deterministic(given)),
        "its regret of sqrt(n) is for resources that all tasks share",
    )  # fmt: skip


def _of_combine(given: Parameters) -> LimitRow:
    factor = PARTS * formulas.factor_reserve(LOSS, float(given.share))
    return LimitRow(
        "combine", f"2 B, mode=split, b=reserve on half of the nodes, {LOST} (Lemma P); coin: both factors over their "
        "probabilities", _up(factor), "ln(V/A) (L); N7", formulas.round_down(math.log(1 / LOSS)),
        "nodes over those of the part with the guarantee",
    )  # fmt: skip


_ROWS: Mapping[str, _Row] = {
    "posted": _of_posted,
    "reserve": _of_loss("reserve", f"B, {LOST} (Theorem A+)", formulas.factor_reserve, lambda spread: LOSS),
    "units": _of_units,
    "pooled": _of_pools,
    "minimal-edit": _of_minimal_edit,
    "capped": _of_certificate("capped"),
    "bbar-rule": _of_certificate("bbar-rule"),
    "greedy": _of_greedy,
    "static": _of_static,
    "zcl": _of_loss(
        "zcl", "B, with an additive loss of 1/(e U) of all capacity (Lemma P)", formulas.factor_reserve,
        lambda spread: 1 / (math.e * spread),
    ),
    "advice": _of_advice,
    "combine": _of_combine,
    "mirror": _of_mirror,
    "guarded": _of_guard("guarded", ""),
    "learned": _of_guard("learned", " with guard=BETA; without it none"),
    "pdftsp": _of_pdftsp,
}  # fmt: skip
"""Rows by the name of the mechanism; a mechanism that is not registered has none."""


def list_rows(given: Parameters) -> list[LimitRow]:
    """The rows of the registered mechanisms."""
    known = entries()
    return [row(given) for name, row in _ROWS.items() if name in known]


def make_table() -> tuple[str, list[LimitRow]]:
    """The parameters in words, and the rows."""
    given = Parameters()
    return given.text, list_rows(given)
