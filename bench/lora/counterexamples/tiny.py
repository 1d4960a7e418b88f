"""Tiny instances in plain integers, and pdFTSP and OPT on them as fast as exact arithmetic goes: what searches try.

A sketch is an instance without its file: a search changes one number of it and asks again, some thousand times a
second. Schedules are listed once per task and platform. Prices are integers over one common denominator, so that (10)
is compared without a single fraction. Nothing here is trusted on its own: a witness is run again under the referee and
audited, and tests compare both ways of computing on random sketches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.instances.lora.format import FORMAT, parse
from ratiobench.instances.lora.model import Instance

PLAN_LIMIT = 20_000  # Most ways to place one task, (K+1)^slots, that are listed
STEP_LIMIT = 20_000  # Most schedules that the search for OPT tries; an instance that needs more is given up
_KEPT = 50_000


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
        """K."""
        return sum(kind.nodes for kind in self.kinds)


def memory_unit(algorithm: str) -> int:
    """The MB in a unit of a sketch's memory for a run of the algorithm: pdFTSP counts GB, unless it is told not to."""
    name, _, options = algorithm.partition(":")
    return 1000 if name == "pdftsp" and "units=" not in options else 1


def document(
    sketch: TinyInstance, name: str, origin: dict[str, Any] | None = None, megabytes: int = 1
) -> dict[str, Any]:
    """The instance's file as JSON values; `megabytes` : in a unit of memory."""
    tasks: list[dict[str, Any]] = []
    for job in sketch.jobs:
        task: dict[str, Any] = {"arrival": job.arrival, "deadline": job.deadline}
        task |= {"memory_mb": megabytes * job.memory, "work": job.work, "bid": job.bid, "rate": list(job.rates)}
        if job.costs:
            task["cost"] = [list(row) for row in job.costs]
        else:
            task["energy_wh"] = [0] * len(sketch.kinds)
        task["vendors"] = [{"price": price, "delay": delay} for price, delay in job.vendors]
        tasks.append(task)
    return {
        "format": FORMAT,
        "name": name,
        "origin": origin or {},
        "slots": sketch.slots,
        "slot_seconds": 600,
        "base_memory_mb": 0,
        "node_types": [
            {"name": f"g{g}", "count": kind.nodes, "compute": kind.compute, "memory_mb": megabytes * kind.memory,
             "tariff": [0] * sketch.slots}
            for g, kind in enumerate(sketch.kinds)
        ],
        "tasks": tasks,
    }  # fmt: skip


def instance(
    sketch: TinyInstance, name: str = "sketch", origin: dict[str, Any] | None = None, megabytes: int = 1
) -> Instance:
    """The validated instance."""
    return parse(document(sketch, name, origin, megabytes), name)


def tiny_instance_of(found: Instance) -> TinyInstance:
    """The sketch of an instance; names, valuations and the length of a slot are not in it."""
    kinds = tuple(Kind(node.count, node.compute, node.memory_mb - found.base_memory_mb) for node in found.node_types)
    jobs = []
    for i in range(found.tasks):
        task = found.task(i)
        costs = tuple(map(tuple, task.cost.tolist())) if task.cost.any() else ()
        rates = tuple(task.rate.tolist())
        vendors = tuple((vendor.price, vendor.delay) for vendor in task.vendors)
        job = Job(task.arrival, task.deadline, task.memory_mb, task.work, task.bid, rates, costs, vendors)
        jobs.append(job)
    return TinyInstance(found.slots, kinds, tuple(jobs))


class Plan(NamedTuple):
    """A schedule: option, cells (node * T + slot - 1), their rates, S, b_il; whether no cell can be left out."""

    option: int
    cells: tuple[int, ...]
    rates: tuple[int, ...]
    work: int
    net: int
    minimal: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """The schedules of one task, in the order in which ties are broken, and what the theorems need of them."""

    plans: tuple[Plan, ...]  # minimal covers; all covers where a usable cost is negative
    paying: tuple[Plan, ...]  # those with b_il > 0, the most valuable first
    negative: bool  # a usable cell has a negative cost
    rates: tuple[int, ...]  # of the kinds that can hold the task
    # net_low, net_high: (b_il, S + R) of the least and of the largest bbar over minimal covers.
    net_low: tuple[int, int]
    net_high: tuple[int, int]
    loss: bool  # a minimal cover has b_il <= 0
    # what must be added to the bid (taken off it, if negative) for the least bbar to be at least 1, and just so.
    short: int
    kappa: Fraction  # kappa, kappa_every: largest of n and S / slowest rate, over minimal and over all listed covers
    kappa_every: Fraction


