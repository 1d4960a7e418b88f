"""Feasible solutions on real nodes: pooled answers packed, then large-neighbourhood search; the best is kept.

All capacities are integers on single nodes, so whatever comes out is feasible by construction; it is verified again by
`check` all the same. Randomness is a 64-bit xorshift seeded by the caller, and what runs in parallel does so whatever
the number of threads: the same effort gives the same solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.bound.lagrangian import LAST_PENALTY, DualBound, never_over, value_density
from ratiobench.formulations.lora.bound.patterns import Patterns, node_patterns
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.heuristic import consolidation
from ratiobench.formulations.lora.heuristic.blocks import anneal, descend, insert_all
from ratiobench.formulations.lora.heuristic.consolidation import (
    consolidate,
    exchange_slots,
    find_types_without_patterns,
)
from ratiobench.formulations.lora.heuristic.insertion import (
    Workspace,
    begin,
    copy_workspace,
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
    """A solution, its welfare, and the blocks that were tried."""

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
    """A good solution: several constructions guided by the dual prices, the best of them improved.

    Constructions: the pooled answer behind the bound, packed onto nodes; insertion by value density or bid at shares of
    the dual prices; `start`.

    `effort`: units of the search that improves; more of it continues what less of it does; `enough`: a welfare at which
    to stop, None for the bound.
    """
    if p.tasks == 0:
        return Found((None,) * instance.tasks, 0, 0)
    workspace = new_workspace(p, patterns_of(p, bound), bound.rent, seed)
    rank = value_density(p)
    target = bound.upper if enough is None else enough
    best = _constructed(instance, p, bound, workspace, rank, start, over, target)
    tell(partial(solution_of_state, instance, p, best))
    improve = _anneal if p.tasks < FEW else _descend
    done = 0
    if best.welfare >= target:
        return Found(solution_of_state(instance, p, best), best.welfare, done)
    with ThreadPoolExecutor(threads) as workers:
        for state, blocks in improve(p, workspace, best, rank, effort, seed, over, workers):
            best = state
            done += blocks
            if best.welfare >= target:
                break
            tell(partial(solution_of_state, instance, p, best))
    return Found(solution_of_state(instance, p, best), best.welfare, done)


def patterns_of(p: Pool, bound: DualBound) -> tuple[Patterns | None, ...]:
    """The maximal patterns of each node type, None for a type that has too many: its free capacity is consolidated."""
    return node_patterns(p) if bound.state is None else bound.state.capacity.patterns


def warm_consolidation(p: Pool, bound: DualBound) -> None:
    """Compile by use what is needed for a type without listed patterns alone."""
    consolidation.warm(p, empty_state(p), new_workspace(p, patterns_of(p, bound), bound.rent, 1))


def warm(instance: Instance, p: Pool, bound: DualBound) -> None:
    """Compile the search by use, with both improvements: it takes one of them, by the number of tasks, or none."""
    heuristic(instance, p, bound)
    workspace = new_workspace(p, patterns_of(p, bound), bound.rent, 1)
    with ThreadPoolExecutor(1) as workers:
        for improve in (_anneal, _descend):
            next(improve(p, workspace, empty_state(p), value_density(p), 1, 1, never_over, workers))


def _constructed(
    instance: Instance,
    p: Pool,
    bound: DualBound,
    workspace: Workspace,
    rank: NDArray[np.float64],
    start: Solution | None,
    over: Callable[[], bool],
    target: int,
) -> State:
    orders = [np.argsort(-each, kind="stable") for each in (rank, p.bid.astype(np.float64))]

    def finished(s: State, order: IntArray, shares: tuple[float, ...]) -> State:
        begin(p, workspace, s)
        for share in (*shares, 0.0):
            consolidate(p, s, workspace)
            insert_all(p, s, workspace, order, share)
        return s

    best = finished(empty_state(p), orders[0], (0.5,))
    attempts: list[Callable[[], State]] = []
    if start is not None:
        attempts.append(partial(finished, state_of(instance, p, start), orders[0], ()))
    if p.tasks < FEW:
        pairs = [(order, share) for order in orders for share in (0.0, 0.5, 1.0)]
        attempts += [partial(finished, empty_state(p), order, (share,)) for order, share in pairs]
    if bound.state is not None:
        # Gathered room is filled at the full price once more before it is sold for less.
        many = consolidation.find_types_without_patterns(workspace)
        shares = (1.0, 1.0, 0.5) if many else (1.0, 0.5)
        packings = _corrected(p, workspace, bound, lambda s: finished(s, orders[0], shares))
        attempts += [partial(next, packings)] * (UNLISTED_CORRECTIONS if many else CORRECTIONS)
    for attempt in attempts:
        if best.welfare >= target or over():
            break
        best = max(best, attempt(), key=lambda state: state.welfare)
    return best


def _corrected(p: Pool, workspace: Workspace, bound: DualBound, finish: Callable[[State], State]) -> Iterator[State]:
    """Pooled answers packed onto nodes, each after the limits were cut to what the packing before could fill.

    A (type, slot) whose cells do not fit although their sum does costs whole tasks; asking for a little less there
    costs a few samples. A handful of corrections settles it.
    """
    assert bound.state is not None
    state = bound.state.by_weight()
    while True:
        s = empty_state(p)
        begin(p, workspace, s)
        pack_pooled(p, s, workspace, state.pooled)
        finish(s)
        yield s
        excess = state.used - state.count_nodes(running_cells(p, s))
        cut = np.maximum(state.used - excess, state.limit - 0.5 * excess - 0.02)
        state.limit = np.where(excess > 1e-6, np.minimum(state.limit, cut), state.limit)
        for _ in range(ANSWERS):
            state.round(FIRMNESS * LAST_PENALTY)


def _anneal(
    p: Pool, workspace: Workspace, best: State, rank: NDArray[np.float64], effort: int, seed: int,
    over: Callable[[], bool], threads: ThreadPoolExecutor,
) -> Iterator[tuple[State, int]]:  # fmt: skip
    """Pairs of annealings from the best state, each pair longer than the one before: 1, 1, 2, 4, ... units.

    The last pair stops where the effort ends, in the middle of its cooling: more effort would go on from there.
    """
    heats = [heat * float(np.median(p.bid)) for heat in HEATS]
    desks = [copy_workspace(p, workspace, seed + chain, apart=True) for chain in range(len(HEATS))]
    unit = BLOCKS + 4 * p.tasks
    chunk = CHUNK if find_types_without_patterns(workspace) else BLOCKS

    def run(workspace: Workspace, heat: float, last: int, blocks: int) -> State:
        state, best_state = copy_state(best), copy_state(best)
        begin(p, workspace, state)
        for first in range(0, last, chunk):
            if over():
                break
            consolidate(p, state, workspace)
            _fill_over_time(p, state, workspace, rank, first // chunk)
            anneal(p, state, workspace, rank, first, min(last, first + chunk), blocks, heat, best_state)
        return best_state

    for units, planned in double_steps(effort):
        if over():
            return
        found = list(threads.map(partial(run, last=units * unit, blocks=planned * unit), desks, heats))
        best = max(best, *found, key=lambda state: state.welfare)
        yield best, units * unit * len(HEATS)


def _descend(
    p: Pool, workspace: Workspace, best: State, rank: NDArray[np.float64], effort: int, seed: int,
    over: Callable[[], bool], threads: ThreadPoolExecutor,
) -> Iterator[tuple[State, int]]:  # fmt: skip
    """Blocks that lose nothing, in two parts of the day at once that share no task; where they meet changes."""
    desks = [copy_workspace(p, workspace, seed + part) for part in range(PARTS)]
    s = copy_state(best)
    begin(p, workspace, s)
    slots = p.tariff.shape[1]
    left = effort * BLOCKS_PER_TASK * p.tasks
    last = p.first + p.width
    turn = 0
    while left > 0 and not over():
        # The golden ratio spreads the places where the parts meet evenly over the middle of the day.
        quantile = 0.25 + 0.5 * ((turn * 0.6180339887498949) % 1.0)
        meet = int(np.quantile(last, quantile, method="lower"))
        spans = ((0, meet), (meet, slots))
        consolidate(p, s, workspace, turn)
        _fill_over_time(p, s, workspace, rank, turn)
        sizes = [int(((p.first >= low) & (last <= high)).sum()) for low, high in spans]
        blocks = min(left, CHUNK)
        shares = [blocks * size // max(1, sum(sizes)) for size in sizes]
        jobs = [
            threads.submit(descend, p, s, each, rank, low, high, share)
            for each, (low, high), share in zip(desks, spans, shares, strict=True)
        ]
        for job in jobs:
            job.result()
        left -= blocks
        turn += 1
        if s.welfare > best.welfare:
            best = copy_state(s)
        yield best, blocks


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
