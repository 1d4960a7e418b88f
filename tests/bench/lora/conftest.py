"""Fixtures of the tests of claims."""

import pytest

from ratiobench.online.lora.registry import REGISTRY, Entry, Option
from tests.support.mutants import KINDS, Mutant


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants have a name while the test runs."""
    monkeypatch.setitem(
        REGISTRY._entries, "mutant", Entry("mutant", "", "1", {"kind": Option("honest", KINDS, "")}, Mutant)
    )
