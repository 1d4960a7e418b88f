"""How far apart: suites, runs, ratios, theorems and reports.

`bench.run`, `bench.results`, `bench.opt`, `bench.online` and `bench.instance` are the commands as functions (see
`bench.api`); they are loaded when they are first used, so that importing a part of the package costs that part alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.api import InputError, OnlineRun, Results, SolveReport, instance, online, opt, results, run

__all__ = ["InputError", "OnlineRun", "Results", "SolveReport", "instance", "online", "opt", "results", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bench' has no attribute {name!r}")
    from bench import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
