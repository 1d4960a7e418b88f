"""Commands: functions whose signatures and docstrings are the options of the command line, too."""

from __future__ import annotations

import functools
import inspect
import os
import re
import types
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, Union, get_args, get_origin

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.keys import Choice as Choice
from ratiobench.instances.io.keys import Integer as Integer
from ratiobench.instances.io.keys import Switch as Switch
from ratiobench.instances.io.keys import Text as Text
from ratiobench.instances.io.numerals import seconds_of

NEEDED: Any = inspect.Parameter.empty  # the default of an option that has to be given
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True)
class Outcome(Generic[_R]):
    """What a command's body returns: functions give `result`, the command line prints `lines` or `document`."""

    result: Callable[[], _R]  # what the function returns
    lines: Iterable[str] = ()  # for people
    document: Callable[[], Any] | None = None  # the same as JSON values; None where there is none
    # Writes the files that arguments name, and may say so; the command line has printed `lines` by then.
    files: Callable[[], Iterable[str] | None] = lambda: None
    more: Callable[[bool], Iterable[str]] = lambda json: ()  # more lines, of work that may take long
    status: Callable[[], int] = lambda: 0  # the exit status


@dataclass(frozen=True, slots=True)
class Anything:
    """An object of Python, or words that name it; the function itself checks it."""

    range: str = "file"

    def parsed(self, text: str) -> Any:
        return text

    def checked(self, source: str, field: str, value: Any) -> Any:
        return value


class File(Anything):
    def checked(self, source: str, field: str, value: Any) -> Path:
        if not isinstance(value, str | os.PathLike):
            raise InputError(source, field, f"{shorten(value)} is not the name of a file")
        return Path(value)


@dataclass(frozen=True, slots=True)
class Number(Anything):
    """A floating-point number from 0 to `high`; `range` says in words what is allowed."""

    high: float = float("inf")
    with_zero: bool = True
    with_high: bool = False

    def checked(self, source: str, field: str, value: Any) -> float:
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        inside = 0 < number < self.high or (self.with_zero and number == 0) or (self.with_high and number == self.high)
        if not inside:
            raise InputError(source, field, f"{shorten(value)} is not {self.range}")
        return number


class EffortFactor(Integer):
    range = "1..1000000|high"

    def checked(self, source: str, field: str, value: Any) -> int:
        if isinstance(value, str) and value != "high":
            raise InputError(source, field, f"{shorten(value)} is not an integer in 1..1000000 and not `high`")
        return super().checked(source, field, 8 if value == "high" else value)


@dataclass(frozen=True, slots=True)
class Duration(Anything):
    """A time above 0 such as 90s, 10m, 6h or 1d, in seconds."""

    range: str = "time such as 90s, 10m, 6h, above 0"

    def checked(self, source: str, field: str, value: Any) -> int:
        try:
            seconds = seconds_of(value) if isinstance(value, str) else value
        except ValueError as error:
            raise InputError(source, field, str(error)) from None
        if type(seconds) is not int or seconds < 1:
            raise InputError(source, field, f"{shorten(value)} is not a {self.range}")
        return seconds


@dataclass(frozen=True, slots=True)
class Columns(Anything):
    range: str = "K=NAME,..."

    def parsed(self, text: str) -> Any:
        pairs = [part.partition("=") for part in text.split(",")]
        names = {name: column for name, _, column in pairs if name and column}
        return names if len(names) == len(pairs) else text

    def checked(self, source: str, field: str, value: Any) -> Mapping[str, str]:
        if not isinstance(value, Mapping):
            raise InputError(source, field, f"{shorten(value)} is not submit=NAME,duration=NAME,...")
        return value


