"""Sets of started jobs hold an optimum, and what is left out is bounded: tiny logs without nodes."""

import numpy as np
import pytest

from ratiobench.formulations.cluster.bound import PlainAscent, make_borders, queue_prices
from ratiobench.formulations.cluster.enumerate import enumerate_optimum
from ratiobench.formulations.cluster.search import Search
from ratiobench.formulations.cluster.solve import solve
from ratiobench.formulations.cluster.states import StateSearch, fits
from ratiobench.formulations.cluster.tables import Problem
from ratiobench.formulations.report import Proof, Status
from ratiobench.instances.cluster.format import parse
from ratiobench.instances.cluster.model import COSTS, Instance, make_costs
from ratiobench.instances.io.seeds import Stream
from tests.support.tiny_clusters import BEGIN, make_tiny


def _flat(number: int) -> Instance:
    """Two to six jobs on a pool of processors, of which some are held at the beginning; some jobs are equal."""
    stream = Stream("states", number)
    processors = stream.integer(1, 4)
    jobs = stream.integer(2, (6, 4, 4, 3)[processors - 1])
    running = [
        {
            "pool": "cpu",
            "nodes": [node],
            "gpus": 1,
            "start": BEGIN - 5,
            "end": BEGIN + stream.integer(1, 7),
            "limit": -1,
        }
        for node in range(processors)
        if stream.integer(0, 2) == 0
    ]
    columns = {
        "id": [f"j{j}" for j in range(jobs)],
        "submit": sorted(BEGIN + stream.integer(-4, 8) for _ in range(jobs)),
        "run": [stream.integer(1, 4) + 8 * stream.integer(0, 1) for _ in range(jobs)],
        "nodes": [stream.integer(1, processors) for _ in range(jobs)],
        "gpus": [1] * jobs,
        "pools": [0] * jobs,
    }
    top = {"format": "ratiobench/cluster/1", "name": "flat", "begin": BEGIN, "partitions": [], "pool_sets": [[0]]}
    return parse(
        top | {"pools": [{"name": "cpu", "nodes": processors, "gpus": 1}], "running": running, "jobs": columns}
    )


def _check_instances(low: int, high: int) -> None:
    for number in range(low, high):
        instance, cost = _flat(number), COSTS[number % len(COSTS)]
        optimum, _ = enumerate_optimum(instance, make_costs(instance.jobs, cost))
        problem = Problem(instance, make_costs(instance.jobs, cost))
        search = Search(problem)
        search.decode(problem.release)
        borders = make_borders(problem, 1 + number % 3, int((search.best.start + problem.run).max()), moments=False)
        ascent = PlainAscent(problem, borders)
        ascent.begin_from(queue_prices(problem, search.best.start, search.best.pool, borders))
        ascent.climb(10 * (number % 5), 0.3, 0.3)
        states, base = StateSearch(problem, ascent), float(problem.base.sum())
        least = float(optimum) - base
        for width in (1, 2, 1000):
            lowest, start = states.search(search.cost - base + 1, width, bool)
            assert lowest <= least + 1e-6, (number, width)
            if start is not None:
                assert problem.costs.total(start) >= optimum
        assert start is not None
        assert problem.costs.total(start) == optimum
        assert lowest == pytest.approx(least)
        assert states.search(least - 1e-6, 1000, bool) == (least - 1e-6, None)


def test_states_hold_an_optimum_on_tiny_instances() -> None:
    _check_instances(0, 60)


@pytest.mark.nightly
def test_states_hold_an_optimum_on_many_tiny_instances() -> None:
    _check_instances(60, 3000)


def test_few_jobs_on_processors_are_proved_by_states() -> None:
    stream = Stream("states", "queue")
    columns = {
        "id": [f"j{j}" for j in range(20)],
        "submit": np.sort(stream.integers(0, 4000, 20)).tolist(),
        "run": stream.integers(1, 4000, 20).tolist(),
        "nodes": stream.integers(1, 8, 20).tolist(),
        "gpus": [1] * 20,
        "pools": [0] * 20,
    }
    top = {"format": "ratiobench/cluster/1", "name": "queue", "begin": 0, "pool_sets": [[0]]}
    instance = parse(top | {"pools": [{"name": "cpu", "nodes": 8, "gpus": 1}], "jobs": columns})
    report = solve(instance, "wait")
    assert (report.status, report.proof) == (Status.OPTIMAL, Proof.DYNAMIC_PROGRAMMING)


def test_only_a_single_pool_of_processors_fits() -> None:
    assert fits(_flat(0))
    assert not fits(make_tiny("solve", 3))
