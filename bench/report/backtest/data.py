"""A backtest: which policy is best on a load, day by day, and what can be said of the difference.

Totals, shares and differences are exact. Days are taken as drawn independently, so that a mean difference has an
interval by Student's t. Who is called better is so beyond chance in all comparisons at once: by its mean lead (the
interval leaves 0 out) or by the number of days on which it is ahead (the sign test), each of the two tests of each pair
of policies at 5 % / 2 / pairs (Bonferroni): of all pairs, since these very days say which policy the others are
compared with.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from ratiobench.bench.family.capabilities import ClassArrivals
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.day_facts import GROUP, DayFacts, read_facts
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import TIMELINE
from ratiobench.bench.report.backtest.criteria import WELFARE, Criterion, list_revenue, require_criterion
from ratiobench.bench.report.shared.text import check_title
from ratiobench.bench.report.timeline.data import Line, RunTimeline, join_timelines, read_timelines
from ratiobench.bench.results import intervals, ratios
from ratiobench.bench.results.read import DECIDING, Results, is_known, online_seconds
from ratiobench.bench.results.remarks import remarks_of_runs
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.outcome import Source

# Probability that some comparison of welfare is wrong by chance; those of profit have as much of their own
ERROR = 0.05


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy over the judged days."""

    name: str  # with its options
    said: str  # what is said of its runs
    sources: frozenset[Source]  # where its constants come from
    values: Mapping[str, Fraction]  # values, profits: by day, exact; days on which it has no valid run are not there
    profits: Mapping[str, Fraction]
    revenue: Fraction | None  # over all days; None without payments
    is_paid: bool  # whether it has a payment rule; without one its profit is at list prices, the bids
    admitted: Fraction  # admitted, arrivals: on the days with a valid run
    arrivals: int
    # the part of OPT over all days with an interval on OPT, at least and at most; None where it is not defined.
    share: tuple[Fraction, Fraction] | None
    used: Fraction | None  # mean share of all capacity that was used, over the days; None where it is not known
    seconds: float | None  # of a decision, on average; None where nothing was decided
    standing: Mapping[str, str]  # what is proved or known of it, by heading
    applied: Sequence[str]  # of each check of its guarantee, on how many days it holds
    is_later: bool = False  # whether it lets jobs wait, and decides later
    scores: Mapping[str, Fraction] | None = None  # what policies are ranked by, by day; None: the values
    # of jobs (`MEASURES`), mean over the days with a valid run; of `killed` the sum. Those known of each day.
    measures: Mapping[str, Fraction] = field(default_factory=dict)
    # profit at list prices by day; empty where no list price is known.
    listed: Mapping[str, Fraction] = field(default_factory=dict)
    classes: Mapping[str, Sequence[ClassArrivals]] = field(default_factory=dict)  # arrivals by class, over the days
    line: Line | None = None  # load, prices and arrivals over all days; None where the family has no time lines
    trouble: str = ""  # why some days are missing; empty where none is

    @property
    def constants(self) -> str:
        """Where its constants come from, in words."""
        return ", ".join(sorted(self.sources)) or "none"

    @property
    def value(self) -> Fraction:
        """Of all days together."""
        return sum(self.values.values(), Fraction(0))

    @property
    def ranked(self) -> Mapping[str, Fraction]:
        """What policies are ranked by, by day."""
        return self.values if self.scores is None else self.scores

    @property
    def list_profit(self) -> Fraction | None:
        """At list prices, of all days together; None where it is not known of all."""
        return sum(self.listed.values(), Fraction(0)) if self.listed and len(self.listed) == len(self.values) else None

    @property
    def profit(self) -> Fraction | None:
        """Of all days together; None where it is not known of all."""
        return sum(self.profits.values(), Fraction(0)) if len(self.profits) == len(self.values) else None


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much one policy is better than another a day."""

    one: str  # one, other: their names
    other: str
    estimate: intervals.Estimate  # mean with its 95 % interval
    joint: intervals.Estimate  # the same with the interval that holds for all comparisons with the best at once
    error: float  # what a test of one comparison may err by chance
    ahead: int  # ahead, behind: days on which `one` is strictly better, and worse; exact
    behind: int

    @property
    def is_apart(self) -> bool:
        """Whether the difference is beyond chance."""
        if intervals.sign_test(self.ahead, self.behind) <= self.error:
            return True
        return self.joint.low is not None and self.joint.high is not None and not self.joint.low <= 0 <= self.joint.high


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The days after a change."""

    change: str  # as `Family.change` takes it
    found: Backtest  # what the same policies did on them
    # what the change adds to OPT over all days, at least and at most; None where OPT is not known of all days.
    gain: tuple[Fraction, Fraction] | None
    # what it adds to the proved bounds on OPT: an estimate where the interval is wide; None as `gain`.
    bound: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Backtest:
    """What a backtest found."""

    days: Sequence[str]  # the judged ones, in order
    history: int  # how many days before a day were known of it; first: the days that are history alone
    first: Sequence[str]
    opt: Mapping[str, tuple[Fraction, Fraction] | None]  # the interval on OPT of each day; None where it is not known
    policies: Sequence[Policy]  # the best total first; those that lack days or knew the future last
    best: str  # the best of those that are complete; empty where none is
    differences: Sequence[Difference]  # of the best from every other complete policy
    hindsight: Fraction | None  # the total of each day's best policy; None where some day has no valid run
    criterion: Criterion = WELFARE  # by what policies are ranked
    facts: Mapping[str, DayFacts] = field(default_factory=dict)  # of the days, by name
    load: float | None = None  # of what can be served, mean over the days; None where it is not known
    what_ifs: Sequence[WhatIf] = ()  # the same days after changes

    @property
    def complete(self) -> list[Policy]:
        """Policies with a valid run on each day that knew nothing of the future."""
        return [each for each in self.policies if _is_complete(each, self.days)]

    def policy(self, name: str) -> Policy:
        """The policy of this name."""
        return next(each for each in self.policies if each.name == name)


