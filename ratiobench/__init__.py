"""Measures online scheduling and pricing algorithms against a certified offline optimum.

The commands are functions: `run`, `results`, `backtest`, `opt`, `simulate`, `instance` (see `ratiobench.bench.api`),
`audit`, `check`, `compare`, `crosscheck`, `generate`, `imported`, `limit`, `search` (`ratiobench.bench.api_tools`),
`evaluate`, `play` (`ratiobench.bench.api_policies`). They are loaded at their first use, so that importing one part of
the package costs that part alone. `ratiobench.testing` is for the tests of other projects.

The four parts are `ratiobench.bench`, `ratiobench.online`, `ratiobench.formulations` and `ratiobench.instances`. In a
checkout they are folders at the top level; the links in this folder are for type checkers and editors.
"""

from __future__ import annotations

# Nothing is imported here but what Python has loaded before, so that `--version` answers at once.
import os as _os

__version__ = "0.3.0"

if _os.path.islink(_os.path.join(_os.path.dirname(__file__), "bench")):  # a checkout: modules keep their files' paths
    __path__.insert(0, _os.path.dirname(_os.path.dirname(_os.path.realpath(__file__))))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ratiobench.bench.api import (
        InputError,
        OnlineRun,
        Results,
        SolveReport,
        backtest,
        instance,
        opt,
        results,
        run,
        simulate,
    )
    from ratiobench.bench.api_policies import evaluate, play
    from ratiobench.bench.api_tools import audit, check, compare, crosscheck, generate, imported, limit, search

__all__ = [
    "InputError",
    "OnlineRun",
    "Results",
    "SolveReport",
    "audit",
    "backtest",
    "check",
    "compare",
    "crosscheck",
    "evaluate",
    "generate",
    "imported",
    "instance",
    "limit",
    "opt",
    "play",
    "results",
    "run",
    "search",
    "simulate",
]

_POLICIES = ("evaluate", "play")


def __getattr__(name: str) -> Any:
    import importlib

    if name in ("bench", "formulations", "instances", "online", "testing"):
        return importlib.import_module(f"ratiobench.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'ratiobench' has no attribute {name!r}")
    if name in _POLICIES:  # without pandas, which programs that evaluate policies need not load
        return getattr(importlib.import_module("ratiobench.bench.api_policies"), name)
    api = importlib.import_module("ratiobench.bench.api")
    return getattr(api if name in api.__all__ else importlib.import_module("ratiobench.bench.api_tools"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
