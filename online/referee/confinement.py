"""What a process gives up before it runs a user's algorithm: limits of resources, and, outside bubblewrap, the rest."""

from __future__ import annotations

import ctypes
import os
import pickle
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from ratiobench.online.referee import landlock, system_calls

PROCESSES = 64  # Of a user's algorithm, its own included; more is a violation
THREADS = 256  # Threads beside four per core, over all processes; the kernel counts them where it knows whose they are
_LENGTH = struct.Struct("=I")
_CAPABILITIES_VERSION, _DROP_BOUND = 0x20080522, 24


@dataclass(frozen=True, slots=True)
class Confinement:
    """How a process is confined by Landlock and a filter of system calls."""

    rules: Sequence[tuple[str, str]]  # of `ratiobench.online.referee.landlock.restrict`
    folder: str  # the only one that can be written; it becomes the current one
    environment: Mapping[str, str]  # the variables inside
    cpu_seconds: int  # of each process


def send(confinement: Confinement, pipe: IO[bytes]) -> None:
    """Send it to the process at the other end of the pipe, before the first message."""
    data = pickle.dumps(confinement)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive() -> None:
    """Read a `Confinement` from the standard input, and confine this process."""
    (length,) = _LENGTH.unpack(_read(_LENGTH.size))
    confine(pickle.loads(_read(length)))


def _read(size: int) -> bytes:
    """So many bytes of the standard input, and not one more: the rest is the runner's."""
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data


def confine(confinement: Confinement) -> None:
    """Confine this process by Landlock, a filter of system calls and limits, and drop all capabilities."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise OSError("a process with several threads cannot be confined")
    os.environ.clear()
    os.environ.update(confinement.environment)
    os.chdir(confinement.folder)
    limit_resources(confinement.cpu_seconds)
    own = [(os.path.realpath("/proc/self"), landlock.READ), (confinement.folder, landlock.WRITE)]
    landlock.restrict([*confinement.rules, *own])
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(64):
        libc.prctl(_DROP_BOUND, number, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_VERSION, 0))
    libc.capset(header, ctypes.create_string_buffer(bytes(24)))
    signals_to = None if landlock.version() >= landlock.SIGNALS_VERSION else os.getpid()
    system_calls.install(system_calls.build_filter(keep_locks=True, signals_to=signals_to))


def limit_resources(cpu_seconds: int, *, count_threads: bool = False) -> None:
    """Limit this process and what it starts: CPU time, open files, size of files, addresses, no core files."""
    if sys.platform == "win32":
        return
    import resource

    threads = THREADS + 4 * (os.cpu_count() or 1)
    limits = {
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_FSIZE: 2**28,  # of each file that is written
        resource.RLIMIT_AS: 2**34,  # a bar for the memory that the referee's count comes too late for
        resource.RLIMIT_CORE: 0,
    } | ({resource.RLIMIT_NPROC: threads} if count_threads else {})
    with suppress(ValueError, OSError):  # at the first one there is a signal that says what was exceeded
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    for name, limit in limits.items():
        _, most = resource.getrlimit(name)
        value = limit if most == resource.RLIM_INFINITY else min(limit, most)
        with suppress(ValueError, OSError):
            resource.setrlimit(name, (value, value))
