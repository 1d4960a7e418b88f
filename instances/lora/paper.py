"""The generator `paper`: section 5.1 of the main paper on measured data, real arrivals and real prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ratiobench.instances.io.errors import InputError, require_known
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
    nest,
    rename_key,
)
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.arrivals import SLOTS_PER_DAY, CountsFile, days, scale_counts, span_counts, traces
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


_COUNTS = (
    "your own arrivals, also of earlier days for a history: a CSV file with the columns slot and count; slots are of "
    "slot_minutes, the first one begins the first day"
)
_CALIBRATION = "file of measurements of your own GPU, which the nodes have"
_SIZES = "rate and memory of each task, drawn apart, over its profile's; wide: .1 to .4 of a node"


@lru_cache(maxsize=1)
def keys() -> tuple[Key, ...]:
    known, stretch, money = read_shipped(), Either(Choice(tuple(DEADLINES)), Span(100, 100_000)), Span(0, 10**6)
    sizes, per_slot = Either(Choice((*SIZES, WIDE)), Span(1, 1_000)), "tasks per slot"
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
        Key("arrivals.poisson", Integer(1, 500), "mean of Poisson arrivals", None, per_slot, "50, if no trace"),
        Key("arrivals.trace", Choice(tuple(name for name, _ in traces())), "real arrivals: `list traces`"),
        Key("arrivals.day", Day(), "first day of the trace", None, "", "the first one shipped"),
        Key("arrivals.file", Text(path=True), "the trace's own file, with all its days", None, "", "the shipped days"),
        Key("arrivals.counts", CountsFile(), _COUNTS, default_text="none"),
        Key("arrivals.mean", Integer(1, 5_000), "rescale trace or counts to this mean", None, per_slot, "as they are"),
        Key("tasks", Integer(0, 1_000_000), "exact number of tasks", None, "tasks", "as arrivals have it"),
        Key("data", Span(1, 10**7), "training samples", (5_000, 20_000), "samples"),
        Key("epochs", Span(1, 1_000), "epochs; work is samples times epochs", (1, 5)),
        Key("calibration", CalibrationFile(), _CALIBRATION, default_text="the shipped table"),
        Key("colocation", Several(1, MOST), "measured tasks per GPU, drawn from", default_text=degrees),
        Key("batch", Several(1, MOST), "measured batches, drawn from", None, "samples", batches),
        Key("sizes", sizes, _SIZES, "profiles", "%"),
        Key("vendors", Integer(0, 100), "the same as vendors.count", 5),
        Key("vendors.count", Integer(0, 100), "labor vendors", None, "", "5"),
        Key("vendors.percent", Integer(0, 100), "tasks that need one", 50, "%"),
        Key("vendors.delay", Span(0, SLOTS_PER_DAY), "delay of a vendor", (1, 8), "10 minutes"),
        Key("vendors.per_1000", money, "their price per 1,000 samples", (40, 160), "micro-dollars"),
        Key("deadlines", stretch, "window over fewest slots", "uniform", "%"),
        Key("bids.per_1000", money, "bid per 1,000 samples of work", (60, 360), "micro-dollars"),
        Key("bids.preparation_per_1000", money, "more, with a vendor, per 1,000 samples", (60, 180), "micro-dollars"),
        Key("prices.region", Choice(tuple(regions())), "market of electricity", "PJM"),
        Key("prices.day", Choice(prices), "its first shipped day; the others follow", None, "", first),
    )


_SHORT = {
    "arrivals.trace": "trace", "arrivals.day": "day", "arrivals.file": "file", "arrivals.mean": "mean",
    "slot_minutes": "slot", "prices.region": "region", "prices.day": "prices",
}  # fmt: skip


def forms() -> tuple[Form, ...]:
    """Recipes of this generator: `day` with short names for its keys, `paper` with all of them."""
    left = ("name", "arrivals.poisson", "arrivals.counts", "vendors.count")
    names = {key: _SHORT.get(key.name, key.name.removeprefix("nodes.")) for key in keys() if key.name not in left}
    named = {name: key if name == key.name else rename_key(key, name) for key, name in names.items()}
    named["trace"] = replace(named["trace"], default="philly")
    first = dict.fromkeys(("trace", "day", "days", "slot", "tasks", "mean", "nodes", "seed"))
    ordered = tuple(named[name] for name in first | named)
    kind = {"kind": "paper"}
    return (
        Form("day", "a day or some days of a trace on a cluster of one's size", ordered, kind, read_recipe, "name"),
        Form("paper", "section 5.1 of the main paper, every key", keys()[1:], kind, read_recipe, "name"),
    )


# The names in the document of a recipe, in its order; those behind `tasks` stand there only where they are not usual
_DOCUMENT = (
    "name", "seed", "slots", "start", "quiet", "nodes", "arrivals", "data", "epochs", "colocation", "batch",
    "vendors.count", "vendors.percent", "vendors.delay", "vendors.per_1000", "deadlines", "bids.per_1000",
    "bids.preparation_per_1000", "prices.region", "prices.day", "tasks", "sizes", "slot_minutes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe of kind `paper` with every default filled in."""

    # By the names of the keys. `nodes`: nodes per GPU type, in the table's order. `arrivals`: what is given of
    # ``poisson``, or of ``trace``, ``file``, ``day``, ``mean``, or of ``counts``, ``mean``. `deadlines` and `sizes` are
    # ranges, or `WIDE`.
    values: Mapping[str, Any]
    calibration: Calibration  # the shipped table, or a file of measurements, whose GPU all nodes have then

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def busy(self) -> int:  # slots in which tasks arrive
        return int(self["slots"] - self["quiet"])

    @property
    def first_minute(self) -> int:  # of the first day, in which slot 1 begins
        return int((self["start"] - 1) * self["slot_minutes"])

    @property
    def parts(self) -> int:  # units of work of a sample: the least number with which rates per slot are whole
        return _TEN // math.gcd(_TEN, self["slot_minutes"])

    @property
    def days(self) -> int:
        return -int(-(self.first_minute + self["slots"] * self["slot_minutes"]) // MINUTES)

    def stream(self, column: str) -> Stream:
        # Named by seed and column alone: recipes that differ in one respect share everything else that they can share
        return Stream("ratiobench/lora/paper", VERSION, *self["seed"], column)

    def integers(self, column: str, span: tuple[int, int], size: int) -> IntArray:
        return self.stream(column).integers(*span, size)

    def document(self) -> dict[str, Any]:
        """JSON values that `read_recipe` reads back to the same recipe, a calibration file's content in them."""
        document = {"kind": "paper"} | nest({name: self[name] for name in _DOCUMENT})
        for name, usual in (("sizes", SIZES["profiles"]), ("slot_minutes", _TEN)):
            if self[name] == usual:
                del document[name]
        if self.calibration.document is not None:
            document |= {"calibration": dict(self.calibration.document), "nodes": sum(self["nodes"].values())}
        return document


def read_recipe(data: Mapping[str, Any]) -> Recipe:
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
    require_known(day, regions()[region], SOURCE, "prices.day")
    deadlines, sizes = found["deadlines"], found["sizes"]
    values = {
        **found,
        "name": found["name"] or _name(found, nodes, arrivals, slots),
        "slots": slots,
        "nodes": nodes,
        "arrivals": arrivals,
        "colocation": colocation,
        "batch": batch,
        "sizes": SIZES.get(sizes, WIDE) if isinstance(sizes, str) else sizes,
        "vendors.count": found["vendors"] if found["vendors.count"] is None else found["vendors.count"],
        "deadlines": DEADLINES[deadlines] if isinstance(deadlines, str) else deadlines,
        "prices.day": day,
    }
    return Recipe(values, measured)


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
        problem = f"both arrivals.{kinds[0]} and arrivals.{kinds[1]} are given; one is allowed"
        raise InputError(SOURCE, f"arrivals.{kinds[0]}", problem)
    if not kinds and "arrivals" in data:
        raise InputError(SOURCE, "arrivals.poisson", "the key is missing, and arrivals.trace as well")
    own = {"poisson": ("poisson",), "counts": ("counts", "mean"), "trace": ("trace", "file", "day", "mean")}
    kind = kinds[0] if kinds else "poisson"
    for name in given:
        if name not in own[kind]:
            where = "arrivals.trace or arrivals.counts" if name == "mean" else "arrivals.trace only"
            raise InputError(SOURCE, f"arrivals.{name}", f"goes with {where}")
    if kind != "trace":
        return {name: given[name] for name in own[kind] if name in given} or {"poisson": 50}
    if "day" not in given:
        if "file" in given:
            raise InputError(SOURCE, "arrivals.day", "the key is missing; arrivals.file needs it")
        given["day"] = days(given["trace"])[0]
    if "file" not in given:
        span_counts(given["trace"], given["day"], 1)  # refuses other days than the shipped ones
    return {name: given[name] for name in own[kind] if name in given}


def _name(found: Values, nodes: Mapping[str, int], arrivals: Mapping[str, Any], slots: int) -> str:
    tasks = found["tasks"]
    source = f"{arrivals['trace']}-{arrivals['day']}" if "trace" in arrivals else next(iter(arrivals))
    size = f"n{tasks}" if tasks is not None else f"m{arrivals.get('poisson', arrivals.get('mean', ''))}"
    fleet = "-".join(f"{count}x{name}" for name, count in nodes.items())
    return "-".join(["paper", source, size, fleet, f"t{slots}", *map(str, found["seed"])])


def generate(data: Mapping[str, Any]) -> Instance:
    recipe = read_recipe(data)
    return parse(_document(recipe), f"recipe {recipe['name']}")


def _document(recipe: Recipe) -> dict[str, Any]:
    gpus, notes = recipe.calibration.gpus, list(recipe.calibration.notes)
    seconds, region = 60 * recipe["slot_minutes"], recipe["prices.region"]
    source = tariff_from(region, recipe["prices.day"])
    price, recurs = source.at_slots(60 * recipe.first_minute, recipe["slots"], seconds)
    if recurs:
        notes.append(f"The {len(source.days)} shipped days of prices of {region} begin again.")
    arrival, recurs = _arrival_slots(recipe)
    if recurs:
        notes.append(f"The days of the trace {recipe['arrivals']['trace']} end, and begin again with the first.")
    nodes = []
    for name, count in recipe["nodes"].items():
        size = {"compute": _per_slot(recipe, gpus[name].compute), "memory_mb": gpus[name].memory_mb}
        nodes.append({"name": name, "count": count, **size, "tariff": price})
    return {
        "format": FORMAT,
        "name": recipe["name"],
        "origin": _origin(recipe, notes),
        "slots": recipe["slots"],
        "slot_seconds": seconds,
        "base_memory_mb": recipe.calibration.base_memory_mb,
        "node_types": nodes,
        "tasks": _tasks(recipe, arrival),
    }


def _per_slot(recipe: Recipe, amount: int) -> int:
    """Samples of ten minutes in units of work per slot, exactly."""
    return int(amount * recipe["slot_minutes"] * recipe.parts // _TEN)


def _origin(recipe: Recipe, notes: list[str]) -> dict[str, Any]:
    origin: dict[str, Any] = {
        "generator": "paper",
        "version": VERSION,
        "recipe": recipe.document(),
        "calibration": recipe.calibration.source,
        "prices": f"day-ahead prices of {recipe['prices.region']}, {recipe['prices.day']}, dollars per MWh = "
        "micro-dollars per Wh, rounded half to even; EUR taken 1:1",
    }
    if "trace" in recipe["arrivals"]:
        origin["arrivals"] = dict(traces())[recipe["arrivals"]["trace"]]
    if recipe.parts > 1:
        origin["work"] = f"1/{recipe.parts} sample"
    if recipe["slot_minutes"] % _TEN:
        origin["energy"] = "whole Wh per slot, drawn such that the mean is exact"
    if notes:
        origin["notes"] = notes
    return origin


def _arrival_slots(recipe: Recipe) -> tuple[IntArray, bool]:
    """(I,) arrival slots in order, and whether days of the trace recur."""
    slots, arrivals, tasks = np.arange(1, recipe.busy + 1), recipe["arrivals"], recipe["tasks"]
    if "poisson" not in arrivals:
        counts, recurs = _submissions(recipe)
        wanted = arrivals["mean"] * recipe.busy if "mean" in arrivals else tasks
        if wanted is not None:
            if wanted and not any(counts):
                key = "day" if "trace" in arrivals else "counts"
                span = f"slots {recipe['start']}..{recipe['start'] + recipe.busy - 1}"
                of = f" of {arrivals['day']}" if key == "day" else ""
                raise InputError(SOURCE, f"arrivals.{key}", f"no submissions in {span}{of}")
            counts = list(scale_counts(counts, wanted))
        return np.repeat(slots, counts), recurs
    if tasks is not None:  # Poisson arrivals conditioned on the number are uniform over the slots
        return np.sort(recipe.integers("arrival", (1, recipe.busy), tasks)), False
    return np.repeat(slots, recipe.stream("arrival").poisson(arrivals["poisson"], recipe.busy)), False


def _submissions(recipe: Recipe) -> tuple[list[int], bool]:
    """Submissions per busy slot, and whether days of the trace recur."""
    minutes, arrivals = recipe["slot_minutes"], recipe["arrivals"]
    if "counts" in arrivals:
        first = recipe["start"] - 1
        own = list(arrivals["counts"])[first : first + recipe.busy]
        return own + [0] * (recipe.busy - len(own)), False
    source, fine = arrivals.get("file"), bool(minutes % _TEN)
    read = 60 if fine and source else 60 * _TEN
    counts, recurs = span_counts(arrivals["trace"], arrivals["day"], recipe.days, source, read)
    moments = np.repeat(np.arange(len(counts)) * read // 60, counts)
    if fine and not source:  # shipped counts are per ten minutes, so the minute within them is drawn
        moments = moments + recipe.integers("minute", (0, _TEN - 1), len(moments))
    slot = (moments - recipe.first_minute) // minutes
    inside = slot[(slot >= 0) & (slot < recipe.busy)]
    return np.bincount(inside, minlength=recipe.busy).tolist(), recurs


def _tasks(recipe: Recipe, arrival: IntArray) -> list[dict[str, Any]]:
    """The tasks, drawn column by column; valuations are the bids."""
    size = len(arrival)
    rate, watts, memory = _sizes(recipe, size)
    data = recipe.integers("data", recipe["data"], size)
    work = data * recipe.integers("epochs", recipe["epochs"], size)
    percent = recipe["vendors.percent"] if recipe["vendors.count"] else 0
    prepared = recipe.integers("prepared", (1, 100), size) <= percent
    delay, price = _offers(recipe, data)
    # Energy costs about 60 (A100) to 120 (A40) micro-dollars per 1,000 samples at 33 dollars per MWh, so typical net
    # values are positive, and costs and vendors decide about the rest
    value = recipe.integers("value", recipe["bids.per_1000"], size)
    preparation = recipe.integers("preparation", recipe["bids.preparation_per_1000"], size)
    bid = work * value // 1000 + np.where(prepared, data * preparation // 1000, 0)
    # The window is a stretch of the fewest slots that the task needs, alone on its fastest node type, from the slot in
    # which the fastest vendor is done. It ends with the instance, so a task that comes too late has no schedule.
    delay = -(-delay * _TEN // recipe["slot_minutes"])
    fastest = delay.min(axis=1) if recipe["vendors.count"] else np.zeros(size, dtype=np.int64)
    first = arrival + np.where(prepared, fastest, 0)
    work = work * recipe.parts
    needed = -(-work // rate.max(axis=1))
    stretch = recipe.integers("stretch", recipe["deadlines"], size)
    deadline = np.minimum(first - 1 + -(-needed * stretch // 100), recipe["slots"])
    names = ("arrival", "deadline", "memory_mb", "work", "bid", "rate", "energy_wh")
    columns = (arrival, deadline, memory, work, bid, rate, _energy(recipe, watts))
    tasks = [dict(zip(names, row, strict=True)) for row in zip(*(column.tolist() for column in columns), strict=True)]
    for task, with_vendors, *offers in zip(tasks, prepared.tolist(), price.tolist(), delay.tolist(), strict=True):
        pairs = zip(*offers, strict=True) if with_vendors else ()
        task["vendors"] = [{"price": q, "delay": h} for q, h in pairs]
    return tasks


def _sizes(recipe: Recipe, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """(I, G) rates and Wh per ten minutes, and (I,) memory: of profiles, or tasks with their own shares of a node."""
    calibration, names, sizes = recipe.calibration, list(recipe["nodes"]), recipe["sizes"]
    profiles = calibration.choose_profiles(recipe["colocation"], recipe["batch"])
    drawn = recipe.integers("profile", (0, len(profiles) - 1), size)
    rate = np.array([[_per_slot(recipe, p.rate[name]) for name in names] for p in profiles], dtype=np.int64)[drawn]
    watts = np.array([[p.energy_wh[name] for name in names] for p in profiles], dtype=np.int64)[drawn]
    memory = np.array([p.memory_mb for p in profiles], dtype=np.int64)[drawn]
    if sizes == SIZES["profiles"]:
        return rate, watts, memory
    draws = WIDE_SHARE if sizes == WIDE else sizes
    speed, share = recipe.integers("size", draws, size)[:, None], recipe.integers("memory", draws, size)
    most_mb = min(calibration.gpus[name].memory_mb for name in names) - calibration.base_memory_mb
    most = np.array([_per_slot(recipe, calibration.gpus[name].compute) for name in names])
    if sizes == WIDE:  # shares of a node; no profile is in them but its energy per sample
        wide = np.maximum(1, most * speed // 1000)
        return wide, watts * wide // rate, np.maximum(1, most_mb * share // 1000)
    memory = np.clip(memory * share // 100, 1, max(1, most_mb))
    return np.clip(rate * speed // 100, 1, most), watts * speed // 100, memory


def _energy(recipe: Recipe, ten: IntArray) -> IntArray:
    """(I, G) Wh per slot from Wh per ten minutes: whole, and on average over the draw exact."""
    minutes = recipe["slot_minutes"]
    if minutes % _TEN == 0:
        return np.asarray(ten * (minutes // _TEN))
    return np.asarray((ten * minutes + recipe.integers("energy", (0, _TEN - 1), len(ten))[:, None]) // _TEN)


def _offers(recipe: Recipe, data: IntArray) -> tuple[IntArray, IntArray]:
    """(I, N) delays in tens of minutes, and prices; each vendor has streams of its own: one more changes no other."""
    count, size = recipe["vendors.count"], len(data)
    delay, price = np.empty((size, count), dtype=np.int64), np.empty((size, count), dtype=np.int64)
    longest = recipe["vendors.delay"][1]
    for n in range(count):
        delay[:, n] = recipe.integers(f"delay {n}", recipe["vendors.delay"], size)
        asked = data * recipe.integers(f"price {n}", recipe["vendors.per_1000"], size)
        # With H the longest delay, a vendor of delay h asks (3H - h)/2H times the drawn price
        price[:, n] = asked * (3 * longest - delay[:, n]) // (2000 * longest) if longest else asked // 1000
    return delay, price
