"""Bounds against brute force on random tiny instances of tenants: ``python -m tests.tools.tenants_bounds [number]``.

For every instance: what the dual bound proves, at good prices and at drawn ones, is at most OPT; every valid schedule
costs at least OPT; exact methods give OPT; a certificate is accepted, and one with a changed price is computed again:
refused where it claims what its prices do not prove.
"""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.dual import Prices
from ratiobench.formulations.tenants.local_search import Search, anneal, rebuild
from ratiobench.formulations.tenants.subsets import enumerate_optimum, subsets_optimum
from ratiobench.formulations.tenants.tables import solution_of, tables
from ratiobench.formulations.tenants.verify import Certificate, bound, cost, document, verify
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.tenants.format import FORMAT, content_hash, parse
from ratiobench.instances.tenants.model import Instance

NUMBER = 2_000


def tiny(seed: int) -> Instance:
    """A random instance of at most five jobs, with releases where the seed is odd."""
    stream = Stream("tenants bounds", seed)
    n, types = stream.integer(0, 5), stream.integer(1, 2)
    most = 2 if n < 5 else 1

    def one_of(*options: int) -> int:
        return options[stream.integer(0, len(options) - 1)]

    jobs: list[dict[str, Any]] = [
        {
            "release": one_of(0, 0, 2, 5) if seed % 2 else 0,
            "deadline": stream.integer(0, 11),
            "cost_sensitivity": one_of(0, 20, 50, 100),
            "run": stream.integers(1, 6, types).tolist(),
        }
        for _ in range(n)
    ]
    return parse(
        {
            "format": FORMAT,
            "name": f"tiny{seed}",
            "tick_seconds": 1,
            "gpu_types": [
                {"name": f"t{k}", "count": stream.integer(1, most), "price": stream.integer(0, 4)} for k in range(types)
            ],
            "theta": stream.integer(0, 3),
            "late_penalty": stream.integer(0, 5),
            "jobs": sorted(jobs, key=lambda job: job["release"]),
        }
    )


@dataclass(slots=True)
class Found:
    """Counts over all instances, and the least bound over OPT."""

    exact: int = 0
    refused: int = 0
    worst: float = 1.0


def examine(seed: int, found: Found) -> None:
    """Every claim about the instance of the seed; AssertionError names what does not hold."""
    instance, stream = tiny(seed), Stream("tenants bounds, drawn", seed)
    problem = tables(instance)
    opt, best = enumerate_optimum(instance)
    assert check(instance, best).value == opt == cost(instance, best), seed
    value, schedule = subsets_optimum(problem)
    assert value == opt == check(instance, schedule).value, seed
    prices = Prices(problem)
    if instance.jobs:
        prices.ascend(max(1, opt), 150, 0.3, 1.0)
        found_by_search(problem, stream, opt)
    assert prices.bound <= opt, (seed, prices.bound, opt)
    good = tuple(prices.pi.tolist())
    assert bound(instance, good) == prices.bound, seed
    for _ in range(3):
        drawn = stream.integers(0, 3000, instance.jobs)
        assert bound(instance, tuple(drawn.tolist())) == prices.judge(drawn) <= opt, (seed, drawn)
    found.exact += prices.bound == opt
    found.worst = min(found.worst, prices.bound / opt if opt else 1.0)
    written = document(Certificate(content_hash(instance), good, prices.bound, opt, best))
    assert verify(instance, written).valid, seed
    for j in range(instance.jobs):
        other = tuple(x + (i == j) * stream.integer(1, 500) for i, x in enumerate(good))
        proved = bound(instance, other)
        assert proved <= opt, (seed, other)
        forged = document(Certificate(content_hash(instance), other, prices.bound, opt, best))
        assert verify(instance, forged).valid == (proved == prices.bound), seed
        found.refused += proved != prices.bound


def found_by_search(problem: Any, stream: Stream, opt: int) -> None:
    """Drawn list schedules and what local search makes of them cost at least OPT."""
    search = Search(problem)
    order = np.argsort(stream.words(problem.jobs), kind="stable")
    queues = search.build_list_schedule(order)
    for each in (
        queues,
        search.cool(partial(rebuild, 3), queues, 0, 50, 1.0, 0.1),
        search.cool(anneal, queues, 0, 300, 1.0, 0.1),
    ):
        report = check(problem.instance, solution_of(problem, each))
        assert (report.valid, report.cost >= opt) == (True, True), report


if __name__ == "__main__":
    total = Found()
    number = int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER
    for each in range(number):
        examine(each, total)
    print(f"{number} instances: no violation; the bound is OPT in {total.exact}, at worst {total.worst:.3f} of it;")
    print(f"{total.refused} certificates with a changed price refused")
