"""Random integers whose stream is a function of names alone.

A stream is Philox-4x64 keyed by the SHA-256 of its names. Only raw 64-bit words are taken from it, and every law is
built on them in integers, so the same names give the same draws on any machine and with any version of the libraries.
"""

from __future__ import annotations

import hashlib
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


class Stream:
    """Integer draws from the stream that the names (suite, instance, ..., in this order) select."""

    __slots__ = ("_raw",)

    def __init__(self, *names: str | int) -> None:
        digest = hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()
        key = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
        counter = np.frombuffer(digest[16:] + bytes(16), dtype="<u8").astype(np.uint64)
        self._raw = np.random.Philox(key=key, counter=counter)

    def words(self, size: int) -> NDArray[np.uint64]:
        return np.asarray(self._raw.random_raw(size), dtype=np.uint64)

    def integers(self, low: int, high: int, size: int) -> NDArray[np.int64]:
        """`size` integers, uniform on low..high, both included (exactly uniform: rejection, no rounding)."""
        span = high - low + 1
        if span < 1 or span > 2**62:
            raise ValueError(f"no uniform law on {low}..{high}")
        limit = np.uint64((2**64 // span) * span - 1)
        words = self.words(size)
        bad = words > limit
        while bad.any():
            words[bad] = self.words(int(bad.sum()))
            bad = words > limit
        return (words % np.uint64(span)).astype(np.int64) + low

    def integer(self, low: int, high: int) -> int:
        return int(self.integers(low, high, 1)[0])

    def poisson(self, mean: int, size: int) -> NDArray[np.int64]:
        """`size` Poisson draws with integer mean 1..500, by inversion of a table computed in decimal arithmetic."""
        return np.searchsorted(_poisson_table(mean), self.words(size), side="right").astype(np.int64)


class RandomNumbers:
    """Integers from a named stream after `skip` words, with the number of words taken, to take up a search again."""

    __slots__ = ("_buffer", "_stream", "used")
    _SIZE = 512

    def __init__(self, *names: str | int, skip: int = 0) -> None:
        self._stream = Stream(*names)
        self._buffer: list[int] = []
        self.used = skip
        while skip > 0:
            skip -= len(self._stream.words(min(skip, 1 << 16)))

    def draw_below(self, n: int) -> int:  # Uniform on 0..n-1, exactly
        limit = 2**64 // n * n
        while True:
            if not self._buffer:
                self._buffer = self._stream.words(self._SIZE).tolist()[::-1]
            self.used += 1
            word: int = self._buffer.pop()
            if word < limit:
                return word % n

    def draw_between(self, low: int, high: int) -> int:
        return low + self.draw_below(high - low + 1)

    def draw_magnitude(self, high: int) -> int:
        """1..high, every number of binary digits equally likely."""
        digits = self.draw_below(high.bit_length())
        return min(high, self.draw_between(1 << digits, (2 << digits) - 1))


@lru_cache(maxsize=64)
def _poisson_table(mean: int) -> NDArray[np.uint64]:
    """Thresholds floor(2^64 * P(X <= k)), k = 0, 1, ..., from 60-digit decimals (the same on every machine)."""
    if not 1 <= mean <= 500:
        raise ValueError(f"Poisson mean {mean} is not in 1..500")
    thresholds: list[int] = []
    with localcontext() as context:
        context.prec = 300
        probability = Decimal(-mean).exp()
        total = probability
        k = 0
        while len(thresholds) < 4 * mean + 100 and (not thresholds or thresholds[-1] < 2**64 - 1):
            thresholds.append(min(int(total * 2**64), 2**64 - 1))
            k += 1
            probability = probability * mean / k
            total += probability
    return np.array(thresholds, dtype=np.uint64)
