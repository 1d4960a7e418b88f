"""The README says what is there: its commands, its example, and the test command that CI runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cli import main
from bench.family import find_suite
from bench.runner import STORE, RunOptions, run_suite
from bench.store import Store
from bench.table import results, text
from instances.lora.named import path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_ci_runs_the_readmes_test_command() -> None:
    """The two commands differ in the session alone, and CI's is the second one, letter by letter."""
    [bench, tests] = re.findall(r"^    (python3 -m venv .*)$", README, flags=re.MULTILINE)
    assert bench.replace("-s bench", "-s tests") == tests
    assert tests in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_command_in_the_readme_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row of the table of commands is a command, with the options that it names."""
    rows = re.findall(r"^\| `(\w+)([^`/]*)` \|", README, flags=re.MULTILINE)
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
        printed = _blocks(text(results(store), family))
    assert printed == {case.name: expected[case.name] for case in again}
