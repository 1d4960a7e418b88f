"""The errors that are told in one line, and what their texts say of names and values."""

from __future__ import annotations

import contextlib
import difflib
import shlex
import sys
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

DEBUG = "RATIOBENCH_DEBUG"  # Set in the environment by `--debug`: errors of other processes show their traceback
SHOWN = 60  # Characters of a value in a message
LISTED = 100  # Characters of a list of names in a message; a first name is always there
MEANT = "did you mean"  # How a name that is near is offered


def make_printable(text: str, most: int) -> str:
    """Text from outside as one printable line of at most `most` characters; of what is too long the middle goes."""
    if len(text) > 2 * most:  # so that `most` bounds the work
        text = f"{text[:most]} ... {text[-most:]}"
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))
    if len(line) <= most:
        return line
    tail = (most - 3) // 3
    return f"{line[: most - 3 - tail]}...{line[len(line) - tail :]}"


def shorten(value: object) -> str:
    """The value in at most `SHOWN` characters on one line, as error messages print it."""
    if isinstance(value, str):
        text = repr(value[: SHOWN + 1])
    elif isinstance(value, dict):
        text = "an object"
    elif isinstance(value, list):
        text = f"a list of {len(value)}"
    elif value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int) and value.bit_length() > 1000:  # Python refuses to write thousands of digits
        text = f"an integer of {value.bit_length()} bits"
    else:
        text = str(value)[: 2 * SHOWN]
    text = " ".join(text.split())
    return make_printable(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...", SHOWN)


def install_command(extra: str) -> str:
    """The command that installs an optional extra of this package beside the Python that runs."""
    python = Path(sys.executable or "python")
    python = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{shlex.quote(str(python))} -m pip install -e '.[{extra}]'"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'quick'?`` to stand behind what is said of an unknown name; empty where no name is near."""
    spelt = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name[:SHOWN].lower(), spelt, 1)
    return f"; {MEANT} {shorten(spelt[near[0]])}?" if near else ""


def list_names(known: Iterable[str]) -> str:
    """The first of these names, as many as fit into `LISTED` characters, and how many more there are."""
    known = list(known)
    ends = accumulate(len(name) + 2 for name in known)
    fit = max(1, sum(end <= LISTED for end in ends))
    return ", ".join(known[:fit]) + (f" and {len(known) - fit} more" if fit < len(known) else "")


def explain_unknown_key(name: str, known: Iterable[str], near: str = "") -> str:
    """An unknown key of a table; `near`: what may be meant beyond the keys that are known here."""
    known = list(known)
    return f"unknown key; known: {', '.join(known)}{suggest_name(name, known) or near}"


def explain_unknown_name(name: object, known: Iterable[object], command: str = "") -> str:
    """An unknown name or value; `command` prints all names, and is named if they are too many for a message."""
    names = list(map(str, known))
    near, some = suggest_name(name, names) if isinstance(name, str) else "", list_names(names)
    if len(", ".join(names)) <= LISTED:
        return f"{shorten(name)} is not one of {some}{near}"
    if near:
        more = f"`{command}` prints all {len(names)}" if command else f"Known: {some}"
        return f"{shorten(name)} is not known{near} {more}"
    return f"{shorten(name)} is not one of {some}" + (f" (`{command}`)" if command else "")


def require_known(name: object, known: Iterable[object], source: str, field: str = "", command: str = "") -> None:
    known = list(known)
    if name not in known:
        raise InputError(source, field, explain_unknown_name(name, known, command))


class CommandError(RuntimeError):
    """A failure that is no fault of the program and is told in one line: no certificate found, a full disk."""


class InputError(ValueError):
    """Input that cannot be used; its text is one line of bounded length: file, field, value, and what is allowed.

    `source`: the file (or other origin) as the user named it; `field`: the path of the field inside it, such as
    ``tasks[3].deadline``; empty for the file as a whole.
    """

    def __init__(self, source: str, field: str, problem: str) -> None:
        self.source, self.field, self.problem = source, field, problem
        # Keys, values and file names come from outside, of any length and with any characters.
        parts = (make_printable(source, 300), make_printable(field, 300), make_printable(problem, 1000))
        super().__init__(": ".join(part for part in parts if part))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        return InputError, (self.source, self.field, self.problem)


def join_path(*parts: str) -> str:
    path = ""
    for part in filter(None, parts):
        path += f".{part}" if path and not part.startswith("[") else part
    return path


@contextlib.contextmanager
def name_source(source: str) -> Iterator[None]:
    """An `InputError` without a source gets this one."""
    try:
        yield
    except InputError as error:
        if error.source:
            raise
        raise InputError(source, error.field, error.problem) from None
