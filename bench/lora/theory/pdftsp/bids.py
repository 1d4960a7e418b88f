"""Theorem 3: what a bidder gains by lying about its bid, for every possible bid and not on a grid.

Between the bids at which its own becomes the largest, alpha and beta are linear in the task's bid; as long as the
decisions before task i do not change, every price is linear, and so is the F of every schedule, and a schedule that is
best at both ends of an interval is best inside it. From the decisions at one bid the walk goes to the ends of the
interval on which they stand: at a bid where another schedule is better, or an F has another sign, the two lines cross
at a bid in between, exactly; that bid is tried next. At the breakpoint the bid itself is looked at separately (ties).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from ratiobench.bench.lora.theory.basis.facts import SearchBudget
from ratiobench.bench.lora.theory.payments.offers import list_offers, records_offers, verify_offers
from ratiobench.bench.lora.theory.pdftsp.auction import Auction, auction_of, fixed_curve
from ratiobench.bench.lora.theory.pdftsp.curve import Curve, Line, Piece, make_threshold_curve
from ratiobench.bench.lora.theory.pdftsp.price_state import Course, History, PastDecision, Regime, first_state
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.traces import PriceTrace
from ratiobench.online.outcome import OnlineRun, Source


def require_task(instance: Instance, task: int) -> None:
    if not 0 <= task < instance.tasks:
        raise InputError(instance.name, "task", f"{task} is not in 0..{instance.tasks - 1}")


def utility_curve(instance: Instance, run: OnlineRun, task: int) -> Curve:
    require_task(instance, task)
    if records_offers(run):
        return _offer_curve(instance, run, task)
    if not isinstance(run.trace, PriceTrace):
        raise CurveUnknown("algorithm", run.algorithm, "this run kept no offers")
    auction = auction_of(instance, run)
    if not (auction.oracle or auction.moving_units):
        return fixed_curve(auction, task)
    problem = explain_unfollowed(auction)
    if problem:
        raise CurveUnknown("algorithm", run.algorithm, problem)
    return recompute_curve(auction, task, SearchBudget(None))


def _offer_curve(instance: Instance, run: OnlineRun, task: int) -> Curve:
    """Two pieces: the offer does not move with the bid."""
    oracle = sorted(constant.name for constant in run.constants if constant.source is Source.ORACLE)
    if oracle:
        problem = f"{', '.join(oracle)} come from the bids and move with them; give them by name, or prior=FILE"
        raise CurveUnknown("algorithm", run.algorithm, problem)
    found = verify_offers(instance, run)
    if found.broken is not None:
        raise CurveUnknown("algorithm", run.algorithm, str(found.broken))
    if len(found.costs) <= task:
        raise CurveUnknown("algorithm", run.algorithm, found.doubt)
    cost = found.costs[task]
    exact = None if cost is None else Fraction(cost)
    cells = list_offers(instance, run)[task].cells
    return make_threshold_curve(task, int(instance.valuation[task]), "critical", exact, exact or Fraction(0), cells)


def explain_unfollowed(auction: Auction) -> str:
    """Why the run cannot be followed exactly while the bid moves its constants; empty if it can."""
    if auction.moving_units:
        return "canonical units follow the bid, and not along straight lines"
    if auction.trace.search != "exact":
        return "search=printed is no maximiser: its choice need not change where lines cross"
    if not auction.trace.exact:
        return "float prices: constants that follow the bid are followed in exact arithmetic only (arith=exact)"
    return ""


class CurveUnknown(InputError):
    """The curve of this run is not known exactly; trying bids may still show some of it."""


class _Walk:
    """All decisions up to one task, as functions of its bid."""

    def __init__(self, auction: Auction, task: int, meter: SearchBudget) -> None:
        self._auction, self._task, self._meter = auction, task, meter
        self._tasks = auction.tasks[: task + 1]

    def _begin(self) -> Course:
        return Course(first_state(self._auction), self._meter)

    def history(self, regime: Regime, bid: Fraction) -> History:
        course = self._begin()
        alpha, beta = regime.alpha(bid), regime.beta(bid)
        decided: list[PastDecision | None] = [course.decide(task, alpha, beta) for task in self._tasks[:-1]]
        own = self._tasks[-1]
        choice = course.search(own, alpha, beta)
        fits = choice is not None and course.state.fits(own, choice.cells)
        decided.append(None if choice is None else PastDecision(choice.option, choice.cells, False, fits))
        return tuple(decided)

    def stands(self, history: History, regime: Regime, bid: Fraction) -> Fraction | None:
        """None if the history is one of the best also at this bid (ties apart), else the bid where two lines cross."""
        course = self._begin()
        alpha, beta = regime.alpha(bid), regime.beta(bid)
        for task, past in zip(self._tasks, history, strict=True):
            if past is None:
                continue
            ours = course.state.line(task, past.option, past.cells, regime)
            best = course.search_again(task, alpha, beta)
            assert best is not None
            if best.value > ours(bid):
                return ours.crosses(course.state.line(task, best.option, best.cells, regime))
            if task.index != self._task and (ours(bid) < 0 if past.positive else ours(bid) > 0):
                return ours.crosses(Line(Fraction(0)))
            course.take(task, past)
        return None

    def cost(self, history: History, regime: Regime) -> tuple[Line, int]:
        """c_i(l) as a function of the bid, and E of the schedule, under a history."""
        course = self._begin()
        for task, past in zip(self._tasks[:-1], history, strict=False):
            course.take(task, past)
        own, past = self._tasks[-1], history[-1]
        assert past is not None
        line = course.state.line(own, past.option, past.cells, regime)
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


def recompute_curve(auction: Auction, task: int, meter: SearchBudget) -> Curve:
    """The curve if alpha = max b/M and beta = max b/r (those that the run took from the bids) follow the bid."""
    instance, trace, bids = auction.instance, auction.trace, auction.instance.bid.tolist()
    sizes = {"alpha": instance.work.tolist(), "beta": instance.memory_mb.tolist()}
    others = [j for j in range(instance.tasks) if j != task]
    rest = {n: max((Fraction(bids[j], of[j]) for j in others), default=Fraction(0)) for n, of in sizes.items()}
    # Up to its kink the task's own b/M (b/r) is not the largest and the constant stands; above, it is b over the size.
    kinks = {name: rest[name] * sizes[name][task] for name in auction.oracle}
    top = Fraction(LIMIT)
    ends = sorted({Fraction(0), top, *(kink for kink in kinks.values() if kink < top)})

    def line(name: str, used: Fraction, low: Fraction) -> Line:
        if name not in auction.oracle:
            return Line(used)
        return Line(rest[name]) if low < kinks[name] else Line(Fraction(0), Fraction(1, sizes[name][task]))

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
            for piece in _outcomes(walk, regime, start, end, history, auction.rule):
                _append(pieces, piece)
    return Curve(task, int(instance.valuation[task]), auction.rule, tuple(pieces))


def _outcomes(
    walk: _Walk, regime: Regime, start: Fraction, end: Fraction, history: History, rule: str
) -> Iterator[Piece]:
    """One interval of bids with one history, cut where the bid passes the cost."""
    past = history[-1]

    def piece(low: Fraction, high: Fraction, paid: Line | None) -> Piece:
        single, cells = low == high, () if past is None or paid is None else past.cells
        return Piece(low, high, single, single, paid is not None, paid, cells)

    if past is None or not past.admitted:
        yield piece(start, end, None)
        return
    cost, energy = walk.cost(history, regime)
    paid = cost if rule == "critical" else Line(cost.at - energy, cost.slope)
    if start == end:
        yield piece(start, end, Line(paid(start)) if start > cost(start) else None)
        return
    # The task wins where its bid is above its cost; two lines, so they cross once at most.
    cuts = [start, end]
    if cost.slope != 1 and start < (meet := Line(Fraction(0), Fraction(1)).crosses(cost)) < end:
        cuts.insert(1, meet)
    for low, high in pairwise(cuts):
        middle = (low + high) / 2
        yield piece(low, high, paid if middle > cost(middle) else None)
        if high < end:
            yield piece(high, high, None)


def _append(pieces: list[Piece], piece: Piece) -> None:
    """Add the next piece, joined to the last one if both have the same outcome."""
    if pieces and pieces[-1].cells == piece.cells:
        last = pieces[-1]
        formula = piece.payment if last.low == last.high else last.payment
        if _follows(last, formula) and _follows(piece, formula):
            pieces[-1] = last._replace(high=piece.high, high_in=piece.high_in, payment=formula)
            return
    pieces.append(piece)


def _follows(piece: Piece, formula: Line | None) -> bool:
    """Whether a piece, which may be a single bid, has this payment."""
    if piece.payment is None or formula is None or piece.low < piece.high:
        return piece.payment == formula
    return piece.payment(piece.low) == formula(piece.low)
