"""What is in the seconds of a run and of a solve: no compilation, and no start of a process."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

import formulations.eapm.solve as eapm_solve
import formulations.lora.solve as lora_solve
from formulations import backends
from instances.eapm.format import loads
from instances.lora.named import named
from online import run as runs
from online.eapm.run import GAME
from online.eapm.run import run as run_eapm
from online.lora.run import run as run_lora
from online.referee import table


class Clock:
    """Stands still, but for what is told to take time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done: list[str] = []

    def perf_counter(self) -> float:
        """In place of the module's."""
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
    for each in (lora_solve, eapm_solve, table):
        monkeypatch.setattr(each, "time", module)
    ready = clock.takes(100.0)
    monkeypatch.setattr(runs, "warm_once", lambda game, choice: ready(choice))
    monkeypatch.setattr(lora_solve, "_warm_once", clock.takes(100.0))
    monkeypatch.setattr(backends, "ready", clock.takes(100.0))
    return clock


def test_a_runs_clock_starts_when_its_kernels_are_there(clock: Clock) -> None:
    """Those of its options, as they are for this many tasks; a limit does not begin before either."""
    result = run_lora(named("tiny_two_types"), "pdftsp:payment=critical")
    assert clock.done == ["pdftsp:search=exact,units=given,payment=critical,updates=all,arith=exact,migrate=yes"]
    assert result.seconds == 0
    result = run_eapm(GAME.small(), "greedy")
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
    """Kernels where they are used, the solver where one is; the time limit is for the solve."""
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
