"""Feasible solutions on real nodes: pooled answers packed, then large-neighbourhood search; the best is kept.

What runs in parallel does so whatever the number of threads: the same effort and seed give the same solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.bound.lagrangian import (
    LAST_PENALTY,
    DualBound,
    Multipliers,
    never_over,
    value_density,
)
from ratiobench.formulations.lora.bound.patterns import Patterns, node_patterns
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.heuristic import consolidation
from ratiobench.formulations.lora.heuristic.blocks import anneal, descend
from ratiobench.formulations.lora.heuristic.consolidation import (
    consolidate,
    exchange_slots,
    find_types_without_patterns,
)
from ratiobench.formulations.lora.heuristic.insertion import (
    Workspace,
    begin,
    copy_workspace,
    insert_all,
    new_workspace,
    pack_pooled,
)
from ratiobench.formulations.lora.heuristic.state import (
    State,
    copy_state,
    empty_state,
    running_cells,
    solution_of_state,
    state_of,
)
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Solution

FEW = 1_000  # Below this many tasks more constructions are tried, and the search is an annealing; else a descent
# Packings of the pooled answer, with capacities corrected between them; more where patterns are not known
CORRECTIONS, UNLISTED_CORRECTIONS = 8, 12
ANSWERS = 6  # Rounds of the method of multipliers between two packings
FIRMNESS = 8  # Penalty of those rounds, in units of the last one of the search for prices
BLOCKS_PER_TASK = 20  # Ruin-and-recreate blocks of a descent per unit of effort and task
CHUNK = 2_000  # Blocks of a descent between two looks at the clock, and of any search between two gatherings over time
BLOCKS = 4_000  # Blocks of an annealing per unit of effort, plus four per task
HEATS = (0.02, 0.05)  # First temperatures of the annealings side by side, as fractions of the median bid
PARTS = 2  # Parts of the day that are improved side by side


class Found(NamedTuple):
    solution: Solution
    welfare: int
    blocks: int


Tell = Callable[[Callable[[], Solution]], None]


def ignore_solution(_: Callable[[], Solution]) -> None:
    """Tell no one: the `tell` of a search whose solutions on the way nobody wants."""


def heuristic(
    instance: Instance,
    p: Pool,
    bound: DualBound,
    effort: int = 1,
    seed: int = 1,
    start: Solution | None = None,
    over: Callable[[], bool] = never_over,
    enough: int | None = None,
    tell: Tell = ignore_solution,
    threads: int = 2,
) -> Found:
    """A good solution: several constructions guided by the dual prices, the best of them improved up to `enough`."""
    if p.tasks == 0:
        return Found((None,) * instance.tasks, 0, 0)
    target = bound.upper if enough is None else enough
    search = _Search(instance, p, bound, effort, seed, over)
    best = search.construct(start, target)
    with ThreadPoolExecutor(threads) as workers:
        steps = search.anneal(best, workers) if p.tasks < FEW else search.descend(best, workers)
        return follow(instance, p, best, steps, target, tell)


def follow(
    instance: Instance, p: Pool, best: State, steps: Iterator[tuple[State, int]], target: int, tell: Tell
) -> Found:
    """Improve the best state by steps, which give the next one and the blocks that it took, up to the target."""
    done = 0
    tell(partial(solution_of_state, instance, p, best))
    while best.welfare < target and (step := next(steps, None)) is not None:
        best, done = step[0], done + step[1]
        tell(partial(solution_of_state, instance, p, best))
    return Found(solution_of_state(instance, p, best), best.welfare, done)


def patterns_of(p: Pool, bound: DualBound) -> tuple[Patterns | None, ...]:
    """The maximal patterns of each node type, None for a type that has too many: its free capacity is consolidated."""
    return node_patterns(p) if bound.state is None else bound.state.capacity.patterns


def warm_consolidation(p: Pool, bound: DualBound) -> None:
    consolidation.warm(p, empty_state(p), new_workspace(p, patterns_of(p, bound), bound.rent, 1))


def warm(instance: Instance, p: Pool, bound: DualBound) -> None:
    """Compile the search by use, with both improvements: it takes one of them, by the number of tasks, or none."""
    heuristic(instance, p, bound)
    search = _Search(instance, p, bound, 1, 1, never_over)
    with ThreadPoolExecutor(1) as workers:
        for improve in (search.anneal, search.descend):
            next(improve(empty_state(p), workers))


class _Search:
    def __init__(
        self, instance: Instance, p: Pool, bound: DualBound, effort: int, seed: int, over: Callable[[], bool]
    ) -> None:
        self.instance, self.pool, self.bound, self.over = instance, p, bound, over
        self.effort, self.seed = effort, seed
        self.desk = new_workspace(p, patterns_of(p, bound), bound.rent, seed)
        self.rank = value_density(p)

    def finish(self, s: State, order: IntArray, shares: tuple[float, ...]) -> State:
        """Insert what fits at these shares of the rents, and then for nothing."""
        begin(self.pool, self.desk, s)
        for share in (*shares, 0.0):
            consolidate(self.pool, s, self.desk)
            insert_all(self.pool, s, self.desk, order, share)
        return s

    def construct(self, start: Solution | None, target: int) -> State:
        p, finish = self.pool, self.finish
        orders = [np.argsort(-each, kind="stable") for each in (self.rank, p.bid.astype(np.float64))]
        best = finish(empty_state(p), orders[0], (0.5,))
        attempts: list[Callable[[], State]] = []
        if start is not None:
            attempts.append(partial(finish, state_of(self.instance, p, start), orders[0], ()))
        if p.tasks < FEW:
            pairs = [(order, share) for order in orders for share in (0.0, 0.5, 1.0)]
            attempts += [partial(finish, empty_state(p), order, (share,)) for order, share in pairs]
        if self.bound.state is not None:
            # Gathered room is filled at the full price once more before it is sold for less.
            many = find_types_without_patterns(self.desk)
            packings = self.correct(self.bound.state, orders[0], (1.0, 1.0, 0.5) if many else (1.0, 0.5))
            attempts += [partial(next, packings)] * (UNLISTED_CORRECTIONS if many else CORRECTIONS)
        for attempt in attempts:
            if best.welfare >= target or self.over():
                break
            best = max(best, attempt(), key=lambda state: state.welfare)
        return best

    def correct(self, state: Multipliers, order: IntArray, shares: tuple[float, ...]) -> Iterator[State]:
        """Pooled answers packed onto nodes, each after the limits were cut to what the packing before could fill."""
        p, state = self.pool, state.by_weight()
        while True:
            s = empty_state(p)
            begin(p, self.desk, s)
            pack_pooled(p, s, self.desk, state.pooled)
            yield self.finish(s, order, shares)
            excess = state.used - state.count_nodes(running_cells(p, s))
            cut = np.maximum(state.used - excess, state.limit - 0.5 * excess - 0.02)
            state.limit = np.where(excess > 1e-6, np.minimum(state.limit, cut), state.limit)
            for _ in range(ANSWERS):
                state.round(FIRMNESS * LAST_PENALTY)

    def anneal(self, best: State, threads: ThreadPoolExecutor) -> Iterator[tuple[State, int]]:
        p = self.pool
        heats = [heat * float(np.median(p.bid)) for heat in HEATS]
        desks = [copy_workspace(p, self.desk, self.seed + chain, apart=True) for chain in range(len(HEATS))]
        chunk = CHUNK if find_types_without_patterns(self.desk) else BLOCKS

        def run(best: State, last: int, blocks: int, desk: Workspace, heat: float) -> State:
            state, best_state = copy_state(best), copy_state(best)
            begin(p, desk, state)
            for first in range(0, last, chunk):
                if self.over():
                    break
                consolidate(p, state, desk)
                _fill_over_time(p, state, desk, self.rank, first // chunk)
                anneal(p, state, desk, self.rank, first, min(last, first + chunk), blocks, heat, best_state)
            return best_state

        return anneal_side_by_side(best, run, desks, heats, BLOCKS + 4 * p.tasks, self.effort, self.over, threads)

    def descend(self, best: State, threads: ThreadPoolExecutor) -> Iterator[tuple[State, int]]:
        """Blocks that lose nothing, in two parts of the day at once that share no task; where they meet changes."""
        p = self.pool
        desks = [copy_workspace(p, self.desk, self.seed + part) for part in range(PARTS)]
        s = copy_state(best)
        begin(p, self.desk, s)
        left, last, turn = self.effort * BLOCKS_PER_TASK * p.tasks, p.first + p.width, 0
        while left > 0 and not self.over():
            # The golden ratio spreads the places where the parts meet evenly over the middle of the day.
            quantile = 0.25 + 0.5 * ((turn * 0.6180339887498949) % 1.0)
            meet = int(np.quantile(last, quantile, method="lower"))
            spans = ((0, meet), (meet, p.tariff.shape[1]))
            consolidate(p, s, self.desk, turn)
            _fill_over_time(p, s, self.desk, self.rank, turn)
            sizes = [int(((p.first >= low) & (last <= high)).sum()) for low, high in spans]
            blocks = min(left, CHUNK)
            shares = [blocks * size // max(1, sum(sizes)) for size in sizes]
            jobs = [
                threads.submit(descend, p, s, each, self.rank, low, high, share)
                for each, (low, high), share in zip(desks, spans, shares, strict=True)
            ]
            for job in jobs:
                job.result()
            left -= blocks
            turn += 1
            if s.welfare > best.welfare:
                best = copy_state(s)
            yield best, blocks


def anneal_side_by_side(
    best: State, run: Callable[..., State], desks: Sequence[Workspace], heats: Sequence[float], unit: int, effort: int,
    over: Callable[[], bool], threads: ThreadPoolExecutor,
) -> Iterator[tuple[State, int]]:  # fmt: skip
    """Annealings from the best state, those of a step longer than the ones before: 1, 1, 2, 4, ... units.

    The last ones stop where the effort ends, in the middle of their cooling: more effort would go on from there.
    `run`: (best, blocks, blocks planned, desk, heat), the best state of an annealing.
    """
    for units, planned in double_steps(effort):
        if over():
            return
        found = list(threads.map(partial(run, best, units * unit, planned * unit), desks, heats))
        best = max(best, *found, key=lambda state: state.welfare)
        yield best, units * unit * len(heats)


def _fill_over_time(p: Pool, s: State, workspace: Workspace, rank: NDArray[np.float64], turn: int) -> None:
    """Gather free capacity over time where patterns are not known, and admit tasks to it, some of many in turns."""
    if find_types_without_patterns(workspace):
        exchange_slots(p, s, workspace, turn)
        consolidate(p, s, workspace, turn)
        parts = 1 + p.tasks // consolidation.AT_ONCE
        order = np.argsort(-rank, kind="stable")[turn % parts :: parts]
        for share in (1.0, 0.5, 0.0):
            insert_all(p, s, workspace, order, share)


def double_steps(total: int) -> Iterator[tuple[int, int]]:
    """(done, planned) for 1, 1, 2, 4, ...: the last one is cut so that what is done adds up to `total`."""
    done = 0
    while done < total:
        planned = max(1, done)
        part = min(planned, total - done)
        yield part, planned
        done += part
