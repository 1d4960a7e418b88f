"""What the numbers came from: versions of the packages, and the machine."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import re
from pathlib import Path

from bench.executors import usable_bytes, usable_cores


def collect() -> dict[str, dict[str, str]]:
    """Versions (`packages`) and machine (`machine`), as text; no names of hosts, users or folders."""
    return {"packages": _packages(), "machine": _machine()}


def _packages() -> dict[str, str]:
    """ratiobench, Python, and every package that ratiobench names as a requirement and that is installed."""
    found = {"python": platform.python_version()}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found["ratiobench"] = importlib.metadata.version("ratiobench")
    try:
        required = importlib.metadata.requires("ratiobench") or []
    except importlib.metadata.PackageNotFoundError:
        required = ["highspy", "matplotlib", "numba", "numpy", "ortools", "pandas", "pulp"]
    for requirement in required:
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        if match:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[match.group()] = importlib.metadata.version(match.group())
    return found


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
