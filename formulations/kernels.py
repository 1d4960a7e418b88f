"""How kernels are compiled: the one decorator, and what is cheaper written here than compiled out of NumPy.

A kernel is compiled at its first use, for the types of what it is given, and kept on disk. Compiling is most of a first
run, so a kernel is written for one combination of types (two, where it runs in integers and in doubles): arrays in C
order that can be written, numbers that are no literals. What only other kernels call, once or in a few lines, is
`inlined`: each function that is compiled by itself is optimised again within every kernel that calls it. Array
expressions, copies of slices and `np.argsort` are functions too, and large ones; loops are not.

Neither uses fast-math: the same inputs give the same results on any machine.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from instances.keeping import user_cache


def _use_writable_kernel_cache() -> None:
    """Send numba's cache to a user folder when the package's own folder cannot be written."""
    if "NUMBA_CACHE_DIR" in os.environ or os.access(Path(__file__).parent, os.W_OK):
        return
    for folder in (str(user_cache()), os.path.join(tempfile.gettempdir(), "ratiobench-cache")):
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            os.environ["NUMBA_CACHE_DIR"] = folder
            return


_use_writable_kernel_cache()

import numpy as np  # noqa: E402
from numba import njit  # noqa: E402  (the cache folder must be chosen first)

from formulations.readying import leave_out_compiling  # noqa: E402

leave_out_compiling()

compiled: Any = njit(cache=True, nogil=True, no_cfunc_wrapper=True)
"""Decorator of a kernel."""
inner: Any = njit(cache=True, nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)
"""Decorator of what only kernels call: to unwrap sixty arrays of Python takes half a second to compile."""
inlined: Any = njit(inline="always")
"""Decorator of a part of kernels: its statements are put where it is called."""


@compiled
def ascending(keys):  # type: ignore[no-untyped-def]
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
