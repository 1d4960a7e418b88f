"""The toy family in a test: a fixture that registers it, and a folder with results of one of its suites.

Processes of a run import `tests.support.toy_family`, which does without pytest and the command line.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families

FAMILIES = "tests.support.toy_family"  # The module of the family, as the variable RATIOBENCH_FAMILIES names it


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy family is known beside the shipped ones, here and in worker processes."""
    monkeypatch.setenv("RATIOBENCH_FAMILIES", FAMILIES)
    families.cache_clear()
    yield
    families.cache_clear()


def made(suite: str, folder: Path, *options: str) -> Path:
    """The folder, with the results of a suite of this family; for fixtures that live longer than `toy`."""
    return shutil.copytree(_results(suite, options), folder, dirs_exist_ok=True)


@cache
def _results(suite: str, options: tuple[str, ...]) -> Path:
    """A folder with these results, made once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="ratiobench-toy-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATIOBENCH_FAMILIES", FAMILIES)
        families.cache_clear()
        assert main(["run", suite, "--out", str(folder), "--quiet", *options]) == 0
    families.cache_clear()
    return folder
