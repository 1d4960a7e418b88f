"""The section of the figures that a suite asks for, each with its data, its method and the paper's own figures."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import Any

import pandas as pd

from bench.figures import bidding, charts, content
from bench.figures.bids import SAMPLE, Where, best
from bench.figures.content import Drawn
from bench.page.markup import cell, code, download, exact, folded, panels, rows_table
from bench.tables.rows import Results, StudyTable, is_known
from bench.tables.sayings import said_below, with_said
from bench.tables.text import number

METHOD = (
    "Mean over the cases of each group, which are repetitions; the line is the 95 % interval of the mean by Student's "
    "t. Where OPT is an interval, so is the mean (a bar), and its line covers both ends. Figures are in the table."
)


def section(found: Results, drawn: Sequence[Drawn], unit: str) -> str:
    """All figures of the suite that have data; empty without any."""
    shown = [each for each in drawn if _has_data(each)]
    if not shown:
        return ""
    others = [each.plot.title for each in drawn if not _has_data(each)]
    left_out = f"<p>Without data here, and left out: {escape('; '.join(others))}.</p>" if others else ""
    return '<h2 id="figures">Figures</h2>' + "\n".join([*(_figure(found, each, unit) for each in shown), left_out])


def _has_data(drawn: Drawn) -> bool:
    """Whether one of the cases that were run belongs to the figure (`run --only` leaves others out)."""
    if drawn.plot.kind in content.STUDIED:
        return bool(drawn.studies)
    return not (drawn.board if drawn.plot.kind == content.LEADERBOARD else drawn.means).empty


def _figure(found: Results, drawn: Drawn, unit: str) -> str:
    plot = drawn.plot
    studied = plot.kind in (*content.STUDIED, content.LEADERBOARD)
    parts = [
        f"<h3>{escape(plot.title)}</h3>",
        _shown(drawn, unit),
        f"<p>{escape(plot.note)}</p>" if plot.note else "",
        _printed(drawn.printed) if len(drawn.printed) else "",
        _beside(drawn.beside) if len(drawn.beside) else "",
        "" if studied else f'<p class="method">{escape(METHOD)}{escape(_left_out(drawn.means))}</p>',
        "" if studied else _table(drawn.means),
        *(
            download(name, frame.to_csv(index=False, lineterminator="\n").encode(), "Data")
            for name, frame in drawn.files.items()
        ),
        f"<p>Made by {code(made_by(found))}</p>",
    ]
    return f'<section class="figure" id="figure-{escape(plot.name)}">' + "\n".join(filter(None, parts)) + "</section>"


def _shown(drawn: Drawn, unit: str) -> str:
    if drawn.plot.kind == content.LEADERBOARD:
        return _board(drawn.board)
    return _studies(drawn, unit) if drawn.plot.kind in content.STUDIED else _means(drawn)


def _board(board: pd.DataFrame) -> str:
    """The leaderboard: figures rounded down, what is known of each algorithm, then the groups."""
    if board.empty:
        return "<p>Nothing has run yet.</p>"
    groups = [name for name in board.columns if name.startswith("mean in ")]
    about = [name for name in board.columns if name not in content.BOARD and name not in groups]
    body = []
    for row in board.to_dict("records"):
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if is_known(row["low"]) else "-"
        pace = row["decisions_per_second"]
        body.append(
            [
                cell(with_said(row["algorithm"], row["said"])),
                exact(row["mean_reached"]),
                cell(interval),
                *(cell(row[name]) for name in about),
                cell(row["constants"]),
                cell(f"{pace:,.0f}" if is_known(pace) else "-", sort=pace, number=True),
                *(exact(row[name]) for name in groups),
            ]
        )
    head = ["algorithm", "mean ALG/upper", "95 % interval", *about, "constants", "decisions/s"]
    return rows_table([*head, *(name.removeprefix("mean in ") for name in groups)], body, "Leaderboard", css="text")


def made_by(found: Results) -> str:
    """The command that makes these results."""
    return str(found.about.get("command") or f"python -m bench run {shlex.quote(str(found.about.get('suite', '')))}")


def _means(drawn: Drawn) -> str:
    if not drawn.means["mean_lower"].notna().any():
        return "<p>Nothing has run yet.</p>"
    if charts.is_lines(drawn.plot, drawn.means):
        return f'<figure class="wide">{charts.lines_chart(drawn, charts.span(drawn))}</figure>'
    shown = charts.spans(drawn)
    if not shown:
        return "<p>Nothing has run yet.</p>"
    own = " The axis is the group's own." if len(set(shown.values())) > 1 else ""
    return panels(
        (
            (
                group.removeprefix(f"{drawn.plot.name}: "),
                charts.group_panel(drawn, group, span),
                _cases(drawn.means, group) + own,
            )
            for group, span in shown.items()
        ),
        heading="h4",
    )


def _cases(means: pd.DataFrame, group: str) -> str:
    counts = [int(count) for count in means.loc[means["group"] == group, "cases"]]
    low, high = min(counts), max(counts)
    if high == 1:
        return "One case: no interval."
    return f"{high} cases." if low == high else f"{low} to {high} cases."


def _left_out(means: pd.DataFrame) -> str:
    """What no mean contains, and what is said of the runs behind them, in words."""
    said = []
    for row in means.to_dict("records"):
        for kind, words in (("unbounded", "unbounded"), ("left_out", "without a figure")):
            if row[kind]:
                total = row["cases"] + row["unbounded"] + row["left_out"]
                said.append(f"{row['group']}, {row['algorithm']}: {row[kind]} of {total} cases {words}")
    left_out = f" Not in the means (an arrow at the edge where cases are unbounded): {'; '.join(said)}." if said else ""
    return left_out + said_below(means.to_dict("records"))


def _table(means: pd.DataFrame) -> str:
    head = [
        "group",
        "algorithm",
        "cases",
        "mean, at least",
        "mean, at most",
        "95 %, from",
        "to",
        "unbounded",
        "left out",
    ]
    body = [
        [
            cell(row["group"]),
            cell(with_said(row["algorithm"], row["said"]) + " *" * bool(row["oracle"])),
            cell(row["cases"], sort=row["cases"], number=True),
            *(_figure_cell(row[name], up=name == "mean_upper") for name in ("mean_lower", "mean_upper", "low", "high")),
            *(cell(row[name], sort=row[name], number=True) for name in ("unbounded", "left_out")),
        ]
        for row in means.to_dict("records")
    ]
    return folded("The figure as a table", rows_table(head, body, "Means")) if body else ""


def _figure_cell(value: Any, *, up: bool = False) -> str:
    """Exact figures rounded down, or up where they are an upper end; floats with six digits."""
    if not isinstance(value, float) or not is_known(value):
        return exact(value, up=up)
    return cell(f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.6g}", sort=value, number=True)


def _printed(printed: pd.DataFrame) -> str:
    head = ["group", "algorithm", "better than", "paper, %", "ours, %", "95 % interval", "cases"]
    body = []
    for row in printed.to_dict("records"):
        if is_known(row["percent"]):
            ours = cell(_percent(row["percent"]), sort=float(row["percent"]), title=str(row["percent"]), number=True)
            ends = "unbounded" if row["cases"] > 1 else "one case: none"
            interval = f"{row['low']:.2f} to {row['high']:.2f}" if is_known(row["low"]) else ends
        else:
            ours = cell("not positive below" if row["cases"] else "-", number=True)
            interval = "-"
        body.append(
            [
                cell(row["group"]),
                cell(row["algorithm"]),
                cell(row["than"]),
                cell(row["paper_percent"], sort=row["paper_percent"], number=True),
                ours,
                cell(interval),
                cell(row["cases"], sort=row["cases"], number=True),
            ]
        )
    return (
        "<p>What the paper prints beside what was found: 100 (mean / mean - 1) over the same cases, its interval by "
        "Fieller's theorem (Student's t for the ratio of two paired means).</p>" + rows_table(head, body, "Printed")
    )


def _beside(beside: pd.DataFrame) -> str:
    head = ["group", "algorithm", "paper", "ours", "95 % interval", "cases"]
    body = []
    for row in beside.to_dict("records"):
        interval = f"{row['low']:.6g} to {row['high']:.6g}" if is_known(row["low"]) else "-"
        body.append(
            [
                cell(row["group"]),
                cell(row["algorithm"]),
                cell(row["paper"], sort=float(row["paper"]), number=True),
                _figure_cell(row["mean"]),
                cell(interval),
                cell(row["cases"], sort=row["cases"], number=True),
            ]
        )
    return "<p>The paper's means beside ours.</p>" + rows_table(head, body, "Means that the paper prints")


def _percent(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _studies(drawn: Drawn, unit: str) -> str:
    made = [each for each in drawn.studies if each.rows]
    missing = [f"{each.case}, {each.study.name}: {each.reason or 'no rows'}" for each in drawn.studies if not each.rows]
    draw = _curve if drawn.plot.kind == "curve" else _charges
    lines = [panels((draw(drawn.plot.name, each, unit) for each in made), heading="h4")] if made else []
    lines += [f"<p>Without a figure: {escape('; '.join(missing))}.</p>"] if missing else []
    return "".join(lines) or "<p>Nothing has run yet.</p>"


def _curve(name: str, study: StudyTable, unit: str) -> tuple[str, str, str]:
    truthful, top = best(study.rows)
    valuation = Fraction(study.rows[0]["valuation"])
    if top.utility == truthful:
        said = f"No bid gains more than the valuation {number(valuation)}, which gains {number(truthful)}."
    else:
        verb = {Where.AT: "gains", Where.NEAR: "gain nearly"}.get(top.where, "gain")
        said = (
            f"The valuation {number(valuation)} gains {number(truthful)}; {top.said(number)} {verb} "
            f"{number(top.utility)}."
        )
    head = f"{study.case}: task {study.study.task}, {study.study.algorithm}"
    return head, bidding.curve_panel(study.rows, f"{name} {head}", unit), said


def _charges(name: str, study: StudyTable, unit: str) -> tuple[str, str, str]:
    def count(small: str, large: str) -> int:
        return sum(Fraction(row[small]) < Fraction(row[large]) for row in study.rows)

    rows: Sequence[Mapping[str, str]] = study.rows
    head = f"{study.case}: {study.study.algorithm}"
    said = (
        f"{min(len(rows), SAMPLE)} of {len(rows)} admitted tasks, evenly spaced. Of all of them "
        f"{count('payment', 'outlay')} pay less than they cost the provider, "
        f"{count('bid', 'payment')} more than they bid."
    )
    return head, bidding.charges_panel(rows, f"{name} {head}", unit), said
