"""Theorem 5 in tables: the verdict on its inequality, and beside it which assumptions of its proof fail."""

import csv
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.report.claims import ClaimSummary, summarise_claims
from ratiobench.bench.report.rows import results_text
from ratiobench.bench.results.read import read_folder
from ratiobench.bench.running.runner import RunOptions, run_suite
from ratiobench.bench.show import assumptions_text, check_text
from ratiobench.bench.storage.payload import Check
from ratiobench.instances.lora.named import path
from tests.support.rows import made_row

ALGORITHMS = ["pdftsp", "pdftsp:money=1/1000", "pdftsp:updates=admitted", "greedy"]
SMALL = "thm5_T5_3tasks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases of the suite `quick`, in whole and in small units of money, and algorithms that are not the paper's."""
    return _made(tmp_path_factory.mktemp("facts") / "out", [SMALL, "tiny_contention"], ALGORITHMS)


def _made(out: Path, cases: Sequence[str], algorithms: Sequence[str]) -> Path:
    family, suite = find_suite("quick")
    chosen = tuple(replace(case, algorithms=tuple(algorithms)) for case in suite.cases if case.name in cases)
    run_suite(family, replace(suite, cases=chosen), RunOptions(out=out, quiet=True))
    assert main(["report", str(out)]) == 0
    return out


def _settled(folder: Path) -> ClaimSummary:
    found = read_folder(folder)
    [settled] = [each for each in summarise_claims(found, families()["lora"]) if each.statement.name == "theorem5"]
    return settled


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_results_have_a_column_of_the_assumptions_that_fail(folder: Path) -> None:
    """Empty where the theorem is not about the algorithm; no other check has the column."""
    found = {
        row["algorithm"]: (row["theorem5"], row["theorem5_failing"]) for row in _rows(folder) if row["case"] == SMALL
    }
    assert found == {
        "pdftsp": ("violated", "[]"),
        "pdftsp:money=1/1000": ("holds", '["bbar >= 1"]'),
        "pdftsp:updates=admitted": ("not applicable", ""),
        "greedy": ("not applicable", ""),
    }
    assert [name for name in _rows(folder)[0] if name.endswith("_failing")] == ["theorem5_failing"]


def test_the_cell_has_verdict_bound_and_assumptions(folder: Path) -> None:
    """In the table of a terminal, in which the exact bound has no column of its own."""
    text = results_text(read_folder(folder), families()["lora"])
    block = text[text.index(f"{SMALL}: ") :].splitlines()[:10]
    head = next(line for line in block if line.lstrip().startswith("algorithm "))
    assert "bound" not in head
    for algorithm, cell in {
        "pdftsp *": "violated (bound 24.5; assumptions hold)",
        "pdftsp:money=1/1000 *": "holds (bound 3.521; bbar >= 1 fails)",
        "greedy": "not applicable",
    }.items():
        [line] = [line for line in block if line.strip().startswith(f"{algorithm}  ")]
        assert f"  {cell}  " in line, line
    assert "Theorem 5, assumptions of its proof that fail: bbar >= 1 (3 rows)." in text


@pytest.mark.parametrize(
    ("right", "failing", "cell"),
    [
        ("1488998/1000", '["bbar >= 1"]', "holds (bound 1,489; bbar >= 1 fails)"),
        ("2440332166961/3000", "[]", "holds (bound 813,444,056; assumptions hold)"),
        ("12", '["bbar >= 1", "costs >= 0"]', "holds (bound 12; bbar >= 1 and costs >= 0 fail)"),
        ("1/3", '["a", "b", "c", "d"]', "holds (bound 0.334; a, b and 2 more fail)"),
        (None, "[]", "holds (assumptions hold)"),
        ("12", None, "holds"),
    ],
)
def test_the_bound_is_rounded_up_and_failing_assumptions_are_named(right: Any, failing: Any, cell: str) -> None:
    """A figure of a table that is not exact is on the safe side; a check that does not ask shows its verdict alone."""
    check = Check("half", Verdict.HOLDS, None, right, "", {}, failing and json.loads(failing))
    row = made_row(checks={"half": check})
    assert check_text(row, "half") == cell
    assert (row.failing("half") is None) == (cell == "holds")


