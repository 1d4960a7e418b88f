"""Theorem 5 of the main paper and its repaired form on one run, in fractions.

What the paper claims: OPT <= rho (1 + max{alpha, beta}) ALG. What is provable (5'): OPT <= kappa (1 + A) P~ always, and
P~ <= rho_L P when bbar >= 1 on the selected schedules, with A = max{alpha, beta} and P~ the welfare of all tasks with
F > 0, dropped ones included. All quantities are in the units that the run used (file units, or canonical ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bench.checks import Check, Verdict
from formulations.lora.schedules import minimal_covers, space
from formulations.report import SolveReport
from instances.lora.format import content_hash
from instances.lora.model import Instance, Public, Task
from online.lora.constants import alpha, beta
from online.lora.pdftsp import Offer, PriceTrace
from online.outcome import OnlineRun

Figures = dict[str, Fraction | int | str | None]

ROUNDING = 1e-9
"""Relative error that no price in doubles reaches: 10^4 updates cost a few units in the last place each."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the theorems need of an instance, in given units of money and memory; tasks without a schedule left out.

    Parameters
    ----------
    negative : the first task with a usable cell of negative cost, or None.
    scheduled : number of tasks with a schedule.
    unprofitable : the first task with a minimal cover of b_il <= 0, or None.
    bbar_min, bbar_max : extremes of bbar over minimal covers.
    bbar_min_task : where the least stands.
    s_min, s_max, r_min, r_max : over the (task, node) pairs that can be used; r in the unit of memory.
    kappa : largest of n and S / slowest rate used, over minimal covers (over all covers where a cost is negative).
    alpha, beta : max b/M and max b/r over all tasks.
    """

    negative: int | None
    scheduled: int
    unprofitable: int | None
    bbar_min: Fraction
    bbar_max: Fraction
    bbar_min_task: int
    s_min: int
    s_max: int
    r_min: Fraction
    r_max: Fraction
    kappa: Fraction
    alpha: Fraction
    beta: Fraction

    @property
    def spread(self) -> Fraction:
        """max{s_max / s_min, r_max / r_min}."""
        return max(Fraction(self.s_max, self.s_min), self.r_max / self.r_min)


_KNOWN: dict[tuple[str, Fraction, Fraction], Facts] = {}


def facts(instance: Instance, money: Fraction, memory: Fraction) -> Facts:
    """The facts of an instance in units in which b counts `money` times and r `memory` times its file value."""
    key = (content_hash(instance), money, memory)
    if key not in _KNOWN:
        if len(_KNOWN) > 64:
            _KNOWN.clear()
        _KNOWN[key] = _facts(instance, money, memory)
    return _KNOWN[key]


def _facts(instance: Instance, money: Fraction, memory: Fraction) -> Facts:
    public = instance.public("")
    negative = unprofitable = None
    scheduled = 0
    low: tuple[Fraction, int] | None = None
    high: Fraction | None = None
    rates: list[int] = []
    sizes: list[int] = []
    kappa = Fraction(0)
    for i in range(instance.tasks):
        task = instance.task(i)
        menus = minimal_covers(task, public)
        if not menus:
            continue
        scheduled += 1
        menu = space(task, public)
        rates += menu.rates.tolist()
        sizes.append(task.memory_mb)
        below_zero = bool((task.cost[menu.types, menu.first - 1 : menu.last] < 0).any())
        if below_zero and negative is None:
            negative = i
        for m in menus:
            worst = task.bid - m.price - m.largest_cost
            best = task.bid - m.price - m.least_cost
            if unprofitable is None and (worst <= 0).any():
                unprofitable = i
            used = m.work + float(memory) * task.memory_mb * m.cells
            for j in _near(worst / used, least=True):
                value = money * int(worst[j]) / (int(m.work[j]) + memory * task.memory_mb * int(m.cells[j]))
                if low is None or value < low[0]:
                    low = (value, i)
            for j in _near(best / used, least=False):
                value = money * int(best[j]) / (int(m.work[j]) + memory * task.memory_mb * int(m.cells[j]))
                high = value if high is None else max(high, value)
        kappa = max(kappa, _kappa(task, public))
    if negative is not None:
        # A wasteful cover can be the best one then.
        kappa = max(_kappa_every(instance.task(i), public) for i in range(instance.tasks))
    return Facts(
        negative=negative,
        scheduled=scheduled,
        unprofitable=unprofitable,
        bbar_min=low[0] if low else Fraction(0),
        bbar_max=high if high is not None else Fraction(0),
        bbar_min_task=low[1] if low else -1,
        s_min=min(rates, default=1),
        s_max=max(rates, default=1),
        r_min=memory * min(sizes, default=1),
        r_max=memory * max(sizes, default=1),
        kappa=kappa,
        alpha=money * alpha(instance),
        beta=money * beta(instance) / memory,
    )


def _near(values: NDArray[np.float64], *, least: bool) -> list[int]:
    """Indices whose value is within rounding of the extreme one; fractions decide among them."""
    edge = values.min() if least else values.max()
    slack = 1e-9 * max(abs(float(edge)), 1e-300)
    close = values <= edge + slack if least else values >= edge - slack
    return [int(j) for j in np.flatnonzero(close)]


def _kappa(task: Task, public: Public) -> Fraction:
    """max of n and S / slowest rate used, over the minimal covers of a task."""
    largest = Fraction(0)
    for m in minimal_covers(task, public):
        largest = max(largest, Fraction(int(m.cells.max())))
        for j in _near(m.work / m.slowest, least=False):
            largest = max(largest, Fraction(int(m.work[j]), int(m.slowest[j])))
    return largest


def _kappa_every(task: Task, public: Public) -> Fraction:
    """The same over all covers: fill the widest window, one cell at the slowest rate and the others at the fastest."""
    menu = space(task, public)
    rates = menu.rates.tolist()
    if not rates or menu.width * max(rates) < task.work:
        return Fraction(0)
    works = [(slow, slow + (menu.width - 1) * max(rates)) for slow in rates]
    return max(Fraction(menu.width), *(Fraction(work, slow) for slow, work in works if work >= task.work))


@dataclass(frozen=True, slots=True)
class Observed:
    """What a run selected: bbar over the schedules with F > 0 and over the admitted, P~, longest schedule."""

    positive: int
    bbar_min: Fraction
    bbar_max: Fraction
    admitted_bbar_min: Fraction
    longest: int
    almost_feasible: int
    doubtful: int | None


def observed(instance: Instance, trace: PriceTrace) -> Observed:
    """The run's selected schedules in the trace's units."""

    def bbar(offer: Offer) -> Fraction:
        size = offer.work + trace.memory * int(instance.memory_mb[offer.task]) * len(offer.cells)
        return trace.money * offer.net / size

    positive = [offer for offer in trace.offers if offer.value is not None and offer.value > 0]
    values = [bbar(offer) for offer in positive]
    doubtful = None
    if not trace.exact:
        doubtful = next((offer.task for offer in trace.offers if _close_to_zero(offer, instance)), None)
    return Observed(
        positive=len(positive),
        bbar_min=min(values, default=Fraction(0)),
        bbar_max=max(values, default=Fraction(0)),
        admitted_bbar_min=min((b for b, o in zip(values, positive, strict=True) if o.admitted), default=Fraction(0)),
        longest=max((len(offer.cells) for offer in positive), default=0),
        almost_feasible=sum(offer.net for offer in positive),
        doubtful=doubtful,
    )


def _close_to_zero(offer: Offer, instance: Instance) -> bool:
    """Whether the sign of a double F could be another one in exact arithmetic; at zero prices F = b_il is exact."""
    if offer.value is None or offer.value == offer.net:
        return False
    return abs(float(offer.value)) <= ROUNDING * max(int(instance.bid[offer.task]), abs(offer.net))


def audit(instance: Instance, run: OnlineRun, reference: SolveReport) -> list[Check]:
    """`theorem5`; `theorem5_repaired`: OPT <= kappa rho_L (1+A) ALG; `theorem5_repaired_a`: OPT <= kappa (1+A) P~."""
    trace = run.trace if isinstance(run.trace, PriceTrace) else None
    known = facts(instance, trace.money if trace else Fraction(1), trace.memory if trace else Fraction(1))
    seen = observed(instance, trace) if trace else None
    case = _Case(run, trace, known, seen, max(reference.lower, run.welfare if run.valid else 0), reference.upper)
    return [_theorem5(case), _repaired(case), _repaired_a(case)]


@dataclass(frozen=True, slots=True)
class _Case:
    """One run with the facts of its instance and the interval on OPT (a valid run is itself a lower end)."""

    run: OnlineRun
    trace: PriceTrace | None
    known: Facts
    seen: Observed | None
    lower: int
    upper: int

    @property
    def used(self) -> tuple[Fraction, Fraction]:
        """The alpha and beta of the run, in its units; the instance's own where there is no trace."""
        if self.trace is None:
            return self.known.alpha, self.known.beta
        return self.trace.money * self.trace.alpha, self.trace.money * self.trace.beta / self.trace.memory

    def figures(self) -> Figures:
        """What is shown in every case."""
        known, welfare = self.known, self.run.welfare
        ratio = [Fraction(end, welfare) if welfare > 0 else None for end in (self.lower, self.upper)]
        if welfare == 0 == self.upper:
            ratio = [Fraction(1), Fraction(1)]
        unbounded = "unbounded" if welfare <= 0 < self.lower else None
        alpha_used, beta_used = self.used
        shown: Figures = {
            "alpha": known.alpha,
            "beta": known.beta,
            "bbar_min": known.bbar_min if known.scheduled else None,
            "bbar_max": known.bbar_max if known.scheduled else None,
            "kappa": known.kappa,
            "opt_lower": self.lower,
            "opt_upper": self.upper,
            "welfare": welfare,
            "ratio_lower": unbounded or ratio[0],
            "ratio_upper": unbounded or ratio[1],
            "opt_minus_welfare_lower": self.lower - welfare,
            "opt_minus_welfare_upper": self.upper - welfare,
            "money_unit": self.trace.money if self.trace else Fraction(1),
            "memory_unit": self.trace.memory if self.trace else Fraction(1),
        }
        if (alpha_used, beta_used) != (known.alpha, known.beta):
            shown |= {"alpha_used": alpha_used, "beta_used": beta_used}
        return shown

    def problem(self) -> str:
        """Why no claim of the theory applies; empty if nothing stands against it."""
        if self.trace is None:
            return "a claim about pdFTSP"
        if not self.run.valid:
            return "the run is not valid"
        if self.known.scheduled == 0:
            return "no task has a schedule"
        return ""

    def negative(self) -> str:
        """Why a claim for costs >= 0 does not apply."""
        return "" if self.known.negative is None else f"negative cost (task {self.known.negative})"

    def no_maximiser(self) -> str:
        """Why the proofs of 5' do not cover the run although the setting is right."""
        if self.trace is not None and self.trace.search != "exact":
            return "the proof needs a maximiser of (9); search=printed is none"
        return ""

    def foreign_constants(self, *, smaller: bool) -> str:
        """Whether alpha or beta is not (or, with `smaller`, below) max b/M, max b/r of this instance."""
        for name, used, own in zip(("alpha", "beta"), self.used, (self.known.alpha, self.known.beta), strict=True):
            if used < own or (used != own and not smaller):
                return f"{name} = {_decimal(used)} was used and this instance's is {_decimal(own)}"
        return ""

    def settle(
        self, name: str, claim: str, welfare: int, factor: Fraction | None, problem: str, figures: Figures
    ) -> Check:
        """The check of OPT <= factor * welfare; `problem` says why the claim does not apply."""
        if problem or factor is None:
            left = figures["ratio_upper"]
            left = left if isinstance(left, Fraction) else None
            right = None if self.trace is None else factor  # a bound on pdFTSP says nothing of others
            return Check(name, Verdict.NOT_APPLICABLE, left, right, problem, None, figures)
        bound = factor * welfare
        verdict = Verdict.HOLDS if self.upper <= bound else Verdict.UNDECIDED
        if self.lower > bound:
            verdict = Verdict.VIOLATED
        side = self.lower if verdict is Verdict.VIOLATED else self.upper
        if welfare > 0:
            left = Fraction(side, welfare)
        else:
            left = Fraction(1) if side == 0 == welfare else None
        reason = claim
        if verdict is Verdict.UNDECIDED:
            reason = f"{claim}: the interval on OPT straddles the bound"
        elif left is None:
            reason = f"{claim}: the algorithm's side is {welfare}, the ratio is unbounded"
        doubt = self._doubt(side, bound)
        if doubt and verdict is not Verdict.UNDECIDED:
            verdict, reason = Verdict.UNDECIDED, doubt
        witness = {"opt_lower": self.lower, "welfare": welfare} if verdict is Verdict.VIOLATED else None
        return Check(name, verdict, left, factor, reason, witness, figures)

    def _doubt(self, side: int, bound: Fraction) -> str:
        """Why a run in doubles may have decided otherwise than the algorithm that the theorem is about."""
        if self.trace is None or self.trace.exact or self.seen is None:
            return ""
        if self.seen.doubtful is not None:
            return f"float prices: F of task {self.seen.doubtful} is within rounding of 0"
        if abs(side - bound) <= Fraction(ROUNDING) * (side + bound):
            return "float prices: the two sides are closer than rounding"
        return ""


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _theorem5(case: _Case) -> Check:
    known, seen = case.known, case.seen
    rho_minimal = rho_observed = None
    if known.scheduled and known.unprofitable is None:
        rho_minimal = 1 + known.bbar_max / known.bbar_min * known.spread
    if seen is not None and seen.positive:
        rho_observed = 1 + seen.bbar_max / seen.bbar_min * known.spread
    basis = "minimal" if known.unprofitable is None else "observed"
    rho = rho_minimal if basis == "minimal" else rho_observed
    bound = None if rho is None else rho * (1 + max(known.alpha, known.beta))
    figures: Figures = {
        **case.figures(),
        "rho": rho,
        "rho_minimal": rho_minimal,
        "rho_observed": rho_observed,
        "basis": basis,
        "bound": bound,
    }
    problem = case.problem() or case.negative() or case.foreign_constants(smaller=False)
    if not problem and seen is not None:
        least = known.bbar_min if basis == "minimal" else seen.bbar_min
        if rho is None:
            problem = f"rho undefined: task {known.unprofitable} has a minimal b_il <= 0, and no schedule has F > 0"
        elif least < 1:
            problem = f"bbar >= 1 fails: least bbar over {basis} schedules is {_decimal(least)}"
    claim = f"OPT/ALG <= rho(1+max{{alpha,beta}}), rho over {basis} schedules"
    return case.settle("theorem5", claim, case.run.welfare, bound, problem, figures)


