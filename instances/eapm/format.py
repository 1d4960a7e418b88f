"""The file format `ratiobench/eapm/1`: one JSON document, validated on reading, identified by its content.

The limits keep every sum of times and of money within 2^62, so that integer arithmetic on an instance cannot overflow.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ratiobench.instances.eapm.model import Instance, Solution, freeze
from ratiobench.instances.io.documents import (
    InstanceFiles,
    Label,
    Name,
    Number,
    Origin,
    Part,
    Positive,
    SolutionFiles,
    about,
    convert,
    require_different,
    require_text,
    to_document,
)
from ratiobench.instances.io.errors import InputError, name_source
from ratiobench.instances.io.fields import origin_of

FORMAT: Literal["ratiobench/eapm/1"] = "ratiobench/eapm/1"
SUM_LIMIT = 2**62  # No sum of costs, of prices or of times over all tasks of an instance is larger
MACHINE_LIMIT = 1_000
TYPE_LIMIT = 10_000


class TypeDocument(Part, frozen=True):
    """A type of task."""

    name: Name
    etc_ms: Annotated[list[Positive], about("ETC per machine: milliseconds that one task takes")]
    apc_mw: Annotated[list[Number], about("APC per machine: milliwatts while it runs")]


class UserDocument(Part, frozen=True):
    """A bag of identical tasks, to be placed whole."""

    type: Annotated[int, Meta(ge=0, le=TYPE_LIMIT - 1), about("position of the task type, from 0")]
    tasks: Annotated[Positive, about("a_i")]
    price: Annotated[int, Meta(ge=0, le=SUM_LIMIT), about("p_i, micro-units, for the whole bag")]


class InstanceDocument(Part, frozen=True, kw_only=True):
    """Bags of identical tasks on heterogeneous machines for profit per unit time.

    The reader checks more than a schema can say: lengths equal to the number of machines, type below the number of
    task types, names of machines and of task types that differ, and within 2^62: one task's cost, the sum of prices,
    and the sums over all tasks of the largest cost and of the longest time.
    """

    format: Literal["ratiobench/eapm/1"]
    name: Label
    origin: Origin = msgspec.field(default_factory=dict)
    energy_price: Annotated[Number, about("c, micro-units of money per microjoule")]
    machines: Annotated[
        list[Name],
        Meta(min_length=1, max_length=MACHINE_LIMIT),
        about("names; everything per machine is in this order"),
    ]
    task_types: Annotated[list[TypeDocument], Meta(min_length=1, max_length=TYPE_LIMIT)]
    users: Annotated[list[UserDocument], Meta(min_length=1), about("in order of arrival")]


def parse(data: Any, source: str = "<document>") -> Instance:
    top = convert(data, InstanceDocument, source)
    with name_source(source):
        _check(top)
    return Instance(
        name=top.name,
        origin=origin_of(source, top.origin),
        energy_price=top.energy_price,
        machines=tuple(top.machines),
        task_types=tuple(kind.name for kind in top.task_types),
        etc_ms=freeze([kind.etc_ms for kind in top.task_types]),
        apc_mw=freeze([kind.apc_mw for kind in top.task_types]),
        kind=freeze([user.type for user in top.users]),
        tasks=freeze([user.tasks for user in top.users]),
        price=freeze([user.price for user in top.users]),
    )


def _check(top: InstanceDocument) -> None:
    """What types cannot say."""
    require_text("name", top.name)
    require_different("machines[]", top.machines)
    require_different("task_types[].name", [kind.name for kind in top.task_types])
    dearest = []
    for k, kind in enumerate(top.task_types):
        for field in ("etc_ms", "apc_mw"):
            if (length := len(getattr(kind, field))) != len(top.machines):
                problem = f"{length} entries; {len(top.machines)} needed, one per machine"
                raise InputError("", f"task_types[{k}].{field}", problem)
        dearest.append(max(top.energy_price * t * w for t, w in zip(kind.etc_ms, kind.apc_mw, strict=True)))
        if dearest[k] > SUM_LIMIT:  # even of a type that no user brings: `Instance.cost` has every type
            raise InputError("", f"task_types[{k}].apc_mw", f"one task costs up to {dearest[k]}, over 2^62")
    spent = paid = time = 0
    for i, user in enumerate(top.users):
        if user.type >= len(top.task_types):
            raise InputError("", f"users[{i}].type", f"{user.type} is not in 0..{len(top.task_types) - 1}")
        spent, paid = spent + user.tasks * dearest[user.type], paid + user.price
        time += user.tasks * max(top.task_types[user.type].etc_ms)
        for what, total in (("costs", spent), ("times", time)):
            if total > SUM_LIMIT:
                problem = f"{user.tasks} tasks of type {user.type} take the sum of the largest {what} over 2^62"
                raise InputError("", f"users[{i}].tasks", problem)
        if paid > SUM_LIMIT:
            raise InputError("", f"users[{i}].price", f"{user.price} takes the sum of prices over 2^62")


def document(instance: Instance) -> dict[str, Any]:
    tables = zip(instance.task_types, instance.etc_ms.tolist(), instance.apc_mw.tolist(), strict=True)
    users = zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True)
    top = InstanceDocument(
        format=FORMAT,
        name=instance.name,
        origin=dict(instance.origin),
        energy_price=instance.energy_price,
        machines=list(instance.machines),
        task_types=[TypeDocument(*row) for row in tables],
        users=[UserDocument(*row) for row in users],
    )
    return to_document(top)


FILES = InstanceFiles(parse, document)
read, loads, dumps, write, content_hash = FILES.read, FILES.loads, FILES.dumps, FILES.write, FILES.content_hash
SOLUTIONS: SolutionFiles[Solution] = SolutionFiles(Solution)
solution_document, parse_solution = SOLUTIONS.document, SOLUTIONS.parse
