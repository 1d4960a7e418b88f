"""The answer of a run in a few sentences: who reaches most of the optimum, which claims fell, what is missing.

Every sentence is supported by the intervals on OPT: who is best is decided by exact differences. Shares are rounded
outward, a single number is rounded down: it stands where both ends of the interval round down to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SWEEP
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.report.compare.wins import Wins, count_wins
from ratiobench.bench.report.rows.crosscheck import agreement_text
from ratiobench.bench.report.rows.text import list_sweep_groups
from ratiobench.bench.report.shared.text import check_title, format_number
from ratiobench.bench.results import ratios
from ratiobench.bench.results.read import Results, is_known
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import UNAUDITED
from ratiobench.formulations.versions import list_unpinned
from ratiobench.instances.io.errors import make_printable

LONGEST_NAMES = 6  # Groups up to which each has a row of its own
NAMED = 3  # Names in a row; of more the number
_LONGEST = 80
_ALL_COLUMNS = 60  # Characters of the names of one's own algorithms that are columns


class Span(NamedTuple):
    """Words of a sentence.

    `kind`: ``name`` or ``own`` for an algorithm, whose whole name is `algorithm`; ``violated`` for what is false.
    """

    text: str
    kind: str = ""
    algorithm: str = ""


Sentence = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class RankingTable:
    """Who reaches most and least of the optimum, a row per group of cases."""

    head: Sequence[Sentence]  # the headings
    rows: Sequence[Sequence[Sentence]]  # as many cells as headings, in words

    def algorithms(self) -> list[str]:
        """Whole names of the algorithms that it names."""
        spans = (span for row in (self.head, *self.rows) for cell in row for span in cell)
        return list(dict.fromkeys(span.algorithm for span in spans if span.algorithm))

    def texts(self, labels: Mapping[str, str] | None = None) -> list[dict[str, str]]:
        """The rows as text, by heading."""
        head = [_text(each, labels) for each in self.head]
        return [dict(zip(head, (_text(cell, labels) for cell in row), strict=True)) for row in self.rows]


def _text(sentence: Sentence, labels: Mapping[str, str] | None = None) -> str:
    return "".join((labels or {}).get(span.algorithm, span.text) for span in sentence)


def shorten_names(names: Iterable[str], most: int) -> dict[str, str]:
    """A label of at most `most` characters for each of the names, the same for no two; without those that are short."""
    names = list(dict.fromkeys(names))
    labels = {name: _tame(name) for name in names if len(_tame(name)) <= most}
    for name in names:
        label, number = make_printable(name, most), 1
        while name not in labels and label in labels.values():
            number += 1
            label = f"{make_printable(name, most - 3 - len(str(number)))} ({number})"
        labels.setdefault(name, label)
    return {name: label for name, label in labels.items() if label != _tame(name)}


@dataclass(frozen=True, slots=True)
class Headline:
    """What a run says first."""

    # how often one's own algorithm beats others, if one ran; where there are many groups, who is best and worst in how
    # many.
    answers: Sequence[Sentence]
    verdicts: Sequence[Sentence]  # which claims fell
    troubles: Sequence[Sentence]  # what is unbounded, invalid, failed or missing, and who charges more than a bid
    about: str  # date, version and machine, in one line; empty where nothing is known
    # who reaches how much of the optimum; None where there are too many groups, or nothing has run.
    standings: RankingTable | None = None
    # the same of one's own algorithms, a row each, where they are too many or too long for columns of `standings`.
    yours: RankingTable | None = None

    def lines(self) -> list[str]:
        """The sentences as text, one to a line; the rows of the table in between."""
        rows = [row for table in (self.standings, self.yours) if table is not None for row in table.texts()]
        lines = ["; ".join(f"{name}: {cell}" for name, cell in row.items() if cell != "-") for row in rows]
        return [*map(_text, self.answers), *lines, *map(_text, (*self.verdicts, *self.troubles))]


def make_headline(
    found: Results, family: Family, settled: Sequence[ClaimSummary] = (), groups: Mapping[str, str] | None = None
) -> Headline:
    """The headline of these results; `groups` has words for names of groups (``real arrivals``), if any."""
    rows = found.records
    swept = list_sweep_groups(found)
    names = dict.fromkeys(str(row.group) for row in rows if row.group not in swept)
    standings = [
        _stand([row for row in rows if row.group == name], _where(name, rows, groups or {}), found.sense)
        for name in names
    ]
    answers: list[Sentence] = []
    table = yours = None
    if not rows:
        answers = [(Span("Nothing has run yet."),)]
    elif not standings:
        answers = []
    elif len(standings) > LONGEST_NAMES:
        answers = list(_over_groups(standings))
    else:
        # The algorithm that the family's claims are about is told of wherever it stands.
        subject = "" if family.explainer is None else family.explainer.algorithm
        ran = dict.fromkeys(str(row.algorithm) for row in rows)
        subject = next((name for name in ran if name.partition(":")[0] == subject), subject)
        own = [name for name in ran if is_user_algorithm(name)]
        as_columns = len(own) <= NAMED and sum(len(_tame(name)) for name in own) <= _ALL_COLUMNS
        table = _tabulate(standings, own if as_columns else [], subject)
        yours = None if as_columns else _tabulate_own(standings, own)
    answers += _of_sweeps(found, rows)
    agreement = agreement_text(found.solvers)
    answers = [*([(Span(agreement),)] if agreement else []), *answers]
    answers = [*_against(count_wins(rows, found.sense), len({str(row.case) for row in rows})), *answers]
    oracle = {str(row.algorithm) for row in rows if row.is_oracle}
    starred = [_star(each, oracle) for each in answers]
    starred_table, starred_yours = _star_table(table, oracle), _star_table(yours, oracle)
    troubles = [*_left_out(found), *_troubles(rows, found.sense)]
    if (starred, starred_table, starred_yours) != (answers, table, yours):
        troubles.append(
            (Span("* was given constants computed from the instance under test, its future included (oracle)."),)
        )
    unlike = list_unpinned(found.about.get("provenance", {}).get("packages", {}))
    if unlike and rows:
        text = f"Solvers are not those of the published figures: {', '.join(unlike)}."
        troubles.append((Span(f"{text} Intervals and runs in which they had a part may differ."),))
    if any(case.audits == UNAUDITED for case in found.cases):
        troubles.append((Span("Claims were not checked on these runs; with --audits they are."),))
    claimed = list(_verdicts(rows, family, settled, found.checks))
    return Headline(starred, claimed, troubles, _about(found.about), starred_table, starred_yours)


def _star(sentence: Sentence, names: Collection[str]) -> Sentence:
    spans: list[Span] = []
    for span in sentence:
        spans += [span, Span(" *")] if span.algorithm in names else [span]
    return tuple(spans)


def _star_table(table: RankingTable | None, names: Collection[str]) -> RankingTable | None:
    if table is None:
        return None
    rows = [[_star(each, names) for each in row] for row in (table.head, *table.rows)]
    return RankingTable(rows[0], rows[1:])


# Who reaches how much.


@dataclass(frozen=True, slots=True)
class _Standing:
    """A group: where it is, how many cases count, and the mean share of every algorithm with a run on all of these.

    best, worst : who certainly is; empty where the intervals leave it open.
    partial : shares of those that lack some of the cases, with the number they have.
    """

    where: str
    cases: int
    shares: Mapping[str, tuple[Fraction, Fraction]]
    best: Sequence[str]
    worst: Sequence[str]
    partial: Mapping[str, tuple[int, tuple[Fraction, Fraction]]]


def _where(group: str, rows: Iterable[Row], words: Mapping[str, str]) -> str:
    cases = list(dict.fromkeys(str(row.case) for row in rows if row.group == group))
    if len(cases) > 1:
        return words.get(group, _tame(group))
    return f"{words[group]} ({_tame(cases[0])})" if group in words else _tame(cases[0])


def _stand(rows: Sequence[Row], where: str, sense: Sense) -> _Standing:
    found: dict[str, dict[str, tuple[Fraction, Fraction]]] = {}
    values: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.state != "ok" or not is_known(row.opt_lower):
            continue
        part = _share_of(row, sense)
        if part is not None:
            found.setdefault(str(row.algorithm), {})[str(row.case)] = part
            values.setdefault(str(row.algorithm), {})[str(row.case)] = row
    cases = {case for parts in found.values() for case in parts}
    whole = [name for name, parts in found.items() if len(parts) == len(cases)]

    means = {name: _mean(list(parts.values())) for name, parts in found.items()}

    def leads(one: str, other: str) -> bool:
        """Whether one is certainly no worse: by the intervals of the means, or by the exact differences."""
        if means[one][0] >= means[other][1] or means[one][1] < means[other][0]:
            return means[one][0] >= means[other][1]
        if any(values[name][case].is_mean for name in (one, other) for case in cases):
            return False  # means of runs that draw: an exact difference says nothing of what is expected
        rows = [(values[one][case], values[other][case].welfare) for case in cases]
        more = [ratios.surplus(row.opt_lower, row.opt_upper, row.welfare, value, sense) for row, value in rows]
        known = [each for each in more if each is not None]
        return len(known) == len(more) and (min(known) >= 0 or _sum(known) >= 0)

    def first(behind: Callable[[str, str], bool], order: Sequence[str]) -> list[str]:
        if not order or not all(behind(order[0], other) for other in order[1:]):
            return []
        return sorted([order[0], *(name for name in order[1:] if behind(name, order[0]))], key=whole.index)

    order = sorted(whole, key=lambda name: means[name][0], reverse=True)
    return _Standing(
        where,
        len(cases),
        {name: means[name] for name in whole},
        first(leads, order),
        first(lambda one, other: leads(other, one), order[::-1]),
        {name: (len(found[name]), means[name]) for name in found if name not in whole},
    )


def _share_of(row: Row, sense: Sense) -> tuple[Fraction, Fraction] | None:
    """The share of OPT in a row; of a mean of runs for both ends of the 95 % interval of E[ALG]."""
    ends = [row.welfare]
    if row.is_mean:
        ends = [Fraction(end) for end in (row.welfare_low, row.welfare_high) if end is not None]
    parts = [ratios.share(row.opt_lower, row.opt_upper, end, sense) for end in ends]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _mean(parts: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    lows, highs = zip(*parts, strict=True)
    return _sum(lows) / len(parts), _sum(highs) / len(parts)


def _sum(parts: Sequence[Fraction]) -> Fraction:
    """The exact sum, by halves: denominators grow, so it is many times as fast as one after the other."""
    half = len(parts) // 2
    return _sum(parts[:half]) + _sum(parts[half:]) if half else Fraction(parts[0])


def _tabulate(groups: Sequence[_Standing], own: Sequence[str], subject: str) -> RankingTable:
    """A row per group: the best, its share of OPT, own algorithms, the one that claims are about, the worst."""
    names = dict.fromkeys(name for group in groups for name in (*group.shares, *group.partial))
    columns = [name for name in (*own, *([] if is_user_algorithm(subject) else [subject])) if name in names]
    head: list[Sentence] = [(Span("Cases"),), (Span("Best"),), (Span("Share of OPT"),)]
    head += [tuple(_names([name])) for name in columns]
    rows = [
        [
            (Span(_describe(group)),),
            *_best(group),
            *((Span(_of_algorithm(group, name)),) for name in columns),
            _worst(group),
        ]
        for group in groups
    ]
    return RankingTable([*head, (Span("Worst"),)], rows)


def _tabulate_own(groups: Sequence[_Standing], own: Sequence[str]) -> RankingTable:
    """A row per algorithm of one's own: its share of OPT in each group."""
    head: list[Sentence] = [(Span("Algorithm"),), *((Span(f"Share of OPT, {group.where}"),) for group in groups)]
    rows = [[tuple(_names([name])), *((Span(_of_algorithm(group, name)),) for group in groups)] for name in own]
    return RankingTable(head, rows)


