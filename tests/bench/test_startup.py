"""The first run: what is compiled, how often, side by side; what is run first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.cli import main
from ratiobench.bench.family.capabilities import AUDITS, SOLVES, Step
from ratiobench.bench.family.registry import families
from ratiobench.bench.lora import compilation
from ratiobench.bench.running import kernel_compilation, kernel_record, runner
from ratiobench.formulations.kernels import sort_few, sort_stably
from ratiobench.formulations.lora import solve
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import path

# Kernels that run in integers and in doubles, and so have two signatures
IN_BOTH = {
    # Bounds are searched for in doubles and proved in integers.
    "fill", "fill_table", "cheapest", "best_pattern", "_node_values", "cover_table", "first_cover", "_profits",
}  # fmt: skip

_COUNT = """
import json, multiprocessing, os, sys
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.running import work
from ratiobench.bench.running.kernel_compilation import select_steps
from ratiobench.formulations.kernels import LazyKernel

def counted():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("ratiobench.") and name != "ratiobench.formulations.kernels":
            for value in vars(module).values():
                if isinstance(value, LazyKernel) and value.py_func.__module__ == name:
                    found[name + "." + value.py_func.__name__] = len(value.signatures)
    return found

family, suite = find_suite("quick")
names = list(dict.fromkeys(name for case in suite.cases for name in case.algorithms))
if len(sys.argv) > 3:
    names = sys.argv[3].split(";")
steps = select_steps(family.compilation_steps(names), sys.argv[2].split(",") if len(sys.argv) > 2 else ())
if len(sys.argv) > 1:
    # Each step in a process of its own, after those that it waits for.
    found = {}
    for step in steps:
        here, there = multiprocessing.Pipe()
        if not os.fork():
            before, names = set(), {step.name}
            for other in reversed(steps):
                names.update(other.after if other.name in names else ())
            for other in steps:
                if other.name in names:
                    before = {name for name, count in counted().items() if count}
                    other.work()
            there.send([name for name, count in counted().items() if count and name not in before])
            os._exit(0)
        there.close()
        found[step.name] = here.recv()
    print(json.dumps(found))
else:
    for step in steps:
        step.work()
    warm = counted()
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


