"""Commands: functions whose signatures and docstrings are the options of the command line, too."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import re
import types
from collections import abc
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.fields import seconds_of
from ratiobench.instances.io.files import check_writable
from ratiobench.instances.io.keys import Choice as Choice
from ratiobench.instances.io.keys import Integer as Integer
from ratiobench.instances.io.keys import Kind
from ratiobench.instances.io.keys import Switch as Switch
from ratiobench.instances.io.keys import Text as Text

STORE = "results.sqlite"  # The file of a folder of results
NEEDED: Any = inspect.Parameter.empty  # the default of an option that has to be given
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True)
class Outcome(Generic[_R]):
    """What came of a command: its function returns `result`, the command line prints lines or `document`."""

    result: Callable[[], _R]  # called at the end
    document: Callable[[], Any] | None = None  # the same as JSON values; None where there is none
    status: Callable[[], int] = lambda: 0  # the exit status, at the end


# A command, step by step: lines for people, and once its outcome. It learns there whether its lines are shown, and then
# writes the files that arguments name, so that the result is printed even if a file cannot be written.
Steps: TypeAlias = Generator[str | Outcome[_R], bool, None]


def perform(steps: Steps[_R], shows: bool) -> Iterator[str | Outcome[_R]]:
    """The steps of a command that is told whether its lines are shown."""
    with contextlib.suppress(StopIteration):
        step = next(steps)
        while True:
            yield step
            step = steps.send(shows) if isinstance(step, Outcome) else next(steps)


@dataclass(frozen=True, slots=True)
class Anything(Kind):
    """An object of Python, or words that name it; the function itself checks it."""

    range: str = "file"

    def checked(self, source: str, field: str, value: Any) -> Any:
        return value


class File(Anything):
    def checked(self, source: str, field: str, value: Any) -> Path:
        if not isinstance(value, str | os.PathLike) or not str(value):
            raise InputError(source, field, f"{shorten(value)} is not the name of a file")
        return Path(value)


@dataclass(frozen=True, slots=True)
class NewFile(File):
    """A file that is to be written; that it cannot be is found before the work, not after it."""

    takes_dash: bool = False  # whether `-` is standard output

    def checked(self, source: str, field: str, value: Any) -> Path:
        path = File.checked(self, source, field, value)
        if str(path) != "-":
            check_writable(path)
        elif not self.takes_dash:
            raise InputError(source, field, "'-' is not the name of a file; this is not written to standard output")
        return path


@dataclass(frozen=True, slots=True)
class Number(Anything):
    """A floating-point number; `range` says in words what is allowed."""

    allows: Callable[[float], bool] = lambda number: 0 <= number < math.inf

    def checked(self, source: str, field: str, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not self.allows(number):
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
    """Values, spellings and default of a parameter on the command line, the shortest spelling first.

    `options_of` completes what an annotation leaves open.
    """

    values: Any  # what reads a word, `parsed`, and checks a value, `checked`; `range` says what is allowed
    metavar: str = ""  # the value in the help
    meaning: str = ""  # in a phrase; that of the docstring of the command goes before
    flags: tuple[str, ...] = ()  # left open, the name of a keyword-only parameter; empty: it is given by its place
    several: bool = False  # the value is a tuple: of words behind one option, with commas, or by repeating the option
    single: bool = False  # of several names on the command line all but one are refused
    default: Any = ...  # on the command line; left open, it is the function's
    hidden: bool = False  # no command line has it

    @property
    def spelling(self) -> str:
        return self.flags[-1] if self.flags else self.metavar

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
_GAP = Number("a relative gap in [0, 1), 0 included and 1 not", lambda number: 0 <= number < 1)
Gap = Annotated[float, Option(_GAP, "G", "relative gap at which to stop")]
Count = Annotated[int | None, Option(_COUNT, "N")]
_EFFORT_MEANING = "units of work; by default 1, with --seconds as many as fit into the time"
Effort = Annotated[int | None, Option(_COUNT, "N", _EFFORT_MEANING)]
_SECONDS = Number("a number of seconds above 0", lambda number: 0 < number < math.inf)
Seconds = Annotated[float | None, Option(_SECONDS, "S", "time limit in seconds; the result is marked time-limited")]
_ISOLATION = "run users' algorithms in a sandbox (Linux), or do not; by default if bubblewrap or Landlock works"
Isolate = Annotated[bool | None, Option(Switch(), "", _ISOLATION)]
Workers = Annotated[int | None, Option(_COUNT, "N", "number of processes; by default one per core")]
Patterns = Annotated[Any, Option(Text(), "PATTERN", "only the cases with these names (* ? [...])", several=True)]
Groups = Annotated[Any, Option(Text(), "GROUP", "only the cases of these groups", several=True)]
Axes = Annotated[Any, Option(Text(), "AXIS", "parameters that a sweep varies", several=True)]
Scale = Annotated[
    str, Option(Choice(("full", "small")), "", "size of the instances; small: a small version of the suite")
]
Algorithm = Annotated[Any, Option(Anything("text"), "NAME", flags=ALGORITHM, single=True)]
Algorithms = Annotated[Any, Option(Anything("text"), "NAME", flags=ALGORITHM, several=True)]
Output = Annotated[Path | None, Option(NewFile(), "FILE")]
Timeline = Annotated[Path | None, Option(NewFile(), "HTML", flags=("--html", "--timeline"))]
_PRIOR = "another day, an instance or its file, from which `prior=yesterday` in an algorithm's name takes constants"
Prior = Annotated[Any, Option(Anything(), "", _PRIOR, hidden=True)]

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
    """The arguments and options of a command by the names of its parameters."""
    options, meanings = {}, meanings_of(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        hint = parameter.annotation
        if isinstance(hint, str):  # not by `get_type_hints`: what is returned is imported for type checkers alone
            hint = eval(hint, inspect.unwrap(function).__globals__)
        option = _option_of(hint, parameter)
        flags = option.flags or (f"--{name.replace('_', '-')}",) * (parameter.kind is parameter.KEYWORD_ONLY)
        default = parameter.default if option.default is ... else option.default
        options[name] = replace(option, flags=flags, meaning=meanings.get(name, option.meaning), default=default)
    return options


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
    keeps: Callable[[Any], bool] = lambda values: False,  # what is finished, when it is interrupted: by the arguments
) -> Callable[[Callable[_P, Steps[_R]]], Callable[_P, _R]]:
    """Make a command of its steps: called from Python, it checks its arguments and returns the outcome's `result`.

    Its docstring begins with one line, the one of the help (`list_commands` finds it without an import).
    """

    def decorate(function: Callable[_P, Steps[_R]]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*given: _P.args, **named: _P.kwargs) -> _R:
            bound = _bind(function, given, named)
            steps = perform(function(*bound.args, **bound.kwargs), shows=False)
            (outcome,) = [step for step in steps if isinstance(step, Outcome)]
            return outcome.result()

        signature = inspect.signature(function)
        returned = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]")
        signature = signature.replace(return_annotation=returned)
        vars(call).update(steps=function, busy=busy, json=json, keeps=keeps, __signature__=signature)
        call.__doc__ = _completed(function)
        return call

    return decorate


def keep_apart(options: Mapping[str, Option], values: Mapping[str, Any]) -> None:
    """Refuse standard input for two files, two outputs of one name, and an output that would replace an input."""
    taken: dict[str, str] = {}
    inputs = 0
    for name, option in sorted(options.items(), key=lambda pair: isinstance(pair[1].values, NewFile)):
        value = values.get(name)
        for word in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(word, str | os.PathLike) or not str(word):
                continue
            if isinstance(option.values, NewFile):
                if os.path.exists(word) and not os.path.isfile(word):
                    continue  # a device
                path = os.path.realpath(word)
                if path in taken:
                    raise InputError(option.spelling, "", f"{shorten(str(word))} is {taken[path]}, too")
                taken[path] = f"written by {option.spelling}"
            elif str(word) == "-":
                inputs += 1
            elif os.path.isfile(word):
                taken[os.path.realpath(word)] = "read by this command"
            elif os.path.isdir(word):
                taken[os.path.realpath(os.path.join(word, STORE))] = "read by this command"
    if inputs > 1:
        raise InputError("<stdin>", "", "only one file can be standard input")


def _bind(function: Callable[..., Any], given: Any, named: Any) -> inspect.BoundArguments:
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*given, **named)
    except TypeError as error:
        unknown = next((word for word in named if word not in signature.parameters), None)
        problem = str(error) if unknown is None else explain_unknown_name(unknown, signature.parameters)
        raise InputError(function.__name__, "", problem) from None
    for name, option in options_of(function).items():
        value, default = bound.arguments.get(name), signature.parameters[name].default
        if value is not None and value is not default:
            bound.arguments[name] = option.checked(name, value)
        elif name in bound.arguments and default is not NEEDED:
            bound.arguments[name] = default  # None, too, stands for it
    keep_apart(options_of(function), bound.arguments)
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
