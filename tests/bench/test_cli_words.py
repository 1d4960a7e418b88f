"""The words of the command line: help, version, and what was probably meant by a word that is not known."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ratiobench
from ratiobench.__main__ import main as start
from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import claim_searches, families, find_suite
from ratiobench.bench.running import runner
from ratiobench.formulations.report import Termination
from ratiobench.formulations.worker import Reply
from ratiobench.instances.io.errors import explain_unknown_name, install_command, suggest_name
from ratiobench.instances.lora.named import path
from tests.support.commands import printed, python, refused
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
LORA = str(path("thm5_T5_3tasks"))


def test_without_arguments_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard output with status 0, as programs with commands do; status 2 is for what cannot be used."""
    assert main([]) == 0
    captured = capsys.readouterr()
    for name in ("opt", "standard verify", "import"):
        assert f"\n  {name} " in captured.out
    assert captured.err == ""
    assert "COMMAND" in refused(capsys, "--debug")


def test_the_version_is_that_of_the_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Name and version in a line, status 0, from the code that runs; before and after another option."""
    line = f"ratiobench {ratiobench.__version__}\n"
    for words in (["--version"], ["--debug", "--version"], ["--version", "run"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 0
        assert capsys.readouterr().out == line
        monkeypatch.setattr(sys, "argv", ["ratiobench", *words])
        with pytest.raises(SystemExit) as exit_:
            sys.exit(start())
        assert exit_.value.code == 0
        assert capsys.readouterr().out == line


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["runn"], "'run'"),
        (["list", "algoritms"], "'algorithms'"),
        (["run", "toy-plot"], "'toy-plots'"),
        (["run", "quik"], "'quick'"),
        (["generate", "leed:L=6", "--out", "nowhere"], "'lead'"),
        (["warm", "quikc"], "'quick'"),
        (["opt", "{file}", "--efort", "2"], "'--effort'"),
        (["opt", "{file}", "--efort=2"], "'--effort'"),
        (["simulate", "{file}", "--algoritm", "first"], "'--algorithm'"),
        (["compare", "a", "b", "--cvs", "x"], "'--csv'"),
        (["simulate", LORA, "--algorithm", "PDFTPS"], "'pdftsp'"),
        (["simulate", LORA, "--algorithm", "pdftps:units=canonical"], "'pdftsp'"),
        (["simulate", LORA, "--algorithm", "pdftsp:unit=canonical"], "'units'"),
        (["simulate", LORA, "--algorithm", "pdftsp:units=canonica"], "'canonical'"),
        (["run", "quick", "--algorithm", "greeedy", "--out", "nowhere"], "'greedy'"),
        (["audit", LORA, "--algorithm", "pdftsp", "--claim", "theorm5"], "'theorem5'"),
        (["search", "lema3"], "'lemma3'"),
        (["explain", LORA, "--claim", "teorem5"], "'theorem5'"),
        (["opt", LORA, "--formulation", "tigth"], "'tight'"),
        (["export", LORA, "--format", "msp"], "'mps'"),
        (["export", LORA, "--format", "mps", "--formulation", "tigth"], "'tight'"),
        (["opt", "{file}.gz"], "'toy.json'"),
        (["simulate", LORA, "--algorithm", "tests.support.contestants:Honnest"], "'Honest'"),
    ],
)
def test_what_was_probably_meant_is_asked(
    arguments: list[str], near: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, suites, constructions, algorithms, claims, parts; options of commands and of algorithms."""
    assert refused(capsys, *(part.format(file=file) for part in arguments)).count(f"; did you mean {near}?") == 1
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    "arguments", [["zzz"], ["run", "zzz"], ["opt", "{file}", "--zzz"], ["opt", "{file}", "--eff", "0"]]
)
def test_nothing_is_guessed_where_nothing_is_near(
    arguments: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "did you mean" not in refused(capsys, *(part.format(file=file) for part in arguments))


def test_names_are_near_whatever_the_case_of_their_letters() -> None:
    assert suggest_name("PDFTSP", ["eft", "pdftsp"]) == "; did you mean 'pdftsp'?"
    assert suggest_name("x" * 10**6, ["eft"]) == ""
    assert suggest_name("nothing", ["eft"]) == ""
    assert explain_unknown_name("efd", ["eft", "ntm"]) == "'efd' is not one of eft, ntm; did you mean 'eft'?"
    assert explain_unknown_name("z", ["x" * 300]) == f"'z' is not one of {'x' * 300}"
    many = [f"instance{i}" for i in range(10, 60)]
    told = f"'instance_57' is not known; did you mean 'instance57'? Known: {', '.join(many[:8])} and 42 more"
    assert explain_unknown_name("instance_57", many) == told


def test_an_unknown_suite_is_told_that_recipes_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """And which commands list suites and recipes; not 117 names in a line."""
    line = refused(capsys, "generate", "nosuch", "--out", "nowhere")
    assert "`list suites` prints " in line
    assert "`list recipes` " in line
    assert len(line) < 160


def test_files_and_folders_are_no_suites(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What takes them is said; of nothing else that is there under a suite's name."""
    line = refused(capsys, "run", file)
    assert "is a file and no suite" in line
    assert "`opt FILE`" in line
    assert "`simulate FILE --algorithm NAME ...`" in line
    assert "is a folder and no suite" in refused(capsys, "run", str(tmp_path))
    assert len(line) < 600


def test_families_of_problems_and_constructions_of_instances_have_words_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problems = printed(capsys, "list", "problems")
    for family in families().values():
        assert f"{family.name}:\n  {family.format} " in problems
    assert "the most profit rate is best (units/s); suites: " in problems
    assert "lead:L,s,r,c,n,rate" in printed(capsys, "list", "constructions")


@pytest.mark.parametrize(
    "command",
    [["opt", "{file}", "--backend", "scip"], ["audit", "{file}", "--algorithm", "first", "--backend", "gurobi"]],
)
def test_a_solver_that_is_not_installed_is_refused_before_any_work(
    command: list[str], file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], log: Path
) -> None:
    """One line that says what installs it, beside the Python that runs; of shipped solvers nobody is asked."""
    reply = Reply(None, Termination.UNAVAILABLE, "it is not installed")
    monkeypatch.setattr("ratiobench.formulations.backends.call", lambda *_, **__: reply)
    line = refused(capsys, *(part.format(file=file) for part in command))
    assert line == (
        f"ratiobench: --backend: the solver {command[-1]} is not installed: {install_command(command[-1])}\n"
    )
    assert not log.exists()
    assert main(["opt", file, "--backend", "highs"]) == 0


def test_a_suite_with_a_solver_that_is_not_installed_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before its first case, with nothing written."""

    def with_scip(suite: object, options: object) -> list[object]:
        return [replace(case, solve=replace(case.solve, backend="scip")) for case in suite.cases]  # type: ignore[attr-defined]

    monkeypatch.setattr(runner, "choose_cases", with_scip)
    reply = Reply(None, Termination.UNAVAILABLE, "it is not installed")
    monkeypatch.setattr("ratiobench.formulations.backends.call", lambda *_, **__: reply)
    assert "the solver scip is not installed: " in refused(capsys, "run", "toy", "--out", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_what_installs_an_extra_is_the_pip_of_the_python_that_runs(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    """As it can be typed: short below the working folder, quoted where it has to be."""
    monkeypatch.setattr("ratiobench.instances.io.errors.sys.executable", str(here / ".nox/bench/bin/python"))
    local = os.path.join(".nox", "bench", "bin", "python")
    assert install_command("scip") == f"{local} -m pip install -e '.[scip]'"
    monkeypatch.setattr("ratiobench.instances.io.errors.sys.executable", "/opt/my python")
    assert install_command("dask") == "'/opt/my python' -m pip install -e '.[dask]'"


def test_an_algorithm_of_another_family_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    told = "elasticflow: an algorithm of the family edgeflow; the instances here are of lora"
    for command in (["simulate", LORA], ["audit", LORA], ["run", "quick", "--out", "nowhere"]):
        assert told in refused(capsys, *command, "-a", "elasticflow")
    assert "no algorithm of this name" in refused(capsys, "simulate", LORA, "-a", "nosuch_at_all")


def test_a_file_in_place_of_a_module_is_understood(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``bad1.py:A`` runs as ``bad1:A``; of ``bad1.py`` and ``bad1.A`` the line says how to write it."""
    (here / "bad1.py").write_text(
        "class A:\n    def start(self, public, constants):\n        pass\n"
        "    def decide(self, task, view):\n        return None\n"
    )
    text = printed(capsys, "simulate", LORA, "-a", "bad1.py:A", "--no-opt")
    assert re.match(r"bad1:A \([\w ]+\): welfare 0 ", text)
    for name in ("bad1.py", "bad1.A", "./bad1.py"):
        assert "write bad1:A" in refused(capsys, "simulate", LORA, "-a", name)


def test_a_file_without_an_algorithm_is_said_to_be_missing_or_without_a_class(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.py").write_text("x = 1\n")
    told = refused(capsys, "simulate", LORA, "-a", "mime.py")
    assert "there is no such file in the current folder" in told
    assert "did you mean 'mine.py'?" in told
    assert "defines no class" in refused(capsys, "simulate", LORA, "-a", "mine.py")
    (here / "mine.py").write_text("class (\n")
    assert "no Python" in refused(capsys, "simulate", LORA, "-a", "mine.py")


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("eft:admit=all:price=1", "eft:admit=all,price=1"),
        ("posted:margin=2:alpha=1", "posted:margin=2,alpha=1"),
        ("mine_low:Low:low=0.3:idle=0", "mine_low:Low:low=0.3,idle=0"),
    ],
)
def test_options_behind_a_colon_are_said_to_need_a_comma(
    name: str, right: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of our algorithms and of a user's, whose error alone would not name it."""
    (here / "mine_low.py").write_text(
        "class Low:\n    def __init__(self, options={}):\n        self.low = float(options.get('low', 0))\n"
        "    def start(self, public, constants): pass\n    def decide(self, task, view): pass\n"
    )
    assert f"options are separated by commas: {right}" in refused(capsys, "simulate", LORA, "-a", name, "--no-isolate")
    wrong = name.replace("=all", "=some").replace("0.3", "x").replace("=2", "=y").rpartition(":")[0]
    assert "separated by commas" not in refused(capsys, "simulate", LORA, "-a", wrong, "--no-isolate")


def test_claims_and_backends_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each by family; those of `list claims` are what `audit --claim` takes, a solver says what it solves."""
    claims = printed(capsys, "list", "claims")
    assert "  theorem5 " in claims
    assert "  theorem1 " not in claims  # settled by proof
    lora = printed(capsys, "list", "backends").partition("lora:")[2].partition("tenants:")[0]
    assert "printed-ortools" in next(line for line in lora.splitlines() if line.split()[:1] == ["cbc"])


def test_the_guides_name_what_can_be_searched_for_and_what_a_sweep_varies() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "guide"
    claims = (guide / "audits.md").read_text("utf-8").partition("It knows these claims")[2].partition("`search ")[0]
    assert {name for name in re.findall(r"`(\w+)`", claims) if name not in families()} == set(claim_searches())
    axes = (guide / "run.md").read_text("utf-8").partition("they are `nodes`")[2].partition("\n")[0]
    assert ["nodes", *re.findall(r"`(\w+)`", axes)] == [axis.name for axis in find_suite("sweep")[1].axes]


def test_all_missing_fields_are_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = tmp_path / "half.json"
    half.write_text('{"format": "ratiobench/lora/1", "slots": 3}')
    line = refused(capsys, "opt", str(half))
    assert "name: the field is missing, and so are slot_seconds, base_memory_mb, node_types, tasks" in line


def test_a_name_that_is_too_long_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "report", "x" * 10_000)
    assert said.startswith("ratiobench: xxx")
    assert len(said) < 600


def test_a_command_ended_by_sigterm_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    """Sent while `generate` has written its first file."""
    code = (
        "import os, signal, sys\n"
        "from ratiobench.bench import cli\n"
        "from ratiobench.bench.running import runner\n"
        "write = runner.write_atomically\n"
        "runner.write_atomically = lambda *all: (write(*all), os.kill(os.getpid(), signal.SIGTERM))\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    words = ["generate", "paper:tasks=5,nodes=1,slots=12", "--out", "made"]
    done = python("-c", code, *words, folder=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (143, "ratiobench: terminated\n")
    assert list(tmp_path.iterdir()) == []
