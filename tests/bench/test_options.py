"""Every option is declared once: the function and the command line have the same names, defaults and values."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli.main import main, options_from
from ratiobench.bench.cli.parser import make_parser
from ratiobench.bench.commands.command import Command, Group
from ratiobench.bench.commands.index import COMMANDS
from ratiobench.bench.family.registry import families
from ratiobench.bench.options import (
    Choice,
    Decimal,
    Duration,
    Integer,
    Number,
    Option,
    Options,
    as_words,
    defaults_of,
    flag_of,
    option,
    options_of,
    split_names,
)
from ratiobench.bench.running.options import RunOptions
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import path

LORA = str(path("thm5_T5_3tasks"))
# Functions, and their commands; `results` and `instance` read what the others take
FUNCTIONS = {
    "run": "run",
    "opt": "opt",
    "simulate": "simulate",
    "audit": "audit",
    "check": "check",
    "crosscheck": "crosscheck",
    "search": "search",
    "limit": "limit",
    "compare": "compare",
    "generate": "generate",
    "backtest": "backtest",
    "imported": "import",
}
# Options that the command line has alone, and why
COMMAND_ONLY = {
    "simulate": dict.fromkeys(("no_opt", "certificate", "csv"), "the function returns one run, without OPT"),
    "audit": dict.fromkeys(("task", "curve", "csv"), "the function returns the claims of a run as a table"),
    "check": {"explain": "text for people"},
    "search": dict.fromkeys(("out", "resume"), "the function keeps no state in a folder"),
    "limit": {"csv": "the function returns all rows as a table"},
    "compare": dict.fromkeys(("names", "csv"), "the function returns all rows as a table"),
    "generate": {"out": "the function writes nothing"},
}
# Keywords that the function has alone, and why
FUNCTION_ONLY = {
    "simulate": {"prior": "another day as an object; on the command line `prior=FILE` in the name"},
    "audit": {"prior": "the same"},
    "generate": {"keys": "of a recipe; on the command line they stand behind its name"},
}
# Options that are an argument of another name
SPELT = {
    "simulate": {"algorithms": "algorithm"},
    "limit": {"algorithms": "algorithm"},
    "audit": {"claim": "claims"},
    "check": {"solution": "judged", "certificate": "judged"},
    "generate": {"suite": "what"},
}
# Defaults of functions that are not those of the command line: progress is printed on request in a notebook; a search
# without a limit is a short one there
DEFAULTS = {"run": {"quiet": True}, "search": {"tries": 3000, "algorithm": None}}
# The least that a command line has
NEEDED = {
    "run": ["SUITE"],
    "backtest": ["FILE"],
    "opt": ["FILE"],
    "simulate": ["FILE", "-a", "x"],
    "audit": ["FILE", "-a", "x"],
    "check": ["FILE", "SOLUTION"],
    "crosscheck": ["FILE"],
    "search": ["CLAIM"],
    "limit": ["rising", "-a", "x"],
    "compare": ["A", "B"],
    "generate": ["SUITE", "--out", "DIR"],
    "import": ["LOG", "--cluster", "TOML"],
}


def commands() -> Iterator[tuple[list[str], Command]]:
    """Every command, the parts of a group one by one, with its words."""
    for name, listed in COMMANDS.items():
        found = listed.load()
        if isinstance(found, Group):
            for part in found.parts:
                command = part.load()
                assert isinstance(command, Command)
                yield [name, part.name], command
        else:
            yield [name], found


def single(name: str) -> Command:
    found = COMMANDS[name].load()
    assert isinstance(found, Command)
    return found


def parsed(*words: str) -> Any:
    """The options of a command line."""
    return options_from(make_parser().parse_args(words))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_has_the_options_of_its_command(function: str) -> None:
    """By the same names and with the same defaults, but for those that the tables above name."""
    name = FUNCTIONS[function]
    signature = inspect.signature(getattr(ratiobench, function)).parameters
    spelt = SPELT.get(function, {})
    described = options_of(single(name).options)
    alone = COMMAND_ONLY.get(function, {})
    expected = {spelt.get(each, each) for each in described if each not in alone}
    assert set(signature) == expected | set(FUNCTION_ONLY.get(function, {}))
    assert set(COMMAND_ONLY.get(function, {})) <= set(described)
    line = parsed(name, *NEEDED[name])
    other = DEFAULTS.get(function, {})
    for each, default in defaults_of(single(name).options).items():
        if each in alone or each in spelt or each in ("solution", "logs", "cluster", "name"):
            continue
        assert signature[each].default == other.get(each, default), each
        if each not in ("format", "claim"):
            assert getattr(line, each) == default, each


def test_the_command_line_has_the_options_that_are_declared() -> None:
    top = make_parser().commands.choices
    for words, command in commands():
        parser = top[words[0]]
        parser.add_options()
        for word in words[1:]:
            [parts] = [each.choices for each in parser._actions if isinstance(each.choices, dict)]
            parser = parts[word]
            parser.add_options()
        there = {action.dest for action in parser._actions} - {"help", "debug"}
        assert there - {"json"} == set(options_of(command.options))
        assert ("json" in there) == (command.document is not None)


def wrong_values(each: Option) -> list[Any]:
    """Values that the option may not have."""
    values = each.values
    if isinstance(values, Integer):
        return [values.low - 1, values.high + 1, "x"]
    if isinstance(values, Number):
        return [-1, "nan", "x"]
    if isinstance(values, Choice | Duration | Decimal):
        return ["nosuch"]
    return []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_values_are_refused(function: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """By the function and by the command line, naming the option, before any work."""
    name = FUNCTIONS[function]
    first: dict[str, tuple[Any, ...]] = {
        "simulate": (LORA, "greedy"), "audit": (LORA, "greedy"), "check": (LORA, {}), "opt": (LORA,),
        "crosscheck": (LORA,), "imported": ("log",), "compare": ("a", "b"),
        "limit": ("rising", "greedy"),
    }  # fmt: skip
    arguments = first.get(function, ("lemma3",) if function == "search" else (str(tmp_path),))
    for each, described in options_of(single(name).options).items():
        for value in [] if described.positional else wrong_values(described):
            with pytest.raises(SystemExit) as exit_:
                main([name, *NEEDED[name], f"{flag_of(each)}={value}"])
            assert exit_.value.code == 2
            assert flag_of(each) in capsys.readouterr().err
            if each in inspect.signature(getattr(ratiobench, function)).parameters:
                with pytest.raises(InputError, match=each.rstrip("_")):
                    getattr(ratiobench, function)(*arguments, **{each: value})


def test_lists_are_written_the_same_way_everywhere() -> None:
    """As words, with commas, or by repeating the option, in every command and for every option that takes several."""
    seen = set()
    for name, needed in NEEDED.items():
        for each, described in options_of(single(name).options).items():
            if not described.several or described.positional:
                continue
            seen.add(each)
            place, *more = needed
            more = [] if each == "algorithms" else more
            for flag in {flag_of(each), *described.flags}:
                for words in ([flag, "a", "b"], [flag, "a,b"], [flag, "a", flag, "b"]):
                    assert getattr(parsed(name, place, *more, *words), each) == ("a", "b")
                last = parsed(name, *more, flag, "a", "b", place)
                assert getattr(last, each) == ("a", "b")
    assert seen == {"add", "algorithms", "only", "rows", "tier", "over", "claim", "policies", "what_if"}
    assert parsed("standard", "list", "--tier", "a,b", "--tier", "c", "name").tier == ("a", "b", "c")


def test_a_switch_without_a_default_can_be_set_either_way() -> None:
    found = [parsed("evaluate", "mine.py", *more).isolate for more in ([], ["--isolate"], ["--no-isolate"])]
    assert found == [None, True, False]


def test_names_keep_their_commas() -> None:
    """Before a space, in numbers, in brackets, and in front of an option of an algorithm."""
    for name in ("12 jobs, 1", "1,114 jobs", "x[a,b]*", "pdftsp:units=paper,payment=price"):
        assert split_names(name) == [name]
    assert split_names("a,12 jobs, 1,b:k=1,j=2,c") == ["a", "12 jobs, 1", "b:k=1,j=2", "c"]


def test_the_command_of_a_run_makes_the_same_run() -> None:
    """What the provenance names is read back as the same options."""
    words = [
        "run",
        "toy",
        "--only",
        "a*",
        "--tier",
        "12 jobs, 1",
        "--rows",
        "b",
        "-a",
        "c:k=1,j=2",
        "d",
        "--add",
        "e:k=1",
    ]
    words += ["--scale", "small", "--solve", "--no-audits", "--effort", "high", "--repeat", "3", "--limit", "2.5"]
    given = parsed(*words, "--isolate")
    assert parsed("run", "toy", *as_words(given)) == given
    assert as_words(RunOptions(out=Path("x"), workers=2, quiet=True)) == []


def test_isolation_can_be_asked_for_or_declined() -> None:
    """Of every command that runs users' algorithms; by default it is neither."""
    for words in (["simulate", "x.json", "-a", "b"], ["limit", "rising:theta=9"], ["run", "toy"],
                  ["evaluate", "mine.py"]):  # fmt: skip
        chosen = [parsed(*words, *more).isolate for more in ((), ("--isolate",), ("--no-isolate",))]
        assert chosen == [None, True, False]
    assert as_words(parsed("run", "toy", "--no-isolate")) == ["--no-isolate"]


