"""The generator `paper`: section 5.1 of the main paper on measured data, real arrivals and real prices.

All draws are integers, one stream per column (`instances.seeds`), named by the recipe's seed and the column alone: two
recipes with the same seed that differ in one respect share everything else that they can share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError
from instances.fields import integer
from instances.lora import calibration
from instances.lora.arrivals import SLOTS_PER_DAY, day_counts, days, scaled, traces
from instances.lora.format import FORMAT, parse
from instances.lora.model import Instance, IntArray
from instances.lora.prices import regions, tariff
from instances.recipe import SOURCE, Fields
from instances.seeds import Stream

VERSION = 1

# Stretch, in percent: the window is this many times the fewest slots that the task needs. The paper's Fig. 9 varies
# deadlines without defining them; these three are ours.
DEADLINES = {"tight": (100, 150), "uniform": (100, 500), "loose": (400, 800)}

_KEYS = {
    "kind", "name", "seed", "slots", "start", "quiet", "nodes", "mix", "arrivals", "tasks", "data", "epochs",
    "colocation", "batch", "vendors", "deadlines", "bids", "prices",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The labor vendors of a recipe: `Recipe.vendors` has the meaning of the keys."""

    count: int
    percent: int
    delay: tuple[int, int]
    per_1000: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe of kind `paper` with every default filled in.

    Parameters
    ----------
    name : of the instance; not part of its identity.
    seed : names of the random streams (strings and integers).
    slots : T, 1..144. Default 144, a day.
    start : the day's slot (1..144) that is the instance's slot 1: a part of a day is start .. start+slots-1. Default 1.
    quiet : slots at the end in which nobody arrives, so that in a short instance few tasks come too late. Default 0.
    nodes : nodes per GPU type, in the table's order. Given as an object, such as ``{"a100": 2, "a40": 1}``, or as the
        number K with `mix`: ``a100``, ``a40`` or ``mixed`` (half and half, the odd one an A100). Default 50, mixed.
    arrivals : ``{"poisson": m}``: a Poisson number with integer mean m = 1..500 in every slot (paper: 30, 50, 80;
        default 50). ``{"trace": NAME, "day": "YYYY-MM-DD"}``: that day's submissions (default: the first shipped day),
        as they are or, with ``"mean": m`` = 1..5000, rescaled to exactly m per slot on average (quiet slots do not
        count); with ``"file": PATH`` the day is read from the trace's own file.
    tasks : the exact number of tasks, 0..1,000,000, or None. Trace arrivals are rescaled to it by cumulative rounding
        (`arrivals.scaled`); Poisson arrivals are conditioned on it, which makes them uniform over the slots.
    data : range of the training samples per task, U[5000, 20000].
    epochs : range of the epochs, U[1, 5]. The work M_i is samples times epochs.
    colocation, batch : the rows of the calibration table that are drawn from, uniformly, and give s_ik, r_i and the
        energy. Default 4, 8, 16 and 2, 4, 8 (16 with 8 did not fit the GPU and is no row).
    vendors : ``count`` N = 0..100 (default 5; a plain integer means this), ``percent`` of tasks that need
        pre-processing (default 50), ``delay`` range in slots ([1, 8]), ``per_1000`` range of the asking price in
        micro-dollars per 1,000 training samples ([40, 160]). With H the upper end of `delay`, a vendor of delay h asks
        (3H - h)/2H times the drawn price: half as much again for no delay.
    deadlines : ``tight``, ``uniform``, ``loose`` or a range in percent. The window, from the slot in which the fastest
        vendor is done, is U[range]/100 times the fewest slots that the task needs (alone, on its fastest node type),
        rounded up: tight 100..150, uniform 100..500, loose 400..800. It ends with the instance at the latest, so a task
        that comes too late in the day has no schedule.
    bids : b_i = M_i/1000 times a value drawn from ``per_1000`` (micro-dollars, [60, 360]), and for a task that needs
        pre-processing also its training samples/1000 times a draw from ``preparation_per_1000`` ([60, 180]); each
        rounded down. Energy costs about 60 (A100) to 120 (A40) micro-dollars per 1,000 samples at 33 dollars per MWh,
        so typical net values are positive and costs and vendors decide about the rest. Valuations are the bids.
    prices : ``region`` (``PJM``, ``DE``) and ``day`` of the tariff. Default PJM, 2017-05-08.
    """

    name: str
    seed: tuple[str | int, ...]
    slots: int
    start: int
    quiet: int
    nodes: Mapping[str, int]
    arrivals: Mapping[str, Any]
    tasks: int | None
    data: tuple[int, int]
    epochs: tuple[int, int]
    colocation: tuple[int, ...]
    batch: tuple[int, ...]
    vendors: Marketplace
    deadlines: tuple[int, int]
    bids: Mapping[str, tuple[int, int]]
    prices: Mapping[str, str]

    @property
    def busy(self) -> int:
        """The number of slots in which tasks arrive: all but the quiet ones."""
        return self.slots - self.quiet

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
        return document


def read_recipe(data: Mapping[str, Any]) -> Recipe:
    """Check a recipe of kind `paper` and fill in its defaults.

    Raises
    ------
    InputError : naming the key and the value.
    """
    fields = Fields("", data, _KEYS)
    seed = fields.seed()
    nodes = _nodes(fields)
    start = fields.integer("start", 1, SLOTS_PER_DAY, 1)
    slots = fields.integer("slots", 1, SLOTS_PER_DAY + 1 - start, SLOTS_PER_DAY + 1 - start)
    arrivals = _arrivals(fields)
    tasks = fields.integer("tasks", 0, 1_000_000) if fields.has("tasks") else None
    if tasks is not None and "mean" in arrivals:
        raise fields.error("tasks", "both tasks and arrivals.mean are given; at most one is allowed")
    market = Fields("prices", fields.get("prices", {}), {"region", "day"})
    region = market.choice("region", tuple(regions()), "PJM")
    bids = Fields("bids", fields.get("bids", {}), {"per_1000", "preparation_per_1000"})
    colocation = fields.integers("colocation", (4, 8, 16))
    batch = fields.integers("batch", (2, 4, 8))
    calibration.chosen(colocation, batch)
    return Recipe(
        name=fields.text("name", _name(seed, nodes, arrivals, tasks, slots)),
        seed=seed,
        slots=slots,
        start=start,
        quiet=fields.integer("quiet", 0, slots - 1, 0),
        nodes=nodes,
        arrivals=arrivals,
        tasks=tasks,
        data=fields.span("data", 1, 10**7, (5_000, 20_000)),
        epochs=fields.span("epochs", 1, 1_000, (1, 5)),
        colocation=tuple(colocation),
        batch=tuple(batch),
        vendors=_vendors(fields),
        deadlines=_deadlines(fields),
        bids={
            "per_1000": bids.span("per_1000", 0, 10**6, (60, 360)),
            "preparation_per_1000": bids.span("preparation_per_1000", 0, 10**6, (60, 180)),
        },
        prices={"region": region, "day": market.choice("day", regions()[region], _DEFAULT_DAY[region])},
    )


_DEFAULT_DAY = {"PJM": "2017-05-08", "DE": "2016-10-19"}


def _nodes(fields: Fields) -> dict[str, int]:
    known = calibration.gpus()
    value = fields.get("nodes", 50)
    if isinstance(value, Mapping):
        if fields.has("mix"):
            raise fields.error("mix", "the nodes are given by type already")
        given = Fields("nodes", value, set(known))
        counts = {name: given.integer(name, 1, 10_000) for name in known if given.has(name)}
        if not counts:
            raise fields.error("nodes", "an empty object; at least one node type is needed")
        return counts
    total = integer(SOURCE, "nodes", value, 1, 10_000)
    mix = fields.choice("mix", ("a100", "a40", "mixed"), "mixed")
    if mix != "mixed":
        return {mix: total}
    counts = {"a100": (total + 1) // 2, "a40": total // 2}
    return {name: count for name, count in counts.items() if count}


def _arrivals(fields: Fields) -> dict[str, Any]:
    value = fields.get("arrivals", {"poisson": 50})
    if isinstance(value, Mapping) and "trace" in value:
        given = Fields("arrivals", value, {"trace", "day", "file", "mean"})
        trace = given.choice("trace", tuple(name for name, _ in traces()))
        arrivals: dict[str, Any] = {"trace": trace}
        if given.has("file"):
            arrivals["file"] = given.text("file")
            arrivals["day"] = given.text("day")
        else:
            arrivals["day"] = given.text("day", days(trace)[0])
        if given.has("mean"):
            arrivals["mean"] = given.integer("mean", 1, 5_000)
        return arrivals
    given = Fields("arrivals", value, {"poisson"})
    return {"poisson": given.integer("poisson", 1, 500)}


def _vendors(fields: Fields) -> Marketplace:
    value = fields.get("vendors", {})
    if not isinstance(value, Mapping):
        value = {"count": integer(SOURCE, "vendors", value, 0, 100)}
    given = Fields("vendors", value, {"count", "percent", "delay", "per_1000"})
    return Marketplace(
        count=given.integer("count", 0, 100, 5),
        percent=given.integer("percent", 0, 100, 50),
        delay=given.span("delay", 0, SLOTS_PER_DAY, (1, 8)),
        per_1000=given.span("per_1000", 0, 10**6, (40, 160)),
    )


def _deadlines(fields: Fields) -> tuple[int, int]:
    value = fields.get("deadlines", "uniform")
    if isinstance(value, str):
        return DEADLINES[fields.choice("deadlines", tuple(DEADLINES), "uniform")]
    return fields.span("deadlines", 100, 100_000, DEADLINES["uniform"])


def _name(
    seed: tuple[str | int, ...], nodes: Mapping[str, int], arrivals: Mapping[str, Any], tasks: int | None, slots: int
) -> str:
    """What a person needs to tell the instances of a suite apart."""
    source = f"{arrivals['trace']}-{arrivals['day']}" if "trace" in arrivals else "poisson"
    size = f"n{tasks}" if tasks is not None else f"m{arrivals.get('poisson', arrivals.get('mean', ''))}"
    fleet = "-".join(f"{count}x{name}" for name, count in nodes.items())
    return "-".join(["paper", source, size, fleet, f"t{slots}", *map(str, seed)])


def generate(data: Mapping[str, Any]) -> Instance:
    """The instance of a recipe of kind `paper` (see `Recipe` for its keys).

    Raises
    ------
    InputError : naming the key and the value that cannot be used.
    """
    recipe = read_recipe(data)
    return parse(_document(recipe), f"recipe {recipe.name}")


def _document(recipe: Recipe) -> dict[str, Any]:
    gpus = calibration.gpus()
    price = tariff(recipe.prices["region"], recipe.prices["day"])[recipe.start - 1 : recipe.start - 1 + recipe.slots]
    return {
        "format": FORMAT,
        "name": recipe.name,
        "origin": _origin(recipe),
        "slots": recipe.slots,
        "slot_seconds": calibration.slot_seconds(),
        "base_memory_mb": calibration.base_memory_mb(),
        "node_types": [
            {
                "name": name,
                "count": count,
                "compute": gpus[name].compute,
                "memory_mb": gpus[name].memory_mb,
                "tariff": list(price),
            }
            for name, count in recipe.nodes.items()
        ],
        "tasks": _tasks(recipe),
    }


def _origin(recipe: Recipe) -> dict[str, Any]:
    origin: dict[str, Any] = {
        "generator": "paper",
        "version": VERSION,
        "recipe": recipe.document(),
        "calibration": calibration.source(),
        "prices": f"day-ahead prices of {recipe.prices['region']}, {recipe.prices['day']}, dollars per MWh = "
        "micro-dollars per Wh, rounded half to even; EUR taken 1:1",
    }
    if "trace" in recipe.arrivals:
        origin["arrivals"] = dict(traces())[recipe.arrivals["trace"]]
    return origin


def _arrival_slots(recipe: Recipe) -> IntArray:
    """(I,) arrival slots in order."""
    slots = np.arange(1, recipe.busy + 1)
    if "trace" in recipe.arrivals:
        whole = day_counts(recipe.arrivals["trace"], recipe.arrivals["day"], recipe.arrivals.get("file"))
        counts = whole[recipe.start - 1 : recipe.start - 1 + recipe.busy]
        wanted = recipe.arrivals["mean"] * recipe.busy if "mean" in recipe.arrivals else recipe.tasks
        if wanted is not None:
            if wanted and not any(counts):
                span = f"slots {recipe.start}..{recipe.start + recipe.busy - 1} of {recipe.arrivals['day']}"
                raise InputError(SOURCE, "arrivals.day", f"no submissions in {span}")
            counts = scaled(counts, wanted)
        return np.repeat(slots, counts)
    if recipe.tasks is not None:
        return np.sort(recipe.stream("arrival").integers(1, recipe.busy, recipe.tasks))
    return np.repeat(slots, recipe.stream("arrival").poisson(recipe.arrivals["poisson"], recipe.busy))


def _tasks(recipe: Recipe) -> list[dict[str, Any]]:
    arrival = _arrival_slots(recipe)
    size = len(arrival)
    types = list(recipe.nodes)
    profiles = calibration.chosen(list(recipe.colocation), list(recipe.batch))
    drawn = recipe.stream("profile").integers(0, len(profiles) - 1, size)
    rate = np.array([[p.rate[name] for name in types] for p in profiles], dtype=np.int64)[drawn]
    energy = np.array([[p.energy_wh[name] for name in types] for p in profiles], dtype=np.int64)[drawn]
    memory = np.array([p.memory_mb for p in profiles], dtype=np.int64)[drawn]

    data = recipe.stream("data").integers(*recipe.data, size)
    work = data * recipe.stream("epochs").integers(*recipe.epochs, size)
    prepared = _prepared(recipe, size)
    delay, price = _offers(recipe, data)

    value = recipe.stream("value").integers(*recipe.bids["per_1000"], size)
    preparation = recipe.stream("preparation").integers(*recipe.bids["preparation_per_1000"], size)
    bid = work * value // 1000 + np.where(prepared, data * preparation // 1000, 0)

    fastest = delay.min(axis=1) if recipe.vendors.count else np.zeros(size, dtype=np.int64)
    first = arrival + np.where(prepared, fastest, 0)
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


def _prepared(recipe: Recipe, size: int) -> NDArray[np.bool_]:
    """(I,) f_i: which tasks need pre-processing."""
    if not recipe.vendors.count:
        return np.zeros(size, dtype=np.bool_)
    return np.asarray(recipe.stream("prepared").integers(1, 100, size) <= recipe.vendors.percent)


def _offers(recipe: Recipe, data: IntArray) -> tuple[IntArray, IntArray]:
    """(I, N) delays and prices; each vendor has streams of its own, so one more vendor changes no other's offers."""
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
