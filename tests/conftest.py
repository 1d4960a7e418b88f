"""Shared set-up: the repository root on the path, and the Hypothesis profile."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

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
    parser.addoption("--thorough", action="store_true", help="take all random examples, and draw them anew")


def pytest_configure(config: pytest.Config) -> None:
    """Set how many random examples there are, and whether they are the same in every run.

    With `--thorough` they are drawn anew; those that failed are in `.hypothesis` and are tried first by the next run.
    No health check and no deadline depend on the machine's speed.
    """
    from tests.support import samples

    samples.thorough = bool(config.getoption("--thorough"))
    settings.register_profile(
        "thorough" if samples.thorough else "fast",
        max_examples=samples.samples(100),
        derandomize=not samples.thorough,
        deadline=None,
        database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis") if samples.thorough else None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("thorough" if samples.thorough else "fast")


# Files that take longest: begun last, one would keep a process busy while the other waits
LONGEST_FIRST = (
    "bench/test_run.py",
    "online/lora/test_contract.py",
    "bench/evaluation/test_cheats.py",
    "bench/test_readme.py",
    "bench/test_plugins.py",
    "bench/lora/test_hunt.py",
    "bench/test_dask.py",
    "online/lora/test_cheaters.py",
)


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
    """Begin with the longest files; mark as `nightly` what `nightly.txt` lists."""
    slow = set((ROOT / "tests" / "nightly.txt").read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.nightly)
    places = {ROOT / "tests" / name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_said_by_the_clock() -> None:
    """No line that a command is still at work: what a test reads does not depend on how busy the machine is."""
    from ratiobench.bench.running import heartbeat

    heartbeat.SILENCE = 3600.0
