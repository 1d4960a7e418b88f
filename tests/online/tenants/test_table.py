"""The referee of tenants: what a policy sees, what is booked, and who is faulted."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.subsets import enumerate_optimum
from ratiobench.instances.tenants.format import FORMAT, parse
from ratiobench.instances.tenants.generate import named, names
from ratiobench.instances.tenants.model import Instance
from ratiobench.online.referee.simulator import run_in_process
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.registry import REGISTRY, entries
from ratiobench.online.tenants.run import ENVIRONMENT, replay, run
from ratiobench.online.tenants.simulator import Simulator
from tests.support import tenants_contestants
from tests.support.samples import samples
from tests.support.strategies.tenants import tiny_instances

OWN = "tests.support.tenants_contestants"
README = Path(__file__).parents[3] / "docs" / "reference" / "algorithms" / "tenants.md"


def instance_of(jobs: Sequence[tuple[int, list[int]]], counts: tuple[int, ...] = (1, 1)) -> Instance:
    """Jobs (release, runs) on GPUs of types that cost 3 and 1 a tick; everything else 1, deadlines at 10."""
    types = [{"name": f"t{k}", "count": count, "price": 3 - 2 * k} for k, count in enumerate(counts)]
    rows = [{"release": r, "deadline": 10, "cost_sensitivity": 50, "run": run_} for r, run_ in jobs]
    head = {"format": FORMAT, "name": "hand", "tick_seconds": 60, "gpu_types": types, "theta": 1, "late_penalty": 1}
    return parse({**head, "jobs": rows}, "hand")


HAND = instance_of([(0, [4, 6]), (0, [2, 3]), (1, [1, 1]), (5, [2, 2])])


class Scripted:
    """Answers by a function of the job and the view; keeps the views."""

    def __init__(self, answer: Callable[[Any, View], Any]) -> None:
        self.answer, self.views = answer, list[View]()

    def start(self, public: Any, constants: Any) -> None:
        """Nothing."""

    def decide(self, job: Any, view: View) -> Any:
        self.views.append(view)
        return self.answer(job, view)


def test_by_hand() -> None:
    """Started jobs stay, queues are replaced, a GPU that is free in a tick waits for the tick's answers."""
    answers = {0: [[0], []], 1: [[0, 1], []], 2: [[2, 1], []], 3: [[3], [1]]}
    policy = Scripted(lambda job, view: answers[job.index])
    played = run_in_process(Simulator(HAND, ""), policy, {})
    assert played.violations == []
    # Job 0 runs 0..4 on GPU 0; 2 then, 4..5, for it stood first; at 5 GPU 0 is free, and 1 is still there to be moved.
    assert replay(HAND, played.log) == ((0, 0), (1, 5), (0, 4), (0, 5))
    assert [view.now for view in policy.views] == [0, 0, 1, 5]
    assert [view.free.tolist() for view in policy.views] == [[0, 0], [0, 0], [4, 1], [5, 5]]
    assert [[job.index for job in view.waiting] for view in policy.views] == [[0], [0, 1], [1, 2], [1, 3]]
    assert [view.queues for view in policy.views] == [((), ()), ((0,), ()), ((1,), ()), ((1,), ())]


def test_what_none_keeps() -> None:
    """The queues that there are go on; a job in no queue waits until it is named."""
    answers = {0: [[], [0]], 1: None, 2: None, 3: [[1, 2], [3]]}
    played = run_in_process(Simulator(HAND, ""), Scripted(lambda job, view: answers[job.index]), {})
    assert played.violations == []
    assert replay(HAND, played.log) == ((1, 0), (0, 5), (0, 7), (1, 6))


def test_two_releases_in_one_tick_are_one_batch() -> None:
    """For who decides in batches; the others are asked one by one, and their last answer counts."""
    seen = []

    class Batches(Scripted):
        def decide_batch(self, jobs: Any, view: View) -> Any:
            seen.append([job.index for job in jobs])
            return [*(None for _ in jobs[1:]), [[job.index for job in view.waiting], []]]

    played = run_in_process(Simulator(HAND, ""), Batches(lambda job, view: None), {})
    assert seen == [[0, 1], [2], [3]]
    assert len(played.log) == HAND.jobs
    assert replay(HAND, played.log) == ((0, 0), (0, 4), (0, 6), (0, 7))


