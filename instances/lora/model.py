"""The data of problem P (eq. 4), in integers: samples, MB, micro-dollars, Wh, slots 1..T.

Instances are immutable: frozen dataclasses over read-only NumPy arrays. They are made by
`ratiobench.instances.lora.format.parse` alone, so everything that exists has been validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ratiobench.instances.arrays import IntArray as IntArray
from ratiobench.instances.arrays import freeze as freeze
from ratiobench.instances.io.errors import make_printable

# Fields of an instance with one row per task, named as in the file
TASK_COLUMNS = ("arrival", "deadline", "memory_mb", "work", "bid", "valuation", "rate", "energy_wh")


class ScheduleKind(Enum):
    """Which schedules tasks may have: the field `run` of format `ratiobench/lora/2`; `any` where it is absent.

    The checkers and the enumeration state the rule of a kind themselves: they share no code with what they check.
    """

    ANY = "any"  # Problem P: at most one node per slot, another one in every slot if need be
    ONE_NODE = "one-node"  # The same node in all slots: 'a particular compute node' (main paper, section 3.1)


@dataclass(frozen=True, slots=True, eq=False)
class NodeType:
    """Identical nodes k: C_kp in samples per slot, C_km in MB, and the electricity tariff.

    Parameters
    ----------
    name : label.
    count : number of nodes of the type.
    compute : C_kp, samples per slot.
    memory_mb : C_km, MB, base model included.
    tariff : (T,) micro-dollars per Wh; negative prices occur.
    """

    name: str
    count: int
    compute: int
    memory_mb: int
    tariff: IntArray


class Vendor(NamedTuple):
    """The offer of a labor vendor.

    Parameters
    ----------
    price : q_in, micro-dollars.
    delay : h_in, slots.
    """

    price: int
    delay: int


class Option(NamedTuple):
    """One way to have a task pre-processed: the vendor's index (None: none needed), its price, first usable slot."""

    vendor: int | None
    price: int
    first: int


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Task i as known on arrival; the valuation is the bidder's own and is not here.

    Parameters
    ----------
    index : position in the arrival order, from 0.
    arrival, deadline : a_i and d_i, slots.
    memory_mb : r_i.
    work : M_i, samples.
    bid : b_i, micro-dollars.
    rate : (G,) s_ik per node type, samples per slot; 0 where the task cannot run.
    cost : (G, T) e_ikt per node type and slot, micro-dollars; column t-1 is slot t.
    vendors : offers; empty when f_i = 0.
    """

    index: int
    arrival: int
    deadline: int
    memory_mb: int
    work: int
    bid: int
    rate: IntArray
    cost: IntArray
    vendors: tuple[Vendor, ...]

    @property
    def options(self) -> tuple[Option, ...]:
        """The pre-processing options in list order; a single one without vendor when f_i = 0."""
        if not self.vendors:
            return (Option(None, 0, self.arrival),)
        return tuple(Option(n, v.price, self.arrival + v.delay) for n, v in enumerate(self.vendors))


@dataclass(frozen=True, slots=True, eq=False)
class Public:
    """The public part, known before the first arrival: slots, node types, base memory r_b, the whole tariff.

    Parameters
    ----------
    slots : T.
    slot_seconds : length of a slot.
    base_memory_mb : r_b, memory of the base model.
    node_types : G types, with their tariffs.
    seed : names the random stream of algorithms that draw (the instance hash unless a replay fixes it).
    schedules : which schedules the tasks may have.
    """

    slots: int
    slot_seconds: int
    base_memory_mb: int
    node_types: tuple[NodeType, ...]
    seed: str
    schedules: ScheduleKind = ScheduleKind.ANY

    @property
    def nodes(self) -> int:
        """K, the number of nodes; they are numbered from 0 through the types in order."""
        return sum(node.count for node in self.node_types)

    @property
    def type_of_node(self) -> IntArray:
        """(K,) the type of each node."""
        return freeze(_types_of_nodes(self.node_types))

    @property
    def first_node(self) -> IntArray:
        """(G+1,) number of the first node of each type; the last entry is K."""
        return freeze(_first_nodes(self.node_types))

    @property
    def compute(self) -> IntArray:
        """(G,) C_kp per node type."""
        return freeze([node.compute for node in self.node_types])

    @property
    def memory_mb(self) -> IntArray:
        """(G,) C_km - r_b per node type: what tasks can use."""
        return freeze([node.memory_mb - self.base_memory_mb for node in self.node_types])

    @property
    def tariff(self) -> IntArray:
        """(G, T) micro-dollars per Wh."""
        return freeze([node.tariff for node in self.node_types])


@lru_cache(maxsize=64)
def _types_of_nodes(node_types: tuple[NodeType, ...]) -> IntArray:
    """(K,) the type of each node; kept, and handed out as a copy."""
    return freeze(np.repeat(np.arange(len(node_types)), [node.count for node in node_types]))


@lru_cache(maxsize=64)
def _first_nodes(node_types: tuple[NodeType, ...]) -> IntArray:
    """(G+1,) number of the first node of each type; kept, and handed out as a copy."""
    return freeze(np.concatenate([[0], np.cumsum([node.count for node in node_types])]))


@lru_cache(maxsize=64)
def _tariffs(node_types: tuple[NodeType, ...]) -> IntArray:
    """(G, T) micro-dollars per Wh, kept: it is asked for at every task."""
    return freeze([node.tariff for node in node_types])


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An instance of problem P. Tasks are columns; `task(i)` gives one as a `Task`.

    Parameters
    ----------
    name, origin : label and provenance; not part of the identity (hash).
    slots : T.
    slot_seconds : length of a slot.
    base_memory_mb : r_b.
    node_types : G of them.
    arrival, deadline, memory_mb, work, bid, valuation : (I,) each.
    rate, energy_wh : (I, G).
    explicit_cost : {i: (G, T)} for the tasks given by `cost` instead of `energy_wh`.
    vendor_start : (I+1,); vendors of task i are vendor_start[i] .. vendor_start[i+1]-1 in the two arrays below.
    vendor_price, vendor_delay : all vendors, task by task.
    schedules : which schedules the tasks may have; `ANY` without tasks.
    cache : derived figures of the format's code; not part of the identity.
    """

    name: str
    origin: Mapping[str, Any]
    slots: int
    slot_seconds: int
    base_memory_mb: int
    node_types: tuple[NodeType, ...]
    arrival: IntArray
    deadline: IntArray
    memory_mb: IntArray
    work: IntArray
    bid: IntArray
    valuation: IntArray
    rate: IntArray
    energy_wh: IntArray
    explicit_cost: Mapping[int, IntArray]
    vendor_start: IntArray
    vendor_price: IntArray
    vendor_delay: IntArray
    schedules: ScheduleKind = ScheduleKind.ANY
    cache: dict[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        size = f"{self.tasks} tasks, {self.nodes} nodes, {self.slots} slots"
        return f"<Instance {make_printable(self.name, 80)}: {size}>"

    def _repr_html_(self) -> str:
        from ratiobench.instances.io.display import format_number, make_html

        kinds = [(each.name, each.count, each.compute, each.memory_mb) for each in self.node_types[:50]]
        facts = {
            "tasks": self.tasks,
            "with vendors": int(np.count_nonzero(np.diff(self.vendor_start))),
            "slots": f"{self.slots} of {self.slot_seconds} s",
            "nodes": self.nodes,
            "sum of bids, micro-dollars": format_number(sum(map(int, self.bid))),
            "work, samples": format_number(sum(map(int, self.work))),
        }
        return make_html(self.name, facts, ("node type", "nodes", "samples per slot", "memory, MB"), kinds)

    @property
    def tasks(self) -> int:
        """I, the number of tasks."""
        return len(self.bid)

    @property
    def nodes(self) -> int:
        """K, the number of nodes."""
        return sum(node.count for node in self.node_types)

    def without_migration(self) -> Instance:
        """The same instance whose tasks may not move from node to node."""
        return replace(self, schedules=ScheduleKind.ONE_NODE, cache={}) if self.tasks else self

    def public(self, seed: str) -> Public:
        """What is known before the first arrival; `seed` names the random stream of algorithms that draw."""
        return Public(self.slots, self.slot_seconds, self.base_memory_mb, self.node_types, seed, self.schedules)

    def cost(self, i: int) -> IntArray:
        """(G, T) operational costs e_ikt of task i, from 0, in micro-dollars: energy times tariff, or as given."""
        given = self.explicit_cost.get(i)
        if given is not None:
            return given
        cost: IntArray = self.energy_wh[i][:, None] * _tariffs(self.node_types)
        cost.setflags(write=False)
        return cost

    def costs(self) -> IntArray:
        """Compute the operational costs of all tasks at once.

        Returns
        -------
        (I, G, T) e_ikt, micro-dollars; for few tasks and slots, since it is large.
        """
        costs: IntArray = self.energy_wh[:, :, None] * _tariffs(self.node_types)
        for i, given in self.explicit_cost.items():
            costs[i] = given
        costs.setflags(write=False)
        return costs

    def vendors(self, i: int) -> tuple[Vendor, ...]:
        """Task i's offers in list order."""
        span = slice(int(self.vendor_start[i]), int(self.vendor_start[i + 1]))
        return tuple(map(Vendor, self.vendor_price[span].tolist(), self.vendor_delay[span].tolist()))

    def task(self, i: int) -> Task:
        """Task i, from 0, as an online algorithm sees it on arrival."""
        return Task(
            index=i,
            arrival=int(self.arrival[i]),
            deadline=int(self.deadline[i]),
            memory_mb=int(self.memory_mb[i]),
            work=int(self.work[i]),
            bid=int(self.bid[i]),
            rate=self.rate[i],
            cost=self.cost(i),
            vendors=self.vendors(i),
        )
