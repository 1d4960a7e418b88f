"""Commands and functions isolate users' algorithms by default, and what they print says how."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families
from ratiobench.instances.cluster.format import write as write_log
from ratiobench.instances.cluster.generate import generate as generate_log
from ratiobench.instances.lora.named import path
from ratiobench.online.referee import sandbox
from ratiobench.online.remarks import NO_ISOLATION
from ratiobench.testing import assert_bound
from tests.bench.test_family_template import family as family
from tests.support.commands import json_of, printed, refused

MARKS = """
from pathlib import Path


class Marks:
    def start(self, public, constants):
        try:
            Path(__file__).with_name("mark").touch()
        except OSError:
            pass

    def decide(self, task, view):
        return None


class Built(Marks):
    def __init__(self):
        self.start(None, None)
"""
FILE = str(path("tiny_contention"))
NAME = "marks:Marks"
WORDS = {
    "audit": ("audit", FILE, "--algorithm", NAME),
    "audit of a bidder": ("audit", FILE, "--algorithm", NAME, "--task", "0"),
    "explain": ("explain", FILE, "--algorithm", NAME),
    "search": ("search", "--algorithm", NAME, "--tries", "4", "--tasks", "2"),
    "search against": ("search", "--algorithm", "greedy", "--against", NAME, "--tries", "4", "--tasks", "2"),
}


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the policy writes where nothing stops it; skips where there is no sandbox."""
    if sandbox.choose(None) == NO_ISOLATION:
        pytest.skip("there is no sandbox here")
    (tmp_path / "marks.py").write_text(MARKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "mark"


@pytest.mark.parametrize("command", WORDS)
def test_commands_isolate_by_default(mark: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Nothing outside is written, and the text names the way; --no-isolate does without, and says so."""
    assert f"(isolated by {sandbox.choose(None)})" in printed(capsys, *WORDS[command])
    assert not mark.exists()
    assert "(not isolated)" in printed(capsys, *WORDS[command], "--no-isolate")
    assert mark.exists()


def test_json_of_a_search_names_the_isolation(mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a user's algorithm ran, and nowhere else."""
    assert json_of(capsys, *WORDS["search"])["isolation"] == sandbox.choose(None)
    assert "isolation" not in json_of(capsys, "search", "--algorithm", "greedy", "--tries", "4")


FUNCTIONS: dict[str, Callable[..., str]] = {
    "audit": lambda **how: ratiobench.audit(FILE, NAME, **how).attrs["algorithm"],
    "search": lambda **how: ratiobench.search(algorithm=NAME, tries=4, tasks=2, **how).isolation,
    "assert_bound": lambda **how: _message(lambda: assert_bound(FILE, NAME, 1, **how)),
}


def _message(call: Callable[[], Any]) -> str:
    with pytest.raises(AssertionError) as caught:
        call()
    return str(caught.value)


@pytest.mark.nightly
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_isolate_by_default(mark: Path, function: str) -> None:
    assert sandbox.choose(None) in FUNCTIONS[function]()
    assert not mark.exists()
    assert sandbox.choose(None) not in FUNCTIONS[function](isolate=False)
    assert mark.exists()


def test_a_backtest_builds_policies_in_a_sandbox(mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """This one has no `schedule`, so that it is refused; what it does when it is built stays in the sandbox."""
    write_log(generate_log("isolation", days=1, pools=(("a100", 2, 8), ("v100", 2, 4)), most=10), "log.json")
    assert refused(capsys, "backtest", "log.json", "--policies", "marks:Built", "--seconds", "0")
    assert not mark.exists()


def test_a_suite_runs_a_policy_in_a_sandbox(mark: Path) -> None:
    """Its rows and the provenance say in which."""
    way = sandbox.choose(None)
    found = ratiobench.run("tiny", [NAME], "out", only="tiny_contention", workers=1)
    assert not mark.exists()
    assert found.rows["label"].tolist() == [f"{NAME} (isolated by {way})"]
    assert found.about["provenance"]["machine"]["isolation"].lower().startswith(way.lower())


@pytest.mark.nightly
def test_a_family_of_ones_own_is_not_isolated(family: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows and provenance say so; where isolation is required it is an error, before anything runs."""
    words = ("queue", "--algorithm", "policies:Mine", "--workers", "1", "--quiet", "--out")
    assert main(["run", *words, "out"]) == 0
    found = ratiobench.results("out")
    assert {"policies:Mine (not isolated)"} == set(found.rows["label"])
    assert found.about["provenance"]["machine"]["isolation"] == "none"
    assert main(["generate", "queue", "--out", "gen"]) == 0
    for command in (["run", *words, "other"], ["simulate", "gen/queue0.json.gz", "--algorithm", "policies:Mine"]):
        assert "a family that is no part of ratiobench" in refused(capsys, *command, "--isolate")


@pytest.fixture(autouse=True)
def _families() -> Iterator[None]:
    yield
    families.cache_clear()
