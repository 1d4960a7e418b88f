"""The command `calibrate`, with a machine that is no machine in the place of PyTorch's."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.lora.calibrate import calibrator, finetuning
from ratiobench.bench.lora.calibrate.finetuning import GPT2, SMALL
from ratiobench.instances.lora.calibration import read_calibration
from tests.support.calibrations import FakeMachine


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What machines were asked for, in an empty folder."""
    asked: list[Any] = []

    def machine(*words: Any) -> FakeMachine:
        asked.append(words)
        return FakeMachine()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibrator, "TorchMachine", machine)
    return asked


def test_the_file_is_written_and_what_to_do_with_it(made: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Named after the file; progress goes to the error stream; the command that is proposed works."""
    assert main(["calibrate", "--out", "my gpu!.json", "--tasks", "1,2", "--batch", "2"]) == 0
    said = capsys.readouterr()
    assert made == [("auto", "auto", GPT2, True)]
    assert said.out.startswith("my-gpu: measured, gpt2, 1024 tokens, rank 8: 100.00 samples/s at its fastest, power ")
    words = shlex.split(said.out.partition("Now, for example, ratiobench ")[2])
    assert main([*words[:-1], "days"]) == 0
    assert len(list(Path("days").iterdir())) == 1
    assert "... tasks 2, batch 2: 100.00 samples/s, peak 14 MB; took 0 s\n" in said.err
    assert list(read_calibration("my gpu!.json").gpus) == ["my-gpu"]


def test_all_options_get_there(made: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """And the document on standard output is the file."""
    words = ["--device", "cuda:1", "--dtype", "bfloat16", "--quick", "--watts", "60", "--name", "own", "--json"]
    assert main(["calibrate", "--out", "a.json", "--tasks", "4", "--batch", "2,1", *words]) == 0
    assert made == [("cuda:1", "bfloat16", SMALL, False)]
    assert json.loads(capsys.readouterr().out) == json.loads(Path("a.json").read_text())
    assert [row["batch"] for row in json.loads(Path("a.json").read_text())["rows"]] == [1, 2]
    assert list(read_calibration("a.json").gpus) == ["own"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--dtype", "float8"], "--dtype: 'float8' is not one of auto, float32, tf32, bfloat16"),
        (["--tasks", "0"], "--tasks"),
        (["--tasks", "4,"], "--tasks"),
        (["--batch", "1025"], "1025"),
        (["--seconds", "0"], "--seconds"),
        (["--watts", "-5"], "--watts"),
        (["--watts", "1e3"], "1e3"),
        (["--name", "a b"], "--name: 'a b'"),
        (["--out", "no/where.json"], "no/where.json"),
        (["--out", "."], "it is a folder"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_measured(
    words: list[str], problem: str, made: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, before PyTorch is loaded."""
    try:
        status = main(["calibrate", "--out", "a.json", *words])
    except SystemExit as end:
        status = int(str(end.code))
    assert status == 2
    [line] = capsys.readouterr().err.splitlines()
    assert problem in line
    assert not made
    assert not list(Path().iterdir())


def test_without_pytorch_there_is_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, status 2."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        finetuning.importlib.util, "find_spec", lambda name, *more: None if name == "torch" else found(name, *more)
    )
    assert main(["calibrate", "--out", str(tmp_path / "a.json"), "--device", "cpu", "--quick"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "PyTorch is not installed" in line
    assert "pip install -e '.[calibrate]'" in line
    assert not list(tmp_path.iterdir())


def test_an_interruption_keeps_nothing_and_says_so(
    made: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file of an earlier run is what it was."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeMachine, "measure", interrupted)
    Path("a.json").write_text("before")
    assert main(["calibrate", "--out", "a.json"]) == 130
    assert capsys.readouterr().err == "ratiobench: interrupted\n"
    assert Path("a.json").read_text() == "before"
