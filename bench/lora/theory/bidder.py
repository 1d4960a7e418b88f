"""A single bidder: what it gains by misreporting, with much more work than an audit has, and its curve.

Which claims are about one bidder their entries in `claims` say. Work is bounded in schedule searches and in decisions
of the algorithm.
"""

from __future__ import annotations

from collections.abc import Collection

from ratiobench.bench.family.capabilities import BidCurve, Bidding
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claims import CLAIMS
from ratiobench.bench.lora.theory.payments.bid_trials import try_curve
from ratiobench.bench.lora.theory.pdftsp.bids import CurveUnknown, utility_curve
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun

# None of these claims is about OPT
_UNKNOWN = SolveReport(Status.INTERVAL, 0, LIMIT**2, None, Proof.TRIVIAL, "-", "none", Termination.NONE, False, 0.0)


def audit_bidder(instance: Instance, run: OnlineRun, task: int, claims: Collection[str] = ()) -> list[Check]:
    """The checks of a run about one bidder."""
    require_task(instance, task)
    case = Case(instance, run, _UNKNOWN)
    of_one = {claim.name: claim for claim in CLAIMS if claim.check_one is not None}
    ours = {name: claim for name, claim in of_one.items() if claim.about.concerns(run)}
    found = [claim.check_bidder(case, task) for name, claim in ours.items() if not claims or name in claims]
    for name in dict.fromkeys(claims):
        if name not in ours:
            whom = of_one[name].about.whom if name in of_one else "whole runs, not about one bidder"
            found.append(Check(name, Verdict.NOT_APPLICABLE, None, None, f"{ANOTHER}{whom}"))
    return found


def curve(instance: Instance, run: OnlineRun, task: int) -> BidCurve:
    """Its utility for every bid where that is known exactly; else for the bids that were tried."""
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


def require_task(instance: Instance, task: int) -> None:
    """InputError where there is no task of this index."""
    if not 0 <= task < instance.tasks:
        raise InputError(instance.name, "task", f"{task} is not in 0..{instance.tasks - 1}")


def run_curve(instance: Instance, algorithm: str, task: int) -> BidCurve:
    """Its curve; constants that come from the bids follow the bid."""
    return curve(instance, run(instance, algorithm), task)


BIDDING = Bidding(run_curve, audit_bidder)