def _is_complete(policy: Policy, days: Sequence[str]) -> bool:
    return len(policy.values) == len(days) == len(policy.ranked) and Source.ORACLE not in policy.sources


def evaluate(found: Results, family: Family) -> Backtest:
    """What the results of a backtest say."""
    known = found.about.get("backtest", {})
    if not isinstance(known, dict):
        raise InputError("about", "backtest", f"{shorten(known)} is not an object")
    criterion = require_criterion(known.get("by", WELFARE.name), family)
    given, changes = known.get("facts", {}), known.get("changes", [])
    if not isinstance(given, dict) or not isinstance(changes, list):
        raise InputError("about", "backtest", "its facts are no object, or its changes no list")
    facts = {day: read_facts(each, "about", f"backtest.facts.{shorten(day)}") for day, each in given.items()}
    base = _evaluate(found, family, criterion, facts, GROUP)
    what_ifs = []
    for change in changes:
        other = _evaluate(found, family, criterion, facts, str(change))
        gain = _gain(base, other, str(change), family)
        bound = None if gain is None else _bound(other, family) - _bound(base, family)
        what_ifs.append(WhatIf(str(change), other, gain, bound))
    return replace(base, what_ifs=what_ifs)


def _evaluate(
    found: Results, family: Family, criterion: Criterion, facts: Mapping[str, DayFacts], group: str
) -> Backtest:
    """Of the days of a group: those that were judged, or the same after a change, by their names with the change."""
    cases = [case for case in found.cases if case.group == group]
    days = [case.name for case in cases]
    history = found.about.get("history")
    rows = [row for row in found.records if row.group == group]
    opt = dict.fromkeys(days) | {
        str(row.case): (row.opt_lower, row.opt_upper) for row in rows if is_known(row.opt_lower)
    }
    suffix = "" if group == GROUP else f" {group}"
    about = {day: facts.get(day.removesuffix(suffix), DayFacts()) for day in days}
    timelines = {
        (each.case, each.study.algorithm): read_timelines(each.rows, f"case {each.case}, study {each.study.name}")
        for each in found.studies
        if each.study.kind == TIMELINE and each.group == group
    }
    deciding = online_seconds(found, DECIDING)
    names = dict.fromkeys(str(row.algorithm) for row in rows)
    tasks = {case.name: int(case.describe.get(family.size[0], 0)) for case in cases}
    policies = [
        _judge(
            name, [row for row in rows if row.algorithm == name],
            _Context(family, found.sense, criterion, about, tasks, opt, timelines, deciding),
        )
        for name in names
    ]  # fmt: skip
    sense = criterion.sense(family)
    sign = -1 if sense is Sense.MOST else 1
    policies.sort(
        key=lambda each: (not _is_complete(each, days), sign * criterion.over_days(list(each.ranked.values())))
    )
    complete = [each for each in policies if _is_complete(each, days)]
    best = complete[0].name if complete else ""
    by_day = [[each.values[day] for each in complete] for day in days]
    pick = max if found.sense is Sense.MOST else min
    loads = [each.load for each in about.values() if each.load is not None]
    return Backtest(
        days,
        history if type(history) is int else 1,
        _first_days(cases),
        opt,
        policies,
        best,
        [compare(complete[0].ranked, each, sense, len(complete), best) for each in complete[1:]],
        sum((pick(values) for values in by_day), Fraction(0)) if complete and days else None,
        criterion,
        about,
        float(sum(loads) / len(loads)) if loads and len(loads) == len(cases) else None,
    )


