"""How the main paper is read where it can be read in more than one way or says nothing: said once, shown everywhere.

The page of every run has these sentences, and a test compares docs/theory/readings.md with them. The code that they are
about is in `ratiobench.online.lora.algorithms.pdftsp` (Algorithms 1 and 2),
`ratiobench.online.lora.algorithms.earliest` (EFT and NTM), `ratiobench.formulations.lora.check` (problem P) and
`ratiobench.bench.lora.theory.basis.facts` (rho and bbar).
"""

from __future__ import annotations

READINGS = (
    "Zones, data sets: an instance is one zone of section 2.1, one base model with its nodes; zones share nothing, so "
    "other zones are instances of their own. A task's data set D_i is no field: the model uses only its work M_i, "
    "which recipes compute as samples times epochs.",
    "Migration: a task may change nodes from slot to slot, for nothing, in OPT and in every algorithm. (4b) asks for "
    "one node per slot and no more; section 3.1 speaks of 'a particular compute node'. A task that must stay on its "
    "node has fewer schedules, so OPT is then no larger: the upper bounds on OPT hold there too, the ratios need not. "
    "`--no-migration` (`opt`, `check`, `online`; all algorithms but `titan`, `learned`, `guarded`) is that problem.",
    "Candidate nodes: a task may use a node only if it fits there alone, s <= C_p and r <= C_m - r_b, and has a rate "
    "there. (4f) and (4g) demand that of every solution, but (4a)-(4e), by which the paper defines a schedule, do "
    "not; Lemma 2 needs it.",
    "Deadlines: (4d) is printed x_ikt <= d_i, which every 0-1 solution satisfies, so that it would enforce no "
    "deadline (the instance `formulation_4d`: 4 in place of OPT = 2). It is read as x_ikt t <= d_i.",
    "What (4) does not print: a rejected task runs nowhere and has no vendor, an admitted one has one vendor if it "
    "needs one and else none, and no task runs where its rate is 0: (4i) to (4k) of `list formulations`. "
    "`printed:literal` leaves that out: a rejected task could earn a negative cost there.",
    "Vendor: the one of the largest F, its price included (Algorithm 2, line 5), not the one of the lowest (12), "
    "which leaves the price out (section 3.3).",
    "Search: `pdftsp` maximises (9) exactly; `pdftsp:search=printed` is Algorithm 2, which the paper's figures show. "
    "Its Delta (line 11) is the increment of (12), as the text below (13) defines it: a cell that raises the largest "
    "price of a path raises it for all cells of the path. The formula in line 11 can also be read as the cost of the "
    "new cell alone; no option has that reading. A cell that does more than the work w that is still missing leads to "
    "the state max(0, w - s) of (13), W is the task's own work M_i, and the first slot is usable.",
    "Payments: (14) prints p_in for the price q_in of the chosen vendor in (4). It is rounded up to whole "
    "micro-dollars. Bids are whole, so by that nobody pays more than its bid; audits compare the fractions.",
    "rho and bbar: over minimal schedules, those that no longer do the work when a cell is taken away. Over all that "
    "(4a)-(4e) allow, wasteful cells would make bbar as small as one likes. Where a minimal schedule is worth "
    "nothing: over the schedules of the run with F > 0. Audits show rho over all schedules as well "
    "(`rho_all_covers`).",
    "Theorem 5: printed without an assumption; its proof takes bbar >= 1 and costs >= 0 from Lemma 2. A verdict "
    "compares OPT/ALG with rho (1 + max{alpha, beta}) on every run of Algorithm 1, alpha and beta being the largest "
    "ratios of the instance; which of these assumptions fail on the run stands beside it.",
    "EFT and NTM: the paper does not say that they look at a bid. `eft:admit=all` and `ntm:admit=all` take whatever "
    "fits, as it words them; `eft` and `ntm` reject a task that is worth nothing.",
    "Units: bbar = b / (S + R) adds samples and memory, and alpha and beta have a unit of money, so what pdFTSP "
    "earns depends on the units. Section 2.1 counts compute in samples per slot and memory in GB: `units=paper`. "
    "The file's memory is in MB, which `pdftsp` alone takes. The paper names no unit of money: the file's "
    "micro-dollars stand, and `money=` scales them. Its only amount is Figure 10's bid of 15, drawn at random: "
    "money=1/500 makes 15 about the median bid of a day.",
)
"""A few sentences each: what is done here, and what the paper says."""
