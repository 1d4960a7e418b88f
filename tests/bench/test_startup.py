"""The first run: what is compiled, how often, side by side; what is run first."""

import json
import os
import subprocess
import sys
from collections import deque
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families
from ratiobench.bench.running import runner
from ratiobench.bench.storage.store import StoredCase
from ratiobench.formulations.kernels import sort_few, sort_stably
from ratiobench.formulations.lora import solve
from ratiobench.instances.lora.named import path

# Kernels that run in integers and in doubles, and so have two signatures
IN_BOTH = {
    # Bounds are searched for in doubles and proved in integers.
    "fill", "fill_table", "cheapest", "best_pattern", "_node_values", "cover_table", "first_cover", "_profits",
    "insert",  # with and without tasks that move to other nodes
}  # fmt: skip

_COUNT = """
import json, sys
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.running import work
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
for call in family.compilations(names).values():
    call()
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


@pytest.mark.nightly
def test_every_kernel_is_compiled_once_and_by_warm() -> None:
    """Runs of the suite compile nothing more, and a kernel has one signature, or one in integers and one in doubles."""
    command = [sys.executable, "-c", _COUNT]
    warm, after = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert sum(warm.values()) > 20
    assert {name: count for name, count in after.items() if count > warm.get(name, 0)} == {}
    most = {name: 2 if name.rpartition(".")[2] in IN_BOTH else 1 for name in after}
    assert {name: count for name, count in after.items() if count > most[name]} == {}


_SLOW_KERNEL = """
import sys, time
from pathlib import Path
from ratiobench.formulations import kernels

@kernels.compiled
def called(x):
    return x + 1
@kernels.compiled
def calls(x):
    return called(x) + 1

def compiles():
    from numba.core import event
    class Listener(event.Listener):
        def on_start(self, event):
            print(event.data["dispatcher"].py_func.__name__, flush=True)
            time.sleep(1)  # the other process comes to it meanwhile
        def on_end(self, event): ...
    event.register("numba:compile", Listener())
    kernels.load_numba()
    ready = Path(__file__).with_name(sys.argv[1])
    ready.touch()
    while not all(Path(__file__).with_name(name).exists() for name in ("a", "b")):
        time.sleep(0.01)
    for kernel in (calls, called) if sys.argv[1] == "a" else (called, calls):
        kernel(1)

if __name__ == "__main__":
    compiles()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_a_kernel_that_two_processes_need_is_compiled_by_one(tmp_path: Path) -> None:
    """Also the one that it calls, whichever they come to first; none waits for ever."""
    (tmp_path / "slow.py").write_text(_SLOW_KERNEL)
    command = [sys.executable, str(tmp_path / "slow.py")]
    begun = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True, env=environment()) for name in ("a", "b")
    ]
    said = "".join(process.communicate()[0] for process in begun)
    assert sorted(said.split()) == ["called", "calls"]
    assert [process.returncode for process in begun] == [0, 0]


def test_all_that_solves_compile_is_compiled_where_everything_is_asked_for() -> None:
    """A kernel that is left out is compiled by the first solve that needs it, for half a minute."""
    family = families()["lora"]
    assert solve.warm_cells in family.compilations().values()
    assert solve.warm_cells not in family.compilations(["greedy"]).values()
    assert "greedy" in family.compilations(["greedy"])


