"""The commands: names, JSON keys, exit statuses, and one line for everything that cannot be used."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.lora import FAMILY
from ratiobench.bench.lora import FAMILY as LORA_FAMILY
from ratiobench.formulations.lora.models.formulation import registry
from ratiobench.instances.io.errors import DEBUG
from ratiobench.instances.lora.format import read
from ratiobench.instances.lora.named import path
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
ROOT = Path(__file__).resolve().parents[2]
LORA = str(path("thm5_T5_3tasks"))


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """What was printed, as the one JSON document that it is."""
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("what", ["suites", "algorithms", "formulations", "traces"])
def test_list_names_what_there_is(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every family's entries, as text and as JSON."""
    assert main(["list", what, "--json"]) == 0
    entries = said(capsys)
    assert main(["list", what]) == 0
    text = capsys.readouterr().out
    assert entries
    for entry in entries:
        assert entry["name"] in text
        assert entry["summary"] in text


def test_a_broken_rule_is_reported_by_online_and_check(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An invalid run is a result, not a failure of ours: status 0, and it says so; `check` says no by its status."""
    solution = str(tmp_path / "s.json")
    assert main(["simulate", file, "--algorithm", "cheats", "--solution", solution]) == 0
    assert "INVALID: room" in capsys.readouterr().out
    assert main(["check", file, solution]) == 1
    assert capsys.readouterr().out.startswith("NOT VALID")


def test_standard_input_is_a_file_too(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-` reads the instance from standard input, in every command that takes one; both cannot be it."""
    for command in (["opt"], ["simulate", "--algorithm", "first"], ["export", "--format", "lp"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(file).read_bytes())))
        assert main([command[0], "-", *command[1:]]) == 0
        assert capsys.readouterr().out
    assert main(["check", "-", "-"]) == 2


