"""The parser of command lines: one line for what cannot be used, with what was probably meant; completion."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from ratiobench.bench.family.registry import families
from ratiobench.instances.errors import did_you_mean, make_printable, not_one_of, shorten

LONGEST = 1700
"""Characters of a message on standard error, whatever it is about."""
NAME = "ratiobench"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, status 2, and name what is spelt almost so."""

    words: Sequence[str] = ()
    commands: Any = None
    takes_last: str = ""
    """The argument that may be the last of the words behind ``--algorithm``; empty for none."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, with the words kept for messages."""
        self.words = [] if args is None else list(args)
        found, rest = super().parse_known_args(args, namespace)
        if self.takes_last and getattr(found, self.takes_last) is None:
            action = next(each for each in self._actions if each.dest == self.takes_last)
            if len(found.algorithm) < 2 or rest:
                self.error(f"the following arguments are required: {action.metavar}")
            *found.algorithm, last = found.algorithm
            setattr(found, self.takes_last, action.type(last) if callable(action.type) else last)
        return found, rest

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {make_printable(message + self._misspelt(), LONGEST)}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, not_one_of(str(value), map(str, action.choices)))

    def _misspelt(self) -> str:
        """What the first option that does not exist was probably meant to be."""
        known = set(self._option_string_actions)
        command = next((word for word in self.words if not word.startswith("-")), "")
        if self.commands is not None and command in self.commands.choices:
            known |= set(self.commands.choices[command]._option_string_actions)
        for word in self.words:
            option = word.partition("=")[0]
            if option == "--":
                break
            if option.startswith("--") and not any(each.startswith(option) for each in known):
                return did_you_mean(option, known) and f"; {shorten(option)} is no option{did_you_mean(option, known)}"
        return ""


class ShowVersion(argparse.Action):
    """Print the version of the installed package, and end."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version(NAME)
        except PackageNotFoundError:
            found = "of a folder that is not installed"
        print(f"{NAME} {found}")
        parser.exit(0)


Names = Callable[[], Iterable[str]]


def complete_by(action: Any, names: Names) -> None:
    """Where completion is switched on, a shell completes the values of this argument by these names."""

    def completer(prefix: str, **_: Any) -> list[str]:
        with contextlib.suppress(Exception):  # a family that is not there is said when the command runs
            return [name for name in names() if name.startswith(prefix)]
        return []

    action.completer = completer


def suite_names() -> list[str]:
    """The suites of all families."""
    return [suite.name for family in families().values() for suite in family.suites()]


def algorithm_names() -> list[str]:
    """The algorithms of all families, without options."""
    return list(dict.fromkeys(each.name for family in families().values() for each in family.algorithms()))


def formulation_names() -> list[str]:
    """The formulations of all families."""
    return ["auto", *dict.fromkeys(each.name for family in families().values() for each in family.formulations())]


def claim_names() -> list[str]:
    """The claims of all families that a check is about."""
    said = [family.statements() for family in families().values()]
    return list(dict.fromkeys(each.name for statements in said for each in statements if not each.proof))


def answer_completion(parser: argparse.ArgumentParser) -> None:
    """If a shell asks how to go on, answer it and end; it needs `argcomplete`, the extra `completion`."""
    if "_ARGCOMPLETE" in os.environ:
        with contextlib.suppress(ImportError):
            import argcomplete

            argcomplete.autocomplete(parser)
