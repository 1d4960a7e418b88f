"""The file format `ratiobench/tenants/1`: one JSON document, validated on reading, identified by its content.

The limits keep every sum of costs below 2^62, so that integer arithmetic on an instance cannot overflow.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ratiobench.instances.io.documents import (
    InstanceFiles,
    Label,
    Name,
    Number,
    Origin,
    Part,
    SolutionFiles,
    about,
    convert,
    require_different,
    require_text,
    to_document,
)
from ratiobench.instances.io.errors import InputError, name_source
from ratiobench.instances.io.fields import origin_of
from ratiobench.instances.tenants.model import GpuType, Instance, Solution, freeze

FORMAT: Literal["ratiobench/tenants/1"] = "ratiobench/tenants/1"
# n (100 (late_penalty + theta) horizon + 100 dearest run) is below it; horizon: last release + sum of longest runs
SUM_LIMIT = 2**62
TYPE_LIMIT, COUNT_LIMIT = 100, 1000
PRICE_LIMIT, RELEASE_LIMIT, RUN_LIMIT = 2**31, 2**24, 2**20

Price = Annotated[int, Meta(ge=0, le=PRICE_LIMIT)]
UnreadLabel = Annotated[Name, about("a label that no algorithm reads")]


class TypeDocument(Part, frozen=True):
    """A type of GPU."""

    name: Name
    count: Annotated[int, Meta(ge=1, le=COUNT_LIMIT), about("GPUs of the type")]
    price: Annotated[Price, about("micro-dollars per tick")]


class JobDocument(Part, frozen=True, omit_defaults=True):
    """A job; labels that it does not have are not written."""

    release: Annotated[int, Meta(ge=0, le=RELEASE_LIMIT), about("tick")]
    deadline: Annotated[Number, about("tick; it may lie before the release")]
    cost_sensitivity: Annotated[int, Meta(ge=0, le=100), about("percent; 100 minds money alone, 0 time alone")]
    run: Annotated[list[Annotated[int, Meta(ge=1, le=RUN_LIMIT)]], about("ticks on a GPU of each type")]
    tenant: UnreadLabel = ""
    kind: UnreadLabel = ""
    iterations: Annotated[Number, about("a label that no algorithm reads")] = 0


class InstanceDocument(Part, frozen=True, kw_only=True):
    """Jobs of many tenants on heterogeneous GPUs; the least composite cost is best.

    The reader checks more than a schema can say: jobs in order of release, one run per type of GPU, names of types
    that differ, and n (100 (late_penalty + theta) horizon + 100 dearest run) below 2^62, with horizon the last release
    and the sum of all longest runs, and the dearest run the largest price times run.
    """

    format: Literal["ratiobench/tenants/1"]
    name: Label
    origin: Origin = msgspec.field(default_factory=dict)
    tick_seconds: Annotated[int, Meta(ge=1, le=3600), about("length of a tick")]
    gpu_types: Annotated[
        list[TypeDocument],
        Meta(min_length=1, max_length=TYPE_LIMIT),
        about("GPUs are numbered through the types in order"),
    ]
    theta: Annotated[Price, about("micro-dollars per tick from release to end, for a job that minds time alone")]
    late_penalty: Annotated[Price, about("lambda, micro-dollars per tick of lateness")]
    jobs: Annotated[list[JobDocument], about("in order of release")]


def parse(data: Any, source: str = "<document>") -> Instance:
    top = convert(data, InstanceDocument, source)
    with name_source(source):
        _check(top)
    types = len(top.gpu_types)
    columns: dict[str, Any] = {
        name: freeze([getattr(job, name) for job in top.jobs])
        for name in ("release", "deadline", "cost_sensitivity", "iterations")
    }
    return Instance(
        name=top.name,
        origin=origin_of(source, top.origin),
        tick_seconds=top.tick_seconds,
        gpu_types=tuple(GpuType(kind.name, kind.count, kind.price) for kind in top.gpu_types),
        theta=top.theta,
        late_penalty=top.late_penalty,
        run=freeze([job.run for job in top.jobs]).reshape(-1, types),
        tenants=tuple(job.tenant for job in top.jobs),
        kinds=tuple(job.kind for job in top.jobs),
        **columns,
    )


def _check(top: InstanceDocument) -> None:
    """What types cannot say."""
    require_text("name", top.name)
    require_different("gpu_types[].name", [kind.name for kind in top.gpu_types])
    prices = [kind.price for kind in top.gpu_types]
    before = longest = dearest = 0
    for j, job in enumerate(top.jobs):
        if job.release < before:
            problem = f"{job.release} is before {before}; jobs stand in order of release"
            raise InputError("", f"jobs[{j}].release", problem)
        if len(job.run) != len(prices):
            problem = f"{len(job.run)} entries; {len(prices)} needed, one per type of GPU"
            raise InputError("", f"jobs[{j}].run", problem)
        before, longest = job.release, longest + max(job.run)
        dearest = max(dearest, *(run * price for run, price in zip(job.run, prices, strict=True)))
        total = (j + 1) * (100 * (top.late_penalty + top.theta) * (job.release + longest) + 100 * dearest)
        if total >= SUM_LIMIT:
            problem = f"{max(job.run)} takes what jobs may cost to {total}, not below 2^62"
            raise InputError("", f"jobs[{j}].run", problem)
        for field in ("tenant", "kind"):
            require_text(f"jobs[{j}].{field}", getattr(job, field))


def document(instance: Instance) -> dict[str, Any]:
    columns = (instance.release, instance.deadline, instance.cost_sensitivity, instance.run)
    labels = (instance.tenants, instance.kinds, instance.iterations.tolist())
    rows = zip(*(column.tolist() for column in columns), *labels, strict=True)
    top = InstanceDocument(
        format=FORMAT,
        name=instance.name,
        origin=dict(instance.origin),
        tick_seconds=instance.tick_seconds,
        gpu_types=[TypeDocument(kind.name, kind.count, kind.price) for kind in instance.gpu_types],
        theta=instance.theta,
        late_penalty=instance.late_penalty,
        jobs=[JobDocument(*row) for row in rows],
    )
    return to_document(top)


FILES = InstanceFiles(parse, document)
read, loads, dumps, write, content_hash = FILES.read, FILES.loads, FILES.dumps, FILES.write, FILES.content_hash
SOLUTIONS: SolutionFiles[Solution] = SolutionFiles(Solution)
solution_document, parse_solution = SOLUTIONS.document, SOLUTIONS.parse