def _repaired(case: _Case) -> Check:
    known, seen = case.known, case.seen
    rho_l = bound = None
    problem = case.problem() or case.negative() or case.no_maximiser() or case.foreign_constants(smaller=True)
    if seen is not None:
        rho_l = Fraction(1)
        if seen.positive and seen.admitted_bbar_min > 0:
            sizes = (known.s_max + known.r_max) / (known.s_min + known.r_min)
            rho_l = 1 + seen.longest * seen.bbar_max / seen.admitted_bbar_min * sizes
        bound = known.kappa * rho_l * (1 + max(case.used))
        if not problem and seen.positive and seen.bbar_min < 1:
            problem = f"bbar >= 1 fails on a selected schedule: {_decimal(seen.bbar_min)}"
    figures: Figures = {**case.figures(), "rho_L": rho_l, "bound": bound}
    return case.settle("theorem5_repaired", "OPT/ALG <= kappa rho_L (1+A)", case.run.welfare, bound, problem, figures)


def _repaired_a(case: _Case) -> Check:
    # With negative costs (a) still holds, with kappa over all covers.
    problem = case.problem() or case.no_maximiser()
    bound = case.known.kappa * (1 + max(case.used))
    almost = case.seen.almost_feasible if case.seen is not None else 0
    figures: Figures = {**case.figures(), "almost_feasible_welfare": almost, "bound": bound}
    return case.settle("theorem5_repaired_a", "OPT/P~ <= kappa (1+A)", almost, bound, problem, figures)
