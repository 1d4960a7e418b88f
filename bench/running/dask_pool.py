"""Pieces of work on a dask cluster, as an executor like the pool of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import logging
import os
import pickle
import platform
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running.machine import collect
from ratiobench.bench.running.pool import ExecutorLost, P, SpawnPool, T, WorkerLost
from ratiobench.bench.storage.store import StoredResult
from ratiobench.formulations.report import Termination
from ratiobench.formulations.worker import worker
from ratiobench.instances.io.errors import InputError, install_command, shorten
from ratiobench.online.referee.arrival_count import ArrivalCount

POLL = 2.0  # Seconds between two looks at how many workers a cluster has
CONNECT = 10.0  # Seconds to wait for a scheduler's answer
WORKERLESS = 300.0  # Seconds to wait for a first or a new worker of a cluster that has none


def _find_scheduler(distributed: Any, address: str) -> None:
    """Ask what is there, once; a client of `distributed` asks for ever if something else listens."""

    async def ask() -> Any:
        comm = await distributed.core.connect(address, timeout=CONNECT)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    with ThreadPoolExecutor(1) as side:  # a notebook has a loop of its own in this thread
        kind = side.submit(asyncio.run, asyncio.wait_for(ask(), CONNECT)).result().get("type")
    if kind != "Scheduler":
        raise ValueError(f"it is a {shorten(kind)}")


class DaskCluster(Executor):
    """The workers of a dask cluster; one that dies costs nothing unless a piece takes several with it."""

    def __init__(self, address: str, limit: float | None = None) -> None:
        try:
            distributed = importlib.import_module("distributed")
        except ImportError:
            problem = f"needs the package `distributed`, which is not installed: {install_command('dask')}"
            raise InputError("--dask", "", problem) from None
        # What its client logs with a traceback when a scheduler goes away, ExecutorLost says in a line.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            _find_scheduler(distributed, address)
            self._client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
        except Exception as error:  # distributed raises many kinds for what is no address or no scheduler
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]  # it can be pages long
            why = f"nothing within {CONNECT:g} s" if isinstance(error, TimeoutError) else why
            raise InputError("--dask", "", f"no dask scheduler answers at {shorten(address)}: {why}") from None
        self.address, self.limit = address, limit
        self._executor: Executor = self._client.get_executor(pure=False)
        self.tell: Callable[[str], None] | None = None
        self._threads, self._looked, self._told = 0, -POLL, False
        self._none_since: float | None = None

    def parallel(self) -> int:
        """Pieces that can be in work at a time: threads of all workers, which may come and go."""
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
        gone = f"the dask scheduler at {self.address} is gone"
        return ExecutorLost(f"{gone}; what was finished is kept, and the same command resumes")

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        handed: Future[T] = Future()
        call = pickle.dumps(partial(fn, *args, **kwargs), pickle.HIGHEST_PROTOCOL)
        try:
            inner = self._executor.submit(run_piece, call, self.limit, hash_code())
        except Exception as error:
            raise self._gone() from error
        inner.add_done_callback(lambda done: self._hand_over(done, handed))
        return handed

    def count_of(self, future: Future[Any]) -> ArrivalCount | None:
        return None

    def _hand_over(self, done: Future[tuple[Any, Exception | None]], handed: Future[T]) -> None:
        value: Any = None
        error: Exception | None
        if done.cancelled():
            error = self._gone()
        elif (lost := done.exception()) is None:
            value, error = done.result()
        elif type(lost).__name__ == "KilledWorker":
            error = WorkerLost("the dask workers that were given this piece died, one after another")
        else:
            reason = f"{type(lost).__name__}: {lost}"
            error = ExecutorLost(f"a dask worker cannot run ratiobench: {reason}; install it there")
        if error is None:
            handed.set_result(value)
        else:
            handed.set_exception(error)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.shutdown(wait=kind is None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; without `wait`, pieces that its workers have begun end there, and nobody waits."""
        with contextlib.suppress(*([] if wait else [Exception])):
            self._executor.shutdown(wait=wait)
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)


Pool = SpawnPool | DaskCluster


@lru_cache(maxsize=1)
def hash_code() -> str:
    """Hash of what the numbers depend on: versions of our algorithms, solves and audits, and of the packages."""
    ours = []
    for family in families().values():
        algorithms = [family.algorithm_key(entry.name) for entry in family.algorithms()]
        ours.append((family.name, family.audit_version, family.solve_key(SolveSettings()), algorithms))
    packages = sorted(collect()["packages"].items())
    return hashlib.sha256(repr((ours, packages)).encode()).hexdigest()


def run_piece(call: bytes, limit: float | None, planned_by: str) -> tuple[Any, Exception | None]:
    if planned_by != hash_code():
        where = f"a dask worker cannot be used, on {platform.node()}"
        problem = "its version of ratiobench, or of a package, is not the one here: install the same, then restart it"
        return None, ExecutorLost(f"{where}: {problem}")
    child, ever, memory_mb = worker("piece"), 1e9, 2**30  # seconds; all memory
    if child.pid is None:
        child.call("ratiobench.bench.running.work:load_imports", wall_seconds=ever, memory_mb=memory_mb)
    place, seconds = "ratiobench.bench.running.dask_pool:answer_call", limit or ever
    reply = child.call(place, call, wall_seconds=seconds, memory_mb=memory_mb)
    if reply.termination is None:
        return reply.value  # type: ignore[no-any-return]
    reasons = {Termination.TIMEOUT: f"ended at the limit of {seconds:g} s"}
    reasons[Termination.CRASH] = "the worker process died"
    return None, WorkerLost(reasons.get(reply.termination, reply.message))


def answer_call(call: bytes) -> tuple[Any, Exception | None]:
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        function: partial[Any] = pickle.loads(call)
        return _explained(function()), None
    except Exception as error:
        return None, error


def _explained(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_explained, value))
    if isinstance(value, StoredResult) and "no module" in str(value.payload.get("reason", "")).lower():
        reason = f"{value.payload['reason']} of a dask worker; every worker needs the module"
        return replace(value, payload={**value.payload, "reason": reason})
    return value
