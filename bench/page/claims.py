"""The section 'What the paper claims and what holds'."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Any

from bench import table
from bench.checks import Verdict
from bench.page.markup import cell, code, download, rows_table
from bench.table import number
from bench.verdicts import Settled, frame


def section(settled: Sequence[Settled]) -> str:
    """Claim, standing, verdicts here, smallest witness, what holds instead; empty without claims."""
    if not settled:
        return ""
    head = ["claim", "statement", "in general", *(verdict.value for verdict in Verdict), "smallest witness here"]
    head += ["left > right there", "what holds instead"]
    return (
        '<h2 id="claims">What the paper claims and what holds</h2>'
        "<p>Every claim was checked in exact arithmetic on every valid run of this page; the counts are runs. "
        "<i>In general</i> says what is known beyond these runs. The witness is the violated row with the fewest "
        "tasks, then slots, then nodes; its command, in the folder of the results, shows it with all figures. A claim "
        "that was not checked on a run, or whose assumptions fail there (not applicable), is not supported by it.</p>"
        + rows_table(head, [_row(each) for each in settled], "Claims and verdicts", ids=[_id(each) for each in settled])
        + download("claims.csv", frame(settled).to_csv(index=False, lineterminator="\n").encode(), "This table as CSV")
    )


def _id(each: Settled) -> str:
    return f"claim-{each.statement.name}"


def _row(each: Settled) -> list[str]:
    said = each.statement
    name = escape(table.title(said.name))
    assumptions = "" if said.assumptions in ("", "none") else f"<br><small>assuming {escape(said.assumptions)}</small>"
    # A proved claim that a run violates is an error of ours; it must not look like any other red cell.
    alarm = said.standing == "proved" and each.counts[Verdict.VIOLATED] > 0
    return [
        f'<td><a href="#check-{escape(said.name)}">{name}</a><br><small>{escape(said.source)}</small></td>',
        f'<td class="wrap">{escape(said.statement)}{assumptions}</td>',
        cell(f"{said.standing}, yet violated here" if alarm else said.standing, css="failed" * alarm),
        *(
            cell(
                each.counts[verdict],
                sort=each.counts[verdict],
                number=True,
                css="violated" * (verdict is Verdict.VIOLATED and each.counts[verdict] > 0),
            )
            for verdict in Verdict
        ),
        _witness(each),
        _sides(each),
        f'<td class="wrap">{escape(said.repaired or "-")}</td>',
    ]


def _witness(each: Settled) -> str:
    if each.witness is None:
        return cell("-")
    where = escape(f"{each.witness['case']}, {each.witness['algorithm']}")
    return (
        f'<td class="wrap"><a href="#row-{each.place}">{where}</a><br><small>{escape(each.size)}</small><br>'
        f"{code(each.command)}</td>"
    )


def _sides(each: Settled) -> str:
    left, right = each.sides
    if each.witness is None or left is None:
        return cell("-")
    reason = each.witness[f"{each.statement.name}_reason"]
    return cell(f"{_short(left)} > {_short(right)}", title=f"{left} > {'?' if right is None else right}: {reason}")


def _short(figure: Any) -> str:
    """Three decimals, or three digits where those would be zeros."""
    if figure is None:
        return "?"
    value = Fraction(figure)
    return number(value) if not value or abs(value) >= Fraction(1, 100) else f"{float(value):.3g}"
