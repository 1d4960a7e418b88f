"""Processes that run pieces of work, as a `concurrent.futures.Executor`."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]
from typing import Any, ParamSpec, TypeVar

from ratiobench.bench.running import work
from ratiobench.bench.running.machine import usable_cores
from ratiobench.formulations import timing
from ratiobench.instances.io.errors import CommandError
from ratiobench.online.referee.arrival_count import ArrivalCount

P = ParamSpec("P")
T = TypeVar("T")
GLANCE = 0.2  # Seconds between two looks at the clock of a piece that has a limit
_KERNELS = "ratiobench.formulations.kernels"
_main_module = threading.Lock()


class WorkerLost(RuntimeError):
    """The process that ran a piece of work died or was ended; only this piece is lost."""


class ExecutorLost(CommandError):
    """Whatever runs the pieces is gone as a whole; what was finished is kept."""


class SpawnPool(ThreadPoolExecutor):
    """A pool of processes in which a dead process costs exactly the piece that it ran, and is replaced.

    Each thread drives one process, which leads a process group: ending it ends the solver that it started.
    """

    def __init__(self, workers: int, limit: float | None = None) -> None:
        super().__init__(max(1, workers), initializer=_shield_from_interrupts)
        self.workers, self.limit = workers, limit  # in seconds, without those that `timing` excludes
        self._stopped, self._lock, self._here = False, threading.Lock(), threading.local()
        self._processes: set[_Process] = set()
        self._at_work: dict[Future[Any], list[_Process]] = {}
        threading._register_atexit(self.stop)  # type: ignore[attr-defined]  # before Python waits for the threads
        # Processes forked from a server that has loaded what every worker needs; spawned elsewhere, 0.7 s a worker.
        self._context: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
        if sys.platform == "linux":
            self._context.set_forkserver_preload([_KERNELS, "numba", __name__])
            if workers:
                super().submit(forkserver.ensure_running)  # it loads what workers need while the parent gets ready

    def parallel(self) -> int:
        return self.workers

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        at_work: list[_Process] = []
        future = super().submit(self._run, partial(fn, *args, **kwargs), at_work)
        self._at_work[future] = at_work
        future.add_done_callback(self._at_work.pop)
        return future

    def count_of(self, future: Future[Any]) -> ArrivalCount | None:
        """How far the online run of a piece is; None if it does none, or has not begun it."""
        at_work = self._at_work.get(future)
        count = ArrivalCount._make(map(int, at_work[0].count)) if at_work else None
        return count if count is not None and count.arrivals else None

    def _run(self, call: Callable[[], T], at_work: list[_Process]) -> T:
        """In a thread: run a piece in the thread's process, or in a new one if that has died."""
        process: _Process | None = getattr(self._here, "process", None)
        if process is None or process.lost:
            process = self._here.process = _Process(self._context, max(1, usable_cores() // self.workers))
            with self._lock:
                self._processes.add(process)
                if self._stopped:
                    process.kill()
            process.run(work.load_imports, None)  # what a new process has to load is not in the limit
        at_work.append(process)
        try:
            return process.run(call, self.limit)
        finally:
            if process.lost:
                self._end(process)

    def _end(self, process: _Process) -> None:
        with self._lock:
            self._processes.discard(process)
        process.end()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        (self.shutdown if kind is None else self.stop)()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()
        self.shutdown(cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what was submitted, then end the processes; in any case it waits for them."""
        super().shutdown(cancel_futures=cancel_futures)
        for process in [*self._processes]:
            self._end(process)


class _Process:
    """A process of the pool, and what it tells while it works: seconds that count for nobody, how far a run is."""

    def __init__(self, context: Any, cores: int) -> None:
        self.count = context.RawArray("q", len(ArrivalCount._fields))
        self._left_out = context.RawArray("d", 2)  # seconds so far, and since when more are, or 0
        self._pipe, there = context.Pipe()
        arguments = there, cores, self._left_out, self.count, dict(os.environ)
        self._process = context.Process(target=_work, args=arguments)
        with hide_main_module():
            self._process.start()
        there.close()
        self.lost = False

    def run(self, call: Callable[[], T], limit: float | None) -> T:
        """The value of the call, or its exception; `WorkerLost` if the process dies, or at the limit."""
        try:
            self._pipe.send(call)
            ends, began, before = [self._pipe, self._process.sentinel], time.monotonic(), self._left_out[0]
            while not (ready := connection.wait(ends, None if limit is None else GLANCE)):
                total, since = self._left_out
                now = time.monotonic()
                if limit is not None and now - began - (total - before) - (now - since if since else 0.0) >= limit:
                    self.lost = True
                    raise WorkerLost(f"ended at the limit of {limit:g} s")
            if self._pipe not in ready and not self._pipe.poll():  # something that it started keeps the pipe open
                raise EOFError
            value, error = self._pipe.recv()
        except (EOFError, ConnectionError):
            self.lost = True
            raise WorkerLost("the worker process died") from None
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                with contextlib.suppress(ProcessLookupError):  # it leads no group yet
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.join()  # Python complains of pipes that are closed while a process ends
        self._pipe.close()


def _work(pipe: Any, cores: int, left_out: Any, count: Any, environment: dict[str, str]) -> None:
    """In a new process: answer calls with their value or exception, until the parent has no more."""
    _prepare(cores, left_out, count, environment)
    while True:
        try:
            reply = pipe.recv()(), None
        except EOFError:
            return
        except BaseException as error:
            reply = None, ExceptionWithTraceback(error, error.__traceback__)
        try:
            pipe.send(reply)
        except Exception as error:  # what cannot be pickled
            pipe.send((None, RuntimeError(f"{type(error).__name__}: {error}")))


def _prepare(cores: int, left_out: Any, count: Any, environment: dict[str, str]) -> None:
    """Lead a process group, share the cores fairly, and die with the parent, however that dies."""
    os.environ.clear()  # the server that the process was forked from may be older than the parent's environment
    os.environ.update(environment)
    importlib.invalidate_caches()

    def tell(total: float, since: float) -> None:
        left_out[:] = total, since

    def tell_count(arrivals: ArrivalCount | None) -> None:
        count[:] = arrivals or (0,) * len(count)

    timing.tell, work.listener = tell, tell_count
    own_group = hasattr(os, "setpgid")
    if own_group:
        os.setpgid(0, 0)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, str(cores))
    if _KERNELS in sys.modules:
        sys.modules[_KERNELS].follow_environment()
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            if own_group:
                os.killpg(0, signal.SIGKILL)
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextlib.contextmanager
def hide_main_module() -> Iterator[None]:
    """Processes started inside do not run the parent's main module again, so that scripts need no main guard."""
    main = sys.modules["__main__"]
    with _main_module:
        entries: dict[str, Any] = {n: vars(main).pop(n) for n in ("__file__", "__spec__") if n in vars(main)}
        main.__spec__ = None
        try:
            yield
        finally:
            vars(main).update(entries)


def _shield_from_interrupts() -> None:
    """Processes started by this thread inherit the blocked signal: Ctrl-C is for the parent to handle."""
    if hasattr(signal, "pthread_sigmask"):
        # The tracker first: whoever starts it has the signal unblocked, and Ctrl-C while it is loaded would be printed.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
