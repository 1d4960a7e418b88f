"""The first run: what is compiled, how often, side by side; what is run first; what `perf startup` tells."""

from __future__ import annotations

import csv as reader
import json
import subprocess
import sys
from collections import deque
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.perf import startup
from bench.perf.measured import Measured
from bench.perf.page import format_csv as as_csv
from bench.running import compiling, runner
from formulations.kernels import ascending

IN_BOTH = {
    "fill", "cheapest", "best_pattern", "_node_values",  # bounds are searched for in doubles and proved in integers
    "cover_table", "first_cover", "_profits",
}  # fmt: skip
"""Kernels that run in integers and in doubles, and so have two signatures."""

_COUNT = """
import json, sys
from numba.core.registry import CPUDispatcher
from bench.family.known import families, find_suite
from bench.running import work

def counted():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("bench", "formulations", "online") and name != "formulations.kernels":
            for value in vars(module).values():
                if isinstance(value, CPUDispatcher) and value.py_func.__module__ == name:
                    found[name + "." + value.py_func.__name__] = len(value.signatures)
    return found

family, suite = find_suite("quick")
names = list(dict.fromkeys(name for case in suite.cases for name in case.algorithms))
groups = family.compiling(names)
number = int(sys.argv[1])
for group in groups if number < 0 else [groups[number]]:
    for step in group:
        step.work()
warm = counted()
if number < 0:
    for case in suite.cases:
        if case.recipe["kind"] != "paper":
            made = work.make(family.name, case.recipe)
            opt = work.solve(family.name, made.data, made.instance, case.solve, "")
            assert opt.ok
            for name in case.algorithms:
                key = family.algorithm_key(name)
                pieces = work.measure(family.name, made.data, made.instance, name, key, "", opt)
                assert all(piece.ok for piece in pieces)
print(json.dumps([warm, counted()]))
"""


def _counts(group: int) -> tuple[dict[str, int], dict[str, int]]:
    command = [sys.executable, "-c", _COUNT, str(group)]
    warm, after = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return warm, after


def test_every_kernel_is_compiled_once_and_by_warm() -> None:
    """Runs of the suite compile nothing more, and a kernel has one signature, or one in integers and one in doubles."""
    warm, after = _counts(-1)
    assert sum(warm.values()) > 20
    assert {name: count for name, count in after.items() if count > warm.get(name, 0)} == {}
    most = {name: 2 if name.rpartition(".")[2] in IN_BOTH else 1 for name in after}
    assert {name: count for name, count in after.items() if count > most[name]} == {}


def test_groups_share_no_kernel() -> None:
    """Two processes must not write one index of the cache; what both use is compiled before they begin."""
    offline, online = ({name for name, count in _counts(group)[0].items() if count} for group in (0, 1))
    assert offline
    assert online
    assert not offline & online


@given(st.lists(st.integers(-3, 3), max_size=70))
def test_ascending_is_a_stable_sort(values: list[int]) -> None:
    """As NumPy's, in integers and in doubles."""
    for kind in (np.int64, np.float64):
        keys = np.array(values, dtype=kind)
        assert ascending(keys).tolist() == np.argsort(keys, kind="stable").tolist()


def test_what_is_compiled_is_told() -> None:
    """A line before, a line after; what was compiled has its seconds."""
    told: list[str] = []
    found = compiling.compile_all({"eapm": ["online"]}, told.append)
    assert "eapm" in told[0]
    assert told[-1].startswith("compiled: ")
    assert all(kernel.seconds >= 0 and kernel.signatures >= 1 for kernel in found)


def test_a_silent_compilation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that is at work, after a few seconds without a word."""
    from numba import njit

    monkeypatch.setattr(compiling, "SILENCE", 0.0)
    monkeypatch.setattr(compiling, "_OURS", (__name__.partition(".")[0],))
    told: list[str] = []

    def slow(values: Any) -> Any:
        return np.argsort(values, kind="mergesort")

    with compiling.listening(told.append) as found:
        njit(slow)(np.zeros(3))
    assert [kernel.name.rpartition(".")[2] for kernel in found] == ["slow"]
    assert all("compiling" in line for line in told)


def _job(what: str, weight: int) -> runner._Job:
    def call(_: Executor) -> Future[Any]:
        raise AssertionError

    return runner._Job(call, print, print, "case", what, weight)


def test_the_largest_case_and_the_slowest_algorithm_come_first() -> None:
    """Cases are generated ahead; then OPT of the largest one, then what took longest elsewhere."""
    sweep: Any = object.__new__(runner._Sweep)
    sweep.planned, sweep.queue = deque([_job("", 0)]), []
    sweep.started, sweep.left = {}, {}
    sweep.spent = {"quick": 0.1, "slow": 9.0}
    jobs = [_job("quick", 5), _job("slow", 5), _job("slow", 9), _job(runner.OPT, 5), _job("quick", 9)]
    sweep.queue = list(jobs)
    order = [sweep._next() for _ in range(6)]
    assert [(job.what, job.weight) for job in order] == [
        ("", 0), ("slow", 9), ("quick", 9), (runner.OPT, 5), ("slow", 5), ("quick", 5)
    ]  # fmt: skip
    assert sweep._next() is None


def test_the_table_of_startup_is_made_from_its_file() -> None:
    """Sums by stage, kernels by name."""
    rows = [
        {"stage": "install", "what": "numba", "seconds": None, "count": 35.0, "of": "MB"},
        {"stage": "import", "what": "bench", "seconds": 0.01, "count": None, "of": ""},
        {"stage": "compile", "what": "a.b", "seconds": 2.0, "count": 1, "of": "signatures"},
        {"stage": "compile", "what": "a.c", "seconds": 3.0, "count": 2, "of": "signatures"},
        {"stage": "tiny", "what": "OPT", "seconds": 4.0, "count": 1, "of": "pieces"},
    ]
    text = as_csv(Measured(startup.COLUMNS, rows))
    table = startup.markdown(list(reader.DictReader(text.splitlines()))).splitlines()
    assert "| packages |  | 35 MB |" in table
    assert "| compilation | 5.0 | 2 kernels |" in table
    assert table.index("| - a.c | 3.0 | 2 |") < table.index("| - a.b | 2.0 | 1 |")
    assert "| quick: OPT | 4.0 | 1 pieces |" in table


def test_importing_bench_loads_nothing_large() -> None:
    """Neither NumPy nor numba nor a solver: their imports take most of a second."""
    code = "import bench, sys; print(sorted({'numpy', 'numba', 'pandas', 'ortools', 'highspy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_the_table_in_the_readme_is_that_of_the_committed_file() -> None:
    """Word for word."""
    folder = Path(startup.__file__).parent
    with (folder / "startup.csv").open(encoding="utf-8", newline="") as file:
        table = startup.markdown(list(reader.DictReader(file)))
    readme = (folder.parent / "README.md").read_text(encoding="utf-8")
    assert readme.partition("<!-- startup -->\n")[2].partition("\n<!-- /startup -->")[0] == table
