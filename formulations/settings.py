"""The settings that every family's `solve` takes, and what they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ratiobench.formulations import backends
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten

NO_BACKEND = "none"  # The name that asks for no solver


def check_settings(effort: int, gap: float, seconds: float | None) -> None:
    """Refuse what is no amount of work, no relative gap or no time limit."""
    if isinstance(effort, bool) or not isinstance(effort, int) or effort < 1:
        raise InputError("", "effort", f"{shorten(effort)} is not a positive integer")
    if not 0.0 <= gap < 1.0:
        raise InputError("", "gap", f"{shorten(gap)} is not in [0, 1)")
    if seconds is not None and not 0.0 < seconds < math.inf:
        raise InputError("", "seconds", f"{shorten(seconds)} is not a positive number")


def too_many_columns(name: str, columns: int, most: int, smaller: Sequence[str] = ()) -> str:
    """That a model is too large to be written, and what can be done instead; `smaller`: formulations that are not."""
    other = f"with --formulation {' or '.join(smaller)}, or " if smaller else ""
    return (
        f"{name} would have {columns:,} columns; at most {most:,} are written: export {other}a part of the load; "
        "`opt` encloses OPT of all of it without such a model"
    )


def check_backend(backend: str) -> None:
    """Refuse the name of a backend that does not exist."""
    names = ("auto", NO_BACKEND, *backends.backends())
    if backend not in names:
        raise InputError("", "backend", explain_unknown_name(backend, names))
