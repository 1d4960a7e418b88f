"""Every claim in one table: what it says, who says it, what is known of it, whom it is about, and its check.

To add a claim, add an entry here, with a check in a file of its own or beside those of its kind. All else follows:
what audits check and in which order, what `search` looks for, what pages say. The order is the paper's:
what a proof settles, lemmas and theorems as printed, each followed by the form that can be proved, what the paper
leaves open about capacity and money; then guarantees of other mechanisms, and what is asked of any payment. Units are
those of the run.
"""

from __future__ import annotations

from ratiobench.bench.lora.theory import guarantees, guarded, price_laws
from ratiobench.bench.lora.theory.basis.assumptions import (
    explain_invalid,
    explain_outside_algorithm1,
    explain_outside_dual,
    explain_outside_paper,
    explain_outside_selected,
)
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claim import Claim, ProofStatus, SearchSpace
from ratiobench.bench.lora.theory.notation import SIGNS
from ratiobench.bench.lora.theory.paper import algorithm1, algorithm2, lemma4, lemmas, theorem3, theorem4, theorem5
from ratiobench.bench.lora.theory.payments import kind_misreports, truthfulness
from ratiobench.bench.lora.theory.payments.bidder_view import explain_no_payments
from ratiobench.bench.theory.claim import ClaimScope, make_claims
from ratiobench.online.lora.traces import GreedyTrace, LawTerms, PriceTrace, StaticTerms, UnitTerms
from ratiobench.online.outcome import OnlineRun

AUDITS = "9"
"""Version of all checks. Raise it with every claim that is added and every check that comes to say something else, but
for what is said of algorithms alone that had no runs before."""
OURS = "this project, docs/theory"
AS_TAKEN_OR_LEFT = (
    "proved where no constant comes from the bids and each task is charged the least cost over its schedules with room"
)


def _is_pdftsp(run: OnlineRun) -> bool:
    return isinstance(run.trace, PriceTrace)


