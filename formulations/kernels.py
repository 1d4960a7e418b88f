"""How kernels are compiled: the one decorator, and what is cheaper written here than compiled out of NumPy.

A kernel is compiled at its first use, for the types of what it is given, and kept on disk. Compiling is most of a first
run, so a kernel is written for one combination of types (two, where it runs in integers and in doubles): arrays in C
order that can be written, numbers that are no literals. What only other kernels call, once or in a few lines, is
`inlined`: each function that is compiled by itself is optimised again within every kernel that calls it. Array
expressions, copies of slices and `np.argsort` are functions too, and large ones; loops are not.

Neither uses fast-math: the same inputs give the same results on any machine.
"""

from __future__ import annotations

import hashlib
import math
import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from ratiobench.instances.io.disk_cache import user_cache

READ_ONLY = "RATIOBENCH_READ_ONLY"  # A variable of processes that may not write into the folders of compiled kernels


def _use_writable_kernel_cache() -> None:
    """Send numba's cache to a user folder when the package's own folder cannot be written."""
    if "NUMBA_CACHE_DIR" in os.environ or os.access(Path(__file__).parent, os.W_OK):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(private_folder([user_cache()], Path(tempfile.gettempdir())))


def private_folder(wanted: Sequence[Path], temporary: Path) -> Path:
    """Find a folder into which nobody else can write: numba runs what lies in it."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    for folder, barred in (*((each, 0o002) for each in wanted), (temporary / f"ratiobench-cache-{user}", 0o077)):
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=folder in wanted, exist_ok=True)
            found = folder.lstat()  # a link is somebody's choice of another folder
            private = os.name == "nt" or (found.st_uid == user and not found.st_mode & barred)
            if stat.S_ISDIR(found.st_mode) and private and os.access(folder, os.W_OK):
                return folder
    return Path(tempfile.mkdtemp(prefix="ratiobench-cache-", dir=temporary))


_use_writable_kernel_cache()

import numpy as np  # noqa: E402
from numba import config, njit  # noqa: E402  (the cache folder must be chosen first)

from ratiobench.formulations.timing import exclude_compilation  # noqa: E402

exclude_compilation()


def _read_cache_only() -> None:
    """Read compiled kernels where they are and keep no new ones, where folders look writable and are not.

    In a process under Landlock; numba would look into another folder, which is empty, and compile all anew.
    """
    from numba.core import caching

    save = caching.IndexDataCacheFile.save

    def save_if_allowed(self: Any, *given: Any) -> None:
        with suppress(PermissionError):
            save(self, *given)

    locator = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator
    locator.ensure_cache_path = lambda self: None
    caching.IndexDataCacheFile.save = save_if_allowed


if READ_ONLY in os.environ:
    _read_cache_only()


_OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}


def compiled(function: Any) -> Any:
    """Decorate a kernel."""
    return _without_stale_cache(njit(**_OPTIONS, _nrt=True)(function))


def compiled_in_place(function: Any) -> Any:
    """Decorate a kernel that makes no array; see `inner`."""
    return _without_stale_cache(njit(**_OPTIONS, _nrt=False)(function))


def inner(function: Any) -> Any:
    """Decorate a kernel that only kernels call, and that makes no array.

    It has no code that reads Python's arguments, which for sixty arrays takes half a second to compile. It counts no
    references to arrays: counting takes up to nine tenths of the time where kernels hand tuples of arrays on. Numba
    refuses to compile such a kernel if it makes an array. It must not call a kernel that returns a new array, which
    would never be freed.
    """
    return _without_stale_cache(njit(**_OPTIONS, no_cpython_wrapper=True, _nrt=False)(function))


def inner_allocating(function: Any) -> Any:
    """Decorate a kernel that only kernels call, and that makes arrays for itself or for whoever calls it."""
    return _without_stale_cache(njit(**_OPTIONS, no_cpython_wrapper=True, _nrt=True)(function))


def _without_stale_cache(kernel: Any) -> Any:
    """Let numba compile anew where a kernel or number that the kernel's own file imports, or its module, has changed.

    Numba looks at the kernel's own file only: it would run what it compiled of other files before they changed, and
    fails where a type of another file has another name.
    """
    file = _cache_file(kernel)
    load = getattr(file, "_load_index", None)
    if load is not None:
        known = dict(kernel.py_func.__globals__)
        for name, value in kernel.py_func.__globals__.items():
            if isinstance(value, ModuleType) and value not in (math, np):
                known |= {f"{name}.{part}": each for part, each in vars(value).items()}
        stamps = {repr(each._source_stamp) for each in map(_cache_file, known.values()) if each}
        stamps |= {f"{name} {value!r}" for name, value in known.items() if isinstance(value, int | float)}
        text = "\n".join([repr(file._source_stamp), *sorted(stamps)])
        file._source_stamp = hashlib.sha256(text.encode()).hexdigest()

        def load_index() -> Any:
            try:
                return load()
            except (AttributeError, ImportError):
                return {}

        file._load_index = load_index
    return kernel


def _cache_file(kernel: Any) -> Any:
    """Numba's index of what it has compiled of a kernel; None of what is none."""
    return getattr(getattr(kernel, "_cache", None), "_cache_file", None)


def follow_environment() -> None:
    """Read numba's settings again: in a forked process that was given another environment."""
    _use_writable_kernel_cache()
    config.reload_config()


inlined: Any = njit(inline="always")  # Decorator of a part of kernels: its statements are put where it is called


@inlined
def sort_few(keys, count, order):  # type: ignore[no-untyped-def]
    """Write the indices that sort the first keys into `order`, equals in their order: for a few keys, in place."""
    for at in range(count):
        key = keys[at]
        to = at
        while to > 0 and keys[order[to - 1]] > key:
            order[to] = order[to - 1]
            to -= 1
        order[to] = at


@inlined
def copy_list(to, values):  # type: ignore[no-untyped-def]
    """Copy values into an array of as many; `to[:] = values` may make a third array."""
    for a in range(len(to)):
        to[a] = values[a]


@inlined
def copy_table(to, values):  # type: ignore[no-untyped-def]
    """Copy a table into another one of the same shape, as `copy_list`."""
    for a in range(to.shape[0]):
        for b in range(to.shape[1]):
            to[a, b] = values[a, b]


@compiled
def sort_stably(keys):  # type: ignore[no-untyped-def]
    """(n,) the indices that sort the keys, equals in their order: a merge sort, as `np.argsort(kind="stable")`."""
    count = len(keys)
    order = np.empty(count, np.int64)
    other = np.empty(count, np.int64)
    for at in range(count):
        order[at] = at
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            a = low
            b = middle
            for at in range(low, high):
                if a < middle and (b == high or not keys[order[b]] < keys[order[a]]):
                    other[at] = order[a]
                    a += 1
                else:
                    other[at] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order