def test_warm_says_what_it_does(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line before and one after; an algorithm that does not run on a small instance is left to the run."""
    monkeypatch.setattr(runner, "usable_cores", lambda: 1)
    runner.compile_kernels({"eapm": ["greedy", "nobody"]})
    first, last = capsys.readouterr().err.splitlines()
    assert first == "compiling once what eapm needs, in 1 processes"
    assert last.startswith("compiled in ")


@given(st.lists(st.integers(-3, 3), max_size=70))
def test_ascending_is_a_stable_sort(values: list[int]) -> None:
    """As NumPy's, in integers and in doubles."""
    for kind in (np.int64, np.float64):
        keys = np.array(values, dtype=kind)
        assert sort_stably(keys).tolist() == np.argsort(keys, kind="stable").tolist()
        order = np.full(len(keys) + 1, -1)
        sort_few.py_func(keys, len(keys), order)
        assert order.tolist() == [*np.argsort(keys, kind="stable").tolist(), -1]


@pytest.mark.parametrize("prior", ["yesterday", "history"])
def test_algorithms_that_learn_of_another_day_are_compiled_too(prior: str) -> None:
    """None takes the instance under test for the day before."""
    family = families()["lora"]
    informed = [each.name for each in family.algorithms() if family.with_prior(each.name, "") != each.name]
    assert len(informed) > 4
    names = [f"{name}:prior={prior}" for name in informed]
    calls = family.compilations(names)
    for name in names:
        calls[name]()


def _piece(what: str, weight: int, slow: bool = False) -> runner._Piece:
    case = StoredCase(f"case {weight}", "", f"case {weight}", {}, {}, [], {}, "key")
    stage = "opt" if what == runner.OPT else "audit"
    return runner._Piece(case, stage, what, "", lambda: partial(print), weight, slow)


def test_the_largest_case_and_the_slowest_algorithm_come_first() -> None:
    """Cases are generated ahead; then OPT of the largest one, then what took longest elsewhere."""
    sweep: Any = object.__new__(runner._SuiteRun)
    sweep.planned, sweep.queue = deque([_piece("", 0)]), []
    sweep.started, sweep.left, sweep.shown, sweep.same = {}, {}, True, {}
    sweep.spent, sweep.compiled = {"quick": 0.1, "slow": 9.0, "said": 1.0}, set()
    pieces = [_piece("quick", 5), _piece("slow", 5), _piece("slow", 9), _piece(runner.OPT, 5), _piece("quick", 9)]
    pieces += [_piece("said", 9, slow=True), _piece("said", 5, slow=True), _piece("new", 5)]
    sweep.queue = list(pieces)
    order = [sweep.next() for _ in range(9)]
    assert [(piece.what, piece.weight) for piece in order] == [
        ("", 0), ("said", 9), ("slow", 9), ("quick", 9), (runner.OPT, 5), ("said", 5), ("new", 5), ("slow", 5),
        ("quick", 5),
    ]  # fmt: skip
    assert [name for name in ("titan", "titan:gap=0", "greedy") if families()["lora"].is_slow(name)] == [
        "titan", "titan:gap=0"
    ]  # fmt: skip
    assert sweep.next() is None
    sweep.queue = list(pieces)
    small = [sweep.next([_piece("other", 9)]) for _ in range(3)]
    assert [(piece.what, piece.weight, piece.small) for piece in small] == [
        (runner.OPT, 5, True), ("said", 5, True), ("new", 5, True)
    ]  # fmt: skip


def test_workers_do_not_wait_for_each_others_kernels() -> None:
    """What runs the same kernels as a piece at work comes last, until one of the kind is done."""
    sweep: Any = object.__new__(runner._SuiteRun)
    sweep.planned, sweep.started, sweep.left, sweep.same = deque(), {}, {}, {}
    sweep.shown, sweep.spent, sweep.compiled = True, {}, set()
    sweep.queue = [_piece("pdftsp:units=given", 9), _piece("greedy", 5)]
    at_work = [_piece("pdftsp", 9)]
    assert sweep.next(at_work).what == "greedy"
    sweep.queue.append(_piece("greedy", 9))
    sweep.compiled.add("pdftsp")
    assert sweep.next([*at_work, _piece("x", 1)]).what in ("pdftsp:units=given", "greedy")
    assert len(sweep.queue) == 1


def test_all_workers_take_the_smallest_case_until_there_is_a_table() -> None:
    sweep: Any = object.__new__(runner._SuiteRun)
    sweep.planned, sweep.started, sweep.left, sweep.same = deque(), {}, {"case 5": {}, "case 9": {}}, {}
    sweep.shown, sweep.spent, sweep.compiled = False, {}, set()
    sweep.progress = SimpleNamespace(quiet=False)
    sweep.queue = [_piece("a", 9), _piece("b", 5), _piece("c", 5), _piece("d", 9)]
    assert [sweep.next().weight for _ in range(2)] == [5, 5]
    sweep.queue += [_piece("b", 5), _piece("c", 5)]
    sweep.shown = True
    assert sweep.next().weight == 9


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
        ("check FILE --certificate CERTIFICATE", _SLOW | {"sqlite3", "ratiobench.bench.commands.simulate"}, 40),
        ("simulate FILE --algorithm greedy --no-opt", _SLOW - {"numba"}, 152),
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