def _describe(group: _Standing) -> str:
    """A group with its numbers of cases and of algorithms that have a share."""
    algorithms = len(group.shares) + len(group.partial)
    counts = [f"mean of {group.cases} cases"] * (group.cases > 1) + [_count(algorithms, "algorithm")] * bool(algorithms)
    return f"{group.where}: {', '.join(counts)}" if counts else group.where


def _best(group: _Standing) -> tuple[Sentence, Sentence]:
    if not group.shares:
        reason = (
            f"no algorithm has a share on all {group.cases} cases" if group.partial else "no run has a share of OPT"
        )
        return (Span(reason),), (Span("-"),)
    first = _first(group)
    share: Sentence = (Span(_share(group, first)),)
    if len(first) == len(group.shares) > NAMED:
        return (Span(f"all {len(first)} algorithms"),), share
    open_ = (Span(" or another (the intervals leave it open)"),) * (not group.best and len(group.shares) > 1)
    return (*_names(first), *open_), share


def _first(group: _Standing) -> Sequence[str]:
    """The best, or where that is open whoever certainly reaches most."""
    return group.best or [max(group.shares, key=lambda name: group.shares[name][0])]


def _worst(group: _Standing) -> Sentence:
    """Who is worst in a group, with its share of OPT; a dash where that is open, or nobody is behind another one."""
    if not group.worst or set(group.worst) & set(_first(group)):
        return (Span("-"),)
    return (*_names(group.worst), Span(f" {_share(group, group.worst)}"))


