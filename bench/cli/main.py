"""The commands. Exit status 0; 2 for unusable input, in one line; 1 for a failure of ours; 130 after Ctrl-C."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from ratiobench.bench.cli.parser import LONGEST, thread_parser
from ratiobench.bench.commands.command import NAME, Command
from ratiobench.bench.options import Options, options_of
from ratiobench.bench.running.heartbeat import Heartbeat
from ratiobench.instances.io.errors import DEBUG, CommandError, InputError, make_printable

KEPT = "; what was finished is kept"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        print(f"{NAME}: the current folder is no longer there", file=sys.stderr)
        return 2
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # algorithms by import path, also for the installed command
    parser, words = thread_parser(), sys.argv[1:] if arguments is None else arguments
    if not words:
        parser.print_help()
        return 0
    given = parser.parse_args(words)
    command: Command = given.command
    before, at_sigterm = dict(os.environ), _end_on_sigterm(given)
    if given.debug:
        os.environ[DEBUG] = "1"  # also for the processes in which anyone's algorithms run
    try:
        silent = getattr(given, "json", False) or getattr(given, "quiet", False)
        with Heartbeat("" if silent else command.busy):
            status = _perform(command, options_from(given))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, and Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        result = getattr(given, "out", None) is not None if command.keeps is None else command.keeps
        return _complain(given, f"interrupted{KEPT * result}", 130)
    except InputError as error:
        return _complain(given, str(error), 2)
    except CommandError as error:
        return _complain(given, str(error), 1)
    except Exception as error:
        from ratiobench.bench.storage.payload import format_error

        return _complain(given, f"failed: {format_error(error)} (--debug shows where)", 1)
    finally:
        if at_sigterm is not None:
            signal.signal(signal.SIGTERM, at_sigterm)
        if given.debug and DEBUG not in before:
            del os.environ[DEBUG]


def options_from(given: argparse.Namespace) -> Any:
    """The options that a command line names."""
    kind: type[Options] = given.command.options
    values = {name: getattr(given, name) for name in options_of(kind) if hasattr(given, name)}
    return kind(json=getattr(given, "json", False), **values)


def _perform(command: Command, options: Options) -> int:
    """Do the work; print the result before files are written, so that it is not lost where that fails after all."""
    found = command.run(options)
    if options.json and command.document is not None:
        print(json.dumps(command.document(options, found), indent=1, allow_nan=False))
    else:
        for line in command.text(options, found):
            print(line)
    sys.stdout.flush()
    for line in command.write(options, found) or ():
        if not options.json:
            print(line)
    sys.stdout.flush()
    command.after(options, found)
    return command.status(found)


def _end_on_sigterm(given: argparse.Namespace) -> Any:
    """End at SIGTERM with a line, and without temporary files; what was done before, None where nothing is changed."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return None

    def end(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # `timeout` sends it twice
        sys.exit(_complain(given, f"terminated{KEPT * bool(given.command.keeps)}", 143))

    return signal.signal(signal.SIGTERM, end)


def _complain(given: argparse.Namespace, line: str, status: int) -> int:
    """Print a message of bounded length on standard error; the exit status."""
    if given.debug:
        traceback.print_exc()
    print(f"{NAME}: {make_printable(line, LONGEST)}", file=sys.stderr)
    return status
