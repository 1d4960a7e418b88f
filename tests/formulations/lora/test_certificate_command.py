"""Certificates from `opt` to `check`: written, read back, and refused in one line."""

import copy
import gzip
import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families
from ratiobench.formulations import checksums
from ratiobench.formulations.lora import certificate as certificates
from ratiobench.formulations.lora.certificate import Certificate, seal
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import verify
from ratiobench.formulations.report import Proof, Termination
from ratiobench.instances.io.files import load_json
from ratiobench.instances.lora.format import document as instance_document
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named, names, path
from tests.support.certificates import Document, claimed
from tests.support.commands import json_of, printed, refused
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import toy  # noqa: F401


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("tiny_")])
def test_small_instances_have_a_certificate_when_it_is_asked_for(name: str) -> None:
    """Enumeration needs no dual prices; asked for a certificate, the solve finds some, and its answer stays optimal."""
    instance = named(name)
    assert solve(instance, "enumerate").certificate is None
    report = solve(instance, "enumerate", certified=True)
    assert isinstance(report.certificate, Certificate)
    assert report.lower == report.upper == report.certificate.lower <= report.certificate.upper
    assert verify(instance, certificates.document(report.certificate)).valid


def test_a_bound_without_competition_is_certified_by_prices_of_zero() -> None:
    """Where the sum of what each task is worth alone is attained, so is the certificate's upper end."""
    report = solve(named("thm5_T5_3tasks"), "enumerate", certified=True)
    assert isinstance(report.certificate, Certificate)
    assert report.proof is Proof.TRIVIAL
    assert (report.certificate.lower, report.certificate.upper) == (312, 312)


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Plain and gzipped; the same bytes every time."""
    found = solve(named("tiny_vendors"), "enumerate", certified=True).certificate
    assert isinstance(found, Certificate)
    contents = []
    for name in ("a.json", "b.json.gz", "c.json.gz"):
        certificates.write(found, tmp_path / name)
        assert certificates.read(tmp_path / name) == (found, seal(found))
        contents.append((tmp_path / name).read_bytes())
    assert contents[1] == contents[2]
    assert gzip.decompress(contents[1]) == contents[0]
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["a.json", "b.json.gz", "c.json.gz"]


CLASS: Document = {"type": 0, "rate": 1, "memory_mb": 1, "price": [0]}


MALFORMED: list[tuple[Any, str]] = [
    ([], "document"),
    ({"format": "ratiobench/lora/1"}, "format"),
    ({"unit": 2.0}, "unit"),
    ({"unit": True}, "unit"),
    ({"unit": 0}, "unit"),
    ({"upper": None}, "upper"),
    ({"upper": 2**80}, "upper"),
    ({"lower": "5"}, "lower"),
    ({"lower": -1}, "lower"),
    ({"lam": 7}, "lam"),
    ({"lam": [7]}, "lam[0]"),
    ({"phi": [[0, 0.5]]}, "phi[0][1]"),
    ({"nu": []}, "nu"),
    ({"classes": {}}, "classes"),
    ({"classes": [[0, 1, 1, [0]]]}, "classes[0]"),
    ({"classes": [CLASS | {"type": "0"}]}, "classes[0].type"),
    ({"classes": [CLASS, CLASS | {"rate": 1.0}]}, "classes[1].rate"),
    ({"classes": [CLASS | {"memory_mb": 2**63}]}, "classes[0].memory_mb"),
    ({"classes": [CLASS | {"price": 1}]}, "classes[0].price"),
    ({"classes": [CLASS | {"price": [0, True]}]}, "classes[0].price[1]"),
    ({"classes": [CLASS | {"weight": 1}]}, "classes[0].weight"),
    ({"classes": [{key: CLASS[key] for key in ("type", "rate", "price")}]}, "classes[0].memory_mb"),
    ({"instance": "abc"}, "instance"),
    ({"sha256": 5}, "sha256"),
    ({"decisions": 5}, "decisions"),
    ({"decisions": [{"cells": []}]}, "decisions[0].vendor"),
    ({"extra": 1}, "extra"),
]


@pytest.mark.parametrize(("fields", "field"), MALFORMED, ids=[json.dumps(fields)[:40] for fields, _ in MALFORMED])
def test_what_is_no_certificate_is_unusable_input_in_one_line(
    fields: Any, field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, the field is named, nothing on standard output."""
    document = claimed(named("tiny_vendors")) | fields if isinstance(fields, dict) else fields
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(document))
    line = refused(capsys, "check", str(path("tiny_vendors")), "--certificate", str(file))
    assert f"{file}: {field}: " in line


