"""What a paper takes from a run: a LaTeX table, figures as files, a line and BibTeX that cite the run."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.family.standard import read_set
from ratiobench.bench.report.latex.table import latex_table
from ratiobench.bench.report.shared.citation import cite, escape_latex
from ratiobench.bench.results.read import Results, read_results
from ratiobench.bench.storage.store import STORE, Store
from ratiobench.online.outcome import Source
from tests.support.rows import made_row
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the suite `toy`."""
    return made("toy", tmp_path_factory.mktemp("paper"))


def results(folder: Path) -> Results:
    """The tables of a folder."""
    with Store.open(folder / STORE, create=False) as store:
        return read_results(store)


def test_text_is_printed_as_it_stands() -> None:
    """Every character that means something to LaTeX, hyphens, accents, and what no font may have."""
    assert escape_latex(r"\{}$&#%_~^<>|") == (
        r"\textbackslash{}\textbraceleft{}\textbraceright{}\$\&\#\%\_\textasciitilde{}\textasciicircum{}"
        r"\textless{}\textgreater{}\textbar{}"
    )
    assert escape_latex("a--b-c---d") == "a-{}-b-c-{}-{}-d"
    accents = "''" + r"\textasciigrave{}M\"{u}ller Rafa[U+0142] [U+4E2D]"
    assert escape_latex('"`Müller Rafał\n中') == accents


def rows() -> list[object]:
    """Two groups; OPT in an interval, a tie, an oracle, an invalid run, a missing group."""
    known = {"opt_lower": Fraction(90), "opt_upper": Fraction(100), "state": "ok", "group": "a_1 & b"}
    known |= {"ratio_kind": "interval", "reached": Fraction(1, 2)}
    return [
        made_row("x_1:k=1,j=2", case="c1", welfare=50, **known),
        made_row("x_1:k=1,j=2", case="c2", welfare=60, **known),
        made_row("y", case="c1", welfare=60, sources=frozenset({Source.ORACLE}), **known),
        made_row("y", case="c2", welfare=50, sources=frozenset({Source.ORACLE}), **known),
        made_row("z", case="c1", welfare=90, **known),
        made_row("z", case="c2", **(known | {"state": "invalid", "ratio_kind": None, "reached": None})),
        made_row("z", case="c3", welfare=90, **(known | {"group": "second", "opt_upper": Fraction(90)})),
    ]


def test_the_table_has_certified_shares_the_best_in_bold(folder: Path) -> None:
    """Intervals rounded outward, ties both bold, no bold for who misses a case; footnotes; names escaped."""
    found = replace(results(folder), records=rows())
    text = latex_table(found, FAMILY, cite(found))
    lines = dict(re.findall(r"^\\texttt\{(.*?)\}(.*) \\\\$", text, re.MULTILINE))
    assert lines[r"x\_1:k=1,j=2"] == r" & \textbf{[55.0, 61.2]} & --"
    assert lines["y"] == r"$^{\ast}$ & \textbf{[55.0, 61.2]} & --"
    assert lines["z"] == r" & [90.0, 100.0]$^{a}$ & \textbf{100.0}"
    assert r"algorithm & \textbf{a\_1 \& b} (2) & \textbf{second} (1) \\" in text
    assert r"$^{a}$ Mean over 1 of 2 cases: 1 invalid.\\" in text
    assert r"$^{\ast}$ Constants are computed from the instance under test" in text
    assert text.startswith(f"% {cite(found).line}\n")
    check_structure(text)


def check_structure(text: str) -> None:
    """Environments and braces are closed, every row has as many cells as columns."""
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    bare = re.sub(r"\\.", "", re.sub(r"(?m)^%.*$", "", text))
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"(?<!\\)[%#~]", bare)
    for columns, body in re.findall(r"\\begin\{tabular\}\{(l+r+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        for line in re.findall(r"^(.* & .*) \\\\$", body, re.MULTILINE):
            assert len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1


def test_many_groups_are_several_tables(folder: Path) -> None:
    """At most five groups beside each other."""
    many = [
        made_row("x", case=f"c{k}", group=f"g{k}", welfare=1, opt_lower=2, opt_upper=2, state="ok") for k in range(7)
    ]
    found = replace(results(folder), records=many)
    text = latex_table(found, FAMILY, cite(found))
    assert re.findall(r"\\begin\{tabular\}\{(\w+)\}", text) == ["lrrrrr", "lrr"]
    check_structure(text)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_table_compiles(folder: Path, tmp_path: Path) -> None:
    """Where LaTeX is installed."""
    found = replace(results(folder), records=rows())
    (tmp_path / "table.tex").write_text(latex_table(found, FAMILY, cite(found)))
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{table}\\end{document}"
    )
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper"], cwd=tmp_path, check=True)


def test_a_report_writes_the_table_and_cites_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same line on the terminal, the page and in the table; the hash is that of results.csv."""
    assert main(["report", str(folder), "--latex"]) == 0
    out = capsys.readouterr().out
    digest = hashlib.sha256((folder / "results.csv").read_bytes()).hexdigest()
    line = cite(results(folder)).line
    assert f"Cite: {line} Page:" in " ".join(out.split())
    assert "suite toy" in line
    assert line.endswith(f"results.csv SHA-256 {digest[:12]}")
    assert f"<p>{line}</p>" in (folder / "report.html").read_text()
    assert (folder / "table.tex").read_text().startswith(f"% {line}\n")
    entries = (folder / "cite.bib").read_text()
    assert f"SHA-256 of results.csv: {digest}" in entries
    assert entries.count("@misc{") == 2
    assert entries.count("{") == entries.count("}")
    check_structure((folder / "table.tex").read_text())


def test_the_instances_of_the_standard_set_are_counted(folder: Path) -> None:
    """By the hash of their content."""
    found = results(folder)
    assert cite(found).standard == ""
    known = read_set().entries[0].instance
    cases = [replace(found.cases[0], instance=known), *found.cases[1:]]
    assert cite(replace(found, cases=cases)).standard == f"1 of {len(cases)} cases are in set {read_set().name}"


def test_figures_are_svg_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the style of every class that they use."""
    out = tmp_path / "figures"
    assert main(["report", str(folder), "--figures", str(out)]) == 0
    assert "1 figures as SVG" in capsys.readouterr().out
    assert sorted(each.name for each in out.iterdir()) == ["profile.svg"]
    style, _, drawing = (out / "profile.svg").read_text(encoding="utf-8").partition("</style>")
    used = {name for words in re.findall(r'class="([^"]*)"', drawing) for name in words.split()} | {"rest"}
    assert all(re.search(rf"\.{name}\b", style) for name in used - {"d1"}), "d1 is a line without dashes"
