"""The EAPM file format: what is written reads back identical, and whatever is not allowed is one line that names it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from ratiobench.instances.eapm import content_hash, parse
from ratiobench.instances.eapm.format import FORMAT, SUM_LIMIT, InstanceDocument
from ratiobench.instances.eapm.model import profit_rate
from ratiobench.instances.io.fields import LIMIT
from tests.support.documents import (
    Broken,
    Document,
    Validator,
    at,
    check_broken,
    integer_places,
    put,
    refusal_of,
    validator_of,
)
from tests.support.samples import samples
from tests.support.strategies.eapm import instance_documents


def valid() -> Document:
    """A small valid document with every field in use."""
    return {
        "format": "ratiobench/eapm/1",
        "name": "valid",
        "origin": {"by": "hand"},
        "energy_price": 3,
        "machines": ["fast", "slow"],
        "task_types": [
            {"name": "sort", "etc_ms": [2, 5], "apc_mw": [7, 1]},
            {"name": "scan", "etc_ms": [4, 4], "apc_mw": [0, 9]},
            {"name": "unused", "etc_ms": [1, 1], "apc_mw": [1, 1]},
        ],
        "users": [{"type": 1, "tasks": 10, "price": 99}, {"type": 0, "tasks": 1, "price": 0}],
    }


@pytest.fixture(scope="module")
def validator() -> Validator:
    return validator_of(InstanceDocument)


NUMBERS = integer_places(valid())
BROKEN: list[tuple[str, *Broken]] = [
    ("other format", put("format")("ratiobench/eapm/2"), "format", "'ratiobench/eapm/2'", True),
    ("no machine", put("machines")([]), "machines", "at least one", True),
    ("too many machines", put("machines")([str(j) for j in range(1001)]), "machines", "1001 entries", True),
    ("a machine twice", put("machines")(["x", "x"]), "machines[1]", "'x' is given twice", False),
    ("no task type", put("task_types")([]), "task_types", "at least one", True),
    ("a task type's name twice", put("task_types", 2, "name")("sort"), "task_types[2].name", "twice", False),
    ("too many task types", put("task_types")([{}] * 10_001), "task_types", "10001 entries", True),
    ("short ETC", put("task_types", 0, "etc_ms")([1]), "task_types[0].etc_ms", "1 entries; 2", False),
    ("long APC", put("task_types", 0, "apc_mw")([1, 2, 3]), "task_types[0].apc_mw", "3 entries; 2", False),
    ("no time at all", put("task_types", 0, "etc_ms", 1)(0), "task_types[0].etc_ms[1]", "0", True),
    ("ETC over the limit", put("task_types", 2, "etc_ms", 0)(LIMIT + 1), "task_types[2].etc_ms[0]", "109951", True),
    ("negative power", put("task_types", 0, "apc_mw", 1)(-1), "task_types[0].apc_mw[1]", "-1", True),
    ("no users", put("users")([]), "users", "at least one", True),
    ("a type that is not there", put("users", 1, "type")(3), "users[1].type", "3 is not in 0..2", False),
    ("an empty bag", put("users", 0, "tasks")(0), "users[0].tasks", "0", True),
    ("a bag over the limit", put("users", 0, "tasks")(LIMIT + 1), "users[0].tasks", "1099511627777", True),
    ("negative price", put("users", 0, "price")(-1), "users[0].price", "-1", True),
    ("price over the limit", put("users", 0, "price")(SUM_LIMIT + 1), "users[0].price", "4611686018427", True),
]  # fmt: skip


@pytest.mark.parametrize("broken", [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_each_broken_document_is_one_line_that_names_it(broken: Broken, validator: Validator) -> None:
    check_broken(parse, valid(), broken, validator)


def limited(etc: int, apc: int, users: list[tuple[int, int]]) -> Document:
    """One machine and one type, which costs etc * apc a task; users as (tasks, price)."""
    return {
        "format": FORMAT,
        "name": "limited",
        "energy_price": 1,
        "machines": ["m"],
        "task_types": [{"name": "t", "etc_ms": [etc], "apc_mw": [apc]}],
        "users": [{"type": 0, "tasks": tasks, "price": price} for tasks, price in users],
    }


@pytest.mark.parametrize(
    ("fits", "breaks", "field", "what"),
    [
        (limited(1, 2**22, [(LIMIT, 0)]), limited(1, 2**22, [(LIMIT, 0), (1, 0)]), "users[1].tasks", "costs over"),
        (limited(2**22, 0, [(LIMIT, 0)]), limited(2**22, 0, [(LIMIT, 0), (1, 0)]), "users[1].tasks", "times over"),
        (limited(1, 1, [(1, SUM_LIMIT)]), limited(1, 1, [(1, SUM_LIMIT), (1, 1)]), "users[1].price", "prices over"),
    ],
)
def test_sums_are_limited(fits: Document, breaks: Document, field: str, what: str) -> None:
    """Each number may be fine and a sum over all tasks not: 2^62 is the largest, of costs, times and prices."""
    instance = parse(fits)
    tasks = instance.tasks.astype(object)
    cost, time = int((tasks * instance.cost[0, 0]).sum()), int((tasks * instance.etc_ms[0, 0]).sum())
    assert max(cost, time, int(instance.price.sum())) == SUM_LIMIT
    told = refusal_of(parse, breaks, "it")
    assert told.startswith(f"it: {field}: ")
    assert what in told


def test_a_type_that_nobody_brings_has_a_limit_too() -> None:
    """Its cost is in the instance's table, where it must fit."""
    data = valid()
    data["energy_price"] = 1
    data["task_types"][2] = {"name": "unused", "etc_ms": [1, 2**31], "apc_mw": [1, 2**31]}
    assert int(parse(data).cost[2, 1]) == SUM_LIMIT
    data["task_types"][2]["apc_mw"][1] += 1
    assert refusal_of(parse, data, "it").startswith("it: task_types[2].apc_mw: ")


