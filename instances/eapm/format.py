"""The file format `ratiobench/eapm/1`: one JSON document, validated on reading, identified by its content.

The limits keep every sum of times and of money within 2^62, so that integer arithmetic on an instance cannot overflow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ratiobench.instances.eapm.model import Instance, freeze
from ratiobench.instances.io.documents import Documents, require_format
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import Fields, origin_of
from ratiobench.instances.io.files import sha256_of

FORMAT = "ratiobench/eapm/1"
SUM_LIMIT = 2**62  # No sum of costs, of prices or of times over all tasks of an instance is larger
MACHINE_LIMIT = 1_000
TYPE_LIMIT = 10_000
SCHEMA = Path(__file__).with_name("schema.json")

_TOP = {"format", "name", "origin", "energy_price", "machines", "task_types", "users"}
_TYPE = {"name", "etc_ms", "apc_mw"}
_USER = {"type", "tasks", "price"}


def parse(data: Any, source: str = "<document>") -> Instance:
    """Validate a decoded document and build the instance."""
    require_format(data, source, FORMAT)
    top = Fields(source, "", data, _TOP, {"origin"})
    name = top.text("name")
    origin = origin_of(source, top.data.get("origin", {}))
    energy_price = top.integer("energy_price", 0)
    machines = _names(top, "machines", MACHINE_LIMIT)
    kinds = [
        Fields(source, f"task_types[{k}]", raw, _TYPE, set())
        for k, raw in enumerate(_some(top, "task_types", TYPE_LIMIT))
    ]
    names = [kind.text("name") for kind in kinds]
    _distinct(source, names, "task_types[{}].name")
    etc = [kind.integers("etc_ms", 1, len(machines), "one per machine") for kind in kinds]
    apc = [kind.integers("apc_mw", 0, len(machines), "one per machine") for kind in kinds]
    dearest = [max(energy_price * t * w for t, w in zip(*row, strict=True)) for row in zip(etc, apc, strict=True)]
    for k, cost in enumerate(dearest):
        if cost > SUM_LIMIT:  # even of a type that no user brings: `Instance.cost` has every type
            raise InputError(source, kinds[k].at("apc_mw"), f"one task costs up to {cost}, over 2^62")
    columns: dict[str, list[int]] = {key: [] for key in _USER}
    spent = paid = time = 0
    for i, raw in enumerate(_some(top, "users", None)):
        user = Fields(source, f"users[{i}]", raw, _USER, set())
        kind = user.integer("type", 0, len(kinds) - 1)
        tasks = user.integer("tasks", 1)
        price = user.integer("price", 0, SUM_LIMIT)
        spent, paid, time = spent + tasks * dearest[kind], paid + price, time + tasks * max(etc[kind])
        for what, total in (("costs", spent), ("times", time)):
            if total > SUM_LIMIT:
                problem = f"{tasks} tasks of type {kind} take the sum of the largest {what} over 2^62"
                raise InputError(source, user.at("tasks"), problem)
        if paid > SUM_LIMIT:
            raise InputError(source, user.at("price"), f"{price} takes the sum of prices over 2^62")
        for key, value in (("type", kind), ("tasks", tasks), ("price", price)):
            columns[key].append(value)
    return Instance(
        name=name,
        origin=origin,
        energy_price=energy_price,
        machines=tuple(machines),
        task_types=tuple(names),
        etc_ms=freeze(etc),
        apc_mw=freeze(apc),
        kind=freeze(columns["type"]),
        tasks=freeze(columns["tasks"]),
        price=freeze(columns["price"]),
    )


def _some(top: Fields, key: str, most: int | None) -> list[Any]:
    values = top.items(key)
    if not values:
        raise InputError(top.source, key, "empty; at least one entry is needed")
    if most is not None and len(values) > most:
        raise InputError(top.source, key, f"{len(values)} entries; at most {most} are allowed")
    return values


def _names(top: Fields, key: str, most: int) -> list[str]:
    values = _some(top, key, most)
    for j, value in enumerate(values):
        Fields(top.source, "", {f"{key}[{j}]": value}, {f"{key}[{j}]"}, set()).text(f"{key}[{j}]")
    _distinct(top.source, values, key + "[{}]")
    return values


def _distinct(source: str, names: list[str], path: str) -> None:
    seen: set[str] = set()
    for j, name in enumerate(names):
        if name in seen:
            raise InputError(source, path.format(j), f"{shorten(name)} is given twice; names must differ")
        seen.add(name)


def document(instance: Instance) -> dict[str, Any]:
    """Convert an instance to its JSON document."""
    return {"format": FORMAT, "name": instance.name, "origin": dict(instance.origin), **_content(instance)}


def _content(instance: Instance) -> dict[str, Any]:
    tables = zip(instance.task_types, instance.etc_ms.tolist(), instance.apc_mw.tolist(), strict=True)
    users = zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True)
    return {
        "energy_price": instance.energy_price,
        "machines": list(instance.machines),
        "task_types": [{"name": name, "etc_ms": etc, "apc_mw": apc} for name, etc, apc in tables],
        "users": [{"type": kind, "tasks": tasks, "price": price} for kind, tasks, price in users],
    }


def content_hash(instance: Instance) -> str:
    """Compute the identity of an instance: the SHA-256 of its content without name and origin."""
    if "hash" not in instance.cache:
        content = {"format": FORMAT, **_content(instance)}
        instance.cache["hash"] = sha256_of(content)
    return instance.cache["hash"]


FILES = Documents(parse, document)
read, loads, dumps, write = FILES.read, FILES.loads, FILES.dumps, FILES.write
