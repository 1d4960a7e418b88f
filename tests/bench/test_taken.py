"""The figures of a later run of some algorithms take the place of theirs in the committed tables."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tools import readme_tables

LINES = [
    {"plot": "reached", "group": "a", "algorithm": "old", "mean": "1/2", "said": ""},
    {"plot": "reached", "group": "a", "algorithm": "new", "mean": "1/3", "said": "x"},
    {"plot": "reached", "group": "b", "algorithm": "new", "mean": "1/4", "said": ""},
]


def _folder(path: Path, **about: object) -> Path:
    path.mkdir()
    (path / "provenance.json").write_text(json.dumps({"suite": "toy"} | about), encoding="utf-8")
    return path


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed table of a whole run, and its provenance."""
    monkeypatch.setattr(readme_tables, "PAPER", tmp_path / "results" / "paper.csv")
    (tmp_path / "results").mkdir()
    readme_tables.take(_folder(tmp_path / "whole"), {tmp_path / "results" / "toy.csv": pd.DataFrame(LINES)})
    return tmp_path / "results"


def test_lines_of_some_algorithms_are_replaced(results: Path, tmp_path: Path) -> None:
    """In their places, all others as they were; a whole run replaces all, and what was told of the part."""
    table = results / "toy.csv"
    before = table.read_text(encoding="utf-8").splitlines()
    assert before[1:] == ["reached,a,old,1/2,", "reached,a,new,1/3,x", "reached,b,new,1/4,"]
    better = pd.DataFrame([line | {"mean": "9/10", "said": ""} for line in (LINES[2], LINES[1])])
    readme_tables.take(_folder(tmp_path / "part", rows=["n*"]), {table: better})
    after = table.read_text(encoding="utf-8").splitlines()
    assert after == [before[0], before[1], "reached,a,new,9/10,", "reached,b,new,9/10,"]
    assert sorted(each.name for each in results.iterdir()) == [
        "toy.csv", "toy_provenance.json", "toy_rows_provenance.json",
    ]  # fmt: skip
    readme_tables.take(_folder(tmp_path / "more", rows=["o*"]), {table: pd.DataFrame(LINES[:1])})
    readme_tables.take(_folder(tmp_path / "same", rows=["n*"]), {table: better})
    assert [path.name for path in readme_tables.provenances_of("toy")] == [
        "toy_rows2_provenance.json", "toy_rows_provenance.json", "toy_provenance.json",
    ]  # fmt: skip
    readme_tables.take(_folder(tmp_path / "again"), {table: pd.DataFrame(LINES)})
    assert table.read_text(encoding="utf-8").splitlines() == before
    assert [path.name for path in readme_tables.provenances_of("toy")] == ["toy_provenance.json"]


@pytest.mark.parametrize(
    "lines",
    [[LINES[1] | {"group": "c"}], [{**LINES[1], "more": "1"}], [LINES[1] | {"algorithm": "other"}], LINES[1:2]],
    ids=["group", "column", "algorithm", "missing"],
)
def test_other_lines_are_refused(lines: list[dict[str, str]], results: Path, tmp_path: Path) -> None:
    before = {each: each.read_bytes() for each in results.iterdir()}
    with pytest.raises(ValueError, match=r"toy\.csv: other lines or columns"):
        readme_tables.take(_folder(tmp_path / "part", rows=["n*"]), {results / "toy.csv": pd.DataFrame(lines)})
    assert {each: each.read_bytes() for each in results.iterdir()} == before


def _figure(plot: str, kind: str, group: str, algorithm: str, mean: str) -> dict[str, str]:
    return {
        "plot": plot, "kind": kind, "group": group, "algorithm": algorithm, "cases": "2", "mean_lower": mean,
        "mean_upper": mean, "low": "", "high": "", "unbounded": "0", "left_out": "0", "oracle": "False", "said": "",
    }  # fmt: skip


def _row(group: str, run: int, algorithm: str, welfare: str, proof: str) -> dict[str, str]:
    case = f"{group}, run {run}"
    row = {"case": case, "group": group, "algorithm": algorithm, "welfare": welfare}
    return row | {"state": "ok", "opt_proof": proof}


