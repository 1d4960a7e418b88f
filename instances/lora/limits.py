"""Families of instances on which no online algorithm can do well: recipes `limit:NAME` of unit instances.

A *unit instance* has node types of K nodes each and tasks without costs; a task takes one of n equal parts of a node in
every cell of its schedule, so that N = n K *units* of each type can be sold per slot. Tasks come level by level, and a
family gives OPT of everything up to each level in closed form (`Prefix`), so that one run of an algorithm tells its
ratio at every prefix. Money is in dollars of 10^6 micro-dollars; values are rounded to whole micro-dollars, and every
figure is computed from the rounded ones. Rates are 1000 samples per slot and unit.

In problem P the window of a task opens when it arrives. Where the window of a family opens later, the task has one
vendor of price 0 whose delay says when: with ``window=slot`` and several slots, and with ``apart=true``.

Source: docs/theory/limits.md, Theorems N1 to N7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil
from typing import Any, NamedTuple

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Several, Switch, Values
from ratiobench.instances.io.numerals import text_of_fraction
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.constructions import TASK_LIMIT
from ratiobench.instances.lora.format import FORMAT, SLOT_LIMIT, parse
from ratiobench.instances.lora.model import Instance

DOLLAR = 1_000_000
"""Micro-dollars; the smallest value of a task, per cell or in all."""
RATE = 1000
"""Samples per slot of one unit."""
LEVEL_LIMIT = 5_000
"""Most levels of a family."""
TYPE_LIMIT = 64
"""Most node types of a family."""


class Group(NamedTuple):
    """Equal tasks that arrive one after another.

    Parameters
    ----------
    tasks : how many.
    value : of one, micro-dollars.
    first, last : slots of the window, from 1.
    length : cells that one needs.
    units : of a node that it takes in each of them.
    types : node types that it may use; None for all.
    """

    tasks: int
    value: int
    first: int
    last: int
    length: int = 1
    units: int = 1
    types: tuple[int, ...] | None = None


class Level(NamedTuple):
    """What arrives at one level, and OPT of everything up to it, micro-dollars."""

    label: str
    groups: tuple[Group, ...]
    opt: int


class Prefix(NamedTuple):
    """Everything up to a level: the level, how many tasks that is, and OPT of these, micro-dollars."""

    label: str
    tasks: int
    opt: int


@dataclass(frozen=True, slots=True)
class Construction:
    """A member of a family, before it is an instance.

    Parameters
    ----------
    types : node types.
    nodes : of each type.
    units : that fit a node in a slot.
    slots : T.
    levels : in the order of arrival.
    """

    types: int
    nodes: int
    units: int
    slots: int
    levels: tuple[Level, ...]

    @property
    def prefixes(self) -> tuple[Prefix, ...]:
        """The levels as prefixes of the instance."""
        counts = accumulate(sum(group.tasks for group in level.groups) for level in self.levels)
        return tuple(Prefix(level.label, count, level.opt) for level, count in zip(self.levels, counts, strict=True))

    @property
    def values(self) -> tuple[int, ...]:
        """The value of one task of each level, micro-dollars."""
        return tuple(level.groups[0].value for level in self.levels)


@dataclass(frozen=True, slots=True)
class LimitFamily:
    """A family: its keys, what it shows, how a member is made.

    Parameters
    ----------
    random : the order of the node types is drawn: ALG is the mean over the orders.
    """

    name: str
    keys: tuple[Key, ...]
    summary: str
    make: Callable[[Values], Construction]
    random: bool = False


def families() -> Mapping[str, LimitFamily]:
    """The families by name, without ``limit:``."""
    return _FAMILIES


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance of a recipe ``{"kind": "limit", "name": NAME, KEYS}``.

    Raises
    ------
    InputError : naming the key and the value that cannot be used.
    """
    family, values, made = read(recipe)
    given = "_".join(f"{key.name}{_short(recipe[key.name])}" for key in family.keys if key.name in recipe)
    name = f"limit_{family.name}" + (f"_{given}" if given else "")
    return parse(_document(name[:150], family, values, made), SOURCE)


