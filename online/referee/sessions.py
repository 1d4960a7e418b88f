"""One sandbox for all runs of a user's algorithm: each run is a fork of a process inside that has never run it.

A sandbox (`ratiobench.online.referee.sandbox`) takes a quarter of a second to start, Python and NumPy included. A
session starts two of them once; each keeps a server that forks a process for every run. The server loads our protocol
and libraries, never the algorithm. When a run ends it ends every other process of its sandbox, and before the next one
it restores all files that can be written there: a run finds no memory, file or process of the runs before it. What is
left are counters of the kernel (numbers of processes and inodes), so a session is for one policy alone. Two runs in a
row come from different sandboxes, whose hash seeds differ, as `ratiobench.online.referee.fork_server` does it.

    with session():
        ...                # runs with `RunContext(isolate=True)` in this thread use its sandboxes
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import importlib.util
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import IO, Any

from ratiobench.formulations.processes import kill_tree, remove_tree, set_dumpable
from ratiobench.instances.io.errors import InputError
from ratiobench.online.referee import sandbox
from ratiobench.online.referee.bounds import list_barred
from ratiobench.online.referee.confinement import limit_resources
from ratiobench.online.referee.fork_server import ServedProcess, open_pipes
from ratiobench.online.referee.watch import list_file_forms, prepare_watch

SERVERS = 2  # Sandboxes of a session: runs with an even number start in the first one, others in the second one
_MESSAGE = 2**17
ANSWER_SECONDS = 60.0  # A sandbox that does not start, or whose server does not answer, in this time is given up
_BOOT = (
    "import sys; sys.path[:] = {path!r}; "
    "from ratiobench.online.referee.sessions import serve_runs; serve_runs({protocol!r}, {writable!r}, {preload!r})"
)


class IsolatedFork(ServedProcess):
    """A run's process in the sandbox of a session.

    `server`: the sandbox. Its process stands for the run's in counts of memory: nothing else runs in it.
    """

    def __init__(
        self, server: _Sandbox, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], status: socket.socket
    ) -> None:
        super().__init__(server.pid, stdin, stdout, stderr, status)
        self._server = server

    def terminate(self) -> None:
        """Have the server end the run, with all that it started, which may outlive it."""
        self._server.end_run()

    def kill(self) -> None:
        """End the whole sandbox."""
        self._server.close()


class _Sandbox:
    """A sandbox with its server of runs, seen from outside."""

    def __init__(self, place: sandbox.Place, protocol: str, preload: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        boot = _BOOT.format(
            path=place.path, protocol=protocol, writable=sandbox.writable_folders(), preload=tuple(preload)
        )
        with theirs, sandbox.filter_pipe() as (words, descriptors):
            self._process = subprocess.Popen(
                [*place.command, "--as-pid-1", *words, sys.executable, "-u", "-c", boot],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=place.environment,
                pass_fds=descriptors,
            )
        self._control.settimeout(ANSWER_SECONDS)
        # The files that runs are watched for: where they are is found out once, before the first run.
        self._control.send(pickle.dumps(sorted(list_barred().values())))
        self._ready = False
        self._message = list(place.path), dict(place.environment)
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def await_ready(self) -> None:
        """Wait until runs can start at once."""
        if not self._ready and not self._control.recv(32):
            raise ConnectionError("the server of the sandbox is gone")
        self._ready = True

    def fork(self, cpu_seconds: int) -> IsolatedFork:
        """Start a process that may use so much processor time."""
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            given, pipes, status = open_pipes(theirs, ours)
            self.await_ready()
            message = pickle.dumps((*self._message, cpu_seconds))
            socket.send_fds(self._control, [message], given)
            if not self._control.recv(32):
                raise ConnectionError("the server of the sandbox is gone")
            ours.pop_all()
            return IsolatedFork(self, *pipes, status)

    def end_run(self) -> None:
        with contextlib.suppress(OSError):
            self._control.send(b"end")

    def close(self) -> None:
        self._control.close()
        if self._process.poll() is None:
            kill_tree(self._process)
        self._process.wait()


class Session:
    """The sandboxes of one algorithm.

    `preload`: modules of libraries that the server loads once for all runs; those that are not there are left out.
    """

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self._preload = tuple(preload)
        self._place: sandbox.Place | None = None
        self._servers: dict[tuple[str, int], _Sandbox] = {}

    def start(self, protocol: str, number: int, cpu_seconds: int) -> IsolatedFork:
        """A process that answers by `ratiobench.online.referee.runner.serve`."""
        for again in (False, True):
            server = self._server(protocol, number % SERVERS)
            try:
                return server.fork(cpu_seconds)
            except OSError:
                server.close()
                if again:
                    raise
        raise AssertionError

    def start_servers(self, protocol: str) -> list[_Sandbox]:
        """Start the sandboxes side by side, and do not wait for them."""
        return [self._server(protocol, place) for place in range(SERVERS)]

    def prepare(self, protocol: str) -> None:
        """Start the sandboxes side by side, and wait for them: each takes a while to load what all runs need."""
        try:
            for server in self.start_servers(protocol):
                server.await_ready()
        except OSError:
            problem = (
                "Python does not start in the sandbox: are its packages in a folder that the sandbox does not show?"
            )
            raise InputError("--isolate", "", problem) from None

    def _server(self, protocol: str, place: int) -> _Sandbox:
        server = self._servers.get((protocol, place))
        if server is None or not server.alive:
            if server is not None:
                server.close()
            if self._place is None:
                self._place = sandbox.place(None)
            server = self._servers[protocol, place] = _Sandbox(self._place, protocol, self._preload)
        return server

    def close(self) -> None:
        """End all sandboxes."""
        while self._servers:
            self._servers.popitem()[1].close()


_current: ContextVar[Session | None] = ContextVar("session", default=None)
current = _current.get


# By process, current folder and modules: a forked copy has none, and a sandbox hides the folder it was made in
_spare: dict[tuple[int, str, tuple[str, ...]], Session] = {}
_asked: set[tuple[int, str, tuple[str, ...]]] = set()


@contextlib.contextmanager
def session(preload: Sequence[str] = (), *, spare: str = "") -> Iterator[Session]:
    """Inside, isolated runs of this thread share the sandboxes of one session, in which nothing has run before.

    `spare`: the protocol of a caller that asks for one session after another: from the second one on the sandboxes of
    the next one start while those of this one are used.
    """
    key = os.getpid(), os.getcwd(), tuple(preload)
    opened = _spare.pop(key, None) or Session(preload)
    if spare and key in _asked:
        close_all()
        _spare[key] = Session(preload)
        _spare[key].start_servers(spare)
    _asked.add(key)
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)
        opened.close()


@atexit.register
def close_all() -> None:
    """End the sandboxes of this process in which nothing has run yet."""
    for key in [each for each in _spare if each[0] == os.getpid()]:
        _spare.pop(key).close()


# ------------------------------------------------------------------------------------------------ in the sandbox


def serve_runs(protocol: str, writable: Sequence[str], preload: Sequence[str]) -> None:
    """Fork a process for every message on standard input, until its other end is closed.

    In a forked process this goes on as `ratiobench.online.referee.runner.serve`. One run goes on at a time.
    """
    if not _is_inside():  # it ends every process that it sees
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_dumpable(False)  # runs may not look into it
    runner = importlib.import_module("ratiobench.online.referee.runner")
    for module in (protocol, "ctypes", "secrets", "subprocess", "numpy.random.bit_generator", *preload):
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    control = socket.socket(fileno=os.dup(0))
    for file in pickle.loads(control.recv(_MESSAGE)):
        list_file_forms(file)
    prepare_watch()
    files = _Files(writable)
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    poll = select.poll()
    for each in (awake, control.fileno()):
        poll.register(each, select.POLLIN)
    control.send(b"ready")
    child, reporter = 0, -1
    while True:
        events = dict(poll.poll())
        if awake in events:
            os.read(awake, 4096)
            child, reporter = _reap(child, reporter)
        if control.fileno() not in events:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, 4)
        if not message:
            return
        _end_others()
        child, reporter = _reap(child, reporter, block=True)
        if message == b"end":
            continue
        files.restore()
        *ends, reporter = descriptors
        child = os.fork()
        if child == 0:
            control.detach()
            _become(pickle.loads(message), ends)
            runner.serve(protocol)
            os._exit(0)
        for each in ends:
            os.close(each)
        control.send(b"started")


def _is_inside() -> bool:
    """Whether this is the first process of a sandbox: no signal from inside stops or ends it."""
    return os.getpid() == 1


def _end_others() -> None:
    """Kill every process of the sandbox but this one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)


