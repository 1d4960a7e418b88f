"""The page of a backtest: which policy to take, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.backtest.advice import advise, difference_text, suggest_changes, sum_assumptions
from ratiobench.bench.report.backtest.charts import draw_differences, draw_fates
from ratiobench.bench.report.backtest.criteria import WELFARE, Criterion
from ratiobench.bench.report.backtest.data import Backtest, Difference, Policy, compare
from ratiobench.bench.report.shared.cells import Cell, Table, exact_cell, make_cell, value_cell
from ratiobench.bench.report.shared.render import load_scripts, render
from ratiobench.bench.report.shared.text import WIDTH, align_columns
from ratiobench.bench.report.timeline.charts import draw_timeline
from ratiobench.bench.results import ratios
from ratiobench.bench.results.ratios import share_text
from ratiobench.bench.results.read import Results
from ratiobench.online.outcome import Source

PAIRS = 12  # Policies up to which every two are compared
AT_ARRIVAL, LATER = "Decided at arrival", "Decided later"


def render_backtest(results: Results, found: Backtest, family: Family) -> str:
    """The page as one HTML document that needs nothing from a network."""
    about = results.about
    priced = next((each for each in found.policies if each.line is not None and each.line.timeline.prices), None)
    best = found.policy(found.best) if found.best else None
    paired = len(found.complete) <= PAIRS and len(found.complete) > 2
    return render(
        "report/backtest/backtest.html",
        suite=str(about.get("suite", "")),
        summary=str(about.get("summary", "")),
        said=advise(found, family),
        found=found,
        objective=family.objective,
        rests=list_assumptions(found),
        suggested=suggest_changes(found, family),
        policies=list_policies(found, family),
        money=list_money(found, family),
        is_listed=any(each.listed for each in found.policies),
        waits=any(each.measures for each in found.policies),
        what_ifs=list_what_ifs(found, family),
        score=found.criterion.name_in(family),
        remarks=_said(found),
        proved=list_proofs(found),
        differences=list_differences(found.differences, family, found.criterion),
        differing=draw_differences(found.differences, found.best, family, found.criterion) if found.differences else "",
        pairs=list_pairs(found, family) if paired else None,
        fates=draw_fates(found.policies) if any(each.line is not None for each in found.policies) else "",
        load=_charts(best, "Load"),
        price_of=priced,
        prices=_charts(priced, *(title[:1].upper() + title[1:] for title in _titles(priced))),
        notes=list(
            dict.fromkeys(each.line.timeline.note for each in found.policies if each.line and each.line.timeline.note)
        ),
        reasons={k: v for each in found.policies if each.line for k, v in each.line.timeline.reasons.items()},
        lines=[(each.name, draw_timeline(each.line)) for each in found.policies if each.line is not None],
        classes=list_classes(found),
        days=list_days(results, found, family),
        command=str(about.get("command", "")),
        provenance={name: about.get("provenance", {}).get(name, {}) for name in ("code", "packages", "machine")},
        script=load_scripts(),
    )


def _titles(policy: Policy | None) -> Iterable[str]:
    return policy.line.timeline.prices if policy is not None and policy.line is not None else ()


def _charts(policy: Policy | None, *headings: str) -> list[tuple[str, str]]:
    if policy is None or policy.line is None:
        return []
    return [(heading, svg) for heading, svg in draw_timeline(policy.line) if heading in headings]


def _named(policy: Policy) -> str:
    return policy.name + " *" * (Source.ORACLE in policy.sources)


def _said(found: Backtest) -> str:
    """What is said of the runs behind the rows; empty where nothing is."""
    return "; ".join(f"{each.name}: {each.said}" for each in found.policies if each.said)


def list_policies(found: Backtest, family: Family) -> list[Table]:
    """How well each policy served the jobs, the best first: those that decide at arrival, and those that decide later.

    One table where no policy lets jobs wait.
    """
    later = [each for each in found.policies if each.is_later]
    at_once = [each for each in found.policies if not each.is_later]
    parts = [(AT_ARRIVAL, at_once), (LATER, later)] if later else [("policy", at_once)]
    return [_list_served(title, policies, found, family) for title, policies in parts if policies]


def _list_served(title: str, policies: Sequence[Policy], found: Backtest, family: Family) -> Table:
    known = {name for each in found.policies for name in each.measures}
    shown = [each for each in _SERVED if each[1] in known]
    head = [title, family.objective, "share of OPT", *(name for name, *_ in shown), "admitted"]
    has_trouble = any(each.trouble for each in found.policies)
    body = []
    for each in policies:
        row = [make_cell(_named(each)), value_cell(each.value, family), _share_cell(each.share)]
        for _, measure, scale, form in shown:
            value = each.measures.get(measure)
            text = "-" if value is None else form.format(float(value * scale))
            row.append(make_cell(text, sort=value, title="" if value is None else str(value)[:200], numeric=True))
        row.append(_part_cell(each.admitted, each.arrivals))
        body.append(row + [make_cell(len(each.values), sort=len(each.values), numeric=True)] * has_trouble)
    return Table(title, head + ["days"] * has_trouble, body)


# Measures of jobs as the tables of policies show them: heading, measure, factor, form
_SERVED = (
    ("wait, min", "wait_mean_s", Fraction(1, 60), "{:.1f}"),
    ("95 % wait, min", "wait_p95_s", Fraction(1, 60), "{:.0f}"),
    ("met deadline", "met_share", Fraction(100), "{:.1f} %"),
    ("slowdown", "slowdown", Fraction(1), "{:.2f}"),
    ("killed", "killed", Fraction(1), "{:.0f}"),
)


def list_money(found: Backtest, family: Family) -> Table:
    """What each policy earned and used, the best first: at list prices, where they are known, then by its payments."""
    is_listed = any(each.listed for each in found.policies)
    head = ["policy", *(["profit at list prices"] if is_listed else []), "revenue by own payments", "profit by these"]
    head += ["capacity used", "seconds a decision"]
    body = []
    for each in found.policies:
        row = [make_cell(_named(each)), *([value_cell(each.list_profit, family)] if is_listed else [])]
        row += [
            value_cell(each.revenue, family),
            value_cell(each.profit if each.is_paid else None, family),
            _ratio_cell(each.used),
            make_cell("-" if each.seconds is None else f"{each.seconds:.2g}", sort=each.seconds, numeric=True),
        ]
        body.append(row)
    return Table("Money", head, body)


def list_assumptions(found: Backtest) -> Table | None:
    """What the figures rest on, each with its weight; None where nothing is known of it."""
    basis = sum_assumptions(found)
    if not basis.jobs:
        return None
    body = []
    for each in basis.lines:
        jobs = Fraction(each.jobs, basis.jobs)
        hours = None if each.hours is None or not basis.hours else each.hours / basis.hours
        body.append(
            [
                make_cell(each.text, css="wrap"),
                make_cell(f"{each.jobs:,}", sort=each.jobs, numeric=True),
                _ratio_cell(jobs),
                make_cell(
                    "not known" if each.hours is None else f"{float(each.hours):,.0f}", sort=each.hours, numeric=True
                ),
                _ratio_cell(hours),
            ]
        )
    if any(each.empty for each in found.facts.values()):
        text = "each day begins with an empty cluster, without jobs that still ran at midnight"
        body.append([make_cell(text, css="wrap"), *(make_cell("-", numeric=True) for _ in range(4))])
    head = ["assumption", "jobs", "of jobs", "in GPU-hours", "of GPU-hours"]
    return Table("Assumptions on the jobs of the judged days", head, body)


def list_what_ifs(found: Backtest, family: Family) -> Table | None:
    """What changes are worth to OPT, at least and at most, and under the best policy; None without any."""
    if not found.what_ifs:
        return None
    head = ["what if", "adds to OPT at least", "at most", "a day at least", "a day at most", "adds to its bound"]
    head += [f"adds under {found.best}"] if found.best else []
    body = []
    for each in found.what_ifs:
        low, high = (None, None) if each.gain is None else each.gain
        days = len(found.days)
        row = [make_cell(each.change), value_cell(low, family, up=False), value_cell(high, family, up=True)]
        row += [
            value_cell(None if low is None else low / days, family, up=False),
            value_cell(None if high is None else high / days, family, up=True),
            value_cell(each.bound, family),
        ]
        if found.best:
            now = next((one for one in each.found.complete if one.name == found.best), None)
            row.append(value_cell(None if now is None else now.value - found.policy(found.best).value, family))
        body.append(row)
    return Table("What if", head, body)


def _share_cell(share: tuple[Fraction, Fraction] | None) -> Cell:
    if share is None:
        return make_cell("-", numeric=True)
    return make_cell(share_text(*share), sort=share[0], title=f"at least {share[0]}"[:200], numeric=True)


def _ratio_cell(value: Fraction | None) -> Cell:
    if value is None:
        return make_cell("-", numeric=True)
    return make_cell(f"{float(100 * value):.1f} %", sort=value, title=str(value)[:200], numeric=True)


def _part_cell(count: Fraction, among: int) -> Cell:
    if not among:
        return make_cell("-", numeric=True)
    text = f"{float(100 * count / among):.1f} %"
    return make_cell(text, sort=count / among, title=f"{count} of {among}", numeric=True)


def list_proofs(found: Backtest) -> Table:
    """What is proved of each policy, and whether that applied."""
    headings = list(dict.fromkeys(name for each in found.policies for name in each.standing))
    body = []
    for each in found.policies:
        row = [make_cell(_named(each)), *(make_cell(each.standing.get(name, "-"), css="wrap") for name in headings)]
        applied = "; ".join(each.applied) or ("-" if found.days else "")
        body.append([*row, make_cell(applied, css="wrap"), make_cell(each.constants)])
    return Table("Guarantees", ["policy", *headings, "verdicts of the runs", "constants from"], body)


def list_differences(differences: Sequence[Difference], family: Family, criterion: Criterion = WELFARE) -> Table:
    """By how much the best policy is ahead of each other one a day."""
    head = [
        "behind the best",
        "a day",
        "95 % interval",
        "95 % interval, all comparisons at once",
        "days ahead",
        "days behind",
        "beyond chance",
    ]
    body = [
        [
            make_cell(each.other),
            _score_cell(each.estimate.mean, family, criterion),
            make_cell(difference_text(each.estimate, family, criterion)),
            make_cell(difference_text(each.joint, family, criterion)),
            make_cell(each.ahead, sort=each.ahead, numeric=True),
            make_cell(each.behind, sort=each.behind, numeric=True),
            make_cell("yes" if each.is_apart else "no"),
        ]
        for each in differences
    ]
    return Table("Differences", head, body)


def _score_cell(value: Fraction | None, family: Family, criterion: Criterion, small: str = "") -> Cell:
    if criterion.unit is None or value is None:
        return value_cell(value, family, small=small)
    return replace(make_cell(criterion.text(value, family), sort=value, numeric=True), small=small)


def list_pairs(found: Backtest, family: Family) -> Table:
    """Every two policies: by how much the one of the row is better than the one of the column, a day."""
    complete, criterion = found.complete, found.criterion
    sense = criterion.sense(family)
    body = []
    for one in complete:
        row = [make_cell(one.name)]
        for other in complete:
            if one is other:
                row.append(make_cell(""))
                continue
            estimate = compare(one.ranked, other, sense, 2, one.name).estimate
            small = f"({difference_text(estimate, family, criterion)})"
            row.append(_score_cell(estimate.mean, family, criterion, small))
        body.append(row)
    return Table(
        "Every two", ["better by, a day", *(each.name for each in complete)], body, folded="Every two policies"
    )


def list_classes(found: Backtest) -> list[Table]:
    """The admitted share by class of arrival: a table for each way to tell them apart."""
    titles = list(dict.fromkeys(title for each in found.policies for title in each.classes))
    tables = []
    for title in titles:
        shown = [each for each in found.policies if title in each.classes]
        counts = {label: arrivals for label, arrivals, _ in shown[0].classes[title]}
        head = [title, *(f"{label} ({count:,})" for label, count in counts.items())]
        body = []
        for each in shown:
            served = {label: (Fraction(admitted), arrivals) for label, arrivals, admitted in each.classes[title]}
            cells = [_part_cell(*served.get(label, (Fraction(0), 0))) for label in counts]
            body.append([make_cell(_named(each)), *cells])
        tables.append(Table(title, head, body))
    return tables


def list_days(results: Results, found: Backtest, family: Family) -> Table:
    """Day by day: arrivals, the interval on OPT, and the share of it that each policy reaches."""
    head = ["day", *family.size, "OPT, at least", "OPT, at most", *(each.name for each in found.policies)]
    body = []
    for case in results.cases:
        ends = found.opt.get(case.name)
        row = [make_cell(case.name), *(exact_cell(case.describe.get(name)) for name in family.size)]
        row += [value_cell(None if ends is None else ends[up], family, up=bool(up)) for up in (0, 1)]
        for each in found.policies:
            value = each.values.get(case.name)
            known = value is not None and ends is not None
            row.append(
                _share_cell(ratios.share(*ends, value, results.sense) if known and ends and value is not None else None)
            )
        body.append(row)
    return Table("Days", head, body)


def backtest_text(found: Backtest, family: Family) -> str:
    """The same for a terminal: what each policy earned, what is proved of it, how far the others are behind."""
    if not found.policies:
        return "Nothing has run yet."
    tables = [*list_policies(found, family), list_money(found, family), list_proofs(found)]
    if found.differences:
        tables.append(list_differences(found.differences, family, found.criterion))
    if (changes := list_what_ifs(found, family)) is not None:
        tables.append(changes)
    remarks = f"Remarks on the runs: {_said(found)}.\n" if _said(found) else ""
    return "\n".join(align_columns(_lines(table), width=WIDTH) for table in tables) + remarks


def basis_text(found: Backtest, family: Family) -> str:
    """What the figures rest on, for a terminal; empty where nothing is known of it."""
    table = list_assumptions(found)
    return "" if table is None else align_columns(_lines(table), width=WIDTH) + suggest_changes(found, family)


def _lines(table: Table) -> list[Mapping[str, str]]:
    """Headings of words begin with a capital, by which `align_columns` puts them to the left."""
    heads = [column.name for column in table.columns]
    words = [not any(cells[place].css.startswith("n") for cells in table.rows) for place in range(len(heads))]
    named = [head[:1].upper() + head[1:] if word else head for head, word in zip(heads, words, strict=True)]
    return [dict(zip(named, (cell.text for cell in cells), strict=True)) for cells in table.rows]
