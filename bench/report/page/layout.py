"""The page of a run: one self-contained HTML document."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from ratiobench.bench.draw.plots import draw_times
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_suite_if_any
from ratiobench.bench.family.suite import is_informed
from ratiobench.bench.report.answer.headline import make_headline
from ratiobench.bench.report.claims.page import make_claims
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.report.compare.page import compare_algorithms
from ratiobench.bench.report.means.reached import draw_reached, find_spreads
from ratiobench.bench.report.rows.charts import draw_ratios, draw_values
from ratiobench.bench.report.rows.page import list_checks, list_rows, make_solvers_table
from ratiobench.bench.report.shared.cells import Table, make_download
from ratiobench.bench.report.shared.citation import cite
from ratiobench.bench.report.shared.glossary import make_glossary
from ratiobench.bench.report.shared.render import load_scripts, render
from ratiobench.bench.report.shared.suite_figure import Chart, SuiteFigure
from ratiobench.bench.report.shared.text import opt_text
from ratiobench.bench.results.means import GroupMean
from ratiobench.bench.results.read import Results, group_means
from ratiobench.bench.results.remarks import remarks_below
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase

# What may be chosen of a suite, as the store names it, and what that is of
PARTS = (("only", "cases"), ("rows", "algorithms"))
FOLDED = 12  # Charts in a gallery above which they are folded away
DRAWN = 40  # Charts above which none is drawn: each costs a tenth of a second and twenty kilobytes


def render_page(
    found: Results,
    family: Family,
    settled: Sequence[ClaimSummary] = (),
    drawn: Sequence[SuiteFigure] = (),
    explained: Mapping[str, str] | None = None,
) -> str:
    """The results as one HTML page that needs nothing from a network; `explained`: the page of a claim's witness."""
    every = found.records
    about = found.about
    suite = find_suite_if_any(about)
    groups = {} if suite is None else suite.groups
    return render(
        "report/page/page.html",
        headline=make_headline(found, family, settled, groups),
        verdicts_first=suite is not None and suite.verdicts_first,
        glossary=make_glossary(found, family, groups),
        suite=str(about.get("suite", "")),
        summary=str(about.get("summary", "")),
        scale=about.get("scale", "full"),
        only=[f"the {kind} {', '.join(about[name])}" for name, kind in PARTS if about.get(name)],
        objective=family.objective,
        sense=found.sense,
        figures=[each for each in drawn if not each.is_empty],
        # What nobody asked for is not missed.
        figures_without_data=[each for each in drawn if each.is_empty and not found.is_part],
        make_download=make_download,
        overview=_overview(found, family, every),
        solvers=make_solvers_table(found.solvers),
        compared=compare_algorithms(found),
        claims=make_claims(settled, family.notation(), explained),
        readings=family.readings(),
        sources=family.sources(),
        checks=list_checks(found, family, every),
        rows=list_rows(found, family, every),
        provenance={name: about.get("provenance", {}).get(name, {}) for name in ("code", "packages", "machine")},
        command=str(about.get("command") or f"python -m ratiobench run {shlex.quote(str(about.get('suite', '')))}"),
        citation=cite(found),
        cases=_list_cases(found, family),
        script=load_scripts(),
    )


@dataclass(frozen=True, slots=True)
class Gallery:
    """A chart for each of some groups or cases."""

    what: str  # what there is a chart for each of
    count: int  # how many
    charts: Sequence[Chart]  # the charts; empty where there are more than `DRAWN`
    is_folded: bool  # whether they open on demand

    @property
    def is_too_large(self) -> bool:
        """Whether nobody would look at so many."""
        return self.count > DRAWN


def make_gallery(parts: Sequence[tuple[str, Callable[[], str], str]], what: str, is_folded: bool) -> Gallery:
    """Charts from (heading, what draws it, note), folded away where there are many, not drawn where there are more."""
    charts = [] if len(parts) > DRAWN else [Chart(head, draw(), head, note) for head, draw, note in parts]
    return Gallery(what, len(parts), charts, is_folded or len(parts) > FOLDED)


@dataclass(frozen=True, slots=True)
class Overview:
    """What every suite has: how much is reached, ratios, values and run times (empty where nothing ran).

    `remarks` are those on the runs behind what is reached, all groups together; empty where there are none.
    """

    reached: Gallery
    remarks: str
    ratios: Gallery
    values: Gallery
    times: str


