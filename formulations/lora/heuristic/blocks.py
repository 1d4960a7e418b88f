"""Ruin and recreate: the compiled search of `improve`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled_in_place, draw_below, draw_unit, inlined, sort_few
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.heuristic.insertion import Workspace, insert, put_back, remove, revert
from ratiobench.formulations.lora.heuristic.state import State, copy_into
from ratiobench.instances.lora.model import IntArray

MOST = 3  # Most tasks removed by one block of a descent
MOST_HOT = 6  # Most tasks removed by one block of an annealing


def descend(p: Pool, s: State, d: Workspace, rank: NDArray[np.float64], low: int, high: int, blocks: int) -> None:
    """Blocks that lose nothing, among the tasks whose windows lie in low .. high-1."""
    if low < high:
        b = _new_block(p, MOST)
        _search(p, s, d, b, rank, low, high, MOST, 0, blocks, 1, 0.0, False, s)


def anneal(
    p: Pool,
    s: State,
    d: Workspace,
    rank: NDArray[np.float64],
    first: int,
    last: int,
    blocks: int,
    heat: float,
    best_state: State,
) -> None:
    """Blocks first .. last-1 of an annealing of `blocks`; the best state is written to `best_state`."""
    b, slots = _new_block(p, MOST_HOT), p.tariff.shape[1]
    _search(p, s, d, b, rank, 0, slots, MOST_HOT, first, last, blocks, heat, True, best_state)


@inlined
def chance(loss):  # type: ignore[no-untyped-def]
    """About exp(-loss), in products only, which every machine rounds alike: (1 - loss/4)^4 up to 4, then 0."""
    base = max(0.0, 1.0 - 0.25 * loss)
    return (base * base) * (base * base)


class _Block(NamedTuple):
    """Scratch of one block: the tasks it touches and how they were."""

    task: IntArray
    option: IntArray
    net: IntArray
    place: IntArray
    key: NDArray[np.float64]
    moves: IntArray
    order: IntArray
    listed: IntArray


def _new_block(p: Pool, most: int) -> _Block:
    size = 2 * most + 2
    task, option, net, moves, order, listed = (np.empty(size, np.int64) for _ in range(6))
    place = np.empty((size, int(p.width.max(initial=1))), np.int64)
    return _Block(task, option, net, place, np.empty(size), moves, order, listed)


@inlined
def _ruin(p, s, d, b, rank, low, high, most):  # type: ignore[no-untyped-def]
    """Remove up to `most` tasks of a random moment; list them and some rejected ones in the order of insertion."""
    count = 0
    removed = 0
    added = 0
    change = 0
    share = 0.0
    t0 = low + draw_below(d.seed, high - low)
    size = d.start[t0 + 1] - d.start[t0]
    if size > 0:
        want = 1 + draw_below(d.seed, most)
        for _ in range(6 * most):
            i = d.members[d.start[t0] + draw_below(d.seed, size)]
            seen = p.first[i] < low or p.first[i] + p.width[i] > high
            for j in range(count):
                if b.task[j] == i:
                    seen = True
            if seen:
                continue
            if s.option[i] >= 0:
                if removed >= want:
                    continue
                removed += 1
            else:
                if added > most:
                    continue
                added += 1
            b.task[count] = i
            b.option[count] = s.option[i]
            b.net[count] = s.net[i]
            for t in range(p.width[i]):
                b.place[count, t] = s.place[d.at[i] + t]
            count += 1
        for j in range(count):
            change -= b.net[j]
            if b.option[j] >= 0:
                remove(p, s, d, b.task[j])
        spread = 0.2 + 0.8 * draw_unit(d.seed)
        for j in range(count):
            b.key[j] = -rank[b.task[j]] * (1.0 + spread * (draw_unit(d.seed) - 0.5))
        share = 1.2 * draw_unit(d.seed)
        if draw_unit(d.seed) < 0.3:
            share = 0.0
        sort_few(b.key, count, b.order)
        for a in range(count):
            b.listed[a] = b.task[b.order[a]]
    return count, change, share


@inlined
def _settle(p, s, d, b, count, change, temperature):  # type: ignore[no-untyped-def]
    """The change of welfare after the insertion; 0 when it was taken back, `change` being that of the removals."""
    for j in range(count):
        change += s.net[b.task[j]]
    if change < 0 and not (temperature > 0 and draw_unit(d.seed) < chance(-change / temperature)):
        # Backwards, since whoever came later may have moved who was there before.
        for a in range(count - 1, -1, -1):
            j = b.order[a]
            if s.option[b.task[j]] >= 0:
                remove(p, s, d, b.task[j])
            revert(p, s, d, b.moves[j])
        for j in range(count):
            if b.option[j] >= 0:
                put_back(p, s, d, b.task[j], b.option[j], b.net[j], b.place[j])
        change = 0
    return change


@compiled_in_place
def _search(p, s, d, b, rank, low, high, most, first, last, planned, heat, apart, best_state):  # type: ignore[no-untyped-def]
    """Blocks first .. last-1 of `planned`."""
    welfare = 0
    best = 0
    for i in range(len(s.net)):
        welfare += s.net[i]
        best += best_state.net[i]
    for block in range(first, last):
        count, change, share = _ruin(p, s, d, b, rank, low, high, most)
        d.used[0] = 0
        for a in range(count):
            b.moves[b.order[a]] = d.used[0]
            if s.option[b.listed[a]] < 0:
                insert(p, s, d, b.listed[a], share, True)
        welfare += _settle(p, s, d, b, count, change, heat * (1.0 - block / planned))
        if apart and welfare > best:
            best = welfare
            copy_into(s, best_state)
