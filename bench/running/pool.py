"""Where pieces of work run: a pool of spawned processes, or a dask cluster; both are `concurrent.futures.Executor`.

Both give each piece to a process that nothing else depends on, both tell by the same reasons what became of it, so a
table does not show where it was made.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from bench.running import remote
from bench.running.remote import OtherCode, WorkerLost
from instances.errors import InputError, shown

P = ParamSpec("P")
T = TypeVar("T")

WORKER_BYTES = 2 * 2**30
"""Memory set aside for one worker with its solver process: a day with 7,200 tasks stays below it."""

POLL = 2.0
"""Seconds between two looks at how many workers a cluster has."""
CONNECT = 10.0
"""Seconds to wait for a scheduler's answer."""
WORKERLESS = 300.0
"""Seconds to wait for a first or a new worker of a cluster that has none."""


class ExecutorLost(RuntimeError):
    """Whatever runs the pieces is gone as a whole; the run cannot go on, and what was finished is kept."""


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
        self._alive: dict[int, ProcessPoolExecutor] = {}
        self._lock = threading.Lock()
        self._stopped = False
        self._threads = ThreadPoolExecutor(workers, initializer=_shield_from_interrupts)

    def parallel(self) -> int:
        """Pieces that can be in work at a time."""
        return self.workers

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
                with _no_main_module():
                    started = slot.submit(os.getpid)
                self._own.pid = started.result()
                with self._lock:
                    self._alive[self._own.pid] = slot
                if not self._stopped:
                    slot.submit(remote.ready).result()  # what a new process has to load is not in the limit
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


_MAIN = threading.Lock()


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Processes started inside do not run the parent's main module again.

    Our workers need nothing of it, and a script or a notebook need not be written so that it can be run twice.
    """
    main = sys.modules["__main__"]
    with _MAIN:
        kept: dict[str, Any] = {n: vars(main).pop(n) for n in ("__file__", "__spec__") if n in vars(main)}
        main.__spec__ = None
        try:
            yield
        finally:
            vars(main).update(kept)


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


def _find_scheduler(distributed: Any, address: str) -> None:
    """Ask what is there, once; a client of `distributed` asks for ever where something else listens."""

    async def ask() -> Any:
        comm = await distributed.core.connect(address, timeout=CONNECT)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    async def patiently() -> Any:
        return await asyncio.wait_for(ask(), CONNECT)

    with ThreadPoolExecutor(1) as side:  # a notebook has a loop of its own in this thread
        kind = side.submit(lambda: asyncio.run(patiently())).result().get("type")
    if kind != "Scheduler":
        raise ValueError(f"it is a {shown(kind)}")


def _briefly(error: Exception) -> str:
    """An error of `distributed`, which can be pages long, in a few words."""
    if isinstance(error, TimeoutError):
        return f"nothing within {CONNECT:g} s"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]


class DaskCluster(Executor):
    """The workers of a dask.distributed cluster.

    A worker that dies costs nothing: the scheduler gives its piece to another one. A piece that takes more workers with
    it than the scheduler allows (`distributed.scheduler.allowed-failures`, 3 by default) is lost, and it alone.

    Parameters
    ----------
    address : of the scheduler.
    limit : seconds after which a piece is given up; None for no limit.

    Attributes
    ----------
    tell : told, in a line, that there is no worker; to be set by whoever shows the progress.

    Raises
    ------
    InputError : when `distributed` is not installed or no scheduler answers.
    """

    def __init__(self, address: str, limit: float | None = None) -> None:
        try:
            distributed = importlib.import_module("distributed")
        except ImportError:
            problem = "needs the package `distributed`, which is not installed: pip install -e '.[dask]'"
            raise InputError("--dask", "", problem) from None
        # What its client logs with a traceback when a scheduler goes away, ExecutorLost says in a line.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            _find_scheduler(distributed, address)
            self._client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
        except Exception as error:  # distributed raises many kinds for what is no address or no scheduler
            raise InputError(
                "--dask", "", f"no dask scheduler answers at {shown(address)}: {_briefly(error)}"
            ) from None
        self.address, self.limit = address, limit
        self._executor: Executor = self._client.get_executor(pure=False)
        self.tell: Callable[[str], None] | None = None
        self._threads, self._looked, self._told = 0, -POLL, False
        self._none_since: float | None = None

    def parallel(self) -> int:
        """Pieces that can be in work at a time: threads of all workers, which may come and go.

        Raises
        ------
        ExecutorLost : there has been no worker for five minutes, or the scheduler does not answer.
        """
        now = time.monotonic()
        if now - self._looked >= POLL:
            try:
                self._threads = sum(self._client.nthreads().values())
            except Exception as error:  # distributed raises many kinds for a scheduler that is gone
                raise self._gone() from error
            self._looked = now
            if self._threads:
                self._none_since, self._told = None, False
            elif self._none_since is None:
                self._none_since = now
            elif now - self._none_since > WORKERLESS:
                raise ExecutorLost(f"no dask worker at {self.address} for {WORKERLESS:g} s; what was finished is kept")
            elif now - self._none_since > WORKERLESS / 30 and self.tell is not None and not self._told:
                self._told = True
                self.tell(f"no dask worker at {self.address}: waiting for one, up to {WORKERLESS:g} s")
        return max(1, self._threads)

    def _gone(self) -> ExecutorLost:
        return ExecutorLost(
            f"the dask scheduler at {self.address} is gone; what was finished is kept, and the same command resumes"
        )

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call on a worker, in a process of its own there.

        The future raises what the call raises, `WorkerLost` if its process dies or runs into the limit, and
        `ExecutorLost` if the cluster cannot run it.
        """
        handed: Future[T] = Future()
        call = remote.packed(partial(fn, *args, **kwargs))
        try:
            inner = self._executor.submit(remote.run, call, self.limit, remote.code())
        except Exception as error:
            raise self._gone() from error
        inner.add_done_callback(lambda done: self._hand_over(done, handed))
        return handed

    def _hand_over(self, done: Future[tuple[Any, Exception | None]], handed: Future[T]) -> None:
        if done.cancelled():
            handed.set_exception(self._gone())
            return
        lost = done.exception()
        if lost is not None:
            if type(lost).__name__ == "KilledWorker":
                handed.set_exception(WorkerLost("the dask workers that were given this piece died, one after another"))
            else:
                problem = f"a dask worker cannot run ratiobench: {type(lost).__name__}: {lost}; install it there"
                handed.set_exception(ExecutorLost(problem))
            return
        value, error = done.result()
        if isinstance(error, OtherCode):
            handed.set_exception(ExecutorLost(f"a dask worker cannot be used, {error}"))
        elif error is not None:
            handed.set_exception(error)
        else:
            handed.set_result(value)

    def stop(self) -> None:
        """Leave the cluster at once; pieces that its workers have begun end there, and nobody waits for them."""
        with contextlib.suppress(Exception):
            self._executor.shutdown(wait=False)
        self._close()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, after what was submitted is finished."""
        self._executor.shutdown(wait=wait)
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)


Pool = SpawnPool | DaskCluster
