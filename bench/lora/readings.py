"""The readings of the main paper where it is ambiguous; a test compares docs/theory/readings.md with them."""

from __future__ import annotations

# A few sentences each: the reading of this project, and the text of the paper
READINGS = (
    "Zones, data sets: an instance is one zone of section 2.1, one base model with its nodes; zones share nothing, so "
    "other zones are instances of their own. A task's data set D_i is no field: the model uses only its work M_i, "
    "which recipes compute as samples times epochs.",
    "Migration: a task may change nodes from slot to slot at no cost, in OPT and in every algorithm. (4b) requires one "
    "node per slot and no more; section 3.1 speaks of 'a particular compute node'. A task that must stay on one node "
    "has fewer schedules, so OPT is no larger: the upper bounds on OPT hold for that problem, the ratios need not. "
    "`--no-migration` (`opt`, `check`, `simulate`; ten of the algorithms) is that problem.",
    "Candidate nodes: a task may use a node only if it fits there alone, s <= C_p and r <= C_m - r_b, and has a rate "
    "there. (4f) and (4g) require that of every solution, (4a)-(4e), by which the paper defines a schedule, do not; "
    "Lemma 2 needs it.",
    "Deadlines: (4d) is printed x_ikt <= d_i, which every 0-1 solution satisfies, so that it would enforce no "
    "deadline (the instance `formulation_4d`: 4 in place of OPT = 2). It is read as x_ikt t <= d_i.",
    "Constraints that (4) lacks: a rejected task runs nowhere and has no vendor, an admitted one has one vendor if it "
    "needs one and none otherwise, and no task runs where its rate is 0: (4i) to (4k) of `list formulations`. "
    "`printed:literal` leaves them out: a rejected task can then gain by a negative cost.",
    "Vendor: the one with the largest F, its price included (Algorithm 2, line 5), not the one with the lowest (12), "
    "which leaves the price out (section 3.3).",
    "Search: `pdftsp` maximises (9) exactly; `pdftsp:search=printed` is Algorithm 2, which the paper's figures show. "
    "Its Delta (line 11) is the increment of (12), as the text below (13) defines it: a cell that raises the largest "
    "price of a path raises it for all cells of the path. The formula in line 11 can also be read as the cost of the "
    "new cell alone; no option has that reading. A cell that does more than the work w that is still missing leads to "
    "the state max(0, w - s) of (13), W is the task's own work M_i, and the first slot is usable.",
    "Payments: (14) prints p_in for the price q_in of the chosen vendor in (4). It is rounded up to whole "
    "micro-dollars. Bids are whole, so rounding charges no task more than its bid; audits compare the fractions.",
    "rho and bbar: over minimal schedules, those that no longer do the work when a cell is taken away. Over all "
    "schedules of (4a)-(4e), superfluous cells would make bbar arbitrarily small. Where a minimal schedule is worth "
    "nothing: over the schedules of the run with F > 0. Audits show rho over all schedules as well "
    "(`rho_all_covers`).",
    "Theorem 5: printed without an assumption; its proof takes bbar >= 1 and costs >= 0 from Lemma 2. A verdict "
    "compares OPT/ALG with rho (1 + max{alpha, beta}) on every run of Algorithm 1, alpha and beta being the largest "
    "ratios of the instance, and names the assumptions that fail on the run.",
    "EFT and NTM: the paper does not mention that they use bids. `eft:admit=all` and `ntm:admit=all` admit every task "
    "that fits, as the paper describes them; `eft` and `ntm` reject a task that is worth nothing.",
    "Units: bbar = b / (S + R) adds samples and memory, and alpha and beta have a unit of money, so what pdFTSP "
    "earns depends on the units. Section 2.1 counts compute in samples per slot and memory in GB, as `pdftsp` does. "
    "Files have memory in MB: `units=given`. The paper gives no unit of money: micro-dollars "
    "of the file are used, and `money=` scales them. Its only amount is Figure 10's bid of 15, drawn at random: "
    "money=1/500 makes 15 about the median bid of a day.",
)