def generate_announced(recipe: Mapping[str, Any]) -> Instance | None:
    """The instance from which constants are taken where those of the recipe's instance would tell too much; else None.

    Of a random family: the tasks of all rotations of one order of the types, level by level, so that all types are
    alike and the order of the recipe cannot be seen. It is no member of the family.

    Raises
    ------
    InputError : as `generate`.
    """
    family, values, made = read(recipe)
    if not family.random:
        return None
    types = made.types
    rotations = [[1 + (g + shift) % types for g in range(types)] for shift in range(types)]
    base = {key: value for key, value in recipe.items() if key not in ("seed", "order")}
    parts = [read(base | {"order": order})[2].levels for order in rotations]
    levels = tuple(
        Level(same[0].label, tuple(group for level in same for group in level.groups), 0)
        for same in zip(*parts, strict=True)
    )
    return parse(_document(f"limit_{family.name}_announced", family, values, replace(made, levels=levels)), SOURCE)


def read(recipe: Mapping[str, Any]) -> tuple[LimitFamily, Values, Construction]:
    """The family of a recipe, the values of its keys and the member that it names.

    Raises
    ------
    InputError : naming the key and the value that cannot be used.
    """
    name = recipe.get("name")
    if not isinstance(name, str) or name not in _FAMILIES:
        raise InputError(SOURCE, "name", f"{shorten(name)} is none of {', '.join(_FAMILIES)}")
    family = _FAMILIES[name]
    values = Values(SOURCE, family.keys, {key: value for key, value in recipe.items() if key != "name"})
    made = family.make(values)
    tasks, slots = made.prefixes[-1].tasks, made.slots + (len(made.levels) - 1) * values["apart"]
    if tasks > TASK_LIMIT:
        raise InputError(SOURCE, family.keys[0].name, f"makes {tasks} tasks; at most {TASK_LIMIT}")
    if slots > SLOT_LIMIT:
        raise InputError(SOURCE, family.keys[0].name, f"makes {slots} slots; at most {SLOT_LIMIT}")
    return family, values, made


def forms() -> tuple[Form, ...]:
    """The families as kinds of recipes, ``limit:NAME``."""
    return tuple(
        Form(f"limit:{each.name}", each.summary, each.keys, {"kind": "limit", "name": each.name}, read)
        for each in _FAMILIES.values()
    )


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return str(value).lower().replace("/", "-")


def _document(name: str, family: LimitFamily, values: Values, made: Construction) -> dict[str, Any]:
    apart, memory_as_bid = values["apart"], values["memory"] == "bid"
    delay = (len(made.levels) - 1) * apart
    tasks: list[dict[str, Any]] = []
    for number, level in enumerate(made.levels):
        for group in level.groups:
            tasks += [_task(group, made, 1 + number * apart, delay, memory_as_bid)] * group.tasks
    largest = max(task["memory_mb"] for task in tasks)
    slots = made.slots + delay
    node = {"count": made.nodes, "compute": RATE * made.units, "memory_mb": made.units * largest}
    return {
        "format": FORMAT,
        "name": name,
        "origin": {
            "about": family.summary,
            "prefixes": [
                {"level": each.label, "tasks": each.tasks, "opt_micro_dollars": each.opt} for each in made.prefixes
            ],
        },
        "slots": slots,
        "slot_seconds": 600,
        "base_memory_mb": 0,
        "node_types": [
            {"name": "node" if made.types == 1 else f"type{g + 1}", **node, "tariff": [1] * slots}
            for g in range(made.types)
        ],
        "tasks": tasks,
    }


