"""Queues: known schedules of each order and backfilling, and whatever is drawn stays valid and below OPT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from ratiobench.formulations.lora.check import check
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, content_hash, document, parse
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.algorithms.queue import Queue
from ratiobench.online.lora.multifactor import read_weights
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import entries
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.lora.runs import first_slot, run_lengths
from ratiobench.online.run import run_built
from tests.online.lora.test_later import cluster
from tests.support.examples import Examples, on_examples, optimum_of
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances, tiny_instances_of_kinds


def starts(instance: Instance, algorithm: str) -> list[int]:
    """The first slot of each task; 0 where it never runs."""
    result = run(instance, algorithm)
    assert result.valid, result.violations
    assert check(instance, result.decisions).valid
    return [0 if each is None else min(slot for _, slot in each.cells) for each in result.decisions]


def gang(nodes: int, slots: int, **fields: Any) -> dict[str, Any]:
    """A task on so many nodes for so many slots."""
    return {"run": "gang", "nodes": nodes, "work": nodes * slots} | fields


# Two nodes: one is taken for 4 slots; the next task needs both; then a long one and a short one
CLASSIC = cluster({"work": 4}, gang(2, 2), {"work": 6}, {"work": 4}, slots=16)


def test_a_short_task_is_backfilled_where_it_does_not_delay_the_first() -> None:
    """FCFS waits; EASY lets the short one start and not the long one; first fit delays the gang."""
    assert starts(CLASSIC, "queue") == [1, 5, 7, 7]
    assert starts(CLASSIC, "queue:backfill=easy") == [1, 5, 7, 1]
    assert starts(CLASSIC, "queue:backfill=conservative") == [1, 5, 7, 1]
    assert starts(CLASSIC, "queue:backfill=first-fit") == [1, 9, 1, 5]


def test_conservative_protects_the_second_as_well() -> None:
    """On three nodes a long task that fits beside the first would delay the second."""
    instance = cluster(gang(2, 2), gang(2, 2), gang(3, 1), {"work": 6}, nodes=(3,), slots=16)
    assert starts(instance, "queue:backfill=easy") == [1, 3, 7, 1]
    assert starts(instance, "queue:backfill=conservative") == [1, 3, 5, 6]
    assert starts(instance, "queue:backfill=conservative,depth=2") == [1, 3, 5, 6]
    assert starts(instance, "queue:backfill=conservative,window=3") == [1, 3, 7, 1]


def test_easy_promises_other_nodes_where_those_are_needed_now() -> None:
    """The first task's promise may move to another node of the same slot."""
    fast = {"rate": [1, 0], "work": 3}
    instance = cluster(
        fast, fast, {"rate": [1, 0], "work": 2, "arrival": 2}, {"rate": [1, 1], "work": 3, "arrival": 2}, nodes=(2, 1)
    )
    assert starts(instance, "queue:backfill=easy") == [1, 1, 4, 2]


def test_orders() -> None:
    instance = cluster(
        {"work": 3, "bid": 10, "deadline": 20}, {"work": 2, "bid": 9, "deadline": 19}, {"work": 4, "bid": 40},
        {"work": 1, "bid": 1, "deadline": 10}, nodes=(1,), slots=20,
    )  # fmt: skip
    assert starts(instance, "queue:order=fcfs") == [1, 4, 6, 10]
    assert starts(instance, "queue:order=sjf") == [4, 2, 7, 1]
    assert starts(instance, "queue:order=edf") == [4, 2, 7, 1]
    assert starts(instance, "queue:order=value") == [7, 5, 1, 10]
    assert starts(instance, "queue:order=bid") == [5, 8, 1, 10]


def test_a_task_leaves_at_its_deadline_or_never() -> None:
    """Who can no longer end in time blocks nobody; one that may stay runs late, earns nothing, and pays."""
    late = {"work": 3, "deadline": 4, "energy_wh": [1]}
    instance = cluster({"work": 3, "energy_wh": [1]}, late, {"work": 2}, nodes=(1,))
    assert starts(instance, "queue") == [1, 0, 4]
    result = run(instance, "queue:leave=never")
    assert result.valid, result.violations
    assert starts(instance, "queue:leave=never") == [1, 4, 7]
    assert (result.welfare, result.counts) == (20 - 3 - 3, {"waited": 3, "late": 1})


