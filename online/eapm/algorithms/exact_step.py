"""The myopic step without the printed rule's faults: no placement of the bag leaves a larger profit rate.

For a finish time M of at least the present makespan, machine j has room for u_j = floor((M - L_j) / ETC_ij) tasks, and
filling the machines from the cheapest on, in order of (c ETC APC, index), is the least cost C(M). So the best step is
the M with the largest (P + p_i - C(M)) / M. No machine takes more than the bag: C depends on min(a_i, u_j) alone, and
falls only where one of these grows, at M = L_j + k ETC_ij with 1 <= k <= a_i. These a_i m times and the present
makespan are all candidates (Lemma 1 misses the latter). Most are passed over by a bound. Without floors C would be
convex and piecewise linear: on each piece the s - 1 cheapest machines are full, machine s takes the rest, and

    C(M) >= a_i c_s - sum_{j<s} (c_s - c_j) (M - L_j) / ETC_ij,    so    rate(M) <= D + K / M,

which is monotone in M. From the better end of each piece candidates are visited until the bound is below the best rate
found. Rates are compared exactly, in integers; the bound is in doubles, with room for their error, so it passes over
nothing that could win. Of equal rates the least makespan is taken.

That is the exact best step whenever some placement leaves a profit above 0. When none does, all rates are <= 0 and a
longer makespan would make a loss look better; then the bag goes whole to its cheapest machine (least loss).

A step visits at most `LIMIT` candidates. One that needed more is counted as `cut_short`, and nothing is proved of it:
its rate is at least that of the best end of a piece and of every candidate visited, but a better step may exist, by
any factor. A step that is not counted is proved to be the best; in a run with `cut_short` 0 every step is. As
neighbouring pieces overlap by rounding only, no step of a_i m candidates well below `LIMIT` is cut short.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined, sort_stably
from ratiobench.online.eapm.protocol import Decision, Public, User, View
from ratiobench.online.remarks import Part, Remarks

LIMIT = 100_000
NEVER = 2**63 - 1  # Later than any finish time


@inlined
def _larger(a, b, c, d):  # type: ignore[no-untyped-def]
    """The sign of a/b - c/d for integers a, c >= 0 and b, d > 0, without overflow."""
    sign = 1
    while True:
        p, q = a // b, c // d
        if p != q:
            return sign if p > q else -sign
        a, c = a - p * b, c - q * d
        if a == 0 or c == 0:
            return sign * ((a > 0) - (c > 0))
        # Both are in (0, 1): compare their inverses the other way round.
        a, b, c, d = b, a, d, c
        sign = -sign


@compiled
def _profit(order, load, etc, cost, tasks, worth, finish):  # type: ignore[no-untyped-def]
    """worth - C(finish); -1 if not all tasks can end by then or nothing is left."""
    left = tasks
    for j in order:
        free = min(left, (finish - load[j]) // etc[j])
        worth -= free * cost[j]
        left -= free
        if left == 0:
            return max(worth, -1)
    return -1


@inlined
def _next(load, etc, tasks, finish):  # type: ignore[no-untyped-def]
    """The least candidate above `finish`, which is no less than any load; NEVER if there is none."""
    least = NEVER
    for j in range(len(load)):
        free = (finish - load[j]) // etc[j]
        if free < tasks:
            least = min(least, load[j] + (free + 1) * etc[j])
    return least


@inlined
def _previous(load, etc, tasks, finish):  # type: ignore[no-untyped-def]
    """The largest candidate below `finish`, which is above every load; the largest load if there is none."""
    largest = 0
    for j in range(len(load)):
        largest = max(largest, load[j] + min(tasks, (finish - 1 - load[j]) // etc[j]) * etc[j])
    return largest


@compiled
def best_step(load, etc, cost, tasks, worth, limit, shares):  # type: ignore[no-untyped-def]
    """Fill `shares`, (m,) zeros, with the best step; whether `limit` candidates were enough; `worth`: P + p_i."""
    m = len(load)
    order = sort_stably(cost)
    makespan = load.max()
    first = order[0]
    whole = max(makespan, load[first] + tasks * etc[first])
    finish = whole
    profit = worth - tasks * cost[first]
    if profit <= 0:
        shares[first] = tasks
        return True
    # The ends of the pieces; the present makespan is one of them.
    ends = np.empty(m)
    placed = inverse = 0.0
    for s in range(m):
        j = order[s]
        placed += load[j] / etc[j]
        inverse += 1.0 / etc[j]
        ends[s] = (tasks + placed) / inverse
        # A longer makespan than that of the whole bag on its cheapest machine saves nothing.
        end = max(makespan, np.int64(min(np.ceil(ends[s]), whole * 1.0))) if s > 0 else makespan
        gain = _profit(order, load, etc, cost, tasks, worth, end)
        if gain > 0:
            sign = _larger(gain, end, profit, finish)
            if sign > 0 or (sign == 0 and end < finish):
                profit, finish = gain, end
    visited = 0
    enough = True
    slack = (4 * m + 32) * 2.0**-52
    full = held = spent = dear = 0.0
    for s in range(1, m):
        j = order[s - 1]
        full += 1.0 / etc[j]
        held += load[j] / etc[j]
        spent += cost[j] * (load[j] / etc[j])
        dear += cost[j] / etc[j]
        high = ends[s - 1]
        if high * (1.0 + slack) + 1.0 < makespan:
            continue
        c = cost[order[s]] * 1.0
        slope = c * full - dear
        constant = (worth - c * tasks) - (c * held - spent)
        doubt = 4.0 * slack * (abs(worth * 1.0) + c * tasks + c * held + spent)
        error = 4.0 * slack * (c * full + dear)
        low = max(makespan, np.int64(max(ends[s] * (1.0 - slack) - 1.0, 0.0)))
        top = np.int64(high * (1.0 + slack) + 2.0)
        upwards = constant >= 0.0
        # Where the sign of K is in doubt, the bound of the lower end holds on the whole piece.
        flat = not upwards and constant + doubt > 0.0
        at = low if upwards else top
        while True:
            at = _next(load, etc, tasks, at) if upwards else _previous(load, etc, tasks, at)
            if (upwards and at > top) or (not upwards and at <= low):
                break
            if slope + error + (constant + doubt) / (low if flat else at) < (profit / finish) * (1.0 - slack):
                break
            if visited == limit:
                enough = False
                break
            visited += 1
            gain = _profit(order, load, etc, cost, tasks, worth, at)
            if gain > 0:
                sign = _larger(gain, at, profit, finish)
                if sign > 0 or (sign == 0 and at < finish):
                    profit, finish = gain, at
    left = tasks
    for j in order:
        shares[j] = min(left, (finish - load[j]) // etc[j])
        left -= shares[j]
        if left == 0:
            break
    return enough


class ExactStep:
    arithmetic = "exact"

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self.counts = {"cut_short": 0}
        self._users = 0

    @property
    def remarks(self) -> Remarks:
        """The name, and at how many users a better step may have been missed."""
        cut = self.counts["cut_short"]
        return Remarks("online:rule=exact-step", limit=Part(cut, self._users) if cut else None)

    def decide(self, user: User, view: View) -> Decision:
        shares = np.zeros(len(user.cost), np.int64)
        worth = view.profit + user.price
        enough = best_step(view.load_ms, user.etc_ms, user.cost, user.tasks, worth, LIMIT, shares)
        self.counts["cut_short"] += not enough
        self._users += 1
        return tuple(shares.tolist())