_MENUS: dict[tuple[int, tuple[Kind, ...], Job, bool], Menu] = {}


def menu(sketch: TinyInstance, job: Job, *, every: bool = False) -> Menu:
    """The schedules of a task of the sketch; with `every` wasteful covers too."""
    key = (sketch.slots, sketch.kinds, job, every)
    found = _MENUS.get(key)
    if found is None:
        if len(_MENUS) >= _KEPT:
            _MENUS.clear()
        found = _MENUS[key] = _menu(sketch, job, every)
    return found


def _menu(sketch: TinyInstance, job: Job, every: bool) -> Menu:
    kind_of = [g for g, kind in enumerate(sketch.kinds) for _ in range(kind.nodes)]
    able = [
        0 < rate <= kind.compute and job.memory <= kind.memory
        for rate, kind in zip(job.rates, sketch.kinds, strict=True)
    ]
    nodes = [(k, job.rates[g], g) for k, g in enumerate(kind_of) if able[g]]
    options = list(job.vendors) or [(0, 0)]
    start = job.arrival + min(delay for _, delay in options)
    width = job.deadline - start + 1
    if width > 0 and (len(nodes) + 1) ** width > PLAN_LIMIT:
        raise TinyLimitExceeded(f"{len(nodes) + 1}^{width} ways to place a task")
    negative = any(
        cost < 0 for g, row in enumerate(job.costs) if able[g] for cost in row[start - 1 : job.deadline]
    )  # fmt: skip
    plans = _list_plans(sketch, job, nodes, every=every or negative)
    least = [plan for plan in plans if plan.minimal]
    graded = [(Fraction(p.net, _size(p, job)), p) for p in least]
    low = min(graded, default=None, key=lambda pair: pair[0])
    high = max(graded, default=None, key=lambda pair: pair[0])
    return Menu(
        plans=tuple(plans),
        paying=tuple(sorted((p for p in plans if p.net > 0), key=lambda p: -p.net)),
        negative=negative and bool(plans),
        rates=tuple(rate for rate, fits in zip(job.rates, able, strict=True) if fits) if plans else (),
        net_low=(low[1].net, _size(low[1], job)) if low else (0, 1),
        net_high=(high[1].net, _size(high[1], job)) if high else (0, 1),
        loss=any(plan.net <= 0 for plan in least),
        short=max((_size(plan, job) - plan.net for plan in least), default=0),
        kappa=max((_kappa(plan) for plan in least), default=Fraction(0)),
        kappa_every=max((_kappa(plan) for plan in plans), default=Fraction(0)),
    )


def _list_plans(sketch: TinyInstance, job: Job, nodes: list[tuple[int, int, int]], *, every: bool) -> list[Plan]:
    """A task's schedules on (node, rate, kind), in the order in which ties are broken; wasteful ones if `every`."""
    plans: list[Plan] = []
    for option, (price, delay) in enumerate(job.vendors or ((0, 0),)):
        here: list[tuple[int, list[tuple[int, int]], Plan]] = []
        for picks in _covers(nodes, job.work, job.arrival + delay, job.deadline, every):
            rates = tuple(rate for _, _, rate, _ in picks)
            work = sum(rates)
            spent = sum(job.costs[g][t - 1] for t, _, _, g in picks) if job.costs else 0
            cells = tuple(k * sketch.slots + t - 1 for t, k, _, _ in picks)
            plan = Plan(option, cells, rates, work, job.bid - price - spent, work - min(rates) < job.work)
            here.append((len(cells), [(t, k) for t, k, _, _ in picks], plan))
        here.sort()
        plans += [plan for _, _, plan in here]
    return plans


Pick = tuple[int, int, int, int]  # Slot, node, rate, kind


def _covers(
    nodes: list[tuple[int, int, int]], work: int, first: int, last: int, every: bool
) -> Iterator[tuple[Pick, ...]]:
    """The covers of `work` in the window, at most one node per slot; minimal ones unless `every`."""
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


def _size(plan: Plan, job: Job) -> int:
    return plan.work + job.memory * len(plan.cells)


