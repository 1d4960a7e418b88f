"""A single bidder: what it gains by misreporting, with much more work than an audit has, and its curve.

If no formula of its payments is known, its curve is found by runs with other whole bids, constants that came from the
bids recomputed: if two tried bids differ the middle is tried, until they are neighbours or the allowance is used up.
Between tried bids of the same outcome nothing is proved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, islice

from ratiobench.bench.family.capabilities import BidCurve, Bidding
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.lora.theory.basis.case import UNKNOWN, Case
from ratiobench.bench.lora.theory.claims import CLAIMS
from ratiobench.bench.lora.theory.payments import truthfulness
from ratiobench.bench.lora.theory.payments.misreports import try_bids_where_outcomes_change
from ratiobench.bench.lora.theory.payments.repeatable_run import PROCESS, Answer, RepeatableRun
from ratiobench.bench.lora.theory.pdftsp.bids import CurveUnknown, require_task, utility_curve
from ratiobench.bench.lora.theory.pdftsp.curve import Curve, Line, Piece
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun

RUNS = 200  # Most bids that are tried


def audit_bidder(instance: Instance, run: OnlineRun, task: int, claims: Collection[str] = ()) -> list[Check]:
    require_task(instance, task)
    case = Case(instance, run, UNKNOWN)
    of_one = {claim.name: claim for claim in CLAIMS if claim.check_one is not None}
    ours = {name: claim for name, claim in of_one.items() if claim.about.concerns(run)}
    found = [claim.check_bidder(case, task) for name, claim in ours.items() if not claims or name in claims]
    for name in dict.fromkeys(claims):
        if name not in ours:
            whom = of_one[name].about.whom if name in of_one else "whole runs, not about one bidder"
            found.append(Check(name, Verdict.NOT_APPLICABLE, None, None, f"{ANOTHER}{whom}"))
    return found


def curve(instance: Instance, run: OnlineRun, task: int) -> BidCurve:
    """Its utility for every bid if that is known exactly; else for the bids that were tried."""
    require_task(instance, task)
    if not run.valid:
        raise InputError("algorithm", run.algorithm, f"the run is not valid ({run.violations[0]})")
    try:
        return BidCurve([row | {"known": "exact"} for row in utility_curve(instance, run, task).rows()])
    except CurveUnknown as error:
        trials = try_curve(instance, run, task)
        failed = f", {trials.failed} of them not valid" * (trials.failed > 0)
        note = f"{trials.runs} runs{failed}, as {error.problem}; between the bids that were tried nothing is proved"
        return BidCurve([row | {"known": "tried"} for row in trials.rows()], note)


@dataclass(frozen=True, slots=True)
class BidTrials:
    task: int  # task, valuation: whose, and v_i
    valuation: int
    answers: dict[int, Answer]  # whether the run was valid, and the task's decision in it, by bid
    runs: int  # runs, failed: how many bids were tried in runs of their own, and how many of these were not valid
    failed: int

    def rows(self) -> Iterator[dict[str, str]]:
        """A row per stretch of tried bids with the same outcome, both ends included; columns of `Curve.rows`."""
        pieces = []
        for (valid, decision), some in groupby(sorted(self.answers), key=self.answers.__getitem__):
            low, *others = map(Fraction, some)
            paid = None if decision is None else Line(Fraction(decision.payment or 0))
            cells = () if decision is None else decision.cells
            if valid:
                high = others[-1] if others else low
                pieces.append(Piece(low, high, True, True, decision is not None, paid, cells))
        return Curve(self.task, self.valuation, "booked", tuple(pieces)).rows()


def try_curve(instance: Instance, run: OnlineRun, task: int) -> BidTrials:
    """Try bids of one task of a valid run; a user's own algorithm gets each in a process of its own."""
    _require_payments(run, run.decisions)
    answers: dict[int, Answer] = {int(instance.bid[task]): (True, run.decisions[task])}
    with closing(RepeatableRun(instance, run, truthfulness.ALLOWANCE * truthfulness.ONE)) as again:
        if not again.is_reproducible():
            raise InputError("algorithm", run.algorithm, "run again, it decides otherwise")
        truth = again.truth(task)
        more = PROCESS if again.own else 0
        if truth.bid not in answers and again.cost(task, truth) + more <= again.left:
            answers[truth.bid] = again.decision(task, truth, alone=again.own)
        known = answers.get(truth.bid, (False, None))[1]
        for report in islice(try_bids_where_outcomes_change(again, task, known, further=False), RUNS):
            if again.cost(task, report) + more > again.left:
                break
            answers[report.bid] = again.decision(task, report, alone=again.own)
    _require_payments(run, [decision for _, decision in answers.values()])
    return BidTrials(task, truth.bid, answers, len(again.answers), again.failed)


def _require_payments(run: OnlineRun, decisions: Sequence[Decision | None]) -> None:
    if any(decision is not None and decision.payment is None for decision in decisions):
        raise InputError("algorithm", run.algorithm, "it has no payment rule: there is no utility curve")


def run_curve(instance: Instance, algorithm: str, task: int) -> BidCurve:
    """Its curve; constants that come from the bids follow the bid."""
    return curve(instance, run(instance, algorithm), task)


BIDDING = Bidding(run_curve, audit_bidder)
