"""Functions of families as commands: options from the signature, their words from the docstring.

A parameter is an argument, a keyword-only one an option. What the function returns has `lines` and `document`.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import MISSING, make_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ratiobench.bench import options as kinds
from ratiobench.bench.commands.command import Command
from ratiobench.bench.options import Options, argument, option, options_of, switch
from ratiobench.instances.io.errors import InputError

_F = TypeVar("_F", bound=Callable[..., Any])
# How values of a type are read, and what stands for one in the help
_KINDS: Mapping[Any, tuple[Any, str]] = {
    Any: (kinds.InstanceOrFile(), "FILE"),
    Path: (kinds.File(), "FILE"),
    str: (kinds.Text(), "NAME"),
    float: (kinds.Number("a number of at least 0"), "N"),
    abc.Mapping: (kinds.Columns(), "K=NAME,..."),
}
_PARAMETER = re.compile(r"^(\w+) : (.+?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def as_command(function: Callable[..., Any]) -> Command:
    """Make a command of a function; its attribute `busy` is what the command is busy with."""
    return Command(
        _options(function),
        lambda options: function(**{name: getattr(options, name) for name in options_of(type(options))}),
        text=lambda options, found: found.lines(),
        document=lambda options, found: found.document(),
        busy=function.busy,  # type: ignore[attr-defined]
    )


def as_function(function: _F) -> _F:
    """Give the function the checks that the command line makes of every value."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            values = inspect.signature(function).bind(*given, **named).arguments
        except TypeError as error:
            raise InputError(function.__name__, "", str(error)) from None
        return as_command(function).run(_options(function)(**values))

    return call  # type: ignore[return-value]


@functools.cache
def _options(function: Callable[..., Any]) -> type[Options]:
    section = inspect.cleandoc(function.__doc__ or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    words = {name: " ".join(meaning.split()).rstrip(".") for name, meaning in _PARAMETER.findall(section)}
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters.items()
    made = [(name, hints[name], _declare(each, hints[name], words[name])) for name, each in parameters]
    return make_dataclass(f"Options of {function.__name__}", made, bases=(Options,), frozen=True, kw_only=True)


def _declare(parameter: inspect.Parameter, hint: Any, words: str) -> Any:
    """The field of one parameter."""
    inner = next(kind for kind in (get_args(hint) or (hint,)) if kind is not types.NoneType)
    if inner is bool:
        return switch(words) if hint is bool else option(words, kinds.Switch())
    several = get_origin(hint) is tuple
    values, metavar = _KINDS[get_origin(inner) or inner]
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return argument(words, values, parameter.name.removesuffix("s").upper(), several=several)
    default = MISSING if parameter.default is parameter.empty else parameter.default
    return option(words, values, metavar, default=default, told="" if several else None, several=several)
