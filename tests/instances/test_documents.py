"""What is said of documents that are not as their types allow: field, value and what is allowed, in one line."""

from typing import Annotated, Any, Literal, NamedTuple

import pytest
from msgspec import Meta

from ratiobench.instances.io.documents import Name, Number, Part, convert
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import HugeInteger
from tests.support.documents import refusal_of


class Pair(NamedTuple):
    first: Number
    second: Number


class Inner(Part, frozen=True):
    name: Name
    number: Number = 0
    table: dict[str, Number] = {}  # noqa: RUF012
    few: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=3)] = (1,)
    pairs: tuple[Pair | None, ...] = ()
    either: Number | list[Number] = 0
    word: Literal["red", "green"] = "red"
    share: Annotated[float, Meta(ge=0, le=1)] = 0.0

    def __post_init__(self) -> None:
        if self.number == 7:
            raise InputError("", "number", "7 is not liked")


class Outer(Part, frozen=True):
    parts: list[Inner]


NUMBER = "in 0..1099511627776"


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"name": "a", "number": 1.0}, f"number: 1.0 is not an integer {NUMBER}"),
        ({"name": "a", "number": True}, f"number: true is not an integer {NUMBER}"),
        ({"name": "a", "number": 10**40}, f"number: {10**40} is not {NUMBER}"),
        ({"name": "a", "number": HugeInteger("9" * 40)}, f"number: {'9' * 40} is not {NUMBER}"),
        ({"name": "a", "number": 7}, "number: 7 is not liked"),
        ({}, "name: the field is missing"),
        ({"name": ""}, "name: '' is not a non-empty string"),
        ({"name": "a", "nmber": 1}, "nmber: unknown key; known: either, few, name, number, pairs, share, table, "),
        ({"name": "a", "x` - at `$.parts[3].few": 1}, "x` - at `$.parts[3].few: unknown key; known: "),
        ({"name": "a", "a\nb": 1}, "a b: unknown key; known: "),
        ({"name": "a", "table": {"x": 1, "y.z": -1}}, f"table.y.z: -1 is not {NUMBER}"),
        ({"name": "a", "table": [1]}, "table: a list of 1 is not an object"),
        ({"name": "a", "few": []}, "few: empty; at least one entry is needed"),
        ({"name": "a", "few": [1] * 4}, "few: 4 entries; 1 to 3 are allowed"),
        ({"name": "a", "pairs": [None, [1]]}, "pairs[1]: 1 entries; 2 needed"),
        ({"name": "a", "pairs": [None, [1, "2"]]}, f"pairs[1][1]: '2' is not an integer {NUMBER}"),
        ({"name": "a", "pairs": 3}, "pairs: 3 is not a list"),
        ({"name": "a", "either": "x"}, f"either: 'x' is neither an integer {NUMBER} nor a list"),
        ({"name": "a", "word": "gren"}, "word: 'gren' is not one of red, green; did you mean 'green'?"),
        ({"name": "a", "share": float("nan")}, "share: nan is not in 0..1"),
    ],
)
def test_what_is_wrong_is_named(part: Any, told: str) -> None:
    parts = [{"name": "good"}, part]
    assert refusal_of(convert, {"parts": parts}, Outer, "file").startswith(f"file: parts[1].{told}")


def test_a_field_of_the_whole_whose_name_looks_like_a_path_is_named() -> None:
    for name in ("x` - at `$.parts[3].few", "x` - at `$.none", "x` - at `$.parts[0].name"):
        with pytest.raises(InputError, match="unknown key"):
            convert({name: 1, "parts": [{"name": "good"}]}, Outer, "file")
    with pytest.raises(InputError, match=r"^file: document: null is not an object$"):
        convert(None, Outer, "file")
