"""The processes of anyone's algorithms: limits on time, memory and output, and nothing left behind."""

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from ratiobench.bench.cli import main
from ratiobench.formulations.processes import is_dumpable
from ratiobench.instances.lora import Instance, write
from ratiobench.online.lora.registry import parse as parse_name
from ratiobench.online.lora.run import run
from ratiobench.online.referee import isolation, limits
from ratiobench.online.referee import simulator as referee_simulator
from ratiobench.online.run_context import RunContext, run_context
from tests.support.contest import assert_sound, first_violation


def _gone(condition: Callable[[], bool], seconds: int = 10) -> bool:
    """Whether the condition comes true within ten seconds (the kernel reaps in its own time)."""
    for _ in range(20 * seconds):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_hanging_algorithm_is_killed_with_what_it_started(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ANSWER_SECONDS", 2.0)
    assert first_violation(instance, "Hangs") == ("timeout", 0, "no answer within 2 s")
    if Path("/proc/self/stat").exists():
        assert _ended(folder)


def _dead(process: Path) -> bool:
    """Whether a process is gone, or waits to be reaped; it may go while it is read."""
    try:
        return "Z" in (process / "stat").read_text().split()[2]
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_process_can_be_closed_from_the_thread_that_watches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage is collected in any thread: one that waited for its own end would fail."""
    closed, within = threading.Event(), []

    def collect(_: int) -> int:
        within.append(threading.current_thread())
        guard.stop()
        closed.set()
        return 0

    monkeypatch.setattr(limits, "tree_memory_mb", collect)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        guard = limits.Guard(process)
        assert closed.wait(10)
        guard.stop()
        assert not within[0].is_alive()
        process.kill()


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel to hand orphans over")


def _ended(folder: Path) -> bool:
    """Whether the process that a contestant wrote down is gone, or is soon."""
    child = Path("/proc") / (folder / "child").read_text().strip()
    return _gone(lambda: _dead(child))


def _command(instance: Instance, folder: Path, name: str, *more: str) -> list[str]:
    """The command `simulate`, without a sandbox: what is asked is whether the referee cleans up alone."""
    write(instance, folder / "day.json")
    return [
        sys.executable,
        "-m",
        "ratiobench",
        "simulate",
        str(folder / "day.json"),
        "--algorithm",
        name,
        "--no-isolate",
        *more,
    ]


@ON_LINUX
def test_a_detached_program_ends_with_the_run_and_holds_no_stream(instance: Instance, folder: Path) -> None:
    """It has left group and session, and its parent is gone; nobody has to wait for it."""
    command = _command(instance, folder, "tests.support.contestants:LeavesADaemon")
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, cwd=Path(__file__).parents[3]
    )
    assert "LeavesADaemon (starts sh) (not isolated): welfare" in done.stdout
    assert _ended(folder)


@ON_LINUX
def test_a_killed_referee_leaves_nothing(instance: Instance, folder: Path) -> None:
    """`kill -9` of the command ends the algorithm and what it has detached."""
    command = _command(instance, folder, "tests.support.contestants:WaitsForItsDaemon")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[3]) as process:
        assert _gone(lambda: (folder / "child").exists() and (folder / "child").read_text().endswith("\n"), 60)
        process.kill()
    assert _ended(folder)


@ON_LINUX
def test_the_memory_of_a_detached_program_counts(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEMORY_MB", 500)
    assert first_violation(instance, "EatsMemoryElsewhere") == ("memory", 0, "more than 500 MB in use")
    assert _ended(folder)


def test_programs_that_are_started_stand_in_the_row(instance: Instance) -> None:
    assert (
        run(instance, "tests.support.contestants:StartsPrograms").label
        == "tests.support.contestants:StartsPrograms (starts sh)"
    )


def test_what_is_printed_beyond_a_limit_is_dropped(
    instance: Instance, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OUTPUT_BYTES", 3000)
    assert_sound(instance, run(instance, "tests.support.contestants:Chatters"))
    printed = capfd.readouterr().err
    assert printed.count("x") == 3000
    assert "THE END" not in printed
    assert printed.count("tests.support.contestants:Chatters printed more than 0.003 MB; the rest is dropped") == 1


def test_what_is_printed_gives_a_terminal_no_orders(capfd: pytest.CaptureFixture[str]) -> None:
    limits._print("\x1b[2Jö\a\tok\n".encode())
    assert capfd.readouterr().err == "?[2Jö?\tok\n"


def test_an_answer_with_more_cells_than_slots_is_not_even_sent(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "_LINE_LIMIT", 10**4)
    assert first_violation(instance, "TooManyCells")[2] == "1000000 cells, there are 6 slots of 2 nodes"


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of Linux")
def test_the_referees_memory_is_shut_while_anyones_algorithm_lives() -> None:
    before = is_dumpable()
    player = isolation.Runner(
        parse_name("tests.support.contestants:Honest"), "ratiobench.online.lora.protocol", lambda path: False
    )
    assert not is_dumpable()
    player.close()
    assert is_dumpable() == before


def test_a_run_is_stopped_at_its_limit(instance: Instance, folder: Path) -> None:
    """Killed with what it started, long before its time for one answer is up; that is a violation."""
    with run_context(RunContext(limit=0.5)):
        assert first_violation(instance, "Hangs") == ("timeout", 0, "stopped after 0.5 s")
    with run_context(RunContext(limit=300)):
        assert_sound(instance, run(instance, "tests.support.contestants:Honest"))


def test_a_run_of_ours_is_stopped_at_its_limit_too(instance: Instance) -> None:
    """Between two decisions; those before it stand."""
    with run_context(RunContext(limit=1e-9)):
        result = run(instance, "greedy")
    assert not result.valid
    assert str(result.violations[0]) == "timeout: task 0: stopped after 1e-09 s"


def test_the_limit_of_a_run_of_ours_is_exact(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by 4 s whenever it is looked at: the third look is beyond 10 s."""
    looks = itertools.count(0, 4)
    monkeypatch.setattr(referee_simulator, "time", SimpleNamespace(perf_counter=lambda: next(looks)))
    with run_context(RunContext(limit=10)):
        result = run(instance, "greedy")
    assert str(result.violations[0]) == "timeout: task 2: stopped after 10 s"


def test_a_run_at_its_limit_is_no_failure_of_the_command(
    instance: Instance, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 0 and INVALID, as for every broken rule."""
    assert main(_command(instance, folder, "tests.support.contestants:Hangs", "--limit", "0.5")[3:]) == 0
    assert "INVALID: timeout: task 0: stopped after 0.5 s" in capsys.readouterr().out


def test_an_algorithm_that_is_never_ready_is_a_timeout(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_SECONDS", 1.0)
    assert first_violation(instance, "HangsInConstructor")[:2] == ("timeout", None)


@pytest.mark.nightly
def test_a_run_works_inside_a_daemonic_pool_process(instance: Instance) -> None:
    """Cluster workers are daemonic, and those may not have children of the multiprocessing kind."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(run, (instance, "tests.support.contestants:Honest"))
    assert_sound(instance, result)


def test_no_process_is_left_behind(instance: Instance) -> None:
    run(instance, "tests.support.contestants:Honest")
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not children.exists():
        pytest.skip("the system does not list a process's children")
    names = [(Path("/proc") / pid / "cmdline").read_text() for pid in children.read_text().split()]
    assert not [name for name in names if "ratiobench.online.referee.runner" in name]
