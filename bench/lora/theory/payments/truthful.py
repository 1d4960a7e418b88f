"""Truthfulness, rationality and deficits of any mechanism with payments, on one run.

Claims about pdFTSP stand in `bench.lora.theory.paper.theorem3`. Here is what is asked of the others: `truthful_bid`,
`truthful_type`, `rational`, `no_deficit`. The first two are decided in one of two ways.

A run that kept an offer per task, with constants that no bid moves: each offer is found again (`offers`), and what is
true of take-it-or-leave-it offers is true of every lie. As one run does not show what another bid would have met, some
tasks' bids are put to the algorithm again, as far as `ASKED` decisions go: the offer has to stay.

All others: the algorithm runs again with a report of another bid or type (`again`), as often as `ALLOWANCE` and
`REPORTS` let it. A lie that gains settles the claim; lies that do not prove nothing.

Asked of one bidder alone (`truthfulness_of`) the same is done with `ONE` times the work, and its bids are sought where
outcomes change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain, pairwise, product
from math import ceil
from typing import Any, NamedTuple

from bench.family.checks import Check, Verdict
from bench.lora.theory.basis.case import Figures
from bench.lora.theory.payments.again import PROCESS, Again, Heard, Report, follows_bids
from bench.lora.theory.payments.offers import Offers, exposed, told, verify
from instances.fields import LIMIT
from instances.lora.model import Instance
from instances.lora.solution import Decision
from online.lora.traces import PriceTrace
from online.outcome import OnlineRun

ALLOWANCE = 2000
"""Most decisions that the reports of one check may take: about a second of a slow algorithm."""
REPORTS = 80
"""Most reports of one check."""
CONFIRMED = 2
"""Most gains of anyone's own algorithm that are heard once more, each in processes of its own."""
HEARD = 3
"""In so many: an algorithm that draws anew in every run may gain by luck, as a fair coin does once in 128 times."""
EACH = 3
"""Where not all tasks can have so many reports, some have none."""
ASKED = 300
"""Most decisions that confirming offers which were found again may take."""

ONE = 100
"""As much may be asked about a bidder that was chosen as in this many checks of all."""
SEARCHED = 10
"""As much may be searched for it."""
NAMES = ("truthful_bid", "truthful_type", "rational", "no_deficit")
OF_ONE = NAMES[:2]
"""Those that one bidder can be asked."""
Plan = Callable[["Sale", Again, int, Decision | None], Iterator[Report]]
"""The reports of a task to be tried, the most promising first, given its decision when it tells the truth."""


def truthfulness(instance: Instance, run: OnlineRun, claims: Collection[str] = NAMES) -> list[Check]:
    """The four checks of a run, or those that are wanted; none of a run of pdFTSP, about which there are claims."""
    return _checks(Sale(instance, run), [name for name in NAMES if name in claims])


def truthfulness_of(instance: Instance, run: OnlineRun, task: int, claims: Collection[str] = OF_ONE) -> list[Check]:
    """`truthful_bid` and `truthful_type` of one bidder, with `ONE` times the work; none of a run of pdFTSP."""
    return _checks(Sale(instance, run, task), [name for name in OF_ONE if name in claims])


def _checks(case: Sale, names: list[str]) -> list[Check]:
    if isinstance(case.run.trace, PriceTrace):
        return []
    problem = case.problem()
    if problem:
        return [Check(name, Verdict.NOT_APPLICABLE, None, None, problem) for name in names]
    every = dict(zip(NAMES, (_truthful_bid, _truthful_type, _rational, _no_deficit), strict=True))
    return [every[name](case) for name in names]


class Tried(NamedTuple):
    """What came of telling the algorithm something else.

    Parameters
    ----------
    reports, tasks, failed : how many reports were heard, of how many tasks, and how many ended in no valid run.
    gain, witness : of the report that gained most; 0 and None when none gains.
    """

    reports: int
    tasks: int
    failed: int
    gain: int
    witness: dict[str, Any] | None

    def said(self, case: Sale) -> str:
        """Why nothing was found, in words."""
        if case.unsteady:
            return f"not reproducible: the same report of task {case.unsteady[0]} is answered otherwise"
        if self.reports == 0 and self.failed:
            return "no misreport ended in a valid run"
        if self.reports == 0:
            return f"too long to probe: {ALLOWANCE * case.times} decisions are allowed"
        whose = f"{self.tasks} tasks" if case.only is None else f"task {case.only}"
        return f"{self.reports} misreports of {whose} tried, none gains"