def test_limits_are_planned_and_given_back() -> None:
    """By its limit the first task would run for 6 slots, and does for 2; a killed one earns nothing."""
    instance = cluster({"work": 2, "limit": 6}, {"work": 4, "limit": 2, "energy_wh": [1]}, {"work": 3}, nodes=(1,))
    result = run(instance, "queue")
    assert starts(instance, "queue") == [1, 3, 5]
    assert (result.welfare, result.counts) == (20 - 2, {"waited": 3, "killed": 1})


def test_preprocessing_comes_first() -> None:
    """Who waits for a vendor blocks nobody; of the vendors that are done the cheapest is taken."""
    vendors = [{"price": 1, "delay": 4}, {"price": 5, "delay": 2}, {"price": 3, "delay": 2}]
    instance = cluster({"work": 2, "vendors": vendors}, {"work": 1}, nodes=(1,))
    result = run(instance, "queue")
    assert starts(instance, "queue") == [3, 1]
    assert result.decisions[0] is not None
    assert result.decisions[0].vendor == 2


WEIGHTS = """
PriorityWeightAge = 0
PriorityWeightFairshare = 1000
PriorityDecayHalfLife = "0-01:00:00"
PriorityWeightQOS = 1
[shares]
a = 1
b = 1
"""


def test_multifactor(tmp_path: Path) -> None:
    """Who has used less comes first; of equals the one with priority; ages and sizes count."""
    file = tmp_path / "weights.toml"
    file.write_text(WEIGHTS)
    mine, yours = {"user": "a", "work": 2}, {"user": "b", "work": 2}
    instance = cluster(mine, mine, {**mine, "priority": 5}, yours, yours, nodes=(1,), slots=20)
    assert starts(instance, f"queue:order=multifactor,weights={file}") == [5, 9, 1, 3, 7]
    file.write_text("PriorityWeightJobSize = 10")
    sizes = cluster({"work": 1}, gang(2, 1), {"work": 1})
    assert starts(sizes, f"queue:order=multifactor,weights={file}") == [2, 1, 2]
    file.write_text("PriorityWeightJobSize = 10\nPriorityFavorSmall = true")
    assert starts(sizes, f"queue:order=multifactor,weights={file}") == [1, 2, 1]
    file.write_text("PriorityWeightPartition = 10\n[partitions]\ndebug = 5")
    queues = cluster({"work": 1}, {"work": 1, "queue": "debug"}, nodes=(1,))
    assert starts(queues, f"queue:order=multifactor,weights={file}") == [2, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [("PriorityWeightAge = -1", "PriorityWeightAge: -1 is not a whole number"),
     ("PriorityWeihtAge = 1", "did you mean"), ("PriorityMaxAge = 'x'", "neither minutes"),
     ("PriorityFavorSmall = 1", "neither true nor false"),
     ("shares = 1", "no table"), ("[shares]\na = 0", "shares.a"), ("a = = 1", "not TOML")],
)  # fmt: skip
def test_a_bad_file_of_weights_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "weights.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_weights(str(file))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 5400), ("1:30", 90), ("2:00:00", 7200), ("7-0", 604800), ("1-2:03:04", 93784)]
)
def test_times_are_slurms(tmp_path: Path, text: str, seconds: int) -> None:
    """Minutes, minutes:seconds, hours:minutes:seconds, days-hours:minutes:seconds."""
    file = tmp_path / "weights.toml"
    file.write_text(f"PriorityMaxAge = '{text}'")
    assert read_weights(str(file)).max_age == seconds


@pytest.mark.parametrize("name", ["queue:window=0", "queue:depth=x", "queue:weights=none.toml"])
def test_a_bad_option_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        run(CLASSIC, name)


