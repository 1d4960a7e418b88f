"""The second run of an isolated algorithm goes on beside the first one, unless a clock or other runs forbid it."""

import select
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ratiobench.online.lora.run import run
from ratiobench.online.referee import user_run
from ratiobench.online.remarks import LANDLOCK
from ratiobench.online.run_context import RunContext, run_context
from tests.support.contest import small_contest

WAITS = """
import os, time

class Waits:
    def start(self, public, constants):
        open(f"run-{os.getpid()}", "w").close()
        end = time.monotonic() + SECONDS
        while len([name for name in os.listdir() if name.startswith("run-")]) < RUNS:
            if time.monotonic() > end:
                raise RuntimeError("alone")
            time.sleep(0.01)

    def decide(self, task, view):
        return None
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(user_run, "usable_threads", lambda: 2)
    # The runs share a folder, in which they can meet, and are taken for isolated.
    monkeypatch.setattr(user_run, "choose_for", lambda protocol, isolate: LANDLOCK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("context", "is_beside"),
    [(RunContext(), True), (RunContext(3600, left=lambda: 3600.0), True), (RunContext(3600), False),
     (RunContext(alone=False), False)],
)  # fmt: skip
def test_both_runs_meet_unless_a_clock_or_another_run_forbids_it(
    folder: Path, context: RunContext, is_beside: bool
) -> None:
    (folder / "waits.py").write_text(WAITS.replace("SECONDS", "20" if is_beside else ".2").replace("RUNS", "2"))
    with run_context(context):
        result = run(small_contest(8, vendors=[]), "waits:Waits")
    assert result.valid == is_beside, result.violations


def test_without_isolation_the_second_run_follows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    (folder / "waits.py").write_text(WAITS.replace("SECONDS", ".2").replace("RUNS", "2"))
    assert not run(small_contest(8, vendors=[]), "waits:Waits").valid


def test_an_interrupt_does_not_wait_for_the_second_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "waits.py").write_text(WAITS.replace("SECONDS", "60").replace("RUNS", "3"))

    def interrupted() -> None:
        while not list(folder.glob("run-*")):
            time.sleep(0.01)
        raise KeyboardInterrupt

    polls = iter([select.poll, interrupted])  # the first one waits until one of the two is built
    monkeypatch.setattr(user_run, "select", SimpleNamespace(poll=lambda: next(polls)(), POLLIN=select.POLLIN))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(small_contest(8, vendors=[]), "waits:Waits")
    assert time.monotonic() - began < 30