@dataclass(frozen=True)
class Sale:
    """A run as bidders see it, in booked micro-dollars.

    Parameters
    ----------
    only : the one bidder that is asked about; None for all.
    truths : decisions of tasks that tell the truth, as far as they were heard.
    """

    instance: Instance
    run: OnlineRun
    only: int | None = None
    truths: dict[int, Decision | None] = field(default_factory=dict)
    unsteady: list[int] = field(default_factory=list)

    def problem(self) -> str:
        """Why nothing is asked of it; empty if nothing stands against it."""
        if not self.run.valid:
            return "the run is not valid"
        if self.run.revenue is None and not exposed(self.run):
            return "no payment rule" if self.run.admitted else "no task was admitted, so no payment was seen"
        return ""

    @property
    def times(self) -> int:
        """How many times what a check of all tasks may ask."""
        return 1 if self.only is None else ONE

    @cached_property
    def offers(self) -> Offers | None:
        """The offers found again; None where constants come from the bids, or no offer was kept."""
        if not exposed(self.run) or follows_bids(self.run):
            return None
        if self.only is None:
            return verify(self.instance, self.run)
        # Who comes after its deadline meets none of its reports.
        last = int(
            (self.instance.arrival <= max(self.instance.arrival[self.only], self.instance.deadline[self.only])).sum()
        )
        return verify(self.instance, self.run, until=last - 1, times=SEARCHED)

    @cached_property
    def confirmed(self) -> tuple[int, dict[str, Any] | None]:
        """How many bids were put to the algorithm again, and the first that did not meet the offer of the run."""
        assert self.offers is not None
        again = self.again(ASKED * self.times)
        asked = 0
        for i in self.order:
            cost = self.offers.costs[i]
            edge = -1 if cost is None else cost.__floor__()
            more = [] if self.only is None else _first_bids(self, i, self.run.decisions[i])
            for bid in sorted({0, edge, edge + 1, LIMIT, *more}):
                report = again.asked(i, bid)
                if not 0 <= bid <= LIMIT or again.cost(i, report) > again.left:
                    continue
                valid, decision = again.decision(i, report)
                asked += 1
                taken = cost is not None and bid > cost
                if not valid:
                    return asked, {"task": i, "problem": f"a bid of {bid} ends in no valid run"}
                if (decision is not None) != taken:
                    return asked, {"task": i, "problem": f"a bid of {bid} meets another offer than in the run"}
                if decision is not None and cost is not None and decision.payment != ceil(cost):
                    return asked, {"task": i, "problem": f"a bid of {bid} is charged {decision.payment}"}
        return asked, None

    def again(self, allowance: int, *, keep: bool = False) -> Again:
        """The run again."""
        return Again(self.instance, self.run, allowance, keep=keep)

    @cached_property
    def order(self) -> list[int]:
        """The tasks: those whose bids set a constant that is a largest density, who pays most, who is worth most."""
        if self.only is not None:
            return [self.only]
        instance = self.instance
        bid, work, memory = instance.bid.tolist(), instance.work.tolist(), instance.memory_mb.tolist()
        value, tasks = instance.valuation.tolist(), range(instance.tasks)
        paid = [0 if each is None else each.payment or 0 for each in self.run.decisions]
        first = [max(tasks, key=lambda i: Fraction(bid[i], size[i])) for size in (work, memory)] if tasks else []
        return list(dict.fromkeys([*first, *sorted(tasks, key=lambda i: (-paid[i], -value[i]))]))

    def utility(self, i: int, decision: Decision | None) -> int:
        """v_i less the charge that was booked; 0 for a rejected task."""
        return 0 if decision is None else int(self.instance.valuation[i]) - (decision.payment or 0)

    def outlay(self, i: int, decision: Decision) -> int:
        """q + sum e of a decision."""
        kind = self.instance.public("").type_of_node
        cost = self.instance.cost(i)
        price = 0 if decision.vendor is None else self.instance.vendors(i)[decision.vendor].price
        return price + sum(int(cost[kind[k], t - 1]) for k, t in decision.cells)

    def honest(self, i: int, again: Again) -> bool:
        """Whether the task's decision when it tells the truth is known, or can be heard."""
        if i not in self.truths and self.instance.bid[i] == self.instance.valuation[i]:
            self.truths[i] = self.run.decisions[i]
        if i not in self.truths and again.cost(i, again.truth(i)) <= again.left:
            valid, decision = again.decision(i, again.truth(i))
            if valid:
                self.truths[i] = decision
        return i in self.truths

    def alone(self, i: int, report: Report) -> tuple[int, Decision | None] | None:
        """What a task gets, and its decision, in runs in processes of their own; None where one is not valid.

        HEARD runs, with the one at hand; where they differ the algorithm draws, which goes into `unsteady`, and None.
        """
        again = self.again(0)
        own = self.run.decisions[i]
        heard = [(self.utility(i, own), own)] if report == again.asked(i, int(self.instance.bid[i])) else []
        for _ in range(HEARD):
            again.left = again.cost(i, report) + PROCESS
            valid, decision = again.decision(i, report, alone=True)
            if not valid:
                return None
            heard.append((self.utility(i, decision), decision))
        if any(other != heard[0] for other in heard):
            self.unsteady.append(i)
            return None
        return heard[0]

    def figures(self) -> Figures:
        """What is shown of the offers."""
        offers = self.offers
        sources = sorted({str(constant.source) for constant in self.run.constants})
        shown: Figures = {"constants": ", ".join(sources) or "none"}
        return shown if offers is None else shown | {"offers_found_again": len(offers.costs)}


