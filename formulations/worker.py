"""Solver processes: each backend lives in a process of its own that serves many calls, under hard limits.

A solver that crashes, hangs or eats memory costs one reply. The worker is a plain child process that talks pickles over
its standard input and output, so it also works inside daemonic pool processes and from an unguarded script. It dies
with its parent: at the end of its input, by the parent-death signal, and by watching its parent's process id.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from ratiobench.formulations.processes import die_with_parent, kill_tree, tree_memory_mb
from ratiobench.formulations.report import Termination

_BOOT = "import sys; sys.path[:] = {path!r}; from ratiobench.formulations.worker import serve; serve({parent})"
_ADDRESS_SPACE_MARGIN_MB = 4096


@dataclass(frozen=True, slots=True)
class Reply:
    value: Any  # the function's result; None unless `termination` is None
    # None when the function returned, else TIMEOUT, MEMORY, CRASH, ERROR or UNAVAILABLE.
    termination: Termination | None = None
    message: str = ""  # one line, where something went wrong


class Worker:
    """A long-lived child process that runs functions by name; used by one thread at a time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def call(self, function: str, *arguments: Any, wall_seconds: float = 600.0, memory_mb: int = 8192) -> Reply:
        with self._lock:
            try:
                process = self._running()
                watch = _Watch(process, wall_seconds, memory_mb)
            except OSError as error:
                return Reply(None, Termination.CRASH, f"{self.name}: no process: {error}")
            try:
                return self._exchange(process, watch, (function, arguments, memory_mb))
            except BaseException:
                # Ctrl-C while waiting: the worker is in the middle of something that nobody waits for any more.
                self._kill()
                raise
            finally:
                watch.stop()

    def _exchange(self, process: subprocess.Popen[bytes], watch: _Watch, request: Any) -> Reply:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL))
            process.stdin.flush()
            reply = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            watch.stop()
            code = self._kill()
            if watch.reason is not None:
                return Reply(None, *watch.reason)
            return Reply(None, Termination.CRASH, f"{self.name}: the process {_death(code)}{self._last_words()}")
        assert isinstance(reply, Reply)
        if reply.termination is Termination.MEMORY:
            watch.stop()
            self._kill()
        return reply

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():
            # A forked copy of this object: the process and its pipes belong to the original.
            self._process, self._errors, self._owner = None, None, os.getpid()
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._kill()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (as long-lived as the process)
        boot = _BOOT.format(path=[entry or os.getcwd() for entry in sys.path], parent=os.getpid())
        self._process = subprocess.Popen(
            [sys.executable, "-c", boot],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # A group of its own: Ctrl-C in the terminal does not reach it, and its children can be killed with it.
            start_new_session=True,
        )
        _workers.append(self)
        return self._process

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""

    def _kill(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        kill_tree(process)
        code = process.wait()
        for pipe in filter(None, (process.stdin, process.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()
        if self in _workers:
            _workers.remove(self)
        return code

    def close(self) -> None:
        """End the process; the next call starts a new one."""
        if self._owner == os.getpid():
            self._kill()


class _Watch:
    """Kills the process when it has run too long or grown too big, and remembers why."""

    def __init__(self, process: subprocess.Popen[bytes], wall_seconds: float, memory_mb: int) -> None:
        self.reason: tuple[Termination, str] | None = None
        self._process, self._memory_mb = process, memory_mb
        self._wall_seconds, self._until = wall_seconds, time.monotonic() + wall_seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="solver-watch")
        self._thread.start()

    def _run(self) -> None:
        pause = 0.01
        while not self._done.wait(max(0.0, min(pause, self._until - time.monotonic()))):
            if time.monotonic() >= self._until:
                self.reason = (Termination.TIMEOUT, f"no answer within {self._wall_seconds:g} s; killed")
            elif tree_memory_mb(self._process.pid) > self._memory_mb:
                self.reason = (Termination.MEMORY, f"more than {self._memory_mb} MB in use; killed")
            if self.reason is not None:
                kill_tree(self._process)
                return
            pause = min(0.2, pause * 1.5)

    def stop(self) -> None:
        self._done.set()
        self._thread.join()


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"
    return f"ended with exit status {code}"


_workers: list[Worker] = []
_here = threading.local()


def worker(name: str) -> Worker:
    """This thread's worker: one a thread, because the parent-death signal follows the thread that started it."""
    workers: dict[tuple[int, str], Worker] = _here.__dict__.setdefault("workers", {})
    return workers.setdefault((os.getpid(), name), Worker(name))


def close_all() -> None:
    for each in [*_workers]:  # a closed one leaves the list
        each.close()


atexit.register(close_all)


# ---------------------------------------------------------------------------------------------- in the child process


def serve(parent: int) -> None:
    """The child's main loop: pickled requests from standard input, pickled replies to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # Solvers print to the C-level standard output, which must not get between the replies.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    while True:
        try:
            function, arguments, memory_mb = pickle.load(requests)
        except EOFError:
            os._exit(0)
        except Exception as error:
            reply = Reply(None, Termination.ERROR, f"the request cannot be read: {_line(error)}")
        else:
            reply = _answer(function, arguments, memory_mb)
        try:
            data = pickle.dumps(reply, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            data = pickle.dumps(Reply(None, Termination.ERROR, f"the result cannot be sent: {_line(error)}"))
        replies.write(data)
        replies.flush()


def _answer(function: str, arguments: tuple[Any, ...], memory_mb: int) -> Reply:
    try:
        _limit_address_space(memory_mb)
        module, _, name = function.partition(":")
        target: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return Reply(target(*arguments))
    except ModuleNotFoundError as error:
        return Reply(None, Termination.UNAVAILABLE, f"{error.name} is not installed")
    except MemoryError:
        return Reply(None, Termination.MEMORY, f"more than {memory_mb} MB asked for")
    except Exception as error:
        return Reply(None, Termination.ERROR, _line(error))


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]


def _limit_address_space(memory_mb: int) -> None:
    """Cap the address space above the memory limit, so that one huge allocation fails at once."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, ((memory_mb + _ADDRESS_SPACE_MARGIN_MB) << 20, hard))


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    if hasattr(os, "killpg"):
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
