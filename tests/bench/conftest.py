"""Fixtures of tests of commands."""

from pathlib import Path

import pytest

from tests.support.toy_family import FAMILY


@pytest.fixture
def file(tmp_path: Path) -> str:
    """An instance file of the toy family; OPT at effort 1 is known up to 1."""
    target = tmp_path / "toy.json"
    target.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 8, "room": 3})))
    return str(target)