def _task(group: Group, made: Construction, arrival: int, delay: int, memory_as_bid: bool) -> dict[str, Any]:
    rate = RATE * group.units
    wait = group.first + delay - arrival
    return {
        "arrival": arrival,
        "deadline": group.last + delay,
        "memory_mb": group.value if memory_as_bid else 1,
        "work": rate * group.length,
        "bid": group.value,
        "rate": [rate if group.types is None or g in group.types else 0 for g in range(made.types)],
        "energy_wh": [0] * made.types,
        "vendors": [{"price": 0, "delay": wait}] if wait else [],
    }


def _require_levels(found: Values, key: str, values: Sequence[int]) -> tuple[int, ...]:
    if any(high <= low for low, high in pairwise(values)):
        raise InputError(SOURCE, key, "every level must be above the one before it, in whole micro-dollars")
    if len(values) > LEVEL_LIMIT:
        raise InputError(SOURCE, key, f"makes {len(values)} levels; at most {LEVEL_LIMIT}")
    return tuple(values)


def _steps_of(start: Fraction, theta: Fraction, delta: Fraction) -> Iterator[int]:
    """start (1 + delta)^j below start theta, then start theta; rounded to whole micro-dollars."""
    value = Fraction(1)
    for _ in range(LEVEL_LIMIT + 1):
        if value >= theta:
            break
        yield round(start * value)
        value *= 1 + delta
    yield round(start * theta)


def _values_of(found: Values) -> tuple[int, ...]:
    """The levels of a rising family, micro-dollars."""
    if found["levels"] is not None:
        for key in ("theta", "delta"):
            if key in found.given:
                raise InputError(SOURCE, key, "`levels` says every level; give either that or theta and delta")
        return _require_levels(found, "levels", [DOLLAR * level for level in found["levels"]])
    return _require_levels(found, "delta", list(_steps_of(Fraction(DOLLAR), found["theta"], found["delta"])))


def dollars(value: int) -> str:
    """Micro-dollars as dollars, exactly."""
    return text_of_fraction(Fraction(value, DOLLAR))


def _rise(values: Sequence[int], found: Values, slots: int, window: str) -> Construction:
    """At every level N tasks per slot of this value; OPT is N T times the level."""
    units = found["n"] * found["K"]
    windows = [(t, t) for t in range(1, slots + 1)] if window == "slot" else [(1, slots)] * slots
    levels = tuple(
        Level(f"value {dollars(v)}", tuple(Group(units, v, *each) for each in windows), units * slots * v)
        for v in values
    )
    return Construction(1, found["K"], found["n"], slots, levels)


def _rising(found: Values) -> Construction:
    return _rise(_values_of(found), found, found["T"], found["window"])


def _two(found: Values) -> Construction:
    top = round(DOLLAR * found["theta"])
    values = _require_levels(found, "theta", [DOLLAR, top])
    return Construction(1, 1, 1, 1, tuple(Level(f"value {dollars(v)}", (Group(1, v, 1, 1),), v) for v in values))


def _units(found: Values) -> Construction:
    theta, steps = found["theta"], found["steps"]
    with localcontext() as context:
        context.prec = 60
        log = (Decimal(theta.numerator) / theta.denominator).ln()
        inner = [int((DOLLAR * (log * j / steps).exp()).to_integral_value(ROUND_HALF_EVEN)) for j in range(steps)]
    return _rise(_require_levels(found, "steps", [*inner, round(DOLLAR * theta)]), found, 1, "slot")


def _flat(found: Values) -> Construction:
    top = Fraction(DOLLAR * found["cap"])
    start = top * found["v"]
    if start < 1:
        raise InputError(SOURCE, "v", f"{found['v']} of {found['cap']} dollars is below one micro-dollar")
    values = list(_steps_of(start, top / start, found["delta"]))
    return _rise(_require_levels(found, "delta", values), found, found["T"], "slot")


