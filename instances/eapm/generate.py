"""The recipes of instances: the workloads of the second paper's section 4 on generated matrices, shipped instances.

All draws are integers, one stream per column, named by the recipe's seed and the column alone: two recipes with the
same seed that differ in gamma have the same bags, with 30 users or 2,000 the first 30 are the same, and the three
orders of big and small bags are orders of the same users.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ratiobench.instances.eapm.format import FORMAT, parse, read
from ratiobench.instances.eapm.matrices import METHODS, SOURCE_KEYS, Source, list_names, matrices, read_source
from ratiobench.instances.eapm.matrices import VERSION as MATRICES_VERSION
from ratiobench.instances.eapm.model import Instance
from ratiobench.instances.io.fields import round_half_up, text_of_fraction
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Seed, Span, Text, Values, nest
from ratiobench.instances.io.recipe import make_existing_kinds, make_forms, make_instance, make_named_form, read_values
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.shipped_instances import ShippedInstances

VERSION = 1

# ``bag``: p_i = gamma a_i min_j cost_ij, so that gamma is the price of a bag over its least cost. ``printed``: p_i =
# gamma min_j cost_ij, as section 4.1 of the second paper prints it. Both are rounded half up.
PRICES = ("bag", "printed")
# ``BaS`` big bags first, ``SaB`` small ones first, ``Rand`` the same in random order, ``Equal`` the users of BaS with
# equal bags. Half of the bags are big, the smaller half where n is odd.
ORDERS = ("BaS", "SaB", "Rand", "Equal")

_LARGEST_BAG = 10**6
_BAGS = Key("tasks", Span(1, _LARGEST_BAG), "tasks of a user", (200, 1000), "tasks")
_USERS = Key("users", Integer(1, 100_000), "users, of types drawn uniformly", 30, "users")
_COMMON = (
    Key("name", Text(), "label of the instance", default_text="made of the rest"),
    Key("seed", Seed(), "names the random streams of the workload", 0),
    Key("gamma", Ratio(Fraction(0), Fraction(1000)), "price over least cost", "1.2"),
    Key("price", Choice(PRICES), "price of a bag: gamma a_i times the least cost of a task, or without a_i", "bag"),
    *SOURCE_KEYS,
)
# The keys of a recipe, by its kind. The matrices have a seed of their own, 0 by default: recipes that differ in `seed`
# alone share them, as the paper's repetitions do; for fresh ones give it the repetition too.
KEYS: Mapping[str, tuple[Key, ...]] = {
    "table1": (*_COMMON, _BAGS),
    "users": (*_COMMON, _USERS, _BAGS),
    "orders": (
        *_COMMON,
        _USERS,
        Key("order", Choice(ORDERS), "big bags first, small ones first, drawn, all equal", default_text="to be given"),
        Key("big", Span(1, _LARGEST_BAG), "tasks of a big bag", (501, 1000), "tasks"),
        Key("small", Span(1, _LARGEST_BAG), "tasks of a small bag", (1, 199), "tasks"),
        Key("equal", Integer(1, _LARGEST_BAG), "tasks of a bag of order Equal", 400, "tasks"),
    ),
}
_SUMMARIES = {
    "table1": "the second paper's Table 1: one user for each task type, in random order",
    "users": "any number of users, of types drawn uniformly",
    "orders": "big and small bags in an order of Figure 4",
}


def recipes() -> tuple[Form, ...]:
    return (*make_forms(KEYS, _SUMMARIES, _read), make_named_form(names()))


def _read(recipe: Mapping[str, Any]) -> tuple[Values, Source]:
    found = read_values(recipe, KEYS)
    source = read_source(found)
    if "order" in found:
        found.needed("order")
    return found, source


def _generate(recipe: Mapping[str, Any]) -> Instance:
    found, source = _read(recipe)
    kind, made = recipe["kind"], matrices(source)
    users = source.types if kind == "table1" else found["users"]
    name = found["name"] or _make_name(kind, found, users)
    document = {"kind": kind} | nest({**found, "name": name})
    document |= nest({key: found[key] for key in list_names(source.method)})
    types = list(zip(made.etc_ms, made.apc_mw, strict=True))
    least = [min(t * w for t, w in zip(etc, apc, strict=True)) for etc, apc in types]
    return parse(
        {
            "format": FORMAT,
            "name": name,
            "origin": {
                "generator": kind,
                "version": VERSION,
                "recipe": document,
                "matrices": {
                    "about": METHODS[source.method], "version": MATRICES_VERSION, "attempts": made.attempts,
                },
            },
            "energy_price": 1,
            "machines": [f"m{j}" for j in range(1, len(made.etc_ms[0]) + 1)],
            "task_types": [
                {"name": f"t{k}", "etc_ms": list(etc), "apc_mw": list(apc)} for k, (etc, apc) in enumerate(types, 1)
            ],
            "users": [
                {
                    "type": k,
                    "tasks": tasks,
                    "price": round_half_up(found["gamma"] * least[k] * (tasks if found["price"] == "bag" else 1)),
                }
                for k, tasks in _draw_bags(kind, found, users, source.types)
            ],
        },
        f"recipe {name}",
    )  # fmt: skip


def _make_name(kind: str, found: Values, users: int) -> str:
    gamma, price = text_of_fraction(found["gamma"]).replace("/", "over"), found["price"]
    size = found["order"] if kind == "orders" else f"n{users}"
    label = f"g{gamma}" if price == "bag" else f"g{gamma}-{price}"
    return "-".join([kind, size, label, *map(str, found["seed"])])


def _draw_bags(kind: str, found: Values, users: int, types: int) -> list[tuple[int, int]]:
    """(n,) type and tasks of each user, in order of arrival."""

    def stream(column: str) -> Stream:
        return Stream("ratiobench/eapm/workload", VERSION, *found["seed"], column)

    def draw(column: str, size: int) -> list[int]:
        low, high = found[column]
        values: list[int] = stream(column).integers(low, high, size).tolist()
        return values

    def permute(bags: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [bags[k] for k in np.argsort(stream("order").words(users), kind="stable")]

    if kind == "table1":
        return permute(list(enumerate(draw("tasks", users))))
    kinds = stream("type").integers(0, types - 1, users).tolist()
    if kind == "users":
        return list(zip(kinds, draw("tasks", users), strict=True))
    if found["order"] == "Equal":
        return [(k, found["equal"]) for k in kinds]
    big = users // 2
    bags = list(zip(kinds, draw("big", big) + draw("small", users - big), strict=True))
    if found["order"] == "SaB":
        return bags[big:] + bags[:big]
    return permute(bags) if found["order"] == "Rand" else bags


SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected

_KINDS = {**dict.fromkeys(KEYS, _generate), **make_existing_kinds(named, read)}


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance that a recipe names; the same recipe gives the same instance on any machine."""
    return make_instance(recipe, _KINDS)
