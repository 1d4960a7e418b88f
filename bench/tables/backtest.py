"""A backtest: which policy is best on a load, day by day, and what can be said of the difference.

Totals, shares and differences are exact. Days are taken as drawn independently, so that a mean difference has an
interval by Student's t. Who is called better is so beyond chance in all comparisons at once: by its mean lead (the
interval leaves 0 out) or by the number of days on which it is ahead (the sign test), each of the two tests of each pair
of policies at 5 % / 2 / pairs (Bonferroni): of all pairs, since these very days say which policy the others are
compared with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ratiobench.bench.family.capabilities import ClassArrivals
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import TIMELINE
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase
from ratiobench.bench.tables import intervals, ratios
from ratiobench.bench.tables.money import value_text
from ratiobench.bench.tables.remarks import remarks_of_runs
from ratiobench.bench.tables.rows import DECIDING, Results, is_known, online_seconds
from ratiobench.bench.tables.text import check_title
from ratiobench.bench.tables.timelines import Line, RunTimeline, join_timelines, read_timelines
from ratiobench.online.outcome import Source

ERROR = 0.05
"""Probability that some comparison of welfare is wrong by chance; those of profit have as much of their own."""
NAMED = 4
"""Policies that a sentence names; of more the number."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy over the judged days.

    Parameters
    ----------
    name : with its options.
    said : what is said of its runs.
    sources : where its constants come from.
    values, profits : by day, exact; days on which it has no valid run are not there.
    revenue : over all days; None without payments.
    is_paid : whether it has a payment rule; without one its profit is at list prices, the bids.
    admitted, arrivals : on the days with a valid run.
    share : the part of OPT over all days with an interval on OPT, at least and at most; None where it is not defined.
    used : mean share of all capacity that was used, over the days; None where it is not known.
    seconds : of a decision, on average; None where nothing was decided.
    standing : what is proved or known of it, by heading.
    applied : of each check of its guarantee, on how many days it holds.
    classes : arrivals by class, over the days.
    line : load, prices and arrivals over all days; None where the family has no time lines.
    trouble : why some days are missing; empty where none is.
    """

    name: str
    said: str
    sources: frozenset[Source]
    values: Mapping[str, Fraction]
    profits: Mapping[str, Fraction]
    revenue: Fraction | None
    is_paid: bool
    admitted: Fraction
    arrivals: int
    share: tuple[Fraction, Fraction] | None
    used: Fraction | None
    seconds: float | None
    standing: Mapping[str, str]
    applied: Sequence[str]
    classes: Mapping[str, Sequence[ClassArrivals]] = field(default_factory=dict)
    line: Line | None = None
    trouble: str = ""

    @property
    def constants(self) -> str:
        """Where its constants come from, in words."""
        return ", ".join(sorted(self.sources)) or "none"

    @property
    def value(self) -> Fraction:
        """Of all days together."""
        return sum(self.values.values(), Fraction(0))

    @property
    def profit(self) -> Fraction | None:
        """Of all days together; None where it is not known of all."""
        return sum(self.profits.values(), Fraction(0)) if len(self.profits) == len(self.values) else None


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much one policy is better than another a day.

    Parameters
    ----------
    one, other : their names.
    estimate : mean with its 95 % interval.
    joint : the same with the interval that holds for all comparisons with the best at once.
    error : what a test of one comparison may err by chance.
    ahead, behind : days on which `one` is strictly better, and worse; exact.
    """

    one: str
    other: str
    estimate: intervals.Estimate
    joint: intervals.Estimate
    error: float
    ahead: int
    behind: int

    @property
    def is_apart(self) -> bool:
        """Whether the difference is beyond chance."""
        if intervals.sign_test(self.ahead, self.behind) <= self.error:
            return True
        return self.joint.low is not None and self.joint.high is not None and not self.joint.low <= 0 <= self.joint.high


