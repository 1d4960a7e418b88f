"""Theorem H on a run."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.guarantees import settle_dual
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.guard import Announcement
from ratiobench.online.lora.posted_prices import PostedTrace
from ratiobench.online.lora.public_constants import list_served


def find_excess(case: Case, announced: Announcement) -> tuple[Fraction, int]:
    """E of Theorem H, and the number of tasks of no announced class on a node type, or worth more than X_j w."""
    instance = case.instance
    kinds = list(zip(case.public.compute.tolist(), case.public.memory_mb.tolist(), strict=True))
    total, beyond = Fraction(0), 0

    @cache
    def covered(g: int, rate: int, memory: int) -> Fraction | None:
        """X_j w of a task of this size; None without a class."""
        kind = announced.kinds[g]
        j = kind.find(rate, memory)
        return None if j < 0 else kind.cap[j] * kind.weigh(rate, memory)

    for each in list_served(instance):
        own = Fraction(0)
        for g, (compute, memory_mb) in enumerate(kinds):
            rate = int(instance.rate[each.task, g])
            if not (0 < rate <= compute and each.memory_mb <= memory_mb):
                continue
            most = covered(g, rate, each.memory_mb)
            if most is None:
                own = Fraction(each.worth)
                break
            own = max(own, each.worth - most)
        total += own
        beyond += own > 0
    return total, beyond


def find_least_factor(instance: Instance, announced: Announcement, rest: Fraction) -> Fraction:
    """The least F if OPT <= F ALG + rest always, bids in whole micro-dollars, rounded down (Theorem L); 0 for none."""
    # On each node type the bids of its best class rise together in m equal steps, m being the least X_j w_j of these
    # classes. With a = rest m / V and k = max(1, ceil a), F is at least 1 + H_m - H_k - a / k.
    public, best = instance.public(""), []
    for kind, node, memory in zip(announced.kinds, instance.node_types, public.memory_mb.tolist(), strict=True):
        classes = [
            (min(node.compute // s, memory // r), math.floor(cap * kind.weigh(s, r)))
            for s, r, cap in zip(kind.rate, kind.memory, kind.cap, strict=True)
        ]
        fit, bid = max(classes, key=lambda each: each[0] * each[1], default=(0, 0))
        if fit * bid:
            best.append((node.count * fit, bid))
    steps = min((bid for _, bid in best), default=0)
    step = instance.slots * sum(cells * (bid // steps) for cells, bid in best)
    if not 0 < rest < step * steps:
        return Fraction(0)
    lost = rest / step
    first = max(1, math.ceil(lost))
    harmonic = math.log(steps) - math.log(first)  # H_m - H_k, less than it is by what follows
    harmonic += 0.5 / steps - 1 / (12 * steps**2) + (0.5772156649 - 1 if first == 1 else -0.5 / first)
    return max(Fraction(0), Fraction(math.floor(1000 * (1 + harmonic - float(lost / first) - 1e-9)), 1000))


def theorem_h(case: Case) -> Check:
    """OPT <= D <= (rho + max(1, beta)) ALG + A0 + E with D = sum Omega K c + sum mu_i + E."""
    trace, served = case.run.trace, list_served(case.instance)
    assert isinstance(trace, PostedTrace)
    assert trace.announced is not None
    announced, arrivals = trace.announced, case.instance.arrival.tolist()
    excess, beyond = find_excess(case, announced)
    offers = zip(case.instance.bid.tolist(), arrivals, trace.offers, strict=True)
    # In settled slots c is 0, and mu_i is what task i is worth if it arrived there.
    surplus = Fraction(sum(each.worth for each in served if arrivals[each.task] <= trace.settled))
    for bid, arrival, offer in offers:
        if offer is not None and arrival > trace.settled:
            surplus += max(Fraction(0), bid - Fraction(offer.cost))
    bound = announced.factor * case.run.welfare + trace.start + excess
    figures: Figures = {
        "factor": announced.factor,
        "least_factor": find_least_factor(case.instance, announced, trace.start),
        "omega": max(kind.omega for kind in announced.kinds),
        "classes": max(len(kind.rate) for kind in announced.kinds),
        "a0": trace.start,
        "excess": excess,
        **({"settled_slots": trace.settled} if trace.settled else {}),
        "tasks_beyond_what_was_announced": beyond,
    }
    claim = "OPT <= D <= (rho + max(1, beta)) ALG + A0"
    if beyond:
        claim += f" + E: {beyond} tasks are of no class that was announced, or worth more than its cap"
    if trace.start >= sum(each.worth for each in served) > 0:
        claim += "; A0 is no less than all tasks are worth together, so that this says nothing"
    return settle_dual(case, claim, trace.credits + surplus + excess, bound, figures)
