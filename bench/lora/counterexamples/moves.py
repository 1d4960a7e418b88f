"""Random sketches, and what a search may change in one: a number, a task, a window, a node, a slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, menu
from ratiobench.instances.io.seeds import Stream


class RandomNumbers:
    """Integers from a named stream, with the number of words taken, so that a search can be taken up again.

    `skip`: words that have been taken before.
    """

    __slots__ = ("_buffer", "_stream", "used")
    _SIZE = 512

    def __init__(self, *names: str | int, skip: int = 0) -> None:
        self._stream = Stream(*names)
        self._buffer: list[int] = []
        self.used = skip
        while skip > 0:
            skip -= len(self._stream.words(min(skip, 1 << 16)))

    def draw_below(self, n: int) -> int:
        """Uniform on 0..n-1, exactly."""
        limit = 2**64 // n * n
        while True:
            if not self._buffer:
                self._buffer = self._stream.words(self._SIZE).tolist()[::-1]
            self.used += 1
            word: int = self._buffer.pop()
            if word < limit:
                return word % n

    def draw_between(self, low: int, high: int) -> int:
        """Uniform on low..high."""
        return low + self.draw_below(high - low + 1)

    def draw_magnitude(self, high: int) -> int:
        """1..high, every number of binary digits equally likely."""
        digits = self.draw_below(high.bit_length())
        return min(high, self.draw_between(1 << digits, (2 << digits) - 1))


class Bounds(NamedTuple):
    """What a sketch may hold."""

    tasks: int  # tasks, slots, nodes, largest: at most so many, and no larger number
    slots: int
    nodes: int
    largest: int
    costs: int | None  # least operational cost; None for no costs
    vendors: bool  # tasks may need one


def is_within(sketch: TinyInstance, bounds: Bounds) -> bool:
    """Whether no number is above `largest`."""
    if any(max(kind.compute, kind.memory) > bounds.largest for kind in sketch.kinds):
        return False
    return all(max(job.bid, job.work, job.memory) <= bounds.largest for job in sketch.jobs)


def draw_start(draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A random sketch within the bounds; most tasks have work for whole windows."""
    slots = draws.draw_between(1, bounds.slots)
    kinds: list[Kind] = []
    left = draws.draw_between(1, bounds.nodes)
    while left and len(kinds) < 3:
        count = draws.draw_between(1, left)
        kinds.append(Kind(count, draws.draw_magnitude(bounds.largest), draws.draw_magnitude(bounds.largest)))
        left -= count
    jobs = [_job(draws, bounds, slots, tuple(kinds)) for _ in range(draws.draw_between(1, bounds.tasks))]
    return TinyInstance(slots, tuple(kinds), tuple(sorted(jobs, key=lambda job: job.arrival)))


def _job(draws: RandomNumbers, bounds: Bounds, slots: int, kinds: tuple[Kind, ...]) -> Job:
    arrival = 1 if draws.draw_below(2) else draws.draw_between(1, slots)
    deadline = draws.draw_between(arrival, slots)
    rates = tuple(draws.draw_magnitude(kind.compute) if draws.draw_below(8) else 0 for kind in kinds)
    fastest, width = max(1, *rates), deadline - arrival + 1
    work = fastest * (width if draws.draw_below(2) else draws.draw_between(1, width))
    if not draws.draw_below(4):
        work = max(1, work - draws.draw_below(fastest))
    costs: tuple[tuple[int, ...], ...] = ()
    if bounds.costs is not None and draws.draw_below(2):
        costs = tuple(tuple(_cost(draws, bounds) for _ in range(slots)) for _ in kinds)
    vendors: tuple[tuple[int, int], ...] = ()
    if bounds.vendors and not draws.draw_below(3):
        vendors = tuple((draws.draw_below(9), draws.draw_below(2)) for _ in range(draws.draw_between(1, 2)))
    memory = draws.draw_magnitude(max(kind.memory for kind in kinds))
    return Job(arrival, deadline, memory, work, draws.draw_magnitude(bounds.largest), rates, costs, vendors)


def _cost(draws: RandomNumbers, bounds: Bounds) -> int:
    if bounds.costs is not None and bounds.costs < 0 and not draws.draw_below(4):
        return -draws.draw_between(1, -bounds.costs)
    return draws.draw_below(9) if draws.draw_below(2) else 0


def raise_bids(sketch: TinyInstance) -> TinyInstance:
    """The same with bids raised until every minimal schedule has bbar >= 1."""
    jobs = tuple(
        job._replace(bid=job.bid + its.short) if (its := menu(sketch, job)).short > 0 else job for job in sketch.jobs
    )
    return sketch._replace(jobs=jobs)