def _of_algorithm(group: _Standing, name: str) -> str:
    if name in group.shares:
        return _share(group, [name])
    if name not in group.partial:
        return "-"
    count, ends = group.partial[name]
    return f"{ratios.share_text(*ends)} on {count} of {group.cases} cases"


def _over_groups(groups: Sequence[_Standing]) -> Iterator[Sentence]:
    """Where there are too many groups for a sentence each: who is best and worst in how many, within what shares."""
    for words, chosen in (("Best", [each.best for each in groups]), ("Least", [each.worst for each in groups])):
        counted = Counter(name for names in chosen for name in names)
        spans = [Span(f"{words}: ")]
        for place, (name, count) in enumerate(counted.most_common(NAMED)):
            reached = [group.shares[name] for group, names in zip(groups, chosen, strict=True) if name in names]
            text = ratios.range_text(min(low for low, _ in reached), max(high for _, high in reached))
            where = f"in {count}" if place else f"in {count} of {len(groups)} groups of cases"
            spans += [Span(", " * bool(place)), *_names([name])]
            spans += [Span(f" {where} ({text}{'' if place else ' of the optimum'})")]
        rest, open_ = len(counted) - NAMED, sum(not names for names in chosen)
        spans += [Span(f", {_count(rest, 'more algorithm')} elsewhere")] if rest > 0 else []
        spans += [Span(f"{', ' * bool(counted)}left open in {open_} of {len(groups)} groups")] if open_ else []
        yield (*spans, Span("."))
    for name in dict.fromkeys(
        name for group in groups for name in (*group.shares, *group.partial) if is_user_algorithm(name)
    ):
        ends = [group.shares[name] for group in groups if name in group.shares]
        ends += [group.partial[name][1] for group in groups if name in group.partial]
        within = ratios.range_text(min(low for low, _ in ends), max(high for _, high in ends))
        best = sum(name in group.best for group in groups)
        text = f" reaches {within} of the optimum; it is best in {best} of {len(groups)} groups."
        yield (*_names([name]), Span(text))


