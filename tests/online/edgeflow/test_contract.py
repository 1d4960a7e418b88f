"""Anyone's own policy of family `edgeflow`: in a process of its own, asked at every event, caught when it cheats."""

import re
from pathlib import Path

import pytest

from ratiobench.instances.edgeflow.format import content_hash, write
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.online.edgeflow.registry import canonical
from ratiobench.online.edgeflow.run import run
from tests.online.edgeflow.test_table import make, own
from tests.support.edgeflow_contestants import Honest, Random

HERE = "tests.support.edgeflow_contestants"
README = Path(__file__).resolve().parents[3] / "docs" / "reference" / "algorithms" / "edgeflow.md"


@pytest.fixture
def instance() -> Instance:
    """Six jobs that crowd three GPUs, with an edge window between."""
    jobs = [(0, 40, 200), (3, 30, 150), (3, 60, 300), (12, 50, 200), (20, 90, 250), (33, 70, 100)]
    return make(jobs, gpus=3, edge=[(10, 45, 1)])


def test_an_honest_policy_makes_the_run_that_it_makes_here(instance: Instance) -> None:
    """Through the pipe: arrivals, completions, windows, wakes, pre-emption."""
    for far, near in (("Honest", Honest()), ("Random:stream=7", Random({"stream": "7"}))):
        found = run(instance, f"{HERE}:{far}")
        assert found.valid, found.violations
        assert found.decisions == own(instance, near).decisions
        assert canonical(found.algorithm) == f"{found.algorithm} version {found.version}"


@pytest.mark.parametrize("odd", ["text", "floats", "twice", "nobody", "level", "servers", "crowd", "past"])
def test_a_foul_is_named_alike_from_a_process_of_its_own(instance: Instance, odd: str) -> None:
    """The way through the pipe changes no verdict."""
    from tests.support.edgeflow_contestants import Answers

    far = run(instance, f"{HERE}:Answers:odd={odd}").violations
    near = own(instance, Answers({"odd": odd})).violations
    assert [(v.rule, v.task) for v in far] == [(v.rule, v.task) for v in near]


@pytest.mark.parametrize(
    ("name", "rule"), [("ChangesItsMind", "changed decision"), ("WritesToTheView", "read-only"), ("Draws", "draws")]
)
def test_a_cheater_is_caught(instance: Instance, name: str, rule: str) -> None:
    """Altered answers, altered views, draws without a seed."""
    found = run(instance, f"{HERE}:{name}")
    assert not found.valid
    assert found.violations[0].rule == rule


def test_answers_that_depend_on_later_jobs_peek(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole runs agree, and the run without the later jobs does not."""
    monkeypatch.setattr("ratiobench.online.referee.user_run.REPEATS", 1)
    monkeypatch.setattr("ratiobench.online.referee.user_run.usable_threads", lambda: 1)  # one after another
    found = run(instance, f"{HERE}:CountsRuns:file={tmp_path / 'runs'}")
    assert found.violations[0].rule == "peeks"
    assert found.violations[0].detail == "the answer differs when later arrivals are taken away"


def test_reading_the_instance_peeks(instance: Instance, tmp_path: Path) -> None:
    write(instance, tmp_path / "day.json")
    found = run(instance, f"{HERE}:ReadsTheFile:file={tmp_path / 'day.json'}")
    assert found.violations[0].rule == "peeks"
    assert content_hash(instance) not in found.violations[0].detail


def test_idle_time_between_jobs_is_no_peeking() -> None:
    """Windows and wakes while nobody is here are not asked about, so the first half goes as the whole does."""
    jobs = [(0, 20, 30), (100, 120, 30), (100, 130, 30), (300, 320, 30)]
    found = run(make(jobs, edge=[(15, 50, 1), (60, 200, 1), (250, 290, 1)]), f"{HERE}:Random:stream=3")
    assert found.valid, found.violations


def test_the_readmes_policy_runs(instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen lines; asked at arrivals, completions and windows."""
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    found = run(instance, "mine:LeastLaxity")
    assert found.valid, found.violations
    assert found.welfare >= 4
