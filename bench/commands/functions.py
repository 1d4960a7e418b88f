"""A command's options as the keywords of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Any, TypeVar

from ratiobench.bench.options import Options, defaults_of, options_of
from ratiobench.instances.io.errors import InputError, explain_unknown_name

_F = TypeVar("_F", bound=Callable[..., Any])


def as_function(
    kind: type[Options],
    without: Sequence[str] = (),
    *,
    others: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[_F], _F]:
    """Give a function ``f(..., **options)`` the options of a command: in its signature, its docstring, its checks."""
    chosen = {option: each for option, each in options_of(kind).items() if option not in without}
    known = {option: defaults_of(kind)[option] for option in chosen} | dict(defaults or {})
    keywords = known | dict(others or {})

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            for word in given:
                if word not in keywords and word not in signature.parameters:
                    names = [*keywords, *(each.name for each in own)]
                    raise InputError(function.__name__, "", explain_unknown_name(word, names))
            try:
                return function(*arguments, **{**(defaults or {}), **given})
            except InputError as error:
                word = f"{error.source}_"  # `from_` is the option `from`
                if word not in given:
                    raise
                raise InputError(word, error.field, error.problem) from None

        parameters = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default)
            for option, default in keywords.items()
        ]
        call.__signature__ = signature.replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        lines = [
            fill(f"{option} : {each.summary}; {each.values.range}.", 116, subsequent_indent="    ")
            for option, each in chosen.items()
        ]
        text = "\n".join(lines).replace("\n", "\n    ")
        call.__doc__ = (function.__doc__ or "").replace("{options}", text)
        return call  # type: ignore[return-value]

    return decorate
