"""Measure every test's seconds and write `tests/slow.txt`: `pytest -p tests.tools.slow_tests -n 2 --dist loadfile`.

In the list are the slowest test functions, of all their parameters together, until all others take `BUDGET` seconds of
one process: `-m "not slow"` leaves these out. Files are sorted by their seconds, and tests run in this order. A run
of some files changes what the list says of these alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.conftest import SLOW, file_of, function_of

BUDGET = 160.0
"""Seconds of all tests that are not slow: 80 s in each of two processes, collection aside."""
SLOW_SECONDS = 2.0
"""In a run of some files only, functions are slow from here on."""
_BEGAN = pytest.StashKey[float]()
_seconds: dict[str, float] = {}


def choose(seconds: Mapping[str, float], budget: float = BUDGET) -> list[str]:
    """The fewest functions without which the others keep to the budget, by name."""
    left, found = sum(seconds.values()), []
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        if left <= budget:
            break
        found.append(name)
        left -= seconds[name]
    return sorted(found)


def by_file(names: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """Functions sorted by the seconds of their files, the longest first; files without seconds stand last, as given."""
    spent = dict.fromkeys(map(file_of, [*names, *seconds]), 0.0)
    for name, each in seconds.items():
        spent[file_of(name)] += each
    places = {file: place for place, file in enumerate(spent)}
    return sorted(names, key=lambda name: (-spent[file_of(name)], places[file_of(name)], name))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The clock of a test starts."""
    item.stash[_BEGAN] = time.perf_counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """The last report of a test takes its seconds to the process that writes the list."""
    report: Any = yield
    if call.when == "teardown":
        report.user_properties.append(("seconds", time.perf_counter() - item.stash[_BEGAN]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a function's tests."""
    for name, value in report.user_properties:
        if name == "seconds" and isinstance(value, float):
            function = function_of(report.nodeid)
            _seconds[function] = _seconds.get(function, 0.0) + value


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the list, in the process that started the others."""
    if hasattr(session.config, "workerinput") or not _seconds:
        return
    files = set(map(file_of, _seconds))
    everything = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    others = [] if everything else [name for name in SLOW.read_text().split() if file_of(name) not in files]
    chosen = choose(_seconds) if everything else [n for n, seconds in _seconds.items() if seconds >= SLOW_SECONDS]
    SLOW.write_text("".join(f"{name}\n" for name in by_file([*others, *chosen], _seconds)))
