"""The command line: a parser for each command's function, and what is printed of its outcome."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ratiobench import __version__
from ratiobench.bench.arguments import (
    NEEDED,
    Choice,
    Switch,
    as_phrase,
    keep_apart,
    meanings_of,
    options_of,
    perform,
    split_names,
)
from ratiobench.bench.running.heartbeat import Heartbeat
from ratiobench.instances.io.errors import (
    DEBUG,
    CommandError,
    InputError,
    explain_unknown_name,
    make_printable,
    shorten,
    suggest_name,
)

NAME = "ratiobench"
FOLDER = "ratiobench.bench.commands"
LONGEST = 1700  # Characters of a message on standard error, whatever it is about
KEPT = "; what was finished is kept"
SHIPPED = {
    "list": "listing.list_names",
    "generate": "solve.generate",
    "opt": "solve.opt",
    "crosscheck": "solve.crosscheck",
    "simulate": "simulate.simulate",
    "evaluate": "policies.evaluate",
    "check-algorithm": "policies.check_algorithm",
    "audit": "simulate.audit",
    "explain": "simulate.explain",
    "search": "search.search",
    "check": "solve.check",
    "export": "solve.export",
    "run": "run.run",
    "standard list": "standard.list_entries",
    "standard verify": "standard.verify",
    "standard improve": "standard.improve",
    "standard runs": "standard.store_runs",
    "standard table": "standard.table",
    "standard fetch": "standard.fetch",
    "report": "run.report",
    "compare": "run.compare",
    "warm": "run.warm",
}  # By the words of the command: module in `commands` and function


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return _complain(False, "the current folder is no longer there", 2)
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # algorithms by import path, also for the installed command
    words = sys.argv[1:] if arguments is None else arguments
    debug, kept, at_sigterm, before = False, "", None, dict(os.environ)
    try:
        if not words:
            print(help_text())
            return 0
        _, function, values = parse(words)
        debug, is_json = values.pop("debug"), values.pop("json", False)
        kept = KEPT * function.keeps(values)
        at_sigterm = _end_on_sigterm(debug, kept)
        if debug:
            os.environ[DEBUG] = "1"  # also for the processes in which anyone's algorithms run
        with Heartbeat("" if is_json or values.get("quiet", False) else function.busy):
            status = _perform(function, values, is_json)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, and Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _complain(debug, f"interrupted{kept}", 130)
    except (InputError, CommandError) as error:
        return _complain(debug, str(error), 2 if isinstance(error, InputError) else 1)
    except Exception as error:
        from ratiobench.bench.storage.payload import format_error

        return _complain(debug, f"failed: {format_error(error)} (--debug shows where)", 1)
    finally:
        if at_sigterm is not None:
            signal.signal(signal.SIGTERM, at_sigterm)
        if debug and DEBUG not in before:
            del os.environ[DEBUG]


def _perform(function: Any, values: dict[str, Any], is_json: bool) -> int:
    gone = None

    def show(text: str) -> None:
        nonlocal gone
        try:
            if gone is None:
                print(text, flush=True)
        except BrokenPipeError as error:  # files are written all the same
            gone = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    for step in perform(function.steps(**values), shows=not is_json):
        if isinstance(step, str):
            if not is_json:
                show(step)
            continue
        outcome = step
        if is_json:
            if outcome.document is None:
                raise InputError("--json", "", "what these options print is no JSON document")
            show(json.dumps(outcome.document(), indent=1, allow_nan=False))
    if gone is not None:
        raise gone
    return int(outcome.status())


def _end_on_sigterm(debug: bool, kept: str) -> Any:
    """End at SIGTERM with a line, and without temporary files; the handler before, None if nothing is changed."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return None

    def end(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # `timeout` sends it twice
        sys.exit(_complain(debug, f"terminated{kept}", 143))

    return signal.signal(signal.SIGTERM, end)


def _complain(debug: bool, line: str, status: int) -> int:
    if debug:
        traceback.print_exc()
    print(f"{NAME}: {make_printable(line, LONGEST)}", file=sys.stderr)
    return status


def find_command(name: str) -> Any:
    if name not in SHIPPED:
        return _own_commands()[name]
    module, _, function = SHIPPED[name].partition(".")
    return getattr(import_module(f"{FOLDER}.{module}"), function)


def _own_commands() -> dict[str, Any]:
    from ratiobench.bench.family.registry import families

    return {name: function for family in families().values() for name, function in family.commands.items()}


def list_commands() -> dict[str, str]:
    """What each command does, in a line, in the order of the help: the shipped ones, then those of families."""
    sources: dict[str, str] = {}
    lines = {}
    for name, path in SHIPPED.items():
        module, _, function = path.partition(".")
        if module not in sources:  # importing every command would take half a second
            sources[module] = Path(__file__).with_name("commands").joinpath(f"{module}.py").read_text("utf-8")
        title = re.search(rf'^def {function}\(.*?^    """([^\n"]+)', sources[module], re.MULTILINE | re.DOTALL)
        assert title is not None
        lines[name] = as_phrase(title[1])
    return lines | {name: meanings_of(function)[""] for name, function in _own_commands().items()}


def parse(words: Sequence[str]) -> tuple[str, Any, dict[str, Any]]:
    """The name of a command, its function, and the values of its arguments; ends the program for help."""
    debug = list(words[:1]) == ["--debug"]
    rest = list(words[debug:])
    if rest[:1] == ["--version"]:
        print(f"{NAME} {__version__}")
        sys.exit(0)
    name = rest[0] if rest else ""
    parts = [each for each in SHIPPED if each.startswith(f"{name} ")]
    count = 2 if parts else 1  # words of the command
    name = " ".join(rest[:count])
    if rest[count - 1 : count] in (["-h"], ["--help"]):
        print(help_text(parts))
        sys.exit(0)
    if name not in SHIPPED:
        heads = dict.fromkeys(each.partition(" ")[0] for each in SHIPPED)
        known = [each.partition(" ")[2] for each in parts] or [*heads, *_own_commands()]
        if name not in known:
            missing = len(rest) < count or rest[0].startswith("-")
            problem = f"the following arguments are required: {'PART' if parts else 'COMMAND'}"
            raise InputError("", "", problem if missing else explain_unknown_name(rest[count - 1], known))
    function = find_command(name)
    values = make_parser(name, function).parse_words(rest[count:])
    values["debug"] |= debug
    for key, option in options_of(function).items():
        if (value := values.get(key)) is not option.default and value is not None:
            (value,) = value if option.single else (value,)
            value = option.values.parsed(value) if isinstance(value, str) else value
            values[key] = option.checked(option.spelling, value)
    keep_apart(options_of(function), values)
    return name, function, values


def help_text(parts: Sequence[str] = ()) -> str:
    described = {name: line for name, line in list_commands().items() if name in (parts or [name])}
    group = f" {parts[0].partition(' ')[0]}" if parts else ""
    lines = [f"usage: {NAME}{group} [-h] [--debug] {'PART' if parts else '[--version] COMMAND'} ...", ""]
    if not parts:
        lines += ["Measures online scheduling and pricing algorithms against a certified offline optimum.", ""]
    lines += ["parts:" if parts else "commands:"]
    for name, meaning in described.items():
        head = f"  {name.removeprefix(group.strip()).strip():16}"
        lines.append(textwrap.fill(meaning, 100, initial_indent=head + "  ", subsequent_indent=" " * 20))
    return "\n".join([*lines, "", f"`{NAME}{group} {'PART' if parts else 'COMMAND'} --help` has the options of one."])


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and name what is spelt almost so."""

    words: Sequence[str] = ()
    takes_last: str = ""  # The argument that may be the last of the words behind an option that takes several
    last_list: tuple[str, int] = ("", 0)  # The option that last took several words, and how many words those were

    def parse_words(self, words: Sequence[str]) -> dict[str, Any]:
        self.words = words
        values = vars(self.parse_args(words))
        if self.takes_last and values[self.takes_last] is NEEDED:
            name, count = self.last_list
            if count < 2:
                place = next(each for each in self._actions if each.dest == self.takes_last)
                self.error(f"the following arguments are required: {place.metavar}")
            values[self.takes_last] = values[name].pop()
        return values

    def error(self, message: str) -> NoReturn:
        raise InputError(self.prog.removeprefix(f"{NAME} "), "", message + self._misspelt())

    def _misspelt(self) -> str:
        """Suggest the option that was probably meant by the first one that does not exist."""
        known = self._option_string_actions
        for word in self.words:
            option = word.partition("=")[0]
            if option == "--":
                break
            if option.startswith("--") and not any(each.startswith(option) for each in known):
                return suggest_name(option, known) and f"; {shorten(option)} is no option{suggest_name(option, known)}"
        return ""


class _Names(argparse.Action):
    """The names behind all uses of an option; `const`: it is to be one."""

    def __call__(self, parser: Any, options: Any, values: Any, option: Any = None) -> None:
        words = values if isinstance(values, list) else [values]
        names = [name for word in words for name in split_names(word)]
        if not names:
            raise argparse.ArgumentError(self, "none is named")
        earlier = getattr(options, self.dest)
        names = [*(earlier if isinstance(earlier, list) else ()), *names]
        if self.const and len(names) > 1:
            shown = ", ".join(map(shorten, names[:3]))
            raise argparse.ArgumentError(self, f"this command takes one algorithm; {len(names)} are named: {shown}")
        setattr(options, self.dest, names)
        parser.last_list = (self.dest, len(words))


def make_parser(name: str, function: Any) -> Parser:
    options = {key: option for key, option in options_of(function).items() if not option.hidden}
    parser = Parser(prog=f"{NAME} {name}", description=meanings_of(function)[""])
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    takes_several = any(option.several for option in options.values())
    # If names may stand behind the command themselves, the next word behind an option is one of them.
    rest = any(option.several and not option.flags for option in options.values())
    for key, option in options.items():
        needed, is_choice = option.default is NEEDED, isinstance(option.values, Choice) and not option.several
        about: dict[str, Any] = {"help": option.meaning, "default": option.default}
        if isinstance(option.values, Switch) and option.default is None:
            # a switch without a default of its own has a spelling for off, too
            about["action"] = argparse.BooleanOptionalAction
        elif isinstance(option.values, Switch):  # off on the command line, whatever it is in Python
            about |= {"action": "store_true", "default": False}
        else:
            about["metavar"] = f"{{{','.join(option.values.options)}}}" if is_choice else option.metavar
        if not option.flags:
            about["nargs"] = None if needed else "?"
            if option.several:
                about |= {"nargs": "*", "default": ()}
            elif needed and takes_several and not rest:
                about["nargs"], parser.takes_last = "?", key
            parser.add_argument(key, **about)
            continue
        if option.several:
            about["help"] += "; several: " + ("A,B" if rest else "A B, A,B") + " or the option again"
            about["nargs"] = None if rest else "+"
        if option.several or option.single:
            about |= {"action": _Names, "const": option.single}
        about["help"] += default_text(option.default) and f" (default: {default_text(option.default)})"
        parser.add_argument(*option.flags, dest=key, required=needed, **about)
    if function.json:
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return parser


def default_text(default: Any) -> str:
    if default in (NEEDED, None, "", ()) or isinstance(default, bool):
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default)
