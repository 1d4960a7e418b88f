"""The README says what is there: its commands, its example, and the test command that CI runs."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

import bench
from bench.cli.main import main
from bench.eapm.suites import READINGS as EAPM_READINGS
from bench.family.known import families, find_suite
from bench.figures.kinds import KINDS
from bench.lora.paper_suites import RUNS
from bench.lora.readings import READINGS
from bench.running.runner import RunOptions, run_suite
from bench.storage.store import STORE, Store
from bench.tables.rows import read_results
from bench.tables.text import results_text
from instances.eapm.generate import generate as generate_eapm
from instances.eapm.paper import GAMMAS, TABLE1
from instances.lora.named import path
from online.eapm.run import run as run_eapm
from tests.tools import readme_eapm, readme_tables

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_ci_runs_the_readmes_test_command() -> None:
    """The two commands differ in the session alone, and CI's is the second one, letter by letter."""
    [bench, tests] = re.findall(r"^    (python3 -m venv .*)$", README, flags=re.MULTILINE)
    assert bench.replace("-s bench", "-s tests") == tests
    assert tests in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_command_in_the_readme_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row of the table of commands is a command, with the options that it names."""
    section = README.partition("## Commands\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)([^`/]*)` \|", section, flags=re.MULTILINE)
    assert len(rows) >= 10
    for name, usage in rows:
        with pytest.raises(SystemExit) as exit_:
            main([name, "--help"])
        assert exit_.value.code == 0
        text = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", usage):
            assert option in text, f"{name} {option}"


def test_the_readmes_algorithm_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Put into mine.py, it is run by its import path, breaks no rule, and serves somebody."""
    [code] = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    assert main(["online", str(path("tiny_contention")), "--algorithm", "mine:Earliest", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["valid"], run["violations"]
    assert run["admitted"] > 0


def _blocks(text: str) -> dict[str, list[str]]:
    """The case blocks of a result table by the case's name, without the column of seconds."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").splitlines()
        if lines and re.match(r"\w+: tasks ", lines[0]):
            rows = [re.sub(r"\s+\S+\s+(\S+)$", r" \1", line) for line in lines[3:]]
            found[lines[0].split(":")[0]] = [*lines[:2], *(" ".join(row.split()) for row in rows)]
    return found


def test_the_readmes_table_is_what_the_command_prints(tmp_path: Path) -> None:
    """Every case block of the README's table, but the whole day's, comes out of a run again, wall times apart."""
    [shown] = re.findall(r"table of the quick suite: begin -->\n```text\n(.*?)```", README, flags=re.DOTALL)
    expected = _blocks(shown)
    family, suite = find_suite("quick")
    assert {case.name for case in suite.cases} >= set(expected) >= {"pai_40", "philly_60", "helios_100", "philly_7200"}
    again = tuple(case for case in suite.cases if case.name in expected and case.name != "philly_7200")
    run_suite(family, replace(suite, cases=again), RunOptions(tmp_path, quiet=True))
    with Store.open(tmp_path / STORE) as store:
        printed = _blocks(results_text(read_results(store), family))
    assert printed == {case.name: expected[case.name] for case in again}


def test_the_tables_of_the_papers_figures_are_those_of_the_committed_run() -> None:
    """Figures 7, 8 and 12 line by line from bench/lora/results/paper.csv, which has them from all runs of the suite."""
    rows = readme_tables.figures()
    for name, made in (("welfare", readme_tables.welfare(rows)), ("ratios", readme_tables.ratios(rows))):
        [shown] = re.findall(rf"<!-- paper {name}: begin -->\n(.*?)<!-- paper {name}: end -->", README, flags=re.DOTALL)
        assert shown == made
    compared = readme_tables.printed(readme_tables.figures(readme_tables.PRINTED))
    assert f"<!-- paper printed: begin -->\n{compared}<!-- paper printed: end -->" in README
    suite = find_suite("paper")[1]
    about = json.loads(readme_tables.PAPER.with_name("paper_provenance.json").read_text(encoding="utf-8"))
    assert (about["suite"], about["cases"], about["effort"], about["scale"]) == ("paper", len(suite.cases), 1, "full")
    assert about["only"] == about["algorithms"] == []
    shown_plots = {plot.name for plot in suite.plots if plot.kind not in KINDS}
    assert set(rows["plot"]) == shown_plots


def test_the_table_of_the_mechanisms_is_that_of_the_committed_run() -> None:
    """Line by line from bench/lora/results/mechanisms.csv and the count of its verdicts, of all cases of the suite."""
    rows, verdicts = readme_tables.figures(readme_tables.MECHANISMS), readme_tables.figures(readme_tables.VERDICTS)
    [shown] = re.findall(r"<!-- mechanisms: begin -->\n(.*?)<!-- mechanisms: end -->", README, flags=re.DOTALL)
    assert shown == readme_tables.mechanisms(rows, verdicts)
    suite = find_suite("mechanisms")[1]
    about = json.loads(readme_tables.PROVENANCE.read_text(encoding="utf-8"))
    assert (about["suite"], about["cases"], about["effort"], about["scale"]) == ("mechanisms", 45, 1, "full")
    assert about["only"] == about["algorithms"] == []
    assert about["provenance"]["code"]["commit"][:7] in README
    assert list(verdicts["algorithm"]) == list(suite.cases[0].algorithms)
    assert set(verdicts["days"]) == {"45"} == {str(len(suite.cases))}
    assert set(verdicts["violated"]) == {"0"}


@pytest.mark.parametrize("file", ["README.md", "online/lora/README.md"])
def test_how_the_paper_is_read_stands_beside_its_figures(file: str) -> None:
    """The sentences of the page, one by one; and what the intervals of the figures cannot say."""
    text = (ROOT / file).read_text(encoding="utf-8")
    [shown] = re.findall(r"<!-- readings: begin -->\n(.*?)<!-- readings: end -->", text, flags=re.DOTALL)
    assert tuple(" ".join(each.split()) for each in shown.removeprefix("- ").split("\n- ")) == READINGS
    family = families()["lora"]
    assert tuple(family.readings()) == READINGS
    assert RUNS in " ".join(README.split())


def test_the_notebooks_lines_print_the_table_of_the_mechanisms(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snippet, on the committed means of the groups, which all have as many days: digit for digit."""
    [code] = re.findall(r"\n((?:    .*\n|\n)*    rows = bench\.results.*\n(?:    .*\n)*)", README)
    means = readme_tables.figures(readme_tables.MECHANISMS)
    assert set(means.loc[means["plot"] == "mechanisms_reached", "cases"]) == {"5"}
    plots = ["reached", "certificate", "revenue_share", "long_fairness"]
    chosen = means[means["plot"].isin([f"mechanisms_{name}" for name in plots])]
    table = chosen.pivot(index=["group", "algorithm"], columns="plot", values="mean_upper").map(Fraction)
    exact = table.rename(columns=lambda name: name.removeprefix("mechanisms_")).reset_index()
    monkeypatch.setattr(bench, "results", lambda folder: SimpleNamespace(exact=exact), raising=False)
    exec(textwrap.dedent(code), {})
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    [shown] = re.findall(r"<!-- mechanisms: begin -->\n(.*?)<!-- mechanisms: end -->", README, flags=re.DOTALL)
    for line in shown.splitlines()[2:]:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert [row[1:] for row in printed if row and row[0] == name] == [cells[:3], cells[3:6]]


def test_the_tables_of_eapm_are_those_of_the_committed_run() -> None:
    """Line by line from bench/lora/results/eapm_table1*.csv, which have them from all cases of the suite."""
    for (file, name), made in readme_eapm.TABLES.items():
        assert readme_eapm.block(file, name) == made(), name
    suite = find_suite("eapm-table1")[1]
    about = json.loads(readme_eapm.PROVENANCE.read_text(encoding="utf-8"))
    assert (about["suite"], about["cases"], about["effort"], about["scale"]) == (suite.name, 1000, 1, "full")
    assert about["only"] == about["algorithms"] == []
    versions = {"online version 3", "online:shares=excluded version 3", "online:makespan=system,shares=kept version 3"}
    assert versions <= set(about["versions"])


def test_the_default_reading_of_eapm_fits_the_papers_row_best() -> None:
    """The least largest relative deviation over the columns, also if the paper's cells at gamma 1.1 are swapped; and
    whether Online beats Greedy in every column depends on the reading.
    """
    off = {name: max(readme_eapm.deviations(name)) for name in EAPM_READINGS}
    assert min(off, key=lambda name: off[name]) == "online"
    assert [round(float(100 * each), 1) for each in off.values()] == [5.1, 8.9, 20.2]
    shown = _eapm_table()
    cells = {
        name: [Fraction(cell.split(" ")[0]) for cell in shown[f"`{name}`"][:-1]] for name in (*EAPM_READINGS, "greedy")
    }
    v6 = ("22.59", "45.59", "71.66", "98.03", "130.08", "158.61", "195.13", "231.89", "268.76", "305.51")
    assert cells["online"] == [Fraction(cell) for cell in v6]
    swapped = Fraction(TABLE1["greedy"][1])
    for name, worst in off.items():
        assert abs(cells[name][1] / swapped - 1) < worst
    below = {
        name: [gamma for gamma, a, b in zip(GAMMAS, cells[name], cells["greedy"], strict=True) if a <= b]
        for name in EAPM_READINGS
    }
    assert list(below.values()) == [[], [], ["1.05", "1.1"]]


def _eapm_table() -> dict[str, list[str]]:
    """The cells of the README's Table 1 of EAPM by algorithm."""
    lines = readme_eapm.block("README.md", "eapm table 1").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {line[0]: line[1:] for line in cells}


def test_a_column_of_eapms_table_1_comes_out_again() -> None:
    """The mean of 100 repetitions at gamma 1.2, with the paper's figure beside it; the paper's algorithm by reading."""
    shown = _eapm_table()
    column = shown["algorithm"].index("1.2")
    instances = [generate_eapm(case.recipe) for case in find_suite("eapm-table1")[1].cases if case.group == "gamma 1.2"]
    for algorithm in (*EAPM_READINGS, "greedy", "balance"):
        values = [run_eapm(instance, algorithm).welfare for instance in instances]
        printed = TABLE1.get("online" if algorithm in EAPM_READINGS else algorithm)
        beside = f" ({printed[GAMMAS.index('1.2')]})" if printed else ""
        assert shown[f"`{algorithm}`"][column] == f"{float(sum(values) / len(values)):.2f}{beside}"


def test_the_example_of_eapm_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module in online/eapm/README.md, in the folder where it is called."""
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "online/eapm/README.md").read_text(), flags=re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    found = run_eapm(generate_eapm({"kind": "table1", "gamma": "1.5"}), "mine:Halves")
    assert found.valid, found.violations
    assert found.welfare > 0
