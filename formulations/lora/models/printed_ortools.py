"""P as the paper prints it, with (4i)-(4k), through OR-Tools' ModelBuilder: `printed`, written a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.formulations.lora.models.printed import add_literal, columns
from ratiobench.instances.lora.model import Instance

if TYPE_CHECKING:
    from ortools.linear_solver.python import model_builder


def build(instance: Instance) -> LinearModel:
    """P with (4i)-(4k)."""
    model = PrintedByModelBuilder(instance)
    add_literal(model)
    model.runs_only_when_admitted()
    model.vendor_only_where_needed()
    model.runs_only_where_it_can()
    return as_arrays(model.model)


class PrintedByModelBuilder:
    """Variables and objective of (4); each method adds one constraint. Tasks, nodes from 0; slots from 1."""

    def __init__(self, instance: Instance) -> None:
        # In CP-SAT's worker process: OR-Tools cannot share one with HiGHS or PuLP.
        from ortools.linear_solver.python import model_builder

        self.total = model_builder.LinearExpr.sum
        self.weighted = model_builder.LinearExpr.weighted_sum
        self.instance = instance
        self.tasks = [instance.task(i) for i in range(instance.tasks)]
        self.type = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
        self.nodes, self.slots = range(len(self.type)), range(1, instance.slots + 1)
        self.model = model_builder.Model()
        self.model.name = "printed_ortools"
        self.variables()
        self.social_welfare()

    def variables(self) -> None:
        """(4h): u_i, z_in, x_ikt in {0, 1}."""
        binary = self.model.new_bool_var
        self.u = [binary(f"u_{task.index}") for task in self.tasks]
        self.z = [[binary(f"z_{task.index}_{n}") for n in range(len(task.vendors))] for task in self.tasks]
        self.x = {
            (task.index, k, t): binary(f"x_{task.index}_{k}_{t}")
            for task in self.tasks
            for k in self.nodes
            for t in self.slots
        }

    def social_welfare(self) -> None:
        """(4): sum b_i u_i - sum q_in z_in - sum e_ikt x_ikt."""
        variables, weights = list(self.u), [task.bid for task in self.tasks]
        for task, z in zip(self.tasks, self.z, strict=True):
            variables += z
            weights += [-vendor.price for vendor in task.vendors]
        for (i, k, t), x in self.x.items():
            variables.append(x)
            weights.append(-int(self.tasks[i].cost[self.type[k], t - 1]))
        self.model.maximize(self.weighted(variables, weights))

    def at_most_one_vendor(self) -> None:
        """(4a): f_i u_i <= sum_n z_in <= 1."""
        for i, z in enumerate(self.z):
            if z:
                self._add(self.total(z) - self.u[i] >= 0, f"c4a_low_{i}")
                self._add(self.total(z) <= 1, f"c4a_high_{i}")

    def one_node_per_slot(self) -> None:
        """(4b): sum_k x_ikt <= 1."""
        for i in range(len(self.tasks)):
            for t in self.slots:
                self._add(self.total([self.x[i, k, t] for k in self.nodes]) <= 1, f"c4b_{i}_{t}")

    def after_arrival_and_preprocessing(self) -> None:
        """(4c) by big-M: B x_ikt + f_i sum_n h_in z_in <= t + B - a_i, B = max(0, a_i + f_i max_n h_in - t)."""
        for i, task in enumerate(self.tasks):
            delays = [min(vendor.delay, self.instance.slots) for vendor in task.vendors]
            for t in self.slots:
                big = task.arrival + max(delays, default=0) - t
                if big > 0:
                    for k in self.nodes:
                        load = self.weighted([self.x[i, k, t], *self.z[i]], [big, *delays])
                        self._add(load <= t + big - task.arrival, f"c4c_{i}_{k}_{t}")

    def before_the_deadline(self) -> None:
        """(4d): x_ikt t <= d_i."""
        for (i, k, t), x in self.x.items():
            self._add(t * x <= self.tasks[i].deadline, f"c4d_{i}_{k}_{t}")

    def work_done(self) -> None:
        """(4e): sum_kt s_ik x_ikt >= M_i u_i."""
        for i, task in enumerate(self.tasks):
            cells = [(k, t) for k in self.nodes for t in self.slots]
            variables = [self.x[i, k, t] for k, t in cells]
            rates = [int(task.rate[self.type[k]]) for k, _ in cells]
            self._add(self.weighted([*variables, self.u[i]], [*rates, -task.work]) >= 0, f"c4e_{i}")

    def compute_capacity(self) -> None:
        """(4f): sum_i s_ik x_ikt <= C_kp."""
        for k in self.nodes:
            rates = [int(task.rate[self.type[k]]) for task in self.tasks]
            limit = self.instance.node_types[self.type[k]].compute
            for t in self.slots:
                self._add(self.weighted(self._at(k, t), rates) <= limit, f"c4f_{k}_{t}")

    def memory_capacity(self) -> None:
        """(4g): sum_i r_i x_ikt + r_b <= C_km."""
        memory = [task.memory_mb for task in self.tasks]
        for k in self.nodes:
            limit = self.instance.node_types[self.type[k]].memory_mb - self.instance.base_memory_mb
            for t in self.slots:
                self._add(self.weighted(self._at(k, t), memory) <= limit, f"c4g_{k}_{t}")

    def runs_only_when_admitted(self) -> None:
        """(4i): sum_k x_ikt <= u_i."""
        for i in range(len(self.tasks)):
            for t in self.slots:
                self._add(self.total([self.x[i, k, t] for k in self.nodes]) - self.u[i] <= 0, f"c4i_{i}_{t}")

    def vendor_only_where_needed(self) -> None:
        """(4j): sum_n z_in = f_i u_i."""
        for i, z in enumerate(self.z):
            if z:
                self._add(self.total(z) - self.u[i] == 0, f"c4j_{i}")

    def runs_only_where_it_can(self) -> None:
        """(4k): x_ikt = 0 where s_ik = 0."""
        for (i, k, t), x in self.x.items():
            if self.tasks[i].rate[self.type[k]] == 0:
                self._add(1 * x <= 0, f"c4k_{i}_{k}_{t}")

    def _at(self, k: int, t: int) -> list[model_builder.Variable]:
        return [self.x[i, k, t] for i in range(len(self.tasks))]

    def _add(self, constraint: object, name: str) -> None:
        self.model.add(constraint, name)


def as_arrays(model: model_builder.Model) -> LinearModel:
    """A ModelBuilder maximisation as a `LinearModel`."""
    helper = model.helper
    n, m = helper.num_variables(), helper.num_constraints()
    index = [np.asarray(helper.constraint_var_indices(j), dtype=np.int64) for j in range(m)]
    value = [np.asarray(helper.constraint_coefficients(j), dtype=np.float64) for j in range(m)]
    return LinearModel(
        name=model.name,
        objective=np.array([helper.var_objective_coefficient(c) for c in range(n)], dtype=np.float64),
        lower=np.array([helper.var_lower_bound(c) for c in range(n)], dtype=np.float64),
        upper=np.array([helper.var_upper_bound(c) for c in range(n)], dtype=np.float64),
        integer=np.array([helper.var_is_integral(c) for c in range(n)], dtype=bool),
        row_start=np.concatenate([[0], np.cumsum([len(row) for row in index])]).astype(np.int64),
        index=np.concatenate([np.zeros(0, dtype=np.int64), *index]),
        value=np.concatenate([np.zeros(0), *value]),
        row_lower=np.array([helper.constraint_lower_bound(j) for j in range(m)], dtype=np.float64),
        row_upper=np.array([helper.constraint_upper_bound(j) for j in range(m)], dtype=np.float64),
        columns=tuple(helper.var_name(c) for c in range(n)),
        rows=tuple(helper.constraint_name(j) for j in range(m)),
    )


FORMULATIONS = (
    Formulation(
        name="printed-ortools",
        summary="P as printed with (4i)-(4k); built with OR-Tools' ModelBuilder",
        backends=("highs", "cbc", "scip", "gurobi"),
        build=f"{__name__}:build",
        home="cpsat",
        columns=columns,
    ),
)
