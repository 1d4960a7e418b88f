"""The search for an algorithm's worst ratio: honest figures, the same on every run, one process for anyone's own."""

import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.capabilities import SearchResult, SearchSettings
from ratiobench.bench.lora.counterexamples.search import search_worst_case
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.repeated_runs import RepeatedRuns
from tests.support.commands import json_of, printed, refused

TINY = SearchSettings(tasks=3, slots=2, largest=20, tries=60)
MINE = """
import os

from ratiobench.instances.lora.solution import Decision


class Counted:
    def start(self, public, constants):
        assert not hasattr(self, "started")
        self.started = True

    def decide(self, task, view):
        with open("pids.txt", "a") as file:
            file.write(f"{os.getpid()} ")
        return None


class Broken:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return Decision(None, ((0, 1), (0, 1)), 0)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "counted_mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def _same(one: SearchResult, other: SearchResult) -> bool:
    keys = ("tries", "left", "right", "score", "violated", "notes")
    return all(getattr(one, key) == getattr(other, key) for key in keys) and one.instance.bid.tolist() == (
        other.instance.bid.tolist()
    )


def test_what_is_found_is_a_ratio_of_the_algorithm() -> None:
    """OPT by looking at everything, ALG by the referee; the same seed gives the same."""
    found = search_worst_case("eft", TINY)
    assert found.left == enumerate_optimum(found.instance)[0]
    assert found.right == run(found.instance, "eft").welfare
    if found.score is not None:
        assert found.score == found.left / found.right > 1
    assert _same(found, search_worst_case("eft", TINY))


def test_a_search_that_was_interrupted_ends_as_if_it_had_not_been() -> None:
    states: list[Any] = []
    search_worst_case("greedy", SearchSettings(tasks=3, slots=2, largest=20, tries=25), keep=states.append)
    state = json.loads(json.dumps(states[-1]))
    assert _same(search_worst_case("greedy", TINY, state), search_worst_case("greedy", TINY))


def test_an_algorithm_that_earns_nothing_is_unbounded_and_ends_the_search(mine: Path) -> None:
    """On the least instance: one task that is worth 1."""
    found = search_worst_case("counted_mine:Counted", TINY)
    assert (found.violated, found.score, found.left, found.right) == (True, None, 1, 0)
    assert found.tries < (TINY.tries or 0)
    assert "The search ended here, before its limit: no ratio is larger than an unbounded one." in found.notes
    assert found.instance.tasks == 1


def test_ones_own_algorithm_is_built_anew_in_one_process(mine: Path) -> None:
    """A second start of one object would be an error; the process is the same for all instances."""
    with RepeatedRuns(ENVIRONMENT, "counted_mine:Counted") as player:
        for name in ("tiny_contention", "tiny_valuation", "thm5_T5_3tasks"):
            value, violations = player.value(named(name))
            assert (value, list(violations)) == (0, [])
    pids = set((mine / "pids.txt").read_text().split())
    assert len(pids) == 1
    assert str(os.getpid()) not in pids


def test_an_algorithm_that_always_breaks_a_rule_is_told(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--algorithm", "counted_mine:Broken", "--tries", "3", "--tasks", "1"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "breaks a rule on every instance that was tried: protocol: task 0: 2 cells" in error


def test_the_command_writes_the_instance_its_proof_and_its_story(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The certificate is checked, the page is there, and the explanation is printed."""
    out = tmp_path / "out"
    limits = ["--tries", "40", "--tasks", "2", "--slots", "2", "--largest", "9"]
    text = printed(capsys, "search", "--algorithm", "eft", "--out", str(out), *limits)
    assert "largest OPT/ALG found" in text
    assert "a lower bound on the worst ratio" in text
    assert "Task 0 arrives in slot" in text
    assert {each.name for each in out.iterdir()} == {
        "worst.json", "worst.certificate.json", "worst.html", "worst.state.json",
    }  # fmt: skip
    verdict = json_of(capsys, "check", str(out / "worst.json"), "--certificate", str(out / "worst.certificate.json"))
    assert verdict["valid"]
    assert verdict["lower"] == verdict["upper"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "needs either a claim or --algorithm NAME"),
        (["lemma1", "--algorithm", "eft"], "needs either a claim or --algorithm NAME"),
        (["--algorithm", "nonsense"], "no algorithm of this name"),
        (["--algorithm", "no_such_module:Class"], "no_such_module"),
    ],
)
def test_a_search_that_cannot_begin_says_why(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert problem in refused(capsys, "search", *arguments)


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Exact figures; the limits of the search are said."""
    limits = ["--tries", "10", "--tasks", "2", "--slots", "1", "--largest", "9"]
    document = json_of(capsys, "search", "--algorithm", "eft", *limits)
    assert Fraction(document["left"]) >= Fraction(document["right"])
    assert "larger ones may be worse" in document["notes"][0]


def test_an_algorithm_may_stand_in_the_place_of_opt() -> None:
    """Both values are those of whole runs on the instance found; an algorithm is never worse than itself."""
    found = ratiobench.search(algorithm="posted", against="greedy", tries=60, tasks=3)
    assert found.against == "greedy"
    values = [ratiobench.simulate(found.instance, name).welfare for name in ("greedy", "posted")]
    assert [found.left, found.right] == values
    assert found.score == Fraction(values[0], values[1]) > 1
    same = ratiobench.search(algorithm="greedy", against="greedy", tries=30, tasks=3)
    assert same.score == 1


def test_against_goes_with_an_algorithm() -> None:
    with pytest.raises(InputError, match="goes with --algorithm NAME"):
        ratiobench.search("lemma3", against="greedy")
    with pytest.raises(InputError, match="gredy"):
        ratiobench.search(algorithm="greedy", against="gredy")


def test_a_bounded_search_passes_over_runs_that_earn_nothing(mine: Path) -> None:
    """Without it the first such run ends the search; with it a finite ratio is found, and the others are counted."""
    (mine / "takes_mine.py").write_text(TAKES)
    settings = SearchSettings(tasks=3, slots=2, largest=20, tries=30)
    unbounded = search_worst_case("takes_mine:Takes", settings)
    assert unbounded.violated
    assert unbounded.right == 0
    bounded = search_worst_case("takes_mine:Takes", replace(settings, bounded=True))
    assert not bounded.violated
    assert bounded.tries == 30
    assert bounded.right is not None
    assert bounded.right > 0
    assert any("--bounded" in note for note in bounded.notes)
    with pytest.raises(InputError, match="not with a claim"):
        ratiobench.search("theorem1", bounded=True)


TAKES = """
from ratiobench.instances.lora.solution import Decision


class Takes:
    def start(self, public, constants):
        self.public = public

    def decide(self, task, view):
        for node, free in enumerate(view.room(task, self.public)):
            slots = [slot for slot in range(task.arrival, task.deadline + 1) if free[slot - 1]]
            needed = -(-task.work // max(1, int(task.rate[self.public.type_of_node[node]])))
            if len(slots) >= needed and not task.vendors:
                return Decision(None, tuple((node, slot) for slot in slots[:needed]), 0)
"""
