"""The generator `paper`: section 5.1 of the main paper on measured data, real arrivals and real prices.

All draws are integers, one stream per column (`instances/io/seeds.py`), named by the recipe's seed and the column
alone: two recipes with the same seed that differ in one respect share everything else that they can share.

What was measured in slots of ten minutes is exact in slots of any other length, or exact in the mean: rates are whole
in a unit of work of which a sample has `parts`; a vendor's delay is drawn in tens of minutes and rounded up to slots;
energy per slot must be whole Wh, so it is drawn from the two nearest ones, such that its mean is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.keys import (
    Choice,
    Day,
    Either,
    Form,
    Integer,
    Key,
    Seed,
    Several,
    Span,
    Text,
    Values,
    rename_key,
)
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.arrivals import (
    SLOTS_PER_DAY,
    CountsFile,
    days,
    list_earlier_days,
    scale_counts,
    span_counts,
    traces,
)
from ratiobench.instances.lora.calibration import MOST, Calibration, CalibrationFile, read_shipped
from ratiobench.instances.lora.calibration import parse as parse_calibration
from ratiobench.instances.lora.format import FORMAT, parse
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.prices import regions, tariff_from

VERSION = 1

# Stretch, in percent: the window is this many times the fewest slots that the task needs. The paper's Fig. 9 varies
# deadlines without defining them; these three are ours.
DEADLINES = {"tight": (100, 150), "uniform": (100, 500), "loose": (400, 800)}
# Rate and memory of a task, in percent of its profile's: with sizes of their own loads have as many classes as tasks.
SIZES = {"profiles": (100, 100), "own": (80, 140)}
WIDE = "wide"
WIDE_SHARE = (100, 400)  # Shares of a node, in thousandths: rate and memory of a task of sizes `wide`, drawn apart

LONGEST = 10_080  # Most slots: a week of minutes
MINUTES = 1440  # Of a day
_TEN = 10  # Minutes of the slots that rates, energies and delays are measured in, and shipped arrivals are counted in
_DEFAULT_DAY = {"PJM": "2017-05-08", "DE": "2016-10-19"}


@lru_cache(maxsize=1)
def keys() -> tuple[Key, ...]:
    """The keys of a recipe of kind `paper`; `Recipe` says more of what they mean."""
    known = read_shipped()
    types = [Key(f"nodes.{name}", Integer(1, 10_000), f"nodes of type {name}") for name in known.gpus]
    degrees, batches = (f"all that were: {', '.join(map(str, each))}" for each in (known.tasks, known.batch))
    prices = tuple(day for shipped in regions().values() for day in shipped)
    first = ", ".join(f"{region} {day}" for region, day in _DEFAULT_DAY.items())
    return (
        Key("name", Text(), "label of the instance", default_text="made of the rest"),
        Key("seed", Seed(), "names the random streams", 0),
        Key("slot_minutes", Integer(1, 60), "length of a slot", _TEN, "minutes"),
        Key("days", Integer(1, LONGEST * 60 // MINUTES), "days, the first from `start` on", 1, "days"),
        Key("slots", Integer(1, LONGEST), "length of the instance", None, "slots", "to the end of the days"),
        Key("start", Integer(1, MINUTES), "slot of the first day that is slot 1", 1, "slot"),
        Key("quiet", Integer(0, LONGEST - 1), "slots at the end without arrivals", 0, "slots"),
        Key("nodes", Integer(1, 10_000), "nodes of all types", 50, "nodes", "50, where no type is given"),
        Key("mix", Choice(("a100", "a40", "mixed")), "their types; mixed: half and half", "mixed"),
        *types,
        Key("arrivals.poisson", Integer(1, 500), "mean of Poisson arrivals", None, "tasks per slot", "50, if no trace"),
        Key("arrivals.trace", Choice(tuple(name for name, _ in traces())), "real arrivals: `list traces`"),
        Key("arrivals.day", Day(), "first day of the trace", None, "", "the first one shipped"),
        Key("arrivals.file", Text(path=True), "the trace's own file, with all its days", None, "", "the shipped days"),
        Key(
            "arrivals.counts",
            CountsFile(),
            "your own arrivals, also of earlier days for a history: a CSV file with the columns slot and count; slots "
            "are of slot_minutes, the first one begins the first day",
            default_text="none",
        ),
        Key(
            "arrivals.mean",
            Integer(1, 5_000),
            "rescale trace or counts to this mean",
            None,
            "tasks per slot",
            "as they are",
        ),
        Key("tasks", Integer(0, 1_000_000), "exact number of tasks", None, "tasks", "as arrivals have it"),
        Key("data", Span(1, 10**7), "training samples", (5_000, 20_000), "samples"),
        Key("epochs", Span(1, 1_000), "epochs; work is samples times epochs", (1, 5)),
        Key(
            "calibration",
            CalibrationFile(),
            "file of measurements of your own GPU, which the nodes have",
            default_text="the shipped table",
        ),
        Key("colocation", Several(1, MOST), "measured tasks per GPU, drawn from", default_text=degrees),
        Key("batch", Several(1, MOST), "measured batches, drawn from", None, "samples", batches),
        Key(
            "sizes",
            Either(Choice((*SIZES, WIDE)), Span(1, 1_000)),
            "rate and memory of each task, drawn apart, over its profile's; wide: .1 to .4 of a node",
            "profiles",
            "%",
        ),
        Key("vendors", Integer(0, 100), "the same as vendors.count", 5),
        Key("vendors.count", Integer(0, 100), "labor vendors", None, "", "5"),
        Key("vendors.percent", Integer(0, 100), "tasks that need one", 50, "%"),
        Key("vendors.delay", Span(0, SLOTS_PER_DAY), "delay of a vendor", (1, 8), "10 minutes"),
        Key("vendors.per_1000", Span(0, 10**6), "their price per 1,000 samples", (40, 160), "micro-dollars"),
        Key(
            "deadlines",
            Either(Choice(tuple(DEADLINES)), Span(100, 100_000)),
            "window over fewest slots",
            "uniform",
            "%",
        ),
        Key("bids.per_1000", Span(0, 10**6), "bid per 1,000 samples of work", (60, 360), "micro-dollars"),
        Key(
            "bids.preparation_per_1000",
            Span(0, 10**6),
            "more, with a vendor, per 1,000 samples",
            (60, 180),
            "micro-dollars",
        ),
        Key("prices.region", Choice(tuple(regions())), "market of electricity", "PJM"),
        Key("prices.day", Choice(prices), "its first shipped day; the others follow", None, "", first),
    )


_SHORT = {
    "arrivals.trace": "trace",
    "arrivals.day": "day",
    "arrivals.file": "file",
    "arrivals.mean": "mean",
    "slot_minutes": "slot",
    "prices.region": "region",
    "prices.day": "prices",
}


def forms() -> tuple[Form, ...]:
    """Recipes of this generator: `day` with short names for its keys, `paper` with all of them."""
    known = {key.name: key for key in keys()}
    short = {
        key.name: rename_key(key, key.name.removeprefix("nodes.")) for key in keys() if key.name.startswith("nodes.")
    }
    short |= {place: rename_key(known[place], name) for place, name in _SHORT.items()}
    short["arrivals.trace"] = replace(short["arrivals.trace"], default="philly")
    left = ("name", "arrivals.poisson", "arrivals.counts", "vendors.count")
    named = tuple(short.get(key.name, key) for key in keys() if key.name not in left)
    first = ("trace", "day", "days", "slot", "tasks", "mean", "nodes", "seed")
    ordered = (
        *(key for name in first for key in named if key.name == name),
        *(k for k in named if k.name not in first),
    )
    kind = {"kind": "paper"}
    return (
        Form("day", "a day or some days of a trace on a cluster of one's size", ordered, kind, read_recipe, "name"),
        Form("paper", "section 5.1 of the main paper, every key", keys()[1:], kind, read_recipe, "name"),
    )


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The labor vendors of a recipe: `Recipe.vendors` has the meaning of the keys."""

    count: int
    percent: int
    delay: tuple[int, int]
    per_1000: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe of kind `paper` with every default filled in."""

    name: str  # of the instance; not part of its identity
    seed: tuple[str | int, ...]  # names of the random streams (strings and integers)
    slot_minutes: int  # length of a slot
    slots: int  # T; where it is not given, to the end of the last of `days` days
    start: int  # the first day's slot that is the instance's slot 1: a part of a day is start .. start+slots-1
    quiet: int  # slots at the end without arrivals, so that in a short instance few tasks come too late. Default 0
    # nodes per GPU type, in the table's order. Given as an object, such as ``{"a100": 2, "a40": 1}``, or as the number
    # K with `mix`: ``a100``, ``a40`` or ``mixed`` (half and half, the odd one an A100). Default 50, mixed.
    nodes: Mapping[str, int]
    # ``{"poisson": m}``: a Poisson number with integer mean m = 1..500 in every slot (paper: 30, 50, 80; default 50).
    # ``{"trace": NAME, "day": "YYYY-MM-DD"}``: that day's submissions (default: the first shipped day), as they are or,
    # with ``"mean": m`` = 1..5000, rescaled to exactly m per slot on average (quiet slots do not count); with ``"file":
    # PATH`` the days are read from the trace's own file. Several days follow one another, and begin again where the
    # trace ends. Shipped counts are per ten minutes: in shorter slots a submission's minute within them is drawn. Or
    # ``{"counts": [n, ...]}``: own arrivals in each slot from the begin of the first day on, ``mean`` as of a trace.
    arrivals: Mapping[str, Any]
    # the exact number of tasks, 0..1,000,000, or None. Trace arrivals are rescaled to it by cumulative rounding
    # (`arrivals.scaled`); Poisson arrivals are conditioned on it, which makes them uniform over the slots.
    tasks: int | None
    data: tuple[int, int]  # range of the training samples per task, U[5000, 20000]
    epochs: tuple[int, int]  # range of the epochs, U[1, 5]. The work M_i is samples times epochs
    # what GPUs do: the shipped table, or a file of measurements, whose GPU all `nodes` have then. Cases and origins
    # have the file's content in place of its name: they need it no more.
    calibration: Calibration
    # colocation, batch: the rows of the calibration table that are drawn from, uniformly, and give s_ik, r_i and the
    # energy. Default all, in the shipped table 4, 8, 16 and 2, 4, 8 (16 with 8 did not fit the GPU and is no row).
    colocation: tuple[int, ...]
    batch: tuple[int, ...]
    # ``profiles`` (default: as measured), ``own`` (80..140) or a range in percent: rate and memory of each task are its
    # profile's times a draw each, rounded down, at least 1, and at most what a node has. Energy follows the rate.
    # ``wide``: rate and memory are shares of a node, each drawn apart from .1 to .4, of the compute of each type and of
    # the least memory that a type leaves; no profile is in them but its energy per sample.
    sizes: tuple[int, int] | str
    # ``count`` N = 0..100 (default 5; a plain integer means this), ``percent`` of tasks that need pre-processing
    # (default 50), ``delay`` range in tens of minutes ([1, 8]), ``per_1000`` range of the asking price in micro-dollars
    # per 1,000 training samples ([40, 160]). With H the upper end of `delay`, a vendor of delay h asks (3H - h)/2H
    # times the drawn price: half as much again for no delay.
    vendors: Marketplace
    # ``tight``, ``uniform``, ``loose`` or a range in percent. The window, from the slot in which the fastest vendor is
    # done, is U[range]/100 times the fewest slots that the task needs (alone, on its fastest node type), rounded up:
    # tight 100..150, uniform 100..500, loose 400..800. It ends with the instance at the latest, so a task that comes
    # too late in the day has no schedule.
    deadlines: tuple[int, int]
    # b_i = M_i/1000 times a value drawn from ``per_1000`` (micro-dollars, [60, 360]), and for a task that needs
    # pre-processing also its training samples/1000 times a draw from ``preparation_per_1000`` ([60, 180]); each rounded
    # down. Energy costs about 60 (A100) to 120 (A40) micro-dollars per 1,000 samples at 33 dollars per MWh, so typical
    # net values are positive and costs and vendors decide about the rest. Valuations are the bids.
    bids: Mapping[str, tuple[int, int]]
    # ``region`` (``PJM``, ``DE``) and first ``day`` of the tariff, default PJM, 2017-05-08; a slot has the price at its
    # beginning. Further days have the prices of the days that are shipped next.
    prices: Mapping[str, str]

    @property
    def busy(self) -> int:
        """The number of slots in which tasks arrive: all but the quiet ones."""
        return self.slots - self.quiet

    @property
    def first_minute(self) -> int:
        """The minute of the first day in which slot 1 begins."""
        return (self.start - 1) * self.slot_minutes

    @property
    def parts(self) -> int:
        """Units of work of a sample: the least number with which rates per slot are whole."""
        return _TEN // math.gcd(_TEN, self.slot_minutes)

    @property
    def days(self) -> int:
        """The number of days that slots lie in."""
        return -(-(self.first_minute + self.slots * self.slot_minutes) // MINUTES)

    def stream(self, column: str) -> Stream:
        """The random stream of a column."""
        return Stream("ratiobench/lora/paper", VERSION, *self.seed, column)

    def document(self) -> dict[str, Any]:
        """The recipe as JSON values that `read_recipe` reads back to the same recipe."""
        document: dict[str, Any] = {
            "kind": "paper",
            "name": self.name,
            "seed": list(self.seed),
            "slots": self.slots,
            "start": self.start,
            "quiet": self.quiet,
            "nodes": dict(self.nodes),
            "arrivals": dict(self.arrivals),
            "data": list(self.data),
            "epochs": list(self.epochs),
            "colocation": list(self.colocation),
            "batch": list(self.batch),
            "vendors": {
                "count": self.vendors.count,
                "percent": self.vendors.percent,
                "delay": list(self.vendors.delay),
                "per_1000": list(self.vendors.per_1000),
            },
            "deadlines": list(self.deadlines),
            "bids": {key: list(v) for key, v in self.bids.items()},
            "prices": dict(self.prices),
        }
        if self.tasks is not None:
            document["tasks"] = self.tasks
        if self.sizes != SIZES["profiles"]:
            document["sizes"] = self.sizes if isinstance(self.sizes, str) else list(self.sizes)
        if self.slot_minutes != _TEN:
            document["slot_minutes"] = self.slot_minutes
        if self.calibration.document is not None:
            document |= {"calibration": dict(self.calibration.document), "nodes": sum(self.nodes.values())}
        return document


def read_recipe(data: Mapping[str, Any]) -> Recipe:
    """Check a recipe of kind `paper` and fill in its defaults."""
    found = Values(SOURCE, keys(), data)
    own = found["calibration"]
    measured = read_shipped() if own is None else parse_calibration(own, SOURCE, "calibration")
    nodes, arrivals = _nodes(found, data, measured), _arrivals(found, data)
    if found["tasks"] is not None and "mean" in arrivals:
        raise InputError(SOURCE, "tasks", "both tasks and arrivals.mean are given; at most one is allowed")
    slots = _slots(found)
    if found["quiet"] >= slots:
        raise InputError(SOURCE, "quiet", f"{found['quiet']} is not in 0..{slots - 1}")
    colocation, batch = found["colocation"] or measured.tasks, found["batch"] or measured.batch
    measured.choose_profiles(colocation, batch)
    region = found["prices.region"]
    day = found["prices.day"] or _DEFAULT_DAY[region]
    if day not in regions()[region]:
        raise InputError(SOURCE, "prices.day", f"{shorten(day)} is none of {', '.join(regions()[region])}")
    deadlines, sizes = found["deadlines"], found["sizes"]
    return Recipe(
        name=found["name"] or _name(found["seed"], nodes, arrivals, found["tasks"], slots),
        seed=found["seed"],
        slot_minutes=found["slot_minutes"],
        slots=slots,
        start=found["start"],
        quiet=found["quiet"],
        nodes=nodes,
        arrivals=arrivals,
        tasks=found["tasks"],
        data=found["data"],
        epochs=found["epochs"],
        calibration=measured,
        colocation=colocation,
        batch=batch,
        sizes=SIZES.get(sizes, WIDE) if isinstance(sizes, str) else sizes,
        vendors=Marketplace(
            count=found["vendors"] if found["vendors.count"] is None else found["vendors.count"],
            percent=found["vendors.percent"],
            delay=found["vendors.delay"],
            per_1000=found["vendors.per_1000"],
        ),
        deadlines=DEADLINES[deadlines] if isinstance(deadlines, str) else deadlines,
        bids={name: found[f"bids.{name}"] for name in ("per_1000", "preparation_per_1000")},
        prices={"region": region, "day": day},
    )


def _slots(found: Values) -> int:
    minutes, start = found["slot_minutes"], found["start"]
    in_day = -(-MINUTES // minutes)
    if start > in_day:
        raise InputError(SOURCE, "start", f"{start} is not in 1..{in_day}, the slots of a day")
    if found["slots"] is not None:
        if "days" in found.given:
            raise InputError(SOURCE, "days", "both days and slots are given; at most one is allowed")
        return int(found["slots"])
    slots: int = -(-found["days"] * MINUTES // minutes) + 1 - start
    if slots > LONGEST:
        problem = f"{found['days']} days of slots of {minutes} min are {slots} slots; 1..{LONGEST} are allowed"
        raise InputError(SOURCE, "days", problem)
    return slots


def _nodes(found: Values, data: Mapping[str, Any], measured: Calibration) -> dict[str, int]:
    by_type = {name: found[f"nodes.{name}"] for name in read_shipped().gpus if f"nodes.{name}" in found.given}
    if measured.document is not None:
        for key in (*(f"nodes.{name}" for name in by_type), *({"mix"} & found.given.keys())):
            raise InputError(SOURCE, key, f"all nodes are of the GPU that was calibrated, {', '.join(measured.gpus)}")
        return dict.fromkeys(measured.gpus, found["nodes"])
    if by_type:
        if "mix" in found.given:
            raise InputError(SOURCE, "mix", "the nodes are given by type already")
        return by_type
    if isinstance(data.get("nodes"), Mapping):
        raise InputError(SOURCE, "nodes", "an empty object; at least one node type is needed")
    total, mix = found["nodes"], found["mix"]
    if mix != "mixed":
        return {mix: total}
    counts = {"a100": (total + 1) // 2, "a40": total // 2}
    return {name: count for name, count in counts.items() if count}


def _arrivals(found: Values, data: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: found[f"arrivals.{name}"] for name in ("trace", "day", "file", "counts", "mean", "poisson")}
    given = {name: value for name, value in given.items() if value is not None}
    kinds = [name for name in ("poisson", "trace", "counts") if name in given]
    if len(kinds) > 1:
        raise InputError(
            SOURCE,
            f"arrivals.{kinds[0]}",
            f"both arrivals.{kinds[0]} and arrivals.{kinds[1]} are given; one is allowed",
        )
    if kinds == ["counts"]:
        for name in given.keys() - {"counts", "mean"}:
            raise InputError(SOURCE, f"arrivals.{name}", "goes with arrivals.trace only")
        return {name: given[name] for name in ("counts", "mean") if name in given}
    if "trace" not in given:
        if "arrivals" in data and "poisson" not in given:
            raise InputError(SOURCE, "arrivals.poisson", "the key is missing, and arrivals.trace as well")
        for name in given.keys() - {"poisson"}:
            where = "arrivals.trace or arrivals.counts" if name == "mean" else "arrivals.trace only"
            raise InputError(SOURCE, f"arrivals.{name}", f"goes with {where}")
        return {"poisson": given.get("poisson", 50)}
    if "day" not in given:
        if "file" in given:
            raise InputError(SOURCE, "arrivals.day", "the key is missing; arrivals.file needs it")
        given["day"] = days(given["trace"])[0]
    if "file" not in given and given["day"] not in (*list_earlier_days(given["trace"]), *days(given["trace"])):
        span_counts(given["trace"], given["day"], 1)  # says what there is
    return {name: given[name] for name in ("trace", "file", "day", "mean") if name in given}


def _name(
    seed: tuple[str | int, ...], nodes: Mapping[str, int], arrivals: Mapping[str, Any], tasks: int | None, slots: int
) -> str:
    """What a person needs to tell the instances of a suite apart."""
    source = f"{arrivals['trace']}-{arrivals['day']}" if "trace" in arrivals else next(iter(arrivals))
    size = f"n{tasks}" if tasks is not None else f"m{arrivals.get('poisson', arrivals.get('mean', ''))}"
    fleet = "-".join(f"{count}x{name}" for name, count in nodes.items())
    return "-".join(["paper", source, size, fleet, f"t{slots}", *map(str, seed)])


def generate(data: Mapping[str, Any]) -> Instance:
    """The instance of a recipe of kind `paper` (see `Recipe` for its keys)."""
    recipe = read_recipe(data)
    return parse(_document(recipe), f"recipe {recipe.name}")


def _document(recipe: Recipe) -> dict[str, Any]:
    gpus, notes = recipe.calibration.gpus, list(recipe.calibration.notes)
    seconds = 60 * recipe.slot_minutes
    source = tariff_from(recipe.prices["region"], recipe.prices["day"])
    price, recurs = source.at_slots(60 * recipe.first_minute, recipe.slots, seconds)
    if recurs:
        notes.append(f"The {len(source.days)} shipped days of prices of {recipe.prices['region']} begin again.")
    arrival, recurs = _arrival_slots(recipe)
    if recurs:
        notes.append(f"The days of the trace {recipe.arrivals['trace']} end, and begin again with the first.")
    return {
        "format": FORMAT,
        "name": recipe.name,
        "origin": _origin(recipe, notes),
        "slots": recipe.slots,
        "slot_seconds": seconds,
        "base_memory_mb": recipe.calibration.base_memory_mb,
        "node_types": [
            {
                "name": name,
                "count": count,
                "compute": _per_slot(recipe, gpus[name].compute),
                "memory_mb": gpus[name].memory_mb,
                "tariff": price,
            }
            for name, count in recipe.nodes.items()
        ],
        "tasks": _tasks(recipe, arrival),
    }


def _per_slot(recipe: Recipe, amount: int) -> int:
    """Samples of ten minutes in units of work per slot, exactly."""
    return amount * recipe.slot_minutes * recipe.parts // _TEN


def _origin(recipe: Recipe, notes: list[str]) -> dict[str, Any]:
    origin: dict[str, Any] = {
        "generator": "paper",
        "version": VERSION,
        "recipe": recipe.document(),
        "calibration": recipe.calibration.source,
        "prices": f"day-ahead prices of {recipe.prices['region']}, {recipe.prices['day']}, dollars per MWh = "
        "micro-dollars per Wh, rounded half to even; EUR taken 1:1",
    }
    if "trace" in recipe.arrivals:
        origin["arrivals"] = dict(traces())[recipe.arrivals["trace"]]
    if recipe.parts > 1:
        origin["work"] = f"1/{recipe.parts} sample"
    if recipe.slot_minutes % _TEN:
        origin["energy"] = "whole Wh per slot, drawn such that the mean is exact"
    if notes:
        origin["notes"] = notes
    return origin


def _arrival_slots(recipe: Recipe) -> tuple[IntArray, bool]:
    """(I,) arrival slots in order, and whether days of the trace recur."""
    slots = np.arange(1, recipe.busy + 1)
    if "poisson" not in recipe.arrivals:
        counts, recurs = _submissions(recipe) if "trace" in recipe.arrivals else (_own_counts(recipe), False)
        wanted = recipe.arrivals["mean"] * recipe.busy if "mean" in recipe.arrivals else recipe.tasks
        if wanted is not None:
            if wanted and not any(counts):
                key = "day" if "trace" in recipe.arrivals else "counts"
                span = f"slots {recipe.start}..{recipe.start + recipe.busy - 1}"
                of = f" of {recipe.arrivals['day']}" if key == "day" else ""
                raise InputError(SOURCE, f"arrivals.{key}", f"no submissions in {span}{of}")
            counts = list(scale_counts(counts, wanted))
        return np.repeat(slots, counts), recurs
    if recipe.tasks is not None:
        return np.sort(recipe.stream("arrival").integers(1, recipe.busy, recipe.tasks)), False
    return np.repeat(slots, recipe.stream("arrival").poisson(recipe.arrivals["poisson"], recipe.busy)), False


def _own_counts(recipe: Recipe) -> list[int]:
    counts = list(recipe.arrivals["counts"])[recipe.start - 1 : recipe.start - 1 + recipe.busy]
    return counts + [0] * (recipe.busy - len(counts))


def _submissions(recipe: Recipe) -> tuple[list[int], bool]:
    """Submissions per busy slot, and whether days of the trace recur."""
    minutes, source = recipe.slot_minutes, recipe.arrivals.get("file")
    fine = bool(minutes % _TEN)
    read = 60 if fine and source else 60 * _TEN
    counts, recurs = span_counts(recipe.arrivals["trace"], recipe.arrivals["day"], recipe.days, source, read)
    moments = np.repeat(np.arange(len(counts)) * read // 60, counts)
    if fine and not source:
        moments = moments + recipe.stream("minute").integers(0, _TEN - 1, len(moments))
    slot = (moments - recipe.first_minute) // minutes
    inside = slot[(slot >= 0) & (slot < recipe.busy)]
    return np.bincount(inside, minlength=recipe.busy).tolist(), recurs


def _tasks(recipe: Recipe, arrival: IntArray) -> list[dict[str, Any]]:
    size = len(arrival)
    types = list(recipe.nodes)
    profiles = recipe.calibration.choose_profiles(recipe.colocation, recipe.batch)
    drawn = recipe.stream("profile").integers(0, len(profiles) - 1, size)
    rate = np.array([[_per_slot(recipe, p.rate[name]) for name in types] for p in profiles], dtype=np.int64)[drawn]
    watts = np.array([[p.energy_wh[name] for name in types] for p in profiles], dtype=np.int64)[drawn]
    memory = np.array([p.memory_mb for p in profiles], dtype=np.int64)[drawn]
    if recipe.sizes != SIZES["profiles"]:
        rate, watts, memory = _own_sizes(recipe, rate, watts, memory)
    energy = _energy(recipe, watts)

    data = recipe.stream("data").integers(*recipe.data, size)
    work = data * recipe.stream("epochs").integers(*recipe.epochs, size)
    prepared = _prepared(recipe, size)
    delay, price = _offers(recipe, data)

    value = recipe.stream("value").integers(*recipe.bids["per_1000"], size)
    preparation = recipe.stream("preparation").integers(*recipe.bids["preparation_per_1000"], size)
    bid = work * value // 1000 + np.where(prepared, data * preparation // 1000, 0)

    delay = -(-delay * _TEN // recipe.slot_minutes)
    fastest = delay.min(axis=1) if recipe.vendors.count else np.zeros(size, dtype=np.int64)
    first = arrival + np.where(prepared, fastest, 0)
    work = work * recipe.parts
    needed = -(-work // rate.max(axis=1))
    stretch = recipe.stream("stretch").integers(*recipe.deadlines, size)
    deadline = np.minimum(first - 1 + -(-needed * stretch // 100), recipe.slots)

    columns = zip(
        arrival.tolist(), deadline.tolist(), memory.tolist(), work.tolist(), bid.tolist(), rate.tolist(),
        energy.tolist(), prepared.tolist(), price.tolist(), delay.tolist(), strict=True,
    )  # fmt: skip
    return [
        {
            "arrival": a,
            "deadline": d,
            "memory_mb": r,
            "work": m,
            "bid": b,
            "rate": s,
            "energy_wh": e,
            "vendors": [{"price": q, "delay": h} for q, h in zip(prices, delays, strict=True)] if f else [],
        }
        for a, d, r, m, b, s, e, f, prices, delays in columns
    ]


def _own_sizes(
    recipe: Recipe, rate: IntArray, watts: IntArray, memory: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Rates, energy and memory of tasks that each have their own share of a node."""
    gpus = [recipe.calibration.gpus[name] for name in recipe.nodes]
    draws = WIDE_SHARE if isinstance(recipe.sizes, str) else recipe.sizes
    speed = recipe.stream("size").integers(*draws, len(rate))[:, None]
    share = recipe.stream("memory").integers(*draws, len(rate))
    memory_mb = min(gpu.memory_mb for gpu in gpus) - recipe.calibration.base_memory_mb
    most = np.array([_per_slot(recipe, gpu.compute) for gpu in gpus])
    if isinstance(recipe.sizes, str):
        wide = np.maximum(1, most * speed // 1000)
        return wide, watts * wide // rate, np.maximum(1, memory_mb * share // 1000)
    memory = np.clip(memory * share // 100, 1, max(1, memory_mb))
    return np.clip(rate * speed // 100, 1, most), watts * speed // 100, memory


def _energy(recipe: Recipe, ten: IntArray) -> IntArray:
    """(I, G) Wh per slot from Wh per ten minutes: whole, and on average over the draw exact."""
    if recipe.slot_minutes % _TEN == 0:
        return ten * (recipe.slot_minutes // _TEN)
    drawn = recipe.stream("energy").integers(0, _TEN - 1, len(ten))
    return np.asarray((ten * recipe.slot_minutes + drawn[:, None]) // _TEN)


def _prepared(recipe: Recipe, size: int) -> NDArray[np.bool_]:
    """(I,) f_i: which tasks need pre-processing."""
    if not recipe.vendors.count:
        return np.zeros(size, dtype=np.bool_)
    return np.asarray(recipe.stream("prepared").integers(1, 100, size) <= recipe.vendors.percent)


def _offers(recipe: Recipe, data: IntArray) -> tuple[IntArray, IntArray]:
    """(I, N) delays in tens of minutes, and prices; each vendor has streams of its own: one more changes no other."""
    market, size = recipe.vendors, len(data)
    delay = np.empty((size, market.count), dtype=np.int64)
    price = np.empty((size, market.count), dtype=np.int64)
    longest = market.delay[1]
    for n in range(market.count):
        delay[:, n] = recipe.stream(f"delay {n}").integers(*market.delay, size)
        asked = data * recipe.stream(f"price {n}").integers(*market.per_1000, size)
        if longest:
            price[:, n] = asked * (3 * longest - delay[:, n]) // (2000 * longest)
        else:
            price[:, n] = asked // 1000
    return delay, price
