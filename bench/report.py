"""The report of a folder of results: text tables, CSV files, and one self-contained HTML page."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench import table
from bench.checks import Verdict
from bench.family import Family, families
from bench.runner import STORE
from bench.store import EMPTY, Store, StoredCase
from bench.table import Results, known
from instances.errors import InputError, shown
from instances.files import write_atomically


def write_report(folder: Path, spent: Mapping[str, float]) -> int:
    """Print the tables of the results in a folder, write results.csv, seconds.csv and report.html beside them.

    Parameters
    ----------
    folder : where `run` put its store.
    spent : seconds of the run just ended, by name, for the table of stages; empty for `report` alone.

    Returns
    -------
    0, or 1 when a piece of work failed.

    Raises
    ------
    InputError : no store there, or the folder cannot be written.
    """
    started = time.perf_counter()
    with Store.open(folder / STORE, create=False) as store:
        found = table.results(store)
    if not found.about:
        raise InputError(str(folder / STORE), "", EMPTY)
    name = found.about.get("family")
    if name not in families():
        raise InputError(str(folder / STORE), "family", f"{shown(name)} is not one of {', '.join(families())}")
    family = families()[str(name)]
    write_atomically(folder / "results.csv", found.rows.to_csv(index=False, lineterminator="\n").encode())
    write_atomically(folder / "seconds.csv", found.seconds.to_csv(index=False, lineterminator="\n").encode())
    write_atomically(folder / "report.html", page(found, family).encode())
    print(table.text(found, family))
    print(_stage_text(found, {"report": time.perf_counter() - started, **spent}))
    print(f"page: {folder / 'report.html'}   table: {folder / 'results.csv'}")
    missing = int((found.rows["state"] == "missing").sum())
    if missing:
        print(f"ratiobench: {missing} of {len(found.rows)} rows are not run yet; `run` resumes", file=sys.stderr)
    failed = int(((found.rows["state"] == "failed") | found.rows["reason"].str.contains("audit: ", na=False)).sum())
    if failed:
        print(f"ratiobench: {failed} of {len(found.rows)} rows failed; their reason is in the table", file=sys.stderr)
    return 1 if failed else 0


def _stage_text(found: Results, spent: Mapping[str, float]) -> str:
    lines = ["Seconds of work per stage (all workers together; earlier runs of this folder included):"]
    for row in table.stages(found.seconds).to_dict("records"):
        lines.append(f"  {row['stage']:<40} {row['pieces']:>5} pieces {row['seconds']:>10.2f} s")
    if "report" in spent:
        lines.append(f"  {'report':<40} {'':>12} {spent['report']:>10.2f} s")
    if "run" in spent:
        lines.append(f"  {'this run, without the report':<40} {'':>12} {spent['run']:>10.2f} s by the clock")
    return "\n".join(lines)


def page(found: Results, family: Family) -> str:
    """The results as one HTML page that needs nothing from a network."""
    from bench import figures

    rows = found.rows.to_dict("records")
    suite = str(found.about.get("suite", ""))
    by_case = [(case, [row for row in rows if row["case"] == case.name]) for case in found.cases]
    by_case = [(case, chosen) for case, chosen in by_case if chosen]
    means = table.means(found.rows).to_dict("records")
    grouped = {group: [row for row in means if row["group"] == group] for group in dict.fromkeys(found.rows["group"])}
    parts = [
        f"<h1>{escape(suite)}: how far from the offline optimum</h1>",
        f"<p>{escape(str(found.about.get('summary', '')))}</p>",
        "<p>OPT, the best that could have been done knowing all arrivals, is known within an interval: its lower end "
        "is the welfare of a solution that was verified exactly, its upper end is a proved bound. So every competitive "
        "ratio OPT/ALG is an interval too. Ends are exact fractions in <code>results.csv</code> and rounded outward "
        "here. * marks algorithms whose constants are computed from the instance under test (oracle).</p>",
        "<h2>How much of the optimum is reached</h2>",
        _grid((group, figures.mean_figure(chosen, group), _mean_note(chosen)) for group, chosen in grouped.items()),
        "<h2>Competitive ratios</h2>",
        _grid(
            (case.name, figures.ratio_figure(chosen, case.name), table.opt_text(chosen[0], family.unit))
            for case, chosen in by_case
        ),
        "<h2>Welfare</h2>",
        "<p>The line is OPT, or the band within which it lies.</p>",
        _grid(
            (case.name, figures.welfare_figure(chosen, case.name, family.unit), _describe(case))
            for case, chosen in by_case
        ),
        "<h2>Run time</h2>",
        "<p>Wall time of the whole run on one case, for information: it is the only figure here that differs from "
        "machine to machine.</p>",
        _times(found),
        *(_check_section(rows, check, check == family.headline) for check in _headline_first(found, family)),
        "<h2>All rows</h2>",
        _all_rows(found, family, rows),
        "<h2>Provenance</h2>",
        _provenance(found, family),
    ]
    style = files("bench").joinpath("page.css").read_text(encoding="utf-8")
    script = files("bench").joinpath("page.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>ratiobench: {escape(suite)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _grid(panels: Any) -> str:
    cells = [
        f"<figure><h3>{escape(head)}</h3>{svg}<figcaption>{escape(note)}</figcaption></figure>"
        for head, svg, note in panels
    ]
    return '<div class="grid">' + "\n".join(cells) + "</div>"


def _mean_note(chosen: Sequence[Mapping[Any, Any]]) -> str:
    odd = [
        f"{row['algorithm']}: {row[kind]} {kind}"
        for row in chosen
        for kind in ("unbounded", "undefined", "invalid", "failed")
        if row[kind]
    ]
    cases = max(row["cases"] for row in chosen)
    return f"Mean over {cases} case{'s' * (cases != 1)}." + (f" Of these: {'; '.join(odd)}." if odd else "")


def _describe(case: StoredCase) -> str:
    return ", ".join(f"{key} {value}" for key, value in case.describe.items() if isinstance(value, int | float))


def _times(found: Results) -> str:
    from bench import figures

    chosen: dict[str, list[float]] = {}
    for row in found.seconds.to_dict("records"):
        if row["stage"] in ("opt", "online"):
            chosen.setdefault("OPT" if row["stage"] == "opt" else row["algorithm"], []).append(float(row["seconds"]))
    if not chosen:
        return "<p>Nothing has run yet.</p>"
    return f'<div class="grid"><figure>{figures.time_figure(list(chosen.items()), "of a run")}</figure></div>'


def _headline_first(found: Results, family: Family) -> list[str]:
    return sorted(found.checks, key=lambda check: check != family.headline)


def _check_section(rows: Sequence[Mapping[Any, Any]], check: str, is_open: bool) -> str:
    """The verdicts of one check with the exact figures behind them."""
    order = [Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE]
    chosen = sorted((row for row in rows if known(row[check])), key=lambda row: order.index(Verdict(row[check])))
    figures = [json.loads(row[f"{check}_figures"]) for row in chosen]
    names = list(dict.fromkeys(name for each in figures for name in each))
    head = ["case", "algorithm", "verdict", "left", "right", "claim, or why not", *names]
    body = [
        [
            _cell(row["case"]),
            _cell(row["algorithm"]),
            _cell(row[check], css=row[check].replace(" ", "-")),
            _exact(row[f"{check}_left"]),
            _exact(row[f"{check}_right"]),
            _cell(row[f"{check}_reason"] or ""),
            *(_exact(each.get(name)) for name in names),
        ]
        for row, each in zip(chosen, figures, strict=True)
    ]
    counts = [(verdict.value, sum(row[check] == verdict for row in chosen)) for verdict in Verdict]
    summary = ", ".join(f"{count} {name}" for name, count in counts if count)
    return (
        f"<h2>{escape(table.title(check))}</h2><details{' open' * is_open}><summary>{escape(summary)}. The claim is "
        "left &le; right; every figure is exact, shown rounded (the fraction is in its tool tip and in "
        f"<code>results.csv</code>).</summary>{_table(head, body)}</details>"
    )


def _all_rows(found: Results, family: Family, rows: Sequence[Mapping[Any, Any]]) -> str:
    online = found.seconds[found.seconds["stage"] == "online"]
    spent = {(row["case"], row["algorithm"]): row["seconds"] for row in online.to_dict("records")}
    check = family.headline if family.headline in found.checks else ""
    head = ["case", "algorithm", "OPT, at least", "OPT, at most", "gap", "proof", f"welfare, {family.unit}", "OPT/ALG"]
    head += ["ALG/upper", "admitted", "constants", "arithmetic"]
    head += [table.title(check), "bound"] if check else []
    head += ["seconds", "state"]
    body = []
    for row in rows:
        seconds = spent.get((row["case"], row["algorithm"]))
        cells = [
            _cell(row["case"]),
            _cell(row["label"]),
            _exact(row["opt_lower"]),
            _exact(row["opt_upper"]),
            _cell(table.percent(row["opt_gap"]) if known(row["opt_gap"]) else "-", sort=row["opt_gap"], number=True),
            _cell(row["opt_proof"] if known(row["opt_proof"]) else "-"),
            _exact(row["welfare"]),
            _cell(table.ratio_text(row), sort=row["ratio_upper_float"], number=True),
            _exact(row["reached"]),
            _cell(row["admitted"] if known(row["admitted"]) else "-", number=True),
            _cell(_constants(row), title=row["constants"] if known(row["constants"]) else ""),
            _cell(row["arithmetic"] if known(row["arithmetic"]) else "-"),
        ]
        if check:
            verdict = row[check] if known(row[check]) else "-"
            cells += [_cell(verdict, css=verdict.replace(" ", "-")), _exact(row[f"{check}_right"])]
        cells += [
            _cell("-" if seconds is None else f"{seconds:.3f}", sort=seconds, number=True),
            _cell(row["state"] if row["state"] == "ok" else f"{row['state']}: {row['reason']}", css=row["state"]),
        ]
        body.append(cells)
    return _table(head, body)


def _constants(row: Mapping[Any, Any]) -> str:
    source = row["constants_source"] if known(row["constants_source"]) else "-"
    return f"{source} *" if "oracle" in source else source


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    headings = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in body)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{headings}</tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )


def _cell(text: Any, *, css: str = "", sort: Any = None, title: str = "", number: bool = False) -> str:
    attributes = f' class="{escape(" ".join(filter(None, ["n" * number, css])))}"' if number or css else ""
    if number:
        attributes += f' data-v="{escape(str(sort if sort is not None else "")) if known(sort) else ""}"'
    if title:
        attributes += f' title="{escape(title)}"'
    return f"<td{attributes}>{escape(str(text))}</td>"


def _exact(value: Any) -> str:
    """A cell with an exact figure: rounded to read, with the fraction as its tool tip; words stay words."""
    if not known(value):
        return _cell("-", number=True)
    try:
        exact = Fraction(value)
    except (ValueError, TypeError):
        return _cell(value)
    shown_ = table.number(exact)
    return _cell(shown_, sort=float(exact), title="" if exact.denominator == 1 else str(exact), number=True)


def _provenance(found: Results, family: Family) -> str:
    about = found.about.get("provenance", {})
    lists = [
        f"<h3>{escape(name)}</h3><p>{escape(', '.join(' '.join(pair) for pair in about.get(name, {}).items()))}</p>"
        for name in ("packages", "machine")
    ]
    suite = str(found.about.get("suite", ""))
    commands = [f"python -m bench run {shlex.quote(suite)}"]
    body = []
    for case in found.cases:
        file = f"instances/{case.instance}.json.gz"
        settings = {key: value for key, value in case.solve.items() if value not in ("auto", None, 0.0)}
        solving = "".join(f" --{key} {value}" for key, value in settings.items())
        opt = f"python -m bench opt {file}{solving}"
        online = f"python -m bench online {file} --algorithm NAME"
        audit = f"python -m bench audit {file} --algorithm NAME{solving}"
        body.append(
            [
                _cell(case.name),
                f"<td><code>{escape(case.instance)}</code></td>",
                f"<td><code>{escape(json.dumps(case.recipe))}</code></td>",
                "<td>" + "<br>".join(f"<code>{escape(each)}</code>" for each in (opt, online, audit)) + "</td>",
            ]
        )
    return (
        "\n".join(lists)
        + "<h3>Reproduce</h3><p>The whole page, and below every row on its own: in the folder of the results, with "
        "NAME as the column <i>algorithm</i> of <code>results.csv</code> gives it. All random draws follow from the "
        "names in the recipe.</p>"
        + f"<pre>{escape(chr(10).join(commands))}</pre>"
        + _table(["case", "instance (SHA-256)", "recipe, with its seed", "commands"], body)
    )
