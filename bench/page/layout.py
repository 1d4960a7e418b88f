"""The page of a run: one self-contained HTML document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from typing import Any

from bench.family.column import Family
from bench.figures import overview
from bench.figures.content import Drawn
from bench.page import claims, figures, markup, rows
from bench.page.markup import cell, code, panels, rows_table
from bench.storage.store import StoredCase
from bench.tables.rows import Results, group_means
from bench.tables.sayings import said_below
from bench.tables.text import opt_text
from bench.tables.verdicts import Settled


def page(found: Results, family: Family, settled: Sequence[Settled] = (), drawn: Sequence[Drawn] = ()) -> str:
    """The results as one HTML page that needs nothing from a network."""
    every = found.rows.to_dict("records")
    suite = str(found.about.get("suite", ""))
    reached, *more = _overview(found, family, every)
    sections = [
        figures.section(found, drawn, family.unit),
        reached,
        claims.section(settled, family.notation()),
        _readings(family.readings()),
        *more,
        rows.checks(found, family, every),
        '<h2 id="rows">All rows</h2>' + rows.all_rows(found, family, every),
        '<h2 id="provenance">Provenance</h2>' + _provenance(found),
    ]
    body = "\n".join(filter(None, sections))
    style = files("bench.page").joinpath("page.css").read_text(encoding="utf-8")
    script = files("bench.page").joinpath("page.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>ratiobench: {escape(suite)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<h1>{escape(suite)}: how far from the offline optimum</h1>\n"
        f"<p>{escape(str(found.about.get('summary', '')))}</p>\n{_scale(found)}{_contents(body)}\n{body}\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _readings(readings: Sequence[str]) -> str:
    """What shaped every figure and no figure shows; empty without any."""
    if not readings:
        return ""
    items = "".join(f"<li>{escape(each)}</li>" for each in readings)
    named = re.sub("`(.*?)`", r"<code>\1</code>", items)
    said = "Where the paper can be read in more than one way, or says nothing, the figures of this page rest on this:"
    return f'<h2 id="readings">How the paper is read</h2><p>{said}</p><ul>{named}</ul>'


def _scale(found: Results) -> str:
    """What must be known before the figures: which part of the suite this is, and at which scale."""
    said = []
    if found.about.get("scale", "full") != "full":
        said.append(
            f"This is the <b>{escape(str(found.about['scale']))} scale</b>: instances are smaller than the names of "
            "groups and the text say (the table of all rows has their sizes), and so are not those of any paper."
        )
    if found.about.get("only"):
        said.append(f"Only the cases {escape(', '.join(found.about['only']))} of the suite.")
    return "".join(f"<p>{each}</p>\n" for each in said)


def _contents(body: str) -> str:
    """Links to the sections."""
    links = [f'<a href="#{name}">{title}</a>' for name, title in re.findall(r'<h2 id="([\w-]+)">(.*?)</h2>', body)]
    return f'<nav aria-label="Sections">{" ".join(links)}</nav>'


def _overview(found: Results, family: Family, every: Sequence[Mapping[Any, Any]]) -> list[str]:
    """What every suite has: how much is reached, ratios, welfare and run time."""
    by_case = [(case, [row for row in every if row["case"] == case.name]) for case in found.cases]
    by_case = [(case, chosen) for case, chosen in by_case if chosen]
    oracle = {(row["group"], row["algorithm"]) for row in every if "oracle" in str(row["constants_source"])}
    means = [
        {**row, "constants_source": "oracle" * ((row["group"], row["algorithm"]) in oracle)}
        for row in group_means(found.rows).to_dict("records")
    ]
    grouped = {group: [row for row in means if row["group"] == group] for group in dict.fromkeys(found.rows["group"])}
    figures = bool(found.plots)
    called = family.objective
    return [
        '<h2 id="reached">How much of the optimum is reached</h2>'
        "<p>OPT, the best that could have been done knowing all arrivals, is known within an interval: its lower end "
        f"is the {called} of a solution that was verified exactly, its upper end is a proved bound. So every "
        "competitive ratio OPT/ALG is an interval too. Ends are exact fractions in <code>results.csv</code> and "
        "rounded outward here. * marks algorithms whose constants come from the instance under test (oracle).</p>"
        + _drawn(
            [
                (str(group), partial(overview.mean_figure, chosen, str(group)), _mean_note(chosen))
                for group, chosen in grouped.items()
            ],
            "groups",
            False,
        ),
        '<h2 id="ratios">Competitive ratios</h2>'
        + _drawn(
            [
                (
                    case.name,
                    partial(overview.ratio_figure, chosen, case.name),
                    opt_text(chosen[0], family.unit),
                )
                for case, chosen in by_case
            ],
            "cases",
            figures,
        ),
        f'<h2 id="welfare">{escape(called[:1].upper() + called[1:])}</h2>'
        "<p>The line is OPT, or the band within which it lies.</p>"
        + _drawn(
            [
                (
                    case.name,
                    partial(overview.welfare_figure, chosen, case.name, f"{called}, {family.unit}"),
                    _describe(case),
                )
                for case, chosen in by_case
            ],
            "cases",
            figures,
        ),
        '<h2 id="times">Run time</h2>'
        "<p>Wall time of the whole run on one case, for information: it is the only figure here that differs from "
        "machine to machine.</p>" + _times(found),
    ]


def _drawn(parts: Sequence[tuple[str, Callable[[], str], str]], what: str, folded: bool) -> str:
    """Panels, folded away where there are many, not drawn where there are more than anyone looks at."""
    if len(parts) > markup.DRAWN:
        return (
            f"<p>{len(parts)} {what} are too many for a figure each: the means of their groups are in the figures, "
            'each of them in <a href="#rows">the table of all rows</a>.</p>'
        )
    grid = panels((head, draw(), note) for head, draw, note in parts)
    if folded or len(parts) > markup.FOLDED:
        return markup.folded(f"A figure for each of the {len(parts)} {what}", grid)
    return grid


def _mean_note(chosen: Sequence[Mapping[Any, Any]]) -> str:
    odd = [
        f"{row['algorithm']}: {row[kind]} {kind}"
        for row in chosen
        for kind in ("unbounded", "undefined", "invalid", "failed")
        if row[kind]
    ]
    cases = max(row["cases"] for row in chosen)
    left_out = f" Of these: {'; '.join(odd)}." if odd else ""
    return f"Mean over {cases} case{'s' * (cases != 1)}.{left_out}{said_below(chosen)}"


def _describe(case: StoredCase) -> str:
    return ", ".join(f"{key} {value}" for key, value in case.describe.items() if isinstance(value, int | float))


def _times(found: Results) -> str:
    chosen: dict[str, list[float]] = {}
    for row in found.seconds.to_dict("records"):
        if row["stage"] in ("opt", "online"):
            chosen.setdefault("OPT" if row["stage"] == "opt" else row["algorithm"], []).append(float(row["seconds"]))
    if not chosen:
        return "<p>Nothing has run yet.</p>"
    return f'<div class="grid"><figure>{overview.time_figure(list(chosen.items()), "of a run")}</figure></div>'


def _provenance(found: Results) -> str:
    about = found.about.get("provenance", {})
    lists = [
        f"<h3>{escape(name)}</h3><p>{escape(', '.join(' '.join(pair) for pair in about.get(name, {}).items()))}</p>"
        for name in ("code", "packages", "machine")
        if about.get(name)
    ]
    command = figures.made_by(found)
    head = ["case", "instance (SHA-256)", "recipe, with its seed", "commands"]
    body = []
    for case in found.cases:
        file = f"instances/{case.instance}.json.gz"
        settings = {key: value for key, value in case.solve.items() if value not in ("auto", None, 0.0)}
        solving = "".join(f" --{key} {value}" for key, value in settings.items())
        commands = [
            f"python -m bench opt {file}{solving}",
            f"python -m bench online {file} --algorithm NAME",
            f"python -m bench audit {file} --algorithm NAME{solving}",
        ]
        if case.prior:
            commands.append(f"# prior=yesterday is here prior=instances/{case.prior}.json.gz")
        body.append(
            [
                cell(case.name),
                f"<td>{code(case.instance)}</td>",
                f'<td class="wrap">{code(json.dumps(case.recipe))}</td>',
                f"<td>{code(*commands)}</td>",
            ]
        )
    return (
        "\n".join(lists)
        + "<h3>Reproduce</h3><p>The whole page, and below every row on its own: in the folder of the results, with "
        "NAME as the column <i>algorithm</i> of <code>results.csv</code> gives it. All random draws follow from the "
        f"names in the recipe.</p><pre>{escape(command)}</pre>"
        + markup.folded(f"Every one of the {len(body)} cases", rows_table(head, body, "Cases"), is_open=len(body) <= 12)
    )