def _ordered(sketch: TinyInstance, jobs: list[Job]) -> TinyInstance:
    return sketch._replace(jobs=tuple(sorted(jobs, key=lambda job: job.arrival)))


def _new_number(draws: RandomNumbers, old: int, low: int, high: int) -> int:
    """Another number in low..high: one step, twice, half, or anything."""
    how = draws.draw_below(6)
    new = old + 1 if how == 0 else old - 1 if how == 1 else 2 * old if how == 2 else old // 2
    if how >= 4:
        new = draws.draw_magnitude(max(1, high))
    return max(low, min(high, new))


def _with(sketch: TinyInstance, i: int, job: Job) -> TinyInstance:
    return sketch._replace(jobs=(*sketch.jobs[:i], job, *sketch.jobs[i + 1 :]))


def _number(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i = draws.draw_below(len(sketch.jobs))
    job = sketch.jobs[i]
    what = draws.draw_below(4)
    if what == 0:
        return _with(sketch, i, job._replace(bid=_new_number(draws, job.bid, 0, bounds.largest)))
    if what == 1:
        top = max(kind.memory for kind in sketch.kinds)
        return _with(sketch, i, job._replace(memory=_new_number(draws, job.memory, 1, top)))
    if what == 2:
        return _with(sketch, i, job._replace(work=_new_number(draws, job.work, 1, bounds.largest)))
    g = draws.draw_below(len(job.rates))
    rate = _new_number(draws, job.rates[g], 0 if len(job.rates) > 1 else 1, sketch.kinds[g].compute)
    new = job._replace(rates=(*job.rates[:g], rate, *job.rates[g + 1 :]))
    if job.rates[g] and draws.draw_below(2):
        # Keep the number of slots that the task needs.
        new = new._replace(work=max(1, -(-job.work // job.rates[g]) * max(1, rate)))
    return _with(sketch, i, new)


def _scaled(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A task twice or half (or some other small fraction) as large in everything."""
    i = draws.draw_below(len(sketch.jobs))
    job = sketch.jobs[i]
    up, down = ((2, 1), (1, 2), (3, 2), (2, 3), (3, 1), (1, 3), (4, 3), (5, 4))[draws.draw_below(8)]

    def by(value: int) -> int:
        return -(-value * up // down)

    rates = tuple(min(by(rate), kind.compute) for rate, kind in zip(job.rates, sketch.kinds, strict=True))
    top = max(kind.memory for kind in sketch.kinds)
    return _with(
        sketch, i, job._replace(memory=min(by(job.memory), top), work=by(job.work), bid=by(job.bid), rates=rates)
    )


def _window(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i = draws.draw_below(len(sketch.jobs))
    job = sketch.jobs[i]
    arrival = draws.draw_between(1, sketch.slots)
    deadline = draws.draw_between(arrival, sketch.slots)
    if draws.draw_below(3):
        fixed = draws.draw_below(2)
        arrival, deadline = (
            (job.arrival, max(deadline, job.arrival)) if fixed else (min(arrival, job.deadline), job.deadline)
        )
    new = job._replace(arrival=arrival, deadline=deadline)
    if draws.draw_below(2):
        new = new._replace(work=max(1, *job.rates) * (deadline - arrival + 1))
    jobs = [*sketch.jobs]
    jobs[i] = new
    return _ordered(sketch, jobs)


def _tight(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """The least bid with bbar >= 1."""
    i = draws.draw_below(len(sketch.jobs))
    job = sketch.jobs[i]
    return _with(sketch, i, job._replace(bid=max(0, job.bid + menu(sketch, job).short)))


def _added(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """One more task: a copy, or a new one."""
    if len(sketch.jobs) >= bounds.tasks:
        return sketch
    if draws.draw_below(3):
        job = sketch.jobs[draws.draw_below(len(sketch.jobs))]
    else:
        job = _job(draws, bounds, sketch.slots, sketch.kinds)
    jobs = [*sketch.jobs]
    jobs.insert(draws.draw_below(len(jobs) + 1), job)
    return _ordered(sketch, jobs)


def _removed(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    if len(sketch.jobs) < 2:
        return sketch
    i = draws.draw_below(len(sketch.jobs))
    return sketch._replace(jobs=(*sketch.jobs[:i], *sketch.jobs[i + 1 :]))


def _replaced(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A task becomes a copy of another one, or a new one."""
    i = draws.draw_below(len(sketch.jobs))
    jobs = [*sketch.jobs]
    jobs[i] = (
        jobs[draws.draw_below(len(jobs))] if draws.draw_below(3) else _job(draws, bounds, sketch.slots, sketch.kinds)
    )
    return _ordered(sketch, jobs)


def _split(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A task becomes two of half the size (rates, memory, work, bid)."""
    if len(sketch.jobs) >= bounds.tasks:
        return sketch
    i = draws.draw_below(len(sketch.jobs))
    job = sketch.jobs[i]
    half = job._replace(
        memory=-(-job.memory // 2), work=-(-job.work // 2), bid=-(-job.bid // 2),
        rates=tuple(-(-rate // 2) for rate in job.rates),
    )  # fmt: skip
    return sketch._replace(jobs=(*sketch.jobs[:i], half, half, *sketch.jobs[i + 1 :]))


def _swapped(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """Two neighbours that arrive in one slot change places."""
    if len(sketch.jobs) < 2:
        return sketch
    i = draws.draw_below(len(sketch.jobs) - 1)
    jobs = [*sketch.jobs]
    jobs[i], jobs[i + 1] = jobs[i + 1], jobs[i]
    return _ordered(sketch, jobs)


def _platform(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """Another capacity: a step, twice, half, or a small multiple of what a task takes."""
    g = draws.draw_below(len(sketch.kinds))
    kind = sketch.kinds[g]
    job = sketch.jobs[draws.draw_below(len(sketch.jobs))]
    if draws.draw_below(2):
        compute = _new_number(draws, kind.compute, 1, bounds.largest)
        if draws.draw_below(2):
            compute = max(1, min(bounds.largest, draws.draw_between(1, 8) * job.rates[g]))
        kind = kind._replace(compute=compute)
    else:
        memory = _new_number(draws, kind.memory, 1, bounds.largest)
        if draws.draw_below(2):
            memory = min(bounds.largest, draws.draw_between(1, 8) * job.memory)
        kind = kind._replace(memory=memory)
    return sketch._replace(kinds=(*sketch.kinds[:g], kind, *sketch.kinds[g + 1 :]))


def _slots(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A slot more or fewer; windows up to the last slot grow or shrink with it, and work with them."""
    if draws.draw_below(2):
        if sketch.slots >= bounds.slots:
            return sketch
        longer = draws.draw_below(2)
        jobs = []
        for job in sketch.jobs:
            costs = tuple((*row, row[-1]) for row in job.costs)
            grown = job._replace(costs=costs)
            if longer and job.deadline == sketch.slots:
                width = job.deadline - job.arrival + 1
                grown = grown._replace(deadline=job.deadline + 1, work=-(-job.work * (width + 1) // width))
            jobs.append(grown)
        return TinyInstance(sketch.slots + 1, sketch.kinds, tuple(jobs))
    return remove_slot(sketch, draws.draw_between(1, sketch.slots), bool(draws.draw_below(2)))


def remove_slot(sketch: TinyInstance, slot: int, shorten: bool) -> TinyInstance:
    """The sketch without one slot; tasks that had only it go; `shorten`: work of the others falls in proportion."""
    if sketch.slots == 1:
        return sketch
    jobs = []
    for job in sketch.jobs:
        width = job.deadline - job.arrival + 1
        inside = job.arrival <= slot <= job.deadline
        if inside and width == 1:
            continue
        work = -(-job.work * (width - 1) // width) if inside and shorten else job.work
        bid = -(-job.bid * (width - 1) // width) if inside and shorten else job.bid
        jobs.append(
            job._replace(
                arrival=job.arrival - (job.arrival > slot),
                deadline=job.deadline - (job.deadline >= slot),
                work=work,
                bid=bid,
                costs=tuple((*row[: slot - 1], *row[slot:]) for row in job.costs),
            )
        )
    return TinyInstance(sketch.slots - 1, sketch.kinds, tuple(jobs)) if jobs else sketch


def _nodes(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A node more or fewer of some kind."""
    g = draws.draw_below(len(sketch.kinds))
    kind = sketch.kinds[g]
    if draws.draw_below(2):
        if sketch.nodes >= bounds.nodes:
            return sketch
        kind = kind._replace(nodes=kind.nodes + 1)
        return sketch._replace(kinds=(*sketch.kinds[:g], kind, *sketch.kinds[g + 1 :]))
    return remove_node(sketch, g)


def remove_node(sketch: TinyInstance, g: int) -> TinyInstance:
    """The sketch with one node of the kind fewer."""
    kind = sketch.kinds[g]
    if kind.nodes > 1:
        fewer = kind._replace(nodes=kind.nodes - 1)
        return sketch._replace(kinds=(*sketch.kinds[:g], fewer, *sketch.kinds[g + 1 :]))
    if len(sketch.kinds) == 1:
        return sketch
    jobs = tuple(
        job._replace(rates=job.rates[:g] + job.rates[g + 1 :], costs=job.costs[:g] + job.costs[g + 1 :])
        for job in sketch.jobs
    )
    return TinyInstance(sketch.slots, sketch.kinds[:g] + sketch.kinds[g + 1 :], jobs)


def _costs(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """Another operational cost in one cell, or none at all."""
    if bounds.costs is None:
        return sketch
    i = draws.draw_below(len(sketch.jobs))
    job = sketch.jobs[i]
    if job.costs and not draws.draw_below(4):
        return _with(sketch, i, job._replace(costs=()))
    rows = [[*row] for row in job.costs] or [[0] * sketch.slots for _ in sketch.kinds]
    g, t = draws.draw_below(len(rows)), draws.draw_below(sketch.slots)
    rows[g][t] = _cost(draws, bounds)
    return _with(sketch, i, job._replace(costs=tuple(tuple(row) for row in rows)))


def _vendors(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    if not bounds.vendors:
        return sketch
    i = draws.draw_below(len(sketch.jobs))
    count = draws.draw_below(3)
    vendors = tuple((draws.draw_below(9), draws.draw_below(2)) for _ in range(count))
    return _with(sketch, i, sketch.jobs[i]._replace(vendors=vendors))


def _finer(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """Finer units: all numbers two or three times as large, which leaves alpha, beta, bbar and ratios as they are."""
    return _by(sketch, draws.draw_between(2, 3), 1)


def _coarser(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """Coarser units: all numbers a half or a third, rounded up."""
    return _by(sketch, 1, draws.draw_between(2, 3))


def _by(sketch: TinyInstance, up: int, down: int) -> TinyInstance:
    def by(value: int) -> int:
        return -(-value * up // down)

    jobs = tuple(
        job._replace(
            memory=by(job.memory),
            work=by(job.work),
            bid=by(job.bid),
            rates=tuple(by(rate) for rate in job.rates),
            costs=tuple(tuple(by(cost) for cost in row) for row in job.costs),
            vendors=tuple((by(price), delay) for price, delay in job.vendors),
        )
        for job in sketch.jobs
    )
    return TinyInstance(
        sketch.slots, tuple(Kind(kind.nodes, by(kind.compute), by(kind.memory)) for kind in sketch.kinds), jobs
    )


def _alike(before: TinyInstance, after: TinyInstance) -> TinyInstance:
    if len(before.jobs) != len(after.jobs) or before.kinds != after.kinds:
        return after
    pairs = [(old, new) for old, new in zip(before.jobs, after.jobs, strict=True) if old != new]
    if len(pairs) != 1 or pairs[0][0].arrival != pairs[0][1].arrival:
        return after
    old, new = pairs[0]
    return after._replace(jobs=tuple(new if job == old else job for job in after.jobs))


Move = Callable[[TinyInstance, RandomNumbers, Bounds], TinyInstance]
_MOVES: tuple[Move, ...] = (
    _number, _number, _number, _number, _scaled, _scaled, _window, _window, _tight, _tight, _added, _removed, _replaced,
    _split, _swapped, _platform, _platform, _platform, _slots, _nodes, _costs, _vendors, _finer,
    _coarser,
)  # fmt: skip


def apply_random_move(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """The sketch after one random move (which may find nothing to do)."""
    after = _MOVES[draws.draw_below(len(_MOVES))](sketch, draws, bounds)
    return _alike(sketch, after) if draws.draw_below(2) else after


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """What makes a witness small, in this order: tasks, slots, nodes, kinds, vendors and costs, sum of all numbers."""

    tasks: int
    slots: int
    nodes: int
    kinds: int
    extras: int
    total: int


def measure_size(sketch: TinyInstance) -> Size:
    """How large a sketch is."""
    total = sum(kind.compute + kind.memory for kind in sketch.kinds)
    extras = 0
    for job in sketch.jobs:
        total += job.memory + job.work + job.bid + sum(job.rates) + job.deadline - job.arrival
        total += sum(abs(cost) for row in job.costs for cost in row) + sum(q + h for q, h in job.vendors)
        extras += bool(job.costs) + len(job.vendors)
    return Size(len(sketch.jobs), sketch.slots, sketch.nodes, len(sketch.kinds), extras, total)
