"""How options are declared: once, as the fields of a frozen dataclass.

The command line, the function of the command and the table of options in the documentation follow from the fields.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.keys import Choice as Choice
from ratiobench.instances.io.keys import Integer as Integer
from ratiobench.instances.io.keys import Switch as Switch
from ratiobench.instances.io.keys import Text as Text
from ratiobench.instances.io.numerals import seconds_of

__all__ = ["Option", "Options", "Values", "argument", "option", "options_of", "split_names"]

HIGH_EFFORT = 8
REPEATS = 1000  # Most runs of one algorithm on one instance


class Values(Protocol):
    """The values that an option may have; kinds of keys of recipes (`instances/io/keys.py`) are such values, too."""

    @property
    def range(self) -> str:
        """The values in words."""
        ...

    def parsed(self, text: str) -> Any:
        """Read a word of the command line, without a check."""
        ...

    def checked(self, source: str, field: str, value: Any) -> Any:
        """Check a value; a checked value passes again."""
        ...


class _Words:
    """Values that are read from the text itself."""

    def parsed(self, text: str) -> Any:
        return text


@dataclass(frozen=True, slots=True)
class InstanceOrFile(_Words):
    """An instance, a document, or the name of its file; it is checked when it is read."""

    range: ClassVar[str] = "file"

    def checked(self, source: str, field: str, value: Any) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class File(_Words):
    """The name of a file or folder, as a `Path`."""

    range: ClassVar[str] = "file"

    def checked(self, source: str, field: str, value: Any) -> Path:
        if not isinstance(value, str | os.PathLike):
            raise InputError(source, field, f"{shorten(value)} is not the name of a file")
        return Path(value)


@dataclass(frozen=True, slots=True)
class Number(_Words):
    """A floating-point number."""

    range: str  # what is allowed, in words
    low: float = 0.0  # low, high: the ends, of which `high` is excluded, and `low` where `open_` is set
    high: float = float("inf")
    open_: bool = False

    def checked(self, source: str, field: str, value: Any) -> float:
        try:
            found = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            found = float("nan")
        if not self.low <= found < self.high or (self.open_ and found == self.low):
            raise InputError(source, field, f"{shorten(value)} is not {self.range}")
        return found


SECONDS = Number("a number of seconds above 0", open_=True)
GAP = Number("a relative gap in [0, 1), 0 included and 1 not", high=1.0)
EFFORT = Integer(1, 10**6)


@dataclass(frozen=True, slots=True)
class EffortFactor(_Words):
    """How many times the suite's effort: an integer, or ``high``."""

    range: ClassVar[str] = "1..1000000|high"

    def parsed(self, text: str) -> Any:
        return EFFORT.parsed(text)

    def checked(self, source: str, field: str, value: Any) -> int:
        if value == "high":
            return HIGH_EFFORT
        if isinstance(value, str):
            raise InputError(source, field, f"{shorten(value)} is not an integer in 1..1000000 and not `high`")
        return EFFORT.checked(source, field, value)


@dataclass(frozen=True, slots=True)
class Decimal(_Words):
    """An exact decimal number in low..high."""

    low: int
    high: int

    @property
    def range(self) -> str:
        return f"{self.low}..{self.high}"

    def checked(self, source: str, field: str, value: Any) -> Fraction:
        text = str(value)
        known = isinstance(value, Fraction) or (len(text) <= 12 and text.replace(".", "", 1).isdecimal())
        if not known or not self.low <= Fraction(text) <= self.high:
            raise InputError(source, field, f"{shorten(text)} is not a number in {self.range}")
        return Fraction(text)


@dataclass(frozen=True, slots=True)
class Duration(_Words):
    """A time such as 90s, 10m, 6h or 1d, in seconds."""

    low: int = 0

    @property
    def range(self) -> str:
        return "time such as 90s, 10m, 6h" + ", above 0" * self.low

    def checked(self, source: str, field: str, value: Any) -> int:
        try:
            found = seconds_of(value) if isinstance(value, str) else value
        except ValueError as error:
            raise InputError(source, field, str(error)) from None
        if type(found) is not int or found < self.low:
            raise InputError(source, field, f"{shorten(value)} is not a {self.range}")
        return found