def _against(wins: Sequence[Wins], cases: int) -> Iterator[Sentence]:
    """One's own algorithms against the strongest others; of a single case its group's sentence says it.

    Where one's own are many, the sentences are about those that win most; the table has all.
    """
    surplus = Counter[str]()
    for each in wins:
        surplus[each.own] += each.better - each.worse
    for own in sorted(surplus, key=lambda name: -surplus[name])[: NAMED if cases > 1 else 0]:
        mine = [each for each in wins if each.own == own]
        spans = [*_names([own]), Span(" is better ")]
        for place, each in enumerate(mine[:NAMED]):
            spans += [Span("; " * bool(place) + "than "), *_names([each.other])]
            spans.append(Span(f" {each.describe()}"))
        rest = len(mine) - NAMED
        yield (*spans, Span(f"; the table has {_count(rest, 'more algorithm')}." if rest > 0 else "."))


def _of_sweeps(found: Results, rows: Sequence[Row]) -> Iterator[Sentence]:
    """Over each parameter, between what shares every algorithm is on the average of a value."""
    for plot in found.plots:
        if plot.kind != SWEEP or not plot.groups:
            continue
        groups = [_stand([row for row in rows if row.group == group], group, found.sense) for group in plot.groups]
        spans = [
            Span(f"Over {_tame(plot.axis)} ({_tame(plot.groups[0])} to {_tame(plot.groups[-1])}), the share of OPT: ")
        ]
        every = dict.fromkeys(name for group in groups for name in group.shares)
        for place, name in enumerate(every):
            ends = [group.shares[name] for group in groups if name in group.shares]
            text = ratios.range_text(min(low for low, _ in ends), max(high for _, high in ends))
            spans += [Span("; " * bool(place)), *_names([name]), Span(f" {text}")]
        if every:
            yield (*spans, Span(f". Picture: {_tame(plot.name)}.svg beside the page."))


