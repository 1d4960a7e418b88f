"""The printed algorithm as a programmer would type it in: its linear systems given to a solver, O(n m^4).

No algorithm of the registry: it is what the closed form of `printed` is timed against, in its default reading. It
rounds as doubles do.
"""

from __future__ import annotations

import numpy as np

from ratiobench.instances.eapm.model import Instance
from ratiobench.instances.eapm.solution import Decision, Solution


def decide_literally(instance: Instance) -> Solution:
    """All decisions of Algorithm 1 with equations (20) solved by elimination, in doubles."""
    load = np.zeros(len(instance.machines))
    costs = instance.cost
    profit = 0.0
    decisions = []
    for kind, tasks, price in zip(
        instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True
    ):
        etc, cost = instance.etc_ms[kind], costs[kind]
        decision = _decide(load, etc, cost, etc * instance.apc_mw[kind], tasks, profit + price)
        decisions.append(decision)
        shares = np.array(decision)
        load += shares * etc
        profit += float(price - shares @ cost)
    return tuple(decisions)


def _decide(
    load: np.ndarray, etc: np.ndarray, cost: np.ndarray, energy: np.ndarray, tasks: int, worth: float
) -> Decision:
    """Lines 2 to 7 for one user."""
    m = len(load)
    order = np.argsort(energy, kind="stable")[::-1]
    best, best_rate = np.zeros(0), -np.inf
    for tau in range(m):
        some = order[tau:]
        k = len(some)
        matrix, right = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        matrix[0, :k], right[0] = 1.0, tasks
        matrix[1:, :k] = np.diag(etc[some])
        matrix[1:, k], right[1:] = -1.0, -load[some]
        found = np.linalg.solve(matrix, right)
        rate = (worth - np.maximum(found[:k], 0.0) @ cost[some]) / max(found[k], load.max())
        if rate > best_rate:
            best, best_rate = np.concatenate([np.zeros(tau), found[:k]]), rate
    shares = [0] * m
    left = tasks
    for x, j in zip(best[::-1], order[::-1], strict=True):
        shares[j] = min(left, max(0, int(np.ceil(x))))
        left -= shares[j]
    return tuple(shares)
