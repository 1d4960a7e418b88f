"""Anyone's algorithms under the referee: honest ones pass, and whoever breaks a rule is caught and named."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench
import instances
from bench.cli.main import main
from bench.lora import FAMILY
from formulations.lora.check import check
from formulations.processes import dumpable
from instances.errors import DEBUG, InputError
from instances.lora import Instance, content_hash, parse, write
from instances.lora.format import FORMAT
from instances.lora.generate import generate
from online.lora.registry import canonical
from online.lora.registry import parse as parse_name
from online.lora.run import run
from online.lora.table import Table
from online.outcome import OnlineRun, Source
from online.referee import bounds, isolation, sandbox
from online.referee.table import ARRIVAL, Foul
from online.terms import Terms, under
from tests.support.contestants import Answers


def _instance(tasks: int = 8, **fields: Any) -> Instance:
    """Two slots' worth of arrivals on two small nodes: room for four tasks a slot, vendors on every other task."""
    return parse(
        {
            "format": FORMAT,
            "name": "contest",
            "slots": 6,
            "slot_seconds": 1,
            "base_memory_mb": 1,
            "node_types": [{"name": "a", "count": 2, "compute": 4, "memory_mb": 9, "tariff": [1] * 6}],
            "tasks": [
                {
                    "arrival": 1 + 2 * i // tasks,
                    "deadline": 4,
                    "memory_mb": 2,
                    "work": 3,
                    "bid": 20 + i,
                    "rate": [2],
                    "energy_wh": [1],
                    "vendors": [{"price": 2, "delay": 1}] if i % 2 else [],
                }
                | fields
                for i in range(tasks)
            ],
        }
    )


@pytest.fixture(scope="module")
def instance() -> Instance:
    """Eight tasks."""
    return _instance()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that contestants find by their environment."""
    monkeypatch.setenv("CONTESTANT_FOLDER", str(tmp_path))
    return tmp_path


def _caught(instance: Instance, name: str) -> tuple[str, int | None, str]:
    result = run(instance, f"tests.support.contestants:{name}")
    assert not result.valid
    first = result.violations[0]
    return first.rule, first.task, first.detail


def _sound(instance: Instance, result: OnlineRun) -> None:
    assert result.valid, result.violations
    verdict = check(instance, result.decisions)
    assert verdict.valid
    assert (verdict.welfare, verdict.admitted, verdict.revenue) == (result.welfare, result.admitted, result.revenue)


def test_an_honest_algorithm_passes(instance: Instance) -> None:
    """Welfare by the verifier, the import path as its name, the file's hash as its version, no constants."""
    result = run(instance, "tests.support.contestants:Honest")
    _sound(instance, result)
    assert result.admitted > 2
    assert (result.algorithm, result.label, result.constants) == ("tests.support.contestants:Honest",) * 2 + ((),)
    assert canonical(result.algorithm) == f"{result.algorithm} version {result.version}"


def test_an_honest_batch_algorithm_passes_with_options_label_and_counts(instance: Instance) -> None:
    """Options go to the constructor; the label stands behind the name, on one line, and cannot replace it."""
    result = run(instance, "tests.support.contestants:HonestBatch:keen=yes")
    _sound(instance, result)
    assert result.label == "tests.support.contestants:HonestBatch:keen=yes (keen=yes second line)"
    assert (result.admitted, result.counts) == (2, {"slots": 2})


