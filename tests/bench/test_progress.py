"""What is told of a run on the way: how far, for how long, what is at work; and that no command is silent for long."""

from __future__ import annotations

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
from ratiobench.bench.running.heartbeat import Heartbeat, set_current
from ratiobench.bench.running.progress import MAKING, Progress, clock
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
    monkeypatch.setattr("ratiobench.bench.running.progress.time", SimpleNamespace(monotonic=lambda: moment[0]))
    monkeypatch.setattr("ratiobench.bench.running.progress.SILENCE", 4.0)
    return moment


def test_what_is_at_work_says_how_long_its_kind_takes_while_no_piece_of_it_is_done() -> None:
    """Runs of others took a second; the first one of this kind, at work for half a minute, is taken to be half done."""
    cases = [f"case {i}" for i in range(10)]
    progress = Progress(dict.fromkeys(cases, ("fast", "mine:Slow")), quiet=True)
    for case in cases:
        progress.size(case, 1000)
        progress.advance(case, "fast", 1.0)
    assert progress.remaining() == pytest.approx(10)
    progress.tick([("case 0", "mine:Slow", 30.0)])
    assert progress.remaining() == pytest.approx(9 * 60 + 30)
    progress.advance("case 0", "mine:Slow", 40.0)
    progress.tick([])
    assert progress.remaining() == pytest.approx(9 * 40)
    progress.tick([("case 1", "mine:Slow", 70.0)])  # late by 30 s: it may take as long again
    assert progress.remaining() == pytest.approx(8 * 40 + 30)


def test_a_long_piece_of_a_large_case_says_little_of_small_ones() -> None:
    """Half a minute of a minute for a day of 1,000 is six seconds for a part of 100."""
    progress = Progress(dict.fromkeys(["day", "part"], ("fast", "mine:Slow")), quiet=True)
    for case, size in (("day", 1000), ("part", 100)):
        progress.size(case, size)
        progress.advance(case, "fast", size / 1000)
    progress.tick([("day", "mine:Slow", 30.0)])
    assert progress.remaining() == pytest.approx(30 + 6)


def test_a_run_that_counts_its_arrivals_says_what_is_left_of_it() -> None:
    """By its pace from the first answer on: 20 s of compiling say nothing. Others of its kind take as long."""
    progress = Progress({"day": ("fast", "mine:Slow"), "other": ("mine:Slow",)}, quiet=True)
    for case in ("day", "other"):
        progress.size(case, 1000)
    piece = ("day", "mine:Slow")
    progress.tick([(*piece, 20.0)], {piece: ArrivalCount(0, 7200, 0, 3600)})
    assert progress.remaining() is None
    progress.advance("day", "fast", 1.0)
    progress.tick([(*piece, 21.0)], {piece: ArrivalCount(108, 7200, 0, 3600)})
    progress.tick([(*piece, 31.0)], {piece: ArrivalCount(1188, 7200, 0, 3600)})  # a tenth in ten seconds
    assert progress.remaining() == pytest.approx(89 + (31 + 89))
    progress.tick([(*piece, 91.0)], {piece: ArrivalCount(468, 3600, 7200)})
    assert progress.remaining() == pytest.approx(29 * 70 / 70 + (91 + 29))
    progress.tick([(*piece, 125.0)], {piece: None})  # audits: as long again as since the last count
    assert progress.remaining() == pytest.approx(34 + (125 + 34))


def test_runs_that_count_are_enough_where_nothing_else_is_left(now: list[float]) -> None:
    """Also where no piece is done yet; the line has the arrivals."""
    stream = io.StringIO()
    progress = Progress({"day": ("mine:Slow",)}, stream=stream)
    piece = ("day", "mine:Slow")
    for now[0], answered in ((1.0, 100), (5.0, 500)):
        progress.tick([(*piece, now[0])], {piece: ArrivalCount(answered, 7300)})
    told = (
        "... 0 of 1 pieces of work, 5 s so far, about 68 s left; at work: day: mine:Slow: 500 of 7,300 arrivals (5 s)"
    )
    assert stream.getvalue().splitlines() == [told]
    assert ArrivalCount(3, 3600, 7200).text == "3 of 3,600 arrivals, repeated"