def _truthful_bid(case: Sale) -> Check:
    """No bid is better than the valuation, for any task."""
    plan = _bids if case.only is None else where_outcomes_change
    return _settle(case, "truthful_bid", "U_i(b) - U_i(v_i) for the bid that gains most", plan)


def _truthful_type(case: Sale) -> Check:
    """No later arrival, earlier deadline, more work or more memory gains, alone or together; bid truthful."""
    claim = "gain by the misreport of arrival, deadline, work or memory that pays best"
    return _settle(case, "truthful_type", claim, _types)


def _settle(case: Sale, name: str, claim: str, plan: Plan) -> Check:
    """Decide by the offers where they decide it, else by lies."""
    offers, figures = case.offers, case.figures()
    problem, order = "", case.order
    if offers is not None:
        if offers.broken is None and offers.doubt:
            return Check(name, Verdict.UNDECIDED, None, None, offers.doubt, None, figures)
        found = offers.broken
        if found is None:
            figures["bids_asked_again"], found = case.confirmed
        if found is None:
            reason = f"{claim}: every offer is the least cost with room, is taken above it and charged"
            return Check(name, Verdict.HOLDS, Fraction(0), Fraction(0), reason, None, figures)
        problem = f"offers are not take-it-or-leave-it at least cost ({told(found)}); "
        if found["task"] is not None and case.only is None:
            order = [found["task"], *(i for i in order if i != found["task"])]
    again = case.again(ALLOWANCE * case.times)
    try:
        if not again.same():
            reason = f"{problem}run again, it decides otherwise"
            return Check(name, Verdict.UNDECIDED, None, None, reason, None, figures)
        tried = _try(case, again, order, plan)
    finally:
        again.close()
    figures |= {"misreports_tried": tried.reports, "tasks_tried": tried.tasks, "runs_skipped": tried.failed}
    if tried.witness is not None:
        gain = Fraction(tried.gain)
        return Check(name, Verdict.VIOLATED, gain, Fraction(0), problem + claim, tried.witness, figures)
    return Check(name, Verdict.UNDECIDED, None, None, problem + tried.said(case), None, figures)


def gain_by_bid(instance: Instance, run: OnlineRun, task: int) -> str | Tried:
    """What one bidder of any run with payments gains by another bid, constants following it; or why none was heard."""
    return _lies(Sale(instance, run, task), where_outcomes_change, keep=False)