def _counts(*arguments: str) -> Any:
    command = [sys.executable, "-c", _COUNT, *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.nightly
def test_every_kernel_is_compiled_once_and_by_warm() -> None:
    """Runs of the suite compile nothing more, and a kernel has one signature, or one in integers and one in doubles."""
    warm, after = _counts()
    assert sum(warm.values()) > 20
    assert {name: count for name, count in after.items() if count > warm.get(name, 0)} == {}
    most = {name: 2 if name.rpartition(".")[2] in IN_BOTH else 1 for name in after}
    assert {name: count for name, count in after.items() if count > most[name]} == {}


@pytest.mark.nightly
def test_steps_share_no_kernel() -> None:
    """Two processes must not write one index of the cache; what both use is compiled by a step that both wait for."""
    steps = _counts("alone")
    assert len(steps) > 4
    assert all(steps[name] for name in ("bounds on OPT", "the search for solutions", "the online algorithms"))
    times = Counter(name for found in steps.values() for name in found)
    assert {name for name, count in times.items() if count > 1} == set()


@pytest.mark.nightly
def test_without_audits_and_solves_their_kernels_are_left_out() -> None:
    """What an algorithm needs of them is compiled with it, still by one step alone."""
    steps = _counts("alone", "audits,solves", "greedy;pdftsp;pdftsp:units=canonical")
    assert list(steps) == ["the online algorithms", "units of money"]
    assert steps["units of money"] == ["ratiobench.formulations.lora.bound.minimal_covers._list_minimal"]
    steps = _counts("alone", "audits", "greedy;learned;pdftsp:units=canonical")
    times = Counter(name for found in steps.values() for name in found)
    assert {name for name, count in times.items() if count > 1} == set()
    assert not [name for name in times if "theory" in name]
    searched = ["bounds on OPT", "the search for solutions"]
    assert list(steps) == [*searched, "the online algorithms", "units of money", "prices that are learned"]
    kept = {name: list(_names_without(name, [AUDITS, SOLVES])) for name in ("learned", "titan", "eft")}
    assert kept["eft"] == ["the online algorithms"]
    assert kept["learned"] == ["bounds on OPT", "the online algorithms", "prices that are learned"]
    assert kept["titan"][:3] == ["bounds on OPT", "the search for solutions", "the online algorithms"]


def _names_without(algorithm: str, without: Sequence[str]) -> Iterator[str]:
    steps = kernel_compilation.select_steps(compilation.compilation_steps([algorithm]), without)
    known = [step.name for step in steps]
    for step in steps:
        assert set(step.after) <= set(known[: known.index(step.name)])
        yield step.name


def test_the_estimate_is_for_what_is_compiled_and_for_the_longest_chain() -> None:
    """Steps that wait for each other take their sum, however many cores there are; what is left out takes nothing."""
    steps = [
        Step("a", 10, print), Step("b", 5, print, ("a",), AUDITS), Step("c", 20, print, ("b",)), Step("d", 3, print),
    ]  # fmt: skip
    every: list[Any] = [("lora", None, step) for step in steps]
    assert kernel_compilation._estimate(every, 1) == 38
    assert kernel_compilation._estimate(every, 2) == 35
    fewer: list[Any] = [("lora", None, step) for step in kernel_compilation.select_steps(steps, [AUDITS])]
    assert [step.after for _, _, step in fewer] == [(), ("a",), ()]
    assert kernel_compilation._estimate(fewer, 2) == 30


def test_all_that_solves_compile_is_a_step_where_everything_is_asked_for() -> None:
    """A kernel that is left out is compiled by the first solve that needs it, for half a minute."""
    work = {step.work for step in compilation.compilation_steps(None)}
    assert {solve.warm_bounds, solve.warm_search, solve.warm_cells} <= work


def test_a_step_waits_for_those_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is listed first; what nothing is waited for begins at once."""
    begun: list[str] = []

    class Here:
        def __init__(self, *_: object) -> None: ...
        def __enter__(self) -> Here:
            return self

        def __exit__(self, *_: object) -> None: ...
        def submit(self, work: Any, family: str, choice: Any, name: str, telling: bool) -> Future[list[Any]]:
            begun.append(name)
            future: Future[list[Any]] = Future()
            future.set_result([])
            return future

    steps = [Step("last", 1, print, ("first", "middle")), Step("middle", 1, print, ("first",)), Step("first", 1, print)]
    monkeypatch.setattr(kernel_compilation, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(kernel_compilation, "_steps", lambda *_: steps)
    kernel_compilation.compile_all({"lora": None}, lambda _: None)
    assert begun == ["first", "middle", "last"]
    steps[:] = [Step("alone", 1, print, ("nobody",))]
    with pytest.raises(ValueError, match="alone waits for what is no step: nobody"):
        kernel_compilation.compile_all({"lora": None}, lambda _: None)


@given(st.lists(st.integers(-3, 3), max_size=70))
def test_ascending_is_a_stable_sort(values: list[int]) -> None:
    """As NumPy's, in integers and in doubles."""
    for kind in (np.int64, np.float64):
        keys = np.array(values, dtype=kind)
        assert sort_stably(keys).tolist() == np.argsort(keys, kind="stable").tolist()
        order = np.full(len(keys) + 1, -1)
        sort_few.py_func(keys, len(keys), order)
        assert order.tolist() == [*np.argsort(keys, kind="stable").tolist(), -1]


def test_what_is_compiled_is_told() -> None:
    """A line before, a line after; what was compiled has its seconds."""
    told: list[str] = []
    found = kernel_compilation.compile_all({"eapm": ["online"]}, told.append)
    assert "eapm" in told[0]
    assert told[-1].startswith("compiled: ")
    assert all(kernel.seconds >= 0 and kernel.signatures >= 1 for kernel in found)


def test_a_run_compiles_first_where_something_is_missing_and_only_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a record beside the caches, which says nothing more when one of them is gone or a source is another one."""
    cache, source = tmp_path / "x.nbi", tmp_path / "x.py"
    cache.touch()
    source.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_record, "_sources", lambda: {source})
    asked: list[Any] = []
    monkeypatch.setattr(kernel_compilation, "compile_all", lambda chosen, say, without: asked.append(chosen))
    family = families()["lora"]
    for names in (
        ["greedy", "posted:prior=history,margin=2"],
        ["posted:margin=2"],
        ["greedy", "eft"],
        ["greedy", "m:C"],
    ):
        kernel_compilation.compile_missing(family, names)
    assert asked == [{"lora": ["greedy", "posted:margin=2"]}, {"lora": ["greedy", "eft"]}]
    assert kernel_record.is_compiled("lora", ["greedy", "eft", "posted:margin=2"])
    assert kernel_record.is_compiled("lora", ["posted:prior=a.json,margin=2", "greedy:history=a.json"])
    assert not kernel_record.is_compiled("lora", ["capped"])
    kernel_record.record_compiled("lora", None)
    assert kernel_record.is_compiled("lora", ["titan"])
    assert not kernel_record.is_compiled("eapm", ["online"])
    kernel_record.record_compiled("eapm", ["online"], [AUDITS])
    assert kernel_record.is_compiled("eapm", ["online"], [AUDITS])
    assert kernel_record.is_compiled("eapm", ["online"], [AUDITS, SOLVES])
    assert not kernel_record.is_compiled("eapm", ["online"], [SOLVES])
    assert not kernel_record.is_compiled("eapm", ["online"])
    source.write_text("changed")
    assert not kernel_record.is_compiled("lora", ["greedy"])
    kernel_record.record_compiled("lora", ["greedy"])
    assert kernel_record.is_compiled("lora", ["greedy"])
    cache.unlink()
    assert not kernel_record.is_compiled("lora", ["greedy"])
    (tmp_path / kernel_record.FILE).write_text("{")
    assert not kernel_record.is_compiled("lora", ["greedy"])


@pytest.mark.parametrize("prior", ["yesterday", "history"])
def test_algorithms_that_learn_of_another_day_are_compiled_too(prior: str) -> None:
    """None takes the instance under test for the day before."""
    names = [
        each.name
        for each in families()["lora"].algorithms()
        if families()["lora"].with_prior(each.name, "") != each.name
    ]
    assert len(names) > 4
    compilation._run_each([f"{name}:prior={prior}" for name in names])


def test_run_asks_for_what_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is begun, and not where a cluster runs it."""
    asked: list[Any] = []

    def ask(family: Any, algorithms: Any, quiet: bool, without: Any) -> None:
        asked.append((family.name, algorithms, quiet, without))
        raise InputError("", "", "that is enough")

    monkeypatch.setattr(runner, "compile_missing", ask)
    words = ["run", "tiny", "--only", "tiny_contention", "--add", "greedy", "--out", str(tmp_path / "out")]
    assert main([*words, "--quiet"]) == 2
    [(family, algorithms, quiet, without)] = asked
    assert (family, "greedy" in algorithms, "pdftsp" in algorithms, quiet) == ("lora", True, True, True)
    assert without == []
    assert main([*words, "--quiet", "--no-audits"]) == 2
    assert asked[-1][3] == [AUDITS]  # its OPT is solved
    day = ["run", "quick", "--only", "philly_7200", "--out", str(tmp_path / "day"), "--no-audits", "--quiet"]
    assert main(day) == 2
    assert asked[-1][3] == [AUDITS, SOLVES]
    assert main([*day, "--solve"]) == 2
    assert asked[-1][3] == [AUDITS]


def test_a_silent_compilation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that is at work, after a few seconds without a word."""
    from numba import njit

    monkeypatch.setattr(kernel_compilation, "SILENCE", 0.0)
    monkeypatch.setattr(kernel_compilation, "_OURS", __name__.partition(".")[0])
    told: list[str] = []

    def slow(values: Any) -> Any:
        return np.argsort(values, kind="mergesort")

    with kernel_compilation.collect_kernels(told.append) as found:
        njit(slow)(np.zeros(3))
    assert [kernel.name.rpartition(".")[2] for kernel in found] == ["slow"]
    assert all("compiling" in line for line in told)


def _job(what: str, weight: int, slow: bool = False) -> runner._Job:
    def call(_: Executor) -> Future[Any]:
        raise AssertionError

    return runner._Job(call, print, print, "case", what, weight, slow)


def test_the_largest_case_and_the_slowest_algorithm_come_first() -> None:
    """Cases are generated ahead; then OPT of the largest one, then what took longest elsewhere."""
    sweep: Any = object.__new__(runner._Sweep)
    sweep.planned, sweep.queue = deque([_job("", 0)]), []
    sweep.started, sweep.left = {}, {}
    sweep.spent = {"quick": 0.1, "slow": 9.0}
    jobs = [_job("quick", 5), _job("slow", 5), _job("slow", 9), _job(runner.OPT, 5), _job("quick", 9)]
    jobs += [_job("said", 9, slow=True), _job("said", 5, slow=True)]
    sweep.queue = list(jobs)
    order = [sweep._next() for _ in range(8)]
    assert [(job.what, job.weight) for job in order] == [
        ("", 0), ("said", 9), ("slow", 9), ("quick", 9), (runner.OPT, 5), ("said", 5), ("slow", 5), ("quick", 5)
    ]  # fmt: skip
    assert [name for name in ("titan", "titan:gap=0", "greedy") if families()["lora"].is_slow(name)] == [
        "titan", "titan:gap=0"
    ]  # fmt: skip
    assert sweep._next() is None
    sweep.queue = list(jobs)
    small = [sweep._next(small=True) for _ in range(3)]
    assert [(job.what, job.weight, job.small) for job in small] == [
        (runner.OPT, 5, True), ("said", 5, True), ("slow", 5, True)
    ]  # fmt: skip


def test_importing_bench_loads_nothing_large() -> None:
    """Neither NumPy nor numba nor a solver: their imports take most of a second."""
    code = "import bench, sys; print(sorted({'numpy', 'numba', 'pandas', 'ortools', 'highspy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


_LOADED = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))
from ratiobench.__main__ import main
sys.exit(main())
"""
_SLOW = {
    "numba",
    "pandas",
    "matplotlib",
    "jinja2",
    "ortools",
    "highspy",
    "pulp",
    "asyncio",
    "concurrent.futures.process",
}


@pytest.mark.parametrize(
    ("words", "without", "most"),
    [
        ("--version", _SLOW | {"argparse", "dataclasses", "importlib.metadata", "numpy", "signal"}, 2),
        ("--help", _SLOW | {"numpy", "sqlite3", "ratiobench.bench.family.capabilities"}, 35),
        ("list algorithms", _SLOW, 235),
        ("check FILE --certificate CERTIFICATE", _SLOW | {"sqlite3", "ratiobench.bench.commands.simulate"}, 47),
        ("simulate FILE --algorithm greedy --no-opt", _SLOW - {"numba"}, 165),
    ],
)
def test_a_command_loads_what_it_needs(words: str, without: set[str], most: int, tmp_path: Path) -> None:
    """None of these packages, and at most so many modules of ours: imports are most of a short command's time."""
    files = {"FILE": str(path("thm5_T5_3tasks")), "CERTIFICATE": str(tmp_path / "certificate.json")}
    if "CERTIFICATE" in words:
        assert main(["opt", files["FILE"], "--certificate", files["CERTIFICATE"]]) == 0
    command = [sys.executable, "-c", _LOADED, *(files.get(word, word) for word in words.split())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    before = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    assert (loaded - set(before.stdout.split())) & without == set()
    ours = {name for name in loaded if name.partition(".")[0] == "ratiobench"}
    assert len(ours) <= most, sorted(ours)


def environment() -> dict[str, str]:
    """Of a program elsewhere that imports this checkout."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_a_kernel_compiles_what_is_an_alternative_to_a_python_function(tmp_path: Path) -> None:
    """And what it takes from other kernels, of which numba has heard nothing before its first call."""
    code = """
import sys
from ratiobench.formulations import kernels

def chosen(x): ...
@kernels.inlined
def twice(x):
    return 2 * x
@kernels.alternative(chosen)
def _chosen(x):
    from numba import types
    return (lambda x: twice(x)) if isinstance(x, types.Integer) else (lambda x: x)
kernels._OPTIONS["cache"] = False
@kernels.inner
def inside(x):
    return chosen(x) + twice(1)
@kernels.compiled
def outside(x):
    return inside(x)
assert "numba" not in sys.modules
print(outside(5), outside(0.5), len(outside.signatures), outside.py_func.__name__)
"""
    (tmp_path / "example.py").write_text(code)
    command = [sys.executable, str(tmp_path / "example.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment())
    assert done.stdout == "12 2.5 2 outside\n"
