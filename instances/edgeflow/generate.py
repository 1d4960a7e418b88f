"""The recipes of instances: days of elastic jobs from a cluster's tables or log, prepared traces, shipped instances.

All draws are integers, one stream per column, named by the recipe's seed and the column alone: two recipes with the
same seed that differ in GPUs, servers, tightness or factor have the same jobs with the same models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ratiobench.instances.edgeflow import tables
from ratiobench.instances.edgeflow.format import FORMAT, GPU_LIMIT, STALL_LIMIT, parse, read
from ratiobench.instances.edgeflow.logs import Row, read_log
from ratiobench.instances.edgeflow.model import DAY, Instance
from ratiobench.instances.edgeflow.tables import CLUSTERS, PUBLISHED, SHORTEST, SLOT, PreparedJob
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Seed, Span, Text, Values, nest
from ratiobench.instances.io.recipe import (
    SOURCE,
    make_existing_kinds,
    make_forms,
    make_instance,
    make_named_form,
    read_values,
)
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.shipped_instances import ShippedInstances

VERSION = 1

# When edge servers are idle: all of them in the first window, half of them in the second one; section 1
WINDOWS = "02:00-09:00+14:00-17:00/2"
# Speed of an edge server over that of a GPU of the cloud, by model: V100 over A100, known to about 20 %
EDGE_FACTOR: Mapping[str, Fraction] = {
    "resnet50": Fraction("0.65"), "vgg16": Fraction("0.6"), "inception3": Fraction("0.6"),
    "deepspeech2": Fraction("0.6"), "bert": Fraction("0.5"), "gpt2": Fraction("0.5"),
}  # fmt: skip
OTHER_FACTOR = Fraction("0.6")
# (model, batch) that do not fit the memory of an edge server; a reconstruction
TOO_LARGE = frozenset({("bert", 128), ("gpt2", 256), ("vgg16", 256), ("resnet50", 256)})
OTHER_OVERHEAD = 3  # Seconds that a change of share takes where it was not measured
ACROSS = 3  # Seconds that a change of side adds: 2, and the weights at 5 GB/s, rounded up
_STEPS = 10**6
_ABOUT = "arrivals of {}'s day, shares and durations from its tables; models and deadlines are drawn"
_PREPARED = "{}; its authors drew models and deadlines"
_OUTSIDE = {"name", "path"}  # Keys that are not said in an instance's origin

_PLACE = (
    Key("gpus", Integer(1, GPU_LIMIT), "of the cloud", 64, "GPUs"),
    Key("node_gpus", Integer(1, GPU_LIMIT), "of one of its nodes", 8, "GPUs"),
    Key("servers", Integer(0, GPU_LIMIT), "edge servers where all are idle", 8, "servers"),
    Key("windows", Text(), "FROM-TO[/PART]+...: when they are idle", WINDOWS),
    Key(
        "factor",
        Ratio(Fraction(0), Fraction(4)),
        "speed of an edge server over a GPU's",
        default_text="by model, .5 to .65",
    ),
    Key(
        "overhead",
        Integer(0, STALL_LIMIT),
        "a start or a change of share takes",
        unit="s",
        default_text="by model, 2 to 4",
    ),
)
_NAME = Key("name", Text(), "label of the instance", default_text="made of the rest")
_JOBS = Key("jobs", Integer(1, 100_000), "a sample of so many", default_text="all", unit="jobs")
_DRAWN = (
    Key("seed", Seed(), "names the random streams", 0),
    Key("tightness", Span(1, 100_000), "time to the deadline, of the duration", (50, 150), "%"),
)
# The keys of a recipe, by its kind
KEYS: Mapping[str, tuple[Key, ...]] = {
    "gpu-day": (
        _NAME,
        Key("cluster", Choice(tuple(CLUSTERS)), "trace of the day", "pai"),
        Key("day", Integer(0, 1000), "of its table, from 0", 0),
        Key("durations", Choice(("trace", "day")), "shares and durations of all days, or of this one", "trace"),
        _JOBS,
        Key("shortest", Integer(SHORTEST, DAY), "tasks of less are left out", SHORTEST, "s"),
        *_DRAWN,
        *_PLACE,
    ),
    "elasticflow": (
        _NAME,
        Key("trace", Choice(tuple(PUBLISHED)), "prepared by the paper's authors", default_text="to be given"),
        Key("jobs", Integer(1, 100_000), "the first of them", default_text="all", unit="jobs"),
        Key("begins", Integer(0, DAY - 1), "time of day of the first job", 0, "s"),
        Key("gpus", Integer(1, GPU_LIMIT), "of the cloud", default_text="the paper's", unit="GPUs"),
        _PLACE[1],
        Key("servers", Integer(0, GPU_LIMIT), "edge servers where all are idle", 0, "servers"),
        *_PLACE[3:],
    ),
    "gpu-log": (
        _NAME,
        Key("path", Text(path=True), "CSV file of jobs, or PAI's task table", default_text="to be given"),
        Key("day", Integer(0, 10_000), "of the log, from 0", default_text="all days"),
        Key("zone", Integer(-12, 14), "local time less the log's; 8 for PAI", 0, "h"),
        _JOBS,
        Key("shortest", Integer(0, DAY), "tasks of less are left out", SHORTEST, "s"),
        Key("gpu_type", Choice(("A100", "T4")), "source of the speeds", "A100"),
        *_DRAWN,
        *_PLACE,
    ),
}
_SUMMARIES = {
    "gpu-day": "a day of a GPU cluster: its arrivals and durations, models and deadlines drawn",
    "elasticflow": "one of six traces that the ElasticFlow paper's authors prepared",
    "gpu-log": "a day of a log of your own, or all of it, models and deadlines drawn where it has none",
}


def recipes() -> tuple[Form, ...]:
    return (*make_forms(KEYS, _SUMMARIES, _read), make_named_form(names()))


def _generate(recipe: Mapping[str, Any]) -> Instance:
    makers = {"gpu-day": _make_day, "elasticflow": _make_published, "gpu-log": _make_log}
    return makers[recipe["kind"]](_read(recipe))


def _read(recipe: Mapping[str, Any]) -> Values:
    found = read_values(recipe, KEYS)
    for name in {"trace", "path"} & found.keys():
        found.needed(name)
    if "cluster" in found:
        number = len(tables.arrivals(found["cluster"]))
        if found["day"] >= number:
            raise InputError(SOURCE, "day", f"{found['day']} is not in 0..{number - 1}, the days of {found['cluster']}")
    read_windows(found["windows"], 0)
    return found


def _make_streams(found: Values, what: str) -> Callable[[str], Stream]:
    return partial(Stream, "ratiobench/edgeflow/workload", VERSION, *found["seed"], what)


def _make_day(found: Values) -> Instance:
    cluster = found["cluster"]
    counts = tables.arrivals(cluster)[found["day"]]
    day = found["day"] if found["durations"] == "day" else None
    laws = tables.durations(cluster, found["shortest"], day)
    if not laws:
        raise InputError(SOURCE, "shortest", f"no task of {cluster} takes {found['shortest']} s or more")
    every = tables.durations(cluster, day=day)
    result = sum(cell.weight for cell in laws)
    jobs = found["jobs"] or max(1, sum(counts) * result // sum(cell.weight for cell in every))
    stream = _make_streams(found, f"{cluster} day {found['day']}")
    tasks = _draw_tasks(counts, laws, jobs, stream, _within if day is None else _within_wide)
    name = "-".join([cluster, f"d{found['day']}", f"n{jobs}", f"g{found['gpus']}", *map(str, found["seed"])])
    return _make(name, _draw_jobs(tasks, found["tightness"], stream, "A100"), "A100", found, _ABOUT.format(cluster))


def _within(cell: tables.Cell, part: int) -> int:
    """Seconds in a cell, all alike, from `part` of 2^60."""
    return cell.low + (part * (cell.high - cell.low + 1) >> 60)


def _within_wide(cell: tables.Cell, part: int) -> int:
    """Seconds in a cell, each doubling as likely as the next, all alike within one; from `part` of 2^60."""
    doublings = max(0, (cell.high // cell.low).bit_length() - 1)
    last = cell.low << doublings
    above = part * (doublings * last + cell.high - last) >> 60
    start = cell.low << above // last
    return start + start * (above % last) // last


def _draw_tasks(
    counts: Sequence[int], laws: Sequence[tables.Cell], jobs: int, stream: Callable[[str], Stream],
    within: Callable[[tables.Cell, int], int],
) -> list[Row]:  # fmt: skip
    """As many tasks as are wanted: whole days, and of one more a sample without replacement."""
    slots = [slot for slot, count in enumerate(counts) for _ in range(count)]
    order = stream("sample").words(len(slots)).argsort(kind="stable").tolist()
    chosen = slots * (jobs // len(slots)) + [slots[k] for k in order[: jobs % len(slots)]]
    seconds = stream("second").integers(0, SLOT - 1, jobs).tolist()
    ends = np.cumsum([cell.weight for cell in laws])
    places = stream("duration").integers(0, int(ends[-1]) - 1, jobs)
    cells = [laws[k] for k in np.searchsorted(ends, places, side="right")]
    inside = stream("inside").integers(0, 2**60 - 1, jobs).tolist()
    tasks = [
        Row(SLOT * slot + second, within(cell, part), cell.gpus)
        for slot, second, cell, part in zip(chosen, seconds, cells, inside, strict=True)
    ]
    return sorted(tasks, key=lambda task: (task.submit, task.gpus, task.seconds))


def _draw_jobs(
    tasks: Sequence[Row], tightness: tuple[int, int], stream: Callable[[str], Stream], gpu_type: str
) -> list[PreparedJob]:
    """The tasks with models, uniform among those measured on as many GPUs, and deadlines."""
    speeds = tables.throughput()[gpu_type]
    picks = {}
    for gpus in sorted({task.gpus for task in tasks}):
        options = [key for key in sorted(speeds) if gpus in speeds[key]]
        number = sum(task.gpus == gpus for task in tasks)
        drawn = stream(f"model {gpus}").integers(0, len(options) - 1, number)
        picks[gpus] = iter([options[k] for k in drawn])
    low, high = tightness
    jobs = []
    for task, part in zip(tasks, stream("deadline").integers(0, _STEPS, len(tasks)).tolist(), strict=True):
        model, batch = next(picks[task.gpus])
        window = max(1, task.seconds * (low * _STEPS + (high - low) * part) // (100 * _STEPS))
        work = task.seconds * _speed(gpu_type, speeds[model, batch][task.gpus])
        jobs.append(PreparedJob(task.submit, task.submit + window, model, batch, work, task.gpus))
    return jobs


def _speed(gpu_type: str, micro: int) -> int:
    """Units of work per second: on A100 the nearest whole number of milli-iterations, on T4 micro-iterations."""
    return micro if gpu_type == "T4" else max(1, (micro + 500) // 1000)


def _unit(gpu_type: str) -> int:
    """Units of work in a milli-iteration."""
    return 1000 if gpu_type == "T4" else 1


def _make_log(found: Values) -> Instance:
    """Rows of a log; those without a model, iterations and a deadline get drawn ones."""
    path, gpu_type = found["path"], found["gpu_type"]
    rows = read_log(path)
    first = (rows[0].submit + 3600 * found["zone"]) // DAY + (found["day"] or 0)
    begin = first * DAY - 3600 * found["zone"]  # on the log's clock
    rows = [row._replace(submit=row.submit - begin, deadline=row.deadline - begin) for row in rows]
    rows = [
        row for row in rows if row.seconds >= found["shortest"] and (found["day"] is None or row.submit // DAY == 0)
    ]
    if not rows:
        raise InputError(path, "", f"no job of at least {found['shortest']} s on day {found['day'] or 0}")
    stream = _make_streams(found, f"log day {found['day']}")
    if found["jobs"] is not None:
        order = stream("sample").words(len(rows)).argsort(kind="stable").tolist()
        rows = [rows[k] for k in sorted(order[: found["jobs"]])]
    if rows[0].model:
        jobs = [_read_job(row, gpu_type, path) for row in rows]
    else:
        jobs = _draw_jobs(rows, found["tightness"], stream, gpu_type)
    file = Path(path).name
    name = f"{file.partition('.')[0]}-d{found['day'] or 0}-n{len(rows)}-g{found['gpus']}"
    parts = sum(row.part for row in rows)
    notes = [f"{parts} of {len(rows)} jobs ask for a part of a GPU, which is taken as a whole one"] if parts else []
    about = f"jobs of {file}; models and deadlines that it does not have are drawn"
    return _make(name, jobs, gpu_type, found, about, notes=notes)


def _read_job(row: Row, gpu_type: str, path: str) -> PreparedJob:
    if row.gpus not in tables.throughput()[gpu_type].get((row.model, row.batch), {}):
        problem = f"{shorten(row.model)} with batch {row.batch} was not measured on {row.gpus} {gpu_type} GPUs"
        raise InputError(path, "model", problem)
    work = 1000 * row.iterations * _unit(gpu_type)
    return PreparedJob(row.submit, row.deadline, row.model, row.batch, work, row.gpus)


def _make_published(found: Values) -> Instance:
    trace = PUBLISHED[found["trace"]]
    unit = _unit(trace.gpu_type)
    jobs = [job._replace(work=job.work * unit) for job in tables.read_prepared(found["trace"])[: found["jobs"]]]
    name = f"elasticflow-{found['trace']}-n{len(jobs)}-g{found['gpus'] or trace.gpus}"
    return _make(name, jobs, trace.gpu_type, found, _PREPARED.format(trace.about), trace.gpus)


def _make(
    name: str, jobs: Sequence[PreparedJob], gpu_type: str, found: Values, about: str, gpus: int = 0,
    notes: Sequence[str] = (),
) -> Instance:  # fmt: skip
    """The instance with these jobs; `name` and `gpus` unless the values have them."""
    name = found["name"] or name
    horizon = max((job.deadline for job in jobs), default=0)
    coarse = ["work in micro-iterations: on T4 thousandths of iterations are too coarse"] if gpu_type == "T4" else []
    document = {
        "format": FORMAT,
        "name": name,
        "origin": {
            "about": about, "generator": "edgeflow", "version": VERSION, "gpu_type": gpu_type,
            "notes": [*coarse, *notes],
            "recipe": nest({key: value for key, value in found.items() if key not in _OUTSIDE}),
        },
        "cloud": {"gpus": found["gpus"] or gpus, "node_gpus": found["node_gpus"]},
        "edge": windows_of(found["windows"], found["servers"], found.get("begins", 0), horizon),
        "models": [
            _model(gpu_type, key, found["factor"], found["overhead"])
            for key in sorted({(job.model, job.batch) for job in jobs})
        ],
        "jobs": [
            {"submit": job.submit, "deadline": job.deadline, "model": f"{job.model}/{job.batch}", "work": job.work,
             "gpus": job.gpus}
            for job in jobs
        ],
    }  # fmt: skip
    return parse(document, f"recipe {name}")


def _model(gpu_type: str, key: tuple[str, int], factor: Fraction | None, overhead: int | None) -> dict[str, Any]:
    model, batch = key
    table = tables.throughput()[gpu_type][key]
    speeds = {gpus: _speed(gpu_type, micro) for gpus, micro in sorted(table.items())}
    share = EDGE_FACTOR.get(model, OTHER_FACTOR) if factor is None else factor
    fits = 1 in speeds and key not in TOO_LARGE
    return {
        "name": f"{model}/{batch}",
        "speed": [list(pair) for pair in speeds.items()],
        "edge_speed": int(share * speeds[1]) if fits else 0,
        "overhead_s": tables.overheads().get(model, OTHER_OVERHEAD) if overhead is None else overhead,
        "edge_overhead_s": ACROSS,
    }


_WINDOW = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)-([01]?\d|2[0-4]):([0-5]\d)(?:/([1-9]\d?))?", re.ASCII)


def read_windows(texts: str, servers: int) -> list[tuple[int, int, int]]:
    """(from, to, servers) in seconds of the day, in order."""
    found = []
    for text in texts.split("+"):
        match = _WINDOW.fullmatch(text)
        if match is None:
            raise InputError(SOURCE, "windows", f"{shorten(text)} is not HH:MM-HH:MM or HH:MM-HH:MM/PART")
        hour, minute, until, past, part = (int(each or 1) for each in match.groups())
        start, end = 3600 * hour + 60 * minute, 3600 * until + 60 * past
        if not start < end <= DAY:
            raise InputError(SOURCE, "windows", f"{shorten(text)} does not end after it starts, on the same day")
        found.append((start, end, servers // part))
    found.sort()
    for before, after in pairwise(found):
        if after[0] < before[1]:
            raise InputError(SOURCE, "windows", f"{shorten(texts)} overlap")
    return found


def windows_of(texts: str, servers: int, clock: int, horizon: int) -> list[dict[str, int]]:
    """The windows of every day that begin before the last deadline; `clock`: time of day at second 0."""
    found = []
    for day in range((horizon + clock) // DAY + 1):
        for start, end, number in read_windows(texts, servers):
            start, end = max(0, day * DAY + start - clock), day * DAY + end - clock
            if number and end > 0 and start < horizon:
                found.append({"from": start, "to": end, "servers": number})
    return found


SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected

_KINDS = {**dict.fromkeys(KEYS, _generate), **make_existing_kinds(named, read)}


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance that a recipe names; the same recipe gives the same instance on any machine."""
    return make_instance(recipe, _KINDS)
