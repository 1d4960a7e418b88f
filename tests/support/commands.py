"""Commands as tests call them, in this process or another one, and what they print."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main

ROOT = Path(__file__).resolve().parents[2]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that refuses the command line: status 2, and nothing on standard output."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        sys.exit(main(arguments))
    captured = capsys.readouterr()
    assert (exit_.value.code, captured.out) == (2, "")
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints that does its work."""
    capsys.readouterr()
    assert main(arguments) == 0
    return capsys.readouterr().out


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The one JSON document that such a command prints with `--json`."""
    return json.loads(printed(capsys, *arguments, "--json"))


def python(
    *words: str, folder: Path | None = None, text: str | None = None, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with the checkout on its module path; with `check` its status must be 0."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, input=text, env=variables, capture_output=True, text=True, check=check)
