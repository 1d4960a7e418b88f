"""The family in five files of bench/family/five_files.md, written out word by word: commands, referee, checker."""

import importlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.online.registry import _import_all
from tests.support.commands import printed, refused
from tests.support.queue_family import write_queue_family

POLICIES = """
import random

from queue_family.algorithms import Policy, Shortest


class Mine(Shortest):
    pass


class Deaf(Policy):
    at_completion = at_capacity = None

    def next(self, view):
        return max(view.left)


class Gone(Policy):
    def next(self, view):
        return 0


class Text(Policy):
    def next(self, view):
        return "the first"


class Coin(Policy):
    def next(self, view):
        return random.choice(sorted(view.left)) if view.left else None


class Idle(Policy):
    def next(self, view):
        return None


class Reader(Shortest):
    def start(self, public, constants):
        with open("gen/queue0.json.gz", "rb") as file:
            file.read()


class Many(Policy):
    asked = 0

    def next(self, view):
        # Counts the questions of all runs in a file: what it answers is no function of the past.
        with open("asked.txt", "a+") as file:
            file.write("x")
            file.seek(0)
            count = len(file.read())
        return sorted(view.left)[count % len(view.left)] if view.left else None
"""


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The family, its files in a folder that is the current one."""
    write_queue_family(tmp_path)
    (tmp_path / "policies.py").write_text(POLICIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("RATIOBENCH_FAMILIES", "queue_family")
    families.cache_clear()
    _import_all.cache_clear()  # the package of the test before had the same name
    yield families()["queue"]
    families.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("queue_family", "policies")]:
        del sys.modules[name]


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.nightly
def test_every_command_works(family: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run, page, generate, opt, check, simulate: the least is best, ratios are not below 1; no audit."""
    assert main(["run", "queue", "--workers", "1", "--quiet", "--out", "out"]) == 0
    table = capsys.readouterr().out
    assert "ALG/OPT" in table
    assert "mean lower/ALG" in table
    assert "OPT/ALG" not in table
    rows = (tmp_path / "out" / "results.csv").read_text().splitlines()
    assert len(rows) == 9
    page = (tmp_path / "out" / "report.html").read_text()
    assert "ALG/OPT" in page
    assert "OPT/ALG" not in page
    assert main(["generate", "queue", "--out", "gen"]) == 0
    capsys.readouterr()
    for file in sorted(map(str, Path("gen").iterdir())):
        best = _json(capsys, "opt", file, "--solution", "best.json")
        assert _json(capsys, "check", file, "best.json")["valid"]
        first = _json(capsys, "simulate", file, "--algorithm", "first")
        assert first["valid"]
        assert first["value"] == first["welfare"] >= best["lower"] == best["upper"]
        mine = _json(capsys, "simulate", file, "--algorithm", "policies:Mine", "--solution", "mine.json")
        assert mine["value"] == best["lower"]
        assert _json(capsys, "check", file, "mine.json")["welfare"] == best["lower"]
    assert "the family queue has no claims" in refused(capsys, "audit", file, "--algorithm", "first")
    assert "lower bound proved by: theorem" in printed(capsys, "opt", file)


def _least(jobs: tuple[tuple[int, int], ...], closed: tuple[tuple[int, int], ...]) -> int:
    """The least sum of stays, second by second over every choice; nothing of the family's own code."""

    @cache
    def stay(second: int, left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        here = [i for i, (arrival, _) in enumerate(jobs) if arrival <= second and left[i]]
        works = not any(start <= second < end for start, end in closed)
        nexts = [(*left[:i], left[i] - 1, *left[i + 1 :]) for i in here] if works and here else [left]
        return len(here) + min(stay(second + 1, each) for each in nexts)

    return stay(0, tuple(work for _, work in jobs))


def test_the_least_is_what_enumeration_finds(family: Any) -> None:
    """On tiny instances, in which the machine is closed for a while; and who came first is not always served first."""
    documents = importlib.import_module("queue_family.format")
    missed = 0
    for jobs in (((0, 5), (1, 2), (2, 1)), ((0, 3), (4, 1), (4, 2)), ((0, 4), (6, 3), (7, 1)), ((1, 2), (1, 2))):
        instance = documents.Instance("tiny", jobs, ((2, 4), (9, 10)))
        best = family.solve(instance, SolveSettings())
        assert best.lower == best.upper == _least(jobs, instance.closed)
        assert family.run(instance, "shortest").welfare == best.lower
        missed += family.run(instance, "first").welfare > best.lower
    assert missed


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("Gone", "runs"),
        ("Text", "protocol"),
        ("Coin", "draws"),
        ("Idle", "starves"),
        ("Many", "not reproducible"),
        ("Deaf", "starves"),
        ("Reader", "peeks"),
    ],
)
def test_the_referee_judges_answers_at_every_event(
    family: Any, name: str, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job that is gone, no job, a coin, nobody at work, another answer in a second run, the future."""
    assert main(["generate", "queue", "--out", "gen"]) == 0
    capsys.readouterr()
    found = _json(capsys, "simulate", "gen/queue0.json.gz", "--algorithm", f"policies:{name}")
    assert not found["valid"]
    assert found["violations"][0].startswith(f"{rule}:")


def test_a_log_that_was_altered_is_found(family: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry less, an entry more, another job: by the checker alone."""
    assert main(["generate", "queue", "--out", "gen"]) == 0
    assert main(["opt", "gen/queue0.json.gz", "--solution", "best.json"]) == 0
    entries = json.loads(Path("best.json").read_text())["decisions"]
    altered = [entries[:-1], [*entries, ["arrival", 0, 0]], [[*entries[0][:2], 7], *entries[1:]]]
    for decisions in altered:
        Path("bad.json").write_text(json.dumps({"decisions": decisions}))
        capsys.readouterr()
        assert main(["check", "gen/queue0.json.gz", "bad.json", "--json"]) == 1
        assert not json.loads(capsys.readouterr().out)["valid"]


def test_a_bad_file_is_one_line(family: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_text(
        json.dumps({"format": "ratiobench/queue/1", "name": "x", "jobs": [[0, 0]], "closed": []})
    )
    assert refused(capsys, "opt", "bad.json") == "ratiobench: bad.json: jobs[0][1]: 0 is not in 1..1099511627776\n"


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        ("queue_famly", "there is no module 'queue_famly' on the import path"),
        (
            "queue_family.format",
            "the module 'queue_family.format' defines no FAMILY, a ratiobench.bench.family.contract.Family",
        ),
    ],
)
def test_a_family_that_is_not_there_is_one_line(
    family: Any, module: str, problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RATIOBENCH_FAMILIES", module)
    families.cache_clear()
    assert refused(capsys, "list", "suites") == f"ratiobench: RATIOBENCH_FAMILIES: {problem}\n"
