"""The file format `ratiobench/tenants/1`: one JSON document, validated on reading, identified by its content.

The limits keep every sum of costs below 2^62, so that integer arithmetic on an instance cannot overflow.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ratiobench.instances.io.documents import Documents, hash_once, require_format
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import LIMIT, Fields, origin_of
from ratiobench.instances.tenants.model import GpuType, Instance, freeze

FORMAT = "ratiobench/tenants/1"
# n (100 (late_penalty + theta) horizon + 100 dearest run) is below it; horizon: last release + sum of longest runs
SUM_LIMIT = 2**62
TYPE_LIMIT, COUNT_LIMIT = 100, 1000
PRICE_LIMIT, RELEASE_LIMIT, RUN_LIMIT = 2**31, 2**24, 2**20
SCHEMA = Path(__file__).with_name("schema.json")

_TOP = {"format", "name", "origin", "tick_seconds", "gpu_types", "theta", "late_penalty", "jobs"}
_TYPE = {"name", "count", "price"}
_NUMBERS = ("release", "deadline", "cost_sensitivity")
_LABELS = {"tenant", "kind", "iterations"}
_JOB = {*_NUMBERS, "run", *_LABELS}


def parse(data: Any, source: str = "<document>") -> Instance:
    """Validate a decoded document and build the instance."""
    require_format(data, source, FORMAT)
    top = Fields(source, "", data, _TOP, {"origin"})
    name, origin = top.text("name"), origin_of(source, top.data.get("origin", {}))
    tick_seconds = top.integer("tick_seconds", 1, 3600)
    gpu_types = _types(top)
    theta, late = (top.integer(key, 0, PRICE_LIMIT) for key in ("theta", "late_penalty"))
    columns: dict[str, list[Any]] = {key: [] for key in _JOB}
    longest = dearest = 0
    for j, raw in enumerate(top.items("jobs")):
        job = Fields(source, f"jobs[{j}]", raw, _JOB, _LABELS)
        before = columns["release"][-1] if j else 0
        release = job.integer("release", 0, RELEASE_LIMIT)
        if release < before:
            raise InputError(source, job.at("release"), f"{release} is before {before}; jobs stand in order of release")
        run = _run(job, len(gpu_types))
        longest, dearest = longest + max(run), max(dearest, *(r * k.price for r, k in zip(run, gpu_types, strict=True)))
        total = (j + 1) * (100 * (late + theta) * (release + longest) + 100 * dearest)
        if total >= SUM_LIMIT:
            raise InputError(source, job.at("run"), f"{max(run)} takes what jobs may cost to {total}, not below 2^62")
        values = (release, job.integer("deadline", 0), job.integer("cost_sensitivity", 0, 100))
        for key, value in zip(_NUMBERS, values, strict=True):
            columns[key].append(value)
        columns["run"].append(run)
        for key in ("tenant", "kind"):
            columns[key].append(job.text(key) if key in job.data else "")
        columns["iterations"].append(job.integer("iterations", 0) if "iterations" in job.data else 0)
    numbers: dict[str, Any] = {key: freeze(columns[key]) for key in (*_NUMBERS, "iterations")}
    return Instance(
        name=name,
        origin=origin,
        tick_seconds=tick_seconds,
        gpu_types=gpu_types,
        theta=theta,
        late_penalty=late,
        run=freeze(columns["run"]).reshape(-1, len(gpu_types)),
        tenants=tuple(columns["tenant"]),
        kinds=tuple(columns["kind"]),
        **numbers,
    )


def _types(top: Fields) -> tuple[GpuType, ...]:
    found: dict[str, GpuType] = {}
    values = top.items("gpu_types")
    if not 1 <= len(values) <= TYPE_LIMIT:
        raise InputError(top.source, "gpu_types", f"{len(values)} entries; 1 to {TYPE_LIMIT} are allowed")
    for k, raw in enumerate(values):
        kind = Fields(top.source, f"gpu_types[{k}]", raw, _TYPE, set())
        name = kind.text("name")
        if name in found:
            raise InputError(top.source, kind.at("name"), f"{shorten(name)} is given twice; names must differ")
        found[name] = GpuType(name, kind.integer("count", 1, COUNT_LIMIT), kind.integer("price", 0, PRICE_LIMIT))
    return tuple(found.values())


def _run(job: Fields, types: int) -> list[int]:
    run = job.integers("run", -LIMIT, types, "one per type of GPU")
    for k, ticks in enumerate(run):
        if not 1 <= ticks <= RUN_LIMIT:
            raise InputError(job.source, f"{job.at('run')}[{k}]", f"{ticks} is not in 1..{RUN_LIMIT}")
    return run


def document(instance: Instance) -> dict[str, Any]:
    """Convert an instance to its JSON document."""
    return {"format": FORMAT, "name": instance.name, "origin": dict(instance.origin), **_content(instance)}


def _content(instance: Instance) -> dict[str, Any]:
    rows = zip(
        *(column.tolist() for column in (instance.release, instance.deadline, instance.cost_sensitivity, instance.run)),
        instance.tenants,
        instance.kinds,
        instance.iterations.tolist(),
        strict=True,
    )
    keys = (*_NUMBERS, "run", "tenant", "kind", "iterations")
    jobs = []
    for row in rows:  # labels that are not there are not written
        jobs.append({key: value for key, value in zip(keys, row, strict=True) if key not in _LABELS or value})
    return {
        "tick_seconds": instance.tick_seconds,
        "gpu_types": [asdict(kind) for kind in instance.gpu_types],
        "theta": instance.theta,
        "late_penalty": instance.late_penalty,
        "jobs": jobs,
    }


def content_hash(instance: Instance) -> str:
    """Compute the identity of an instance: the SHA-256 of its content without name and origin."""
    return hash_once(instance.cache, FORMAT, lambda: _content(instance))


FILES = Documents(parse, document)
read, loads, dumps, write = FILES.read, FILES.loads, FILES.dumps, FILES.write
