"""The search of all instances of a bounded size: the provably largest score of a claim, or ratio of an algorithm.

The space. Up to `tasks` tasks, `slots` slots and `nodes` nodes of one type. Compute and free memory of a node, and the
rate, memory, work and bid of every task are integers from 1 to `largest`. No costs, no vendors. Every task could be
served if it were alone, and every slot lies in the window of some task. Tasks are in the order of their arrival; those
that arrive in one slot are tried in every order.

What is left out, and why nothing is lost. Instances in which all numbers have a common divisor, where the score does
not depend on units (`Bound.scale_free`). Groups of instances of which a `Bound` proves that none has a larger score
than one that was found: groups are taken in the order of this bound, and the search ends when the largest bound left is
no larger than the largest score found. The score of every other instance is computed exactly. So the result is a proof
by enumeration for this space, and says nothing of larger instances.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.family.capabilities import SearchSettings
from ratiobench.bench.lora.counterexamples.targets import Measure, Target, measure_tiny
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance
from ratiobench.instances.io.errors import InputError

FloatArray = NDArray[np.float64]
MOST = 1_000_000  # Most instances of a space that are looked at without a bound that leaves groups out
LARGEST = 40  # The largest `largest` of a space


Window = tuple[int, int]  # Arrival and deadline


class Shape(NamedTuple):
    """A task without its window: bid, rate, memory, work, and the slots that it needs."""

    bid: int
    rate: int
    memory: int
    work: int
    cells: int


class Space(NamedTuple):
    """The space of instances; see the module."""

    tasks: int
    slots: int
    nodes: int
    largest: int

    def __str__(self) -> str:
        return (
            f"at most {self.tasks} tasks, slots {self.slots}, nodes {self.nodes} of one type, all numbers from 1 to "
            f"{self.largest}, no costs, no vendors; every task can be served alone, every slot is in a window"
        )

    def shapes(self, is_fair: bool) -> list[Shape]:
        """All tasks without windows; `is_fair`: only those worth as much as compute and memory of their schedule."""
        numbers = range(1, self.largest + 1)
        found = (
            Shape(bid, rate, memory, work, -(-work // rate))
            for bid, rate, memory, work in product(numbers, repeat=4)
            if work <= rate * self.slots and (not is_fair or -(-work // rate) * (rate + memory) <= bid)
        )
        return sorted(found, reverse=True)

    def count(self, shapes: list[Shape]) -> int:
        """The number of instances, those with a common divisor included."""
        total = 0
        groups: dict[tuple[int, int, int], int] = {}
        for shape in shapes:
            key = shape.rate, shape.memory, shape.cells
            groups[key] = groups.get(key, 0) + 1
        for compute, memory in product(range(1, self.largest + 1), repeat=2):
            by_cells = [0] * (self.slots + 1)
            for (rate, held, cells), number in groups.items():
                if rate <= compute and held <= memory:
                    by_cells[cells] += number
            fitting = [sum(by_cells[: width + 1]) for width in range(self.slots + 1)]
            total += sum(self._count_windows(slots, fitting) for slots in range(1, self.slots + 1))
        return self.nodes * total

    def _count_windows(self, slots: int, fitting: list[int]) -> int:
        """Lists of tasks whose windows cover all slots; `fitting[w]`: tasks that a window of w slots is enough for."""
        total, states = (
            0,
            {(1, 0): 1},
        )  # by the last arrival, and the last of the slots that are covered from the first on
        for _ in range(self.tasks):
            after: dict[tuple[int, int], int] = {}
            for (last, end), number in states.items():
                for arrival in range(last, end + 2):
                    for deadline in range(arrival, slots + 1):
                        key = arrival, max(end, deadline)
                        after[key] = after.get(key, 0) + number * fitting[deadline - arrival + 1]
            states = after
            total += sum(number for (_, end), number in states.items() if end == slots)
        return total


class Bound(NamedTuple):
    """What a target proves of groups of instances."""

    is_fair: bool  # the target applies only where every task is worth as much as compute and memory of its schedule
    scale_free: bool  # all numbers may be divided by a common divisor
    # (space, shapes, more): no instance with the first of these shapes first, the others in any order behind it, and at
    # most `more` tasks besides, has a larger score.
    of_tasks: Callable[[Space, tuple[Shape, ...], int], Fraction]
    # (shapes, table of more shapes, most): the same of these shapes and one of the table, for each, in doubles, with
    # `most` for the sum of all bids but its own.
    of_tasks_roughly: Callable[[tuple[Shape, ...], FloatArray, int], FloatArray]
    # (shapes in their order, nodes, compute, memory, slots): the same of one platform.
    of_platform: Callable[[tuple[Shape, ...], Kind, int], Fraction]


class Exhausted(NamedTuple):
    """The result."""

    space: Space  # what was enumerated
    # best, measure: an instance with the largest score; None where the target applies to none.
    best: TinyInstance | None
    measure: Measure | None
    instances: int  # in the space, those with a common divisor included
    measured: int  # instances whose score was computed; none of the others has a larger one than `best`
    is_fair: bool  # only tasks that are worth as much as compute and memory of their schedule are in the space

    def notes(self) -> list[str]:
        """What was enumerated, in words."""
        return [
            f"The space: {self.space}{', every bbar is at least 1' if self.is_fair else ''}; "
            f"{self.instances:,} instances.",
            f"A proof by enumeration for this space: the score of {self.measured:,} instances was computed, and no "
            "other one has a larger score.",
        ]


class _Floor:
    """The largest score found so far, which the enumeration reads while it goes on."""

    def __init__(self) -> None:
        self.score = Fraction(-1)


def search_all(
    target: Target,
    settings: SearchSettings,
    tell: Callable[[str], None],
    bound: Bound | None = None,
    enough: Fraction | None = None,
) -> Exhausted:
    """The largest score of a target among all instances of a bounded size; of several such instances, the first one.

    `settings`: `tasks`, `slots`, `nodes` (None: 1) and `largest`; the others do not matter; `tell`: called with a line
    about the progress, about once a second; `bound`: what can be left out; None: nothing.
    """
    space = Space(settings.tasks, settings.slots, settings.nodes or 1, settings.largest)
    if space.largest > LARGEST:
        raise InputError("--largest", str(space.largest), f"is above {LARGEST}, which --exact takes at most")
    is_fair = bound is not None and bound.is_fair
    shapes = space.shapes(is_fair)
    instances = space.count(shapes)
    if bound is None and instances > MOST:
        raise InputError(
            "--exact", "", f"{instances:,} instances, more than {MOST:,}: lower --tasks, --slots, --nodes or --largest"
        )
    best: TinyInstance | None = None
    measure: Measure | None = None
    measured = 0
    floor = _Floor()
    told = time.monotonic()
    for group in _groups(space, shapes, bound, floor):
        for sketch in _instances(space, group, bound, floor):
            measured += 1
            found = measure_tiny(target, sketch, floor.score)
            if found is not None and found.score > floor.score:
                best, measure, floor.score = sketch, found, found.score
            if measured % 64 == 0 and time.monotonic() - told >= 1:
                told = time.monotonic()
                tell(f"{measured:,} instances, largest score so far {float(floor.score):.4f}")
            if floor.score == enough:
                return Exhausted(space, best, measure, instances, measured, is_fair)
    return Exhausted(space, best, measure, instances, measured, is_fair)


def _groups(space: Space, shapes: list[Shape], bound: Bound | None, floor: _Floor) -> Iterator[tuple[Shape, ...]]:
    """A first task and those behind it, in no order: the group with the largest bound first."""
    if bound is None:
        for number in range(1, space.tasks + 1):
            for first in shapes:
                yield from ((first, *rest) for rest in _multisets(shapes, number - 1, 0))
        return
    # An entry is a group of at least these tasks; where it was listed whole, of exactly these.
    heap: list[tuple[Fraction, int, bool, tuple[int, ...]]] = []

    def push(indices: tuple[int, ...], is_whole: bool) -> None:
        more = 0 if is_whole else space.tasks - len(indices)
        value = bound.of_tasks(space, tuple(shapes[j] for j in indices), more)
        if value > floor.score:
            heapq.heappush(heap, (-value, -len(indices), is_whole, indices))

    table = np.array(shapes, float)
    for j in range(len(shapes)):
        push((j,), False)
    while heap:
        value, _, is_whole, indices = heapq.heappop(heap)
        if -value <= floor.score:
            return
        if is_whole:
            yield tuple(shapes[j] for j in indices)
            continue
        push(indices, True)
        if len(indices) < space.tasks:
            known, start = tuple(shapes[j] for j in indices), indices[-1] if len(indices) > 1 else 0
            most = sum(shape.bid for shape in known) + (space.tasks - len(known) - 1) * space.largest
            rough = bound.of_tasks_roughly(known, table[start:], most)
            for j in np.flatnonzero(rough > float(floor.score) * (1 - 1e-9)).tolist():
                push((*indices, start + j), False)


def _multisets(shapes: list[Shape], number: int, first: int) -> Iterator[tuple[Shape, ...]]:
    if number == 0:
        yield ()
        return
    for j in range(first, len(shapes)):
        yield from ((shapes[j], *rest) for rest in _multisets(shapes, number - 1, j))


def _instances(space: Space, group: tuple[Shape, ...], bound: Bound | None, floor: _Floor) -> Iterator[TinyInstance]:
    numbers = range(1, space.largest + 1)
    first, *rest = group
    common = math.gcd(*(value for shape in group for value in shape[:4]))
    for order in dict.fromkeys(permutations(rest)):
        shapes = (first, *order)
        for slots in range(max(shape.cells for shape in shapes), space.slots + 1):
            windows: list[tuple[Window, ...]] | None = None
            for nodes, compute, memory in product(range(1, space.nodes + 1), numbers, numbers):
                if compute < max(shape.rate for shape in shapes) or memory < max(shape.memory for shape in shapes):
                    continue
                kind = Kind(nodes, compute, memory)
                if bound is not None:
                    if bound.scale_free and math.gcd(common, compute, memory) > 1:
                        continue
                    if bound.of_platform(shapes, kind, slots) <= floor.score:
                        continue
                windows = list(_windows(shapes, slots)) if windows is None else windows
                for chosen in windows:
                    jobs = tuple(
                        Job(arrival, deadline, shape.memory, shape.work, shape.bid, (shape.rate,))
                        for shape, (arrival, deadline) in zip(shapes, chosen, strict=True)
                    )
                    yield TinyInstance(slots, (kind,), jobs)


def _windows(
    shapes: tuple[Shape, ...], slots: int, last: int = 1, end: int = 0
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Windows in the order of arrival that cover all slots; slots up to `end` are covered."""
    if not shapes:
        if end == slots:
            yield ()
        return
    for arrival in range(last, min(end + 1, slots) + 1):
        for deadline in range(arrival + shapes[0].cells - 1, slots + 1):
            for rest in _windows(shapes[1:], slots, arrival, max(end, deadline)):
                yield ((arrival, deadline), *rest)