def _names(names: Sequence[str]) -> list[Span]:
    """One, two and three as they are, of more the first two; one's own first, and said to be."""
    ordered = sorted(names, key=lambda name: not is_user_algorithm(name))
    shown = ordered if len(ordered) <= NAMED else ordered[: NAMED - 1]
    rest = len(ordered) - len(shown)
    spans: list[Span] = []
    for place, name in enumerate(shown):
        last = place == len(shown) - 1 and not rest
        spans += [Span(" and " if last else ", ")] if place else []
        spans += [Span(_tame(name), "own" if is_user_algorithm(name) else "name", name)]
        spans += [Span(" (yours)")] if is_user_algorithm(name) else []
    return spans + ([Span(f" and {rest} more")] if rest else [])


def _share(group: _Standing, names: Sequence[str]) -> str:
    return ratios.share_text(*group.shares[names[0]])


# What is claimed.


def _verdicts(
    rows: Sequence[Row], family: Family, settled: Sequence[ClaimSummary], checks: Sequence[str]
) -> Iterator[Sentence]:
    summaries = {each.statement.name: each for each in settled if not (each.statement.proof or each.statement.asked)}
    head = family.headline if family.headline in checks else ""
    if head:
        yield from _of_claim(rows, head)
    others = [
        each for name, each in summaries.items() if name != head and each.counts.keys() - {Verdict.NOT_APPLICABLE}
    ]
    fallen = [each for each in others if each.counts[Verdict.VIOLATED]]
    wrong = [check_title(each.statement.name) for each in fallen if each.statement.standing == "proved"]
    if wrong:
        yield (Span(f"Proved, yet violated here, so there is an error: {_listed(wrong)}.", "violated"),)
    if fallen:
        what = _listed([check_title(each.statement.name) for each in fallen])
        are = "is violated" if len(fallen) == 1 else "are violated"
        yield (
            Span(f"{len(fallen)} of {len(others)} {'other ' * bool(head)}claims that apply here "),
            Span(are, "violated"),
            Span(f" on some instance: {what}."),
        )
    elif len(others) == 1:
        yield (Span(f"The one {'other ' * bool(head)}claim that applies here is not violated."),)
    elif others:
        yield (Span(f"None of the {len(others)} {'other ' * bool(head)}claims that apply here is violated."),)


def _of_claim(rows: Sequence[Row], check: str) -> Iterator[Sentence]:
    """On how many instances it is violated, of those to which it applies by some run; what fails of its proof.

    Where it holds, how many times the left side the right one is: a bound that is far off says little.
    """
    found: dict[str, set[str]] = {}
    for row in rows:
        if is_known(row.verdict(check)) and row.verdict(check) != Verdict.NOT_APPLICABLE:
            found.setdefault(str(row.instance), set()).add(str(row.verdict(check)))
    failed = sum(Verdict.VIOLATED in each for each in found.values())
    open_ = sum(Verdict.UNDECIDED in each and Verdict.VIOLATED not in each for each in found.values())
    title, all_ = check_title(check), len({str(row.instance) for row in rows})
    if not found:
        yield (Span(f"{title} applies to no run here."),)
        return
    on = f" of {_count(all_, 'instance')}"
    left = f", is undecided on {open_}" if open_ else ""
    left += f"; it applies to {len(found)} of them" if len(found) < all_ else ""
    left += _proof_and_slack(rows, check)
    if failed:
        yield Span(f"{title} "), Span("is violated", "violated"), Span(f" on {failed}{on}{left}.")
    else:
        yield (Span(f"{title} holds on {len(found) - open_}{on}{left}."),)


def _proof_and_slack(rows: Sequence[Row], check: str) -> str:
    """In how many runs an assumption of the proof fails, and how loose the bound is; empty where no check says."""
    asked = [(row, failing) for row in rows if (failing := row.failing(check)) is not None]
    if not asked:
        return ""
    names = Counter(name for _, failing in asked for name in failing)
    outside = sum(bool(failing) for _, failing in asked)
    summaries = f"; in {outside} of the {_count(len(asked), 'run')} that it is about an assumption of its proof fails"
    summaries *= bool(outside)
    summaries += f" ({_listed([name for name, _ in names.most_common()])})" * bool(outside)
    made = [row.checks[check] for row, _ in asked]
    sides = [(each.left, each.right) for each in made if each.verdict == Verdict.HOLDS]
    slack = [Fraction(right) / Fraction(left) for left, right in sides if left and right and _positive(left)]
    if slack:
        low, high = format_number(Fraction(math.floor(min(slack)))), format_number(Fraction(math.ceil(max(slack))))
        times = low if low == high else f"{low} to {high}"
        summaries += f"; where it holds, the bound is {times} times OPT/ALG"
    return summaries


