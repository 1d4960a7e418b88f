"""The settings that every family's `solve` takes, and what they may be."""

from __future__ import annotations

import math

from ratiobench.instances.io.errors import InputError, shorten

NO_BACKEND = "none"  # The name that asks for no solver


def check_settings(effort: int, gap: float, seconds: float | None) -> None:
    if isinstance(effort, bool) or not isinstance(effort, int) or effort < 1:
        raise InputError("", "effort", f"{shorten(effort)} is not a positive integer")
    if not 0.0 <= gap < 1.0:
        raise InputError("", "gap", f"{shorten(gap)} is not in [0, 1)")
    if seconds is not None and not 0.0 < seconds < math.inf:
        raise InputError("", "seconds", f"{shorten(seconds)} is not a positive number")
