"""Balance: every machine has a price per millisecond, which grows exponentially with its load and learns on the way.

The makespan is a maximum over machines; its usual smooth stand-in (a soft maximum) is T ln sum_j q_j exp(L_j / T). One
more millisecond on machine j moves that by its weight w_j = q_j exp(L_j / T) / sum_h q_h exp(L_h / T), and a longer
makespan costs the profit rate lambda. So a task of user i costs, all told,

    c ETC_ij APC_ij + lambda w_j ETC_ij,

and the tasks go where that is least, in `PIECES` parts of the bag; after each part loads, weights and lambda follow.
lambda is the rate at that point, if the rest of the bag went to its cheapest machine and the makespan stayed (>= 0).

Prices like these are what an optimum of the relaxed offline problem has: its dual variables are lambda w_j, they add
up to the optimal rate, and each task runs where cost plus price times time is least. The myopic step takes all time
below the makespan for free, and pays energy to fill it with whatever comes; prices keep it for those who gain most.

T = (0.7 + 3 r) MS / sqrt(k) for user k: with k bags of about the same size, loads vary by a bag's length times sqrt(k),
and MS is k times that length over the machines. (MS is the makespan so far, or the bag's alone if balanced over all
machines, where that is longer.) r is the part of all that was paid which is left as profit, this bag at its least cost:
the thinner the margin, the fewer machines are worth their energy, and a small T tells them apart sooner.

q starts even and moves to the mean of the weights seen, q <- q + 0.3 / (k + 5) (w - q), never below 10^-3 / m. Without
that a machine that should stay idle half of the time would have to lag behind by a growing distance for its price to
stay low.

The numbers were chosen on 41 matrices calibrated to the paper's Table 1 (the default one among them) and 20 made by
CVB, n = 30, 300 and 2,000, gamma 1.05, 1.1, 1.2 and 1.5, with users from seeds that no suite uses. On them the mean
rate over OPT, 0.863, changes by less than 0.005 with 0.5 or 0.8 for 0.7, 4 for 3, 0.2 or 0.5 for 0.3, 20 or 50 for 5.
Tried and no better: T from the bags' lengths instead of sqrt(k), or a fixed multiple of MS; another lambda (soft or
forecast makespan, a factor of 0.7 to 1.2); prices re-solved by a linear programme on the users seen; plans for a future
like the past. With q from another instance of the same task types 0.02 to 0.04 of OPT would be gained at n = 30.

Doubles, one fixed order of operations, and an exponential of our own, so that every machine decides alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined
from ratiobench.online.eapm.protocol import Decision, Public, User, View
from ratiobench.online.eapm.registry import Entry, register

PIECES = 40  # Parts in which a bag is placed; with twice or half as many no mean rate changes by more than 0.3 %
WIDTH = 0.7
SPREAD = 3.0
PACE = 0.3
HEADSTART = 5.0
FLOOR = 1e-3


@inlined
def _decay(x):  # type: ignore[no-untyped-def]
    """exp(-x) for x >= 0 to 12 digits, by additions and products (library versions differ in the last bit)."""
    if x > 64.0:
        return 0.0  # 10^-28 of a weight: nothing
    r = -x / 1024.0
    y = 1.0
    for k in range(8, 0, -1):
        y = 1.0 + y * r / k
    for _ in range(10):
        y *= y
    return y


@inlined
def _weigh(prior, load, width, weight):  # type: ignore[no-untyped-def]
    """weight[j] = q_j exp(L_j / T) in a scale of its own; returns their sum."""
    most = load.max()
    total = 0.0
    for j in range(len(load)):
        weight[j] = prior[j] * _decay((most - load[j]) / width)
        total += weight[j]
    return total


@compiled
def _place(load_ms, etc, cost, tasks, worth, paid, user, prior, pieces, shares):  # type: ignore[no-untyped-def]
    """Fill `shares`, (m,) zeros, with the decision and move `prior`, the q_j; `worth`: P + p_i; `user`: k, from 1."""
    m = len(load_ms)
    load = load_ms.astype(np.float64)
    weight = np.empty(m)
    speed = 0.0
    for j in range(m):
        speed += 1.0 / etc[j]
    makespan = max(load.max(), tasks / speed)
    left = tasks
    part = -(-tasks // pieces)
    least = cost.min() * 1.0
    profit = worth * 1.0
    margin = max(0.0, profit - left * least) / paid if paid > 0 else 0.0
    width = (WIDTH + SPREAD * margin) * makespan / np.sqrt(user)
    while left > 0:
        total = _weigh(prior, load, width, weight)
        rate = max(0.0, (profit - left * least) / max(makespan, load.max()))
        best = 0
        cheapest = np.inf
        for j in range(m):
            price = cost[j] + rate * (weight[j] / total) * etc[j]
            if price < cheapest:
                best, cheapest = j, price
        placed = min(part, left)
        shares[best] += placed
        load[best] += placed * 1.0 * etc[best]
        profit -= placed * 1.0 * cost[best]
        left -= placed
    total = _weigh(prior, load, width, weight)
    pace = PACE / (user + HEADSTART)
    for j in range(m):
        prior[j] = max(FLOOR / m, prior[j] + pace * (weight[j] / total - prior[j]))


class Balance:
    arithmetic = "float"

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        machines = len(public.machines)
        self._prior = np.full(machines, 1.0 / machines)
        self._paid = 0

    def decide(self, user: User, view: View) -> Decision:
        shares = np.zeros(len(user.cost), np.int64)
        worth = view.profit + user.price
        self._paid += user.price
        number = user.index + 1
        _place(view.load_ms, user.etc_ms, user.cost, user.tasks, worth, self._paid, number, self._prior, PIECES, shares)
        return tuple(shares.tolist())


register(
    Entry("balance", "machine prices: exponential in the load, learned on the way", "1", {}, lambda options: Balance())
)
