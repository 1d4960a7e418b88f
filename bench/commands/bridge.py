"""Functions of families as commands: options from the signature, their words from the docstring.

A parameter is an argument, a keyword-only one an option. What the function returns has `lines` and `document`.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from ratiobench.bench.commands.command import Command
from ratiobench.bench.options import Columns, File, Number, Options, Text, Values, argument, option, required, switch

_VALUES: Mapping[Any, Values] = {str: Text(), Path: File(), float: Number("a number of at least 0"), Mapping: Columns()}
_PARAMETER = re.compile(r"^(\w+) : (.+?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def as_command(function: Callable[..., Any]) -> Command:
    """Make a command of a function; its attribute `command` is the name, `busy` what it does meanwhile."""
    text = inspect.cleandoc(function.__doc__ or "")
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    words = {name: " ".join(meaning.split()).rstrip(".") for name, meaning in _PARAMETER.findall(section)}
    hints = get_type_hints(function)
    made = [
        (name, hints[name], _declare(parameter, hints[name], words[name]))
        for name, parameter in inspect.signature(function).parameters.items()
    ]
    kind = make_dataclass(f"Options of {function.__name__}", made, bases=(Options,), frozen=True, kw_only=True)
    names = [each.name for each in fields(kind) if each.name != "json"]
    return Command(
        getattr(function, "command", function.__name__),
        text.partition("\n")[0].rstrip(".")[:1].lower() + text.partition("\n")[0].rstrip(".")[1:],
        kind,
        lambda options: function(**{name: getattr(options, name) for name in names}),
        text=lambda options, found: found.lines(),
        document=lambda options, found: found.document(),
        busy=getattr(function, "busy", function.__name__),
    )


def _declare(parameter: inspect.Parameter, hint: Any, words: str) -> Any:
    """The field of one parameter."""
    several = get_origin(hint) is tuple
    inner = next(kind for kind in (get_args(hint) or (hint,)) if kind not in (types.NoneType, ...))
    metavar = {Path: "FILE", float: "N", Mapping: "K=NAME,..."}.get(get_origin(inner) or inner, "NAME")
    if inner is bool:
        return switch(words)
    values = _VALUES[get_origin(inner) or inner]
    needed = parameter.default is parameter.empty
    about: dict[str, Any] = {"several": True} if several else {}
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return argument(words, values, metavar, **about)
    if needed:
        return required(words, values, metavar, **about)
    return option(words, values, metavar, default=parameter.default, told="" if several else None, **about)
