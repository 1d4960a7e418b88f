"""Results that take long to compute, on disk: named by the SHA-256 of what they follow from, the code among it."""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import sha256_of, write_atomically

FOLDER = "RATIOBENCH_CACHE"  # Variable of the environment that names the folder; empty: nothing is kept
MOST = 4096  # Entries; with one more the oldest half goes


def user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):  # a user without a home: `~` stands for itself
        base = os.path.join(tempfile.gettempdir(), f"ratiobench-{os.getuid() if hasattr(os, 'getuid') else 0}")
    return Path(base) / "ratiobench"


@cache
def code_mark(packages: Sequence[str]) -> str:
    """SHA-256 of every source of these packages and of what runs them."""
    made_with = [platform.python_version(), platform.machine(), version("numpy"), version("numba")]
    return sha256_of([made_with, [[package, *_sources(package)] for package in packages]])


def _sources(package: str) -> Iterator[list[str]]:
    spec = find_spec(package)
    for folder in map(Path, spec.submodule_search_locations or () if spec else ()):
        for path in sorted(folder.rglob("*.py")):
            yield [path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]


def recall(key: Any) -> bytes | None:
    """What was kept under a key of JSON values; None for nothing, or what is no longer as it was kept."""
    folder = _folder()
    if folder is None:
        return None
    with suppress(OSError):
        found = (folder / sha256_of(key)).read_bytes()
        if hashlib.sha256(found[32:]).digest() == found[:32]:  # else a byte has changed since
            return found[32:]
    return None


def store(key: Any, content: bytes) -> None:
    """Keep the content under the key, if that can be."""
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError, InputError):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / sha256_of(key), hashlib.sha256(content).digest() + content)
        entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
        if len(entries) > MOST:
            for path in sorted(entries, key=lambda path: path.stat().st_mtime_ns)[: len(entries) // 2]:
                path.unlink(missing_ok=True)


def _folder() -> Path | None:
    given = os.environ.get(FOLDER)
    if given is None:
        return user_cache() / "kept"
    return Path(given) / "kept" if given else None
