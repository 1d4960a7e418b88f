"""Where pieces of work run: a pool of processes, or a dask cluster; both are `concurrent.futures.Executor`.

Both give each piece to a process that nothing else depends on, both tell by the same reasons what became of it, so a
table does not show where it was made.
"""

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
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from ratiobench.bench.running import work
from ratiobench.bench.running.machine import usable_cores
from ratiobench.formulations import timing
from ratiobench.instances.io.errors import CommandError
from ratiobench.online.referee.arrival_count import ArrivalCount

P = ParamSpec("P")
T = TypeVar("T")


class WorkerLost(RuntimeError):
    """The process that ran a piece of work died or was ended; only this piece is lost."""


class _AtLimit(Exception):
    """A piece of work took longer than the limit."""


GLANCE = 0.2  # Seconds after which it is looked again whether a piece that has a limit is still being made ready


class ExecutorLost(CommandError):
    """Whatever runs the pieces is gone as a whole; the run cannot go on, and what was finished is kept."""


class SpawnPool(Executor):
    """A pool of processes in which a dead process costs exactly the piece that it ran.

    Each of the pool's threads drives one process of its own and replaces it when it dies, so that it is known which
    piece killed it (a plain `ProcessPoolExecutor` breaks as a whole and does not say). Processes lead a process group:
    ending one ends the solver that it started, and Ctrl-C in a terminal reaches the parent alone.

    `limit`: seconds after which a piece is given up and its process killed, without those in which it was made ready
    (`ratiobench.formulations.timing`); None for no limit.
    """

    def __init__(self, workers: int, limit: float | None = None) -> None:
        self.workers, self.limit = workers, limit
        self._context = _context()
        self._cores_each = max(1, usable_cores() // workers)
        self._own = threading.local()
        self._alive: dict[int, ProcessPoolExecutor] = {}
        self._lock = threading.Lock()
        self._stopped = False
        self._threads = ThreadPoolExecutor(workers, initializer=_shield_from_interrupts)
        self._counts: WeakKeyDictionary[Future[Any], list[Any]] = WeakKeyDictionary()

    def parallel(self) -> int:
        """Pieces that can be in work at a time."""
        return self.workers

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call in one of the processes; the future raises `WorkerLost` if that process dies."""
        place: list[Any] = []
        future = self._threads.submit(self._drive, partial(fn, *args, **kwargs), place)
        self._counts[future] = place
        return future

    def count_of(self, future: Future[Any]) -> ArrivalCount | None:
        """How far the online run of a piece is; None where it does none, or has not begun it."""
        place = self._counts.get(future)
        count = ArrivalCount(*map(int, place[0])) if place else None
        return count if count is not None and count.arrivals else None

    def _drive(self, call: Callable[[], T], place: list[Any]) -> T:
        slot: ProcessPoolExecutor | None = getattr(self._own, "slot", None)
        try:
            if slot is None:
                self._own.left_out = self._context.RawArray("d", 2)
                self._own.count = self._context.RawArray("q", len(ArrivalCount._fields))
                slot = self._own.slot = ProcessPoolExecutor(
                    1,
                    mp_context=self._context,
                    initializer=_start_worker,
                    initargs=(self._cores_each, self._own.left_out, self._own.count, dict(os.environ)),
                )
                with hide_main_module():
                    started = slot.submit(os.getpid)
                self._own.pid = started.result()
                with self._lock:
                    self._alive[self._own.pid] = slot
                if not self._stopped:
                    slot.submit(work.load_imports).result()  # what a new process has to load is not in the limit
            if self._stopped:
                _kill_group(self._own.pid)
            place.append(self._own.count)
            return self._awaited(slot.submit(call))
        except BrokenProcessPool:
            self._drop(slot)
            raise WorkerLost("the worker process died") from None
        except _AtLimit:
            _kill_group(self._own.pid)
            self._drop(slot)
            raise WorkerLost(f"ended at the limit of {self.limit:g} s") from None

    def _awaited(self, future: Future[T]) -> T:
        """What the piece returns, within the limit; what its process left out of its own clocks is not in that."""
        if self.limit is not None:
            began, before = time.monotonic(), self._own.left_out[0]
            while True:
                total, since = self._own.left_out
                now = time.monotonic()
                left = self.limit - (now - began) + (total - before) + (now - since if since else 0.0)
                if left <= 0:
                    raise _AtLimit
                if wait([future], min(left, GLANCE)).done:
                    break
        return future.result()

    def _drop(self, slot: ProcessPoolExecutor | None) -> None:
        if slot is not None:
            slot.shutdown()
        self._own.slot = None
        with self._lock:
            self._alive.pop(getattr(self._own, "pid", -1), None)

    def stop(self) -> None:
        """End all processes at once, with whatever they run."""
        self._stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._kill()
        self._threads.shutdown()
        self._close()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what was submitted, then end the processes."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._kill()
        self._close()

    def _kill(self) -> None:
        with self._lock:
            for pid in self._alive:
                _kill_group(pid)

    def _close(self) -> None:
        """Wait until nothing of the dead processes is left: Python complains of pipes that are closed while it ends."""
        with self._lock:
            slots, self._alive = list(self._alive.values()), {}
        for slot in slots:
            slot.shutdown()


_KERNELS = "ratiobench.formulations.kernels"
_PRELOADED = [_KERNELS, "numba", "ratiobench.bench.running.work"]


def _context() -> Any:
    """Processes forked from a server that has loaded what every worker needs, and nothing else; spawned without Linux.

    A spawned worker spends 0.7 s of a core on these imports.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


_MAIN = threading.Lock()


@contextlib.contextmanager
def hide_main_module() -> Iterator[None]:
    """Processes started inside do not run the parent's main module again.

    Our workers need nothing of it, and a script or a notebook need not be written so that it can be run twice.
    """
    main = sys.modules["__main__"]
    with _MAIN:
        entries: dict[str, Any] = {n: vars(main).pop(n) for n in ("__file__", "__spec__") if n in vars(main)}
        main.__spec__ = None
        try:
            yield
        finally:
            vars(main).update(entries)


def _shield_from_interrupts() -> None:
    """Processes started by this thread inherit the blocked signal: Ctrl-C is for the parent to handle.

    The tracker of shared resources comes first: the thread that starts it has the signal unblocked afterwards, and the
    server that workers are forked from would print a traceback if Ctrl-C came while it is loaded.
    """
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_worker(cores: int, left_out: Any, count: Any, environment: dict[str, str]) -> None:
    """In a new worker: lead a process group, share the cores fairly, and die with the parent, however that dies.

    The environment is the parent's of now: the server that the worker was forked from may be older. What is in no clock
    there is written into `left_out`: seconds so far, and since when more is, or 0; how far an online run is, into
    `count` (`ArrivalCount`), with zeros where there is none.
    """
    os.environ.clear()
    os.environ.update(environment)
    importlib.invalidate_caches()

    def tell(total: float, since: float) -> None:
        left_out[:] = total, since

    def tell_count(found: ArrivalCount | None) -> None:
        count[:] = found or (0,) * len(count)

    timing.tell = tell
    work.listener = tell_count
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


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)
