"""A server of runs: a process that has loaded NumPy and the family's protocol, and forks a process for every run.

The server itself only forks: nothing that a run does comes back. The watch is installed in the fork, never here. Why
there are servers, and how a fork is like a fresh process: docs/development/index.md (Users' algorithms).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.processes import remove_tree, run_keeper, set_dumpable
from ratiobench.online.referee import confinement, runner, watch

MESSAGE_BYTES = 2**17  # Of a message to a server, at most
END_RUN = b"end"  # The message that ends the run of a sandbox


class Start(NamedTuple):
    """How the process of a run begins."""

    path: Sequence[str]  # of modules
    environment: Mapping[str, str]
    folder: str
    cpu_seconds: int | None = None  # the limit of each process of a sandbox; None outside
    is_confined: bool = False  # whether it receives a `Confinement`


def serve(protocol: str, parent: int, writable: Sequence[str] | None, preload: Sequence[str] = ()) -> None:
    """Fork a process, which goes on as `runner.serve`, for every `Start` on standard input, until nobody is there."""
    in_sandbox = writable is not None  # one run at a time; these folders can be written, and are restored after it
    if in_sandbox and os.getpid() != 1:  # it ends every process that it sees; no signal from inside ends the first one
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_dumpable(False)  # what it forked may not look into it
    # All that a fresh process loads before its watch is installed, and what runs need besides, if it is there.
    for module in (protocol, "ctypes", "secrets", "subprocess", "numpy.random.bit_generator", *preload):
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    control = socket.socket(fileno=os.dup(0))
    for file in pickle.loads(control.recv(MESSAGE_BYTES)):
        watch.list_file_forms(file)
    watch.prepare_watch()
    files = _Files(writable or ())
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    poll = select.poll()
    for descriptor in (awake, control.fileno()):
        poll.register(descriptor, select.POLLIN)
    control.send(b"ready")
    reporters: dict[int, int] = {}  # by process, the descriptor on which its exit status is reported
    reported: set[int] = set()
    while os.getppid() == parent:
        events = dict(poll.poll(500))
        if awake in events:
            os.read(awake, 4096)
        if in_sandbox:
            _reap_all(reporters)
        else:
            _reap_released(reporters, reported)
        if control.fileno() not in events:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 4)
        if not message:
            return
        if in_sandbox:
            _end_others()
            _reap_all(reporters, block=True)
            if message == END_RUN:
                continue
            files.restore()
        *ends, reporter = descriptors
        me, pid = os.getpid(), os.fork()
        if pid == 0:
            control.detach()
            start: Start = pickle.loads(message)
            _become(start, ends)
            if start.cpu_seconds is None:
                run_keeper(me)
            else:
                confinement.limit_resources(start.cpu_seconds, count_threads=True)
            if start.is_confined:
                confinement.receive()
            runner.serve(protocol)
            return
        for descriptor in ends:
            os.close(descriptor)
        reporters[pid] = reporter
        control.send(str(pid).encode())


def _end_others() -> None:
    """Kill every process of the sandbox but this one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)


def _reap_all(reporters: dict[int, int], *, block: bool = False) -> None:
    """Reap what has ended in the sandbox; at the end of the run end the others, too, and report its exit status."""
    with contextlib.suppress(ChildProcessError):
        while reporters:
            pid, status = os.waitpid(-1, 0 if block else os.WNOHANG)
            if pid == 0:
                return
            if pid in reporters:
                _end_others()  # they may hold its pipes
                reporter = reporters.pop(pid)
                _report(reporter, os.waitstatus_to_exitcode(status))
                os.close(reporter)


def _reap_released(reporters: dict[int, int], reported: set[int]) -> None:
    """Report the exit statuses of keepers that have ended, and reap those whose status nobody asks for any more."""
    for pid, reporter in list(reporters.items()):
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            continue
        if pid not in reported:
            _report(reporter, ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
            reported.add(pid)
        is_released, _, _ = select.select([reporter], [], [], 0)  # its other end, which sends nothing, is closed
        if is_released:
            os.waitpid(pid, 0)
            os.close(reporter)
            del reporters[pid]
            reported.remove(pid)


def _report(reporter: int, status: int) -> None:
    with contextlib.suppress(OSError):
        os.write(reporter, str(status).encode())


class _Files:
    """The folders that can be written, as they are now; what cannot be brought back ends the sandbox."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._links = {folder: self._list(folder) for folder in folders if os.path.isdir(folder)}

    @staticmethod
    def _list(folder: str) -> dict[str, str | None]:
        """Where each entry leads to, None for one that is no link."""
        with os.scandir(folder) as entries:
            return {each.name: os.readlink(each.path) if each.is_symlink() else None for each in entries}

    def restore(self) -> None:
        """Take away what is new, and bring back what is gone."""
        for folder, before in self._links.items():
            now = self._list(folder)
            for name in now.keys() - {name for name in before if now.get(name) == before[name]}:
                path = os.path.join(folder, name)
                if os.path.isdir(path) and not os.path.islink(path):
                    remove_tree(path)
                else:
                    os.unlink(path)
            for name, target in before.items():
                if target is not None and not os.path.lexists(path := os.path.join(folder, name)):
                    os.symlink(target, path)
            if self._list(folder) != before:
                os._exit(1)


def _become(start: Start, ends: Sequence[int]) -> None:
    """Make of this fork what a fresh process would be: its pipes, folder, path, environment and random numbers."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(start.folder)
    for number, descriptor in enumerate(ends):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    set_dumpable(True)
    os.environ.clear()
    os.environ.update(start.environment)
    sys.path[:] = start.path
    importlib.invalidate_caches()
    np.random.seed()  # noqa: NPY002  (Python's own generator is seeded by every fork)