def _bound(found: Backtest, family: Family) -> Fraction:
    """The proved bounds on OPT of all days together, more where OPT may be better."""
    ends = [each for each in found.opt.values() if each is not None]
    least = family.sense is Sense.LEAST
    return sum((-each[0] if least else each[1] for each in ends), Fraction(0))


def _gain(base: Backtest, other: Backtest, change: str, family: Family) -> tuple[Fraction, Fraction] | None:
    """By how much OPT of all days improves, at least and at most, by each day's intervals without and with the change.

    Where a change is known never to make OPT worse, or never better, each interval bounds the other one.
    """
    effect = family.change_effect(change)
    sign = {"more": 1, "less": -1}.get(effect, 0)
    least = most = Fraction(0)
    for day in base.days:
        one, two = base.opt[day], other.opt.get(f"{day} {change}")
        if one is None or two is None:
            return None
        if family.sense is Sense.LEAST:
            one, two = (-one[1], -one[0]), (-two[1], -two[0])
        if sign:
            less, more = (one, two) if sign > 0 else (two, one)
            less, more = (less[0], min(less[1], more[1])), (max(less[0], more[0]), more[1])
            one, two = (less, more) if sign > 0 else (more, less)
        low, high = two[0] - one[1], two[1] - one[0]
        least += max(low, Fraction(0)) if sign > 0 else low
        most += min(high, Fraction(0)) if sign < 0 else high
    if not base.days or effect == "same":
        return (Fraction(0), Fraction(0)) if base.days else None
    return least, most


def _first_days(cases: Sequence[StoredCase]) -> list[str]:
    recipe = (cases[0].prior_recipe if cases else None) or {}
    several = recipe.get("paths")
    paths = [recipe["path"]] if "path" in recipe else several if isinstance(several, list) else []
    return [re.sub(r"\.json(\.gz)?$", "", str(path).replace("\\", "/").rpartition("/")[2]) for path in paths]


class _Context(NamedTuple):
    """What the rows of a policy are judged by: of a family's days."""

    family: Family
    sense: Sense
    criterion: Criterion
    facts: Mapping[str, DayFacts]
    tasks: Mapping[str, int]
    opt: Mapping[str, tuple[Fraction, Fraction] | None]
    timelines: Mapping[tuple[str, str], RunTimeline | None]
    deciding: Mapping[tuple[str, str], float]


def _judge(name: str, rows: Sequence[Row], context: _Context) -> Policy:
    family, facts, opt = context.family, context.facts, context.opt
    valid = [row for row in rows if row.state == "ok"]
    days = [str(row.case) for row in valid]
    seen = {day: each for day in days if (each := context.timelines.get((day, name))) is not None}
    arrivals = sum(context.tasks[day] for day in days)
    known = [(opt[str(row.case)], row.welfare) for row in valid if opt[str(row.case)] is not None]
    ends = [sum((ends[side] for ends, _ in known if ends), Fraction(0)) for side in (0, 1)]
    value = sum((value for _, value in known), Fraction(0))
    revenues = [row.revenue for row in valid]
    is_paid = bool(revenues) and all(map(is_known, revenues))
    sources = frozenset(source for row in valid for source in row.sources)
    used = [each.used for each in seen.values() if each.used is not None]
    spent = [context.deciding[day, name] for day in days if (day, name) in context.deciding]
    scores = {str(row.case): context.criterion.value(row, facts[str(row.case)]) for row in valid}
    return Policy(
        name=name,
        said=remarks_of_runs(name, [row.remarks for row in valid]),
        sources=sources,
        values={str(row.case): Fraction(row.welfare) for row in valid},
        profits={str(row.case): Fraction(row.profit) for row in valid if is_paid and is_known(row.profit)},
        revenue=sum(map(Fraction, revenues), Fraction(0)) if is_paid else None,
        is_paid=is_paid,
        admitted=sum((Fraction(row.admitted) for row in valid), Fraction(0)),
        arrivals=arrivals,
        share=ratios.share(ends[0], ends[1], value, context.sense) if known else None,
        used=sum(used, Fraction(0)) / len(used) if used and len(used) == len(valid) else None,
        seconds=sum(spent) / arrivals if spent and arrivals else None,
        standing=family.proof_status_of(name, [row.remarks for row in valid]),
        applied=_applied(family.bound_checks(name), valid),
        is_later=any(_waited(row) for row in valid),
        scores={day: score for day, score in scores.items() if score is not None},
        measures=_sum_measures(valid),
        listed=_list_profits(valid, facts),
        classes=_sum_classes(list(seen.values())),
        line=join_timelines([(day, each.line) for day, each in seen.items()]) if seen else None,
        trouble=_trouble(rows),
    )


