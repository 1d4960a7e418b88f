"""Runs that a check makes beside the one that it is about: other algorithms on the same instance, each run once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from ratiobench.online.outcome import OnlineRun

Instance = TypeVar("Instance")


def remember_runs(
    run: Callable[[Instance, str], OnlineRun], content_hash: Callable[[Instance], str], most: int
) -> Callable[[Instance, str], OnlineRun]:
    """Keep the last runs of (instance, algorithm), for instances of the same content."""
    result: OrderedDict[tuple[str, str], OnlineRun] = OrderedDict()

    def run_once(instance: Instance, algorithm: str) -> OnlineRun:
        key = content_hash(instance), algorithm
        found = result.pop(key, None) or run(instance, algorithm)
        result[key] = found
        if len(result) > most:
            result.popitem(last=False)
        return found

    return run_once
