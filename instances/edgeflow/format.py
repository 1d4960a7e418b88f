"""The file format `ratiobench/edgeflow/1`: one JSON document, validated on reading, identified by its content.

The limits keep every product of a speed and a time within 2^62, so that integer arithmetic on an instance cannot
overflow.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow.model import Instance, Model, Solution, Window
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
from ratiobench.instances.io.errors import InputError, name_source, shorten
from ratiobench.instances.io.fields import origin_of

FORMAT: Literal["ratiobench/edgeflow/1"] = "ratiobench/edgeflow/1"
GPU_LIMIT = 4096  # GPUs of a cloud, edge servers of a window, and the widest share
MODEL_LIMIT = 10_000
STALL_LIMIT = 3600
WORK_LIMIT = 2**53
DONE_LIMIT = 2**62  # No model does more milli-iterations in the window of a job of its

Gpus = Annotated[int, Meta(ge=1, le=GPU_LIMIT)]
Share = Annotated[
    Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], Meta(title=f"a power of two in 1..{GPU_LIMIT}")
]
Stall = Annotated[int, Meta(ge=0, le=STALL_LIMIT)]
Pair = Annotated[tuple[Share, Positive], Meta(title="[gpus, milli-iterations per second]")]


class CloudDocument(Part, frozen=True):
    """The GPUs of the cloud."""

    gpus: Annotated[Gpus, about("G")]
    node_gpus: Annotated[Gpus, about("GPUs of a node; only some policies and reports read it")]


class WindowDocument(Part, frozen=True, rename={"start": "from", "end": "to"}):
    """Half-open: from `from` up to, but not at, `to`."""

    start: Number
    end: Number
    servers: Gpus

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise InputError("", "to", f"{self.end} is not after `from`, {self.start}")


class ModelDocument(Part, frozen=True):
    """A model to train, with its speeds."""

    name: Name
    speed: Annotated[
        list[Pair], Meta(min_length=1), about("of every share that was measured, ascending; speeds need not grow")
    ]
    edge_speed: Annotated[Number, about("on an edge server; 0: it does not fit there")]
    overhead_s: Annotated[Stall, about("seconds that a start or a change of share takes")]
    edge_overhead_s: Annotated[Stall, about("seconds that a change of side adds")]

    def __post_init__(self) -> None:
        for j in range(1, len(self.speed)):
            if self.speed[j][0] <= self.speed[j - 1][0]:
                problem = f"{self.speed[j][0]} is not above {self.speed[j - 1][0]}, the share before"
                raise InputError("", f"speed[{j}][0]", problem)


class JobDocument(Part, frozen=True):
    """A job."""

    submit: Number
    deadline: Annotated[Number, about("absolute; the work must be done in the seconds before it")]
    model: Name
    work: Annotated[int, Meta(ge=1, le=WORK_LIMIT), about("milli-iterations")]
    gpus: Annotated[Share, about("the share that its user asked for")]


class InstanceDocument(Part, frozen=True, kw_only=True):
    """Elastic training jobs with deadlines on cloud GPUs and idle edge servers.

    Whole numbers only: seconds from 0, milli-iterations, milli-iterations per second. The reader checks more than a
    schema can say: windows in order and disjoint with `to` after `from`; ascending shares; names of models that
    differ; jobs in order of submit with `deadline` after `submit`, a model that is there and a share of its table; and
    a model's largest speed times the window of any of its jobs below 2^62.
    """

    format: Literal["ratiobench/edgeflow/1"]
    name: Label
    origin: Origin = msgspec.field(default_factory=dict)
    cloud: CloudDocument
    edge: Annotated[list[WindowDocument], about("when edge servers are idle; in order, disjoint")]
    models: Annotated[list[ModelDocument], Meta(max_length=MODEL_LIMIT)]
    jobs: Annotated[list[JobDocument], about("in order of submit; ties by position")]


def parse(data: Any, source: str = "<document>") -> Instance:
    top = convert(data, InstanceDocument, source)
    models = tuple(
        Model(
            model.name,
            tuple(gpus for gpus, _ in model.speed),
            tuple(speed for _, speed in model.speed),
            model.edge_speed,
            model.overhead_s,
            model.edge_overhead_s,
        )
        for model in top.models
    )
    places = {model.name: k for k, model in enumerate(models)}
    with name_source(source):
        _check(top, {model.name: model for model in models})
    return Instance(
        top.name,
        origin_of(source, top.origin),
        top.cloud.gpus,
        top.cloud.node_gpus,
        tuple(Window(window.start, window.end, window.servers) for window in top.edge),
        models,
        freeze([job.submit for job in top.jobs]),
        freeze([job.deadline for job in top.jobs]),
        freeze([places[job.model] for job in top.jobs]),
        freeze([job.work for job in top.jobs]),
        freeze([job.gpus for job in top.jobs]),
    )


def _check(top: InstanceDocument, models: dict[str, Model]) -> None:
    """What types cannot say."""
    require_text("name", top.name)
    require_different("models[].name", [model.name for model in top.models])
    for k in range(1, len(top.edge)):
        start, before = top.edge[k].start, top.edge[k - 1].end
        if start < before:
            problem = f"{start} is before {before}, where the window before ends; windows are in order and disjoint"
            raise InputError("", f"edge[{k}].from", problem)
    before = 0
    for i, job in enumerate(top.jobs):
        model, length = models.get(job.model), job.deadline - job.submit
        if job.submit < before:
            raise InputError("", f"jobs[{i}].submit", f"{job.submit} is before {before}; jobs are in order of submit")
        if length <= 0:
            raise InputError("", f"jobs[{i}].deadline", f"{job.deadline} is not after `submit`, {job.submit}")
        if model is None:
            raise InputError("", f"jobs[{i}].model", f"{shorten(job.model)} is the name of no model")
        if job.gpus not in model.gpus:
            listed = ", ".join(map(str, model.gpus))
            problem = f"{job.gpus} is no share of model {shorten(job.model)}, which has {listed}"
            raise InputError("", f"jobs[{i}].gpus", problem)
        if max(*model.speed, model.edge_speed) * length >= DONE_LIMIT:
            problem = f"{length} s at the model's largest speed are 2^62 milli-iterations or more"
            raise InputError("", f"jobs[{i}].deadline", problem)
        before = job.submit


def document(instance: Instance) -> dict[str, Any]:
    columns = (instance.submit, instance.deadline, instance.model, instance.work, instance.share)
    top = InstanceDocument(
        format=FORMAT,
        name=instance.name,
        origin=dict(instance.origin),
        cloud=CloudDocument(instance.gpus, instance.node_gpus),
        edge=[WindowDocument(window.start, window.end, window.servers) for window in instance.edge],
        models=[
            ModelDocument(
                model.name,
                [[*pair] for pair in zip(model.gpus, model.speed, strict=True)],  # type: ignore[misc]
                model.edge_speed,
                model.overhead_s,
                model.edge_overhead_s,
            )
            for model in instance.models
        ],
        jobs=[
            JobDocument(submit, deadline, instance.models[k].name, work, share)
            for submit, deadline, k, work, share in zip(*(column.tolist() for column in columns), strict=True)
        ],
    )
    return to_document(top)


FILES = InstanceFiles(parse, document)
read, loads, dumps, write, content_hash = FILES.read, FILES.loads, FILES.dumps, FILES.write, FILES.content_hash
SOLUTIONS: SolutionFiles[Solution] = SolutionFiles(Solution)
solution_document, parse_solution = SOLUTIONS.document, SOLUTIONS.parse
