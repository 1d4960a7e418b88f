"""What a search can aim at: claims with their two sides on a sketch, exactly and fast.

The function of a claim's name measures its left <= right; `left > right` violates it. What else a search needs to know
the claim's entry in `ratiobench.bench.lora.theory.claims` says. The measure is only a guide: the witness is run again
under the referee, and the audit's check of the same name decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.counterexamples.linear_run import LinearRun, compute_caps, run_linear
from ratiobench.bench.lora.counterexamples.tiny import (
    Menu,
    TinyInstance,
    TinyLimitExceeded,
    TinyRun,
    bound_optimum,
    compute_ratios,
    find_optimum,
    instance,
    simulate_pdftsp,
)
from ratiobench.bench.lora.counterexamples.tiny import menu as menu_of
from ratiobench.bench.lora.theory import guarded, price_laws
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claim import SearchSpace
from ratiobench.bench.lora.theory.claims import list_searches
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.lora.algorithms.posted import gain
from ratiobench.online.lora.roots import gain_below, share_above
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import Rule


class Measure(NamedTuple):
    """The two sides of a claim; `score` grows with left against right and passes 1 where the claim is violated."""

    left: Fraction
    right: Fraction
    score: Fraction

    @property
    def violated(self) -> bool:
        """left > right."""
        return self.left > self.right


class ClaimInapplicable(Exception):
    """The claim says nothing about the sketch, or the sketch cannot beat the score that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(SearchSpace):
    """A claim that a search can aim at, and how its entry in the table of claims says to search."""

    name: str  # of the claim
    # the sides on a sketch; `floor` is a score that must be passed, what certainly does not may be given up.
    measure: Callable[[Trial, Fraction], Measure]
    # shrinking, polish: the limits of one shrinking (`ratiobench.bench.lora.counterexamples.shrink`); None: those of
    # that module.
    shrinking: int | None = None
    polish: int | None = None
    pace: int = 64  # tries after which the clock is looked at


class Trial:
    """A sketch with what measures share, computed on demand."""

    def __init__(self, sketch: TinyInstance) -> None:
        self.sketch = sketch
        self.menus = [menu_of(sketch, job) for job in sketch.jobs]
        if not any(its.plans for its in self.menus):
            raise ClaimInapplicable

    @cached_property
    def negative(self) -> bool:
        """Whether a usable cost is below zero."""
        return any(its.negative for its in self.menus)

    @cached_property
    def play(self) -> TinyRun:
        """pdFTSP's run with alpha and beta of the sketch."""
        return simulate_pdftsp(self.sketch, self.menus, *compute_ratios(self.sketch.jobs))

    @cached_property
    def growth(self) -> Fraction:
        """1 + max{alpha, beta}."""
        return 1 + max(self.play.alpha, self.play.beta)

    @cached_property
    def optimum(self) -> int:
        """OPT."""
        return find_optimum(self.sketch, self.menus)

    @cached_property
    def bbar(self) -> tuple[Fraction, Fraction]:
        """Least and largest bbar over minimal covers; Inapplicable where a minimal cover has b_il <= 0."""
        used = [its for its in self.menus if its.plans]
        if any(its.loss for its in used):
            raise ClaimInapplicable
        return min(Fraction(*its.net_low) for its in used), max(Fraction(*its.net_high) for its in used)

    @cached_property
    def sizes(self) -> tuple[int, int, int, int]:
        """s_min, s_max, r_min, r_max over the pairs that can be used."""
        rates = [rate for its in self.menus for rate in its.rates]
        held = [job.memory for job, its in zip(self.sketch.jobs, self.menus, strict=True) if its.plans]
        return min(rates), max(rates), min(held), max(held)

    @cached_property
    def rho(self) -> Fraction:
        """1 + bbar_max / bbar_min * max{s_max / s_min, r_max / r_min} over minimal covers (Lemma 3)."""
        low, high = self.bbar
        s_min, s_max, r_min, r_max = self.sizes
        return 1 + high / low * max(Fraction(s_max, s_min), Fraction(r_max, r_min))

    @cached_property
    def selected(self) -> list[tuple[Fraction, int, bool]]:
        """(bbar, number of cells, admitted) of the schedules with F > 0."""
        return [
            (Fraction(a.plan.net, a.plan.work + job.memory * len(a.plan.cells)), len(a.plan.cells), a.admitted)
            for job, a in zip(self.sketch.jobs, self.play.answers, strict=True)
            if a.plan is not None and a.value > 0
        ]

    @cached_property
    def rho_long(self) -> Fraction:
        """rho_L of Theorem 5'(b); Inapplicable unless bbar >= 1 on the selected schedules."""
        if not self.selected or min(bar for bar, _, _ in self.selected) < 1:
            raise ClaimInapplicable
        least = min(bar for bar, _, admitted in self.selected if admitted)
        s_min, s_max, r_min, r_max = self.sizes
        longest, largest = max(n for _, n, _ in self.selected), max(bar for bar, _, _ in self.selected)
        return 1 + longest * largest / least * Fraction(s_max + r_max, s_min + r_min)

    @cached_property
    def kappa(self) -> Fraction:
        """max{n, S / slowest rate} over minimal covers; over all covers where a cost is negative."""
        if self.negative:
            return max(menu_of(self.sketch, job, every=True).kappa_every for job in self.sketch.jobs)
        return max(its.kappa for its in self.menus)

    def fair(self) -> None:
        """Inapplicable with a negative cost, or with bbar < 1 on a minimal cover (the setting of Theorem 5)."""
        if self.negative or self.bbar[0] < 1:
            raise ClaimInapplicable

    def against(self, denominator: int, bound: Fraction, floor: Fraction) -> Measure:
        """OPT / denominator <= bound; given up where even all tasks together would not pass the floor."""
        if denominator <= 0:
            raise ClaimInapplicable
        right = bound * denominator
        if bound_optimum(self.menus) <= floor * right:
            raise ClaimInapplicable
        return Measure(Fraction(self.optimum, denominator), bound, self.optimum / right)


