"""An explanation of a run: made for a family, and written out for terminals, pages and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from markupsafe import Markup

from ratiobench.bench import show
from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import Explanation, Grid, Listing, Moment, Sentence, Square, find_used_signs
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.report.tables import render_page
from ratiobench.bench.results import ratios
from ratiobench.bench.storage.payload import json_number
from ratiobench.instances.io.errors import InputError, make_printable, require_known

WIDTH = 110  # Characters of a line up to which two grids stand side by side


def require_explaining(family: Family) -> Explainer:
    if family.explainer is None:
        raise InputError("explain", "", f"the family {family.name} explains no runs")
    return family.explainer


def explain_too_large(family: Family, instance: Any) -> str:
    """Why an instance is too large to be explained; empty if it is not."""
    described = family.describe(instance)
    for name, most in require_explaining(family).limits.items():
        if int(described.get(name, 0)) > most:
            return f"{described[name]} {name}; a run is explained step by step on at most {most}"
    return ""


def explain(
    family: Family, instance: Any, algorithm: str = "", claim: str = "", settings: SolveSettings | None = None
) -> Explanation:
    """Solve, run, check one claim, and explain; algorithm and claim are the family's own if they are empty."""
    part = require_explaining(family)
    asked, claim = bool(claim), claim or part.claim
    if claim:
        known = [statement.name for statement in family.statements() if not statement.proof]
        if not known:
            raise InputError("--claim", "", f"the family {family.name} has no claims")
        require_known(claim, known, "--claim", command="list claims")
    family.validate_algorithm(algorithm or part.algorithm)
    if problem := explain_too_large(family, instance):
        raise InputError(getattr(instance, "name", ""), "", problem)
    run = family.run(instance, algorithm or part.algorithm)
    # What the run attains is known, so that no schedule that is called the best one is worse
    reference = family.solve(instance, settings or SolveSettings(), run.decisions if run.valid else None)
    check = None
    if claim and not run.valid:
        check = Check(claim, Verdict.NOT_APPLICABLE, None, None, f"the run is invalid: {run.violations[0]}")
    elif claim:
        [check] = family.audit(instance, run, reference, [claim])
    explanation = part.explain(instance, run, reference, check)
    ratio = " (INVALID run)"
    if run.valid:
        ratio = f", {family.sense.ratio} {ratios.ratio(reference.lower, reference.upper, run.welfare, family.sense)}"
    about_another = check is not None and check.reason.startswith(ANOTHER)
    ending = explanation.ending if asked or not about_another else None
    sources = [source for source in family.sources if ending is not None and source.name in ending.source]
    whole = replace(explanation, result=[*explanation.result, ratio], ending=ending, sources=sources)
    return replace(whole, signs=find_used_signs(text(whole), family.notation()))


def verdict_text(explanation: Explanation) -> Sentence:
    ending = explanation.ending
    if ending is None:
        return []
    title = show.check_title(ending.claim)
    if ending.verdict is Verdict.NOT_APPLICABLE:
        return [f"{title} does not apply here: ", *ending.sides]
    texts = {Verdict.HOLDS: "holds here", Verdict.VIOLATED: "is violated here", Verdict.UNDECIDED: "is undecided here"}
    proof = [] if ending.failing is None else [f"; proof of the claim: {show.assumptions_text(ending.failing)}"]
    return [f"{title} {texts[ending.verdict]}: ", *ending.sides, *proof]


def text(explanation: Explanation) -> str:
    ending, verdict = explanation.ending, show.sentence_text(verdict_text(explanation))
    names = (make_printable(name, show.SENTENCE) for name in (explanation.instance, explanation.algorithm))
    lines = [": ".join(names), show.sentence_text(explanation.result), *filter(None, [verdict]), ""]
    if explanation.about:
        lines += [f"The instance, according to its file: {make_printable(explanation.about, 600)}", ""]
    for table in explanation.tables:
        lines += [*_listing(table), ""]
    lines += [show.sentence_text(remark) for remark in explanation.remarks]
    for moment in explanation.moments:
        lines += ["", *_moment(moment)]
    if explanation.outcome:
        lines += ["", "Result", *_beside([list(_grid(grid)) for grid in explanation.outcome])]
    if ending is not None:
        lines += ["", f"{show.check_title(ending.claim)} ({ending.source}; {ending.standing}): {ending.statement}"]
        lines += [f"  {show.sentence_text(step)}" for step in ending.steps]
        lines += ["", verdict]
    if explanation.signs:
        lines += ["", "Symbols", *(f"  {sign}: {meaning}" for sign, meaning in explanation.signs)]
    if explanation.sources:
        lines += ["", *(f"{source.name}: {source.citation}" for source in explanation.sources)]
    return show.escape_lines("\n".join(line.rstrip() for line in lines))