# Measures of a family that tables of policies show, where its runs have them
MEASURES = ("wait_mean_s", "wait_p95_s", "met_share", "slowdown", "killed")


def _sum_measures(rows: Sequence[Row]) -> dict[str, Fraction]:
    found = {}
    for name in MEASURES:
        values = [each for row in rows if (each := row.measures.get(name)) is not None and is_known(each)]
        if values and len(values) == len(rows):
            total = sum(values, Fraction(0))
            found[name] = total if name == "killed" else total / len(values)
    return found


def _waited(row: Row) -> bool:
    """Whether arrivals of the run were told to wait."""
    counts = json.loads(row.counts) if row.counts else {}
    return isinstance(counts, dict) and bool(counts.get("waited"))


def _list_profits(rows: Sequence[Row], facts: Mapping[str, DayFacts]) -> dict[str, Fraction]:
    found = {}
    for row in rows:
        revenue = list_revenue(row, facts[str(row.case)])
        if revenue is not None and is_known(row.vendors) and is_known(row.energy):
            found[str(row.case)] = revenue - Fraction(row.vendors) - Fraction(row.energy)
    return found


def _applied(checks: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Per check of the guarantee, on how many days it holds, and why it does not apply on others.

    `not checked` where no row has a verdict, as after a run without audits.
    """
    found = []
    for check in checks:
        counts = Counter(str(row.verdict(check)) for row in rows if is_known(row.verdict(check)))
        if not counts:
            continue
        parts = [f"{verdict.value} on {counts[verdict]}" for verdict in Verdict if counts[verdict]]
        reasons = Counter(
            re.split(r"[:(]", row.checks[check].reason)[0].strip()
            for row in rows
            if row.verdict(check) == Verdict.NOT_APPLICABLE
        )
        why = f" ({reasons.most_common(1)[0][0]})" if reasons else ""
        found.append(f"{check_title(check)} {', '.join(parts)} of {counts.total()} days{why}")
    return found or ["not checked"] * bool(checks and rows)


def _sum_classes(each: Sequence[RunTimeline]) -> dict[str, list[ClassArrivals]]:
    """Classes of all days; those that nothing came of are left out."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for timelines in each:
        for title, classes in timelines.classes.items():
            for label, arrivals, admitted in classes:
                before = found.setdefault(title, {}).get(label, (0, 0))
                found[title][label] = (before[0] + arrivals, before[1] + admitted)
    return {
        title: [ClassArrivals(label, *counts) for label, counts in classes.items() if counts[0]]
        for title, classes in found.items()
    }


def _trouble(rows: Sequence[Row]) -> str:
    odd = [row for row in rows if row.state != "ok"]
    if not odd:
        return ""
    states = Counter(str(row.state) for row in odd)
    counted = ", ".join(f"{count} {state}" for state, count in states.items())
    return f"{counted} of {len(rows)} days: {odd[0].reason}"


def compare(
    values: Mapping[str, Fraction], other: Policy, sense: Sense, policies: int, one: str, of: str = "ranked"
) -> Difference:
    """By how much the values are better than those of another policy, on the days that both have."""
    theirs = getattr(other, of)
    sign = 1 if sense is Sense.MOST else -1
    parts = [sign * (values[day] - theirs[day]) for day in values if day in theirs]
    pairs = max(1, policies * (policies - 1) // 2)
    error = ERROR / 2 / pairs
    return Difference(
        one,
        other.name,
        intervals.mean(parts),
        intervals.mean(parts, 1 - error),
        error,
        sum(part > 0 for part in parts),
        sum(part < 0 for part in parts),
    )
