"""What is in the seconds of a run, a solve, a piece of work, and in limits: no compilation, no start of a process."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import ratiobench.formulations.eapm.solve as eapm_solve
import ratiobench.formulations.lora.solve as lora_solve
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running import work
from ratiobench.bench.running.pool import SpawnPool, WorkerLost
from ratiobench.formulations import backends, engine, timing
from ratiobench.instances.eapm.format import loads
from ratiobench.instances.lora.named import named
from ratiobench.online import run as runs
from ratiobench.online.eapm.run import ENVIRONMENT
from ratiobench.online.eapm.run import run as run_eapm
from ratiobench.online.lora.run import run as run_lora
from ratiobench.online.referee import isolation, messages, simulator
from ratiobench.online.run_context import RunContext, run_context
from tests.support.napping import nap
from tests.support.toy_runs import toy  # noqa: F401


class Clock:
    """Stands still, but for what is told to take time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done: list[str] = []

    def perf_counter(self) -> float:
        return self.now

    def takes(self, seconds: float) -> Callable[..., None]:
        """A function that takes so long."""

        def work(*what: object) -> None:
            self.now += seconds
            self.done.append(" ".join(map(str, what)))

        return work


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The only clock of solves and runs; whatever is made ready takes a hundred seconds."""
    clock = Clock()
    module = SimpleNamespace(perf_counter=clock.perf_counter)
    for each in (lora_solve, engine, simulator):
        monkeypatch.setattr(each, "time", module)
    ready = clock.takes(100.0)
    monkeypatch.setattr(runs, "warm_once", lambda game, choice: ready(choice))
    monkeypatch.setattr(lora_solve, "warm_search", lambda schedules: ready())
    monkeypatch.setattr(backends, "start_worker", clock.takes(100.0))
    return clock


def test_a_runs_clock_starts_when_its_kernels_are_there(clock: Clock) -> None:
    """Those of its options, as they are for this many tasks; a limit does not begin before either."""
    result = run_lora(named("tiny_two_types"), "pdftsp:payment=critical")
    assert clock.done == ["pdftsp:search=exact,units=paper,payment=critical,updates=all,arith=exact,migrate=yes"]
    assert result.seconds == 0
    result = run_eapm(ENVIRONMENT.small(), "greedy")
    assert clock.done[1:] == ["greedy"]
    assert result.seconds == 0


def test_an_algorithm_is_warmed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a run on a small instance, before its own."""
    ran = []
    monkeypatch.setattr(runs, "_run", lambda game, instance, spec, *_, **__: ran.append((instance.name, spec.head)))
    runs.warm_once.cache_clear()
    for _ in range(2):
        run_lora(named("tiny_two_types"), "eft")
    runs.warm_once.cache_clear()
    assert [name for name, _ in ran] == ["warm", "tiny_two_types", "tiny_two_types"]
    assert {name for _, name in ran} == {"eft"}


@pytest.mark.parametrize(("backend", "warmed"), [("none", [""]), ("highs", ["highs"])])
def test_a_solves_clock_starts_when_all_is_ready(clock: Clock, backend: str, warmed: list[str]) -> None:
    report = lora_solve.solve(named("tiny_two_types"), backend=backend, seconds=50.0)
    assert clock.done == warmed
    assert clock.now == 100
    assert report.seconds == 0
    assert all(mark[0] == 0 for mark in report.trail)


def test_a_solve_of_bags_starts_its_solver_before_its_clock(clock: Clock) -> None:
    """HiGHS and CBC, where both are used."""
    report = eapm_solve.solve(loads(eapm_solve._TINY), "dinkelbach", "cbc", seconds=50.0)
    assert sorted(clock.done) == ["cbc", "highs"]
    assert report.seconds == 0


NAPS = """
import time

import numba  # its lock is what is listened to

from ratiobench.formulations.timing import excluded_from_timing


class Naps:
    def __init__(self, options):
        self.readying, self.working = float(options["readying"]), float(options["working"])

    def start(self, public, constants):
        pass

    def decide(self, task, view):
        with excluded_from_timing():
            time.sleep(self.readying)
        time.sleep(self.working)
        self.readying = self.working = 0.0
"""


