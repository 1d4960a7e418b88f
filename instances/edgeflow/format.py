"""The file format `ratiobench/edgeflow/1`: one JSON document, validated on reading, identified by its content.

The limits keep every product of a speed and a time within 2^62, so that integer arithmetic on an instance cannot
overflow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow.model import Instance, Model, Window
from ratiobench.instances.io.documents import Documents, hash_once, require_format
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import LIMIT, Fields, integer, items, origin_of

FORMAT = "ratiobench/edgeflow/1"
GPU_LIMIT = 4096  # GPUs of a cloud, edge servers of a window, and the widest share
MODEL_LIMIT = 10_000
STALL_LIMIT = 3600
WORK_LIMIT = 2**53
DONE_LIMIT = 2**62  # No model does more milli-iterations in the window of a job of its
SCHEMA = Path(__file__).with_name("schema.json")

_TOP = {"format", "name", "origin", "cloud", "edge", "models", "jobs"}
_MODEL = {"name", "speed", "edge_speed", "overhead_s", "edge_overhead_s"}
_JOB = {"submit", "deadline", "model", "work", "gpus"}
_COLUMNS = ("submit", "deadline", "model", "work", "share")


def parse(data: Any, source: str = "<document>") -> Instance:
    """Validate a decoded document and build the instance."""
    require_format(data, source, FORMAT)
    top = Fields(source, "", data, _TOP, {"origin"})
    name = top.text("name")
    origin = origin_of(source, top.data.get("origin", {}))
    cloud = Fields(source, "cloud", top.data["cloud"], {"gpus", "node_gpus"}, set())
    gpus, node_gpus = (cloud.integer(key, 1, GPU_LIMIT) for key in ("gpus", "node_gpus"))
    edge = _windows(top)
    models = _models(top)
    known = {model.name: k for k, model in enumerate(models)}
    rows: list[tuple[int, ...]] = []
    for i, raw in enumerate(top.items("jobs")):
        job = Fields(source, f"jobs[{i}]", raw, _JOB, set())
        rows.append(_job(job, known, models, rows[-1][0] if rows else 0))
    submit, deadline, kind, work, share = (freeze([row[j] for row in rows]) for j in range(len(_COLUMNS)))
    return Instance(name, origin, gpus, node_gpus, edge, models, submit, deadline, kind, work, share)


def _windows(top: Fields) -> tuple[Window, ...]:
    found: list[Window] = []
    for k, raw in enumerate(top.items("edge")):
        window = Fields(top.source, f"edge[{k}]", raw, {"from", "to", "servers"}, set())
        start, end, servers = (
            window.integer("from", 0),
            window.integer("to", 0),
            window.integer("servers", 1, GPU_LIMIT),
        )
        if end <= start:
            raise InputError(top.source, window.at("to"), f"{end} is not after `from`, {start}")
        if found and start < found[-1].end:
            problem = (
                f"{start} is before {found[-1].end}, where the window before ends; windows are in order and disjoint"
            )
            raise InputError(top.source, window.at("from"), problem)
        found.append(Window(start, end, servers))
    return tuple(found)


def _models(top: Fields) -> tuple[Model, ...]:
    listed = top.items("models")
    if len(listed) > MODEL_LIMIT:
        raise InputError(top.source, "models", f"{len(listed)} entries; at most {MODEL_LIMIT} are allowed")
    found: dict[str, Model] = {}
    for k, raw in enumerate(listed):
        model = Fields(top.source, f"models[{k}]", raw, _MODEL, set())
        name = model.text("name")
        if name in found:
            raise InputError(top.source, model.at("name"), f"{shorten(name)} is given twice; names must differ")
        gpus, speed = _speeds(model)
        stalls = (model.integer(key, 0, STALL_LIMIT) for key in ("overhead_s", "edge_overhead_s"))
        found[name] = Model(name, gpus, speed, model.integer("edge_speed", 0), *stalls)
    return tuple(found.values())


def _speeds(model: Fields) -> tuple[tuple[int, ...], tuple[int, ...]]:
    gpus: list[int] = []
    speed: list[int] = []
    for j, raw in enumerate(model.items("speed")):
        path = f"{model.at('speed')}[{j}]"
        pair = items(model.source, path, raw, 2, "[gpus, milli-iterations per second]")
        share = integer(model.source, f"{path}[0]", pair[0], 1, GPU_LIMIT)
        if share & (share - 1):
            raise InputError(model.source, f"{path}[0]", f"{share} is not a power of two")
        if gpus and share <= gpus[-1]:
            raise InputError(model.source, f"{path}[0]", f"{share} is not above {gpus[-1]}, the share before")
        gpus.append(share)
        speed.append(integer(model.source, f"{path}[1]", pair[1], 1, LIMIT))
    if not gpus:
        raise InputError(model.source, model.at("speed"), "empty; at least one entry is needed")
    return tuple(gpus), tuple(speed)


def _job(job: Fields, known: dict[str, int], models: tuple[Model, ...], before: int) -> tuple[int, ...]:
    """Submit, deadline, position of the model, work, share."""
    submit, deadline = job.integer("submit", 0), job.integer("deadline", 0)
    if submit < before:
        raise InputError(job.source, job.at("submit"), f"{submit} is before {before}; jobs are in order of submit")
    if deadline <= submit:
        raise InputError(job.source, job.at("deadline"), f"{deadline} is not after `submit`, {submit}")
    name = job.text("model")
    if name not in known:
        raise InputError(job.source, job.at("model"), f"{shorten(name)} is the name of no model")
    model = models[known[name]]
    work = job.integer("work", 1, WORK_LIMIT)
    share = job.integer("gpus", 1, GPU_LIMIT)
    if share not in model.gpus:
        listed = ", ".join(map(str, model.gpus))
        raise InputError(
            job.source, job.at("gpus"), f"{share} is no share of model {shorten(name)}, which has {listed}"
        )
    if max(*model.speed, model.edge_speed) * (deadline - submit) >= DONE_LIMIT:
        problem = f"{deadline - submit} s at the model's largest speed are 2^62 milli-iterations or more"
        raise InputError(job.source, job.at("deadline"), problem)
    return submit, deadline, known[name], work, share


def document(instance: Instance) -> dict[str, Any]:
    """Convert an instance to its JSON document."""
    return {"format": FORMAT, "name": instance.name, "origin": dict(instance.origin), **_content(instance)}


def _content(instance: Instance) -> dict[str, Any]:
    names = [model.name for model in instance.models]
    return {
        "cloud": {"gpus": instance.gpus, "node_gpus": instance.node_gpus},
        "edge": [{"from": each.start, "to": each.end, "servers": each.servers} for each in instance.edge],
        "models": [
            {
                "name": each.name,
                "speed": [list(pair) for pair in zip(each.gpus, each.speed, strict=True)],
                "edge_speed": each.edge_speed,
                "overhead_s": each.overhead_s,
                "edge_overhead_s": each.edge_overhead_s,
            }
            for each in instance.models
        ],
        "jobs": [
            {"submit": submit, "deadline": deadline, "model": names[model], "work": work, "gpus": share}
            for submit, deadline, model, work, share in zip(
                *(getattr(instance, name).tolist() for name in _COLUMNS), strict=True
            )
        ],
    }


def content_hash(instance: Instance) -> str:
    """Compute the identity of an instance: the SHA-256 of its content without name and origin."""
    return hash_once(instance.cache, FORMAT, lambda: _content(instance))


FILES = Documents(parse, document)
read, loads, dumps, write = FILES.read, FILES.loads, FILES.dumps, FILES.write
