"""Fork servers: processes of users' algorithms start from one that has already loaded NumPy and the family's protocol.

A fresh Python process spends 0.2 s of a core on these imports, again for every run. A fork of the server begins in the
state that a fresh process has when it is about to read its first message: nothing of any instance or algorithm is
there, and nothing that a run does comes back, because the server itself only forks. Each fork has a keeper
(`ratiobench.formulations.processes.run_keeper`), the pipes, folder, module path and environment of its own run,
generators seeded anew, and no other open file. The watch is installed in the fork, never in the server.

What forks share is the server's hash seed and memory layout. Runs that are compared with each other are therefore
started from two servers, so that decisions in the order of a set still differ between them.

Forks that are to be confined (`ratiobench.online.referee.confinement`) come from servers of their own, which start with
the variables of a sandbox and no others. Where there is no Linux, each run has a fresh process.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any

from ratiobench.formulations.processes import run_keeper, set_dumpable

SERVERS = 2  # Servers of a process: runs with an even number start from the first one, others from the second one
_OURS = "ratiobench."
# Beginnings of the environment variables that Python and its libraries read once, when they are loaded
_READ_AT_START = ("PYTHON", "OMP_", "OPENBLAS_", "MKL_", "NPY_", "LD_", "MALLOC_", "LC_", "LANG", "TZ")
_MESSAGE = 2**17
_BOOT = (
    "import sys; sys.path[:] = {path!r}; "
    "from ratiobench.online.referee.fork_server import serve_forks; serve_forks({parent}, {protocol!r})"
)


class ServedProcess:
    """A process that a server started for another process; the part of `subprocess.Popen` that is needed here.

    `stdin`, `stdout`, `stderr`: our ends of its pipes; `status`: receives its exit status; closing it says that nobody
    asks for the status any more.
    """

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], status: socket.socket) -> None:
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, stderr
        self.returncode: int | None = None
        self._status = status

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
        """Ask it to end."""
        raise NotImplementedError

    def kill(self) -> None:
        """End it at once."""
        raise NotImplementedError

    def release(self) -> None:
        """Close the socket of the exit status; the server may then forget the process."""
        self._status.close()


class ForkedProcess(ServedProcess):
    """A process of a fork server. `pid` is that of its keeper, and belongs to no other process before `release`."""

    def terminate(self) -> None:
        """Ask its keeper to end it."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End its keeper at once."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def open_pipes(
    theirs: contextlib.ExitStack, ours: contextlib.ExitStack
) -> tuple[list[int], tuple[IO[bytes], IO[bytes], IO[bytes]], socket.socket]:
    """What a fork is handed (its three streams, and where it reports its end), and this side's ends of the same."""
    (stdin, to_it), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
    for descriptor in (stdin, stdout, stderr):
        theirs.callback(os.close, descriptor)
    pipes = os.fdopen(to_it, "wb"), os.fdopen(out, "rb"), os.fdopen(err, "rb")
    for pipe in pipes:
        ours.callback(pipe.close)
    status, reporter = socket.socketpair()
    theirs.callback(reporter.close)
    ours.callback(status.close)
    return [stdin, stdout, stderr, reporter.fileno()], pipes, status


class _Server:
    """A fork server, seen from the process that started it."""

    def __init__(
        self, path: Sequence[str], protocol: str, key: tuple[Any, ...], environment: Mapping[str, str] | None
    ) -> None:
        self.key = key
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-u", "-c", _BOOT.format(path=list(path), parent=os.getpid(), protocol=protocol)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=environment,
            )

    def fork(self, path: Sequence[str], watched: Sequence[str], environment: Mapping[str, str] | None) -> ForkedProcess:
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            handed, pipes, status = open_pipes(theirs, ours)
            folder = os.open(".", os.O_RDONLY)
            theirs.callback(os.close, folder)
            given = dict(os.environ) if environment is None else dict(environment)
            message = pickle.dumps((list(path), given, list(watched), environment is not None))
            socket.send_fds(self._control, [message], [*handed, folder])
            answer = self._control.recv(32)
            if not answer:
                raise ConnectionError("the fork server is gone")
            ours.pop_all()
            return ForkedProcess(int(answer), *pipes, status)

    def close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()


