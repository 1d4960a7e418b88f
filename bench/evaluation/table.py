"""The table of an evaluation: a row per instance."""

from __future__ import annotations

from ratiobench.bench.evaluation.feedback import percent
from ratiobench.bench.evaluation.result import CaseResult, Evaluation
from ratiobench.bench.show import format_number

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
