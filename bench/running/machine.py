"""Cores and bytes of this machine that may be used."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

# Memory set aside for one worker with its solver process: a day with 7,200 tasks stays below it
WORKER_BYTES = 2 * 2**30


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_bytes() -> int | None:
    """Memory that is free for us, by the system and by the control group; None if neither can be asked."""
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
    """One worker per core, fewer if memory is short."""
    free = usable_bytes()
    return max(1, usable_cores() if free is None else min(usable_cores(), free // WORKER_BYTES))
