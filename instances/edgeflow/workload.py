"""Days of elastic jobs: arrivals and durations from a cluster's tables or log, models and deadlines drawn.

All draws are integers, one stream per column (`instances/io/seeds.py`), named by the recipe's seed and the column
alone: two recipes with the same seed that differ in GPUs, servers, tightness or factor have the same jobs with the same
models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ratiobench.instances.edgeflow import tables
from ratiobench.instances.edgeflow.format import FORMAT, GPU_LIMIT, STALL_LIMIT, parse
from ratiobench.instances.edgeflow.logs import Row, read_log
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.instances.edgeflow.tables import CLUSTERS, DAY, PUBLISHED, SHORTEST, SLOT
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Seed, Span, Text, Values, make_json_value
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream

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


class DrawnJob(NamedTuple):
    """A job before its work is known: submission, seconds on the GPUs it asks for, model with batch, deadline."""

    submit: int
    gpus: int
    model: str
    batch: int
    work: int
    deadline: int


class Task(NamedTuple):
    """A task as a log has it: submission, GPUs, seconds."""

    submit: int
    gpus: int
    seconds: int


def forms() -> tuple[Form, ...]:
    """The kinds of recipes of this generator."""
    return tuple(Form(kind, _SUMMARIES[kind], KEYS[kind][1:], {"kind": kind}, _checked, "name") for kind in KEYS)


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance of a recipe of one of these kinds."""
    found = _checked(recipe)
    return {"gpu-day": _day, "elasticflow": _published, "gpu-log": _log}[recipe["kind"]](found)


def _checked(recipe: Mapping[str, Any]) -> Values:
    kind = Choice(tuple(KEYS)).checked(SOURCE, "kind", recipe.get("kind"))
    found = Values(SOURCE, KEYS[kind], recipe)
    if kind == "elasticflow":
        found.needed("trace")
    elif kind == "gpu-log":
        found.needed("path")
    else:
        number = len(tables.arrivals(found["cluster"]))
        if found["day"] >= number:
            raise InputError(SOURCE, "day", f"{found['day']} is not in 0..{number - 1}, the days of {found['cluster']}")
    read_windows(found["windows"], 0)
    return found


