"""The tables and the page: exact figures in the CSV, one self-contained page that is sound HTML."""

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

import pandas as pd
import pytest
from markupsafe import Markup

from ratiobench.bench.cli import main
from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families
from ratiobench.bench.report.claims import ClaimSummary, claims_section, fallen_lines, summarise_claims
from ratiobench.bench.report.figures import make_figure
from ratiobench.bench.report.page import list_pictures, render_run
from ratiobench.bench.report.tables import csv_of, render_page, table_html
from ratiobench.bench.report.write import label_rows, list_figures
from ratiobench.bench.results.ratios import interval_text
from ratiobench.bench.results.read import Results, read_folder
from ratiobench.bench.results.row import ACCOUNTS, COLUMNS
from ratiobench.bench.show import check_title
from ratiobench.bench.storage.payload import Check
from ratiobench.bench.storage.store import Store, StoredResult
from ratiobench.instances.io.errors import InputError
from tests.support.rows import made_row
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
VOID = {"meta", "br", "wbr", "path", "use", "rect", "circle", "line", "input"}


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


def page_of(results: Results) -> str:
    family = families()["toy"]
    figures = list_figures(results, family)
    pictures = {picture.name: picture for picture in list_pictures(results, figures)}
    return render_run(results, family, summarise_claims(results, family), figures, pictures, "cited so")


@pytest.fixture
def found(folder: Path) -> Results:
    return read_folder(folder)


@pytest.fixture
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_is_sound_and_needs_no_network(page: str) -> None:
    """Tags balance, no id stands twice, links lead somewhere, nothing is fetched."""
    found = read(page)
    assert (found.problems, found.stack, found.fetched) == ([], [], [])
    assert len(found.ids) == len(set(found.ids))
    assert "@import" not in page
    used = set(re.findall(r'url\(#([\w-]+)\)|href="#([^"]+)"', page))
    assert {name for pair in used for name in pair if name} <= set(found.ids)


def test_no_table_and_no_figure_is_empty(page: str) -> None:
    """Every table has a caption, headings and rows of as many cells; every figure is a picture."""
    tables = re.findall(r"<table>.*?</table>", page, flags=re.DOTALL)
    assert len(tables) > 3
    for table in tables:
        head, rows = table.count("<th "), re.findall(r"<tr[^>]*>(<td.*?)</tr>", table, flags=re.DOTALL)
        assert rows
        assert "<caption>" in table
        assert {row.count("<td") for row in rows} == {head}
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    assert figures
    assert all(re.search("<path|<use", figure) for figure in figures)


def test_the_page_opens_with_the_answer(page: str) -> None:
    """The picture of shares, their table, claims that fell, what to doubt; then the sections."""
    places = [
        page.index(part)
        for part in (
            'aria-label="Share of OPT"',
            "Share of OPT by algorithm",
            "claims are violated",
            'class="doubts"',
            "<nav",
        )
    ]
    assert places == sorted(places)
    assert page.count("<li>", places[3], places[4]) <= 5