def _moment(moment: Moment) -> Iterator[str]:
    yield f"{moment.heading}: {show.sentence_text(moment.said)}"
    for grid in moment.grids:
        yield from (f"  {line}" for line in _grid(grid))
    if moment.candidates is not None:
        yield from (f"  {line}" for line in _listing(moment.candidates))
    for note in moment.notes:
        yield f"  {show.sentence_text(note)}"
    yield f"  -> {show.sentence_text(moment.decision)}"
    yield from (f"     {show.sentence_text(line)}" for line in moment.after)


def _listing(table: Listing) -> list[str]:
    mark = [] if table.chosen is None else [""]
    rows = [[*mark, *table.head]]
    for place, row in enumerate(table.rows):
        rows.append([*(["*"] if place == table.chosen else mark), *map(show.figure_text, row)])
    words = [isinstance(cell, str) for cell in (table.rows[0] if table.rows else table.head)]
    return [table.title, *(f"  {line.rstrip()}" for line in show.pad_cells(rows, [True] * len(mark) + words))]


def _grid(grid: Grid) -> Iterator[str]:
    """A grid of characters; what is chosen stands in brackets, dots where nothing is."""

    def square_text(square: Square) -> str:
        figure = "." if square.figure is None else show.figure_text(square.figure)
        return f"[{figure}]" if square.chosen else figure

    rows = [[grid.corner, *grid.head], *([place, *map(square_text, squares)] for place, squares in grid.rows)]
    yield grid.title
    yield from (f"  {line.rstrip()}" for line in show.pad_cells(rows, [True] + [False] * len(grid.head)))


def _beside(blocks: Sequence[Sequence[str]]) -> list[str]:
    width = [max(map(len, block)) for block in blocks]
    if sum(width) + 4 * (len(blocks) - 1) > WIDTH:
        return [f"  {line}" for block in blocks for line in block]
    rows = zip_longest(*blocks, fillvalue="")
    return ["  " + "    ".join(part.ljust(w) for part, w in zip(row, width, strict=True)) for row in rows]


def render_explanation(explanation: Explanation) -> str:
    title = f"{explanation.instance}: {explanation.algorithm}"
    return render_page(title, (), [Markup("<pre>{}</pre>").format(text(explanation))])


def explain_document(explanation: Explanation) -> dict[str, Any]:
    ending = explanation.ending
    claim = ending and {
        "name": ending.claim,
        "statement": ending.statement,
        "source": ending.source,
        "proof_status": ending.standing,
        "verdict": ending.verdict.value,
        "sides": show.sentence_text(ending.sides),
        "steps": list(map(show.sentence_text, ending.steps)),
        "failing": None if ending.failing is None else list(ending.failing),
    }
    arrivals = [
        {
            "arrival": moment.heading,
            "asks": show.sentence_text(moment.said),
            "candidates": None if moment.candidates is None else _table(moment.candidates),
            "notes": list(map(show.sentence_text, moment.notes)),
            "decision": show.sentence_text(moment.decision),
            "after": list(map(show.sentence_text, moment.after)),
        }
        for moment in explanation.moments
    ]
    return {
        "instance": explanation.instance,
        "about": explanation.about,
        "algorithm": explanation.algorithm,
        "result": show.sentence_text(explanation.result),
        "tables": [_table(table) for table in explanation.tables],
        "remarks": list(map(show.sentence_text, explanation.remarks)),
        "arrivals": arrivals,
        "claim": claim,
        "signs": dict(explanation.signs),
        "sources": {source.name: source.citation for source in explanation.sources},
    }


def _table(table: Listing) -> dict[str, Any]:
    rows = [
        [cell if cell is None or isinstance(cell, str) else json_number(cell) for cell in row] for row in table.rows
    ]
    return {"title": table.title, "head": list(table.head), "rows": rows, "chosen": table.chosen}
