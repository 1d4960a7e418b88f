"""The file formats `ratiobench/lora/1` and `/2`, whose tasks run on one node; `/2` without them is written as `/1`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from ratiobench.instances.io.documents import (
    InstanceFiles,
    Label,
    Name,
    Number,
    Origin,
    Part,
    Positive,
    Signed,
    about,
    convert,
    require_text,
    to_document,
)
from ratiobench.instances.io.errors import InputError, name_source, shorten
from ratiobench.instances.io.fields import LIMIT, origin_of
from ratiobench.instances.lora.model import TASK_COLUMNS, Instance, NodeType, ScheduleKind, freeze

FORMAT: Literal["ratiobench/lora/1"] = "ratiobench/lora/1"
FORMAT_2: Literal["ratiobench/lora/2"] = "ratiobench/lora/2"
OLDER_FORMATS = (FORMAT_2,)
BID_SUM_LIMIT = 2**52
SLOT_LIMIT = 20_000
# Fields and kinds of `/2` in version 0.2: rigid tasks, gangs, time limits, labels, jobs that run when slot 1 begins
_REMOVED = ("running", "nodes", "limit", "user", "group", "queue", "priority")
_REMOVED_KINDS = ("rigid", "gang")
_GONE = "removed in 0.3.0; see family cluster"

Slot = Annotated[int, Meta(ge=1, le=SLOT_LIMIT)]
Energy = Annotated[
    list[Number], about("Wh per slot, per node type; the operational cost e_ikt is this times the tariff")
]
Costs = Annotated[list[list[Signed]], about("e_ikt in micro-dollars, one list of slots per node type")]
Run = Annotated[Literal["any", "one-node"], about("format /2: any schedule of P, or one node in all slots")]


class NodeDocument(Part, frozen=True):
    """Identical nodes."""

    name: Name
    count: Annotated[Positive, about("how many nodes")]
    compute: Annotated[Positive, about("C_kp, samples per slot")]
    memory_mb: Annotated[Positive, about("C_km, MB, base model included")]
    tariff: Annotated[list[Signed], about("micro-dollars per Wh, one per slot; may be negative")]


class VendorDocument(Part, frozen=True):
    """The offer of a vendor."""

    price: Annotated[Number, about("q_in, micro-dollars")]
    delay: Annotated[Number, about("h_in, slots; 0: usable from the arrival slot on")]


class TaskDocument(Part, frozen=True, kw_only=True):
    """A task; exactly one of `energy_wh` and `cost` is given."""

    arrival: Annotated[Slot, about("a_i")]
    deadline: Annotated[Slot, about("d_i, the last usable slot")]
    memory_mb: Annotated[Positive, about("r_i, MB beside the base")]
    work: Annotated[Positive, about("M_i, samples")]
    bid: Annotated[Number, about("b_i, micro-dollars")]
    valuation: Annotated[Number, about("the true value where it differs from the bid")] | UnsetType = UNSET
    rate: Annotated[list[Number], about("s_ik per node type, samples per slot; 0: cannot run there")]
    energy_wh: Energy | UnsetType = UNSET
    cost: Costs | UnsetType = UNSET
    vendors: Annotated[list[VendorDocument], about("offers for pre-processing; empty when f_i = 0")]
    run: Run | UnsetType = UNSET


class InstanceDocument(Part, frozen=True, kw_only=True):
    """Online scheduling of multi-LoRA fine-tuning tasks.

    The reader checks more than a schema can say: lengths equal to slots or to the number of node types, deadline not
    before arrival, tasks in arrival order, base memory below every node's memory, |energy * tariff| up to 2^40, the sum
    of bids up to 2^52. Format /2 has the field run of tasks in addition, the same for all tasks.
    """

    format: Literal["ratiobench/lora/1", "ratiobench/lora/2"]
    name: Label
    origin: Origin = msgspec.field(default_factory=dict)
    slots: Annotated[Slot, about("T; slots are numbered 1..T")]
    slot_seconds: Annotated[Positive, about("length of a slot, seconds")]
    base_memory_mb: Annotated[Number, about("r_b, MB: the frozen base model on every node")]
    node_types: Annotated[list[NodeDocument], Meta(min_length=1)]
    tasks: Annotated[list[TaskDocument], about("in arrival order; ties are decided in list order")]


def parse(data: Any, source: str = "<document>") -> Instance:
    if isinstance(data, dict) and data.get("format") == FORMAT_2:
        _refuse_removed(data, source)
    top = convert(data, InstanceDocument, source)
    with name_source(source):
        _check_nodes(top)
        _check_tasks(top)
    tasks, shape = top.tasks, (len(top.tasks), len(top.node_types))
    columns: dict[str, Any] = {
        name: freeze([getattr(task, name) for task in tasks])
        for name in ("arrival", "deadline", "memory_mb", "work", "bid")
    }
    none = [0] * len(top.node_types)
    energy = [none if task.energy_wh is UNSET else task.energy_wh for task in tasks]
    offers = [offer for task in tasks for offer in task.vendors]
    return Instance(
        name=top.name,
        origin=origin_of(source, top.origin),
        slots=top.slots,
        slot_seconds=top.slot_seconds,
        base_memory_mb=top.base_memory_mb,
        node_types=tuple(
            NodeType(node.name, node.count, node.compute, node.memory_mb, freeze(node.tariff))
            for node in top.node_types
        ),
        valuation=freeze([task.bid if task.valuation is UNSET else task.valuation for task in tasks]),
        rate=freeze(np.array([task.rate for task in tasks], dtype=np.int64).reshape(shape)),
        energy_wh=freeze(np.array(energy, dtype=np.int64).reshape(shape)),
        explicit_cost={i: freeze(task.cost) for i, task in enumerate(tasks) if task.cost is not UNSET},
        vendor_start=freeze(np.cumsum([0, *(len(task.vendors) for task in tasks)])),
        vendor_price=freeze([offer.price for offer in offers]),
        vendor_delay=freeze([offer.delay for offer in offers]),
        schedules=_kind(tasks[0]) if tasks else ScheduleKind.ANY,
        **columns,
    )


def _refuse_removed(data: dict[str, Any], source: str) -> None:
    tasks = data.get("tasks")
    parts = [("", data), *((f"tasks[{i}].", task) for i, task in enumerate(tasks if isinstance(tasks, list) else ()))]
    for path, part in parts:
        if not isinstance(part, dict):
            continue
        for field in _REMOVED:
            if field in part:
                raise InputError(source, f"{path}{field}", f"{shorten(part[field])}: {_GONE}")
        if part.get("run") in _REMOVED_KINDS:
            raise InputError(source, f"{path}run", f"{part['run']}: {_GONE}")


def _kind(task: TaskDocument) -> ScheduleKind:
    return ScheduleKind.ANY if task.run is UNSET else ScheduleKind(task.run)


def _require_length(field: str, values: list[Any], length: int, what: str) -> None:
    if len(values) != length:
        raise InputError("", field, f"{len(values)} entries; {length} needed, {what}")


def _check_nodes(top: InstanceDocument) -> None:
    require_text("name", top.name)
    for g, node in enumerate(top.node_types):
        if top.base_memory_mb >= node.memory_mb:
            problem = f"is not below node_types[{g}].memory_mb = {node.memory_mb}: the base model must fit"
            raise InputError("", "base_memory_mb", f"{top.base_memory_mb} {problem}")
        require_text(f"node_types[{g}].name", node.name)
        _require_length(f"node_types[{g}].tariff", node.tariff, top.slots, "one per slot")


def _check_tasks(top: InstanceDocument) -> None:
    peak = [max(1, *map(abs, node.tariff)) for node in top.node_types]
    before, bids = 1, 0
    for i, task in enumerate(top.tasks):
        path = f"tasks[{i}]"
        for field in ("arrival", "deadline"):
            if (slot := getattr(task, field)) > top.slots:
                raise InputError("", f"{path}.{field}", f"{slot} is not in 1..{top.slots}")
        if task.arrival < before:
            problem = f"{task.arrival} is before {before}, the arrival of the task above it"
            raise InputError("", f"{path}.arrival", f"{problem}; tasks stand in arrival order")
        if task.deadline < task.arrival:
            raise InputError("", f"{path}.deadline", f"{task.deadline} is before the arrival {task.arrival}")
        before, bids = task.arrival, bids + task.bid
        if bids > BID_SUM_LIMIT:
            raise InputError("", f"{path}.bid", f"{task.bid} takes the sum of bids over 2^52")
        _require_length(f"{path}.rate", task.rate, len(peak), "one per node type")
        _check_cost(task, path, top.slots, peak)
        if task.run is not UNSET and top.format == FORMAT:
            raise InputError("", f"{path}.run", f"unknown key of {FORMAT}; {FORMAT_2} has it")
        if (kind := _kind(task)) is not (first := _kind(top.tasks[0])):
            problem = f"{kind.value}, and that of tasks[0] is {first.value}; all tasks are of one kind"
            raise InputError("", f"{path}.run", problem)


def _check_cost(task: TaskDocument, path: str, slots: int, peak: list[int]) -> None:
    if (task.energy_wh is UNSET) == (task.cost is UNSET):
        problem = "neither given" if task.cost is UNSET else "both given"
        raise InputError("", f"{path}.energy_wh", f"energy_wh and cost: {problem}; exactly one is needed")
    if task.cost is not UNSET:
        _require_length(f"{path}.cost", task.cost, len(peak), "one list per node type")
        for g, row in enumerate(task.cost):
            _require_length(f"{path}.cost[{g}]", row, slots, "one per slot")
    elif task.energy_wh is not UNSET:
        _require_length(f"{path}.energy_wh", task.energy_wh, len(peak), "one per node type")
        for g, (amount, price) in enumerate(zip(task.energy_wh, peak, strict=True)):
            if amount * price > LIMIT:
                raise InputError("", f"{path}.energy_wh[{g}]", f"{amount} times the tariff {price} is over 2^40")


def document(instance: Instance, *, valuation_always: bool = False) -> dict[str, Any]:
    plain = instance.schedules is ScheduleKind.ANY
    tasks = []
    for i, row in enumerate(zip(*(getattr(instance, name).tolist() for name in TASK_COLUMNS), strict=True)):
        fields = dict(zip(TASK_COLUMNS, row, strict=True))
        if fields["valuation"] == fields["bid"] and not valuation_always:
            del fields["valuation"]
        if i in instance.explicit_cost:
            fields |= {"energy_wh": UNSET, "cost": instance.explicit_cost[i].tolist()}
        vendors = [VendorDocument(*vendor) for vendor in instance.vendors(i)]
        tasks.append(TaskDocument(**fields, vendors=vendors, run=UNSET if plain else instance.schedules.value))
    top = InstanceDocument(
        format=FORMAT if plain else FORMAT_2,
        name=instance.name,
        origin=dict(instance.origin),
        slots=instance.slots,
        slot_seconds=instance.slot_seconds,
        base_memory_mb=instance.base_memory_mb,
        node_types=[
            NodeDocument(node.name, node.count, node.compute, node.memory_mb, node.tariff.tolist())
            for node in instance.node_types
        ],
        tasks=tasks,
    )
    return to_document(top)


FILES = InstanceFiles(parse, document, hashed=partial(document, valuation_always=True))
read, loads, dumps, write, content_hash = FILES.read, FILES.loads, FILES.dumps, FILES.write, FILES.content_hash