def test_templates_are_loaded_where_a_page_is_made_and_not_before() -> None:
    """The commands start without Jinja, pandas and matplotlib; a report without pictures draws nothing."""
    program = """import sys, ratiobench.bench.cli
names = ("jinja2", "pandas", "matplotlib")
before = [name for name in names if name in sys.modules]
import ratiobench.bench.report.page
print(before, [name for name in names if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ['jinja2', 'pandas']"


def test_words_from_outside_are_text_on_the_page() -> None:
    """Tags in names, in headings and between backquotes are escaped; long names may be broken; markup stays."""
    name = '<i>"x"</i>: a&b,c'
    assert "".join(read(str(table_html([{"<b>": name}]))).text).count(name) == 1
    assert "<i>" not in table_html([{"<b>": name}])
    assert "<i>x</i>" in table_html([{"a": Markup("<i>x</i>")}])
    assert "a&lt;b&gt;:<wbr>c,<wbr>d" in table_html([{"a": "a<b>:c,d"}])
    assert "<p><code>&lt;b&gt;</code> &amp; <code>c</code></p>" in render_page("<x>", (), ["`<b>` & `c`"])


def test_every_row_and_how_to_make_it_is_on_the_page(folder: Path, page: str) -> None:
    """All rows of the CSV, their ratio, the instance hashes and the commands to reproduce them."""
    text = " ".join(read(page).text)
    for row in pd.read_csv(folder / "results.csv", dtype=str).to_dict("records"):
        assert str(row["instance"]) in text
        assert interval_text(Fraction(row["ratio_lower"]), Fraction(row["ratio_upper"])) in text
    assert "python -m ratiobench run toy" in text
    assert "--effort 2" in text


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_pages_script_sorts_unknown_last_and_unbounded_above_all_numbers() -> None:
    """Intervals count by their first number; commas are between thousands."""
    script = files("ratiobench.bench.report").joinpath("page.js").read_text(encoding="utf-8")
    functions = "".join(re.findall(r"^function \w+\(.*?^}", script, re.DOTALL | re.MULTILINE))
    program = f"""{functions}
        const texts = ["3", "unbounded", "[1.5, 9]", "1,200", "at least 12.5 %", "-"];
        const keys = texts.map((textContent) => keyOf({{ textContent }}));
        console.log(keys.sort((a, b) => a.unknown - b.unknown || compare(a, b)).map(({{ text }}) => text).join("|"));"""
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1.5, 9]|3|at least 12.5 %|1,200|unbounded|-"
    assert len(script.splitlines()) <= 40


def test_a_part_of_a_suite_has_no_empty_figures(tmp_path: Path) -> None:
    made("toy-plots", tmp_path, "--only", "5 run*")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    found = read_folder(tmp_path)
    drawn = [make_figure(found, plot, families()["toy"]) for plot in found.plots]
    empty = [figure for figure in drawn if figure.is_empty]
    assert empty
    shown = set(re.findall(r'id="figure-([\w-]+)"', page))
    assert shown == {figure.plot.name for figure in drawn} - {figure.plot.name for figure in empty}
    assert "left out:" not in page
    assert {group for figure in drawn for group in figure.plot.groups} == {"5"}


def test_algorithms_are_called_as_a_reader_knows_them(folder: Path, tmp_path: Path, found: Results) -> None:
    """`report --label` names them in tables and pictures; results.csv and commands keep their names."""
    shutil.copytree(folder, tmp_path / "out")
    words = ["report", str(tmp_path / "out"), "--label", "above:mark=50=Ours, new", "--label", "one=Theirs"]
    assert main(words) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Ours, new" in page
    assert "Theirs" in (tmp_path / "out" / "figures" / "share-of-opt.svg").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "results.csv").read_bytes() == (folder / "results.csv").read_bytes()
    labelled = label_rows(found, {"one": "Theirs"})
    assert {row.label for row in labelled.records if row.algorithm == "one"} == {"Theirs"}
    with pytest.raises(InputError, match="--label: 'oen' is not one of"):
        label_rows(found, {"oen": "x"})
    with pytest.raises(InputError, match="is the name of two algorithms"):
        label_rows(found, {"one": "X", "two": "X"})
    assert main(["report", str(folder), "--label", "one"]) == 2


def test_only_five_kinds_of_files_are_written(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()} - {"instances", "results.sqlite"}
    assert names == {"results.csv", "claims.csv", "provenance.json", "report.html", "figures"}


def test_csv_columns_are_documented_and_exact(folder: Path) -> None:
    """Each column is a field of a row, or of a measure or a check; exact figures agree with each other as fractions."""
    frame = pd.read_csv(folder / "results.csv", dtype=str)
    checks = {f"half{part}" for part in ("", "_left", "_right", "_reason", "_figures")}
    assert set(frame.columns) == set(COLUMNS) | {"share"} | checks | set(ACCOUNTS)
    assert list(frame.columns)[-4:] == list(ACCOUNTS)
    for row in frame.to_dict("records"):
        lower, upper, welfare = (Fraction(row[name]) for name in ("opt_lower", "opt_upper", "welfare"))
        assert Fraction(row["ratio_lower"]) == lower / welfare
        assert Fraction(row["ratio_upper"]) == upper / welfare
        assert Fraction(row["reached"]) * upper == welfare
        vendors, energy, bids, profit = (Fraction(row[name]) for name in ACCOUNTS)
        assert (vendors, energy) == (2 * int(row["admitted"]), 0)
        assert profit == bids - vendors - energy == welfare  # the toy has no payments: list prices
        assert float(row["ratio_upper_float"]) == float(upper / welfare)


def test_claims_are_counted_and_the_smallest_witness_is_named(
    folder: Path, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert "Claims and verdicts" in page
    assert f"--algorithm {witness['algorithm']} --claim half" in page
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
    capsys.readouterr()
    main(["report", str(folder)])
    assert re.search(r"^  sum +proved +by proof +-$", capsys.readouterr().out, flags=re.MULTILINE)


def test_the_page_says_how_the_paper_is_read(page: str) -> None:
    assert page.count("<li>Numbers: <code>room</code> counts those &lt; 9 too.</li>") == 1
    assert '<a href="#readings">Readings of the paper</a>' in page


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


def test_titles_of_checks_are_words() -> None:
    assert check_title("theorem5_repaired") == "Theorem 5 repaired"
    assert check_title("lemma1") == "Lemma 1"
    assert check_title("theorem_c_a_priori") == "Theorem C a priori"
    assert check_title("individual_rationality") == "Individual rationality"


def test_results_say_which_commit_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the checkout, and whether files differ from it; nothing where there is no checkout or no git."""
    from ratiobench.bench.running import machine

    root = tmp_path / "checkout"
    (root / "bench").mkdir(parents=True)
    monkeypatch.setattr(machine, "__file__", str(root / "bench" / "running" / "machine.py"))
    assert machine.collect()["code"] == {}

    def git(*words: str) -> str:
        me = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        done = subprocess.run(["git", "-C", str(root), *me, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    (root / "bench" / "x.py").write_text("")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    assert machine.collect()["code"] == {"commit": git("rev-parse", "HEAD"), "changed since": "no"}
    (root / "bench" / "x.py").write_text("x = 1\n")
    assert machine.collect()["code"]["changed since"] == "yes"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.collect()["code"] == {}


def test_the_page_cites_every_source(found: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """In full; a family without sources has no such section."""
    family = families()["toy"]
    assert "Sources" not in read(page_of(found)).text
    sources = families()["lora"].sources
    monkeypatch.setattr(family, "sources", sources, raising=False)
    page = read(page_of(found))
    assert not page.problems
    for source in sources:
        assert {source.title, source.name} <= set(page.text)


def test_claims_that_fall_come_first_and_idle_ones_are_named() -> None:
    """An error of ours, then what is violated, undecided, holds, by proof; what applies to no run is out of the way."""
    kinds = {
        "proved_by_hand": {},
        "sound": {Verdict.HOLDS: 2},
        "open": {Verdict.UNDECIDED: 1, Verdict.HOLDS: 2},
        "idle": {Verdict.NOT_APPLICABLE: 5},
        "fallen": {Verdict.VIOLATED: 1},
        "wrong": {Verdict.VIOLATED: 1},
    }
    claims = [
        ClaimSummary(
            Statement(name, "", "", "proved" if name == "wrong" else "false", "", "", "q.e.d." * (name[:2] == "pr")),
            Counter(counts),
        )
        for name, counts in kinds.items()
    ]
    [section] = claims_section(claims, families()["toy"])
    page = render_page("x", [section])
    assert re.findall(r'<tr id="claim-(\w+)"', page) == ["wrong", "fallen", "open", "sound", "proved_by_hand"]
    assert "To no run here apply: Idle." in page
    assert [line["runs that violate it"] for line in fallen_lines(claims)] == ["1", "1"]
    assert "an error of ours" in fallen_lines(claims)[0]["Proof status"]
    assert not list(claims_section((), families()["toy"]))
    [section] = claims_section(claims[3:4], families()["toy"])
    assert "To no run here apply: Idle." in render_page("x", [section])


def test_the_witness_of_a_claim_has_the_command_that_shows_it() -> None:
    """Step by step where the family explains runs of that size."""
    family = families()["lora"]
    statement = next(each for each in family.statements() if each.name == "theorem5")
    check = Check("theorem5", Verdict.VIOLATED, "26", "49/2", "", {})
    witness = made_row("pdftsp", "thm5", instance="abc", checks={"theorem5": check})
    for tasks, command in ((3, "explain"), (31, "audit")):
        described = {"tasks": tasks, "slots": 5, "nodes": 1}
        claim = ClaimSummary(statement, Counter({Verdict.VIOLATED: 1}), witness, described, sizes=("tasks",))
        [section] = claims_section([claim], family)
        page = render_page("x", [section])
        assert f"{command} instances/abc.json.gz --algorithm pdftsp --claim theorem5" in page
        assert "26 &gt; 24.5" in page
        assert f"thm5 ({tasks} tasks), pdftsp" in page


def test_a_suite_about_verdicts_has_them_first(page: str, found: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the sections; groups are called as the suite calls them."""
    from ratiobench.bench.report import page as pages
    from ratiobench.bench.report import rows

    suite = replace(families()["toy"].suites()[0], verdicts_first=True, groups={"even": "even ones"})
    for module in (rows, pages):
        monkeypatch.setattr(module, "find_suite_if_any", lambda _: suite)
    changed = page_of(found)
    assert changed.index('id="claims"') < changed.index('id="compare"')
    assert page.index('id="claims"') > page.index('id="compare"')
    assert "share of OPT: even ones, 3 cases" in changed
    assert "even ones 3 cases: toy0, toy2, twin" in changed


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
