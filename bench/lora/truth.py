"""Theorems 3 and 4: what a bidder gains by lying, for every possible bid and not on a grid.

With constants that the bid does not move, everything before task i is independent of its bid; so is its schedule (the
bid is the same term in every F), and with room for it the task wins with every bid above one cost c_i(l) = b_i - F(il).

With alpha and beta taken from the bids the task's own bid moves them, and with them every price before it arrives.
Between the bids at which its own becomes the largest, alpha and beta are linear in it; as long as the decisions before
task i do not change, every price is linear, and so is the F of every schedule. A schedule that is best at both ends of
an interval is best inside it. So from the decisions at one bid we walk to the ends of the interval on which they
stand: at a bid where another schedule is better, or an F has another sign, the two lines cross at a bid in between,
exactly; that bid is tried next. It ends at the breakpoint, where the bid itself is looked at separately (ties).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bench.checks import Check
from bench.lora.case import Case, Cell, Figures, Step, replay
from formulations.lora.schedules import minimal_covers
from instances.errors import InputError
from instances.lora.format import LIMIT
from instances.lora.model import Instance, IntArray, Public, Task
from online.lora.maxprice import Choice, Prices, exact_search, printed_search, window
from online.lora.pdftsp import PriceTrace
from online.lora.registry import parse
from online.outcome import OnlineRun, Source

SEARCHES = 4000
"""Most schedule searches that one check in an audit makes before it says `undecided`."""


class Line(NamedTuple):
    """at + slope * bid."""

    at: Fraction
    slope: Fraction

    def __call__(self, bid: Fraction) -> Fraction:
        return self.at + self.slope * bid

    def crosses(self, other: Line) -> Fraction:
        """The bid at which two lines of different slope meet."""
        return (other.at - self.at) / (self.slope - other.slope)


class Piece(NamedTuple):
    """An interval of bids with one outcome.

    Parameters
    ----------
    low, high : its ends; low_in, high_in : whether they belong to it.
    admitted : whether the task wins.
    payment : what it pays then, as a function of its bid; None where it loses.
    cells : the schedule that it wins with; empty where it loses.
    """

    low: Fraction
    high: Fraction
    low_in: bool
    high_in: bool
    admitted: bool
    payment: Line | None
    cells: tuple[Cell, ...]

    def has(self, bid: Fraction) -> bool:
        """Whether the bid lies in the interval."""
        return (self.low < bid or (self.low_in and self.low == bid)) and (
            bid < self.high or (self.high_in and bid == self.high)
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """Outcome and utility (15) of one task for every bid in 0..2^40, all other bids as they are.

    Parameters
    ----------
    task, valuation : whose, and v_i.
    rule : payment rule, printed (14) or critical.
    recomputed : whether alpha and beta follow the bid.
    pieces : in ascending order, without gaps.
    """

    task: int
    valuation: int
    rule: str
    recomputed: bool
    pieces: tuple[Piece, ...]

    def piece(self, bid: Fraction | int) -> Piece:
        """The piece that a bid lies in."""
        return next(piece for piece in self.pieces if piece.has(Fraction(bid)))

    def payment(self, bid: Fraction | int) -> Fraction | None:
        """p_i at a bid; None where the task loses."""
        line = self.piece(bid).payment
        return None if line is None else line(Fraction(bid))

    def utility(self, bid: Fraction | int) -> Fraction:
        """v_i - p_i where the task wins, 0 where it loses (15)."""
        paid = self.payment(bid)
        return Fraction(0) if paid is None else self.valuation - paid

    def best(self) -> tuple[Fraction, Fraction]:
        """(bid, utility): the truthful bid if none is better, else the best bid that can be named.

        A supremum at an open end is not attained; then the bid is an integer near it if one gains, or else a bid that
        gains at least half as much as the supremum does.
        """
        truth = Fraction(self.valuation)
        best = truth, self.utility(truth)
        for piece in self.pieces:
            for bid in _candidates(piece, self.valuation, self.utility(truth)):
                if self.utility(bid) > best[1]:
                    best = bid, self.utility(bid)
        return best

    def breakpoints(self) -> list[Fraction]:
        """The bids at which the outcome, or the formula of the payment, changes."""
        return [right.low for _, right in pairwise(self.pieces)]

    def rows(self) -> Iterator[dict[str, str]]:
        """One row per piece, figures as exact fractions; the header of the CSV is their keys."""
        for piece in self.pieces:
            ends = [(piece.low, piece.payment), (piece.high, piece.payment)]
            paid = ["" if line is None else str(line(bid)) for bid, line in ends]
            utility = ["0" if line is None else str(self.valuation - line(bid)) for bid, line in ends]
            yield {
                "task": str(self.task),
                "valuation": str(self.valuation),
                "rule": self.rule,
                "bid_from": str(piece.low),
                "bid_to": str(piece.high),
                "from_included": str(piece.low_in).lower(),
                "to_included": str(piece.high_in).lower(),
                "admitted": str(piece.admitted).lower(),
                "payment_from": paid[0],
                "payment_to": paid[1],
                "utility_from": utility[0],
                "utility_to": utility[1],
                "schedule": " ".join(f"{k}@{t}" for k, t in piece.cells),
            }


def _candidates(piece: Piece, valuation: int, truthful: Fraction) -> Iterator[Fraction]:
    """Bids of a piece among which is one that gains, if any bid of the piece does; integers first."""
    if piece.payment is None:
        yield piece.low if piece.low_in else (piece.low + piece.high) / 2
        return
    rising = piece.payment.slope < 0  # utility grows with the bid
    ends = ((piece.high, piece.high_in), (piece.low, piece.low_in)) if rising else (
        (piece.low, piece.low_in),
        (piece.high, piece.high_in),
    )  # fmt: skip
    end, included = ends[0]
    whole = Fraction(end.__floor__() if rising else end.__ceil__())
    for near in (whole, whole - 1 if rising else whole + 1):
        if piece.has(near):
            yield near
    if included:
        yield end
    else:
        supremum = valuation - piece.payment(end)
        middle = (piece.low + piece.high) / 2
        yield middle
        if supremum > truthful and piece.payment.slope:
            halfway = (valuation - (supremum + truthful) / 2 - piece.payment.at) / piece.payment.slope
            if piece.has(halfway):
                yield halfway


@dataclass(frozen=True)
class Auction:
    """A run of pdFTSP, seen as an auction.

    Parameters
    ----------
    instance, trace : what was run.
    steps : its offers against the loads of their moment.
    rule : payment rule of the run.
    oracle : which of alpha and beta were taken from the bids.
    moving_units : whether the units were, too.
    """

    instance: Instance
    trace: PriceTrace
    steps: Mapping[int, Step]
    rule: str
    oracle: frozenset[str]
    moving_units: bool

    @cached_property
    def public(self) -> Public:
        """What everybody knows."""
        return self.instance.public("")

    @cached_property
    def tasks(self) -> list[Task]:
        """All tasks."""
        return [self.instance.task(i) for i in range(self.instance.tasks)]

    @cached_property
    def likeness(self) -> list[int]:
        """A number per task; tasks of the same number are the same to the mechanism."""
        kinds: dict[Any, int] = {}
        return [
            kinds.setdefault(
                (t.arrival, t.deadline, t.memory_mb, t.work, t.bid, t.rate.tobytes(), t.cost.tobytes(), t.vendors),
                len(kinds),
            )
            for t in self.tasks
        ]


def auction_of(instance: Instance, run: OnlineRun, steps: Iterable[Step] | None = None) -> Auction:
    """The run as an auction.

    Raises
    ------
    InputError : when the run left no prices of pdFTSP.
    """
    if not isinstance(run.trace, PriceTrace):
        raise InputError("algorithm", run.algorithm, "utility curves are those of pdftsp; this run left no prices")
    oracle = {constant.name for constant in run.constants if constant.source is Source.ORACLE}
    return Auction(
        instance=instance,
        trace=run.trace,
        steps={step.offer.task: step for step in (replay(instance, run.trace) if steps is None else steps)},
        rule=parse(run.algorithm).options["payment"],
        oracle=frozenset(oracle & {"alpha", "beta"}),
        moving_units=bool(oracle & {"canonical_money", "canonical_memory"}),
    )


def utility_curve(
    instance: Instance, run: OnlineRun, task: int, *, rule: str | None = None, recompute: bool = True
) -> Curve:
    """The whole utility curve of one task over its own bid.

    Parameters
    ----------
    run : of pdFTSP on the instance.
    rule : printed or critical; by default the run's own.
    recompute : let constants that the run took from the bids follow the bid; otherwise they stay as they were.

    Raises
    ------
    InputError : no such task; no pdFTSP run; constants that cannot be followed exactly.
    """
    auction = auction_of(instance, run)
    if not 0 <= task < instance.tasks:
        raise InputError(instance.name, "task", f"{task} is not in 0..{instance.tasks - 1}")
    rule = auction.rule if rule is None else rule
    if not recompute or not (auction.oracle or auction.moving_units):
        return fixed_curve(auction, task, rule)
    problem = unfollowed(auction)
    if problem:
        raise InputError("algorithm", run.algorithm, problem)
    return recomputed_curve(auction, task, rule, Meter(None))


def unfollowed(auction: Auction) -> str:
    """Why the run cannot be followed exactly while the bid moves its constants; empty if it can."""
    if auction.moving_units:
        return "canonical units follow the bid, and not along straight lines"
    if auction.trace.search != "exact":
        return "search=printed is no maximiser: its choice need not change where lines cross"
    if not auction.trace.exact:
        return "float prices: constants that follow the bid are followed in exact arithmetic only"
    return ""


# ------------------------------------------------------------------------------------------- constants stay as they are


class Cost(NamedTuple):
    """What task i costs whatever it bids: c_i(l), E of the schedule, its cells, and whether there is room for it."""

    total: Fraction
    energy: int
    fee: int
    cells: tuple[Cell, ...]
    fits: bool

    def payment(self, rule: str) -> Fraction:
        """(14) leaves the operational cost out; the critical payment is c_i(l)."""
        return self.total if rule == "critical" else self.total - self.energy


def cost_of(auction: Auction, task: int) -> Cost | None:
    """The bid-independent cost of a task in the run; None when it has no schedule."""
    step = auction.steps.get(task)
    if step is None or step.offer.value is None:
        return None
    it, offer = auction.instance.task(task), step.offer
    fee = it.options[offer.option].price
    return Cost(it.bid - Fraction(step.offer.value), it.bid - fee - offer.net, fee, offer.cells, step.misfit is None)


def fixed_curve(auction: Auction, task: int, rule: str) -> Curve:
    """Lose up to c_i(l), win above it for a price that does not depend on the bid."""
    cost, top = cost_of(auction, task), Fraction(LIMIT)
    valuation = int(auction.instance.valuation[task])
    if cost is None or not cost.fits or cost.total >= top:
        pieces = [Piece(Fraction(0), top, True, True, False, None, ())]
    else:
        paid = Line(cost.payment(rule), Fraction(0))
        pieces = [Piece(max(cost.total, Fraction(0)), top, cost.total < 0, True, True, paid, cost.cells)]
        if cost.total >= 0:
            pieces.insert(0, Piece(Fraction(0), cost.total, True, True, False, None, ()))
    return Curve(task, valuation, rule, False, tuple(pieces))


# ---------------------------------------------------------------------------------------- constants that follow the bid


class OutOfSearches(Exception):
    """The allowance of schedule searches is used up."""


class Meter:
    """Counts schedule searches."""

    def __init__(self, left: int | None) -> None:
        self._left = left

    def spend(self) -> None:
        """One more search; OutOfSearches if it was not allowed any more."""
        if self._left is not None:
            if self._left == 0:
                raise OutOfSearches
            self._left -= 1


class Past(NamedTuple):
    """What the mechanism did with a task: schedule, sign of F, admission (for the bidder itself: whether it fits)."""

    option: int
    cells: tuple[Cell, ...]
    positive: bool
    admitted: bool


History = tuple[Past | None, ...]


class Regime(NamedTuple):
    """alpha and beta as linear functions of the bid, valid between two bids."""

    alpha: Line
    beta: Line


class Ledger:
    """Prices per unit of alpha and beta, and loads, after some tasks; in file units."""

    def __init__(self, auction: Auction, meter: Meter) -> None:
        self._auction, self._meter = auction, meter
        self._public = auction.public
        self._types = self._public.type_of_node.tolist()
        self._compute, self._memory = self._public.compute.tolist(), self._public.memory_mb.tolist()
        self._search = exact_search if auction.trace.search == "exact" else printed_search
        self.lam: dict[Cell, Fraction] = {}
        self.phi: dict[Cell, Fraction] = {}
        self._load: dict[Cell, tuple[int, int]] = {}
        self._found: dict[int, Choice | None] = {}

    def search_again(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """As `search`, for tasks of the instance; like tasks are searched once while no price moves."""
        kind = self._auction.likeness[task.index]
        if kind not in self._found:
            self._found[kind] = self.search(task, alpha, beta)
        return self._found[kind]

    def search(self, task: Task, alpha: Fraction, beta: Fraction) -> Choice | None:
        """The schedule that the mechanism chooses now."""
        where = window(task, self._public)
        if where is None:
            return None
        self._meter.spend()
        menu, nodes = where
        span = range(menu.first, menu.last + 1)
        lam, lam_exact = _ranked(self.lam, alpha, nodes, span)
        phi, phi_exact = _ranked(self.phi, beta, nodes, span)
        return self._search(task, self._public, menu, nodes, Prices(lam, phi, lam_exact, phi_exact))

    def line(self, task: Task, option: int, cells: tuple[Cell, ...], regime: Regime) -> Line:
        """F of a schedule as a function of the bid that alpha and beta follow; the task's own b_i as it stands."""
        work, net = self._figures(task, option, cells)
        a = max((self.lam.get(cell, Fraction(0)) for cell in cells), default=Fraction(0)) * work
        b = max((self.phi.get(cell, Fraction(0)) for cell in cells), default=Fraction(0)) * task.memory_mb * len(cells)
        return Line(net - regime.alpha.at * a - regime.beta.at * b, -(regime.alpha.slope * a + regime.beta.slope * b))

    def fits(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        """Whether the admitted tasks leave room."""
        for k, t in cells:
            g = self._types[k]
            samples, memory = self._load.get((k, t), (0, 0))
            if samples + int(task.rate[g]) > self._compute[g] or memory + task.memory_mb > self._memory[g]:
                return False
        return True

    def take(self, task: Task, past: Past) -> None:
        """Move prices and loads as the mechanism does after its decision."""
        trace = self._auction.trace
        if not past.positive:
            return
        if past.admitted or trace.updates == "all":
            work, net = self._figures(task, past.option, past.cells)
            self._found.clear()
            lift = trace.money * net / (work + trace.memory * task.memory_mb * len(past.cells))
            for k, t in past.cells:
                g = self._types[k]
                share = Fraction(int(task.rate[g]), self._compute[g])
                self.lam[k, t] = self.lam.get((k, t), Fraction(0)) * (1 + share) + lift * share
                share = Fraction(task.memory_mb, self._memory[g])
                self.phi[k, t] = self.phi.get((k, t), Fraction(0)) * (1 + share) + lift * share
        if past.admitted:
            for k, t in past.cells:
                samples, memory = self._load.get((k, t), (0, 0))
                self._load[k, t] = samples + int(task.rate[self._types[k]]), memory + task.memory_mb

    def decide(self, task: Task, alpha: Fraction, beta: Fraction) -> Past | None:
        """The mechanism's decision about a task, taken into the books."""
        choice = self.search_again(task, alpha, beta)
        if choice is None:
            return None
        won = choice.value > 0
        past = Past(choice.option, choice.cells, won, won and self.fits(task, choice.cells))
        self.take(task, past)
        return past

    def _figures(self, task: Task, option: int, cells: tuple[Cell, ...]) -> tuple[int, int]:
        """S and b_il."""
        work = energy = 0
        for k, t in cells:
            g = self._types[k]
            work += int(task.rate[g])
            energy += int(task.cost[g, t - 1])
        return work, task.bid - task.options[option].price - energy


def _ranked(
    price: Mapping[Cell, Fraction], factor: Fraction, nodes: IntArray, span: range
) -> tuple[IntArray, list[Fraction]]:
    """Prices on a window as ranks in the list of their distinct values."""
    zero = Fraction(0)
    here = [[factor * price.get((k, t), zero) for t in span] for k in nodes.tolist()]
    values = sorted({value for row in here for value in row})
    rank = {value: j for j, value in enumerate(values)}
    return np.array([[rank[value] for value in row] for row in here], dtype=np.int64), values


class _Walk:
    """All decisions up to one task, as functions of its bid."""

    def __init__(self, auction: Auction, task: int, meter: Meter) -> None:
        self._auction, self._task, self._meter = auction, task, meter
        self._tasks = auction.tasks[: task + 1]

    def history(self, regime: Regime, bid: Fraction) -> History:
        """What the mechanism does when the task bids so."""
        ledger = Ledger(self._auction, self._meter)
        alpha, beta = regime.alpha(bid), regime.beta(bid)
        decided: list[Past | None] = [ledger.decide(task, alpha, beta) for task in self._tasks[:-1]]
        own = self._tasks[-1]
        choice = ledger.search(own, alpha, beta)
        fits = choice is not None and ledger.fits(own, choice.cells)
        decided.append(None if choice is None else Past(choice.option, choice.cells, False, fits))
        return tuple(decided)

    def stands(self, history: History, regime: Regime, bid: Fraction) -> Fraction | None:
        """None if the history is one of the best also at this bid (ties apart), else where two lines cross before."""
        ledger = Ledger(self._auction, self._meter)
        alpha, beta = regime.alpha(bid), regime.beta(bid)
        for task, past in zip(self._tasks, history, strict=True):
            if past is None:
                continue
            ours = ledger.line(task, past.option, past.cells, regime)
            best = ledger.search_again(task, alpha, beta)
            assert best is not None
            if best.value > ours(bid):
                return ours.crosses(ledger.line(task, best.option, best.cells, regime))
            if task.index != self._task and (ours(bid) < 0 if past.positive else ours(bid) > 0):
                return ours.crosses(Line(Fraction(0), Fraction(0)))
            ledger.take(task, past)
        return None

    def cost(self, history: History, regime: Regime) -> tuple[Line, int]:
        """c_i(l) as a function of the bid, and E of the schedule, under a history."""
        ledger = Ledger(self._auction, self._meter)
        for task, past in zip(self._tasks[:-1], history, strict=False):
            if past is not None:
                ledger.take(task, past)
        own, past = self._tasks[-1], history[-1]
        assert past is not None
        line = ledger.line(own, past.option, past.cells, regime)
        types = self._auction.public.type_of_node
        energy = sum(int(own.cost[types[k], t - 1]) for k, t in past.cells)
        return Line(own.bid - line.at, -line.slope), energy

    def spans(self, regime: Regime, low: Fraction, high: Fraction) -> Iterator[tuple[Fraction, Fraction, History]]:
        """The open interval (low, high) cut at its breakpoints: (start, end, history); start = end is a single bid."""
        if low >= high:
            return
        middle = (low + high) / 2
        history = self.history(regime, middle)
        left = self._reach(history, regime, middle, low)
        right = self._reach(history, regime, middle, high)
        yield from self.spans(regime, low, left)
        if left > low:
            yield left, left, self.history(regime, left)
        if left < right:  # else the middle itself is a breakpoint, with another history on either side
            yield left, right, history
            if right < high:
                yield right, right, self.history(regime, right)
        yield from self.spans(regime, right, high)

    def _reach(self, history: History, regime: Regime, start: Fraction, end: Fraction) -> Fraction:
        """How far from `start` towards `end` the history stands, that bid itself not included."""
        while end != start:
            crossing = self.stands(history, regime, end)
            if crossing is None:
                break
            end = crossing
        return end


def recomputed_curve(auction: Auction, task: int, rule: str, meter: Meter) -> Curve:
    """The curve when alpha = max b/M and beta = max b/r (those that the run took from the bids) follow the bid.

    Raises
    ------
    OutOfSearches : when the meter does not allow what it takes.
    """
    instance, trace = auction.instance, auction.trace
    own = instance.task(task)
    others = [j for j in range(instance.tasks) if j != task]
    rest = {
        "alpha": max((Fraction(int(instance.bid[j]), int(instance.work[j])) for j in others), default=Fraction(0)),
        "beta": max((Fraction(int(instance.bid[j]), int(instance.memory_mb[j])) for j in others), default=Fraction(0)),
    }
    size = {"alpha": own.work, "beta": own.memory_mb}
    kinks = {name: rest[name] * size[name] for name in auction.oracle}
    top = Fraction(LIMIT)
    ends = sorted({Fraction(0), top, *(kink for kink in kinks.values() if kink < top)})

    def line(name: str, used: Fraction, low: Fraction) -> Line:
        """The constant as a function of the bid above `low`."""
        if name not in auction.oracle:
            return Line(used, Fraction(0))
        if low < kinks[name]:
            return Line(rest[name], Fraction(0))
        return Line(Fraction(0), Fraction(1, size[name]))

    walk = _Walk(auction, task, meter)
    pieces: list[Piece] = []
    for low, high in pairwise(ends):
        regime = Regime(line("alpha", trace.alpha, low), line("beta", trace.beta, low))
        if regime.alpha.slope == regime.beta.slope == 0:
            # Nothing moves: one history for all bids, both ends included.
            history = walk.history(regime, low)
            spans = [(low, low, history), (low, high, history)]
        else:
            spans = [(low, low, walk.history(regime, low)), *walk.spans(regime, low, high)]
        if high == top:
            spans.append((high, high, walk.history(regime, high)))
        for start, end, history in spans:
            for piece in _outcomes(walk, regime, start, end, history, rule):
                _append(pieces, piece)
    return Curve(task, int(instance.valuation[task]), rule, True, tuple(pieces))


def _outcomes(
    walk: _Walk, regime: Regime, start: Fraction, end: Fraction, history: History, rule: str
) -> Iterator[Piece]:
    """One interval of bids with one history, cut where the bid passes the cost."""
    past = history[-1]
    if past is None or not past.admitted:
        yield Piece(start, end, start == end, start == end, False, None, ())
        return
    cost, energy = walk.cost(history, regime)
    paid = cost if rule == "critical" else Line(cost.at - energy, cost.slope)
    if start == end:
        wins = start > cost(start)
        yield Piece(
            start, end, True, True, wins, Line(paid(start), Fraction(0)) if wins else None, past.cells if wins else ()
        )
        return
    bid = Line(Fraction(0), Fraction(1))
    cuts = [start, end]
    if cost.slope != 1 and start < (meet := bid.crosses(cost)) < end:
        cuts.insert(1, meet)
    for low, high in pairwise(cuts):
        wins = (middle := (low + high) / 2) > cost(middle)
        yield Piece(low, high, False, False, wins, paid if wins else None, past.cells if wins else ())
        if high < end:
            yield Piece(high, high, True, True, False, None, ())


def _append(pieces: list[Piece], piece: Piece) -> None:
    """Add the next piece, joined to the one before where both have the same outcome."""
    if pieces:
        last = pieces[-1]
        if last.admitted == piece.admitted and last.cells == piece.cells:
            joined = _joined(last, piece)
            if joined is not None:
                pieces[-1] = joined
                return
    pieces.append(piece)


def _joined(last: Piece, piece: Piece) -> Piece | None:
    formula = last.payment
    if last.payment is not None and piece.payment is not None:
        formula = piece.payment if last.low == last.high else last.payment
        for each in (last, piece):
            assert each.payment is not None
            same = formula(each.low) == each.payment(each.low) if each.low == each.high else formula == each.payment
            if not same:
                return None
    return last._replace(high=piece.high, high_in=piece.high_in, payment=formula)


# ----------------------------------------------------------------------------------------------- misreports of the type


class Lie(NamedTuple):
    """A misreport that the bidder can keep up: it arrives later, leaves earlier, or asks for more than it needs."""

    arrival: int
    deadline: int
    work: int
    memory_mb: int


def lies(task: Task, public: Public) -> list[Lie]:
    """The misreports that are tried: every window inside the true one, and larger work and memory.

    More work changes the outcome only when it rules out covers, so the values tried are one above the amount of work of
    each minimal cover (16 at most); memory: one more, twice as much, and all that a node of each type has.
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


def told(auction: Auction, i: int, rule: str, meter: Meter) -> Iterator[tuple[Lie, Fraction]]:
    """Every misreport of `lies` with the utility that it gives beside a truthful bid, constants kept.

    A task that says it arrives later is decided after all others of that slot.

    Raises
    ------
    OutOfSearches : when the meter does not allow what it takes.
    """
    instance, trace = auction.instance, auction.trace
    truth, valuation = auction.tasks[i], int(instance.valuation[i])
    ledger = Ledger(auction, meter)
    for j in range(i):
        ledger.decide(auction.tasks[j], trace.alpha, trace.beta)
    after = i + 1
    for lie in sorted(lies(truth, auction.public)):
        while lie.arrival > truth.arrival and after < instance.tasks and instance.arrival[after] <= lie.arrival:
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


def best_lie(auction: Auction, i: int, rule: str, meter: Meter) -> tuple[Lie, Fraction] | None:
    """The first misreport of those that pay best, and its utility; None when none is better than the truth.

    Raises
    ------
    OutOfSearches : when the meter does not allow what it takes.
    """
    best = fixed_curve(auction, i, rule).utility(int(auction.instance.valuation[i]))
    found: tuple[Lie, Fraction] | None = None
    for lie, utility in told(auction, i, rule, meter):
        if utility > best:
            best, found = utility, (lie, utility)
    return found


def _with(task: Task, lie: Lie) -> Task:
    return Task(
        task.index, lie.arrival, lie.deadline, lie.memory_mb, lie.work, task.bid, task.rate, task.cost, task.vendors
    )


# ----------------------------------------------------------------------------------------------------------- the checks


def _gain(curve: Curve) -> tuple[Fraction, dict[str, Any]]:
    bid, utility = curve.best()
    truthful = curve.utility(curve.valuation)
    witness = {
        "task": curve.task,
        "true_bid": curve.valuation,
        "utility": str(truthful),
        "better_bid": str(bid),
        "better_utility": str(utility),
        "gain": str(utility - truthful),
    }
    return utility - truthful, witness


def _scale(case: Case) -> int:
    return int(case.instance.bid.max(initial=0)) + int(case.instance.valuation.max(initial=0))


def theorem3_fixed_constants(case: Case) -> Check:
    """No bid is better than the valuation, for any task, with alpha and beta as they were in the run."""
    name, claim = "theorem3_fixed_constants", "U_i(b) - U_i(v_i) for the bid that gains most, constants kept"
    problem = case.problem()
    if problem:
        return case.decide(name, None, None, claim, problem=problem)
    auction = auction_of(case.instance, case.run, case.steps)
    gain, witness = max(
        (_gain(fixed_curve(auction, i, auction.rule)) for i in range(case.instance.tasks)), key=lambda pair: pair[0]
    )
    figures: Figures = {"payment": auction.rule}
    return case.decide(name, gain, 0, claim, witness=witness, figures=figures, scale=_scale(case))


def theorem3(case: Case) -> Check:
    """No bid is better than the valuation, for any task; constants that came from the bids follow the misreport."""
    name, claim = "theorem3", "U_i(b) - U_i(v_i) for the bid that gains most"
    problem = case.problem()
    if problem:
        return case.decide(name, None, None, claim, problem=problem)
    auction = auction_of(case.instance, case.run, case.steps)
    figures: Figures = {"payment": auction.rule, "recomputed": ", ".join(sorted(auction.oracle)) or "none"}
    if not (auction.oracle or auction.moving_units):
        fixed = theorem3_fixed_constants(case)
        return Check(name, fixed.status, fixed.left, fixed.right, fixed.reason, fixed.witness, figures)
    problem = unfollowed(auction)
    if problem and auction.trace.exact:
        return case.decide(name, None, None, claim, problem=problem, figures=figures)
    if problem:
        return case.undecided(name, problem, figures)
    meter = Meter(SEARCHES)
    # First those that gain already while the constants stay: they often gain here, too.
    fixed_gain = {i: _gain(fixed_curve(auction, i, auction.rule))[0] for i in range(case.instance.tasks)}
    for count, i in enumerate(sorted(fixed_gain, key=lambda i: -fixed_gain[i])):
        try:
            gain, witness = _gain(recomputed_curve(auction, i, auction.rule, meter))
        except OutOfSearches:
            figures |= {"tasks_followed": count}
            return case.undecided(name, f"{count} of {case.instance.tasks} tasks followed, none gains", figures)
        if gain > 0:
            return case.decide(name, gain, 0, claim, witness=witness, figures=figures)
    return case.decide(name, 0, 0, claim, figures=figures)


def theorem3_types(case: Case) -> Check:
    """No task gains by a narrower window, more work or more memory than it has, constants kept, bid truthful."""
    name, claim = "theorem3_types", "gain by the misreport of arrival, deadline, work or memory that pays best"
    problem = case.problem()
    if problem:
        return case.decide(name, None, None, claim, problem=problem)
    auction = auction_of(case.instance, case.run, case.steps)
    figures: Figures = {"payment": auction.rule}
    if not auction.trace.exact:
        return case.undecided(name, "float prices: misreports are followed in exact arithmetic only", figures)
    meter = Meter(SEARCHES)
    for i in range(case.instance.tasks):
        try:
            found = best_lie(auction, i, auction.rule, meter)
        except OutOfSearches:
            return case.undecided(name, f"{i} of {case.instance.tasks} tasks followed, none gains", figures)
        if found is not None:
            lie, utility = found
            truthful = fixed_curve(auction, i, auction.rule).utility(int(case.instance.valuation[i]))
            witness = {"task": i, **lie._asdict(), "utility": str(truthful), "better_utility": str(utility)}
            return case.decide(name, utility - truthful, 0, claim, witness=witness, figures=figures)
    return case.decide(name, 0, 0, claim, figures=figures)


def _worst_loss(case: Case, name: str, claim: str, *, any_bid: bool) -> Check:
    problem = case.problem()
    if problem:
        return case.decide(name, None, None, claim, problem=problem)
    auction = auction_of(case.instance, case.run, case.steps)
    if auction.rule == "printed" and not any_bid:
        problem = case.negative()
    worst, witness = Fraction(0), None
    for i in range(case.instance.tasks):
        cost, valuation = cost_of(auction, i), int(case.instance.valuation[i])
        if cost is None or not cost.fits or not (any_bid or valuation > cost.total):
            continue
        loss = cost.payment(auction.rule) - valuation
        if loss > worst:
            bid = max(0, cost.total.__floor__() + 1) if any_bid else valuation
            worst, witness = loss, {"task": i, "valuation": valuation, "bid": bid, "utility": str(-loss)}
    figures: Figures = {"payment": auction.rule}
    return case.decide(
        name, worst, 0, claim, problem=problem, witness=witness, figures=figures, scale=_scale(case) if worst else 0
    )


def theorem4(case: Case) -> Check:
    """A truthful bid never loses: p_i <= v_i of every task that wins with b_i = v_i."""
    return _worst_loss(case, "theorem4", "largest loss p_i - v_i of a truthful bid", any_bid=False)


def theorem4_literal(case: Case) -> Check:
    """Definition 3 as printed: no bid at all ends in a loss."""
    return _worst_loss(case, "theorem4_literal", "largest loss p_i - v_i of any bid", any_bid=True)


class Charge(NamedTuple):
    """An admitted task's valuation, bid and charge, and what it costs the provider (vendor and operation)."""

    task: int
    valuation: int
    bid: int
    payment: Fraction
    outlay: int


def charges(auction: Auction, rule: str) -> list[Charge]:
    """Every admitted task's bid and exact payment, in order (what Figure 11 of the paper shows of ten tasks)."""
    found = []
    for i, step in sorted(auction.steps.items()):
        cost = cost_of(auction, i) if step.offer.admitted else None
        if cost is not None:
            instance = auction.instance
            outlay = cost.fee + cost.energy
            found.append(Charge(i, int(instance.valuation[i]), int(instance.bid[i]), cost.payment(rule), outlay))
    return found


def deficits(auction: Auction, rule: str) -> dict[int, Fraction]:
    """q + E - p_i of every admitted task: what the provider pays more than it charges; negative is a surplus."""
    return {charge.task: charge.outlay - charge.payment for charge in charges(auction, rule)}


def provider_deficit(case: Case) -> Check:
    """The charge covers the vendor's price and the operational cost of every admitted task."""
    name, claim = "provider_deficit", "largest deficit q + sum e - p_i of an admitted task"
    problem = case.problem()
    if problem:
        return case.decide(name, None, None, claim, problem=problem)
    auction = auction_of(case.instance, case.run, case.steps)
    found = deficits(auction, auction.rule)
    short = {i: value for i, value in found.items() if value > 0}
    worst = max(found, key=lambda i: found[i], default=None)
    figures: Figures = {
        "payment": auction.rule,
        "tasks_in_deficit": len(short),
        "sum_of_deficits": sum(short.values(), Fraction(0)),
        "net_revenue": -sum(found.values(), Fraction(0)),
    }
    if worst is None:
        return case.decide(name, None, None, f"{claim}; none was admitted", figures=figures)
    witness = {"task": worst, "deficit": str(found[worst]), "tasks": sorted(short)}
    return case.decide(
        name, found[worst], 0, claim, witness=witness, figures=figures, scale=_scale(case) if found[worst] else 0
    )
