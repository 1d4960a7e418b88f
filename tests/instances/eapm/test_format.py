"""The EAPM file format: what is written reads back identical, and whatever is not allowed is one line that names it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.instances import eapm
from ratiobench.instances.eapm import content_hash, document, dumps, loads, parse, parse_solution, solution_document
from ratiobench.instances.eapm.format import FORMAT, SUM_LIMIT, InstanceDocument
from ratiobench.instances.eapm.model import profit_rate
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from tests.support.documents import (
    JUNK,
    Broken,
    Document,
    Place,
    Validator,
    all_places,
    at,
    check_broken,
    check_damaged,
    check_files,
    check_unreadable,
    check_wrong_values,
    integer_places,
    put,
    text_of,
    validator_of,
)
from tests.support.samples import samples


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


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Valid documents, with odd names and numbers up to the limits."""
    name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    machines = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    m = len(machines)
    # One draw for the whole: what may be large at once is limited by the sums.
    large = draw(st.sampled_from(("energy_price", "etc", "apc", "tasks", "none")))

    def number(what: str, low: int, most: int) -> st.SearchStrategy[int]:
        return st.integers(low, LIMIT if what == large else most)

    etc = st.lists(number("etc", 1, 40), min_size=m, max_size=m)
    apc = st.lists(number("apc", 0, 40), min_size=m, max_size=m)
    types = [
        {"name": each, "etc_ms": draw(etc), "apc_mw": draw(apc)}
        for each in draw(st.lists(name, min_size=1, max_size=3, unique=True))
    ]
    user = st.fixed_dictionaries(
        {
            "type": st.integers(0, len(types) - 1),
            "tasks": number("tasks", 1, 50),
            "price": st.integers(0, 100) | st.integers(0, SUM_LIMIT // 5),
        }
    )
    whole: Document = {
        "format": FORMAT,
        "name": draw(name),
        "energy_price": draw(number("energy_price", 0, 9)),
        "machines": machines,
        "task_types": types,
        "users": draw(st.lists(user, min_size=1, max_size=5)),
    }
    if draw(st.booleans()):
        whole["origin"] = draw(st.dictionaries(name, st.integers(-(10**28), 10**28) | name | st.none(), max_size=2))
    return whole


@pytest.fixture(scope="module")
def validator() -> Validator:
    return validator_of(InstanceDocument)


@settings(max_examples=samples(150))
@given(documents())
def test_what_is_written_reads_back_identical(data: Document) -> None:
    """Writing and reading again gives the same hash, document and text; nothing is clipped or lost."""
    instance = parse(data)
    again = loads(dumps(instance))
    assert content_hash(again) == content_hash(instance)
    assert document(again) == document(instance) == {"origin": {}, **data}
    assert dumps(again) == dumps(instance)


@settings(max_examples=samples(25))
@given(data=documents())
def test_files_plain_and_gzipped_read_back_identical(data: Document, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_files(eapm, data, tmp_path_factory.mktemp("files"))


@settings(max_examples=samples(150))
@given(data=documents())
def test_the_schema_accepts_what_the_reader_accepts(data: Document, validator: Validator) -> None:
    """Every valid document satisfies the JSON Schema, as given and as written back."""
    validator.validate(data)
    validator.validate(document(parse(data)))


NUMBERS = integer_places(valid())
TEXTS = [
    place for place in all_places(valid()) if isinstance(at(valid(), place)[place[-1]], str) and place[0] != "origin"
]


def test_every_kind_of_number_is_among_the_places() -> None:
    """The two lists below miss no field: 1 + 3 types of 2 + 2 numbers + 2 users of 3, and 1 + 1 + 2 + 3 texts."""
    assert len(NUMBERS) == 1 + 3 * 4 + 2 * 3
    assert len(TEXTS) == 1 + 1 + 2 + 3


WRONG_NUMBERS = (True, False, 1.0, 2.5, float("nan"), float("inf"), "3", None, [1], {}, -1, LIMIT**2, 10**40)


def test_only_integers_in_range_are_numbers() -> None:
    """Booleans, floats, NaN, strings, null, lists, objects, negative and huge integers are errors at every number."""
    check_wrong_values(eapm, valid, NUMBERS, WRONG_NUMBERS)


def test_only_non_empty_text_is_a_name() -> None:
    """The empty string, other types and lone surrogates are errors at every name and at the format."""
    check_wrong_values(eapm, valid, TEXTS, ("", 7, None, True, ["x"], {}, "\ud800"))


@pytest.mark.parametrize("place", [p for p in all_places(valid()) if isinstance(p[-1], str)], ids=text_of)
def test_every_field_but_the_origin_is_needed(place: Place, validator: Validator) -> None:
    """A missing field is named; without its origin a document is the same instance."""
    data = valid()
    del at(data, place)[place[-1]]
    if place[0] == "origin":
        assert content_hash(parse(data)) == content_hash(parse(valid()))
        validator.validate(data)
        return
    with pytest.raises(InputError) as caught:
        parse(data)
    assert caught.value.field == text_of(place)
    assert not validator.is_valid(data)


BROKEN: list[tuple[str, *Broken]] = [
    ("other format", put("format")("ratiobench/eapm/2"), "format", "'ratiobench/eapm/2'", True),
    ("unknown field", put("colour")("red"), "colour", "unknown field", True),
    ("unknown field of a type", put("task_types", 1, "gpu")(1), "task_types[1].gpu", "unknown field", True),
    ("unknown field of a user", put("users", 0, "arrival")(1), "users[0].arrival", "unknown field", True),
    ("a field with a line break", put("a\nb")(1), "a\nb", "unknown field", True),
    ("origin of another type", put("origin")([1]), "origin", "a list of 1", True),
    ("NaN in the origin", put("origin", "x")([{"y": float("nan")}]), "origin.x[0].y", "nan", False),
    ("huge integer in the origin", put("origin", "x")(10**30), "origin.x", "more than 29 digits", False),
    ("no machine", put("machines")([]), "machines", "at least one", True),
    ("machines of another type", put("machines")({}), "machines", "an object", True),
    ("too many machines", put("machines")([str(j) for j in range(1001)]), "machines", "1001 entries", True),
    ("a machine twice", put("machines")(["x", "x"]), "machines[1]", "'x' is given twice", False),
    ("no task type", put("task_types")([]), "task_types", "at least one", True),
    ("task types of another type", put("task_types")("none"), "task_types", "'none'", True),
    ("a task type of another type", put("task_types", 0)(3), "task_types[0]", "3", True),
    ("a task type's name twice", put("task_types", 2, "name")("sort"), "task_types[2].name", "twice", False),
    ("too many task types", put("task_types")([{}] * 10_001), "task_types", "10001 entries", True),
    ("short ETC", put("task_types", 0, "etc_ms")([1]), "task_types[0].etc_ms", "1 entries; 2", False),
    ("long APC", put("task_types", 0, "apc_mw")([1, 2, 3]), "task_types[0].apc_mw", "3 entries; 2", False),
    ("ETC as a number", put("task_types", 0, "etc_ms")(4), "task_types[0].etc_ms", "4", True),
    ("no time at all", put("task_types", 0, "etc_ms", 1)(0), "task_types[0].etc_ms[1]", "0", True),
    ("ETC over the limit", put("task_types", 2, "etc_ms", 0)(LIMIT + 1), "task_types[2].etc_ms[0]", "109951", True),
    ("negative power", put("task_types", 0, "apc_mw", 1)(-1), "task_types[0].apc_mw[1]", "-1", True),
    ("no users", put("users")([]), "users", "at least one", True),
    ("users of another type", put("users")(None), "users", "null", True),
    ("a user of another type", put("users", 1)([1, 2, 3]), "users[1]", "a list of 3", True),
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
    with pytest.raises(InputError) as caught:
        parse(breaks)
    assert caught.value.field == field
    assert what in caught.value.problem


def test_a_type_that_nobody_brings_has_a_limit_too() -> None:
    """Its cost is in the instance's table, where it must fit."""
    data = valid()
    data["energy_price"] = 1
    data["task_types"][2] = {"name": "unused", "etc_ms": [1, 2**31], "apc_mw": [1, 2**31]}
    assert int(parse(data).cost[2, 1]) == SUM_LIMIT
    data["task_types"][2]["apc_mw"][1] += 1
    with pytest.raises(InputError) as caught:
        parse(data)
    assert caught.value.field == "task_types[2].apc_mw"


@settings(max_examples=samples(100))
@given(documents())
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


@pytest.mark.parametrize(
    ("text", "field", "piece"),
    [
        (b"", "line 1 column 1", "not JSON"),
        (b"[1, 2]", "document", "a list of 2 is not an object"),
        (b'{"name": "a", "name": "b"}', "name", "twice in one object ('a', then 'b')"),
        (b'{"users": [{"price": 1, "price": 1}]}', "users[0].price", "(1, then 1)"),
        (b'{"name": "\xff"}', "", "not UTF-8 text at byte 10"),
        (b"[" * 200_000, "", "nested too deeply"),
    ],
)
def test_files_that_are_no_document_are_named(text: bytes, field: str, piece: str, tmp_path: Path) -> None:
    """Text that is not a JSON object without duplicate keys is an error with the place."""
    check_unreadable(eapm, text, field, piece, tmp_path / "broken.json")


@settings(max_examples=samples(200))
@given(data=documents(), junk=JUNK, pick=st.data())
def test_no_damage_gets_past_the_reader_as_another_error(data: Document, junk: Any, pick: st.DataObject) -> None:
    check_damaged(eapm, data, junk, pick)


@given(st.lists(st.none() | st.lists(st.integers(-5, LIMIT), max_size=4).map(tuple), max_size=4).map(tuple))
def test_solutions_read_back_identical(solution: tuple[tuple[int, ...] | None, ...]) -> None:
    """A solution is its document, through JSON text too; keys beside the decisions do not matter."""
    text = json.dumps({**solution_document(solution), "algorithm": "greedy"})
    assert parse_solution(json.loads(text), "solution") == solution


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ([], "document"),
        ({}, "decisions"),
        ({"decisions": None}, "decisions"),
        ({"decisions": [[1], 2]}, "decisions[1]"),
        ({"decisions": [[1, True]]}, "decisions[0][1]"),
        ({"decisions": [[1.0]]}, "decisions[0][0]"),
        ({"decisions": [None, [LIMIT + 1]]}, "decisions[1][0]"),
        ({"decisions": [["1"]]}, "decisions[0][0]"),
    ],
)
def test_what_is_no_solution_is_named(data: Any, field: str) -> None:
    """The first thing that has another shape is an error with its place."""
    with pytest.raises(InputError) as caught:
        parse_solution(data, "solution.json")
    assert (caught.value.source, caught.value.field) == ("solution.json", field)
