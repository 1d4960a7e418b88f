"""P for CP-SAT: Boolean literals on usable cells, clauses for (4b)-(4d) and (4i)-(4k), integer sums for the rest."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.instances.lora.model import Instance

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class ConstraintModel(NamedTuple):
    """A CpModelProto as text, the names of its variables in order, and the number of its constraints."""

    text: str
    columns: tuple[str, ...]
    rows: int


def build(instance: Instance) -> ConstraintModel:
    """The model; runs in the worker process of CP-SAT."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    literals = _Literals(instance, model)
    literals.one_vendor_exactly_when_admitted()
    literals.one_node_per_slot()
    literals.runs_only_when_admitted_and_preprocessed()
    literals.work_done_when_admitted()
    literals.compute_and_memory_capacity()
    literals.social_welfare()
    return ConstraintModel(str(model.proto), tuple(literals.names), len(model.proto.constraints))


class _Literals:
    """u_i, z_in, and x_ikt for the cells within [a_i, d_i] on nodes where the rate is not 0."""

    def __init__(self, instance: Instance, model: cp_model.CpModel) -> None:
        self.instance, self.model = instance, model
        self.names: list[str] = []
        self.tasks = [instance.task(i) for i in range(instance.tasks)]
        self.type = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
        self.u = [self._literal(f"u_{task.index}") for task in self.tasks]
        self.z = [[self._literal(f"z_{task.index}_{n}") for n in range(len(task.vendors))] for task in self.tasks]
        self.x = [
            {
                (k, t): self._literal(f"x_{task.index}_{k}_{t}")
                for t in range(task.arrival, task.deadline + 1)
                for k, g in enumerate(self.type)
                if task.rate[g] > 0
            }
            for task in self.tasks
        ]

    def _literal(self, name: str) -> cp_model.IntVar:
        self.names.append(name)
        return self.model.new_bool_var(name)

    def one_vendor_exactly_when_admitted(self) -> None:
        for u, z in zip(self.u, self.z, strict=True):
            if z:
                self.model.add_exactly_one([*z, ~u])

    def one_node_per_slot(self) -> None:
        for x in self.x:
            by_slot: defaultdict[int, list[cp_model.IntVar]] = defaultdict(list)
            for (_, t), literal in x.items():
                by_slot[t].append(literal)
            for literals in by_slot.values():
                self.model.add_at_most_one(literals)

    def runs_only_when_admitted_and_preprocessed(self) -> None:
        """(4c), (4i): a cell implies admission, and one of the vendors that are done by its slot."""
        for task, u, z, x in zip(self.tasks, self.u, self.z, self.x, strict=True):
            for (_, t), literal in x.items():
                self.model.add_implication(literal, u)
                if z:
                    ready = [z[n] for n, vendor in enumerate(task.vendors) if task.arrival + vendor.delay <= t]
                    self.model.add_bool_or([*ready, ~literal])

    def work_done_when_admitted(self) -> None:
        """(4e), clipped: rates above M_i count as M_i."""
        for task, u, x in zip(self.tasks, self.u, self.x, strict=True):
            done = sum(min(int(task.rate[self.type[k]]), task.work) * literal for (k, _), literal in x.items())
            self.model.add(done >= task.work).only_enforce_if(u)

    def compute_and_memory_capacity(self) -> None:
        at: defaultdict[tuple[int, int], list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
        for task, x in zip(self.tasks, self.x, strict=True):
            for cell, literal in x.items():
                at[cell].append((task.index, literal))
        for (k, _), entries in at.items():
            node = self.instance.node_types[self.type[k]]
            rate = [int(self.tasks[i].rate[self.type[k]]) for i, _ in entries]
            memory = [self.tasks[i].memory_mb for i, _ in entries]
            literals = [literal for _, literal in entries]
            memory_mb = node.memory_mb - self.instance.base_memory_mb
            self.model.add(sum(s * x for s, x in zip(rate, literals, strict=True)) <= node.compute)
            self.model.add(sum(r * x for r, x in zip(memory, literals, strict=True)) <= memory_mb)

    def social_welfare(self) -> None:
        terms = []
        for task, u, z, x in zip(self.tasks, self.u, self.z, self.x, strict=True):
            terms.append(task.bid * u)
            terms.extend(-vendor.price * z_n for vendor, z_n in zip(task.vendors, z, strict=True))
            terms.extend(-int(task.cost[self.type[k], t - 1]) * literal for (k, t), literal in x.items())
        self.model.maximize(sum(terms))


def columns(instance: Instance) -> int:
    """Number of literals."""
    window = instance.deadline - instance.arrival + 1
    count = [node.count for node in instance.node_types]
    cells = sum(
        int(window[i]) * sum(c for c, rate in zip(count, instance.rate[i].tolist(), strict=True) if rate > 0)
        for i in range(instance.tasks)
    )
    return cells + instance.tasks + len(instance.vendor_price)


FORMULATIONS = (
    Formulation(
        name="cpsat",
        summary="Boolean literals and clauses, integer arithmetic throughout",
        backends=("cpsat",),
        build=f"{__name__}:build",
        home="cpsat",
        columns=columns,
    ),
)
