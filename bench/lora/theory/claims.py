"""All claims in one table: statement, source, proof status, scope, and check.

The order is the paper's: claims settled by proof; lemmas and theorems as printed, each followed by its repaired form;
properties of capacity and money that the paper leaves open. Then come guarantees of other mechanisms, and properties
of any payment rule. Audits, their order, `search` and the texts of pages follow from it. Units are those of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory import guarantees, guarded, price_laws
from ratiobench.bench.lora.theory.basis import verdicts
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.paper import algorithms, bidding, lemma4, theorem5
from ratiobench.bench.lora.theory.payments import truthfulness
from ratiobench.bench.theory import claim
from ratiobench.bench.theory.claim import ClaimScope, make_claims
from ratiobench.online.lora.posted_prices import PostedTrace
from ratiobench.online.lora.traces import LawTerms, LinearTrace, PoolTerms, PriceTrace, StaticTerms, UnitTerms

# Version of all checks. Raise it with every claim that is added and every check whose outcome changes, unless the
# change concerns only algorithms that had no runs before.
AUDITS = "10"
OURS = "this project, docs/theory"
AS_TAKEN_OR_LEFT = (
    "proved if no constant comes from the bids and each task is charged the least cost over its schedules that fit"
)


class ProofStatus(StrEnum):
    PROVED = "proved"  # As stated, under the assumptions named
    FALSE = "false"  # There is a shipped counterexample, or a proof
    # Proved for the mechanisms of Theorem T; for others the check examines runs
    PROVED_BY_T = "proved for mechanisms of Theorem T, not claimed of others"


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Among which instances a violation is searched for; `counterexamples.targets.MEASURES` measures both sides."""

    statement: str  # the claim in one sentence, with its source
    algorithm: str = "pdftsp"  # whose run is checked
    costs: int | None = None  # least operational cost to try: None for no costs, else 0 or a negative number
    vendors: bool = False  # whether tasks may have vendors
    # bids are raised until every minimal schedule has bbar >= 1: always, never (0) or once in so many starts.
    raised: int = 1
    nodes: int = 1  # number of nodes at which to search by default


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(claim.Claim[Case]):
    # the claim about a single bidder, with much more work; None where it is not about bidders.
    check_one: Callable[[Case, int], Check] | None = None
    search: SearchSpace | None = None  # how a violation is searched for; None where it is not

    def check_bidder(self, case: Case, task: int) -> Check:
        assert self.check_one is not None, f"{self.name} is not about one bidder"
        problem = self.applies(case)
        return self.not_applicable(problem) if problem else replace(self.check_one(case, task), name=self.name)


def _additive(whom: str, mechanism: str) -> ClaimScope:
    return ClaimScope(whom, lambda run: isinstance(run.trace, LinearTrace) and mechanism in ("", run.trace.mechanism))


def _posted(whom: str, has_what: Callable[[PostedTrace], bool]) -> ClaimScope:
    return ClaimScope(whom, lambda run: isinstance(run.trace, PostedTrace) and has_what(run.trace))


PDFTSP = ClaimScope("pdFTSP", lambda run: isinstance(run.trace, PriceTrace), always_shown=True)
PRICES_SHOWN = ClaimScope(
    "algorithms that show their prices", lambda run: all(hasattr(run.trace, name) for name in ("exact", "lam", "phi"))
)
ADDITIVE = _additive("mechanisms with additive prices", "")
BASELINES = "docs/theory/baselines.md"
OTHER_PAYMENTS = ClaimScope("payments other than pdFTSP's", lambda run: not isinstance(run.trace, PriceTrace))

