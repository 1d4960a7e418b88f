"""The command `backtest`: which policy for a load, and what would it have earned?"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli.arguments import Command, up_to
from bench.cli.parser import algorithm_names, complete_by
from bench.cli.suites import add_running, run_options, show, stop_on_sigterm
from bench.running.heartbeat import now_at

HISTORY = 365


def add_backtest(command: Command) -> None:
    """The command `backtest`."""
    sub = command("backtest", _backtest, "every policy on every day of a load, and which one to take")
    sub.set_defaults(keeps=True, busy="reading the days", only=[], scale="full", repeat=1, algorithm=[])
    sub.add_argument(
        "days",
        metavar="DIR|TOML",
        type=Path,
        help="folder with an instance file per day, as `import` makes it, or a file of recipes, a day each",
    )
    complete_by(
        sub.add_argument(
            "--algorithms",
            metavar="A,B,...",
            default="all",
            help="names with options, import paths package.module:Class, or all that are here (all)",
        ),
        algorithm_names,
    )
    sub.add_argument(
        "--history",
        metavar="N",
        type=up_to(HISTORY),
        default=1,
        help="days before a day from which constants come; the first N days are not judged (1)",
    )
    add_running(sub, out="results/backtest-DIR")


def _backtest(options: argparse.Namespace) -> int:
    from bench.running.backtest import find_days, make_backtest, order_of, split_names
    from bench.running.runner import places, run_suite

    family, days = find_days(options.days)
    names, order = split_names(options.algorithms), order_of(options.days)
    suite = make_backtest(family, days, names, options.history, str(options.days), order)
    out, share = places(options.out, options.share, f"backtest-{options.days.resolve().name.removesuffix('.toml')}")
    stop_on_sigterm(options)
    spent = run_suite(family, suite, run_options(options, out, share))
    now_at("writing the tables and the page")
    return show(out, spent)
