"""What families share stands once, at the root of its floor: no function is written out in two of them."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiobench import formulations, instances, online
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import line_of, load_json, sha256_of, write_text
from ratiobench.instances.shipped_instances import ShippedInstances

FLOORS = {floor.__name__: Path(floor.__file__ or "").parent for floor in (instances, formulations, online)}
FEW = 16  # Functions with no more expressions and statements than this only hand on what is shared


def functions(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Every function in the folder: body without docstring, how many expressions and statements it has, and place."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                size = sum(isinstance(part, ast.expr | ast.stmt) for each in body for part in ast.walk(each))
                yield "\n".join(map(ast.dump, body)), size, f"{file.relative_to(folder.parent)}:{node.name}"


def repeated(floor: Path) -> list[list[str]]:
    """Places of the functions with equal bodies in more than one family of a floor."""
    places: dict[str, list[str]] = defaultdict(list)
    families = [folder for folder in sorted(floor.iterdir()) if (folder / "__init__.py").exists()]
    for family in families:
        if family.name == "backends":
            continue
        for body, size, place in functions(family):
            if size > FEW:
                places[body].append(place)
    return [each for each in places.values() if len({place.partition("/")[0] for place in each}) > 1]


@pytest.mark.parametrize("floor", FLOORS)
def test_no_function_is_written_out_in_two_families(floor: str) -> None:
    assert repeated(FLOORS[floor]) == []


def test_a_function_that_is_written_out_twice_is_found(tmp_path: Path) -> None:
    text = 'def {}(x):\n    """{}"""\n    y = sorted(x)\n    return [a + b for a in y for b in y if a < b < a + 3]\n'
    for family in ("one", "two"):
        (tmp_path / family).mkdir()
        (tmp_path / family / "__init__.py").touch()
        (tmp_path / family / "file.py").write_text(text.format(f"of_{family}", family))
    assert repeated(tmp_path) == [["one/file.py:of_one", "two/file.py:of_two"]]


def test_canonical_hashes_ignore_the_order_of_keys_and_nothing_else() -> None:
    """Against SHA-256 of the text, known from another program."""
    digest = "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"
    assert sha256_of({"b": 2, "a": 1}) == sha256_of({"a": 1, "b": 2}) == digest
    assert sha256_of({"a": 1, "b": 3}) != digest
    assert sha256_of({"a": 1, "b": [2]}) != digest


def test_a_name_that_ends_in_gz_is_packed_the_same_on_every_run(tmp_path: Path) -> None:
    """Text and JSON alike; other names are written as they are."""
    for file in ("a.json.gz", "b.json.gz"):
        write_text(tmp_path / file, '{"a":[1,2]}\n')
    write_text(tmp_path / "c.json.gz", line_of({"a": [1, 2]}))
    write_text(tmp_path / "plain.json", line_of({"a": [1, 2]}))
    packed = [(tmp_path / f"{name}.json.gz").read_bytes() for name in "abc"]
    assert packed[0] == packed[1] == packed[2]
    assert packed[0][:2] == b"\x1f\x8b"
    assert load_json(packed[0], "a") == {"a": [1, 2]}
    assert (tmp_path / "plain.json").read_bytes() == b'{"a":[1,2]}\n'


def test_the_tables_beside_shipped_instances_are_no_instances(tmp_path: Path) -> None:
    """Names are those of the other JSON files, in order; any other name is an error that lists them."""
    for name in ("z", "a", "expected", "bounds"):
        (tmp_path / f"{name}.json").write_text("{}")
    (tmp_path / "c.txt").touch()
    shipped = ShippedInstances(tmp_path, Path.read_text)
    assert shipped.names() == ("a", "z")
    assert shipped.path("z") == tmp_path / "z.json"
    with pytest.raises(InputError, match="'expected' is not one of a, z"):
        shipped.path("expected")
