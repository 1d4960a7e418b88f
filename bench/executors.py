"""Where pieces of work run: a pool of spawned processes, or a dask cluster; both are `concurrent.futures.Executor`."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from instances.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")

WORKER_BYTES = 2 * 2**30
"""Memory set aside for one worker with its solver process: a day with 7,200 tasks stays below it."""


class WorkerLost(RuntimeError):
    """The process that ran a piece of work died or was ended; only this piece is lost."""


class SpawnPool(Executor):
    """A pool of spawned processes in which a dead process costs exactly the piece that it ran.

    Each of the pool's threads drives one process of its own and replaces it when it dies, so that it is known which
    piece killed it (a plain `ProcessPoolExecutor` breaks as a whole and does not say). Processes lead a process group:
    ending one ends the solver that it started, and Ctrl-C in a terminal reaches the parent alone.

    Parameters
    ----------
    workers : number of processes.
    limit : seconds after which a piece is given up and its process killed; None for no limit.
    """

    def __init__(self, workers: int, limit: float | None = None) -> None:
        self.workers, self.limit = workers, limit
        self._context = multiprocessing.get_context("spawn")
        self._cores_each = max(1, usable_cores() // workers)
        self._own = threading.local()
        self._alive: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._threads = ThreadPoolExecutor(workers, initializer=_shield_from_interrupts)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call in one of the processes; the future raises `WorkerLost` if that process dies."""
        return self._threads.submit(self._drive, partial(fn, *args, **kwargs))

    def _drive(self, call: Callable[[], T]) -> T:
        slot: ProcessPoolExecutor | None = getattr(self._own, "slot", None)
        try:
            if slot is None:
                slot = self._own.slot = ProcessPoolExecutor(
                    1, mp_context=self._context, initializer=_start_worker, initargs=(self._cores_each,)
                )
                self._own.pid = slot.submit(os.getpid).result()
                with self._lock:
                    self._alive.add(self._own.pid)
            if self._stopped:
                _kill_group(self._own.pid)
            return slot.submit(call).result(self.limit)
        except BrokenProcessPool:
            self._drop(slot)
            raise WorkerLost("the worker process died") from None
        except TimeoutError:
            if self.limit is None:
                raise
            _kill_group(self._own.pid)
            self._drop(slot)
            raise WorkerLost(f"ended at the limit of {self.limit:g} s") from None

    def _drop(self, slot: ProcessPoolExecutor | None) -> None:
        if slot is not None:
            slot.shutdown(wait=False)
        self._own.slot = None
        with self._lock:
            self._alive.discard(getattr(self._own, "pid", -1))

    def stop(self) -> None:
        """End all processes at once, with whatever they run."""
        self._stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for pid in self._alive:
                _kill_group(pid)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what was submitted, then end the processes."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        with self._lock:
            for pid in self._alive:
                _kill_group(pid)
            self._alive.clear()


def _shield_from_interrupts() -> None:
    """Processes started by this thread inherit the blocked signal: Ctrl-C is for the parent to handle."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_worker(cores: int) -> None:
    """In a new worker: lead a process group, share the cores fairly, and die with the parent, however that dies."""
    own_group = hasattr(os, "setpgid")
    if own_group:
        os.setpgid(0, 0)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, str(cores))
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


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_bytes() -> int | None:
    """Memory that is free for us, by the system and by the control group; None where neither can be asked."""
    sizes = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes.append(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")))
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            sizes.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
    return min(sizes) if sizes else None


def default_workers() -> int:
    """One worker per core, fewer where memory is short."""
    free = usable_bytes()
    return max(1, usable_cores() if free is None else min(usable_cores(), free // WORKER_BYTES))


def dask_executor(address: str) -> tuple[Executor, int]:
    """The executor of a dask.distributed cluster, and how many pieces it runs at a time.

    Raises
    ------
    InputError : when `distributed` is not installed or no scheduler answers.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        problem = "needs the package `distributed`, which is not installed: pip install -e '.[dask]'"
        raise InputError("--dask", "", problem) from None
    try:
        client = distributed.Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError("--dask", "", f"no scheduler answers at {address}: {error}") from None
    return client.get_executor(pure=False), max(1, sum(client.nthreads().values()))