# Theorem 5: its score is OPT / (rho (1 + A) ALG).


def _theorem5_factor(shapes: tuple[Shape, ...]) -> Fraction:
    """rho (1 + max{alpha, beta}) of instances of these tasks; no smaller with more tasks."""
    worth = [Fraction(shape.bid, shape.cells * (shape.rate + shape.memory)) for shape in shapes]
    rates, held = [shape.rate for shape in shapes], [shape.memory for shape in shapes]
    spread = max(Fraction(max(rates), min(rates)), Fraction(max(held), min(held)))
    growth = max(Fraction(shape.bid, min(shape.work, shape.memory)) for shape in shapes)
    return (1 + max(worth) / min(worth) * spread) * (1 + growth)


def _theorem5_of_tasks(space: Space, shapes: tuple[Shape, ...], more: int) -> Fraction:
    """OPT is at most the sum of the bids, and ALG at least the first one: all prices are 0 when that task comes."""
    most = sum(shape.bid for shape in shapes) + more * space.largest
    return Fraction(most) / (_theorem5_factor(shapes) * shapes[0].bid)


def _theorem5_of_tasks_roughly(shapes: tuple[Shape, ...], table: FloatArray, most: int) -> FloatArray:
    bid, rate, memory, work, cells = table.T
    known = np.array(shapes, float).T
    worth, others = bid / (cells * (rate + memory)), known[0] / (known[4] * (known[1] + known[2]))
    spread = np.maximum(worth, others.max()) / np.minimum(worth, others.min())
    ranges = [
        np.maximum(one, other.max()) / np.minimum(one, other.min())
        for one, other in ((rate, known[1]), (memory, known[2]))
    ]
    growth = np.maximum(bid / np.minimum(work, memory), (known[0] / np.minimum(known[3], known[2])).max())
    result: FloatArray = (bid + most) / ((1 + spread * np.maximum(*ranges)) * (1 + growth) * shapes[0].bid)
    return result


