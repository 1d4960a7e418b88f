"""`learned` by its name: history in files, what cannot be history, and the same decisions everywhere."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.commands import simulate
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.bench.lora.proof_status import proof_status
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora import Instance, document, parse, write
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.history import join, split
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.learned import demand, policy
from ratiobench.online.lora.learned.filling import find_shares
from ratiobench.online.lora.learned.policy import SHIPPED, find_shipped
from ratiobench.online.lora.learned.policy import document as document_of_prices
from ratiobench.online.lora.run import run
from tools import first_prices

ROOT = Path(__file__).resolve().parents[3]
RECIPE: dict[str, Any] = {
    "kind": "paper",
    "arrivals": {"trace": "philly"},
    "start": 60,
    "slots": 24,
    "quiet": 8,
    "nodes": 2,
}


def _part(name: str, tasks: int) -> Instance:
    """A few hours of a day."""
    return generate(RECIPE | {"name": name, "seed": [name], "tasks": tasks})


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of today, and a folder of earlier days."""
    folder = tmp_path_factory.mktemp("days")
    (folder / "before").mkdir()
    write(_part("today", 40), folder / "today.json")
    for each, tasks in (("day2", 25), ("day10", 40)):
        write(_part(each, tasks), folder / "before" / f"{each}.json")
    return folder


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["simulate", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["simulate", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("name", ["learned", "learned:guard=50", "guarded"])
def test_history_is_a_file_or_files_or_a_folder(name: str, days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder's days in the order of their numbers are those that are named; one file of both is the same."""
    today, before = str(days / "today.json"), days / "before"
    write(join([_part("day2", 25), _part("day10", 40)]), days / "both.json")
    values = (before, f"{before / 'day2.json'};{before / 'day10.json'}", days / "both.json")
    given = [f"{name}{',' if ':' in name else ':'}history={value}" for value in values]
    runs = [_told(capsys, today, "--algorithm", each, "--no-opt") for each in given]
    assert len({run["welfare"] for run in runs}) == 1
    assert runs[0]["welfare"] > 0


def test_demand_ahead_is_an_option(days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1.2 is what there is without it on regular days; more of it is another run; far too much is refused."""
    today, history = str(days / "today.json"), f"history={days / 'before'}"
    earned = [
        _told(capsys, today, "--algorithm", f"learned:{ahead}{history}", "--no-opt")["welfare"]
        for ahead in ("", "ahead=1.2,", "ahead=3,")
    ]
    assert earned[0] == earned[1] != earned[2]
    assert "learned:ahead: '11' is above 10" in _refused(capsys, today, "--algorithm", f"learned:ahead=11,{history}")
    assert "learned:fill: '3/2' is above 1" in _refused(capsys, today, "--algorithm", f"learned:fill=3/2,{history}")
    assert "learned:past: 'gone'" in _refused(capsys, today, "--algorithm", f"learned:past=gone,{history}")


def test_what_cannot_be_history_is_one_line(days: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too little, nothing, another cluster, the day itself."""
    today = str(days / "today.json")
    write(generate(RECIPE | {"name": "short", "seed": [1], "tasks": 20, "slots": 20}), tmp_path / "short.json")
    (tmp_path / "empty").mkdir()
    write(named("tiny_two_types"), tmp_path / "other.json")
    changed = document(_part("odd", 20))
    changed["slot_seconds"] = 300
    write(parse(changed, "odd"), tmp_path / "odd.json")

    def line(history: str) -> str:
        return _refused(capsys, today, "--algorithm", f"learned:history={history}")

    assert "short.json: slots: 20 slots are no whole number of days of 24 slots" in line(str(tmp_path / "short.json"))
    assert "there is no instance file (.json or .json.gz) in this folder" in line(str(tmp_path / "empty"))
    assert "other.json: " in line(str(tmp_path / "other.json"))
    assert "odd.json: slot_seconds: 300, and the instance under test has 600" in line(str(tmp_path / "odd.json"))
    assert "is the instance under test" in line(today)
    assert f"{today}' is the instance under test" in line(f"{days / 'before' / 'day2.json'};{today}")
    assert "absent" in line(str(tmp_path / "absent.json"))
    two = f"{days / 'before' / 'day2.json'};{tmp_path / 'other.json'}"
    assert "other.json: " in line(two)
    fewer = _part("fewer", 50)
    write(replace(fewer, node_types=tuple(replace(k, count=2) for k in fewer.node_types)), tmp_path / "fewer.json")
    two = f"{days / 'before' / 'day2.json'};{tmp_path / 'fewer.json'}"
    assert "algorithm: learned:history: fewer: its nodes or slots are not those of day2" in line(two)


def test_the_same_day_twice_is_no_history(days: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its path, or as a copy of another name; days without tasks have the same content, and are different days."""
    today, day = str(days / "today.json"), days / "before" / "day2.json"
    shutil.copy(day, tmp_path / "copy.json")
    for again in (day, tmp_path / "copy.json"):
        line = _refused(capsys, today, "--algorithm", f"learned:history={day};{again}")
        assert f"{again}: learned:history: is the same day as " in line
        assert "which would count twice; name it once" in line
    for name in ("sunday", "monday"):
        empty = document(_part(name, 50)) | {"tasks": []}
        write(parse(empty, name), tmp_path / f"{name}.json")
    history = f"{tmp_path / 'sunday.json'};{tmp_path / 'monday.json'}"
    _told(capsys, today, "--no-opt", "--algorithm", f"learned:history={history}")


@pytest.mark.parametrize("word", ["prior", "history"])
def test_errors_name_the_option_as_it_was_written(word: str, days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    today = str(days / "today.json")
    assert f"advice:{word}: " in _refused(capsys, today, "--algorithm", f"advice:{word}={today}")
    assert f"advice:{word}: `yesterday` is " in _refused(capsys, today, "--algorithm", f"advice:{word}=yesterday")
    other = "history" if word == "prior" else "prior"
    line = _refused(capsys, today, "--algorithm", f"learned:{word}=a.json,{other}=b.json")
    assert f"learned:{other}: given twice: `{word}=a.json` means the same" in line


def test_of_a_folder_that_has_today_the_days_before_it_are_taken(
    days: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers count as numbers; what was learned from is said, and what is proved."""
    for name in ("day2", "day10"):
        shutil.copy(days / "before" / f"{name}.json", tmp_path / f"job-{name}.json")
    shutil.copy(days / "today.json", tmp_path / "job-day11.json")
    write(_part("tomorrow", 40), tmp_path / "job-day12.json")
    algorithm = f"learned:guard=50,history={tmp_path}"
    assert main(["simulate", str(tmp_path / "job-day11.json"), "--algorithm", algorithm]) == 0
    told = capsys.readouterr().out
    assert "history: 2 days, 65 tasks (day2 to day10); guarantee: OPT <= (1 + max(1, 50)) ALG" in told
    before = _told(capsys, str(days / "today.json"), "--algorithm", f"learned:guard=50,history={days / 'before'}")
    assert f": welfare {before['welfare']:,} " in told
    assert "(history not from before the day)" in told  # all days here are of one date
    assert "is the instance under test and the first of its folder" in _refused(
        capsys, str(tmp_path / "job-day2.json"), "--algorithm", algorithm
    )
    fewer = _part("day2", 50)
    write(replace(fewer, node_types=tuple(replace(k, count=2) for k in fewer.node_types)), tmp_path / "fewer.json")
    assert (
        main(["simulate", str(days / "today.json"), "--algorithm", f"learned:history={tmp_path / 'fewer.json'}"]) == 0
    )
    assert " nodes where the instance has " in capsys.readouterr().out


def _two_types(*tasks: tuple[tuple[int, int], int]) -> Instance:
    """Twenty tasks a slot, each with its rates on two types of one node each, and its bid."""
    jobs = [Job(1 + i // 20, 5 + i // 20, 3, 9, bid * (1 + i % 7), rate) for i, (rate, bid) in enumerate(tasks)]
    return instance(TinyInstance(20, (Kind(1, 8, 8), Kind(1, 8, 8)), tuple(jobs)))


def test_what_a_day_does_to_its_prices_stays_with_it() -> None:
    """A day with a history of no use, after one of far higher bids in the same process: as if it were alone."""
    nothing, today = _two_types(), _two_types(*[((3, 0), 10_000)] * 80, *[((0, 3), 10_000)] * 200)
    policy._KEPT.clear()
    alone = run(today, "learned:prior=history", prior=nothing).welfare
    policy._KEPT.clear()
    run(_two_types(*[((0, 3), 10**9)] * 80), "learned:prior=history", prior=nothing)
    assert run(today, "learned:prior=history", prior=nothing).welfare == alone


def test_a_type_that_the_first_tasks_cannot_use_has_price_steps_of_its_own() -> None:
    """Without a history of use steps are learned from the first 64 tasks; these use one type alone."""
    units = []

    class Noted(policy.LearnedPrices):
        def _solve(self, now: int) -> None:
            super()._solve(now)
            units.append(self._unit.copy())

    today = _two_types(*[((3, 0), 10_000)] * 80, *[((0, 3), 10_000)] * 200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ratiobench.online.lora.algorithms.learned.LearnedPrices", Noted)
        run(today, "learned")
    assert any(first > 1000 and second == 1 for first, second in units)
    assert (units[-1] > 1000).all()


def test_what_cannot_run_is_said_before_opt_is_looked_for(
    days: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate._Simulation, "_tightened", lambda *given: pytest.fail("OPT is looked for"))
    write(named("tiny_two_types"), days / "other.json")
    line = _refused(capsys, str(days / "today.json"), "--algorithm", "greedy", f"learned:history={days / 'other.json'}")
    assert "other.json: " in line


def test_monotone_prices_are_proved_truthful_in_more_than_the_bid() -> None:
    assert proof_status("learned:wish=monotone")["truthful"] == "in bid, window, work and memory"
    assert proof_status("learned:wish=monotone,guard=9")["truthful"] == "in the bid"


def test_threads_and_processes_decide_alike(days: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """This process, and another one with another number of threads: the same tasks, cells and charges."""
    arguments = ["simulate", str(days / "today.json"), "--no-opt", "--algorithm", "learned:guard=100,history="]
    arguments[-1] += str(days / "before")
    files = [days / "here.json", days / "there.json"]
    assert main([*arguments, "--solution", str(files[0])]) == 0
    threads = "1" if numba.get_num_threads() > 1 else "2"
    subprocess.run(
        [sys.executable, "-m", "ratiobench", *arguments, "--solution", str(files[1])],
        cwd=ROOT, env=os.environ | {"NUMBA_NUM_THREADS": threads}, capture_output=True, check=True,
    )  # fmt: skip
    here, there = (json.loads(file.read_text())["decisions"] for file in files)
    assert here == there
    assert any(here)


def test_points_of_arrival_that_stand_for_several_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """More slots than points: a window that has begun becomes shorter between two solutions of the prices."""
    monkeypatch.setattr(demand, "POINTS", 12)
    assert len(demand.list_points(24)) == 12
    day, before = (_part(name, 90) for name in ("today", "before"))
    result = run(day, "learned:prior=history", prior=before)
    assert result.valid
    assert result.welfare > run(day, "greedy").welfare


@pytest.fixture(scope="module")
def known() -> tuple[Instance, Instance]:
    return _part("now", 12), _part("past", 20)


def _learned_afresh(day: Instance, before: Instance, text: str = "learned:prior=history") -> tuple[Any, int]:
    """The decisions of a run that remembers nothing in memory, and how often shares were computed."""
    policy._KEPT.clear()
    calls = []

    def counted(last: Instance) -> Any:
        calls.append(last)
        return find_shares(last)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "find_shares", counted)
        patch.setattr(policy, "KEPT_FROM", 20)
        return run(day, text, prior=before).decisions, len(calls)


def test_a_second_run_reads_what_the_first_one_prepared(
    known: tuple[Instance, Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day, before = known
    never, computed = _learned_afresh(day, before)
    assert computed == 1
    monkeypatch.setenv("RATIOBENCH_CACHE", str(tmp_path))
    assert _learned_afresh(day, before) == (never, 1)
    assert _learned_afresh(day, before) == (never, 0)
    [entry] = (tmp_path / "kept").iterdir()
    content = entry.read_bytes()
    # A byte has changed: it is computed anew, and kept again.
    entry.write_bytes(content[:-30] + bytes([content[-30] ^ 1]) + content[-29:])
    assert _learned_afresh(day, before) == (never, 1)
    assert _learned_afresh(day, before) == (never, 0)


def test_shipped_first_prices_are_read_as_they_are_stored() -> None:
    stored = json.loads(SHIPPED.read_text())
    assert len(stored) == 2  # without a guard, and with one
    assert {mark: document_of_prices(find_shipped(mark)) for mark in stored} == stored
    assert find_shipped("another day") is None


@pytest.mark.nightly
def test_shipped_first_prices_are_those_that_are_computed() -> None:
    assert json.loads(SHIPPED.read_text()) == first_prices.compute()


@pytest.mark.parametrize("change", ["bid", "tariff", "option", "code"])
def test_what_was_prepared_for_anything_else_is_not_taken(
    known: tuple[Instance, Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    day, before = known
    monkeypatch.setenv("RATIOBENCH_CACHE", str(tmp_path))
    _learned_afresh(day, before)
    text = "learned:prior=history"
    if change == "bid":
        told = document(before)
        told["tasks"][-1]["bid"] += 1
        before = parse(told, "past")
    elif change == "tariff":
        told = document(day)
        told["node_types"][0]["tariff"][-1] += 1
        day = parse(told, "now")
    elif change == "option":
        text = "learned:rounds=13,prior=history"
    else:
        monkeypatch.setattr(policy, "code_mark", lambda packages: "another code")
    assert _learned_afresh(day, before, text)[1] == 1
    assert len(list((tmp_path / "kept").iterdir())) == 2


@pytest.fixture(scope="module")
def bursty() -> tuple[Instance, Instance]:
    """A day of 48 slots with a burst of an hour, and four days before it whose bursts are at other times."""

    def day(number: int) -> Instance:
        draws, jobs = RandomNumbers("bursty", number), []
        for slot in range(1, 49):
            for _ in range(20 if (slot + 12 * number) % 48 < 6 else 1):
                rate, cells = 1 + draws.draw_below(6), 1 + draws.draw_below(8)
                deadline = min(48, slot + cells + draws.draw_below(12))
                work = rate * min(cells, deadline - slot + 1)
                jobs.append(
                    Job(slot, deadline, 1 + draws.draw_below(6), work, work * (500 + draws.draw_below(3000)), (rate,))
                )
        return instance(TinyInstance(48, (Kind(3, 8, 8),), tuple(jobs)))

    return day(6), join([day(number) for number in range(4)])


def _prices(given: tuple[Instance, Instance], text: str) -> list[tuple[Any, list[Any]]]:
    """After each solution, the prices of nodes, and those of each way in which the day may go on."""
    found = []

    class Noted(policy.LearnedPrices):
        def _solve(self, now: int) -> None:
            super()._solve(now)
            if self._public.slots == given[0].slots:  # not what is run first so that it is compiled
                found.append((self._nu, self._by_way))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ratiobench.online.lora.algorithms.learned.LearnedPrices", Noted)
        assert run(given[0], text, prior=given[1]).valid
    return found


def test_where_counts_burst_prices_are_the_mean_of_those_of_two_ways(bursty: tuple[Instance, Instance]) -> None:
    """A burst that lasts makes what is near dearer than one that ends soon, all day long and in the mean of it."""
    found = _prices(bursty, "learned:prior=history")
    assert len(found) > 40
    assert all(len(ways) == 2 and (nu == (ways[0] + ways[1]) / 2).all() for nu, ways in found)
    soon, late = (sum(float(ways[way].sum()) for _, ways in found) for way in (0, 1))
    assert soon < late
    regular = _prices((bursty[0], split(bursty[1], bursty[0])[0]), "learned:prior=history")
    assert all(len(ways) == 1 and (nu == ways[0]).all() for nu, ways in regular)


def test_each_way_goes_on_from_its_own_prices(bursty: tuple[Instance, Instance]) -> None:
    begun: list[Any] = []

    class Noted(policy.LearnedPrices):
        def _descend(self, now: int, expected: Any, nu: Any, rounds: int, step: float) -> Any:
            if self._solved and self._public.slots == bursty[0].slots:
                begun.append((nu, list(self._by_way)))
            return super()._descend(now, expected, nu, rounds, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ratiobench.online.lora.algorithms.learned.LearnedPrices", Noted)
        run(bursty[0], "learned:prior=history", prior=bursty[1])
    assert len(begun) > 80
    assert all((nu == ways[turn % 2]).all() for turn, (nu, ways) in enumerate(begun))


def test_prices_of_two_ways_do_not_fall_where_they_must_not(bursty: tuple[Instance, Instance]) -> None:
    falls = {
        text: sum(bool((after[0] < before[0]).any()) for before, after in itertools.pairwise(_prices(bursty, text)))
        for text in ("learned:wish=monotone,prior=history", "learned:prior=history")
    }
    assert falls["learned:wish=monotone,prior=history"] == 0 < falls["learned:prior=history"]
