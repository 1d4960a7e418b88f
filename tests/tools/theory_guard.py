"""Theorem H on random instances: wishes that mean harm, history that is wrong, classes of a grid.

Beside the audit's check (`theorem_h`) its proof is checked step by step, by other ways of computing: after every task
no credit is below Phi (`theorem_h_credit`); at the final credits no schedule of a task leaves more than its mu_i and
its part of E, over all its schedules (`theorem_h_dual`); the guard's own account is no less than D, and no more than
the theorem allows (`theorem_h_account`); no set of announced tasks that fits a node weighs more than Omega
(`theorem_h_omega`).
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.tiny import TinyInstance, instance, menu
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.guarded import theorem_h
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora.model import Instance, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.algorithms.guarded import INNER, NoPoster
from ratiobench.online.lora.guard import CLASSES, Kind
from ratiobench.online.lora.posted_prices import GuardSettings, PostedPrices, PostedTrace, ProposedPrices
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.public_constants import list_served
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.run import run_built
from tests.support.laboratory import guarantees

INVARIANTS = ("theorem_h", "theorem_h_account", "theorem_h_credit", "theorem_h_dual", "theorem_h_omega")
NAMED = ("learned", *INNER)  # Whose runs under the guard are audited, in turn
MODES = ("zero", "high", "random", "rising", "falling", "plausible")
_SIZES = (CLASSES, 3, 1)  # Most classes of a node type, in turn: exact ones, and grids


class Wishes(NoPoster):
    """Wishes of a mode, on the first node with room.

    `top`: the largest bid. half : from this task on the mode that rises, or falls, does.
    """

    def __init__(self, mode: str, top: int, half: int, draws: RandomNumbers) -> None:
        super().__init__()
        self._mode, self._top, self._half, self._draws, self._asked = mode, top, half, draws, 0

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        found = super().wish(task, view)
        self._asked += 1
        if found is None:
            return None
        return found._replace(price=np.array([[self._price() for _ in row] for row in found.price], object))

    def _price(self) -> Fraction:
        late = self._asked > self._half
        if self._mode == "random":
            return Fraction(self._top * self._draws.draw_below(1000), 1 + self._draws.draw_below(3000))
        if self._mode == "plausible":
            return Fraction(self._top, 4)
        high = self._mode == "high" or (self._mode == "rising" and late) or (self._mode == "falling" and not late)
        return Fraction(10 * self._top if high else 0)


class Watched(PostedPrices):
    """Posted prices, exact and guarded, whose credits are held against Phi after every task.

    `short`: the least c - Phi seen on each (type, slot) that had a task, Phi computed afresh.
    """

    def start(self, public: Any, constants: Any) -> None:
        super().start(public, constants)
        self._free = [np.repeat(size[public.type_of_node][:, None], public.slots, axis=1)
                      for size in (public.compute, public.memory_mb)]  # fmt: skip
        self.short: list[Fraction] = []
        self._look(range(public.slots))

    def decide(self, task: Task, view: View) -> Decision | None:
        decision = super().decide(task, view)
        for k, t in () if decision is None else decision.cells:
            self._free[0][k, t - 1] -= int(task.rate[self._kind[k]])
            self._free[1][k, t - 1] -= task.memory_mb
        self._look(range(task.arrival - 1, task.deadline))
        return decision

    def _look(self, slots: range) -> None:
        assert self._announced is not None
        for g, kind in enumerate(self._announced.kinds):
            if kind.rate:
                self._weigh_left(g, kind, np.flatnonzero(self._public.type_of_node == g), slots)

    def _weigh_left(self, g: int, kind: Kind, here: Any, slots: range) -> None:
        """Phi: X_j over the least by which tasks multiply a credit that leave no node with room for j."""
        assert self._announced is not None
        by_rate, by_memory = _growths(kind, self._announced.beta / kind.omega / len(here))
        for t in slots:
            floor = Fraction(0)
            for s, r, cap in zip(kind.rate, kind.memory, kind.cap, strict=True):
                left = Fraction(1)
                for k in here:
                    x, y = int(self._free[0][k, t]), int(self._free[1][k, t])
                    if x >= s and y >= r:
                        left *= min(_least_growth(by_rate, x - s), _least_growth(by_memory, y - r))
                floor = max(floor, cap / left)
            self.short.append(self.credits()[g][t] - floor)

    def credits(self) -> list[Any]:
        """(G, T) the present credits."""
        assert self._guard is not None
        return self._guard.credit


Growths = tuple[tuple[int, Fraction], ...]


@cache
def _growths(kind: Kind, beta: Fraction) -> tuple[Growths, Growths]:
    """(size, the least by which such a task multiplies a credit) in compute, and in memory, of all in the classes."""
    by_rate: dict[int, Fraction] = {}
    by_memory: dict[int, Fraction] = {}
    for s, r in zip(kind.rate, kind.memory, strict=True):
        for rate in range(max(1, math.ceil(s / kind.step)), s + 1):
            for memory in range(max(1, math.ceil(r / kind.step)), r + 1):
                grow = 1 + beta * max(rate * kind.unit[0], memory * kind.unit[1])
                by_rate[rate] = min(grow, by_rate.get(rate, grow))
                by_memory[memory] = min(grow, by_memory.get(memory, grow))
    return _worst(by_rate), _worst(by_memory)


def _worst(growths: dict[int, Fraction]) -> Growths:
    kept: list[tuple[int, Fraction]] = []
    for size in sorted(growths, reverse=True):
        if not kept or growths[size] < kept[-1][1]:
            kept.append((size, growths[size]))
    return tuple(kept)


@cache
def _least_growth(growths: Growths, spare: int) -> Fraction:
    """The least product of the growths of tasks that take more than `spare` together."""
    if spare < 0:
        return Fraction(1)
    return min(grow * _least_growth(growths, spare - size) for size, grow in growths)


def judged_guards(j: int, sketch: TinyInstance, given: Instance, reference: SolveReport) -> Iterator[Check]:
    """Every check of Theorem H on the sketch's instance: of wishes that mean harm, and of a named mechanism's."""
    draws = RandomNumbers("guard", j)
    before = _past(sketch, draws)
    past = instance(before, f"before {j}") if draws.draw_below(3) and before != sketch else None
    low = (
        Fraction(1, 1 + draws.draw_below(9)),
        Fraction(1 + draws.draw_below(12)),
        Fraction(1 + draws.draw_below(400)),
    )
    settings = GuardSettings(
        low[draws.draw_below(3)],
        Fraction(draws.draw_below(4) * draws.draw_below(4), 2),
        Fraction(1 + draws.draw_below(2)),
        j % 4 > 0,
        _SIZES[draws.draw_below(len(_SIZES))],
    )
    wishes = Wishes(MODES[draws.draw_below(6)], max(given.bid.tolist(), default=0) or 1, given.tasks // 2, draws)
    yield from _judged_watched(sketch, given, reference, past, Watched(wishes, settings, exact=True))
    name = NAMED[j % len(NAMED)]
    name = f"guarded:inner={name},beta" if name in INNER else "learned:guard"
    history = ",history=history" if past else ""
    passed = ",past=settled" if settings.settles else ""
    named = run(given, f"{name}={settings.beta},rho={settings.rho}{passed}{history}", prior=past)
    assert named.valid, named.violations[0]
    yield from (check for check in guarantees(given, named, reference) if check.name == "theorem_h")


def _judged_watched(
    sketch: TinyInstance, given: Instance, reference: SolveReport, past: Instance | None, watched: Watched
) -> Iterator[Check]:
    watched.learn(past, given)
    result = run_built(ENVIRONMENT, given, watched, "watched", "1", (), "theory")
    assert result.valid, result.violations[0]
    case = Case(given, result, reference)
    yield replace(theorem_h(case), name="theorem_h")
    least = min(watched.short, default=Fraction(0))
    yield _check("theorem_h_credit", least >= 0, Fraction(0), least)
    yield _every_schedule(sketch, case, watched)
    yield _account(case, watched)
    yield from _weights(given, case)


def _past(sketch: TinyInstance, draws: RandomNumbers) -> TinyInstance:
    """A day of the same cluster: some of the tasks, some of them with other bids or other memory."""
    jobs = []
    for job in sketch.jobs:
        if draws.draw_below(4):
            bid = max(1, job.bid * (1 + draws.draw_below(8)) // 4)
            memory = max(1, job.memory // (1 + draws.draw_below(2)))
            jobs.append(job._replace(bid=bid, memory=memory))
    return sketch._replace(jobs=tuple(jobs))


def _check(name: str, holds: bool, left: Fraction, right: Fraction) -> Check:
    return Check(name, Verdict.HOLDS if holds else Verdict.VIOLATED, left, right)


def _account(case: Case, watched: Watched) -> Check:
    """D - E <= A0 + spent + surplus by the guard's own count, and spent + surplus <= factor ALG."""
    check, guard = theorem_h(case), watched._guard
    assert guard is not None
    assert check.left is not None
    excess = check.figures["excess"]
    assert isinstance(excess, Fraction)
    used = guard._spent + guard._surplus
    holds = check.left - excess <= guard.start + used and used <= guard._factor * case.run.welfare
    return _check("theorem_h_account", holds, check.left - excess, guard.start + used)


