"""What is told of a run on the way: how far, for how long, what is at work; and that no command is silent for long."""

import contextlib
import io
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core import event

from ratiobench.bench.cli import main
from ratiobench.bench.running import heartbeat
from ratiobench.bench.running.heartbeat import Heartbeat, Progress, clock, set_current
from ratiobench.online.referee.arrival_count import ArrivalCount
from tests.support.toy_family import FAMILY
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the progress, which the test sets."""
    moment = [0.0]
    monkeypatch.setattr("ratiobench.bench.running.heartbeat.time", SimpleNamespace(monotonic=lambda: moment[0]))
    monkeypatch.setattr("ratiobench.bench.running.heartbeat.SILENCE", 4.0)
    return moment


def test_a_run_that_counts_its_arrivals_says_how_far_it_is(now: list[float]) -> None:
    stream = io.StringIO()
    progress = Progress(1, stream=stream)
    for now[0], answered in ((1.0, 100), (5.0, 500)):
        progress.tick([("day", "mine:Slow", now[0], ArrivalCount(answered, 7300))])
    told = "... 0 of 1 pieces of work, 5 s so far; at work: day: mine:Slow: 500 of 7,300 arrivals (5 s)"
    assert stream.getvalue().splitlines() == [told]
    assert ArrivalCount(3, 3600, True).text == "3 of 3,600 arrivals, repeated"


def test_a_terminal_sees_a_bar_and_a_file_sees_lines(now: list[float]) -> None:
    """The bar has counts and what is at work; quiet leaves warnings alone."""
    for stream, quiet in ((Terminal(), False), (io.StringIO(), False), (Terminal(), True)):
        progress = Progress(4, quiet=quiet, stream=stream)
        progress.advance()
        progress.tick([("b", "OPT", 11.0, None)])
        progress.line("1 of 4 cases: a done")
        progress.warn("a warning")
        progress.close()
        text = stream.getvalue()
        assert ("1/4, 00:00, b: OPT (11 s)" in text) == (stream.isatty() and not quiet)
        assert ("1 of 4 cases: a done\n" in text) != quiet
        assert "a warning\n" in text


def test_what_is_at_work_is_said_after_a_few_seconds_of_silence(now: list[float]) -> None:
    """Not before; what was said meanwhile counts; the longest first; nothing where it is to be quiet."""
    for quiet in (False, True):
        stream = io.StringIO()
        now[0] = 0.0
        progress = Progress(3, quiet=quiet, stream=stream)
        for now[0] in (1.0, 3.9):
            progress.tick([("a", "OPT", now[0], None)])
        assert stream.getvalue() == ""
        now[0] = 4.0
        progress.tick([("a", "OPT", 4.0, None)])
        progress.tick([("a", "OPT", 4.0, None)])
        progress.advance()
        progress.line("1 of 3 cases: a done")
        now[0] = 7.0
        progress.tick([("b", "OPT", 1.0, None)])
        now[0] = 8.0
        pieces = zip("bcdefg", (2, 3, 2, 2, 2, 2), strict=True)
        progress.tick([(case, "OPT", seconds, None) for case, seconds in pieces])
        progress.tick([])
        said = [
            "... 0 of 3 pieces of work, 4 s so far; at work: a: OPT (4 s)",
            "1 of 3 cases: a done",
            "... 1 of 3 pieces of work, 8 s so far; at work: "
            "c: OPT (3 s), b: OPT (2 s), d: OPT (2 s), e: OPT (2 s) and 2 more",
        ]
        assert stream.getvalue().splitlines() == ([] if quiet else said)


@pytest.mark.parametrize(("seconds", "told"), [(0.4, "0 s"), (99, "99 s"), (100, "1 min 40 s"), (7200, "2.0 h")])
def test_times_are_told_in_the_unit_that_is_read(seconds: float, told: str) -> None:
    assert clock(seconds) == told


def test_a_command_that_takes_long_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """On the error stream, again and again; not with --json, which programs read."""
    monkeypatch.setattr(heartbeat, "SILENCE", 0.05)
    monkeypatch.setenv("TOY_NAP", "0.3")
    file = tmp_path / "toy.json"
    file.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 4, "room": 2})))
    assert main(["opt", str(file)]) == 0
    assert capsys.readouterr().err.count("... looking for OPT, 0 s so far\n") >= 1
    assert main(["simulate", str(file), "--algorithm", "first", "one"]) == 0
    errors = capsys.readouterr().err
    for what in ("looking for OPT", "running first", "running one"):
        assert f"... {what}, 0 s so far\n" in errors
    assert main(["opt", str(file), "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_a_run_says_what_it_does_before_and_after_its_pieces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Getting ready and writing, by the heartbeat; in between the progress alone; nothing with --quiet."""
    monkeypatch.setattr(heartbeat, "SILENCE", 0.02)
    monkeypatch.setattr("ratiobench.bench.running.runner.collect", lambda *_: time.sleep(0.2) or {})
    for more, said in (([], True), (["--quiet"], False)):
        assert main(["run", "toy", "--out", str(tmp_path / str(said)), "--workers", "1", *more]) == 0
        errors = capsys.readouterr().err
        for what in ("getting ready", "writing the tables and the page"):
            assert bool(re.search(rf"^\.\.\. {what}, \d+ s so far$", errors, flags=re.MULTILINE)) == said
        assert ("5 of 5 cases, " in errors) == said
        assert (len(re.findall(r"^  algorithm ", errors, flags=re.MULTILINE)) == 4) == said  # all but the last one
        with monkeypatch.context() as slow:
            slow.setattr("ratiobench.bench.report.write.write_report", lambda *_, **__: time.sleep(0.2) or 0)
            assert main(["report", str(tmp_path / str(said)), *more]) == 0
        assert ("... reading results and drawing, " in capsys.readouterr().err) == said


