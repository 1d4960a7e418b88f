"""Theorems N1 to N7 in words: limits of every online algorithm, settled by proof; no run can show or refute them.

The full proofs stand in docs/theory/limits.md.
"""

from __future__ import annotations

from dataclasses import replace

from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claim import ProofStatus
from ratiobench.bench.theory.claim import Claim, ClaimScope

KIND = "limit of every algorithm"
SOURCE = "this project, docs/theory/limits.md"
AT_ARRIVAL = ClaimScope("algorithms that decide at arrival", lambda run: True)
UNIT_TASKS = "equal tasks of one cell, no costs; N units per slot and node type; the algorithm may know the class"

_THEOREMS: tuple[Claim[Case], ...] = (
    Claim(
        name="limit_n1",
        statement="c >= 1 + sum over j >= 1 of (1 - v_{j-1} / v_j), whose limit for fine levels is 1 + ln theta",
        source=f"Theorem N1: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions=f"{UNIT_TASKS}; coins are allowed; any windows",
        about=AT_ARRIVAL,
        proof=(
            "Let g_j be the mean of ALG after level j over N T, at least v_j / c. The units sold, over N T, are sum_j "
            "(g_j - g_{j-1}) / v_j = g_J / v_J + sum_{j<J} g_j (1/v_j - 1/v_{j+1}) >= (1/c) (1 + sum_{j<J} (1 - v_j / "
            "v_{j+1})), and there are at most 1."
        ),
    ),
    Claim(
        name="limit_n2",
        statement="1/c(theta) + integral from 1 to theta of dv / (v c(v)) <= 1: no c = a (1 + ln theta)",
        source=f"Theorem N2: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions="as for limit_n1, but the algorithm is not told theta, and promises c(theta), which never falls",
        about=AT_ARRIVAL,
        proof="The proof of limit_n1 with g_j >= v_j / c(v_j).",
    ),
    Claim(
        name="limit_n3",
        statement=(
            "c >= min {G/m, (G/(G-m) + S) / (1 - (H_G - H_{G-m}) + m/(G-m))} for every m < G, S the sum of limit_n1; "
            "for many types and fine levels c >= Gamma*, Gamma* (1 - ln(Gamma* / (Gamma* - 1))) = ln theta"
        ),
        source=f"Theorem N3: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions=f"{UNIT_TASKS}; G node types, some of which a task may use; coins are allowed",
        about=AT_ARRIVAL,
        proof=(
            "If 1/c >= m/G: what is sold in groups 1..m is spread evenly, in the mean, over the types that are still "
            "open, so the types that stay open hold at least H_G - H_{G-m} - (m/G - f) G/(G-m), f being the share "
            "sold. What the second phase must earn costs them (1/c - f) G/(G-m) + S/c more, as in limit_n1, and f "
            "cancels."
        ),
    ),
    Claim(
        name="limit_n4",
        statement="c >= c_N, the least c with N theta <= c k (1 + c/N)^(N-k), k = ceil(N/c); c_1 = theta",
        source=f"Theorem N4: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions=f"{UNIT_TASKS}; N units of one slot in all; a deterministic algorithm; fine levels",
        about=AT_ARRIVAL,
        proof=(
            "At value 1 at least k units are sold. Before the next unit is sold at v, OPT >= N v and ALG = S, so v <= "
            "c S / N: each sale multiplies S by at most 1 + c/N, and N theta <= c S in the end. A price that asks for "
            "max(1, c S / N) attains it."
        ),
    ),
    Claim(
        name="limit_n5",
        statement=(
            "c >= (1/x) sum_l (D_l - D_{l-1}) u_x(l) for every x, D_l = ceil(sigma l), u_x(l) the least share of a "
            "task's work in slots 1..x; H_L for sigma = 1, sigma ln(sigma / (sigma - 1)) for sigma > 1 and long tasks"
        ),
        source=f"Theorem N5: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions="equal value per cell; lengths 1..L, windows of sigma times the length; coins are allowed",
        about=AT_ARRIVAL,
        proof=(
            "Work admitted up to length l is at least D_l / c per unit. Of a task of length l at least the share "
            "u_x(l) lies in slots 1..x, which falls in l, so by summation by parts these slots hold at least (1/c) "
            "sum_l (D_l - D_{l-1}) u_x(l), and at most x."
        ),
    ),
    Claim(
        name="limit_n6",
        statement=(
            "whatever OPT <= c ALG + A a deterministic algorithm guarantees, a take-it-or-leave-it price does that "
            "does not look at the bid: truthful prices in the bid lose nothing"
        ),
        source=f"Theorem N6: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions="c >= 1; the class is closed under lowering a bid within the bids allowed",
        about=AT_ARRIVAL,
        proof=(
            "Sell each task, at the least bid that the algorithm would admit now, the schedule that it would give to "
            "that bid, and let the algorithm see that bid. It runs on an instance I' whose bids are lower by Delta in "
            "all: OPT <= OPT(I') + Delta <= c ALG(I') + A + Delta <= c ALG + A."
        ),
    ),
    Claim(
        name="limit_n7",
        statement=(
            "with OPT <= gamma ALG + alpha after every level: 1 - ALG/OPT >= (ln(1/alpha) - 1 + alpha) / gamma at the "
            "cap even if advice foretold it; 1 - x >= ln(1 / (gamma v x + alpha)) / gamma for the share x sold on a "
            "flat day of value v"
        ),
        source=f"Theorem N7: {SOURCE}",
        standing=ProofStatus.PROVED,
        assumptions="one slot, many units; money in units of the cap; advice may be true",
        about=AT_ARRIVAL,
        proof=(
            "The sum of limit_n1 with g(v) >= (v - alpha) / gamma below the cap leaves that much less for the cap; "
            "from g = x v the need begins at v = gamma x v + alpha."
        ),
    ),
)
STATEMENTS = tuple(replace(claim.state(), kind=KIND) for claim in _THEOREMS)
"""The theorems, in their order."""
