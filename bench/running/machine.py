"""What the numbers came from: commit, packages and machine; usable cores, free memory, number of workers."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import subprocess
from functools import partial
from pathlib import Path

from ratiobench.instances.io.plugins import plugin_packages

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
    free = usable_bytes()
    return max(1, usable_cores() if free is None else min(usable_cores(), free // WORKER_BYTES))


def collect(isolation: str = "") -> dict[str, dict[str, str]]:
    """Commit (`code`), versions (`packages`) and machine (`machine`), without names of hosts, users and folders."""
    return {"code": _code(), "packages": _packages(), "machine": _machine(isolation)}


def _code() -> dict[str, str]:
    """The commit of the checkout that this code is run from, and whether files differ from it; empty elsewhere."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return {}
    commands = ["rev-parse HEAD", "status --porcelain -- bench formulations instances online"]
    git = partial(subprocess.run, cwd=root, capture_output=True, text=True, check=True, timeout=20)
    try:
        commit, changed = (git(["git", *words.split()]).stdout.strip() for words in commands)
    except (OSError, subprocess.SubprocessError):  # no git, or a checkout of somebody else's
        return {}
    return {"commit": commit, "changed since": "yes" if changed else "no"}


def _packages() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    try:
        required = importlib.metadata.requires("ratiobench") or []
    except importlib.metadata.PackageNotFoundError:
        required = ["highspy", "numba", "numpy", "ortools", "pandas", "pulp"]
    for name in re.findall(r"^[A-Za-z0-9._-]+", "\n".join(["ratiobench", *required]), re.MULTILINE):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions | {f"plug-in {name}": version for name, version in plugin_packages().items()}


def _machine(isolation: str) -> dict[str, str]:
    processor, free = platform.processor() or platform.machine(), usable_bytes()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    machine = {"system": f"{platform.system()} {platform.machine()}", "processor": processor}
    machine["usable cores"] = str(usable_cores())
    machine |= {} if free is None else {"free memory": f"{free / 2**30:.1f} GiB"}
    return machine | ({"isolation": isolation} if isolation else {})
