"""`audit`, `check`, `search`, `compare` as functions: the same figures as the commands, typed."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.commands.simulate import AUDIT_TYPES
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import named, path
from tests.support.toy_runs import toy  # noqa: F401

WITNESS = path("thm5_T5_3tasks")


def test_audit_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Row by row, in exact figures and in doubles; what the run was stands beside it."""
    assert main(["audit", str(WITNESS), "--algorithm", "pdftsp", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = ratiobench.audit(WITNESS, "pdftsp")
    assert {name: str(found[name].dtype) for name in AUDIT_TYPES} == {
        "claim": "string", "verdict": "category", "left": "float64", "right": "float64", "reason": "string",
    }  # fmt: skip
    rows = zip(found.to_dict("records"), document["checks"], strict=True)
    for row, check in rows:
        assert (row["claim"], row["verdict"], row["reason"]) == (check["name"], check["status"], check["reason"])
        sides = [None if row[f"{side}_exact"] is None else str(row[f"{side}_exact"]) for side in ("left", "right")]
        assert sides == [check["left"], check["right"]]
    theorem = found.set_index("claim").loc["theorem5"]
    assert (theorem["verdict"], theorem["left"], theorem["right_exact"]) == ("violated", 26.0, Fraction(49, 2))
    assert (found.attrs["valid"], found.attrs["upper"], found.attrs["ratio"]) == (True, 312, "26")


def test_audit_of_some_claims_and_of_a_class() -> None:
    from tests.support.contestants import Honest

    found = ratiobench.audit(WITNESS, Honest, ["rational", "theorem5"])
    assert list(found["claim"]) == ["theorem5", "rational"]
    assert found["verdict"].iloc[0] == "not applicable"
    assert list(ratiobench.audit(WITNESS, "pdftsp", "theorem5")["claim"]) == ["theorem5"]
    with pytest.raises(InputError, match="'theorem6' is not known; did you mean 'theorem5'"):
        ratiobench.audit(WITNESS, "pdftsp", "theorem6")


def test_check_takes_runs_reports_documents_and_files(tmp_path: Path) -> None:
    """Whatever holds a solution or a certificate; a wrong one is not valid."""
    instance = named("tiny_contention")
    run, report = ratiobench.simulate(instance, "greedy"), ratiobench.opt(instance)
    assert [ratiobench.check(instance, each)["welfare"] for each in (run, report)] == [run.welfare, report.lower]
    file, certificate = tmp_path / "solution.json", tmp_path / "certificate.json"
    day = str(path("tiny_contention"))
    assert main(["opt", day, "--solution", str(file), "--certificate", str(certificate)]) == 0
    assert ratiobench.check(day, file)["valid"] is True
    proved = ratiobench.check(day, certificate)
    assert proved["valid"] is True
    assert proved["lower"] <= report.lower == report.upper <= proved["upper"]  # not every proof can be a certificate
    document = json.loads(certificate.read_text())
    assert ratiobench.check(day, document)["valid"] is True
    decisions = json.loads(file.read_text())
    taken = next(each for each in decisions["decisions"] if each is not None)
    decisions["decisions"] = [taken for _ in decisions["decisions"]]
    wrong = ratiobench.check(day, decisions)
    assert wrong["valid"] is False
    assert wrong["violations"]
    assert "valid" in ratiobench.check(day, run, no_migration=True)


def test_search_for_a_claim_and_for_the_worst_ratio(tmp_path: Path) -> None:
    from tests.support.contestants import Honest

    found = ratiobench.search("theorem5", tries=300)
    assert (found.claim, found.tries) == ("theorem5", 300)
    worst = ratiobench.search(algorithm="greedy", tries=400, tasks=4, slots=4)
    assert worst.score is not None
    assert (
        worst.score
        == Fraction(ratiobench.opt(worst.instance).lower, ratiobench.simulate(worst.instance, "greedy").welfare)
        > 1
    )
    ratiobench.search(algorithm="eft", out=tmp_path / "out", tries=40, tasks=2, slots=2, largest=9)
    files = {"worst.json", "worst.certificate.json", "worst.html", "worst.state.json"}
    assert {each.name for each in (tmp_path / "out").iterdir()} == files  # as the command
    own = ratiobench.search(algorithm=Honest, tries=5, tasks=2, slots=2)
    assert own.algorithm == "tests.support.contestants:Honest"
    for wrong in ({}, {"claim": "theorem5", "algorithm": "greedy"}, {"claim": "no such"}):
        with pytest.raises(InputError):
            ratiobench.search(**wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("toy")
def test_compare_has_floats_and_exact_figures(tmp_path: Path) -> None:
    """Both folders in a row each; what only one has is empty in the other."""
    ratiobench.run("toy", out=tmp_path / "a", only="toy0", workers=1)
    ratiobench.run("toy", add="above:mark=70", out=tmp_path / "b", only="toy0", workers=1)
    found = ratiobench.compare(tmp_path / "a", tmp_path / "b")
    assert str(found["welfare_a"].dtype) == "float64"
    both = found[found["differs"] == ""]
    assert len(both) >= 2
    assert (both["welfare_a_exact"] == both["welfare_b_exact"]).all()
    (alone,) = found[found["differs"] == "only B"].to_dict("records")
    assert alone["algorithm"] == "above:mark=70"
    assert alone["welfare_a_exact"] is None
    assert set(found.attrs["seconds"].columns) >= {"stage", "median", "low", "high"}


def test_what_a_search_found_is_shown_in_a_line() -> None:
    found = ratiobench.search("lemma3", tasks=2, slots=2, tries=50)
    assert len(repr(found)) < 100
    assert repr(found).startswith("<SearchResult lemma3: ")
    assert repr(found).endswith(f"{found.tries} instances tried>")