# The symbols of the statements; docs/theory/paper.md has them with the proofs. A claim's own are in its entry.
SIGNS = {
    "ALG, P": "welfare of the tasks that the algorithm admitted; P~ that of all tasks with F > 0, dropped ones "
    "included",
    "OPT": "the largest welfare of any solution, with all arrivals known",
    "s, r, M": "samples per slot, memory in GB (files have MB; `units=given` counts these) and total samples of a "
    "task; S, R: samples and memory summed over the cells (node, slot) of a schedule",
    "minimal schedule": "one that no longer does the work when a cell is taken away",
    "b, q, e": "bid, vendor's price, cost of operation per cell; b_il = b - q - sum e is the worth of a schedule",
    "lambda, phi": "prices of compute and memory per node and slot, of which there are C_p and C_m - r_b",
    "F": "b_il less S and R at the largest prices on the schedule (eq. 9); F' the same with each cell at its own price",
    "mu": "max(0, F) of a task; D^I the dual objective with these mu when the run ends (eq. 5); D the same with mu = "
    "max(0, max F') at any prices, which always bounds OPT",
    "(14)": "the paper's payment: vendor and prices, without the cost of operation, which b - F includes",
    "alpha, beta": "max b/M and max b/r over all tasks; A is the larger of the two",
    "(9), line 6": "numbers in brackets are equations of the main paper, lines those of its Algorithm 1",
    "bbar": "b_il / (S + R); rho = 1 + (bbar_max / bbar_min) max{s_max / s_min, r_max / r_min}; rho_L = 1 + L "
    "(bbar_max / bbar_min) (s_max + r_max) / (s_min + r_min), L being the most cells of a schedule",
    "kappa": "the largest of a schedule's number of cells and S over its slowest rate, over minimal schedules",
}

# Among instances with vendors, on two nodes; every second start with bids raised
_ON_TWO_NODES = partial(SearchSpace, costs=0, vendors=True, raised=2, nodes=2)

# What claims of one kind share
_claim_of_pdftsp = partial(Claim, about=PDFTSP)
_claim_of_paper = partial(_claim_of_pdftsp, applies=verdicts.explain_outside_paper)
_proved_claim = partial(Claim, standing=ProofStatus.PROVED, applies=verdicts.explain_invalid)
_claim_of_payments = partial(
    Claim, standing=ProofStatus.PROVED_BY_T, asked=True, about=OTHER_PAYMENTS, applies=truthfulness.explain_no_payments
)

