"""The format of tenants: what is written reads back identical; whatever is not allowed is one line that names it."""

import copy

import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.tenants import document, parse
from ratiobench.instances.tenants.format import PRICE_LIMIT, RELEASE_LIMIT, RUN_LIMIT
from ratiobench.instances.tenants.model import describe
from tests.support.documents import Document, check_broken, put


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


REFUSED = {
    "format": put("format")("ratiobench/tenants/2"),
    "tick_seconds": put("tick_seconds")(3601),
    "gpu_types": put("gpu_types")([]),
    "gpu_types[1].name": put("gpu_types", 1, "name")("fast"),
    "gpu_types[0].count": put("gpu_types", 0, "count")(0),
    "gpu_types[0].price": put("gpu_types", 0, "price")(PRICE_LIMIT + 1),
    "theta": put("theta")(-1),
    "jobs[1].release": put("jobs", 0, "release")(5),
    "jobs[0].release": put("jobs", 0, "release")(RELEASE_LIMIT + 1),
    "jobs[0].deadline": put("jobs", 0, "deadline")(-1),
    "jobs[0].cost_sensitivity": put("jobs", 0, "cost_sensitivity")(101),
    "jobs[0].run": put("jobs", 0, "run")([2]),
    "jobs[0].run[1]": put("jobs", 0, "run")([2, RUN_LIMIT + 1]),
    "jobs[1].run[0]": put("jobs", 1, "run")([0, 1]),
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
