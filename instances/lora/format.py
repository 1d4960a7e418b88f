"""The file formats `ratiobench/lora/1` and `/2`: one JSON document, validated on reading, identified by its content.

`/2` has tasks with `"run": "one-node"`, all of them or none: such a task runs on the same node in all its slots. A
document of `/2` without them is written and hashed as `/1`.

Nothing is clipped or guessed: whatever is not allowed is an `InputError` that names the file, the field and the value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ratiobench.instances.io.documents import Documents, require_format
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import LIMIT, Fields, integer, items, origin_of
from ratiobench.instances.io.files import sha256_of
from ratiobench.instances.lora.model import Instance, IntArray, NodeType, freeze
from ratiobench.instances.lora.schedules import ScheduleKind

FORMAT = "ratiobench/lora/1"
FORMAT_2 = "ratiobench/lora/2"
OLDER_FORMATS = (FORMAT_2,)
BID_SUM_LIMIT = 2**52
SLOT_LIMIT = 20_000
SCHEMA = Path(__file__).with_name("schema.json")

_TOP = {"format", "name", "origin", "slots", "slot_seconds", "base_memory_mb", "node_types", "tasks"}
_NODE = {"name", "count", "compute", "memory_mb", "tariff"}
_TASK = {"arrival", "deadline", "memory_mb", "work", "bid", "valuation", "rate", "energy_wh", "cost", "vendors"}
_VENDOR = {"price", "delay"}
# Fields and kinds of `/2` in version 0.2: rigid tasks, gangs, time limits, labels, jobs that run when slot 1 begins
_REMOVED = ("running", "nodes", "limit", "user", "group", "queue", "priority")
_REMOVED_KINDS = ("rigid", "gang")
_GONE = "removed in 0.3.0; see family cluster"


def parse(data: Any, source: str = "<document>") -> Instance:
    """Validate a decoded document and build the instance."""
    second = isinstance(data, dict) and data.get("format") == FORMAT_2
    if second:
        _refuse_removed(data, source)
    else:
        require_format(data, source, FORMAT)
    allowed, optional = _TASK | {"run"} if second else _TASK, {"valuation", "energy_wh", "cost", "run"}
    top = Fields(source, "", data, _TOP, {"origin"})
    name = top.text("name")
    origin = origin_of(source, top.data.get("origin", {}))
    slots = top.integer("slots", 1, SLOT_LIMIT)
    slot_seconds = top.integer("slot_seconds", 1)
    base = top.integer("base_memory_mb", 0)
    raw_types = top.items("node_types")
    if not raw_types:
        raise InputError(source, "node_types", "empty; at least one node type is needed")
    node_types = tuple(_node_type(source, f"node_types[{g}]", raw, slots, base) for g, raw in enumerate(raw_types))
    raw_tasks = top.items("tasks")
    columns: dict[str, list[Any]] = {key: [] for key in _TASK | {"price", "delay"}}
    kinds: list[ScheduleKind] = []
    starts = [0]
    explicit: dict[int, IntArray] = {}
    peak = [max(1, max(abs(int(price)) for price in node.tariff)) for node in node_types]
    previous, bid_sum = 1, 0
    for i, raw in enumerate(raw_tasks):
        path = f"tasks[{i}]"
        task = Fields(source, path, raw, allowed, optional)
        arrival = task.integer("arrival", 1, slots)
        if arrival < previous:
            raise InputError(
                source,
                f"{path}.arrival",
                f"{arrival} is before {previous}, the arrival of the task above it; tasks stand in arrival order",
            )
        previous = arrival
        deadline = task.integer("deadline", 1, slots)
        if deadline < arrival:
            raise InputError(source, f"{path}.deadline", f"{deadline} is before the arrival {arrival}")
        bid = task.integer("bid", 0)
        bid_sum += bid
        if bid_sum > BID_SUM_LIMIT:
            raise InputError(source, f"{path}.bid", f"{bid} takes the sum of bids over 2^52")
        columns["arrival"].append(arrival)
        columns["deadline"].append(deadline)
        columns["memory_mb"].append(task.integer("memory_mb", 1))
        columns["work"].append(task.integer("work", 1))
        columns["bid"].append(bid)
        columns["valuation"].append(task.integer("valuation", 0) if "valuation" in task.data else bid)
        columns["rate"].append(task.integers("rate", 0, len(node_types), "one per node type"))
        columns["energy_wh"].append(_energy(task, i, node_types, peak, slots, explicit))
        kinds.append(_kind(task))
        if kinds[-1] is not kinds[0]:
            text = f"{kinds[-1].value}, and that of tasks[0] is {kinds[0].value}; all tasks are of one kind"
            raise InputError(source, f"{path}.run", text)
        for n, offer in enumerate(task.items("vendors")):
            vendor = Fields(source, f"{path}.vendors[{n}]", offer, _VENDOR, set())
            columns["price"].append(vendor.integer("price", 0))
            columns["delay"].append(vendor.integer("delay", 0))
        starts.append(len(columns["price"]))
    shape = (len(raw_tasks), len(node_types))
    return Instance(
        name=name,
        origin=origin,
        slots=slots,
        slot_seconds=slot_seconds,
        base_memory_mb=base,
        node_types=node_types,
        arrival=freeze(columns["arrival"]),
        deadline=freeze(columns["deadline"]),
        memory_mb=freeze(columns["memory_mb"]),
        work=freeze(columns["work"]),
        bid=freeze(columns["bid"]),
        valuation=freeze(columns["valuation"]),
        rate=freeze(np.array(columns["rate"], dtype=np.int64).reshape(shape)),
        energy_wh=freeze(np.array(columns["energy_wh"], dtype=np.int64).reshape(shape)),
        explicit_cost=explicit,
        vendor_start=freeze(starts),
        vendor_price=freeze(columns["price"]),
        vendor_delay=freeze(columns["delay"]),
        schedules=kinds[0] if kinds else ScheduleKind.ANY,
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


def _kind(task: Fields) -> ScheduleKind:
    name = task.data.get("run", ScheduleKind.ANY.value)
    known = [kind.value for kind in ScheduleKind]
    if name not in known:
        raise InputError(task.source, task.at("run"), f"{shorten(name)} is not one of {', '.join(known)}")
    return ScheduleKind(name)


def _node_type(source: str, path: str, raw: Any, slots: int, base: int) -> NodeType:
    node = Fields(source, path, raw, _NODE, set())
    memory = node.integer("memory_mb", 1)
    if base >= memory:
        raise InputError(
            source, "base_memory_mb", f"{base} is not below {path}.memory_mb = {memory}: the base model must fit"
        )
    return NodeType(
        name=node.text("name"),
        count=node.integer("count", 1),
        compute=node.integer("compute", 1),
        memory_mb=memory,
        tariff=freeze(node.integers("tariff", -LIMIT, slots, "one per slot")),
    )


def _energy(
    task: Fields, i: int, types: tuple[NodeType, ...], peak: list[int], slots: int, explicit: dict[int, IntArray]
) -> list[int]:
    """energy_wh of the task, or zeros with its `cost` put into `explicit`; exactly one of the two is given."""
    given = [key for key in ("energy_wh", "cost") if key in task.data]
    if len(given) != 1:
        problem = "both given" if given else "neither given"
        raise InputError(task.source, f"{task.path}.energy_wh", f"energy_wh and cost: {problem}; exactly one is needed")
    if given == ["energy_wh"]:
        energy = task.integers("energy_wh", 0, len(types), "one per node type")
        for g, amount in enumerate(energy):
            if amount * peak[g] > LIMIT:
                raise InputError(
                    task.source, f"{task.path}.energy_wh[{g}]", f"{amount} times the tariff {peak[g]} is over 2^40"
                )
        return energy
    rows = task.items("cost", len(types), "one list per node type")
    path = task.at("cost")
    table: list[list[int]] = []
    for g, row in enumerate(rows):
        values = items(task.source, f"{path}[{g}]", row, slots, "one per slot")
        table.append(
            [integer(task.source, f"{path}[{g}][{t}]", value, -LIMIT, LIMIT) for t, value in enumerate(values)]
        )
    explicit[i] = freeze(table)
    return [0] * len(types)


def document(instance: Instance) -> dict[str, Any]:
    """The instance's JSON document."""
    return {
        "format": _format_of(instance),
        "name": instance.name,
        "origin": dict(instance.origin),
        **_content(instance, valuation_always=False),
    }


