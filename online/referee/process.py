"""How the process of a user's algorithm starts: as a fork of a server (`ratiobench.online.referee.server`), or fresh.

| isolation | process |
|---|---|
| none | a fork of one of two servers of this process |
| Landlock | the same, of two servers that start with the variables of a sandbox and no others; it confines itself |
| bubblewrap | a fork of one of two servers of the session, each in a sandbox; without a session a sandbox of its own |

What forks share is the server's hash seed and memory layout. Runs that are compared with each other are therefore
started from two servers, so that decisions in the order of a set still differ between them. Where there is no Linux, of
a family from elsewhere, and where a server does not answer, a run has a fresh process.

A sandbox takes a quarter of a second to start, Python and NumPy included. Inside a session it is started once: a run
finds no memory, file or process of the runs before it. What is left are counters of the kernel (numbers of processes
and inodes), so a session is for one policy alone.

    with session():
        ...                # runs with `RunContext(isolate=True)` in this thread use its sandboxes
"""

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
    """A process that a server forked; the part of `subprocess.Popen` that is needed here.

    `pid`: of its keeper, and of no other process before `release`; in a sandbox that of the sandbox, which stands for
    the run in counts of memory, since nothing else runs in it. `stdin`, `stdout`, `stderr`: our ends of its pipes;
    `status`: receives its exit status; closing it says that nobody asks for the status any more.
    """

    def __init__(
        self, server: _Server, pid: int, pipes: tuple[IO[bytes], IO[bytes], IO[bytes]], status: socket.socket
    ) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self.returncode: int | None = None
        self._server, self._status = server, status

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
            self._server.end_run()
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
    """A server of runs, seen from outside.

    `key`: what it was started with and cannot change.
    """

    def __init__(self, place: sandbox.Place, protocol: str, preload: Sequence[str], key: object) -> None:
        self.key, self.is_sandbox, self._ready = key, bool(place.command), False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent, writable = (0, sandbox.writable_folders()) if self.is_sandbox else (os.getpid(), None)
        code = "from ratiobench.online.referee.server import serve; "
        code += f"serve({protocol!r}, {parent}, {writable!r}, {tuple(preload)!r})"
        with theirs:
            self._process = _start_python(place, code, theirs.fileno(), subprocess.DEVNULL, is_first=True)
        if self.is_sandbox:
            self._control.settimeout(ANSWER_SECONDS)
        # The files that runs are watched for: where they are is found out once, before the first run.
        self._control.send(pickle.dumps(sorted(list_barred().values())))

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def await_ready(self) -> None:
        """Wait until runs can start at once."""
        if not self._ready and not self._control.recv(32):
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
            socket.send_fds(self._control, [pickle.dumps(start)], [stdin, stdout, stderr, reporter.fileno()])
            answer = self._control.recv(32)
            if not answer:
                raise ConnectionError("the server of runs is gone")
            ours.pop_all()
            return ServedProcess(self, self._process.pid if self.is_sandbox else int(answer), pipes, status)

    def end_run(self) -> None:
        """Have the server of a sandbox end the run."""
        with contextlib.suppress(OSError):
            self._control.send(END_RUN)

    def close(self) -> None:
        self._control.close()
        if self.is_sandbox:
            kill_tree(self._process)
        else:
            self._process.kill()  # keepers then end what is below them
        self._process.wait()


class Servers:
    """Servers of runs, two of each kind.

    `preload`: modules of libraries that they load once for all runs; those that are not there are left out.
    """

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self._preload = tuple(preload)
        self._servers: dict[object, _Server] = {}

    @cached_property
    def place(self) -> sandbox.Place:
        """The sandbox of algorithms that are no modules."""
        return sandbox.place(None)

    def fork(self, place: sandbox.Place, protocol: str, number: int, cpu_seconds: int | None = None) -> ServedProcess:
        """Start a process for a run of this number; if its server does not answer, from a new one.

        `cpu_seconds`: of each process in a sandbox.
        """
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
        """The server of this number; a new one if there is none, or one that has ended or was started otherwise.

        Sandboxes of all families are kept, outside them servers of one.
        """
        kind = (protocol if place.command else "", bool(place.rules), number)
        read_at_start = [(name, text) for name, text in place.environment.items() if name.startswith(_READ_AT_START)]
        key = (protocol, sys.executable, sorted(read_at_start))
        server = self._servers.get(kind)
        if server is None or not server.alive or server.key != key:
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
            problem = (
                "Python does not start in the sandbox: are its packages in a folder that the sandbox does not show?"
            )
            raise InputError("--isolate", "", problem) from None

    def close(self) -> None:
        """End them all."""
        while self._servers:
            self._servers.popitem()[1].close()


_lock = threading.Lock()
# The servers outside sandboxes, by the process that started them: a forked copy has none
_outside: dict[int, Servers] = {}


def fork(place: sandbox.Place, protocol: str, number: int) -> ServedProcess | None:
    """Fork a process outside sandboxes, below a keeper; None where there is none to be had.

    With rules of Landlock the process receives a `Confinement` before it does anything.
    """
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

    `spare`: the protocol of a caller that asks for one session after another: from the second one on the sandboxes of
    the next one start while those of this one are used.
    """
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
    """Start a process that answers by `ratiobench.online.referee.runner.serve`.

    `path`, `files`: of the algorithm, as of `sandbox.place`; `number`: of the run; `method`: how it is isolated;
    `folder`: the one that a process under Landlock may write; `cpu_seconds`: of each isolated process.
    """
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
    """A process without a server; `parent`: where it can be known; `confine`: the call that limits it."""
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
