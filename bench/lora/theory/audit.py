"""The theory's claims on one run: what `bench audit` prints and what suites store."""

from __future__ import annotations

from collections.abc import Collection

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claims import CLAIMS
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.lora.model import Instance
from ratiobench.online.outcome import OnlineRun


def audit(instance: Instance, run: OnlineRun, reference: SolveReport) -> list[Check]:
    """Every claim on one run, in the order of the table; those about other mechanisms are left out."""
    case = Case(instance, run, reference)
    return [claim.check_run(case) for claim in CLAIMS if claim.is_shown(run)]


def audit_claims(instance: Instance, run: OnlineRun, reference: SolveReport, claims: Collection[str]) -> list[Check]:
    """The checks of these names, in the order of `audit`, without the work of the others.

    One that is about another algorithm is `not applicable`.
    """
    case = Case(instance, run, reference)
    return [claim.check_run(case) for claim in CLAIMS if claim.name in claims and claim.check is not None]
