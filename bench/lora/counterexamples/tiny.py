"""Tiny instances (sketches) in plain integers, with pdFTSP and OPT as fast as exact arithmetic goes.

Prices are integers over one common denominator, so that (10) is compared without fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ratiobench.instances.lora.format import FORMAT, parse
from ratiobench.instances.lora.model import Instance

PLAN_LIMIT = 20_000  # Most ways to place one task, (K+1)^slots, that are listed
STEP_LIMIT = 20_000  # Most schedules that the search for OPT tries; an instance that needs more is given up


class TinyLimitExceeded(ValueError):
    """More schedules than are listed or tried."""


class Kind(NamedTuple):
    """Identical nodes: how many, C_kp, and C_km - r_b."""

    nodes: int
    compute: int
    memory: int


class Job(NamedTuple):
    """A task: a_i, d_i, r_i, M_i, b_i, s_ik per kind, e_ikt per kind and slot (empty: all 0), vendors (q, h)."""

    arrival: int
    deadline: int
    memory: int
    work: int
    bid: int
    rates: tuple[int, ...]
    costs: tuple[tuple[int, ...], ...] = ()
    vendors: tuple[tuple[int, int], ...] = ()


class TinyInstance(NamedTuple):
    """An instance: slots, kinds of nodes, tasks in arrival order."""

    slots: int
    kinds: tuple[Kind, ...]
    jobs: tuple[Job, ...]

    @property
    def nodes(self) -> int:
        return sum(kind.nodes for kind in self.kinds)

    def capacities(self) -> tuple[list[int], list[int]]:
        """C_p and C_m - r_b of every cell, in the order of `Plan.cells`."""
        kinds = [kind for kind in self.kinds for _ in range(kind.nodes * self.slots)]
        return [kind.compute for kind in kinds], [kind.memory for kind in kinds]


def memory_unit(algorithm: str) -> int:
    """The MB in a unit of a sketch's memory for a run of the algorithm: pdFTSP counts GB by default."""
    name, _, options = algorithm.partition(":")
    return 1000 if name == "pdftsp" and "units=" not in options else 1


def instance(
    sketch: TinyInstance, name: str = "sketch", origin: dict[str, Any] | None = None, megabytes: int = 1
) -> Instance:
    """The validated instance; `megabytes`: in a unit of memory."""
    tasks: list[dict[str, Any]] = []
    for job in sketch.jobs:
        task: dict[str, Any] = {"arrival": job.arrival, "deadline": job.deadline}
        task |= {"memory_mb": megabytes * job.memory, "work": job.work, "bid": job.bid, "rate": list(job.rates)}
        task |= {"cost": [list(row) for row in job.costs]} if job.costs else {"energy_wh": [0] * len(sketch.kinds)}
        task["vendors"] = [{"price": price, "delay": delay} for price, delay in job.vendors]
        tasks.append(task)
    types = [
        {"name": f"g{g}", "count": kind.nodes, "compute": kind.compute, "memory_mb": megabytes * kind.memory,
         "tariff": [0] * sketch.slots}
        for g, kind in enumerate(sketch.kinds)
    ]  # fmt: skip
    document = {
        "format": FORMAT, "name": name, "origin": origin or {}, "slots": sketch.slots, "slot_seconds": 600,
        "base_memory_mb": 0, "node_types": types, "tasks": tasks,
    }  # fmt: skip
    return parse(document, name)


def tiny_instance_of(found: Instance) -> TinyInstance:
    """The sketch of an instance, without names, valuations and the length of a slot."""
    kinds = tuple(Kind(node.count, node.compute, node.memory_mb - found.base_memory_mb) for node in found.node_types)
    jobs = []
    for task in map(found.task, range(found.tasks)):
        costs = tuple(map(tuple, task.cost.tolist())) if task.cost.any() else ()
        vendors = tuple((vendor.price, vendor.delay) for vendor in task.vendors)
        rates = tuple(task.rate.tolist())
        jobs.append(Job(task.arrival, task.deadline, task.memory_mb, task.work, task.bid, rates, costs, vendors))
    return TinyInstance(found.slots, kinds, tuple(jobs))


class Plan(NamedTuple):
    """A schedule: option, cells (node * T + slot - 1), their rates, S, S + R, b_il; whether no cell can be left out."""

    option: int
    cells: tuple[int, ...]
    rates: tuple[int, ...]
    work: int
    size: int
    net: int
    minimal: bool