def test_one_failing_assumption_fails_and_several_fail() -> None:
    said = [assumptions_text(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])]
    assert said == ["assumptions hold", "a fails", "a and b fail", "a, b and 1 more fail"]


def test_a_witness_on_which_the_assumptions_hold_comes_first(folder: Path, tmp_path: Path) -> None:
    """One outside of them is weaker evidence, however small; rows outside are counted."""
    settled = _settled(folder)
    assert settled.witness is not None
    assert (settled.witness.case, settled.witness.algorithm) == (SMALL, "pdftsp")
    assert (settled.failing, settled.sound) == (3, 1)
    assert settled.summary.endswith("4 not applicable (on 3 an assumption of its proof fails)")
    assert settled.counts[Verdict.NOT_APPLICABLE] == 4
    # Both rows violate it, and the first one is outside: the second one is the witness.
    _made(tmp_path / "out", [SMALL], ["pdftsp:updates=all,alpha=6,beta=5", "pdftsp:search=printed"])
    settled = _settled(tmp_path / "out")
    assert settled.witness is not None
    assert settled.witness.failing("theorem5") == []


def test_the_page_has_verdict_bound_and_assumptions(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "holds (bound 3.521; bbar &gt;= 1 fails)" in page
    claim = page[page.index('id="claim-theorem5"') :]
    assert "on 3 an assumption of its proof fails" in claim[: claim.index("</tr>")]
    assert "its proof assumes" in claim[: claim.index("</tr>")]


def test_results_of_before_the_field_are_read(folder: Path, tmp_path: Path) -> None:
    """A store without it has the verdicts alone, and no column."""
    out = tmp_path / "old"
    out.mkdir()
    (out / "results.sqlite").write_bytes((folder / "results.sqlite").read_bytes())
    with sqlite3.connect(out / "results.sqlite") as connection:
        for key, payload in connection.execute("SELECT key, payload FROM pieces WHERE stage = 'audit'").fetchall():
            document = json.loads(payload)
            for check in document["checks"]:
                del check["failing"]
            connection.execute(
                "UPDATE pieces SET payload = ? WHERE stage = 'audit' AND key = ?", (json.dumps(document), key)
            )
    found = read_folder(out)
    assert not [name for name in found.exact if str(name).endswith("_failing")]
    assert "  violated  " in results_text(found, families()["lora"])


def test_audit_explain_and_search_say_both_facts(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(path(SMALL))
    small = ["--algorithm", "pdftsp:money=1/1000", "--claim", "theorem5"]
    assert main(["audit", file, *small]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.startswith("theorem5: holds  ")
    assert "bbar >= 1 fails, which its proof assumes (the least bbar over minimal schedules is 0.001)" in line
    assert main(["audit", file, *small, "--json"]) == 0
    [check] = json.loads(capsys.readouterr().out)["checks"]
    assert (check["status"], check["failing"]) == ("holds", ["bbar >= 1"])
    [row] = ratiobench.audit(file, "pdftsp:money=1/1000", "theorem5").to_dict("records")
    assert (row["verdict"], row["failing"]) == ("holds", ["bbar >= 1"])
    assert main(["explain", file, *small]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("Theorem 5 holds here: OPT = 312 <= ")
    assert lines[2].endswith("; proof of the claim: bbar >= 1 fails")
    assert any(each.strip().startswith("P~ <= rho ALG (Lemma 3): not applicable (bbar >= 1 fails") for each in lines)
    assert main(["search", "theorem5", "--tries", "300"]) == 0
    assert "audited with pdftsp: holds (proof of the claim: assumptions hold)" in capsys.readouterr().out


def test_a_frame_has_the_assumptions_behind_the_verdict(folder: Path) -> None:
    frame = ratiobench.results(folder).frame()
    assert list(frame)[-2:] == ["theorem5", "theorem5_failing"]
