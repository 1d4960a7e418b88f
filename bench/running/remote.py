"""Pieces of work in the workers of a dask cluster; nothing here needs a file system that the machines share.

A dask worker hands each piece to a child process of its own thread: one that dies or runs into its limit costs that
piece alone, with the same reason in the table as in a pool of our own.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running import provenance
from ratiobench.bench.running.pool import WorkerLost
from ratiobench.bench.storage.store import StoredResult
from ratiobench.formulations.report import Termination
from ratiobench.formulations.worker import worker

_EVER = 1e9
_ALL_MEMORY_MB = 2**30


class CodeDiffers(RuntimeError):
    """A dask worker has other code, or other versions of the packages, than the process that plans the run."""


@lru_cache(maxsize=1)
def hash_code() -> str:
    """Hash of what the numbers depend on: versions of our algorithms, solves and audits, and of the packages."""
    ours = [
        (
            family.name,
            family.audit_version,
            family.solve_key(SolveSettings()),
            [family.algorithm_key(entry.name) for entry in family.algorithms()],
        )
        for family in families().values()
    ]
    packages = sorted(provenance.collect()["packages"].items())
    return hashlib.sha256(repr((ours, packages)).encode()).hexdigest()


def run(call: bytes, limit: float | None, planned_by: str) -> tuple[Any, Exception | None]:
    """In a dask worker: what the call returns, or its exception."""
    if planned_by != hash_code():
        return None, CodeDiffers(
            f"on {platform.node()}: its version of ratiobench, or of a package, is not the one here: install the same, "
            "then restart it"
        )
    child = worker("piece")
    if child.pid is None:
        child.call("ratiobench.bench.running.work:load_imports", wall_seconds=_EVER, memory_mb=_ALL_MEMORY_MB)
    reply = child.call(
        "ratiobench.bench.running.remote:answer_call", call, wall_seconds=limit or _EVER, memory_mb=_ALL_MEMORY_MB
    )
    if reply.termination is None:
        value: tuple[Any, Exception | None] = reply.value
        return value
    reasons = {
        Termination.TIMEOUT: f"ended at the limit of {limit or _EVER:g} s",
        Termination.CRASH: "the worker process died",
    }
    return None, WorkerLost(reasons.get(reply.termination, reply.message))


def answer_call(call: bytes) -> tuple[Any, Exception | None]:
    """In the child process of a dask worker's thread: run the call. Machines are shared by threads, not by kernels."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        function: partial[Any] = pickle.loads(call)
        return _explained(function()), None
    except Exception as error:
        return None, error


def _explained(value: Any) -> Any:
    """Failed pieces that miss a module say where it is missing."""
    if isinstance(value, tuple):
        return tuple(map(_explained, value))
    if isinstance(value, StoredResult) and "no module" in str(value.payload.get("reason", "")).lower():
        reason = f"{value.payload['reason']} of a dask worker; every worker needs the module"
        return replace(value, payload={**value.payload, "reason": reason})
    return value