def _overview(found: Results, family: Family, every: Sequence[Row]) -> Overview:
    rows: dict[str, list[Row]] = {}
    for row in every:
        rows.setdefault(row.case, []).append(row)
    by_case = [(case, rows[case.name]) for case in found.cases if case.name in rows]
    axis = f"{family.objective}, {family.unit if family.dollars is None else 'dollars'}"
    draw = partial(draw_values, axis=axis, sense=found.sense, scale=family.dollars or Fraction(1), unit=family.unit)
    ratios = [
        (case.name, partial(draw_ratios, chosen, case.name, found.sense), opt_text(chosen[0], family.unit))
        for case, chosen in by_case
    ]
    values = [(case.name, partial(draw, chosen, case.name), _describe(case)) for case, chosen in by_case]
    # A suite with figures of its own shows those first.
    is_folded = bool(found.plots)
    return Overview(
        make_gallery(_reached(found, every), "groups", False),
        remarks_below(group_means(every, found.sense)).strip(),
        make_gallery(ratios, "cases", is_folded),
        make_gallery(values, "cases", is_folded),
        _times(found),
    )


def _reached(found: Results, every: Sequence[Row]) -> list[tuple[str, Callable[[], str], str]]:
    pairs = list(zip(group_means(every, found.sense), find_spreads(every), strict=True))
    charts: list[tuple[str, Callable[[], str], str]] = []
    for group in dict.fromkeys(row.group for row in every):
        means = [mean for mean, _ in pairs if mean.group == group]
        spreads = [spread for mean, spread in pairs if mean.group == group]
        charts.append((group, partial(draw_reached, means, group, found.sense, spreads), _mean_note(means)))
    return charts


def _mean_note(means: Sequence[GroupMean]) -> str:
    odd = [f"{mean.algorithm}: {count} {kind}" for mean in means for kind, count in mean.irregular.items() if count]
    cases = max(mean.cases for mean in means)
    left_out = f" Of these: {'; '.join(odd)}." if odd else ""
    return f"{cases} case{'s' * (cases != 1)}.{left_out}"


def _describe(case: StoredCase) -> str:
    return ", ".join(f"{key} {value}" for key, value in case.describe.items() if isinstance(value, int | float))


def _times(found: Results) -> str:
    """A dot per run; empty where nothing ran."""
    chosen: dict[str, list[float]] = {}
    pieces = zip(found.seconds["stage"], found.seconds["algorithm"], found.seconds["seconds"], strict=True)
    for stage, algorithm, seconds in pieces:
        if stage in ("opt", "online"):
            chosen.setdefault("OPT" if stage == "opt" else algorithm, []).append(float(seconds))
    return draw_times(list(chosen.items()), "of a run") if chosen else ""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case, what it is made of, and the commands that make its rows again."""

    name: str
    instance: str
    recipe: str
    commands: Sequence[str]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """All cases: the table's frame, and its rows."""

    table: Table
    rows: Sequence[CaseRow]


def _list_cases(found: Results, family: Family) -> CaseTable:
    head = ["case", "instance (SHA-256)", "recipe, with its seed", "commands"]
    return CaseTable(Table("Cases", head, (), css="listed"), [_case_row(each, family) for each in found.cases])


def _case_row(case: StoredCase, family: Family) -> CaseRow:
    file = f"instances/{case.instance}.json.gz"
    settings = {key: value for key, value in case.solve.items() if value not in ("auto", None, 0.0)}
    solving = "".join(f" --{key} {value}" for key, value in settings.items())
    commands = [
        f"CASE={file}",
        f"python -m ratiobench opt $CASE{solving}",
        "python -m ratiobench simulate $CASE --algorithm NAME",
        f"python -m ratiobench audit $CASE --algorithm NAME{solving}",
    ]
    if family.timeline is not None:
        commands.insert(3, f"{commands[2]} --timeline timeline.html")
    words = dict.fromkeys(is_informed(name) for name, _ in case.algorithms) if case.history else {}
    for word in filter(None, words or ([_first_word(case)] if case.prior else [])):
        commands.append(f"# prior={word} is here prior=instances/{case.find_prior(word)}.json.gz")
    return CaseRow(case.name, case.instance, json.dumps(case.recipe), commands)


def _first_word(case: StoredCase) -> str:
    return next(filter(None, (is_informed(name) for name, _ in case.algorithms)), "yesterday")
