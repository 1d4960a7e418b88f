"""Parametric families of counterexamples: recipes ``{"kind": "family", "name": NAME, ...}``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from ratiobench.instances.io.errors import InputError, require_known
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.keys import Form, Integer, Key, Values
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.lora.format import BID_SUM_LIMIT, FORMAT, SLOT_LIMIT, parse
from ratiobench.instances.lora.model import Instance

TASK_LIMIT = 100_000  # Most tasks that a family makes
MB = 1000  # In a unit of memory, 1 GB

T = TypeVar("T")

# First slot, last slot (with exactly the slots that it needs between them), rate, memory, work, bid. Samples, GB and
# micro-dollars are multiplied by one integer if a ratio of the parameters needs it, which keeps alpha, beta and bbar.
Task = tuple[int, int, int, int, int, int]
Rows = list[dict[str, Any]]  # Of a document


class Shape(NamedTuple):
    """One node and its tasks, before it is an instance."""

    slots: int  # slots, compute, memory: T, C_p and C_m - r_b, in slots, samples and GB
    compute: int
    memory: int
    tasks: tuple[Task, ...]  # in arrival order
    valuation: int | None = None  # of the last task where it differs from the bid, else None


class Construction(NamedTuple, Generic[T]):
    keys: tuple[Key, ...]  # in the order of the instance's name
    summary: str  # what it shows
    make: Callable[[Values], T]

    def read(self, recipe: Mapping[str, Any]) -> tuple[Values, T]:
        """The values of a recipe, and what the family makes of them."""
        values = Values(SOURCE, self.keys, {key: value for key, value in recipe.items() if key != "name"})
        return values, self.make(values)

    def name_values(self, recipe: Mapping[str, Any], write: Callable[[Any], str] = str) -> str:
        return "_".join(f"{key.name}{write(recipe[key.name])}" for key in self.keys if key.name in recipe)


def constructions() -> list[tuple[str, str]]:
    """Name with parameters, and one sentence, of every one of them."""
    families = FAMILIES.items()
    return [(f"{name}:{','.join(key.name for key in family.keys)}", family.summary) for name, family in families]


def forms() -> tuple[Form, ...]:
    return tuple(
        Form(name, family.summary, family.keys, {"kind": "family", "name": name}, _read)
        for name, family in FAMILIES.items()
    )


def _read(recipe: Mapping[str, Any]) -> Shape:
    name = recipe.get("name")
    require_known(name, sorted(FAMILIES), SOURCE, "name")
    family = FAMILIES[str(name)]
    _, shape = family.read(recipe)
    memory = MB * (shape.memory + 1)
    largest = max(shape.compute, memory, *(max(task[2], MB * task[3], *task[4:]) for task in shape.tasks))
    first = family.keys[0].name
    if largest > LIMIT:
        raise InputError(SOURCE, first, f"makes a number of {largest}, above 2^40")
    if sum(task[5] for task in shape.tasks) > BID_SUM_LIMIT:
        raise InputError(SOURCE, first, "makes bids whose sum is above 2^52")
    return shape


def generate(recipe: Mapping[str, Any]) -> Instance:
    shape = _read(recipe)
    name, family = recipe["name"], FAMILIES[recipe["name"]]
    tasks: Rows = [
        {
            "arrival": first, "deadline": last, "memory_mb": MB * memory, "work": work, "bid": bid, "rate": [rate],
            "energy_wh": [0], "vendors": [],
        }
        for first, last, rate, memory, work, bid in shape.tasks
    ]  # fmt: skip
    if shape.valuation is not None:
        tasks[-1]["valuation"] = shape.valuation
    node = {"name": "node", "count": 1, "compute": shape.compute, "memory_mb": MB * (shape.memory + 1)}
    label = "_".join(filter(None, (name, family.name_values(recipe))))
    return build(label, {"about": family.summary}, [node | {"tariff": [1] * shape.slots}], tasks, MB)


def build(name: str, origin: dict[str, Any], node_types: Rows, tasks: Rows, base_memory_mb: int) -> Instance:
    """The instance of these parts of its document, in slots of 600 s."""
    head = {"format": FORMAT, "name": name, "origin": origin, "slot_seconds": 600, "base_memory_mb": base_memory_mb}
    slots = len(node_types[0]["tariff"])
    return parse(head | {"slots": slots, "node_types": node_types, "tasks": tasks}, SOURCE)


def _blocked(length: int, s: int, r: int, c: int, n: int, rate: int, memory: int) -> Shape:
    """A short task (s, r) in slot 1, then n long ones of `length` slots; room for c short ones; every bbar is 1."""
    blocker = (1, 1, s, r, s, s + r)
    long = (1, length, rate, memory, length * rate, length * (rate + memory))
    return Shape(length, c * s, c * r, (blocker, *[long] * n))


def _lead(found: Values) -> Shape:
    length, s, r = found.needed("L"), found["s"], found["r"]
    c, n, rate = found["c"] or length, found["n"] or length, found["rate"] or s
    if rate * r % s:
        raise InputError(SOURCE, "rate", f"{rate} gives a memory of {rate * r}/{s}, which is not an integer")
    return _blocked(length, s, r, c, n, rate, rate * r // s)


def _unbounded(found: Values) -> Shape:
    length = found.needed("L")
    return _blocked(length, 1, length, length + 1, length + 1, 1, length)


def _drop(found: Values) -> Shape:
    length, n, y = (found.needed(name) for name in "Lny")
    total = found["N"] or n
    if total % n:
        raise InputError(SOURCE, "N", f"{total} is not a multiple of n = {n}")
    unit = n // math.gcd(y, n)
    # Everything in units in which the first task's memory y/n is an integer.
    small, share = unit, unit * y // n
    each = unit * total // n
    first = (1, 1, small, share, small, small + share)
    dropped = (1, 1, small * total, share * total, small * total, (small + share) * total)
    long = (1, length, each, y * each, length * each, length * each * (1 + y))
    return Shape(length, unit * total, unit * total * y, (first, dropped, *[long] * n))


def _dropped_duals(found: Values) -> Shape:
    length = found.needed("L")
    singles = [(t, t, 10, 10, 10, 20) for t in range(2, length + 1)]
    return Shape(length, 19, 100_000, ((1, 1, 10, 10, 10, 28), (1, length, 10, 10, 10 * length, 28 * length), *singles))


def _lemma3(found: Values) -> Shape:
    length = found.needed("L")
    return Shape(length, 3, 10 * length, ((1, 1, 2, 2, 2, 4), (1, length, 2, 2, 2 * length, 4 * length)))


def _identical(found: Values) -> Shape:
    length, n = found.needed("L"), found["n"]
    return Shape(length, n, n, ((1, length, 1, 1, length, 2 * length),) * n)


def _underbid(found: Values) -> Shape:
    value = found["valuation"]
    bid = value if found["bid"] is None else found["bid"]
    return Shape(1, 4, 4, ((1, 1, 1, 1, 1, 2), (1, 1, 1, 1, 1, bid)), value)


_TOLD = "to be given"
_L = Key("L", Integer(1, SLOT_LIMIT), "slots of a long task", None, "slots", _TOLD)
_N = Key("n", Integer(1, TASK_LIMIT), "long tasks", None, "tasks")
FAMILIES: Mapping[str, Construction[Shape]] = {
    "lead": Construction(
        (
            _L,
            Key("s", Integer(1), "rate of the short task", 1, "samples per slot"),
            Key("r", Integer(1), "its memory", 1, "GB"),
            Key("c", Integer(1), "short tasks that fit the node", default_text="L"),
            replace(_N, default_text="L"),
            Key("rate", Integer(1), "of a long task", None, "samples per slot", "s"),
        ),
        "A short task (s, r) raises the price of one slot; n tasks of L slots, all of which would fit, are lost.",
        _lead,
    ),
    "unbounded": Construction(
        (_L,), "OPT/ALG = L(L+1) against the bound 2L+4 of Theorem 5: the factor grows like L/2.", _unbounded
    ),
    "drop": Construction(
        (
            _L,
            replace(_N, default_text=_TOLD),
            Key("y", Integer(1), "memory of the first task, in n-ths", default_text=_TOLD),
            Key("N", Integer(1), "a multiple of n: the capacity of the node", default_text="n"),
        ),
        "A task that fills the node is dropped, and its prices keep n tasks of L slots out.",
        _drop,
    ),
    "dropped_duals_hurt": Construction(
        (_L,), "A task that is never served raises prices and closes L - 1 empty slots.", _dropped_duals
    ),
    "lemma3": Construction(
        (_L,),
        "A dropped task of L slots is charged to the one slot that overflows: P~ = (1 + L) P against rho = 2.",
        _lemma3,
    ),
    "identical": Construction(
        (_L, replace(_N, default=40)), "No adversary: n identical tasks of L slots that all fit.", _identical
    ),
    "alpha_underbid": Construction(
        (
            Key("valuation", Integer(1), "of the second task", 8, "micro-dollars"),
            Key("bid", Integer(0), "its bid", None, "micro-dollars", "valuation"),
        ),
        "The second task bids less than its valuation and pays less: alpha and beta come from its own bid.",
        _underbid,
    ),
}
