"""An explanation of a run: made for a family, and written out for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import Explanation, Grid, Listing, Moment, Sentence, Square, find_used_signs
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.report.shared.sentences import WORDS, figure_text, sentence_text
from ratiobench.bench.report.shared.text import assumptions_text, check_title
from ratiobench.bench.results import ratios
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable

WIDTH = 110  # Characters of a line up to which two grids stand side by side


def require_explaining(family: Family) -> Explainer:
    """The family's part; InputError where it has none."""
    if family.explainer is None:
        raise InputError("explain", "", f"the family {family.name} explains no runs")
    return family.explainer


def explain_too_large(family: Family, instance: Any) -> str:
    """Why an instance is too large to be explained; empty where it is not."""
    described = family.describe(instance)
    for name, most in require_explaining(family).limits.items():
        if int(described.get(name, 0)) > most:
            return f"{described[name]} {name}; a run is explained step by step on at most {most}"
    return ""


def explain(
    family: Family, instance: Any, algorithm: str = "", claim: str = "", settings: SolveSettings | None = None
) -> Explanation:
    """Solve, run, check one claim, and tell it; algorithm and claim are the family's own where they are empty."""
    part = require_explaining(family)
    asked, claim = bool(claim), claim or part.claim
    if claim:
        _require_claim(family, claim)
    family.validate_algorithm(algorithm or part.algorithm)
    problem = explain_too_large(family, instance)
    if problem:
        raise InputError(getattr(instance, "name", ""), "", problem)
    run = family.run(instance, algorithm or part.algorithm)
    reference = family.solve(instance, settings or SolveSettings())
    check = None
    if claim and not run.valid:
        check = Check(claim, Verdict.NOT_APPLICABLE, None, None, f"the run is invalid: {run.violations[0]}")
    elif claim:
        [check] = family.audit(instance, run, reference, [claim])
    explanation = part.explain(instance, run, reference, check)
    ratio = " (INVALID run)"
    if run.valid:
        ratio = f", {family.sense.ratio} {ratios.ratio(reference.lower, reference.upper, run.welfare, family.sense)}"
    result = [*explanation.result, ratio]
    about_another = check is not None and check.reason.startswith(ANOTHER)
    ending = explanation.ending if asked or not about_another else None
    sources = [each for each in family.sources() if ending is not None and each.name in ending.source]
    whole = replace(explanation, result=result, ending=ending, sources=sources)
    return replace(whole, signs=find_used_signs(text(whole), family.notation()))


def _require_claim(family: Family, claim: str) -> None:
    known = [each.name for each in family.statements() if not each.proof]
    if not known:
        raise InputError("--claim", "", f"the family {family.name} has no claims")
    if claim not in known:
        raise InputError("--claim", "", explain_unknown_name(claim, known, "list claims"))


def verdict_text(found: Explanation) -> Sentence:
    """The end first: what became of the claim; empty without one."""
    ending = found.ending
    if ending is None:
        return []
    title = check_title(ending.claim)
    if ending.verdict is Verdict.NOT_APPLICABLE:
        return [f"{title} does not apply here: ", *ending.sides]
    texts = {Verdict.HOLDS: "holds here", Verdict.VIOLATED: "is violated here", Verdict.UNDECIDED: "is undecided here"}
    proof = [] if ending.failing is None else [f"; proof of the claim: {assumptions_text(ending.failing)}"]
    return [f"{title} {texts[ending.verdict]}: ", *ending.sides, *proof]


def text(found: Explanation) -> str:
    """The explanation for a terminal."""
    ending = found.ending
    lines = [f"{make_printable(found.instance, WORDS)}: {make_printable(found.algorithm, WORDS)}"]
    verdict = sentence_text(verdict_text(found))
    lines += [sentence_text(found.result), *filter(None, [verdict]), ""]
    lines += [f"The instance, according to its file: {make_printable(found.about, 600)}", ""] if found.about else []
    for table in found.tables:
        lines += [*_listing(table), ""]
    lines += [sentence_text(each) for each in found.remarks]
    for moment in found.moments:
        lines += ["", *_moment(moment)]
    lines += ["", "Result", *_beside([list(_grid(each)) for each in found.outcome])] if found.outcome else []
    if ending is not None:
        lines += ["", f"{check_title(ending.claim)} ({ending.source}; {ending.standing}): {ending.statement}"]
        lines += [f"  {sentence_text(each)}" for each in ending.steps]
        lines += ["", verdict]
    lines += ["", "Symbols", *(f"  {sign}: {meaning}" for sign, meaning in found.signs)] if found.signs else []
    lines += ["", *(f"{each.name}: {each.citation}" for each in found.sources)] if found.sources else []
    return "\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line).rstrip() for line in lines)


def _moment(moment: Moment) -> Iterator[str]:
    yield f"{moment.heading}: {sentence_text(moment.said)}"
    for grid in moment.grids:
        yield from (f"  {line}" for line in _grid(grid))
    if moment.candidates is not None:
        yield from (f"  {line}" for line in _listing(moment.candidates))
    for note in moment.notes:
        yield f"  {sentence_text(note)}"
    yield f"  -> {sentence_text(moment.decision)}"
    yield from (f"     {sentence_text(each)}" for each in moment.after)


def _listing(table: Listing) -> list[str]:
    mark = table.chosen is not None
    body = [
        [*(["*" if place == table.chosen else ""] if mark else []), *map(figure_text, row)]
        for place, row in enumerate(table.rows)
    ]
    words = [isinstance(each, str) for each in (table.rows[0] if table.rows else [""] * len(table.head))]
    head = [*([""] if mark else []), *table.head]
    return [table.title, *_columns(head, body, [*([True] if mark else []), *words])]


def _columns(head: Sequence[str], body: Sequence[Sequence[str]], words: Sequence[bool]) -> list[str]:
    """Lines of columns: words to the left, numbers to the right."""
    width = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return [
        "  " + "  ".join(
            cell.ljust(w) if left else cell.rjust(w) for cell, w, left in zip(line, width, words, strict=True)
        ).rstrip()
        for line in (head, *body)
    ]  # fmt: skip


def _grid(grid: Grid) -> Iterator[str]:
    """A grid of characters; what is chosen stands in brackets, dots where nothing is."""

    def shown_in(square: Square) -> str:
        figure = "." if square.figure is None else figure_text(square.figure)
        return f"[{figure}]" if square.chosen else figure

    body = [[place, *(shown_in(square) for square in squares)] for place, squares in grid.rows]
    yield grid.title
    yield from _columns([grid.corner, *grid.head], body, [True] + [False] * len(grid.head))


def _beside(blocks: Sequence[Sequence[str]]) -> list[str]:
    """Blocks of lines side by side where the line holds them, else one below the other."""
    width = [max(map(len, block)) for block in blocks]
    if sum(width) + 4 * (len(blocks) - 1) > WIDTH:
        return [f"  {line}" for block in blocks for line in block]
    tall = max(map(len, blocks))
    padded = [[*block, *[""] * (tall - len(block))] for block in blocks]
    return [
        "  " + "    ".join(part.ljust(w) for part, w in zip(line, width, strict=True))
        for line in zip(*padded, strict=True)
    ]
