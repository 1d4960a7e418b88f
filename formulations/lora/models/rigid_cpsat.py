"""Rigid tasks and gangs for CP-SAT: optional intervals on nodes, and a cumulative constraint per node and resource.

Runs, their values and the order of nodes are those of `ratiobench.formulations.lora.models.rigid`. A task has a first
slot and a literal per node type; on each node that it may use an optional interval begins in that slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ratiobench.formulations.lora.models.cpsat import ConstraintModel
from ratiobench.formulations.lora.models.formulation import Formulation
from ratiobench.formulations.lora.models.rigid import (
    CPSAT_NAME,
    RunMenu,
    SlotCut,
    canonical,
    count_nodes,
    held_types,
    list_menus,
)
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import ScheduleKind

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def build(instance: Instance, cuts: Sequence[SlotCut] = ()) -> ConstraintModel:
    """The model; runs in the worker process of CP-SAT. `cuts` as for the linear model."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    runs = _Runs(instance, model)
    runs.one_run_of_a_task()
    runs.as_many_nodes_as_parts()
    runs.capacities()
    runs.capacities_of_types()
    runs.patterns_on_nodes(cuts)
    runs.nodes_in_order()
    runs.social_welfare()
    return ConstraintModel(str(model.proto), tuple(runs.names), len(model.proto.constraints))


class _Place(NamedTuple):
    """A menu with its variables: a literal per start, whether it runs at all, its first slot, a literal per node."""

    menu: RunMenu
    runs: list[cp_model.IntVar]
    active: cp_model.IntVar
    start: cp_model.IntVar
    nodes: list[cp_model.IntVar]
    own: bool


