"""Results of a folder and explanations as JSON documents: of `run`, `report` and `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.family.explanation import Explanation, Figure, Listing, Moment, Sentence
from ratiobench.bench.family.registry import families, find_suite_if_any
from ratiobench.bench.report.answer.headline import make_headline
from ratiobench.bench.report.claims.verdicts import summarise_claims
from ratiobench.bench.report.shared.citation import cite
from ratiobench.bench.report.shared.sentences import sentence_text
from ratiobench.bench.results.read import Results, group_means, read_results
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.payload import json_number
from ratiobench.bench.storage.store import STORE, Store


def results_document(folder: Path) -> dict[str, Any]:
    """Convert the results of a folder to JSON values."""
    with Store.open(folder / STORE, create=False) as store:
        found = read_results(store)
    family = families()[str(found.about["family"])]
    settled = summarise_claims(found, family)
    suite = find_suite_if_any(found.about)
    headline = make_headline(found, family, settled, {} if suite is None else suite.groups)
    return {
        "suite": str(found.about.get("suite", "")),
        "family": family.name,
        "objective": family.objective,
        "unit": family.unit,
        "best": family.sense.best,
        "folder": str(folder),
        "page": str(folder / "report.html"),
        "table": str(folder / "results.csv"),
        "provenance": _provenance(found),
        "rows": [_row(each) for each in found.records],
        "means": [
            {
                "group": each.group,
                "algorithm": each.algorithm,
                "cases": each.cases,
                "share": _number(each.reached),
                "invalid": each.invalid,
                "failed": each.failed,
            }
            for each in group_means(found.records, found.sense)
        ],
        "claims": {
            each.statement.name: {verdict.value: count for verdict, count in each.counts.items()} for each in settled
        },
        "answer": [_words(each) for each in (*headline.answers, *headline.verdicts, *headline.troubles)],
    }


def _words(sentence: Sequence[Any]) -> str:
    return "".join(span.text for span in sentence)


def _provenance(found: Results) -> dict[str, Any]:
    about = found.about
    names = ("command", "date", "effort", "scale")
    return {
        **{name: about[name] for name in names if name in about},
        **dict(about.get("provenance", {})),
        "cite": cite(found),
    }


def _row(row: Row) -> dict[str, Any]:
    ratio = None
    if row.ratio_kind is not None:
        ends = {end: getattr(row, f"ratio_{end}") for end in ("lower", "upper")}
        ratio = {"kind": row.ratio_kind, **{end: None if each is None else str(each) for end, each in ends.items()}}
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
        "claims": {name: each.verdict for name, each in row.checks.items()},
    }


def _number(value: Any) -> Any:
    return None if value is None else json_number(Fraction(value))


def explain_document(found: Explanation) -> dict[str, Any]:
    """Convert an explanation to JSON values, for programs that read what happened."""
    ending = found.ending
    claim = None
    if ending is not None:
        claim = {
            "name": ending.claim,
            "statement": ending.statement,
            "source": ending.source,
            "proof_status": ending.standing,
            "verdict": ending.verdict.value,
            "sides": sentence_text(ending.sides),
            "steps": _texts(ending.steps),
            "failing": None if ending.failing is None else list(ending.failing),
        }
    return {
        "instance": found.instance,
        "about": found.about,
        "algorithm": found.algorithm,
        "result": sentence_text(found.result),
        "tables": [_table(each) for each in found.tables],
        "remarks": _texts(found.remarks),
        "arrivals": [_arrival(each) for each in found.moments],
        "claim": claim,
        "signs": dict(found.signs),
        "sources": {each.name: each.citation for each in found.sources},
    }


def _arrival(moment: Moment) -> dict[str, Any]:
    return {
        "arrival": moment.heading,
        "asks": sentence_text(moment.said),
        "candidates": None if moment.candidates is None else _table(moment.candidates),
        "notes": _texts(moment.notes),
        "decision": sentence_text(moment.decision),
        "after": _texts(moment.after),
    }


def _table(table: Listing) -> dict[str, Any]:
    rows = [[_figure(each) for each in row] for row in table.rows]
    return {"title": table.title, "head": list(table.head), "rows": rows, "chosen": table.chosen}


def _figure(value: Figure) -> Any:
    return value if value is None or isinstance(value, str) else json_number(value)


def _texts(sentences: Sequence[Sentence]) -> list[str]:
    return [sentence_text(each) for each in sentences]
