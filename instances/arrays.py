"""Arrays of integers that nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def freeze(values: Any) -> IntArray:
    """A read-only int64 copy."""
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
