"""Theorem 5 of the main paper and its repaired form on one run, in fractions.

What the paper claims: OPT <= rho (1 + max{alpha, beta}) ALG. What is provable (5'): OPT <= kappa (1 + A) P~ always, and
P~ <= rho_L P when bbar >= 1 on the selected schedules, with A = max{alpha, beta} and P~ the welfare of all tasks with
F > 0, dropped ones included. All quantities are in the units that the run used (file units, or canonical ones).
"""

from __future__ import annotations

from collections.abc import Callable
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

    @property
    def factor(self) -> Fraction:
        """1 + max{alpha, beta}."""
        return 1 + max(self.alpha, self.beta)


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
        kappa = max(kappa, _kappa(task, public, every_cover=below_zero))
    if negative is not None:
        # A wasteful cover can be the best one of any task then, not only of the tasks with a negative cell.
        kappa = max((_kappa(instance.task(i), public, every_cover=True) for i in range(instance.tasks)), default=kappa)
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


def _kappa(task: Task, public: Public, *, every_cover: bool) -> Fraction:
    largest = Fraction(0)
    for m in minimal_covers(task, public, every_cover=every_cover):
        largest = max(largest, Fraction(int(m.cells.max())))
        for j in _near(m.work / m.slowest, least=False):
            largest = max(largest, Fraction(int(m.work[j]), int(m.slowest[j])))
    return largest


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
        doubtful = next(
            (
                o.task
                for o in trace.offers
                if o.value is not None and abs(float(o.value)) <= 1e-9 * (int(instance.bid[o.task]) + 1)
            ),
            None,
        )
    return Observed(
        positive=len(positive),
        bbar_min=min(values, default=Fraction(0)),
        bbar_max=max(values, default=Fraction(0)),
        admitted_bbar_min=min((b for b, o in zip(values, positive, strict=True) if o.admitted), default=Fraction(0)),
        longest=max((len(offer.cells) for offer in positive), default=0),
        almost_feasible=sum(offer.net for offer in positive),
        doubtful=doubtful,
    )


def audit(instance: Instance, run: OnlineRun, reference: SolveReport) -> list[Check]:
    """`theorem5`; `theorem5_repaired`: OPT <= kappa rho_L (1+A) ALG; `theorem5_repaired_a`: OPT <= kappa (1+A) P~."""
    trace = run.trace if isinstance(run.trace, PriceTrace) else None
    known = facts(instance, trace.money if trace else Fraction(1), trace.memory if trace else Fraction(1))
    seen = observed(instance, trace) if trace else None
    common: Figures = {
        "alpha": known.alpha,
        "beta": known.beta,
        "bbar_min": known.bbar_min if known.scheduled else None,
        "bbar_max": known.bbar_max if known.scheduled else None,
        "kappa": known.kappa,
        "opt_lower": reference.lower,
        "opt_upper": reference.upper,
        "welfare": run.welfare,
        "ratio_lower": _ratio(reference.lower, run.welfare, reference.upper),
        "ratio_upper": _ratio(reference.upper, run.welfare, reference.upper),
        "money_unit": trace.money if trace else Fraction(1),
        "memory_unit": trace.memory if trace else Fraction(1),
    }
    return [
        _theorem5(run, reference, trace, known, seen, common),
        _repaired(run, reference, trace, known, seen, common),
        _repaired_a(run, reference, trace, known, seen, common),
    ]


def _ratio(value: int, welfare: int, upper: int) -> Fraction | str | None:
    if welfare > 0:
        return Fraction(value, welfare)
    if welfare == 0 and upper == 0:
        return Fraction(1)
    return "unbounded" if value > 0 else None


def _verdict(reference: SolveReport, welfare: int | Fraction, factor: Fraction) -> Verdict:
    """OPT <= factor * welfare, for an OPT known to lie in an interval."""
    if reference.upper <= factor * welfare:
        return Verdict.HOLDS
    return Verdict.VIOLATED if reference.lower > factor * welfare else Verdict.UNDECIDED


def _settle(
    name: str, reference: SolveReport, welfare: int, factor: Fraction | None, problem: str, figures: Figures, claim: str
) -> Check:
    """The check of OPT <= factor * welfare; `problem` says why the claim does not apply."""
    if problem or factor is None:
        left = figures["ratio_upper"]
        return Check(
            name, Verdict.NOT_APPLICABLE, left if isinstance(left, Fraction) else None, factor, problem, None, figures
        )
    verdict = _verdict(reference, welfare, factor)
    side = reference.lower if verdict is Verdict.VIOLATED else reference.upper
    left = Fraction(side, welfare) if welfare > 0 else None
    reason = claim
    if verdict is Verdict.UNDECIDED:
        reason = f"{claim}: the interval on OPT straddles the bound"
    elif left is None and side > 0:
        reason = f"{claim}: the algorithm's side is {welfare}, the ratio is unbounded"
    witness = {"opt_lower": reference.lower, "welfare": welfare} if verdict is Verdict.VIOLATED else None
    if left is None and side == 0 == welfare:
        left = Fraction(1)
    return Check(name, verdict, left, factor, reason, witness, figures)