def _block(found: Values) -> Construction:
    share = found["delta"]
    if share >= 1:
        raise InputError(SOURCE, "delta", f"{share} is not below 1")
    small, whole = share.numerator, share.denominator
    groups = (Group(1, DOLLAR * small, 1, 1, 1, small), Group(1, DOLLAR * whole, 1, 1, 1, whole))
    labels = (f"size {share}", "size 1")
    levels = tuple(Level(label, (each,), each.value) for label, each in zip(labels, groups, strict=True))
    return Construction(1, 1, whole, 1, levels)


def windows_of(longest: int, slack: Fraction) -> list[int]:
    """ceil(sigma l), the last slot of the window of a task of l = 1..L cells, so that every task has slack sigma."""
    return [ceil(slack * length) for length in range(1, longest + 1)]


def _nested(found: Values) -> Construction:
    longest, units = found["L"], found["n"] * found["K"]
    ends, levels = windows_of(longest, found["sigma"]), []
    for length, end in enumerate(ends, 1):
        count = units * end // length
        group = Group(count, DOLLAR * length, 1, end, length)
        levels.append(Level(f"length {length}", (group,), DOLLAR * units * end))
    return Construction(1, found["K"], found["n"], ends[-1], tuple(levels))


def _lengths(found: Values) -> Construction:
    longest, slots = found["L"], found["T"] or found["L"]
    if longest & (longest - 1):
        raise InputError(SOURCE, "L", f"{longest} is not a power of two")
    if slots % longest:
        raise InputError(SOURCE, "T", f"{slots} is not a multiple of L = {longest}")
    units = found["n"] * found["K"]
    levels, length = [], longest
    while length:
        count = units * slots // length
        levels.append(Level(f"length {length}", (Group(count, DOLLAR, 1, slots, length),), DOLLAR * count))
        length //= 2
    return Construction(1, found["K"], found["n"], slots, tuple(levels))


def order_of(types: int, seed: int) -> tuple[int, ...]:
    """The order of the node types that a seed draws, from 0."""
    words = Stream("limit:choice", types, seed).words(types).tolist()
    return tuple(sorted(range(types), key=lambda g: (words[g], g)))


def _choice(found: Values) -> Construction:
    types, first = found["G"], found["m"]
    if first >= types:
        raise InputError(SOURCE, "m", f"{first} is not below G = {types}")
    given = found["order"]
    if given is not None and sorted(given) != list(range(1, types + 1)):
        raise InputError(SOURCE, "order", f"{shorten('+'.join(map(str, given)))} does not have each of 1..{types} once")
    order = order_of(types, found["seed"]) if given is None else tuple(g - 1 for g in given)
    values, units = _values_of(found), found["n"] * found["K"]
    if values[0] != DOLLAR:
        raise InputError(SOURCE, "levels", f"the first level is {dollars(values[0])}; it must be 1")
    levels = [
        Level(f"group {k + 1}", (Group(units, DOLLAR, 1, 1, types=tuple(sorted(order[k:]))),), DOLLAR * units * (k + 1))
        for k in range(first)
    ]
    rest, last = types - first, tuple(sorted(order[first:]))
    levels += [
        Level(
            f"value {dollars(v)}",
            (Group(units * rest, v, 1, 1, types=last),),
            units * (first * DOLLAR + rest * v),
        )
        for v in values
    ]
    return Construction(types, found["K"], found["n"], 1, tuple(levels))


