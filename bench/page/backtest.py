"""The page of a backtest: which policy to take, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.figures.backtest import draw_differences, draw_fates
from ratiobench.bench.figures.timeline import draw_timeline
from ratiobench.bench.page.render import load_scripts, render
from ratiobench.bench.tables import ratios
from ratiobench.bench.tables.backtest import Backtest, Difference, Policy, advise, compare, span_text
from ratiobench.bench.tables.cells import Cell, Table, exact_cell, make_cell, value_cell
from ratiobench.bench.tables.headline import share_text
from ratiobench.bench.tables.rows import Results
from ratiobench.bench.tables.text import WIDTH, align_columns
from ratiobench.online.outcome import Source

PAIRS = 12
"""Policies up to which every two are compared."""
AT_LIST = "list prices"


def render_backtest(results: Results, found: Backtest, family: Family) -> str:
    """The page as one HTML document that needs nothing from a network."""
    about = results.about
    priced = next((each for each in found.policies if each.line is not None and each.line.timeline.prices), None)
    best = found.policy(found.best) if found.best else None
    paired = len(found.complete) <= PAIRS and len(found.complete) > 2
    return render(
        "backtest.html",
        suite=str(about.get("suite", "")),
        summary=str(about.get("summary", "")),
        said=advise(found, family),
        found=found,
        objective=family.objective,
        policies=list_policies(found, family),
        remarks=_said(found),
        proved=list_proofs(found),
        differences=list_differences(found.differences, family),
        differing=draw_differences(found.differences, found.best, family) if found.differences else "",
        pairs=list_pairs(found, family, results.sense) if paired else None,
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
    """Those of the policy's charts that have these headings."""
    if policy is None or policy.line is None:
        return []
    return [(heading, svg) for heading, svg in draw_timeline(policy.line) if heading in headings]


def _named(policy: Policy) -> str:
    return policy.name + " *" * (Source.ORACLE in policy.sources)


def _said(found: Backtest) -> str:
    """What is said of the runs behind the rows; empty where nothing is."""
    return "; ".join(f"{each.name}: {each.said}" for each in found.policies if each.said)


def list_policies(found: Backtest, family: Family) -> Table:
    """What each policy earned over all days, the best first."""
    head = [
        "policy",
        "share of OPT",
        family.objective,
        "revenue",
        "profit",
        "admitted",
        "capacity used",
        "seconds a decision",
    ]
    head += ["days"] * any(each.trouble for each in found.policies)
    body = []
    for each in found.policies:
        row = [
            make_cell(_named(each)),
            _share_cell(each.share),
            value_cell(each.value, family),
            value_cell(each.revenue, family),
            value_cell(each.profit, family, small="" if each.is_paid or each.profit is None else f"({AT_LIST})"),
            _part_cell(each.admitted, each.arrivals),
            _ratio_cell(each.used),
            make_cell("-" if each.seconds is None else f"{each.seconds:.2g}", sort=each.seconds, numeric=True),
        ]
        body.append(row + [make_cell(len(each.values), sort=len(each.values), numeric=True)] * (len(head) > len(row)))
    return Table("Policies", head, body)


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
    return Table("What is proved", ["policy", *headings, "did it apply?", "constants from"], body)


def list_differences(differences: Sequence[Difference], family: Family) -> Table:
    """By how much the best policy is ahead of each other one a day."""
    head = [
        "behind the best",
        "a day",
        "95 % interval",
        "of all comparisons at once",
        "days ahead",
        "days behind",
        "beyond chance",
    ]
    body = [
        [
            make_cell(each.other),
            value_cell(each.estimate.mean, family),
            make_cell(span_text(each.estimate, family)),
            make_cell(span_text(each.joint, family)),
            make_cell(each.ahead, sort=each.ahead, numeric=True),
            make_cell(each.behind, sort=each.behind, numeric=True),
            make_cell("yes" if each.is_apart else "no"),
        ]
        for each in differences
    ]
    return Table("Differences", head, body)


def list_pairs(found: Backtest, family: Family, sense: Sense) -> Table:
    """Every two policies: by how much the one of the row is better than the one of the column, a day."""
    complete = found.complete
    body = []
    for one in complete:
        row = [make_cell(one.name)]
        for other in complete:
            if one is other:
                row.append(make_cell(""))
                continue
            estimate = compare(one.values, other, sense, 2, one.name).estimate
            cell = value_cell(estimate.mean, family, small=f"({span_text(estimate, family)})")
            row.append(cell)
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
    tables: list[tuple[Table, Callable[[Cell], str]]] = [
        (list_policies(found, family), lambda cell: f"{cell.text} {cell.small}".rstrip()),
        (list_proofs(found), lambda cell: cell.text),
    ]
    if found.differences:
        tables.append((list_differences(found.differences, family), lambda cell: cell.text))
    remarks = f"Remarks on the runs: {_said(found)}.\n" if _said(found) else ""
    return "\n".join(align_columns(_lines(table, shown), width=WIDTH) for table, shown in tables) + remarks


def _lines(table: Table, shown: Callable[[Cell], str]) -> list[Mapping[str, str]]:
    """Headings of words begin with a capital, by which `align_columns` puts them to the left."""
    heads = [column.name for column in table.columns]
    words = [not any(cells[place].css.startswith("n") for cells in table.rows) for place in range(len(heads))]
    named = [head[:1].upper() + head[1:] if word else head for head, word in zip(heads, words, strict=True)]
    return [dict(zip(named, map(shown, cells), strict=True)) for cells in table.rows]
