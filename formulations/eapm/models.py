"""EAPM as linear models for solvers, users of one type summed: Charnes-Cooper's LP, its dual, Dinkelbach's MILP.

Models that are solved are scaled to numbers near 1 and leave out what every solution must pay (the cheapest cost of
every task); exported ones are in tasks, seconds, units of money. Answers are only proposals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ratiobench.formulations.eapm.aggregate import AggregateProblem
from ratiobench.formulations.linear import FloatArray, LinearModel, RowBuilder
from ratiobench.instances.eapm.model import IntArray

COLUMNS_LIMIT = 200_000  # No model is built with more types times machines


def _names(problem: AggregateProblem, letter: str) -> list[str]:
    types, machines = problem.etc.shape
    return [f"{letter}_{problem.kinds[k]}_{j}" for k in range(types) for j in range(machines)]


def _above(problem: AggregateProblem) -> FloatArray:
    """(K, m) the cost of one task above its cheapest, micro-units."""
    return np.asarray(problem.cost - problem.cheapest[:, None], dtype=np.float64)


def _horizon(problem: AggregateProblem) -> float:
    """A makespan of the right size, ms: every task where it is fastest, spread evenly."""
    work = float(problem.tasks @ problem.etc.min(axis=1).astype(np.float64))
    machines: int = problem.etc.shape[1]
    return max(1.0, work / machines)


def charnes_cooper(problem: AggregateProblem, plain: bool = False) -> LinearModel:
    """The LP relaxation of (4)-(7) with y = x/MS and t = 1/MS: columns y_k_j by type and machine, then t.

    Plain: y tasks and t makespans per second. Else y is the share of the type's tasks, both times a makespan of the
    right size. If every solution loses, its optimum is 0, at y = t = 0.
    """
    types, machines = problem.etc.shape
    unit = 1000.0 if plain else _horizon(problem)
    share = np.ones(types) if plain else problem.tasks.astype(np.float64)
    if plain:
        paid, spent = problem.price / 1e6, problem.cost / 1e6
    else:
        paid, spent = 1.0, _above(problem) * share[:, None] / max(1, problem.surplus)
    each = np.arange(types * machines)
    k, j = np.divmod(each, machines)
    rows = RowBuilder()
    placed = [(k, each, 1.0), (np.arange(types), types * machines, -problem.tasks / share)]
    rows.add([f"placed_{kind}" for kind in problem.kinds], placed, 0.0, 0.0)
    time = problem.etc / unit * share[:, None]
    rows.block([f"finish_{m}" for m in range(machines)], j, each, time.ravel(), -np.inf, 1.0)
    return rows.model("charnes_cooper", np.concatenate([-spent.ravel(), [paid]]), [*_names(problem, "y"), "t"])


def price_model(problem: AggregateProblem) -> LinearModel:
    """The dual of the scaled Charnes-Cooper LP: columns w_j, the machines' prices, then v_k; for a surplus above 0.

    Minimise sum w over v_k <= c_kj + w_j e_kj, sum v >= 1, c the cost above the cheapest and e the time of all tasks.
    """
    types, machines = problem.etc.shape
    share = problem.tasks.astype(np.float64)[:, None]
    spent, time = _above(problem) * share / problem.surplus, problem.etc / _horizon(problem) * share
    each = np.arange(types * machines)
    k, j = np.divmod(each, machines)
    rows = RowBuilder()
    names = [f"cheapest_{a}_{b}" for a, b in zip(k, j, strict=True)]
    rows.add(names, [(each, machines + k, 1.0), (each, j, -time.ravel())], -np.inf, spent.ravel())
    rows.add(["enough"], [(0, machines + np.arange(types), 1.0)], 1.0, np.inf)
    objective = np.concatenate([-np.ones(machines), np.zeros(types)])
    names = [f"w_{m}" for m in range(machines)] + [f"v_{a}" for a in range(types)]
    return rows.model("prices", objective, names)


@dataclass(frozen=True, slots=True, eq=False)
class RateModel:
    # maximises, in `unit` ms, (surplus - cost above the cheapest) / rate - makespan, less the constant surplus / rate.
    model: LinearModel
    unit: float  # milliseconds
    constant: float  # surplus / rate in `unit` ms, to be added to the objective

    def excess(self, bound: float, absolute: float, relative: float) -> Fraction:
        """By how many ms of makespan, at the rate, no solution does better; rounded safely up."""
        slack = Fraction(absolute) + Fraction(relative) * Fraction(abs(bound) + self.constant)
        return max(Fraction(0), Fraction(bound) + Fraction(self.constant) + slack) * Fraction(self.unit)


def make_rate_model(problem: AggregateProblem, rate: Fraction) -> RateModel:
    """Dinkelbach's MILP for a positive rate (micro-units per ms): columns x_k_j, tasks, then MS."""
    types, machines = problem.etc.shape
    unit = float(np.median(problem.etc))
    limit = float(Fraction(problem.surplus) / rate)
    spent = _above(problem) / (float(rate) * unit)
    # No solution that reaches the rate has a makespan beyond `limit`; a little is left for the rounding.
    longest = limit * (1 + 1e-9) + 1
    most = np.minimum(problem.tasks[:, None], np.floor(longest / problem.etc))
    rows = _placing(problem, problem.etc / unit)
    objective = np.concatenate([-spent.ravel(), [-1.0]])
    upper = np.concatenate([most.ravel(), [longest / unit]])
    whole = np.concatenate([np.ones(types * machines, dtype=np.bool_), [False]])
    model = rows.model("dinkelbach", objective, [*_names(problem, "x"), "MS"], upper, whole)
    return RateModel(model, unit, limit / unit)


