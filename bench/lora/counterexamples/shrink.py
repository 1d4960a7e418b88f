"""A smaller sketch that still violates a claim, or comes as close: fewest tasks, then slots, nodes, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from ratiobench.bench.lora.counterexamples.moves import (
    Bounds,
    RandomNumbers,
    Size,
    apply_random_move,
    measure_size,
    remove_node,
    remove_slot,
)
from ratiobench.bench.lora.counterexamples.targets import Target, measure_tiny
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance

POLISH = 4000  # Random changes that shrinking tries after the systematic ones, where the target does not say how many
SHRINKING = 40_000  # Most sketches that one shrinking measures, where the target does not say it


def shrink(target: Target, sketch: TinyInstance, score: Fraction, names: tuple[str | int, ...]) -> TinyInstance:
    """The smallest sketch found that still violates the claim, or whose score is still `score` at least.

    First every task, slot and node is left out that can be, and every number made smaller, until nothing helps; then
    random changes look for a smaller one still, `polish` of the target in a row without success. No
    more than `shrinking` sketches are measured.
    """
    first = measure_tiny(target, sketch)
    violating = first is not None and first.violated
    left, polish = target.shrinking or SHRINKING, target.polish or POLISH

    def good(other: TinyInstance) -> bool:
        nonlocal left
        if left == 0:
            return False
        left -= 1
        measure = measure_tiny(target, other, Fraction(0))
        return measure is not None and (measure.violated if violating else measure.score >= score)

    sketch = _systematically(sketch, good)
    draws = RandomNumbers(*names, target.name)
    patience = polish
    while patience and left:
        patience -= 1
        limit = measure_size(sketch)
        bounds = Bounds(limit.tasks, limit.slots, limit.nodes, 2**40, target.costs, target.vendors)
        other = sketch
        for _ in range(1 + draws.draw_below(4)):
            other = apply_random_move(other, draws, bounds)
        if other.jobs and measure_size(other) < limit and good(other):
            sketch = _systematically(other, good)
            patience = polish
    return sketch


def _systematically(sketch: TinyInstance, good: Callable[[TinyInstance], bool]) -> TinyInstance:
    """Smaller sketches one after the other, the largest steps first, until none is good."""
    limit = measure_size(sketch)
    again = True
    while again:
        again = False
        for other in _smaller(sketch):
            measured_size: Size = measure_size(other)
            if measured_size < limit and good(other):
                sketch, limit, again = other, measured_size, True
                break
    return sketch


def _smaller(sketch: TinyInstance) -> Iterator[TinyInstance]:
    """Sketches with something less: tasks, slots, nodes, vendors, costs; then single numbers, then two at once."""
    jobs = sketch.jobs
    if len(jobs) > 1:
        for i in range(len(jobs)):
            yield sketch._replace(jobs=(*jobs[:i], *jobs[i + 1 :]))
    for slot in range(1, sketch.slots + 1):
        for shorten in (True, False):
            yield remove_slot(sketch, slot, shorten)
    for g in range(len(sketch.kinds)):
        yield remove_node(sketch, g)
    for i, job in enumerate(jobs):
        for less in (job._replace(costs=()), job._replace(vendors=()), job._replace(vendors=job.vendors[:1])):
            yield sketch._replace(jobs=(*jobs[:i], less, *jobs[i + 1 :]))
    flat = _numbers(sketch)
    for divisor in (2, 3, 5):
        if all(value % divisor == 0 for value, _ in flat):
            yield _rebuilt(sketch, [value // divisor for value, _ in flat])
    for j, (value, low) in enumerate(flat):
        for less_value in dict.fromkeys((low, value // 2, value - 1)):
            if low <= less_value < value:
                yield _rebuilt(sketch, [less_value if n == j else v for n, (v, _) in enumerate(flat)])
    for j, (value, low) in enumerate(flat):
        for n in range(j + 1, len(flat)):
            if value > low and flat[n][0] > flat[n][1]:
                yield _rebuilt(sketch, [v - (m in (j, n)) for m, (v, _) in enumerate(flat)])


def _numbers(sketch: TinyInstance) -> list[tuple[int, int]]:
    """(value, least value) of every number that a sketch may have smaller, in a fixed order."""
    found = [(value, 1) for kind in sketch.kinds for value in (kind.compute, kind.memory)]
    for job in sketch.jobs:
        found += [(job.memory, 1), (job.work, 1), (job.bid, 0), *((rate, 0) for rate in job.rates)]
        found += [(cost, 0) for row in job.costs for cost in row if cost > 0]
        found += [(value, 0) for vendor in job.vendors for value in vendor]
    return found


def _rebuilt(sketch: TinyInstance, values: list[int]) -> TinyInstance:
    rest = iter(values)
    kinds = tuple(Kind(kind.nodes, next(rest), next(rest)) for kind in sketch.kinds)
    jobs = []
    for job in sketch.jobs:
        memory, work, bid = next(rest), next(rest), next(rest)
        rates = tuple(next(rest) for _ in job.rates)
        costs = tuple(tuple(next(rest) if cost > 0 else cost for cost in row) for row in job.costs)
        vendors = tuple((next(rest), next(rest)) for _ in job.vendors)
        jobs.append(Job(job.arrival, job.deadline, memory, work, bid, rates, costs, vendors))
    return TinyInstance(sketch.slots, kinds, tuple(jobs))
