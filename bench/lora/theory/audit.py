"""The theory's claims on one run: what `bench audit` prints and what suites store."""

from __future__ import annotations

from bench.checks import Check
from bench.lora.theory.case import Case, case_of
from bench.lora.theory.claims import CLAIMS
from bench.lora.theory.facts import ROUNDING, Facts, Observed, facts, observed
from bench.lora.theory.guarantees import guarantees
from bench.lora.theory.truthful import truthfulness
from formulations.report import SolveReport
from instances.lora.model import Instance
from online.outcome import OnlineRun

__all__ = ["ROUNDING", "Case", "Facts", "Observed", "audit", "case_of", "facts", "observed"]


def audit(instance: Instance, run: OnlineRun, reference: SolveReport) -> list[Check]:
    """Every claim of the paper with its repaired form, guarantees, then what is asked of any payment, on one run."""
    case = case_of(instance, run, reference)
    checks = [claim.check(case) for claim in CLAIMS] + guarantees(instance, run, reference)
    return checks + truthfulness(instance, run)