def test_the_innermost_heartbeat_is_told_what_is_at_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that was silent from the start stays so; an empty text silences one for a while."""
    ticks = threading.Barrier(2, timeout=20)

    class Silence(threading.Event):
        """A beat when the test wants one, in place of every few seconds."""

        def wait(self, timeout: float | None = None) -> bool:
            with contextlib.suppress(threading.BrokenBarrierError):
                ticks.wait()  # what came before was said
                ticks.wait()
            return self.is_set()

        def set(self) -> None:
            super().set()
            ticks.abort()

    heart = Heartbeat("one")
    monkeypatch.setattr(heart, "_over", Silence())
    with heart:
        said = []
        for what in ("two", "", "three"):
            ticks.wait()
            said.append(capsys.readouterr().err)
            set_current(what)
            ticks.wait()
        ticks.wait()
        said.append(capsys.readouterr().err)
    assert said == ["", "... two, 0 s so far\n", "", "... three, 0 s so far\n"]
    with Heartbeat(""):
        set_current("silent")
        assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat"]
    assert capsys.readouterr().err == ""


def test_what_waits_for_a_compilation_names_the_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outer() -> None:
        """Stands for a kernel."""

    monkeypatch.setattr(heartbeat, "SILENCE", 0.02)
    heartbeat._find_compiling()
    with Heartbeat("looking for OPT"):
        data = {"dispatcher": SimpleNamespace(py_func=outer)}
        with event.trigger_event("numba:compile", data=data):
            _wait_for(
                capsys, re.compile(r"looking for OPT \(compiling tests\.bench\.test_progress\.\S*outer, once\), ")
            )
        _wait_for(capsys, re.compile(r"looking for OPT, "))


def _wait_for(capsys: pytest.CaptureFixture[str], line: re.Pattern[str]) -> None:
    for _ in range(1000):
        if line.search(capsys.readouterr().err):
            return
        time.sleep(0.01)
    pytest.fail(line.pattern)
