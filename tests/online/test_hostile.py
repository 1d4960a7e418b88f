"""Input that was made to do harm: every answer is one short line that names it, within the memory of a laptop."""

import copy
import gzip
import io
import json
import os
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.running import work
from ratiobench.bench.storage.payload import format_error
from ratiobench.formulations import worker
from ratiobench.formulations.lora.covering.schedules import TABLE_LIMIT, StateSpaceTooLarge, standalone_value, states
from ratiobench.instances.eapm.generate import path as eapm_path
from ratiobench.instances.edgeflow.generate import path as edgeflow_path
from ratiobench.instances.io import files
from ratiobench.instances.io.errors import InputError, make_printable, name_source, shorten
from ratiobench.instances.io.files import READ_LIMIT, iterate_values, limit_file_size, load_json, read_bytes
from ratiobench.instances.lora import parse
from ratiobench.instances.lora.named import named, path
from ratiobench.instances.tenants.generate import path as tenants_path
from ratiobench.online.lora import registry
from ratiobench.online.lora.run import run as run_lora
from tests.support.commands import refused

Document = dict[str, Any]
GB = 2**30
TINY = str(path("tiny_contention"))
NASTY = "\x1b[2J\u202e\ud800\n\x00key" * 1_000_000


def tiny() -> Document:
    document: Document = json.loads(Path(TINY).read_text())
    return document


def written(folder: Path, document: Any) -> str:
    """The name of a new file that holds the document."""
    file = folder / "hostile.json"
    file.write_text(json.dumps(document))
    return str(file)


def command(
    arguments: list[str], memory: int, data: bytes | int = subprocess.DEVNULL, size: int = READ_LIMIT
) -> tuple[int, str]:
    """Exit status and all output of a command in a process that cannot take more memory; `size`: the longest file."""
    code = "import sys; from ratiobench.bench.cli import main; "
    code += "from ratiobench.instances.io.files import limit_file_size\n"
    code += f"with limit_file_size({size}): sys.exit(main(sys.argv[1:]))"
    given: Any = {"input": data} if isinstance(data, bytes) else {"stdin": data}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        **given,
    )
    return done.returncode, done.stdout.decode()


def test_an_origin_of_1_mb_takes_no_memory_to_speak_of(tmp_path: Path) -> None:
    """A long key with a long list: no path of an element is written, but for the one in the message, cut short."""
    spoilt = tiny() | {"origin": {"A" * 1_000_000: [0] * 20_000}}
    solution = tmp_path / "solution.json"
    solution.write_text(json.dumps({"decisions": [None] * len(spoilt["tasks"])}))
    status, said = command(["check", written(tmp_path, spoilt), str(solution)], 2 * GB)
    assert (status, said.splitlines()[0]) == (0, "valid")
    spoilt["origin"] = {"A" * 1_000_000: [0, {"b": [0] * 20_000 + [10**29]}]}
    with pytest.raises(InputError) as caught:
        parse(spoilt)
    assert caught.value.field.endswith("A[1].b[20000]")
    assert len(str(caught.value)) < 300


def test_every_value_has_its_place() -> None:
    """First to last, lists and objects before what is in them."""
    found = [str(place) for place, _ in iterate_values({"a": [1, {"b": 2}], "c": {}}, "top")]
    assert found == ["top", "top.a", "top.a[0]", "top.a[1]", "top.a[1].b", "top.c"]
    deep: Any = 0
    for _ in range(50_000):
        deep = [deep]
    assert sum(1 for _ in iterate_values(deep)) == 50_001


def test_a_gzip_bomb_is_left_at_the_limit(tmp_path: Path) -> None:
    """8 MB that are 8 GB: read no further than a file may be long, in little memory; the file is named."""
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b'{"format":') + gzip.compress(b" " * 2**24) * 512)
    status, said = command(["check", str(bomb), TINY], GB, size=2**27)
    assert status == 2
    assert said == f"ratiobench: {bomb}: unpacked, more than {2**27} bytes, the most that is read\n"


