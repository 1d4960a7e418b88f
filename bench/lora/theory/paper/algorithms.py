"""Algorithms 1 and 2 of the main paper: drops, overflow, prices of dropped tasks, and the schedules of Algorithm 2.

A state of Algorithm 2's table keeps its cheapest path so far. A dearer path can be cheaper in the end, because what a
cell adds depends on the largest prices of the whole path. It is read as specified for search=printed (true
increments, overshoot clipped at 0, first slot usable); the verdict is one on that reading.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures, find_loads
from ratiobench.bench.lora.theory.basis.facts import SearchBudget, SearchLimitReached
from ratiobench.bench.lora.theory.basis.verdicts import compare, leave_open
from ratiobench.bench.lora.theory.pdftsp.auction import auction_of_case
from ratiobench.bench.lora.theory.pdftsp.price_state import first_state
from ratiobench.online.lora.registry import parse
from ratiobench.online.lora.run import ENVIRONMENT
from ratiobench.online.run import run_built

RERUN_LIMIT = 1000  # Most tasks of an instance that an audit runs once more
SEARCHES = 4000  # Most tasks that one check looks at before it says `undecided`


def drops(case: Case) -> Check:
    """At most one dropped task per cell: what Lemma 2 gives for line 12."""
    cells = case.public.nodes * case.public.slots
    return compare(case, len(case.dropped_steps), cells, "dropped tasks <= cells (k, t)", scale=0)


def overflow(case: Case) -> Check:
    """Whether Algorithm 1 without line 8 would keep the capacities; the witness is the first cell that overflows."""
    claim = "virtual load / capacity <= 1 without the room test"
    kind, compute, memory = (
        part.tolist() for part in (case.public.type_of_node, case.public.compute, case.public.memory_mb)
    )
    positive = (step.offer for step in case.steps if step.positive)
    loads = find_loads(case.instance, ((offer.task, offer.cells) for offer in positive))
    shares = {
        (k, t): max(Fraction(samples, compute[kind[k]]), Fraction(mb, memory[kind[k]]))
        for (k, t), (samples, mb) in loads.items()
    }
    where = min(shares, key=lambda cell: (-shares[cell], cell[1], cell[0]), default=None)
    largest = Fraction(0) if where is None else shares[where]
    figures: Figures = {"dropped": len(case.dropped_steps)}
    witness = None if where is None else {"cell": list(where), "load_over_capacity": str(largest)}
    return compare(case, largest, 1, claim, witness=witness, figures=figures, scale=0)


def ghost_updates(case: Case) -> Check:
    """Whether the prices that dropped tasks leave behind change a later decision."""
    claim = "tasks decided otherwise when prices move on admission only"
    run, dropped = case.run, len(case.dropped_steps)
    if not dropped:
        figures: Figures = {"dropped": 0, "welfare": run.welfare, "welfare_admitted_only": run.welfare}
        return compare(case, 0, 0, f"{claim}; none was dropped", figures=figures, scale=0)
    if case.instance.tasks > RERUN_LIMIT:
        problem = f"{case.instance.tasks} tasks; at most {RERUN_LIMIT} are run again"
        return compare(case, None, None, claim, problem=problem)
    # The same run, constants included, with prices that move on admission only.
    spec = parse(run.algorithm)
    assert spec.entry is not None
    algorithm = spec.entry.make(spec.entry.settle(dict(spec.options) | {"updates": "admitted"}, case.instance.tasks))
    other = run_built(ENVIRONMENT, case.instance, algorithm, run.algorithm, run.version, run.constants, "")
    pairs = enumerate(zip(run.decisions, other.decisions, strict=True))
    changed = [i for i, (one, two) in pairs if (one is None) != (two is None)]
    figures = {"dropped": dropped, "welfare": run.welfare, "welfare_admitted_only": other.welfare}
    witness = {"task": changed[0], "tasks": changed} if changed else None
    return compare(case, len(changed), 0, claim, witness=witness, figures=figures, scale=0)


def algorithm2(case: Case) -> Check:
    """F of Algorithm 2's schedule is the largest, for every task at the prices that it met."""
    claim = "largest F of a schedule less F of Algorithm 2's, for the task that loses most"
    auction = case.share(auction_of_case)
    if not auction.trace.exact:
        return leave_open(case, "float prices: schedules are compared in exact arithmetic only (arith=exact)")
    state, budget = first_state(auction), SearchBudget(SEARCHES)
    worst, witness = Fraction(0), dict[str, Any]()
    compared = worse = 0
    cut = False
    for task in auction.tasks:
        try:
            pair = state.find_both_choices(task, auction.trace.alpha, auction.trace.beta, budget)
        except SearchLimitReached:
            cut = True
            break
        if pair is not None:
            best, found = (Fraction(choice.value) for choice in pair)
            compared, worse = compared + 1, worse + (best > found)
            if best - found > worst:
                worst = best - found
                witness = {
                    "task": task.index,
                    "largest_f": str(best),
                    "algorithm2_f": str(found),
                    "schedule": [list(cell) for cell in pair[0].cells],
                    "algorithm2_schedule": [list(cell) for cell in pair[1].cells],
                }
        state = state.follow(task)
    figures: Figures = {"tasks_compared": compared, "tasks_worse": worse}
    if cut and not worse:
        return leave_open(case, f"{compared} of {case.instance.tasks} tasks compared, none is worse", figures)
    return compare(case, worst, 0, claim, witness=witness or None, figures=figures)
