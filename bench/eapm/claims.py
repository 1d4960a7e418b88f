"""The second paper's claims about its online algorithm, checked on one run in exact arithmetic.

Runs of every reading of the paper are checked; each verdict names its reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ratiobench.bench.family.checks import ANOTHER, Check, Verdict, compare_sides
from ratiobench.bench.family.source import read_sources
from ratiobench.bench.theory.claim import Case, Claim, keep_by_content, make_claims
from ratiobench.instances.eapm.format import content_hash
from ratiobench.instances.eapm.model import Instance, IntArray, User, freeze, profit_rate
from ratiobench.online.eapm import registry
from ratiobench.online.eapm.run import run

AUDITS = "2"  # Version of all checks. Raise it with every claim that is added and every check whose outcome changes.
NOTATION = (
    ("a_i, p_i", "number of tasks in the bag of user i, and the payment of the user"),
    ("ETC_ij, c", "time of one task of user i on machine j; cost of energy"),
    ("L_j, MS", "time until which machine j is busy; the latest of them"),
    ("x_ij", "tasks of user i on machine j"),
    ("tau", "number of the dearest machines that a system of equations leaves out, plus one"),
    ("(20)", "x_ij = (MS - L_j) / ETC_ij on the machines tau..m, which sum to a_i: one system of equations per tau"),
    (
        "reading",
        "how (13) compares the systems: x_ij below 0 as they are (shares=kept), as 0 (clipped), or their systems left "
        "out (excluded); with the MS of (20) (makespan=system) or of (11) (true). `online` alone: clipped, true",
    ),
)

_ASSUMED = "a run of the algorithm as printed, in any reading"


def _reading(algorithm: str) -> str | None:
    """How the printed rule is read under this name; None for other algorithms."""
    spec = registry.parse(algorithm)
    if spec.head != "online" or spec.options["rule"] != "printed":
        return None
    return f"shares={spec.options['shares']}, makespan={spec.options['makespan']}"


def _another(case: Case[Instance]) -> str:
    return f"{ANOTHER}`online` as printed" if _reading(case.run.algorithm) is None else ""


def _in_reading(check: Callable[[Case[Instance]], Check]) -> Callable[[Case[Instance]], Check]:
    def check_in_reading(case: Case[Instance]) -> Check:
        made = check(case)
        return replace(made, figures={"reading": _reading(case.run.algorithm), **made.figures})

    return check_in_reading


def _counted(count: str, what: str, case: Case[Instance]) -> Check:
    counts = case.run.counts
    return replace(compare_sides(counts[count], 0, f"{what} <= 0"), figures={"systems": counts["systems"]})


def _best_of_three(case: Case[Instance]) -> Check:
    instance, run, _ = case
    bags = zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True)
    if any(price <= tasks * int(instance.cost[kind].min()) for kind, tasks, price in bags):
        reason = "a user pays no more than the least energy (gamma <= 1)"
        return Check("", Verdict.NOT_APPLICABLE, None, None, reason)
    values = {name: Fraction(_play(instance, name).welfare) for name in ("greedy", "average")}
    return replace(compare_sides(max(values.values()), run.welfare, "max(Greedy, Average) <= Online"), figures=values)


_play = keep_by_content(content_hash, 16)(run)


def _best_step(case: Case[Instance]) -> Check:
    """Step by step against the best placement; the first step that falls short is the witness.

    If no placement of a bag leaves a profit there is no best one (a longer makespan makes a loss look better).
    """
    instance, run, _ = case
    from ratiobench.online.eapm.algorithms.exact_step import LIMIT, best_step

    claim = "profit rate after the best placement of a bag <= that after the one made"
    load: IntArray = np.zeros(len(instance.machines), np.int64)
    earned = settled = short = 0
    for i, taken in enumerate(run.decisions):
        assert taken is not None  # only valid runs are audited
        user = instance.user(i)
        worth = earned + user.price
        shares = np.zeros(len(load), np.int64)
        enough = best_step(freeze(load), user.etc_ms, user.cost, user.tasks, worth, LIMIT, shares)
        best, ours = (place_bag(load, user, placed, worth) for placed in (shares, np.array(taken)))
        earned = ours.profit
        if best.profit > 0:
            settled, short = settled + enough, short + (not enough)
            if best.rate > ours.rate:
                witness = {"user": i, "placement": list(taken), "best": shares.tolist()}
                return Check("", Verdict.VIOLATED, best.rate, ours.rate, claim, witness)
        load += np.array(taken, np.int64) * user.etc_ms
    verdict = Verdict.UNDECIDED if short else Verdict.HOLDS
    reason = f"{claim}: {short} steps have too many candidates" if short else claim
    return Check("", verdict, None, None, reason, None, {"steps": settled})


class Placement(NamedTuple):
    profit: int  # micro-units so far
    busy: int  # ms until which the last machine is busy
    rate: Fraction  # units per second


def place_bag(load: IntArray, user: User, shares: IntArray, worth: int) -> Placement:
    """So many tasks on each machine; `worth`: the profit so far and what the user pays."""
    profit, busy = worth - int(shares @ user.cost), int((load + shares * user.etc_ms).max())
    return Placement(profit, busy, profit_rate(profit, busy))


# A claim about the printed algorithm that some run refutes
_false_claim = partial(Claim, standing="false", applies=_another)
# The paper's claims about its algorithm: one that a proof settles, then those that an audit checks, in its order
CLAIMS: tuple[Claim[Case[Instance]], ...] = (
    Claim(
        name="theorem1",
        statement="The algorithm as printed takes O(n m^4) time.",
        source="second paper, Theorem 1",
        standing="proved",
        assumptions="time is counted in arithmetic operations; systems are solved by elimination",
        repaired=(
            "The bound is not tight for the rule: (20) has a closed form. With the systems kept or excluded it takes "
            "O(n m log m) operations, with shares below 0 clipped O(n m^2): `online`."
        ),
        proof=(
            "For each of the n users, line 4 solves one system of m - tau + 2 unknowns (the shares of machines tau..m "
            "and MS) for each tau = 1..m. Elimination takes O((m - tau + 2)^3) operations, and the sum of k^3 over k = "
            "2..m+1 is of order m^4. Sorting the machines takes O(m log m), the objective (13) of all systems O(m^2), "
            "rounding O(m). So elimination of dense systems takes n m^4 operations up to a constant factor, and no "
            "fewer."
        ),
    ),
    _false_claim(
        name="best_step",
        statement=(
            "The best of the m solutions of (20), rounded as section 3 says, is the best placement (13) of the bag."
        ),
        source="second paper, Lemma 1 and section 3",
        assumptions=_ASSUMED,
        repaired=(
            "The best placement keeps MS at max L_j, or at a larger MS fills the cheapest machines first: `exact-step`."
        ),
        flaw=(
            "Lemma 1 looks at the finish times of (20) only; the best placement may end with the machine that is "
            "busy longest already, which is none of them."
        ),
        check=_in_reading(_best_step),
    ),
    _false_claim(
        name="shares",
        statement="Every solution of (20) is a placement: no share x_ij is negative, for any tau.",
        source="second paper, (20)",
        assumptions=_ASSUMED,
        repaired="Only machines with L_j <= MS may be among those that share; `shares=excluded` takes no other system.",
        flaw="(20) asks the machines tau..m for one finish time, but not that each of them is free before it.",
        check=_in_reading(partial(_counted, "negative_shares", "systems (20) with a negative share")),
    ),
    _false_claim(
        name="finish",
        statement=(
            "The MS of every system (20) can be the makespan (11) that (13) divides by: it is no less than max L_j so "
            "far."
        ),
        source="second paper, (11), (13), (20)",
        assumptions=_ASSUMED,
        repaired="The makespan is the larger one of MS and max L_j: `makespan=true` divides by it.",
        flaw="(20) does not look at the machines that it leaves out, which may be busy for longer than its MS.",
        check=_in_reading(partial(_counted, "below_makespan", "systems (20) with MS < max L_j")),
    ),
    _false_claim(
        name="best_of_three",
        statement="Online earns no less per unit time than Greedy and than Average, in every single run.",
        source=(
            "second paper, section 4.2, says it of all cases, which are means over 100 runs. Of means it depends on "
            "the reading: see the figure of Table 1. Here more is asked"
        ),
        assumptions=f"{_ASSUMED}; every user pays more than the least energy (gamma > 1)",
        flaw="the rule takes the best step for one user; that can leave the machines worse for those to come.",
        check=_in_reading(_best_of_three),
    ),
)
THEORY = make_claims(CLAIMS, AUDITS, NOTATION, Case[Instance])
audit = THEORY.audit
SOURCES = read_sources(Path(__file__).with_name("sources.toml"))