def test_files_prior_days_and_standard_input_are_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A byte more than is allowed is too much, for each of them; what is allowed exactly is read."""
    size = Path(TINY).stat().st_size
    prior = tmp_path / "prior.json"
    prior.write_bytes(Path(TINY).read_bytes() + b" ")
    with limit_file_size(size):
        line = refused(capsys, "simulate", TINY, "--algorithm", f"posted:prior={prior}")
    assert f"{prior}: more than {size} bytes" in line
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(prior.read_bytes())))
    with limit_file_size(size):
        assert "<stdin>: more than" in refused(capsys, "simulate", "-", "--algorithm", "greedy")
    with limit_file_size(size):
        assert len(read_bytes(TINY)[0]) == size
    with limit_file_size(size - 1), pytest.raises(InputError, match="more than"):
        read_bytes(TINY)
    packed = gzip.compress(Path(TINY).read_bytes())
    with limit_file_size(size):
        assert load_json(packed, "packed")["slots"]
    assert len(read_bytes(prior)[0]) == size + 1


def test_devices_are_refused_and_pipes_are_read(tmp_path: Path) -> None:
    """/dev/zero has no end; a named pipe, /dev/stdin and standard input are files like others."""
    for arguments in (["check", "/dev/zero", TINY], ["check", TINY, "--certificate", "/dev/zero"]):
        assert command(arguments, 2 * GB) == (2, f"ratiobench: /dev/zero: cannot be read: {DEVICE}\n")
    with pytest.raises(InputError, match=r"^/dev/zero: cannot be read: it is a device"):
        run_lora(named("tiny_contention"), "posted:prior=/dev/zero")
    text = Path(TINY).read_bytes()
    solution = written(tmp_path, {"decisions": [None] * len(tiny()["tasks"])})
    for name in ("-", "/dev/stdin"):
        status, said = command(["check", name, solution], 2 * GB, text)
        assert (status, said.splitlines()[0]) == (0, "valid")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(text))
    writer.start()
    assert read_bytes(pipe)[0] == text
    writer.join()


DEVICE = "it is a device; - is standard input"
READERS = [
    ["opt", "F.json"],
    ["simulate", "F.json", "-a", "greedy"],
    ["simulate", TINY, "-a", "posted:prior=F.json"],
    ["simulate", TINY, "-a", "greedy", "--certificate", "F.json"],
    ["check", "F.json", TINY],
    ["check", TINY, "F.json"],
    ["check", TINY, "--certificate", "F.json"],
    ["crosscheck", "F.json"],
    ["export", "F.json", "--format", "lp"],
    ["audit", "F.json", "-a", "pdftsp"],
    ["explain", "F.json", "-a", "greedy"],
    ["evaluate", "F.py:First"],
    ["check-algorithm", "F.py:First"],
    ["generate", "F.toml", "--out", "made"],
    ["run", "F.toml", "--out", "results"],
    ["standard", "verify", "--set", "F.json"],
]


@pytest.mark.parametrize("words", READERS, ids=lambda words: " ".join(Path(word).name for word in words))
def test_commands_refuse_files_that_have_no_end_or_never_begin(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A named pipe without a writer, a device, a file of the kernel: one line that names it, and status 2."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_PATIENCE", 0.01)
    kernel = "it is a file of the kernel, which may have no end"
    pipe = "it is a named pipe that no program writes to"
    for target, problem in (("", pipe), ("/dev/zero", DEVICE), ("/proc/kmsg", kernel)):
        for suffix in ("json", "toml", "py"):
            name = tmp_path / f"F.{suffix}"
            name.unlink(missing_ok=True)
            if target:
                name.symlink_to(target)
            else:
                os.mkfifo(name)
        file = next(word for word in ("F.json", "F.toml", "F.py") if any(word in given for given in words))
        assert main(words) == 2
        assert capsys.readouterr().err.splitlines()[-1] == f"ratiobench: {file}: cannot be read: {problem}"


def test_results_and_modules_are_regular_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("results.sqlite", "of_a_pipe.py"):
        os.mkfifo(name)
    line = refused(capsys, "run", "quick", "--out", ".")
    assert line.endswith("results.sqlite: cannot be opened: it is no regular file\n")
    line = refused(capsys, "simulate", TINY, "-a", "of_a_pipe:First")
    assert line == "ratiobench: of_a_pipe.py: cannot be read: it is no regular file\n"


def test_pipes_with_a_writer_are_read_however_late_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that opens a named pipe and is slow to write; and what was written before, by one that is gone."""
    monkeypatch.setattr(files, "_PATIENCE", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb") as file:
            time.sleep(0.5)
            file.write(b"late")

    writer = threading.Thread(target=write)
    writer.start()
    assert read_bytes(pipe)[0] == b"late"
    writer.join()
    for content in (b"early", b""):
        end, begin = os.pipe()
        os.write(begin, content)
        os.close(begin)
        assert read_bytes(f"/dev/fd/{end}")[0] == content
        os.close(end)
    with pytest.raises(InputError, match=r"pipe: cannot be read: it is a named pipe that no program writes to$"):
        read_bytes(pipe)
    assert not [thread for thread in threading.enumerate() if "wait_for_writer" in thread.name]


@pytest.mark.parametrize(
    "text",
    [
        '[{"a":1,"a":2},' + "[" * 1000 + "]" * 1000 + "]",
        '[{"a":1,"a":2},',
        "[" * 900 + '{"a":1,"a":{"b":[]}}' + "]" * 900,
        json.dumps({NASTY: 1})[:-1] + "," + json.dumps({NASTY: [2]})[1:],
    ],
    ids=["then nested", "then cut", "deep", "long"],
)
def test_a_key_that_stands_twice_is_one_line_whatever_is_around_it(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nesting too deep, a text that is cut, a key that is long: status 2 and a short line."""
    file = tmp_path / "twice.json"
    file.write_text(text)
    line = refused(capsys, "opt", str(file))
    assert line.startswith(f"ratiobench: {file}: ")
    assert safe(line)


def safe(text: str) -> bool:
    """Short, and nothing in it that a terminal would obey."""
    return len(text) < 2_000 and all(c.isprintable() or c == "\n" for c in text)


def test_text_from_outside_is_short_and_printable() -> None:
    """Escapes are written out, line breaks are spaces, the middle of what is long is left out, and work is bounded."""
    assert make_printable("  a\n\tb  ", 60) == "a b"
    assert make_printable("\x1b[2J\u202e\ud800", 60) == "\\x1b[2J\\u202e\\ud800"
    assert make_printable("é", 60) == "é"
    assert make_printable("x" * 100, 10) == "xxxxx...xx"
    assert len(make_printable(NASTY, 60)) == 60
    assert make_printable(" " * 1_000_000, 60) == "..."
    for value in (NASTY, 10**5_000, {}, [], None, True, 1.5):
        assert safe(shorten(value))
        assert len(shorten(value)) <= 60
    assert safe(str(InputError(NASTY, NASTY, NASTY)))
    assert safe(format_error(ValueError(NASTY)))
    with pytest.raises(InputError, match=r"^file: field: problem$"), name_source("file"):
        raise InputError("", "field", "problem")


@pytest.mark.parametrize("field", ["key", "name", "format"])
def test_unknown_keys_and_names_are_cut_short(field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a key of 14 MB with terminal escapes a line is left."""
    document = tiny() | {NASTY if field == "key" else field: NASTY if field != "name" else [NASTY]}
    assert safe(refused(capsys, "opt", written(tmp_path, document)))


def test_what_an_algorithm_says_is_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    """Label, counts, errors, answers, constants and prices of anyone's own algorithm."""
    for says in ("end", "error", "answer", "vendor"):
        run = run_lora(named("tiny_contention"), f"tests.support.loud:Loud:says={says}")
        assert run.valid == (says == "end")
        assert safe(run.label + str(run.violations))
        assert len(run.counts) == (20 if run.valid else 0)
        assert all(safe(key) and len(key) <= 40 for key in run.counts)
        assert run.arithmetic == "unknown"
        assert run.trace is None or safe(run.trace.problem)
    for name in (
        "tests.support.loud:Loud:says=build",
        "tests.support.loud:Loud:says=constants",
        "tests.support.loud:Loud:x=\x1b[2J",
        NASTY,
    ):
        assert safe(refused(capsys, "simulate", TINY, "--algorithm", name))
    assert safe(refused(capsys, "opt", TINY, "--gap", NASTY))


def test_check_shows_the_first_violations_and_counts_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A solution that breaks a rule in every one of 5,000 cells."""
    decisions = [{"vendor": None, "cells": [[99, j] for j in range(5_000)], "payment": 1}] + [None] * 5
    solution = written(tmp_path, {"decisions": decisions})
    assert main(["check", TINY, solution]) == 1
    said = capsys.readouterr().out
    assert said.startswith("NOT VALID\n")
    assert said.endswith(" more (--json shows all)\n")
    assert safe(said)


def long_task(work_: int, slots: int = 10_000) -> Document:
    """Two node types, and one task with all slots before its deadline."""
    document = tiny()
    document["slots"] = slots
    for node in document["node_types"]:
        node |= {"tariff": [1] * slots, "compute": 1000}
    document["tasks"][-1] |= {"deadline": slots, "work": work_, "rate": [101, 103]}
    return document


# Algorithms that are run with these options; all others are run as they are
OPTIONS = [
    "pdftsp:arith=float", "pdftsp:search=printed,arith=float", "pdftsp:units=canonical", "posted:arith=float", "posted",
    "reserve:arith=float", "units:arith=float",
]  # fmt: skip
ALGORITHMS = [*OPTIONS, *sorted(set(registry.entries()) - {name.partition(":")[0] for name in OPTIONS})]


def test_a_task_that_nobody_can_do_costs_nothing() -> None:
    """Work beyond all slots at the fastest rate: every algorithm rejects it, and nothing is built for it."""
    instance = parse(long_task(2**40))
    assert standalone_value(instance.task(5), instance.public("")) == 0
    for name in ALGORITHMS:
        run = run_lora(instance, name)
        assert run.valid
        assert run.decisions[5] is None


def test_a_task_too_large_for_a_search_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task and limit in one line, status 2; in a suite it is the reason of the failed row.

    `test_limits` has the line of every algorithm that searches.
    """
    large = long_task(60_000)
    large["tasks"][-1]["rate"] = [7, 9]
    file = written(tmp_path, large)
    instance = parse(large)
    with pytest.raises(InputError) as caught:
        run_lora(instance, "greedy")
    assert "tasks[5]" in work.make_failed("online", "", "", caught.value).payload["reason"]
    assert refused(capsys, "simulate", file, "--algorithm", "greedy").startswith(f"ratiobench: {file}: tasks[5]: ")
    with pytest.raises(StateSpaceTooLarge, match=str(TABLE_LIMIT)):
        states(instance.rate[5], 20_000, 9_998)


@pytest.fixture(scope="module", autouse=True)
def _workers_end_with_the_module() -> Iterator[None]:
    yield
    worker.close_all()


HOSTILE = [
    None, True, -1, 0, 1, 2, 7, 2**40, 2**40 + 1, 2**62, -(2**62), 10**28, 10**40, 1.5, float("nan"), float("inf"),
    "", "x", "\x1b[2J\u202e" * 300, "\ud800", "9" * 5_000, [], [[]], {}, [0] * 3_000, {"\x1b" * 5_000: 0},
]  # fmt: skip


def mutated(document: Any, draw: random.Random) -> bytes:
    """The document as text with one to three changes, some of them to the text itself.

    What is put in is a copy: a later change may be to it, and a list put into itself has no end.
    """
    document = copy.deepcopy(document)
    for _ in range(draw.randint(1, 3)):
        holders = [value for _, value in iterate_values(document) if isinstance(value, dict | list) and value]
        if not holders:
            break
        holder = draw.choice(holders)
        key = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        match draw.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[draw.choice(["origin", "x" * 5_000, "\x1b[2J", "cost"])] = copy.deepcopy(draw.choice(HOSTILE))
            case 2 if isinstance(holder, list):
                holder.append(holder[key])
            case _:
                holder[key] = copy.deepcopy(draw.choice(HOSTILE))
    text = json.dumps(document).encode()
    if draw.random() < 0.1:
        at = draw.randrange(len(text))
        text = draw.choice(
            [text[:at], text[:at] + b"\xff" + text[at:], text[:at] + text[at + 1 :], gzip.compress(text)[:-9]]
        )
    return text


# A small instance of each family, to be spoilt
MUTATED = {
    "lora": TINY,
    "eapm": eapm_path("greedy_ties"),
    "tenants": tenants_path("load_blinds"),
    "edgeflow": edgeflow_path("edge_closes"),
}


@pytest.mark.parametrize("family", MUTATED)
def test_mutated_documents_are_refused_in_one_line_or_answered(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some hundred changes of instances, solutions and certificates: status 2 and a line, or a short answer."""
    whole = Path(MUTATED[family])
    sound, proof, spoilt = json.loads(whole.read_text()), tmp_path / "proof.json", tmp_path / "spoilt.json"
    assert main(["opt", str(whole), "--certificate", str(proof), "--solution", str(tmp_path / "solution.json")]) == 0
    documents: dict[str, Any] = {
        "instance": sound,
        "solution": json.loads((tmp_path / "solution.json").read_text()),
        "certificate": json.loads(proof.read_text()),
    }
    commands: dict[str, list[list[str]]] = {
        "instance": [
            ["simulate", str(spoilt), "--algorithm", "greedy"],
            ["check", str(spoilt), str(tmp_path / "solution.json")],
            ["check", str(spoilt), "--certificate", str(proof)],
        ],
        "solution": [["check", str(whole), str(spoilt)]],
        "certificate": [["check", str(whole), "--certificate", str(spoilt)]],
    }
    draw = random.Random(family)
    capsys.readouterr()
    statuses = []
    for kind, number in (("instance", 120), ("solution", 80), ("certificate", 120)):
        for _ in range(number):
            spoilt.write_bytes(mutated(documents[kind], draw))
            for arguments in commands[kind]:
                status = main(arguments)
                captured = capsys.readouterr()
                told = (arguments, spoilt.read_bytes()[:3_000], captured)
                assert status == 2 or status == int(captured.out.startswith("NOT VALID")), told
                assert safe(captured.out + captured.err), told
                assert (captured.err.count("\n"), bool(captured.out)) == ((1, False) if status == 2 else (0, True)), (
                    told
                )
                statuses.append(status)
    assert {0, 1, 2} == set(statuses)