Part = Callable[[], str]


def _common_problem(run: OnlineRun, trace: PriceTrace | None, known: Facts) -> str:
    if trace is None:
        return "a claim about pdFTSP"
    if not run.valid:
        return "the run is not valid"
    if known.scheduled == 0:
        return "no task has a schedule"
    if known.negative is not None:
        return f"negative cost (task {known.negative})"
    return ""


def _theorem5(
    run: OnlineRun,
    reference: SolveReport,
    trace: PriceTrace | None,
    known: Facts,
    seen: Observed | None,
    common: Figures,
) -> Check:
    rho_minimal = rho_observed = None
    if known.scheduled and known.unprofitable is None:
        rho_minimal = 1 + known.bbar_max / known.bbar_min * known.spread
    if seen is not None and seen.positive:
        rho_observed = 1 + seen.bbar_max / seen.bbar_min * known.spread
    basis = "minimal" if known.unprofitable is None else "observed"
    rho = rho_minimal if basis == "minimal" else rho_observed
    bound = None if rho is None else rho * known.factor
    figures: Figures = {
        **common,
        "rho": rho,
        "rho_minimal": rho_minimal,
        "rho_observed": rho_observed,
        "basis": basis,
        "bound": bound,
    }
    problem = _common_problem(run, trace, known)
    if not problem and seen is not None:
        least = known.bbar_min if basis == "minimal" else seen.bbar_min
        if rho is None:
            problem = f"rho undefined: task {known.unprofitable} has a minimal b_il <= 0, and no schedule has F > 0"
        elif least < 1:
            problem = f"bbar >= 1 fails: least bbar over {basis} schedules is {_decimal(least)}"
    claim = f"OPT/ALG <= rho(1+max{{alpha,beta}}), rho over {basis} schedules"
    return _settle("theorem5", reference, run.welfare, bound, problem, figures, claim)


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _proof_gap(trace: PriceTrace | None, seen: Observed | None) -> str:
    """Why the proofs of 5' do not cover the run although the setting is right."""
    if trace is not None and trace.search != "exact":
        return "the proof needs a maximiser of (9); search=printed is none"
    return ""


def _doubt(check: Check, seen: Observed | None) -> Check:
    """A float run whose F comes within rounding of 0 may have decided otherwise than the theorem's algorithm."""
    if seen is None or seen.doubtful is None or check.status is Verdict.NOT_APPLICABLE:
        return check
    reason = f"float prices: F of task {seen.doubtful} is within rounding of 0"
    return Check(check.name, Verdict.UNDECIDED, check.left, check.right, reason, None, check.figures)


def _repaired(
    run: OnlineRun,
    reference: SolveReport,
    trace: PriceTrace | None,
    known: Facts,
    seen: Observed | None,
    common: Figures,
) -> Check:
    problem = _common_problem(run, trace, known) or _proof_gap(trace, seen)
    rho_l = bound = None
    if seen is not None:
        rho_l = Fraction(1)
        if seen.positive and seen.admitted_bbar_min > 0:
            sizes = (known.s_max + known.r_max) / (known.s_min + known.r_min)
            rho_l = 1 + seen.longest * seen.bbar_max / seen.admitted_bbar_min * sizes
        bound = known.kappa * rho_l * known.factor
        if not problem and seen.positive and seen.bbar_min < 1:
            problem = f"bbar >= 1 fails on a selected schedule: {_decimal(seen.bbar_min)}"
    figures: Figures = {**common, "rho_L": rho_l, "bound": bound}
    check = _settle(
        "theorem5_repaired", reference, run.welfare, bound, problem, figures, "OPT/ALG <= kappa rho_L (1+A)"
    )
    return _doubt(check, seen)


def _repaired_a(
    run: OnlineRun,
    reference: SolveReport,
    trace: PriceTrace | None,
    known: Facts,
    seen: Observed | None,
    common: Figures,
) -> Check:
    problem = _common_problem(run, trace, known)
    if problem.startswith("negative cost"):
        problem = ""  # (a) holds there too, with kappa over all covers
    problem = problem or _proof_gap(trace, seen)
    bound = known.kappa * known.factor
    almost = seen.almost_feasible if seen is not None else 0
    figures: Figures = {**common, "almost_feasible_welfare": almost, "bound": bound}
    check = _settle("theorem5_repaired_a", reference, almost, bound, problem, figures, "OPT/P~ <= kappa (1+A)")
    return _doubt(check, seen)
