"""Hard instances for every online algorithm, `limit:rising` and `limit:choice` (docs/theory/limits.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ratiobench.instances.io.errors import InputError, require_known, shorten
from ratiobench.instances.io.fields import text_of_fraction
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Several, Switch, Values
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.constructions import TASK_LIMIT, Construction, build
from ratiobench.instances.lora.format import SLOT_LIMIT
from ratiobench.instances.lora.model import Instance

DOLLAR = 1_000_000  # Micro-dollars; the smallest value of a task
RATE = 1000  # Samples per slot of one unit
LEVEL_LIMIT = 5_000  # Most levels of an instance
TYPE_LIMIT = 64  # Most node types of an instance


class Group(NamedTuple):
    tasks: int  # how many
    value: int  # micro-dollars
    first: int  # first, last: the window
    last: int
    types: tuple[int, ...]  # node types from 0


class Level(NamedTuple):
    label: str
    groups: tuple[Group, ...]
    opt: int  # of everything up to it, micro-dollars


class UnitInstance(NamedTuple):
    types: int
    nodes: int  # of each type
    units: int  # of a node
    slots: int
    levels: tuple[Level, ...]

    def prefixes(self) -> list[tuple[str, int, int]]:
        """Up to each level: its label, the number of tasks, and OPT of these, micro-dollars."""
        counts = accumulate(sum(group.tasks for group in level.groups) for level in self.levels)
        return [(level.label, count, level.opt) for level, count in zip(self.levels, counts, strict=True)]

    def values(self) -> list[int]:  # The value of one task of each level, micro-dollars
        return [level.groups[0].value for level in self.levels]


def generate(recipe: Mapping[str, Any]) -> Instance:
    values, units = read(recipe)
    given = FAMILIES[recipe["name"]].name_values(recipe, _write_value)
    name = "_".join(filter(None, (f"limit_{recipe['name']}", given)))
    return _build(name[:150], recipe, values, units)


def generate_announced(recipe: Mapping[str, Any]) -> Instance | None:
    """The instance from which an algorithm on `limit:choice` gets its constants; None for `limit:rising`."""
    if recipe.get("name") != "choice":
        return None
    # Constants of the recipe's own instance would tell the order of the node types. This one has the tasks of all
    # rotations of one order, level by level, so that all types are alike.
    values, units = read(recipe)
    types = units.types
    base = {key: value for key, value in recipe.items() if key not in ("seed", "order")}
    rotations = [[1 + (g + shift) % types for g in range(types)] for shift in range(types)]
    parts = [read(base | {"order": order})[1].levels for order in rotations]
    levels = tuple(
        Level(same[0].label, tuple(group for level in same for group in level.groups), 0)
        for same in zip(*parts, strict=True)
    )
    return _build("limit_choice_announced", recipe, values, units._replace(levels=levels))


def read(recipe: Mapping[str, Any]) -> tuple[Values, UnitInstance]:
    require_known(recipe.get("name"), FAMILIES, SOURCE, "name")
    name = str(recipe["name"])
    values, units = FAMILIES[name].read(recipe)
    _, tasks, _ = units.prefixes()[-1]
    slots = units.slots + (len(units.levels) - 1) * values["apart"]
    for number, most, what in ((tasks, TASK_LIMIT, "tasks"), (slots, SLOT_LIMIT, "slots")):
        if number > most:
            raise InputError(SOURCE, FAMILIES[name].keys[0].name, f"makes {number} {what}; at most {most}")
    return values, units


def forms() -> tuple[Form, ...]:
    return tuple(
        Form(f"limit:{name}", family.summary, family.keys, {"kind": "limit", "name": name}, read)
        for name, family in FAMILIES.items()
    )


def _write_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return str(value).lower().replace("/", "-")


def _build(name: str, recipe: Mapping[str, Any], values: Values, units: UnitInstance) -> Instance:
    apart, memory_as_bid = values["apart"], values["memory"] == "bid"
    delay = (len(units.levels) - 1) * apart
    tasks: list[dict[str, Any]] = []
    for number, level in enumerate(units.levels):
        for group in level.groups:
            tasks += [_task(group, units.types, 1 + number * apart, delay, memory_as_bid)] * group.tasks
    slots = units.slots + delay
    memory_mb = units.units * max(task["memory_mb"] for task in tasks)
    node = {"count": units.nodes, "compute": RATE * units.units, "memory_mb": memory_mb, "tariff": [1] * slots}
    prefixes = [{"level": label, "tasks": count, "opt_micro_dollars": opt} for label, count, opt in units.prefixes()]
    names = ["node"] if units.types == 1 else [f"type{g + 1}" for g in range(units.types)]
    origin = {"about": FAMILIES[recipe["name"]].summary, "prefixes": prefixes}
    return build(name, origin, [{"name": name, **node} for name in names], tasks, 0)


def _task(group: Group, types: int, arrival: int, delay: int, memory_as_bid: bool) -> dict[str, Any]:
    wait = group.first + delay - arrival
    return {
        "arrival": arrival,
        "deadline": group.last + delay,
        "memory_mb": group.value if memory_as_bid else 1,
        "work": RATE,
        "bid": group.value,
        "rate": [RATE if g in group.types else 0 for g in range(types)],
        "energy_wh": [0] * types,
        "vendors": [{"price": 0, "delay": wait}] if wait else [],
    }


def _levels_of(values: Values) -> list[int]:
    """The values that rise, micro-dollars: `levels`, or geometric steps from 1 to `theta` dollars."""
    levels: list[int] = []
    if values["levels"] is None:
        key, value, theta, step = "delta", Fraction(1), values["theta"], 1 + values["delta"]
        while value < theta and len(levels) <= LEVEL_LIMIT:
            levels.append(round(DOLLAR * value))
            value *= step
        levels.append(round(DOLLAR * theta))
    else:
        key, levels = "levels", [DOLLAR * level for level in values["levels"]]
        for other in ("theta", "delta"):
            if other in values.given:
                raise InputError(SOURCE, other, "`levels` says every level; give either that or theta and delta")
    if any(high <= low for low, high in pairwise(levels)):
        raise InputError(SOURCE, key, "every level must be above the one before it, in whole micro-dollars")
    if len(levels) > LEVEL_LIMIT:
        raise InputError(SOURCE, key, f"makes {len(levels)} levels; at most {LEVEL_LIMIT}")
    return levels


def _dollars(value: int) -> str:
    return text_of_fraction(Fraction(value, DOLLAR))


def _rising(values: Values) -> UnitInstance:
    """At every level N tasks per slot of this value; OPT is N T times the level."""
    units, slots = values["n"] * values["K"], values["T"]
    windows = [(t, t) for t in range(1, slots + 1)] if values["window"] == "slot" else [(1, slots)] * slots
    levels = []
    for v in _levels_of(values):
        groups = tuple(Group(units, v, first, last, (0,)) for first, last in windows)
        levels.append(Level(f"value {_dollars(v)}", groups, units * slots * v))
    return UnitInstance(1, values["K"], values["n"], slots, tuple(levels))


def order_of(types: int, seed: int) -> tuple[int, ...]:
    """The order of the node types that a seed draws, from 0."""
    return tuple(np.argsort(Stream("limit:choice", types, seed).words(types), kind="stable").tolist())


def _choice(values: Values) -> UnitInstance:
    """Groups of value 1 that may run on ever fewer types, then rising values on the types that are left."""
    types, first, given = values["G"], values["m"], values["order"]
    if first >= types:
        raise InputError(SOURCE, "m", f"{first} is not below G = {types}")
    if given is not None and sorted(given) != list(range(1, types + 1)):
        raise InputError(SOURCE, "order", f"{shorten('+'.join(map(str, given)))} does not have each of 1..{types} once")
    order = order_of(types, values["seed"]) if given is None else tuple(g - 1 for g in given)
    rising, units = _levels_of(values), values["n"] * values["K"]
    if rising[0] != DOLLAR:
        raise InputError(SOURCE, "levels", f"the first level is {_dollars(rising[0])}; it must be 1")
    levels, rest = [], types - first
    for k in range(first):
        levels.append(Level(f"group {k + 1}", (Group(units, DOLLAR, 1, 1, order[k:]),), DOLLAR * units * (k + 1)))
    for v in rising:
        opt = units * (first * DOLLAR + rest * v)
        levels.append(Level(f"value {_dollars(v)}", (Group(units * rest, v, 1, 1, order[first:]),), opt))
    return UnitInstance(types, values["K"], values["n"], 1, tuple(levels))


_K = Key("K", Integer(1, 100_000), "nodes of each type", 2, "nodes")
_N = Key("n", Integer(1, 100_000), "tasks that fit a node in a slot", 4, "tasks")
_LEVELS = Key("levels", Several(1, 1_000_000), "the levels, rising, in place of theta and delta", unit="dollars")
_THETA = Key("theta", Ratio(Fraction(1), Fraction(1_000_000)), "largest value over the least", "1000")
_STEP = Ratio(Fraction(1, 1000), Fraction(1_000_000))
_DELTA = Key("delta", _STEP, "each level is 1 + delta times the one before it", "1/20")
_WINDOW = "a task may run in one slot, N tasks for each slot, or in any of the T slots"
_APART = "each level arrives in a slot of its own, all windows after the last of these (vendors of price 0)"
_SHARED = (
    Key("memory", Choice(("equal", "bid")), "of a task: 1 MB, or as many MB as its bid has micro-dollars", "equal"),
    Key("apart", Switch(), _APART, False),
)
# By the name behind ``limit:``
FAMILIES: Mapping[str, Construction[UnitInstance]] = {
    "rising": Construction(
        (
            _LEVELS,
            _THETA,
            _DELTA,
            _K,
            _N,
            Key("T", Integer(1, SLOT_LIMIT), "slots", 1, "slots"),
            Key("window", Choice(("slot", "all")), _WINDOW, "slot"),
            *_SHARED,
        ),
        "Values rise level by level, and each level alone would fill all nodes (Theorem N1).",
        _rising,
    ),
    "choice": Construction(
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
    ),
}