def theorem5(trial: Trial, floor: Fraction) -> Measure:
    trial.fair()
    return trial.against(trial.play.welfare, trial.rho * trial.growth, floor)


def theorem5_repaired(trial: Trial, floor: Fraction) -> Measure:
    if trial.negative:
        raise ClaimInapplicable
    return trial.against(trial.play.welfare, trial.kappa * trial.rho_long * trial.growth, floor)


def theorem5_repaired_a(trial: Trial, floor: Fraction) -> Measure:
    return trial.against(trial.play.tilde, trial.kappa * trial.growth, floor)


def _sides(left: Fraction, right: Fraction) -> Measure:
    if right <= 0:
        raise ClaimInapplicable
    return Measure(left, right, left / right)


def lemma1(trial: Trial, floor: Fraction) -> Measure:
    run = trial.play
    compute, memory = _capacities(trial.sketch)
    paid = sum(c * price for c, price in zip(compute, run.lam, strict=True))
    paid += sum(c * price for c, price in zip(memory, run.phi, strict=True))
    surplus = sum((Fraction(a.value, a.over) for a in run.answers if a.value > 0), Fraction(0))
    return _sides(Fraction(paid, run.over) + surplus, trial.growth * run.tilde)


def _capacities(sketch: TinyInstance) -> tuple[list[int], list[int]]:
    """C_p and C_m - r_b of every cell."""
    kinds = [kind for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    return [kind.compute for kind in kinds], [kind.memory for kind in kinds]


def lemma2(trial: Trial, floor: Fraction) -> Measure:
    if trial.negative or not trial.selected or min(bar for bar, _, _ in trial.selected) < 1:
        raise ClaimInapplicable
    # A schedule with F > 0 finds every one of its cells below capacity: load + 1 <= capacity, in integers.
    load, capacity = trial.play.fullest
    return _sides(Fraction(load + 1), Fraction(capacity))


def lemma3(trial: Trial, floor: Fraction) -> Measure:
    trial.fair()
    if trial.play.welfare <= 0:
        raise ClaimInapplicable
    return _sides(Fraction(trial.play.tilde), trial.rho * trial.play.welfare)


def lemma4(trial: Trial, floor: Fraction) -> Measure:
    if trial.negative:
        raise ClaimInapplicable
    run = trial.play
    worst: Measure | None = None
    for job, its, answer in zip(trial.sketch.jobs, trial.menus, run.answers, strict=True):
        mu = Fraction(max(0, answer.value), answer.over)
        for plan in its.plans:
            if plan.net > 0:
                paid = sum(
                    run.lam[c] * s + run.phi[c] * job.memory for c, s in zip(plan.cells, plan.rates, strict=True)
                )
                price = Fraction(paid, run.over)
                score = plan.net / (mu + price)  # prices or mu are above 0: F = b_il > 0 at zero prices
                if worst is None or score > worst.score:
                    worst = Measure(plan.net - price, mu, score)
    if worst is None:
        raise ClaimInapplicable
    return worst


def theorem3(trial: Trial, floor: Fraction) -> Measure:
    """The best utility by another bid against that of the truth, payment (14), alpha and beta of the bids as made."""
    best: Measure | None = None
    jobs = trial.sketch.jobs
    for i, job in enumerate(jobs):
        true = _utility(trial.sketch, trial.play, i, trial.menus, job.bid)
        for bid in _tempting(trial, i):
            jobs_now = (*jobs[:i], job._replace(bid=bid), *jobs[i + 1 :])
            other = trial.sketch._replace(jobs=jobs_now)
            menus = [*trial.menus]
            menus[i] = menu_of(other, jobs_now[i])
            found = _utility(other, simulate_pdftsp(other, menus, *compute_ratios(jobs_now)), i, menus, job.bid)
            score = 1 + (found - true) / max(1, job.bid)
            if best is None or score > best.score:
                best = Measure(found, true, score)
    if best is None:
        raise ClaimInapplicable
    return best


def _tempting(trial: Trial, i: int) -> list[int]:
    """Bids worth trying: just above what task i would have to pay, and a few fractions of the true one."""
    bid, answer = trial.sketch.jobs[i].bid, trial.play.answers[i]
    needed = bid - Fraction(answer.value, answer.over)
    found = {int(needed) + 1, bid // 4, bid // 2, 3 * bid // 4, bid + 1, 2 * bid}
    return sorted(value for value in found - {bid} if value >= 0)


def _utility(sketch: TinyInstance, run: TinyRun, i: int, menus: list[Menu], value: int) -> Fraction:
    """Valuation minus payment (14) = b - F - sum e; 0 when task i is not admitted."""
    answer, job = run.answers[i], sketch.jobs[i]
    if not answer.admitted or answer.plan is None:
        return Fraction(0)
    price = job.vendors[answer.plan.option][0] if job.vendors else 0
    spent = job.bid - price - answer.plan.net
    return value - (job.bid - Fraction(answer.value, answer.over) - spent)


# B of `posted` in a search; the theorem is claimed for every B, and the best one takes longer to find than to try
GROWTH = Fraction(2)


def theorem_a(trial: Trial, floor: Fraction) -> Measure:
    """D <= Gamma ALG, and no schedule with F' > 0 without room; OPT <= D by weak duality."""
    if trial.negative:
        raise ClaimInapplicable
    top_c, top_m, share = compute_caps(trial.sketch, trial.menus)
    if share >= 1:
        raise ClaimInapplicable
    g = gain(GROWTH, share_above(share))
    if g <= 0 or top_c == 0:
        raise ClaimInapplicable
    run = run_linear(
        trial.sketch, trial.menus, Rule(GROWTH, GROWTH * top_c / g, GROWTH * top_m / g, by_bbar=False, gain=g)
    )
    jobs = trial.sketch.jobs
    weights = (
        (top_c * plan.work + top_m * jobs[i].memory * len(plan.cells)) / plan.net for i, plan in run.admitted
    )  # fmt: skip
    gamma = max(Fraction(1), GROWTH) + GROWTH * max(weights, default=Fraction(0)) / g
    return _certified(run, gamma)


def theorem_b(trial: Trial, floor: Fraction) -> Measure:
    """D <= (1 + max{alpha, beta}) ALG, and no schedule with F' > 0 without room, if bbar >= 1 on admitted ones."""
    if trial.negative:
        raise ClaimInapplicable
    top_c, top_m, share = compute_caps(trial.sketch, trial.menus)
    if share >= 1:
        raise ClaimInapplicable
    g = gain_below(Fraction(2), 1 - share_above(share))
    if g <= 0 or top_c == 0:
        raise ClaimInapplicable
    run = run_linear(trial.sketch, trial.menus, Rule(Fraction(1), top_c / g, top_m / g, by_bbar=True, gain=g))
    jobs = trial.sketch.jobs
    if any(plan.net < plan.work + jobs[i].memory * len(plan.cells) for i, plan in run.admitted):
        raise ClaimInapplicable
    return _certified(run, 1 + max(top_c, top_m) / g)


def theorem_h(trial: Trial, floor: Fraction) -> Measure:
    """OPT <= D of the audit, or D <= its bound where that fails: the mechanism itself plays."""
    return _played(trial, floor, "theorem_h", guarded.theorem_h)


def theorem_p(trial: Trial, floor: Fraction) -> Measure:
    """The same for Lemma P."""
    return _played(trial, floor, "theorem_p", price_laws.theorem_p)


def theorem_pool(trial: Trial, floor: Fraction) -> Measure:
    """The same for Theorem A for pools."""
    return _played(trial, floor, "theorem_pool", price_laws.theorem_pool)


def theorem_s(trial: Trial, floor: Fraction) -> Measure:
    """OPT <= factor ALG of the audit: its right-hand side depends on the run alone."""
    found = _audited(trial, "theorem_s", price_laws.theorem_s)
    if found.right is None or found.right <= 0 or bound_optimum(trial.menus) <= floor * found.right:
        raise ClaimInapplicable
    return _sides(Fraction(trial.optimum), Fraction(found.right))


def _audited(trial: Trial, name: str, check: Callable[[Case], Check]) -> Check:
    """The audit's check of the mechanism's own run, with OPT unknown."""
    given = instance(trial.sketch)
    result = run(given, TARGETS[name].algorithm)
    nothing = SolveReport(Status.OPTIMAL, 0, 0, None, Proof.TRIVIAL, "-", "none", Termination.NONE, False, 0.0)
    return check(Case(given, result, nothing))


def _played(trial: Trial, floor: Fraction, name: str, check: Callable[[Case], Check]) -> Measure:
    found = _audited(trial, name, check)
    if found.left is None or found.right is None:
        raise ClaimInapplicable
    if found.left > found.right:
        return Measure(Fraction(found.left), Fraction(found.right), Fraction(2))
    if bound_optimum(trial.menus) <= floor * found.left:
        raise ClaimInapplicable
    return _sides(Fraction(trial.optimum), Fraction(found.left))


def _certified(run: LinearRun, gamma: Fraction) -> Measure:
    if run.refused is not None:
        return Measure(run.dual, Fraction(0), Fraction(2))
    return _sides(run.dual, gamma * run.welfare)


# The claims that can be searched for
TARGETS: Mapping[str, Target] = {
    name: Target(name=name, measure=globals()[name], **asdict(how)) for name, how in list_searches().items()
}


def find_target(claim: str) -> Target:
    """The target of this name."""
    if claim not in TARGETS:
        raise InputError("claim", "", f"{shorten(claim)} is not one of {', '.join(TARGETS)}")
    return TARGETS[claim]


def measure_tiny(target: Target, sketch: TinyInstance, floor: Fraction = Fraction(-1)) -> Measure | None:
    """The claim's two sides on a sketch; None where it does not apply or cannot pass the floor."""
    try:
        return target.measure(Trial(sketch), floor)
    except (ClaimInapplicable, TinyLimitExceeded):
        return None