@dataclass(frozen=True, slots=True)
class Backtest:
    """What a backtest found.

    Parameters
    ----------
    days : the judged ones, in order.
    history : how many days before a day were known of it; first : the days that are history alone.
    opt : the interval on OPT of each day; None where it is not known.
    policies : the best total first; those that lack days or knew the future last.
    best : the best of those that are complete; empty where none is.
    differences : of the best from every other complete policy.
    hindsight : the total of each day's best policy; None where some day has no valid run.
    """

    days: Sequence[str]
    history: int
    first: Sequence[str]
    opt: Mapping[str, tuple[Fraction, Fraction] | None]
    policies: Sequence[Policy]
    best: str
    differences: Sequence[Difference]
    hindsight: Fraction | None

    @property
    def complete(self) -> list[Policy]:
        """Policies with a valid run on each day that knew nothing of the future."""
        return [each for each in self.policies if _is_complete(each, self.days)]

    def policy(self, name: str) -> Policy:
        """The policy of this name."""
        return next(each for each in self.policies if each.name == name)


def _is_complete(policy: Policy, days: Sequence[str]) -> bool:
    return len(policy.values) == len(days) and Source.ORACLE not in policy.sources


def evaluate(found: Results, family: Family) -> Backtest:
    """What the results of a backtest say.

    Raises
    ------
    InputError : stored rows that are not as `run` writes them.
    """
    days = [case.name for case in found.cases]
    history = found.about.get("history")
    rows = found.records
    opt = dict.fromkeys(days) | {
        str(row.case): (row.opt_lower, row.opt_upper) for row in rows if is_known(row.opt_lower)
    }
    timelines = {
        (each.case, each.study.algorithm): read_timelines(each.rows, f"case {each.case}, study {each.study.name}")
        for each in found.studies
        if each.study.kind == TIMELINE
    }
    deciding = online_seconds(found, DECIDING)
    names = dict.fromkeys(str(row.algorithm) for row in rows)
    policies = [
        _judge(name, [row for row in rows if row.algorithm == name], found, family, opt, timelines, deciding)
        for name in names
    ]
    sign = -1 if found.sense is Sense.MOST else 1
    policies.sort(key=lambda each: (not _is_complete(each, days), sign * each.value))
    complete = [each for each in policies if _is_complete(each, days)]
    best = complete[0].name if complete else ""
    by_day = [[each.values[day] for each in complete] for day in days]
    pick = max if found.sense is Sense.MOST else min
    return Backtest(
        days,
        history if type(history) is int else 1,
        _first_days(found.cases),
        opt,
        policies,
        best,
        [compare(complete[0].values, each, found.sense, len(complete), best) for each in complete[1:]],
        sum((pick(values) for values in by_day), Fraction(0)) if complete and days else None,
    )


def _first_days(cases: Sequence[StoredCase]) -> list[str]:
    """The names of the days that the first judged one has as its history."""
    recipe = (cases[0].prior_recipe if cases else None) or {}
    several = recipe.get("paths")
    paths = [recipe["path"]] if "path" in recipe else several if isinstance(several, list) else []
    return [re.sub(r"\.json(\.gz)?$", "", str(path).replace("\\", "/").rpartition("/")[2]) for path in paths]


