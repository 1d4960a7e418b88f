"""The minimal covers of all tasks at once: those of each task alone; one by one where tables might be large."""

import numpy as np
import pytest
from hypothesis import given, settings

from ratiobench.formulations.lora.bound import minimal_covers
from ratiobench.formulations.lora.bound.minimal_covers import MinimalCovers, list_minimal_covers
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.named import named
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

Listed = tuple[list[tuple[int, ...]], int | None, tuple[int, int]]


def _listed(parts: list[MinimalCovers]) -> Listed:
    rows = sorted(tuple(row) for part in parts for row in np.stack(part[:7], axis=1).tolist())
    negative = next((part.negative for part in parts if part.negative is not None), None)
    slow, fast = ([part.rates[end] for part in parts] for end in (0, 1))
    return rows, negative, (min(slow, default=1), max(fast, default=1))


def _both(instance: Instance) -> tuple[Listed, Listed]:
    whole = list(list_minimal_covers(instance))
    assert len(whole) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimal_covers, "_all_at_once", lambda _: None)
        return _listed(whole), _listed(list(list_minimal_covers(instance)))


@settings(max_examples=samples(40))
@given(tiny_instances(max_tasks=4))
def test_all_at_once_as_one_by_one(instance: Instance) -> None:
    """Every row, with all options, types and signs of costs."""
    at_once, one_by_one = _both(instance)
    assert at_once == one_by_one


@settings(max_examples=samples(30))
@given(tiny_instances(max_tasks=3))
def test_large_numbers(instance: Instance) -> None:
    """Bids, prices and costs of 2^36 and more."""
    data = document(instance)
    for task in data["tasks"]:
        task["bid"] <<= 34
        task["vendors"] = [{**vendor, "price": vendor["price"] << 36} for vendor in task["vendors"]]
        if "cost" in task:
            task["cost"] = [[value << 36 for value in row] for row in task["cost"]]
    at_once, one_by_one = _both(parse(data))
    assert at_once == one_by_one


def test_a_task_that_is_too_large_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = parse(document(named("tiny_vendors")))
    monkeypatch.setattr(minimal_covers, "STATE_LIMIT", 1)
    monkeypatch.setattr("ratiobench.formulations.lora.covering.schedules.STATE_LIMIT", 1)
    assert minimal_covers.find_small_pool(instance) is None
    with pytest.raises(StateSpaceTooLarge):
        list(list_minimal_covers(instance))
