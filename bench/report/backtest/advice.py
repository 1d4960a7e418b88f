"""The answer of a backtest in sentences: the recommended policy, the significance of its lead, the assumptions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.day_facts import ADDED, LEFT_OUT
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.backtest.criteria import WELFARE, Criterion
from ratiobench.bench.report.backtest.data import Backtest, Difference, Policy, WhatIf, compare
from ratiobench.bench.report.shared.money import value_text
from ratiobench.bench.results import intervals, ratios
from ratiobench.online.outcome import Source

NAMED = 4  # Policies that a sentence names; of more the number
LOUD = Fraction(1, 20)  # Share of the GPU-hours from which on jobs that are left out are told in the answer itself
WIDE = Fraction(3, 100)  # Relative width of the interval on OPT from which on the answer tells of it
SATED = Fraction(99, 100)  # Share of OPT from which on there is nothing left to tell policies apart by
# Share of the objective by which a policy may be behind to be as good, where chance does not tell it apart
NEAR = Fraction(1, 50)
SHORTER = 5  # Minutes by which a wait has to be shorter before the answer tells of it
MOST_DAYS = 365  # Days that are looked for to tell two policies apart


def advise(found: Backtest, family: Family) -> list[str]:
    """The answer in a few sentences.

    The recommendation, how much of OPT it certainly has, how much is left for any scheduler; whether others are behind
    beyond chance; then what qualifies it.
    """
    lines = [*_certify(found, family), _recommend(found, family)]
    lines += _tell_gap(found, family)
    lines += _tell_left_out(found)
    if found.criterion is not WELFARE:
        lines += _by_welfare(found, family)
    if too_few := _count_days(found):
        lines.append(too_few)
    lines += _explain_ties(found)
    lines += _compare_waits(found)
    if by_profit := _by_list_price(found, family) or _by_profit(found, family):
        lines.append(by_profit)
    if found.hindsight is not None and len(found.complete) > 1 and found.criterion is WELFARE:
        lines.append(_look_back(found, family))
    lines += [_tell_what_if(found, each, family) for each in found.what_ifs]
    lines += _suggest_capacity(found, family)
    for each in found.policies:
        if Source.ORACLE in each.sources:
            lines.append(f"{each.name} took constants from the days on which it is judged, so it is not recommended.")
        elif each.trouble:
            lines.append(f"{each.name} is not compared: {each.trouble}.")
    return lines


def _recommend(found: Backtest, family: Family) -> str:
    criterion = found.criterion
    what = criterion.name_in(family)
    if not found.best:
        if criterion is not WELFARE and any(len(each.values) == len(found.days) for each in found.policies):
            return f"No policy has a {what} on every day, so none can be recommended by it."
        return "No policy has a valid run on every day, so none can be recommended."
    best = found.policy(found.best)
    total = f"{what} {criterion.text(_score(best, criterion), family)}"
    if not found.differences:
        return f"Only {best.name} was compared: its {total} over {_days(found)}."
    first = f"the {criterion.sense(family).best} {total}, over {_days(found)}"
    return _conclude(best.name, first, found.differences, len(found.days), family, criterion)


def _score(policy: Policy, criterion: Criterion) -> Fraction:
    return criterion.over_days(list(policy.ranked.values()))


def _certify(found: Backtest, family: Family) -> list[str]:
    """How much of OPT the recommended policy certainly has, and how much more anybody could have."""
    if not found.best or not found.days:
        return []
    best = found.policy(found.best)
    total = f"Recommended: {best.name}, with {family.objective} {value_text(best.value, family)}"
    if best.share is None or not all(found.opt.values()):
        return []
    least = family.sense is Sense.LEAST
    end = sum((ends[0 if least else 1] for ends in found.opt.values() if ends), Fraction(0))
    share = "which is OPT" if best.share[0] == 1 else f"certainly at least {ratios.share_percent(best.share[0])} of OPT"
    if least:
        share = f"OPT is certainly no less than {ratios.share_percent(best.share[0])} of that"
    if best.value <= 0 or end <= 0:
        return [f"{total}, {share}."]
    part = (best.value - end) / best.value if least else (end - best.value) / best.value
    if best.share[0] == 1:
        return [f"{total}, {share}: no scheduler could do better, even if it knew the future."]
    more = "save" if least else "earn"
    left = f"A scheduler that knows the future could {more} at most {ratios.share_percent(part, up=True)} more."
    return [f"{total}, {share}. {left}"]


def _tell_gap(found: Backtest, family: Family) -> list[str]:
    """How wide the interval on OPT is, where that is much, and how to make it narrower."""
    known = [ends for ends in found.opt.values() if ends is not None]
    low, high = (sum((ends[side] for ends in known), Fraction(0)) for side in (0, 1))
    if len(known) < len(found.opt) or low <= 0 or (high - low) / high < WIDE:
        return []
    ends = f"{value_text(low, family, up=False)} to {value_text(high, family, up=True)}"
    return [
        f"OPT is known within {_percent((high - low) / high)} ({ends}); `--effort N` narrows it by N times the work."
    ]


def _by_welfare(found: Backtest, family: Family) -> list[str]:
    """The best policy by the objective, where policies are ranked by another measure."""
    what = found.criterion.name_in(family)
    if not found.complete:
        return []
    pick = max if family.sense is Sense.MOST else min
    best = pick(found.complete, key=lambda each: each.value)
    amount = value_text(best.value, family)
    same = "the same policy is best" if best.name == found.best else f"{best.name} is best"
    return [f"Ranked by {what}, as --by asks. By {family.objective} {same}, with {amount}."]


def _tell_left_out(found: Backtest) -> list[str]:
    rests = sum_assumptions(found)
    out = [each for each in rests.lines if each.kind == LEFT_OUT]
    jobs, hours = sum(each.jobs for each in out), sum((each.hours or 0 for each in out), Fraction(0))
    if not rests.jobs or not out:
        return []
    of_jobs, of_hours = Fraction(jobs, rests.jobs), hours / rests.hours if rests.hours else Fraction(0)
    if max(of_hours, of_jobs) < LOUD:
        return []
    unknown = " (of some it is not known)" if any(each.hours is None for each in out) else ""
    return [
        f"These days are not the whole load: {_percent(of_jobs)} of the jobs and {_percent(of_hours)} of the "
        f"GPU-hours{unknown} are left out, for the reasons under `Assumptions`."
    ]


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
        f"{count} days are too few for the sign test: with {policies} policies it needs {needed} days, even if one is "
        "ahead on all of them. Here only the interval of the mean lead can decide, which assumes normally distributed "
        "daily leads."
    )


def _explain_ties(found: Backtest) -> list[str]:
    """Why the best policies cannot be told apart, and what would tell them apart."""
    alike = [each for each in found.differences if not each.is_apart]
    busiest = [each.busiest for each in found.facts.values() if each.busiest is not None]
    factors = sorted(each.contended for each in found.facts.values() if each.contended is not None)
    if not alike or len(found.days) < 2 or len(busiest) < len(found.days) or not factors:
        return []
    best = found.policy(found.best)
    load = "" if found.load is None else f"at load {found.load:.2f} "
    factor = factors[len(factors) // 2]
    tries = (
        f"At {float(factor):g} times this load a tenth of the work is asked for where no capacity is free: "
        f"`backtest ... --what-if load={float(factor):g}` tries it."
    )
    if max(busiest) <= 1:
        return [
            f"Why they tie: {load}no job has to wait. No slot asks for more than {_percent(max(busiest))} of the "
            f"cluster, if every job ran at once, so policies differ only in energy costs and rejections. {tries}"
        ]
    if best.share is not None and best.share[0] >= SATED:
        return [
            f"Why they tie: {load}little is contended. {best.name} has {ratios.share_percent(best.share[0])} of OPT, "
            f"so others can hardly do better.{f' {tries}' if factor > 1 else ''}"
        ]
    near = min((each for each in alike if each.estimate.mean), key=lambda each: each.estimate.mean or 0, default=None)
    needed = None if near is None else _days_needed(near)
    if near is None or needed is None:
        return []
    if needed > MOST_DAYS:
        return [
            f"Why they tie: {load}jobs do contend, but {best.name} and {near.other} are nearly as good: a year of days "
            "like these does not distinguish them."
        ]
    return [
        f"Why they tie: {load}jobs do contend, but days differ. If leads stay as they are, about {needed} days like "
        f"these distinguish {best.name} from {near.other}."
    ]


def _compare_waits(found: Backtest) -> list[str]:
    """Which of the policies that are as good by what they are ranked by lets jobs wait much less; empty without any."""
    if not found.best or found.criterion.measure == "wait_mean_s":
        return []
    names = [found.best, *(each.other for each in found.differences if not each.is_apart)]
    best = found.policy(found.best)
    policies = [each for each in map(found.policy, names) if abs(best.value - each.value) <= NEAR * abs(best.value)]
    if len(policies) < 2 or any("wait_mean_s" not in each.measures for each in policies):
        return []
    waits = [(each.measures["wait_mean_s"] / 60, each) for each in policies]
    mine, least = waits[0][0], min(waits, key=lambda pair: (round(pair[0], 1), -pair[1].measures.get("met_share", 0)))
    if mine - least[0] < SHORTER or 2 * least[0] > mine:
        return []
    met = least[1].measures.get("met_share")
    share = "" if met is None else f", and {_percent(met)} of the jobs in time"
    return [
        f"Of the policies within 2 % of {found.best} {least[1].name} has the shortest mean wait: {float(least[0]):.1f} "
        f"min and not {float(mine):.1f}{share}."
    ]


def _days_needed(difference: Difference) -> int | None:
    """Days after which the interval of a mean lead like this one leaves 0 out; one more than `MOST_DAYS` for more."""
    estimate = difference.estimate
    if estimate.mean is None or estimate.low is None or estimate.high is None or estimate.cases < 2:
        return None
    lead, half = float(estimate.mean), (estimate.high - estimate.low) / 2
    spread = half * math.sqrt(estimate.cases) / intervals.quantile(estimate.cases - 1)
    if lead <= 0:
        return None
    low, high = estimate.cases, MOST_DAYS + 1
    while low < high:
        middle = (low + high) // 2
        apart = intervals.quantile(middle - 1, 1 - difference.error) * spread / math.sqrt(middle) < lead
        low, high = (low, middle) if apart else (middle + 1, high)
    return low


def _conclude(
    name: str, first: str, differences: Sequence[Difference], days: int, family: Family, criterion: Criterion = WELFARE
) -> str:
    """Which policy is best, and whether the others are behind beyond chance."""
    if days < 2:
        return f"One day does not distinguish policies: on it {name} has {first}."
    alike = [each for each in differences if not each.is_apart]
    same = [each.other for each in alike if not each.ahead and not each.behind]
    near = [each for each in alike if each.other not in same] or ([] if same else differences)
    lead = ""
    if near:
        nearest = min(near, key=lambda each: each.estimate.mean or 0)
        behind = f", behind on {nearest.behind}" * bool(nearest.behind)
        amount = "-" if nearest.estimate.mean is None else criterion.text(nearest.estimate.mean, family)
        span = difference_text(nearest.joint, family, criterion)
        each_day = "a day" if criterion.is_total else "on average"
        lead = f"{amount} {each_day} (for all comparisons at once: {span})"
        lead += f"; it is ahead on {nearest.ahead} of {days} days{behind}"
    if not alike:
        least = " the next," * (len(differences) > 1)
        return (
            f"Use {name}: it has {first}, and is ahead of every other policy beyond chance; of {nearest.other},{least} "
            f"by {lead}."
        )
    others = [each.other for each in differences if each.is_apart]
    lines = [f"{_names([name, *(each.other for each in alike)])} cannot be distinguished on these {days} days."]
    if same:
        lines.append(f"{name} has {first}; {_names(same)} {'has' if len(same) == 1 else 'have'} the same on every day.")
        lines += [f"The lead over {nearest.other} is within chance: {lead}."] if near else []
    else:
        lines.append(f"{name} has {first}, but its lead over {nearest.other} is within chance: {lead}.")
    if others:
        lines.append(f"{_names(others)} {'is' if len(others) == 1 else 'are'} behind beyond chance.")
    return " ".join(lines)


def _by_list_price(found: Backtest, family: Family) -> str:
    """Which policy earns most at the list prices; empty where they are not known."""
    listed = [each for each in found.complete if each.list_profit is not None]
    if len(listed) < 2 or len(listed) < len(found.complete):
        return ""
    listed.sort(key=lambda each: each.list_profit or 0, reverse=True)
    best, second = listed[:2]
    amounts = [value_text(each.list_profit or 0, family) for each in (best, second)]
    return f"At your list prices, less energy, {best.name} earns most: {amounts[0]}; next {second.name}, {amounts[1]}."


def _by_profit(found: Backtest, family: Family) -> str:
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
    share = share or f", the same as {best.name}" * (not more)
    bound = ""
    if all(found.opt.values()):
        side = 1 if family.sense is Sense.MOST else 0
        most = sum((ends[side] for ends in found.opt.values() if ends), Fraction(0))
        upper = family.sense is Sense.MOST
        words = "no policy can have more than" if upper else "no policy can have less than"
        bound = f"; {words} {value_text(most, family, up=upper)}, the proved bound on OPT"
    return (
        f"In hindsight, with the best of these policies on each day, {family.objective} is "
        f"{value_text(found.hindsight, family)}{share}{bound}."
    )


_MORE = {Sense.MOST: "more", Sense.LEAST: "less"}


def _tell_what_if(found: Backtest, what_if: WhatIf, family: Family) -> str:
    """What a change is worth to OPT, and to the best policies before and after it."""
    head, days = f"What if {what_if.change}:", len(found.days)
    parts = []
    if what_if.gain is None:
        parts.append(f"{head} OPT is not known of every day.")
    elif not any(what_if.gain):
        parts.append(f"{head} OPT stays the same.")
    else:
        low, high = what_if.gain
        ends = [(value_text(part, family, up=False), value_text(part, family, up=True)) for part in (low, high)]
        daily = [value_text(low / days, family, up=False), value_text(high / days, family, up=True)]
        parts.append(f"{head} OPT gains {ends[0][0]} to {ends[1][1]} over {days} days; a day {daily[0]} to {daily[1]}.")
        if what_if.bound is not None:
            parts.append(f"Its proved bound gains {value_text(what_if.bound, family)}.")
    now = {each.name: each for each in what_if.found.complete}
    if found.best in now:
        change = now[found.best].value - found.policy(found.best).value
        parts.append(f"Under {found.best} {family.objective} gains {value_text(change, family)}.")
    if what_if.change.startswith("load=") and what_if.found.best:
        told = replace(what_if.found, days=[day.removesuffix(f" {what_if.change}") for day in what_if.found.days])
        parts.append(f"Then: {_recommend(told, family)}")
    elif what_if.found.best:
        same = what_if.found.best == found.best
        parts.append(f"{what_if.found.best} {'stays' if same else 'is then'} the best policy.")
    return " ".join(parts)


def _suggest_capacity(found: Backtest, family: Family) -> list[str]:
    """How to see what more hardware is worth, where OPT is known and that was not done."""
    change = family.capacity_change
    done = any(each.change.startswith(change.partition("=")[0]) for each in found.what_ifs)
    if not change or done or not found.best or not found.opt or not all(found.opt.values()):
        return []
    return [f"What one more node of each type would be worth: `backtest ... --what-if {change}` computes it."]


def _days(found: Backtest) -> str:
    count = len(found.days)
    return f"{count} day{'s' * (count != 1)}" + (f" ({found.days[0]} to {found.days[-1]})" if count > 1 else "")


def _names(names: Sequence[str]) -> str:
    shown = list(names[:NAMED])
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def difference_text(estimate: intervals.Estimate, family: Family, criterion: Criterion = WELFARE) -> str:
    """The interval of an estimated difference for reading, rounded outward."""
    if estimate.low is None or estimate.high is None:
        return "-"
    low = criterion.text(Fraction(estimate.low), family, up=False)
    return f"{low} to {criterion.text(Fraction(estimate.high), family, up=True)}"


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.1f} %"


# Assumptions.


@dataclass(frozen=True, slots=True)
class RestsOn:
    """An assumption over all days."""

    what: str  # what, kind: as `Assumption` has them
    kind: str
    jobs: int  # to which it applies
    hours: Fraction | None  # GPU-hours that they use; None where that is not known of all

    @property
    def text(self) -> str:
        """In words."""
        head = {LEFT_OUT: "left out: ", ADDED: "added: "}.get(self.kind, "")
        return f"{head}{self.what}"


@dataclass(frozen=True, slots=True)
class Basis:
    """All assumptions of the judged days, those that are left out first, then those of most GPU-hours."""

    lines: Sequence[RestsOn]  # the assumptions
    jobs: int  # jobs, hours: all that arrived, and the GPU-hours that they use
    hours: Fraction


def suggest_changes(found: Backtest, family: Family) -> str:
    """How to see what the assumptions do to the answer, in a sentence; empty where that was done, or cannot be."""
    told = [each.what for each in sum_assumptions(found).lines]
    changes = [change for change, words in family.assumption_changes.items() if any(words in each for each in told)]
    if not changes or any(each.change in family.assumption_changes for each in found.what_ifs):
        return ""
    more = ", or any of these" * (len(changes) > 1)
    return f"To see their effect on the answer: `backtest ... --what-if {','.join(changes)}`{more}."


def sum_assumptions(found: Backtest) -> Basis:
    """The assumptions of the judged days together."""
    sums: dict[tuple[str, str], RestsOn] = {}
    for facts in found.facts.values():
        for what, jobs, hours, kind in facts.assumptions:
            before = sums.get((what, kind), RestsOn(what, kind, 0, Fraction(0)))
            total = None if hours is None or before.hours is None else before.hours + hours
            sums[what, kind] = RestsOn(what, kind, before.jobs + jobs, total)
    lines = sorted(sums.values(), key=lambda each: (each.kind != LEFT_OUT, -(each.hours or 0), -each.jobs))
    every = found.facts.values()
    return Basis(lines, sum(each.jobs for each in every), sum((each.hours for each in every), Fraction(0)))