@dataclass(frozen=True, slots=True)
class Columns(_Words):
    """Names of columns, ``submit=NAME,duration=NAME,...``."""

    range: ClassVar[str] = "K=NAME,..."

    def parsed(self, text: str) -> Any:
        pairs = [part.partition("=") for part in text.split(",")]
        found = {name: column for name, _, column in pairs if name and column}
        return found if len(found) == len(pairs) else text

    def checked(self, source: str, field: str, value: Any) -> Mapping[str, str]:
        if not isinstance(value, Mapping):
            raise InputError(source, field, f"{shorten(value)} is not submit=NAME,duration=NAME,...")
        return value


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a command."""

    summary: str  # one sentence for the help, without the default
    values: Values  # allowed values
    metavar: str = ""  # the value in the help
    told: str = ""  # the default in words, which the help shows
    several: bool = False  # the value is a tuple: of words behind one option, with commas, or by repeating the option
    positional: bool = False  # an argument and no option
    flags: tuple[str, ...] = ()  # other spellings on the command line
    either: str = ""  # the name of a group of options of which at most one is given
    needed: bool = False  # one of that group has to be given
    figures: bool = False  # whether the figures depend on it, so that the command in the provenance names it

    def checked(self, name: str, value: Any) -> Any:
        """Check a value."""
        if self.several:
            return tuple(self.values.checked(name, "", each) for each in ([value] if isinstance(value, str) else value))
        return self.values.checked(name, "", value)


def option(
    summary: str, values: Values, metavar: str = "", *, default: Any = None, told: str | None = None, **about: Any
) -> Any:
    """Declare a field of an `Options` that is an option.

    `told`: the default in words; None to write `default` itself.
    """
    default = () if default is None and about.get("several") else default
    told = _told(default) if told is None else told
    return field(default=default, metadata={"option": Option(summary, values, metavar, told, **about)})


def _told(default: Any) -> str:
    """A default as the help shows it; empty for one that is none."""
    if default is MISSING or default is None or isinstance(default, bool):
        return ""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def switch(summary: str, **about: Any) -> Any:
    """An option that is on or off, off by default."""
    return option(summary, Switch(), default=False, **about)


def argument(summary: str, values: Values, metavar: str, *, default: Any = MISSING, **about: Any) -> Any:
    """Declare a field of an `Options` that is a positional argument."""
    described = Option(summary, values, metavar, positional=True, **about)
    return field(default=() if described.several else default, metadata={"option": described})


def required(summary: str, values: Values, metavar: str = "", **about: Any) -> Any:
    """An option that has to be given."""
    return option(summary, values, metavar, default=MISSING, **about)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command; every value is checked when it is set."""

    json: bool = False  # whether the command line prints the result as JSON, where the command has a document

    def __post_init__(self) -> None:
        defaults = defaults_of(type(self))
        for name, each in options_of(type(self)).items():
            value = getattr(self, name)
            if value is not None and value is not defaults.get(name, MISSING):
                object.__setattr__(self, name, each.checked(name.rstrip("_"), value))


def options_of(kind: type[Options]) -> dict[str, Option]:
    """Return the options of a command."""
    return {each.name: each.metadata["option"] for each in _described(kind)}


def defaults_of(kind: type[Options]) -> dict[str, Any]:
    """The defaults of the options that need not be given."""
    return {each.name: each.default for each in _described(kind) if each.default is not MISSING}


def _described(kind: type[Options]) -> list[Field[Any]]:
    return [each for each in fields(kind) if "option" in each.metadata]


def flag_of(name: str) -> str:
    """The option's name on the command line."""
    return f"--{name.rstrip('_').replace('_', '-')}"


# A comma between names: not one before a space, inside ``[...]``, or of thousands as in ``1,114 jobs``
_BETWEEN = re.compile(r",(?! )(?!(?<=\d,)\d{3}(?!\d))(?![^\[]*\])")


def split_names(text: str) -> list[str]:
    """Split a text into names; a part with an equals sign belongs to the name before it.

    `text`: such as ``a,b:key=value,key=value``.

    Examples
    --------
    >>> from ratiobench.bench.options import split_names
    >>> split_names("greedy,posted:margin=2,prior=history")
    ['greedy', 'posted:margin=2,prior=history']
    """
    names: list[str] = []
    for part in filter(None, _BETWEEN.split(text)):
        if names and "=" in part.partition(":")[0]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def as_words(options: Options) -> list[str]:
    """The options on which figures depend, where they are not at their defaults, as words of a command."""
    words: list[str] = []
    defaults = defaults_of(type(options))
    for name, each in options_of(type(options)).items():
        value = getattr(options, name)
        if not each.figures or value == defaults[name]:
            continue
        flag = each.flags[-1] if each.flags else flag_of(name)
        if isinstance(each.values, Switch):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            given = value if each.several else (value,)
            words += [word for one in given for word in (flag, f"{one:g}" if isinstance(one, float) else str(one))]
    return words
