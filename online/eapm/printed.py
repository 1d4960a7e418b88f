"""The second paper's algorithm `online` as it is printed, with eq. (20) in closed form: O(m log m) per user, exactly.

Machines stand cheapest first, by (ETC APC, index): the paper's machine m is the first here, its tau = m - s + 1. The
s cheapest machines share one finish time,

    MS_s = (a_i + sum L_j / ETC_ij) / sum 1 / ETC_ij,    x_ij = (MS_s - L_j) / ETC_ij,

and the system with the largest (P + p_i - C_i) / MS_s is taken, as (13) asks (of equals the one with the most machines:
the paper's smallest tau). Its tasks are placed as section 3 says, ceil(x_ij) on each machine from the cheapest on until
the bag is empty; the pseudo-code's order 1..m would start with the dearest. What the paper leaves open:

- A negative x_ij (a machine that is loaded beyond MS_s) enters (13) as it is and places no task.
- No task is ever left over: the positive ceil(x_ij) add up to a_i at least.
- MS_s may lie below the makespan so far. (13) then promises a rate that cannot be had; the promise is kept as it is.

How often that happens is counted: `systems`, those of them with a negative share (`negative_shares`) and with a finish
time below the makespan so far (`below_makespan`), and the same of the systems that were taken (`chosen_negative`,
`chosen_below`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit

from instances.eapm.model import frozen
from online.eapm.exact_step import ExactStep
from online.eapm.protocol import Decision, Public, User, View
from online.eapm.registry import Entry, Option, register

_SYSTEMS = ("negative_shares", "below_makespan", "chosen_negative", "chosen_below")


@njit(cache=True, nogil=True)
def _in_doubles(load, etc, cost, energy, tasks, worth, shares, found):  # type: ignore[no-untyped-def]
    """The decision in doubles where rounding cannot have changed it; False where exact arithmetic has to decide.

    shares : (m,) zeros, becomes the decision. found : (4,) zeros, becomes the counts in the order of `_SYSTEMS`.
    worth : P + p_i.
    """
    m = len(load)
    order = np.argsort(energy, kind="mergesort")
    makespan = load.max() * 1.0
    # Every sum below has at most 2m terms of one sign, so this covers its relative error several times.
    slack = (4 * m + 32) * 2.0**-52
    finish = np.empty(m)
    rate = np.empty(m)
    doubt = np.empty(m)
    negative = np.empty(m, np.bool_)
    placed = inverse = spent = dear = fullest = 0.0
    for s in range(m):
        j = order[s]
        placed += load[j] / etc[j]
        inverse += 1.0 / etc[j]
        spent += cost[j] * (load[j] / etc[j])
        dear += cost[j] / etc[j]
        fullest = max(fullest, load[j] * 1.0)
        ms = (tasks + placed) / inverse
        if abs(ms - fullest) <= slack * ms or abs(ms - makespan) <= slack * ms:
            return False
        finish[s] = ms
        negative[s] = fullest > ms
        found[0] += negative[s]
        found[1] += makespan > ms
        rate[s] = (worth - (ms * dear - spent)) / ms
        doubt[s] = 4.0 * slack * (abs(worth * 1.0) + ms * dear + spent) / ms
    best = 0
    for s in range(1, m):
        if rate[s] > rate[best]:
            best = s
    for s in range(m):
        if s != best and rate[s] + doubt[s] >= rate[best] - doubt[best]:
            return False
    found[2] += negative[best]
    found[3] += makespan > finish[best]
    ms = finish[best]
    left = tasks
    for s in range(best + 1):
        j = order[s]
        if best == 0:
            shares[j] = left  # the one machine takes the bag: no rounding to fear
            left = 0
            break
        x = (ms - load[j]) / etc[j]
        if abs(x - np.rint(x)) <= slack * (ms + load[j]) / etc[j]:
            return False
        if x > 0.0:
            # A share beyond the bag would not fit an integer for certain.
            share = left if x >= left else min(left, np.int64(np.ceil(x)))
            shares[j] = share
            left -= share
            if left == 0:
                break
    return left == 0


@lru_cache(maxsize=1)
def _load() -> None:
    """Have what was compiled in memory before a clock runs."""
    one = frozen([1])
    _in_doubles(one, one, one, one, 1, 2, np.zeros(1, np.int64), np.zeros(4, np.int64))


def exactly(
    load: list[int], etc: list[int], cost: list[int], energy: list[int], tasks: int, worth: int
) -> tuple[list[int], list[int]]:
    """The decision and the counts of `_SYSTEMS` in fractions: the same rule, for the cases on the edge.

    Parameters
    ----------
    load, etc, cost, energy : (m,) L_j, ETC_ij, c ETC_ij APC_ij and ETC_ij APC_ij.
    tasks, worth : a_i and P + p_i.
    """
    order = sorted(range(len(load)), key=lambda j: (energy[j], j))
    placed, inverse, spent, dear, fullest = Fraction(tasks), Fraction(0), Fraction(0), Fraction(0), 0
    counts = [0, 0, 0, 0]
    best: tuple[Fraction, Fraction, int, bool] | None = None
    for s, j in enumerate(order):
        each = Fraction(1, etc[j])
        placed += load[j] * each
        inverse += each
        spent += cost[j] * load[j] * each
        dear += cost[j] * each
        fullest = max(fullest, load[j])
        finish = placed / inverse
        rate = (worth - finish * dear + spent) / finish
        counts[0] += fullest > finish
        counts[1] += max(load) > finish
        if best is None or rate >= best[0]:
            best = (rate, finish, s, fullest > finish)
    assert best is not None
    _, finish, last, negative = best
    counts[2] += negative
    counts[3] += max(load) > finish
    shares, left = [0] * len(load), tasks
    for j in order[: last + 1]:
        shares[j] = min(left, max(0, -((load[j] - finish) // etc[j])))
        left -= shares[j]
    return shares, counts


class Printed:
    """One of m systems of equations per user, the best by (13), its shares rounded up from the cheapest machine on."""

    arithmetic = "exact"

    def __init__(self) -> None:
        _load()

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing is known and nothing counted yet."""
        self.counts = dict.fromkeys(("systems", *_SYSTEMS), 0)

    def decide(self, user: User, view: View) -> Decision:
        """In doubles, and again in fractions where a rounding error could have decided."""
        shares, found = np.zeros(len(user.cost), np.int64), np.zeros(4, np.int64)
        worth = view.profit + user.price
        if _in_doubles(view.load_ms, user.etc_ms, user.cost, user.energy_uj, user.tasks, worth, shares, found):
            decision, counted = shares.tolist(), found.tolist()
        else:
            load, etc, cost, energy = (a.tolist() for a in (view.load_ms, user.etc_ms, user.cost, user.energy_uj))
            decision, counted = exactly(load, etc, cost, energy, user.tasks, worth)
        self.counts["systems"] += len(decision)
        for name, count in zip(_SYSTEMS, counted, strict=True):
            self.counts[name] += count
        return tuple(decision)


def _make(options: Mapping[str, str]) -> Any:
    return Printed() if options["rule"] == "printed" else ExactStep()


register(
    Entry(
        "online",
        "the paper's online algorithm: the best profit rate after this user",
        "2",
        {"rule": Option("printed", ("printed", "exact-step"), "equations (20) as printed, or the best step exactly")},
        _make,
    )
)
