"""Lemma P, Theorem A for pools, Theorems A', S and S2 on random instances, beside OPT by enumeration.

Lemma P is checked on the shared instances with every law that it covers, in turn, and with advice that means harm; its
proof also step by step: at the final prices no schedule of a task leaves more than its mu_i (`theorem_p_dual`).
Theorem A for pools is checked likewise on the shared instances (`theorem_pool`, `theorem_pool_dual`), and that what
fits a node weighs no more than Omega (`theorem_pool_omega`). The other theorems are about instances of a kind: equal
units (`theorem_a1`), no costs and slack windows (`theorem_s` at price 0, `theorem_s2` in the mean over prices).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance, menu
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.price_laws import find_omega, theorem_a1, theorem_p, theorem_pool, theorem_s
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora.model import Instance, Public
from ratiobench.online.lora.algorithms.advice import AdvisedPrices
from ratiobench.online.lora.posted_prices import PostedPrices, PostedTrace
from ratiobench.online.lora.price_laws import LOAD_CONSTANTS, LoadLaw, LoadPrices
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.lora.traces import PoolTerms
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run import run_built

INVARIANTS = (
    "theorem_p", "theorem_p_dual", "theorem_pool", "theorem_pool_dual", "theorem_pool_omega", "theorem_a1",
    "theorem_s", "theorem_s2",
)  # fmt: skip
# Whose runs are audited, in turn
LAWS = ("zcl", "zcl:start=flat", "reserve:loss=1/3", "reserve:loss=1/1000", "wild advice")
# Forms of `pooled`, in turn; the price of any spread is covered
POOLS = ("pooled", "pooled:loss=1/3", "pooled:loss=1/100", "pooled:spread=1", "pooled:margin=2")


class WildAdvice(AdvisedPrices):
    """Random advice, anywhere between far below the reserve and far above X."""

    draws: RandomNumbers

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        def table(top: Fraction) -> list[list[Fraction]]:
            return [
                [top * self.draws.draw_below(2000) / (1 + self.draws.draw_below(3000)) for _ in range(public.slots)]
                for _ in public.node_types
            ]

        self._advice = table(constants["cap_compute"]), table(constants["cap_memory"])
        LoadPrices.start(self, public, constants)


def _run_wild(given: Instance, draws: RandomNumbers) -> OnlineRun:
    flat = Fraction(draws.draw_below(9), 10)
    zeta = Fraction(1, 1 + draws.draw_below(400))

    def settle(constants: Mapping[str, Fraction], share: Fraction) -> tuple[LoadLaw, LoadLaw]:
        reach = (1 - share) * (1 - flat)
        one, other = (LoadLaw(constants[top], zeta, reach, width=1 - share - reach) for top in LOAD_CONSTANTS[:2])
        return one, other

    poster = WildAdvice("wild advice", LOAD_CONSTANTS, settle, exact=True)
    poster.draws = draws
    constants = REGISTRY.settle_constants(REGISTRY.parse("reserve"), LOAD_CONSTANTS, given)
    return run_built(ENVIRONMENT, given, PostedPrices(poster, None, exact=True), "wild", "1", constants, "theory")


def judged_laws(j: int, sketch: TinyInstance, given: Instance, reference: SolveReport) -> Iterator[Check]:
    """Every check of this module: Lemma P on the shared instance, the others on instances of their own."""
    draws = RandomNumbers("laws", j)
    name = LAWS[draws.draw_below(len(LAWS))]
    result = _run_wild(given, draws) if name == "wild advice" else run(given, name)
    assert result.valid, (name, result.violations[0])
    case = Case(given, result, reference)
    found = replace(theorem_p(case), name="theorem_p")
    yield found
    if found.status is not Verdict.NOT_APPLICABLE:
        yield _every_schedule(sketch, case)
    yield from _judged_pools(sketch, given, reference, POOLS[j % len(POOLS)])
    units = theorem_a1(case_of(f"units {j}", draw_units(draws), "units"))
    yield replace(units, name="theorem_a1")
    slack = draw_slack(draws)
    for name, one, algorithm in (
        ("theorem_s", slack, "static:price=0"),
        ("theorem_s2", _with_one_type(slack), "static"),
    ):
        yield replace(theorem_s(case_of(f"slack {j}", one, algorithm)), name=name)


def case_of(name: str, sketch: TinyInstance, algorithm: str) -> Case:
    given = instance(sketch, name)
    best, solution = enumerate_optimum(given)
    reference = SolveReport(
        Status.OPTIMAL, best, best, solution, Proof.ENUMERATION, "-", "none", Termination.NONE, False, 0.0
    )
    result = run(given, algorithm)
    assert result.valid, (algorithm, result.violations[0])
    return Case(given, result, reference)


def _every_schedule(sketch: TinyInstance, case: Case) -> Check:
    """b_il - sum of final prices <= mu_i for all schedules l of all tasks."""
    trace = case.run.trace
    assert isinstance(trace, PostedTrace)
    worst = Fraction(-1)
    for job, offer in zip(sketch.jobs, trace.offers, strict=True):
        mu = Fraction(0) if offer is None else max(Fraction(0), job.bid - Fraction(offer.cost))
        for plan in menu(sketch, job).plans:
            paid = Fraction(0)
            for c, rate in zip(plan.cells, plan.rates, strict=True):
                cell = c // sketch.slots, c % sketch.slots + 1
                paid += Fraction(trace.lam.get(cell, 0)) * rate + Fraction(trace.phi.get(cell, 0)) * job.memory
            worst = max(worst, plan.net - paid - mu)
    return Check("theorem_p_dual", Verdict.HOLDS if worst <= 0 else Verdict.VIOLATED, worst, Fraction(0))


def _judged_pools(sketch: TinyInstance, given: Instance, reference: SolveReport, name: str) -> Iterator[Check]:
    """Theorem A for pools; its dual on every schedule of every task; Omega against all sets of tasks on a node."""
    result = run(given, name)
    assert result.valid, (name, result.violations[0])
    case = Case(given, result, reference)
    found = replace(theorem_pool(case), name="theorem_pool")
    yield found
    if found.status is Verdict.NOT_APPLICABLE:
        return
    trace = result.trace
    assert isinstance(trace, PostedTrace)
    assert isinstance(trace.terms, PoolTerms)
    public, worst = given.public(""), Fraction(-1)
    sizes = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
    for job, offer in zip(sketch.jobs, trace.offers, strict=True):
        mu = Fraction(0) if offer is None else max(Fraction(0), job.bid - Fraction(offer.cost))
        for plan in menu(sketch, job).plans:
            paid = Fraction(0)
            for c, rate in zip(plan.cells, plan.rates, strict=True):
                g = int(public.type_of_node[c // sketch.slots])
                weight = max(Fraction(rate, sizes[g][0]), Fraction(job.memory, sizes[g][1]))
                paid += trace.terms.prices[g][c % sketch.slots] * weight
            worst = max(worst, plan.net - paid - mu)
    yield Check("theorem_pool_dual", Verdict.HOLDS if worst <= 0 else Verdict.VIOLATED, worst, Fraction(0))
    heaviest = Fraction(-1)
    for g, omega in enumerate(find_omega(given)):
        compute, memory = sizes[g]
        kept = [
            (job.rates[g], job.memory) for job in sketch.jobs if menu(sketch, job).plans and 0 < job.rates[g] <= compute
        ]
        kept = [(s, r) for s, r in kept if r <= memory]
        for size in range(1, len(kept) + 1):
            for some in combinations(kept, size):
                if sum(s for s, _ in some) <= compute and sum(r for _, r in some) <= memory:
                    weight = sum((max(Fraction(s, compute), Fraction(r, memory)) for s, r in some), Fraction(0))
                    heaviest = max(heaviest, weight - omega)
    yield Check("theorem_pool_omega", Verdict.HOLDS if heaviest <= 0 else Verdict.VIOLATED, heaviest, Fraction(0))


def draw_units(draws: RandomNumbers) -> TinyInstance:
    """Tasks of one cell, n of any of which fit a node and n + 1 do not; values that rise, fall, or are random."""
    slots = draws.draw_between(1, 3)
    kinds, sizes = [], []
    for _ in range(draws.draw_between(1, 2)):
        fit = draws.draw_between(1, 3)
        compute = fit * draws.draw_between(2, 5)
        kinds.append(Kind(draws.draw_between(1, 2), compute, 100))
        sizes.append((compute // (fit + 1) + 1, compute // fit))
    largest = (1, 2, 5, 20, 100)[draws.draw_below(5)]
    count = draws.draw_between(1, 7)
    rising = draws.draw_below(3)
    jobs = []
    for i in range(count):
        arrival = draws.draw_between(1, slots)
        rates = tuple(draws.draw_between(*size) if draws.draw_below(4) else 0 for size in sizes)
        if not any(rates):
            rates = tuple(size[1] for size in sizes)
        value = (
            draws.draw_magnitude(largest) if rising == 2 else round(largest ** ((i if rising else count - i) / count))
        )
        costs, bid = (), 10 * value
        if not draws.draw_below(4):  # what a cell costs is not part of its value
            costs = tuple(tuple(draws.draw_below(3) for _ in range(slots)) for _ in kinds)
            bid += 2
        vendors = ((0, 0), (0, draws.draw_below(2))) if not draws.draw_below(4) else ()
        rate = min(rate for rate in rates if rate)
        jobs.append(Job(arrival, draws.draw_between(arrival, slots), 1, rate, bid, rates, costs, vendors))
    return TinyInstance(slots, tuple(kinds), tuple(sorted(jobs, key=lambda job: job.arrival)))


def draw_slack(draws: RandomNumbers) -> TinyInstance:
    """No costs, and windows with more slots than a task needs at its slowest; many small tasks before large ones."""
    slots = draws.draw_between(3, 5)
    kinds = tuple(
        Kind(1, draws.draw_between(1, 4), draws.draw_between(1, 4)) for _ in range(1 + draws.draw_below(4) // 3)
    )
    jobs = []
    harm = draws.draw_below(2)
    for i in range(draws.draw_between(2, 6)):
        arrival = 1 if harm and i < 2 else draws.draw_between(1, slots - 1)
        width = draws.draw_between(2, slots - arrival + 1)
        rates = tuple(draws.draw_between(1, kind.compute) for kind in kinds)
        memory = draws.draw_between(1, min(kind.memory for kind in kinds))
        length = draws.draw_between(1, width - 1)
        work = max(1, length * min(rates) - draws.draw_below(min(rates)))
        bid = (1 if harm and i < 2 else draws.draw_between(1, 4)) * length * max(1, max(rates) * 3)
        vendors = ((0, 0),) if not draws.draw_below(4) else ()
        jobs.append(Job(arrival, arrival + width - 1, memory, work, bid, rates, (), vendors))
    return TinyInstance(slots, kinds, tuple(sorted(jobs, key=lambda job: job.arrival)))


def _with_one_type(sketch: TinyInstance) -> TinyInstance:
    jobs = []
    for job in sketch.jobs:
        length = -(-job.work // min(job.rates))
        rates = tuple(rate if g == 0 else 0 for g, rate in enumerate(job.rates))
        jobs.append(job._replace(rates=rates, work=min(job.work, length * job.rates[0])))
    return sketch._replace(jobs=tuple(jobs))
