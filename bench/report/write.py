"""The report of a folder of results: text tables, CSV files, pictures, one HTML page; and the same as JSON."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import read_set, shipped_sets
from ratiobench.bench.report.claims import claims_frame, claims_text, summarise_claims
from ratiobench.bench.report.figures import SuiteFigure, make_figure
from ratiobench.bench.report.rows import answer_lines, results_text
from ratiobench.bench.report.tables import csv_of
from ratiobench.bench.results.means import group_shares
from ratiobench.bench.results.read import Results, read_folder, stages
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import CELL, WIDTH, escape_lines, rows_of
from ratiobench.bench.storage.payload import json_number
from ratiobench.bench.storage.store import STORE
from ratiobench.instances.io.errors import InputError, make_printable, require_known, shorten
from ratiobench.instances.io.files import make_folder, write_atomically


def read_labelled(folder: Path, labels: dict[str, str] | None = None) -> tuple[Results, Family]:
    results = read_folder(folder)
    name = results.about.get("family")
    if name not in families():
        raise InputError(str(folder / STORE), "family", f"{shorten(name)} is not one of {', '.join(families())}")
    return label_rows(results, labels or {}), families()[str(name)]


def label_rows(results: Results, labels: dict[str, str]) -> Results:
    """The results with algorithms called as a reader knows them: `mine:Policy` as `Ours`."""
    shown = {row.algorithm: row.name for row in results.records} | labels
    for name, label in labels.items():
        require_known(name, dict.fromkeys(row.algorithm for row in results.records), "--label")
        if list(shown.values()).count(label) > 1:
            raise InputError("--label", "", f"{shorten(label)} is the name of two algorithms")

    def label_row(row: Row, name: str) -> Row:
        remarks = replace(row.remarks, name=name, options=())
        return replace(row, called=name, remarks=remarks, label=remarks.label)

    rows = [label_row(row, labels[row.algorithm]) if row.algorithm in labels else row for row in results.records]
    return replace(results, records=rows)


def list_figures(results: Results, family: Family) -> list[SuiteFigure]:
    return [make_figure(results, plot, family) for plot in results.plots if plot.groups or plot.kind != "sweep"]


def write_report(
    folder: Path, spent: Mapping[str, float], pictures: Path | None, show: Callable[[str], None], labels: dict[str, str]
) -> int:
    """Print the tables and the answer, write files beside them; `spent`: seconds of the run just ended, by name."""
    from ratiobench.bench.report.page import list_pictures, render_run

    started = time.perf_counter()
    results, family = read_labelled(folder, labels)
    claims = summarise_claims(results, family)
    figures = list_figures(results, family)
    write_atomically(folder / "results.csv", csv_of(results.exact))
    if claims:
        write_atomically(folder / "claims.csv", csv_of(claims_frame(claims)))
    about = {key: value for key, value in results.about.items() if key != "plots"} | {
        "cases": len(results.cases),
        "versions": sorted({key.partition(" | ")[0] for case in results.cases for _, key in case.algorithms}),
        "solves": sorted({case.solve_key for case in results.cases}),
    }
    write_atomically(folder / "provenance.json", (json.dumps(about, indent=1, sort_keys=True) + "\n").encode())
    drawn = {picture.name: picture for picture in list_pictures(results, figures)}
    target = pictures or folder / "figures"
    make_folder(target)
    for name, picture in drawn.items():
        picture.save(target / f"{name}.svg")
    cited = cite(results)
    write_atomically(folder / "report.html", render_run(results, family, claims, figures, drawn, cited).encode())
    if pictures is not None:
        show(f"{len(drawn)} figures as SVG in {pictures}")
    printed = "\n".join(filter(None, (figure.text for figure in figures)))
    show(escape_lines("\n".join(filter(None, [results_text(results, family), printed, claims_text(claims)]))))
    show(_stage_text(results, {"report": time.perf_counter() - started, **spent}))
    sys.stdout.flush()
    failed = _warn(results)
    lines = [*answer_lines(results, claims), *textwrap.wrap(f"Cite:  {cited}", WIDTH, subsequent_indent=" " * 7)]
    lines += [f"Page:  {(folder / 'report.html').resolve().as_uri()}", f"Table: {folder / 'results.csv'}"]
    show("\n" + escape_lines("\n".join(lines)))
    return 1 if failed else 0


def _warn(results: Results) -> int:
    """Say which rows are missing, invalid or failed, on the error stream; the number of those that failed."""
    rows = results.exact
    state, audited = rows["state"], rows["reason"].str.contains("audit: ", na=False)
    failed = (state == "failed") | ((state == "ok") & (rows["opt_status"] == "failed")) | audited
    for chosen, text in (
        (state == "missing", "are not run yet; `run` resumes"),
        (state == "invalid", "are invalid: an algorithm broke a rule; the table says which"),
        (failed, "failed, or have no OPT; the reason is in the table"),
    ):
        if chosen.any():
            print(f"ratiobench: {chosen.sum()} of {len(rows)} rows {text}", file=sys.stderr)
    return int(failed.sum())


def _stage_text(results: Results, spent: Mapping[str, float]) -> str:
    lines = ["Seconds of work per stage (all workers together; earlier runs of this folder included):"]
    for row in rows_of(stages(results.seconds)):
        lines.append(f"  {make_printable(row.stage, CELL):<40} {row.pieces:>5} pieces {row.seconds:>10.2f} s")
    lines.append(f"  {'report':<40} {'':>12} {spent['report']:>10.2f} s")
    if "run" in spent:
        lines.append(f"  {'this run, without the report':<40} {'':>12} {spent['run']:>10.2f} s by the clock")
    return "\n".join(lines)


def cite(results: Results) -> str:
    """One sentence with all that names the run; the commit and the hash of results.csv are cut to 12 digits."""
    about, rows = results.about, results.exact
    code, packages = (about.get("provenance", {}).get(part, {}) for part in ("code", "packages"))
    where = ((packages, "ratiobench"), (code, "commit"), (about, "suite"), (about, "date"))
    version, commit, suite, date = (make_printable(str(part.get(name, "")), CELL) for part, name in where)
    program = f"ratiobench {version}".rstrip()
    if commit:
        program += f", commit {commit[:12]}{' with changes' * (code.get('changed since') == 'yes')}"
    sets = []
    for name in shipped_sets():
        with suppress(InputError, OSError):
            known = {entry.instance for entry in read_set(name).entries if entry.instance}
            if count := sum(case.instance in known for case in results.cases):
                sets.append(f"{count} of {len(results.cases)} cases are in set {name}")
    suite += f" ({', '.join(sets)})" if sets else ""
    digest = sha256(csv_of(rows)).hexdigest()[:12]
    return f"{program}; suite {suite}, {date}, {len(rows)} rows, results.csv SHA-256 {digest}"


def results_document(folder: Path) -> dict[str, Any]:
    results, family = read_labelled(folder)
    claims = summarise_claims(results, family)
    about = results.about
    chosen = {name: about[name] for name in ("command", "date", "effort", "scale") if name in about}
    return {
        "suite": str(about.get("suite", "")),
        "family": family.name,
        "objective": family.objective,
        "unit": family.unit,
        "best": family.sense.best,
        "folder": str(folder),
        "page": str(folder / "report.html"),
        "table": str(folder / "results.csv"),
        "provenance": {**chosen, **about.get("provenance", {}), "cite": cite(results)},
        "rows": [_row_document(row, results.checks) for row in results.records],
        "means": [
            {name: getattr(share, name) for name in ("group", "algorithm", "cases", "invalid", "failed")}
            | {"share": _number(share.reached)}
            for share in rows_of(group_shares(results.records, results.sense))
        ],
        "claims": {claim.statement.name: {verdict.value: n for verdict, n in claim.counts.items()} for claim in claims},
        "answer": answer_lines(results, claims),
    }


def _row_document(row: Row, checks: Sequence[str]) -> dict[str, Any]:
    same = ("case", "group", "instance", "algorithm", "label", "state", "reason", "repetitions")
    lower, upper = (None if end is None else str(end) for end in (row.ratio_lower, row.ratio_upper))
    return {name: getattr(row, name) for name in same} | {
        "isolation": row.remarks.isolated or None,
        "opt": {"lower": _number(row.opt_lower), "upper": _number(row.opt_upper), "proof": row.opt_proof},
        "value": _number(row.welfare),
        **{name: _number(getattr(row, name)) for name in ("revenue", "profit", "admitted")},
        "ratio": row.ratio_kind and {"kind": row.ratio_kind, "lower": lower, "upper": upper},
        "share": _number(row.reached),
        "oracle": row.is_oracle,
        "claims": {name: row.verdict(name) for name in checks if name in row.checks},
    }


def _number(value: Any) -> Any:
    return None if value is None else json_number(Fraction(value))
