"""The table of an evaluation: a row per instance."""

from __future__ import annotations

import math
from fractions import Fraction

from ratiobench.bench.evaluation.feedback import percent
from ratiobench.bench.evaluation.result import CaseResult, Evaluation, HiddenComparison
from ratiobench.bench.report.shared.text import format_number

HEAD = ("stage", "instance", "arrivals", "OPT", "value", "share", "missed", "best shipped")


def rows(found: Evaluation) -> list[dict[str, str]]:
    """The table's cells by heading; instances that were not run are left out."""
    return [dict(zip(HEAD, _row(found, each), strict=True)) for each in found.results if each.state != "not run"]


def _row(found: Evaluation, result: CaseResult) -> tuple[str, ...]:
    case = result.case
    assert case is not None
    opt = format_number(case.lower)
    if case.lower != case.upper:
        opt = f"[{opt}, {format_number(case.upper, up=True)}]"
    about = result.stage, result.name, str(case.arrivals), opt
    if result.state != "ok":
        return (*about, "invalid", "-", "-", "-")
    best = None if found.shipped is None else found.shipped.values.get(result.name)
    return (*about, format_number(result.value), percent(result.share), percent(result.headroom), format_number(best))


def hidden_rows(found: HiddenComparison) -> list[dict[str, str]]:
    """The table of an evaluation on hidden instances: a row per stage, with the gap to published ones."""
    every = (*found.stages, found.total) if len(found.stages) > 1 else found.stages
    published = f"share on {found.published_set}"
    return [
        {
            "stage": each.name,
            "published": str(each.published),
            published: _interval(each.published_low, each.published_high) if each.published else "-",
            "hidden": str(each.hidden),
            "share on hidden": _interval(each.hidden_low, each.hidden_high),
            "gap": _interval(*each.gap, sign="+") if each.published else "-",
        }
        for each in every
    ]


def _interval(low: Fraction, high: Fraction, sign: str = "") -> str:
    """An interval in percent with one digit, rounded outwards."""
    ends = math.floor(1000 * low) / 10, math.ceil(1000 * high) / 10
    return f"[{ends[0]:{sign}.1f}, {ends[1]:{sign}.1f}] %"
