"""Changes of JSON documents, and what every reader of a format owes: what all families' tests of formats share."""

import copy
import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from hypothesis import strategies as st

from ratiobench.instances.io.documents import make_schema
from ratiobench.instances.io.errors import InputError

Document = dict[str, Any]
Place = tuple[Any, ...]
Change = Callable[[Document], None]
Validator = jsonschema.protocols.Validator
# A change, the field and a piece of the message, and whether the schema can see it
Broken = tuple[Change, str, str, bool]

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


@cache
def validator_of(kind: type[Any]) -> Validator:
    """What judges documents by the published schema of a type."""
    data = json.loads(json.dumps(make_schema(kind)))
    jsonschema.Draft202012Validator.check_schema(data)
    return jsonschema.Draft202012Validator(data)


def at(data: Any, place: Place) -> Any:
    """The object that holds the last key of a place."""
    for key in place[:-1]:
        data = data[key]
    return data


def all_places(value: Any, place: Place = ()) -> list[Place]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [(*place, key) for key, _ in inner] + [one for key, v in inner for one in all_places(v, (*place, key))]


def integer_places(value: Any) -> list[Place]:
    """Where integers stand in a document, origin apart."""
    return [place for place in all_places(value) if type(at(value, place)[place[-1]]) is int and place[0] != "origin"]


def text_of(place: Place) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place).removeprefix(".")


def put(*place: Any) -> Callable[[Any], Change]:
    """A change that puts a value at a place."""

    def with_value(value: Any) -> Change:
        def change(data: Document) -> None:
            at(data, place)[place[-1]] = value

        return change

    return with_value


def drop(*place: Any) -> Change:
    def change(data: Document) -> None:
        del at(data, place)[place[-1]]

    return change


def spoil(key: str, change: Callable[[Any], Any]) -> Callable[[Document], Document]:
    """The document with one field changed."""
    return lambda document: document | {key: change(copy.deepcopy(document[key]))}


def refused_by(verify: Callable[[Any, Any], Any], instance: object, document: Document) -> bool:
    """Whether the checker of certificates refuses the document, as malformed or as not true."""
    try:
        return not verify(instance, document).valid
    except InputError:
        return True


def refusal_of(read: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """The message of the error with which an input is refused, in one line; empty if it is read."""
    told = ""
    try:
        read(*arguments, **options)
    except InputError as error:
        told = str(error)
    assert len(told.splitlines()) <= 1, told
    return told


def check_wrong_values(
    family: ModuleType, valid: Callable[[], Document], places: Iterable[Place], values: Sequence[Any]
) -> None:
    """Each of the values, at each of the places, is refused in one line that names the place, from JSON text too."""
    for place, wrong in itertools.product(places, values):
        data = valid()
        at(data, place)[place[-1]] = wrong
        readers = {"file": partial(family.parse, data, "file"), "text": partial(family.loads, json.dumps(data), "text")}
        for source, reader in readers.items():
            message = refusal_of(reader)
            assert message.startswith(f"{source}: {text_of(place)}: "), (place, wrong, message)


def check_broken(
    parse: Callable[[Any, str], object], data: Document, broken: Broken, validator: Validator | None = None
) -> None:
    """The changed document is refused in one line that names file and field; the schema refuses it if it can see it."""
    parse(data, "broken.json")
    change, field, piece, seen = broken
    change(data)
    with pytest.raises(InputError) as caught:
        parse(data, "broken.json")
    assert caught.value.source == "broken.json"
    assert caught.value.field == field
    assert piece in caught.value.problem
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400
    if validator is not None:
        assert validator.is_valid(data) is not seen


def check_files(family: ModuleType, data: Document, folder: Path) -> None:
    """A .json and a .json.gz of one instance have its hash, and writing twice gives the same bytes."""
    instance = family.parse(data)
    for name in ("instance.json", "instance.json.gz"):
        family.write(instance, folder / name)
        first = (folder / name).read_bytes()
        again = family.read(folder / name)
        assert family.content_hash(again) == family.content_hash(instance)
        family.write(again, folder / name)
        assert (folder / name).read_bytes() == first
    assert gzip.decompress((folder / "instance.json.gz").read_bytes()) == (folder / "instance.json").read_bytes()
    assert sorted(file.name for file in folder.iterdir()) == ["instance.json", "instance.json.gz"]


def check_unreadable(family: ModuleType, text: bytes, field: str, piece: str, file: Path) -> None:
    """A file with this text is refused; the error names the file, the field, and a piece of what is wrong."""
    file.write_bytes(text)
    with pytest.raises(InputError) as caught:
        family.read(file)
    assert caught.value.source == str(file)
    assert caught.value.field.startswith(field)
    assert piece in caught.value.problem


def check_damaged(family: ModuleType, data: Document, junk: Any, pick: st.DataObject) -> None:
    """Any value in any place is either read or an InputError of one line; there is no other failure."""
    place = pick.draw(st.sampled_from(all_places(data)))
    at(data, place)[place[-1]] = junk
    problem = ""
    try:
        instance = family.parse(data, "damaged")
    except InputError as error:
        problem = str(error)
    else:
        assert family.content_hash(family.loads(family.dumps(instance))) == family.content_hash(instance)
    assert len(problem.splitlines()) <= 1
