r"""Lemma P (with Theorem A+), Theorem A for pools, Theorem A', Theorems S and S2 on one run, as exact inequalities.

Every check compares OPT, and where the theorem has a dual the value D of it, with the theorem's right-hand side. What a
theorem assumes of the instance is computed from the instance; where it fails the check says `not applicable` and why.
`docs/theory/baselines.md` has statements and proofs.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.sums import sum_exactly
from ratiobench.bench.lora.theory.guarantees import ROUNDING, find_truth
from ratiobench.instances.lora.feasibility import first_slots, usable_types
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.posted_prices import PostedTrace
from ratiobench.online.lora.price_laws import logarithm
from ratiobench.online.lora.public_constants import list_served, units_of
from ratiobench.online.lora.roots import share_above
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import LawTerms, PoolTerms, StaticTerms, UnitTerms
from ratiobench.online.outcome import OnlineRun

MOST_PRICES = 64  # Theorem S2 is about a mean over prices, which is computed for instances of at most so many tasks
_CLOSE = Fraction(1, 10**30)  # Relative error of means that have logarithms in them


def has_terms(run: OnlineRun, kind: type) -> bool:
    """Whether the run left what this theorem needs."""
    return isinstance(run.trace, PostedTrace) and isinstance(run.trace.terms, kind)


def _surplus(case: Case, trace: PostedTrace) -> Fraction:
    """sum mu_i with mu_i = max(0, b_i - c_i), c_i being the cost that the task was offered."""
    pairs = zip(case.instance.bid.tolist(), trace.offers, strict=True)
    return sum((max(Fraction(0), bid - Fraction(o.cost)) for bid, o in pairs if o is not None), Fraction(0))


def _settle(case: Case, name: str, value: Fraction, bound: Fraction, claim: str, figures: Figures) -> Check:
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    figures = {"welfare": case.run.welfare, "opt_lower": case.lower, "opt_upper": case.upper, **figures}
    slack = 0 if trace.exact else ROUNDING * (value + bound)
    if case.lower > value + slack or value > bound + slack:
        witness = {"opt_lower": str(case.lower), "certificate": str(value), "bound": str(bound)}
        return Check(name, Verdict.VIOLATED, value, bound, claim, witness, figures)
    if case.lower > value or value > bound:
        reason = "float prices: the two sides are closer than rounding"
        return Check(name, Verdict.UNDECIDED, value, bound, reason, None, figures)
    return Check(name, Verdict.HOLDS, value, bound, claim, None, figures)


def _thousandths_of_log(value: Fraction) -> Fraction:
    """ln of a value, rounded down to thousandths; 0 below 1."""
    return Fraction(floor(1000 * (logarithm(value) - _CLOSE)), 1000) if value > 1 else Fraction(0)


def theorem_p(case: Case) -> Check:
    """OPT <= D <= max(1, B) ALG + (the priced capacity before the first task), by Lemma P."""
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    terms = trace.terms
    assert isinstance(terms, LawTerms)
    public = case.instance.public("")
    kind, compute, memory = public.type_of_node.tolist(), public.compute.tolist(), public.memory_mb.tolist()
    priced = sum_exactly(
        [(compute[kind[k]], price) for (k, _), price in trace.lam.items()]
        + [(memory[kind[k]], price) for (k, _), price in trace.phi.items()]
    )
    value = priced + _surplus(case, trace)
    factor, loss = max(Fraction(1), terms.growth), terms.start
    most = public.slots * sum(
        node.count * min(size * terms.caps[0], mb * terms.caps[1])
        for node, size, mb in zip(public.node_types, compute, memory, strict=True)
    )
    claim = "OPT <= D <= max(1, B) ALG + (priced capacity at the start)"
    figures: Figures = {"growth": terms.growth}
    return _compare(case, "theorem_p", claim, terms, value, _Bound(factor, loss, most), figures)


class _Bound(NamedTuple):
    """factor ALG + loss, and the value of all capacity at full prices, in micro-dollars."""

    factor: Fraction
    loss: Fraction
    most: Fraction


def _compare(
    case: Case, name: str, claim: str, terms: LawTerms | PoolTerms, value: Fraction, bound: _Bound, figures: Figures
) -> Check:
    """The dual value against the bound, where the constants are what the proof needs."""
    factor, loss, most = bound
    least = _thousandths_of_log(most / loss) if loss else None
    figures = {**figures, "factor": factor, "loss": loss, "least_factor": least}
    problem = terms.problem or _no_full_price(case, terms.share, terms.caps)
    if problem:
        return Check(name, Verdict.NOT_APPLICABLE, value, None, problem, None, figures)
    return _settle(case, name, value, factor * case.run.welfare + loss, claim, figures)


def _no_full_price(case: Case, share: Fraction, caps: tuple[Fraction, Fraction]) -> str:
    """Why cells without room need not cost X: eps, X_c or X_m are not what the proof needs."""
    truth = find_truth(case.instance)
    if truth.share >= 1:
        return "eps < 1 fails: a task can fill a node's compute or memory"
    if share >= 1 or share_above(share) >= 1:
        return f"largest_share = {share} was used, and prices were made for 1/2"
    return truth.missing({"cap_compute": caps[0], "cap_memory": caps[1], "largest_share": share})


def theorem_pool(case: Case) -> Check:
    """OPT <= D <= (max(1, Omega B) + Omega B U / G) ALG + sum Omega K psi(0), prices by node type and slot."""
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    terms = trace.terms
    assert isinstance(terms, PoolTerms)
    public = case.instance.public("")
    omega = find_omega(case.instance)
    pools = [omega[g] * node.count for g, node in enumerate(public.node_types)]
    value = _surplus(case, trace)
    value += sum((pool * sum(row, Fraction(0)) for pool, row in zip(pools, terms.prices, strict=True)), Fraction(0))
    loss = public.slots * sum((a * b for a, b in zip(pools, terms.start, strict=True)), Fraction(0))
    spread = max((_weigh_run(case, i, terms.tops) for i, d in enumerate(case.run.decisions) if d), default=Fraction(0))
    growth = max(omega) * terms.growth
    factor = max(Fraction(1), growth) + (growth * spread / terms.gain if terms.gain else 0)
    tops = (node.count * top for node, top in zip(public.node_types, terms.tops, strict=True))
    most = public.slots * sum(tops, Fraction(0))
    claim = "OPT <= D <= (max(1, Omega B) + Omega B U/G) ALG + (priced capacity at the start)"
    figures: Figures = {"growth": terms.growth, "omega": max(omega), "spread_of_run": spread}
    return _compare(case, "theorem_pool", claim, terms, value, _Bound(factor, loss, most), figures)


def _weigh_run(case: Case, i: int, tops: tuple[Fraction, ...]) -> Fraction:
    """sum X_g w / b_il over the cells of an admitted schedule."""
    instance, public, decision = case.instance, case.instance.public(""), case.run.decisions[i]
    assert decision is not None
    kind, cost = public.type_of_node.tolist(), instance.cost(i)
    net = int(instance.bid[i]) - (0 if decision.vendor is None else instance.vendors(i)[decision.vendor][0])
    total = Fraction(0)
    for k, t in decision.cells:
        g = kind[k]
        net -= int(cost[g, t - 1])
        compute, memory = int(public.compute[g]), int(public.memory_mb[g])
        share = Fraction(int(instance.rate[i, g]), compute), Fraction(int(instance.memory_mb[i]), memory)
        total += tops[g] * max(share)
    return total / net


def find_omega(instance: Instance) -> list[Fraction]:
    """By node type, at least the weight max(s / C, r / D) of any tasks with a schedule that fit a node together."""
    public, able = instance.public(""), usable_types(instance)
    found = []
    for g, (compute, memory) in enumerate(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True)):
        pairs = [
            (Fraction(int(instance.rate[each.task, g]), compute), Fraction(each.memory_mb, memory))
            for each in list_served(instance)
            if able[each.task, g]
        ]
        found.append(min(_bound_weight(pairs), _bound_weight([pair[::-1] for pair in pairs])))
    return found


def theorem_a1(case: Case) -> Check:
    """OPT <= D <= Gamma ALG for tasks that take one of N equal units of a type and slot."""
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    terms = trace.terms
    assert isinstance(terms, UnitTerms)
    low, top = -(-terms.low // 1), terms.theta * terms.low // 1
    figures: Figures = {
        "gamma": terms.gamma,
        "theta": terms.theta,
        "least_factor": 1 + _thousandths_of_log(Fraction(top + 1, low + 1)),
    }
    units = find_units(case.instance)
    if isinstance(units, str):
        return Check("theorem_a1", Verdict.NOT_APPLICABLE, None, None, units, None, figures)
    problem = _values_outside(case, terms, units)
    if problem:
        return Check("theorem_a1", Verdict.NOT_APPLICABLE, None, None, problem, None, figures)
    public = case.instance.public("")
    value = _surplus(case, trace) + terms.low * sum(
        node.count * units.get(g, 0) * sum(terms.prices[g], Fraction(0)) for g, node in enumerate(public.node_types)
    )
    return _settle(case, "theorem_a1", value, terms.gamma * case.run.welfare, "OPT <= D <= Gamma ALG", figures)


def find_units(instance: Instance) -> Mapping[int, int] | str:
    """How many tasks a node of each type that is used holds, whichever they are; or why that is no fixed number."""
    public, able = instance.public(""), usable_types(instance)
    sizes: dict[int, set[tuple[int, int]]] = {}
    for each in list_served(instance):
        for g in np.flatnonzero(able[each.task]).tolist():
            rate = int(instance.rate[each.task, g])
            if rate < each.work:
                return f"task {each.task} takes more than one cell"
            if (instance.cost(each.task)[g] < 0).any():
                return f"task {each.task} has a cell of negative cost"
            sizes.setdefault(g, set()).add((rate, each.memory_mb))
    units = {}
    for g, pairs in sizes.items():
        compute, memory = int(public.compute[g]), int(public.memory_mb[g])
        counts = {units_of(compute, memory, *pair) for pair in pairs}
        count = min(counts)
        crowded = min((count + 1) * rate for rate, _ in pairs) > compute
        if len(counts) > 1 or not (crowded or min((count + 1) * mb for _, mb in pairs) > memory):
            return f"nodes of type {g} hold a number of tasks that depends on which they are"
        units[g] = count
    return units


def _values_outside(case: Case, terms: UnitTerms, units: Mapping[int, int]) -> str:
    """Why a value of a unit may lie outside what was announced, or a full cell be too cheap; empty if not."""
    instance, public = case.instance, case.instance.public("")
    kind = public.type_of_node.tolist()
    top = max((each.worth for each in list_served(instance)), default=0)
    sold = np.zeros((len(public.node_types), instance.slots), np.int64)
    for i, decision in enumerate(case.run.decisions):
        for k, t in decision.cells if decision is not None else ():
            sold[kind[k], t - 1] += 1
            price = 0 if decision is None or decision.vendor is None else instance.vendors(i)[decision.vendor][0]
            net = int(instance.bid[i]) - price - int(instance.cost(i)[kind[k], t - 1])
            if net < terms.low:
                return f"task {i} is worth {net}, less than L = {float(terms.low):.6g}"
    for g, count in units.items():
        for t in np.flatnonzero(sold[g] >= count * public.node_types[g].count).tolist():
            if terms.low * terms.prices[g][t] < top:
                return f"a full cell costs {float(terms.low * terms.prices[g][t]):.6g}, and a task is worth {top}"
    return ""


class Slack(NamedTuple):
    """What Theorems S and S2 need of an instance."""

    sigma: Fraction  # least slots of a window over the slots that the task needs at its slowest
    omega: Fraction  # at least the weight of any tasks on one node
    full: Fraction  # f, at most the weight on a node without room for a task
    # largest value per unit of weight, of the lightest schedule. weights: of a cell, by task with one type.
    density: Fraction
    weights: Mapping[int, Fraction]

    @property
    def factor(self) -> Fraction:
        """2 Omega sigma / (f (sigma - 1))."""
        return 2 * self.omega * self.sigma / (self.full * (self.sigma - 1))


def find_slack(instance: Instance) -> Slack | str:
    """The parameters; or why the theorems say nothing."""
    public, able, first = instance.public(""), usable_types(instance), first_slots(instance)
    served = list_served(instance)
    if not served:
        return "no task has a schedule"
    sigma, full, density = None, None, Fraction(0)
    shapes: dict[int, list[tuple[Fraction, Fraction]]] = {}
    weights = {}
    for each in served:
        i, usable = each.task, np.flatnonzero(able[each.task]).tolist()
        if instance.cost(i)[usable].any() or any(price for price, _ in instance.vendors(i)):
            return f"task {i} has costs of operation or a vendor's price"
        window = int(instance.deadline[i]) - int(first[i]) + 1
        slackness = Fraction(window, -(-each.work // each.slowest))
        sigma = slackness if sigma is None else min(sigma, slackness)
        cells = []
        for g in usable:
            rate, compute, memory = int(instance.rate[i, g]), int(public.compute[g]), int(public.memory_mb[g])
            shape = Fraction(rate, compute), Fraction(each.memory_mb, memory)
            shapes.setdefault(g, []).append(shape)
            left = min(Fraction(compute - rate + 1, compute), Fraction(memory - each.memory_mb + 1, memory))
            full = left if full is None else min(full, left)
            cells.append((max(shape), rate))
        least = max(
            -(-each.work // each.fastest) * min(w for w, _ in cells), each.work * min(w / rate for w, rate in cells)
        )
        density = max(density, each.bid / least)
        if len(usable) == 1:
            weights[i] = cells[0][0]
    assert sigma is not None
    assert full is not None
    if sigma <= 1:
        return "sigma > 1 fails: a task needs all slots of its window"
    omega = max(min(_bound_weight(pairs), _bound_weight([pair[::-1] for pair in pairs])) for pairs in shapes.values())
    return Slack(sigma, omega, full, density, weights)


def _bound_weight(shapes: list[tuple[Fraction, Fraction]]) -> Fraction:
    """1 + beta with max(x, y) <= x + beta y for all shapes (x, y): what fits a node weighs no more."""
    return 1 + max((1 - x / y for x, y in shapes if y > x), default=Fraction(0))


def theorem_s(case: Case) -> Check:
    """Theorem S of greedy (price=0): OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG; S2 in the mean over P."""
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    terms = trace.terms
    assert isinstance(terms, StaticTerms)
    name, slack = "theorem_s", find_slack(case.instance)
    if isinstance(slack, str):
        return Check(name, Verdict.NOT_APPLICABLE, None, None, slack)
    figures: Figures = {
        "welfare": case.run.welfare,
        "opt_lower": case.lower,
        "opt_upper": case.upper,
        "sigma": slack.sigma,
        "omega": slack.omega,
        "full": slack.full,
    }
    if terms.price == 0:
        least = _least_density(case)
        theta = Fraction(1) if least is None else max(Fraction(1), slack.density / least)
        factor = 1 + theta * slack.factor
        figures |= {"theta": theta, "factor": factor, "least_factor": _least_factor(slack.sigma, theta)}
        verdict = Verdict.HOLDS if case.lower <= factor * case.run.welfare else Verdict.VIOLATED
        witness = {"opt_lower": str(case.lower)} if verdict is Verdict.VIOLATED else None
        claim = "OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG (Theorem S)"
        return Check(name, verdict, Fraction(case.lower), factor * case.run.welfare, claim, witness, figures)
    if not terms.drawn:
        reason = "Theorem S is about price=0, S2 about a price that is drawn"
        return Check(name, Verdict.NOT_APPLICABLE, None, None, reason, None, figures)
    return _in_the_mean(case, terms, slack, figures)


def _least_factor(sigma: Fraction, theta: Fraction) -> Fraction:
    """What no algorithm's factor is below where lengths are any: 1 + ln theta, and sigma ln(sigma / (sigma - 1))."""
    by_length = sigma * _thousandths_of_log(sigma / (sigma - 1))
    return max(1 + _thousandths_of_log(theta), Fraction(floor(1000 * by_length), 1000))