def gain_by_type(instance: Instance, run: OnlineRun, task: int) -> str | Tried:
    """The same by another type, the bid truthful, with the constants of the run."""
    return _lies(Sale(instance, run, task), _types, keep=True)


def _lies(case: Sale, plan: Plan, *, keep: bool) -> str | Tried:
    again = case.again(ALLOWANCE * case.times, keep=keep)
    try:
        if not again.same():
            return "run again, it decides otherwise"
        tried = _try(case, again, case.order, plan)
    finally:
        again.close()
    return tried if tried.witness is not None else tried.said(case)


def _try(case: Sale, again: Again, order: list[int], plan: Plan) -> Tried:
    """Reports of all tasks in turns, until the allowance is used up."""
    waiting: dict[int, Iterator[Report]] = {}
    reports, wanted = 0, 0
    seen: set[int] = set()
    gains: list[tuple[int, int, Report]] = []
    for i in order:
        cost = EACH * again.cost(i, again.truth(i))
        if wanted + cost <= again.left and case.honest(i, again):
            waiting[i] = plan(case, again, i, case.truths[i])
            wanted += cost
    while waiting:
        for i in list(waiting):
            report = next(waiting[i], None)
            if report is None or reports == REPORTS * case.times or again.cost(i, report) > again.left:
                del waiting[i]
                continue
            valid, decision = again.decision(i, report)
            if valid:
                reports += 1
                seen.add(i)
                gains.append((case.utility(i, decision) - case.utility(i, case.truths[i]), i, report))
    gains = sorted((each for each in gains if each[0] > 0), key=lambda each: -each[0])
    if again.own:
        gains = list(_confirmed_gains(case, again, gains[:CONFIRMED]))
    witness = None
    if gains:
        gain, i, report = gains[0]
        honest = case.utility(i, case.truths[i])
        witness = _witness(i, again.truth(i), report, honest, honest + gain)
    return Tried(reports, len(seen), again.failed, gains[0][0] if gains else 0, witness)


def _confirmed_gains(
    case: Sale, again: Again, gains: list[tuple[int, int, Report]]
) -> Iterator[tuple[int, int, Report]]:
    """The first of these that is a gain in runs in processes of their own, too."""
    for _, i, report in gains:
        honest, lied = case.alone(i, again.truth(i)), case.alone(i, report)
        if honest is not None and lied is not None and lied[0] > honest[0]:
            case.truths[i] = honest[1]
            yield lied[0] - honest[0], i, report
            return


def _witness(i: int, truth: Report, lie: Report, honest: int, gained: int) -> dict[str, Any]:
    shown: dict[str, Any] = {"task": i, "utility": str(honest), "better_utility": str(gained)}
    if lie.bid != truth.bid:
        return shown | {"true_bid": truth.bid, "better_bid": str(lie.bid), "gain": str(gained - honest)}
    said = lie._asdict()
    del said["bid"]
    return shown | said | {"gain": str(gained - honest)}


def _first_bids(case: Sale, i: int, decision: Decision | None) -> list[int]:
    """Around what is paid, parts and multiples of the valuation, around the cost, at densities; without the truth."""
    instance = case.instance
    value = int(instance.valuation[i])
    wanted = []
    if decision is not None:
        paid, outlay = decision.payment or 0, case.outlay(i, decision)
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


def _bids(case: Sale, again: Again, i: int, decision: Decision | None) -> Iterator[Report]:
    """`_first_bids`, then every bid."""
    truth, wanted = again.truth(i), _first_bids(case, i, decision)
    top = max([2 * truth.bid, *(bid for bid in wanted if bid < LIMIT)]) + 1
    tried = {truth.bid}
    for bid in chain(wanted, range(top)):
        if bid not in tried:
            tried.add(bid)
            yield truth._replace(bid=bid)


