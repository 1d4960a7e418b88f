"""The generators `batch`, `online` and `log`: measured kinds of jobs, lengths and arrivals of real clusters.

All draws are integers, one stream per column (`instances/io/seeds.py`), named by the recipe's seed and the column
alone: recipes with the same seed that differ in prices, sensitivities or deadlines have the same jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.keys import Choice, Integer, Key, Ratio, Seed, Several, Span, Text, Values
from ratiobench.instances.io.numerals import round_half_up, text_of_fraction
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.tenants.format import COUNT_LIMIT, FORMAT, PRICE_LIMIT, parse
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
SUMMARIES = {
    "batch": "measured kinds of jobs, all released at once, with the lengths of a trace",
    "online": "the same, released as in a stretch of a trace, its clock scaled to a load",
    "log": "lengths and releases of the jobs of one's own log, its clock scaled to a load",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A checked recipe: its kind, and its values by the names of the keys."""

    kind: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Of the instance."""
        if given := self.values["name"]:
            return str(given)
        size = [f"n{self.values['jobs']}", f"m{sum(self.values['gpus'])}"]
        load = [] if self.kind == "batch" else [text_of_fraction(self.values["load"]).replace("/", "over")]
        source = ["log"] if self.kind == "log" else [self.kind, self.values["trace"]]
        return "-".join([*source, *size, *load, *map(str, self.values["seed"])])

    def stream(self, column: str) -> Stream:
        """The random stream of a column."""
        return Stream("ratiobench/tenants/workload", STREAMS, *self.values["seed"], column)

    def document(self) -> dict[str, Any]:
        """The recipe as JSON values that `read_recipe` reads back to the same recipe."""
        plain = {}
        for key, value in {**self.values, "name": self.name}.items():
            fraction = isinstance(value, Fraction)
            plain[key] = text_of_fraction(value) if fraction else list(value) if isinstance(value, tuple) else value
        return {"kind": self.kind, **plain}


def read_recipe(data: Mapping[str, Any]) -> Recipe:
    """Check a recipe of one of these kinds and fill in its defaults."""
    kind = Choice(tuple(KEYS)).checked(SOURCE, "kind", data.get("kind"))
    found = Values(SOURCE, KEYS[kind], data)
    for key in ("gpus", "prices"):
        if len(found[key]) != len(GPU_NAMES):
            raise InputError(SOURCE, key, f"{len(found[key])} numbers; {len(GPU_NAMES)}: {', '.join(GPU_NAMES)}")
    if not sum(found["gpus"]):
        raise InputError(SOURCE, "gpus", "no GPU; at least one is needed")
    if kind == "log":
        found.needed("log")
    return Recipe(kind, dict(found))


def generate(data: Mapping[str, Any]) -> Instance:
    """The instance of a recipe of one of these kinds."""
    recipe = read_recipe(data)
    values = recipe.values
    used = [k for k, count in enumerate(values["gpus"]) if count]
    rows = _log_rows(values) if recipe.kind == "log" else None
    seconds = _lengths(recipe) if rows is None else [length for _, length in rows]
    n = len(seconds)
    kinds = [sorted(throughput())[i] for i in recipe.stream("kind").integers(0, len(throughput()) - 1, n).tolist()]
    iterations = [max(1, floor(d * max(throughput()[kind]))) for d, kind in zip(seconds, kinds, strict=True)]
    every = [[_ticks(kind, count, k) for k in used] for kind, count in zip(kinds, iterations, strict=True)]
    counts, prices = ([values[key][k] for k in used] for key in ("gpus", "prices"))
    pace = _Pace(counts, every)
    release = [0] * n
    if recipe.kind != "batch":
        moments = _moments(recipe) if rows is None else [submit for submit, _ in rows]
        release = scale_moments(moments, floor(n / (pace.rate * values["load"])) if n else 0)
    theta, late = _penalties(recipe, counts, prices, n)
    tenants, sensitivities = _tenants(recipe, n)
    columns = zip(release, _deadlines(recipe, release, every, pace), sensitivities, every, tenants, strict=True)
    document = {
        "format": FORMAT,
        "name": recipe.name,
        "origin": {"generator": recipe.kind, "version": VERSIONS[recipe.kind], "recipe": recipe.document()},
        "tick_seconds": TICK,
        "gpu_types": [
            {"name": GPU_NAMES[k], "count": count, "price": price}
            for k, count, price in zip(used, counts, prices, strict=True)
        ],
        "theta": theta,
        "late_penalty": late,
        "jobs": [
            {
                "release": r,
                "deadline": deadline,
                "cost_sensitivity": cs,
                "run": run,
                "tenant": tenant,
                "kind": kind,
                "iterations": count,
            }
            for (r, deadline, cs, run, tenant), kind, count in zip(columns, kinds, iterations, strict=True)
        ],
    }
    return parse(document, f"recipe {recipe.name}")


def _lengths(recipe: Recipe) -> list[int]:
    places = recipe.stream("length").integers(0, 99_999, recipe.values["jobs"]).tolist()
    return [length_at(recipe.values["trace"], place) for place in places]


def _log_rows(values: Mapping[str, Any]) -> list[tuple[int, int]]:
    rows = read_log(values["log"])
    chosen = rows[values["first"] : values["first"] + values["jobs"]]
    if len(chosen) < values["jobs"]:
        there = f"the {len(rows)} of at least {SHORTEST} s that it has"
        problem = f"{values['jobs']} from job {values['first']} on are more than {there}"
        raise InputError(values["log"], "jobs", problem)
    return chosen


def _ticks(kind: str, iterations: int, k: int) -> int:
    """E_b + (I - I_b) T_s in whole ticks, rounded up."""
    cold = min(COLD, iterations)
    return max(1, ceil((iterations + (COLD_TIMES - 1) * cold) / throughput()[kind][k] / TICK))


class _Pace:
    """How fast so many GPUs of each type finish jobs with these (n, K) runs."""

    def __init__(self, counts: Sequence[int], runs: Sequence[Sequence[int]]) -> None:
        totals = [sum(column) for column in zip(*runs, strict=True)]
        self.counts, self.gpus, n = counts, sum(counts), len(runs)
        self.rate = sum((Fraction(c * n, total) for c, total in zip(counts, totals, strict=False)), Fraction(0))

    def mean(self, run: Sequence[int]) -> Fraction:
        """The mean run of a job over the GPUs, ticks."""
        return Fraction(sum(c * r for c, r in zip(self.counts, run, strict=True)), self.gpus)


def _moments(recipe: Recipe) -> list[int]:
    """Seconds of submissions in a stretch of the trace from a random slot on; at its end its week begins again."""
    trace, stream = arrivals(recipe.values["trace"]), recipe.stream("arrival")
    slot, found = stream.integer(0, len(trace) - 1), list[int]()
    first = slot
    while len(found) < recipe.values["jobs"]:
        count = trace[slot % len(trace)]
        within = sorted(stream.integers(0, SLOT_SECONDS - 1, count).tolist()) if count else []
        found += [(slot - first) * SLOT_SECONDS + second for second in within]
        slot += 1
    return found[: recipe.values["jobs"]]


def scale_moments(moments: Sequence[int], span: int) -> list[int]:
    """Moments in order as ticks from 0 to at most `span`, in proportion, rounded down."""
    whole = moments[-1] - moments[0] if moments else 0
    return [(moment - moments[0]) * span // max(1, whole) for moment in moments]


def _penalties(recipe: Recipe, counts: Sequence[int], prices: Sequence[int], n: int) -> tuple[int, int]:
    """theta and late_penalty: of a batch the mean price times m/n and n/m, as the patent; online it, and twice."""
    gpus = sum(counts)
    mean = Fraction(sum(c * p for c, p in zip(counts, prices, strict=True)), gpus)
    ratio = Fraction(gpus, max(1, n))
    theta, late = (mean * ratio, mean / ratio) if recipe.kind == "batch" else (mean, 2 * mean)
    return round_half_up(recipe.values["theta"] * theta), round_half_up(recipe.values["late"] * late)


def _tenants(recipe: Recipe, n: int) -> tuple[list[str], list[int]]:
    tenants, span = recipe.values["tenants"], recipe.values["cs"]
    wishes = recipe.stream("cs").integers(span[0], span[1], tenants or n).tolist()
    owner = recipe.stream("tenant").integers(0, tenants - 1, n).tolist() if tenants else list(range(n))
    return [f"tenant{i}" for i in owner], [wishes[i] for i in owner]


def _deadlines(recipe: Recipe, release: Sequence[int], runs: Sequence[Sequence[int]], pace: _Pace) -> list[int]:
    """release + slack (mean run + wait): half of the backlog n / rate of all jobs, or two mean runs of the job."""
    slack = recipe.stream("slack").integers(10 * recipe.values["slack"][0], 10 * recipe.values["slack"][1], len(runs))
    backlog = len(runs) / pace.rate if runs else Fraction(0)
    found = []
    for r, run, thousandths in zip(release, runs, slack.tolist(), strict=True):
        mean = pace.mean(run)
        wait = 2 * mean if recipe.values.get("wait") == "runs" else backlog / 2
        found.append(r + floor(Fraction(thousandths, 1000) * (mean + wait)))
    return found