_lock = threading.Lock()
_servers: dict[int, _Server] = {}
_owner = os.getpid()


def start(
    path: Sequence[str],
    protocol: str,
    number: int,
    watched: Sequence[str] = (),
    confined: Mapping[str, str] | None = None,
) -> ForkedProcess | None:
    """Fork a process that answers by `ratiobench.online.referee.runner.serve`, below a keeper.

    Returns the process; None where there is none to be had: no Linux, a family from elsewhere, a server that does not
    answer.
    """
    global _owner
    if sys.platform != "linux" or not protocol.startswith(_OURS):
        return None
    known = os.environ if confined is None else confined
    read_at_start = {name: text for name, text in known.items() if name.startswith(_READ_AT_START)}
    key = (protocol, sys.executable, tuple(sorted(read_at_start.items())))
    place = number % SERVERS + SERVERS * (confined is not None)
    with _lock:
        if _owner != os.getpid():  # a forked copy: the servers are the original's
            _servers.clear()
            _owner = os.getpid()
        server = _servers.get(place)
        try:
            if server is None or server.key != key:
                if server is not None:
                    _servers.pop(place).close()
                server = _servers[place] = _Server(path, protocol, key, confined)
            return server.fork(path, watched, confined)
        except (OSError, ValueError):
            if place in _servers:
                _servers.pop(place).close()
            return None


@atexit.register
def close_all() -> None:
    """End the servers of this process."""
    if _owner == os.getpid():
        while _servers:
            _servers.popitem()[1].close()


# ------------------------------------------------------------------------------------------------- in the server


def serve_forks(parent: int, protocol: str) -> None:
    """Fork a process for every message on standard input, until its other end is closed or the parent is gone.

    In a forked process this goes on as `ratiobench.online.referee.runner.serve`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_dumpable(False)  # what it forked may not look into it
    runner = importlib.import_module("ratiobench.online.referee.runner")
    watch = importlib.import_module("ratiobench.online.referee.watch")
    confinement = importlib.import_module("ratiobench.online.referee.confinement")
    # All that a fresh process loads before its watch is installed.
    for module in (protocol, "ctypes", "secrets", "subprocess", "numpy.random.bit_generator"):
        importlib.import_module(module)
    watch.prepare_watch()
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    control = socket.socket(fileno=os.dup(0))
    forked: dict[int, int] = {}
    """Processes by the descriptor on which their exit status is told."""
    texts: set[int] = set()
    released: set[int] = set()
    poll = select.poll()
    for each in (awake, control.fileno()):
        poll.register(each, select.POLLIN)
    while os.getppid() == parent:
        events = dict(poll.poll(500))
        if awake in events:
            os.read(awake, 4096)
        if control.fileno() in events:
            message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, 5)
            if not message:
                return
            *ends, reporter, folder = descriptors
            path, environment, watched, is_confined = pickle.loads(message)
            for file in watched:
                watch.list_file_forms(file)
            me, pid = os.getpid(), os.fork()
            if pid == 0:
                control.detach()
                _become(path, environment, ends, folder)
                run_keeper(me)
                if is_confined:
                    confinement.receive()
                runner.serve(protocol)
                return
            for each in (*ends, folder):
                os.close(each)
            forked[reporter] = pid
            poll.register(reporter, 0)  # tells that the other end is closed
            control.send(str(pid).encode())
        for reporter, pid in list(forked.items()):
            if reporter in events:
                poll.unregister(reporter)
                released.add(reporter)
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None and reporter not in texts:
                texts.add(reporter)
                status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                with contextlib.suppress(OSError):
                    os.write(reporter, str(status).encode())
            if ended is not None and reporter in released:
                os.waitpid(pid, 0)  # its number may be another's from here on
                os.close(reporter)
                for known in (texts, released):
                    known.remove(reporter)
                del forked[reporter]


def _become(path: Sequence[str], environment: Mapping[str, str], ends: Sequence[int], folder: int) -> None:
    """Make of this fork what a fresh process would be: its pipes, folder, path, environment and random numbers."""
    import numpy as np

    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.fchdir(folder)
    for number, descriptor in enumerate(ends):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    set_dumpable(True)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    importlib.invalidate_caches()
    np.random.seed()  # noqa: NPY002  (Python's own generator is seeded by every fork)