def test_opt_writes_a_certificate_that_check_accepts_and_refuses_once_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands end to end on a contended trace: a dual, a schedule, a capacity, a bid."""
    file, proof = tmp_path / "instance.json", tmp_path / "proof.json.gz"
    recipe = {"kind": "paper", "name": "part", "seed": ["certificate"], "arrivals": {"trace": "helios"}}
    instance = generate(recipe | {"tasks": 40, "start": 60, "slots": 24, "quiet": 4, "nodes": {"a100": 1, "a40": 1}})
    file.write_text(json.dumps(instance_document(instance)))
    opt = json_of(capsys, "opt", str(file), "--backend", "none", "--certificate", str(proof))
    assert opt["certified"] == {"lower": opt["lower"], "upper": opt["upper"]}
    assert 0 < opt["lower"] < opt["upper"]

    def said(instance_file: Path, certificate: Path) -> Any:
        status = main(["check", str(instance_file), "--certificate", str(certificate), "--json"])
        verdict = json.loads(capsys.readouterr().out)
        assert status == int(not verdict["valid"])
        return verdict

    good = {"valid": True, "lower": opt["lower"], "upper": opt["upper"], "problem": None}
    assert said(file, proof) == good
    text = printed(capsys, "check", str(file), "--certificate", str(proof))
    assert text.startswith(f"valid\nOPT in [{opt['lower']:,}, {opt['upper']:,}] micro-dollars, gap ")

    document = load_json(proof.read_bytes(), "")
    for field in ("lam", "decisions"):
        changed = copy.deepcopy(document)
        if field == "lam":
            changed["lam"][0][12] += 1
        else:
            changed["decisions"][next(i for i, each in enumerate(changed["decisions"]) if each)] = None
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        assert said(file, tmp_path / "changed.json")["valid"] is False
        assert main(["check", str(file), "--certificate", str(tmp_path / "changed.json")]) == 1
        assert capsys.readouterr().out.startswith("NOT VALID\n")
    for field in ("compute", "bid"):
        other = instance_document(instance)
        (other["node_types"] if field == "compute" else other["tasks"])[0][field] += 1
        (tmp_path / "other.json").write_text(json.dumps(other))
        verdict = said(tmp_path / "other.json", proof)
        assert (verdict["valid"], verdict["problem"]) == (False, "the certificate is about another instance")


def test_opt_says_when_its_certificate_proves_less_than_its_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bound by enumeration or by a solver in floating point cannot be certified, the Lagrangian one can."""
    proof = tmp_path / "proof.json"
    command = ["opt", str(path("tiny_contention")), "--formulation", "enumerate", "--certificate", str(proof)]
    command += ["--backend", "none"]  # else it branches and proves as much
    lines = printed(capsys, *command).splitlines()
    upper = json.loads(proof.read_text())["upper"]
    assert f"the certificate proves no more than {upper:,}: a bound by enumeration cannot be certified" in lines
    text = printed(capsys, "check", str(path("tiny_contention")), "--certificate", str(proof))
    assert f"{upper:,}] micro-dollars" in text


def test_a_family_without_certificates_works_and_says_so_when_one_is_asked_for(
    toy: None,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`opt` and `check` as ever; with --certificate status 2, one line, no file."""
    file = tmp_path / "toy.json"
    file.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 8, "room": 3})))
    assert not families()["toy"].has_certificates
    assert families()["lora"].has_certificates
    assert "certified" not in json_of(capsys, "opt", str(file))
    missing = str(tmp_path / "certificate.json")
    for words in (("opt", str(file), "--certificate", missing), ("check", str(file), "--certificate", str(file))):
        assert refused(capsys, *words).endswith("the family toy has no certificates\n")
    assert not Path(missing).exists()


def test_an_instance_too_large_for_dual_prices_gives_its_interval_and_says_that_no_certificate_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1: what was asked for is not there; the answer is printed all the same."""
    report = replace(solve(named("tiny_vendors"), "enumerate"), message="lagrangian: too large")
    assert report.termination is Termination.NONE
    monkeypatch.setattr("ratiobench.formulations.lora.solve.solve", lambda *_, **__: report)
    proof = tmp_path / "proof.json"
    assert main(["opt", str(path("tiny_vendors")), "--certificate", str(proof)]) == 1
    captured = capsys.readouterr()
    assert f"OPT = {report.upper:,}" in captured.out
    assert "lagrangian: too large" in captured.out
    assert captured.err == f"ratiobench: {proof}: not written, no certificate was found\n"
    assert not proof.exists()


def test_check_takes_a_solution_or_a_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    """One of the two, and standard input for one file at most."""
    file = str(path("tiny_vendors"))
    for words in ([file], [file, "a.json", "--certificate", "b.json"], ["-", "--certificate", "-"]):
        assert refused(capsys, "check", *words)


@pytest.mark.parametrize("family", ["lora", "eapm", "edgeflow", "tenants"])
def test_a_checker_is_a_program(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m ratiobench.formulations.FAMILY.verify FILE CERTIFICATE`: status 0 for a valid proof alone."""
    shipped = importlib.import_module(f"ratiobench.instances.{family}.{'named' if family == 'lora' else 'generate'}")
    instance, other = (str(shipped.path(name)) for name in shipped.names()[:2])
    certificate = str(tmp_path / "c.cert")
    assert main(["opt", instance, "--certificate", certificate]) == 0
    module = importlib.import_module(f"ratiobench.formulations.{family}.verify")
    capsys.readouterr()
    for words, status in (([instance, certificate], 0), ([other, certificate], 1), ([instance], 2)):
        assert checksums.run_checker(module.parse_instance, module.verify, words) == status
    said = capsys.readouterr()
    assert said.out.startswith("valid: OPT in [")
    assert "NOT VALID: the certificate is about another instance" in said.out
    assert said.err == "give the file of an instance and the file of a certificate\n"
    done = subprocess.run(
        [sys.executable, "-m", module.__name__, instance, certificate], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout[:5]) == (0, "valid")
