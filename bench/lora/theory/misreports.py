"""Lies about arrival, deadline, work and memory: those that a bidder can keep up, and what they pay."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from bench.lora.theory.auction import Auction, fixed_curve
from bench.lora.theory.ledger import Ledger, Meter, moves, past_of
from formulations.lora.schedules import minimal_covers
from instances.lora.model import Public, Task


class Lie(NamedTuple):
    """A misreport that the bidder can keep up: it arrives later, leaves earlier, or asks for more than it needs."""

    arrival: int
    deadline: int
    work: int
    memory_mb: int


def lies(task: Task, public: Public) -> list[Lie]:
    """The misreports that are tried: every window inside the true one (all there are), and larger work and memory.

    Of work and memory these are some of the values that could matter, so `none gains` is a statement about windows,
    and about the values listed. More work changes the outcome only where it rules out a sum of rates: tried is one
    above the work of each minimal cover (16 at most). More memory moves every F: tried are one more, twice as much,
    and all that a node of each type has.
    """
    works = sorted({int(s) + 1 for menu in minimal_covers(task, public) for s in menu.work.tolist()})[:16]
    sizes = {task.memory_mb + 1, 2 * task.memory_mb, *public.memory_mb.tolist()}
    found = [
        Lie(arrival, deadline, task.work, task.memory_mb)
        for arrival in range(task.arrival, task.deadline + 1)
        for deadline in range(arrival, task.deadline + 1)
        if (arrival, deadline) != (task.arrival, task.deadline)
    ]
    found += [Lie(task.arrival, task.deadline, work, task.memory_mb) for work in works]
    found += [Lie(task.arrival, task.deadline, task.work, r) for r in sorted(sizes) if r > task.memory_mb]
    return found


def told(
    auction: Auction, i: int, rule: str, meter: Meter, before: Ledger | None = None
) -> Iterator[tuple[Lie, Fraction]]:
    """Every misreport of `lies` with the utility that it gives beside a truthful bid, constants kept.

    A task that says it arrives later is decided after all others of that slot.

    Parameters
    ----------
    before : prices and loads as the run left them to task i, on the same meter; they are made when they are not given.

    Raises
    ------
    OutOfSearches : when the meter does not allow what it takes.
    """
    instance, trace = auction.instance, auction.trace
    truth, valuation = auction.tasks[i], int(instance.valuation[i])
    ledger = _before(auction, i, meter) if before is None else before.copy()
    # Without a trace of task i the others are served as they were.
    as_before = not moves(auction, past_of(auction, i))
    after = i + 1
    for lie in sorted(lies(truth, auction.public)):
        while lie.arrival > truth.arrival and after < instance.tasks and instance.arrival[after] <= lie.arrival:
            if as_before:
                ledger.follow(auction.tasks[after])
            else:
                ledger.decide(auction.tasks[after], trace.alpha, trace.beta)
            after += 1
        said = _with(truth, lie)
        choice = ledger.search(said, trace.alpha, trace.beta)
        utility = Fraction(0)
        if choice is not None and ledger.fits(said, choice.cells):
            total = said.bid - Fraction(choice.value)
            if valuation > total:
                utility = valuation - (total if rule == "critical" else total - choice.energy)
        yield lie, utility


def _before(auction: Auction, i: int, meter: Meter) -> Ledger:
    ledger = Ledger(auction, meter)
    for task in auction.tasks[:i]:
        ledger.follow(task)
    return ledger


def best_lie(
    auction: Auction, i: int, rule: str, meter: Meter, before: Ledger | None = None
) -> tuple[Lie, Fraction] | None:
    """The first misreport of those that pay best, and its utility; None when none is better than the truth.

    Parameters
    ----------
    before : as in `told`.

    Raises
    ------
    OutOfSearches : when the meter does not allow what it takes.
    """
    task, valuation = auction.tasks[i], int(auction.instance.valuation[i])
    best = fixed_curve(auction, i, rule).utility(valuation)
    # Every payment is at least a vendor's price: (14) leaves E out, and b - F has it on top where it is not negative.
    least = min(option.price for option in task.options)
    if best >= max(0, valuation - least) and (rule == "printed" or (task.cost >= 0).all()):
        return None
    found: tuple[Lie, Fraction] | None = None
    for lie, utility in told(auction, i, rule, meter, before):
        if utility > best:
            best, found = utility, (lie, utility)
    return found


def _with(task: Task, lie: Lie) -> Task:
    return Task(
        task.index, lie.arrival, lie.deadline, lie.memory_mb, lie.work, task.bid, task.rate, task.cost, task.vendors
    )