def test_generate_writes_the_files_of_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file per case, named after it, with the hash that is printed beside it."""
    assert main(["generate", "toy", "--out", str(tmp_path / "new"), "--json"]) == 0
    entries = said(capsys)
    assert [Path(each["file"]).name for each in entries] == [
        f"{case}.json.gz" for case in ("toy0", "toy1", "toy2", "toy3", "twin")
    ]
    assert entries[0]["instance"] == entries[4]["instance"]
    assert main(["simulate", entries[2]["file"], "--algorithm", "first", "--json"]) == 0
    assert said(capsys)["instance"] == entries[2]["instance"]


def test_generate_takes_part_of_a_suite(tmp_path: Path) -> None:
    """The cases whose names fit; a name that none has, or a scale that the suite has not, is refused unwritten."""
    assert main(["generate", "toy", "--out", str(tmp_path / "some"), "--only", "toy[12]"]) == 0
    assert sorted(path.name for path in (tmp_path / "some").iterdir()) == ["toy1.json.gz", "toy2.json.gz"]
    for more in (["--only", "nosuch*"], ["--scale", "small"]):
        assert main(["generate", "toy", "--out", str(tmp_path / "none"), *more]) == 2
    assert not (tmp_path / "none").exists()


UNUSABLE = [
    (["opt", "{missing}"], "cannot be read"),
    (["opt", "{broken}"], "room"),
    (["opt", "{list}"], "document"),
    (["opt", "{other}"], "ratiobench/none/1"),
    (["opt", "{unnamed}"], "format"),
    (["opt", "{file}", "--formulation", "nosuch"], "nosuch"),
    (["opt", ""], "''"),
    (["opt", "{file}", "--solution", "{missing}/x.json"], "cannot be written"),
    (["opt", "{file}", "--certificate", "{folder}"], "it is a folder"),
    (["simulate", "{file}", "--algorithm", "nosuch"], "nosuch"),
    (["check", "{file}", "{list}"], "decisions"),
    (["run", "nosuch"], "nosuch"),
    (["run", "toy", "--algorithm", "nosuch", "--out", "{new}"], "nosuch"),
    (["run", "toy", "--out", "{file}"], "cannot be made"),
    (["run", "toy", "--out", "{new}", "--only", "[!t]*"], "--only: '[!t]*' fits no case"),
    (["run", "toy", "--out", "{new}", "--rows", "[!f]*x"], "--rows: '[!f]*x' fits no algorithm"),
    (["compare", "{missing}", "{missing}"], "no result store"),
    (["compare", "{folder}", "{folder}", "--csv", "{folder}"], "it is a folder"),
    (["report", "{missing}"], "no result store"),
    (["list", "everything"], "everything"),
    (["nosuch"], "nosuch"),
]


@pytest.mark.parametrize(("arguments", "named"), UNUSABLE, ids=[" ".join(a) or "nothing" for a, _ in UNUSABLE])
def test_unusable_input_is_one_line_status_2_and_writes_nothing(
    arguments: list[str], named: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names what is wrong; standard output stays empty; no file appears."""
    contents = {
        "broken": '{"format": "ratiobench/toy/1", "name": "x", "values": [1], "room": -1}',
        "list": "[1, 2]",
        "other": '{"format": "ratiobench/none/1"}',
        "unnamed": "{}",
    }
    places = {"file": file, "missing": str(tmp_path / "missing"), "new": str(tmp_path / "new"), "folder": str(tmp_path)}
    for name, content in contents.items():
        places[name] = str(tmp_path / f"{name}.json")
        Path(places[name]).write_text(content)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as exit_:
        sys.exit(main([part.format(**places) for part in arguments]))
    captured = capsys.readouterr()
    assert exit_.value.code == 2
    assert captured.err.count("\n") == 1
    assert named in captured.err
    assert captured.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_failure_of_ours_is_one_line_status_1_with_the_traceback_on_request(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception inside an algorithm is named in one line; --debug shows where it was raised."""
    assert main(["simulate", file, "--algorithm", "raises"]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "ZeroDivisionError: nothing to divide" in errors
    assert main(["--debug", "simulate", file, "--algorithm", "raises"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_what_cannot_be_written_is_found_before_the_work_and_after_it_the_result_is_printed_first(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder is refused before anything is solved; a disk that fills up later does not take the result with it."""
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    for command in (["opt", file], ["simulate", file, "--algorithm", "first"]):
        assert main([*command, "--solution", str(tmp_path)]) == 2
        assert not log.exists()
        assert capsys.readouterr().out == ""
        with monkeypatch.context() as patch:
            patch.setattr("ratiobench.bench.arguments.check_writable", lambda path: None)
            assert main([*command, "--json", "--solution", str(tmp_path)]) == 2
        assert said(capsys)["decisions"]
        log.unlink()


def test_debug_reaches_anyones_algorithm_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Status 0, the place of the error in the result, the traceback on the error stream with --debug alone."""
    (tmp_path / "faulty.py").write_text("class Faulty:\n    def start(self, public, constants):\n        1 / 0\n")
    monkeypatch.chdir(tmp_path)
    for debug, traces in (([], 0), (["--debug"], 1), ([], 0)):
        assert main([*debug, "simulate", LORA, "--algorithm", "faulty:Faulty"]) == 0
        captured = capfd.readouterr()
        assert "INVALID: error: ZeroDivisionError: division by zero (faulty.py:3)\n" in captured.out
        assert captured.err.count("Traceback") == traces
    assert DEBUG not in os.environ


def test_audit_looks_for_the_class_before_it_solves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module that exists without the class in it costs one line, not the optimum."""
    monkeypatch.setattr(FAMILY, "solve", lambda *_: pytest.fail("solved first"))
    assert main(["audit", LORA, "--algorithm", "tests.support.contestants:Nobody"]) == 2
    assert "has no attribute 'Nobody'" in capsys.readouterr().err


def test_an_instance_too_large_for_a_run_is_named_by_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(Path(LORA).read_text(encoding="utf-8"))
    document["node_types"][0]["count"] = 2**40
    large = tmp_path / "large.json"
    large.write_text(json.dumps(document))
    assert main(["simulate", str(large), "--algorithm", "greedy"]) == 2
    assert capsys.readouterr().err.startswith(f"ratiobench: {large}: node_types: ")


def test_text_shows_no_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What there is none of is a dash: revenue without payments, sides and figures that are undefined."""
    solution = str(tmp_path / "s.json")
    assert main(["opt", LORA, "--solution", solution]) == 0
    assert main(["check", LORA, solution]) == 0
    assert main(["audit", LORA, "--algorithm", "greedy"]) == 0
    assert main(["audit", str(path("tiny_two_types")), "--algorithm", "pdftsp", "--claim", "theorem5"]) == 0
    text = capsys.readouterr().out
    assert "revenue -\n" in text
    assert "= -\n" in text
    assert "None" not in text


def test_claims_about_another_algorithm_are_gathered_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """In text; one that is asked for by name has a line of its own without figures, and JSON has all of them."""
    assert main(["audit", LORA, "--algorithm", "greedy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "theorem3" in line]
    assert line.startswith("not applicable (a claim about pdFTSP): theorem5, theorem5_repaired, ")
    assert main(["audit", LORA, "--algorithm", "greedy", "--claim", "theorem5"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["theorem5: not applicable (a claim about pdFTSP)"]
    assert main(["audit", LORA, "--algorithm", "greedy", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert next(check for check in checks if check["name"] == "theorem5")["figures"]["kappa"]


def test_claims_that_do_not_exist_are_found_before_the_work_and_those_not_asked_for_are_not_checked(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2 before anything is solved; the same check as in the whole audit; an existing name is never unknown."""
    with monkeypatch.context() as patch:
        patch.setattr(FAMILY, "solve", lambda *_: pytest.fail("solved first"))
        assert main(["audit", LORA, "--algorithm", "pdftsp", "--claim", "lemma5"]) == 2
        assert "--claim: 'lemma5' is not known; did you mean 'lemma4'? `list claims` " in capsys.readouterr().err
        # Settled by proof: no run can show it.
        assert main(["audit", LORA, "--algorithm", "pdftsp", "--claim", "theorem1"]) == 2
        assert "--claim: 'theorem1' is not known; did you mean" in capsys.readouterr().err
    assert main(["audit", LORA, "--algorithm", "posted", "--json"]) == 0
    every = {check["name"]: check for check in said(capsys)["checks"]}
    with monkeypatch.context() as patch:
        patch.setattr(
            "ratiobench.bench.lora.theory.basis.case.find_facts", lambda *_: pytest.fail("the paper's claims")
        )
        patch.setattr(
            "ratiobench.bench.lora.theory.payments.truthfulness.BidderView", lambda *_: pytest.fail("truthfulness")
        )
        assert main(["audit", LORA, "--algorithm", "posted", "--claim", "theorem_a", "--json"]) == 0
        assert said(capsys)["checks"] == [every["theorem_a"]]
    for name in ("truthful_type", "theorem3"):
        assert main(["audit", LORA, "--algorithm", "posted", "--claim", name, "--json"]) == 0
        assert said(capsys)["checks"] == [every[name]]
    existing = [statement.name for statement in LORA_FAMILY.statements() if not statement.proof]
    for algorithm in ("greedy", "titan", "pdftsp"):
        command = ["audit", LORA, "--algorithm", algorithm, "--json"]
        assert main([*command, *(part for name in reversed(existing) for part in ("--claim", name))]) == 0
        assert [check["name"] for check in said(capsys)["checks"]] == existing
    names = ("truthful_bid", "theorem_a", "theorem_b", "theorem_c", "theorem_g", "dual_certificate")
    assert main(["audit", LORA, "--algorithm", "pdftsp", *(part for name in names for part in ("--claim", name))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "truthful_bid: not applicable (a claim about payments other than pdFTSP's)" in lines
    assert "theorem_b: not applicable (a claim about minimal-edit)" in lines
    assert any(line.startswith("dual_certificate: holds") for line in lines)
    assert main(["audit", file, "--algorithm", "first", "--claim", "third"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["third: not applicable (a claim about another algorithm)"]


def test_an_audit_of_an_invalid_run_says_why(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first rules that were broken, in text and in JSON; of many, how many more."""
    assert main(["audit", file, "--algorithm", "cheats", "--effort", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cheats: (INVALID run)"
    assert lines[1].startswith("INVALID: room: task ")
    assert main(["audit", file, "--algorithm", "cheats", "--json"]) == 0
    document = said(capsys)
    assert [lines[1]] == [f"INVALID: {violation}" for violation in document["violations"]]
    assert document["ratio"] is None


def test_a_family_without_auctions_has_no_bidders(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, status 2, for checks and curves alike."""
    for more, option in (([], "--task"), (["--curve", "-"], "--curve")):
        assert main(["audit", file, "--algorithm", "first", "--task", "0", *more]) == 2
        assert f"{option}: the family toy has no auctions" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_traceback(file: str) -> None:
    command = f"{sys.executable} -m ratiobench list algorithms | head -n 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_lora_opt_online_audit_and_check_agree_on_a_counterexample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """thm5_T5_3tasks end to end: OPT is 26 times pdFTSP's welfare and Theorem 5's bound is 24.5."""
    solution = str(tmp_path / "s.json")
    assert main(["opt", LORA, "--json", "--solution", solution]) == 0
    opt = said(capsys)
    assert opt["status"] == "optimal"
    assert main(["check", LORA, solution, "--json"]) == 0
    assert said(capsys)["welfare"] == opt["lower"]
    assert main(["simulate", LORA, "--algorithm", "pdftsp", "--json"]) == 0
    online = said(capsys)
    assert opt["upper"] == 26 * online["welfare"]
    for decision in filter(None, online["decisions"]):
        assert set(decision) == {"vendor", "cells", "payment"}
    assert main(["audit", LORA, "--algorithm", "pdftsp", "--json"]) == 0
    checks = {check["name"]: check for check in said(capsys)["checks"]}
    assert (checks["theorem5"]["status"], checks["theorem5"]["right"]) == ("violated", "49/2")
    assert checks["theorem5_repaired"]["status"] == "holds"


@pytest.mark.parametrize("kind", ["mps", "lp"])
def test_lora_export_is_a_model_file(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The model has the format's own first and last section."""
    assert main(["export", LORA, "--format", kind]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[-1].upper() in {"ENDATA", "END"}
    assert len(lines) > 10


def test_a_model_too_large_to_be_written_names_a_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of the load, or `opt`; and a formulation that is smaller, where there is one."""
    monkeypatch.setattr("ratiobench.formulations.lora.solve.BUILD_COLUMNS", 1)
    assert main(["export", LORA, "--format", "lp"]) == 2
    line = capsys.readouterr().err
    assert re.search(
        r"tight would have \d+ columns; at most 1 are written: export a part of the load; `opt` encl", line
    )
    same = [each for each in registry().values() if "highs" in each.backends and each.name != "one-node"]
    sizes = {each.name: each.columns(read(LORA)) for each in same}
    least = min(sizes, key=lambda name: sizes[name])
    monkeypatch.setattr("ratiobench.formulations.lora.solve.BUILD_COLUMNS", sizes[least])
    largest = max(sizes, key=lambda name: sizes[name])
    assert main(["export", LORA, "--format", "lp", "--formulation", largest]) == 2
    assert f": export with --formulation {least}" in capsys.readouterr().err


def test_a_certificate_in_the_place_of_a_solution_is_told_and_the_other_way_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not judged as what it is not: one line, status 2, with the option that checks it."""
    solution, certificate = str(tmp_path / "s.json"), str(tmp_path / "c.json")
    assert main(["opt", LORA, "--solution", solution, "--certificate", certificate]) == 0
    assert main(["check", LORA, solution]) == 0
    assert main(["check", LORA, "--certificate", certificate]) == 0
    capsys.readouterr()
    assert main(["check", LORA, certificate]) == 2
    assert capsys.readouterr().err == (
        f"ratiobench: {certificate}: it is a certificate of an interval on OPT, no solution: --certificate checks it\n"
    )
    assert main(["check", LORA, "--certificate", solution]) == 2
    assert f"{solution}: it is a solution, no certificate: " in capsys.readouterr().err


def test_lora_suites_are_sound() -> None:
    """Names are unique, `quick` has traces, a day and the two violated instances, `tiny` every shipped instance."""
    from ratiobench.bench.family.registry import families
    from ratiobench.instances.lora.named import names

    suites = {suite.name: suite for suite in families()["lora"].suites()}
    for suite in suites.values():
        assert len({case.name for case in suite.cases}) == len(suite.cases)
    axes = [case.name for case in suites["sweep"].axes[0].small]
    assert [case.name for case in suites["quick"].cases[-len(axes) :]] == axes
    quick = {case.name: case for case in suites["quick"].cases if case.name not in axes}
    driven = [case.recipe for case in quick.values() if "arrivals" in case.recipe]
    assert {(recipe["arrivals"]["trace"], recipe["tasks"]) for recipe in driven} == {
        ("pai", 12),
        ("pai", 40),
        ("philly", 60),
        ("helios", 100),
        ("philly", 7200),
    }
    assert {"thm5_T5_3tasks", "thm5_T4_4tasks_strict"} <= set(quick)
    assert [case.name for case in suites["tiny"].cases] == list(names())
    assert all(case.solve.seconds is None for suite in suites.values() for case in suite.cases)
