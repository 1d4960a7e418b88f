"""Syntax trees of anyone's source: several threads may ask for them at once."""

import ast
import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ratiobench.online.modules import parse_source

THREADS, TIMES = 4, 40


@pytest.fixture
def often_interrupted() -> Iterator[None]:
    """Threads take turns as often as they can, also in the midst of a garbage collection."""

    def collected(*_: object) -> None:
        sum(range(100))

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(collected)
    yield
    gc.callbacks.remove(collected)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_threads_may_parse_at_once(often_interrupted: None) -> None:
    """Each gets the tree that it would get alone; `ast.parse` fails here before Python 3.11.8."""
    source = Path(__file__).read_text(encoding="utf-8") * 5

    def shapes(_: int) -> set[str]:
        return {ast.dump(parse_source(source)) for _ in range(TIMES)}

    source = source.replace("from __future__ import annotations\n", "")
    with ThreadPoolExecutor(THREADS) as pool:
        assert set.union(*pool.map(shapes, range(THREADS))) == {ast.dump(parse_source(source))}
