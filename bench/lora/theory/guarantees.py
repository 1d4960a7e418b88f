"""Theorems A, B, C and G on one run, and the certificate of any run that exposes prices, as exact inequalities.

All of them say OPT <= D <= (a factor) ALG (+ a leak), where D is the dual at prices that the run left (`dual`). D is
computed in integers. The factors hold real powers; the algorithms use a rational G that is no larger than the real one
(`roots`, verified by integer powers), and the proofs go through with any such G, so the factors are plain fractions:

- A cell without room is loaded by more than 1 - eps, so psi = lambda + X/G is at least (X/G)(1 + B eps)^((1-eps)/eps)
  >= (X/G)(1 + G), that is lambda >= X, and a schedule through it costs more than the task is worth.
- Per admission D grows by at most b_il + (B - 1) sum(price use) + eta_c v S + eta_m v R, and sum(price use) < b_il.

A run in doubles has other prices than the fractions of the theorem, by rounding. Its D is still a proved bound at the
prices that it left; an inequality that fails by less than rounding, or a doubtful comparison with a bid, is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, wraps
from math import floor
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case, Cell, Figures
from ratiobench.bench.lora.theory.basis.dual import Dual, DualValue, dual_of
from ratiobench.bench.lora.theory.basis.memo import keep_by_content
from ratiobench.bench.lora.theory.basis.outlay import find_outlay
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.mechanism import FreeCapacity, prices, settle_share
from ratiobench.online.lora.price_laws import logarithm
from ratiobench.online.lora.protocol import Posted
from ratiobench.online.lora.public_constants import cap_compute, cap_memory, largest_share
from ratiobench.online.lora.roots import is_gain_below, share_above
from ratiobench.online.lora.traces import LinearTrace, Offer
from ratiobench.online.outcome import OnlineRun

ROUNDING = Fraction(1, 10**9)  # Relative error that prices in doubles do not reach


@runtime_checkable
class FinalPrices(Protocol):
    """A trace with final prices, micro-dollars per sample and per MB."""

    exact: bool
    lam: Mapping[Cell, Fraction | float]
    phi: Mapping[Cell, Fraction | float]


def is_linear(run: OnlineRun, mechanism: str = "") -> bool:
    """Whether the run is of a mechanism with linear reduced cost, or of the one of this name."""
    return isinstance(run.trace, LinearTrace) and mechanism in ("", run.trace.mechanism)


def has_final_prices(run: OnlineRun) -> bool:
    """Whether the run left prices."""
    return isinstance(run.trace, FinalPrices)


def _at_final_prices(case: Case) -> DualValue:
    """D at the final prices of a run (a float run's rounded to 2^-k)."""
    trace, dual = case.run.trace, dual_of(case.instance)
    assert isinstance(trace, FinalPrices)
    return dual.exact(trace.lam, trace.phi) if trace.exact else dual.near(trace.lam, trace.phi)


def dual_certificate(case: Case) -> Check:
    """OPT <= D at the best multiple of the final prices, as they are or with every type's nodes at their mean price."""
    run, trace = case.run, case.run.trace
    assert isinstance(trace, FinalPrices)
    if isinstance(trace, Posted) and trace.problem:
        return Check("dual_certificate", Verdict.NOT_APPLICABLE, None, None, trace.problem)
    dual = dual_of(case.instance)
    final = case.share(_at_final_prices)
    scaled_tau, scaled = dual.rescale(trace.lam, trace.phi)
    tau, value = dual.rescale(dual.pool_prices(trace.lam), dual.pool_prices(trace.phi))
    if min(scaled, final.value) < value:
        tau, value = min((scaled, scaled_tau), (final.value, Fraction(1)))[::-1]
    figures: Figures = {
        "d_final": final.value,
        "d_scaled": scaled,
        "scaled_tau": scaled_tau,
        "tau": tau,
        "d_tau": value,
        "d_final_over_welfare": final.value / run.welfare if run.welfare > 0 else None,
        "d_tau_over_welfare": value / run.welfare if run.welfare > 0 else None,
        "opt_upper": case.upper,
    }
    verdict = Verdict.HOLDS if case.lower <= value else Verdict.VIOLATED
    witness = None if verdict is Verdict.HOLDS else {"opt_lower": case.lower, "tau": str(tau)}
    return Check("dual_certificate", verdict, Fraction(case.lower), value, "OPT <= D(tau * prices)", witness, figures)


@dataclass(frozen=True)
class Truth:
    """What the theorems need of an instance: X_c, X_m, eps, as its own tasks make them."""

    cap_compute: Fraction
    cap_memory: Fraction
    share: Fraction

    def missing(self, constants: Mapping[str, Fraction]) -> str:
        """Which public constants do not bound what they must, of those the run used."""
        found = []
        for name, own in (
            ("cap_compute", self.cap_compute),
            ("cap_memory", self.cap_memory),
            ("largest_share", self.share),
        ):
            if name in constants and constants[name] < own:
                figures = (
                    f"{name} is too small: {float(constants[name]):.6g} was used, this instance needs {float(own):.6g}"
                )
                times = -((-100 * own) // constants[name]) / 100 if constants[name] else 0
                found.append(f"{figures} ({times:g} times as much)" if times else figures)
        consequence = ": full cells may be too cheap to keep tasks away" if found else ""
        return "; ".join(found) + consequence


@keep_by_content(64)
def find_truth(instance: Instance) -> Truth:
    return Truth(cap_compute(instance), cap_memory(instance), largest_share(instance))


@dataclass(frozen=True)
class _Linear:
    """A run of a mechanism with linear reduced cost; `precise`: D of a run in doubles at its very prices."""

    case: Case
    trace: LinearTrace
    precise: bool = False

    @property
    def run(self) -> OnlineRun:
        return self.case.run

    @property
    def instance(self) -> Instance:
        return self.case.instance

    @cached_property
    def truth(self) -> Truth:
        return find_truth(self.instance)

    @cached_property
    def dual(self) -> Dual:
        return dual_of(self.instance)

    @cached_property
    def final(self) -> DualValue:
        """D at the final prices (a float run's rounded to 2^-k, unless `precise`)."""
        return self.at(self.trace.lam, self.trace.phi) if self.precise else self.case.share(_at_final_prices)

    def at(self, lam: Mapping[Cell, Fraction | float], phi: Mapping[Cell, Fraction | float]) -> DualValue:
        if self.trace.exact or self.precise:
            return self.dual.exact(*({cell: Fraction(price) for cell, price in part.items()} for part in (lam, phi)))
        return self.dual.near(lam, phi)

    def admitted(self) -> Iterator[Offer]:
        return (offer for offer in self.trace.offers if offer.admitted)

    def use(self, offer: Offer) -> int:
        return int(self.instance.memory_mb[offer.task]) * len(offer.cells)

    def spread(self, top_c: Fraction, top_m: Fraction) -> Fraction:
        """U of the run: the largest (X_c S + X_m R) / b_il over admitted schedules."""
        values = ((top_c * o.work + top_m * self.use(o)) / o.net for o in self.admitted())
        return max(values, default=Fraction(0))

    def increment(self) -> Fraction:
        """max over admitted of v (eta_c S + eta_m R) / b_il."""
        rule = self.trace.rule
        values = []
        for offer in self.admitted():
            factor = rule.bbar(offer.net, offer.work, self.use(offer)) if rule.by_bbar else Fraction(1)
            values.append(factor * (rule.eta_c * offer.work + rule.eta_m * self.use(offer)) / offer.net)
        return max(values, default=Fraction(0))

    def settle(
        self, name: str, claim: str, left: Fraction, right: Fraction, figures: Figures, extra: str = ""
    ) -> Check:
        lower = self.case.lower
        figures = {"welfare": self.run.welfare, "opt_lower": lower, "opt_upper": self.case.upper, **figures}
        if lower > left:
            witness: dict[str, Any] = {"opt_lower": lower}
            return Check(name, Verdict.VIOLATED, left, right, "the certificate is below OPT", witness, figures)
        if left > right:
            if not self.trace.exact and left - right <= ROUNDING * (left + right):
                reason = "float prices: the two sides are closer than rounding"
                return Check(name, Verdict.UNDECIDED, left, right, reason, None, figures)
            witness = {"certificate": str(left), "bound": str(right)}
            return Check(name, Verdict.VIOLATED, left, right, claim, witness, figures)
        if extra:
            return Check(name, Verdict.UNDECIDED, left, right, extra, None, figures)
        return Check(name, Verdict.HOLDS, left, right, claim, None, figures)

    def refused(self) -> tuple[dict[str, Any] | None, str]:
        """The first task whose cheapest schedule over all cells has F' > 0 and does not fit; or a doubt in doubles.

        The run is replayed: prices and room as each task met them, one more search per task that ignores room.
        """
        public = self.instance.public("")
        kind = public.type_of_node
        book = prices(public, self.trace.rule, exact=self.trace.exact)
        compute = np.repeat(public.compute[kind][:, None], public.slots, axis=1)
        memory = np.repeat(public.memory_mb[kind][:, None], public.slots, axis=1)
        free = FreeCapacity(compute, memory)
        doubt = ""
        for offer in self.trace.offers:
            task = self.instance.task(offer.task)
            # F' = b_i - c of the cheapest schedule at the prices of its arrival, room not looked at.
            quote = book.cheapest(task, None)
            if quote is not None and task.bid > quote.cost:
                for k, t in quote.cells:
                    if task.rate[kind[k]] > free.compute[k, t - 1] or task.memory_mb > free.memory_mb[k, t - 1]:
                        gain = Fraction(task.bid) - Fraction(quote.cost)
                        if self.trace.exact or gain > ROUNDING * (task.bid + abs(Fraction(quote.cost))):
                            return {"task": task.index, "node": k, "slot": t, "surplus": str(gain)}, ""
                        doubt = f"float prices: F' of task {task.index} is within rounding of 0"
            # The run's own decision moves prices and room for the next task.
            if offer.admitted:
                bbar = book.bbar(offer.net, offer.work, task.memory_mb * len(offer.cells))
                book.move(task, offer.cells, bbar)  # type: ignore[arg-type]
                for k, t in offer.cells:
                    compute[k, t - 1] -= task.rate[kind[k]]
                    memory[k, t - 1] -= task.memory_mb
        return None, doubt


def _linear_of(case: Case) -> _Linear:
    assert isinstance(case.run.trace, LinearTrace)
    return _Linear(case, case.run.trace)


def _about_linear(check: Callable[[_Linear], Check]) -> Callable[[Case], Check]:
    """The check of a case; before a run in doubles counts as a violation, with D at its very prices."""

    @wraps(check)
    def check_case(case: Case) -> Check:
        linear = case.share(_linear_of)
        found = check(linear)
        if found.status is Verdict.VIOLATED and not linear.trace.exact:
            return check(replace(linear, precise=True))
        return found

    return check_case


def _not_applicable(linear: _Linear, name: str, reason: str, figures: Figures) -> Check:
    return Check(name, Verdict.NOT_APPLICABLE, linear.final.value, None, reason, None, figures)


@_about_linear
def theorem_a(linear: _Linear) -> Check:
    """Capacity by prices alone, and OPT <= D <= Gamma ALG with Gamma = max(1, B) + B U / G."""
    rule, constants = linear.trace.rule, linear.trace.constants
    observed = linear.spread(constants["cap_compute"], constants["cap_memory"])
    assert rule.gain is not None
    gamma = max(Fraction(1), rule.growth) + rule.growth * observed / rule.gain
    figures: Figures = {
        "growth": rule.growth,
        "gain": rule.gain,
        "spread_observed": observed,
        "gamma": gamma,
        "gamma_known_beforehand": max(Fraction(1), rule.growth) + rule.growth * constants["spread"] / rule.gain,
        "least_factor": find_least_factor(constants["spread"]),
    }
    problem = _no_capacity_by_prices(linear)
    share = settle_share("posted", constants)
    if not problem and not is_gain_below(rule.gain, 1 + rule.growth * share, (1 - share) / share):
        problem = "G is above (1 + B eps)^((1 - eps)/eps) - 1"
    if problem:
        return _not_applicable(linear, "theorem_a", problem, figures)
    return _with_room(linear, "theorem_a", "OPT <= D <= Gamma ALG", gamma, figures)


@_about_linear
def theorem_b(linear: _Linear) -> Check:
    """With bbar >= 1 on admitted schedules: capacity by prices alone, and OPT <= D <= (1 + max{alpha, beta}) ALG.

    alpha, beta and bbar in the units of the run; a cell of capacity C is priced in money per sample whatever they are.
    """
    rule = linear.trace.rule
    alpha, beta = (
        eta / weight if eta else eta for eta, weight in zip((rule.eta_c, rule.eta_m), rule.weights, strict=True)
    )
    gamma = 1 + max(alpha, beta)
    densities = [rule.bbar(offer.net, offer.work, linear.use(offer)) for offer in linear.admitted()]
    observed = linear.spread(linear.truth.cap_compute, linear.truth.cap_memory)
    figures: Figures = {
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "least_factor": find_least_factor(observed),
        "bbar_min": min(densities, default=None),
    }
    problem = _no_capacity_by_prices(linear)
    share = settle_share("minimal-edit", linear.trace.constants)
    assert rule.gain is not None
    if not problem and not is_gain_below(rule.gain, Fraction(2), 1 - share):
        problem = "the divisor is above 2^(1 - eps) - 1"
    if not problem and densities and min(densities) < 1:
        problem = f"bbar >= 1 fails on an admitted schedule: {float(min(densities)):.6g}"
    if problem:
        return _not_applicable(linear, "theorem_b", problem, figures)
    return _with_room(linear, "theorem_b", "OPT <= D <= (1 + max{alpha, beta}) ALG", gamma, figures)


def _no_capacity_by_prices(linear: _Linear) -> str:
    """Why full cells need not be too dear: eps, X_c or X_m are not what the proof needs."""
    if linear.truth.share >= 1:
        return "eps < 1 fails: a task can fill a node's compute or memory"
    share = linear.trace.constants["largest_share"]
    if share >= 1:
        return f"largest_share = {share} was used; below 1 is needed"
    if share_above(share) >= 1:
        return f"largest_share = {share} is within 1/4096 of 1, and prices were made for 1/2"
    return linear.truth.missing(linear.trace.constants)


def _with_room(linear: _Linear, name: str, claim: str, gamma: Fraction, figures: Figures) -> Check:
    witness, doubt = linear.refused()
    if witness is not None:
        reason = "a schedule with F' > 0 does not fit"
        return Check(name, Verdict.VIOLATED, linear.final.value, gamma * linear.run.welfare, reason, witness, figures)
    return linear.settle(name, claim, linear.final.value, gamma * linear.run.welfare, figures, doubt)


@_about_linear
def theorem_c(linear: _Linear) -> Check:
    """OPT <= D <= Gamma' ALG + Leak, for any prices that move by the rule."""
    gamma = max(Fraction(1), linear.trace.rule.growth) + linear.increment()
    arrival = [
        Fraction(offer.value) if offer.admitted and offer.value is not None else Fraction(0)
        for offer in linear.trace.offers
    ]
    unit = linear.final.unit
    leaks = [max(Fraction(0), Fraction(s, unit) - mu) for s, mu in zip(linear.final.surplus, arrival, strict=True)]
    leak = sum(leaks, Fraction(0))
    bound = gamma * linear.run.welfare + leak
    figures: Figures = {
        "gamma": gamma,
        "leak": leak,
        "leaking_tasks": sum(value > 0 for value in leaks),
        "bound_over_welfare": bound / linear.run.welfare if linear.run.welfare > 0 else None,
    }
    return linear.settle("theorem_c", "OPT <= D <= Gamma' ALG + Leak", linear.final.value, bound, figures)


@_about_linear
def theorem_c_a_priori(linear: _Linear) -> Check:
    """OPT <= (Gamma' + U / (1 - eps)) ALG, by the final prices with X_c, X_m added on full cells."""
    name = "theorem_c_a_priori"
    truth = linear.truth
    if truth.share >= 1:
        return _not_applicable(linear, name, "eps < 1 fails: a task can fill a node's compute or memory", {})
    if not linear.trace.rule.tested:
        return _not_applicable(linear, name, "room was not looked at", {})
    top_c, top_m = find_full_cells(linear.instance, linear.run, truth.cap_compute, truth.cap_memory, truth.share)
    raised = linear.at(_sum(linear.trace.lam, top_c), _sum(linear.trace.phi, top_m))
    gamma = max(Fraction(1), linear.trace.rule.growth) + linear.increment()
    observed = linear.spread(truth.cap_compute, truth.cap_memory)
    factor = gamma + observed / (1 - truth.share)
    figures: Figures = {
        "gamma": gamma,
        "spread_observed": observed,
        "largest_share": truth.share,
        "factor": factor,
        "least_factor": find_least_factor(observed),
    }
    claim = "OPT <= D(full cells raised) <= (Gamma' + U/(1-eps)) ALG"
    return linear.settle(name, claim, raised.value, factor * linear.run.welfare, figures)


def _sum(one: Mapping[Cell, Fraction | float], other: Mapping[Cell, Fraction]) -> dict[Cell, Fraction]:
    """Two price tables added as fractions."""
    total = {cell: Fraction(price) for cell, price in one.items()}
    for cell, price in other.items():
        total[cell] = total.get(cell, Fraction(0)) + price
    return total


def find_least_factor(spread: Fraction) -> Fraction:
    """1 + ln(U/2), rounded down: no algorithm has a smaller factor on all instances with this U (Theorem N1).

    Equal tasks of one cell and equal memories, whose values lie in 1..theta, have U = 2 theta.
    """
    return 1 + Fraction(floor(1000 * logarithm(max(Fraction(1), spread / 2))), 1000)


def find_full_cells(
    instance: Instance, run: OnlineRun, top_c: Fraction, top_m: Fraction, share: Fraction
) -> tuple[dict[Cell, Fraction], dict[Cell, Fraction]]:
    """X_c and X_m on the cells whose compute, or memory, is loaded by more than 1 - eps in the end."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    compute, memory = public.compute.tolist(), public.memory_mb.tolist()
    load: dict[Cell, list[int]] = {}
    for i, decision in enumerate(run.decisions):
        for k, t in decision.cells if decision is not None else ():
            here = load.setdefault((k, t), [0, 0])
            here[0] += int(instance.rate[i, kind[k]])
            here[1] += int(instance.memory_mb[i])
    # Whole numbers are above (1 - eps) C where they are above its floor.
    edges = [(floor((1 - share) * compute[g]), floor((1 - share) * memory[g])) for g in kind]
    lam = {cell: top_c for cell, (used, _) in load.items() if used > edges[cell[0]][0]}
    phi = {cell: top_m for cell, (_, used) in load.items() if used > edges[cell[0]][1]}
    return lam, phi


def theorem_g(case: Case) -> Check:
    """OPT <= D <= (1 + U / (1 - eps)) ALG with the prices X_c, X_m on full cells and none elsewhere."""
    instance, run, truth = case.instance, case.run, find_truth(case.instance)
    if truth.share >= 1:
        reason = "eps < 1 fails: a task can fill a node's compute or memory"
        return Check("theorem_g", Verdict.NOT_APPLICABLE, None, None, reason)
    lam, phi = find_full_cells(instance, run, truth.cap_compute, truth.cap_memory, truth.share)
    value = dual_of(instance).exact(lam, phi).value
    observed = Fraction(0)
    kind = instance.public("").type_of_node.tolist()
    for i, decision in enumerate(run.decisions):
        if decision is not None:
            task = instance.task(i)
            work = sum(int(task.rate[kind[k]]) for k, _ in decision.cells)
            net = task.bid - find_outlay(instance, i, decision)
            weight = truth.cap_compute * work + truth.cap_memory * task.memory_mb * len(decision.cells)
            observed = max(observed, weight / net)
    factor = 1 + observed / (1 - truth.share)
    lower = case.lower
    figures: Figures = {
        "welfare": run.welfare,
        "opt_lower": lower,
        "opt_upper": case.upper,
        "spread_observed": observed,
        "largest_share": truth.share,
        "factor": factor,
        "least_factor": find_least_factor(observed),
    }
    bound = factor * run.welfare
    verdict = Verdict.HOLDS if lower <= value <= bound else Verdict.VIOLATED
    witness = None if verdict is Verdict.HOLDS else {"opt_lower": lower, "certificate": str(value), "bound": str(bound)}
    claim = "OPT <= D(full cells) <= (1 + U/(1-eps)) ALG"
    return Check("theorem_g", verdict, value, bound, claim, witness, figures)
