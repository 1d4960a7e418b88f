"""Random integers are a function of names alone, and follow their laws."""

import hashlib
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.instances.io.seeds import Stream


def test_the_stream_is_pinned() -> None:
    """The words of a named stream never change: generated files depend on them."""
    assert [hex(word) for word in Stream("pin", 1).words(3)] == [
        "0x71db31eabb97065b",
        "0x808036d6b7adc74b",
        "0x66a9a43497890eca",
    ]
    assert Stream("pin", 1).integers(-5, 5, 12).tolist() == [-3, -3, -2, -2, -3, -1, 0, -4, 1, 4, -3, -5]
    assert Stream("pin", 1).poisson(50, 8).tolist() == [49, 50, 48, 53, 51, 60, 54, 35]


def philox(key: tuple[int, int], counter: int) -> list[int]:
    """One block of Philox-4x64-10 (Salmon et al., SC 2011), in Python integers."""
    mask = 2**64 - 1
    x = [counter >> 64 * j & mask for j in range(4)]
    k0, k1 = key
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
        x = [high >> 64 ^ x[1] ^ k0, high & mask, low >> 64 ^ x[3] ^ k1, low & mask]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & mask, (k1 + 0xBB67AE8584CAA73B) & mask
    return x


def test_the_words_are_those_of_the_published_generator() -> None:
    """The stream is Philox-4x64-10 keyed and started by the SHA-256 of the names, block after block."""
    digest = hashlib.sha256(b"some\x1fname\x1f7").digest()
    key = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
    start = int.from_bytes(digest[16:], "little")
    expected = [word for block in (1, 2, 3) for word in philox(key, start + block)]
    assert Stream("some", "name", 7).words(12).tolist() == expected


def test_other_names_give_other_streams() -> None:
    """A changed, added or reordered name selects another stream."""
    words = {tuple(Stream(*names).words(4)) for names in (("a", 1), ("a", 2), ("b", 1), (1, "a"), ("a",), ("a", 1, 1))}
    assert len(words) == 6


def test_streams_are_independent_of_each_other_and_of_numpy_s_global_state() -> None:
    """Drawing from one stream, or seeding NumPy, does not move another."""
    first, second = Stream("x"), Stream("x")
    Stream("y").words(100)
    np.random.seed(0)  # noqa: NPY002
    assert first.words(50).tolist() == second.words(50).tolist()


@given(low=st.integers(-(2**60), 2**60), span=st.integers(1, 2**61), name=st.text(max_size=3))
def test_integers_stay_in_their_range(low: int, span: int, name: str) -> None:
    """Every draw lies in low..high, both included."""
    high = min(low + span - 1, 2**62)
    draws = Stream(name).integers(low, high, 20)
    assert ((draws >= low) & (draws <= high)).all()


def test_integers_are_uniform() -> None:
    """All values of a small range come up about equally often."""
    size = 60_000
    counts = Counter(Stream("uniform").integers(1, 6, size).tolist())
    assert sorted(counts) == [1, 2, 3, 4, 5, 6]
    # Chi-square with 5 degrees of freedom: above 20.5 with probability 0.001.
    assert sum((count - size / 6) ** 2 / (size / 6) for count in counts.values()) < 20.5


def test_rejection_makes_large_spans_exact() -> None:
    """For a span just over 2^61 a plain remainder would favour small values; the draws do not."""
    span = 2**61 + 2**60
    draws = Stream("large").integers(0, span - 1, 4000)
    share = np.count_nonzero(draws < span // 3) / 4000
    assert abs(share - 1 / 3) < 0.04


@pytest.mark.parametrize("mean", [1, 30, 50, 80, 500])
def test_poisson_draws_have_the_mean_and_variance(mean: int) -> None:
    """Mean and variance of many draws are the parameter, within five standard errors."""
    size = 20_000
    draws = Stream("poisson", mean).poisson(mean, size)
    assert abs(draws.mean() - mean) < 5 * math.sqrt(mean / size)
    assert abs(draws.var() / mean - 1) < 5 * math.sqrt((2 + 1 / mean) / size)


def test_poisson_inverts_the_distribution_function() -> None:
    """A word w gives the smallest k with w < 2^64 P(X <= k), computed here with fractions."""
    e = sum(Fraction(1, math.factorial(j)) for j in range(60))
    for word, draw in zip(Stream("inversion").words(200), Stream("inversion").poisson(3, 200), strict=True):
        total = Fraction(0)
        k = -1
        while total <= Fraction(int(word), 2**64):
            k += 1
            total += Fraction(3**k, math.factorial(k)) / e**3
        assert draw == k


@pytest.mark.parametrize("mean", [0, -1, 501])
def test_poisson_refuses_other_means(mean: int) -> None:
    with pytest.raises(ValueError, match=r"is not in 1\.\.500"):
        Stream("x").poisson(mean, 1)


def test_an_empty_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="no uniform law"):
        Stream("x").integers(3, 2, 1)
