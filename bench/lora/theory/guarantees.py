"""Theorems A, B, C and G on one run, and the certificate of any run that exposes prices, as exact inequalities.

Statements and proofs are in docs/theory/mechanisms.md. The factors hold real powers; the algorithms use a rational G
that is no larger than the real one (`roots`), with which the proofs go through, so the factors are fractions. A run in
doubles has other prices than the theorem, by rounding: its D is a proved bound at the prices that it left, and an
inequality that fails by less than rounding, or a doubtful comparison with a bid, is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case, Figures, find_loads
from ratiobench.bench.lora.theory.basis.dual import DualValue, dual_of
from ratiobench.bench.lora.theory.basis.verdicts import CLOSE, compare
from ratiobench.bench.theory.claim import keep_by_content
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.mechanism import prices, settle_share
from ratiobench.online.lora.price_laws import logarithm
from ratiobench.online.lora.protocol import Posted
from ratiobench.online.lora.public_constants import cap_compute, cap_memory, largest_share
from ratiobench.online.lora.roots import is_gain_below, share_above
from ratiobench.online.lora.traces import Cell
from ratiobench.online.outcome import OnlineRun

ROUNDING = Fraction(1, 10**9)  # Relative error that prices in doubles do not reach
LOGARITHM = Fraction(1, 10**30)  # Relative error of a logarithm
FILLED = "eps < 1 fails: a task can fill a node's compute or memory"

Prices = Mapping[Cell, Fraction | float]


def _find_dual(case: Case, lam: Prices, phi: Prices) -> DualValue:
    """D at prices that a run left (a float run's rounded to 2^-k)."""
    dual = dual_of(case.instance)
    return dual.exact(lam, phi) if case.run.trace.exact else dual.near(lam, phi)


def _find_final_dual(case: Case) -> DualValue:
    return _find_dual(case, case.run.trace.lam, case.run.trace.phi)


def dual_certificate(case: Case) -> Check:
    """OPT <= D at the best multiple of the final prices, or of the means over the nodes of each type."""
    run, trace = case.run, case.run.trace
    if isinstance(trace, Posted) and trace.problem:
        return compare(case, None, None, problem=trace.problem)
    dual = dual_of(case.instance)
    final = case.share(_find_final_dual)
    scaled_tau, scaled = dual.rescale(trace.lam, trace.phi)
    tau, value = dual.rescale(dual.pool_prices(trace.lam), dual.pool_prices(trace.phi), scaled_tau)
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
    return Check("", verdict, Fraction(case.lower), value, "OPT <= D(tau * prices)", witness, figures)


class Truth(NamedTuple):
    """What the theorems need of an instance: X_c, X_m, eps, as its own tasks make them."""

    cap_compute: Fraction
    cap_memory: Fraction
    largest_share: Fraction


@keep_by_content(content_hash, 64)
def find_truth(instance: Instance) -> Truth:
    return Truth(cap_compute(instance), cap_memory(instance), largest_share(instance))


def thousandths_of_log(value: Fraction) -> Fraction:
    """ln of a value, rounded down to thousandths; 0 below 1."""
    return Fraction(floor(1000 * (logarithm(value) - LOGARITHM)), 1000) if value > 1 else Fraction(0)


def find_least_factor(spread: Fraction) -> Fraction:
    """1 + ln(U/2), rounded down: no algorithm has a smaller factor on all instances with this U (Theorem N1)."""
    return 1 + thousandths_of_log(spread / 2)


def _find_spread(case: Case, top_c: Fraction, top_m: Fraction) -> Fraction:
    """U of the run: the largest (X_c S + X_m R) / b_il over admitted schedules."""
    values = ((top_c * booking.work + top_m * booking.use) / booking.net for booking in case.bookings)
    return max(values, default=Fraction(0))


def _find_growth(case: Case) -> Fraction:
    """Gamma' = max(1, B) + the largest v (eta_c S + eta_m R) / b_il over admitted schedules."""
    rule, largest = case.run.trace.rule, Fraction(0)
    for _, _, net, work, use in case.bookings:
        bbar = rule.bbar(net, work, use) if rule.by_bbar else Fraction(1)
        largest = max(largest, bbar * (rule.eta_c * work + rule.eta_m * use) / net)
    return Fraction(max(1, rule.growth)) + largest


def _settle(
    case: Case,
    claim: str,
    sides: Callable[[DualValue], tuple[Fraction, Figures]],
    raised: tuple[Prices, Prices] | None = None,
    doubt: str = "",
) -> Check:
    """The check of OPT <= D <= bound by `sides(D)`; a run in doubles counts as a violation at its very prices only."""
    trace = case.run.trace
    dual = _find_dual(case, *raised) if raised else case.share(_find_final_dual)
    check = settle_dual(case, claim, dual.value, *sides(dual), doubt)
    if check.status is Verdict.VIOLATED and not trace.exact:
        dual = dual_of(case.instance).exact(*(raised or (trace.lam, trace.phi)))
        check = settle_dual(case, claim, dual.value, *sides(dual), doubt)
    return check


def settle_dual(case: Case, claim: str, value: Fraction, bound: Fraction, figures: Figures, doubt: str = "") -> Check:
    """The check of OPT <= D <= bound; what a run in doubles fails by less than rounding is undecided."""
    lower = case.lower
    slack = 0 if getattr(case.run.trace, "exact", True) else ROUNDING * (value + bound)
    figures = {"welfare": case.run.welfare, "opt_lower": lower, "opt_upper": case.upper, **figures}
    if lower > value + slack or value > bound + slack:
        witness = {"opt_lower": str(lower), "certificate": str(value), "bound": str(bound)}
        return Check("", Verdict.VIOLATED, value, bound, claim, witness, figures)
    doubt = CLOSE if lower > value or value > bound else doubt
    verdict = Verdict.UNDECIDED if doubt else Verdict.HOLDS
    return Check("", verdict, value, bound, doubt or claim, None, figures)


def theorem_a(case: Case) -> Check:
    """Capacity by prices alone, and OPT <= D <= Gamma ALG with Gamma = max(1, B) + B U / G."""
    rule, constants = case.run.trace.rule, case.run.trace.constants
    observed = _find_spread(case, constants["cap_compute"], constants["cap_memory"])
    gamma = max(Fraction(1), rule.growth) + rule.growth * observed / rule.gain
    figures: Figures = {
        "growth": rule.growth,
        "gain": rule.gain,
        "spread_observed": observed,
        "gamma": gamma,
        "gamma_known_beforehand": max(Fraction(1), rule.growth) + rule.growth * constants["spread"] / rule.gain,
        "least_factor": find_least_factor(constants["spread"]),
    }
    problem = explain_cheap_cells(case, constants)
    share = settle_share("posted", constants)
    if not problem and not is_gain_below(rule.gain, 1 + rule.growth * share, (1 - share) / share):
        problem = "G is above (1 + B eps)^((1 - eps)/eps) - 1"
    return _settle_with_room(case, "OPT <= D <= Gamma ALG", gamma, figures, problem)


def theorem_b(case: Case) -> Check:
    """If bbar >= 1 on admitted schedules: capacity by prices alone, and OPT <= D <= (1 + max{alpha, beta}) ALG."""
    rule, constants, truth = case.run.trace.rule, case.run.trace.constants, find_truth(case.instance)
    alpha, beta = (
        eta / weight if eta else eta for eta, weight in zip((rule.eta_c, rule.eta_m), rule.weights, strict=True)
    )
    gamma = 1 + max(alpha, beta)
    densities = [rule.bbar(net, work, use) for _, _, net, work, use in case.bookings]
    figures: Figures = {
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "least_factor": find_least_factor(_find_spread(case, truth.cap_compute, truth.cap_memory)),
        "bbar_min": min(densities, default=None),
    }
    problem = explain_cheap_cells(case, constants)
    share = settle_share("minimal-edit", constants)
    if not problem and not is_gain_below(rule.gain, Fraction(2), 1 - share):
        problem = "the divisor is above 2^(1 - eps) - 1"
    if not problem and densities and min(densities) < 1:
        problem = f"bbar >= 1 fails on an admitted schedule: {float(min(densities)):.6g}"
    return _settle_with_room(case, "OPT <= D <= (1 + max{alpha, beta}) ALG", gamma, figures, problem)


def explain_cheap_cells(case: Case, constants: Mapping[str, Fraction]) -> str:
    """Why full cells may be too cheap: eps, X_c or X_m, as the run used them, are not what the proof needs."""
    truth, share = find_truth(case.instance), constants["largest_share"]
    if truth.largest_share >= 1:
        return FILLED
    if share >= 1:
        return f"largest_share = {share} was used; below 1 is needed"
    if share_above(share) >= 1:
        return f"largest_share = {share} is within 1/4096 of 1, and prices were made for 1/2"
    found = []
    for name, own in truth._asdict().items():
        used = constants.get(name, own)
        if used < own:
            text = f"{name} is too small: {float(used):.6g} was used, this instance needs {float(own):.6g}"
            times = -((-100 * own) // used) / 100 if used else 0
            found.append(f"{text} ({times:g} times as much)" if times else text)
    return "; ".join(found) + (": full cells may be too cheap to keep tasks away" if found else "")


def _settle_with_room(case: Case, claim: str, gamma: Fraction, figures: Figures, problem: str) -> Check:
    if problem:
        return compare(case, case.share(_find_final_dual).value, None, problem=problem, figures=figures)
    bound = gamma * case.run.welfare
    witness, doubt = _find_refused(case)
    if witness is not None:
        value = dual_of(case.instance).exact(case.run.trace.lam, case.run.trace.phi).value
        reason = "a schedule with F' > 0 does not fit"
        return Check("", Verdict.VIOLATED, value, bound, reason, witness, figures)
    return _settle(case, claim, lambda dual: (bound, figures), doubt=doubt)


def _find_refused(case: Case) -> tuple[dict[str, Any] | None, str]:
    """The first task whose cheapest schedule over all cells has F' > 0 and does not fit; or a doubt in doubles."""
    trace, public = case.run.trace, case.public
    kind = public.type_of_node
    book = prices(public, trace.rule, exact=trace.exact)
    compute = np.repeat(public.compute[kind][:, None], public.slots, axis=1)
    memory = np.repeat(public.memory_mb[kind][:, None], public.slots, axis=1)
    doubt = ""
    for offer in trace.offers:
        task = case.instance.task(offer.task)
        # F' = b_i - c of the cheapest schedule at the prices of its arrival, room not looked at.
        quote = book.cheapest(task, None)
        if quote is not None and task.bid > quote.cost:
            for k, t in quote.cells:
                if task.rate[kind[k]] > compute[k, t - 1] or task.memory_mb > memory[k, t - 1]:
                    gain = Fraction(task.bid) - Fraction(quote.cost)
                    if trace.exact or gain > ROUNDING * (task.bid + abs(Fraction(quote.cost))):
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


def theorem_c(case: Case) -> Check:
    welfare, gamma = case.run.welfare, _find_growth(case)
    offers = case.run.trace.offers
    arrival = [Fraction(offer.value) if offer.admitted and offer.value is not None else 0 for offer in offers]

    def sides(dual: DualValue) -> tuple[Fraction, Figures]:
        leaks = [max(Fraction(0), Fraction(s, dual.unit) - mu) for s, mu in zip(dual.surplus, arrival, strict=True)]
        leak = sum(leaks, Fraction(0))
        bound = gamma * welfare + leak
        figures: Figures = {"gamma": gamma, "leak": leak, "leaking_tasks": sum(value > 0 for value in leaks)}
        return bound, figures | {"bound_over_welfare": bound / welfare if welfare > 0 else None}

    return _settle(case, "OPT <= D <= Gamma' ALG + Leak", sides)


def theorem_c_a_priori(case: Case) -> Check:
    """OPT <= (Gamma' + U / (1 - eps)) ALG, by the final prices with X_c, X_m added on full cells."""
    trace, truth = case.run.trace, find_truth(case.instance)
    if truth.largest_share >= 1 or not trace.rule.tested:
        problem = FILLED if truth.largest_share >= 1 else "room was not looked at"
        return compare(case, case.share(_find_final_dual).value, None, problem=problem)
    tops = find_full_cells(case.instance, case.run, truth.cap_compute, truth.cap_memory, truth.largest_share)
    lam, phi = (
        {cell: Fraction(prices.get(cell, 0)) + top.get(cell, 0) for cell in (*prices, *top)}
        for prices, top in zip((trace.lam, trace.phi), tops, strict=True)
    )
    gamma = _find_growth(case)
    factor, figures = _find_factor(case, truth, gamma)
    figures = {"gamma": gamma, **figures}
    claim = "OPT <= D(full cells raised) <= (Gamma' + U/(1-eps)) ALG"
    return _settle(case, claim, lambda dual: (factor * case.run.welfare, figures), (lam, phi))


def _find_factor(case: Case, truth: Truth, gamma: Fraction) -> tuple[Fraction, Figures]:
    observed = _find_spread(case, truth.cap_compute, truth.cap_memory)
    factor = gamma + observed / (1 - truth.largest_share)
    figures: Figures = {"spread_observed": observed, "largest_share": truth.largest_share}
    return factor, figures | {"factor": factor, "least_factor": find_least_factor(observed)}


def find_full_cells(
    instance: Instance, run: OnlineRun, top_c: Fraction, top_m: Fraction, share: Fraction
) -> tuple[dict[Cell, Fraction], dict[Cell, Fraction]]:
    """X_c and X_m on the cells whose compute, or memory, is loaded by more than 1 - eps in the end."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    admitted = ((i, decision.cells) for i, decision in enumerate(run.decisions) if decision is not None)
    load = find_loads(instance, admitted)
    # Whole numbers are above (1 - eps) C where they are above its floor.
    compute, memory = ([floor((1 - share) * c) for c in part.tolist()] for part in (public.compute, public.memory_mb))
    lam = {cell: top_c for cell, (used, _) in load.items() if used > compute[kind[cell[0]]]}
    phi = {cell: top_m for cell, (_, used) in load.items() if used > memory[kind[cell[0]]]}
    return lam, phi


def theorem_g(case: Case) -> Check:
    """OPT <= D <= (1 + U / (1 - eps)) ALG with the prices X_c, X_m on full cells and none elsewhere."""
    instance, run, truth = case.instance, case.run, find_truth(case.instance)
    if truth.largest_share >= 1:
        return compare(case, None, None, problem=FILLED)
    lam, phi = find_full_cells(instance, run, truth.cap_compute, truth.cap_memory, truth.largest_share)
    value = dual_of(instance).exact(lam, phi).value
    factor, figures = _find_factor(case, truth, Fraction(1))
    claim = "OPT <= D(full cells) <= (1 + U/(1-eps)) ALG"
    return settle_dual(case, claim, value, factor * run.welfare, figures)
