"""The list of slow tests: what it names is there, and how it is chosen."""

from __future__ import annotations

import ast
from itertools import groupby

from tests.conftest import ROOT, SLOW, file_of, function_of
from tests.tools.slow_tests import by_file, choose


def test_every_slow_test_is_a_test() -> None:
    """A function that was renamed would be slow no more, and nobody would see it."""
    listed = SLOW.read_text().split()
    assert len(set(listed)) == len(listed)
    assert [file for file, _ in groupby(map(file_of, listed))] == list(dict.fromkeys(map(file_of, listed)))
    for file, names in groupby(listed, file_of):
        body = ast.parse((ROOT / file).read_bytes()).body
        known = {f"{file}::{each.name}" for each in body if isinstance(each, ast.FunctionDef)}
        assert known.issuperset(names), file


def test_the_slowest_are_chosen_until_the_others_keep_to_the_budget() -> None:
    """As few as can be."""
    seconds = {"a": 5.0, "b": 1.0, "c": 3.0, "d": 0.5}
    assert choose(seconds, 10.0) == []
    assert choose(seconds, 4.5) == ["a"]
    assert choose(seconds, 1.5) == ["a", "c"]
    assert choose(seconds, 0.0) == ["a", "b", "c", "d"]


def test_the_longest_file_is_first() -> None:
    """By all of its tests, slow or not; files that were not measured keep their order, behind."""
    seconds = {"a::x": 1.0, "b::x": 3.0, "c::x": 2.0, "c::y": 2.0}
    assert by_file(["a::x", "b::x", "c::x"], seconds) == ["c::x", "b::x", "a::x"]
    assert by_file(["d::y", "d::x", "a::x"], seconds) == ["a::x", "d::x", "d::y"]


def test_parameters_do_not_count() -> None:
    """All of a function's tests are slow, or none."""
    assert function_of("tests/bench/test_x.py::test_y[a-b]") == "tests/bench/test_x.py::test_y"
