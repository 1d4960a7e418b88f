"""A cluster as intervals for CP-SAT: the second formulation, for few jobs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.cluster.search import Plan, Search
from ratiobench.formulations.cluster.tables import Problem

FRACTIONS = 2**16  # A slowdown is counted in parts of so many, rounded down


class IntervalModel(NamedTuple):
    """A CpModelProto as text, and how its variables are read."""

    text: str
    unit: int  # the objective is the negated cost times this
    starts: tuple[int, ...]  # of every job
    literals: tuple[tuple[tuple[int, int, int], ...], ...]  # of every job: pool, slot (-1: any node), variable


def intervals(problem: Problem, hint: list[int], spans: list[list[tuple[int, int]]]) -> IntervalModel:
    """Every job an interval; counts on pools of one-GPU nodes, a choice of nodes on others; in CP-SAT's worker.

    `hint`: starts of a schedule; `spans`: of every job the intervals of starts that are looked at.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    costs, pools = problem.costs, problem.instance.pools
    flat = [pool.gpus == 1 and not pool.closures for pool in pools]
    first = problem.first_node.tolist()
    unit = 1 if int(costs.unit.max(initial=1)) == 1 else FRACTIONS
    # Intervals and GPUs of every pool that is a count, and of every node of the others
    busy: dict[tuple[int, int], list[tuple[Any, int]]] = {}

    def add_use(q: int, slot: int, interval: Any, gpus: int) -> None:
        busy.setdefault((q, -1 if flat[q] else slot), []).append((interval, gpus))

    for z, (node, start, end, gpus) in enumerate(problem.blocked.tolist()):
        q = int(np.searchsorted(problem.first_node, node, "right")) - 1
        add_use(q, node - first[q], model.new_fixed_size_interval_var(start, end - start, f"held_{z}"), gpus)
    terms: list[Any] = []
    starts, literals = [], []
    for j in range(len(problem)):
        run, m, k = (int(a[j]) for a in (problem.run, problem.nodes, problem.gpus))
        last = spans[j][-1][1]
        domain = cp_model.Domain.from_intervals([list(span) for span in spans[j]])
        start = model.new_int_var_from_domain(domain, f"start_{j}")
        model.add_hint(start, hint[j])
        delay = model.new_int_var(0, max(0, last - int(problem.kink[j])), f"delay_{j}")
        model.add(delay >= start - int(problem.kink[j]))
        numerator, unit_j = int(costs.weight[j]), int(costs.unit[j])
        base = max(int(costs.low[j]), numerator * int(problem.kink[j] - costs.submit[j]) + int(costs.add[j]))
        terms += [unit * numerator // unit_j * delay, unit * base // unit_j]
        starts.append(start.index)
        uses, choices = [], []
        for q in np.flatnonzero(problem.allowed[j]).tolist():
            use = model.new_bool_var(f"pool_{j}_{q}")
            uses.append(use)
            if flat[q]:
                add_use(q, -1, model.new_optional_fixed_size_interval_var(start, run, use, f"run_{j}_{q}"), m)
                choices.append((q, -1, use.index))
                continue
            here = []
            for slot in range(pools[q].nodes):
                on = model.new_bool_var(f"node_{j}_{q}_{slot}")
                interval = model.new_optional_fixed_size_interval_var(start, run, on, f"run_{j}_{q}_{slot}")
                add_use(q, slot, interval, k)
                here.append(on)
                choices.append((q, slot, on.index))
            model.add(sum(here) == m * use)
        model.add_exactly_one(uses)
        literals.append(tuple(choices))
    for (q, _), used in busy.items():
        size = pools[q].nodes if flat[q] else pools[q].gpus
        model.add_cumulative([interval for interval, _ in used], [gpus for _, gpus in used], size)
    model.maximize(-sum(terms))
    return IntervalModel(str(model.proto), unit, tuple(starts), tuple(literals))


def read_plan(problem: Problem, search: Search, model: IntervalModel, values: Any) -> Plan:
    """The schedule of a solver's values."""
    n = len(problem)
    start = np.array([round(values[index]) for index in model.starts], dtype=np.int64)
    pool, slot = np.zeros(n, np.int64), np.zeros(int(search.place[-1]), np.int64)
    for j, choices in enumerate(model.literals):
        chosen = [(q, at) for q, at, index in choices if values[index] > 0.5]
        pool[j] = chosen[0][0]
        if chosen[0][1] >= 0:
            slot[search.place[j] : search.place[j + 1]] = [at for _, at in chosen]
    return Plan(start, pool, slot)
