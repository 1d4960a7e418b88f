"""How many arrivals of a run are answered: told while it runs, of both simulations of a user's algorithm."""

import time

import pytest

from ratiobench.bench.running.pool import SpawnPool
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from ratiobench.online.referee import arrival_count, user_run
from ratiobench.online.referee.arrival_count import ArrivalCount, counted_arrivals, start_counting
from ratiobench.online.run_context import RunContext, run_context

INSTANCE = named("tiny_contention")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[ArrivalCount | None]:
    monkeypatch.setattr(arrival_count, "EVERY", 0.0)
    monkeypatch.setattr(user_run, "usable_threads", lambda: 1)  # beside the first run the second one is not told
    return []


def test_an_algorithm_of_ours_is_simulated_once(told: list[ArrivalCount | None]) -> None:
    with counted_arrivals(told.append):
        counted = run(INSTANCE, "greedy")
    assert told == [*counts(INSTANCE.tasks, False), None]
    assert counted.decisions == run(INSTANCE, "greedy").decisions


def test_a_user_s_algorithm_is_simulated_again_on_the_first_half(told: list[ArrivalCount | None]) -> None:
    """What is told says so, from the first arrival of each run on; nobody is told outside."""
    with run_context(RunContext(isolate=False)):
        with counted_arrivals(told.append):
            found = run(INSTANCE, "docs.examples.policies.lora:Threshold")
        count = len(told)
        run(INSTANCE, "docs.examples.policies.lora:Threshold")
    assert found.valid
    assert len(told) == count
    assert told[-1] is None
    known = [each for each in told if each is not None]
    assert known == [*counts(INSTANCE.tasks, False), *counts(known[-1].arrivals, True)]
    assert 0 < known[-1].arrivals < INSTANCE.tasks


def counts(arrivals: int, is_repeated: bool) -> list[ArrivalCount]:
    return [ArrivalCount(answered, arrivals, is_repeated) for answered in range(arrivals + 1)]


def test_counts_are_told_a_few_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first and the last one in any case; without a listener nothing is counted."""
    assert start_counting(1000) is None
    told: list[ArrivalCount | None] = []
    with counted_arrivals(told.append):
        counter = start_counting(1000)
        assert counter is not None
        for _ in range(1000):
            counter.add(1)
    assert [told[0], told[-2], told[-1]] == [ArrivalCount(0, 1000), ArrivalCount(1000, 1000), None]
    assert len(told) < 10


def test_the_pool_knows_how_far_the_runs_of_its_workers_are() -> None:
    pool = SpawnPool(1)
    try:
        future = pool.submit(count_slowly)
        seen = set()
        while not future.done():
            seen.add(pool.count_of(future))
            time.sleep(0.01)
        assert ArrivalCount(1, 2, True) in seen
        later = pool.submit(time.sleep, 0.2)
        while not later.done():
            assert pool.count_of(later) is None
            time.sleep(0.01)
    finally:
        pool.shutdown()


def count_slowly() -> None:
    """In the worker: one of two arrivals is answered for a while."""
    from ratiobench.bench.running import work

    with counted_arrivals(work.listener):
        counter = start_counting(2, is_repeated=True)
        assert counter is not None
        time.sleep(arrival_count.EVERY)
        counter.add(1)
        time.sleep(0.5)
