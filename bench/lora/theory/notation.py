"""The symbols of the statements; docs/theory/paper.md has them with the proofs. A claim's own are in its entry."""

from __future__ import annotations

SIGNS: tuple[tuple[str, str], ...] = (
    (
        "ALG, P",
        "welfare of the tasks that the algorithm admitted; P~ that of all tasks with F > 0, dropped ones included",
    ),
    ("OPT", "the largest welfare of any solution, with all arrivals known"),
    (
        "s, r, M",
        "samples per slot, memory in GB (files have MB; `units=given` counts these) and total samples of a task; S, R: "
        "samples and memory summed over the cells (node, slot) of a schedule",
    ),
    ("minimal schedule", "one that no longer does the work when a cell is taken away"),
    ("b, q, e", "bid, vendor's price, cost of operation per cell; b_il = b - q - sum e is the worth of a schedule"),
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
    ("(14)", "the paper's payment: vendor and prices, without the cost of operation, which b - F includes"),
    ("alpha, beta", "max b/M and max b/r over all tasks; A is the larger of the two"),
    ("(9), line 6", "numbers in brackets are equations of the main paper, lines those of its Algorithm 1"),
    (
        "bbar",
        "b_il / (S + R); rho = 1 + (bbar_max / bbar_min) max{s_max / s_min, r_max / r_min}; rho_L = 1 + L (bbar_max / "
        "bbar_min) (s_max + r_max) / (s_min + r_min), L being the most cells of a schedule",
    ),
    ("kappa", "the largest of a schedule's number of cells and S over its slowest rate, over minimal schedules"),
)
