"""All commands, in the order of the help; the module of one is imported when it is used."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ratiobench.bench.commands.command import Listed
from ratiobench.bench.family.registry import families

if TYPE_CHECKING:
    from collections.abc import Callable

    from ratiobench.bench.commands.command import Command, Group

# Name, summary, module in this folder and its object
_SHIPPED = (
    ("list", "list suites, algorithms, claims, recipes, ...", "listing", "LIST"),
    ("generate", "write the instances of a suite, a file of recipes, or one recipe", "generate", "GENERATE"),
    ("opt", "compute OPT, or a certified interval on it", "opt", "OPT"),
    (
        "crosscheck", "solve the printed problem with several tools and solvers, and compare with the certified "
        "interval", "crosscheck", "CROSSCHECK",
    ),
    ("simulate", "run online algorithms under the referee, one or several side by side", "simulate", "SIMULATE"),
    (
        "evaluate", "evaluate a policy on graded instances: share of OPT, arrivals on which it loses", "evaluate",
        "EVALUATE",
    ),
    (
        "check-algorithm", "check a user's algorithm: determinism, prefix property, options, limits, isolation",
        "check_algorithm", "CHECK_ALGORITHM",
    ),
    ("audit", "check the claims of the theory on one run", "audit", "AUDIT"),
    (
        "explain", "explain a run on a small instance arrival by arrival, with both sides of a claim", "explain",
        "EXPLAIN",
    ),
    (
        "search", "search for an instance that violates a claim, or on which an algorithm is furthest from OPT",
        "search", "SEARCH",
    ),
    ("limit", "run an algorithm on hard instances, beside the lower bound for every algorithm", "limit", "LIMIT"),
    ("check", "verify a solution, or the certificate of an interval on OPT, exactly", "check", "CHECK"),
    ("export", "print the model for another solver", "export", "EXPORT"),
    ("run", "run a suite or resume it, and write the report", "run", "RUN"),
    (
        "standard", "list, verify or improve the standard set: published instances with certificates of OPT",
        "standard", "STANDARD",
    ),
    ("report", "write tables, CSV files, the page and figures from the results in a folder", "run", "REPORT"),
    ("compare", "compare two folders of results, with the differences beyond noise", "compare", "COMPARE"),
    ("warm", "compile the kernels, and cache them", "warm", "WARM"),
)  # fmt: skip


def _load(module: str, name: str) -> Command | Group:
    found: Command | Group = getattr(import_module(f"ratiobench.bench.commands.{module}"), name)
    return found


def _list_function(function: Callable[..., Any]) -> Listed:
    """A family's function: its name, the first line of its docstring, the command that is made of it."""
    title = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")

    def load() -> Command:
        from ratiobench.bench.commands.bridge import as_command

        return as_command(function)

    return Listed(function.name, title[:1].lower() + title[1:], load)  # type: ignore[attr-defined]


_ALL = (
    *(Listed(name, summary, partial(_load, module, found)) for name, summary, module, found in _SHIPPED),
    *(_list_function(function) for family in families().values() for function in family.commands),
)
COMMANDS = {each.name: each for each in _ALL}
