"""No prices prove more than OPT: tiny instances, all kinds of prices, against an enumeration of orders and nodes."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from ratiobench.formulations.cluster.bound import (
    ClassAscent,
    PlainAscent,
    Tree,
    class_grid,
    classify,
    make_borders,
    queue_prices,
)
from ratiobench.formulations.cluster.certificate import Branch, Certificate, PriceRow, make_claim
from ratiobench.formulations.cluster.check import check
from ratiobench.formulations.cluster.enumerate import enumerate_optimum
from ratiobench.formulations.cluster.search import Search
from ratiobench.formulations.cluster.tables import Problem
from ratiobench.formulations.cluster.verify import bound
from ratiobench.instances.cluster.format import content_hash
from ratiobench.instances.cluster.model import COSTS, Instance, make_costs
from ratiobench.instances.io.seeds import Stream
from tests.support.tiny_clusters import make_tiny

SCALE = 1 << 30


def _priced(
    instance: Instance,
    cost: str,
    ascent: ClassAscent,
    leaves: Sequence[NDArray[np.float64]],
    branches: Sequence[Branch] = (),
) -> Certificate:
    """A certificate without a schedule at the prices of leaves, rounded to integers."""
    grid, classes = ascent.grid, ascent.classes.tolist()
    bounds = list(zip(grid.offset[:-1].tolist(), grid.offset[1:].tolist(), strict=True))
    rows = [
        PriceRow(classes[int(grid.job[z])], int(grid.pool[z]), int(grid.first[z]), integers[low:high], leaf)
        for leaf, integers in enumerate(np.round(prices * SCALE).astype(int).tolist() for prices in leaves)
        for z, (low, high) in enumerate(bounds)
    ]
    return make_claim(
        instance=content_hash(instance), cost=cost, scale=SCALE, borders=grid.borders.tolist(), classes=classes,
        rows=rows, branches=list(branches),
    )  # fmt: skip


def _check_branches(instance: Instance, cost: str, ascent: ClassAscent, optimum: Fraction, stream: Stream) -> None:
    """Check the bound of a tree of branches, of which the last one is anywhere."""
    tree = Tree(ascent, 1)
    root = tree.bound
    while len(tree.leaves) < 5 and tree.split():
        pass
    prices, branches = [leaf.prices for leaf in tree.leaves], list(tree.branches)
    proved = Fraction(bound(instance, _priced(instance, cost, ascent, prices, branches)), SCALE)
    assert max(root, tree.bound) <= proved + Fraction(1, 10**5)
    assert proved <= optimum
    leaf, job = stream.integer(0, len(prices) - 1), stream.integer(0, len(instance.jobs) - 1)
    first, last = int(tree.leaves[leaf].first[job]), int(tree.leaves[leaf].last[job])
    if first < last:
        branches.append(Branch(leaf, job, stream.integer(first + 1, min(last, first + 40))))
        other = stream.integers(0, 1 << 20, len(prices[leaf])) / (1 << 20) * 2 * float(ascent.scale[0])
        assert bound(instance, _priced(instance, cost, ascent, [*prices, other], branches)) <= optimum * SCALE


def _check_instance(number: int) -> tuple[float, float]:
    """Check bounds and schedules of one tiny instance; return OPT beyond waits nobody can avoid, and the best bound."""
    instance, stream = make_tiny("bound", number), Stream("bound", number)
    cost = COSTS[number % len(COSTS)]
    problem = Problem(instance, make_costs(instance.jobs, cost))
    optimum, schedule = enumerate_optimum(instance, problem.costs)
    assert check(instance, schedule, cost).cost == optimum
    search = Search(problem)
    for keys in (problem.release, problem.release + problem.run, problem.run):
        search.decode(keys)
    search.tune(((0.5, 1.0, -1.0),))
    search.perturb(5)
    search.improve(3, len(problem), 20)
    report = check(instance, search.schedule(), cost)
    assert report.cost is not None
    assert report.cost >= optimum
    assert float(report.cost) == pytest.approx(search.cost)
    seconds, period = stream.integer(1, 5), stream.integer(0, 3)
    borders = make_borders(problem, seconds, int(problem.release.max()) + stream.integer(1, 30), bool(number % 2))
    plain, plan = PlainAscent(problem, borders), search.schedule()
    plain.begin_from(queue_prices(problem, plan.start, plan.pool, borders))
    assert plain.bound <= float(optimum) * (1 + 1e-9) + 1e-6
    classes = classify(problem, period)
    until = problem.release + problem.run + stream.integer(1, 20)
    grid = class_grid(problem, borders, classes, until)
    scale = np.full(len(grid.first), float(problem.slope.mean()) * 2)
    prices = stream.integers(0, 1 << 20, int(grid.offset[-1])) / (1 << 20) * scale[0]
    if number % 3:
        prices *= stream.integers(0, 1, len(prices))
    ascent = ClassAscent(problem, grid, prices, scale, classes)
    best = Fraction(-1)
    for rounds in (0, 1, 5, 30):
        if rounds:
            ascent.climb(rounds, 0.3, 0.3)
        ascent.prices = ascent.best.copy()
        value = ascent.evaluate()
        proved = bound(instance, _priced(instance, cost, ascent, [ascent.prices]))
        assert Fraction(proved, SCALE) <= optimum, (number, cost, rounds)
        # The kernel's value is the checker's, but for roundings (and whole seconds, to which the checker rounds up).
        assert value <= proved / SCALE + 1e-5, (number, cost, rounds)
        best = max(best, Fraction(proved, SCALE))
    _check_branches(instance, cost, ascent, optimum, stream)
    return float(optimum - best), float(optimum - Fraction(float(problem.base.sum())))


def _check_instances(low: int, high: int) -> None:
    pairs = [_check_instance(number) for number in range(low, high)]
    # Not by being worth nothing: on the whole at least half of what OPT waits is proved.
    assert sum(gap for gap, _ in pairs) < 0.5 * sum(most for _, most in pairs)


def test_no_bound_exceeds_opt_on_tiny_instances() -> None:
    _check_instances(0, 200)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_no_bound_exceeds_opt_on_many_tiny_instances(block: int) -> None:
    _check_instances(200 + 500 * block, 700 + 500 * block)
