"""How close a claim left <= right is to a violation on a sketch: a guide, the audit's check decides on the witness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, partial

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.counterexamples import tiny
from ratiobench.bench.lora.theory.basis.case import UNKNOWN, Case
from ratiobench.bench.lora.theory.claims import CLAIMS
from ratiobench.bench.theory.claim import find_claim
from ratiobench.bench.theory.search import Measure
from ratiobench.online.lora.run import run


class ClaimInapplicable(Exception):
    """The claim says nothing about the sketch, or the sketch cannot beat the floor."""


def require(condition: bool) -> None:
    if not condition:
        raise ClaimInapplicable


class Trial:
    def __init__(self, sketch: tiny.TinyInstance) -> None:
        self.sketch = sketch
        self.menus = [tiny.menu(sketch, job) for job in sketch.jobs]
        self.used = [its for its in self.menus if its.plans]
        require(bool(self.used))

    @cached_property
    def is_negative(self) -> bool:
        return any(its.negative for its in self.menus)

    @cached_property
    def play(self) -> tiny.TinyRun:
        return tiny.simulate_pdftsp(self.sketch, self.menus)

    @cached_property
    def optimum(self) -> int:
        return tiny.find_optimum(self.sketch, self.menus)

    @cached_property
    def bbar(self) -> tuple[Fraction, Fraction]:
        """Least and largest bbar over minimal covers; inapplicable if a minimal cover has b_il <= 0."""
        low, high = (best(best(its.densities) for its in self.used) for best in (min, max))
        require(low > 0)
        return low, high

    @cached_property
    def sizes(self) -> tuple[int, int, int, int]:
        """s_min, s_max, r_min, r_max over the pairs that can be used."""
        rates = [rate for its in self.used for rate in its.rates]
        held = [job.memory for job, its in zip(self.sketch.jobs, self.menus, strict=True) if its.plans]
        return min(rates), max(rates), min(held), max(held)

    @property
    def rho(self) -> Fraction:
        """rho of Lemma 3 over minimal covers."""
        low, high = self.bbar
        s_min, s_max, r_min, r_max = self.sizes
        return 1 + high / low * max(Fraction(s_max, s_min), Fraction(r_max, r_min))

    @cached_property
    def selected(self) -> list[tuple[Fraction, int, bool]]:
        """(bbar, number of cells, admitted) of the schedules with F > 0; inapplicable unless each bbar >= 1."""
        found = [
            (Fraction(answer.plan.net, answer.plan.size), len(answer.plan.cells), answer.admitted)
            for answer in self.play.answers
            if answer.plan is not None and answer.value > 0
        ]
        require(bool(found) and min(found)[0] >= 1)
        return found

    @property
    def rho_long(self) -> Fraction:
        """rho_L of Theorem 5'(b)."""
        least = min(bar for bar, _, admitted in self.selected if admitted)
        longest, largest = max(n for _, n, _ in self.selected), max(bar for bar, _, _ in self.selected)
        s_min, s_max, r_min, r_max = self.sizes
        return 1 + longest * largest / least * Fraction(s_max + r_max, s_min + r_min)

    @property
    def kappa(self) -> Fraction:
        """max{n, S / slowest rate} over minimal covers; over all covers if a cost is negative."""
        return max(tiny.menu(self.sketch, job, every=self.is_negative).kappa for job in self.sketch.jobs)

    @property
    def is_fair(self) -> bool:
        return not self.is_negative and self.bbar[0] >= 1

    @property
    def most(self) -> int:
        """An upper bound on OPT: every task served as it likes best."""
        return sum(its.paying[0].net for its in self.menus if its.paying)

    def compare_optimum(self, value: int, bound: Fraction, floor: Fraction) -> Measure:
        """OPT / value <= bound; inapplicable if even all tasks together would not pass the floor."""
        require(value > 0 and self.most > floor * bound * value)
        return Measure(Fraction(self.optimum, value), bound, self.optimum / (bound * value))


def _compare(left: Fraction, right: Fraction) -> Measure:
    require(right > 0)
    return Measure(left, right, left / right)


def theorem5(trial: Trial, floor: Fraction) -> Measure:
    require(trial.is_fair)
    return trial.compare_optimum(trial.play.welfare, trial.rho * trial.play.growth, floor)


def theorem5_repaired(trial: Trial, floor: Fraction) -> Measure:
    require(not trial.is_negative)
    return trial.compare_optimum(trial.play.welfare, trial.kappa * trial.rho_long * trial.play.growth, floor)


def theorem5_repaired_a(trial: Trial, floor: Fraction) -> Measure:
    return trial.compare_optimum(trial.play.tilde, trial.kappa * trial.play.growth, floor)


def lemma1(trial: Trial, floor: Fraction) -> Measure:
    run, (compute, memory) = trial.play, trial.sketch.capacities()
    paid = sum(c * price for c, price in zip(compute, run.lam, strict=True))
    paid += sum(c * price for c, price in zip(memory, run.phi, strict=True))
    surplus = sum((Fraction(a.value, a.over) for a in run.answers if a.value > 0), Fraction(0))
    return _compare(Fraction(paid, run.over) + surplus, trial.play.growth * run.tilde)