@dataclass(frozen=True)
class Menu:
    """The schedules of one task, in the order in which ties are broken."""

    plans: tuple[Plan, ...]  # minimal covers; all covers where a usable cost is negative
    negative: bool  # a usable cell has a negative cost
    rates: tuple[int, ...]  # of the kinds that can hold the task

    @cached_property
    def paying(self) -> list[Plan]:
        return sorted((plan for plan in self.plans if plan.net > 0), key=lambda plan: -plan.net)

    @cached_property
    def densities(self) -> list[Fraction]:
        return [Fraction(plan.net, plan.size) for plan in self.plans if plan.minimal]

    @property
    def short(self) -> int:
        """What must be added to the bid (taken off it, if negative) for the least bbar to be exactly 1."""
        return max((plan.size - plan.net for plan in self.plans if plan.minimal), default=0)

    @cached_property
    def kappa(self) -> Fraction:
        ratios = (max(Fraction(len(plan.cells)), Fraction(plan.work, min(plan.rates))) for plan in self.plans)
        return max(ratios, default=Fraction(0))


def menu(sketch: TinyInstance, job: Job, *, every: bool = False) -> Menu:
    """The schedules of a task of the sketch; with `every` wasteful covers too."""
    return _menu(sketch.slots, sketch.kinds, job, every)


@lru_cache(50_000)
def _menu(slots: int, kinds: tuple[Kind, ...], job: Job, every: bool) -> Menu:
    able = [0 < rate <= kind.compute and job.memory <= kind.memory for rate, kind in zip(job.rates, kinds, strict=True)]
    kind_of = [g for g, kind in enumerate(kinds) for _ in range(kind.nodes)]
    nodes = [(k, job.rates[g], g) for k, g in enumerate(kind_of) if able[g]]
    options = job.vendors or ((0, 0),)
    start = job.arrival + min(delay for _, delay in options)
    width = job.deadline - start + 1
    if width > 0 and (len(nodes) + 1) ** width > PLAN_LIMIT:
        raise TinyLimitExceeded(f"{len(nodes) + 1}^{width} ways to place a task")
    usable = (cost for g, row in enumerate(job.costs) if able[g] for cost in row[start - 1 : job.deadline])
    negative = any(cost < 0 for cost in usable)
    plans: list[Plan] = []
    for option, (price, delay) in enumerate(options):
        covers = _covers(nodes, job.work, job.arrival + delay, job.deadline, every or negative)
        for picks in sorted(covers, key=lambda picks: (len(picks), picks)):
            rates = tuple(rate for _, _, rate, _ in picks)
            work = sum(rates)
            spent = sum(job.costs[g][t - 1] for t, _, _, g in picks) if job.costs else 0
            cells = tuple(k * slots + t - 1 for t, k, _, _ in picks)
            size, is_minimal = work + job.memory * len(cells), work - min(rates) < job.work
            plans.append(Plan(option, cells, rates, work, size, job.bid - price - spent, is_minimal))
    usable_rates = tuple(rate for rate, fits in zip(job.rates, able, strict=True) if fits) if plans else ()
    return Menu(tuple(plans), negative and bool(plans), usable_rates)


Pick = tuple[int, int, int, int]  # Slot, node, rate, kind


def _covers(
    nodes: list[tuple[int, int, int]], work: int, first: int, last: int, every: bool
) -> Iterator[tuple[Pick, ...]]:
    """The covers of `work` in the window, at most one cell a slot; minimal ones unless `every`."""
    fastest = max((rate for _, rate, _ in nodes), default=0)

    def extend(t: int, done: int, slowest: int, picks: tuple[Pick, ...]) -> Iterator[tuple[Pick, ...]]:
        if done >= work and picks and (every or done - slowest < work):
            yield picks
        if not every and done >= work:
            return
        for slot in range(t, last + 1):
            if done + (last - slot + 1) * fastest < work:
                return
            for k, rate, g in nodes:
                # No cell may be superfluous once the work is covered.
                if every or done + rate < work + min(slowest, rate):
                    yield from extend(slot + 1, done + rate, min(slowest, rate), (*picks, (slot, k, rate, g)))

    if first <= last and fastest:
        yield from extend(first, 0, fastest, ())


class Answer(NamedTuple):
    """What pdFTSP did with a task: F over the denominator of that time, the schedule (None: none), admitted."""

    value: int
    over: int
    plan: Plan | None
    admitted: bool


