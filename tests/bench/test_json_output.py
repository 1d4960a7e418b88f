"""What commands print with --json is of the form that `bench/commands/output.schema.json` says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

import ratiobench
from ratiobench import bench
from ratiobench.bench.cli.main import main
from ratiobench.bench.commands.command import Command, Group
from ratiobench.bench.commands.index import COMMANDS
from ratiobench.instances.eapm.named import path as eapm_path
from ratiobench.instances.lora import write
from ratiobench.instances.lora.named import path
from ratiobench.online.referee import sandbox

HERE = Path(next(iter(bench.__path__)))
SCHEMA: dict[str, Any] = json.loads((HERE / "commands" / "output.schema.json").read_text())
ELSEWHERE = {
    "evaluate": HERE / "evaluation" / "evaluation.schema.json",
}
POLICY = """
class Never:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return None
"""


def validator(command: str) -> Draft202012Validator:
    """Of the documents of a command."""
    if command in ELSEWHERE:
        return Draft202012Validator(json.loads(ELSEWHERE[command].read_text()))
    return Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{command.replace(' ', '%20')}"})


def commands_with_documents() -> Iterator[str]:
    """Their names, those of parts behind their group's."""
    for each in COMMANDS.values():
        if isinstance(each, Group):
            yield from (f"{each.name} {part.name}" for part in each.parts if part.document is not None)
        elif each.document is not None:
            yield each.name


def test_every_command_that_prints_json_has_a_schema() -> None:
    """And no schema is of a command that prints none."""
    Draft202012Validator.check_schema(SCHEMA)
    names = {name for name, each in COMMANDS.items() if isinstance(each, Command | Group)}
    described = {name for name in SCHEMA["$defs"] if name.split(" ")[0] in names}
    assert described == set(commands_with_documents())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a policy and a solution's file."""
    monkeypatch.chdir(tmp_path)
    Path("policy.py").write_text(POLICY)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The document that a command prints; it has ended with status 0 or 1."""
    status = main([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert status in (0, 1), err
    return json.loads(out)


SMALL, THEOREM_5 = str(path("tiny_two_types")), str(path("thm5_T5_3tasks"))
CALLS = (
    ("list", "formulations"),
    ("list", "recipes"),
    ("generate", "paper:tasks=5,nodes.a100=1,slots=12", "--out", "made"),
    ("opt", SMALL),
    ("opt", SMALL, "--no-migration", "--certificate", "one.cert"),
    ("opt", str(eapm_path("one_machine"))),
    ("crosscheck", SMALL),
    ("simulate", SMALL, "--algorithm", "greedy", "--no-opt"),
    ("simulate", SMALL, "--algorithm", "greedy", "policy.py:Never"),
    ("check-algorithm", "policy.py:Never"),
    ("audit", THEOREM_5, "--algorithm", "pdftsp"),
    ("audit", SMALL, "--algorithm", "pdftsp", "--task", "0"),
    ("search", "theorem5", "--tries", "30"),
    ("search", "--algorithm", "greedy", "--against", "eft", "--tries", "30"),
    ("limit", "rising", "--algorithm", "greedy"),
    ("standard", "list"),
    ("evaluate", "greedy", "--budget", "60", "--last", "parts"),  # days of thousands of tasks print the same fields
    ("explain", THEOREM_5),
    ("explain", SMALL, "--algorithm", "policy:Never", "--html", "page.html"),
    ("explain", str(eapm_path("one_machine"))),
    ("export", SMALL, "--format", "lp"),
    ("standard", "verify", "part_40_pai", "--workers", "1"),
    ("standard", "fetch", "part_40_pai", "--out", "fetched"),
)


@pytest.mark.parametrize("arguments", CALLS, ids=lambda each: " ".join(Path(word).name for word in each))
def test_what_is_printed_is_as_the_schema_says(
    arguments: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On small inputs, of each kind of result."""
    found = printed(capsys, *arguments)
    command = next(name for name in commands_with_documents() if " ".join(arguments).startswith(name + " ") or
                   " ".join(arguments) == name)  # fmt: skip
    validator(command).validate(found)


def test_a_solution_and_a_certificate_that_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdicts on both, valid or not."""
    solution = printed(capsys, "opt", SMALL, "--certificate", "two.cert")
    Path("solution.json").write_text(json.dumps(solution))
    Path("wrong.json").write_text(json.dumps(solution | {"decisions": [*solution["decisions"][:-1], {"vendor": 7}]}))
    checks = [
        printed(capsys, "check", SMALL, "solution.json"),
        printed(capsys, "check", SMALL, "--certificate", "two.cert"),
    ]
    assert [each["valid"] for each in checks] == [True, True]
    for each in checks:
        validator("check").validate(each)


def test_the_report_of_an_import(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the example log."""
    validator("import").validate(printed(capsys, "import", "--example", "jobs.csv"))
    arguments = ("import", "jobs.csv", "--format", "csv", "--cluster", "jobs.toml", "--out", "days")
    found = printed(capsys, *arguments)
    validator("import").validate(found)
    assert found["files"]


def test_a_comparison_of_two_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the same results, which differ in nothing."""
    for name in ("a", "b"):
        assert main(["run", "tiny", "--only", "tiny_two_types", "--no-audits", "--out", name]) == 0
    capsys.readouterr()
    found = printed(capsys, "compare", "a", "b")
    validator("compare").validate(found)
    assert found["different"] == 0


def test_results_of_a_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of `run` and `report`: the rows as results.csv has them, and nothing else on standard output."""
    words = ("tiny", "--only", "tiny_two_types", "--algorithm", "greedy", "policy:Never", "--out", "out")
    found = printed(capsys, "run", *words, "--workers", "1")
    validator("run").validate(found)
    greedy, never = found["rows"]
    run = ratiobench.simulate(SMALL, "greedy")
    assert (greedy["value"], greedy["admitted"], greedy["state"]) == (run.welfare, run.admitted, "ok")
    interval = ratiobench.opt(SMALL)
    assert (greedy["opt"]["lower"], greedy["opt"]["upper"]) == (interval.lower, interval.upper)
    assert Fraction(greedy["share"]) == Fraction(run.welfare, interval.upper)
    assert greedy["isolation"] is None
    assert never["value"] == 0
    assert never["isolation"] == sandbox.choose(None)
    assert found["recommendation"] is None
    assert found["provenance"]["cite"]
    assert (folder / "out" / "results.csv").exists()
    again = printed(capsys, "report", "out")
    validator("report").validate(again)
    assert again == found


def test_the_recommendation_of_a_backtest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The policy that its sentences name, beside the totals of all."""
    Path("days").mkdir()
    for seed in range(3):
        made = ratiobench.generate("paper", tasks=8, slots=12, nodes=2, seed=seed)["paper"]
        write(made, Path("days") / f"day{seed}.json")
    words = ("backtest", "days", "--algorithms", "greedy", "eft", "--out", "out", "--workers", "1")
    found = printed(capsys, *words)
    validator("backtest").validate(found)
    advice = found["recommendation"]
    assert advice["policy"] in advice["sentences"][0]
    assert advice["policies"][0]["name"] == advice["policy"]
    assert len(advice["days"]) == 2
    assert len(found["rows"]) == 4


def test_a_document_of_another_form_is_refused() -> None:
    """The schemas say something."""
    for command in commands_with_documents():
        for wrong in (7, [{"family": 3}], {"valid": "yes"}):
            with pytest.raises(ValidationError):
                validator(command).validate(wrong)
