"""Compile the kernels of the audits once, by use."""

from __future__ import annotations

from bench.lora.theory.audit import audit
from formulations.report import Proof, SolveReport, Status, Termination
from instances.lora.named import named
from online.lora.run import run


def warm() -> None:
    """Audit runs in fractions and in doubles on a small instance."""
    instance = named("tiny_two_types")
    unknown = SolveReport(Status.INTERVAL, 0, 2**40, None, Proof.TRIVIAL, "-", "none", Termination.NONE, False, 0.0)
    for algorithm in ("pdftsp", "pdftsp:arith=float"):
        audit(instance, run(instance, algorithm), unknown)
