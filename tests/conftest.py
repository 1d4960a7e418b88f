"""Shared set-up: the repository root on the path, and one deterministic Hypothesis profile."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
# The importlib import mode leaves sys.path alone, and `tests` is not installed: without this line
# `from tests.support.samples import ...` would only work for `python -m pytest` run in the root.
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# Nothing is read that an earlier run has kept, and nothing is left in the user's folder.
os.environ["RATIOBENCH_CACHE"] = ""
# The hundreds of processes that tests start read compiled modules, also where the caller's environment stores none:
# to compile those of a command again takes a third of its start.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""
# A shell that is no terminal's starts what it runs in the background with Ctrl-C ignored, and processes inherit that:
# those that tests interrupt would not end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--thorough`, for tests of random examples."""
    parser.addoption("--thorough", action="store_true", help="take all random examples, not a third of them")


def pytest_configure(config: pytest.Config) -> None:
    """Say how many random examples there are; of these the same on every machine and run.

    No health check and no deadline depend on the machine's speed.
    """
    from tests.support import samples

    samples.thorough = bool(config.getoption("--thorough"))
    settings.register_profile(
        "deterministic",
        max_examples=samples.samples(100),
        derandomize=True,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("deterministic")


SLOW = Path(__file__).parent / "slow.txt"
"""The slow test functions, one a line, the file first that takes longest; `tests.tools.slow_tests` writes them."""


def function_of(test: str) -> str:
    """The test function of a test, without its parameters."""
    return test.partition("[")[0]


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected, and look no more at what is left then: it lives to the end.

    Pytest rewrites the assertions of all files in trees of millions of objects, of which next to none are garbage.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow ones, for `-m "not slow"`; begin with the longest files: the last of two processes waits less."""
    slow = dict.fromkeys(SLOW.read_text().split())
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow)
    places = {file: place for place, file in enumerate(dict.fromkeys(map(file_of, slow)))}
    items.sort(key=lambda item: places.get(file_of(item.nodeid), len(places)))


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_said_by_the_clock() -> None:
    """No line that a command is still at work: what a test reads does not depend on how busy the machine is."""
    from ratiobench.bench.running import heartbeat, progress

    heartbeat.SILENCE = progress.SILENCE = 3600.0
