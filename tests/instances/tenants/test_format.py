"""The format of tenants: what is written reads back identical; whatever is not allowed is one line that names it."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hypothesis import given, settings

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.tenants import (
    content_hash,
    document,
    dumps,
    loads,
    parse,
    parse_solution,
    read,
    solution_document,
    write,
)
from ratiobench.instances.tenants.format import PRICE_LIMIT, RELEASE_LIMIT, RUN_LIMIT, InstanceDocument
from ratiobench.instances.tenants.model import Instance
from ratiobench.instances.tenants.quantities import describe
from tests.support.documents import Document, check_broken, drop, put, validator_of
from tests.support.samples import samples
from tests.support.strategies.tenants import tiny_instances


def valid() -> Document:
    """A small valid document with every field in use."""
    return {
        "format": "ratiobench/tenants/1",
        "name": "valid",
        "origin": {"by": "hand"},
        "tick_seconds": 60,
        "gpu_types": [{"name": "fast", "count": 2, "price": 5}, {"name": "slow", "count": 1, "price": 0}],
        "theta": 3,
        "late_penalty": 0,
        "jobs": [
            {"release": 0, "deadline": 9, "cost_sensitivity": 0, "run": [2, 5], "tenant": "a", "kind": "x"}
            | {"iterations": 7},
            {"release": 4, "deadline": 0, "cost_sensitivity": 100, "run": [1, 1]},
        ],
    }  # fmt: skip


@settings(max_examples=samples(50))
@given(tiny_instances())
def test_what_is_written_reads_back_identical_and_fits_the_schema(instance: Instance) -> None:
    again = loads(dumps(instance))
    assert document(again) == document(instance)
    assert content_hash(again) == content_hash(instance)
    validator_of(InstanceDocument).validate(document(instance))


def test_a_file_reads_back_and_labels_that_are_missing_stay_so(tmp_path: Path) -> None:
    write(parse(valid()), tmp_path / "x.json.gz")
    assert document(read(tmp_path / "x.json.gz")) == valid()


def test_name_and_origin_are_not_part_of_the_identity_and_all_else_is() -> None:
    first = content_hash(parse(valid()))
    assert content_hash(parse(valid() | {"name": "other", "origin": {}})) == first
    assert content_hash(parse(valid() | {"theta": 4})) != first


REFUSED = {
    "format": put("format")("ratiobench/tenants/2"),
    "tick_seconds": put("tick_seconds")(3601),
    "gpu_types": put("gpu_types")([]),
    "gpu_types[1].name": put("gpu_types", 1, "name")("fast"),
    "gpu_types[0].count": put("gpu_types", 0, "count")(0),
    "gpu_types[0].price": put("gpu_types", 0, "price")(PRICE_LIMIT + 1),
    "theta": put("theta")(-1),
    "late_penalty": put("late_penalty")(True),
    "jobs[1].release": put("jobs", 0, "release")(5),
    "jobs[0].release": put("jobs", 0, "release")(RELEASE_LIMIT + 1),
    "jobs[0].deadline": put("jobs", 0, "deadline")(-1),
    "jobs[0].cost_sensitivity": put("jobs", 0, "cost_sensitivity")(101),
    "jobs[0].run": put("jobs", 0, "run")([2]),
    "jobs[0].run[1]": put("jobs", 0, "run")([2, RUN_LIMIT + 1]),
    "jobs[1].run[0]": put("jobs", 1, "run")([0, 1]),
    "jobs[0].tenant": put("jobs", 0, "tenant")(""),
    "jobs[0].iterations": put("jobs", 0, "iterations")(1.5),
    "jobs[1].value": put("jobs", 1, "value")(3),
    "jobs[1].deadline": drop("jobs", 1, "deadline"),
    "name": drop("name"),
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_the_format_does_not_allow_is_named(field: str) -> None:
    check_broken(parse, valid(), (REFUSED[field], field, "", True))


@pytest.mark.parametrize("ticks", [0, RUN_LIMIT + 1])
def test_a_run_out_of_range_is_told_the_one_range(ticks: int) -> None:
    data = valid()
    data["jobs"][0]["run"][1] = ticks
    with pytest.raises(InputError, match=rf"jobs\[0\]\.run\[1\]: {ticks} is not in 1\.\.{RUN_LIMIT}$"):
        parse(data)


def test_costs_near_2_to_the_62_are_refused_with_the_job_that_goes_over() -> None:
    data = valid() | {"theta": PRICE_LIMIT, "late_penalty": PRICE_LIMIT}
    long = {"release": 10, "deadline": 0, "cost_sensitivity": 0, "run": [RUN_LIMIT, 1]}
    data["jobs"] = [copy.deepcopy(long) for _ in range(8)]
    with pytest.raises(InputError, match=r"jobs\[3\]\.run: 1048576 takes what jobs may cost to \d+, not below 2\^62"):
        parse(data)
    data["jobs"] = data["jobs"][:3]
    assert parse(data).jobs == 3


def test_no_job_is_an_instance() -> None:
    instance = parse(valid() | {"jobs": []})
    assert instance.run.shape == (0, 2)
    assert describe(instance)["load"] is None
    assert parse(document(instance)).jobs == 0


def test_gpus_are_numbered_through_the_types_and_a_job_costs_what_the_formula_says() -> None:
    instance = parse(valid() | {"late_penalty": 7})
    assert instance.gpu_type.tolist() == [0, 0, 1]
    public = instance.public()
    assert public.cost(instance.job(0), 0, 11) == 100 * 7 * 2 + 100 * 3 * 11
    assert public.cost(instance.job(1), 0, 6) == 100 * 7 * 6 + 100 * 5 * 1


def test_a_solution_reads_back_and_another_shape_is_named() -> None:
    solution = parse_solution({"decisions": [[0, 3], None]}, "s.json")
    assert parse_solution(solution_document(solution), "s.json") == solution
    for bad, field in (([[0]], "decisions[0]"), ([[0, 1.5]], "decisions[0][1]"), ("x", "decisions")):
        with pytest.raises(InputError) as caught:
            parse_solution({"decisions": bad}, "s.json")
        assert caught.value.field == field