PDFTSP = ClaimScope("pdFTSP", _is_pdftsp, always_shown=True)
PRICES_SHOWN = ClaimScope("algorithms that show their prices", guarantees.has_final_prices)
POSTED = ClaimScope("posted", lambda run: guarantees.is_linear(run, "posted"))
MINIMAL_EDIT = ClaimScope("minimal-edit", lambda run: guarantees.is_linear(run, "minimal-edit"))
ADDITIVE = ClaimScope("mechanisms with additive prices", guarantees.is_linear)
GREEDY = ClaimScope(
    "greedy",
    lambda run: run.algorithm == "greedy" and (isinstance(run.trace, GreedyTrace) or not run.remarks.unproved),
)
GUARDED = ClaimScope(
    "guarded prices, which refuse rigid tasks and gangs: the theorem is false for these", guarded.is_guarded
)
BASELINES = "docs/theory/baselines.md"
LOAD_LAWS = ClaimScope("prices that follow loads", lambda run: price_laws.has_terms(run, LawTerms))
UNITS = ClaimScope("units", lambda run: price_laws.has_terms(run, UnitTerms))
STATIC = ClaimScope("static", lambda run: price_laws.has_terms(run, StaticTerms))
OTHER_PAYMENTS = ClaimScope("payments other than pdFTSP's", lambda run: not _is_pdftsp(run))
OF_KINDS = ClaimScope("tasks that may not have every schedule of P", lambda run: run.remarks.unproved)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="theorem1",
        statement="problem (4) is NP-hard",
        source="main paper, Theorem 1",
        standing=ProofStatus.PROVED,
        about=PDFTSP,
        proof=(
            "A knapsack of capacity C and items of weight w_i and value v_i is (4) with one node and one slot: K = T = "
            "1, C_p = C, M_i = s_i = w_i, b_i = v_i, no costs, no vendors, memory for all. The printed reduction runs "
            "the wrong way: it leaves constraints of (4) out until a knapsack remains, and a relaxation that is hard "
            "does not make a problem hard."
        ),
    ),
    Claim(
        name="theorem2",
        statement="Algorithms 1 and 2 finish in polynomial time, O(I N W T K)",
        source="main paper, Theorem 2",
        standing=ProofStatus.FALSE,
        repaired=(
            "O(I N W T K) is pseudo-polynomial: polynomial where the amounts of work are no larger than a polynomial "
            "in the number of tasks, slots and nodes"
        ),
        about=PDFTSP,
        proof=(
            "W, the largest M_i, is a number in the input, which is as long as its logarithm, and Algorithm 2 loops "
            "from 1 to W. Nor can another algorithm solve (12) in polynomial time unless P = NP: min-knapsack (weights "
            "w_j, costs c_j, demand B, j = 1..n) is (12) at zero prices with K = T = n, s_ik = w_k, M_i = B, e_ikt = "
            "c_k for t = k and more than the sum of all c_j else."
        ),
    ),
    Claim(
        name="theorem5",
        statement="OPT <= rho (1 + max{alpha, beta}) ALG",
        source="main paper, Theorem 5",
        standing=ProofStatus.FALSE,
        assumptions="none; a valid run of Algorithm 1 as printed (updates=all)",
        proof_assumes=(
            "e >= 0; alpha = max b/M, beta = max b/r of this instance; bbar >= 1 on the schedules that rho is taken "
            "over: the minimal ones or, where a minimal one has b_il <= 0, those of the run with F > 0 (basis: "
            "observed)"
        ),
        repaired=(
            "OPT <= kappa rho_L (1 + A) ALG (theorem5_repaired); as printed when every minimal schedule has one cell"
        ),
        flaw=(
            "the two halves of the proof, dual feasibility (Lemma 4) and the loss by dropped tasks (Lemma 3), do "
            "not hold: F charges the largest price of a schedule where the dual sums the prices of its cells, and "
            "a dropped task loses all its cells."
        ),
        about=PDFTSP,
        check=theorem5.theorem5,
        search=SearchSpace(
            "OPT <= rho (1 + max{alpha, beta}) ALG, where its proof's assumptions hold (Theorem 5; false)"
        ),
    ),
    Claim(
        name="theorem5_repaired",
        statement="OPT <= kappa rho_L (1 + A) ALG",
        source="Theorem 5' (a) and (b) of this project",
        standing=ProofStatus.PROVED,
        assumptions=(
            "e >= 0; bbar >= 1 on schedules with F > 0; alpha, beta at least this instance's; search=exact; updates=all"
        ),
        about=PDFTSP,
        check=theorem5.theorem5_repaired,
        search=SearchSpace(
            "OPT <= kappa rho_L (1 + A) ALG where selected schedules have bbar >= 1 (Theorem 5')",
            costs=0,
            vendors=True,
            raised=2,
            nodes=2,
        ),
    ),
    Claim(
        name="theorem5_repaired_a",
        statement="OPT <= kappa (1 + A) P~",
        source="Theorem 5' (a) of this project",
        standing=ProofStatus.PROVED,
        assumptions="search=exact; with a negative cost kappa runs over all covers",
        about=PDFTSP,
        check=theorem5.theorem5_repaired_a,
        search=SearchSpace(
            "OPT <= kappa (1 + A) P~ (Theorem 5', first part)", costs=-9, vendors=True, raised=3, nodes=2
        ),
    ),
    Claim(
        name="lemma1",
        statement="D^I <= (1 + A) P~",
        source="main paper, Lemma 1",
        standing=ProofStatus.PROVED,
        about=PDFTSP,
        applies=explain_outside_paper,
        check=lemmas.lemma1,
        search=SearchSpace("D <= (1 + A) P~ (Lemma 1)", costs=-9, vendors=True, raised=3, nodes=2),
    ),
    Claim(
        name="lemma2",
        statement="no schedule with F > 0 uses a cell whose virtual load has reached a capacity",
        source="main paper, Lemma 2, with F <= 0 where it says F < 0",
        standing=ProofStatus.PROVED,
        assumptions=(
            "e >= 0; s <= C_p and r <= C_m - r_b on candidate nodes; bbar >= 1 on schedules with F > 0; "
            "alpha, beta at least this instance's"
        ),
        about=PDFTSP,
        check=lemmas.lemma2,
        search=SearchSpace(
            "no schedule with F > 0 touches a cell whose virtual load has reached capacity (Lemma 2)",
            costs=0,
            vendors=True,
            raised=2,
            nodes=2,
        ),
    ),
    Claim(
        name="lemma3",
        statement="P~ <= rho P",
        source="main paper, Lemma 3",
        standing=ProofStatus.FALSE,
        assumptions="what the proof of theorem5 assumes, of which it is a part; updates=all",
        repaired="P~ <= rho_L P (lemma3_repaired)",
        flaw="a dropped task is charged with the value of the one cell that overflows, but it loses all its cells.",
        about=PDFTSP,
        check=lemmas.lemma3,
        search=SearchSpace("P~ <= rho P (Lemma 3; false)"),
    ),
    Claim(
        name="lemma3_repaired",
        statement="P~ <= rho_L P",
        source="Theorem 5' (b) of this project",
        standing=ProofStatus.PROVED,
        assumptions="as for theorem5_repaired; any search",
        about=PDFTSP,
        check=lemmas.lemma3_repaired,
    ),
    Claim(
        name="lemma4",
        statement="(mu, lambda, phi) after the last task satisfies (6a) for every schedule",
        source="main paper, Lemma 4",
        standing=ProofStatus.FALSE,
        repaired=(
            "(mu, kappa lambda, kappa phi) does (lemma4_repaired); sum C lambda + sum C phi + sum max(0, max F') "
            "bounds OPT at any prices"
        ),
        flaw=(
            "F takes the largest prices of a schedule times S and R, (6a) sums the prices cell by cell, so F can "
            "be 0 where that sum leaves a surplus, and prices that rise later need not stand on those cells."
        ),
        about=PDFTSP,
        applies=explain_outside_paper,
        check=lemma4.lemma4,
        search=SearchSpace("mu_i + sum (lambda s + phi r) >= b_il at final prices (Lemma 4; false)"),
    ),
    Claim(
        name="lemma4_repaired",
        statement="(mu, kappa lambda, kappa phi) satisfies (6a) for every schedule",
        source="Theorem 5' (a) of this project",
        standing=ProofStatus.PROVED,
        assumptions="search=exact",
        about=PDFTSP,
        applies=explain_outside_dual,
        check=lemma4.lemma4_repaired,
    ),
    Claim(
        name="weak_duality",
        statement="OPT <= D^I",
        source="main paper, (16), last step",
        standing=ProofStatus.FALSE,
        repaired="OPT <= D(lambda, phi) with mu_i = max(0, max F') for any prices",
        flaw="D^I bounds OPT when the dual solution is feasible, which is Lemma 4.",
        about=PDFTSP,
        applies=explain_outside_paper,
        check=lemma4.weak_duality,
    ),
    Claim(
        name="algorithm2",
        statement="Algorithm 2 finds a schedule of the largest F for every task, at the prices that it meets",
        source="main paper, section 3: dynamic programming finds the optimal solution of (9) and (12)",
        standing=ProofStatus.FALSE,
        assumptions="exact prices; true increments, overshoot clipped at 0, first slot usable (search=printed)",
        repaired=(
            "for every pair of prices keep the cells that are no dearer, and solve the additive covering programme "
            "(search=exact)"
        ),
        flaw=(
            "a state of the table keeps the cheapest path so far, but every further unit pays the largest prices "
            "of its whole path, so that a path that is dearer so far can end cheaper."
        ),
        about=PDFTSP,
        applies=explain_outside_paper,
        check=algorithm2.algorithm2,
    ),
    Claim(
        name="theorem3",
        statement="no bid is better than the valuation",
        source="main paper, Theorem 3, alpha and beta from the bids",
        standing=ProofStatus.FALSE,
        assumptions=(
            "undecided where canonical units follow the bid, or search=printed, unless a bid that moves no constant "
            "gains"
        ),
        repaired="with public constants and the payment b - F it is a take-it-or-leave-it price: truthful in the bid",
        flaw=(
            "alpha and beta are the largest ratios of the bids themselves, so a bid moves the prices that it "
            "meets; and (14) does not charge the operational cost."
        ),
        about=PDFTSP,
        applies=explain_outside_paper,
        check=theorem3.theorem3,
        check_one=theorem3.theorem3_of,
        search=SearchSpace("no bid earns more than the truth (Theorem 3; false)", costs=0, raised=0),
    ),
    Claim(
        name="theorem3_fixed_constants",
        statement="no bid is better than the valuation when no constant follows the bid",
        source="main paper, Theorem 3",
        standing=ProofStatus.FALSE,
        repaired="true for payment=critical; for (14) when every e = 0",
        flaw=(
            "a task wins above c = b - F, but (14) charges c less the operational cost: who values its schedule "
            "between the two gains by bidding above c."
        ),
        about=PDFTSP,
        applies=explain_outside_paper,
        check=theorem3.theorem3_fixed_constants,
        check_one=theorem3.theorem3_fixed_constants_of,
    ),
    Claim(
        name="theorem3_types",
        statement="no narrower window, more work or more memory than the true one gains",
        source="main paper, section 2 (the bid contains them); not claimed",
        standing=ProofStatus.FALSE,
        assumptions=(
            "constants kept; exact prices; every window inside the true one, larger work and memory, alone and "
            "together; undecided where not all of them could be followed (with search=printed only a few are, on large "
            "instances)"
        ),
        repaired="true when the schedule is the cheapest among those with room (a choice that sees the room)",
        flaw=(
            "Algorithm 1 chooses a schedule first and looks for room afterwards, so a report that rules out the "
            "crowded slot can win where the truth is dropped."
        ),
        asked=True,
        about=PDFTSP,
        applies=explain_outside_paper,
        check=theorem3.theorem3_types,
        check_one=theorem3.theorem3_types_of,
    ),
    Claim(
        name="theorem4",
        statement="a truthful bid never pays more than its valuation",
        source="main paper, Theorem 4, for truthful bids",
        standing=ProofStatus.PROVED,
        assumptions="e >= 0, or payment=critical",
        about=PDFTSP,
        applies=explain_outside_paper,
        check=theorem4.theorem4,
    ),
    Claim(
        name="theorem4_literal",
        statement="no bid at all ends in a loss",
        source="main paper, Definition 3 as printed",
        standing=ProofStatus.FALSE,
        repaired="for truthful bids (theorem4)",
        flaw=(
            "who bids above a price that exceeds its valuation wins and loses money, under any rule that charges "
            "something."
        ),
        about=PDFTSP,
        applies=explain_outside_paper,
        check=theorem4.theorem4_literal,
    ),
    Claim(
        name="provider_deficit",
        statement="every admitted task pays at least its vendor and its operation",
        source="asked of (14) by this project",
        standing=ProofStatus.FALSE,
        repaired="true for payment=critical: b - F = q + sum e + prices",
        flaw="(14) charges the vendor and the prices, but not the operational cost.",
        asked=True,
        about=PDFTSP,
        applies=explain_outside_paper,
        check=theorem4.provider_deficit,
    ),
    Claim(
        name="drops",
        statement="at most one task is dropped per cell",
        source="main paper, proof of Lemma 3",
        standing=ProofStatus.PROVED,
        assumptions="as for lemma3_repaired",
        about=PDFTSP,
        applies=explain_outside_selected,
        check=algorithm1.drops,
    ),
    Claim(
        name="overflow",
        statement="without line 8 no capacity would be exceeded",
        source="asked of Algorithm 1 by this project",
        standing=ProofStatus.FALSE,
        assumptions="updates=all",
        repaired="prices that reach max b/s at C - s do it: exponential prices on admission",
        flaw=(
            "prices keep tasks off a full cell (Lemma 2), not off one that is nearly full, where a task can be "
            "larger than what is left."
        ),
        asked=True,
        about=PDFTSP,
        applies=explain_outside_algorithm1,
        check=algorithm1.overflow,
    ),
    Claim(
        name="ghost_updates",
        statement="the prices that dropped tasks leave change no decision",
        source="asked of Algorithm 1, line 7, by this project",
        standing=ProofStatus.FALSE,
        assumptions="updates=all",
        flaw="line 7 moves prices for a task that line 8 turns away, so later ones pay for room that nobody uses.",
        asked=True,
        about=PDFTSP,
        applies=explain_outside_algorithm1,
        check=algorithm1.ghost_updates,
    ),
    Claim(
        name="dual_certificate",
        statement="OPT <= D(tau lambda, tau phi) at the final prices of any run, for any tau >= 0",
        source="weak duality for (5) with mu_i = max(0, max F')",
        standing=ProofStatus.PROVED,
        assumptions="none; needs an algorithm that exposes its prices",
        about=PRICES_SHOWN,
        applies=explain_invalid,
        check=guarantees.dual_certificate,
    ),
    Claim(
        name="theorem_a",
        statement="no schedule with F' > 0 lacks room, and OPT <= D <= Gamma ALG, Gamma = max(1, B) + B U / G",
        source=f"Theorem A: {OURS}, mechanism posted",
        standing=ProofStatus.PROVED,
        assumptions="eps < 1; the public constants bound those of the instance",
        about=POSTED,
        applies=explain_invalid,
        check=guarantees.theorem_a,
        search=SearchSpace(
            "no F' > 0 without room, and OPT <= D <= Gamma ALG (Theorem A)",
            "posted:growth=2",
            costs=0,
            vendors=True,
            raised=0,
            nodes=2,
        ),
        signs=(
            (
                "B, G, U, eps, X",
                "of the corrected mechanisms: growth and scale of prices, spread and largest share of a task, largest "
                "density",
            ),
        ),
    ),
    Claim(
        name="theorem_b",
        statement="no schedule with F' > 0 lacks room, and OPT <= D <= (1 + max{alpha, beta}) ALG",
        source=f"Theorem B: {OURS}, mechanism minimal-edit",
        standing=ProofStatus.PROVED,
        assumptions="as for theorem_a; bbar >= 1 on admitted schedules",
        about=MINIMAL_EDIT,
        applies=explain_invalid,
        check=guarantees.theorem_b,
        search=SearchSpace(
            "no F' > 0 without room, and OPT <= D <= (1 + max{alpha, beta}) ALG where bbar >= 1 (Theorem B)",
            "minimal-edit",
            costs=0,
            vendors=True,
            nodes=2,
        ),
    ),
    Claim(
        name="theorem_c",
        statement="OPT <= D <= Gamma' ALG + Leak, all three known when the run ends",
        source=f"Theorem C: {OURS}, mechanisms with additive prices",
        standing=ProofStatus.PROVED,
        about=ADDITIVE,
        applies=explain_invalid,
        check=guarantees.theorem_c,
    ),
    Claim(
        name="theorem_c_a_priori",
        statement="OPT <= D(full cells raised) <= (Gamma' + U / (1 - eps)) ALG",
        source=f"Theorem C: {OURS}, mechanisms with additive prices and a room test",
        standing=ProofStatus.PROVED,
        assumptions="eps < 1",
        about=ADDITIVE,
        applies=explain_invalid,
        check=guarantees.theorem_c_a_priori,
    ),
    Claim(
        name="theorem_g",
        statement="OPT <= D(full cells) <= (1 + U / (1 - eps)) ALG",
        source=f"Theorem G: {OURS}, the greedy rule",
        standing=ProofStatus.PROVED,
        assumptions="eps < 1",
        about=GREEDY,
        applies=explain_invalid,
        check=guarantees.theorem_g,
    ),
    Claim(
        name="theorem_h",
        statement="OPT <= D <= (rho + max(1, Omega beta)) ALG + A0 + E",
        source=f"Theorem H: {OURS}, the guard around any posted prices",
        standing=ProofStatus.PROVED,
        assumptions="tasks may pause and move (for rigid tasks and gangs it is false: docs/theory/mechanisms.md); E is "
        "0 where classes and caps that were announced bound those of the instance",
        about=GUARDED,
        applies=explain_invalid,
        check=guarded.theorem_h,
        search=SearchSpace(
            "OPT <= D <= (rho + max(1, Omega beta)) ALG + A0 + E (Theorem H)",
            "guarded:inner=posted,beta=3,rho=1,margin=1",
            costs=-9,
            vendors=True,
            raised=0,
            nodes=2,
        ),
        signs=(
            ("rho, beta (guard)", "of the guard: what credits are raised by for wishes, and what a sale adds to them"),
            ("Omega", "at least the weight max(s / C, r / D) of what fits one node"),
            ("A0", "the credits of empty nodes, sum Omega_g K_g Phi"),
            ("E", "worth of the tasks of no announced class, and what others are worth above their cap"),
        ),
    ),
    Claim(
        name="theorem_p",
        statement="OPT <= D <= max(1, n B) ALG + n (priced capacity before the first task)",
        source=f"Lemma P and Theorem A+: {BASELINES}",
        standing=ProofStatus.PROVED,
        assumptions="eps < 1; the public constants bound those of the instance; the price law does not jump",
        about=LOAD_LAWS,
        applies=explain_invalid,
        check=price_laws.theorem_p,
        search=SearchSpace(
            "OPT <= D <= max(1, B) ALG + zeta sum CX (Lemma P, Theorem A+)",
            "reserve:loss=1/8",
            costs=-9,
            vendors=True,
            raised=0,
            nodes=2,
        ),
        signs=(
            (
                "B (price laws)",
                "a sale of the part d <= eps of a resource raises its price by the factor 1 + B d at most",
            ),
            ("zeta", "the price of an empty cell over X"),
            (
                "n (price laws)",
                "nodes to which one of those that the law prices lends its prices; 1 without a split",
            ),
        ),
    ),
    Claim(
        name="theorem_a1",
        statement="OPT <= D <= Gamma ALG, one price per node type and slot",
        source=f"Theorem A': {BASELINES}",
        standing=ProofStatus.PROVED,
        assumptions=(
            "tasks of one cell; n of any tasks fit a node and n + 1 do not; no negative costs; values of units between "
            "L and theta L"
        ),
        about=UNITS,
        applies=explain_invalid,
        check=price_laws.theorem_a1,
    ),
    Claim(
        name="theorem_s",
        statement=(
            "OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG at price 0; at a drawn price (1 + 2 Omega sigma / "
            "(f (sigma - 1))) (1 + ln theta) in the mean"
        ),
        source=f"Theorems S and S2: {BASELINES}",
        standing=ProofStatus.PROVED,
        assumptions="no costs, no vendor prices; slackness sigma > 1; at a drawn price one node type for each task",
        about=STATIC,
        applies=explain_invalid,
        check=price_laws.theorem_s,
        search=SearchSpace(
            "OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG of the greedy rule, no costs (Theorem S)",
            "static:price=0",
            raised=0,
            nodes=2,
        ),
        signs=(
            ("sigma", "slackness: slots of a task's window over the slots that it needs at its slowest, the least"),
            ("f", "at most the weight on a node without room for some task"),
            ("theta", "largest value per unit of weight, or of a unit, over the least"),
        ),
    ),
    Claim(
        name="truthful_bid",
        statement="no bid is better than the valuation, for any task",
        source=f"Theorem T: {OURS}",
        standing=ProofStatus.PROVED_BY_T,
        assumptions=(
            f"a payment rule other than pdFTSP's; {AS_TAKEN_OR_LEFT} (there the run's offers are found again); "
            "else misreports are tried: violated where one gains, undecided where none does"
        ),
        asked=True,
        about=OTHER_PAYMENTS,
        applies=explain_no_payments,
        check=truthfulness.truthful_bid,
        check_one=truthfulness.truthful_bid_of,
    ),
    Claim(
        name="truthful_type",
        statement="no later arrival, earlier deadline, more work or more memory than the true one gains, bid truthful",
        source=f"Theorem T: {OURS}",
        standing=ProofStatus.PROVED_BY_T,
        assumptions="as for truthful_bid",
        asked=True,
        about=OTHER_PAYMENTS,
        applies=explain_no_payments,
        check=truthfulness.truthful_type,
        check_one=truthfulness.truthful_type_of,
    ),
    Claim(
        name="way_misreport",
        statement="no claim of another kind of schedules, or of a wider gang, gains; bid and window truthful",
        source=f"Theorem T: {OURS}",
        standing=ProofStatus.PROVED_BY_T,
        assumptions="as for truthful_bid; sets of schedules are nested",
        asked=True,
        about=OF_KINDS,
        applies=explain_no_payments,
        check=kind_misreports.way_misreport,
        check_one=kind_misreports.way_misreport_of,
    ),
    Claim(
        name="rational",
        statement="no truthful bidder is charged more than its valuation",
        source=f"Theorem T: {OURS}",
        standing=ProofStatus.PROVED_BY_T,
        assumptions=f"a payment rule other than pdFTSP's; from the booked decisions; {AS_TAKEN_OR_LEFT}",
        asked=True,
        about=OTHER_PAYMENTS,
        applies=explain_no_payments,
        check=truthfulness.rational,
    ),
    Claim(
        name="no_deficit",
        statement="every admitted task is charged at least its vendor's price and its operational cost",
        source=f"Theorem T: {OURS}",
        standing=ProofStatus.PROVED_BY_T,
        assumptions="as for rational",
        asked=True,
        about=OTHER_PAYMENTS,
        applies=explain_no_payments,
        check=truthfulness.no_deficit,
    ),
)
"""Every claim: those that a proof settles, then those that audits check, in the order of their output."""
THEORY = make_claims(CLAIMS, AUDITS, SIGNS, Case)
audit = THEORY.audit


def list_searches() -> dict[str, SearchSpace]:
    """Among which instances violations are searched for, by claim; the false ones, where a search ends, first."""
    ordered = sorted(CLAIMS, key=lambda claim: claim.standing is not ProofStatus.FALSE)
    return {claim.name: claim.search for claim in ordered if claim.search is not None}