@dataclass(frozen=True, slots=True)
class Option:
    """Values, spellings and default of a parameter on the command line."""

    values: Any  # what reads a word, `parsed`, and checks a value, `checked`; `range` says what is allowed
    metavar: str = ""  # the value in the help
    meaning: str = ""  # in a phrase, where the docstring of the command does not describe the parameter
    flags: tuple[str, ...] = ()  # the spellings on the command line, where they are not the name
    several: bool = False  # the value is a tuple: of words behind one option, with commas, or by repeating the option
    single: bool = False  # of several names on the command line all but one are refused
    named: bool = False  # an option on the command line although Python takes it by its place
    line: Any = ...  # the default on the command line, where it is not the function's
    hidden: bool = False  # no command line has it

    def checked(self, name: str, value: Any) -> Any:
        if self.several and type(self.values) is not Anything:
            values = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
            return tuple(self.values.checked(name, "", each) for each in values)
        return self.values.checked(name, "", value)


_COUNT = Integer(1, 10**6)
ALGORITHM = ("-a", "--algorithms", "--algorithm")

# What several commands take
Instance = Annotated[Any, Option(Anything(), "FILE", "instance file, .json or .json.gz; - for standard input")]
Cost = Annotated[str | None, Option(Text(), "COST", "cost by which solutions are judged, of a family with several")]
Formulation = Annotated[str, Option(Text(), "F", "model of OPT, as `list formulations` names them")]
Backend = Annotated[str, Option(Text(), "B", "solver, one of those of the formulation")]
_GAP = Number("a relative gap in [0, 1), 0 included and 1 not", high=1.0)
Gap = Annotated[float, Option(_GAP, "G", "relative gap at which to stop")]
Count = Annotated[int | None, Option(_COUNT, "N")]
_EFFORT_MEANING = "units of work; by default 1, with --seconds as many as fit into the time"
Effort = Annotated[int | None, Option(_COUNT, "N", _EFFORT_MEANING)]
_SECONDS = Number("a number of seconds above 0", with_zero=False)
Seconds = Annotated[float | None, Option(_SECONDS, "S", "time limit in seconds; the result is marked time-limited")]
_ISOLATION = "run users' algorithms in a sandbox (Linux), or do not; by default if bubblewrap or Landlock works"
Isolate = Annotated[bool | None, Option(Switch(), "", _ISOLATION)]
Workers = Annotated[int | None, Option(_COUNT, "N", "number of processes; by default one per core")]
Names = Annotated[Any, Option(Text(), "NAME", several=True)]
Patterns = Annotated[Any, Option(Text(), "PATTERN", "only the cases with these names (* ? [...])", several=True)]
Groups = Annotated[Any, Option(Text(), "GROUP", "only the cases of these groups", several=True)]
Axes = Annotated[Any, Option(Text(), "AXIS", "parameters that a sweep varies", several=True)]
Scale = Annotated[
    str, Option(Choice(("full", "small")), "", "size of the instances; small: a small version of the suite")
]
Algorithm = Annotated[Any, Option(Anything("text"), "NAME", flags=ALGORITHM, single=True)]
Algorithms = Annotated[Any, Option(Anything("text"), "NAME", flags=ALGORITHM, several=True)]
Folder = Annotated[Any, Option(File(), "DIR")]
Csv = Annotated[Path | None, Option(File(), "CSV")]
Certificate = Annotated[Path | None, Option(File(), "CERT")]
Timeline = Annotated[Path | None, Option(File(), "HTML", flags=("--html", "--timeline"))]
Hidden = Annotated[Any, Option(Anything(), hidden=True)]

# How values of a type are read that says no more, and what stands for one in the help
_KINDS: Mapping[Any, tuple[Any, str]] = {
    Any: (Anything(), "FILE"),
    Path: (File(), "FILE"),
    str: (Text(), "NAME"),
    bool: (Switch(), ""),
    float: (Number("a number of at least 0"), "N"),
    abc.Mapping: (Columns(), "K=NAME,..."),
}


@functools.cache
def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    described = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            hint = parameter.annotation
            if isinstance(hint, str):  # not by `get_type_hints`: what is returned is imported for type checkers alone
                hint = eval(hint, inspect.unwrap(function).__globals__)
            described[name] = _option_of(hint, parameter)
    return described


