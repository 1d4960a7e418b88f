"""The report of a folder of results: text tables, CSV files, pictures, and one self-contained HTML page."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families, find_suite_if_any
from ratiobench.bench.report.answer import answer_lines, closing_lines
from ratiobench.bench.report.citation import cite
from ratiobench.bench.report.claims import claims_frame, claims_text, summarise_claims
from ratiobench.bench.report.figures import SuiteFigure, make_figure
from ratiobench.bench.report.rows import results_text
from ratiobench.bench.report.tables import csv_of
from ratiobench.bench.results.read import Results, stages
from ratiobench.bench.results.read import read_folder as results_of
from ratiobench.bench.show import CELL, escape_lines
from ratiobench.bench.storage.store import STORE
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, shorten
from ratiobench.instances.io.files import make_folder, write_atomically


def read_folder(folder: Path, labels: Mapping[str, str] | None = None) -> tuple[Results, Family]:
    """The results of a folder, with algorithms called by their labels, and their family."""
    results = results_of(folder)
    name = results.about.get("family")
    if name not in families():
        raise InputError(str(folder / STORE), "family", f"{shorten(name)} is not one of {', '.join(families())}")
    return label_rows(results, labels or {}), families()[str(name)]


def label_rows(results: Results, labels: Mapping[str, str]) -> Results:
    """The results with algorithms called as a reader knows them: `mine:Policy` as `Ours`."""
    known = dict.fromkeys(row.algorithm for row in results.records)
    for name in labels:
        if name not in known:
            raise InputError("--label", "", explain_unknown_name(name, known))
    if not labels:
        return results
    rows = [
        replace(row, called=label, remarks=replace(row.remarks, name=label, options=()))
        if (label := labels.get(row.algorithm))
        else row
        for row in results.records
    ]
    return replace(results, records=rows)


def list_figures(results: Results, family: Family) -> list[SuiteFigure]:
    """The figures that the suite asks for."""
    return [make_figure(results, plot, family) for plot in results.plots if plot.groups or plot.kind != "sweep"]


def write_report(
    folder: Path,
    spent: Mapping[str, float],
    pictures: Path | None = None,
    show: Callable[[str], None] = print,
    labels: Mapping[str, str] | None = None,
) -> int:
    """Print the tables of the results in a folder and last what they say; write files beside them.

    Files: results.csv, claims.csv where the family's checks are claims, provenance.json, report.html, and an SVG file
    for each picture in the folder `figures`, or in `pictures`.

    `spent`: seconds of the run just ended, by name, for the table of stages; empty for `report` alone. `labels`: what
    algorithms are called, by name.
    """
    from ratiobench.bench.report.page import list_pictures, render_run

    started = time.perf_counter()
    results, family = read_folder(folder, labels)
    claims = summarise_claims(results, family)
    figures = list_figures(results, family)
    write_atomically(folder / "results.csv", csv_of(results.exact))
    if claims:
        write_atomically(folder / "claims.csv", csv_of(claims_frame(claims)))
    _write_provenance(folder, results)
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
    suite = find_suite_if_any(results.about)
    words = {} if suite is None else suite.groups
    lines = [*answer_lines(results, claims, words), *closing_lines(cited, folder)]
    show("\n" + escape_lines("\n".join(lines)))
    sys.stdout.flush()
    return 1 if failed else 0


def _warn(results: Results) -> int:
    """Say which rows are missing, invalid or failed, on the error stream; the number of those that failed."""
    rows = results.exact
    missing = int((rows["state"] == "missing").sum())
    if missing:
        print(f"ratiobench: {missing} of {len(rows)} rows are not run yet; `run` resumes", file=sys.stderr)
    invalid = int((rows["state"] == "invalid").sum())
    if invalid:
        text = f"{invalid} of {len(rows)} rows are invalid: an algorithm broke a rule; the table says which"
        print(f"ratiobench: {text}", file=sys.stderr)
    without_opt = (rows["state"] == "ok") & (rows["opt_status"] == "failed")
    failed = int((without_opt | (rows["state"] == "failed") | rows["reason"].str.contains("audit: ", na=False)).sum())
    if failed:
        print(
            f"ratiobench: {failed} of {len(rows)} rows failed, or have no OPT; the reason is in the table",
            file=sys.stderr,
        )
    return failed


def _write_provenance(folder: Path, results: Results) -> None:
    about = {key: value for key, value in results.about.items() if key != "plots"}
    keys = sorted({key.partition(" | ")[0] for case in results.cases for _, key in case.algorithms})
    about |= {
        "cases": len(results.cases),
        "versions": keys,
        "solves": sorted({case.solve_key for case in results.cases}),
    }
    write_atomically(folder / "provenance.json", (json.dumps(about, indent=1, sort_keys=True) + "\n").encode())


def _stage_text(results: Results, spent: Mapping[str, float]) -> str:
    lines = ["Seconds of work per stage (all workers together; earlier runs of this folder included):"]
    for row in stages(results.seconds).to_dict("records"):
        lines.append(f"  {make_printable(row['stage'], CELL):<40} {row['pieces']:>5} pieces {row['seconds']:>10.2f} s")
    if "report" in spent:
        lines.append(f"  {'report':<40} {'':>12} {spent['report']:>10.2f} s")
    if "run" in spent:
        lines.append(f"  {'this run, without the report':<40} {'':>12} {spent['run']:>10.2f} s by the clock")
    return "\n".join(lines)
