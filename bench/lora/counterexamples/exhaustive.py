"""Searches all instances of a bounded size, a proof by enumeration; docs/theory/exact-search.md has the bounds."""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, compress, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.family.capabilities import SearchSettings
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance
from ratiobench.bench.theory.search import Found, Measure
from ratiobench.instances.io.errors import InputError

FloatArray = NDArray[np.float64]
MOST = 1_000_000  # Most instances of a space that are looked at without a bound that leaves groups out
LARGEST = 40  # The largest `largest` of a space


class Shape(NamedTuple):
    """A task without its window: bid, rate, memory, work, and the slots that it needs."""

    bid: int
    rate: int
    memory: int
    work: int
    cells: int


Shapes = tuple[Shape, ...]


class Space(NamedTuple):
    tasks: int
    slots: int
    nodes: int
    largest: int

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
        total, groups = 0, Counter((shape.rate, shape.memory, shape.cells) for shape in shapes)
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
        # States: by the last arrival, and the last of the slots that are covered from the first on.
        total, states = 0, Counter({(1, 0): 1})
        for _ in range(self.tasks):
            after: Counter[tuple[int, int]] = Counter()
            for (last, end), number in states.items():
                for arrival in range(last, end + 2):
                    for deadline in range(arrival, slots + 1):
                        after[arrival, max(end, deadline)] += number * fitting[deadline - arrival + 1]
            states = after
            total += sum(number for (_, end), number in states.items() if end == slots)
        return total


class Bound(NamedTuple):
    """What a claim proves of groups of instances in which every task is worth its schedule's compute and memory."""

    # (space, shapes, more): no instance with the first of these shapes first, the others in any order behind it, and at
    # most `more` tasks besides, has a larger score.
    of_tasks: Callable[[Space, Shapes, int], Fraction]
    # (shapes, table of more shapes, most): the same of these shapes and one of the table, for each, in doubles, with
    # `most` for the sum of all bids but its own.
    of_tasks_roughly: Callable[[Shapes, FloatArray, int], FloatArray]
    # (shapes in their order, nodes, compute, memory, slots): the same of one platform.
    of_platform: Callable[[Shapes, Kind, int], Fraction]


class Enumeration:
    def __init__(self, space: Space, bound: Bound | None) -> None:
        self.space, self.bound = space, bound
        self.shapes = space.shapes(is_fair=bound is not None)
        # instances: those with a common divisor included; measured: those whose score was computed
        self.instances, self.measured = space.count(self.shapes), 0
        self.best: Found[TinyInstance] | None = None

    @property
    def floor(self) -> Fraction:
        return Fraction(-1) if self.best is None else self.best.measure.score

    def notes(self) -> list[str]:
        space, fair = self.space, ", every bbar is at least 1" if self.bound else ""
        return [
            f"The space: at most {space.tasks} tasks, slots {space.slots}, nodes {space.nodes} of one type, all "
            f"numbers from 1 to {space.largest}, no costs, no vendors; every task can be served alone, every slot is "
            f"in a window{fair}; {self.instances:,} instances.",
            f"A proof by enumeration for this space: the score of {self.measured:,} instances was computed, and no "
            "other one has a larger score.",
        ]

    def groups(self) -> Iterator[Shapes]:
        """A first task and those behind it, in no order: the group with the largest bound first."""
        space, shapes, bound = self.space, self.shapes, self.bound
        if bound is None:
            for number, first in product(range(space.tasks), shapes):
                yield from ((first, *rest) for rest in combinations_with_replacement(shapes, number))
            return
        # An entry is a group of at least these tasks; where it was listed whole, of exactly these.
        heap: list[tuple[Fraction, int, bool, tuple[int, ...]]] = []

        def push(indices: tuple[int, ...], is_whole: bool) -> None:
            more = 0 if is_whole else space.tasks - len(indices)
            value = bound.of_tasks(space, tuple(shapes[j] for j in indices), more)
            if value > self.floor:
                heapq.heappush(heap, (-value, -len(indices), is_whole, indices))

        table = np.array(shapes, float)
        for j in range(len(shapes)):
            push((j,), False)
        while heap:
            value, _, is_whole, indices = heapq.heappop(heap)
            if -value <= self.floor:
                return
            known = tuple(shapes[j] for j in indices)
            if is_whole:
                yield known
                continue
            push(indices, True)
            if len(indices) < space.tasks:
                start = indices[-1] if len(indices) > 1 else 0
                most = sum(shape.bid for shape in known) + (space.tasks - len(known) - 1) * space.largest
                rough = bound.of_tasks_roughly(known, table[start:], most)
                for j in np.flatnonzero(rough > float(self.floor) * (1 - 1e-9)).tolist():
                    push((*indices, start + j), False)

    def members(self, group: Shapes) -> Iterator[TinyInstance]:
        (first, *rest), end = group, self.space.largest + 1
        common = math.gcd(*(value for shape in group for value in shape[:4]))
        enough = [range(max(sizes), end) for sizes in ((s.rate for s in group), (s.memory for s in group))]
        for order in dict.fromkeys(permutations(rest)):
            shapes = (first, *order)
            for slots in range(max(shape.cells for shape in shapes), self.space.slots + 1):
                windows: list[tuple[Window, ...]] | None = None
                for kind in map(Kind._make, product(range(1, self.space.nodes + 1), *enough)):
                    if self.bound is not None:
                        if math.gcd(common, kind.compute, kind.memory) > 1:
                            continue
                        if self.bound.of_platform(shapes, kind, slots) <= self.floor:
                            continue
                    windows = list(_list_windows(shapes, slots)) if windows is None else windows
                    for chosen in windows:
                        jobs = (
                            Job(*window, shape.memory, shape.work, shape.bid, (shape.rate,))
                            for window, shape in zip(chosen, shapes, strict=True)
                        )
                        yield TinyInstance(slots, (kind,), tuple(jobs))