def _day(found: Values) -> Instance:
    counts = tables.arrivals(found["cluster"])[found["day"]]
    day = found["day"] if found["durations"] == "day" else None
    laws = tables.durations(found["cluster"], found["shortest"], day)
    if not laws:
        raise InputError(SOURCE, "shortest", f"no task of {found['cluster']} takes {found['shortest']} s or more")
    every = tables.durations(found["cluster"], day=day)
    result = sum(cell.weight for cell in laws)
    jobs = found["jobs"] or max(1, sum(counts) * result // sum(cell.weight for cell in every))
    streams = Streams(found["seed"], f"{found['cluster']} day {found['day']}")
    tasks = _tasks(counts, laws, jobs, streams, _within if day is None else _within_wide)
    name = found["name"] or "-".join(
        [found["cluster"], f"d{found['day']}", f"n{jobs}", f"g{found['gpus']}", *map(str, found["seed"])]
    )
    return make(name, draw(tasks, found["tightness"], streams), "A100", found, 0, _ABOUT.format(found["cluster"]))


class Streams:
    """The random streams of a recipe, one per column."""

    def __init__(self, seed: Sequence[str | int], what: str) -> None:
        self.names = ("ratiobench/edgeflow/workload", VERSION, *seed, what)

    def of(self, column: str) -> Stream:
        """The stream of a column."""
        return Stream(*self.names, column)


def _within(cell: tables.Cell, part: int) -> int:
    """Seconds in a cell, all alike, from `part` of 2^60."""
    return cell.low + (part * (cell.high - cell.low + 1) >> 60)


def _within_wide(cell: tables.Cell, part: int) -> int:
    """Seconds in a cell, each doubling of them as likely as the next, all alike within one; from `part` of 2^60.

    The cells of a day are few and wide: with all seconds of one alike, a day would be half as heavy again as it was.
    """
    doublings = max(0, (cell.high // cell.low).bit_length() - 1)
    last = cell.low << doublings
    above = part * (doublings * last + cell.high - last) >> 60
    start = cell.low << above // last
    return start + start * (above % last) // last


def _tasks(
    counts: Sequence[int], laws: Sequence[tables.Cell], jobs: int, streams: Streams,
    within: Callable[[tables.Cell, int], int],
) -> list[Task]:  # fmt: skip
    """As many tasks as are wanted: whole days, and of one more a sample without replacement."""
    slots = [slot for slot, count in enumerate(counts) for _ in range(count)]
    order = streams.of("sample").words(len(slots)).argsort(kind="stable").tolist()
    chosen = slots * (jobs // len(slots)) + [slots[k] for k in order[: jobs % len(slots)]]
    seconds = streams.of("second").integers(0, SLOT - 1, jobs).tolist()
    ends, total = [], 0
    for cell in laws:
        total += cell.weight
        ends.append(total)
    cells = [_first_above(ends, int(x)) for x in streams.of("duration").integers(0, total - 1, jobs)]
    inside = streams.of("inside").integers(0, 2**60 - 1, jobs).tolist()
    tasks = []
    for slot, second, k, part in zip(chosen, seconds, cells, inside, strict=True):
        cell = laws[k]
        tasks.append(Task(SLOT * slot + second, cell.gpus, within(cell, part)))
    return sorted(tasks)


def _first_above(ends: Sequence[int], value: int) -> int:
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if ends[middle] > value else (middle + 1, high)
    return low


def draw(tasks: Sequence[Task], tightness: tuple[int, int], streams: Streams, gpu_type: str = "A100") -> list[DrawnJob]:
    """The tasks with models, uniform among those that were measured on as many GPUs, and deadlines."""
    speeds = tables.throughput()[gpu_type]
    options: dict[int, list[tuple[str, int]]] = {}
    for key in sorted(speeds):
        for gpus in speeds[key]:
            options.setdefault(gpus, []).append(key)
    picks = {}
    for gpus in sorted({task.gpus for task in tasks}):
        number = sum(task.gpus == gpus for task in tasks)
        picks[gpus] = iter(streams.of(f"model {gpus}").integers(0, len(options[gpus]) - 1, number).tolist())
    low, high = tightness
    drawn = []
    for task, part in zip(tasks, streams.of("deadline").integers(0, _STEPS, len(tasks)).tolist(), strict=True):
        model, batch = options[task.gpus][next(picks[task.gpus])]
        window = max(1, task.seconds * (low * _STEPS + (high - low) * part) // (100 * _STEPS))
        work = task.seconds * _speed(gpu_type, speeds[model, batch][task.gpus])
        drawn.append(DrawnJob(task.submit, task.gpus, model, batch, work, task.submit + window))
    return drawn


def _speed(gpu_type: str, micro: int) -> int:
    """Units of work per second: on A100 the nearest whole number of milli-iterations, on T4 micro-iterations."""
    return micro if gpu_type == "T4" else max(1, (micro + 500) // 1000)


def _unit(gpu_type: str) -> int:
    """Units of work in a milli-iteration."""
    return 1000 if gpu_type == "T4" else 1


def _log(found: Values) -> Instance:
    """Of a log: its rows in order of submission; those without a model, iterations and a deadline get drawn ones."""
    path, zone = found["path"], 3600 * found["zone"]
    rows = [row._replace(submit=row.submit + zone, deadline=row.deadline + zone) for row in read_log(path)]
    first = rows[0].submit // DAY + (found["day"] or 0)
    rows = [
        row for row in rows
        if row.seconds >= found["shortest"] and (found["day"] is None or row.submit // DAY == first)
    ]  # fmt: skip
    if not rows:
        raise InputError(path, "", f"no job of at least {found['shortest']} s on day {found['day'] or 0}")
    streams = Streams(found["seed"], f"log day {found['day']}")
    if found["jobs"] is not None:
        order = streams.of("sample").words(len(rows)).argsort(kind="stable").tolist()
        rows = [rows[k] for k in sorted(order[: found["jobs"]])]
    kind = found["gpu_type"]
    tasks = [Task(row.submit - first * DAY, row.gpus, row.seconds) for row in rows]
    if rows[0].model:
        jobs = [_known(row, first * DAY, kind, path) for row in rows]
    else:
        jobs = draw(tasks, found["tightness"], streams, kind)
    name = found["name"] or f"{Path(path).name.partition('.')[0]}-d{found['day'] or 0}-n{len(rows)}-g{found['gpus']}"
    parts = sum(row.part for row in rows)
    notes = [f"{parts} of {len(rows)} jobs ask for a part of a GPU, which is taken as a whole one"] if parts else []
    about = f"jobs of {Path(path).name}; models and deadlines that it does not have are drawn"
    return make(name, jobs, kind, found, 0, about, notes=notes)


def _known(row: Row, begin: int, gpu_type: str, path: str) -> DrawnJob:
    """A job whose log says its model, iterations and deadline."""
    table = tables.throughput()[gpu_type].get((row.model, row.batch), {})
    if row.gpus not in table:
        problem = f"{shorten(row.model)} with batch {row.batch} was not measured on {row.gpus} {gpu_type} GPUs"
        raise InputError(path, "model", problem)
    submit, work = row.submit - begin, 1000 * row.iterations * _unit(gpu_type)
    return DrawnJob(submit, row.gpus, row.model, row.batch, work, row.deadline - begin)


def _published(found: Values) -> Instance:
    about = PUBLISHED[found["trace"]]
    unit = _unit(about.gpu_type)
    jobs = [
        DrawnJob(job.submit, job.gpus, job.model, job.batch, job.work * unit, job.deadline)
        for job in tables.read_prepared(found["trace"])[: found["jobs"]]
    ]
    name = found["name"] or f"elasticflow-{found['trace']}-n{len(jobs)}-g{found['gpus'] or about.gpus}"
    return make(name, jobs, about.gpu_type, found, found["begins"], _PREPARED.format(about.about), about.gpus)


def make(
    name: str, jobs: Sequence[DrawnJob], gpu_type: str, found: Values, clock: int, about: str, gpus: int = 0,
    notes: Sequence[str] = (),
) -> Instance:  # fmt: skip
    """The instance with these jobs in the place that the values describe, which begins at second `clock` of a day."""
    known = sorted({(job.model, job.batch) for job in jobs})
    horizon = max((job.deadline for job in jobs), default=0)
    coarse = ["work in micro-iterations: on T4 thousandths of iterations are too coarse"] if gpu_type == "T4" else []
    document = {
        "format": FORMAT,
        "name": name,
        "origin": {
            "about": about, "generator": "edgeflow", "version": VERSION, "gpu_type": gpu_type,
            "notes": [*coarse, *notes],
            "recipe": {
                key: make_json_value(value)
                for key, value in found.items()
                if value is not None and key not in _OUTSIDE
            },
        },
        "cloud": {"gpus": found["gpus"] or gpus, "node_gpus": found["node_gpus"]},
        "edge": windows_of(found["windows"], found["servers"], clock, horizon),
        "models": [_model(gpu_type, key, found["factor"], found["overhead"]) for key in known],
        "jobs": [
            {"submit": job.submit, "deadline": job.deadline, "model": f"{job.model}/{job.batch}", "work": job.work,
             "gpus": job.gpus}
            for job in jobs
        ],
    }  # fmt: skip
    return parse(document, f"recipe {name}")


def _model(gpu_type: str, key: tuple[str, int], factor: Fraction | None, overhead: int | None) -> dict[str, Any]:
    """A row of the throughput table as a model of the format."""
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
    """The windows of every day that begin before the last deadline, of an instance that begins at a time of day."""
    found = []
    for day in range((horizon + clock) // DAY + 1):
        for start, end, number in read_windows(texts, servers):
            start, end = max(0, day * DAY + start - clock), day * DAY + end - clock
            if number and end > 0 and start < horizon:
                found.append({"from": start, "to": end, "servers": number})
    return found
