"""Random sketches, their random changes, and smaller sketches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, menu
from ratiobench.instances.io.seeds import RandomNumbers


class Bounds(NamedTuple):
    tasks: int  # tasks, slots, nodes, largest: at most so many, and no larger number
    slots: int
    nodes: int
    largest: int
    costs: int | None  # least operational cost; None for no costs
    vendors: bool  # tasks may need one


def is_within(sketch: TinyInstance, bounds: Bounds) -> bool:
    numbers = [value for kind in sketch.kinds for value in (kind.compute, kind.memory)]
    numbers += [value for job in sketch.jobs for value in (job.bid, job.work, job.memory)]
    return max(numbers) <= bounds.largest


def draw_start(draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    slots = draws.draw_between(1, bounds.slots)
    kinds: list[Kind] = []
    left = draws.draw_between(1, bounds.nodes)
    while left and len(kinds) < 3:
        count = draws.draw_between(1, left)
        kinds.append(Kind(count, draws.draw_magnitude(bounds.largest), draws.draw_magnitude(bounds.largest)))
        left -= count
    jobs = [_draw_job(draws, bounds, slots, tuple(kinds)) for _ in range(draws.draw_between(1, bounds.tasks))]
    return TinyInstance(slots, tuple(kinds), tuple(sorted(jobs, key=lambda job: job.arrival)))


def _draw_job(draws: RandomNumbers, bounds: Bounds, slots: int, kinds: tuple[Kind, ...]) -> Job:
    arrival = 1 if draws.draw_below(2) else draws.draw_between(1, slots)
    deadline = draws.draw_between(arrival, slots)
    rates = tuple(draws.draw_magnitude(kind.compute) if draws.draw_below(8) else 0 for kind in kinds)
    fastest, width = max(1, *rates), deadline - arrival + 1
    work = fastest * (width if draws.draw_below(2) else draws.draw_between(1, width))
    if not draws.draw_below(4):
        work = max(1, work - draws.draw_below(fastest))
    costs: tuple[tuple[int, ...], ...] = ()
    if bounds.costs is not None and draws.draw_below(2):
        costs = tuple(tuple(_draw_cost(draws, bounds.costs) for _ in range(slots)) for _ in kinds)
    vendors: tuple[tuple[int, int], ...] = ()
    if bounds.vendors and not draws.draw_below(3):
        vendors = tuple((draws.draw_below(9), draws.draw_below(2)) for _ in range(draws.draw_between(1, 2)))
    memory = draws.draw_magnitude(max(kind.memory for kind in kinds))
    return Job(arrival, deadline, memory, work, draws.draw_magnitude(bounds.largest), rates, costs, vendors)


def _draw_cost(draws: RandomNumbers, least: int) -> int:
    if least < 0 and not draws.draw_below(4):
        return -draws.draw_between(1, -least)
    return draws.draw_below(9) if draws.draw_below(2) else 0


def raise_bids(sketch: TinyInstance) -> TinyInstance:
    """The same with bids raised until every minimal schedule has bbar >= 1."""
    jobs = (job._replace(bid=job.bid + max(0, menu(sketch, job).short)) for job in sketch.jobs)
    return sketch._replace(jobs=tuple(jobs))


# What moves share: a random task, another number, other tasks in the place of one, another kind in the place of one.


def _pick(sketch: TinyInstance, draws: RandomNumbers) -> tuple[int, Job]:
    i = draws.draw_below(len(sketch.jobs))
    return i, sketch.jobs[i]


def _draw_near(draws: RandomNumbers, old: int, low: int, high: int) -> int:
    """Another number in low..high: one step, twice, half, or anything."""
    how = draws.draw_below(6)
    new = (old + 1, old - 1, 2 * old, old // 2)[how] if how < 4 else draws.draw_magnitude(max(1, high))
    return max(low, min(high, new))


def _with(sketch: TinyInstance, i: int, *jobs: Job) -> TinyInstance:
    others = (*sketch.jobs[:i], *jobs, *sketch.jobs[i + 1 :])
    return sketch._replace(jobs=tuple(sorted(others, key=lambda job: job.arrival)))


def _with_kind(sketch: TinyInstance, g: int, **changes: int) -> TinyInstance:
    return sketch._replace(kinds=(*sketch.kinds[:g], sketch.kinds[g]._replace(**changes), *sketch.kinds[g + 1 :]))


def _multiply(value: int, up: int, down: int) -> int:
    return -(-value * up // down)


def _scale_job(job: Job, up: int, down: int) -> Job:
    """Memory, work, bid and rates times up/down, rounded up."""
    memory, work, bid, *rates = (_multiply(value, up, down) for value in (job.memory, job.work, job.bid, *job.rates))
    return job._replace(memory=memory, work=work, bid=bid, rates=tuple(rates))


# The moves. Each may find nothing to do, and then returns the sketch as it is.


def _change_number(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i, job = _pick(sketch, draws)
    largest = bounds.largest
    ranges = [("bid", 0, largest), ("memory", 1, max(kind.memory for kind in sketch.kinds)), ("work", 1, largest)]
    what = draws.draw_below(4)
    if what < 3:
        name, low, high = ranges[what]
        changed: dict[str, Any] = {name: _draw_near(draws, getattr(job, name), low, high)}
        return _with(sketch, i, job._replace(**changed))
    g = draws.draw_below(len(job.rates))
    rate = _draw_near(draws, job.rates[g], 0 if len(job.rates) > 1 else 1, sketch.kinds[g].compute)
    new = job._replace(rates=(*job.rates[:g], rate, *job.rates[g + 1 :]))
    if job.rates[g] and draws.draw_below(2):
        # Keep the number of slots that the task needs.
        new = new._replace(work=max(1, -(-job.work // job.rates[g]) * max(1, rate)))
    return _with(sketch, i, new)


def _scale_task(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i, job = _pick(sketch, draws)
    new = _scale_job(job, *((2, 1), (1, 2), (3, 2), (2, 3), (3, 1), (1, 3), (4, 3), (5, 4))[draws.draw_below(8)])
    rates = tuple(min(rate, kind.compute) for rate, kind in zip(new.rates, sketch.kinds, strict=True))
    return _with(sketch, i, new._replace(memory=min(new.memory, max(k.memory for k in sketch.kinds)), rates=rates))


def _change_window(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i, job = _pick(sketch, draws)
    arrival = draws.draw_between(1, sketch.slots)
    deadline = draws.draw_between(arrival, sketch.slots)
    if draws.draw_below(3):
        if draws.draw_below(2):
            arrival, deadline = job.arrival, max(deadline, job.arrival)
        else:
            arrival, deadline = min(arrival, job.deadline), job.deadline
    new = job._replace(arrival=arrival, deadline=deadline)
    if draws.draw_below(2):
        new = new._replace(work=max(1, *job.rates) * (deadline - arrival + 1))
    return _with(sketch, i, new)


def _tighten_bid(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i, job = _pick(sketch, draws)
    return _with(sketch, i, job._replace(bid=max(0, job.bid + menu(sketch, job).short)))


def _copy_or_draw(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> Job:
    return _pick(sketch, draws)[1] if draws.draw_below(3) else _draw_job(draws, bounds, sketch.slots, sketch.kinds)


def _add_task(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    if len(sketch.jobs) >= bounds.tasks:
        return sketch
    job = _copy_or_draw(sketch, draws, bounds)
    i = draws.draw_below(len(sketch.jobs) + 1)
    return _with(sketch, i, job, *sketch.jobs[i : i + 1])


def _remove_task(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    return _with(sketch, draws.draw_below(len(sketch.jobs))) if len(sketch.jobs) > 1 else sketch


def _replace_task(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    i = draws.draw_below(len(sketch.jobs))
    return _with(sketch, i, _copy_or_draw(sketch, draws, bounds))


def _split_task(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    if len(sketch.jobs) >= bounds.tasks:
        return sketch
    i, job = _pick(sketch, draws)
    return _with(sketch, i, *2 * [_scale_job(job, 1, 2)])


def _swap_tasks(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """Two neighbours that arrive in one slot change places."""
    if len(sketch.jobs) < 2:
        return sketch
    i = draws.draw_below(len(sketch.jobs) - 1)
    one, other = sketch.jobs[i : i + 2]
    return _with(_with(sketch, i + 1), i, other, one)


def _change_capacity(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    g = draws.draw_below(len(sketch.kinds))
    _, job = _pick(sketch, draws)
    name, takes = ("compute", job.rates[g]) if draws.draw_below(2) else ("memory", job.memory)
    new = _draw_near(draws, getattr(sketch.kinds[g], name), 1, bounds.largest)
    if draws.draw_below(2):
        new = max(1, min(bounds.largest, draws.draw_between(1, 8) * takes))
    return _with_kind(sketch, g, **{name: new})


def _change_slots(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """A slot more or fewer; windows up to the last slot grow or shrink with it, and work with them."""
    if not draws.draw_below(2):
        return remove_slot(sketch, draws.draw_between(1, sketch.slots), shorten=bool(draws.draw_below(2)))
    if sketch.slots >= bounds.slots:
        return sketch
    longer = draws.draw_below(2)
    jobs = []
    for job in sketch.jobs:
        grown = job._replace(costs=tuple((*row, row[-1]) for row in job.costs))
        if longer and job.deadline == sketch.slots:
            width = job.deadline - job.arrival + 1
            grown = grown._replace(deadline=job.deadline + 1, work=_multiply(job.work, width + 1, width))
        jobs.append(grown)
    return TinyInstance(sketch.slots + 1, sketch.kinds, tuple(jobs))


def remove_slot(sketch: TinyInstance, slot: int, *, shorten: bool) -> TinyInstance:
    """Without tasks that had only this slot; `shorten`: work of the others falls in proportion."""
    jobs = []
    for job in sketch.jobs:
        width, is_inside = job.deadline - job.arrival + 1, job.arrival <= slot <= job.deadline
        if is_inside and width == 1:
            continue
        up, down = (width - 1, width) if is_inside and shorten else (1, 1)
        jobs.append(
            job._replace(
                arrival=job.arrival - (job.arrival > slot),
                deadline=job.deadline - (job.deadline >= slot),
                work=_multiply(job.work, up, down),
                bid=_multiply(job.bid, up, down),
                costs=tuple((*row[: slot - 1], *row[slot:]) for row in job.costs),
            )
        )
    return TinyInstance(sketch.slots - 1, sketch.kinds, tuple(jobs)) if jobs else sketch


def _change_nodes(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    g = draws.draw_below(len(sketch.kinds))
    if not draws.draw_below(2):
        return remove_node(sketch, g)
    return sketch if sketch.nodes >= bounds.nodes else _with_kind(sketch, g, nodes=sketch.kinds[g].nodes + 1)


def remove_node(sketch: TinyInstance, g: int) -> TinyInstance:
    if sketch.kinds[g].nodes > 1:
        return _with_kind(sketch, g, nodes=sketch.kinds[g].nodes - 1)
    if len(sketch.kinds) == 1:
        return sketch
    jobs = tuple(
        job._replace(rates=job.rates[:g] + job.rates[g + 1 :], costs=job.costs[:g] + job.costs[g + 1 :])
        for job in sketch.jobs
    )
    return TinyInstance(sketch.slots, sketch.kinds[:g] + sketch.kinds[g + 1 :], jobs)


def _change_cost(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    if bounds.costs is None:
        return sketch
    i, job = _pick(sketch, draws)
    if job.costs and not draws.draw_below(4):
        return _with(sketch, i, job._replace(costs=()))
    rows = [[*row] for row in job.costs] or [[0] * sketch.slots for _ in sketch.kinds]
    g, t = draws.draw_below(len(rows)), draws.draw_below(sketch.slots)
    rows[g][t] = _draw_cost(draws, bounds.costs)
    return _with(sketch, i, job._replace(costs=tuple(map(tuple, rows))))


def _change_vendors(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    if not bounds.vendors:
        return sketch
    i, job = _pick(sketch, draws)
    vendors = tuple((draws.draw_below(9), draws.draw_below(2)) for _ in range(draws.draw_below(3)))
    return _with(sketch, i, job._replace(vendors=vendors))


def _change_units(sketch: TinyInstance, draws: RandomNumbers, *, is_finer: bool) -> TinyInstance:
    """All numbers two or three times as large, which leaves ratios as they are, or a part of that, rounded up."""
    factor = draws.draw_between(2, 3)
    up, down = (factor, 1) if is_finer else (1, factor)
    jobs = []
    for job in sketch.jobs:
        costs = tuple(tuple(_multiply(cost, up, down) for cost in row) for row in job.costs)
        vendors = tuple((_multiply(price, up, down), delay) for price, delay in job.vendors)
        jobs.append(_scale_job(job, up, down)._replace(costs=costs, vendors=vendors))
    kinds = tuple(
        Kind(kind.nodes, _multiply(kind.compute, up, down), _multiply(kind.memory, up, down)) for kind in sketch.kinds
    )
    return TinyInstance(sketch.slots, kinds, tuple(jobs))


Move = Callable[[TinyInstance, RandomNumbers, Bounds], TinyInstance]
_MOVES: tuple[Move, ...] = (
    *4 * [_change_number], *2 * [_scale_task], *2 * [_change_window], *2 * [_tighten_bid], _add_task, _remove_task,
    _replace_task, _split_task, _swap_tasks, *3 * [_change_capacity], _change_slots, _change_nodes, _change_cost,
    _change_vendors, lambda sketch, draws, _: _change_units(sketch, draws, is_finer=True),
    lambda sketch, draws, _: _change_units(sketch, draws, is_finer=False),
)  # fmt: skip


def apply_random_move(sketch: TinyInstance, draws: RandomNumbers, bounds: Bounds) -> TinyInstance:
    """One random move, which may be made in all equal tasks alike."""
    after = _MOVES[draws.draw_below(len(_MOVES))](sketch, draws, bounds)
    if not draws.draw_below(2) or len(sketch.jobs) != len(after.jobs) or sketch.kinds != after.kinds:
        return after
    pairs = [(old, new) for old, new in zip(sketch.jobs, after.jobs, strict=True) if old != new]
    if len(pairs) != 1 or pairs[0][0].arrival != pairs[0][1].arrival:
        return after
    old, new = pairs[0]
    return after._replace(jobs=tuple(new if job == old else job for job in after.jobs))


def measure_size(sketch: TinyInstance) -> tuple[int, ...]:
    """What makes a witness small, the most important figure first."""
    total = sum(kind.compute + kind.memory for kind in sketch.kinds)
    extras = 0
    for job in sketch.jobs:
        total += job.memory + job.work + job.bid + sum(job.rates) + job.deadline - job.arrival
        total += sum(abs(cost) for row in job.costs for cost in row) + sum(q + h for q, h in job.vendors)
        extras += bool(job.costs) + len(job.vendors)
    return len(sketch.jobs), sketch.slots, sketch.nodes, len(sketch.kinds), extras, total


def list_smaller(sketch: TinyInstance) -> Iterator[TinyInstance]:
    """Sketches with something less: tasks, slots, nodes, vendors, costs; then single numbers, then two at once."""
    if len(sketch.jobs) > 1:
        yield from (_with(sketch, i) for i in range(len(sketch.jobs)))
    for slot in range(1, sketch.slots + 1):
        yield from (remove_slot(sketch, slot, shorten=shorten) for shorten in (True, False))
    yield from (remove_node(sketch, g) for g in range(len(sketch.kinds)))
    for i, job in enumerate(sketch.jobs):
        for less in (job._replace(costs=()), job._replace(vendors=()), job._replace(vendors=job.vendors[:1])):
            yield _with(sketch, i, less)
    numbers = _list_numbers(sketch)
    for divisor in (2, 3, 5):
        if all(value % divisor == 0 for value, _ in numbers):
            yield _rebuild(sketch, [value // divisor for value, _ in numbers])
    for j, (value, low) in enumerate(numbers):
        for less_value in dict.fromkeys((low, value // 2, value - 1)):
            if low <= less_value < value:
                yield _rebuild(sketch, [less_value if n == j else v for n, (v, _) in enumerate(numbers)])
    for j, n in combinations([j for j, (value, low) in enumerate(numbers) if value > low], 2):
        yield _rebuild(sketch, [v - (m in (j, n)) for m, (v, _) in enumerate(numbers)])


def _list_numbers(sketch: TinyInstance) -> list[tuple[int, int]]:
    """(value, least value) of every number that a sketch may have smaller, in a fixed order."""
    found = [(value, 1) for kind in sketch.kinds for value in (kind.compute, kind.memory)]
    for job in sketch.jobs:
        found += [(job.memory, 1), (job.work, 1), (job.bid, 0), *((rate, 0) for rate in job.rates)]
        found += [(cost, 0) for row in job.costs for cost in row if cost > 0]
        found += [(value, 0) for vendor in job.vendors for value in vendor]
    return found


def _rebuild(sketch: TinyInstance, values: list[int]) -> TinyInstance:
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
