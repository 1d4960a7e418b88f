"""Random numbers for searches in kernels, from a state of one word, a (1,) uint64 array."""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import inlined, inner


@inner
def draw_word(state):  # type: ignore[no-untyped-def]
    """xorshift64*."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@inlined
def draw_integer(state, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1, by the upper half of a word."""
    return (np.int64(draw_word(state) >> np.uint64(33)) * size) >> 31


@inlined
def draw_below(state, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1, by a remainder."""
    return np.int64((draw_word(state) >> np.uint64(11)) % np.uint64(size))


@inlined
def draw_unit(state):  # type: ignore[no-untyped-def]
    """A random double in [0, 1)."""
    return np.float64(draw_word(state) >> np.uint64(11)) / 9007199254740992.0
