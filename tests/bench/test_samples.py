"""How many random examples the tests take."""

from __future__ import annotations

import pytest

import tests.support.samples as module
from tests.support.samples import of_sample, samples


def test_a_third_is_taken_but_not_fewer_than_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "thorough", False)
    assert [samples(full) for full in (300, 100, 20, 10, 3)] == [100, 34, 10, 10, 3]
    assert [samples(12, 4), samples(6, 3)] == [4, 3]


def test_all_are_taken_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "thorough", True)
    assert [samples(full) for full in (300, 100, 20, 10, 3)] == [300, 100, 20, 10, 3]
    assert of_sample(50, 80) == 50


def test_of_a_sample_as_large_a_share_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "thorough", False)
    assert [of_sample(50, 80), of_sample(2, 60), of_sample(7, 8)] == [16, 0, 7]
