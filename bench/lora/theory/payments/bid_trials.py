"""A bidder's outcome by running again with other bids: for payments of which no formula is known.

Whole bids only, other reports as they are, constants that came from the bids recomputed. Where two bids that were tried
differ the middle is tried, until they are neighbours or the allowance is used up. Between bids that were tried and have
the same outcome nothing is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ratiobench.bench.lora.theory.payments.bidder_view import BidderView
from ratiobench.bench.lora.theory.payments.misreports import try_bids_where_outcomes_change
from ratiobench.bench.lora.theory.payments.repeatable_run import PROCESS, Answer
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.outcome import OnlineRun

RUNS = 200  # Most bids that are tried


@dataclass(frozen=True, slots=True)
class BidTrials:
    """The bids of a task that were tried, with their outcomes."""

    task: int  # task, valuation: whose, and v_i
    valuation: int
    answers: dict[int, Answer]  # whether the run was valid, and the task's decision in it, by bid
    runs: int  # runs, failed: how many bids were tried in runs of their own, and how many of these were not valid
    failed: int

    def rows(self) -> Iterator[dict[str, str]]:
        """One row per stretch of tried bids with the same outcome, with the columns of `Curve.rows`.

        Both ends were tried and belong to it. Bids between the rows were not tried, or ended in no valid run.
        """
        stretch: list[int] = []
        for bid in sorted(self.answers):
            if stretch and self.answers[bid] != self.answers[stretch[-1]]:
                yield from self._row(stretch)
                stretch = []
            stretch.append(bid)
        yield from self._row(stretch)

    def _row(self, stretch: list[int]) -> Iterator[dict[str, str]]:
        valid, decision = self.answers[stretch[0]]
        if not valid:
            return
        paid = "" if decision is None else str(decision.payment)
        utility = "0" if decision is None else str(self.valuation - (decision.payment or 0))
        yield {
            "task": str(self.task),
            "valuation": str(self.valuation),
            "rule": "booked",
            "bid_from": str(stretch[0]),
            "bid_to": str(stretch[-1]),
            "from_included": "true",
            "to_included": "true",
            "admitted": str(decision is not None).lower(),
            "payment_from": paid,
            "payment_to": paid,
            "utility_from": utility,
            "utility_to": utility,
            "schedule": "" if decision is None else " ".join(f"{k}@{t}" for k, t in decision.cells),
        }


def try_curve(instance: Instance, run: OnlineRun, task: int) -> BidTrials:
    """Try bids of one task of a valid run; anyone's own algorithm gets each in a process of its own."""
    if not run.valid:
        raise InputError("algorithm", run.algorithm, f"the run is not valid ({run.violations[0]})")
    _paid(run, run.decisions)
    again = BidderView(instance, run, task).make_repeatable_run()
    answers: dict[int, Answer] = {int(instance.bid[task]): (True, run.decisions[task])}
    try:
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
    finally:
        again.close()
    _paid(run, [decision for _, decision in answers.values()])
    return BidTrials(task, truth.bid, answers, len(again.answers), again.failed)


def _paid(run: OnlineRun, decisions: Sequence[Decision | None]) -> None:
    if any(decision is not None and decision.payment is None for decision in decisions):
        raise InputError("algorithm", run.algorithm, "it has no payment rule: there is no utility curve")
