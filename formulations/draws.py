"""Random integers for searches in kernels."""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import inlined

_MULTIPLIER = np.uint64(2685821657736338717)


@inlined
def draw_integer(state, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1: the upper half of a word of xorshift64*."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return (np.int64((x * _MULTIPLIER) >> np.uint64(33)) * size) >> 31
