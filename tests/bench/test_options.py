"""Every option is a parameter of the command's function: the command line has its names, defaults and values."""

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.arguments import NEEDED, Choice, Duration, Integer, Number, Option, options_of, split_names
from ratiobench.bench.cli import SHIPPED, find_command, list_commands, main, make_parser, parse
from ratiobench.bench.family.registry import families
from ratiobench.bench.running.runner import RunOptions
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import path

LORA = str(path("thm5_T5_3tasks"))
COMMANDS = tuple(list_commands())
# The least that a command line has, and what the function is called with
NEEDED_WORDS = {
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
    "evaluate": ["POLICY"],
}
CALLS: dict[str, tuple[Any, ...]] = {
    "simulate": (LORA, "greedy"), "audit": (LORA, "greedy"), "check": (LORA, {}), "opt": (LORA,), "crosscheck": (LORA,),
    "import": ("log",), "compare": ("a", "b"), "limit": ("rising", "greedy"), "search": ("lemma3",),
}  # fmt: skip


def parsed(*words: str) -> dict[str, Any]:
    return parse(words)[2]


def options(name: str) -> dict[str, Option]:
    described = options_of(find_command(name))
    return {key: option for key, option in described.items() if option.flags and not option.hidden}


def test_every_command_is_a_function_that_the_package_has() -> None:
    """`standard`, `list`, `report`, `warm`, `export`, `explain` and `check-algorithm` have no other name."""
    public = {value for name in ratiobench.__all__ if inspect.isfunction(value := getattr(ratiobench, name))}
    for name in NEEDED_WORDS:
        assert find_command(name) in public
    assert {*SHIPPED} <= {*COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_has_the_parameters_of_the_function(name: str) -> None:
    """All but hidden ones; those without a default are required; every one is described."""
    function = find_command(name)
    known = {key: option for key, option in options_of(function).items() if not option.hidden}
    parser = make_parser(name, function)
    actions = {action.dest: action for action in parser._actions}
    assert {*actions} - {"help", "debug", "json"} == {*known}
    assert ("json" in actions) == function.json
    helps = [action.help for action in parser._actions]
    assert all(helps)
    assert len(set(helps)) == len(helps)
    assert parser.format_help()  # no stray % in any of them
    for key, option in known.items():
        if option.flags:
            assert actions[key].required == (option.default is NEEDED), key
        assert option.meaning


def wrong_values(option: Option) -> list[Any]:
    values = option.values
    if isinstance(values, Integer):
        return [values.low - 1, values.high + 1, "x"]
    if isinstance(values, Number):
        return [-1, "nan", "x"]
    if isinstance(values, Choice | Duration):
        return ["nosuch"]
    return []


@pytest.mark.parametrize("name", NEEDED_WORDS)
def test_the_same_values_are_refused(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """By the function and by the command line, naming the option, before any work."""
    for key, option in options(name).items():
        flag = option.flags[-1]
        for value in wrong_values(option):
            with pytest.raises(SystemExit) as exit_:
                raise SystemExit(main([name, *NEEDED_WORDS[name], f"{flag}={value}"]))
            assert exit_.value.code == 2
            assert flag.strip("-") in capsys.readouterr().err
            with pytest.raises(InputError, match=key):
                find_command(name)(*CALLS.get(name, (str(tmp_path),)), **{key: value})


def test_lists_are_written_the_same_way_everywhere() -> None:
    """As words, with commas, or by repeating the option, in every command and for every option that takes several."""
    seen = set()
    for name, (place, *more) in NEEDED_WORDS.items():
        for key, option in options(name).items():
            if not option.several:
                continue
            seen.add(key)
            others = [] if key == "algorithm" else more
            for flag in option.flags:
                one, other = option.values.options[:2] if isinstance(option.values, Choice) else ("a", "b")
                for words in ([flag, one, other], [flag, f"{one},{other}"], [flag, one, flag, other]):
                    assert list(parsed(name, place, *others, *words)[key]) == [one, other]
                assert list(parsed(name, *others, flag, one, other, place)[key]) == [one, other]
    expected = {"add", "algorithm", "algorithms", "only", "rows", "tier", "over", "claims", "policies", "what_if"}
    assert seen == expected | {"stage"}
    assert parsed("standard", "list", "--tier", "a,b", "--tier", "c", "name")["tier"] == ("a", "b", "c")


def test_names_keep_their_commas() -> None:
    """Before a space, in numbers, in brackets, and in front of an option of an algorithm."""
    for name in ("12 jobs, 1", "1,114 jobs", "x[a,b]*", "pdftsp:units=paper,payment=price"):
        assert split_names(name) == [name]
    assert split_names("a,12 jobs, 1,b:k=1,j=2,c") == ["a", "12 jobs, 1", "b:k=1,j=2", "c"]


def test_the_command_of_a_run_makes_the_same_run() -> None:
    """What the provenance names is read back as the same options."""
    options = RunOptions(
        only=("a*",), tier=("12 jobs, 1",), rows=("b",), algorithms=("c:k=1,j=2", "d"), add=("e:k=1",), scale="small",
        solve=True, audits=False, effort=8, repeat=3, limit=2.5, isolate=True,
    )  # fmt: skip
    values = parsed("run", "toy", *options.as_words())
    for key in ("debug", "json", "suite", "over", "out", "quiet", "fresh", "retry_failed"):
        values.pop(key)
    assert RunOptions(**{key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}) == options
    assert RunOptions(out=Path("x"), workers=2, quiet=True).as_words() == []
    assert RunOptions(isolate=False).as_words() == ["--no-isolate"]


def test_isolation_can_be_asked_for_or_declined() -> None:
    """Of every command that runs users' algorithms; by default it is neither."""
    for words in (["simulate", "x.json", "-a", "b"], ["limit", "rising:theta=9"], ["run", "toy"],
                  ["evaluate", "mine.py"]):  # fmt: skip
        chosen = [parsed(*words, *more).get("isolate") for more in ((), ("--isolate",), ("--no-isolate",))]
        assert chosen == [None, True, False]


def test_a_function_names_what_it_does_not_know() -> None:
    """A keyword that is spelt almost right, one that is missing; a text is no list of its letters."""
    with pytest.raises(InputError, match="did you mean 'effort'"):
        ratiobench.opt(LORA, efort=2)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="file"):
        ratiobench.opt()  # type: ignore[call-arg]
    assert options("run")["only"].checked("only", "toy0") == ("toy0",)


def test_the_page_of_commands_has_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "extensions"))
    page = "\n".join(importlib.import_module("generated_pages").describe_commands())
    for name in COMMANDS:
        section = page.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
        for key, option in options(name).items():
            assert f"`{option.flags[-1]}" in section, (name, key)


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