def _kappa(plan: Plan) -> Fraction:
    return max(Fraction(len(plan.cells)), Fraction(plan.work, min(plan.rates)))


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
    alpha: Fraction  # alpha, beta: as used
    beta: Fraction


def compute_ratios(jobs: tuple[Job, ...]) -> tuple[Fraction, Fraction]:
    """alpha = max b/M and beta = max b/r over all tasks."""
    return (
        max((Fraction(job.bid, job.work) for job in jobs), default=Fraction(0)),
        max((Fraction(job.bid, job.memory) for job in jobs), default=Fraction(0)),
    )


def simulate_pdftsp(sketch: TinyInstance, menus: list[Menu], alpha: Fraction, beta: Fraction) -> TinyRun:
    """Algorithm 1 with (9) solved by looking at all schedules of the menus (one per task)."""
    compute = [kind.compute for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    memory = [kind.memory for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    common = math.lcm(*{*compute, *memory})
    over = math.lcm(alpha.denominator, beta.denominator)
    lam, phi = [0] * len(compute), [0] * len(compute)
    samples, held = [0] * len(compute), [0] * len(compute)
    ghost_samples, ghost_held = [0] * len(compute), [0] * len(compute)
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
        size, net = _size(best, job), best.net
        # (7), (8) over the new denominator over * size * common; alpha * over and beta * over are integers.
        lift_lam = alpha.numerator * (over // alpha.denominator) * net
        lift_phi = beta.numerator * (over // beta.denominator) * net
        grow = size * common
        new_lam = [price * grow for price in lam]
        new_phi = [price * grow for price in phi]
        admitted = True
        for c, s in zip(best.cells, best.rates, strict=True):
            part = s * (common // compute[c])
            new_lam[c] += (lam[c] * size + lift_lam) * part
            part = r * (common // memory[c])
            new_phi[c] += (phi[c] * size + lift_phi) * part
            for load, capacity in ((ghost_samples[c], compute[c]), (ghost_held[c], memory[c])):
                if load * of > full * capacity:
                    full, of = load, capacity
            ghost_samples[c] += s
            ghost_held[c] += r
            # Line 8: room beside the admitted.
            admitted = admitted and samples[c] + s <= compute[c] and held[c] + r <= memory[c]
        lam, phi = new_lam, new_phi
        answers.append(Answer(value, over, best, admitted))
        over *= grow
        tilde += net
        if admitted:
            welfare += net
            for c, s in zip(best.cells, best.rates, strict=True):
                samples[c] += s
                held[c] += r
    return TinyRun(tuple(answers), lam, phi, over, welfare, tilde, (full, of), alpha, beta)


def find_optimum(sketch: TinyInstance, menus: list[Menu]) -> int:
    """OPT by branch and bound over the schedules with b_il > 0."""
    compute = [kind.compute for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    memory = [kind.memory for kind in sketch.kinds for _ in range(kind.nodes * sketch.slots)]
    # The most valuable tasks first: the bound on the rest falls fastest.
    order = sorted((i for i, its in enumerate(menus) if its.paying), key=lambda i: -menus[i].paying[0].net)
    sizes = [sketch.jobs[i].memory for i in order]
    paying = [menus[i].paying for i in order]
    rest = [0] * (len(order) + 1)
    for j in range(len(order) - 1, -1, -1):
        rest[j] = rest[j + 1] + paying[j][0].net
    best = steps = 0

    def place(j: int, value: int) -> None:
        nonlocal best, steps
        best = max(best, value)
        if j == len(order) or value + rest[j] <= best:
            return
        r = sizes[j]
        for plan in paying[j]:
            if value + plan.net + rest[j + 1] <= best:
                break
            steps += 1
            if steps > STEP_LIMIT:
                raise TinyLimitExceeded(f"more than {STEP_LIMIT} steps")
            fits = True
            for c, s in zip(plan.cells, plan.rates, strict=True):
                compute[c] -= s
                memory[c] -= r
                fits = fits and compute[c] >= 0 and memory[c] >= 0
            if fits:
                place(j + 1, value + plan.net)
            for c, s in zip(plan.cells, plan.rates, strict=True):
                compute[c] += s
                memory[c] += r
        place(j + 1, value)

    place(0, 0)
    return best


def bound_optimum(menus: list[Menu]) -> int:
    """An upper bound on OPT: every task served as it likes best."""
    return sum(its.paying[0].net for its in menus if its.paying)
