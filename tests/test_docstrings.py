"""Functions that users import describe every keyword, and all examples in docstrings give what they print."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import ratiobench

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = {name: getattr(ratiobench, name) for name in ratiobench.__all__}
FUNCTIONS = {name: value for name, value in FUNCTIONS.items() if inspect.isfunction(value)}
# Functions of `ratiobench` that need days, folders or a log
WITHOUT_EXAMPLE = {"compare", "results", "imported"}


def modules_with_examples() -> list[str]:
    """The import names of the modules whose docstrings have examples."""
    found = []
    for folder in ("bench", "formulations", "instances", "online", "ratiobench"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT)
            if ">>>" in file.read_text("utf-8") and not any(path.is_symlink() for path in file.parents):
                parts = inside.with_suffix("").parts
                found.append(".".join(part for part in ("ratiobench", *parts) if part != "__init__"))
    return [name.replace("ratiobench.ratiobench", "ratiobench") for name in found]


def test_functions_of_commands_describe_every_keyword() -> None:
    for name, function in FUNCTIONS.items():
        described = set()
        for names in re.findall(r"^([*\w]+(?:, [*\w]+)*) : ", inspect.getdoc(function) or "", re.MULTILINE):
            described |= {each.strip(" *") for each in names.split(",")}
        assert {*inspect.signature(function).parameters} - described == set(), name


def test_functions_of_commands_have_an_example() -> None:
    with_example = {name for name, function in FUNCTIONS.items() if ">>>" in (function.__doc__ or "")}
    assert with_example == {*FUNCTIONS} - WITHOUT_EXAMPLE


@pytest.mark.parametrize("module", modules_with_examples())
def test_examples_give_what_they_print(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    tried = 0
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module)):
        if example.examples:
            example.globs.clear()
            tried += 1
            assert doctest.DocTestRunner().run(example).failed == 0, capsys.readouterr().out
    assert tried
