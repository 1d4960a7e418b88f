"""Fixtures of the tests of anyone's algorithms."""

from pathlib import Path

import pytest

from ratiobench.instances.lora import Instance
from tests.support.contest import small_contest


@pytest.fixture(scope="module")
def instance() -> Instance:
    return small_contest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that contestants find by their environment."""
    monkeypatch.setenv("CONTESTANT_FOLDER", str(tmp_path))
    return tmp_path