def _positive(value: Any) -> bool:
    return is_known(value) and Fraction(value) > 0


# What must not be overlooked.


def _left_out(found: Results) -> Iterator[Sentence]:
    """The algorithms of the command that have no row in some cases, since these have no other day."""
    for name in found.about.get("algorithms", ()):
        without = [case.name for case in found.cases if name not in [each for each, _ in case.algorithms]]
        if without:
            cases = _tame(without[0]) if len(without) == 1 else f"{len(without)} of {len(found.cases)} cases"
            have = "has" if len(without) == 1 else "have"
            yield (*_names([name]), Span(f" is left out of {cases}, which {have} no other day."))


def _troubles(rows: Sequence[Row], sense: Sense) -> Iterator[Sentence]:
    kinds: tuple[tuple[str, str, Callable[[Row], bool]], ...] = (
        ("invalid (a rule was broken)", "violated", lambda row: row.state == "invalid"),
        ("failed", "violated", lambda row: row.state == "failed"),
        ("not run yet", "", lambda row: row.state == "missing"),
        (_UNBOUNDED[sense], "", lambda row: row.ratio_kind == ratios.Kind.UNBOUNDED),
        ("without a ratio, since OPT may be negative or 0", "", lambda row: row.ratio_kind == ratios.Kind.UNDEFINED),
    )
    for words, kind, chosen in kinds:
        names = Counter(str(row.algorithm) for row in rows if chosen(row))
        if names:
            count = names.total()
            are = ("has", "have") if words == "failed" else ("is", "are")
            yield (
                Span(f"{count} of {_count(len(rows), 'run')} {are[count > 1]} "),
                Span(words, kind),
                Span(": "),
                *_names(list(names)),
                Span("."),
            )
    unknown = dict.fromkeys(str(row.case) for row in rows if not is_known(row.opt_lower))
    if unknown:
        yield (Span(f"OPT is not known for {_count(len(unknown), 'case')}: {_listed(list(unknown))}."),)
    drawn = dict.fromkeys(str(row.algorithm) for row in rows if row.is_mean)
    if drawn:
        yield (
            *_names(list(drawn)),
            Span(": means of several runs, with a 95 % interval of the expected value, which is not certified."),
        )
    charged = Counter(str(row.algorithm) for row in rows if row.remarks.overcharged)
    if charged:
        spans = [Span("Charges above the bid", "violated"), Span(": ")]
        for place, (name, count) in enumerate(charged.most_common(NAMED)):
            runs = sum(row.algorithm == name for row in rows)
            spans += [Span(", " * bool(place)), *_names([name]), Span(f" in {count} of {_count(runs, 'run')}")]
        rest = len(charged) - NAMED
        yield (*spans, Span(f" and {_count(rest, 'more algorithm')}." if rest > 0 else "."))


_UNBOUNDED = {
    Sense.MOST: "without gain although OPT is above 0 (an unbounded ratio)",
    Sense.LEAST: "with costs although OPT is 0 (an unbounded ratio)",
}


def _about(about: Mapping[str, Any]) -> str:
    made = about.get("provenance", {})
    code, packages, machine = (made.get(part, {}) for part in ("code", "packages", "machine"))
    version = f"ratiobench {packages['ratiobench']}" if "ratiobench" in packages else ""
    if "commit" in code:
        version += f" at commit {code['commit'][:7]}{' with changes' * (code.get('changed since') == 'yes')}"
    cores = f"{machine['usable cores']} cores" if "usable cores" in machine else ""
    parts = (about.get("date", ""), version.strip(), machine.get("processor", ""), cores, machine.get("system", ""))
    return ", ".join(make_printable(str(part), _LONGEST) for part in parts if part)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(_tame(name) for name in names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown


def _tame(name: str) -> str:
    return make_printable(name, _LONGEST)
