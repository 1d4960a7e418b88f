"""The file format of family edgeflow: what is written reads back identical, what is not allowed is one line."""

from typing import Any

import pytest
from hypothesis import given, settings

from ratiobench.instances.edgeflow import parse
from ratiobench.instances.edgeflow.format import InstanceDocument
from tests.support.documents import Broken, Document, Validator, check_broken, put, validator_of
from tests.support.samples import samples
from tests.support.strategies.edgeflow import tiny_instances


def valid() -> Document:
    """A small valid document with every field in use."""
    return {
        "format": "ratiobench/edgeflow/1",
        "name": "valid",
        "origin": {"by": "hand"},
        "cloud": {"gpus": 4, "node_gpus": 8},
        "edge": [{"from": 0, "to": 5, "servers": 2}, {"from": 5, "to": 9, "servers": 1}],
        "models": [
            {"name": "a", "speed": [[1, 10], [2, 18], [4, 17]], "edge_speed": 6, "overhead_s": 2, "edge_overhead_s": 3},
            {"name": "b", "speed": [[8, 3]], "edge_speed": 0, "overhead_s": 0, "edge_overhead_s": 3600},
        ],
        "jobs": [
            {"submit": 0, "deadline": 9, "model": "a", "work": 99, "gpus": 4},
            {"submit": 0, "deadline": 1, "model": "b", "work": 2**53, "gpus": 8},
            {"submit": 3, "deadline": 2**40, "model": "a", "work": 1, "gpus": 1},
        ],
    }


@pytest.fixture(scope="module")
def validator() -> Validator:
    return validator_of(InstanceDocument)


def test_the_valid_document() -> None:
    instance = parse(valid())
    assert instance.models[0].useful(4) == ((1, 10), (2, 18))
    assert instance.models[1].useful(4) == ()
    assert instance.job(1).gpus == 8
    assert "3 jobs, 4 GPUs, 2 edge windows" in repr(instance)


WRONG: list[Broken] = [
    (put("format")("ratiobench/edgeflow/2"), "format", "ratiobench/edgeflow/2", True),
    (put("cloud", "gpus")(0), "cloud.gpus", "0 is not in 1..4096", True),
    (put("cloud", "gpus")(4097), "cloud.gpus", "4097", True),
    (put("edge", 0, "to")(0), "edge[0].to", "0 is not after `from`, 0", False),
    (put("edge", 1, "from")(4), "edge[1].from", "4 is before 5", False),
    (put("edge", 1, "servers")(0), "edge[1].servers", "0", True),
    (put("edge", 1, "from")(-1), "edge[1].from", "-1", True),
    (put("models", 1, "name")("a"), "models[1].name", "'a' is given twice", False),
    (put("models", 0, "speed")([]), "models[0].speed", "empty", True),
    (put("models", 0, "speed", 1)([3, 18]), "models[0].speed[1][0]", "3 is not a power of two", True),
    (put("models", 0, "speed", 1)([1, 18]), "models[0].speed[1][0]", "1 is not above 1", False),
    (put("models", 0, "speed", 1)([2, 0]), "models[0].speed[1][1]", "0 is not in", True),
    (put("models", 0, "speed", 1)([2]), "models[0].speed[1]", "1 entries", True),
    (put("models", 0, "edge_speed")(-1), "models[0].edge_speed", "-1", True),
    (put("models", 0, "overhead_s")(3601), "models[0].overhead_s", "3601", True),
    (put("jobs", 2, "submit")(-1), "jobs[2].submit", "-1", True),
    (put("jobs", 1, "submit")(9), "jobs[1].deadline", "1 is not after `submit`, 9", False),
    (put("jobs", 0, "submit")(1), "jobs[1].submit", "0 is before 1", False),
    (put("jobs", 0, "deadline")(0), "jobs[0].deadline", "0 is not after", False),
    (put("jobs", 0, "model")("c"), "jobs[0].model", "'c' is the name of no model", False),
    (put("jobs", 0, "work")(0), "jobs[0].work", "0", True),
    (put("jobs", 0, "work")(2**53 + 1), "jobs[0].work", "9007199254740993", True),
    (put("jobs", 0, "gpus")(8), "jobs[0].gpus", "8 is no share of model 'a', which has 1, 2, 4", False),
    (put("models", 0, "speed", 1)([2, 2**23]), "jobs[2].deadline", "2^62", False),
    (put("models", 0, "edge_speed")(2**23), "jobs[2].deadline", "2^62", False),
]


@pytest.mark.parametrize("broken", WRONG, ids=[b[1] for b in WRONG])
def test_what_is_not_allowed_is_named(broken: Broken, validator: Validator) -> None:
    check_broken(parse, valid(), broken, validator)


@settings(max_examples=samples(20), deadline=None)
@given(instance=tiny_instances())
def test_jobs_are_in_order_and_read_only(instance: Any) -> None:
    assert all(a <= b for a, b in zip(instance.submit, instance.submit[1:], strict=False))
    with pytest.raises(ValueError, match="read-only"):
        instance.work[:] = 0
