"""The list of slow tests: what it names is there, and how it is chosen."""

from __future__ import annotations

import ast

from tests.conftest import ROOT, SLOW, function_of
from tests.tools.slow_tests import choose


def test_every_slow_test_is_a_test() -> None:
    """A function that was renamed would be slow no more, and nobody would see it."""
    listed = SLOW.read_text().split()
    assert listed == sorted(set(listed))
    for name in listed:
        file, _, function = name.partition("::")
        body = ast.parse((ROOT / file).read_bytes()).body
        assert function in {each.name for each in body if isinstance(each, ast.FunctionDef)}, name


def test_the_slowest_are_chosen_until_the_others_keep_to_the_budget() -> None:
    """As few as can be."""
    seconds = {"a": 5.0, "b": 1.0, "c": 3.0, "d": 0.5}
    assert choose(seconds, 10.0) == []
    assert choose(seconds, 4.5) == ["a"]
    assert choose(seconds, 1.5) == ["a", "c"]
    assert choose(seconds, 0.0) == ["a", "b", "c", "d"]


def test_parameters_do_not_count() -> None:
    """All of a function's tests are slow, or none."""
    assert function_of("tests/bench/test_x.py::test_y[a-b]") == "tests/bench/test_x.py::test_y"
