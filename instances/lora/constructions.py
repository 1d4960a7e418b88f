"""Parametric families of counterexamples: what the theory shows for every length L, in exact integers.

Each family is a recipe ``{"kind": "family", "name": NAME, PARAMETERS}``. Its numbers are multiples of a common unit
where a ratio of the parameters needs one: samples, MB and micro-dollars are multiplied by the same integer, so alpha,
beta and bbar are those of the fractions. One node, slots of 600 s, base model 1 MB, no operational costs; a task is
(rate, memory, work, bid) in a window with exactly the slots that it needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from instances.errors import InputError, shown
from instances.fields import LIMIT
from instances.lora.format import BID_SUM_LIMIT, FORMAT, SLOT_LIMIT, parse
from instances.lora.model import Instance
from instances.recipe import SOURCE, Fields

TASK_LIMIT = 100_000
"""Most tasks that a family makes."""

Task = tuple[int, int, int, int, int, int]
"""First slot, last slot, rate, memory_mb, work, bid."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One node and its tasks, before it is an instance.

    Parameters
    ----------
    slots, compute, memory_mb : T, C_p and C_m - r_b.
    tasks : in arrival order.
    valuation : of the last task where it differs from the bid, else None.
    """

    slots: int
    compute: int
    memory_mb: int
    tasks: tuple[Task, ...]
    valuation: int | None = None


@dataclass(frozen=True, slots=True)
class Parametric:
    """A family: its parameters in the order of the instance's name, what it shows, and how it is made."""

    name: str
    parameters: tuple[str, ...]
    summary: str
    shape: Callable[[Fields], Shape]


def families() -> Mapping[str, Parametric]:
    """The families by name."""
    return _FAMILIES