@settings(max_examples=samples(100))
@given(instance_documents())
def test_costs_are_exact_products(data: Document) -> None:
    """cost_kj = c ETC_kj APC_kj without overflow, and a user sees the rows of the own type."""
    instance = parse(data)
    expected = [
        [data["energy_price"] * t * w for t, w in zip(each["etc_ms"], each["apc_mw"], strict=True)]
        for each in data["task_types"]
    ]
    assert instance.cost.tolist() == expected
    assert instance.users == len(data["users"])
    for i, raw in enumerate(data["users"]):
        user = instance.user(i)
        assert (user.index, user.tasks, user.price) == (i, raw["tasks"], raw["price"])
        assert user.cost.tolist() == expected[raw["type"]]
        assert user.etc_ms.tolist() == data["task_types"][raw["type"]]["etc_ms"]
    assert instance.public().machines == tuple(data["machines"])
    assert instance.public().energy_price == data["energy_price"]


def test_the_profit_rate_is_in_units_per_second() -> None:
    """3 units in 2 s are 3/2; it may be negative and is never rounded."""
    assert profit_rate(3_000_000, 2_000) == Fraction(3, 2)
    assert profit_rate(-1, 3) == Fraction(-1, 3000)


def test_instances_are_read_only() -> None:
    """No column of an instance can be changed, nor what a user sees of it."""
    instance = parse(valid())
    arrays = [getattr(instance, name) for name in ("etc_ms", "apc_mw", "cost", "kind", "tasks", "price")]
    for array in [*arrays, instance.user(0).etc_ms, instance.user(0).cost]:
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_identity_is_the_content() -> None:
    """Name and origin do not change the hash, the order of keys does not either; any number or name does."""
    base = content_hash(parse(valid()))
    assert base == "f9391ce8af2dacde5688dd37687707bd33e9192e35eaedfb740650de28c0b95f"
    other = {**valid(), "name": "another", "origin": {}}
    assert content_hash(parse(dict(reversed(other.items())))) == base
    found = {base}
    for place in [*NUMBERS, ("machines", 0), ("task_types", 2, "name")]:
        data = valid()
        holder = at(data, place)
        if isinstance(holder[place[-1]], str):
            holder[place[-1]] += "x"
        elif place[-1] == "type":
            holder["type"] = 2
        else:
            holder[place[-1]] += 1
        found.add(content_hash(parse(data)))
    data = valid()
    data["users"].reverse()
    found.add(content_hash(parse(data)))
    assert len(found) == 1 + len(NUMBERS) + 2 + 1
