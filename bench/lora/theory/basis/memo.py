"""What is worked out of an instance once, and found again by the instance's content."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance

Rest = ParamSpec("Rest")
Value = TypeVar("Value")


def keep_by_content(
    most: int,
) -> Callable[[Callable[Concatenate[Instance, Rest], Value]], Callable[Concatenate[Instance, Rest], Value]]:
    """Keep what a function makes of an instance and further hashable arguments; at `most` of them all are dropped."""

    def keeping(make: Callable[Concatenate[Instance, Rest], Value]) -> Callable[Concatenate[Instance, Rest], Value]:
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
