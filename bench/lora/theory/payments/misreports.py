"""Lies worth trying, the most promising first: other bids, and other types with a truthful bid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import chain, pairwise, product

from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.bench.lora.theory.payments.repeatable_run import Answer, RepeatableRun, Report
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision

# The reports of a task to be tried, the most promising first, given its decision when it tells the truth
Plan = Callable[[RepeatableRun, int, Decision | None], Iterator[Report]]


def list_first_bids(instance: Instance, i: int, decision: Decision | None) -> list[int]:
    """Around what is paid, parts and multiples of the valuation, around the cost, at densities; without the truth."""
    value = int(instance.valuation[i])
    wanted = []
    if decision is not None:
        paid, outlay = decision.payment or 0, find_outlay(instance, i, decision)
        wanted += [paid + 1, paid, paid - 1, outlay + 1, outlay]
    wanted += [LIMIT, value // 2, 2 * value, value // 4, 0, value - 1, value + 1, 3 * value // 4, 4 * value]
    for size in (instance.work, instance.memory_mb):
        # Where the task's own density passes another's: constants that are a largest or a middle one change there.
        own = int(size[i])
        others = sorted(
            {int(instance.bid[j]) * own // int(size[j]) for j in range(instance.tasks) if j != i}, reverse=True
        )
        for edge in [*others[:2], *others[len(others) // 2 :][:1], *others[-1:]]:
            wanted += [edge, edge + 1]
    return [bid for bid in dict.fromkeys(wanted) if 0 <= bid <= LIMIT and bid != value]


def try_bids(again: RepeatableRun, i: int, decision: Decision | None) -> Iterator[Report]:
    """Those of `list_first_bids`, then every bid."""
    truth, wanted = again.truth(i), list_first_bids(again.instance, i, decision)
    top = max([2 * truth.bid, *(bid for bid in wanted if bid < LIMIT)]) + 1
    tried = {truth.bid}
    for bid in chain(wanted, range(top)):
        if bid not in tried:
            tried.add(bid)
            yield truth._replace(bid=bid)


def try_bids_where_outcomes_change(
    again: RepeatableRun, i: int, decision: Decision | None, *, further: bool = True
) -> Iterator[Report]:
    """Those of `list_first_bids`, the middle of neighbours with different outcomes, the middle of wide gaps."""
    truth = again.truth(i)
    known: dict[int, Answer] = {truth.bid: (True, decision)}
    for bid in list_first_bids(again.instance, i, decision):
        yield truth._replace(bid=bid)
        known[bid] = again.answers[i, truth._replace(bid=bid)]
    # Gaps between neighbours that were tried: other outcomes first, then other charges, then the widest of the rest.
    waiting: list[tuple[int, int, int, int]] = []
    order = 0

    def gap(low: int, high: int) -> None:
        nonlocal order
        order += 1
        rank = _unlike(known[low], known[high])
        if high - low > 1 and (rank < 2 or (further and low <= 2 * truth.bid)):
            heappush(waiting, (rank, low - high if rank == 2 else order, low, high))

    for low, high in pairwise(sorted(known)):
        gap(low, high)
    while waiting:
        _, _, low, high = heappop(waiting)
        middle = (low + high) // 2
        yield truth._replace(bid=middle)
        known[middle] = again.answers[i, truth._replace(bid=middle)]
        gap(low, middle)
        gap(middle, high)


def _unlike(one: Answer, other: Answer) -> int:
    """0 for another outcome, 1 for another charge of the same schedule, 2 for the same in all."""
    if one == other:
        return 2
    decisions = [answer[1] for answer in (one, other)]
    bare = [None if each is None else each._replace(payment=None) for each in decisions]
    return 1 if one[0] == other[0] and bare[0] == bare[1] else 0


def try_types_of_one(again: RepeatableRun, i: int, decision: Decision | None) -> Iterator[Report]:
    """Those of `try_types`; then every later arrival and every earlier deadline alone."""
    truth, lies = again.truth(i), list(try_types(again, i, decision))
    yield from lies
    window = range(truth.arrival, truth.deadline + 1)
    alone = [truth._replace(arrival=t) for t in window] + [truth._replace(deadline=t) for t in window]
    yield from sorted(set(alone) - set(lies) - {truth})


def try_types(again: RepeatableRun, i: int, decision: Decision | None) -> Iterator[Report]:
    """One field by one step, by large steps, and to where the schedule ends; then several fields together."""
    instance, truth = again.instance, again.truth(i)
    arrivals = [truth.arrival + 1, (truth.arrival + truth.deadline + 1) // 2, truth.deadline]
    deadlines = [truth.deadline - 1, (truth.arrival + truth.deadline) // 2, truth.arrival]
    rates = sorted({int(rate) for rate in instance.rate[i] if rate > 0})
    works = [truth.work + 1, 2 * truth.work, *(truth.work + rate for rate in rates)]
    free = [node.memory_mb - instance.base_memory_mb for node in instance.node_types]
    sizes = [truth.memory_mb + 1, 2 * truth.memory_mb, *free, *(size + 1 for size in free)]
    if decision is not None and decision.cells:
        # What just rules out the schedule of the true report.
        kind = instance.public("").type_of_node
        slots = sorted(t for _, t in decision.cells)
        arrivals.insert(0, slots[0] + 1)
        deadlines.insert(0, slots[-1] - 1)
        works.insert(0, sum(int(instance.rate[i, kind[k]]) for k, _ in decision.cells) + 1)
    # Each field with its true value first, then the lies about it that a bidder can keep up.
    fields = (
        [truth.arrival, *(t for t in dict.fromkeys(arrivals) if truth.arrival < t <= truth.deadline)],
        [truth.deadline, *(t for t in dict.fromkeys(deadlines) if truth.arrival <= t < truth.deadline)],
        [truth.work, *(work for work in dict.fromkeys(works) if truth.work < work <= LIMIT)],
        [truth.memory_mb, *(size for size in dict.fromkeys(sizes) if truth.memory_mb < size <= LIMIT)],
    )
    reports = (Report(truth.bid, *values) for values in product(*fields))
    lies = [lie for lie in reports if lie.arrival <= lie.deadline and lie != truth]
    # Lies about fewer fields first.
    yield from sorted(lies, key=lambda lie: sum(one != other for one, other in zip(lie, truth, strict=True)))
