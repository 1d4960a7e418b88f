"""Every claim in words: those that a proof settles, then every check of an audit.

The paper's claims, certificates and guarantees, and what is asked of any payment.
"""

from __future__ import annotations

from bench.family.parts import Statement
from bench.lora.theory.claims import CLAIMS, Standing

NOTATION = (
    (
        "ALG, P",
        "welfare of the tasks that the algorithm admitted; P~ that of all tasks with F > 0, dropped ones included",
    ),
    ("OPT", "the best welfare that was possible knowing all arrivals"),
    (
        "s, r, M",
        "samples per slot, memory in MB and total samples of a task; S, R: samples and MB summed over the cells (node, "
        "slot) of a schedule",
    ),
    ("minimal schedule", "one that no longer does the work when a cell is taken away"),
    ("b, q, e", "bid, vendor's price, cost of operation per cell; b_il = b - q - sum e is what a schedule is worth"),
    ("lambda, phi", "prices of compute and memory per node and slot, of which there are C_p and C_m - r_b"),
    (
        "F",
        "b_il less S and R at the largest prices on the schedule (eq. 9); F' the same with each cell at its own price",
    ),
    (
        "mu",
        "max(0, F) of a task; D^I the dual objective with these mu when the run ends (eq. 5); D the same with mu = "
        "max(0, max F') at any prices, which always bounds OPT",
    ),
    ("(14)", "the paper's payment: vendor and prices, not the operation; b - F charges that as well"),
    ("alpha, beta", "max b/M and max b/r over all tasks; A is the larger of the two"),
    (
        "bbar",
        "b_il / (S + R); rho = 1 + (bbar_max / bbar_min) max{s_max / s_min, r_max / r_min}; rho_L = 1 + L (bbar_max / "
        "bbar_min) (s_max + r_max) / (s_min + r_min), L being the most cells of a schedule",
    ),
    ("kappa", "the largest of a schedule's number of cells and S over its slowest rate, over minimal schedules"),
    (
        "B, G, U, eps, X",
        "of the corrected mechanisms: growth and scale of prices, spread and largest share of a task, largest density",
    ),
)
"""The signs of the statements; online/lora/README.md has them with the proofs."""
OURS = "this project, online/lora/README.md"

BY_PROOF = (
    Statement(
        "theorem1",
        "problem (4) is NP-hard",
        "main paper, Theorem 1",
        Standing.PROVED.value,
        "none",
        "",
        "A knapsack of capacity C and items of weight w_i and value v_i is (4) with one node and one slot: K = T = 1, "
        "C_p = C, M_i = s_i = w_i, b_i = v_i, no costs, no vendors, memory for all. The printed reduction runs the "
        "wrong way: it leaves constraints of (4) out until a knapsack remains, and a relaxation that is hard does not "
        "make a problem hard.",
    ),
    Statement(
        "theorem2",
        "Algorithms 1 and 2 finish in polynomial time, O(I N W T K)",
        "main paper, Theorem 2",
        Standing.FALSE.value,
        "none",
        "O(I N W T K) is pseudo-polynomial: polynomial where the amounts of work are no larger than a polynomial in "
        "the number of tasks, slots and nodes",
        "W, the largest M_i, is a number in the input, which is as long as its logarithm, and Algorithm 2 loops from 1 "
        "to W. Nor can another algorithm solve (12) in polynomial time unless P = NP: min-knapsack (weights w_j, costs "
        "c_j, demand B, j = 1..n) is (12) at zero prices with K = T = n, s_ik = w_k, M_i = B, e_ikt = c_k for t = k "
        "and more than the sum of all c_j else.",
    ),
)
"""Claims that no run can show or refute."""
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
_BY_THEOREM_T = "proved for Theorem T's"
_AS_TAKEN_OR_LEFT = (
    "proved where no constant comes from the bids and each task is charged the least cost over its schedules with room"
)
_PAYMENTS = (
    (
        "truthful_bid",
        "no bid is better than the valuation, for any task",
        f"a payment rule other than pdFTSP's; {_AS_TAKEN_OR_LEFT} (there the run's offers are found again); else "
        "misreports are tried: violated where one gains, undecided where none does",
    ),
    (
        "truthful_type",
        "no later arrival, earlier deadline, more work or more memory than the true one gains, bid truthful",
        "as for truthful_bid",
    ),
    (
        "rational",
        "no truthful bidder is charged more than its valuation",
        f"a payment rule other than pdFTSP's; from the booked decisions; {_AS_TAKEN_OR_LEFT}",
    ),
    (
        "no_deficit",
        "every admitted task is charged at least its vendor's price and its operational cost",
        "as for rational",
    ),
)


def statements() -> list[Statement]:
    """Those settled by proof, then those that audits check, in the order of the audits."""
    claims = [
        Statement(each.name, each.statement, each.source, each.standing.value, each.assumptions, each.repaired)
        for each in CLAIMS
    ]
    payments = [
        Statement(name, statement, f"Theorem T: {OURS}", _BY_THEOREM_T, assumptions, "")
        for name, statement, assumptions in _PAYMENTS
    ]
    return [*BY_PROOF, *claims, *_GUARANTEES, *payments]