def where_outcomes_change(
    case: Sale, again: Again, i: int, decision: Decision | None, *, further: bool = True
) -> Iterator[Report]:
    """`_first_bids`; the middle between neighbours with different outcomes until none is left; then of wide gaps.

    Parameters
    ----------
    further : go on where neighbours have the same outcome, up to twice the valuation, the widest gap first.
    """
    truth = again.truth(i)
    known: dict[int, Heard] = {truth.bid: (True, decision)}
    for bid in _first_bids(case, i, decision):
        yield truth._replace(bid=bid)
        known[bid] = again.heard[i, truth._replace(bid=bid)]
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
        known[middle] = again.heard[i, truth._replace(bid=middle)]
        gap(low, middle)
        gap(middle, high)


def _unlike(one: Heard, other: Heard) -> int:
    """0 for another outcome, 1 for another charge of the same schedule, 2 for the same in all."""
    if one == other:
        return 2
    decisions = [heard[1] for heard in (one, other)]
    bare = [None if each is None else each._replace(payment=None) for each in decisions]
    return 1 if one[0] == other[0] and bare[0] == bare[1] else 0


def _types(case: Sale, again: Again, i: int, decision: Decision | None) -> Iterator[Report]:
    """One field by one step, by large steps, and to where the schedule ends; then several fields together.

    Of a bidder that was chosen also every later arrival and every earlier deadline alone.
    """
    instance, truth = case.instance, again.truth(i)
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
    fields = (
        [truth.arrival, *(t for t in dict.fromkeys(arrivals) if truth.arrival < t <= truth.deadline)],
        [truth.deadline, *(t for t in dict.fromkeys(deadlines) if truth.arrival <= t < truth.deadline)],
        [truth.work, *(work for work in dict.fromkeys(works) if truth.work < work <= LIMIT)],
        [truth.memory_mb, *(size for size in dict.fromkeys(sizes) if truth.memory_mb < size <= LIMIT)],
    )
    told = (Report(truth.bid, *values) for values in product(*fields))
    lies = [lie for lie in told if lie.arrival <= lie.deadline and lie != truth]
    lies.sort(key=lambda lie: sum(one != other for one, other in zip(lie, truth, strict=True)))
    yield from lies
    if case.only is not None:
        window = range(truth.arrival, truth.deadline + 1)
        alone = [truth._replace(arrival=t) for t in window] + [truth._replace(deadline=t) for t in window]
        yield from sorted(set(alone) - set(lies) - {truth})


def _rational(case: Sale) -> Check:
    """No truthful bidder pays more than its valuation: what was booked for those that bid theirs."""
    claim = "largest loss p_i - v_i of a truthful bidder"
    instance = case.instance
    losses = {
        i: (decision.payment or 0) - int(instance.valuation[i])
        for i, decision in enumerate(case.run.decisions)
        if decision is not None and instance.bid[i] == instance.valuation[i]
    }
    figures: Figures = {"truthful_admitted": len(losses), "in_loss": sum(loss > 0 for loss in losses.values())}
    return _largest("rational", claim, losses, "loss", figures)


def _no_deficit(case: Sale) -> Check:
    """Every admitted task pays at least its vendor's price and its operational cost."""
    claim = "largest deficit q + sum e - p_i of an admitted task"
    short = {
        i: case.outlay(i, decision) - (decision.payment or 0)
        for i, decision in enumerate(case.run.decisions)
        if decision is not None
    }
    figures: Figures = {
        "tasks_in_deficit": sum(value > 0 for value in short.values()),
        "sum_of_deficits": sum(value for value in short.values() if value > 0),
        "net_revenue": -sum(short.values()),
    }
    return _largest("no_deficit", claim, short, "deficit", figures)


def _largest(name: str, claim: str, values: dict[int, int], what: str, figures: Figures) -> Check:
    """The check that none of the tasks' values is above 0."""
    worst = max(values, key=lambda i: values[i], default=None)
    if worst is None:
        return Check(name, Verdict.HOLDS, None, None, f"{claim}; there is none", None, figures)
    largest = values[worst]
    verdict = Verdict.VIOLATED if largest > 0 else Verdict.HOLDS
    witness = {"task": worst, what: str(largest)} if largest > 0 else None
    return Check(name, verdict, Fraction(largest), Fraction(0), claim, witness, figures)