def constructions() -> list[tuple[str, str]]:
    """Name with parameters, and one sentence, of every one of them."""
    return [(f"{each.name}:{','.join(each.parameters)}", each.summary) for each in families().values()]


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The member that a recipe of kind `family` names.

    Raises
    ------
    InputError : naming the key and the value that cannot be used.
    """
    name = recipe.get("name")
    if not isinstance(name, str) or name not in _FAMILIES:
        raise InputError(SOURCE, "name", f"{shown(name)} is none of {', '.join(sorted(_FAMILIES))}")
    family = _FAMILIES[name]
    fields = Fields("", recipe, {"kind", "name", *family.parameters})
    shape = family.shape(fields)
    _within_limits(fields, family, shape)
    given = "_".join(f"{key}{recipe[key]}" for key in family.parameters if key in recipe)
    return parse(_document(f"{name}_{given}" if given else name, family, shape), SOURCE)


def _within_limits(fields: Fields, family: Parametric, shape: Shape) -> None:
    """Refuse, naming the first parameter, what the file format could not hold."""
    largest = max(max(task[2:]) for task in shape.tasks)
    if max(largest, shape.compute, shape.memory_mb + 1) > LIMIT:
        raise fields.error(family.parameters[0], f"makes a number of {max(largest, shape.memory_mb + 1)}, above 2^40")
    if sum(task[5] for task in shape.tasks) > BID_SUM_LIMIT:
        raise fields.error(family.parameters[0], "makes bids whose sum is above 2^52")


def _document(name: str, family: Parametric, shape: Shape) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = [
        {
            "arrival": first,
            "deadline": last,
            "memory_mb": memory,
            "work": work,
            "bid": bid,
            "rate": [rate],
            "energy_wh": [0],
            "vendors": [],
        }
        for first, last, rate, memory, work, bid in shape.tasks
    ]
    if shape.valuation is not None:
        tasks[-1]["valuation"] = shape.valuation
    node = {"name": "node", "count": 1, "compute": shape.compute, "memory_mb": shape.memory_mb + 1}
    return {
        "format": FORMAT,
        "name": name,
        "origin": {"about": family.summary},
        "slots": shape.slots,
        "slot_seconds": 600,
        "base_memory_mb": 1,
        "node_types": [{**node, "tariff": [1] * shape.slots}],
        "tasks": tasks,
    }


def _length(fields: Fields, low: int = 1) -> int:
    return fields.integer("L", low, SLOT_LIMIT)


def _blocked(length: int, s: int, r: int, c: int, n: int, rate: int, memory: int) -> Shape:
    """A short task (s, r) in slot 1, then n long ones of `length` slots; room for c short ones; every bbar is 1."""
    blocker = (1, 1, s, r, s, s + r)
    long = (1, length, rate, memory, length * rate, length * (rate + memory))
    return Shape(length, c * s, c * r, (blocker, *[long] * n))


def _lead(fields: Fields) -> Shape:
    length = _length(fields)
    s, r = fields.integer("s", 1, default=1), fields.integer("r", 1, default=1)
    c = fields.integer("c", 1, default=length)
    n = fields.integer("n", 1, TASK_LIMIT, default=length)
    rate = fields.integer("rate", 1, default=s)
    if rate * r % s:
        raise fields.error("rate", f"{rate} gives a memory of {rate * r}/{s}, which is not an integer")
    return _blocked(length, s, r, c, n, rate, rate * r // s)


def _unbounded(fields: Fields) -> Shape:
    length = _length(fields)
    return _blocked(length, 1, length, length + 1, length + 1, 1, length)


def _drop(fields: Fields) -> Shape:
    length = _length(fields)
    n = fields.integer("n", 1, TASK_LIMIT)
    y = fields.integer("y", 1)
    total = fields.integer("N", 1, default=n)
    if total % n:
        raise fields.error("N", f"{total} is not a multiple of n = {n}")
    unit = n // math.gcd(y, n)
    # Everything in units in which the first task's memory y/n is an integer.
    small, share = unit, unit * y // n
    each = unit * total // n
    first = (1, 1, small, share, small, small + share)
    dropped = (1, 1, small * total, share * total, small * total, (small + share) * total)
    long = (1, length, each, y * each, length * each, length * each * (1 + y))
    return Shape(length, unit * total, unit * total * y, (first, dropped, *[long] * n))


def _dropped_duals(fields: Fields) -> Shape:
    length = _length(fields)
    singles = [(t, t, 10, 10, 10, 20) for t in range(2, length + 1)]
    return Shape(length, 19, 100_000, ((1, 1, 10, 10, 10, 28), (1, length, 10, 10, 10 * length, 28 * length), *singles))


def _lemma3(fields: Fields) -> Shape:
    length = _length(fields)
    return Shape(length, 3, 10 * length, ((1, 1, 2, 2, 2, 4), (1, length, 2, 2, 2 * length, 4 * length)))


def _identical(fields: Fields) -> Shape:
    length, n = _length(fields), fields.integer("n", 1, TASK_LIMIT, default=40)
    return Shape(length, n, n, ((1, length, 1, 1, length, 2 * length),) * n)


def _underbid(fields: Fields) -> Shape:
    value = fields.integer("valuation", 1, default=8)
    bid = fields.integer("bid", 0, default=value)
    return Shape(1, 4, 4, ((1, 1, 1, 1, 1, 2), (1, 1, 1, 1, 1, bid)), value)


_FAMILIES: Mapping[str, Parametric] = {
    family.name: family
    for family in (
        Parametric(
            "lead",
            ("L", "s", "r", "c", "n", "rate"),
            "A short task (s, r) raises the price of one slot; n tasks of L slots, all of which would fit, are lost.",
            _lead,
        ),
        Parametric(
            "unbounded",
            ("L",),
            "OPT/ALG = L(L+1) against the bound 2L+4 of Theorem 5: the factor grows like L/2.",
            _unbounded,
        ),
        Parametric(
            "drop",
            ("L", "n", "y", "N"),
            "A task that fills the node is dropped, and its prices keep n tasks of L slots out.",
            _drop,
        ),
        Parametric(
            "dropped_duals_hurt",
            ("L",),
            "A task that is never served raises prices and closes L - 1 empty slots.",
            _dropped_duals,
        ),
        Parametric(
            "lemma3",
            ("L",),
            "A dropped task of L slots is charged to the one slot that overflows: P~ = (1 + L) P against rho = 2.",
            _lemma3,
        ),
        Parametric("identical", ("L", "n"), "No adversary: n identical tasks of L slots that all fit.", _identical),
        Parametric(
            "alpha_underbid",
            ("valuation", "bid"),
            "The second task bids less than its valuation and pays less: alpha and beta come from its own bid.",
            _underbid,
        ),
    )
}
