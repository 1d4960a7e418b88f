"""Docstrings of the public interface are complete, and their examples give what they print."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.theory.claim import Claim
from ratiobench.formulations.lora.models.formulation import registry
from ratiobench.instances.lora.logs import list_formats
from ratiobench.instances.lora.readers import list_traces
from tests.tools import docstrings
from tests.tools.docstrings import Public, defects, exports, items, sections, surface

ROOT = Path(__file__).resolve().parents[1]
SURFACE = surface()
EXAMPLES = {key: public for key, public in SURFACE.items() if ">>>" in (ast.get_docstring(public.node) or "")}
WITHOUT_EXAMPLE = {"backtest", "compare", "imported", "results"}
"""Functions of `ratiobench` that need days, folders or a log."""


def found(module: str, name: str) -> Any:
    """The object of a qualified name."""
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_every_docstring_is_complete() -> None:
    """`nox -s lint` prints the same."""
    assert [f"{public}: {defect}" for public in SURFACE.values() for defect in defects(public)] == []


@pytest.mark.parametrize(
    ("code", "defect"),
    [
        ("def f(): pass", "no docstring"),
        ("def f():\n 'No end'", "the first paragraph is no sentence in a line"),
        ("def f():\n 'Two\\nlines.'", "the first paragraph is no sentence in a line"),
        ("def f(a, *, b):\n '''F.\n\n Parameters\n ----------\n a : a.\n '''", "parameter b is not described"),
        ("def f():\n '''F.\n\n Parameters\n ----------\n c : c.\n '''", "c: no such parameter"),
        ("def f(**k):\n 'F.'", "parameter k is not described"),
        ("def f() -> int:\n 'F.'", "no section Returns"),
        ("def f():\n 'F.'\n raise ValueError('x')", "ValueError is not in a section Raises"),
        ("class F:\n 'F.'\n a: int", "a is not described"),
        ("class F:\n 'F.'\n def __init__(self, a): pass", "a is not described"),
    ],
)
def test_a_missing_part_is_a_defect(code: str, defect: str) -> None:
    """Each of the checks, on the smallest function or class that fails it."""
    (node,) = ast.parse(code).body
    assert isinstance(node, docstrings.Definition)
    assert list(defects(Public("m", "f", node))) == [defect]


def test_a_complete_docstring_has_no_defect() -> None:
    """A method may leave parameters to its class; a private parameter needs no description."""
    text = "F.\n\n Parameters\n ----------\n a : a.\n\n Returns\n -------\n It.\n "
    code = f"def f(self, a, b, _c) -> int:\n '''{text}'''"
    (node,) = ast.parse(code).body
    assert isinstance(node, docstrings.Definition)
    assert list(defects(Public("m", "F.f", node, frozenset({"b"})))) == []


def test_the_modules_that_users_import_say_what_is_public() -> None:
    """Functions, tests, adapters; the environments by the names under which Gymnasium makes them."""
    for module in ("ratiobench", "ratiobench.testing", "ratiobench.environments"):
        assert exports(module)
    for file in (ROOT / "ratiobench" / "adapters").glob("[!_]*.py"):
        assert exports(f"ratiobench.adapters.{file.stem}"), file
    for entry in importlib.import_module("ratiobench.environments")._ENTRIES.values():
        assert entry.replace(":", ".") in SURFACE
    for name in ratiobench.__all__:
        value = getattr(ratiobench, name)
        assert f"{value.__module__}.{value.__qualname__}" in SURFACE or name == "InputError"


def test_what_the_pages_of_the_reference_document_is_public() -> None:
    """All functions and classes that Sphinx is asked for."""
    named = 0
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        module = ""
        for kind, name in re.findall(r"\.\. (currentmodule|auto\w+):: ([\w.]+)", page.read_text("utf-8")):
            if kind == "currentmodule":
                module = name
            elif kind in ("autofunction", "autoclass"):
                named += 1
                path, _, last = name.rpartition(".")
                definition = docstrings.find_definition(path or module, last)
                assert definition is not None, name
                assert f"{definition.module}.{definition.name}" in SURFACE
    assert named > 10


def authors_objects() -> Iterator[Any]:
    """What the author of a family, an algorithm, a claim, a formulation or a format subclasses, makes or is given."""
    for family in families().values():
        yield family
        for name, member in inspect.getmembers(Family):
            if isinstance(member, property) and not name.startswith("_"):
                yield getattr(family, name)
        if family.environment is not None:
            yield from family.environment.registry.entries().values()
        suite = family.own_suites()[0]
        yield from (suite, suite.cases[0], family.recipe_forms()[0], *family.sources(), *family.statements())
    yield from (*registry().values(), *list_formats().values(), *list_traces().values())


def test_what_authors_meet_is_public() -> None:
    """The class of each object, or a base class of it; plain data, functions and other packages apart."""
    missing = set()
    for each in authors_objects():
        kinds = [kind for kind in type(each).__mro__ if kind.__module__.startswith("ratiobench")]
        public = [kind for kind in kinds if f"{kind.__module__}.{kind.__qualname__}" in SURFACE]
        if kinds and not public:
            missing.add(f"{kinds[0].__module__}.{kinds[0].__qualname__}")
    assert missing == set()
    assert f"{Claim.__module__}.{Claim.__qualname__}" in SURFACE


def test_functions_of_commands_describe_every_keyword() -> None:
    """Also those that come from the options of the command."""
    for name in ratiobench.__all__:
        function = getattr(ratiobench, name)
        if not inspect.isfunction(function):
            continue
        described = items(sections(inspect.getdoc(function) or "").get("Parameters", ""))
        assert {*inspect.signature(function).parameters} - described == set(), name


def test_functions_of_commands_have_an_example() -> None:
    """All that need no folder of results and no log."""
    functions = {name for name in ratiobench.__all__ if inspect.isfunction(getattr(ratiobench, name))}
    assert {key.rpartition(".")[2] for key in EXAMPLES} & functions == functions - WITHOUT_EXAMPLE


@pytest.mark.parametrize("key", EXAMPLES)
def test_examples_give_what_they_print(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each docstring in a space of its own."""
    public = EXAMPLES[key]
    text = inspect.getdoc(found(public.module, public.name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, key, str(docstrings.path_of(public.module)), 0)
    assert doctest.DocTestRunner().run(example).failed == 0, capsys.readouterr().out
