"""The commands. Exit status 0; 2 for unusable input, in one line; 1 for a failure of ours; 130 after Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from ratiobench.bench.cli.arguments import Run
from ratiobench.bench.cli.audit import add_audit
from ratiobench.bench.cli.backtest import add_backtest
from ratiobench.bench.cli.calibrate import add_calibrate
from ratiobench.bench.cli.crosscheck import add_crosscheck
from ratiobench.bench.cli.explain import add_explain
from ratiobench.bench.cli.imports import add_import
from ratiobench.bench.cli.listing import add_generate, add_list, add_warm
from ratiobench.bench.cli.opt import add_check, add_export, add_opt
from ratiobench.bench.cli.parser import NAME, Parser, ShowVersion, answer_completion
from ratiobench.bench.cli.printing import complain
from ratiobench.bench.cli.search import add_search
from ratiobench.bench.cli.simulate import add_simulate
from ratiobench.bench.cli.standard import add_standard
from ratiobench.bench.cli.suites import add_compare, add_perf, add_report, add_run
from ratiobench.bench.running.heartbeat import Heartbeat
from ratiobench.bench.running.pool import ExecutorLost
from ratiobench.bench.storage.payload import one_line
from ratiobench.bench.storage.store import StoreError
from ratiobench.instances.errors import DEBUG, InputError
from ratiobench.instances.files import READ_LIMIT, at_most

RENAMED = {"online": "simulate"}
"""Commands of version 0.1, with their names of today."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # algorithms by import path, also for the installed command
    parser, words = make_parser(), sys.argv[1:] if arguments is None else arguments
    answer_completion(parser)
    if not words:
        parser.print_help()
        return 0
    options = parser.parse_args(_renamed(words))
    before, at_sigterm = dict(os.environ), _end_on_sigterm(options)
    if options.debug:
        os.environ[DEBUG] = "1"  # also for the processes in which anyone's algorithms run
    try:
        silent = getattr(options, "json", False) or getattr(options, "quiet", False)
        busy = "" if silent else getattr(options, "busy", "")
        with at_most(getattr(options, "max_bytes", READ_LIMIT)), Heartbeat(busy):
            status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, and Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        keeps = getattr(options, "keeps", False) or getattr(options, "out", None) is not None
        return complain(options, "interrupted" + ("; what was finished is kept" if keeps else ""), 130)
    except InputError as error:
        return complain(options, str(error), 2)
    except (StoreError, ExecutorLost) as error:
        return complain(options, str(error), 1)
    except Exception as error:
        return complain(options, f"failed: {one_line(error)} (--debug shows where)", 1)
    finally:
        if at_sigterm is not None:
            signal.signal(signal.SIGTERM, at_sigterm)
        if options.debug and DEBUG not in before:
            del os.environ[DEBUG]


def _renamed(words: Sequence[str]) -> list[str]:
    """The words with the command's name of today; a note for one of version 0.1."""
    found = list(words)
    at = next((place for place, word in enumerate(found) if not word.startswith("-")), None)
    if at is not None and found[at] in RENAMED:
        new = RENAMED[found[at]]
        print(f"{NAME}: the command {found[at]!r} is called {new!r} since version 0.2", file=sys.stderr)
        found[at] = new
    return found


def _end_on_sigterm(options: argparse.Namespace) -> Any:
    """End at SIGTERM with a line, and without temporary files; what was done before, None where nothing is changed."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return None

    def end(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # `timeout` sends it twice
        sys.exit(complain(options, "terminated", 143))

    return signal.signal(signal.SIGTERM, end)


def make_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    parser = Parser(prog=NAME, description="How far an online algorithm is from the offline optimum, with proof.")
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version, and end")
    parser.commands = commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Run, summary: str) -> argparse.ArgumentParser:
        sub: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
        sub.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of a failure"
        )
        sub.set_defaults(run=run)
        return sub

    for add in (
        add_list,
        add_generate,
        add_import,
        add_calibrate,
        add_opt,
        add_crosscheck,
        add_simulate,
        add_audit,
        add_explain,
        add_search,
        add_check,
        add_export,
        add_run,
        add_backtest,
        add_standard,
        add_report,
        add_compare,
        add_perf,
        add_warm,
    ):
        add(command)
    return parser
