"""What every family's file format owes: files read back identical, and whatever is not allowed is one line."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.instances import eapm, edgeflow, lora, tenants
from ratiobench.instances.io.documents import Part
from ratiobench.instances.io.fields import LIMIT
from tests.instances.eapm import test_format as of_eapm
from tests.instances.edgeflow import test_format as of_edgeflow
from tests.instances.lora import test_format as of_lora
from tests.instances.tenants import test_format as of_tenants
from tests.support.documents import (
    JUNK,
    Document,
    Place,
    all_places,
    at,
    check_damaged,
    check_files,
    check_unreadable,
    check_wrong_values,
    refusal_of,
    text_of,
    validator_of,
)
from tests.support.samples import samples
from tests.support.strategies.eapm import instance_documents as eapm_documents
from tests.support.strategies.edgeflow import edgeflow_documents
from tests.support.strategies.lora import instance_documents as lora_documents
from tests.support.strategies.tenants import tenants_documents


class Format(NamedTuple):
    family: ModuleType
    kind: type[Part]
    valid: Callable[[], Document]  # a document with every field in use
    documents: st.SearchStrategy[Document]


FORMATS = {
    "lora": Format(lora, lora.format.InstanceDocument, of_lora.valid, lora_documents()),
    "eapm": Format(eapm, eapm.format.InstanceDocument, of_eapm.valid, eapm_documents()),
    "edgeflow": Format(edgeflow, edgeflow.format.InstanceDocument, of_edgeflow.valid, edgeflow_documents()),
    "tenants": Format(tenants, tenants.format.InstanceDocument, of_tenants.valid, tenants_documents()),
}
# Optional fields; a task of `lora` has one of the last two
OPTIONAL = {"origin", "valuation", "tenant", "kind", "iterations", "energy_wh", "cost"}
of_every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)


def places_of(form: Format) -> list[Place]:
    return [place for place in all_places(form.valid()) if place[0] != "origin"]


@of_every_format
@settings(max_examples=samples(150))
@given(data=st.data())
def test_what_is_written_reads_back_identical(form: Format, data: st.DataObject) -> None:
    """The same hash, document and text; nothing is clipped or lost, and the schema accepts it."""
    document = data.draw(form.documents)
    instance = form.family.parse(document)
    again = form.family.loads(form.family.dumps(instance))
    assert form.family.content_hash(again) == form.family.content_hash(instance)
    assert form.family.dumps(again) == form.family.dumps(instance)
    validator = validator_of(form.kind)
    validator.validate(document)
    written = form.family.document(instance)
    validator.validate(written)
    for task in document.get("tasks", ()):
        if task.get("valuation") == task["bid"]:
            del task["valuation"]
    assert form.family.document(again) == written == {"origin": {}, **document}


@of_every_format
@settings(max_examples=samples(25))
@given(data=st.data())
def test_files_plain_and_gzipped_read_back_identical(
    form: Format, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_files(form.family, data.draw(form.documents), tmp_path_factory.mktemp("files"))


@of_every_format
@settings(max_examples=samples(200))
@given(data=st.data(), junk=JUNK)
def test_no_damage_gets_past_the_reader_as_another_error(form: Format, data: st.DataObject, junk: Any) -> None:
    check_damaged(form.family, copy.deepcopy(data.draw(form.documents)), junk, data)


@of_every_format
def test_name_and_origin_are_not_part_of_the_identity(form: Format) -> None:
    data = form.valid()
    validator_of(form.kind).validate(data)
    assert form.family.document(form.family.parse(data)) == data
    identity = form.family.content_hash(form.family.parse(data))
    assert form.family.content_hash(form.family.parse({**data, "name": "another", "origin": {"seed": [1]}})) == identity
    del data["origin"]
    assert form.family.content_hash(form.family.parse(dict(reversed(data.items())))) == identity


@of_every_format
def test_a_field_that_is_missing_or_unknown_is_named(form: Format) -> None:
    validator = validator_of(form.kind)
    for place in places_of(form):
        holder = at(form.valid(), place)
        if not isinstance(holder, dict):
            continue
        unknown = form.valid()
        at(unknown, place)["a\nb"] = 1
        missing = form.valid()
        del at(missing, place)[place[-1]]
        cases = [(unknown, text_of((*place[:-1], "a b")))]
        cases += [] if place[-1] in OPTIONAL else [(missing, text_of(place))]
        for data, field in cases:
            assert refusal_of(form.family.parse, data, "file").startswith(f"file: {field}: ")
            assert not validator.is_valid(data), field


@of_every_format
def test_a_value_of_another_type_is_named(form: Format) -> None:
    """At every number, text, list and object; and integers beyond every limit at numbers."""
    wrong = {
        int: (True, False, 1.0, 2.5, float("nan"), float("inf"), "3", None, [], {}, LIMIT**2, 10**40),
        str: ("", 7, None, True, ["x"], {}, "\ud800"),
        list: (3, None, "none", {}),
        dict: (3, None, "none", [1, 2, 3]),
    }
    for place in places_of(form):
        kind = type(at(form.valid(), place)[place[-1]])
        check_wrong_values(form.family, form.valid, [place], wrong[kind])


@of_every_format
@pytest.mark.parametrize(
    ("origin", "field", "piece"),
    [
        ([1], "origin", "a list of 1"),
        ({"x": [{"y": float("nan")}]}, "origin.x[0].y", "nan"),
        ({"x": 10**30}, "origin.x", "more than 29 digits"),
    ],
)
def test_an_origin_that_no_file_holds_is_named(form: Format, origin: object, field: str, piece: str) -> None:
    told = refusal_of(form.family.parse, form.valid() | {"origin": origin}, "file")
    assert told.startswith(f"file: {field}: ")
    assert piece in told


@pytest.mark.parametrize(
    ("text", "field", "piece"),
    [
        (b"", "line 1 column 1", "not JSON"),
        (b"[1, 2]", "document", "a list of 2 is not an object"),
        (b"null", "document", "null is not an object"),
        (b'{"a": 1,}', "line 1 column", "not JSON"),
        (b'{"name": "a", "name": "b"}', "name", "twice in one object ('a', then 'b')"),
        (b'{"tasks": [{"bid": 1, "bid": 1}]}', "tasks[0].bid", "(1, then 1)"),
        (b'{"tasks": [{"bid": 1}, {"x": [[], {"bid": 3, "z": 1, "bid": {}}]}]}', "tasks[1].x[1].bid", "(3, then an"),
        (b'{"a": {"b": 1, "b": 2}, "c": 1, "c": 2, "c": 3}', "c", "(1, then 2)"),
        (b'{"name": "\xff"}', "", "not UTF-8 text at byte 10"),
        (b"[" * 200_000, "", "nested too deeply"),
    ],
)
@of_every_format
def test_files_that_are_no_document_are_named(
    form: Format, text: bytes, field: str, piece: str, tmp_path: Path
) -> None:
    check_unreadable(form.family, text, field, piece, tmp_path / "broken.json")


GOOD_SOLUTIONS: list[tuple[ModuleType, Any]] = [
    (eapm, [None, [0, LIMIT], [-5, 2], []]),
    (edgeflow, [[[0, 5, 0, 2], [5, 9, 1, 1]], []]),
    (tenants, [[0, 3], None]),
]
WRONG_SOLUTIONS: list[tuple[ModuleType, Any, str]] = [
    *((family, [], "document") for family in (eapm, edgeflow, tenants)),
    *((family, {}, "decisions") for family in (eapm, edgeflow, tenants)),
    *((family, {"decisions": None}, "decisions") for family in (eapm, edgeflow, tenants)),
    (eapm, {"decisions": [[1], 2]}, "decisions[1]"),
    (eapm, {"decisions": [[1, True]]}, "decisions[0][1]"),
    (eapm, {"decisions": [[1.0]]}, "decisions[0][0]"),
    (eapm, {"decisions": [None, [LIMIT + 1]]}, "decisions[1][0]"),
    (eapm, {"decisions": [["1"]]}, "decisions[0][0]"),
    (edgeflow, {"decisions": [[[0, 1, 0]]]}, "decisions[0][0]"),
    (tenants, {"decisions": [[0]]}, "decisions[0]"),
    (tenants, {"decisions": [[0, 1.5]]}, "decisions[0][1]"),
]


def test_solutions_read_back_and_another_shape_is_named() -> None:
    """Through JSON text too; keys beside the decisions do not matter."""
    for family, decisions in GOOD_SOLUTIONS:
        solution = family.parse_solution({"decisions": decisions, "algorithm": "greedy"}, "s.json")
        text = json.dumps(family.solution_document(solution))
        assert json.loads(text) == {"decisions": decisions}
        assert family.parse_solution(json.loads(text), "s.json") == solution
    for family, data, field in WRONG_SOLUTIONS:
        assert refusal_of(family.parse_solution, data, "s.json").startswith(f"s.json: {field}: ")
