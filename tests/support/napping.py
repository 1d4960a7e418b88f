"""Pieces of work that take as long as they are told to, of which a part is getting ready."""

import time

from ratiobench.formulations.timing import excluded_from_timing


def nap(readying: float, working: float) -> float:
    """Get ready for so long, then work for so long, in seconds; the latter."""
    with excluded_from_timing():
        time.sleep(readying)
    time.sleep(working)
    return working
