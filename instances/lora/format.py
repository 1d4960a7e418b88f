"""The file formats `ratiobench/lora/1` and `/2`: one JSON document, validated on reading, identified by its content.

`/2` says in addition which schedules a task may have (`run`, `nodes`), what its user claims as work (`limit`), and
whose it is (`user`, `group`, `queue`, `priority`); and which jobs run when the first slot begins (`running`): the nodes
that they hold, how much of each, until when, and until when by their users' claims (`planned`). A document of `/1` is
one of `/2` with all of these at their defaults: it is written and hashed as `/1`.

Nothing is clipped or guessed: whatever is not allowed is an `InputError` that names the file, the field and the value.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.documents import Documents, require_format
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import LIMIT, Fields, integer, items, origin_of
from ratiobench.instances.io.files import sha256_of
from ratiobench.instances.lora.model import NO_LABELS, Instance, IntArray, Labels, NodeType, RunningJob, freeze
from ratiobench.instances.lora.schedules import KINDS, ScheduleKind

FORMAT = "ratiobench/lora/1"
FORMAT_2 = "ratiobench/lora/2"
BID_SUM_LIMIT = 2**52
SLOT_LIMIT = 20_000
PARTS_LIMIT, LABEL_LIMIT = 10**6, 80  # Most nodes of a gang, and most characters of a label
# No gang costs more in operation: nodes times slots times the largest amount that a cell of it costs
GANG_COST_LIMIT = 2**53
SCHEMA = Path(__file__).with_name("schema.json")

_TOP = {"format", "name", "origin", "slots", "slot_seconds", "base_memory_mb", "node_types", "tasks"}
_NODE = {"name", "count", "compute", "memory_mb", "tariff"}
_TASK = {"arrival", "deadline", "memory_mb", "work", "bid", "valuation", "rate", "energy_wh", "cost", "vendors"}
_KIND_NUMBERS = {kind.value: number for number, kind in enumerate(KINDS)}
_LABELS = ("user", "group", "queue")
_TASK_2 = {"run", "nodes", "limit", "priority", *_LABELS}
_VENDOR = {"price", "delay"}
_RUNNING = {"nodes", "compute", "memory_mb", "last", "planned", *_LABELS}


def parse(data: Any, source: str = "<document>") -> Instance:
    """Validate a decoded document and build the instance."""
    second = isinstance(data, dict) and data.get("format") == FORMAT_2
    if not second:
        require_format(data, source, FORMAT)
    allowed, optional = _TASK | _TASK_2 if second else _TASK, {"valuation", "energy_wh", "cost", *_TASK_2}
    top = Fields(source, "", data, _TOP | ({"running"} if second else set()), {"origin", "running"})
    name = top.text("name")
    origin = origin_of(source, top.data.get("origin", {}))
    slots = top.integer("slots", 1, SLOT_LIMIT)
    slot_seconds = top.integer("slot_seconds", 1)
    base = top.integer("base_memory_mb", 0)
    raw_types = top.items("node_types")
    if not raw_types:
        raise InputError(source, "node_types", "empty; at least one node type is needed")
    node_types = tuple(_node_type(source, f"node_types[{g}]", raw, slots, base) for g, raw in enumerate(raw_types))
    running = _running(source, top.items("running"), node_types, slots, base) if "running" in top.data else ()
    raw_tasks = top.items("tasks")
    columns: dict[str, list[Any]] = {key: [] for key in _TASK | {"price", "delay", "run", "parts", "limit"}}
    labels: dict[int, Labels] = {}
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
        run, parts = _schedules(task, node_types, explicit.get(i), peak, slots, columns)
        columns["run"].append(run)
        columns["parts"].append(parts)
        columns["limit"].append(task.integer("limit", 1) if "limit" in task.data else 0)
        if not _TASK_2.isdisjoint(task.data):
            found = _labels(task)
            if found != NO_LABELS:
                labels[i] = found
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
        run=_freeze_kinds(columns["run"]),
        parts=freeze(columns["parts"]),
        limit=freeze(columns["limit"]),
        labels=labels,
        running=running,
    )


def _running(
    source: str, given: list[Any], node_types: tuple[NodeType, ...], slots: int, base: int
) -> tuple[RunningJob, ...]:
    """The jobs that run when the first slot begins. All hold what they hold in that slot, so it must fit there."""
    ends = list(accumulate(node.count for node in node_types))
    used: dict[int, tuple[int, int]] = {}
    found = []
    for j, raw in enumerate(given):
        job = Fields(source, f"running[{j}]", raw, _RUNNING, {"planned", *_LABELS})
        nodes = job.items("nodes")
        if not nodes:
            raise InputError(source, job.at("nodes"), "empty; a job that runs is on some node")
        last = job.integer("last", 1, slots)
        compute, memory = job.integer("compute", 1), job.integer("memory_mb", 0)
        before = -1
        for n, value in enumerate(nodes):
            where = f"{job.at('nodes')}[{n}]"
            node = integer(source, where, value, 0, ends[-1] - 1)
            if node <= before:
                raise InputError(source, where, f"{node} is not above {before}; the nodes stand in ascending order")
            before = node
            kind = node_types[bisect_right(ends, node)]
            busy, full = used.get(node, (0, 0))
            used[node] = busy + compute, full + memory
            for name, amount, limit in (
                ("compute", busy + compute, kind.compute),
                ("memory_mb", full + memory, kind.memory_mb - base),
            ):
                if amount > limit:
                    problem = f"with it jobs hold {amount} of node {node}, which has {limit}"
                    raise InputError(source, job.at(name), problem)
        planned = job.integer("planned", last, slots) if "planned" in job.data else last
        found.append(RunningJob(tuple(nodes), compute, memory, last, planned, _labels(job)))
    return tuple(found)


def _freeze_kinds(values: list[int]) -> NDArray[np.int8]:
    kinds = np.array(values, dtype=np.int8)
    kinds.setflags(write=False)
    return kinds


def _schedules(
    task: Fields, types: tuple[NodeType, ...], cost: IntArray | None, peak: list[int], slots: int,
    columns: dict[str, list[Any]],
) -> tuple[int, int]:  # fmt: skip
    """The number of the kind in `run`, and `nodes`; a gang's nodes must leave its rates and costs within the limits."""
    name = task.data.get("run", ScheduleKind.ANY.value)
    if not isinstance(name, str) or name not in _KIND_NUMBERS:
        raise InputError(task.source, task.at("run"), f"{shorten(name)} is not one of {', '.join(_KIND_NUMBERS)}")
    gang = name == ScheduleKind.GANG.value
    if not gang:
        if "nodes" in task.data:
            raise InputError(task.source, task.at("nodes"), f"only a gang has nodes; this task is {name}")
        return _KIND_NUMBERS[name], 1
    if "nodes" not in task.data:
        raise InputError(task.source, task.at("nodes"), "the field is missing; a gang needs it")
    parts = task.integer("nodes", 2, PARTS_LIMIT)
    fastest = max(columns["rate"][-1])
    if parts * fastest > LIMIT:
        raise InputError(task.source, task.at("nodes"), f"{parts} times the rate {fastest} is over 2^40")
    if cost is not None:
        largest = int(np.abs(cost).max())
    else:
        largest = max(energy * price for energy, price in zip(columns["energy_wh"][-1], peak, strict=True))
    if parts * largest * slots > GANG_COST_LIMIT:
        text = f"{parts} nodes at up to {largest} micro-dollars in each of {slots} slots are over 2^53"
        raise InputError(task.source, task.at("nodes"), text)
    return _KIND_NUMBERS[name], parts