_MOST = 1_000_000
_K = Key("K", Integer(1, 100_000), "nodes of each type", 2, "nodes")
_N = Key("n", Integer(1, 100_000), "tasks that fit a node in a slot", 4, "tasks")
_T = Key("T", Integer(1, SLOT_LIMIT), "slots", 1, "slots")
_LEVELS = Key("levels", Several(1, _MOST), "the levels, rising, in place of theta and delta", unit="dollars")
_THETA = Key("theta", Ratio(Fraction(1), Fraction(_MOST)), "largest value over the least", "1000")
_DELTA = Key(
    "delta", Ratio(Fraction(1, 1000), Fraction(_MOST)), "each level is 1 + delta times the one before it", "1/20"
)
_SHARED = (
    Key(
        "memory",
        Choice(("equal", "bid")),
        "of a task: 1 MB, or as many MB as its bid has micro-dollars",
        "equal",
    ),
    Key(
        "apart",
        Switch(),
        "each level arrives in a slot of its own, all windows after the last of these (vendors of price 0)",
        False,
    ),
)
_FAMILIES: Mapping[str, LimitFamily] = {
    each.name: each
    for each in (
        LimitFamily(
            "rising",
            (
                _LEVELS,
                _THETA,
                _DELTA,
                _K,
                _N,
                _T,
                Key(
                    "window",
                    Choice(("slot", "all")),
                    "a task may run in one slot, N tasks for each slot, or in any of the T slots",
                    "slot",
                ),
                *_SHARED,
            ),
            "Values rise level by level, and each level alone would fill all nodes (Theorems N1, N2, N4, N7).",
            _rising,
        ),
        LimitFamily(
            "two",
            (_THETA, *_SHARED),
            "One unit; a task of value 1, then one of value theta (Theorem N4 with N = 1).",
            _two,
        ),
        LimitFamily(
            "units",
            (_N, _K, _THETA, Key("steps", Integer(1, LEVEL_LIMIT), "geometric steps from 1 to theta", 100), *_SHARED),
            "N = n K units of one slot and rising values: what whole tasks cost without coins (Theorem N4).",
            _units,
        ),
        LimitFamily(
            "flat",
            (
                Key("v", Ratio(Fraction(1, _MOST), Fraction(1)), "value of the flat day, share of the cap", "1/35"),
                Key("cap", Integer(1, _MOST), "the largest value", 1000, "dollars"),
                _DELTA,
                _K,
                _N,
                _T,
                *_SHARED,
            ),
            "All demand has one value, as advice said; then values rise to the cap all the same (Theorem N7).",
            _flat,
        ),
        LimitFamily(
            "block",
            (
                Key("delta", Ratio(Fraction(1, _MOST), Fraction(1)), "the small task's share of the node", "1/20"),
                *_SHARED,
            ),
            "One node; a task of a share delta, then one that fills the node, of equal value per size.",
            _block,
        ),
        LimitFamily(
            "nested",
            (
                Key("L", Integer(1, 500), "longest task", 12, "slots"),
                Key(
                    "sigma",
                    Ratio(Fraction(1), Fraction(1000)),
                    "slack: l cells have ceil(sigma l) slots",
                    "3/2",
                ),
                _K,
                _N,
                *_SHARED,
            ),
            "Ever longer tasks of equal value per cell, all at once; their windows are nested (Theorem N5).",
            _nested,
        ),
        LimitFamily(
            "lengths",
            (
                Key("L", Integer(1, 2**14), "longest task, a power of two", 16, "slots"),
                Key("T", Integer(1, SLOT_LIMIT), "slots, a multiple of L", None, "slots", "L"),
                _K,
                _N,
                *_SHARED,
            ),
            "Tasks of value 1 each, of lengths L, L/2, ..., 1, all with the same window (Theorem N1).",
            _lengths,
        ),
        LimitFamily(
            "choice",
            (
                Key("G", Integer(2, TYPE_LIMIT), "node types", 4, "types"),
                Key("m", Integer(1, TYPE_LIMIT - 1), "groups of tasks of value 1, each with one type fewer", 2),
                _LEVELS,
                replace(_THETA, default="1"),
                _DELTA,
                _K,
                _N,
                Key("seed", Integer(0), "draws the order of the types", 0),
                Key("order", Several(1, TYPE_LIMIT), "the order of the types, in place of a seed"),
                *_SHARED,
            ),
            "Tasks may run on ever fewer node types, in an order that is drawn; then values rise (Theorem N3).",
            _choice,
            random=True,
        ),
    )
}
