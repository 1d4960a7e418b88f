"""What the numbers came from: the code's commit, versions of the packages, and the machine."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import subprocess
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
    machine = _machine() | ({"isolation": isolation} if isolation else {})
    return {"code": _code(), "packages": _packages(), "machine": machine}


def _code() -> dict[str, str]:
    """The commit of the checkout that this code is run from, and whether files differ from it; empty elsewhere."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return {}

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()

    try:
        folders = ("bench", "formulations", "instances", "online")
        changed = git("status", "--porcelain", "--", *folders)
        return {"commit": git("rev-parse", "HEAD"), "changed since": "yes" if changed else "no"}
    except (OSError, subprocess.SubprocessError):  # no git, or a checkout of somebody else's
        return {}


def _packages() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    try:
        required = importlib.metadata.requires("ratiobench") or []
    except importlib.metadata.PackageNotFoundError:
        required = ["highspy", "numba", "numpy", "ortools", "pandas", "pulp"]
    for requirement in ("ratiobench", *required):
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        if match:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                versions[match.group()] = importlib.metadata.version(match.group())
    return versions | {f"plug-in {name}": version for name, version in plugin_packages().items()}


def _machine() -> dict[str, str]:
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": platform.processor() or platform.machine(),
        "usable cores": str(usable_cores()),
    }
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        machine["processor"] = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    free = usable_bytes()
    if free is not None:
        machine["free memory"] = f"{free / 2**30:.1f} GiB"
    return machine
