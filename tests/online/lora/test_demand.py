"""What a representative buys at given prices: whole cells that do its work, held against every cover."""

from itertools import product

import numpy as np

from ratiobench.online.lora.learned.demand import _buy, _entries

SLOTS = 4


def test_a_cover_in_whole_cells_is_close_to_the_cheapest_of_all() -> None:
    """1,000 draws, two node types: it does the work, one cell a slot, at the told cost; few are not best."""
    stream = np.random.default_rng(11)
    best = bought = 0
    for _ in range(1000):
        rate = stream.integers(1, 9, 2).astype(float)
        price = stream.integers(0, 30, (2, SLOTS)).astype(float)
        work, bid = float(stream.integers(1, 20)), float(stream.integers(1, 120))
        start, fee = np.array([0, 2]), stream.integers(0, 9, 2) * np.array([5.0, 1.0])
        surplus, use = _bought(rate, price, work, bid, start, fee)
        least = min(
            (
                fee[v] + sum(price[g, t] for t, g in enumerate(taken) if g >= 0)
                for v in range(2)
                for taken in product((-1, 0, 1), repeat=SLOTS)
                if all(g < 0 for g in taken[: start[v]]) and sum(rate[g] for g in taken if g >= 0) >= work
            ),
            default=np.inf,
        )
        if surplus == 0:
            assert not use.any()
            continue
        bought += 1
        assert set(np.unique(use)) <= {0.0, 1.0}
        assert (use.sum(axis=0) <= 1).all()
        assert (use * rate[:, None]).sum() >= work
        paid = float((use * price).sum())
        assert any(bid - surplus == paid + fee[v] and not use[:, : start[v]].any() for v in range(2))
        assert bid - surplus >= least
        best += bid - surplus == least
    assert bought > 500
    assert best > 0.8 * bought


def test_the_last_cell_is_the_cheapest_that_does_the_rest() -> None:
    """Two samples are left after a fast cell for 16: a slow one does them for 5, dearer per sample than a fast one."""
    price = np.array([[9.0, 9.0, 5.0, 90.0], [16.0, 17.0, 40.0, 90.0]])
    surplus, use = _bought(np.array([2.0, 8.0]), price, 10.0, 100.0, np.array([0]), np.zeros(1))
    assert surplus == 100 - 16 - 5
    assert np.argwhere(use).tolist() == [[0, 2], [1, 0]]


def _bought(rate, price, work, bid, start, fee):  # type: ignore[no-untyped-def]
    """(surplus, (2, SLOTS) cells) by the kernels as Python."""
    size, key, kind = np.empty(2 * SLOTS), np.empty(2 * SLOTS), np.empty(2 * SLOTS, np.int64)
    rank, slot = np.argsort(rate, kind="stable"), np.repeat(np.arange(SLOTS), 2)
    nothing, share = np.zeros(2), np.ones(2)
    costs = np.empty((2, SLOTS)), np.empty((2, SLOTS))
    _entries.py_func(
        0, SLOTS, price, np.zeros((2, SLOTS)), nothing, nothing, share, rate, rank, key, size, kind, *costs
    )
    order = np.argsort(key, kind="stable")
    use, taken = np.zeros((2, SLOTS)), np.zeros(SLOTS, np.int64)
    cells = 1.0, share, key[order], size, kind, order, 2, slot, taken, 1, use
    surplus = _buy.py_func(0, SLOTS, start, fee, bid, work, *cells)
    return surplus, use
