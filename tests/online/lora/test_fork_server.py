"""Processes that are forked for users' algorithms: each begins as a fresh one does, and nothing is left of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiobench.formulations.processes import descendants
from ratiobench.instances.lora import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.referee import process, user_run
from ratiobench.online.referee.sandbox import Place
from tests.support.contest import assert_sound

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
PROTOCOL = "ratiobench.online.lora.protocol"
SOURCE = """
import builtins, json, os, random, sys, threading
import numpy as np

class Refuses:
    def start(self, public, constants): pass
    def decide(self, task, view): return None

class Reports(Refuses):
    def __init__(self):
        marked = getattr(builtins, "marked", False)
        builtins.marked = True
        state = (random.random(), float(np.random.rand()), hash("text"))
        files = sorted(os.listdir("/proc/self/fd"))
        threads, kept = threading.active_count(), os.getpgid(0) == os.getppid()
        place = [os.getcwd(), sys.path[0]]
        print(json.dumps([place, os.environ.get("OF_THIS_RUN"), marked, files, threads, kept, *state]))

class OrderOfASet(Refuses):
    def start(self, public, constants):
        self.first = [int(each, 36) for each in {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}]
    def decide(self, task, view):
        from ratiobench.instances.lora.solution import Decision
        chosen = self.first[task.index % 10] % 2
        return Decision(None, ((0, 3), (0, 4)), 0) if chosen and not task.vendors and task.index < 2 else None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module of algorithms."""
    (tmp_path / "forked.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    process.close_all()


def servers() -> list[process._Server]:
    """The servers of this process."""
    return list(process._outside[os.getpid()]._servers.values())


def test_servers_are_used_again(instance: Instance, folder: Path) -> None:
    process.close_all()
    assert_sound(instance, run(instance, "forked:Refuses"))
    started = servers()
    assert_sound(instance, run(instance, "forked:Refuses"))
    assert servers() == started
    assert len(started) == process.SERVERS


def test_a_run_without_a_server_is_the_same(instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forked = run(instance, "tests.support.contestants:Honest")
    monkeypatch.setattr(process, "fork", lambda *given: None)
    fresh = run(instance, "tests.support.contestants:Honest")
    assert (forked.decisions, forked.welfare, forked.label) == (fresh.decisions, fresh.welfare, fresh.label)


def test_each_run_begins_as_in_a_fresh_process(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Folder, environment, open files, threads and random numbers are its own; nothing of the run before is there."""
    monkeypatch.setattr("ratiobench.online.referee.user_run.usable_threads", lambda: 1)  # one after another
    found = []
    for text in ("1", "2", "fresh"):
        monkeypatch.setenv("OF_THIS_RUN", text)
        (folder / text).mkdir()
        (folder / text / "forked.py").write_text(SOURCE)
        monkeypatch.chdir(folder / text)
        if text == "fresh":
            monkeypatch.setattr(process, "fork", lambda *given: None)
        capfd.readouterr()
        run(instance, "forked:Reports")
        runs = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
        assert len(runs) == 2 + user_run.REPEATS  # because something was drawn
        assert all(seen[:3] == [[str(folder / text)] * 2, text, False] for seen in runs)
        assert runs[0][8] != runs[1][8]  # the hash of a text
        found += runs
    assert all(seen[3:6] == found[-1][3:6] for seen in found)
    for drawn in (6, 7):  # from Python's and from NumPy's generator
        assert len({seen[drawn] for seen in found}) == len(found)


@pytest.mark.nightly
def test_the_order_of_a_set_is_not_reproducible(instance: Instance, folder: Path) -> None:
    """Runs that are compared with each other come from servers with hash seeds of their own."""
    rules = set()
    for _ in range(6):
        process.close_all()
        result = run(instance, "forked:OrderOfASet")
        rules |= {violation.rule for violation in result.violations}
    assert rules == {"not reproducible"}


def test_an_exit_status_is_told_once_it_is_known(folder: Path) -> None:
    """A process that fails, and one that is killed; the process number stays its own until `release`."""
    # A process that is so young that it does not listen to SIGTERM yet ends by that.
    for fails, ends in ((True, {1}), (False, {-signal.SIGKILL, -signal.SIGTERM})):
        forked = process.fork(Place((), [str(folder), *sys.path], dict(os.environ)), PROTOCOL, 0)
        assert forked is not None
        assert forked.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            forked.wait(0.01)
        if fails:
            forked.stdin.write(b"no message\n")
            forked.stdin.flush()
        else:
            forked.terminate()
        assert forked.wait(30) == forked.poll()
        assert forked.poll() in ends
        assert Path(f"/proc/{forked.pid}").exists()
        forked.release()
        for pipe in (forked.stdin, forked.stdout, forked.stderr):
            pipe.close()
        assert _gone(forked.pid)


def _gone(pid: int) -> bool:
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.05)
    return False


def test_a_server_that_died_is_replaced(instance: Instance, folder: Path) -> None:
    assert_sound(instance, run(instance, "forked:Refuses"))
    for server in servers():
        server._process.kill()
        server._process.wait()
    assert_sound(instance, run(instance, "forked:Refuses"))
    assert_sound(instance, run(instance, "forked:Refuses"))
    assert len(servers()) == process.SERVERS


@pytest.mark.nightly
def test_servers_end_with_the_process_that_started_them(folder: Path, instance: Instance) -> None:
    program = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "import os; from ratiobench.online.referee import process, sandbox\n"
        f"forked = process.fork(sandbox.Place((), sys.path, dict(os.environ)), {PROTOCOL!r}, 0)\n"
        "print('started', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        while len(below := descendants(process.pid)) < 3:  # a server, a keeper, and the process itself
            time.sleep(0.05)
        process.kill()
    assert all(map(_gone, below))


def test_a_family_from_elsewhere_has_fresh_processes() -> None:
    assert process.fork(Place((), sys.path, {}), "elsewhere.protocol", 0) is None
