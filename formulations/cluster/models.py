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
    literals: tuple[tuple[tuple[int, int, int], ...], ...]  # of every job: pool, slot, variable


def intervals(problem: Problem, hint: list[int], spans: list[list[tuple[int, int]]]) -> IntervalModel:
    """Every job an interval; counts on pools of one-GPU nodes, a choice of nodes on others; in CP-SAT's worker.

    `hint`: starts of a schedule; `spans`: of every job the intervals of starts that are looked at.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    costs, slots = problem.costs, problem.slots.tolist()
    bases, weights, units = (column.tolist() for column in (costs.numerators(problem.kink), costs.weight, costs.unit))
    unit = 1 if max(units, default=1) == 1 else FRACTIONS
    busy: dict[tuple[int, int], list[tuple[Any, int]]] = {}  # Intervals and GPUs of every slot
    for z, (node, start, end, gpus) in enumerate(problem.blocked.tolist()):
        q = int(np.searchsorted(problem.first_node, node, "right")) - 1
        slot = min(node - int(problem.first_node[q]), slots[q] - 1)
        held = model.new_fixed_size_interval_var(start, end - start, f"held_{z}")
        busy.setdefault((q, slot), []).append((held, gpus))
    terms: list[Any] = []
    starts, literals = [], []
    for j in range(len(problem)):
        run, last = int(problem.run[j]), spans[j][-1][1]
        domain = cp_model.Domain.from_intervals([list(span) for span in spans[j]])
        start = model.new_int_var_from_domain(domain, f"start_{j}")
        model.add_hint(start, hint[j])
        delay = model.new_int_var(0, max(0, last - int(problem.kink[j])), f"delay_{j}")
        model.add(delay >= start - int(problem.kink[j]))
        terms += [unit * weights[j] // units[j] * delay, unit * bases[j] // units[j]]
        starts.append(start.index)
        uses, choices = [], []
        for q in np.flatnonzero(problem.allowed[j]).tolist():
            use = model.new_bool_var(f"pool_{j}_{q}")
            uses.append(use)
            names = [f"node_{j}_{q}_{slot}" for slot in range(slots[q])]
            here = [use] if problem.flat[q] else [model.new_bool_var(name) for name in names]
            for slot, on in enumerate(here):
                interval = model.new_optional_fixed_size_interval_var(start, run, on, f"run_{j}_{q}_{slot}")
                busy.setdefault((q, slot), []).append((interval, int(problem.wide[j, q])))
                choices.append((q, slot, on.index))
            if not problem.flat[q]:
                model.add(sum(here) == int(problem.nodes[j]) * use)
        model.add_exactly_one(uses)
        literals.append(tuple(choices))
    for (q, _), used in busy.items():
        model.add_cumulative(*zip(*used, strict=True), int(problem.room[q]))
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
        slot[search.place[j] : search.place[j + 1]] = [at for _, at in chosen]
    return Plan(start, pool, slot)