def _least_density(case: Case) -> Fraction | None:
    """The least value per unit of weight of an admitted schedule; None without any."""
    instance, public = case.instance, case.instance.public("")
    kind, found = public.type_of_node.tolist(), []
    for i, decision in enumerate(case.run.decisions):
        if decision is not None:
            weight = Fraction(0)
            for k, _ in decision.cells:
                compute, memory = int(public.compute[kind[k]]), int(public.memory_mb[kind[k]])
                rate = int(instance.rate[i, kind[k]])
                weight += max(Fraction(rate, compute), Fraction(int(instance.memory_mb[i]), memory))
            found.append(int(instance.bid[i]) / weight)
    return min(found, default=None)


def _in_the_mean(case: Case, terms: StaticTerms, slack: Slack, figures: Figures) -> Check:
    """OPT <= (1 + 2 Omega sigma / (f (sigma - 1))) (1 + ln theta) E[ALG], E over P; each price is run."""
    name, instance = "theorem_s", case.instance
    served = [each for each in list_served(instance) if each.bid]
    problem = ""
    if instance.tasks > MOST_PRICES:
        problem = f"the mean over prices is computed for at most {MOST_PRICES} tasks"
    elif any(each.task not in slack.weights for each in served):
        problem = "a task can run on several node types, and has no single weight per cell"
    densities = sorted(
        {each.bid / (-(-each.work // each.slowest) * slack.weights.get(each.task, Fraction(1))) for each in served}
    )
    if not problem and densities and not terms.low <= densities[0] <= densities[-1] <= terms.low * terms.theta:
        problem = "values per unit of weight lie outside L and theta L"
    if problem:
        return Check(name, Verdict.NOT_APPLICABLE, None, None, problem, None, figures)
    total = Fraction(0)
    edges = [terms.low, *(each for each in densities if each > terms.low)]
    for j, price in enumerate(edges):
        welfare = run(instance, f"static:price={price}", seed="").welfare
        part = Fraction(1) if j == 0 else logarithm(price / edges[j - 1])
        total += welfare * part
    mean_factor = 1 + logarithm(terms.theta)
    factor = (1 + slack.factor) * mean_factor
    right = factor * total / mean_factor
    figures |= {"theta": terms.theta, "factor": factor, "mean_welfare": total / mean_factor}
    figures["least_factor"] = _least_factor(slack.sigma, terms.theta)
    claim = "OPT <= (1 + 2 Omega sigma / (f (sigma - 1))) (1 + ln theta) E[ALG] (Theorem S2)"
    left, close = Fraction(case.lower), _CLOSE * (right + 1)
    if abs(left - right) <= close and left:
        return Check(name, Verdict.UNDECIDED, left, right, "the two sides are closer than rounding", None, figures)
    verdict = Verdict.HOLDS if left <= right else Verdict.VIOLATED
    witness = {"opt_lower": str(case.lower)} if verdict is Verdict.VIOLATED else None
    return Check(name, verdict, left, right, claim, witness, figures)