POLICIES = [
    f"queue:order={order},backfill={backfill},leave={leave}"
    for order, backfill in [("fcfs", "none"), ("sjf", "easy"), ("edf", "conservative"), ("value", "easy"),
                            ("bid", "first-fit"), ("fcfs", "easy"), ("fcfs", "conservative")]
    for leave in ("deadline", "never")
]  # fmt: skip


@st.composite
def with_limits(draw: st.DrawFn, instances: st.SearchStrategy[Instance]) -> Instance:
    """The instance with limits on some tasks, also ones that are too low."""
    data = document(draw(instances))
    data["format"] = "ratiobench/lora/2"
    for task in data["tasks"]:
        if draw(st.booleans()):
            task["limit"] = draw(st.integers(1, 12))
    return parse(data)


LIMITED = Examples(with_limits(st.one_of(tiny_instances(), tiny_instances_of_kinds())), samples(60), content_hash)


def _is_valid_and_below_the_optimum(instance: Instance, algorithm: str) -> None:
    result = run(instance, algorithm)
    assert result.valid, result.violations
    report = check(instance, result.decisions)
    assert report.valid
    assert report.welfare == result.welfare <= optimum_of(instance)


@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_is_drawn_the_run_is_valid_and_below_the_optimum(policy: str) -> None:
    LIMITED.check(lambda instance: _is_valid_and_below_the_optimum(instance, policy))


def test_only_algorithms_with_a_form_take_rigid_tasks() -> None:
    with pytest.raises(InputError, match="no form for tasks that are rigid"):
        run(CLASSIC, "titan")


AT_ARRIVAL = ["greedy", "eft", "ntm", "pdftsp", "posted", "eris", "learned", "guarded", "titan"]


CLASSIC_LIMITED = Examples(with_limits(tiny_instances()), samples(40), content_hash)


@pytest.mark.parametrize("name", AT_ARRIVAL)
def test_algorithms_that_answer_at_arrival_plan_by_limits(name: str) -> None:
    """They see the limit as the work; what ran is valid and below the optimum."""
    CLASSIC_LIMITED.check(lambda instance: _is_valid_and_below_the_optimum(instance, name))


class Watched(Queue):
    """EASY; it notes when the first task that waits could start at the earliest, after each slot's decisions."""

    def __init__(self) -> None:
        defaults = {key: option.default for key, option in entries()["queue"].options.items()}
        super().__init__({**defaults, "backfill": "easy"})
        self.promises: dict[int, list[int]] = {}

    def at_slot(self, view: View) -> tuple[dict[int, Decision], int | None]:
        """As the queue's; every start is tried for the first task."""
        starts, wake = super().at_slot(view)
        kind = self._public.type_of_node
        free, free_mb = view.compute.copy(), view.memory_mb.copy()
        tasks = {task.index: task for task in view.waiting}
        for i, decision in starts.items():
            for k, t in decision.cells:
                free[k, t - 1] -= tasks[i].rate[kind[k]]
                free_mb[k, t - 1] -= tasks[i].memory_mb
        for i in sorted(tasks.keys() - starts.keys()):
            task = tasks[i]
            first = max(view.slot, first_slot(task))
            room = View(view.slot, free, free_mb, view.tasks).room(task, self._public)[:, first - 1 : task.deadline]
            begins = [
                first + t
                for g, length in enumerate(run_lengths(task, self._public).tolist())
                for t in range(room.shape[1] - length + 1)
                if length and room[kind == g, t : t + length].all(axis=1).sum() >= task.parts
            ]
            if begins and first == view.slot:
                self.promises.setdefault(i, []).append(min(begins))
                break
        return starts, wake


@on_examples(tiny_instances_of_kinds(), samples(300))
def test_easy_never_delays_the_first_task(instance: Instance) -> None:
    """Its earliest start never grows later while it is the first, and it starts no later than that."""
    watched = Watched()
    result = run_built(ENVIRONMENT, instance, watched, "watched", "1", (), "")
    assert result.valid, result.violations
    for i, promises in watched.promises.items():
        decision = result.decisions[i]
        assert promises == sorted(promises, reverse=True)
        assert decision is not None
        assert decision.cells[0][1] <= promises[-1]
