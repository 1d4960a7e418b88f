"""The generators `table1`, `users` and `orders`: the workloads of the second paper's section 4 on generated matrices.

All draws are integers, one stream per column (`instances/io/seeds.py`), named by the recipe's seed and the column
alone: two recipes with the same seed that differ in gamma have the same bags in the same order, with 30 users or 2,000
the first 30 are the same, and the three orders of big and small bags are orders of the same users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.instances.eapm.format import FORMAT, parse
from ratiobench.instances.eapm.matrices import SOURCE_KEYS, Source, make_source, matrices
from ratiobench.instances.eapm.matrices import VERSION as MATRICES_VERSION
from ratiobench.instances.eapm.model import Instance
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Ratio, Seed, Span, Text, Values
from ratiobench.instances.io.numerals import round_half_up, text_of_fraction
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream

VERSION = 1

# A price for the whole bag, gamma a_i min_j cost_ij; or as the second paper prints it, without a_i
PRICES = ("bag", "printed")
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
# The keys of a recipe, by its kind; `Recipe` says more of what they mean
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


def forms() -> tuple[Form, ...]:
    """The kinds of recipes of this generator."""
    return tuple(Form(kind, _SUMMARIES[kind], KEYS[kind][1:], {"kind": kind}, read_recipe, "name") for kind in KEYS)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe of one of these kinds with every default filled in."""

    # ``table1``: one user for each task type, in random order. ``users``: any number of users, each of a type drawn
    # uniformly. ``orders``: big and small bags of types drawn uniformly, in one of the orders of Fig. 4.
    kind: str
    name: str  # of the instance; not part of its identity
    seed: tuple[str | int, ...]  # names of the random streams of the workload (strings and integers)
    gamma: Fraction  # price over least cost. Text, "1.05" or "21/20". Default 1.2
    # ``bag`` (default): p_i = gamma a_i min_j cost_ij, so that gamma is the price of a bag over its least cost.
    # ``printed``: p_i = gamma min_j cost_ij, as section 4.1 of the second paper prints it. Both are rounded half up.
    price: str
    # ``{"method": "table1" | "cvb" | "range", "seed": ..., ...}``, see `ratiobench.instances.eapm.matrices`. Its seed
    # is its own, 0 by default: recipes that differ in `seed` alone share the matrices, as the paper's repetitions do;
    # for fresh ones give it the repetition too.
    matrix: Source
    users: int  # n, 1..100,000, of kinds `users` and `orders`. Default 30
    tasks: tuple[int, int]  # range of a_i, kinds `table1` and `users`. Default [200, 1000]
    # kind `orders`: ``BaS`` big bags first, ``SaB`` small ones first, ``Rand`` the same in random order, ``Equal`` the
    # users of BaS with equal bags. Half of the bags are big, the smaller half where n is odd.
    order: str
    big: tuple[int, int]  # big, small: kind `orders`: ranges of a_i, default [501, 1000] and [1, 199]
    small: tuple[int, int]
    equal: int  # kind `orders`: a_i of order Equal, default 400

    def stream(self, column: str) -> Stream:
        """The random stream of a column."""
        return Stream("ratiobench/eapm/workload", VERSION, *self.seed, column)

    def document(self) -> dict[str, Any]:
        """The recipe as JSON values that `read_recipe` reads back to the same recipe."""
        document = {
            "kind": self.kind,
            "name": self.name,
            "seed": list(self.seed),
            "gamma": text_of_fraction(self.gamma),
            "price": self.price,
            "matrix": self.matrix.document(),
            "users": self.users,
            "tasks": list(self.tasks),
            "order": self.order,
            "big": list(self.big),
            "small": list(self.small),
            "equal": self.equal,
        }
        known = {key.name.partition(".")[0] for key in KEYS[self.kind]} | {"kind"}
        return {key: value for key, value in document.items() if key in known}


