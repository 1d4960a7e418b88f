"""Tenants as models for solvers: intervals for CP-SAT, and the time-indexed program as an export."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.linear import LinearModel, RowBuilder
from ratiobench.formulations.tenants.tables import Tables
from ratiobench.instances.tenants.model import IntArray, Solution, Start

COLUMNS_LIMIT = 200_000  # No model is written with more starts


class IntervalModel(NamedTuple):
    """A CpModelProto as text, and its variables: per job its end and a literal per GPU."""

    text: str
    ends: tuple[int, ...]
    literals: tuple[tuple[int, ...], ...]

    def solution(self, problem: Tables, values: Any) -> Solution:
        kinds, found = problem.instance.gpu_type.tolist(), []
        for j, literals in enumerate(self.literals):
            gpu = max(range(len(literals)), key=lambda g: values[literals[g]])
            found.append(Start(gpu, round(values[self.ends[j]]) - int(problem.run[j, kinds[gpu]])))
        return tuple(found)


def intervals(problem: Tables) -> IntervalModel:
    """Every job an optional interval on every GPU, negated cost maximised; runs in CP-SAT's worker."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    kinds = problem.instance.gpu_type.tolist()
    busy: list[list[Any]] = [[] for _ in kinds]
    terms: list[Any] = []
    ends, literals = [], []
    for j in range(problem.jobs):
        release, due = int(problem.release[j]), int(problem.deadline[j])
        end = model.new_int_var(release, problem.horizon, f"end_{j}")
        here = [model.new_bool_var(f"x_{j}_{g}") for g in range(len(kinds))]
        for g, k in enumerate(kinds):
            run = int(problem.run[j, k])
            start = model.new_int_var(release, problem.horizon, f"start_{j}_{g}")
            busy[g].append(model.new_optional_interval_var(start, run, end, here[g], f"on_{j}_{g}"))
            terms.append(int(problem.money[j, k]) * here[g])
        model.add_exactly_one(here)
        late = model.new_int_var(0, max(0, problem.horizon - due), f"late_{j}")
        model.add(late >= end - due)
        weight = int(problem.weight[j])
        terms += [problem.late * late, weight * end - weight * release]
        ends.append(end.index)
        literals.append(tuple(x.index for x in here))
    for on_one in busy:
        model.add_no_overlap(on_one)
    model.maximize(-sum(terms))
    return IntervalModel(str(model.proto), tuple(ends), tuple(literals))


def starts(problem: Tables) -> list[tuple[int, int, int]]:
    """(job, type, tick) of all starts that end by the horizon; up to COLUMNS_LIMIT and one more."""
    found = []
    for j in range(problem.jobs):
        for k in range(len(problem.counts)):
            for t in range(int(problem.release[j]), problem.horizon - int(problem.run[j, k]) + 1):
                found.append((j, k, t))
                if len(found) > COLUMNS_LIMIT:
                    return found
    return found


def time_indexed(problem: Tables, columns: list[tuple[int, int, int]]) -> LinearModel:
    """x_jkt = 1 if job j starts at tick t on type k; at most count_k jobs of a type run at any tick."""
    job, kind, tick = (np.array(column, dtype=np.int64) for column in zip(*columns, strict=True))
    run = problem.run[job, kind]
    end = tick + run
    cost = problem.late * np.maximum(0, end - problem.deadline[job])
    cost = cost + problem.weight[job] * (end - problem.release[job]) + problem.money[job, kind]
    rows = RowBuilder()
    rows.add([f"job_{j}" for j in range(problem.jobs)], [(job, np.arange(len(job)), 1.0)], 1, 1)
    spans = zip(kind * problem.horizon, tick, end, strict=True)
    row: IntArray = np.concatenate([first + np.arange(t, e) for first, t, e in spans])
    used, place = np.unique(row, return_inverse=True)
    busy = [f"gpus_{at // problem.horizon}_{at % problem.horizon}" for at in used.tolist()]
    column = np.repeat(np.arange(len(job)), run)
    rows.add(busy, [(place, column, 1.0)], -np.inf, problem.counts[used // problem.horizon])
    names = tuple(f"x_{j}_{k}_{t}" for j, k, t in columns)
    return rows.binary_model("tenants", -cost.astype(np.float64), names)
