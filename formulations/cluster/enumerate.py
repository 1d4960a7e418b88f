"""OPT by looking at everything: every order of the jobs, every set of nodes for each. For tiny instances.

Costs never fall with time, so some best schedule starts each job, in the order of starts, at the earliest second at
which its nodes are free. Best-fit nodes alone do not contain one. It shares nothing with the bounds and the searches.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import comb, factorial, lcm

import numpy as np

from ratiobench.instances.cluster.model import Costs, Instance, Schedule

WAYS_LIMIT = 2_000_000  # Most pairs of an order and places of all jobs

Span = tuple[int, int, int]  # start, end, GPUs in use


def count_ways(instance: Instance) -> int:
    """Count the pairs of an order and places of all jobs; more than WAYS_LIMIT are not counted to the end."""
    ways = factorial(min(len(instance.jobs), 20))
    for j in range(len(instance.jobs)):
        ways *= len(_places(instance, j)) if ways <= WAYS_LIMIT else 1
    return ways


def _places(instance: Instance, j: int) -> list[tuple[int, tuple[int, ...]]]:
    """Pool and nodes of all places of a job; the first is enough to know where there are too many."""
    jobs, first = instance.jobs, instance.first_node.tolist()
    places: list[tuple[int, tuple[int, ...]]] = []
    for q, pool in enumerate(instance.pools):
        if jobs.allowed[j, q] and pool.gpus >= jobs.gpus[j] and pool.nodes >= jobs.nodes[j]:
            if comb(pool.nodes, int(jobs.nodes[j])) > WAYS_LIMIT:
                raise ValueError(f"job {j} has more than {WAYS_LIMIT} places")
            nodes = range(first[q], first[q + 1])
            places += [(q, chosen) for chosen in combinations(nodes, int(jobs.nodes[j]))]
    return places


def enumerate_optimum(instance: Instance, costs: Costs) -> tuple[Fraction, Schedule]:
    """Return OPT and a schedule that attains it; ValueError if there are too many orders and places."""
    if count_ways(instance) > WAYS_LIMIT:
        raise ValueError(f"more than {WAYS_LIMIT} orders and places of {len(instance.jobs)} jobs")
    jobs, running, size = instance.jobs, instance.running, instance.node_gpus.tolist()
    unit = lcm(*costs.unit.tolist())
    busy: list[list[Span]] = [[] for _ in size]
    for node, start, end, _ in instance.closures.tolist():
        busy[node].append((start, end, size[node]))
    held = np.repeat(np.arange(len(running)), running.nodes).tolist()
    for i, node in zip(held, running.node.tolist(), strict=True):
        busy[node].append((instance.begin, int(running.end[i]), int(running.gpus[i])))
    places = [_places(instance, j) for j in range(len(jobs))]
    columns = (costs.low, costs.weight, costs.add, costs.submit, costs.unit)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))

    def cost(j: int, start: int) -> int:
        low, weight, add, submit, part = rows[j]
        return int(max(low, weight * (start - submit) + add) * (unit // part))

    least = [cost(j, release) for j, release in enumerate(jobs.release.tolist())]
    best: tuple[int, dict[int, tuple[int, int, tuple[int, ...]]]] | None = None

    def extend(left: frozenset[int], total: int, starts: dict[int, tuple[int, int, tuple[int, ...]]]) -> None:
        nonlocal best
        if best is not None and total + sum(least[j] for j in left) >= best[0]:
            return
        if not left:
            best = total, dict(starts)
            return
        for j in sorted(left):
            run, gpus = int(jobs.run[j]), int(jobs.gpus[j])
            for pool, nodes in places[j]:
                start = _earliest(busy, size, nodes, int(jobs.release[j]), run, gpus)
                for node in nodes:
                    busy[node].append((start, start + run, gpus))
                extend(left - {j}, total + cost(j, start), starts | {j: (start, pool, nodes)})
                for node in nodes:
                    busy[node].pop()

    extend(frozenset(range(len(jobs))), 0, {})
    assert best is not None
    starts, pools, nodes = zip(*(best[1][j] for j in range(len(jobs))), strict=True) if best[1] else ((), (), ())
    chosen = (starts, pools, list(chain(*nodes)))
    return Fraction(best[0], unit), Schedule(*(np.array(column, dtype=np.int64) for column in chosen))


def _earliest(busy: list[list[Span]], size: list[int], nodes: tuple[int, ...], start: int, run: int, gpus: int) -> int:
    """Return the first second from `start` on, the end of a span if it is later, at which the nodes have the GPUs."""
    ends = {start, *(end for node in nodes for _, end, _ in busy[node] if end > start)}
    return next(s for s in sorted(ends) if all(_fits(busy[node], size[node] - gpus, s, s + run) for node in nodes))


def _fits(spans: list[Span], room: int, start: int, end: int) -> bool:
    """Whether at most `room` GPUs are in use in [start, end)."""
    moments = [start, *(a for a, _, _ in spans if start < a < end)]
    return all(sum(gpus for a, b, gpus in spans if a <= moment < b) <= room for moment in moments)
