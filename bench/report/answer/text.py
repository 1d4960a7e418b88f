"""The last screen of `run` and `report`: who is best and worst in each group, which claims fell, where the page is."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.answer.headline import Sentence, make_headline, shorten_names
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.report.shared.citation import cite
from ratiobench.bench.report.shared.text import align_columns, check_title
from ratiobench.bench.results.read import Results
from ratiobench.instances.io.errors import make_printable

CLAIMS = 6  # So many fallen claims have a line of their own; of more, their names
# Lines of the headline, and characters of a line; a table of one's own algorithms has as many lines as it needs
MOST, WIDTH = 26, 118
LABEL = 34  # Characters of an algorithm's name in a table: columns do not break words of this length
PROVED = "proved"  # The standing of a claim that no run can violate unless something of ours is wrong
NAME = 44  # Characters of an algorithm's name on this screen


def answer_text(
    found: Results,
    family: Family,
    settled: Sequence[ClaimSummary],
    folder: Path,
    groups: Mapping[str, str] | None = None,
) -> str:
    """The answer in at most two dozen lines: the headline, claims that fell, the page as a link."""
    headline = make_headline(found, family, settled, groups)
    tables = [each for each in (headline.standings, headline.yours) if each is not None]
    labels = shorten_names((name for each in tables for name in each.algorithms()), LABEL)
    drawn = [align_columns(each.texts(labels), width=WIDTH).splitlines() for each in tables]
    first, yours = [*drawn, [], []][:2]
    legend = [f"  {label}: {make_printable(name, WIDTH - 4 - len(label))}" for name, label in labels.items()]
    lines = [*_wrapped(headline.answers), *first][: MOST - 2] + yours + legend
    lines += _wrapped(headline.troubles)[: max(2, MOST - len(lines))]
    files = [f"Page:  {(folder / 'report.html').resolve().as_uri()}", f"Table: {folder / 'results.csv'}"]
    return "\n".join([*lines, *_claim_lines(settled), *citation_lines(found), *files])


def citation_lines(found: Results) -> list[str]:
    """How the run is cited, for a terminal."""
    return textwrap.wrap(f"Cite:  {cite(found)}", WIDTH, subsequent_indent="       ")


def _wrapped(sentences: Sequence[Sentence]) -> list[str]:
    """Each on lines of its own, those that follow indented."""
    texts = ("".join(span.text for span in each) for each in sentences)
    return [
        line for text in texts for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    ]


def _claim_lines(settled: Sequence[ClaimSummary]) -> list[str]:
    """The claims of papers and of this project that a run violates, with the smallest witness; how many hold.

    What is asked of whoever runs, and claimed by nobody, is not among them.
    """
    checked = [each for each in settled if not (each.statement.proof or each.statement.asked)]
    if not checked:
        return []
    fell = [each for each in checked if each.counts[Verdict.VIOLATED]]
    fell.sort(key=lambda each: each.statement.standing != PROVED)
    stand = sum(each.counts[Verdict.HOLDS] > 0 for each in checked if each not in fell)
    if not fell:
        held = "1 holds in every run that decides it" if stand == 1 else f"{stand} hold in every run that decides them"
        return [f"Claims: none of {len(checked)} is violated in these runs; {held}."]
    lines = [
        f"{len(fell)} of {len(checked)} claims are violated, {stand} hold in every run that decides them. "
        "Violations, of applicable runs:"
    ]
    for each in fell[:CLAIMS]:
        applied = sum(each.counts[verdict] for verdict in Verdict if verdict is not Verdict.NOT_APPLICABLE)
        error = ", though PROVED: an error of ours" * (each.statement.standing == PROVED)
        proof = "" if each.sound is None else f" ({each.sound} with all assumptions of its proof)"
        count = f"{each.counts[Verdict.VIOLATED]} of {applied}{proof}{error}"
        lines.append(f"  {check_title(each.statement.name)}: {count}{_witness(each)}")
    if len(fell) > CLAIMS:
        names = ", ".join(check_title(each.statement.name) for each in fell[CLAIMS:])
        lines.append(f"  and {make_printable(names, 200)}")
    return lines


def _witness(each: ClaimSummary) -> str:
    if each.witness is None:
        return ""
    case, name = (make_printable(text, NAME) for text in (each.witness.case, each.witness.algorithm))
    return f"; smallest witness {case}{f' ({each.size})' if each.size else ''}, {name}"