@pytest.mark.parametrize(
    ("nap_ready", "working", "limit", "stopped"), [("0.6", "0.0", 0.5, False), ("0.0", "0.8", 0.5, True)]
)
def test_what_anyones_algorithm_compiles_is_in_neither_its_seconds_nor_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nap_ready: str, working: str, limit: float, stopped: bool
) -> None:
    (tmp_path / "naps.py").write_text(NAPS)
    monkeypatch.syspath_prepend(tmp_path)
    watch = timing.Stopwatch()
    with run_context(RunContext(limit)):
        run = run_lora(named("tiny_two_types"), f"naps:Naps:readying={nap_ready},working={working}")
    assert [violation.rule for violation in run.violations] == ["timeout"] * stopped
    if not stopped:
        assert float(working) <= run.seconds < float(working) + 0.25
        # Nor is it in a clock of this process: both runs, of all arrivals and of their first half, nap for so long.
        assert watch.seconds() < 2 * float(nap_ready)


def test_the_word_of_anyones_algorithm_is_taken_for_so_much_compiling_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "COMPILING_SECONDS", 0.2)
    (tmp_path / "naps.py").write_text(NAPS)
    monkeypatch.syspath_prepend(tmp_path)
    with run_context(RunContext(0.3)):
        run = run_lora(named("tiny_two_types"), "naps:Naps:readying=2,working=0")
    assert [violation.rule for violation in run.violations] == ["timeout"]


STOPS = (
    NAPS
    + """

class Stops(Naps):
    def start(self, public, constants):
        from ratiobench.formulations import timing

        timing.Stopwatch.seconds = lambda self: 0.0
"""
)


def test_the_way_to_anyones_algorithm_is_not_in_its_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is what the referee does for a question."""
    (tmp_path / "naps.py").write_text(NAPS)
    monkeypatch.syspath_prepend(tmp_path)
    pack = messages.Sender.pack
    monkeypatch.setattr(messages.Sender, "pack", lambda self, message: (time.sleep(0.1), pack(self, message))[1])
    run = run_lora(named("tiny_two_types"), "naps:Naps:readying=0,working=0.3")
    assert run.valid, run.violations
    assert 0.3 <= run.seconds < 0.3 + 0.1 * (1 + run.arrivals)


def test_an_algorithm_that_stops_its_clock_wins_the_time_of_the_way_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "naps.py").write_text(STOPS)
    monkeypatch.syspath_prepend(tmp_path)
    run = run_lora(named("tiny_two_types"), "naps:Stops:readying=0,working=0.3")
    assert run.valid, run.violations
    assert run.seconds >= 0.3 - 2 * isolation.WAY_SECONDS


def test_a_stopwatch_leaves_out_what_is_made_ready() -> None:
    """Once, however deep and in whatever thread; what numba compiles is, too, and it takes long."""
    watch = timing.Stopwatch()
    with timing.excluded_from_timing():
        thread = threading.Thread(target=nap, args=(0.2, 0.0))
        thread.start()
        nap(0.2, 0.0)
        thread.join()
    time.sleep(0.05)
    assert 0.05 <= watch.seconds() < 0.15
    watch, before = timing.Stopwatch(), timing.excluded_seconds()
    timing.exclude_compilation()
    numba.njit(lambda x: x + 1)(1)
    compiled = timing.excluded_seconds() - before
    assert compiled > 0
    assert watch.seconds() < compiled


def test_a_limit_of_pieces_leaves_out_what_a_worker_makes_ready() -> None:
    pool = SpawnPool(1, limit=0.6)
    try:
        assert pool.submit(nap, 1.2, 0.1).result() == 0.1
        with pytest.raises(WorkerLost, match=r"ended at the limit of 0\.6 s"):
            pool.submit(nap, 0.1, 30.0).result()
        assert pool.submit(nap, 0.0, 0.1).result() == 0.1
    finally:
        pool.stop()


@pytest.mark.usefixtures("toy")
def test_the_seconds_of_a_piece_leave_out_what_was_made_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of OPT, of a run and of its audit alike: 'first' is 0.3 s of getting ready and 0.05 s of work."""
    family = families()["toy"]
    for name in ("solve", "run", "audit"):
        made = getattr(type(family), name)
        monkeypatch.setattr(type(family), name, lambda *args, made=made: (nap(0.3, 0.05), made(*args))[1])
    data = family.dumps(family.generate({"seed": 1, "size": 6, "room": 2})).encode()
    opt = work.solve("toy", data, "id", SolveSettings(), "key")
    online, audit = work.measure("toy", data, "id", "first", "first v1", "audit", opt)
    assert [piece.ok for piece in (opt, online, audit)] == [True] * 3
    assert all(0.05 <= piece.seconds < 0.25 for piece in (opt, online, audit))