def _judge(
    name: str,
    rows: Sequence[Row],
    found: Results,
    family: Family,
    opt: Mapping[str, tuple[Fraction, Fraction] | None],
    timelines: Mapping[tuple[str, str], RunTimeline | None],
    deciding: Mapping[tuple[str, str], float],
) -> Policy:
    tasks = {case.name: int(case.describe.get(family.size[0], 0)) for case in found.cases}
    valid = [row for row in rows if row.state == "ok"]
    days = [str(row.case) for row in valid]
    seen = {day: each for day in days if (each := timelines.get((day, name))) is not None}
    arrivals = sum(tasks[day] for day in days)
    known = [(opt[str(row.case)], row.welfare) for row in valid if opt[str(row.case)] is not None]
    ends = [sum((ends[side] for ends, _ in known if ends), Fraction(0)) for side in (0, 1)]
    value = sum((value for _, value in known), Fraction(0))
    revenues = [row.revenue for row in valid]
    is_paid = bool(revenues) and all(map(is_known, revenues))
    sources = frozenset(source for row in valid for source in row.sources)
    used = [each.used for each in seen.values() if each.used is not None]
    spent = [deciding[day, name] for day in days if (day, name) in deciding]
    return Policy(
        name=name,
        said=remarks_of_runs(name, [row.remarks for row in valid]),
        sources=sources,
        values={str(row.case): Fraction(row.welfare) for row in valid},
        profits={str(row.case): Fraction(row.profit) for row in valid if is_known(row.profit)},
        revenue=sum(map(Fraction, revenues), Fraction(0)) if is_paid else None,
        is_paid=is_paid,
        admitted=sum((Fraction(row.admitted) for row in valid), Fraction(0)),
        arrivals=arrivals,
        share=ratios.share(ends[0], ends[1], value, found.sense) if known else None,
        used=sum(used, Fraction(0)) / len(used) if used and len(used) == len(valid) else None,
        seconds=sum(spent) / arrivals if spent and arrivals else None,
        standing=family.proof_status_of(name, [row.remarks for row in valid]),
        applied=_applied(family.bound_checks(name), valid),
        classes=_sum_classes(list(seen.values())),
        line=join_timelines([(day, each.line) for day, each in seen.items()]) if seen else None,
        trouble=_trouble(rows),
    )


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
    values: Mapping[str, Fraction], other: Policy, sense: Sense, policies: int, one: str, of: str = "values"
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


# What is said of it.


def advise(found: Backtest, family: Family) -> list[str]:
    """The answer in a few sentences: the recommendation, what it is by profit, what hindsight would have brought."""
    lines = [_recommend(found, family)]
    if too_few := _count_days(found):
        lines.append(too_few)
    if by_profit := _by_profit(found, family):
        lines.append(by_profit)
    if found.hindsight is not None and len(found.complete) > 1:
        lines.append(_look_back(found, family))
    for each in found.policies:
        if Source.ORACLE in each.sources:
            lines.append(f"{each.name} took constants from the very days it is judged on, so it is not recommended.")
        elif each.trouble:
            lines.append(f"{each.name} is not compared: {each.trouble}.")
    return lines


def _recommend(found: Backtest, family: Family) -> str:
    if not found.best:
        return "No policy has a valid run on every day, so none can be recommended."
    best = found.policy(found.best)
    total = f"{family.objective} {value_text(best.value, family)}"
    if not found.differences:
        return f"Only {best.name} was compared: its {total} over {_days(found)}."
    first = f"the {family.sense.best} {total}, over {_days(found)}"
    return _conclude(best.name, first, found.differences, len(found.days), family)


def _count_days(found: Backtest) -> str:
    """That the days are too few for the sign test, where they are; empty where it can decide."""
    count, policies = len(found.days), len(found.complete)
    if count < 2 or not found.differences:
        return ""
    error = found.differences[0].error
    needed = next(days for days in range(1, 1000) if intervals.sign_test(days, 0) <= error)
    if count >= needed:
        return ""
    return (
        f"{count} days are too few to decide by counting on how many a policy is ahead: between {policies} policies "
        f"that takes {needed} days, even if it is ahead on all of them. Only the size of the lead can decide here, by "
        "an interval that takes daily leads as normally distributed."
    )


