"""The report of a folder of results: text tables, CSV files, and one self-contained HTML page."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from ratiobench.bench.family.registry import families, find_suite_if_any
from ratiobench.bench.family.suite import SWEEP
from ratiobench.bench.report.answer.text import answer_text
from ratiobench.bench.report.claims import verdicts
from ratiobench.bench.report.claims.witnesses import read_explanations
from ratiobench.bench.report.compare import significance
from ratiobench.bench.report.compare.page import draw_comparison
from ratiobench.bench.report.compare.significance import find_significance
from ratiobench.bench.report.kinds import draw_figure
from ratiobench.bench.report.rows.text import results_text
from ratiobench.bench.report.shared.cells import csv_of
from ratiobench.bench.report.shared.pictures import write_pictures
from ratiobench.bench.report.shared.suite_figure import SuiteFigure
from ratiobench.bench.report.shared.text import CELL, escape_lines
from ratiobench.bench.results.read import Results, read_results, stages
from ratiobench.bench.storage.store import EMPTY, STORE, Store
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.instances.io.files import write_atomically


def write_report(
    folder: Path, spent: Mapping[str, float], pictures: Path | None = None, show: Callable[[str], None] = print
) -> int:
    """Print the tables of the results in a folder and last what they say; write CSV files and report.html beside them.

    Files: results.csv, seconds.csv; repetitions.csv with every run behind a mean of runs; claims.csv where the family's
    checks are claims; NAME.csv per figure of the suite, and all figures of means in one, figures.csv, with what papers
    print for them in printed.csv (by how much one is better than another) and printed_means.csv; significance.csv with
    the tests of pairs of algorithms; provenance.json;
    explain/CLAIM.html for the smallest witnesses.

    `spent`: seconds of the run just ended, by name, for the table of stages; empty for `report` alone.
    """
    from ratiobench.bench.report.explain.page import write_explanations
    from ratiobench.bench.report.page.layout import render_page

    started = time.perf_counter()
    with Store.open(folder / STORE, create=False) as store:
        found = read_results(store)
        if not found.about:
            raise InputError(str(folder / STORE), "", EMPTY)
        name = found.about.get("family")
        if name not in families():
            raise InputError(str(folder / STORE), "family", f"{shorten(name)} is not one of {', '.join(families())}")
        family = families()[str(name)]
        settled = verdicts.summarise_claims(found, family)
        explanations = read_explanations(store, family, settled)
    suite = find_suite_if_any(found.about)
    groups = suite.groups if suite is not None else {}
    _write_csv(folder / "results.csv", found.rows)
    _write_csv(folder / "seconds.csv", found.seconds)
    if len(found.repetitions):
        _write_csv(folder / "repetitions.csv", found.repetitions)
    if settled:
        _write_csv(folder / "claims.csv", verdicts.frame(settled))
    drawn = [draw_figure(found, plot, family) for plot in found.plots if plot.groups or plot.kind != SWEEP]
    for file, frame in (pair for each in drawn for pair in each.files().items()):
        _write_csv(folder / file, frame)
    write_pictures([each for each in drawn if each.plot.kind == SWEEP], folder)
    _write_collected(folder, drawn)
    tests = find_significance(found)
    if tests is not None and tests.pairs:
        _write_csv(folder / "significance.csv", significance.make_frame(tests))
    _write_provenance(folder, found)
    if pictures is not None:
        written = write_pictures(drawn, pictures, draw_comparison(found))
        where = f" in {pictures}" if written else ": this suite names no figures; the page has its charts"
        show(f"{len(written)} figures as SVG{where}")
    explained = write_explanations(folder, explanations.found) | dict.fromkeys(explanations.by_command, "")
    write_atomically(folder / "report.html", render_page(found, family, settled, drawn, explained).encode())
    printed = "\n".join(filter(None, (each.text() for each in drawn)))
    text = "\n".join(filter(None, [results_text(found, family), printed, verdicts.text(settled)]))
    show(escape_lines(text))
    show(_stage_text(found, {"report": time.perf_counter() - started, **spent}))
    sys.stdout.flush()
    failed = _warn(found)
    if explanations.missing:
        command = make_printable(str(found.about.get("command", "run SUITE")), CELL)
        message = f"explanations of {explanations.missing} violated claims are not stored"
        print(f"ratiobench: {message}; `{command} --out {folder}` makes them", file=sys.stderr)
    show(f"\n{escape_lines(answer_text(found, family, settled, folder, groups))}")
    sys.stdout.flush()
    return 1 if failed else 0


def _warn(found: Results) -> int:
    """Say which rows are missing, invalid or failed, on the error stream; the number of those that failed."""
    rows = found.rows
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


def _write_collected(folder: Path, drawn: Sequence[SuiteFigure]) -> None:
    """The files that figures share: rows of all figures, one below the other."""
    collected: dict[str, list[pd.DataFrame]] = {}
    for figure in drawn:
        for file, frame in figure.shared_rows().items():
            if len(frame):
                collected.setdefault(file, []).append(frame)
    for file, frames in collected.items():
        _write_csv(folder / file, pd.concat(frames, ignore_index=True))


def _write_provenance(folder: Path, found: Results) -> None:
    about = {key: value for key, value in found.about.items() if key != "plots"}
    keys = sorted({key.partition(" | ")[0] for case in found.cases for _, key in case.algorithms})
    about |= {"cases": len(found.cases), "versions": keys, "solves": sorted({case.solve_key for case in found.cases})}
    write_atomically(folder / "provenance.json", (json.dumps(about, indent=1, sort_keys=True) + "\n").encode())


def _write_csv(path: Path, frame: pd.DataFrame) -> None:
    write_atomically(path, csv_of(frame))


def _stage_text(found: Results, spent: Mapping[str, float]) -> str:
    lines = ["Seconds of work per stage (all workers together; earlier runs of this folder included):"]
    for row in stages(found.seconds).to_dict("records"):
        lines.append(f"  {make_printable(row['stage'], CELL):<40} {row['pieces']:>5} pieces {row['seconds']:>10.2f} s")
    if "report" in spent:
        lines.append(f"  {'report':<40} {'':>12} {spent['report']:>10.2f} s")
    if "run" in spent:
        lines.append(f"  {'this run, without the report':<40} {'':>12} {spent['run']:>10.2f} s by the clock")
    return "\n".join(lines)