def test_the_time_left_goes_by_what_like_work_took_on_instances_of_like_size() -> None:
    """Not by the number of pieces: two large OPT of 100 s and four small runs of 1 s are 204 s for one worker."""
    small, large = [f"small {i}" for i in range(5)], [f"large {i}" for i in range(3)]
    progress = Progress(dict.fromkeys((*small, *large), (MAKING, "OPT", "fast")), quiet=True)
    for case in (*small, *large):
        progress.size(case, 1000 if case in small else 50_000)
        progress.advance(case, MAKING, 0.0)
    assert progress.remaining() is None
    for case in small:
        progress.advance(case, "OPT", 3.0)
    progress.advance("large 0", "OPT", 100.0)
    progress.advance("small 0", "fast", 1.0)
    # Of `fast` no large instance is done: a second for a thousand bytes.
    assert progress.remaining() == pytest.approx(2 * 100 + 4 * 1 + 3 * 50)
    progress.workers = 2
    assert progress.remaining() == pytest.approx((200 + 4 + 150) / 2)
    # What is in work already has less to go; no number of workers divides a single piece.
    progress.workers = 100
    progress.tick([("large 1", "OPT", 90.0)])
    assert progress.remaining() == pytest.approx(100)
    progress.advance("large 2", "OPT", 100.0)
    assert progress.remaining() == pytest.approx(50)


def test_what_an_earlier_run_took_says_nothing_of_the_time_left() -> None:
    progress = Progress(dict.fromkeys("abc", ("OPT", "fast")), quiet=True)
    progress.advance("a", "OPT", None)
    progress.advance("a", "fast", None)
    assert progress.remaining() is None
    progress.advance("b", "fast", 2.0)
    # The other kinds are put at the same seconds for the size.
    assert progress.remaining() == pytest.approx(2.0 * 3)


def test_a_terminal_sees_a_bar_and_a_file_sees_lines(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    """The bar has counts, elapsed time, the time left, what is at work; quiet leaves warnings alone."""
    monkeypatch.setenv("COLUMNS", "120")
    for stream, quiet in ((Terminal(), False), (io.StringIO(), False), (Terminal(), True)):
        now[0] = 0.0
        progress = Progress(dict.fromkeys("abcd", ("OPT",)), quiet=quiet, stream=stream)
        now[0] = 60.0
        progress.tick([("b", "OPT", 10.0)])
        progress.advance("a", "OPT", 60.0)
        now[0] = 61.0
        progress.tick([("b", "OPT", 11.0)])
        progress.line("1 of 4 cases: a done")
        progress.warn("a warning")
        progress.close()
        text = stream.getvalue()
        assert ("1/4, 61 s so far, about 2 min 49 s left  b: OPT (11 s)" in text) == (stream.isatty() and not quiet)
        assert ("1 of 4 cases: a done\n" in text) != quiet
        assert "a warning\n" in text


def test_what_is_at_work_is_said_after_a_few_seconds_of_silence(now: list[float]) -> None:
    """Not before; what was said meanwhile counts; the longest first; nothing where it is to be quiet."""
    for quiet in (False, True):
        stream = io.StringIO()
        now[0] = 0.0
        progress = Progress(dict.fromkeys("abc", ("OPT",)), quiet=quiet, stream=stream)
        for now[0] in (1.0, 3.9):
            progress.tick([("a", "OPT", now[0])])
        assert stream.getvalue() == ""
        now[0] = 4.0
        progress.tick([("a", "OPT", 4.0)])
        progress.tick([("a", "OPT", 4.0)])
        progress.advance("a", "OPT", 30.0)
        progress.line("1 of 3 cases: a done")
        now[0] = 7.0
        progress.tick([("b", "OPT", 1.0)])
        now[0] = 8.0
        progress.tick([(case, "OPT", seconds) for case, seconds in zip("bcdefg", (2, 3, 2, 2, 2, 2), strict=True)])
        progress.tick([])
        said = [
            "... 0 of 3 pieces of work, 4 s so far; at work: a: OPT (4 s)",
            "1 of 3 cases: a done",
            "... 1 of 3 pieces of work, 8 s so far, about 55 s left; at work: "
            "c: OPT (3 s), b: OPT (2 s), d: OPT (2 s), e: OPT (2 s) and 2 more",
        ]
        assert stream.getvalue().splitlines() == ([] if quiet else said)


@pytest.mark.parametrize(("seconds", "told"), [(0.4, "0 s"), (99, "99 s"), (100, "1 min 40 s"), (7200, "2.0 h")])
def test_times_are_told_in_the_unit_that_is_read(seconds: float, told: str) -> None:
    """Seconds, minutes, hours."""
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
    monkeypatch.setattr("ratiobench.bench.running.runner.provenance.collect", lambda *_: time.sleep(0.2) or {})
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
