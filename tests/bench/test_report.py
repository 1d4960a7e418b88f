"""The tables and the page: exact figures in the CSV, one self-contained page that is sound HTML."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.draw.plots import draw_times
from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families
from ratiobench.bench.report.claims.page import make_claims
from ratiobench.bench.report.claims.verdicts import ClaimSummary, summarise_claims
from ratiobench.bench.report.kinds import draw_figure
from ratiobench.bench.report.means.reached import draw_reached
from ratiobench.bench.report.page import layout
from ratiobench.bench.report.rows import page as rows
from ratiobench.bench.report.rows.charts import draw_ratios, draw_values
from ratiobench.bench.report.shared.cells import csv_of, make_cell
from ratiobench.bench.report.shared.render import load_templates, make_breakable, mark_code
from ratiobench.bench.report.shared.text import check_title
from ratiobench.bench.results.means import GroupMean
from ratiobench.bench.results.ratios import interval_text
from ratiobench.bench.results.read import ACCOUNTS, COLUMNS, Results, read_results
from ratiobench.bench.storage.store import Store, StoredResult
from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Part, Remarks
from tests.support.rows import made_row
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")

VOID = {"meta", "br", "wbr", "path", "use", "rect", "circle", "line"}
ROWS = [
    made_row(
        "a<b:$x_1$",
        state="ok",
        sources=frozenset({Source.ORACLE}),
        ratio_kind="interval",
        ratio_lower=Fraction(6, 5),
        ratio_upper=Fraction(30),
        ratio_lower_float=1.2,
        ratio_upper_float=30.0,
        welfare=5,
        opt_lower=Fraction(6),
        opt_upper=Fraction(150),
    ),
    made_row("nothing", state="ok", ratio_kind="unbounded", welfare=-2, opt_lower=Fraction(6), opt_upper=Fraction(150)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of the toy suite, made once."""
    return made("toy", tmp_path_factory.mktemp("toy"))


class Sound(HTMLParser):
    """Reads a page and notes unbalanced tags, duplicate ids, and everything that would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []
        self.problems: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        self.ids += [values["id"]] if "id" in values else []
        self.fetched += [
            value
            for key, value in values.items()
            if key in {"src", "href", "srcset", "data"} and not value.startswith(("#", "data:text/csv;"))
        ]
        if tag in {"link", "iframe", "object", "embed", "base"}:
            self.fetched.append(tag)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Sound:
    found = Sound()
    found.feed(page)
    found.close()
    return found


def markup(macro: str, *values: Any) -> str:
    """What a macro of parts.html makes of the values."""
    return str(getattr(load_templates().get_template("report/shared/parts.html").module, macro)(*values)).strip()


def test_the_page_is_sound_and_needs_no_network(folder: Path) -> None:
    """Tags balance, no id stands twice, nothing is fetched, and no address of any kind occurs."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = read(page)
    assert (found.problems, found.stack, found.fetched) == ([], [], [])
    assert len(found.ids) == len(set(found.ids))
    assert "://" not in page
    assert "@import" not in page
    assert "url(" not in re.sub(r"url\(#\w+\)", "", page)


def test_what_figures_refer_to_is_on_the_page(folder: Path) -> None:
    """Every marker and clip path that an SVG uses is defined on the same page."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    used = set(re.findall(r'url\(#(\w+)\)|href="#(\w+)"', page))
    assert {name for pair in used for name in pair if name} <= set(read(page).ids)


def test_templates_are_loaded_where_a_page_is_made_and_not_before() -> None:
    """The commands start without Jinja and pandas; the page needs them."""
    program = """import sys, ratiobench.bench.cli.main