def make_plain_rate_model(problem: AggregateProblem, rate: Fraction) -> LinearModel:
    """Dinkelbach's MILP at any rate (micro-units per ms) in plain units, for other solvers.

    Maximises profit - rate * MS; the prices are the cost of a column `paid` that is fixed at 1. At a negative rate a
    long makespan earns, and binaries `last_j` name a machine whose load bounds it.
    """
    types, machines = problem.etc.shape
    seconds = problem.etc / 1000.0
    rows = _placing(problem, seconds)
    columns = [*_names(problem, "x"), "MS", "paid"]
    objective = np.concatenate([-problem.cost.ravel() / 1e6, [-float(rate) / 1e3, problem.price / 1e6]])
    upper = np.full(len(columns), np.inf)
    paid = len(columns) - 1
    if rate < 0:
        highest = float((problem.tasks[:, None] * seconds).sum(axis=0).max())
        first, each = len(columns), np.arange(types * machines)
        which, j = np.arange(machines), each % machines
        bounded = [(j, each, -seconds.ravel()), (which, len(each), 1.0), (which, first + which, highest)]
        rows.add([f"bounded_by_{m}" for m in which], bounded, -np.inf, highest)
        rows.add(["one_is_last"], [(0, first + which, 1.0)], 1.0, 1.0)
        columns += [f"last_{m}" for m in which]
        objective, upper = np.concatenate([objective, np.zeros(machines)]), np.concatenate([upper, np.ones(machines)])
    upper[paid] = 1.0
    whole = np.array([name[0] in "xl" for name in columns])
    model = rows.model("dinkelbach", objective, columns, upper, whole)
    model.lower[paid] = 1.0
    return model


def _placing(problem: AggregateProblem, time: FloatArray) -> RowBuilder:
    """(5) and (6) over columns x_k_j, then MS, in the unit of `time`."""
    types, machines = problem.etc.shape
    each = np.arange(types * machines)
    k, j = np.divmod(each, machines)
    rows = RowBuilder()
    tasks = problem.tasks.astype(np.float64)
    rows.add([f"placed_{kind}" for kind in problem.kinds], [(k, each, 1.0)], tasks, tasks)
    finish = [(j, each, time.ravel()), (np.arange(machines), len(each), -1.0)]
    rows.add([f"finish_{m}" for m in range(machines)], finish, -np.inf, 0.0)
    return rows


def vector_of(problem: AggregateProblem, totals: IntArray, unit: float) -> FloatArray:
    _, makespan = problem.figures(totals)
    return np.concatenate([totals.ravel().astype(np.float64), [makespan / unit]])
