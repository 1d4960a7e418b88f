"""The referee's books of lora: what a decision takes, and what does not fit beside it."""

import pytest

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.simulator import CapacityState
from ratiobench.online.referee.simulator import RuleViolation


@pytest.mark.parametrize(("compute", "memory", "rule"), [(100, 10, "4g"), (1, 100, "4f")])
def test_a_schedule_of_many_cells_takes_compute_and_memory(compute: int, memory: int, rule: str) -> None:
    """It is booked as arrays: a second one beside it has no room."""
    job, decision = Job(1, 12, 6, 12, 100, (1,)), Decision(None, tuple((0, slot) for slot in range(1, 13)), 0)
    day = instance(TinyInstance(12, (Kind(1, compute, memory),), (job, job)))
    books = CapacityState(day.public(""))
    books.take(day.task(0), decision)
    view = books.view(1)
    left = [view.compute.min(), view.memory_mb.min(), view.tasks.min(), view.tasks.max()]
    assert left == [compute - 1, memory - 6, 1, 1]
    with pytest.raises(RuleViolation, match=rf"^{rule}: node 0 slot 1: needs"):
        books.take(day.task(1), decision)


def test_two_nodes_in_a_slot_are_a_violation() -> None:
    day = instance(TinyInstance(3, (Kind(2, 9, 9),), (Job(1, 3, 1, 2, 100, (1,)),)))
    with pytest.raises(RuleViolation, match=r"^4b: two cells in slot 1"):
        CapacityState(day.public("")).take(day.task(0), Decision(None, ((0, 1), (1, 1)), 0))
