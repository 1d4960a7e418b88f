"""Pieces of work that take as long as they are told to, of which a part is getting ready."""

from __future__ import annotations

import time

from ratiobench.formulations.readying import getting_ready


def nap(readying: float, working: float) -> float:
    """Get ready for so long, then work for so long, in seconds; the latter."""
    with getting_ready():
        time.sleep(readying)
    time.sleep(working)
    return working
