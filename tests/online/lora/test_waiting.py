"""`learned:wish=monotone`: who arrives later, or asks for more memory, meets no lower price."""

from bisect import bisect_right

import numpy as np
import pytest

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.learned.filling import Filling, Shares
from ratiobench.online.lora.learned.past import empty_past
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import ENVIRONMENT
from ratiobench.online.run import run_built
from tests.support.samples import of_sample, samples


def _job(draws: RandomNumbers, slots: int, *, early: bool) -> Job:
    memory, rate, arrival = 1 + draws.draw_below(6), 1 + draws.draw_below(6), 1 + draws.draw_below(slots)
    if early and draws.draw_below(2):
        arrival = 1
    deadline = min(slots, arrival + draws.draw_below(slots))
    work = max(1, rate * (1 + draws.draw_below(deadline - arrival + 1)))
    return Job(arrival, deadline, memory, work, 10_000 * (1 + draws.draw_below(60)), (rate,))


def _sorted(jobs: list[Job]) -> tuple[Job, ...]:
    return tuple(sorted(jobs, key=lambda job: job.arrival))


def _utility(given: Instance, history: Instance, task: int) -> int:
    spec = REGISTRY.parse("learned:wish=monotone,every=1,total=unknown")
    assert spec.entry is not None
    algorithm = spec.entry.make(spec.entry.settle(dict(spec.options), given.tasks))
    algorithm.learn(history, given)
    decision = run_built(ENVIRONMENT, given, algorithm, "learned", "1", (), "seed").decisions[task]
    return 0 if decision is None else int(given.bid[task]) - (decision.payment or 0)


@pytest.mark.parametrize(("number", "task"), [(3, 4), (22, 12)])
def test_what_a_task_triggers_does_not_raise_its_own_price(number: int, task: int) -> None:
    """In these two days waiting gained where prices were solved again before the task's own were posted."""
    draws = RandomNumbers("mono", number)
    slots, kinds = 3 + draws.draw_below(3), (Kind(1 + draws.draw_below(3), 8, 8),)
    before = [_job(draws, slots, early=False) for _ in range(4 + draws.draw_below(8))]
    history = instance(TinyInstance(slots, kinds, _sorted(before)))
    jobs = _sorted([_job(draws, slots, early=True) for _ in range(6 + draws.draw_below(20))])
    true = jobs[task]
    honest = _utility(instance(TinyInstance(slots, kinds, jobs)), history, task)
    assert honest > 0
    others = [job for j, job in enumerate(jobs) if j != task]
    for slot in range(true.arrival + 1, true.deadline + 1):
        place = bisect_right([job.arrival for job in others], slot)
        late = (*others[:place], true._replace(arrival=slot), *others[place:])
        assert _utility(instance(TinyInstance(slots, kinds, late)), history, place) <= honest


def test_more_memory_gains_nothing() -> None:
    """On random days every larger memory of every task, where the nearest class may have a smaller share."""
    admitted = cheaper = 0
    for number in range(samples(20)):
        draws = RandomNumbers("memory", number)
        slots, kinds = 3 + draws.draw_below(3), (Kind(1 + draws.draw_below(3), 8, 8),)
        before = [_job(draws, slots, early=False) for _ in range(4 + draws.draw_below(8))]
        history = instance(TinyInstance(slots, kinds, _sorted(before)))
        jobs = _sorted([_job(draws, slots, early=True) for _ in range(6 + draws.draw_below(10))])
        for task in range(0, len(jobs), 3):
            honest = _utility(instance(TinyInstance(slots, kinds, jobs)), history, task)
            admitted += honest > 0
            for memory in range(jobs[task].memory + 1, 9):
                larger = (*jobs[:task], jobs[task]._replace(memory=memory), *jobs[task + 1 :])
                found = _utility(instance(TinyInstance(slots, kinds, larger)), history, task)
                assert found <= honest
                cheaper += found < honest
    assert min(admitted, cheaper) > of_sample(10, 20)


def test_shares_rise_with_what_a_task_takes() -> None:
    """Against every pair of tasks of which one takes no less than the other; classes' own shares may fall."""
    stream = np.random.default_rng(3)
    given = instance(TinyInstance(3, (Kind(2, 50, 50),), (Job(1, 3, 5, 4, 9, (2,)),)))
    public, falls = given.public(""), 0
    for _ in range(50):
        rate, memory = stream.integers(1, 40, 6), stream.integers(1, 40, 6)
        known = Shares(rate, memory, stream.integers(1, 40, 6) / 40, (1.0, 0.0))
        filling = Filling(empty_past(1), public, [known])
        asked, size = stream.integers(1, 50, (60, 1)), stream.integers(1, 50, 60)
        share = filling.shares(asked, size)[:, 0]
        more = (asked >= asked.T) & (size[:, None] >= size)
        assert (share[:, None] >= share)[more].all()
        larger = (rate[:, None] >= rate) & (memory[:, None] >= memory)
        falls += int((known.share[:, None] < known.share)[larger].sum())
        assert (filling.shares(rate[:, None], memory)[:, 0] <= known.share).all()
    assert falls > 100