ODD = {
    "text": ("protocol", "'00'"), "number": ("protocol", "7"), "short": ("queues", "1 queues for 2"),
    "long": ("protocol", "3 queues for 2"), "unknown": ("waiting", "job 99"), "twice": ("once", "job 1 stands twice"),
    "floats": ("protocol", "GPU 0's job 0.0"), "float_array": ("protocol", "GPU 0 has no list"),
    "table": ("protocol", "GPU 0 has no list"), "true": ("protocol", "GPU 0's job True"),
    "huge": ("protocol", "GPU 0's job"), "none_inside": ("protocol", "GPU 0 has no list"), "mapping": ("protocol", ""),
}  # fmt: skip


@pytest.mark.parametrize("odd", tenants_contestants.Answers.ODD)
def test_answers_that_are_none(odd: str) -> None:
    """In this process: each is refused by the rule that it breaks, in a line that says how."""
    policy = tenants_contestants.Answers({"odd": odd})
    [violation] = run_in_process(Simulator(HAND, ""), policy, {}).violations
    rule, detail = ODD[odd]
    assert (violation.rule, violation.task) == (("queues", 1) if odd == "long" else (rule, 1))
    assert detail in violation.detail or odd == "long"
    assert len(violation.detail) <= 500


@pytest.mark.parametrize(
    ("name", "rule"),
    [("Honest", ""), ("Batched", ""), ("Restarts", "waiting"), ("Forgets", "every job"), ("Silent", "every job"),
     ("Alters", "changed decision"), ("Answers:odd=long", "protocol")],
)  # fmt: skip
def test_ones_own_under_isolation(name: str, rule: str) -> None:
    """Honest ones are valid, in lists and in arrays; the others are faulted."""
    made = run(HAND, f"{OWN}:{name}")
    assert made.valid == (not rule), made.violations
    assert rule in {violation.rule for violation in made.violations} | {""}
    if made.valid:
        assert made.welfare == check(HAND, made.decisions).value


def test_who_draws_or_writes_is_caught() -> None:
    many = instance_of([(t, [2, 2]) for t in range(12)])
    assert not run(many, f"{OWN}:Gambles").valid
    assert not run(HAND, f"{OWN}:Writes").valid


def test_the_readme_s_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs as it stands there, in at most 15 lines."""
    code = README.read_text().split("```python\n")[1].split("```")[0]
    assert len(code.splitlines()) <= 15
    (tmp_path / "tenants_mine.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    made = run(HAND, "tenants_mine:Shortest")
    assert made.valid, made.violations
    assert made.admitted == 4


SIMPLE = [name for name in entries() if name != "patent"]


@settings(max_examples=samples(60), deadline=None)
@given(instance=tiny_instances(), name=st.sampled_from(SIMPLE))
def test_every_run_is_valid_and_no_better_than_the_best(instance: Instance, name: str) -> None:
    """No job, one GPU, more GPUs than jobs, equal jobs, late ones, wishes and prices of 0 and 100, runs of a tick."""
    made = run(instance, name)
    assert made.valid, made.violations
    assert made.welfare == check(instance, made.decisions).value
    assert enumerate_optimum(instance)[0] <= made.welfare


@pytest.mark.parametrize("name", [name for name in SIMPLE if not entries()[name].randomised])
def test_the_future_is_not_known(name: str) -> None:
    """On the first half of the jobs everybody decides as on all of them, up to the release that is missing."""
    instance = instance_of([(t // 2, [1 + t % 5, 1 + t % 3]) for t in range(14)], (1, 2))
    half = ENVIRONMENT.first_half(instance)
    assert 0 < half.jobs < instance.jobs
    until = int(instance.release[half.jobs])
    starts = [run(each, name).decisions for each in (instance, half)]
    for ours, theirs in zip(*starts, strict=False):
        assert ours == theirs or min(ours.tick, theirs.tick) >= until


def test_equal_gpus_are_taken_by_number() -> None:
    instance = instance_of([(0, [2, 2]), (0, [2, 2]), (0, [2, 2])], (3, 1))
    for name in ("greedy", "least-loaded", "insertion", "replan", "patent"):
        assert run(instance, name).decisions[0].gpu in (0, 3), name


@pytest.mark.parametrize("name", names())
def test_named_instances(name: str) -> None:
    for algorithm in SIMPLE:
        assert run(named(name), algorithm).valid


def test_the_random_list_is_seeded() -> None:
    """Declared as drawing; the same name of a stream gives the same run, another one another."""
    assert entries()["random"].randomised
    instance = instance_of([(0, [1 + t % 5, 2 + t % 7]) for t in range(12)])
    runs = []
    for seed in ("a", "a", "b"):
        algorithm = REGISTRY.prepare(REGISTRY.parse("random"), instance, 12)[0]
        runs.append(run_in_process(Simulator(instance, seed), algorithm, {}).log)
    assert runs[0] == runs[1] != runs[2]
