"""Results of a folder as a JSON document, for `run` and `report`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.family.registry import find_suite_if_any
from ratiobench.bench.report.answer import answer_lines
from ratiobench.bench.report.citation import cite
from ratiobench.bench.report.claims import summarise_claims
from ratiobench.bench.report.write import read_folder
from ratiobench.bench.results.means import group_shares
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import rows_of
from ratiobench.bench.storage.payload import json_number


def results_document(folder: Path) -> dict[str, Any]:
    """Convert the results of a folder to JSON values."""
    results, family = read_folder(folder)
    claims = summarise_claims(results, family)
    suite = find_suite_if_any(results.about)
    return {
        "suite": str(results.about.get("suite", "")),
        "family": family.name,
        "objective": family.objective,
        "unit": family.unit,
        "best": family.sense.best,
        "folder": str(folder),
        "page": str(folder / "report.html"),
        "table": str(folder / "results.csv"),
        "provenance": _provenance(results),
        "rows": [_row(row) for row in results.records],
        "means": [
            {
                "group": share.group,
                "algorithm": share.algorithm,
                "cases": share.cases,
                "share": _number(share.reached),
                "invalid": share.invalid,
                "failed": share.failed,
            }
            for share in rows_of(group_shares(results.records, results.sense))
        ],
        "claims": {
            claim.statement.name: {verdict.value: count for verdict, count in claim.counts.items()} for claim in claims
        },
        "answer": answer_lines(results, claims, {} if suite is None else suite.groups),
    }


def _provenance(results: Results) -> dict[str, Any]:
    about = results.about
    names = ("command", "date", "effort", "scale")
    chosen = {name: about[name] for name in names if name in about}
    return {**chosen, **dict(about.get("provenance", {})), "cite": cite(results)}


def _row(row: Row) -> dict[str, Any]:
    ratio = None
    if row.ratio_kind is not None:
        ends = {end: getattr(row, f"ratio_{end}") for end in ("lower", "upper")}
        ratio = {"kind": row.ratio_kind, **{name: None if end is None else str(end) for name, end in ends.items()}}
    return {
        "case": row.case,
        "group": row.group,
        "instance": row.instance,
        "algorithm": row.algorithm,
        "label": row.label,
        "isolation": row.remarks.isolated or None,
        "state": row.state,
        "reason": row.reason,
        "opt": {"lower": _number(row.opt_lower), "upper": _number(row.opt_upper), "proof": row.opt_proof},
        "value": _number(row.welfare),
        "revenue": _number(row.revenue),
        "profit": _number(row.profit),
        "admitted": _number(row.admitted),
        "ratio": ratio,
        "share": _number(row.reached),
        "oracle": row.is_oracle,
        "repetitions": row.repetitions,
        "claims": {name: check.verdict for name, check in row.checks.items()},
    }


def _number(value: Any) -> Any:
    return None if value is None else json_number(Fraction(value))
