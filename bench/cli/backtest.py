"""The command `backtest`: which policy for a load, and what would it have earned?"""

from __future__ import annotations

import argparse
from pathlib import Path

from ratiobench.bench.cli.arguments import Command, add_algorithms, up_to
from ratiobench.bench.cli.suites import add_running, run_options, show, stop_on_sigterm
from ratiobench.bench.running.heartbeat import now_at

HISTORY = 365


def add_backtest(command: Command) -> None:
    """The command `backtest`."""
    sub = command("backtest", _backtest, "every policy on every day of a load, and which one to take")
    sub.set_defaults(keeps=True, busy="reading the days", only=[], scale="full", repeat=1)
    days = sub.add_argument(
        "days",
        metavar="DIR|TOML",
        type=Path,
        help="folder with an instance file per day, as `import` makes it, or a file of recipes, a day each",
    )
    add_algorithms(sub, days, "names with options, import paths package.module:Class, or `all` that are here (all)")
    sub.add_argument(
        "--history",
        metavar="N",
        type=_history,
        default=1,
        help="days before a day from which constants come; the first N days are not judged (1)",
    )
    add_running(sub, out="results/backtest-DIR")


def _history(text: str) -> int:
    if text == "0":
        problem = (
            "0 would take the constants of a day from the day itself (oracle), which a backtest excludes; at least 1"
        )
        raise argparse.ArgumentTypeError(problem)
    found: int = up_to(HISTORY)(text)
    return found


def _backtest(options: argparse.Namespace) -> int:
    from ratiobench.bench.running.backtest import ALL, find_days, make_backtest, order_of
    from ratiobench.bench.running.runner import places, run_suite

    family, days = find_days(options.days)
    names, order = options.algorithm or [ALL], order_of(options.days)
    options.algorithm = []  # they are the suite's own
    suite = make_backtest(family, days, names, options.history, str(options.days), order)
    out, share = places(options.out, options.share, f"backtest-{options.days.resolve().name.removesuffix('.toml')}")
    stop_on_sigterm(options)
    spent = run_suite(family, suite, run_options(options, out, share))
    now_at("writing the tables and the page")
    return show(out, spent)
