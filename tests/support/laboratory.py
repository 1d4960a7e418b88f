"""What tests of the theory share: groups of claims, prices of the dual, breakpoints."""

from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import pairwise

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.basis.dual import Prices, dual_of
from ratiobench.bench.lora.theory.bidder import audit_bidder
from ratiobench.bench.lora.theory.claims import CLAIMS, OTHER_PAYMENTS, PDFTSP, Claim
from ratiobench.bench.lora.theory.pdftsp.curve import Curve
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun

CHECKED = tuple(claim for claim in CLAIMS if claim.check is not None)
PAPER = tuple(claim for claim in CHECKED if claim.about is PDFTSP)  # The paper's claims that audits check
PAYMENTS = tuple(claim for claim in CHECKED if claim.about is OTHER_PAYMENTS)
GUARANTEES = tuple(claim for claim in CHECKED if claim not in PAPER and claim not in PAYMENTS)


def report_of(lower: int, upper: int | None = None) -> SolveReport:
    """An interval on OPT, or its value."""
    upper = lower if upper is None else upper
    status = Status.OPTIMAL if lower == upper else Status.INTERVAL
    return SolveReport(status, lower, upper, None, Proof.ENUMERATION, "-", "none", Termination.NONE, False, 0.0)


NOTHING = report_of(0)


def _shown(claims: Iterable[Claim], case: Case) -> list[Check]:
    return [claim.check_run(case) for claim in claims if claim.is_shown(case.run)]


def guarantees(instance: Instance, run: OnlineRun, reference: SolveReport) -> list[Check]:
    """What an audit says of the theorems about corrected mechanisms, and of the certificate."""
    return _shown(GUARANTEES, Case(instance, run, reference))


def truthfulness(instance: Instance, run: OnlineRun, names: Collection[str] = ()) -> list[Check]:
    """What an audit says of payments, or the claims of these names."""
    return _shown((claim for claim in PAYMENTS if not names or claim.name in names), Case(instance, run, NOTHING))


def truthfulness_of(instance: Instance, run: OnlineRun, task: int, names: Collection[str]) -> list[Check]:
    """What an audit of one bidder says of these claims."""
    return audit_bidder(instance, run, task, names)


def check_claim(instance: Instance, algorithm: str, name: str) -> Check:
    """What the claim of this name says of a run of the algorithm."""
    claim = next(claim for claim in CLAIMS if claim.name == name)
    return claim.check_run(Case(instance, run(instance, algorithm), NOTHING))


def dual_value(instance: Instance, lam: Prices, phi: Prices) -> Fraction:
    return dual_of(instance).exact(lam, phi).value


def near_dual_value(instance: Instance, lam: Prices, phi: Prices) -> Fraction:
    """D at prices next to these."""
    return dual_of(instance).near(lam, phi).value


def breakpoints(curve: Curve) -> list[Fraction]:
    """The bids at which the outcome, or the formula of the payment, changes."""
    return [right.low for _, right in pairwise(curve.pieces)]
