"""Lemma P, Theorems A+, A for pools, A', S and S2 on one run; docs/theory/baselines.md has statements and proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Booking, Case, Figures
from ratiobench.bench.lora.theory.basis.verdicts import compare
from ratiobench.bench.lora.theory.guarantees import LOGARITHM, explain_cheap_cells, settle_dual, thousandths_of_log
from ratiobench.instances.lora.model import Instance, Public
from ratiobench.instances.lora.quantities import first_slots, usable_types
from ratiobench.online.lora.price_laws import logarithm
from ratiobench.online.lora.public_constants import list_served, units_of
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import StaticTerms, UnitTerms

MOST_PRICES = 64  # Theorem S2 is about a mean over prices, which is computed for instances of at most so many tasks


def _surplus(case: Case) -> Fraction:
    """sum mu_i with mu_i = max(0, b_i - c_i), c_i being the cost that the task was offered."""
    pairs = zip(case.instance.bid.tolist(), case.run.trace.offers, strict=True)
    return sum((max(Fraction(0), bid - Fraction(o.cost)) for bid, o in pairs if o is not None), Fraction(0))


def _shape(instance: Instance, public: Public, i: int, g: int) -> tuple[Fraction, Fraction]:
    """s / C and r / D of a task on a node type; the larger one is the weight of a cell."""
    rate, memory = int(instance.rate[i, g]), int(instance.memory_mb[i])
    return Fraction(rate, int(public.compute[g])), Fraction(memory, int(public.memory_mb[g]))


def _weigh(case: Case, booking: Booking, tops: Sequence[Fraction | int]) -> Fraction:
    """sum X_g w over the cells of an admitted schedule."""
    types = [case.public.type_of_node[k] for k, _ in booking.cells]
    return sum((tops[g] * max(_shape(case.instance, case.public, booking.task, g)) for g in types), Fraction(0))


def theorem_p(case: Case) -> Check:
    """OPT <= D <= max(1, B) ALG + (the priced capacity before the first task), by Lemma P."""
    terms, public = case.run.trace.terms, case.public
    value = case.priced_capacity + _surplus(case)
    capacities = zip(public.node_types, public.compute.tolist(), public.memory_mb.tolist(), strict=True)
    most = public.slots * sum(
        node.count * min(size * terms.caps[0], mb * terms.caps[1]) for node, size, mb in capacities
    )
    claim = "OPT <= D <= max(1, B) ALG + (priced capacity at the start)"
    factor = max(Fraction(1), terms.growth)
    return _compare(case, claim, value, factor, terms.start, most, {"growth": terms.growth})


def _compare(
    case: Case, claim: str, value: Fraction, factor: Fraction, loss: Fraction, most: Fraction, figures: Figures
) -> Check:
    """The dual value against factor ALG + loss; `most`: the value of all capacity at full prices, micro-dollars."""
    terms = case.run.trace.terms
    least = thousandths_of_log(most / loss) if loss else None
    figures = {**figures, "factor": factor, "loss": loss, "least_factor": least}
    constants = {"cap_compute": terms.caps[0], "cap_memory": terms.caps[1], "largest_share": terms.share}
    problem = terms.problem or explain_cheap_cells(case, constants)
    if problem:
        return compare(case, value, None, problem=problem, figures=figures)
    return settle_dual(case, claim, value, factor * case.run.welfare + loss, figures)


def theorem_pool(case: Case) -> Check:
    """OPT <= D <= (max(1, Omega B) + Omega B U / G) ALG + sum Omega K psi(0), prices by node type and slot."""
    terms, public, omega = case.run.trace.terms, case.public, find_omega(case.instance)
    pools = [omega[g] * node.count for g, node in enumerate(public.node_types)]
    priced = (pool * sum(row, Fraction(0)) for pool, row in zip(pools, terms.prices, strict=True))
    value = sum(priced, _surplus(case))
    loss = public.slots * sum((a * b for a, b in zip(pools, terms.start, strict=True)), Fraction(0))
    spread = max((_weigh(case, each, terms.tops) / each.net for each in case.bookings), default=Fraction(0))
    growth = max(omega) * terms.growth
    factor = max(Fraction(1), growth) + (growth * spread / terms.gain if terms.gain else 0)
    tops = (node.count * top for node, top in zip(public.node_types, terms.tops, strict=True))
    most = public.slots * sum(tops, Fraction(0))
    claim = "OPT <= D <= (max(1, Omega B) + Omega B U/G) ALG + (priced capacity at the start)"
    figures: Figures = {"growth": terms.growth, "omega": max(omega), "spread_of_run": spread}
    return _compare(case, claim, value, factor, loss, most, figures)


def find_omega(instance: Instance) -> list[Fraction]:
    """By node type, at least the weight max(s / C, r / D) of any tasks with a schedule that fit a node together."""
    public, able, served = instance.public(""), usable_types(instance), list_served(instance)
    return [
        _bound_weight([_shape(instance, public, each.task, g) for each in served if able[each.task, g]])
        for g in range(len(public.node_types))
    ]


def _bound_weight(shapes: list[tuple[Fraction, Fraction]]) -> Fraction:
    """1 + beta with max(x, y) <= x + beta y for all shapes (x, y), or x and y exchanged: what fits weighs no more."""
    exchanged = [(y, x) for x, y in shapes]
    return 1 + min(max((1 - x / y for x, y in some if y > x), default=Fraction(0)) for some in (shapes, exchanged))


def theorem_a1(case: Case) -> Check:
    """OPT <= D <= Gamma ALG for tasks that take one of N equal units of a type and slot."""
    terms, units = case.run.trace.terms, find_units(case.instance)
    low, top = -(-terms.low // 1), terms.theta * terms.low // 1
    least = 1 + thousandths_of_log(Fraction(top + 1, low + 1))
    figures: Figures = {"gamma": terms.gamma, "theta": terms.theta, "least_factor": least}
    problem = units if isinstance(units, str) else _values_outside(case, terms, units)
    if isinstance(units, str) or problem:
        return compare(case, None, None, problem=problem, figures=figures)
    priced = sum(
        node.count * units.get(g, 0) * sum(terms.prices[g], Fraction(0))
        for g, node in enumerate(case.public.node_types)
    )
    value = _surplus(case) + terms.low * priced
    return settle_dual(case, "OPT <= D <= Gamma ALG", value, terms.gamma * case.run.welfare, figures)


def find_units(instance: Instance) -> Mapping[int, int] | str:
    """How many tasks, whichever, a node of each used type holds; or why that is no fixed number."""
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
        units[g] = count = min(counts)
        crowded = min((count + 1) * rate for rate, _ in pairs) > compute
        if len(counts) > 1 or not (crowded or min((count + 1) * mb for _, mb in pairs) > memory):
            return f"nodes of type {g} hold a number of tasks that depends on which they are"
    return units


def _values_outside(case: Case, terms: UnitTerms, units: Mapping[int, int]) -> str:
    """Why a value of a unit may lie outside what was announced, or a full cell be too cheap; empty if not."""
    public, kind = case.public, case.public.type_of_node.tolist()
    top = max((each.worth for each in list_served(case.instance)), default=0)
    sold = np.zeros((len(public.node_types), public.slots), np.int64)
    for booking in case.bookings:
        if booking.net < terms.low:
            return f"task {booking.task} is worth {booking.net}, less than L = {float(terms.low):.6g}"
        for k, t in booking.cells:
            sold[kind[k], t - 1] += 1
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
    density: Fraction  # largest value per unit of weight, of the lightest schedule
    weights: Mapping[int, Fraction]  # of a cell, by task with one type

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
    shapes: dict[int, list[tuple[Fraction, Fraction]]] = {}
    slackness, left, densities, weights = [], [], [], {}
    for each in served:
        i, usable = each.task, np.flatnonzero(able[each.task]).tolist()
        if instance.cost(i)[usable].any() or any(price for price, _ in instance.vendors(i)):
            return f"task {i} has costs of operation or a vendor's price"
        window = int(instance.deadline[i]) - int(first[i]) + 1
        slackness.append(Fraction(window, -(-each.work // each.slowest)))
        cells = []
        for g in usable:
            rate, compute, memory = int(instance.rate[i, g]), int(public.compute[g]), int(public.memory_mb[g])
            shape = _shape(instance, public, i, g)
            shapes.setdefault(g, []).append(shape)
            left += [Fraction(compute - rate + 1, compute), Fraction(memory - each.memory_mb + 1, memory)]
            cells.append((max(shape), rate))
        least = max(
            -(-each.work // each.fastest) * min(w for w, _ in cells), each.work * min(w / rate for w, rate in cells)
        )
        densities.append(each.bid / least)
        if len(usable) == 1:
            weights[i] = cells[0][0]
    if min(slackness) <= 1:
        return "sigma > 1 fails: a task needs all slots of its window"
    return Slack(min(slackness), max(map(_bound_weight, shapes.values())), min(left), max(densities), weights)


def theorem_s(case: Case) -> Check:
    """Theorem S of greedy (price=0): OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG; S2 in the mean over P."""
    terms, slack, lower = case.run.trace.terms, find_slack(case.instance), Fraction(case.lower)
    if isinstance(slack, str):
        return compare(case, None, None, problem=slack)
    figures: Figures = {"welfare": case.run.welfare, "opt_lower": case.lower, "opt_upper": case.upper}
    figures |= {"sigma": slack.sigma, "omega": slack.omega, "full": slack.full}
    if terms.price == 0:
        # The least value per unit of weight of an admitted schedule decides.
        ones = [1] * len(case.public.node_types)
        worths = (int(case.instance.bid[each.task]) / _weigh(case, each, ones) for each in case.bookings)
        theta = max([Fraction(1), *(slack.density / worth for worth in worths)])
        factor = 1 + theta * slack.factor
        right = factor * case.run.welfare
        figures |= {"theta": theta, "factor": factor}
        claim = "OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG (Theorem S)"
    else:
        problem = _explain_no_mean(case, terms, slack)
        if problem:
            return compare(case, None, None, problem=problem, figures=figures)
        theta, factor = terms.theta, (1 + slack.factor) * (1 + logarithm(terms.theta))
        mean = _find_mean_welfare(case, terms, slack)
        right = factor * mean
        figures |= {"theta": theta, "factor": factor, "mean_welfare": mean}
        claim = "OPT <= (1 + 2 Omega sigma / (f (sigma - 1))) (1 + ln theta) E[ALG] (Theorem S2)"
    # What no algorithm's factor is below where lengths are any: 1 + ln theta, and sigma ln(sigma / (sigma - 1)).
    by_length = slack.sigma * thousandths_of_log(slack.sigma / (slack.sigma - 1))
    figures["least_factor"] = max(1 + thousandths_of_log(theta), Fraction(floor(1000 * by_length), 1000))
    if terms.price != 0 and lower and abs(lower - right) <= LOGARITHM * (right + 1):
        return Check("", Verdict.UNDECIDED, lower, right, "the two sides are closer than rounding", None, figures)
    return compare(case, lower, right, claim, witness={"opt_lower": str(case.lower)}, figures=figures)


def _list_densities(case: Case, slack: Slack) -> list[Fraction]:
    """The values per unit of weight of all tasks, ascending."""
    served = (each for each in list_served(case.instance) if each.bid)
    return sorted({each.bid / (-(-each.work // each.slowest) * slack.weights[each.task]) for each in served})


def _explain_no_mean(case: Case, terms: StaticTerms, slack: Slack) -> str:
    if not terms.drawn:
        return "Theorem S is about price=0, S2 about a price that is drawn"
    if case.instance.tasks > MOST_PRICES:
        return f"the mean over prices is computed for at most {MOST_PRICES} tasks"
    if any(each.task not in slack.weights for each in list_served(case.instance) if each.bid):
        return "a task can run on several node types, and has no single weight per cell"
    densities = _list_densities(case, slack)
    if densities and not terms.low <= densities[0] <= densities[-1] <= terms.low * terms.theta:
        return "values per unit of weight lie outside L and theta L"
    return ""


def _find_mean_welfare(case: Case, terms: StaticTerms, slack: Slack) -> Fraction:
    """E[ALG] over P, the distribution of prices; each price is run."""
    total = Fraction(0)
    edges = [terms.low, *(each for each in _list_densities(case, slack) if each > terms.low)]
    for j, price in enumerate(edges):
        welfare = run(case.instance, f"static:price={price}", seed="").welfare
        total += welfare * (Fraction(1) if j == 0 else logarithm(price / edges[j - 1]))
    return total / (1 + logarithm(terms.theta))
