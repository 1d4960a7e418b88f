"""Misreports of the schedules that a task may have: another kind, or a gang of another width; bid and window truthful.

A misreport pays if the task could run in what it gets, and pays less for it than for what it gets when it tells the
truth, or gets it where it was rejected. The sets of schedules are nested: rigid ones are among those that stay on one
node, and these among all of P. Where a task is charged the least cost over its set, a stricter claim never pays less,
and a looser one gets a schedule that it cannot use, or the same. A gang that asks for more nodes, with as much more
work that it has them as long, can use some of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.payments.bidder_view import BidderView, make_bidder_view
from ratiobench.bench.lora.theory.payments.repeatable_run import RepeatableRun, Report
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision

NAME = "way_misreport"
_SINGLE = (ScheduleKind.ANY, ScheduleKind.ONE_NODE, ScheduleKind.RIGID)


def list_reports(instance: Instance, again: RepeatableRun, i: int) -> list[Report]:
    """The other kinds, and a gang of one node more."""
    truth = again.truth(i)
    if truth.run != ScheduleKind.GANG.value:
        return [truth._replace(run=kind.value) for kind in _SINGLE if kind.value != truth.run]
    wider = truth.nodes + 1
    work = -(-truth.work * wider // truth.nodes)
    if wider > instance.nodes or work > LIMIT:
        return []
    return [truth._replace(nodes=wider, work=work)]


def is_usable(instance: Instance, i: int, decision: Decision) -> bool:
    """Whether what a task gets holds a schedule that it may have, in the window that it told."""
    task, kind = instance.task(i), instance.public("").type_of_node.tolist()
    rate = task.rate.tolist()
    nodes: dict[int, set[int]] = {}
    for k, t in decision.cells:
        nodes.setdefault(k, set()).add(t)
    if task.run is ScheduleKind.ANY:
        best: dict[int, int] = {}
        for k, t in decision.cells:
            best[t] = max(best.get(t, 0), rate[kind[k]])
        return sum(best.values()) >= task.work
    if task.run is ScheduleKind.ONE_NODE:
        return any(len(slots) * rate[kind[k]] >= task.work for k, slots in nodes.items())
    for g in {kind[k] for k in nodes}:
        length = -(-task.work // (task.parts * rate[g])) if rate[g] else 0
        for begin in sorted({t for _, t in decision.cells}):
            run = set(range(begin, begin + length))
            if length and sum(kind[k] == g and run <= slots for k, slots in nodes.items()) >= task.parts:
                return True
    return False


def way_misreport(case: Case) -> Check:
    """No claim of another kind of schedules, or of a wider gang, gains."""
    return _settle(make_bidder_view(case))


def way_misreport_of(case: Case, task: int) -> Check:
    """`way_misreport` of one bidder."""
    return _settle(make_bidder_view(case, task))


def _settle(sale: BidderView) -> Check:
    claim = "gain by the misreport of the kind of schedules, or of a gang's width, that pays best"
    figures, tried, best = sale.figures(), 0, None
    again = sale.make_repeatable_run()
    try:
        if not again.is_reproducible():
            return Check(NAME, Verdict.UNDECIDED, None, None, "run again, it decides otherwise", None, figures)
        for i, report in _list_trials(sale, again):
            valid, decision = again.decision(i, report)
            if not valid:
                continue
            tried += 1
            used = decision is not None and is_usable(sale.instance, i, decision)
            got = sale.utility(i, decision) if used or decision is None else -(decision.payment or 0)
            gain = got - sale.utility(i, sale.truths[i])
            if best is None or gain > best[0]:
                best = gain, i, report
    finally:
        again.close()
    figures |= {"misreports_tried": tried, "runs_skipped": again.failed}
    if best is not None and best[0] > 0:
        gain, i, report = best
        if again.own and sale.ask_alone(i, report) is None:
            reason = f"not reproducible: the same report of task {i} is answered otherwise"
            return Check(NAME, Verdict.UNDECIDED, None, None, reason, None, figures)
        witness = {"task": i, "run": report.run, "nodes": report.nodes, "work": report.work, "gain": str(gain)}
        return Check(NAME, Verdict.VIOLATED, Fraction(gain), Fraction(0), claim, witness, figures)
    reason = f"{tried} misreports tried, none gains" if tried else "no misreport ended in a valid run, or none is left"
    return Check(NAME, Verdict.UNDECIDED, None, None, reason, None, figures)


def _list_trials(sale: BidderView, again: RepeatableRun) -> Iterator[tuple[int, Report]]:
    """The reports that the allowance lets be tried, of tasks whose true outcome is known."""
    for i in sale.order:
        for report in list_reports(sale.instance, again, i):
            if again.cost(i, report) + again.cost(i, again.truth(i)) <= again.left and sale.ask_truth(i, again):
                yield i, report
