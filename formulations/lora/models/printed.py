"""P as the paper prints it (eq. 4), in PuLP, one function per constraint; for small instances and for export.

Two things are read, not changed: (4c) is bilinear and stands here in its big-M form, and (4d) is x_ikt t <= d_i.
(4i)-(4k) say what the paper means and does not print; `printed:literal` leaves them out, and is another problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.instances.lora.model import Instance

if TYPE_CHECKING:
    import pulp


def build(instance: Instance) -> LinearModel:
    """P with (4i)-(4k)."""
    model = Printed(instance)
    add_literal(model)
    model.runs_only_when_admitted()
    model.vendor_only_where_needed()
    model.runs_only_where_it_can()
    return as_arrays(model.problem)


def build_literal(instance: Instance) -> LinearModel:
    """P without (4i)-(4k)."""
    model = Printed(instance)
    add_literal(model)
    return as_arrays(model.problem)


def add_literal(model: Any) -> None:
    """(4a)-(4g)."""
    model.at_most_one_vendor()
    model.one_node_per_slot()
    model.after_arrival_and_preprocessing()
    model.before_the_deadline()
    model.work_done()
    model.compute_capacity()
    model.memory_capacity()


class Printed:
    """Variables and objective of (4); each method adds one constraint. Tasks, nodes from 0; slots from 1."""

    def __init__(self, instance: Instance) -> None:
        # In CBC's worker process: PuLP loads solvers of its own. It does not solve: it misreads statuses and bounds.
        import pulp

        self.pulp = pulp
        self.instance = instance
        self.tasks = [instance.task(i) for i in range(instance.tasks)]
        # The type of each node k, and the paper's f_i, 1 when the task needs a vendor.
        self.type = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
        self.nodes, self.slots = range(len(self.type)), range(1, instance.slots + 1)
        self.f = [int(bool(task.vendors)) for task in self.tasks]
        self.problem = pulp.LpProblem("printed", pulp.LpMaximize)
        self.variables()
        self.social_welfare()

    def variables(self) -> None:
        """(4h): u_i, z_in, x_ikt in {0, 1}."""
        binary = self.problem.add_variable
        self.u = [binary(f"u_{task.index}", cat="Binary") for task in self.tasks]
        self.z = [
            [binary(f"z_{task.index}_{n}", cat="Binary") for n in range(len(task.vendors))] for task in self.tasks
        ]
        self.x = {
            (task.index, k, t): binary(f"x_{task.index}_{k}_{t}", cat="Binary")
            for task in self.tasks
            for k in self.nodes
            for t in self.slots
        }

    def social_welfare(self) -> None:
        """(4): sum b_i u_i - sum q_in z_in - sum e_ikt x_ikt."""
        terms = []
        for task, u, z in zip(self.tasks, self.u, self.z, strict=True):
            terms.append(task.bid * u)
            terms.extend(-vendor.price * z_n for vendor, z_n in zip(task.vendors, z, strict=True))
            terms.extend(
                -int(task.cost[self.type[k], t - 1]) * self.x[task.index, k, t] for k in self.nodes for t in self.slots
            )
        self.problem += self.pulp.lpSum(terms), "welfare"

    def at_most_one_vendor(self) -> None:
        """(4a): f_i u_i <= sum_n z_in <= 1."""
        for i, z in enumerate(self.z):
            if z:
                self.problem += self.f[i] * self.u[i] <= self.pulp.lpSum(z), f"c4a_low_{i}"
                self.problem += self.pulp.lpSum(z) <= 1, f"c4a_high_{i}"

    def one_node_per_slot(self) -> None:
        """(4b): sum_k x_ikt <= 1."""
        for i in range(len(self.tasks)):
            for t in self.slots:
                self.problem += self.pulp.lpSum(self.x[i, k, t] for k in self.nodes) <= 1, f"c4b_{i}_{t}"

    def after_arrival_and_preprocessing(self) -> None:
        """(4c): (a_i + f_i sum_n h_in z_in) x_ikt <= x_ikt t, as a_i + f_i sum_n h_in z_in <= t + B (1 - x_ikt).

        B = max(0, a_i + f_i max_n h_in - t) is the least that makes the row idle where x_ikt = 0.
        """
        for i, task in enumerate(self.tasks):
            # A delay beyond the last slot counts as T, which leaves no slot either and keeps B small.
            delays = [min(vendor.delay, self.instance.slots) for vendor in task.vendors]
            delay = self.f[i] * self.pulp.lpSum(h * z_n for h, z_n in zip(delays, self.z[i], strict=True))
            longest = max(delays, default=0)
            for t in self.slots:
                big = max(0, task.arrival + self.f[i] * longest - t)
                if big:
                    for k in self.nodes:
                        idle = big * (1 - self.x[i, k, t])
                        self.problem += task.arrival + delay <= t + idle, f"c4c_{i}_{k}_{t}"

    def before_the_deadline(self) -> None:
        """(4d): x_ikt t <= d_i."""
        for (i, k, t), x in self.x.items():
            self.problem += t * x <= self.tasks[i].deadline, f"c4d_{i}_{k}_{t}"

    def work_done(self) -> None:
        """(4e): sum_kt s_ik x_ikt >= M_i u_i."""
        for i, task in enumerate(self.tasks):
            done = self.pulp.lpSum(
                int(task.rate[self.type[k]]) * self.x[i, k, t] for k in self.nodes for t in self.slots
            )
            self.problem += done >= task.work * self.u[i], f"c4e_{i}"

    def compute_capacity(self) -> None:
        """(4f): sum_i s_ik x_ikt <= C_kp."""
        for k in self.nodes:
            limit = self.instance.node_types[self.type[k]].compute
            for t in self.slots:
                load = self.pulp.lpSum(
                    int(task.rate[self.type[k]]) * self.x[i, k, t] for i, task in enumerate(self.tasks)
                )
                self.problem += load <= limit, f"c4f_{k}_{t}"

    def memory_capacity(self) -> None:
        """(4g): sum_i r_i x_ikt + r_b <= C_km."""
        for k in self.nodes:
            limit = self.instance.node_types[self.type[k]].memory_mb
            for t in self.slots:
                load = self.pulp.lpSum(task.memory_mb * self.x[i, k, t] for i, task in enumerate(self.tasks))
                self.problem += load + self.instance.base_memory_mb <= limit, f"c4g_{k}_{t}"

    def runs_only_when_admitted(self) -> None:
        """(4i): sum_k x_ikt <= u_i."""
        for i in range(len(self.tasks)):
            for t in self.slots:
                self.problem += self.pulp.lpSum(self.x[i, k, t] for k in self.nodes) <= self.u[i], f"c4i_{i}_{t}"

    def vendor_only_where_needed(self) -> None:
        """(4j): sum_n z_in = f_i u_i."""
        for i, z in enumerate(self.z):
            if z:
                self.problem += self.pulp.lpSum(z) == self.f[i] * self.u[i], f"c4j_{i}"

    def runs_only_where_it_can(self) -> None:
        """(4k): x_ikt = 0 where s_ik = 0."""
        for (i, k, t), x in self.x.items():
            if self.tasks[i].rate[self.type[k]] == 0:
                self.problem += x <= 0, f"c4k_{i}_{k}_{t}"


def as_arrays(problem: pulp.LpProblem) -> LinearModel:
    """A PuLP maximisation as a `LinearModel`; coefficients as they are (PuLP keeps Python integers)."""
    data: dict[str, Any] = problem.toDict()
    names = tuple(variable["name"] for variable in data["variables"])
    position = {name: c for c, name in enumerate(names)}
    objective = np.zeros(len(names))
    for term in data["objective"]["coefficients"]:
        objective[position[term["name"]]] = term["value"]
    start: list[int] = [0]
    index: list[int] = []
    value: list[float] = []
    low: list[float] = []
    high: list[float] = []
    for row in data["constraints"]:
        index.extend(position[term["name"]] for term in row["coefficients"])
        value.extend(float(term["value"]) for term in row["coefficients"])
        start.append(len(index))
        # PuLP's senses: -1 is <=, 0 is =, 1 is >=, of an expression that includes the constant, against 0.
        side = -float(row["constant"])
        low.append(side if row["sense"] >= 0 else -np.inf)
        high.append(side if row["sense"] <= 0 else np.inf)
    return LinearModel(
        name=data["parameters"]["name"],
        objective=objective,
        lower=np.array([float(variable["lowBound"]) for variable in data["variables"]]),
        upper=np.array([float(variable["upBound"]) for variable in data["variables"]]),
        integer=np.array([variable["cat"] == "Integer" for variable in data["variables"]], dtype=bool),
        row_start=np.array(start, dtype=np.int64),
        index=np.array(index, dtype=np.int64),
        value=np.array(value, dtype=np.float64),
        row_lower=np.array(low, dtype=np.float64),
        row_upper=np.array(high, dtype=np.float64),
        columns=names,
        rows=tuple(row["name"] for row in data["constraints"]),
    )


def columns(instance: Instance) -> int:
    """I (1 + K T) + the number of offers."""
    return instance.tasks * (1 + instance.nodes * instance.slots) + len(instance.vendor_price)


FORMULATIONS = (
    Formulation(
        name="printed",
        summary="P as printed (eq. 4), with (4i)-(4k), (4c) by big-M; built with PuLP",
        backends=("highs", "cbc", "scip", "gurobi"),
        build=f"{__name__}:build",
        home="cbc",
        columns=columns,
    ),
    Formulation(
        name="printed:literal",
        summary="P as printed without (4i)-(4k): for export and study, its optimum may be above OPT",
        backends=("highs", "cbc"),
        build=f"{__name__}:build_literal",
        home="cbc",
        columns=columns,
        schedules=None,
    ),
)