def _format_of(instance: Instance) -> str:
    return FORMAT if instance.schedules is ScheduleKind.ANY else FORMAT_2


def _content(instance: Instance, *, valuation_always: bool) -> dict[str, Any]:
    columns = {
        key: getattr(instance, key).tolist()
        for key in ("arrival", "deadline", "memory_mb", "work", "bid", "valuation", "rate", "energy_wh")
    }
    tasks = []
    for i in range(instance.tasks):
        task: dict[str, Any] = {key: columns[key][i] for key in ("arrival", "deadline", "memory_mb", "work", "bid")}
        if valuation_always or columns["valuation"][i] != columns["bid"][i]:
            task["valuation"] = columns["valuation"][i]
        task["rate"] = columns["rate"][i]
        if i in instance.explicit_cost:
            task["cost"] = instance.explicit_cost[i].tolist()
        else:
            task["energy_wh"] = columns["energy_wh"][i]
        task["vendors"] = [vendor._asdict() for vendor in instance.vendors(i)]
        if instance.schedules is not ScheduleKind.ANY:
            task["run"] = instance.schedules.value
        tasks.append(task)
    return {
        "slots": instance.slots,
        "slot_seconds": instance.slot_seconds,
        "base_memory_mb": instance.base_memory_mb,
        "node_types": [
            {
                "name": node.name,
                "count": node.count,
                "compute": node.compute,
                "memory_mb": node.memory_mb,
                "tariff": node.tariff.tolist(),
            }
            for node in instance.node_types
        ],
        "tasks": tasks,
    }


def content_hash(instance: Instance) -> str:
    """The identity of an instance: the SHA-256 of its content without name and origin."""
    if "hash" not in instance.cache:
        content = {"format": _format_of(instance), **_content(instance, valuation_always=True)}
        instance.cache["hash"] = sha256_of(content)
    return instance.cache["hash"]


FILES = Documents(parse, document)
read, loads, dumps, write = FILES.read, FILES.loads, FILES.dumps, FILES.write
