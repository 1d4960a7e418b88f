"""Every check of an audit in words: the paper's claims, then the certificates and the mechanisms' guarantees."""

from __future__ import annotations

from bench.family import Statement
from bench.lora.theory.claims import CLAIMS, Standing

OURS = "this project, online/lora/README.md"

_GUARANTEES = (
    Statement(
        "dual_certificate",
        "OPT <= D(tau lambda, tau phi) at the final prices of any run, for any tau >= 0",
        "weak duality for (5) with mu_i = max(0, max F')",
        Standing.PROVED.value,
        "none; needs an algorithm that exposes its prices",
        "",
    ),
    Statement(
        "theorem_a",
        "no schedule with F' > 0 lacks room, and OPT <= D <= Gamma ALG, Gamma = max(1, B) + B U / G",
        f"Theorem A: {OURS}, mechanism posted",
        Standing.PROVED.value,
        "eps < 1; the public constants bound those of the instance",
        "",
    ),
    Statement(
        "theorem_b",
        "no schedule with F' > 0 lacks room, and OPT <= D <= (1 + max{alpha, beta}) ALG",
        f"Theorem B: {OURS}, mechanism minimal-edit",
        Standing.PROVED.value,
        "as for theorem_a; bbar >= 1 on admitted schedules",
        "",
    ),
    Statement(
        "theorem_c",
        "OPT <= D <= Gamma' ALG + Leak, all three known when the run ends",
        f"Theorem C: {OURS}, mechanisms with additive prices",
        Standing.PROVED.value,
        "none",
        "",
    ),
    Statement(
        "theorem_c_a_priori",
        "OPT <= D(full cells raised) <= (Gamma' + U / (1 - eps)) ALG",
        f"Theorem C: {OURS}, mechanisms with additive prices and a room test",
        Standing.PROVED.value,
        "eps < 1",
        "",
    ),
    Statement(
        "theorem_g",
        "OPT <= D(full cells) <= (1 + U / (1 - eps)) ALG",
        f"Theorem G: {OURS}, the greedy rule",
        Standing.PROVED.value,
        "eps < 1",
        "",
    ),
)


def statements() -> list[Statement]:
    """All of them, in the order of the audits."""
    claims = [
        Statement(each.name, each.statement, each.source, each.standing.value, each.assumptions, each.repaired)
        for each in CLAIMS
    ]
    return [*claims, *_GUARANTEES]