class _Runs:
    """Variables, then the constraints, one method for each."""

    def __init__(self, instance: Instance, model: cp_model.CpModel) -> None:
        from ortools.sat.python import cp_model

        self.instance, self.model = instance, model
        self.names: list[str] = []
        self.places: list[_Place] = []
        first_node = instance.public("").first_node.tolist()
        menus = list_menus(instance)
        self.crowded: list[bool]
        counts, self.crowded = count_nodes(instance, menus)
        for menu, count in zip(menus, counts, strict=True):
            span = f"{menu.task}_{first_node[menu.type]}_{first_node[menu.type + 1] - 1}"
            starts = menu.starts.tolist()
            runs = [
                self._literal(f"r_{span}_{start}" + (f"_{vendor}" if vendor >= 0 else ""))
                for start, vendor in zip(starts, menu.vendors.tolist(), strict=True)
            ]
            active = self._literal(f"a_{span}")
            self.names.append(f"b_{span}")
            begin = model.new_int_var_from_domain(cp_model.Domain.from_values(starts), f"b_{span}")
            own = count > menu.parts
            names = [f"w_{menu.task}_{first_node[menu.type] + local}" for local in range(count)]
            nodes = [self._literal(name) for name in names] if own else [active] * count
            self.places.append(_Place(menu, runs, active, begin, nodes, own))

    def _literal(self, name: str) -> cp_model.IntVar:
        self.names.append(name)
        return self.model.new_bool_var(name)

    def one_run_of_a_task(self) -> None:
        """(R2), (R3), (R4): at most one type, on it exactly one start."""
        of_task: dict[int, list[cp_model.IntVar]] = {}
        for place in self.places:
            of_task.setdefault(place.menu.task, []).append(place.active)
            self.model.add_exactly_one([*place.runs, ~place.active])
            starts = place.menu.starts.tolist()
            for start, run in zip(starts, place.runs, strict=True):
                self.model.add(place.start == start).only_enforce_if(run)
            self.model.add(place.start == starts[0]).only_enforce_if(~place.active)
        for literals in of_task.values():
            if len(literals) > 1:
                self.model.add_at_most_one(literals)

    def as_many_nodes_as_parts(self) -> None:
        for place in self.places:
            if place.own:
                self.model.add(sum(place.nodes) == place.menu.parts * place.active)

    def capacities(self) -> None:
        """(4f), (4g), for the runs on every node, and once more for every type and slot as sums of literals."""
        for g, node in enumerate(self.instance.node_types):
            limits = (node.compute, node.memory_mb - self.instance.base_memory_mb)
            here = [place for place in self.places if place.menu.type == g]
            if not self.crowded[g]:
                continue
            first = int(self.instance.public("").first_node[g])
            for local in range(node.count):
                users = [place for place in here if local < len(place.nodes)]
                before = [job for job in self.instance.running if first + local in job.nodes]
                intervals = [
                    self.model.new_optional_fixed_size_interval_var(
                        place.start, place.menu.length, place.nodes[local], f"i_{place.menu.task}_{g}_{local}"
                    )
                    for place in users
                ]
                if not users:
                    continue
                intervals += [
                    self.model.new_fixed_size_interval_var(1, job.last, f"before_{g}_{local}_{j}")
                    for j, job in enumerate(before)
                ]
                amounts = [(place.menu.rate, place.menu.memory) for place in users]
                amounts += [(job.compute, job.memory_mb) for job in before]
                loads = zip(*amounts, strict=True)
                for limit, load in zip(limits, loads, strict=False):
                    if sum(load) > limit:
                        self.model.add_cumulative(intervals, list(load), limit)

    def capacities_of_types(self) -> None:
        """What follows for all nodes of a type in a slot: a linear relaxation as strong as that of the linear model."""
        held, first_node = self.instance.held(), self.instance.public("").first_node
        for g, node in enumerate(self.instance.node_types):
            whole = (node.count * node.compute, node.count * (node.memory_mb - self.instance.base_memory_mb))
            here = [place for place in self.places if place.menu.type == g]
            for t in range(1, self.instance.slots + 1):
                limits = whole
                if held.size:
                    less = held[:, first_node[g] : first_node[g + 1], t - 1].sum(axis=1).tolist()
                    limits = whole[0] - less[0], whole[1] - less[1]
                terms = [
                    (run, place.menu)
                    for place in here
                    for start, run in zip(place.menu.starts.tolist(), place.runs, strict=True)
                    if start <= t < start + place.menu.length
                ]
                for limit, load in zip(
                    limits,
                    zip(*((menu.parts * menu.rate, menu.parts * menu.memory) for _, menu in terms), strict=True),
                    strict=False,
                ):
                    if sum(load) > limit:
                        self.model.add(sum(size * run for size, (run, _) in zip(load, terms, strict=True)) <= limit)

    def patterns_on_nodes(self, cuts: Sequence[SlotCut]) -> None:
        for cut in cuts:
            terms = [
                cut.weight[place.menu.task] * place.menu.parts * run
                for place in self.places
                if place.menu.type == cut.type and place.menu.task in cut.weight
                for start, run in zip(place.menu.starts.tolist(), place.runs, strict=True)
                if start <= cut.slot < start + place.menu.length
            ]
            self.model.add(sum(terms) <= cut.limit * self.instance.node_types[cut.type].count)

    def nodes_in_order(self) -> None:
        """Symmetry: on node k of a type only if this or an earlier task is on node k - 1."""
        before: dict[tuple[int, int], list[cp_model.IntVar]] = {}
        marked = held_types(self.instance)
        for place in self.places:
            if marked[place.menu.type]:
                continue
            for local, literal in enumerate(place.nodes):
                before.setdefault((place.menu.type, local), []).append(literal)
                if local and place.own:
                    earlier = before[place.menu.type, local - 1]
                    self.model.add_bool_or([*earlier, ~literal])

    def social_welfare(self) -> None:
        self.model.maximize(
            sum(
                value * run
                for place in self.places
                for value, run in zip(place.menu.values.tolist(), place.runs, strict=True)
            )
        )


def columns(instance: Instance) -> int:
    """Number of variables."""
    menus = list_menus(instance)
    counts, _ = count_nodes(instance, menus)
    return sum(len(m.starts) + 2 + n * (n > m.parts) for m, n in zip(menus, counts, strict=True))


FORMULATIONS = (
    Formulation(
        name=CPSAT_NAME,
        summary="the same as optional intervals and cumulative constraints, integer arithmetic throughout",
        backends=("cpsat",),
        build=f"{__name__}:build",
        home="cpsat",
        columns=columns,
        schedules=ScheduleKind.RIGID,
        canonical=canonical,
    ),
)