before = [name for name in ("jinja2", "pandas") if name in sys.modules]
import ratiobench.bench.report.page.layout
print(before, "jinja2" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_words_from_outside_are_text_on_the_page() -> None:
    """Tags in names, in attributes and between backquotes of a reading are escaped; long names may be broken."""
    name = '<i>"x"</i>: a&b,c'
    cell = make_cell(name, css=name, title=name)
    assert read(markup("cell", cell)).text == [name]
    assert "<i>" not in markup("cell", cell)
    assert make_breakable("a<b>:c, d") == "a&lt;b&gt;:<wbr>c,<wbr> d"
    assert mark_code("`<b>` & `c`") == "<code>&lt;b&gt;</code> &amp; <code>c</code>"


def test_every_row_and_its_commands_are_on_the_page(folder: Path) -> None:
    """All rows of the CSV, their ratio, the instance hashes and the commands to reproduce them."""
    text = " ".join(read((folder / "report.html").read_text(encoding="utf-8")).text)
    frame = pd.read_csv(folder / "results.csv", dtype=str)
    for row in frame.to_dict("records"):
        assert str(row["instance"]) in text
        assert interval_text(Fraction(row["ratio_lower"]), Fraction(row["ratio_upper"])) in text
    assert "python -m ratiobench run toy" in text
    assert "--effort 2" in text


@pytest.mark.parametrize(
    "svg",
    [
        lambda: draw_ratios(ROWS, "x<y"),
        lambda: draw_values(ROWS, "x", "points"),
        lambda: draw_reached([GroupMean("", row.algorithm, Fraction(1, 3)) for row in ROWS], "x"),
        lambda: draw_times([("a", [0.001, 2.0]), ("b", [0.0])], "x"),
    ],
)
def test_figures_are_the_same_every_time_and_take_the_pages_colours(svg: object) -> None:
    """Two drawings are alike byte for byte; every colour is the page's, so light, dark and print can choose it."""
    assert callable(svg)
    drawn = svg()
    assert drawn == svg()
    assert not re.search(r"style=|fill=|stroke=|#", drawn)
    styled = files("ratiobench.bench.draw").joinpath("charts.css").read_text(encoding="utf-8")
    for name in {word for words in re.findall(r'class="([^"]+)"', drawn) for word in words.split()} - {"m", "name"}:
        assert re.search(rf"[.]{name}\b", styled), name
    assert read(drawn).problems == []


@pytest.mark.parametrize("least", [Fraction(1, 3), Fraction(-1_234_567, 1000)])
def test_the_figures_beside_bars_are_within_the_picture(least: Fraction) -> None:
    """Percentages stand right of the axis and end before the edge, for parts of OPT and for large losses."""
    drawn = draw_reached([GroupMean("", f"a{mean}", mean) for mean in (Fraction(1), least)], "x")
    [width] = re.findall(r'viewBox="0 0 ([\d.]+) ', drawn)
    told = re.findall(r'x="([\d.]+)"[^>]*text-anchor="start">([^<]*%)</text>', drawn)
    assert len(told) == 2
    for x, text in told:
        # A letter of this size takes up to 6 units, a percent sign up to 10.
        assert float(x) + 6 * len(text) + 4 <= float(width)


@pytest.mark.parametrize("top", [96_690_976, 762_812_916, 288_385_850, 7, 12_345])
@pytest.mark.parametrize("axis", ["welfare, micro-dollars", "profit rate, units of money per second and machine"])
def test_what_stands_below_an_axis_is_within_the_picture(top: int, axis: str) -> None:
    """Ticks at the very end of the axis, of values that reach just beyond them, and long titles."""
    known = replace(ROWS[0], opt_lower=Fraction(top), opt_upper=Fraction(top), welfare=top // 2)
    lost = replace(known, algorithm="b", welfare=-top)
    for chosen in ([known], [known, lost], [replace(known, algorithm="a longer name: of an algorithm")]):
        drawn = draw_values(chosen, "x", axis)
        [width] = re.findall(r'viewBox="0 0 ([\d.]+) ', drawn)
        told = re.findall(r'x="(-?[\d.]+)"[^>]*text-anchor="middle">([^<]*)</text>', drawn)
        assert {axis} < {text for _, text in told}
        for x, text in told:
            assert 0 <= float(x) - 2.9 * len(text) <= float(x) + 2.9 * len(text) <= float(width), text


def test_an_unbounded_ratio_is_sorted_as_the_largest_number(folder: Path) -> None:
    """Its cell says infinity to the script of the page; what is undefined or missing says nothing."""
    with Store.open(folder / "results.sqlite", create=False) as store:
        found = read_results(store)
    every = [*found.records]
    without: dict[str, Any] = {"ratio_lower": None, "ratio_upper": None, "ratio_upper_float": None}
    every[0] = replace(every[0], ratio_kind="unbounded", opt_gap=float("inf"), **without)
    every[1] = replace(every[1], ratio_kind="undefined", **without)
    every[3] = replace(every[3], opt_gap=None)  # the first row of the second case
    table = rows.list_rows(found, families()["toy"], every)
    assert [case.facts[3].sort for case in table.cases][:2] == ["Infinity", ""]
    page = markup("runs", table)
    assert '<td class="n" data-v="Infinity">unbounded</td>' in page
    assert re.search(r'<td class="n" data-v="">OPT - ALG in ', page)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_pages_script_sorts_unknown_last_and_unbounded_above_all_numbers() -> None:
    script = files("ratiobench.bench.draw").joinpath("page.js").read_text(encoding="utf-8")
    [function] = re.findall(r"^function compared\(.*?^}", script, re.DOTALL | re.MULTILINE)
    program = f"""{function}
        const texts = ["3", "Infinity", "", "12", "-", "Infinity", "1.5"];
        for (const down of [false, true]) {{
          const cells = texts.map((text) => ({{ text, number: Number(text) }}));
          console.log(cells.sort((a, b) => compared(a, b, true, down)).map(({{ text }}) => text).join());
        }}"""
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.5,3,12,Infinity,Infinity,,-", "Infinity,Infinity,12,3,1.5,,-"]


def test_a_part_of_a_suite_has_no_empty_figures(tmp_path: Path) -> None:
    made("toy-plots", tmp_path, "--only", "5 run*")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    with Store.open(tmp_path / "results.sqlite", create=False) as store:
        found = read_results(store)
    shown = set(re.findall(r'id="figure-([\w-]+)"', page))
    drawn = [draw_figure(found, plot, families()["toy"]) for plot in found.plots]
    empty = [each for each in drawn if all(frame.empty for frame in each.files().values())]
    assert empty
    assert shown == {each.plot.name for each in drawn} - {each.plot.name for each in empty}
    assert not any(html.escape(each.plot.title) in page for each in empty)
    assert "left out:" not in page
    assert {group for each in drawn for group in each.plot.groups} == {"5"}
    assert "Nothing has run yet" not in page


def test_names_from_outside_are_text_not_markup() -> None:
    """An algorithm called `a<b:$x_1$` is drawn as it is spelled."""
    assert "a&lt;b:$x_1$ *" in draw_ratios(ROWS, "x")


def test_csv_columns_are_documented_and_exact(folder: Path) -> None:
    """Each column is documented or belongs to a check; exact figures agree with each other as fractions."""
    frame = pd.read_csv(folder / "results.csv", dtype=str)
    checks = {f"half{part}" for part in ("", "_left", "_right", "_reason", "_figures")}
    assert set(frame.columns) == set(COLUMNS) | {"share"} | checks | set(ACCOUNTS)
    assert list(frame.columns)[-4:] == list(ACCOUNTS)
    assert all(COLUMNS.values())
    assert all(ACCOUNTS.values())
    for row in frame.to_dict("records"):
        lower, upper, welfare = (Fraction(row[name]) for name in ("opt_lower", "opt_upper", "welfare"))
        assert Fraction(row["ratio_lower"]) == lower / welfare
        assert Fraction(row["ratio_upper"]) == upper / welfare
        assert Fraction(row["reached"]) * upper == welfare
        vendors, energy, bids, profit = (Fraction(row[name]) for name in ACCOUNTS)
        assert (vendors, energy) == (2 * int(row["admitted"]), 0)
        assert profit == bids - vendors - energy == welfare  # the toy has no payments: list prices
        assert float(row["ratio_upper_float"]) == float(upper / welfare)


def test_claims_are_counted_and_the_smallest_witness_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """claims.csv and the page say the same of the stored checks as a count over results.csv does."""
    frame = pd.read_csv(folder / "results.csv", dtype=str)
    claims = pd.read_csv(folder / "claims.csv", dtype=str)
    assert list(claims["claim"]) == ["half", "sum"]  # nothing was checked about `third`, and no proof is given
    claim = claims.iloc[0]
    for verdict in Verdict:
        assert int(claim[verdict.value.replace(" ", "_")]) == (frame["half"] == verdict.value).sum()
    violated = frame[frame["half"] == "violated"].sort_values(["case", "algorithm"])  # all cases are of one size
    assert len(violated) > 0
    witness = violated.iloc[0]
    assert (claim["witness_case"], claim["witness_algorithm"]) == (witness["case"], witness["algorithm"])
    assert (claim["left"], claim["right"]) == (witness["half_left"], witness["half_right"])
    assert Fraction(claim["left"]) > Fraction(claim["right"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f'href="#row-{witness.name}"' in page
    assert "Claims and verdicts" in page
    capsys.readouterr()
    main(["report", str(folder)])
    assert f"half   false         {claim['holds']} holds, {claim['violated']} violated" in capsys.readouterr().out


def test_a_claim_that_a_proof_settles_stands_with_its_proof(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In claims.csv, on the page and in the terminal; no verdict is counted, and nothing leads to a check of it."""
    claim = pd.read_csv(folder / "claims.csv", dtype=str).set_index("claim").loc["sum"]
    assert claim["proof"] == "No number < 0 is left out."
    assert {claim[verdict.value.replace(" ", "_")] for verdict in Verdict} == {"0"}
    assert claim[["witness_case", "left", "right", "command"]].isna().all()
    page = (folder / "report.html").read_text(encoding="utf-8")
    row = page.partition('<tr id="claim-sum"')[2].partition("</tr>")[0]
    assert "<td>by proof</td>" in row
    assert "proof: No number &lt; 0 is left out." in row
    assert "#check-sum" not in page
    capsys.readouterr()
    main(["report", str(folder)])
    assert re.search(r"^  sum +proved +by proof +-$", capsys.readouterr().out, flags=re.MULTILINE)


def test_the_page_says_how_the_paper_is_read(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<li>Numbers: <code>room</code> counts those &lt; 9 too.</li>") == 1
    assert '<a href="#readings">Readings of the paper</a>' in page


def test_links_on_the_page_lead_somewhere(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    links = set(re.findall(r'<a href="#([^"]+)"', page))
    assert links
    assert links <= set(read(page).ids)


def test_a_better_online_run_raises_the_lower_end_of_opt(tmp_path: Path) -> None:
    """A valid run is a verified solution: no ratio below 1 is printed where one beat the solver's solution."""
    assert main(["run", "toy", "--out", str(tmp_path), "--quiet"]) == 0
    with Store.open(tmp_path / "results.sqlite") as store:
        case = store.cases()[0]
        opt = store.get("opt", case.instance, case.solve_key)
        assert opt is not None
        weak = {**opt.payload, "lower": 1, "status": "interval"}
        store.put(StoredResult("opt", case.instance, case.solve_key, True, weak, opt.solution, opt.seconds))
    assert main(["report", str(tmp_path)]) == 0
    frame = pd.read_csv(tmp_path / "results.csv", dtype=str)
    chosen = frame[frame["case"] == case.name].set_index("algorithm")
    assert chosen.loc["first", "opt_lower_source"] == "first"
    assert chosen.loc["first", "ratio_lower"] == "1"
    assert chosen["ratio_lower"].map(Fraction).min() == 1


def test_report_of_a_folder_says_the_same_as_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`report` writes the same CSV again, and prints the table and where the page is."""
    before = (folder / "results.csv").read_bytes()
    capsys.readouterr()
    assert main(["report", str(folder)]) == 0
    output = capsys.readouterr().out
    assert (folder / "results.csv").read_bytes() == before
    assert "OPT in [249, 250] points" in output
    assert "mean ALG/upper" in output
    assert str(folder / "report.html") in output


def test_many_figures_are_folded_away_and_very_many_not_drawn() -> None:
    """Above 12 the reader opens them; above 40 the page says where to look instead, and nothing is drawn."""
    drawn: list[int] = []

    def part(number: int) -> tuple[str, Any, str]:
        return f"case {number}", lambda: drawn.append(number) or "<svg></svg>", "a note"

    galleries = [layout.make_gallery([part(i) for i in range(count)], "cases", False) for count in (12, 13, 41)]
    open_, closed, none = (markup("gallery", each) for each in galleries)
    assert len(drawn) == 12 + 13
    assert "<details" not in open_
    assert closed.startswith("<details><summary>A figure for each of the 13 cases")
    assert 'href="#rows"' in none
    assert "<figure" not in none


def test_a_page_of_many_rows_lists_the_worst_of_each_check_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is violated comes first, and how many rows are left out is said; all are in the table of all rows."""
    with Store.open(folder / "results.sqlite", create=False) as store:
        found = read_results(store)
    many = [*found.records] * 5
    monkeypatch.setattr(rows, "LISTED", 25)
    checks = rows.list_checks(replace(found, records=many), families()["toy"], many)
    section = load_templates().get_template("report/rows/checks.html").render(checks=checks, claims=None)
    violated = sum(row.verdict("half") == "violated" for row in many)
    assert violated > 25
    assert section.count("<tr>") == 1 + 25
    assert section.count('class="violated"') == 25
    assert f"{len(many) - 25} more in <code>results.csv</code>" in section


def test_titles_of_checks_are_words() -> None:
    assert check_title("theorem5_repaired") == "Theorem 5 repaired"
    assert check_title("lemma1") == "Lemma 1"
    assert check_title("theorem_c_a_priori") == "Theorem C a priori"
    assert check_title("individual_rationality") == "Individual rationality"


def test_results_say_which_commit_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the checkout, and whether files differ from it; nothing where there is no checkout or no git."""
    from ratiobench.bench.running import provenance

    root = tmp_path / "checkout"
    (root / "bench").mkdir(parents=True)
    monkeypatch.setattr(provenance, "__file__", str(root / "bench" / "running" / "provenance.py"))
    assert provenance.collect()["code"] == {}

    def git(*words: str) -> str:
        me = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        done = subprocess.run(["git", "-C", str(root), *me, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    (root / "bench" / "x.py").write_text("")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    assert provenance.collect()["code"] == {"commit": git("rev-parse", "HEAD"), "changed since": "no"}
    (root / "bench" / "x.py").write_text("x = 1\n")
    assert provenance.collect()["code"]["changed since"] == "yes"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.collect()["code"] == {}


def test_the_foot_of_the_page_cites_every_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In full, with a link where there is one; a family without sources has no such section."""
    with Store.open(folder / "results.sqlite", create=False) as store:
        found = read_results(store)
    family = families()["toy"]
    assert "Sources" not in read(layout.render_page(found, family)).text
    sources = families()["lora"].sources()
    monkeypatch.setattr(family, "sources", lambda: sources)
    page = read(layout.render_page(found, family))
    assert not page.problems
    assert "Sources" in page.text
    for source in sources:
        assert source.anchor in page.ids
        assert source.address in page.fetched
        assert {source.title, f": {source.by}: ", source.name} <= set(page.text)
        assert any(source.where in part for part in page.text)


def _found(folder: Path) -> Results:
    with Store.open(folder / "results.sqlite", create=False) as store:
        return read_results(store)


def test_a_row_says_loudly_what_must_not_be_overlooked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One's own algorithm, more than a bid, list prices, a broken rule; money in dollars, exactly in the tool tip."""
    family, found = families()["toy"], _found(folder)
    every = [*found.records]
    every[0] = replace(every[0], algorithm="mine:Own", remarks=Remarks("mine:Own", overcharged=Part(1, 2)))
    every[1] = replace(every[1], revenue=Fraction(1234), profit=Fraction(-5), sources=frozenset({Source.ORACLE}))
    every[2] = replace(every[2], state="invalid", reason="room: <b>", admitted=0)
    monkeypatch.setattr(family, "dollars", Fraction(1, 100))
    table = rows.list_rows(found, family, every)
    names = [column.name for column in table.columns]
    assert names[: table.shown] == [
        "case", "algorithm", "OPT/ALG", "share of OPT", "welfare", "admitted", "revenue", "cost", "profit",
        "seconds per decision", "state",
    ]  # fmt: skip
    page = markup("runs", table)
    lines = re.findall(r'<tr id="row-\d+">(.*?)</tr>', page)
    assert len(lines) == len(every)
    assert (
        '<td class="own" data-c="mine:Own"><a href="#algorithm-mine_3a_Own">mine:<wbr>Own</a> <small>yours</small> '
        '<a class="loud" href="#term-charged">charged above their bid: 1 of 2 admitted</a></td>' in lines[0]
    )
    value = every[0].welfare
    assert f'title="{value} points">${float(value) / 100:.2f} <small>list prices</small></td>' in lines[0]
    assert '<td class="n" data-v="">not charged</td>' in lines[0]
    assert "not charged" not in lines[2]
    assert 'title="1,234 points">$12.34</td>' in lines[1]
    assert f"{every[1].label} *</a>" in lines[1].replace("<wbr>", "")
    assert ">-5.00 c</td>" in lines[1]
    assert '<td class="n invalid" data-v="">invalid</td>' in lines[2]
    assert "room: &lt;b&gt;" in lines[2]
    assert page.count('<tr class="case">') == len(found.cases)


def test_seconds_are_read_with_their_unit() -> None:
    """Three digits, and a unit that leaves them near 1."""
    assert [rows.time_text(each) for each in (61.23, 0.5, 0.012345, 1.2e-5, 0.0)] == [
        "61.2 s", "500 ms", "12.3 ms", "12 µs", "0 µs",
    ]  # fmt: skip


def test_claims_that_fall_come_first_and_idle_ones_are_folded() -> None:
    """An error of ours, then what is violated, undecided, holds, by proof; what applies to no run is out of the way."""
    kinds = {
        "proved_by_hand": {},
        "sound": {Verdict.HOLDS: 2},
        "open": {Verdict.UNDECIDED: 1, Verdict.HOLDS: 2},
        "idle": {Verdict.NOT_APPLICABLE: 5},
        "fallen": {Verdict.VIOLATED: 1},
        "wrong": {Verdict.VIOLATED: 1},
        "nothing": {},
    }
    settled = [
        ClaimSummary(
            Statement(name, "", "", "proved" if name == "wrong" else "false", "", "", "q.e.d." * (name[:2] == "pr")),
            Counter(counts),
        )
        for name, counts in kinds.items()
    ]
    section = make_claims(settled)
    assert section is not None
    assert [row.settled.statement.name for row in section.rows] == [
        "wrong",
        "fallen",
        "open",
        "sound",
        "proved_by_hand",
    ]
    assert [row.settled.statement.name for row in section.idle] == ["idle", "nothing"]
    page = load_templates().get_template("report/claims/claims.html").render(claims=section, sources=())
    assert page.index("wrong") < page.index("fallen") < page.index("2 more claims apply to no run") < page.index("idle")


def test_a_suite_about_verdicts_begins_with_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the headline and below; groups are called as the suite calls them, and explained in the glossary."""
    found, family = _found(folder), families()["toy"]
    suite = replace(family.suites()[0], verdicts_first=True, groups={"even": "even ones"})
    monkeypatch.setattr(layout, "find_suite_if_any", lambda _: suite)
    page = layout.render_page(found, family, summarise_claims(found, family))
    assert page.index('id="claims"') < page.index('id="reached"')
    assert page.index("Half <strong") < page.index("even ones: mean of 3 cases") < page.index("odd: mean of 2 cases")
    told = " ".join(" ".join(read(page).text).split())
    assert "even ones, 3 cases: toy0, toy2, twin" in told
    assert "odd 2 cases: toy1, toy3" in told
    before = (folder / "report.html").read_text(encoding="utf-8")
    assert before.index('id="claims"') > before.index('id="reached"')


def test_the_page_has_the_command_that_draws_a_run_over_time(folder: Path) -> None:
    with Store.open(folder / "results.sqlite", create=False) as store:
        case = store.cases()[0]
    commands = layout._case_row(case, families()["lora"]).commands
    assert commands[0] == f"CASE=instances/{case.instance}.json.gz"
    place = commands.index("python -m ratiobench simulate $CASE --algorithm NAME")
    assert commands[place + 1] == f"{commands[place]} --timeline timeline.html"
    assert not any("timeline" in line for line in layout._case_row(case, families()["toy"]).commands)


def test_a_figure_that_is_not_known_is_sorted_by_nothing() -> None:
    """Whatever stands for it in a frame: the script of the page reads no NaN."""
    values = (None, float("nan"), "Infinity", Fraction(1, 3))
    keys = [make_cell("-", sort=value, numeric=True).sort for value in values]
    assert keys == ["", "", "Infinity", "0.333333333"]


def test_the_page_can_be_read_by_a_machine_and_on_paper(folder: Path) -> None:
    """Every table has a caption, a link leads past the contents, provenance reads as words, paper leaves folds out."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<table") == page.count("<caption")
    assert page.index('class="skip" href="#content"') < page.index("<main") < page.index('id="content"')
    assert "changed since" not in page
    assert re.search(r"(no|some) uncommitted changes, commit [0-9a-f]", page) or ", commit" not in page
    paper = page[page.index("@media print { :root") :]
    assert "details:not([open]), details:has(table.listed), noscript { display: none; }" in paper
    assert page.count("Remarks on the runs behind the means") <= 1


def test_a_name_is_no_formula_in_a_csv() -> None:
    """Cells that a spreadsheet would run begin with a quotation mark; numbers and all else stand as they are."""
    texts = ["=1+1", "@a", "+cmd|x", "-x(1)", "-12", "+3", "-", "-inf", "a=1", "1/3"]
    frame = pd.DataFrame(
        {"name": texts, "value": [1, None, *range(8)], "whole": pd.Series([1, None] * 5, dtype=object)}
    )
    lines = csv_of(frame).decode().splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == [f"'{text}" for text in texts[:4]] + texts[4:]
    plain = frame.to_csv(index=False, lineterminator="\n").splitlines()[1:]
    assert [line.split(",")[1:] for line in lines] == [line.split(",")[1:] for line in plain]
