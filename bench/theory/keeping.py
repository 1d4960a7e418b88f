"""Keeps what checks work out of an instance for the next check."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Instance = TypeVar("Instance")
Rest = ParamSpec("Rest")
Value = TypeVar("Value")
Maker = Callable[Concatenate[Instance, Rest], Value]


def keep_by_content(
    content_hash: Callable[[Instance], str], most: int
) -> Callable[[Maker[Instance, Rest, Value]], Maker[Instance, Rest, Value]]:
    """Keep what a function makes of an instance and further hashable arguments; at `most` of them all are dropped."""

    def keeping(make: Maker[Instance, Rest, Value]) -> Maker[Instance, Rest, Value]:
        cache: dict[tuple[Hashable, ...], Value] = {}

        @wraps(make)
        def find_or_make(instance: Instance, /, *args: Rest.args, **more: Rest.kwargs) -> Value:
            key = (content_hash(instance), *args, *more.items())
            if key not in cache:
                if len(cache) >= most:
                    cache.clear()
                cache[key] = make(instance, *args, **more)
            return cache[key]

        return find_or_make

    return keeping
