"""What is wasted of a node: by what its compute and its memory were worth on an earlier day."""

import numpy as np
import pytest

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.online.lora.learned.filling import COMPUTE, GRID, LEAST_COMPUTE, LEAST_MEMORY, Filling, Shares
from ratiobench.online.lora.learned.past import read_past

NONE = np.zeros(0, np.int64)


@pytest.mark.parametrize(
    ("linear", "compute"),
    [((1.0, 0.0), 1 - LEAST_MEMORY), ((0.0, 1.0), LEAST_COMPUTE), ((0.4, 0.6), 0.4), (None, COMPUTE)],
)
def test_what_no_task_fits_is_wasted_by_its_worth(linear: tuple[float, float] | None, compute: float) -> None:
    """A node without memory wastes all its compute, one without compute all its memory; both are worth a whole node."""
    given = instance(TinyInstance(3, (Kind(1, 50, 50),), (Job(1, 3, 25, 40, 9, (25,)),)))
    shares = None if linear is None else [Shares(NONE, NONE, NONE.astype(float), linear)]
    [table] = Filling(read_past(given, 3), given.public(""), shares).tables
    assert table[GRID, 0] == pytest.approx(compute)
    assert table[0, GRID] == pytest.approx(1 - compute)
    assert table[GRID, GRID] < 0.01
