"""Fixtures of tests of commands."""

from pathlib import Path

import pytest

from tests.support.toy_family import FAMILY


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the toy family writes down what it makes, solves and runs; not there yet."""
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """An instance file of the toy family; OPT at effort 1 is known up to 1."""
    target = tmp_path / "toy.json"
    target.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 8, "room": 3})))
    return str(target)
