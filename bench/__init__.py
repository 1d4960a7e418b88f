"""How far apart: suites, runs, ratios, theorems and reports.

The commands are functions too: `bench.run`, `bench.results`, `bench.backtest`, `bench.opt`, `bench.online`,
`bench.instance` (see `bench.api`), `bench.audit`, `bench.check`, `bench.compare`, `bench.crosscheck`,
`bench.generate`, `bench.imported`, `bench.search` (`bench.api_tools`). They are loaded when they are first used, so
that importing a part of the package costs that part alone. `bench.testing` is for the tests of other projects.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.api import InputError, OnlineRun, Results, SolveReport, backtest, instance, online, opt, results, run
    from bench.api_tools import audit, check, compare, crosscheck, generate, imported, search

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
    "generate",
    "imported",
    "instance",
    "online",
    "opt",
    "results",
    "run",
    "search",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("bench.testing")
    if name not in __all__:
        raise AttributeError(f"module 'bench' has no attribute {name!r}")
    from bench import api

    return getattr(api if name in api.__all__ else importlib.import_module("bench.api_tools"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
