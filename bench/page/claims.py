"""The section 'What the paper claims and what holds'."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Any

from bench.family.checks import Verdict
from bench.page.markup import breakable, cell, download, folded, rows_table
from bench.tables.text import check_title, number
from bench.tables.verdicts import BY_PROOF, Settled, frame


def section(settled: Sequence[Settled], notation: Sequence[tuple[str, str]] = ()) -> str:
    """Claim, standing, verdicts here, smallest witness, what holds instead; empty without claims."""
    if not settled:
        return ""
    head = ["claim", "statement", "in general", "in these runs", "smallest witness here", "what holds instead"]
    return (
        '<h2 id="claims">What the paper claims and what holds</h2>'
        "<p>Every claim was checked by exact comparisons on every valid run of this page, but for those about which no "
        "run says anything: they are settled <i>by proof</i>, which stands beside them. Where prices are doubles and "
        "rounding could decide, a claim is undecided. <i>In general</i> says what "
        "is known beyond these runs: proved, or false because somewhere there is a counterexample. The witness is the "
        "violated run of the smallest instance (users, tasks, slots, nodes, machines, in this order), "
        "of an algorithm as it is where there is one: "
        "those with options (<code>payment=critical</code>, <code>shares=excluded</code>, ...) are variants or other "
        "readings of the paper's, checked by the same claims. A run to which a claim is not applicable, because "
        "an assumption fails there, says nothing about it.</p>"
        + rows_table(
            head,
            [_row(each) for each in settled],
            "Claims and verdicts",
            ids=[_id(each) for each in settled],
            css="text",
        )
        + _notation(notation)
        + _commands(settled)
        + download("claims.csv", frame(settled).to_csv(index=False, lineterminator="\n").encode(), "This table as CSV")
    )


def _notation(notation: Sequence[tuple[str, str]]) -> str:
    if not notation:
        return ""
    terms = "".join(f"<dt>{_words(sign)}</dt><dd>{_words(meaning)}</dd>" for sign, meaning in notation)
    return folded("What the signs mean", f"<dl>{terms}</dl>")


def _commands(settled: Sequence[Settled]) -> str:
    commands = [each.command for each in settled if each.command]
    if not commands:
        return ""
    return folded(
        "Commands that show the witnesses, in the folder of the results", f"<pre>{escape(chr(10).join(commands))}</pre>"
    )


def _id(each: Settled) -> str:
    return f"claim-{each.statement.name}"


def _row(each: Settled) -> list[str]:
    said = each.statement
    name = escape(check_title(said.name))
    if not said.proof:
        name = f'<a href="#check-{escape(said.name)}">{name}</a>'
    assumptions = "" if said.assumptions in ("", "none") else f"<br><small>assuming {_words(said.assumptions)}</small>"
    proof = f"<br><small>proof: {_words(said.proof)}</small>" if said.proof else ""
    # A proved claim that a run violates is an error of ours; it must not look like any other red cell.
    alarm = said.standing == "proved" and each.counts[Verdict.VIOLATED] > 0
    return [
        f"<td>{name}<br><small>{_words(said.source)}</small></td>",
        f"<td>{_words(said.statement)}{assumptions}{proof}</td>",
        cell(f"{said.standing}, yet violated here" if alarm else said.standing, css="failed" * alarm),
        _here(each),
        _witness(each),
        f"<td>{_words(said.repaired or '-')}</td>",
    ]


def _words(text: str) -> str:
    """A statement with the signs of print."""
    return escape(text.replace("<=", "≤").replace(">=", "≥"))


def _here(each: Settled) -> str:
    """The verdicts with their counts, sorted by how many are violated."""
    if each.statement.proof:
        return cell(BY_PROOF)
    lines = [
        f'<span class="{verdict.value.replace(" ", "-")}">{each.counts[verdict]} {verdict.value}</span>'
        for verdict in Verdict
        if each.counts[verdict]
    ]
    if len(each.violators) > 1:
        lines.append(f"<small>violated by {breakable(each.violated_by)}</small>")
    return f'<td data-v="{each.counts[Verdict.VIOLATED]}">{"<br>".join(lines)}</td>'


def _witness(each: Settled) -> str:
    if each.witness is None:
        return cell("-")
    left, right = each.sides
    lines = [
        f'<a href="#row-{each.place}">{breakable(each.witness["case"])}, {breakable(each.witness["algorithm"])}</a>',
        f"<small>{escape(each.size)}</small>",
    ]
    title = ""
    if left is not None:
        lines.append(f"{escape(_short(left))} &gt; {escape(_short(right))}")
        reason = each.witness[f"{each.statement.name}_reason"]
        title = f' title="{escape(f"{left} > {_exactly(right)}: {reason}")}"'
    return f"<td{title}>{'<br>'.join(filter(None, lines))}</td>"


def _exactly(figure: Any) -> str:
    return "?" if figure is None else str(figure)


def _short(figure: Any) -> str:
    """Three decimals, or three digits where those would be zeros."""
    if figure is None:
        return "?"
    value = Fraction(figure)
    return number(value) if not value or abs(value) >= Fraction(1, 100) else f"{float(value):.3g}"
