"""The instance file of family `cluster`: round trip, identity, one-line errors; the generated months."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ratiobench.instances.cluster.format import content_hash, document, dumps, loads, parse
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.model import DAY, make_costs
from tests.support.documents import refusal_of


def small() -> dict[str, Any]:
    """A document with every part of the format."""
    return {
        "format": "ratiobench/cluster/1",
        "name": "small",
        "begin": 100,
        "pools": [
            {"name": "a", "nodes": 2, "gpus": 4, "closures": [{"node": 1, "start": 300, "end": 400, "announced": 200}]},
            {"name": "b", "nodes": 1, "gpus": 2},
        ],
        "partitions": [{"name": "batch", "pools": ["a", "b"], "limit": 500, "user_gpus": 4}],
        "accounts": ["x", "y"],
        "users": ["u"],
        "qos": ["high"],
        "quotas": [{"account": "x", "nominal": [4, 2], "cohort": "all", "strict": True}],
        "priority": {"age": 5, "shares": {"y": 3}, "partition_priority": {"batch": 2}},
        "pool_sets": [[0], [0, 1]],
        "running": [{"pool": "a", "nodes": [0, 1], "gpus": 2, "start": 50, "end": 300, "limit": 400, "account": 1}],
        "jobs": {
            "id": ["1", "2", "3"],
            "submit": [90, 100, 120],
            "run": [5, 20, 7],
            "limit": [10, -1, 7],
            "nodes": [1, 1, 2],
            "gpus": [2, 1, 2],
            "pools": [1, 1, 0],
            "account": [0, 1, -1],
            "partition": [0, 0, 0],
        },
    }


def test_a_file_is_read_back_the_same() -> None:
    """The second writing equals the first; name and origin are no part of the identity."""
    instance = parse(small())
    again = loads(dumps(instance))
    assert dumps(again) == dumps(instance)
    assert again.jobs.release.tolist() == [100, 100, 120]
    assert again.priority.shares == {"y": 3}
    assert again.running.node.tolist() == [0, 1]
    assert content_hash(again) == content_hash(parse(small() | {"name": "other", "origin": {"a": 1}}))
    assert content_hash(again) != content_hash(parse(small() | {"begin": 99}))


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["jobs"]["run"].__setitem__(1, 0), "jobs.run[1]: 0 is not in 1..134217728"),
        (lambda d: d["jobs"]["run"].__setitem__(1, True), "jobs.run[1]: true is not an integer in 1..134217728"),
        (lambda d: d["jobs"]["run"].pop(), "jobs.run: 2 entries; 3 needed, one per job"),
        (lambda d: d["jobs"]["submit"].__setitem__(2, 95), "jobs.submit[2]: 95 is before the job in front of it"),
        (lambda d: d["jobs"]["id"].__setitem__(2, "1"), "jobs.id[2]: '1' is given twice"),
        (lambda d: d["jobs"]["account"].__setitem__(2, 2), "jobs.account[2]: 2 is not below 2"),
        (lambda d: d["jobs"]["pools"].__setitem__(0, 2), "jobs.pools[0]: 2 is not below 2"),
        (lambda d: d["jobs"]["nodes"].__setitem__(0, 2), "jobs.nodes[0]: 2 nodes are asked for, but b has 1 nodes"),
        (lambda d: d["jobs"]["gpus"].__setitem__(2, 3), "jobs.nodes[2]: 6 GPUs are more than the bounds of its"),
        (lambda d: d["jobs"].update(release=[99, 100, 120]), "jobs.release[0]: 99 is before the submit or"),
        (lambda d: d["quotas"][0].update(nominal=[1, 1]), "jobs.nodes[0]: 2 GPUs are more than the bounds of its"),
        (lambda d: d["running"][0].update(gpus=5), "running[0].gpus: 5 GPUs run on node 0 of a"),
        (lambda d: d["running"][0].update(end=301), "running[0].end: 301 is after 300, when node 1 closes"),
        (lambda d: d["running"][0].update(pool="c"), "running[0].pool: 'c' is not one of a, b"),
        (lambda d: d["partitions"][0].update(pools=["A"]), "partitions[0].pools[0]: 'A' is not one of a, b"),
        (lambda d: d["pools"][0]["closures"][0].update(node=2), "pools[0].closures[0].node: 2 is not below 2"),
        (lambda d: d["pools"][0].update(name="b"), "pools[1]: 'b' is given twice"),
        (lambda d: d["priority"]["shares"].update(z=1), "priority.shares.z: 'z' is not one of x, y"),
        (lambda d: d.update(judged=[5, 5]), "judged: [5, 5] is empty"),
        (lambda d: d.update(pools=64 * d["pools"]), "pools: 128 entries; 1 to 63 are allowed"),
        (lambda d: d.pop("begin"), "begin: the field is missing"),
        (lambda d: d.update(format="x"), "format: 'x' is not 'ratiobench/cluster/1'"),
    ],
)
def test_bad_input_is_named(change: Change, message: str) -> None:
    """One line with file, field and value."""
    data = small()
    change(data)
    assert refusal_of(loads, json.dumps(data), "f.json").startswith(f"f.json: {message}")


def test_costs_are_exact() -> None:
    """The four costs by their definitions, in fractions."""
    jobs = parse(small()).jobs
    start = jobs.release + np.array([3, 0, 50])
    waits = [13, 0, 50]
    assert make_costs(jobs, "wait").total(start) == sum(waits)
    assert make_costs(jobs, "wait-gpus").total(start) == 2 * 13 + 4 * 50
    assert make_costs(jobs, "wait-gpu-hours").total(start) == 2 * 5 * 13 + 4 * 7 * 50
    slowdown = Fraction(13 + 5, 10) + 1 + Fraction(50 + 7, 10)
    assert make_costs(jobs, "slowdown").total(start) == slowdown
    assert make_costs(jobs, "slowdown").mean(start) == float(slowdown / 3)
    huge = replace(make_costs(jobs, "wait"), weight=np.array([2**40, 0, 2**40]))
    assert huge.total(start + 2**33) == 2**40 * (13 + 50 + 2**34)


def test_a_generated_month_is_as_its_law_says() -> None:
    """Load, gangs, limits, days and nights; the same seed gives the same month."""
    month = generate("format", days=14)
    jobs = month.jobs
    assert content_hash(month) == content_hash(generate("format", days=14))
    assert content_hash(month) != content_hash(generate("other", days=14))
    load = (jobs.width * jobs.run).sum() / (month.capacity * 14 * DAY)
    assert 0.84 < load < 0.87
    assert set(jobs.nodes.tolist()) == {1, 2, 4, 8, 16}
    assert (jobs.limit >= jobs.run).all()
    assert np.median(jobs.limit / jobs.run) > 4
    hours = np.bincount(jobs.submit % DAY // 3600, minlength=24)
    assert hours[9:17].sum() > 3 * hours[:8].sum()
    assert loads(dumps(month)).jobs.ids == jobs.ids
    assert document(month)["origin"]["seed"] == "format"
