"""What a paper takes from a run (docs/paper.md): a table, tests, figures as files, a line that cites the run."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.standard import read_set
from ratiobench.bench.report.write import cite
from ratiobench.bench.results.read import Results, read_folder
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("toy", tmp_path_factory.mktemp("paper"))


def results(folder: Path) -> Results:
    return read_folder(folder)


def test_a_report_cites_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same line on the terminal and the page; the hash is that of results.csv."""
    assert main(["report", str(folder)]) == 0
    out = capsys.readouterr().out
    digest = hashlib.sha256((folder / "results.csv").read_bytes()).hexdigest()
    line = cite(results(folder))
    assert f"Cite: {line} Page:" in " ".join(out.split())
    assert "suite toy" in line
    assert line.endswith(f"results.csv SHA-256 {digest[:12]}")
    assert f"<p>Cite: {line}</p>" in (folder / "report.html").read_text()


def test_the_recipes_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The LaTeX table, and the tests of scikit-posthocs if it is installed."""
    page = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")
    table, tests = re.findall(r"```python\n(.*?)```", page.replace('"DIR"', repr(str(folder))), flags=re.DOTALL)
    exec(table, {})
    text = capsys.readouterr().out
    assert r"\toprule" in text
    assert re.search(r"^above:mark=50 & .*\d\.\d \\\\$", text, re.MULTILINE)
    pytest.importorskip("scikit_posthocs")
    exec(tests, {})


def test_the_instances_of_the_standard_set_are_counted(folder: Path) -> None:
    found = results(folder)
    assert "suite toy, " in cite(found)
    known = read_set().entries[0].instance
    cases = [replace(found.cases[0], instance=known), *found.cases[1:]]
    assert f"suite toy (1 of {len(cases)} cases are in set {read_set().name}), " in cite(replace(found, cases=cases))


def test_figures_are_svg_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "figures"
    assert main(["report", str(folder), "--figures", str(out)]) == 0
    assert "2 figures as SVG" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["profile.svg", "share-of-opt.svg"]
