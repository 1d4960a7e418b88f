"""The page of a run: one self-contained HTML document that opens with the answer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_suite_if_any
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import PROFILE, SHARE_OF_OPT, is_informed
from ratiobench.bench.report import rows
from ratiobench.bench.report.claims import ClaimSummary, claims_section, count_fallen, fallen_lines
from ratiobench.bench.report.compare import compare_runs, count_wins, draw_profiles, list_profiles, take_significance
from ratiobench.bench.report.figures import SuiteFigure
from ratiobench.bench.report.pictures import GROUPS, LINE, Picture, draw_shares, draw_times, height_of
from ratiobench.bench.report.tables import Section, list_html, render_page, table_html
from ratiobench.bench.results.means import group_shares
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.show import Lines, agreement_text, count_text, crosscheck_lines, list_names
from ratiobench.formulations.report import Proof

_PROOFS = {
    Proof.TRIVIAL: "each arrival alone on an empty system, in integers",
    Proof.LAGRANGIAN: "dual prices of shared capacity and the exact best answer at them: weak duality, in integers",
    Proof.BRANCH_AND_BOUND: "the bound that a MIP solver reports, in its floating-point arithmetic",
    Proof.CP_SAT: "the bound that CP-SAT reports, in integers",
    Proof.ENUMERATION: "enumeration of all solutions",
    Proof.DYNAMIC_PROGRAMMING: "the best of every set of arrivals, from those of smaller sets",
    Proof.CERTIFICATE: "a shipped certificate: a solution and a bound on OPT, both recomputed by the independent "
    "checker in this run",
    Proof.THEOREM: "a rule that is proved to be best",
}


def draw_share_picture(results: Results, group: str = "") -> Picture | None:
    """The share of OPT of each algorithm, in all groups or in one; None before anything has a share."""
    records = [row for row in results.records if row.group == group]
    shares = group_shares(records, results.sense) if group else rows.take_shares(results)
    if not shares["reached"].notna().any():
        return None
    shares = shares.assign(group=shares["group"].map(rows.name_groups(shares, rows.group_words(results))))
    groups = shares["group"].nunique()
    line = max(LINE, 0.1 * groups) if groups <= GROUPS else LINE
    legend = 0.2 * -(-groups // 3) if 1 < groups <= GROUPS else 0.0
    height = height_of(list(shares["name"].unique()), line, 0.75 + legend)
    title = f"Share of OPT, {group}" if group else "Share of OPT"
    return Picture(title, partial(draw_shares, shares=shares), height, SHARE_OF_OPT)


def list_pictures(results: Results, figures: Sequence[SuiteFigure]) -> list[Picture]:
    comparison = compare_runs(results)
    profile = None if comparison is None else draw_profiles(comparison)
    drawn = [draw_share_picture(results), *(picture for figure in figures for picture in figure.pictures), profile]
    return [picture for picture in drawn if picture is not None]


def render_run(
    results: Results,
    family: Family,
    claims: Sequence[ClaimSummary],
    figures: Sequence[SuiteFigure],
    pictures: Mapping[str, Picture],
    cited: str,
) -> str:
    """The page; `pictures`: those that have files, by name; `cited`: how the run is cited."""
    sections = [*_figure_sections(results, figures), *_comparison_sections(results, pictures)]
    sections += [*claims_section(claims, family), *_row_sections(results, family)]
    sections += _about_sections(results, family, cited)
    suite = find_suite_if_any(results.about)
    if suite is not None and suite.verdicts_first:
        sections.sort(key=lambda section: section.name != "claims")
    title = f"{results.about.get('suite', '')}: share of the offline optimum"
    return render_page(title, sections, list(_lead(results, claims, pictures)))


def _lead(results: Results, claims: Sequence[ClaimSummary], pictures: Mapping[str, Picture]) -> Iterator[Any]:
    shares = rows.take_shares(results)
    if SHARE_OF_OPT in pictures:
        yield pictures[SHARE_OF_OPT]
        ratio = {Sense.MOST: "ALG over the proved bound on OPT", Sense.LEAST: "the proved bound on OPT over ALG"}
        yield _method(
            "A circle is the mean of a group, the line that of all groups; numbers are the least and the largest."
            if shares["group"].nunique() > GROUPS
            else f"A sign is the mean over the cases of a group of {ratio[results.sense]}, so at least this share is "
            "reached. Thick: the certified interval of the mean. Thin: from the least to the largest case."
        )
    if len(shares):
        yield table_html(rows.share_lines(shares, rows.group_words(results)), "Share of OPT by algorithm")
    if fallen := count_fallen(claims):
        yield fallen
        if lines := fallen_lines(claims):
            yield table_html(lines, "Claims that fell")
    if doubts := rows.list_doubts(results):
        yield list_html(doubts, "doubts")
    about = results.about
    if summary := str(about.get("summary", "")):
        yield summary
    if (scale := about.get("scale", "full")) != "full":
        yield f"This is the {scale} scale: instances are smaller than the names of groups and the text state."
    parts = (("only", "cases"), ("rows", "algorithms"))  # what may be chosen of a suite, as the store names it
    if only := [f"the {kind} {', '.join(about[name])}" for name, kind in parts if about.get(name)]:
        yield f"Only {' and '.join(only)} of the suite."


def _figure_sections(results: Results, figures: Sequence[SuiteFigure]) -> Iterator[Section]:
    parts: list[Any] = []
    for figure in (figure for figure in figures if not figure.is_empty):
        parts.append(Markup('<h3 id="figure-{}">{}</h3>').format(figure.plot.name, figure.plot.title))
        if figure.legend and (legend := _method(figure.legend)) not in parts:
            parts.append(legend)
        parts += figure.pictures
        if not figure.pictures and not figure.parts:
            parts.append("Nothing has run yet.")
        parts += [*filter(None, [figure.plot.note]), *figure.parts]
        parts += [_fold("The figure as a table", figure.folded)] if figure.folded else []
    missing = [figure.plot.title for figure in figures if figure.is_empty and not results.is_part]
    if missing and parts:
        parts.append(f"Without data here, and left out: {'; '.join(missing)}.")
    if parts:
        yield Section("Figures", parts, "figures")


def _method(text: str) -> Markup:
    return Markup('<p class="method">{}</p>').format(text)


def _fold(summary: str, lines: Lines) -> Markup:
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, table_html(lines, summary))


def _comparison_sections(results: Results, pictures: Mapping[str, Picture]) -> Iterator[Section]:
    comparison = compare_runs(results)
    if comparison is None:
        return
    parts: list[Any] = [
        pictures[PROFILE],
        _method(
            "In how many cases an algorithm is within a factor of the best run of the case (Dolan and Moré, 2002). "
            "Factors are exact quotients of values, without OPT; the best run may itself be far from OPT. Unbounded, "
            "invalid and failed runs are within no factor. Five lines have a colour: your own, then the best."
        ),
        _fold("The profile as a table", list_profiles(comparison)),
    ]
    if wins := count_wins(comparison):
        text = "Your algorithm against every other one: cases in which its exact value is better, worse or equal."
        parts += [text, wins]
    if (tests := take_significance(comparison)) is not None:
        paired = "All algorithms are run on the same cases, and only differences within a case count. The cases are "
        paired += "chosen, not drawn at random: a p-value says nothing of cases unlike these."
        parts += [Markup('<h3 id="significance">Significance</h3>'), tests.conclusion(), _method(paired)]
        if tests.left_out:
            parts.append(f"Not compared, since they were to run on fewer cases: {', '.join(tests.left_out)}.")
        if tests.pairs:
            parts.append(_fold(f"All {len(tests.pairs)} pairs", tests.lines()))
    yield Section("Algorithms against each other", parts, "compare")


def _row_sections(results: Results, family: Family) -> Iterator[Section]:
    solvers = [
        {"Case": case, **line} for case, answers in results.solvers.items() for line in crosscheck_lines(answers)
    ]
    if solvers:
        yield Section("P as printed", [agreement_text(results.solvers), solvers], "solvers", folded=True)
    runs = results.seconds[results.seconds["stage"].isin(["opt", "online"])]
    called = runs["algorithm"].map({row.algorithm: row.name for row in results.records} | {"": "OPT"})
    if spent := {str(name): list(part) for name, part in runs["seconds"].groupby(called, sort=False)}:
        picture = Picture("Run time", partial(draw_times, seconds=spent), height_of(list(spent)))
        yield Section("Run time", [picture], "times")
    if len(results.records) > rows.ROWS:
        yield Section("All rows", [f"{len(results.records):,} rows are in `results.csv`."], "rows")
    elif results.records:
        ids = [f"row-{place}" for place in range(len(results.records))]
        text = "Exact figures of all columns, and both sides of every claim, are in `results.csv`."
        yield Section("All rows", [text, table_html(rows.row_lines(results, family), "All rows", ids)], "rows")


def _about_sections(results: Results, family: Family, cited: str) -> Iterator[Section]:
    if readings := family.readings:
        text = "The paper can be read in more than one way; the figures of this page use these readings:"
        yield Section("Readings of the paper", [text, list_html(readings)], "readings", folded=True)
    yield Section("Terms", list(_terms(results, family)), "terms", folded=True)
    yield Section("Reproduce", list(_provenance(results, family, cited)), "reproduce", folded=True)
    if sources := family.sources:
        text = Markup("<b>{0.name}</b>: {0.by}: <i>{0.title}</i>. {0.where}. {1} <small>From it: {0.gives}.</small>")
        items = [text.format(source, source.doi or source.link or "") for source in sources]
        yield Section("Sources", [list_html(items)], "sources", folded=True)


def _terms(results: Results, family: Family) -> Iterator[Any]:
    sense, value = results.sense, family.objective
    used = [proof for proof in Proof if (results.exact["opt_proof"] == proof.value).any()]
    terms = {
        "OPT": f"the best {value} in hindsight, with all arrivals known. Its {sense.verified} end is the {value} of a "
        f"solution that was verified exactly, its {sense.bound} end a proved bound",
        sense.ratio: "competitive ratio, rounded outward: 1 is optimal; [a, b]: between a and b, because OPT is",
        "share of OPT": "1 over the ratio, in percent; means are over the cases of a group",
        "gap": "width of the interval on OPT over its upper end",
        **{f"proof: {proof.value}": _PROOFS[proof] for proof in used},
        "*": "constants that an algorithm gets before the first arrival come from the instance under test (oracle)",
        "at limit 5 of 144, gap 0.32 %": "at 5 of 144 decisions the algorithm's own search ended at its limit of work",
        "verdict": "of a claim on a run, by exact comparisons: holds, violated, undecided (the interval on OPT, or "
        "rounding, leaves it open) or not applicable",
    }
    yield terms
    known = {entry.name: entry.summary for entry in family.algorithms()}
    heads: dict[str, str] = {}
    for name in results.exact["algorithm"]:
        own = is_user_algorithm(name)
        head = ":".join(name.split(":")[:2]) if own else name.partition(":")[0]
        heads[head] = "yours" if own else re.split(r"; (?=\w+=)", known.get(head, "an algorithm"))[0]
    yield from (Markup("<h3>Algorithms</h3>"), heads, Markup("<h3>Groups</h3>"))
    words, groups = rows.group_words(results), dict[str, str]()
    for group in dict.fromkeys(case.group for case in results.cases):
        names = [case.name for case in results.cases if case.group == group]
        groups[group] = f"{words.get(group, '')} {count_text(len(names), 'case')}: {list_names(names, 6)}".strip()
    yield groups


def _provenance(results: Results, family: Family, cited: str) -> Iterator[Any]:
    about = results.about
    command = about.get("command") or f"python -m ratiobench run {shlex.quote(str(about.get('suite', '')))}"
    yield Markup("<pre>{}</pre>").format(command)
    yield f"Cite: {cited}"
    for name in ("code", "packages", "machine"):
        if pairs := about.get("provenance", {}).get(name, {}):
            yield f"{name.capitalize()}: {', '.join(f'{key} {value}' for key, value in pairs.items())}."
    yield (
        "Each case on its own, in the folder of the results, with NAME as the column `algorithm` of `results.csv` "
        "gives it. All random draws follow from the names in the recipe."
    )
    timeline = " --timeline timeline.html" * (family.timeline is not None)
    yield Markup("<pre>{}</pre>").format(
        "CASE=instances/INSTANCE.json.gz\npython -m ratiobench opt $CASE SETTINGS\n"
        f"python -m ratiobench simulate $CASE --algorithm NAME{timeline}\n"
        "python -m ratiobench audit $CASE --algorithm NAME SETTINGS"
    )
    lines = []
    for case in results.cases:
        settings = [f"--{key} {value}" for key, value in case.solve.items() if value not in ("auto", None, 0.0)]
        words = dict.fromkeys(is_informed(name) for name, _ in case.algorithms)
        priors = [f"prior={word}: instances/{day}.json.gz" for word in words if (day := case.find_prior(word))]
        code = [Markup("<code>{}</code>").format(text) for text in (case.instance, json.dumps(case.recipe))]
        line = {"Case": case.name, "Size": rows.size_text(case.describe), "INSTANCE": code[0], "Recipe": code[1]}
        lines.append(line | {"SETTINGS": " ".join(settings) or "-", "Other days": ", ".join(priors) or "-"})
    if lines:
        yield lines
