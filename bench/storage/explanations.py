"""Explanations of runs as JSON values, and back; exact figures stay exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.explanation import Conclusion, Explanation, Figure, Grid, Listing, Moment, Sentence, Square
from ratiobench.bench.family.source import Source

_FRACTION = "fraction"


def explanation_document(found: Explanation) -> dict[str, Any]:
    """The explanation as JSON values; of its sources the names."""
    document: dict[str, Any] = _document(found)
    return document | {"sources": [each.name for each in found.sources]}


def _document(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _document(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Fraction):
        return {_FRACTION: str(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_document(each) for each in value]
    return value if value is None or isinstance(value, str | bool) else int(value)


def read_explanation(document: Mapping[str, Any], sources: Sequence[Source]) -> Explanation:
    """The explanation that `explanation_document` wrote; `sources` are those of its family."""
    ending = document["ending"]
    return Explanation(
        instance=str(document["instance"]),
        about=str(document["about"]),
        algorithm=str(document["algorithm"]),
        result=_sentence(document["result"]),
        tables=[_listing(each) for each in document["tables"]],
        remarks=_sentences(document["remarks"]),
        moments=[_moment(each) for each in document["moments"]],
        outcome=[_grid(each) for each in document["outcome"]],
        ending=None if ending is None else _ending(ending),
        sources=[each for each in sources if each.name in document["sources"]],
        signs=[(str(sign), str(meaning)) for sign, meaning in document["signs"]],
    )


def _figure(value: Any) -> Figure:
    if isinstance(value, dict):
        return Fraction(value[_FRACTION])
    if value is not None and not isinstance(value, str | int):
        raise TypeError("no figure")
    return value


def _sentence(parts: Any) -> Sentence:
    return [figure for each in parts if (figure := _figure(each)) is not None]


def _sentences(each: Any) -> list[Sentence]:
    return [_sentence(parts) for parts in each]


def _listing(table: Mapping[str, Any]) -> Listing:
    rows = [[_figure(each) for each in row] for row in table["rows"]]
    chosen = table["chosen"]
    return Listing(str(table["title"]), [*map(str, table["head"])], rows, None if chosen is None else int(chosen))


def _grid(grid: Mapping[str, Any]) -> Grid:
    rows = [(str(place), [_square(each) for each in squares]) for place, squares in grid["rows"]]
    return Grid(str(grid["title"]), str(grid["corner"]), [*map(str, grid["head"])], rows)


def _square(square: Mapping[str, Any]) -> Square:
    mark = square["mark"]
    return Square(_figure(square["figure"]), None if mark is None else int(mark), bool(square["chosen"]))


def _moment(moment: Mapping[str, Any]) -> Moment:
    candidates = moment["candidates"]
    return Moment(
        heading=str(moment["heading"]),
        said=_sentence(moment["said"]),
        grids=[_grid(each) for each in moment["grids"]],
        candidates=None if candidates is None else _listing(candidates),
        notes=_sentences(moment["notes"]),
        decision=_sentence(moment["decision"]),
        after=_sentences(moment["after"]),
    )


def _ending(ending: Mapping[str, Any]) -> Conclusion:
    failing = ending["failing"]
    return Conclusion(
        claim=str(ending["claim"]),
        statement=str(ending["statement"]),
        source=str(ending["source"]),
        standing=str(ending["standing"]),
        verdict=Verdict(ending["verdict"]),
        sides=_sentence(ending["sides"]),
        steps=_sentences(ending["steps"]),
        failing=None if failing is None else [*map(str, failing)],
    )
