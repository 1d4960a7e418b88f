"""The theory's claims on one run: what `bench audit` prints and what suites store."""

from __future__ import annotations

from collections.abc import Collection

from bench.family.checks import ANOTHER, Check, Verdict
from bench.lora.theory.basis.case import Case, case_of
from bench.lora.theory.basis.facts import ROUNDING, Facts, Observed, facts, observed
from bench.lora.theory.claims import CLAIMS
from bench.lora.theory.guarantees import guarantees
from bench.lora.theory.payments.truthful import NAMES, truthfulness
from bench.lora.theory.statements import statements
from formulations.report import SolveReport
from instances.lora.model import Instance
from online.outcome import OnlineRun

__all__ = ["ROUNDING", "Case", "Facts", "Observed", "audit", "audit_claims", "case_of", "facts", "observed"]


def audit(instance: Instance, run: OnlineRun, reference: SolveReport) -> list[Check]:
    """Every claim of the paper with its repaired form, guarantees, then what is asked of any payment, on one run."""
    case = case_of(instance, run, reference)
    checks = [claim.check(case) for claim in CLAIMS] + guarantees(instance, run, reference)
    return checks + truthfulness(instance, run)


_ABOUT = {
    "dual_certificate": "algorithms that show their prices",
    "theorem_a": "posted",
    "theorem_b": "minimal-edit",
    "theorem_c": "mechanisms with additive prices",
    "theorem_c_a_priori": "mechanisms with additive prices",
    "theorem_g": "greedy",
} | dict.fromkeys(NAMES, "payments other than pdFTSP's")
"""Whom a claim is about of which an audit shows nothing where it does not apply."""


def audit_claims(instance: Instance, run: OnlineRun, reference: SolveReport, claims: Collection[str]) -> list[Check]:
    """The checks of these names, in the order of `audit`, without the work of the others.

    One that is about another algorithm is `not applicable`.
    """
    names = [each.name for each in statements() if each.name in claims and not each.proof]
    found: list[Check] = []
    about_paper = [claim for claim in CLAIMS if claim.name in names]
    if about_paper:
        case = case_of(instance, run, reference)
        found += [claim.check(case) for claim in about_paper]
    if any(name in _ABOUT and name not in NAMES for name in names):
        found += guarantees(instance, run, reference)
    if any(name in NAMES for name in names):
        found += truthfulness(instance, run, names)
    known = {check.name: check for check in found}
    return [
        known[name] if name in known else Check(name, Verdict.NOT_APPLICABLE, None, None, f"{ANOTHER}{_ABOUT[name]}")
        for name in names
    ]