def test_some_rows_of_the_papers_figures_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New lines stand where the suite has them; not taken are OPT, seconds, ratios of an OPT that is not known, and the
    best in hindsight of algorithms that were not all run. The paper's percentages follow from the runs.
    """
    paper, runs, prints = (tmp_path / name for name in ("paper.csv", "paper_runs.csv", "paper_printed.csv"))
    for name, path in (("PAPER", paper), ("RUNS", runs), ("PRINTED", prints)):
        monkeypatch.setattr(readme_tables, name, path)
    group, day, best = "fig8: high, Poisson 80", "fig12: pai", "pdftsp:units=given, best of 5 money scales in hindsight"
    ours, plain = ("pdftsp:search=printed", "pdftsp")
    old = [
        _figure("fig8", "welfare", group, "OPT", "100"),
        _figure("fig8", "welfare", group, "pdftsp:units=given", "50"),
        _figure("fig8", "welfare", group, best, "60"),
        _figure("fig8", "welfare", group, "pdftsp:search=printed,units=given", "51"),  # the suite has it no more
        *(_figure("fig8", "welfare", group, name, "80") for name in ("titan", "eft", "ntm", "eft:admit=all")),
        _figure("fig8", "welfare", group, "ntm:admit=all", "80"),
        *(_figure("fig4", "welfare", "fig4: 50 nodes", name, "80")
          for name in (plain, ours, "titan", "eft", "ntm", "eft:admit=all", "ntm:admit=all")),
        _figure("fig13", "seconds", "fig13: Poisson 80", "pdftsp:search=printed,units=given", "0.5"),
    ]  # fmt: skip
    pd.DataFrame(old).to_csv(paper, index=False)
    folder = _folder(tmp_path / "part", suite="paper", rows=["*"])
    new = [
        _figure("fig8", "welfare", group, "OPT", "999"),
        _figure("fig8", "welfare", group, ours, "40"),
        _figure("fig8", "welfare", group, plain, "44"),
        _figure("fig8", "welfare", group, best, "41"),
        _figure("fig8", "welfare", group, "eft", "80"),
        _figure("fig12", "ratio", day, ours, "9"),
        _figure("fig12", "ratio", "fig12: philly", ours, "2"),
        _figure("fig13", "seconds", "fig13: Poisson 80", ours, "7"),
    ]
    monkeypatch.setattr(readme_tables, "figure_data", lambda *_: pd.DataFrame(new))
    rows = [
        *(_row(group, run, ours, value, "lagrangian") for run, value in enumerate(("39", "41"))),
        *(_row(group, run, "eft", value, "lagrangian") for run, value in enumerate(("79", "81"))),
        _row(group, 0, "greedy", "1", "lagrangian"),
        _row(day, 0, ours, "1", "trivial"),
        _row("fig12: philly", 0, ours, "1", "lagrangian"),
    ]
    pd.DataFrame(rows).to_csv(folder / "results.csv", index=False)
    readme_tables.take_paper(folder)
    table = readme_tables.figures(paper)
    assert list(table.loc[table["plot"] == "fig8", ["algorithm", "mean_lower"]].itertuples(index=False, name=None)) == [
        ("OPT", "100"), (plain, "44"), (ours, "40"), ("pdftsp:units=given", "50"), (best, "60"), ("titan", "80"),
        ("eft", "80"), ("ntm", "80"), ("eft:admit=all", "80"), ("ntm:admit=all", "80"),
    ]  # fmt: skip
    assert list(table.loc[table["plot"] == "fig12", "group"]) == ["fig12: philly"]
    assert list(table.loc[table["plot"] == "fig13", "algorithm"]) == ["pdftsp:search=printed,units=given"]
    assert set(readme_tables.figures(runs)["algorithm"]) == {ours, "eft"}
    found = {
        (row["plot"], row["algorithm"], row["than"]): row for row in readme_tables.figures(prints).to_dict("records")
    }
    assert found["fig8", ours, "eft"] | {"low": "", "high": ""} == {
        "plot": "fig8", "group": group, "algorithm": ours, "than": "eft", "paper_percent": "151.57", "cases": "2",
        "percent": "-50", "low": "", "high": "",
    }  # fmt: skip
    assert found["fig8", ours, "eft"]["low"]
    assert (found["fig8", ours, "titan"]["percent"], found["fig8", ours, "titan"]["low"]) == ("-50", "")
    assert found["fig8", plain, "titan"]["percent"] == "-45"
    assert (tmp_path / "paper_rows_provenance.json").exists()
