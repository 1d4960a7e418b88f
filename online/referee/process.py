"""How the process of a user's algorithm starts: as a fork of a server, or fresh (docs/development/index.md)."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import IO, Any

from ratiobench.formulations.processes import kill_tree
from ratiobench.instances.io.errors import InputError
from ratiobench.online.modules import import_path
from ratiobench.online.referee import confinement, sandbox
from ratiobench.online.referee.bounds import list_barred
from ratiobench.online.referee.server import END_RUN, Start
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK

SERVERS = 2  # Of each kind: runs with an even number start from the first one, others from the second one
ANSWER_SECONDS = 60.0  # A sandbox that does not start, or whose server does not answer, in this time is given up
# Beginnings of the environment variables that Python and its libraries read once, when they are loaded
_READ_AT_START = ("PYTHON", "OMP_", "OPENBLAS_", "MKL_", "NPY_", "LD_", "MALLOC_", "LC_", "LANG", "TZ")


class ServedProcess:
    """A process that a server forked; the part of `subprocess.Popen` that is needed here."""

    def __init__(
        self, server: _Server, pid: int, pipes: tuple[IO[bytes], IO[bytes], IO[bytes]], status: socket.socket
    ) -> None:
        # Of its keeper, and of no other process before `release`; in a sandbox, where nothing else runs, of the sandbox
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self.returncode: int | None = None
        self._server, self._status = server, status  # the socket receives the exit status

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit status; -SIGKILL where the server is gone."""
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._status, select.POLLIN)
            if not poll.poll(None if timeout is None else 1000 * timeout):
                raise subprocess.TimeoutExpired(type(self).__name__, timeout or 0.0)
            data = b""
            with contextlib.suppress(OSError):
                data = self._status.recv(32, socket.MSG_PEEK)  # several threads may wait
            self.returncode = int(data) if data else -signal.SIGKILL
        return self.returncode

    def terminate(self) -> None:
        """Have its keeper, or the server of its sandbox, end it with all that it started."""
        if self._server.is_sandbox:
            with contextlib.suppress(OSError):
                self._server.control.send(END_RUN)
        elif self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, in a sandbox with the sandbox."""
        kill_tree(self)

    def release(self) -> None:
        """Close the socket of the exit status; the server may then forget the process."""
        self._status.close()


AnyProcess = subprocess.Popen[bytes] | ServedProcess


class _Server:
    """A server of runs, seen from outside."""

    def __init__(self, place: sandbox.Place, protocol: str, preload: Sequence[str], key: object) -> None:
        self.key = key  # what it was started with and cannot change
        self.is_sandbox, self._ready = bool(place.command), False
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent, writable = (0, sandbox.writable_folders()) if self.is_sandbox else (os.getpid(), None)
        code = "from ratiobench.online.referee.server import serve; "
        code += f"serve({protocol!r}, {parent}, {writable!r}, {tuple(preload)!r})"
        with theirs:
            self._process = _start_python(place, code, theirs.fileno(), subprocess.DEVNULL, is_first=True)
        if self.is_sandbox:
            self.control.settimeout(ANSWER_SECONDS)
        # The files that runs are watched for: where they are is found out once, before the first run.
        self.control.send(pickle.dumps(sorted(list_barred().values())))

    def await_ready(self) -> None:
        """Wait until runs can start at once."""
        if not self._ready and not self.control.recv(32):
            raise ConnectionError("the server of runs is gone")
        self._ready = True

    def fork(self, start: Start) -> ServedProcess:
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            (stdin, to_it), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
            for descriptor in (stdin, stdout, stderr):
                theirs.callback(os.close, descriptor)
            pipes = os.fdopen(to_it, "wb"), os.fdopen(out, "rb"), os.fdopen(err, "rb")
            for pipe in pipes:
                ours.callback(pipe.close)
            status, reporter = socket.socketpair()
            theirs.callback(reporter.close)
            ours.callback(status.close)
            self.await_ready()
            socket.send_fds(self.control, [pickle.dumps(start)], [stdin, stdout, stderr, reporter.fileno()])
            answer = self.control.recv(32)
            if not answer:
                raise ConnectionError("the server of runs is gone")
            ours.pop_all()
            return ServedProcess(self, self._process.pid if self.is_sandbox else int(answer), pipes, status)

    def close(self) -> None:
        self.control.close()
        if self.is_sandbox:
            kill_tree(self._process)
        else:
            self._process.kill()  # keepers then end what is below them
        self._process.wait()


class Servers:
    """Servers of runs, two of each kind."""

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self._preload = tuple(preload)  # modules of libraries that they load once for all runs, if they are there
        self._servers: dict[object, _Server] = {}

    @cached_property
    def place(self) -> sandbox.Place:
        """The sandbox of algorithms that are no modules."""
        return sandbox.place(None)

    def fork(self, place: sandbox.Place, protocol: str, number: int, cpu_seconds: int | None = None) -> ServedProcess:
        """Start a process for a run of this number; if its server does not answer, from a new one."""
        folder = "/tmp" if place.command else os.getcwd()
        start = Start(list(place.path), dict(place.environment), folder, cpu_seconds, bool(place.rules))
        for again in (False, True):
            server = self._get(place, protocol, number % SERVERS)
            try:
                return server.fork(start)
            except OSError:
                server.close()
                if again:
                    raise
        raise AssertionError

    def _get(self, place: sandbox.Place, protocol: str, number: int) -> _Server:
        """The server of this number; a new one if there is none, or one that has ended or was started otherwise."""
        # Sandboxes of all families are kept, outside them servers of one.
        kind = (protocol if place.command else "", bool(place.rules), number)
        read_at_start = [(name, text) for name, text in place.environment.items() if name.startswith(_READ_AT_START)]
        key = (protocol, sys.executable, sorted(read_at_start))
        server = self._servers.get(kind)
        if server is None or server._process.poll() is not None or server.key != key:
            if server is not None:
                server.close()
            server = self._servers[kind] = _Server(place, protocol, self._preload, key)
        return server

    def start_sandboxes(self, protocol: str) -> list[_Server]:
        """Start the sandboxes side by side, and do not wait for them."""
        return [self._get(self.place, protocol, number) for number in range(SERVERS)]

    def prepare(self, protocol: str) -> None:
        """Start the sandboxes side by side, and wait for them: each takes a while to load what all runs need."""
        try:
            for server in self.start_sandboxes(protocol):
                server.await_ready()
        except OSError:
            question = "are its packages in a folder that the sandbox does not show?"
            problem = f"Python does not start in the sandbox: {question}"
            raise InputError("--isolate", "", problem) from None

    def close(self) -> None:
        """End them all."""
        while self._servers:
            self._servers.popitem()[1].close()


_lock = threading.Lock()
# The servers outside sandboxes, by the process that started them: a forked copy has none
_outside: dict[int, Servers] = {}


def fork(place: sandbox.Place, protocol: str, number: int) -> ServedProcess | None:
    """Fork a process outside sandboxes, below a keeper; None where there is none to be had."""
    if sys.platform == "linux" and sandbox.supports(protocol):
        with _lock, contextlib.suppress(OSError, ValueError):
            return _outside.setdefault(os.getpid(), Servers()).fork(place, protocol, number)
    return None


_current: ContextVar[Servers | None] = ContextVar("session", default=None)
# By process, current folder and modules: a forked copy has none, and a sandbox hides the folder it was made in
_spare: dict[tuple[int, str, tuple[str, ...]], Servers] = {}
_asked: set[tuple[int, str, tuple[str, ...]]] = set()


@contextlib.contextmanager
def session(preload: Sequence[str] = (), *, spare: str = "") -> Iterator[Servers]:
    """Inside, isolated runs of this thread share the sandboxes of one session, in which nothing has run before.

    A session is for one policy alone: counters of the kernel (numbers of processes and inodes) go from run to run.
    """
    # `spare`: the protocol of a caller that asks for one session after another: from the second one on the sandboxes
    # of the next one start while those of this one are used.
    key = os.getpid(), os.getcwd(), tuple(preload)
    opened = _spare.pop(key, None) or Servers(preload)
    if spare and key in _asked:
        _close_spare()
        _spare[key] = Servers(preload)
        _spare[key].start_sandboxes(spare)
    _asked.add(key)
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)
        opened.close()


def _close_spare() -> None:
    """End the sandboxes of this process in which nothing has run yet."""
    for key in [each for each in _spare if each[0] == os.getpid()]:
        _spare.pop(key).close()


@atexit.register
def close_all() -> None:
    """End the servers of this process, but those of sessions that are open."""
    _close_spare()
    _outside.pop(os.getpid(), Servers()).close()


def preloadable(modules: Sequence[str]) -> list[str]:
    """Of these modules those that are installed libraries: the names that a session may load for an algorithm."""
    libraries: list[str] = []
    for name in modules:
        with contextlib.suppress(Exception):
            found: Any = importlib.util.find_spec(name.partition(".")[0])
            if found is not None and "-packages" in str(found.origin):
                libraries.append(name)
    return libraries


def start_process(
    path: str | None,
    files: Sequence[str],
    protocol: str,
    number: int,
    method: str,
    folder: str | None,
    cpu_seconds: int,
) -> AnyProcess:
    """Start a process that answers by `runner.serve`; `folder`: the one that a process under Landlock may write."""
    session = _current.get()
    if method == BUBBLEWRAP and session is not None and path is None and not files:
        return session.fork(session.place, protocol, number, cpu_seconds)
    if method == BUBBLEWRAP:
        limits = f"confinement.limit_resources({cpu_seconds}, count_threads=True); "
        return _start_fresh(sandbox.place(path, files), protocol, None, limits)
    if method != LANDLOCK:
        place = sandbox.Place((), import_path(), dict(os.environ))
        return fork(place, protocol, number) or _start_fresh(place, protocol, os.getpid(), "")
    assert folder is not None
    place = sandbox.confined_place(path, folder, files)
    process: AnyProcess | None = fork(place, protocol, number)
    if process is None:
        process = _start_fresh(place, protocol, os.getpid(), "confinement.receive(); ")
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # it is gone, which the first question shows
        confined = confinement.Confinement(place.rules, folder, place.environment, cpu_seconds)
        confinement.send(confined, process.stdin)
    return process


def _start_fresh(place: sandbox.Place, protocol: str, parent: int | None, confine: str) -> subprocess.Popen[bytes]:
    """A process without a server, confined by this statement; `parent`: where it can be known."""
    code = f"from ratiobench.formulations.processes import run_keeper; run_keeper({parent}); "
    code += f"from ratiobench.online.referee import confinement; {confine}"
    code += f"from ratiobench.online.referee.runner import serve; serve({protocol!r})"
    # A process that outlives the run after all must not hold our streams.
    return _start_python(place, code, subprocess.PIPE, subprocess.PIPE)


def _start_python(
    place: sandbox.Place, code: str, stdin: int, output: int, *, is_first: bool = False
) -> subprocess.Popen[bytes]:
    """Run code by Python at a place; `is_first`: in a sandbox it is the first process."""
    first = ["--as-pid-1"] * is_first if place.command else []
    with contextlib.ExitStack() as stack:
        words, descriptors = stack.enter_context(sandbox.filter_pipe()) if place.command else ((), ())
        # Unbuffered (-u), for this process is killed at the end: what the algorithm printed must be out by then.
        boot = f"import sys; sys.path[:] = {list(place.path)!r}; {code}"
        return subprocess.Popen(
            [*place.command, *first, *words, sys.executable, "-u", "-c", boot],
            stdin=stdin,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=place.environment,
            pass_fds=descriptors,
        )