def test_numpy_answers_own_files_and_printing_are_honest(
    instance: Instance, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Own weights are read before the start, a log is written; what it prints goes to the error stream, always."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (folder / "weights.json").write_text("3")
    result = run(instance, "tests.support.contestants:HonestNumpy")
    _sound(instance, result)
    assert [d and d[:2] for d in result.decisions] == [
        d and d[:2] for d in run(instance, "tests.support.contestants:Honest").decisions
    ]
    assert result.revenue == 3 * result.admitted
    printed = capfd.readouterr()
    assert printed.out == ""
    assert '{"welfare": 10}\ndeciding 0\n' in printed.err


def test_declared_constants_are_given_with_their_source(instance: Instance, tmp_path: Path) -> None:
    """Oracle, given, prior; the prior file is the instance under test: that is an oracle."""
    path = "tests.support.contestants:Declares"
    result = run(instance, path)
    assert result.label == f"{path} (9 27/2)"
    assert [c.source for c in result.constants] == [Source.ORACLE, Source.ORACLE]
    write(_instance(2), tmp_path / "other.json")
    result = run(instance, f"{path}:alpha=7/2,prior={tmp_path / 'other.json'}")
    assert result.label.endswith("(7/2 21/2)")
    assert [c.source for c in result.constants] == [Source.GIVEN, Source.PRIOR]
    write(instance, tmp_path / "same.json")
    result = run(instance, f"{path}:prior={tmp_path / 'same.json'}")
    assert [c.source for c in result.constants] == [Source.ORACLE, Source.ORACLE]


CHEATERS: dict[str, tuple[str, int | None]] = {
    "OverbooksCompute": ("4f", 2),
    "UnknownVendor": ("4j", 0),
    "TooEarly": ("4c", 1),
    "TooLate": ("4d", 0),
    "HalfDone": ("4e", 0),
    "ChangesItsMind": ("changed decision", 0),
    "ShiftingTuple": ("changed decision", 0),
    "DecidesForOthers": ("protocol", 0),
    "TooManyAnswers": ("protocol", 0),
    "WritesToTheView": ("read-only", 0),
    "WritesToTheTask": ("read-only", 0),
    "Raises": ("error", 1),
    "RaisesInTheHouse": ("error", 0),
    "Interrupts": ("error", 0),
    "Exits": ("error", 0),
    "Dies": ("crash", 0),
    "ReadsData": ("peeks", 0),
    "ReadsByCommand": ("peeks", 0),
    "ReadsTheCommandLine": ("peeks", None),
    "GeneratesTheInstance": ("peeks", None),
    "SearchesMemory": ("peeks", 0),
    "PatchesTheReferee": ("4f", 2),
    "ReplacesTheWatch": ("peeks", 0),
    "LooksAroundAtTheStart": ("peeks", None),
    "ReachesForMemory": ("peeks", None),
    "TooManyCells": ("protocol", 0),
    "LiesAtTheEnd": ("protocol", None),
}


@pytest.mark.parametrize("name", CHEATERS)
def test_a_cheater_is_caught_and_named(instance: Instance, name: str) -> None:
    """The rule that it broke, at the task where it broke it."""
    assert _caught(instance, name)[:2] == CHEATERS[name]


@pytest.mark.parametrize("name", ["Raises", "RaisesInTheHouse", "Interrupts", "Exits"])
def test_an_error_is_one_line_with_the_place_in_the_algorithms_own_file(
    name: str, instance: Instance, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The last line of its own code, also where ours raised it; a traceback when asked for, and only then."""
    source = (Path(__file__).parents[2] / "support" / "contestants.py").read_text(encoding="utf-8").splitlines()
    begin = source.index(f"class {name}(Honest):")
    guilty = ("raise ", "return view.room", "sys.exit")
    line = next(n for n, text in enumerate(source[begin:], begin + 1) if text.strip().startswith(guilty))
    _, _, detail = _caught(instance, name)
    assert detail.endswith(f"(tests/support/contestants.py:{line})")
    assert "\n" not in detail
    assert "Traceback" not in capfd.readouterr().err
    monkeypatch.setenv(DEBUG, "1")
    _caught(instance, name)
    shown = capfd.readouterr().err
    assert shown.count("Traceback") == 1
    assert f'contestants.py", line {line}, in decide' in shown


def test_what_cannot_be_built_is_found_before_any_work(instance: Instance) -> None:
    """Asking for the key of an algorithm is enough; one that can be built is not refused."""
    for name, words in {
        "tests.support.contestants:Nobody": "has no attribute",
        "tests.support.contestants:BadConstructor": "TypeError",
        "tests.support.contestants:Honest:alpha=2": "declares no such constant",
    }.items():
        with pytest.raises(InputError, match=words):
            FAMILY.algorithm_key(name)
    assert FAMILY.algorithm_key("tests.support.contestants:Honest") == canonical("tests.support.contestants:Honest")


def test_overbooked_memory_is_caught_as_such() -> None:
    """Tasks of 5 MB: two fit by compute, one by memory."""
    assert _caught(_instance(memory_mb=5, vendors=[]), "OverbooksCompute")[:2] == ("4g", 1)


def test_a_vendor_after_the_last_is_caught(instance: Instance) -> None:
    """Where the task has vendors the index is out of range; decisions before the foul stand, later ones are void."""
    only = _instance(vendors=[{"price": 2, "delay": 1}])
    assert _caught(only, "UnknownVendor")[:2] == ("4h", 0)
    result = run(instance, "tests.support.contestants:OverbooksCompute")
    assert [i for i, decision in enumerate(result.decisions) if decision is not None] == [0, 1]


@pytest.mark.parametrize(
    ("odd", "wrong"),
    [("text", "not (vendor, cells, payment)"), ("generator", "are no list"), ("floats", "node 0.0 is not an integer"),
     ("nan", "payment nan is not an integer"), ("payment", f"payment 1{'0' * 30} is beyond {2**54}"),
     ("huge", "payment a int is beyond"), ("true", "slot True is not an integer"),
     ("pair", "not (vendor, cells, payment)"), ("triples", "cell (0, 1, 2) is not (node, slot)"),
     ("nothing", "not (vendor, cells, payment)"), ("object", "not (vendor, cells, payment)"),
     ("text_inside", "cells 01 are no list"),
     ("half_a_coin", "payment 12.5 is not an integer")],
)  # fmt: skip
def test_an_answer_that_is_no_decision_is_named(instance: Instance, odd: str, wrong: str) -> None:
    """One-shot generators, floats, NaN, booleans and numbers without end included; with the part that is wrong."""
    rule, task, detail = _caught(instance, f"Answers:odd={odd}")
    assert (rule, task) == ("protocol", 0)
    assert "no Decision" in detail
    assert wrong in detail
    assert len(detail) < 250
    # Alike without the way through a process.
    near = Answers({"odd": odd}).decide(None, None)  # type: ignore[arg-type]
    with pytest.raises(Foul) as caught:
        Table(instance, "").copied(ARRIVAL, 0, near)
    assert wrong in caught.value.detail


def test_an_option_that_nobody_reads_is_refused(instance: Instance) -> None:
    """A misspelt one, beside those that are read with `[]`, `get` or as a whole, in the constructor or in `start`."""
    with pytest.raises(InputError, match=r"Reads:marign: neither the constructor nor `start` reads this option"):
        run(instance, "tests.support.contestants:Reads:how=get,margin=3,marign=4")
    with pytest.raises(InputError, match=r"Reads:margin"):
        run(instance, "tests.support.contestants:Reads:how=none,margin=3")
    for how in ("get", "start", "all", "copy", "in"):
        assert run(instance, f"tests.support.contestants:Reads:how={how},margin=3").valid


@pytest.mark.parametrize("line", ["garbage", "list", "deep", "digits", "empty", "text", "end", "cells"])
def test_lines_slipped_into_the_pipe_break_the_protocol(instance: Instance, line: str) -> None:
    """Whatever they are, they are read as JSON and checked; nothing of them is run or trusted."""
    assert _caught(instance, f"WritesToThePipe:line={line}")[:2] == ("protocol", 0)


def test_a_false_view_changes_nothing(instance: Instance) -> None:
    """It overbooks by its own picture, and is caught by the referee's books."""
    assert _caught(instance, "FakesTheView")[:2] == ("4f", 2)


def test_the_base_of_an_array_leads_nowhere(instance: Instance) -> None:
    """The rates and costs that arrive are no window on a larger table."""
    _sound(instance, run(instance, "tests.support.contestants:PeeksThroughBase"))


def test_an_unseeded_draw_draws() -> None:
    """32 coins: the chance that two runs agree on the first 16 is one in 65,536."""
    rule, _, detail = _caught(_instance(32, vendors=[]), "DrawsWithoutSeed")
    assert rule == "draws"
    assert detail == "a second run answers differently: it draws from a source without a seed"


@pytest.mark.parametrize(("odd", "rule", "runs"), [("3", "draws", 3), ("2+4", "draws", 4), ("2", "peeks", 5)])
def test_runs_that_agree_by_chance_are_repeated(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch, odd: str, rule: str, runs: int
) -> None:
    """Of an algorithm that drew, two equal runs prove nothing: neither that it is reproducible nor that it peeks."""
    monkeypatch.setattr(isolation, "REPEATS", 3)
    assert _caught(instance, f"DrawsByChance:odd={odd}")[:2] == (rule, 0)
    assert len((folder / "runs").read_text()) == runs


def test_seeded_draws_are_reproducible(instance: Instance, folder: Path) -> None:
    """And there is no reason to repeat the run."""
    _sound(instance, run(instance, "tests.support.contestants:DrawsWithSeed"))
    assert (folder / "runs").read_text() == "xx"


def test_memory_between_runs_is_not_reproducible(instance: Instance, folder: Path) -> None:
    """Notes of an earlier run change the answers of the next."""
    assert _caught(instance, "LearnsFromItsLastRun")[:2] == ("not reproducible", 0)
    assert (folder / "notes").exists()


def test_answers_that_depend_on_later_arrivals_peek(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole runs agree, and the run without the later arrivals does not."""
    monkeypatch.setattr(isolation, "REPEATS", 1)
    rule, task, detail = _caught(instance, "EveryOtherRun")
    assert (rule, task) == ("peeks", 0)
    assert detail == "the answer differs when later arrivals are taken away"
    assert (folder / "runs").read_text() == "xxx"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ReadsTheInstance", "day.json"),
        ("ReadsTheInstance", "day.json.gz"),
        ("ReadsTheInstance", "day.txt"),
        ("ReadsTheInstance", "results.sqlite"),
        ("ReadsTheInstanceAtStart", "day.json"),
        ("ReadsTheInstanceByCommand", "day.json"),
    ],
)
def test_reading_the_instance_before_the_start_is_peeking(
    instance: Instance, tmp_path: Path, name: str, file: str
) -> None:
    """Known by its content: under any file name, in gzip, and stored results that carry its hash."""
    if file == "results.sqlite":
        (tmp_path / file).write_bytes(b"SQLite format 3\x00..." + content_hash(instance).encode())
    else:
        write(instance, tmp_path / file)
    rule, _, detail = _caught(instance, f"{name}:file={tmp_path / file}")
    assert rule == "peeks"
    assert file in detail


def test_another_instance_may_be_read_before_the_start(instance: Instance, tmp_path: Path) -> None:
    """Learning from other days is no peeking."""
    write(_instance(4), tmp_path / "yesterday.json")
    _sound(instance, run(instance, f"tests.support.contestants:ReadsTheInstance:file={tmp_path / 'yesterday.json'}"))


def test_drawing_the_instance_once_more_is_peeking() -> None:
    """A recipe that reads no data file, matched by the first task; the solver's solution would be the decisions."""
    instance = generate({"kind": "family", "name": "lead", "L": 4})
    rule, task, detail = _caught(instance, "RegeneratesTasks")
    assert (rule, task) == ("peeks", 0)
    assert "instances.lora.generate" in detail


WAYS = ("statement", "from", "importlib", "runpy", "loader", "source", "descriptor", "compiled", "command", "shell")


@pytest.mark.parametrize("module", ["instances.lora.generate", "bench.lora.suites"])
@pytest.mark.parametrize("way", WAYS)
def test_what_makes_instances_is_out_of_bounds(instance: Instance, way: str, module: str) -> None:
    """Loaded or read while deciding, by whatever means: the module is named, or the package that it is in."""
    rule, task, detail = _caught(instance, f"Snoops:when=decide,way={way},module={module}")
    assert (rule, task) == ("peeks", 0)
    assert re.search(r"(loads|reads the code of|names) ([\w.]+): what can make the instance", detail)
    assert (module if module.startswith("instances") or way == "source" else "bench") in detail


@pytest.mark.parametrize("when", ["build", "start"])
@pytest.mark.parametrize("way", ["statement", "importlib", "source", "command"])
def test_what_makes_instances_is_out_of_bounds_before_the_first_arrival_too(
    instance: Instance, way: str, when: str
) -> None:
    """In the constructor and in `start`."""
    rule, task, detail = _caught(instance, f"Snoops:when={when},way={way},module=instances.lora.arrivals")
    assert (rule, task) == ("peeks", None)
    assert "instances.lora.arrivals" in detail


@pytest.mark.parametrize("module", ["instances.lora.generate", "instances.lora.readers", "bench", "bench.api"])
def test_an_algorithms_file_may_not_import_what_makes_instances(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """At its head, before anything of the algorithm has run; and it is a violation, no error of the command line."""
    (tmp_path / "mine.py").write_text(f"import {module}\nfrom tests.support.contestants import Honest\n")
    monkeypatch.chdir(tmp_path)
    FAMILY.algorithm_key("mine:Honest")
    first = run(instance, "mine:Honest").violations[0]
    assert (first.rule, first.task) == ("peeks", None)
    assert module in first.detail


def test_every_generator_of_every_family_is_out_of_bounds_and_no_more_than_that() -> None:
    """By what imports what: nothing that a solver, an algorithm or the package itself needs is among them."""
    barred = set(bounds.barred())
    families = [path.parent.name for path in Path(instances.__file__).parent.glob("*/generate.py")]
    assert {"lora", "eapm"} <= set(families)
    for family in families:
        assert f"instances.{family}.generate" in barred
        assert not barred & {f"instances.{family}{part}" for part in ("", ".model", ".format", ".solution")}
    assert {
        "bench",
        "bench.api",
        "instances.lora.constructions",
        "instances.lora.paper",
        "instances.lora.readers",
    } <= barred
    assert {"instances.eapm.workload", "instances.eapm.matrices", "instances.eapm.paper"} <= barred
    assert {name.split(".")[0] for name in barred} == {"bench", "instances"}
    assert not barred & {"instances", "instances.errors", "instances.seeds"}
    assert all(Path(file).is_file() for file in bounds.barred().values())


@pytest.mark.parametrize("ours", ["pdftsp", "eft"])
def test_algorithms_and_solvers_of_ours_may_be_used(instance: Instance, ours: str) -> None:
    """On what has arrived: found by name, built, asked; a solver solves a task alone, the verifier checks it."""
    result = run(instance, f"tests.support.contestants:BuildsOnOurs:ours={ours}")
    _sound(instance, result)
    assert result.decisions == run(instance, ours).decisions


def test_an_algorithm_of_ours_may_be_built_on_by_its_class(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imported from its module at the head of the file, and subclassed."""
    (tmp_path / "mine.py").write_text(
        "from online.lora.algorithms.pdftsp import PdFtsp\nfrom online.lora.registry import entries\n"
        "class Mine(PdFtsp):\n    def __init__(self):\n"
        "        super().__init__({k: option.default for k, option in entries()['pdftsp'].options.items()})\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run(instance, "mine:Mine")
    _sound(instance, result)


def _gone(condition: Callable[[], bool], seconds: int = 10) -> bool:
    """Whether the condition comes true within ten seconds (the kernel reaps in its own time)."""
    for _ in range(20 * seconds):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_hanging_algorithm_is_killed_with_what_it_started(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for an answer is up; its process and the process that it started are gone."""
    monkeypatch.setattr(isolation, "ANSWER_SECONDS", 2.0)
    assert _caught(instance, "Hangs") == ("timeout", 0, "no answer within 2 s")
    child = Path("/proc") / (folder / "child").read_text()
    if Path("/proc/self/stat").exists():
        assert _gone(lambda: not child.exists() or "Z" in (child / "stat").read_text().split()[2])


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel to hand orphans over")


def _ended(folder: Path) -> bool:
    """Whether the process that a contestant wrote down is gone, or is soon."""
    child = Path("/proc") / (folder / "child").read_text().strip()
    return _gone(lambda: not child.exists() or "Z" in (child / "stat").read_text().split()[2])


def _command(instance: Instance, folder: Path, name: str, *more: str) -> list[str]:
    """The command `online`."""
    write(instance, folder / "day.json")
    return [sys.executable, "-m", "bench", "online", str(folder / "day.json"), "--algorithm", name, *more]


@ON_LINUX
def test_a_detached_program_ends_with_the_run_and_holds_no_stream(instance: Instance, folder: Path) -> None:
    """It has left group and session, and its parent is gone; nobody has to wait for it."""
    command = _command(instance, folder, "tests.support.contestants:LeavesADaemon")
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, cwd=Path(__file__).parents[3]
    )
    assert "LeavesADaemon (starts sh): welfare" in done.stdout
    assert _ended(folder)


@ON_LINUX
def test_a_killed_referee_leaves_nothing(instance: Instance, folder: Path) -> None:
    """`kill -9` of the command ends the algorithm and what it has detached."""
    command = _command(instance, folder, "tests.support.contestants:WaitsForItsDaemon")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[3]) as process:
        assert _gone(lambda: (folder / "child").exists() and (folder / "child").read_text().endswith("\n"), 60)
        process.kill()
    assert _ended(folder)


@ON_LINUX
def test_the_memory_of_a_detached_program_counts(
    instance: Instance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that the algorithm started is one account."""
    monkeypatch.setattr(isolation, "MEMORY_MB", 500)
    assert _caught(instance, "EatsMemoryElsewhere") == ("memory", 0, "more than 500 MB in use")
    assert _ended(folder)


def test_programs_that_are_started_stand_in_the_row(instance: Instance) -> None:
    """What they do is not seen."""
    assert (
        run(instance, "tests.support.contestants:StartsPrograms").label
        == "tests.support.contestants:StartsPrograms (starts sh)"
    )


def test_what_is_printed_beyond_a_limit_is_dropped(
    instance: Instance, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all runs together; that is said once."""
    monkeypatch.setattr(isolation, "OUTPUT_BYTES", 3000)
    _sound(instance, run(instance, "tests.support.contestants:Chatters"))
    printed = capfd.readouterr().err
    assert printed.count("x") == 3000
    assert "THE END" not in printed
    assert printed.count("tests.support.contestants:Chatters printed more than 0.003 MB; the rest is dropped") == 1


def test_an_answer_with_more_cells_than_slots_is_not_even_sent(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe is too narrow for it."""
    monkeypatch.setattr(isolation, "_LINE_LIMIT", 10**4)
    assert _caught(instance, "TooManyCells")[2] == "1000000 cells, there are 6 slots"


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of Linux")
def test_the_referees_memory_is_shut_while_anyones_algorithm_lives() -> None:
    """To processes of the same user, and afterwards as before."""
    before = dumpable()
    player = isolation.Player(
        parse_name("tests.support.contestants:Honest"), "online.lora.protocol", lambda path: False
    )
    assert not dumpable()
    player.close()
    assert dumpable() == before


def test_a_run_is_stopped_at_its_limit(instance: Instance, folder: Path) -> None:
    """Killed with what it started, long before its time for one answer is up; that is a violation."""
    with under(Terms(limit=0.5)):
        assert _caught(instance, "Hangs") == ("timeout", 0, "stopped after 0.5 s")
    with under(Terms(limit=300)):
        _sound(instance, run(instance, "tests.support.contestants:Honest"))


def test_a_run_of_ours_is_stopped_at_its_limit_too(instance: Instance) -> None:
    """Between two decisions; those before it stand."""
    with under(Terms(limit=1e-9)):
        result = run(instance, "greedy")
    assert not result.valid
    assert str(result.violations[0]) == "timeout: task 0: stopped after 1e-09 s"


def test_a_run_at_its_limit_is_no_failure_of_the_command(
    instance: Instance, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 0 and INVALID, as for every broken rule."""
    assert main(_command(instance, folder, "tests.support.contestants:Hangs", "--limit", "0.5")[3:]) == 0
    assert "INVALID: timeout: task 0: stopped after 0.5 s" in capsys.readouterr().out


def test_an_algorithm_that_is_never_ready_is_a_timeout(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in its constructor."""
    monkeypatch.setattr(isolation, "ANSWER_SECONDS", 1.0)
    assert _caught(instance, "HangsInConstructor")[:2] == ("timeout", None)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell a process's memory")
def test_an_algorithm_that_eats_memory_is_killed(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it takes the machine down."""
    monkeypatch.setattr(isolation, "MEMORY_MB", 300)
    assert _caught(instance, "EatsMemory")[:2] == ("memory", 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tests.no_such_module:Honest", "there is no module 'tests.no_such_module'"),
        ("no_such_package.module:Honest", "there is no module"),
        ("../contestants:Honest", "there is no module"),
        ("tests.support.contestants:NoSuchClass", "AttributeError"),
        ("tests.support.contestants:BadConstructor", "TypeError"),
        ("tests.support.contestants:DeclaresNonsense", "declares the constant 'opt'"),
        ("tests.support.contestants:Honest:alpha=2", "declares no such constant"),
        ("tests.support.contestants:Declares:alpha=-1", "negative"),
        ("tests.support.contestants:Declares:alpha=x", "not a number"),
        ("tests.support.contestants:Declares:prior=no_such_file.json", "no_such_file.json"),
    ],
)
def test_what_cannot_be_built_is_an_input_error(instance: Instance, name: str, words: str) -> None:
    """One line that names it; nothing is run."""
    with pytest.raises(InputError, match=words) as caught:
        run(instance, name)
    assert "\n" not in str(caught.value)


def test_a_module_is_found_without_running_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a version must not import a package into the referee's process; another file is another version."""
    package = tmp_path / "sneaky"
    package.mkdir()
    (package / "__init__.py").write_text("import sys\nsys.modules['referee_was_patched'] = sys\n")
    (package / "plan.py").write_text("raise RuntimeError\n")
    monkeypatch.chdir(tmp_path)
    first = canonical("sneaky.plan:Plan")
    assert "referee_was_patched" not in sys.modules
    assert "sneaky" not in sys.modules
    (package / "plan.py").write_text("raise ValueError\n")
    assert canonical("sneaky.plan:Plan") != first


def test_the_command_exits_with_2_for_a_class_that_does_not_exist(instance: Instance, tmp_path: Path) -> None:
    """One line on the error stream, nothing on the other; and 0 with the decisions for an honest one."""
    write(instance, tmp_path / "day.json")

    def online(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bench", "online", str(tmp_path / "day.json"), "--json", "--algorithm", name]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])

    bad = online("tests.support.contestants:NoSuchClass")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert len(bad.stderr.splitlines()) == 1
    good = online("tests.support.contestants:Honest")
    assert good.returncode == 0
    assert '"decisions"' in good.stdout


def test_a_run_works_inside_a_daemonic_pool_process(instance: Instance) -> None:
    """Cluster workers are daemonic, and those may not have children of the multiprocessing kind."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(run, (instance, "tests.support.contestants:Honest"))
    _sound(instance, result)


def test_no_process_is_left_behind(instance: Instance) -> None:
    """The algorithm's processes have ended when the run has."""
    run(instance, "tests.support.contestants:Honest")
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not children.exists():
        pytest.skip("the system does not list a process's children")
    names = [(Path("/proc") / pid / "cmdline").read_text() for pid in children.read_text().split()]
    assert not [name for name in names if "online.referee.player" in name]


@pytest.fixture
def sandboxed() -> None:
    """Skips where there can be no sandbox."""
    try:
        sandbox.require()
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("sandboxed")
def test_an_honest_algorithm_passes_in_a_sandbox(instance: Instance) -> None:
    """With the same decisions; the row says it."""
    with under(Terms(isolate=True)):
        result = run(instance, "tests.support.contestants:BuildsOnOurs:ours=pdftsp")
    _sound(instance, result)
    assert result.label.endswith("(isolated)")
    assert result.decisions == run(instance, "pdftsp").decisions


@pytest.mark.usefixtures("sandboxed")
def test_a_sandbox_shows_nothing_of_the_world(instance: Instance, folder: Path) -> None:
    """No module of bench, no file, no network, nothing to write to, no process of others, no environment."""
    write(instance, folder / "day.json")
    with under(Terms(isolate=True)):
        result = run(instance, f"tests.support.contestants:LooksOutOfTheSandbox:file={folder / 'day.json'}")
    _sound(instance, result)
    assert "((False, False) [] False False False) (isolated)" in result.label


@pytest.mark.usefixtures("sandboxed")
def test_a_hanging_algorithm_is_killed_in_a_sandbox_as_well(instance: Instance) -> None:
    """With all that is in there."""
    with under(Terms(limit=0.5, isolate=True)):
        result = run(instance, "tests.support.contestants:HangsAtTheStart")
    assert str(result.violations[0]) == "timeout: stopped after 0.5 s"


@pytest.mark.usefixtures("sandboxed")
def test_a_suite_runs_in_sandboxes(tmp_path: Path) -> None:
    """Results from there are not mixed with others."""
    name = "tests.support.contestants:Honest"
    kept = []
    for isolate in (False, True):
        found = bench.run("quick", [name], tmp_path, only="thm5_T5*", workers=1, isolate=isolate).rows
        kept.append(found[found["algorithm"] == name].iloc[0]["label"])
    assert kept == [name, f"{name} (isolated)"]


@pytest.mark.parametrize("script", [None, "echo bwrap: No permissions to create a namespace >&2; exit 1"])
def test_where_there_can_be_no_sandbox_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], script: str | None
) -> None:
    """In one line, with status 2, before anything is read."""
    if script is not None:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.require.cache_clear()
    for command in (["online", "no_such_file.json", "--algorithm", "mine:Mine"], ["run", "quick", "--out", "nowhere"]):
        assert main([*command, "--isolate"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("ratiobench: --isolate: ")
        assert len(printed.err.splitlines()) == 1
        assert ("No permissions" if script else "needs bubblewrap") in printed.err
    sandbox.require.cache_clear()