def test_an_option_is_checked_whoever_sets_it() -> None:
    """Also by Python's own constructor; a text is no list of its letters."""
    with pytest.raises(InputError, match="repeat: 0 is not in"):
        RunOptions(repeat=0)
    assert RunOptions(only="toy0").only == ("toy0",)  # type: ignore[arg-type]
    assert isinstance(option("x", Choice(("a",))).metadata["option"], Option)
    assert options_of(Options) == {}


def test_the_page_of_commands_has_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "extensions"))
    page = "\n".join(importlib.import_module("generated_pages").describe_commands())
    for words, command in commands():
        name = " ".join(words)
        section = page.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        for option_name, found in options_of(command.options).items():
            shown = found.metavar.replace("|", "\\|") if found.positional else flag_of(option_name)
            assert f"`{shown}" in section, (name, option_name)


def test_the_page_of_algorithms_explains_every_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the declarations, as `list algorithms NAME` does; the list of all stays a line each."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "extensions"))
    page = "\n".join(importlib.import_module("generated_pages").describe_algorithms())
    sections = page.split("\n## Family ")[1:]
    assert len(sections) == len(families())
    for family, part in zip(families().values(), sections, strict=True):
        for each in family.algorithms():
            assert f"`{each.name}`" in part
            section = part.partition(f"### `{each.name}`\n")[2].partition("\n### ")[0]
            for row in family.describe_options(each.name):
                name, meaning = row["name"], row["meaning"]
                assert f"| `{name}` |" in section
                assert meaning.replace("|", "\\|").replace("<", "&lt;") in section
    assert main(["list", "algorithms", "learned"]) == 0
    told = capsys.readouterr().out
    rows = families()["lora"].describe_options("learned")
    meanings = {row["name"]: row["meaning"] for row in rows}
    assert list(meanings)[:4] == ["guard", "wish", "total", "every"]
    assert all(meaning in told for meaning in meanings.values())
    assert "history  FILE|FILE;FILE|FOLDER|yesterday|history" in told
    assert main(["list", "algorithms"]) == 0
    told = capsys.readouterr().out
    assert not any(meaning in told for meaning in meanings.values())
    assert told.endswith("`list algorithms NAME` explains the options of one.\n")
    assert main(["list", "algorithms", "pdftsp", "average", "--json"]) == 0
    plain, one = json.loads(capsys.readouterr().out)
    assert plain == {"family": "eapm", "name": "average", "summary": plain["summary"], "options": []}
    assert [row["name"] for row in one["options"]][-3:] == ["alpha", "beta", "prior"]
