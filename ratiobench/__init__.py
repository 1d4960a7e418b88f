"""Measures online scheduling and pricing algorithms against a certified offline optimum.

Every command is a function, and the command line is that function (`ratiobench.bench.commands`). A function is loaded
at its first use, so that importing one part of the package costs that part alone. `ratiobench.testing` is for the tests
of other projects.

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

    from ratiobench.bench.cluster.commands import backtest
    from ratiobench.bench.cluster.commands import import_logs as imported
    from ratiobench.bench.commands.policies import evaluate, play
    from ratiobench.bench.commands.run import compare, run
    from ratiobench.bench.commands.search import search
    from ratiobench.bench.commands.simulate import audit, simulate
    from ratiobench.bench.commands.solve import check, crosscheck, generate, instance, opt
    from ratiobench.bench.lora.commands import limit
    from ratiobench.bench.report.notebook import Results, results
    from ratiobench.formulations.report import SolveReport
    from ratiobench.instances.io.errors import InputError
    from ratiobench.online.outcome import OnlineRun

__all__ = [
    "InputError", "OnlineRun", "Results", "SolveReport", "audit", "backtest", "check", "compare", "crosscheck",
    "evaluate", "generate", "imported", "instance", "limit", "opt", "play", "results", "run", "search", "simulate",
]  # fmt: skip

_MODULES = {
    "bench.cluster.commands": ("backtest", "imported"),
    "bench.commands.policies": ("evaluate", "play"),
    "bench.commands.run": ("compare", "run"),
    "bench.commands.simulate": ("audit", "simulate"),
    "bench.commands.solve": ("check", "crosscheck", "generate", "instance", "opt"),
    "bench.commands.search": ("search",),
    "bench.lora.commands": ("limit",),
    "bench.report.notebook": ("Results", "results"),
    "formulations.report": ("SolveReport",),
    "instances.io.errors": ("InputError",),
    "online.outcome": ("OnlineRun",),
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in ("bench", "formulations", "instances", "online", "testing"):
        return importlib.import_module(f"ratiobench.{name}")
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module 'ratiobench' has no attribute {name!r}")
    return getattr(importlib.import_module(f"ratiobench.{module}"), "import_logs" if name == "imported" else name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