def _every_schedule(sketch: TinyInstance, case: Case, watched: Watched) -> Check:
    """b_il - sum c w_i <= mu_i + E_i for all schedules l, and sum Omega K c + sum mu_i + E is the audit's D."""
    given, trace = case.instance, case.run.trace
    assert isinstance(trace, PostedTrace)
    assert trace.announced is not None
    public, credits, kinds = given.public(""), watched.credits(), trace.announced.kinds
    value = sum(
        (kind.omega * node.count * sum(credit) for kind, node, credit in
         zip(kinds, public.node_types, credits, strict=True)),
        Fraction(0),
    )  # fmt: skip
    worth = {each.task: each.worth for each in list_served(given)}
    worst = Fraction(-1)
    for i, (job, offer) in enumerate(zip(sketch.jobs, trace.offers, strict=True)):
        mu = Fraction(0) if offer is None else max(Fraction(0), job.bid - Fraction(offer.cost))
        if job.arrival <= trace.settled:
            mu = Fraction(worth.get(i, 0))
        value += mu
        if i not in worth:
            continue
        weights = {}
        excess = Fraction(0)
        for g, (kind, rate) in enumerate(zip(kinds, job.rates, strict=True)):
            compute, memory = int(public.compute[g]), int(public.memory_mb[g])
            if 0 < rate <= compute and job.memory <= memory:
                weights[g] = max(rate * kind.unit[0], job.memory * kind.unit[1])
                of = kind.find(rate, job.memory)
                beyond = worth[i] if of < 0 else worth[i] - kind.cap[of] * weights[g]
                excess = max(excess, Fraction(beyond))
        value += excess
        if excess < worth[i]:
            for plan in menu(sketch, job).plans:
                types = [int(public.type_of_node[c // sketch.slots]) for c in plan.cells]
                paid = sum(credits[g][c % sketch.slots] * weights[g] for g, c in zip(types, plan.cells, strict=True))
                worst = max(worst, plan.net - paid - mu - excess)
    same = value == theorem_h(case).left
    return _check("theorem_h_dual", worst <= 0 and same, worst, Fraction(0))


def _weights(given: Instance, case: Case) -> Iterator[Check]:
    """No set of tasks, of classes that were announced, weighs more than Omega; of exact classes Omega is reached."""
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    assert trace.announced is not None
    public = given.public("")
    for g, kind in enumerate(trace.announced.kinds):
        compute, memory = int(public.compute[g]), int(public.memory_mb[g])
        pairs = set(zip(kind.rate, kind.memory, strict=True))
        if kind.step > 1:  # the tasks themselves, and the smallest ones of each class
            tasks = zip(given.rate[:, g].tolist(), given.memory_mb.tolist(), strict=True)
            pairs |= {(max(1, -(-s // kind.step)), max(1, -(-r // kind.step))) for s, r in pairs}
            pairs |= {pair for pair in tasks if pair[0] > 0 and kind.find(*pair) >= 0}
        if not pairs:
            continue
        unit = kind.unit[0] * 4, kind.unit[1] * 4  # quarters of sizes
        whole = int(unit[0] * compute) * memory, int(unit[1] * memory) * compute
        most = Fraction(heaviest(sorted(pairs), compute, memory, whole), 4 * compute * memory)
        holds = most <= kind.omega and (kind.step > 1 or most == kind.omega)
        yield _check("theorem_h_omega", holds, most, kind.omega)


def heaviest(pairs: list[tuple[int, int]], compute: int, memory: int, unit: tuple[int, int] | None = None) -> int:
    """The largest weight of any number of these that fits a node, by a table of what is left."""
    by_compute, by_memory = unit or (memory, compute)
    best = np.zeros((compute + 1, memory + 1), np.int64)
    for x in range(1, compute + 1):
        best[x] = best[x - 1]
        for s, r in pairs:
            if s <= x and r <= memory:
                weight = max(s * by_compute, r * by_memory)
                np.maximum(best[x, r:], best[x - s, : memory + 1 - r] + weight, out=best[x, r:])
    return int(best[compute, memory])
