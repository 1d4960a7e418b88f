"""Random integers for searches in kernels, from a state of one word, a (1,) uint64 array."""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import draw_word, inlined


@inlined
def draw_integer(state, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1, by the upper half of a word."""
    return (np.int64(draw_word(state) >> np.uint64(33)) * size) >> 31
