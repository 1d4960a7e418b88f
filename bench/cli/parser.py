"""The parser of command lines, made from the options of the commands.

Errors are one line, with what was probably meant.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from typing import Any, NoReturn

from ratiobench import __version__
from ratiobench.bench.commands.command import NAME, Command, Group, Listed
from ratiobench.bench.commands.index import COMMANDS
from ratiobench.bench.options import Choice, Option, Switch, Values, defaults_of, flag_of, options_of, split_names
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, shorten, suggest_name

LONGEST = 1700  # Characters of a message on standard error, whatever it is about
WITH_COMMAS = "; several: A,B or the option again"
SEVERAL = "; several: A B, A,B or the option again"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, status 2, and name what is spelt almost so."""

    words: Sequence[str] = ()
    commands: Any = None
    # The argument that may be the last of the words behind an option that takes several; empty for none
    takes_last: str = ""
    last_list: tuple[str, int] = ("", 0)  # The option that last took several words, and how many words those were
    listed: Listed | None = None  # The command that this is the parser of, until its options are known

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, with the words kept for messages."""
        self.add_options()
        self.words = [] if args is None else list(args)
        self.last_list = ("", 0)
        found, rest = super().parse_known_args(args, namespace)
        if self.takes_last and not hasattr(found, self.takes_last):
            action = next(each for each in self._actions if each.dest == self.takes_last)
            name, count = self.last_list
            if count < 2 or rest:
                self.error(f"the following arguments are required: {action.metavar}")
            *others, last = getattr(found, name)
            setattr(found, name, others)
            setattr(found, self.takes_last, last)
        return found, rest

    def add_options(self) -> None:
        """Import the command, and add its options, where that was not done before."""
        listed, self.listed = self.listed, None
        if listed is not None:
            _add_options(self, listed.load())

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {make_printable(message + self._misspelt(), LONGEST)}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, explain_unknown_name(str(value), map(str, action.choices)))

    def _misspelt(self) -> str:
        """What the first option that does not exist was probably meant to be."""
        known = set(self._option_string_actions)
        command = next((word for word in self.words if not word.startswith("-")), "")
        if self.commands is not None and command in self.commands.choices:
            self.commands.choices[command].add_options()
            known |= set(self.commands.choices[command]._option_string_actions)
        for word in self.words:
            option = word.partition("=")[0]
            if option == "--":
                break
            if option.startswith("--") and not any(each.startswith(option) for each in known):
                return suggest_name(option, known) and f"; {shorten(option)} is no option{suggest_name(option, known)}"
        return ""


class _Several(argparse.Action):
    """Collects names over words, commas and repeated options."""

    def __call__(self, parser: Any, options: Any, values: Any, option: Any = None) -> None:
        words = values if isinstance(values, list) else [values]
        found = [name for word in words for name in split_names(word)]
        if not found:
            raise argparse.ArgumentError(self, "none is named")
        setattr(options, self.dest, [*getattr(options, self.dest, ()), *found])
        parser.last_list = (self.dest, len(words))


class _Single(argparse.Action):
    """Takes one algorithm; refuses a second one."""

    def __call__(self, parser: Any, options: Any, value: Any, option: Any = None) -> None:
        names = [*filter(None, [getattr(options, self.dest, "")]), *split_names(value)]
        if not names:
            raise argparse.ArgumentError(self, "none is named")
        if len(names) > 1:
            shown = ", ".join(map(shorten, names[:3]))
            raise argparse.ArgumentError(self, f"this command takes one algorithm; {len(names)} are named: {shown}")
        setattr(options, self.dest, names[0])


class _ShowVersion(argparse.Action):
    """Print the version of the installed package, and end."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"{NAME} {__version__}")
        parser.exit(0)


_made = threading.local()


def thread_parser() -> Parser:
    """The parser of this thread, made at its first call: a parser keeps the words that it last read."""
    if not hasattr(_made, "parser"):
        _made.parser = make_parser()
    parser: Parser = _made.parser
    return parser


def make_parser() -> Parser:
    """All commands with their options."""
    parser = Parser(
        prog=NAME, description="Measures online scheduling and pricing algorithms against a certified offline optimum."
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version, and end")
    parser.commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for listed in COMMANDS.values():
        _add_command(parser.commands, listed)
    return parser


def _add_command(commands: Any, listed: Listed) -> None:
    sub = commands.add_parser(listed.name, help=listed.summary, description=listed.summary)
    sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of a failure")
    sub.listed = listed


def _add_options(sub: Parser, command: Command | Group) -> None:
    if isinstance(command, Group):
        parts = sub.add_subparsers(metavar="PART", required=True)
        for part in command.parts:
            _add_command(parts, part)
        return
    sub.set_defaults(command=command)
    described, defaults = options_of(command.options), defaults_of(command.options)
    rest = any(each.positional and each.several for each in described.values())
    groups: dict[str, Any] = {}
    for name, each in described.items():
        into = sub
        if each.either:
            if each.either not in groups:
                groups[each.either] = sub.add_mutually_exclusive_group(required=each.needed)
            into = groups[each.either]
        needed = name not in defaults
        add = _add_argument if each.positional else _add_option
        action = add(into, name, each, needed, rest, defaults.get(name, MISSING) is None)
        if each.positional and needed and any(other.several for other in described.values()) and not rest:
            action.nargs = "?"
            sub.takes_last = name
    if command.document is not None:
        sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def _add_argument(into: Any, name: str, each: Option, needed: bool, rest: bool, both: bool) -> Any:
    about: dict[str, Any] = {"nargs": "*"} if each.several else {} if needed else {"nargs": "?"}
    if isinstance(each.values, Choice):
        about["choices"] = each.values.options
    else:
        about["metavar"] = each.metavar  # checked with all options: argparse would read a default that is suppressed
    return into.add_argument(name, default=argparse.SUPPRESS, help=_help(each), **about)


def _add_option(into: Any, name: str, each: Option, needed: bool, rest: bool, both: bool) -> Any:
    """Add an option; `both`: a switch without a default of its own has a spelling for off, too."""
    flags = sorted({*each.flags, flag_of(name)}, key=lambda flag: (len(flag), flag))
    about: dict[str, Any] = {"dest": name, "default": argparse.SUPPRESS}
    about["help"] = _help(each, "" if not each.several else WITH_COMMAS if rest else SEVERAL)
    if isinstance(each.values, Switch):
        return into.add_argument(*flags, action=argparse.BooleanOptionalAction if both else "store_true", **about)
    about |= {"required": True} if needed else {}
    if each.several:
        # Where names may stand behind the command themselves, the next word is one of them.
        about |= {"action": _Several} if rest else {"action": _Several, "nargs": "+"}
    elif name == "algorithm":
        about["action"] = _Single
    elif isinstance(each.values, Choice):
        return into.add_argument(*flags, choices=each.values.options, **about)
    else:
        about["type"] = _reader(each.values)
    return into.add_argument(*flags, metavar=each.metavar, **about)


def _help(each: Option, more: str = "") -> str:
    """The sentence, how several are written, and the default."""
    return each.summary + more + (f" (default: {each.told})" if each.told else "")


def _reader(values: Values) -> Callable[[str], Any]:
    """What reads a word on the command line."""

    def read(text: str) -> Any:
        try:
            return values.checked("", "", values.parsed(text))
        except InputError as error:
            raise argparse.ArgumentTypeError(error.problem) from None

    return read