def search_all(
    measure: Callable[[TinyInstance, Fraction], Measure | None],
    settings: SearchSettings,
    tell: Callable[[str], None],
    bound: Bound | None = None,
    enough: Fraction | None = None,
) -> Enumeration:
    """The largest score in a bounded space; `bound`: what can be left out; `enough`: the largest possible score."""
    space = Space(settings.tasks, settings.slots, settings.nodes or 1, settings.largest)
    if space.largest > LARGEST:
        raise InputError("--largest", str(space.largest), f"is above {LARGEST}, which --exact takes at most")
    search = Enumeration(space, bound)
    if bound is None and search.instances > MOST:
        problem = f"{search.instances:,} instances, more than {MOST:,}: lower --tasks, --slots, --nodes or --largest"
        raise InputError("--exact", "", problem)
    told = time.monotonic()
    for sketch in (sketch for group in search.groups() for sketch in search.members(group)):
        search.measured += 1
        found = measure(sketch, search.floor)
        if found is not None and found.score > search.floor:
            search.best = Found(sketch, found)
        if time.monotonic() - told >= 1:
            told = time.monotonic()
            tell(f"{search.measured:,} instances, largest score so far {float(search.floor):.4f}")
        if search.floor == enough:
            break
    return search


Window = tuple[int, int]  # Arrival and deadline


def _list_windows(shapes: Shapes, slots: int, last: int = 1, end: int = 0) -> Iterator[tuple[Window, ...]]:
    """Windows in the order of arrival that cover all slots; slots up to `end` are covered."""
    if not shapes:
        if end == slots:
            yield ()
        return
    for arrival in range(last, min(end + 1, slots) + 1):
        for deadline in range(arrival + shapes[0].cells - 1, slots + 1):
            for rest in _list_windows(shapes[1:], slots, arrival, max(end, deadline)):
                yield ((arrival, deadline), *rest)


# Theorem 5: its score is OPT / (rho (1 + A) ALG).


def _theorem5_factor(shapes: Shapes) -> Fraction:
    """rho (1 + max{alpha, beta}) of instances of these tasks; no smaller with more tasks."""
    worth = [Fraction(shape.bid, shape.cells * (shape.rate + shape.memory)) for shape in shapes]
    rates, held = [shape.rate for shape in shapes], [shape.memory for shape in shapes]
    spread = max(Fraction(max(rates), min(rates)), Fraction(max(held), min(held)))
    growth = max(Fraction(shape.bid, min(shape.work, shape.memory)) for shape in shapes)
    return (1 + max(worth) / min(worth) * spread) * (1 + growth)


def _theorem5_of_tasks(space: Space, shapes: Shapes, more: int) -> Fraction:
    """OPT is at most the sum of the bids, and ALG at least the first one: all prices are 0 when that task comes."""
    most = sum(shape.bid for shape in shapes) + more * space.largest
    return most / (_theorem5_factor(shapes) * shapes[0].bid)


def _theorem5_of_tasks_roughly(shapes: Shapes, table: FloatArray, most: int) -> FloatArray:
    tasks = np.stack([*(np.broadcast_to(np.array(shape, float), table.shape) for shape in shapes), table])
    bid, rate, memory, work, cells = np.moveaxis(tasks, -1, 0)
    ranges = [each.max(0) / each.min(0) for each in (bid / (cells * (rate + memory)), rate, memory)]
    factor = (1 + ranges[0] * np.maximum(*ranges[1:])) * (1 + (bid / np.minimum(work, memory)).max(0))
    scores: FloatArray = (table[:, 0] + most) / (factor * shapes[0].bid)
    return scores


def _theorem5_of_platform(shapes: Shapes, kind: Kind, slots: int) -> Fraction:
    """OPT by the capacity of all cells together; ALG with the second task if no schedule can be too dear for it."""
    cells, most = kind.nodes * slots, 0
    for chosen in product((False, True), repeat=len(shapes)):
        taken = list(compress(shapes, chosen))
        if (
            sum(shape.cells * shape.rate for shape in taken) <= cells * kind.compute
            and sum(shape.cells * shape.memory for shape in taken) <= cells * kind.memory
        ):
            most = max(most, sum(shape.bid for shape in taken))
    first, *others = shapes
    least = first.bid
    for second in others[:1]:
        # Prices are those of the first task's cells, which are all alike, or 0; on another node they are 0.
        bbar = Fraction(first.bid, first.cells * (first.rate + first.memory))
        alpha = max(Fraction(shape.bid, shape.work) for shape in shapes)
        beta = max(Fraction(shape.bid, shape.memory) for shape in shapes)
        lam = alpha * bbar * Fraction(first.rate, kind.compute)
        phi = beta * bbar * Fraction(first.memory, kind.memory)
        cost = second.cells * (second.rate * lam + second.memory * phi)
        has_room = first.rate + second.rate <= kind.compute and first.memory + second.memory <= kind.memory
        if kind.nodes > 1 or (has_room and cost < second.bid):
            least += second.bid
    return most / (_theorem5_factor(shapes) * least)


# By claim: what can be left out
BOUNDS = {"theorem5": Bound(_theorem5_of_tasks, _theorem5_of_tasks_roughly, _theorem5_of_platform)}