def _option_of(hint: Any, parameter: inspect.Parameter) -> Option:
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, Option):
            return each
    parts = get_args(hint) if get_origin(hint) in (tuple, Union, types.UnionType) else (hint,)
    inner = next(part for part in parts if part not in (types.NoneType, ...))
    values, metavar = _KINDS[get_origin(inner) or inner]
    if parameter.kind is not parameter.KEYWORD_ONLY:
        metavar = parameter.name.removesuffix("s").upper()
    return Option(values, metavar, several=get_origin(hint) is tuple)


_PARAMETERS = "Parameters\n----------\n"
_PARAMETER = re.compile(r"^(\w+) : (.+?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def _completed(function: Callable[..., Any]) -> str:
    """The docstring with the meanings of the parameters that several commands have and it does not describe."""
    before, _, after = (inspect.getdoc(function) or "").partition(_PARAMETERS)
    section, _, rest = after.partition("\n\n")
    meanings = {name: f"{option.meaning}." for name, option in options_of(function).items() if option.meaning}
    meanings |= {name: meaning.rstrip() for name, meaning in _PARAMETER.findall(section)}
    lines = [f"{name} : {meanings[name]}" for name in inspect.signature(function).parameters if name in meanings]
    return "\n".join([before.rstrip(), "", _PARAMETERS.rstrip(), *lines, "", rest]) if lines else before


@functools.cache
def meanings_of(function: Callable[..., Any]) -> dict[str, str]:
    """The meaning of each parameter in the docstring, in a line; of the command itself under an empty name."""
    text = inspect.getdoc(function) or ""
    section = text.partition(_PARAMETERS)[2].partition("\n\n")[0]
    words = {name: " ".join(meaning.split()).rstrip(".") for name, meaning in _PARAMETER.findall(section)}
    return words | {"": as_phrase(text.partition("\n")[0])}


def as_phrase(sentence: str) -> str:
    return sentence[:1].lower() + re.sub(r"(?<!\.)\.$", "", sentence[1:])


def command(
    busy: str = "",  # the first progress line; empty for commands that end at once
    *,
    json: bool = True,
    keeps: bool | None = None,  # what is finished, when it is interrupted; None: with ``--out``
) -> Callable[[Callable[_P, Outcome[_R]]], Callable[_P, _R]]:
    """Make a command of a function: called from Python, it returns the `result` of its outcome."""

    def decorate(function: Callable[_P, Outcome[_R]]) -> Callable[_P, _R]:
        def outcome(*given: Any, **named: Any) -> Outcome[_R]:
            bound = _bind(function, given, named)
            return function(*bound.args, **bound.kwargs)

        @functools.wraps(function)
        def call(*given: _P.args, **named: _P.kwargs) -> _R:
            made = outcome(*given, **named)
            for _ in made.files() or ():
                pass
            return made.result()

        signature = inspect.signature(function)
        returned = str(signature.return_annotation).removeprefix("Outcome[").removesuffix("]")
        signature = signature.replace(return_annotation=returned)
        vars(call).update(outcome=outcome, busy=busy, json=json, keeps=keeps, __signature__=signature)
        call.__doc__ = _completed(function)
        return call

    return decorate


def _bind(function: Callable[..., Any], given: Any, named: Any) -> inspect.BoundArguments:
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*given, **named)
    except TypeError as error:
        unknown = next((word for word in named if word not in signature.parameters), None)
        problem = str(error) if unknown is None else explain_unknown_name(unknown, signature.parameters)
        raise InputError(function.__name__, "", problem) from None
    for name, option in options_of(function).items():
        value = bound.arguments.get(name)
        if value is not None and value is not signature.parameters[name].default:
            bound.arguments[name] = option.checked(name.rstrip("_"), value)
    return bound


# A comma between names: not one before a space, inside ``[...]``, or of thousands as in ``1,114 jobs``
_BETWEEN = re.compile(r",(?! )(?!(?<=\d,)\d{3}(?!\d))(?![^\[]*\])")


def split_names(text: str) -> list[str]:
    """Split a text into names; a part with an equals sign belongs to the name before it.

    `text`: such as ``a,b:key=value,key=value``.

    Examples
    --------
    >>> from ratiobench.bench.arguments import split_names
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
