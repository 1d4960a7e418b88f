"""The README says what is there: its commands, its example, and the test command that CI runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.cli import main
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
