"""Every command prints one JSON document with `--json`, with the keys that docs/reference/json.md names."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.instances.lora.named import path
from ratiobench.online.referee import sandbox
from tests.support.policies import REJECTS, write

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
SMALL, THEOREM_5 = str(path("tiny_two_types")), str(path("thm5_T5_3tasks"))
CALLS = (
    "list recipes",
    "generate paper:tasks=5,nodes.a100=1,slots=12 --out made",
    f"opt {SMALL}",
    f"opt {SMALL} --no-migration --certificate one.cert",
    f"crosscheck {SMALL}",
    f"simulate {SMALL} --algorithm greedy --no-opt",
    "evaluate greedy --stage tiny --tiny 1",
    "check-algorithm policy.py:Rejects",
    f"audit {THEOREM_5} --algorithm pdftsp",
    f"audit {SMALL} --algorithm pdftsp --task 0",
    f"explain {THEOREM_5}",
    "search theorem5 --tries 30",
    "limit rising --algorithm greedy",
    f"export {SMALL} --format lp",
    "standard list",
    "standard verify part_40_pai --workers 1",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a policy's file."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, REJECTS)
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The document that a command prints; its status is 0 or 1."""
    status = main([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert status in (0, 1), err
    return json.loads(out)


def keys_on_page(command: str) -> tuple[set[str], set[str]]:
    """The keys of a command's first table, and those of them that are always there."""
    group, _, part = command.partition(" ")
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    [text] = [each for each in section if f"`{group}`" in each.partition("\n")[0]]
    if part:
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{command}` |")]
        names = set(re.findall(r"`(\w+)`", row.partition(" | ")[2]))
        return names, names
    rows = [re.match(r"\| (`.*`) \| (.*) \|", line) for line in text.partition("\n\nWith several")[0].splitlines()]
    every, always = set(), set()
    for row in filter(None, rows):
        names = set(re.findall(r"`(\w+)`", row[1]))
        every |= names
        if not re.match("With|If|Of ", row[2]):
            always |= names
    return every, always


@pytest.mark.parametrize("words", CALLS, ids=[re.sub(r"\S*/", "", words) for words in CALLS])
def test_a_command_prints_the_keys_on_the_page(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = call(capsys, *words.split())
    printed = set(found[0] if isinstance(found, list) else found)
    command = re.match(r"standard \w+|\S+", words)
    assert command
    every, always = keys_on_page(command[0])
    assert always <= printed <= every


def test_runs_beside_opt_and_both_kinds_of_checks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate` with several algorithms; `check` of a solution and of a certificate."""
    found = call(capsys, "simulate", SMALL, "--algorithm", "greedy", "policy.py:Rejects")
    assert set(found) == {"instance", "opt", "runs"}
    (folder / "solution.json").write_text(json.dumps(call(capsys, "opt", SMALL, "--certificate", "two.cert")))
    solution = call(capsys, "check", SMALL, "solution.json")
    certificate = call(capsys, "check", SMALL, "--certificate", "two.cert")
    assert solution["valid"]
    assert certificate["valid"]
    assert {"valid", "violations"} <= set(solution)
    assert set(certificate) == {"valid", "lower", "upper", "problem"}


def test_results_of_a_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of `run` and `report`: the rows as results.csv has them; `compare` finds no difference to themselves."""
    words = ("tiny", "--only", "tiny_two_types", "--algorithm", "greedy", "policy:Rejects", "--out", "out")
    found = call(capsys, "run", *words, "--workers", "1")
    assert set(found) == keys_on_page("run")[0]
    greedy, never = found["rows"]
    run = ratiobench.simulate(SMALL, "greedy")
    assert (greedy["value"], greedy["admitted"], greedy["state"]) == (run.welfare, run.admitted, "ok")
    interval = ratiobench.opt(SMALL)
    assert (greedy["opt"]["lower"], greedy["opt"]["upper"]) == (interval.lower, interval.upper)
    assert Fraction(greedy["share"]) == Fraction(run.welfare, interval.upper)
    assert greedy["isolation"] is None
    assert never["value"] == 0
    assert never["isolation"] == sandbox.choose(None)
    assert found["provenance"]["cite"]
    assert (folder / "out" / "results.csv").exists()
    assert call(capsys, "report", "out") == found
    compared = call(capsys, "compare", "out", "out")
    assert set(compared) == keys_on_page("compare")[0]
    assert compared["different"] == 0


def test_a_backtest_and_an_import_print_the_keys_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a log of three jobs on one node."""
    Path("log.csv").write_text("submit,start,duration,gpus\n0,0,60,1\n10,60,30,2\n20,60,30,1\n")
    Path("cluster.toml").write_text('[[pools]]\nname = "a"\nnodes = 1\ngpus = 4\n')
    found = call(capsys, "import", "log.csv", "--cluster", "cluster.toml", "--out", "log.json")
    assert set(found) == keys_on_page("import")[0]
    found = call(capsys, "backtest", "log.json", "--policies", "fcfs", "--seconds", "0")
    assert set(found) == keys_on_page("backtest")[0]
    assert [row["name"] for row in found["policies"]] == ["easy", "fcfs"]
