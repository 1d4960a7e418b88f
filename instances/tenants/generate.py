"""The recipes of instances: measured kinds of jobs, lengths and arrivals of real clusters, shipped instances.

All draws are integers, one stream per column, named by the recipe's seed and the column alone: recipes with the same
seed that differ in prices, sensitivities or deadlines have the same jobs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import round_half_up, text_of_fraction
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Seed, Several, Span, Text, Values, nest
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
from ratiobench.instances.tenants.format import COUNT_LIMIT, FORMAT, PRICE_LIMIT, parse, read
from ratiobench.instances.tenants.model import Instance
from ratiobench.instances.tenants.traces import (
    GPU_NAMES,
    SHORTEST,
    SLOT_SECONDS,
    TRACES,
    arrivals,
    length_at,
    read_log,
    throughput,
)

STREAMS = 1  # Version of the random streams
# Version of each generator. Those of jobs that come over time: 1 had deadlines with what is now `wait` = runs.
VERSIONS = {"batch": 1, "online": 2, "log": 2}

TICK = 60  # Seconds of a tick
# The first iterations of a job take so many times as long (a reading of the patent's E_b; low confidence)
COLD, COLD_TIMES = 20, 3
_JOBS = 10_000
_TIMES = Ratio(Fraction(0), Fraction(1000))
_COMMON = (
    Key("name", Text(), "label of the instance", default_text="made of the rest"),
    Key("seed", Seed(), "names the random streams", 0),
    Key("jobs", Integer(0, _JOBS), "jobs", 40, "jobs"),
    Key("gpus", Several(0, COUNT_LIMIT), "GPUs of types v100, p100 and k80", (2, 2, 4), "GPUs"),
    Key("prices", Several(0, PRICE_LIMIT), "of a tick on each type", (41333, 24333, 7500), "micro-dollars per minute"),
    Key("theta", _TIMES, "times the price of a job's time", "1"),
    Key("late", _TIMES, "times the price of lateness", "1"),
    Key("cs", Span(0, 100), "sensitivity to cost", (0, 100), "percent"),
    Key("tenants", Integer(0, _JOBS), "tenants, each with one sensitivity; 0: one per job", 0, "tenants"),
)
_TRACE = Key("trace", Choice(TRACES), "trace of lengths and arrivals", "pai")
_BATCH_SLACK, _ONLINE_SLACK = (
    Key("slack", Span(0, 10_000), "deadline over run and wait", default, "percent")
    for default in ((50, 150), (80, 200))
)
_LOAD = Key("load", Ratio(Fraction(1, 100), Fraction(100)), "rate of releases over what the GPUs finish", "1.2")
WAITS = ("backlog", "runs")  # What a deadline leaves to wait: half of the backlog, or two mean runs of the job
_WAIT = Key(
    "wait", Choice(WAITS), "deadlines leave half of the backlog to wait, or two mean runs of the job", "backlog"
)
_LOG = (
    Key("log", Text(path=True), "CSV of jobs with columns submit and seconds", default_text="to be given"),
    Key("first", Integer(0), "the first of its jobs that is taken", 0, "job"),
)
# The keys of a recipe, by its kind
KEYS: Mapping[str, tuple[Key, ...]] = {
    "batch": (*_COMMON, _TRACE, _BATCH_SLACK),
    "online": (*_COMMON, _TRACE, _ONLINE_SLACK, _LOAD, _WAIT),
    "log": (*_COMMON, _ONLINE_SLACK, _LOAD, _WAIT, *_LOG),
}
_SUMMARIES = {
    "batch": "measured kinds of jobs, all released at once, with the lengths of a trace",
    "online": "the same, released as in a stretch of a trace, its clock scaled to a load",
    "log": "lengths and releases of the jobs of one's own log, its clock scaled to a load",
}


def recipes() -> tuple[Form, ...]:
    return (*make_forms(KEYS, _SUMMARIES, _read), make_named_form(names()))


def _read(recipe: Mapping[str, Any]) -> Values:
    found = read_values(recipe, KEYS)
    for key in ("gpus", "prices"):
        if len(found[key]) != len(GPU_NAMES):
            raise InputError(SOURCE, key, f"{len(found[key])} numbers; {len(GPU_NAMES)}: {', '.join(GPU_NAMES)}")
    if not sum(found["gpus"]):
        raise InputError(SOURCE, "gpus", "no GPU; at least one is needed")
    if "log" in found:
        found.needed("log")
    return found


def _make_name(kind: str, found: Values) -> str:
    size = [f"n{found['jobs']}", f"m{sum(found['gpus'])}"]
    load = [] if kind == "batch" else [text_of_fraction(found["load"]).replace("/", "over")]
    source = ["log"] if kind == "log" else [kind, found["trace"]]
    return "-".join([*source, *size, *load, *map(str, found["seed"])])


def _stream(found: Values, column: str) -> Stream:
    return Stream("ratiobench/tenants/workload", STREAMS, *found["seed"], column)


def _generate(recipe: Mapping[str, Any]) -> Instance:
    found, kind = _read(recipe), recipe["kind"]
    name = found["name"] or _make_name(kind, found)
    used = [k for k, count in enumerate(found["gpus"]) if count]
    rows = _read_rows(found) if kind == "log" else None
    seconds = _draw_lengths(found) if rows is None else [length for _, length in rows]
    n = len(seconds)
    speeds = throughput()
    kinds = [sorted(speeds)[i] for i in _stream(found, "kind").integers(0, len(speeds) - 1, n).tolist()]
    iterations = [max(1, floor(d * max(speeds[job]))) for d, job in zip(seconds, kinds, strict=True)]
    runs = [[_ticks(job, count, k) for k in used] for job, count in zip(kinds, iterations, strict=True)]
    counts, prices = ([found[key][k] for k in used] for key in ("gpus", "prices"))
    totals = [sum(column) for column in zip(*runs, strict=True)]
    rate = sum((Fraction(c * n, total) for c, total in zip(counts, totals, strict=False)), Fraction(0))  # jobs per tick
    release = [0] * n
    if kind != "batch":
        moments = _draw_moments(found) if rows is None else [submit for submit, _ in rows]
        release = scale_moments(moments, floor(n / (rate * found["load"])) if n else 0)
    mean_price = Fraction(sum(c * p for c, p in zip(counts, prices, strict=True)), sum(counts))
    ratio = Fraction(sum(counts), max(1, n))
    # Of a batch the mean price times m/n and n/m, as in the patent; online it, and twice it
    theta, late = (mean_price * ratio, mean_price / ratio) if kind == "batch" else (mean_price, 2 * mean_price)
    tenants, sensitivities = _draw_tenants(found, n)
    means = [Fraction(sum(c * r for c, r in zip(counts, run, strict=True)), sum(counts)) for run in runs]
    deadlines = _draw_deadlines(found, release, means, n / rate if n else Fraction(0))
    names = ("release", "deadline", "cost_sensitivity", "run", "tenant", "kind", "iterations")
    columns = (release, deadlines, sensitivities, runs, tenants, kinds, iterations)
    document = {
        "format": FORMAT,
        "name": name,
        "origin": {
            "generator": kind,
            "version": VERSIONS[kind],
            "recipe": {"kind": kind} | nest({**found, "name": name}),
        },
        "tick_seconds": TICK,
        "gpu_types": [
            {"name": GPU_NAMES[k], "count": count, "price": price}
            for k, count, price in zip(used, counts, prices, strict=True)
        ],
        "theta": round_half_up(found["theta"] * theta),
        "late_penalty": round_half_up(found["late"] * late),
        "jobs": [dict(zip(names, job, strict=True)) for job in zip(*columns, strict=True)],
    }
    return parse(document, f"recipe {name}")


def _draw_lengths(found: Values) -> list[int]:
    places = _stream(found, "length").integers(0, 99_999, found["jobs"]).tolist()
    return [length_at(found["trace"], place) for place in places]


def _read_rows(found: Values) -> list[tuple[int, int]]:
    rows = read_log(found["log"])
    chosen = rows[found["first"] : found["first"] + found["jobs"]]
    if len(chosen) < found["jobs"]:
        there = f"the {len(rows)} of at least {SHORTEST} s that it has"
        problem = f"{found['jobs']} from job {found['first']} on are more than {there}"
        raise InputError(found["log"], "jobs", problem)
    return chosen


def _ticks(kind: str, iterations: int, k: int) -> int:
    """E_b + (I - I_b) T_s in whole ticks, rounded up."""
    cold = min(COLD, iterations)
    return max(1, ceil((iterations + (COLD_TIMES - 1) * cold) / throughput()[kind][k] / TICK))


def _draw_moments(found: Values) -> list[int]:
    """Seconds of submissions in a stretch of the trace from a random slot on; at its end its week begins again."""
    trace, stream = arrivals(found["trace"]), _stream(found, "arrival")
    first, moments = stream.integer(0, len(trace) - 1), list[int]()
    for slot in itertools.count():
        if len(moments) >= found["jobs"]:
            break
        count = trace[(first + slot) % len(trace)]
        within = sorted(stream.integers(0, SLOT_SECONDS - 1, count).tolist()) if count else []
        moments += [slot * SLOT_SECONDS + second for second in within]
    return moments[: found["jobs"]]


def scale_moments(moments: Sequence[int], span: int) -> list[int]:
    """Moments in order as ticks from 0 to at most `span`, in proportion, rounded down."""
    whole = moments[-1] - moments[0] if moments else 0
    return [(moment - moments[0]) * span // max(1, whole) for moment in moments]


def _draw_tenants(found: Values, n: int) -> tuple[list[str], list[int]]:
    tenants, (low, high) = found["tenants"], found["cs"]
    wishes = _stream(found, "cs").integers(low, high, tenants or n).tolist()
    owner = _stream(found, "tenant").integers(0, tenants - 1, n).tolist() if tenants else list(range(n))
    return [f"tenant{i}" for i in owner], [wishes[i] for i in owner]


def _draw_deadlines(found: Values, release: Sequence[int], means: Sequence[Fraction], backlog: Fraction) -> list[int]:
    """release + slack (mean run + wait): half of the backlog n / rate of all jobs, or two mean runs of the job."""
    low, high = found["slack"]
    slack = _stream(found, "slack").integers(10 * low, 10 * high, len(release)).tolist()
    waits = [2 * mean if found.get("wait") == "runs" else backlog / 2 for mean in means]
    return [
        r + floor(Fraction(thousandths, 1000) * (mean + wait))
        for r, thousandths, mean, wait in zip(release, slack, means, waits, strict=True)
    ]


SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected

_KINDS = {**dict.fromkeys(KEYS, _generate), **make_existing_kinds(named, read)}


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance that a recipe names; the same recipe gives the same instance on any machine."""
    return make_instance(recipe, _KINDS)
