"""Pattern weights: what a task takes of a node, when whole tasks have to fill whole nodes.

Tasks that run on a node in a slot are a *pattern*: integers n_c of each class c of equal (s_ik, r_i) with
sum n_c s_c <= C_p and sum n_c r_c <= C_m - r_b. Weights w_c with sum n_c w_c <= 1 for every pattern give a third
capacity, K_g nodes per type and slot, that every solution of P respects. Samples and megabytes as fractions of a node
are such weights, but where few classes divide a node badly others are stronger (dual feasible functions of vector
packing). The strongest for given demands d_c solve max sum d_c w_c over all patterns: a linear programme whose rows are
found one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from formulations.backends import Limits, solve
from formulations.linear import LinearModel
from formulations.lora.pricing import PATTERN, Pool
from formulations.report import Termination
from instances.lora.model import IntArray

CLASSES = 24
"""No weights for a node type whose tasks fall into more classes."""
STEPS = 2_000_000
"""Steps of the search for the heaviest pattern; without an end there are no weights."""
_ROWS = 200
_SCALE = 2**30


class Weight(NamedTuple):
    """Pattern weight of the tasks with this rate and memory on this node type, in units of 1/PATTERN of a node."""

    kind: int
    rate: int
    memory_mb: int
    weight: int


@njit(cache=True, nogil=True)
def _heaviest(rate, memory, most, value, capacity, capacity_mb, limit, pattern):  # type: ignore[no-untyped-def]
    """The pattern of largest total value by depth-first search; classes by descending value per sample.

    Everything is an integer. Returns the value, or -1 when the search did not end within `limit` steps.
    """
    classes = len(rate)
    current = np.zeros(classes, np.int64)
    opened = np.zeros(classes, np.bool_)
    best = np.int64(-1)
    total = np.int64(0)
    room = capacity
    room_mb = capacity_mb
    level = 0
    steps = 0
    while level >= 0:
        if level == classes:
            if total > best:
                best = total
                pattern[:] = current
            level -= 1
            continue
        if not opened[level]:
            steps += 1
            if steps > limit:
                return np.int64(-1)
            # What is left of the node brings at most the present class's value per sample.
            if total + value[level] * room // rate[level] <= best:
                level -= 1
                continue
            opened[level] = True
            count = min(most[level], room // rate[level], room_mb // memory[level])
            current[level] = count
            room -= count * rate[level]
            room_mb -= count * memory[level]
            total += count * value[level]
            level += 1
            continue
        if current[level] == 0:
            opened[level] = False
            level -= 1
            continue
        current[level] -= 1
        room += rate[level]
        room_mb += memory[level]
        total -= value[level]
        level += 1
    return best


def heaviest_pattern(
    classes: Sequence[tuple[int, int]], value: IntArray, capacity: int, capacity_mb: int
) -> tuple[int, IntArray] | None:
    """(value, counts) of the heaviest pattern of classes (rate, memory), exactly; None when the search is too long."""
    rate = np.array([c[0] for c in classes], dtype=np.int64)
    memory = np.array([c[1] for c in classes], dtype=np.int64)
    if capacity * int(value.max(initial=0)) >= 2**61:
        return None
    order = np.argsort(-(value / rate), kind="stable")
    most = np.minimum(capacity // rate, capacity_mb // memory)
    found = np.zeros(len(classes), np.int64)
    # Sorting in doubles may swap near-equal ratios; the bound then uses a ratio that is too small by rounding, so the
    # ratios are made to descend exactly by lifting values: a heavier pattern than there is only weakens the weights.
    total = _heaviest(
        rate[order], memory[order], most[order], _descending(value[order], rate[order]), capacity, capacity_mb, STEPS,
        found,
    )  # fmt: skip
    if total < 0:
        return None
    counts = np.zeros(len(classes), np.int64)
    counts[order] = found
    return int(total), counts


def _descending(value: IntArray, rate: IntArray) -> IntArray:
    """Values, lifted by at most rounding so that value/rate does not increase along the list (in integers)."""
    lifted = [int(v) for v in value]
    for j in range(len(lifted) - 2, -1, -1):
        if lifted[j] * int(rate[j + 1]) < lifted[j + 1] * int(rate[j]):
            lifted[j] = -(-lifted[j + 1] * int(rate[j]) // int(rate[j + 1]))
    return np.array(lifted, dtype=np.int64)


def strongest_weights(
    classes: Sequence[tuple[int, int]], demand: Sequence[float], capacity: int, capacity_mb: int
) -> IntArray | None:
    """Weights in units of 1/PATTERN that maximise demand times weight; None when they cannot be had or proved."""
    size = len(classes)
    rows = [np.eye(size, dtype=np.int64)[j] * min(capacity // s, capacity_mb // r) for j, (s, r) in enumerate(classes)]
    weight = np.zeros(size)
    for _ in range(_ROWS):
        result = solve("highs", _programme(rows, np.asarray(demand) / max(demand)), Limits())
        if result.termination is not Termination.OPTIMAL or result.values is None:
            return None
        weight = np.maximum(result.values, 0.0)
        found = heaviest_pattern(classes, np.floor(weight * _SCALE).astype(np.int64), capacity, capacity_mb)
        if found is None:
            return None
        if found[0] <= _SCALE * (1 + 1e-6):
            break
        rows.append(found[1])
    whole = np.floor(weight * PATTERN).astype(np.int64)
    for _ in range(4):
        found = heaviest_pattern(classes, whole, capacity, capacity_mb)
        if found is None:
            return None
        if found[0] <= PATTERN:
            return whole
        whole = whole * PATTERN // found[0]
    return None


def _programme(rows: list[IntArray], demand: np.typing.NDArray[np.float64]) -> LinearModel:
    size, count = len(demand), len(rows)
    return LinearModel(
        name="weights",
        objective=demand,
        lower=np.zeros(size),
        upper=np.ones(size),
        integer=np.zeros(size, np.bool_),
        row_start=np.arange(count + 1, dtype=np.int64) * size,
        index=np.tile(np.arange(size, dtype=np.int64), count),
        value=np.concatenate(rows).astype(np.float64),
        row_lower=np.full(count, -np.inf),
        row_upper=np.ones(count),
        columns=tuple(f"w_{j}" for j in range(size)),
        rows=tuple(f"pattern_{j}" for j in range(count)),
    )


def pattern_weights(p: Pool, pooled: IntArray, price: np.typing.NDArray[np.float64]) -> tuple[Weight, ...]:
    """The strongest weights for the pooled answer where capacity has a price; empty where there are none.

    Parameters
    ----------
    pooled : (sum of widths,) local type of each task in each slot of its window, -1 for none.
    price : (3, G, T) micro-dollars per unit of size.
    """
    rent = (price * p.capacity[:, :, None]).sum(axis=0)
    tasks = np.repeat(np.arange(p.tasks), p.width)
    offset = np.arange(len(tasks)) - np.repeat(np.concatenate([[0], np.cumsum(p.width)[:-1]]), p.width)
    running = np.flatnonzero(pooled >= 0)
    entry = p.type_start[tasks[running]] + pooled[running]
    paid = rent[p.kind[entry], p.first[tasks[running]] + offset[running]]
    found: list[Weight] = []
    for g in range(len(p.nodes)):
        classes = sorted(set(zip(*(p.size[r, p.kind == g].tolist() for r in (0, 1)), strict=True)))
        demand: defaultdict[tuple[int, int], float] = defaultdict(float)
        here = np.flatnonzero(p.kind[entry] == g)
        for s, r, amount in zip(*(p.size[r, entry[here]].tolist() for r in (0, 1)), paid[here].tolist(), strict=True):
            demand[s, r] += amount
        if not 1 <= len(classes) <= CLASSES or not any(demand.values()):
            continue
        capacity, capacity_mb = int(p.compute[g]), int(p.capacity_mb[g])
        weights = strongest_weights(classes, [demand[c] for c in classes], capacity, capacity_mb)
        if weights is not None:
            found += [Weight(g, s, r, w) for (s, r), w in zip(classes, weights.tolist(), strict=True)]
    return tuple(found)


def apply_weights(p: Pool, weights: Sequence[Weight]) -> None:
    """Set the third size of the pool's entries; what has no weight keeps 0."""
    table = {(w.kind, w.rate, w.memory_mb): w.weight for w in weights}
    keys = zip(p.kind.tolist(), p.size[0].tolist(), p.size[1].tolist(), strict=True)
    p.size[2] = [table.get(key, 0) for key in keys]