def _labels(task: Fields) -> Labels:
    texts: dict[str, str] = {}
    for key in _LABELS:
        text = task.text(key) if key in task.data else ""
        if len(text) > LABEL_LIMIT:
            raise InputError(task.source, task.at(key), f"{shorten(text)} is longer than {LABEL_LIMIT} characters")
        texts[key] = text
    priority = task.integer("priority", -(2**31), 2**31 - 1) if "priority" in task.data else 0
    return Labels(texts["user"], texts["group"], texts["queue"], priority)


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
    second = instance.run.any() or instance.limit.any() or instance.labels or instance.running
    return FORMAT_2 if second else FORMAT


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
        if instance.run[i]:
            task["run"] = KINDS[instance.run[i]].value
        if instance.parts[i] > 1:
            task["nodes"] = int(instance.parts[i])
        if instance.limit[i]:
            task["limit"] = int(instance.limit[i])
        if i in instance.labels:
            task |= {key: value for key, value in instance.labels[i]._asdict().items() if value}
        tasks.append(task)
    running = [
        {"nodes": list(job.nodes), "compute": job.compute, "memory_mb": job.memory_mb, "last": job.last}
        | ({"planned": job.planned} if job.planned > job.last else {})
        | {key: value for key, value in job.labels._asdict().items() if value}
        for job in instance.running
    ]
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
        **({"running": running} if running else {}),
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
