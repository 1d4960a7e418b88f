"""EAPM through the commands: its suites, claims and measures, the paper's figures beside ours, the page, one run."""

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.eapm.claims import CLAIMS, audit
from ratiobench.bench.eapm.evaluation import measures
from ratiobench.bench.eapm.suites import ALGORITHMS, GAMMAS, READINGS, TABLE1, suites
from ratiobench.bench.family.registry import find_suite
from ratiobench.instances.eapm.generate import generate, named, path
from ratiobench.online.eapm.algorithms import exact_step
from ratiobench.online.eapm.run import run
from ratiobench.online.outcome import OnlineRun
from tests.support import literal_eapm
from tools.readme_tables import figure_data


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repetitions of three columns of Table 1, run."""
    out = tmp_path_factory.mktemp("table1")
    only = [word for gamma in ("1.05", "1.2", "1.5") for word in ("--only", f"gamma {gamma}, run [01]")]
    assert main(["run", "eapm-table1", *only, "--out", str(out), "--workers", "1", "--quiet"]) == 0
    return out


def test_every_suite_has_the_papers_sizes() -> None:
    """Gammas, numbers of users, orders and repetitions; every group of a figure has cases."""
    by_name = {suite.name: suite for suite in suites()}
    assert {case.recipe["gamma"] for case in by_name["eapm-table1"].cases} == set(GAMMAS)
    for name in ("eapm-fig2", "eapm-fig3"):
        cases = by_name[name].cases
        assert {(case.recipe["gamma"], case.recipe["users"]) for case in cases} == {
            (gamma, users) for gamma in ("1.2", "1.3", "1.5") for users in (30, 100, 300, 1000, 2000)
        }
    assert {case.recipe["order"] for case in by_name["eapm-fig4"].cases} == {"BaS", "SaB", "Rand", "Equal"}
    for suite in suites():
        groups = [case.group for case in suite.cases]
        for plot in suite.plots:
            assert set(plot.groups) <= set(groups)
            assert min(groups.count(group) for group in plot.groups) >= 5


def test_the_gammas_of_a_repetition_differ_in_prices_alone() -> None:
    """Paired repetitions: same matrices, bags and order of arrival in every column of Table 1."""
    cases = {case.name: case for case in find_suite("eapm-table1")[1].cases}
    low, high = (generate(cases[f"gamma {gamma}, run 7"].recipe) for gamma in ("1.05", "1.5"))
    for name in ("etc_ms", "apc_mw", "kind", "tasks"):
        assert np.array_equal(getattr(low, name), getattr(high, name))
    assert not np.array_equal(low.price, high.price)


def test_every_command_takes_an_instance_of_either_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """opt, check, online, audit, export: exact figures as fractions in strings, decisions that check accepts."""
    file, solution = str(path("lemma1_misses")), str(tmp_path / "solution.json")
    assert main(["opt", file, "--json", "--solution", solution]) == 0
    opt = said(capsys)
    assert Fraction(opt["lower"]) == Fraction(opt["upper"]) == Fraction(7, 400)
    assert main(["check", file, solution, "--json"]) == 0
    verdict = said(capsys)
    assert verdict["valid"]
    assert Fraction(verdict["welfare"]) == Fraction(7, 400)
    assert main(["simulate", file, "--algorithm", "online", "--json"]) == 0
    assert Fraction(said(capsys)["welfare"]) == Fraction(171, 10_000)
    assert main(["audit", file, "--algorithm", "online", "--json"]) == 0
    checks = {each["name"]: each for each in said(capsys)["checks"]}
    assert checks["best_step"]["status"] == "violated"
    assert Fraction(checks["best_step"]["left"]) == Fraction(7, 400)
    assert main(["export", file, "--format", "lp"]) == 0
    assert "Maximize" in capsys.readouterr().out
    assert main(["simulate", file, "--algorithm", "balance"]) == 0
    assert "profit rate" in capsys.readouterr().out


def test_theorem_1_counts_the_systems_that_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Per user one system of m - tau + 2 unknowns for each tau; its verdict is a proof, in arithmetic operations."""
    sizes: list[int] = []
    solve = literal_eapm.solve

    def counted(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
        sizes.append(len(matrix))
        return solve(matrix, right)

    monkeypatch.setattr(literal_eapm, "solve", counted)
    instance = generate({"kind": "users", "users": 4})
    m = len(instance.machines)
    user = instance.user(0)
    etc, cost = user.etc_ms.tolist(), user.cost.tolist()
    literal_eapm.printed(literal_eapm.State([0] * m), etc, cost, cost, user.tasks, user.price, "clipped", "true")
    assert sizes == [m - tau + 2 for tau in range(1, m + 1)]
    [theorem] = [each for each in CLAIMS if each.name == "theorem1"]
    assert theorem.standing == "proved"
    assert theorem.proof
    assert "theorem1" not in {check.name for check in audit(instance, run(instance, "online"), None)}


def test_a_certificate_proves_the_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """opt writes it, check accepts it, and refuses it with one price changed."""
    file, proof = str(path("negative_shares")), tmp_path / "proof.json"
    assert main(["opt", file, "--certificate", str(proof), "--json"]) == 0
    assert said(capsys)["certified"] is not None
    assert main(["check", file, "--certificate", str(proof), "--json"]) == 0
    assert said(capsys)["valid"]
    document = json.loads(proof.read_text())
    document["prices"][0] += 1
    proof.write_text(json.dumps(document))
    assert main(["check", file, "--certificate", str(proof), "--json"]) == 1
    assert not said(capsys)["valid"]


def test_the_table_has_the_papers_means_beside_ours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the terminal, in the data of the figure and on the page, for every reading; ours are the means of the rows."""
    assert main(["report", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "Table 1: profit rate over gamma: what the paper prints, and ours" in text
    printed = figure_data(folder, "printed_means")
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    assert set(printed["algorithm"]) == {*READINGS, "greedy", "average"}
    assert len(printed) == 15
    for line in printed.to_dict("records"):
        gamma = line["group"].removeprefix("gamma ")
        row = TABLE1["online" if line["algorithm"] in READINGS else line["algorithm"]]
        assert line["paper"] == row[GAMMAS.index(gamma)]
        mine = rows[(rows["group"] == line["group"]) & (rows["algorithm"] == line["algorithm"])]["welfare"]
        assert Fraction(line["mean"]) == sum(map(Fraction, mine)) / len(mine)
        assert line["paper"] in text
    over = figure_data(folder, "printed")
    assert set(over["algorithm"]) == set(READINGS)
    for line in over.to_dict("records"):
        place = GAMMAS.index(line["group"].removeprefix("gamma "))
        online, greedy = (Fraction(TABLE1[name][place]) for name in ("online", "greedy"))
        assert abs(Fraction(line["paper_percent"]) - 100 * (online / greedy - 1)) <= Fraction(1, 200)
    page = (folder / "report.html").read_text()
    assert "contradicts its text" in page
    assert "depends on it: in the first two readings its mean over all 100 repetitions is above" in page
    assert "Claims and verdicts" in page
    assert "profit rate" in page


def test_every_valid_run_is_within_the_interval_on_opt(folder: Path) -> None:
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    assert set(rows["algorithm"]) == {*READINGS, *ALGORITHMS}
    assert set(rows["state"]) == {"ok"}
    for row in rows.to_dict("records"):
        assert Fraction(row["welfare"]) <= Fraction(row["opt_upper"])
        assert Fraction(row["opt_upper"]) <= Fraction(1001, 1000) * Fraction(row["opt_lower"])


def _as_printed(made: OnlineRun) -> OnlineRun:
    """The run under the name `online`, with counts that refute none of its claims."""
    counts = {"systems": 6, "negative_shares": 0, "below_makespan": 0}
    return OnlineRun(
        **{name: getattr(made, name) for name in made.__slots__} | {"algorithm": "online", "counts": counts}
    )


def test_a_best_step_that_was_not_looked_for_to_the_end_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("lemma1_misses")
    pretended = _as_printed(run(instance, "online:rule=exact-step"))
    monkeypatch.setattr(exact_step, "LIMIT", 0)
    [found] = [each for each in audit(instance, pretended, None) if each.name == "best_step"]
    assert found.status == "undecided"
    assert "steps have too many candidates" in found.reason


def test_the_claims_are_about_the_algorithm_as_printed() -> None:
    """For all others they do not apply; the exact step is its own best step."""
    instance = named("lemma1_misses")
    for algorithm in ALGORITHMS[1:]:
        checks = audit(instance, run(instance, algorithm), None)
        assert {(each.status, each.reason) for each in checks} == {
            ("not applicable", "a claim about `online` as printed")
        }
    exact = run(instance, "online:rule=exact-step")
    pretended = _as_printed(exact)
    verdicts = {each.name: each.status for each in audit(instance, pretended, None)}
    assert verdicts["best_step"] == "holds"
    assert verdicts["shares"] == verdicts["finish"] == "holds"


@pytest.mark.parametrize("algorithm", READINGS)
def test_a_verdict_names_the_reading_that_it_is_about(algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every reading is asked, and says which one it is: beside its name, and among the figures of each check."""
    instance = named("lemma1_misses")
    options = {"shares": "clipped", "makespan": "true"}
    options |= dict(part.split("=") for part in algorithm.partition(":")[2].split(",") if part)
    reading = f"shares={options['shares']}, makespan={options['makespan']}"
    made = run(instance, algorithm)
    assert made.label == f"online ({reading})"
    assert {each.figures["reading"] for each in audit(instance, made, None)} == {reading}
    assert main(["audit", str(path("lemma1_misses")), "--algorithm", algorithm]) == 0
    assert f"reading = {reading}" in capsys.readouterr().out


def test_claims_say_of_how_many_runs_each_reading_violates_them(folder: Path) -> None:
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    claims = pd.read_csv(folder / "claims.csv", dtype=str).set_index("claim")
    counted = {name: (rows[rows["algorithm"] == name]["best_of_three"] == "violated").sum() for name in READINGS}
    said = set(claims.loc["best_of_three", "violated_by"].split("; "))
    assert said == {f"{name} {count} of 6" for name, count in counted.items() if count}
    assert "online 6 of 6; online:<wbr>shares=excluded 6 of 6" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("name", "algorithm", "violated"),
    [
        *(("lemma1_misses", reading, {"best_step"}) for reading in READINGS),
        *(("negative_shares", reading, {"shares"}) for reading in READINGS),
        *(("finish_below_makespan", reading, {"finish"}) for reading in READINGS),
        ("finish_below_makespan", "online:makespan=system,shares=kept", {"best_step", "best_of_three"}),
        *(("one_machine", reading, set()) for reading in READINGS),
    ],
)
def test_the_named_instances_break_the_claims_that_they_are_named_for(
    name: str, algorithm: str, violated: set[str]
) -> None:
    """At least those; with one machine nothing can go wrong but being no better than the others."""
    instance = named(name)
    found = {each.name for each in audit(instance, run(instance, algorithm), None) if each.status == "violated"}
    assert violated <= found
    if name == "one_machine":
        assert found <= {"best_of_three"}


def test_measures_are_shares_of_what_was_counted() -> None:
    """Energy of Greedy is the least, its makespan the reference; the printed rule's faults as parts of its systems."""
    instance = generate({"kind": "table1", "gamma": "1.2", "seed": ["measures"]})
    greedy = measures(instance, run(instance, "greedy"))
    assert (greedy["energy"], greedy["makespan"], greedy["negative_shares"]) == (1, 1, None)
    printed = run(instance, "online")
    found = measures(instance, printed)
    assert printed.counts["systems"] == 30 * 9
    assert found["negative_shares"] == Fraction(printed.counts["negative_shares"], 270)
    assert found["early_finish"] == Fraction(printed.counts["below_makespan"], 270)
    assert found["energy"] is not None
    assert found["energy"] > 1