def _theorem5_of_platform(shapes: tuple[Shape, ...], kind: Kind, slots: int) -> Fraction:
    """OPT by the capacity of all cells together; ALG with the second task, where no schedule can be too dear for it.

    Prices are those of the first task's cells, which are all alike, or 0; on another node they are 0.
    """
    factor = _theorem5_factor(shapes)
    cells = kind.nodes * slots
    most = 0
    for chosen in product((0, 1), repeat=len(shapes)):
        taken = [shape for shape, is_in in zip(shapes, chosen, strict=True) if is_in]
        if (
            sum(shape.cells * shape.rate for shape in taken) <= cells * kind.compute
            and sum(shape.cells * shape.memory for shape in taken) <= cells * kind.memory
        ):
            most = max(most, sum(shape.bid for shape in taken))
    least = shapes[0].bid
    if len(shapes) > 1:
        first, second = shapes[:2]
        has_room = (
            kind.nodes > 1
            or (first.rate + second.rate <= kind.compute and first.memory + second.memory <= kind.memory)
        )  # fmt: skip
        bbar = Fraction(first.bid, first.cells * (first.rate + first.memory))
        alpha = max(Fraction(shape.bid, shape.work) for shape in shapes)
        beta = max(Fraction(shape.bid, shape.memory) for shape in shapes)
        lam = alpha * bbar * Fraction(first.rate, kind.compute)
        phi = beta * bbar * Fraction(first.memory, kind.memory)
        cost = second.cells * (second.rate * lam + second.memory * phi)
        if has_room and (kind.nodes > 1 or cost < second.bid):
            least += second.bid
    return Fraction(most) / (factor * least)


THEOREM5 = Bound(True, True, _theorem5_of_tasks, _theorem5_of_tasks_roughly, _theorem5_of_platform)
BOUNDS = {"theorem5": THEOREM5}  # By claim: what can be left out