class TinyRun(NamedTuple):
    """A run of pdFTSP in the units of the sketch with an exact maximiser of (9)."""

    answers: tuple[Answer, ...]  # one per task
    lam: list[int]  # lam, phi: final prices of the cells, numerators over `over`
    phi: list[int]
    over: int
    welfare: int  # welfare, tilde: P of the admitted, P~ of all tasks with F > 0
    tilde: int
    # (load, capacity) of the fullest cell that a schedule with F > 0 touched: virtual load before it came.
    fullest: tuple[int, int]
    growth: Fraction  # 1 + max{alpha, beta}


def simulate_pdftsp(sketch: TinyInstance, menus: list[Menu]) -> TinyRun:
    """Algorithm 1 with (9) solved by looking at all schedules."""
    alpha = max(Fraction(job.bid, job.work) for job in sketch.jobs)
    beta = max(Fraction(job.bid, job.memory) for job in sketch.jobs)
    compute, memory = sketch.capacities()
    common = math.lcm(*{*compute, *memory})
    over = math.lcm(alpha.denominator, beta.denominator)
    lam, phi = [0] * len(compute), [0] * len(compute)
    samples, held = [*compute], [*memory]  # what the admitted leave
    virtual_samples, virtual_held = [0] * len(compute), [0] * len(compute)
    answers: list[Answer] = []
    welfare = tilde = 0
    full, of = 0, 1
    for job, its in zip(sketch.jobs, menus, strict=True):
        r = job.memory
        # (9): the first schedule of the largest F = b_il - S max lambda - R max phi.
        best: Plan | None = None
        value = 0
        for plan in its.plans:
            cells = plan.cells
            f = plan.net * over
            f -= max([lam[c] for c in cells]) * plan.work + max([phi[c] for c in cells]) * (r * len(cells))
            if best is None or f > value:
                best, value = plan, f
        # Line 6: without a positive F nothing moves.
        if best is None or value <= 0:
            answers.append(Answer(value, over, best, False))
            continue
        size, net = best.size, best.net
        # (7), (8) over the new denominator over * size * common; alpha * over and beta * over are integers.
        lift_lam = alpha.numerator * (over // alpha.denominator) * net
        lift_phi = beta.numerator * (over // beta.denominator) * net
        grow = size * common
        new_lam, new_phi = [price * grow for price in lam], [price * grow for price in phi]
        # Line 8: room beside the admitted.
        pairs = list(zip(best.cells, best.rates, strict=True))
        admitted = all(s <= samples[c] and r <= held[c] for c, s in pairs)
        for c, s in pairs:
            new_lam[c] += (lam[c] * size + lift_lam) * s * (common // compute[c])
            new_phi[c] += (phi[c] * size + lift_phi) * r * (common // memory[c])
            for load, capacity in ((virtual_samples[c], compute[c]), (virtual_held[c], memory[c])):
                if load * of > full * capacity:
                    full, of = load, capacity
            virtual_samples[c] += s
            virtual_held[c] += r
            samples[c] -= s * admitted
            held[c] -= r * admitted
        answers.append(Answer(value, over, best, admitted))
        lam, phi, over = new_lam, new_phi, over * grow
        tilde += net
        welfare += net * admitted
    return TinyRun(tuple(answers), lam, phi, over, welfare, tilde, (full, of), 1 + max(alpha, beta))


def find_optimum(sketch: TinyInstance, menus: list[Menu]) -> int:
    """OPT by branch and bound over the schedules with b_il > 0."""
    compute, memory = sketch.capacities()
    # The most valuable tasks first: the bound on the rest falls fastest.
    order = sorted((i for i, its in enumerate(menus) if its.paying), key=lambda i: -menus[i].paying[0].net)
    tasks = [(sketch.jobs[i].memory, menus[i].paying) for i in order]
    rest = [sum(paying[0].net for _, paying in tasks[j:]) for j in range(len(tasks) + 1)]
    best = steps = 0

    def place(j: int, value: int) -> None:
        nonlocal best, steps
        best = max(best, value)
        if j == len(tasks) or value + rest[j] <= best:
            return
        r, paying = tasks[j]
        for plan in paying:
            if value + plan.net + rest[j + 1] <= best:
                break
            steps += 1
            if steps > STEP_LIMIT:
                raise TinyLimitExceeded(f"more than {STEP_LIMIT} steps")
            pairs = list(zip(plan.cells, plan.rates, strict=True))
            if all(s <= compute[c] and r <= memory[c] for c, s in pairs):
                for c, s in pairs:
                    compute[c] -= s
                    memory[c] -= r
                place(j + 1, value + plan.net)
                for c, s in pairs:
                    compute[c] += s
                    memory[c] += r
        place(j + 1, value)

    place(0, 0)
    return best