def _conclude(name: str, first: str, differences: Sequence[Difference], days: int, family: Family) -> str:
    """Who is best, and whether the others are behind beyond chance."""
    if days < 2:
        return f"One day does not tell policies apart: on it {name} has {first}."
    alike = [each for each in differences if not each.is_apart]
    same = [each.other for each in alike if not each.ahead and not each.behind]
    near = [each for each in alike if each.other not in same] or ([] if same else differences)
    lead = ""
    if near:
        nearest = min(near, key=lambda each: each.estimate.mean or 0)
        behind = f", behind on {nearest.behind}" * bool(nearest.behind)
        lead = f"{_amount(nearest.estimate.mean, family)} a day ({_span(nearest.joint, family)})"
        lead += f"; it is ahead on {nearest.ahead} of {days} days{behind}"
    if not alike:
        least = " the next," * (len(differences) > 1)
        return (
            f"Use {name}: it has {first}, and is ahead of every other policy beyond chance; of {nearest.other},{least} "
            f"by {lead}."
        )
    others = len(differences) - len(alike)
    lines = [f"{_names([name, *(each.other for each in alike)])} cannot be told apart on these {days} days."]
    if same:
        lines.append(f"{name} has {first}; {_names(same)} {'has' if len(same) == 1 else 'have'} the same on every day.")
        lines += [f"The lead over {nearest.other} is within chance: {lead}."] if near else []
    else:
        lines.append(f"{name} has {first}, but its lead over {nearest.other} is within chance: {lead}.")
    if others:
        lines.append(f"The other {'one is' if others == 1 else f'{others} are'} behind beyond chance.")
    return " ".join(lines)


def _by_profit(found: Backtest, family: Family) -> str:
    """The same by profit, of the policies with a payment rule."""
    paid = [each for each in found.complete if each.is_paid and len(each.profits) == len(found.days)]
    if len(paid) < 2 or len(found.days) < 2:
        return ""
    paid.sort(key=lambda each: each.profit or 0, reverse=True)
    best = paid[0]
    differences = [compare(best.profits, each, Sense.MOST, len(paid), best.name, "profits") for each in paid[1:]]
    first = f"the largest profit {value_text(best.profit or 0, family)} of those with a payment rule"
    return f"By profit: {_conclude(best.name, first, differences, len(found.days), family)}"


def _look_back(found: Backtest, family: Family) -> str:
    assert found.hindsight is not None
    best = found.policy(found.best)
    more = abs(found.hindsight - best.value)
    share = (
        f", {_percent(more / abs(best.value))} {_MORE[family.sense]} than {best.name}" if best.value and more else ""
    )
    share = share or f", which is what {best.name} has" * (not more)
    bound = ""
    if all(found.opt.values()):
        side = 1 if family.sense is Sense.MOST else 0
        most = sum((ends[side] for ends in found.opt.values() if ends), Fraction(0))
        upper = family.sense is Sense.MOST
        words = "no policy whatever more than" if upper else "no policy whatever less than"
        bound = f"; {words} {value_text(most, family, up=upper)}, the proved bound on OPT"
    return (
        f"In hindsight: the best of these policies on each day, known only afterwards, has "
        f"{value_text(found.hindsight, family)}{share}{bound}."
    )


_MORE = {Sense.MOST: "more", Sense.LEAST: "less"}


def _days(found: Backtest) -> str:
    count = len(found.days)
    return f"{count} day{'s' * (count != 1)}" + (f" ({found.days[0]} to {found.days[-1]})" if count > 1 else "")


def _names(names: Sequence[str]) -> str:
    shown = list(names[:NAMED])
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _amount(value: Fraction | None, family: Family) -> str:
    return "-" if value is None else value_text(value, family)


def _span(estimate: intervals.Estimate, family: Family) -> str:
    return f"for all comparisons at once: {span_text(estimate, family)}"


def span_text(estimate: intervals.Estimate, family: Family) -> str:
    """The interval of an estimate for reading, rounded outward."""
    if estimate.low is None or estimate.high is None:
        return "-"
    low = value_text(Fraction(estimate.low), family, up=False)
    return f"{low} to {value_text(Fraction(estimate.high), family, up=True)}"


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.1f} %"