def read_recipe(data: Mapping[str, Any]) -> Recipe:
    """Check a recipe of one of these kinds and fill in its defaults."""
    kind = Choice(tuple(KEYS)).checked(SOURCE, "kind", data.get("kind"))
    found = Values(SOURCE, KEYS[kind], data)
    gamma = found["gamma"]
    matrix = make_source(found)
    users = matrix.types if kind == "table1" else found["users"]
    order = found.needed("order") if kind == "orders" else ""
    size = order if kind == "orders" else f"n{users}"
    ratio = text_of_fraction(gamma).replace("/", "over")
    label = f"g{ratio}" if found["price"] == "bag" else f"g{ratio}-{found['price']}"
    sizes = {key.name: found.get(key.name, key.default) for key in (_BAGS, *KEYS["orders"][-3:])}
    return Recipe(
        kind=kind,
        name=found["name"] or "-".join([kind, size, label, *map(str, found["seed"])]),
        seed=found["seed"],
        gamma=gamma,
        price=found["price"],
        matrix=matrix,
        users=users,
        order=order,
        **sizes,
    )


def generate(data: Mapping[str, Any]) -> Instance:
    """The instance of a recipe of one of these kinds (see `Recipe` for its keys)."""
    recipe = read_recipe(data)
    made = matrices(recipe.matrix)
    kinds, bags = _bags(recipe)
    least = [min(t * w for t, w in zip(*rows, strict=True)) for rows in zip(made.etc_ms, made.apc_mw, strict=True)]
    types = zip(made.etc_ms, made.apc_mw, strict=True)
    document = {
        "format": FORMAT,
        "name": recipe.name,
        "origin": {
            "generator": recipe.kind,
            "version": VERSION,
            "recipe": recipe.document(),
            "matrices": {"about": recipe.matrix.about, "version": MATRICES_VERSION, "attempts": made.attempts},
        },
        "energy_price": 1,
        "machines": [f"m{j}" for j in range(1, len(made.etc_ms[0]) + 1)],
        "task_types": [
            {"name": f"t{k}", "etc_ms": list(etc), "apc_mw": list(apc)} for k, (etc, apc) in enumerate(types, 1)
        ],
        "users": [
            {"type": kind, "tasks": tasks, "price": round_half_up(recipe.gamma * least[kind] * _paid(recipe, tasks))}
            for kind, tasks in zip(kinds, bags, strict=True)
        ],
    }
    return parse(document, f"recipe {recipe.name}")


def _paid(recipe: Recipe, tasks: int) -> int:
    """The number of tasks that the price of a bag counts."""
    return tasks if recipe.price == "bag" else 1


def _bags(recipe: Recipe) -> tuple[list[int], list[int]]:
    """(n,) types and (n,) tasks, in order of arrival."""
    size = recipe.users
    if recipe.kind == "table1":
        order = _permutation(recipe.stream("order"), size)
        tasks = recipe.stream("tasks").integers(*recipe.tasks, size).tolist()
        return order, [tasks[kind] for kind in order]
    kinds = recipe.stream("type").integers(0, recipe.matrix.types - 1, size).tolist()
    if recipe.kind == "users":
        return kinds, recipe.stream("tasks").integers(*recipe.tasks, size).tolist()
    if recipe.order == "Equal":
        return kinds, [recipe.equal] * size
    big = recipe.stream("big").integers(*recipe.big, size // 2).tolist()
    small = recipe.stream("small").integers(*recipe.small, size - size // 2).tolist()
    bags = list(zip(kinds, big + small, strict=True))
    if recipe.order == "SaB":
        bags = bags[len(big) :] + bags[: len(big)]
    elif recipe.order == "Rand":
        bags = [bags[k] for k in _permutation(recipe.stream("order"), size)]
    return [kind for kind, _ in bags], [tasks for _, tasks in bags]


def _permutation(stream: Stream, size: int) -> list[int]:
    """A random order of 0..size-1: that of as many 64-bit words."""
    return [int(k) for k in np.argsort(stream.words(size), kind="stable")]
