"""The data of problem P (eq. 4), in integers; `format.parse` alone makes instances, so all that exist are valid."""

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
    """Which schedules tasks may have: the field `run` of format `ratiobench/lora/2`; `any` if it is absent."""

    ANY = "any"  # Problem P: at most one node per slot, another one in every slot if need be
    ONE_NODE = "one-node"  # The same node in all slots: 'a particular compute node' (main paper, section 3.1)


@dataclass(frozen=True, slots=True, eq=False)
class NodeType:
    name: str
    count: int
    compute: int  # C_kp, samples per slot
    memory_mb: int  # C_km, base model included
    tariff: IntArray  # (T,) micro-dollars per Wh; negative prices occur


class Vendor(NamedTuple):
    price: int  # q_in, micro-dollars
    delay: int  # h_in, slots


class Option(NamedTuple):
    vendor: int | None  # index into the task's vendors; None: none needed
    price: int
    first: int  # usable slot


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Task i as known on arrival; the valuation is the bidder's own and is not here."""

    index: int  # position in the arrival order, from 0
    arrival: int  # a_i
    deadline: int  # d_i, the last usable slot
    memory_mb: int  # r_i
    work: int  # M_i, samples
    bid: int  # b_i, micro-dollars
    rate: IntArray  # (G,) s_ik per node type, samples per slot; 0 where the task cannot run
    cost: IntArray  # (G, T) e_ikt per node type and slot, micro-dollars; column t-1 is slot t
    vendors: tuple[Vendor, ...]  # offers; empty when f_i = 0

    @property
    def options(self) -> tuple[Option, ...]:
        """In the order of the vendors; a single one without vendor when f_i = 0."""
        if not self.vendors:
            return (Option(None, 0, self.arrival),)
        return tuple(Option(n, v.price, self.arrival + v.delay) for n, v in enumerate(self.vendors))


@dataclass(frozen=True, slots=True, eq=False)
class Public:
    """What is known before the first arrival, the whole tariff included."""

    slots: int  # T
    slot_seconds: int  # length of a slot
    base_memory_mb: int  # r_b, memory of the base model
    node_types: tuple[NodeType, ...]  # G of them
    seed: str  # names the random stream of algorithms that draw (the instance hash unless a replay fixes it)
    schedules: ScheduleKind = ScheduleKind.ANY

    @property
    def nodes(self) -> int:  # K, the number of nodes; they are numbered from 0 through the types in order
        return sum(node.count for node in self.node_types)

    @property
    def type_of_node(self) -> IntArray:  # (K,) the type of each node
        return freeze(_types_of_nodes(self.node_types))

    @property
    def first_node(self) -> IntArray:  # (G+1,) number of the first node of each type; the last entry is K
        return freeze(_first_nodes(self.node_types))

    @property
    def compute(self) -> IntArray:  # (G,) C_kp per node type
        return freeze([node.compute for node in self.node_types])

    @property
    def memory_mb(self) -> IntArray:  # (G,) C_km - r_b per node type: what tasks can use
        return freeze([node.memory_mb - self.base_memory_mb for node in self.node_types])

    @property
    def tariff(self) -> IntArray:  # (G, T) micro-dollars per Wh
        return freeze([node.tariff for node in self.node_types])


@lru_cache(maxsize=64)  # asked for at every task, as are the two below
def _types_of_nodes(node_types: tuple[NodeType, ...]) -> IntArray:
    return freeze(np.repeat(np.arange(len(node_types)), [node.count for node in node_types]))


@lru_cache(maxsize=64)
def _first_nodes(node_types: tuple[NodeType, ...]) -> IntArray:
    return freeze(np.concatenate([[0], np.cumsum([node.count for node in node_types])]))


@lru_cache(maxsize=64)
def _tariffs(node_types: tuple[NodeType, ...]) -> IntArray:
    return freeze([node.tariff for node in node_types])


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An instance of problem P. Tasks are columns; `task(i)` gives one as a `Task`."""

    name: str  # label; with origin and cache it is no part of the identity (hash)
    origin: Mapping[str, Any]
    slots: int  # T
    slot_seconds: int
    base_memory_mb: int  # r_b
    node_types: tuple[NodeType, ...]  # G of them
    arrival: IntArray  # (I,), as the next five
    deadline: IntArray
    memory_mb: IntArray
    work: IntArray
    bid: IntArray
    valuation: IntArray
    rate: IntArray  # (I, G)
    energy_wh: IntArray  # (I, G)
    explicit_cost: Mapping[int, IntArray]  # {i: (G, T)} for the tasks given by `cost` instead of `energy_wh`
    vendor_start: IntArray  # (I+1,); vendors of task i are vendor_start[i] .. vendor_start[i+1]-1 in the two below
    vendor_price: IntArray
    vendor_delay: IntArray
    schedules: ScheduleKind = ScheduleKind.ANY  # which the tasks may have; `ANY` without tasks
    cache: dict[str, str] = field(default_factory=dict, repr=False)  # derived figures of the format's code

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
    def tasks(self) -> int:  # I
        return len(self.bid)

    @property
    def nodes(self) -> int:  # K
        return sum(node.count for node in self.node_types)

    def without_migration(self) -> Instance:
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
        """(I, G, T) operational costs e_ikt of all tasks, micro-dollars; for few tasks and slots, since it is large."""
        costs: IntArray = self.energy_wh[:, :, None] * _tariffs(self.node_types)
        for i, given in self.explicit_cost.items():
            costs[i] = given
        costs.setflags(write=False)
        return costs

    def vendors(self, i: int) -> tuple[Vendor, ...]:
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
