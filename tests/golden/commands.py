"""Calls the program as a user does: its words in, its status, its output and its files out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Keys that have one of these words depend on the clock, the machine, the release, or on how a solver went about it
LEFT_OUT = {"seconds", "time", "machine", "python", "version", "commit", "created", "date", "work", "tries"}


@dataclass(frozen=True)
class Answer:
    """What a command left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document that it printed."""
        return json.loads(self.out)


def call(*words: str | Path) -> Answer:
    """Run a command in this process, so that kernels are loaded once."""
    from ratiobench.__main__ import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        before, sys.argv = sys.argv, ["ratiobench", *map(str, words)]
        try:
            status = main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            sys.argv = before
    return Answer(int(status or 0), out.getvalue(), err.getvalue())


def start(*words: str | Path, **settings: Any) -> subprocess.Popen[str]:
    """Start a command in a process of its own, in its own process group."""
    command = [sys.executable, "-m", "ratiobench", *map(str, words)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **settings.pop("env", {})}
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment,
        **settings,
    )  # fmt: skip


def document_of(*words: str | Path, statuses: tuple[int, ...] = (0, 1)) -> Any:
    """The JSON document of a command that ends with one of these statuses."""
    answer = call(*words, "--json")
    if answer.status not in statuses:
        raise RuntimeError(f"{' '.join(map(str, words))}: status {answer.status}, {answer.err[-400:]}")
    return answer.document


def figures(document: Any) -> dict[str, Any]:
    """Every number of a document by its path, without those of the clock and the machine; fractions are texts."""
    return dict(_figures(document, ""))


def _figures(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if LEFT_OUT.isdisjoint(re.split("[^a-z]+", str(key).lower())):
                yield from _figures(part, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _figures(part, f"{where}[{at}]")
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield where, value
    elif isinstance(value, str):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            Fraction(value)
            yield where, value
