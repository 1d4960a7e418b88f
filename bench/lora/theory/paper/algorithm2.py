"""Whether Algorithm 2 selects what (9) asks for: its schedule of each task beside one of largest F, at the same prices.

A state of its table keeps one path, the one that is cheapest so far. A dearer path can be cheaper in the end: what a
cell adds depends on the largest prices of the whole path. Algorithm 2 is read as specified for search=printed (true
increments, overshoot clipped at 0, first slot usable); the verdict is one on that reading.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.verdicts import compare, leave_open
from ratiobench.bench.lora.theory.pdftsp.auction import require_auction
from ratiobench.bench.lora.theory.pdftsp.price_state import PriceState, SearchBudget, SearchLimitReached

SEARCHES = 4000  # Most tasks that one check looks at before it says `undecided`


def algorithm2(case: Case) -> Check:
    """F of Algorithm 2's schedule is the largest, for every task at the prices that it met."""
    name, claim = "algorithm2", "largest F of a schedule less F of Algorithm 2's, for the task that loses most"
    auction = require_auction(case)
    if not auction.trace.exact:
        return leave_open(case, name, "float prices: schedules are compared in exact arithmetic only (arith=exact)")
    ledger = PriceState(auction, SearchBudget(SEARCHES))
    worst, witness = Fraction(0), None
    compared = worse = 0
    cut = False
    for task in auction.tasks:
        try:
            pair = ledger.find_both_choices(task, auction.trace.alpha, auction.trace.beta)
        except SearchLimitReached:
            cut = True
            break
        if pair is not None:
            best, found = (Fraction(choice.value) for choice in pair)
            compared, worse = compared + 1, worse + (best > found)
            if best - found > worst:
                worst, witness = best - found, _witness(task.index, pair, best, found)
        ledger.follow(task)
    figures: Figures = {"tasks_compared": compared, "tasks_worse": worse}
    if cut and not worse:
        return leave_open(case, name, f"{compared} of {case.instance.tasks} tasks compared, none is worse", figures)
    return compare(case, name, worst, 0, claim, witness=witness, figures=figures)


def _witness(task: int, pair: Any, best: Fraction, found: Fraction) -> dict[str, Any]:
    return {
        "task": task,
        "largest_f": str(best),
        "algorithm2_f": str(found),
        "schedule": [list(cell) for cell in pair[0].cells],
        "algorithm2_schedule": [list(cell) for cell in pair[1].cells],
    }
