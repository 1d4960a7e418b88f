"""What is claimed of runs in problem P, and checked on them: the laboratory of `ratiobench.bench.lora.theory`."""

from ratiobench.bench.lora.theory.audit import audit, audit_claims
from ratiobench.bench.lora.theory.claims import AUDITS, NOTATION, statements

__all__ = ["AUDITS", "NOTATION", "audit", "audit_claims", "statements"]
