"""Pieces of work in the workers of a dask cluster; nothing here needs a file system that the machines share.

A dask worker hands each piece to a child process of its own thread: one that dies or runs into its limit costs that
piece alone, with the same reason in the table as in a pool of our own.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from bench.store import Piece
from formulations.report import Termination
from formulations.worker import worker

_EVER = 1e9
_ALL_MEMORY_MB = 2**30


class WorkerLost(RuntimeError):
    """The process that ran a piece of work died or was ended; only this piece is lost."""


class OtherCode(RuntimeError):
    """A dask worker has other code, or other versions of the packages, than the process that plans the run."""


@lru_cache(maxsize=1)
def code() -> str:
    """Hash of our source files and of the versions of the packages that the numbers depend on."""
    from bench import provenance

    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for package in ("bench", "formulations", "instances", "online"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(repr(sorted(provenance.collect()["packages"].items())).encode())
    return digest.hexdigest()


def packed(call: Callable[[], Any]) -> bytes:
    """A call as bytes, with the data that it is about."""
    return pickle.dumps(call, protocol=pickle.HIGHEST_PROTOCOL)


def run(call: bytes, limit: float | None, planned_by: str) -> tuple[Any, Exception | None]:
    """In a dask worker: what the call returns, or its exception."""
    if planned_by != code():
        return None, OtherCode(
            "its code or its packages are not the ones here: install the same version, then restart it"
        )
    reply = worker("piece").call("bench.remote:answer", call, wall_seconds=limit or _EVER, memory_mb=_ALL_MEMORY_MB)
    if reply.termination is None:
        value: tuple[Any, Exception | None] = reply.value
        return value
    reasons = {
        Termination.TIMEOUT: f"ended at the limit of {limit or _EVER:g} s",
        Termination.CRASH: "the worker process died",
    }
    return None, WorkerLost(reasons.get(reply.termination, reply.message))


def answer(call: bytes) -> tuple[Any, Exception | None]:
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
    if isinstance(value, Piece) and "no module" in str(value.payload.get("reason", "")).lower():
        reason = f"{value.payload['reason']} of a dask worker; every worker needs the module"
        return replace(value, payload={**value.payload, "reason": reason})
    return value
