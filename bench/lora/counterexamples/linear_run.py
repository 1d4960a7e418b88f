"""`posted` and `minimal-edit` on sketches, in integers: what a search for a violation of Theorems A and B tries."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from ratiobench.bench.lora.counterexamples.tiny import Menu, Plan, TinyInstance
from ratiobench.online.lora.traces import Rule


class Caps(NamedTuple):
    """X_c, X_m and eps of a sketch, over the tasks with a schedule and the kinds that can hold them."""

    compute: Fraction
    memory: Fraction
    share: Fraction


def compute_caps(sketch: TinyInstance, menus: list[Menu]) -> Caps:
    """The public constants that the sketch's own tasks make; costs must not be negative."""
    top_c = top_m = share = Fraction(0)
    for job, its in zip(sketch.jobs, menus, strict=True):
        if not its.plans:
            continue
        top_c = max(top_c, Fraction(job.bid, min(its.rates)))
        top_m = max(top_m, Fraction(job.bid, job.memory))
        for rate, kind in zip(job.rates, sketch.kinds, strict=True):
            if 0 < rate <= kind.compute and job.memory <= kind.memory:
                share = max(share, Fraction(rate, kind.compute), Fraction(job.memory, kind.memory))
    return Caps(top_c, top_m, share)


class LinearRun(NamedTuple):
    """A run of a mechanism with linear reduced cost."""

    admitted: tuple[tuple[int, Plan], ...]  # (task, schedule) pairs
    welfare: int  # ALG
    dual: Fraction  # D at the final prices
    refused: int | None  # a task whose cheapest schedule of all has F' > 0 and does not fit, or None


def run_linear(sketch: TinyInstance, menus: list[Menu], rule: Rule) -> LinearRun:
    """The mechanism of a rule, the cheapest schedule found by looking at all."""
    compute = [kind.compute for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    memory = [kind.memory for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    common = math.lcm(*{*compute, *memory})
    b_up, b_down = rule.growth.numerator, rule.growth.denominator
    over = math.lcm(rule.eta_c.denominator, rule.eta_m.denominator)
    lam, phi = [0] * len(compute), [0] * len(compute)
    samples, held = [*compute], [*memory]
    admitted: list[tuple[int, Plan]] = []
    welfare, refused = 0, None
    for i, (job, its) in enumerate(zip(sketch.jobs, menus, strict=True)):
        r = job.memory
        # The schedules of the largest F' of all, and of those with room.
        free: tuple[int, Plan] | None = None
        fitting: tuple[int, Plan] | None = None
        for plan in its.plans:
            gain = _gain(plan, r, lam, phi, over)
            if free is None or gain > free[0]:
                free = gain, plan
            if (fitting is None or gain > fitting[0]) and _fits(plan, r, samples, held):
                fitting = gain, plan
        if refused is None and free is not None and free[0] > 0 and not _fits(free[1], r, samples, held):
            refused = i
        if fitting is None or fitting[0] <= 0:
            continue
        plan = fitting[1]
        admitted.append((i, plan))
        welfare += plan.net
        # lambda (1 + B s/C) + eta v s/C over the new denominator.
        moved = rule.bbar(plan.net, plan.work, r * len(plan.cells)) if rule.by_bbar else Fraction(1)
        v_up, v_down = moved.numerator, moved.denominator
        grow = common * b_down * v_down
        lift_c = rule.eta_c.numerator * (over // rule.eta_c.denominator) * v_up * b_down
        lift_m = rule.eta_m.numerator * (over // rule.eta_m.denominator) * v_up * b_down
        new_lam, new_phi = [price * grow for price in lam], [price * grow for price in phi]
        for c, s in zip(plan.cells, plan.rates, strict=True):
            new_lam[c] += (lam[c] * b_up * v_down + lift_c) * s * (common // compute[c])
            new_phi[c] += (phi[c] * b_up * v_down + lift_m) * r * (common // memory[c])
            samples[c] -= s
            held[c] -= r
        lam, phi = new_lam, new_phi
        over *= grow
    # D: sum C lambda + sum (C_m - r_b) phi + sum max(0, max F'), at the final prices.
    total = sum(size * price for size, price in zip(compute, lam, strict=True))
    total += sum(size * price for size, price in zip(memory, phi, strict=True))
    for job, its in zip(sketch.jobs, menus, strict=True):
        total += max(0, max((_gain(plan, job.memory, lam, phi, over) for plan in its.plans), default=0))
    return LinearRun(tuple(admitted), welfare, Fraction(total, over), refused)


def _gain(plan: Plan, memory: int, lam: list[int], phi: list[int], over: int) -> int:
    paid = 0
    for c, s in zip(plan.cells, plan.rates, strict=True):
        paid += lam[c] * s + phi[c] * memory
    return plan.net * over - paid


def _fits(plan: Plan, memory: int, samples: list[int], held: list[int]) -> bool:
    return all(s <= samples[c] and memory <= held[c] for c, s in zip(plan.cells, plan.rates, strict=True))
