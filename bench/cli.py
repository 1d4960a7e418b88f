"""The command line: a parser for each command's function, and what is printed of its outcome."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ratiobench import __version__
from ratiobench.bench.arguments import NEEDED, Choice, Option, Switch, as_phrase, meanings_of, options_of, split_names
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
        print(f"{NAME}: the current folder is no longer there", file=sys.stderr)
        return 2
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # algorithms by import path, also for the installed command
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if not words:
            print(help_text())
            return 0
        _, function, values = parse(words)
    except InputError as error:  # of a family from elsewhere
        return _complain(False, str(error), 2)
    debug, is_json, keeps = values.pop("debug"), values.pop("json", False), function.keeps
    before = dict(os.environ)
    keeps_out = values.get("out") is not None if keeps is None else keeps
    at_sigterm = _end_on_sigterm(debug, KEPT * bool(keeps))
    if debug:
        os.environ[DEBUG] = "1"  # also for the processes in which anyone's algorithms run
    try:
        with Heartbeat("" if is_json or values.get("quiet", False) else function.busy):
            status = _perform(function, values, is_json)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, and Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _complain(debug, f"interrupted{KEPT * keeps_out}", 130)
    except InputError as error:
        return _complain(debug, str(error), 2)
    except CommandError as error:
        return _complain(debug, str(error), 1)
    except Exception as error:
        from ratiobench.bench.storage.payload import format_error

        return _complain(debug, f"failed: {format_error(error)} (--debug shows where)", 1)
    finally:
        if at_sigterm is not None:
            signal.signal(signal.SIGTERM, at_sigterm)
        if debug and DEBUG not in before:
            del os.environ[DEBUG]


def _perform(function: Any, values: dict[str, Any], is_json: bool) -> int:
    """Print the result before files are written, so that it is not lost if that fails."""
    outcome = function.outcome(**values)
    if is_json:
        if outcome.document is None:
            raise InputError("--json", "", "what these options print is no JSON document")
        print(json.dumps(outcome.document(), indent=1, allow_nan=False))
    else:
        for line in outcome.lines:
            print(line, flush=True)
    sys.stdout.flush()
    for line in outcome.files() or ():
        if not is_json:
            print(line)
    sys.stdout.flush()
    for line in outcome.more(is_json):
        print(line, file=sys.stderr if is_json else sys.stdout)
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
    """The name of a command, its function, and the values of its arguments; ends the program for help and errors."""
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
            _refuse(NAME, problem if missing else explain_unknown_name(rest[count - 1], known))
    function = find_command(name)
    values = vars(make_parser(name, function).parse_args(rest[count:]))
    values["debug"] |= debug
    for key, option in options_of(function).items():
        if isinstance(values.get(key), str):
            values[key] = option.values.parsed(values[key])
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


def _refuse(program: str, problem: str) -> NoReturn:
    print(f"{program}: {make_printable(problem, LONGEST)}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, status 2, and name what is spelt almost so."""

    words: Sequence[str] = ()
    takes_last: str = ""  # The argument that may be the last of the words behind an option that takes several
    last_list: tuple[str, int] = ("", 0)  # The option that last took several words, and how many words those were

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, with the words kept for messages, and with an argument behind the words of an option."""
        self.words = list(args)
        values, rest = super().parse_known_args(args, namespace)
        if self.takes_last and not hasattr(values, self.takes_last):
            action = next(each for each in self._actions if each.dest == self.takes_last)
            name, count = self.last_list
            if count < 2 or rest:
                self.error(f"the following arguments are required: {action.metavar}")
            *others, last = getattr(values, name)
            setattr(values, name, others)
            setattr(values, self.takes_last, last)
        return values, rest

    def error(self, message: str) -> NoReturn:
        _refuse(self.prog, message + self._misspelt())

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, explain_unknown_name(str(value), map(str, action.choices)))

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


class _Several(argparse.Action):
    def __call__(self, parser: Any, options: Any, values: Any, option: Any = None) -> None:
        words = values if isinstance(values, list) else [values]
        names = [name for word in words for name in split_names(word)]
        if not names:
            raise argparse.ArgumentError(self, "none is named")
        setattr(options, self.dest, [*getattr(options, self.dest, ()), *names])
        parser.last_list = (self.dest, len(words))


class _Single(argparse.Action):
    def __call__(self, parser: Any, options: Any, value: Any, option: Any = None) -> None:
        names = [*filter(None, [getattr(options, self.dest, "")]), *split_names(value)]
        if not names:
            raise argparse.ArgumentError(self, "none is named")
        if len(names) > 1:
            shown = ", ".join(map(shorten, names[:3]))
            raise argparse.ArgumentError(self, f"this command takes one algorithm; {len(names)} are named: {shown}")
        setattr(options, self.dest, names[0])


def make_parser(name: str, function: Any) -> Parser:
    meanings, parameters = meanings_of(function), inspect.signature(function).parameters
    parser = Parser(prog=f"{NAME} {name}", description=meanings[""])
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    described = {key: each for key, each in options_of(function).items() if not each.hidden}
    places = {key for key in described if is_argument(parameters[key], described[key])}
    rest = any(described[key].several for key in places)
    for key, option in described.items():
        default = parameters[key].default if option.line is ... else option.line
        if key not in places:
            _add_option(parser, key, option, meanings[key], default, rest)
            continue
        needed = default is NEEDED
        about: dict[str, Any] = {"nargs": "*"} if option.several else {} if needed else {"nargs": "?"}
        if isinstance(option.values, Choice):
            about["choices"] = option.values.options
        else:
            about["metavar"] = option.metavar
        if needed and not rest and any(each.several for each in described.values()):
            about["nargs"], parser.takes_last = "?", key
        about["default"] = () if option.several else argparse.SUPPRESS
        parser.add_argument(key, help=meanings[key], **about)
    if function.json:
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return parser


def is_argument(parameter: inspect.Parameter, option: Option) -> bool:
    """Whether a parameter is given by its place on the command line, too."""
    return parameter.kind is not parameter.KEYWORD_ONLY and not (option.named or option.flags)


def flags_of(key: str, option: Option) -> tuple[str, ...]:
    """The spellings of an option, the shortest first."""
    return option.flags or (f"--{key.rstrip('_').replace('_', '-')}",)


def _add_option(parser: Parser, key: str, option: Option, meaning: str, default: Any, rest: bool) -> None:
    flags, needed = flags_of(key, option), default is NEEDED
    about: dict[str, Any] = {
        "dest": key,
        "help": meaning,
        "default": argparse.SUPPRESS if option.line is ... else default,
    }
    if isinstance(option.values, Switch):
        if default is None:  # a switch without a default of its own has a spelling for off, too
            parser.add_argument(*flags, action=argparse.BooleanOptionalAction, **about)
        else:
            parser.add_argument(*flags, action="store_true", **about | {"default": False})
        return
    about["required"] = needed
    if option.several:
        about["help"] += "; several: " + ("A,B" if rest else "A B, A,B") + " or the option again"
        # If names may stand behind the command themselves, the next word is one of them.
        about |= {"action": _Several} if rest else {"action": _Several, "nargs": "+"}
    elif option.single:
        about["action"] = _Single
    elif isinstance(option.values, Choice):
        about["choices"] = option.values.options
    else:
        about["type"] = partial(_read_word, option)
    about["help"] += default_text(default) and f" (default: {default_text(default)})"
    parser.add_argument(*flags, **about | ({} if "choices" in about else {"metavar": option.metavar}))


def default_text(default: Any) -> str:
    if default in (NEEDED, None, "", ()) or isinstance(default, bool):
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default)


def _read_word(option: Option, text: str) -> Any:
    try:
        return option.values.checked("", "", option.values.parsed(text))
    except InputError as error:
        raise argparse.ArgumentTypeError(error.problem) from None