# All claims: those settled by proof, then those that audits check, in the order of their output
CLAIMS: tuple[Claim, ...] = (
    _claim_of_pdftsp(
        name="theorem1",
        statement="problem (4) is NP-hard",
        source="main paper, Theorem 1",
        standing=ProofStatus.PROVED,
        proof="A knapsack of capacity C and items of weight w_i and value v_i is (4) with one node and one slot: K = T "
        "= 1, C_p = C, M_i = s_i = w_i, b_i = v_i, no costs, no vendors, memory for all. The printed reduction runs "
        "the wrong way: it leaves constraints of (4) out until a knapsack remains, and a relaxation that is hard does "
        "not make a problem hard.",
    ),
    _claim_of_pdftsp(
        name="theorem2",
        statement="Algorithms 1 and 2 finish in polynomial time, O(I N W T K)",
        source="main paper, Theorem 2",
        standing=ProofStatus.FALSE,
        repaired="O(I N W T K) is pseudo-polynomial: polynomial where the amounts of work are no larger than a "
        "polynomial in the number of tasks, slots and nodes",
        proof="W, the largest M_i, is a number in the input, which is as long as its logarithm, and Algorithm 2 loops "
        "from 1 to W. Nor can another algorithm solve (12) in polynomial time unless P = NP: min-knapsack (weights "
        "w_j, costs c_j, demand B, j = 1..n) is (12) at zero prices with K = T = n, s_ik = w_k, M_i = B, e_ikt = c_k "
        "for t = k and more than the sum of all c_j else.",
    ),
    _claim_of_pdftsp(
        name="theorem5",
        statement="OPT <= rho (1 + max{alpha, beta}) ALG",
        source="main paper, Theorem 5",
        standing=ProofStatus.FALSE,
        assumptions="none; a valid run of Algorithm 1 as printed (updates=all)",
        proof_assumes="e >= 0; alpha = max b/M, beta = max b/r of this instance; bbar >= 1 on the schedules that rho "
        "is taken over: the minimal ones or, where a minimal one has b_il <= 0, those of the run with F > 0 (basis: "
        "observed)",
        repaired="OPT <= kappa rho_L (1 + A) ALG (theorem5_repaired); as printed when every minimal schedule has one "
        "cell",
        flaw="the two halves of the proof, dual feasibility (Lemma 4) and the loss by dropped tasks (Lemma 3), do not "
        "hold: F charges the largest price of a schedule, the dual sums the prices of its cells; and a dropped task "
        "loses all its cells.",
        check=theorem5.theorem5,
        search=SearchSpace(
            "OPT <= rho (1 + max{alpha, beta}) ALG, where its proof's assumptions hold (Theorem 5; false)"
        ),
    ),
    _claim_of_pdftsp(
        name="theorem5_repaired",
        statement="OPT <= kappa rho_L (1 + A) ALG",
        source="Theorem 5' (a) and (b) of this project",
        standing=ProofStatus.PROVED,
        assumptions="e >= 0; bbar >= 1 on schedules with F > 0; alpha, beta at least this instance's; search=exact; "
        "updates=all",
        check=theorem5.theorem5_repaired,
        search=_ON_TWO_NODES("OPT <= kappa rho_L (1 + A) ALG where selected schedules have bbar >= 1 (Theorem 5')"),
    ),
    _claim_of_pdftsp(
        name="theorem5_repaired_a",
        statement="OPT <= kappa (1 + A) P~",
        source="Theorem 5' (a) of this project",
        standing=ProofStatus.PROVED,
        assumptions="search=exact; with a negative cost kappa runs over all covers",
        check=theorem5.theorem5_repaired_a,
        search=_ON_TWO_NODES("OPT <= kappa (1 + A) P~ (Theorem 5', first part)", costs=-9, raised=3),
    ),
    _claim_of_paper(
        name="lemma1",
        statement="D^I <= (1 + A) P~",
        source="main paper, Lemma 1",
        standing=ProofStatus.PROVED,
        check=theorem5.lemma1,
        search=_ON_TWO_NODES("D <= (1 + A) P~ (Lemma 1)", costs=-9, raised=3),
    ),
    _claim_of_pdftsp(
        name="lemma2",
        statement="no schedule with F > 0 uses a cell whose virtual load has reached a capacity",
        source="main paper, Lemma 2, with F <= 0 where it says F < 0",
        standing=ProofStatus.PROVED,
        assumptions="e >= 0; s <= C_p and r <= C_m - r_b on candidate nodes; bbar >= 1 on schedules with F > 0; alpha, "
        "beta at least this instance's",
        check=theorem5.lemma2,
        search=_ON_TWO_NODES("no schedule with F > 0 touches a cell whose virtual load has reached capacity (Lemma 2)"),
    ),
    _claim_of_pdftsp(
        name="lemma3",
        statement="P~ <= rho P",
        source="main paper, Lemma 3",
        standing=ProofStatus.FALSE,
        assumptions="those of the proof of theorem5; updates=all",
        repaired="P~ <= rho_L P (lemma3_repaired)",
        flaw="a dropped task is charged with the value of the one cell that overflows, but it loses all its cells.",
        check=theorem5.lemma3,
        search=SearchSpace("P~ <= rho P (Lemma 3; false)"),
    ),
    _claim_of_pdftsp(
        name="lemma3_repaired",
        statement="P~ <= rho_L P",
        source="Theorem 5' (b) of this project",
        standing=ProofStatus.PROVED,
        assumptions="as for theorem5_repaired; any search",
        check=theorem5.lemma3_repaired,
    ),
    _claim_of_paper(
        name="lemma4",
        statement="(mu, lambda, phi) after the last task satisfies (6a) for every schedule",
        source="main paper, Lemma 4",
        standing=ProofStatus.FALSE,
        repaired="(mu, kappa lambda, kappa phi) satisfies it (lemma4_repaired); sum C lambda + sum C phi + sum max(0, "
        "max F') bounds OPT at any prices",
        flaw="F takes the largest prices of a schedule times S and R, (6a) sums the prices cell by cell, so F can be 0 "
        "where that sum leaves a surplus, and prices that rise later may rise in other cells.",
        check=lemma4.lemma4,
        search=SearchSpace("mu_i + sum (lambda s + phi r) >= b_il at final prices (Lemma 4; false)"),
    ),
    _claim_of_pdftsp(
        name="lemma4_repaired",
        statement="(mu, kappa lambda, kappa phi) satisfies (6a) for every schedule",
        source="Theorem 5' (a) of this project",
        standing=ProofStatus.PROVED,
        assumptions="search=exact",
        applies=verdicts.explain_outside_dual,
        check=lemma4.lemma4_repaired,
    ),
    _claim_of_paper(
        name="weak_duality",
        statement="OPT <= D^I",
        source="main paper, (16), last step",
        standing=ProofStatus.FALSE,
        repaired="OPT <= D(lambda, phi) with mu_i = max(0, max F') for any prices",
        flaw="D^I bounds OPT when the dual solution is feasible, which is Lemma 4.",
        check=lemma4.weak_duality,
    ),
    _claim_of_paper(
        name="algorithm2",
        statement="Algorithm 2 finds a schedule of the largest F for every task, at the prices on its arrival",
        source="main paper, section 3: dynamic programming finds the optimal solution of (9) and (12)",
        standing=ProofStatus.FALSE,
        assumptions="exact prices; true increments, overshoot clipped at 0, first slot usable (search=printed)",
        repaired="for every pair of prices keep the cells that are no dearer, and solve the additive covering "
        "programme (search=exact)",
        flaw="a state of the table keeps its cheapest path, but every further unit pays the largest prices of the "
        "whole path, so a path that is dearer at this state can end cheaper.",
        check=algorithms.algorithm2,
    ),
    _claim_of_paper(
        name="theorem3",
        statement="no bid gains more than the true valuation",
        source="main paper, Theorem 3, alpha and beta from the bids",
        standing=ProofStatus.FALSE,
        assumptions="undecided where canonical units depend on the bid, or with search=printed, unless a bid that "
        "changes no constant gains",
        repaired="with public constants and the payment b - F, which is a posted price: truthful in the bid",
        flaw="alpha and beta are the largest ratios of the bids themselves, so a bid changes the prices that it is "
        "offered; and (14) does not charge the operational cost.",
        check=bidding.theorem3,
        check_one=bidding.theorem3,
        search=SearchSpace("no bid gains more than the true valuation (Theorem 3; false)", costs=0, raised=0),
    ),
    _claim_of_paper(
        name="theorem3_fixed_constants",
        statement="no bid gains more than the true valuation if no constant depends on the bid",
        source="main paper, Theorem 3",
        standing=ProofStatus.FALSE,
        repaired="true for payment=critical; for (14) when every e = 0",
        flaw="a task wins above c = b - F, but (14) charges c less the operational cost: a task whose valuation is "
        "between the two gains by bidding above c.",
        check=bidding.theorem3_fixed_constants,
        check_one=bidding.theorem3_fixed_constants,
    ),
    _claim_of_paper(
        name="theorem3_types",
        statement="no report of a narrower window, more work or more memory gains",
        source="main paper, section 2 (the bid contains them); not claimed",
        standing=ProofStatus.FALSE,
        assumptions="constants kept; exact prices; every window inside the true one, larger work and memory, alone and "
        "together; undecided where not all of them were run (with search=printed only a few, on large instances)",
        repaired="true if the schedule is the cheapest among those that fit",
        flaw="Algorithm 1 chooses a schedule first and tests its capacity afterwards, so a report that rules out the "
        "crowded slot can win where the true report is dropped.",
        asked=True,
        check=bidding.theorem3_types,
        check_one=bidding.theorem3_types,
    ),
    _claim_of_paper(
        name="theorem4",
        statement="a truthful bid never pays more than its valuation",
        source="main paper, Theorem 4, for truthful bids",
        standing=ProofStatus.PROVED,
        assumptions="e >= 0, or payment=critical",
        check=bidding.theorem4,
    ),
    _claim_of_paper(
        name="theorem4_literal",
        statement="no bid, truthful or not, ends in a loss",
        source="main paper, Definition 3 as printed",
        standing=ProofStatus.FALSE,
        repaired="for truthful bids (theorem4)",
        flaw="a task that bids above a price that exceeds its valuation wins and loses money, under any rule that "
        "charges something.",
        check=bidding.theorem4_literal,
    ),
    _claim_of_paper(
        name="provider_deficit",
        statement="every admitted task pays at least its vendor's price and its operational cost",
        source="examined by this project, for (14)",
        standing=ProofStatus.FALSE,
        repaired="true for payment=critical: b - F = q + sum e + prices",
        flaw="(14) charges the vendor and the prices, but not the operational cost.",
        asked=True,
        check=bidding.provider_deficit,
    ),
    _claim_of_pdftsp(
        name="drops",
        statement="at most one task is dropped per cell",
        source="main paper, proof of Lemma 3",
        standing=ProofStatus.PROVED,
        assumptions="as for lemma3_repaired",
        applies=verdicts.explain_outside_selected,
        check=algorithms.drops,
    ),
    _claim_of_pdftsp(
        name="overflow",
        statement="without line 8 no capacity is exceeded",
        source="examined by this project, for Algorithm 1",
        standing=ProofStatus.FALSE,
        assumptions="updates=all",
        repaired="with prices that reach max b/s at load C - s: exponential prices, raised on admission",
        flaw="prices keep tasks off a full cell (Lemma 2), but not off one that is nearly full, where a task can be "
        "larger than the free capacity.",
        asked=True,
        applies=verdicts.explain_outside_algorithm1,
        check=algorithms.overflow,
    ),
    _claim_of_pdftsp(
        name="ghost_updates",
        statement="the price updates of dropped tasks change no decision",
        source="examined by this project, for line 7 of Algorithm 1",
        standing=ProofStatus.FALSE,
        assumptions="updates=all",
        flaw="line 7 raises prices for a task that line 8 rejects, so later tasks pay for capacity that is free.",
        asked=True,
        applies=verdicts.explain_outside_algorithm1,
        check=algorithms.ghost_updates,
    ),
    _proved_claim(
        name="dual_certificate",
        statement="OPT <= D(tau lambda, tau phi) at the final prices of any run, for any tau >= 0",
        source="weak duality for (5) with mu_i = max(0, max F')",
        assumptions="none; the algorithm must expose its prices",
        about=PRICES_SHOWN,
        check=guarantees.dual_certificate,
    ),
    _proved_claim(
        name="theorem_a",
        statement="every schedule with F' > 0 fits, and OPT <= D <= Gamma ALG, Gamma = max(1, B) + B U / G",
        source=f"Theorem A: {OURS}, mechanism posted",
        assumptions="eps < 1; the public constants bound those of the instance",
        about=_additive("posted", "posted"),
        check=guarantees.theorem_a,
        search=_ON_TWO_NODES(
            "every schedule with F' > 0 fits, and OPT <= D <= Gamma ALG (Theorem A)", "posted:growth=2", raised=0
        ),
        signs=(
            (
                "B, G, U, eps, X",
                "of the corrected mechanisms: growth and scale of prices, spread and largest share of a task, largest "
                "density",
            ),
        ),
    ),
    _proved_claim(
        name="theorem_b",
        statement="every schedule with F' > 0 fits, and OPT <= D <= (1 + max{alpha, beta}) ALG",
        source=f"Theorem B: {OURS}, mechanism minimal-edit",
        assumptions="as for theorem_a; bbar >= 1 on admitted schedules",
        about=_additive("minimal-edit", "minimal-edit"),
        check=guarantees.theorem_b,
        search=_ON_TWO_NODES(
            "every schedule with F' > 0 fits, and OPT <= D <= (1 + max{alpha, beta}) ALG if bbar >= 1 (Theorem B)",
            "minimal-edit",
            raised=1,
        ),
    ),
    _proved_claim(
        name="theorem_c",
        statement="OPT <= D <= Gamma' ALG + Leak, where D, Gamma' and Leak are known at the end of the run",
        source=f"Theorem C: {OURS}, mechanisms with additive prices",
        about=ADDITIVE,
        check=guarantees.theorem_c,
    ),
    _proved_claim(
        name="theorem_c_a_priori",
        statement="OPT <= D(full cells raised) <= (Gamma' + U / (1 - eps)) ALG",
        source=f"Theorem C: {OURS}, mechanisms with additive prices and a capacity test",
        assumptions="eps < 1",
        about=ADDITIVE,
        check=guarantees.theorem_c_a_priori,
    ),
    _proved_claim(
        name="theorem_g",
        statement="OPT <= D(full cells) <= (1 + U / (1 - eps)) ALG",
        source=f"Theorem G: {OURS}, the greedy rule",
        assumptions="eps < 1",
        about=ClaimScope("greedy", lambda run: run.algorithm == "greedy"),
        check=guarantees.theorem_g,
    ),
    _proved_claim(
        name="theorem_h",
        statement="OPT <= D <= (rho + max(1, beta)) ALG + A0 + E",
        source=f"Theorem H: {OURS}, the guard around any posted prices",
        assumptions="E is 0 if the announced classes and caps bound those of the instance",
        about=_posted("guarded prices", lambda trace: trace.announced is not None),
        check=guarded.theorem_h,
        search=_ON_TWO_NODES(
            "OPT <= D <= (rho + max(1, beta)) ALG + A0 + E (Theorem H)",
            "guarded:inner=posted,beta=3,rho=1,margin=1",
            costs=-9,
            raised=0,
        ),
        signs=(
            (
                "rho, beta (guard)",
                "factors of the guard: raises of credits for proposed prices, and the raise by a sale",
            ),
            ("Omega", "an upper bound on the weight of the tasks that fit one node"),
            ("A0", "the credits of empty nodes, sum Omega_g K_g Phi"),
            ("E", "worth of the tasks of no announced class, and the worth of other tasks above their cap"),
        ),
    ),
    _proved_claim(
        name="theorem_p",
        statement="OPT <= D <= max(1, B) ALG + (priced capacity before the first task)",
        source=f"Lemma P and Theorem A+: {BASELINES}",
        assumptions="eps < 1; the public constants bound those of the instance; the price law does not jump",
        about=_posted("prices that follow loads", lambda trace: isinstance(trace.terms, LawTerms)),
        check=price_laws.theorem_p,
        search=_ON_TWO_NODES(
            "OPT <= D <= max(1, B) ALG + zeta sum CX (Lemma P, Theorem A+)", "reserve:loss=1/8", costs=-9, raised=0
        ),
        signs=(
            (
                "B (price laws)",
                "a sale of a share d <= eps of a resource raises its price by a factor of at most 1 + B d",
            ),
            ("zeta", "the price of an empty cell, divided by X"),
        ),
    ),
    _proved_claim(
        name="theorem_pool",
        statement="OPT <= D <= (max(1, Omega B) + Omega B U/G) ALG + (priced capacity before the first task)",
        source=f"Theorem A for pools: {BASELINES}",
        assumptions="eps < 1; the public constants bound those of the instance",
        about=_posted("pooled", lambda trace: isinstance(trace.terms, PoolTerms)),
        check=price_laws.theorem_pool,
        search=_ON_TWO_NODES(
            "OPT <= D <= (max(1, Omega B) + Omega B U/G) ALG, one price per node type and slot (Theorem A for pools)",
            "pooled",
            costs=-9,
            raised=0,
        ),
    ),
    _proved_claim(
        name="theorem_a1",
        statement="OPT <= D <= Gamma ALG, one price per node type and slot",
        source=f"Theorem A': {BASELINES}",
        assumptions="tasks of one cell; any n tasks fit a node and no n + 1 do; costs >= 0; values of units between L "
        "and theta L",
        about=_posted("units", lambda trace: isinstance(trace.terms, UnitTerms)),
        check=price_laws.theorem_a1,
    ),
    _proved_claim(
        name="theorem_s",
        statement="OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG at price 0; at a drawn price (1 + 2 Omega "
        "sigma / (f (sigma - 1))) (1 + ln theta) in the mean",
        source=f"Theorems S and S2: {BASELINES}",
        assumptions="no costs, no vendor prices; slackness sigma > 1; at a drawn price one node type for each task",
        about=_posted("static", lambda trace: isinstance(trace.terms, StaticTerms)),
        check=price_laws.theorem_s,
        search=SearchSpace(
            "OPT <= (1 + theta 2 Omega sigma / (f (sigma - 1))) ALG of the greedy rule, no costs (Theorem S)",
            "static:price=0",
            raised=0,
            nodes=2,
        ),
        signs=(
            (
                "sigma",
                "slackness: the least ratio, over all tasks, of the window to the slots needed at the slowest rate",
            ),
            ("f", "a lower bound on the weight on a node on which some task does not fit"),
            ("theta", "ratio of the largest to the least value per unit of weight, or of a unit"),
        ),
    ),
    _claim_of_payments(
        name="truthful_bid",
        statement="no bid gains more than the true valuation, for any task",
        source=f"Theorem T: {OURS}",
        assumptions=(
            f"a payment rule other than pdFTSP's; {AS_TAKEN_OR_LEFT} (there the run's offers are recomputed); "
            "otherwise misreports are tried: violated if one gains, undecided if none does"
        ),
        check=truthfulness.truthful_bid,
        check_one=truthfulness.truthful_bid,
    ),
    _claim_of_payments(
        name="truthful_type",
        statement="with a truthful bid, no report of a later arrival, earlier deadline, more work or more memory gains",
        source=f"Theorem T: {OURS}",
        assumptions="as for truthful_bid",
        check=truthfulness.truthful_type,
        check_one=truthfulness.truthful_type,
    ),
    _claim_of_payments(
        name="rational",
        statement="no truthful bidder is charged more than its valuation",
        source=f"Theorem T: {OURS}",
        assumptions=f"a payment rule other than pdFTSP's; decided from the recorded charges; {AS_TAKEN_OR_LEFT}",
        check=truthfulness.rational,
    ),
    _claim_of_payments(
        name="no_deficit",
        statement="every admitted task is charged at least its vendor's price and its operational cost",
        source=f"Theorem T: {OURS}",
        assumptions="as for rational",
        check=truthfulness.no_deficit,
    ),
)
THEORY = make_claims(CLAIMS, AUDITS, tuple(SIGNS.items()), Case)
audit = THEORY.audit
