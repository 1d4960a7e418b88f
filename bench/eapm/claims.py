"""The second paper's claims about its online algorithm, checked on one run in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from bench.checks import Check, Verdict
from bench.family import Statement
from formulations.eapm.check import check
from instances.eapm.model import Instance, IntArray, User, profit_rate
from instances.eapm.solution import Decision
from online.outcome import OnlineRun

PRINTED = "online"
"""The paper's algorithm as it is printed."""

NOTATION = (
    ("a_i, p_i", "tasks in the bag of user i, and what the user pays for it"),
    ("ETC_ij, c", "time of one task of user i on machine j; cost of energy"),
    ("L_j, MS", "time until which machine j is busy; the latest of them"),
    ("x_ij", "tasks of user i on machine j"),
    ("tau", "how many of the dearest machines, less one, a system of equations leaves out"),
    ("(20)", "x_ij = (MS - L_j) / ETC_ij on the machines tau..m, which sum to a_i: one system of equations per tau"),
)

STATEMENTS = (
    Statement(
        "best_step",
        "The best of the m solutions of (20), rounded as section 3 says, is the best placement (13) of the bag.",
        "second paper, Lemma 1 and section 3",
        "false",
        "a run of the algorithm as printed",
        "The best placement keeps MS at max L_j, or at a larger MS fills the cheapest machines first: `exact-step`.",
    ),
    Statement(
        "shares",
        "Every solution of (20) is a placement: no share x_ij is negative, for any tau.",
        "second paper, (20)",
        "false",
        "a run of the algorithm as printed",
        "Only machines with L_j <= MS may be among those that share.",
    ),
    Statement(
        "finish",
        "The MS of every system (20) can be the makespan that (13) takes it for: it is no less than max L_j so far.",
        "second paper, (11), (13), (20)",
        "false",
        "a run of the algorithm as printed",
        "The makespan is the larger one of MS and max L_j.",
    ),
    Statement(
        "best_of_three",
        "Online earns no less per unit time than Greedy and than Average.",
        "second paper, section 4.2: in all cases, which are means over 100 runs; here it is asked of every run",
        "false",
        "a run of the algorithm as printed; every user pays more than the least energy (gamma > 1)",
        "",
    ),
)


def audit(instance: Instance, run: OnlineRun) -> list[Check]:
    """Every claim of `STATEMENTS` on one run, in their order."""
    if run.algorithm != PRINTED:
        reason = f"a claim about `{PRINTED}`"
        return [Check(each.name, Verdict.NOT_APPLICABLE, None, None, reason) for each in STATEMENTS]
    return [
        _best_step(instance, run.decisions),
        _counted("shares", run, "negative_shares", "systems (20) with a negative share"),
        _counted("finish", run, "below_makespan", "systems (20) with MS < max L_j"),
        _best_of_three(instance, run),
    ]


def _counted(name: str, run: OnlineRun, count: str, what: str) -> Check:
    """That something never happened."""
    found, systems = run.counts[count], run.counts["systems"]
    verdict = Verdict.VIOLATED if found else Verdict.HOLDS
    return Check(name, verdict, Fraction(found), Fraction(0), f"{what} <= 0", None, {"systems": systems})


def _best_of_three(instance: Instance, run: OnlineRun) -> Check:
    """Greedy and Average made anew, and verified."""
    if any(int(price) <= int(tasks) * int(instance.cost[kind].min()) for kind, tasks, price in _users(instance)):
        reason = "a user pays no more than the least energy (gamma <= 1)"
        return Check("best_of_three", Verdict.NOT_APPLICABLE, None, None, reason)
    values = {}
    for name, solution in (("greedy", _greedy(instance)), ("average", _average(instance))):
        value = check(instance, solution).value
        assert value is not None
        values[name] = value
    left, right = max(values.values()), Fraction(run.welfare)
    verdict = Verdict.HOLDS if left <= right else Verdict.VIOLATED
    return Check("best_of_three", verdict, left, right, "max(Greedy, Average) <= Online", None, dict(values))


def _users(instance: Instance) -> Iterator[tuple[int, int, int]]:
    return zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True)


def _greedy(instance: Instance) -> tuple[Decision, ...]:
    energy, machines = instance.etc_ms * instance.apc_mw, range(len(instance.machines))
    return tuple(
        tuple(int(tasks) if j == int(energy[kind].argmin()) else 0 for j in machines)
        for kind, tasks in zip(instance.kind, instance.tasks, strict=True)
    )


def _average(instance: Instance) -> tuple[Decision, ...]:
    m = len(instance.machines)
    return tuple(tuple(int(tasks) // m + (j < int(tasks) % m) for j in range(m)) for tasks in instance.tasks)


def _best_step(instance: Instance, decisions: Sequence[Decision | None]) -> Check:
    """Step by step against the best placement; the first step that falls short is the witness.

    Where no placement of a bag leaves a profit there is no best one (a longer makespan makes a loss look better); such
    steps are passed over.
    """
    from online.eapm.exact_step import LIMIT, best_step

    said = "profit rate after the best placement of a bag <= that after the one made"
    load: IntArray = np.zeros(len(instance.machines), np.int64)
    earned = settled = short = 0
    for i, taken in enumerate(decisions):
        assert taken is not None  # only valid runs are audited
        user = instance.user(i)
        worth = earned + user.price
        shares = np.zeros(len(load), np.int64)
        enough = best_step(load, user.etc_ms, user.cost, user.tasks, worth, LIMIT, shares)
        best, best_profit = _after(load, user, shares, worth)
        ours, earned = _after(load, user, np.array(taken), worth)
        if best_profit > 0:
            settled, short = settled + enough, short + (not enough)
            if best > ours:
                witness = {"user": i, "placement": list(taken), "best": shares.tolist()}
                return Check("best_step", Verdict.VIOLATED, best, ours, said, witness)
        load += np.array(taken, np.int64) * user.etc_ms
    verdict = Verdict.UNDECIDED if short else Verdict.HOLDS
    reason = f"{said}: {short} steps have too many candidates" if short else said
    return Check("best_step", verdict, None, None, reason, None, {"steps": settled})


def _after(load: IntArray, user: User, shares: IntArray, worth: int) -> tuple[Fraction, int]:
    """The profit rate and the profit once a bag is placed so."""
    profit = worth - int(shares @ user.cost)
    return profit_rate(profit, int((load + shares * user.etc_ms).max())), profit