def lemma2(trial: Trial, floor: Fraction) -> Measure:
    """A schedule with F > 0 finds every one of its cells below capacity: load + 1 <= capacity, in integers."""
    require(not trial.is_negative)
    assert trial.selected
    load, capacity = trial.play.fullest
    return _compare(Fraction(load + 1), Fraction(capacity))


def lemma3(trial: Trial, floor: Fraction) -> Measure:
    require(trial.is_fair)
    return _compare(Fraction(trial.play.tilde), trial.rho * trial.play.welfare)


def lemma4(trial: Trial, floor: Fraction) -> Measure:
    require(not trial.is_negative)
    run, found = trial.play, []
    for job, its, answer in zip(trial.sketch.jobs, trial.menus, run.answers, strict=True):
        mu = Fraction(max(0, answer.value), answer.over)
        for plan in (plan for plan in its.plans if plan.net > 0):
            cells = zip(plan.cells, plan.rates, strict=True)
            price = Fraction(sum(run.lam[c] * s + run.phi[c] * job.memory for c, s in cells), run.over)
            # Prices or mu are above 0: F = b_il > 0 at zero prices.
            found.append(Measure(plan.net - price, mu, plan.net / (mu + price)))
    return _find_worst(found)


def _find_worst(measures: list[Measure]) -> Measure:
    require(bool(measures))
    return max(measures, key=lambda measure: measure.score)


def theorem3(trial: Trial, floor: Fraction) -> Measure:
    """The best utility by another bid against that of the truth, payment (14), alpha and beta of the bids as made."""
    found, jobs = [], trial.sketch.jobs
    for i, (job, answer) in enumerate(zip(jobs, trial.play.answers, strict=True)):
        true = _compute_utility(trial.sketch, trial.play, i, job.bid)
        # Bids worth trying: just above what the task would have to pay, and a few fractions of the true one.
        needed = int(job.bid - Fraction(answer.value, answer.over)) + 1
        bids = {needed, job.bid // 4, job.bid // 2, 3 * job.bid // 4, job.bid + 1, 2 * job.bid}
        for bid in sorted(value for value in bids - {job.bid} if value >= 0):
            other = trial.sketch._replace(jobs=(*jobs[:i], job._replace(bid=bid), *jobs[i + 1 :]))
            menus = [*trial.menus[:i], tiny.menu(other, other.jobs[i]), *trial.menus[i + 1 :]]
            utility = _compute_utility(other, tiny.simulate_pdftsp(other, menus), i, job.bid)
            found.append(Measure(utility, true, 1 + (utility - true) / max(1, job.bid)))
    return _find_worst(found)


def _compute_utility(sketch: tiny.TinyInstance, run: tiny.TinyRun, i: int, value: int) -> Fraction:
    """Valuation minus payment (14) = b - F - sum e; 0 when task i is not admitted."""
    answer, job = run.answers[i], sketch.jobs[i]
    if not answer.admitted or answer.plan is None:
        return Fraction(0)
    price = job.vendors[answer.plan.option][0] if job.vendors else 0
    spent = job.bid - price - answer.plan.net
    return value - (job.bid - Fraction(answer.value, answer.over) - spent)


def _measure_audit(name: str, compare: str, trial: Trial, floor: Fraction) -> Measure:
    """The audit's verdict on the mechanism's own run; if the claim holds, two of OPT, D and its bound."""
    claim, given = find_claim(CLAIMS, name), tiny.instance(trial.sketch)
    assert claim.check is not None
    assert claim.search is not None
    check = claim.check(Case(given, run(given, claim.search.algorithm), UNKNOWN))
    if check.left is None or check.right is None:
        raise ClaimInapplicable
    dual, bound = Fraction(check.left), Fraction(check.right)
    if check.status is Verdict.VIOLATED:
        return Measure(dual, bound if dual > bound else Fraction(0), Fraction(2))
    if compare == "D <= bound":
        return _compare(dual, bound)
    certificate = dual if compare == "OPT <= D" else bound
    require(trial.most > floor * certificate)
    return _compare(Fraction(trial.optimum), certificate)


MEASURES: Mapping[str, Callable[[Trial, Fraction], Measure]] = {
    "theorem5": theorem5,
    "lemma3": lemma3,
    "lemma4": lemma4,
    "theorem3": theorem3,
    "theorem5_repaired": theorem5_repaired,
    "theorem5_repaired_a": theorem5_repaired_a,
    "lemma1": lemma1,
    "lemma2": lemma2,
    **{name: partial(_measure_audit, name, "D <= bound") for name in ("theorem_a", "theorem_b")},
    **{name: partial(_measure_audit, name, "OPT <= D") for name in ("theorem_h", "theorem_p", "theorem_pool")},
    "theorem_s": partial(_measure_audit, "theorem_s", "OPT <= bound"),
}