def _reap(child: int, reporter: int, *, block: bool = False) -> tuple[int, int]:
    """Bury what has ended, and report the exit status of the run; (0, -1) where no run goes on any more."""
    with contextlib.suppress(ChildProcessError):
        while child:
            pid, status = os.waitpid(-1, 0 if block else os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                _end_others()  # they may hold its pipes
                with contextlib.suppress(OSError):
                    os.write(reporter, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(reporter)
                return 0, -1
    return child, reporter


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


def _become(message: tuple[Sequence[str], Mapping[str, str], int], ends: Sequence[int]) -> None:
    """Make of this fork what a fresh process would be: its pipes, path, environment, limits and random numbers."""
    import numpy as np

    path, environment, cpu_seconds = message
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(ends):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    set_dumpable(True)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    np.random.seed()  # noqa: NPY002  (Python's own generator is seeded by every fork)
    limit_resources(cpu_seconds, count_threads=True)


def preloadable(modules: Sequence[str]) -> list[str]:
    """Of these modules those that are installed libraries: the names that a session may load for an algorithm."""
    libraries: list[str] = []
    for name in modules:
        with contextlib.suppress(Exception):
            found: Any = importlib.util.find_spec(name.partition(".")[0])
            if found is not None and "-packages" in str(found.origin):
                libraries.append(name)
    return libraries
