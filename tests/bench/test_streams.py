"""The command in unusual surroundings: closed streams, a terminal of few characters, no home, no current folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.lora.named import path
from ratiobench.online.policy_file import read_policy
from tests.support.commands import python

ROOT = Path(__file__).resolve().parents[2]
FILE = str(path("tiny_two_types"))
POLICY = "class Never:\n    def start(self, public, constants): pass\n    def decide(self, task, view): return None\n"


def ratiobench(*words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings.pop("env", {})}
    command = [sys.executable, "-m", "ratiobench", *words]
    return subprocess.run(command, env=environment, text=True, check=False, timeout=120, **settings)


@pytest.mark.skipif(os.name == "nt", reason="streams are closed by descriptors")
@pytest.mark.parametrize("closed", [(2,), (0, 2), (0, 1, 2)])
def test_closed_streams_are_as_none(closed: tuple[int, ...], tmp_path: Path) -> None:
    """What is asked for is written, and standard output is one document."""

    def close() -> None:
        for number in closed:
            os.close(number)

    solution = tmp_path / "solution.json"
    words = ("opt", FILE, "--solution", str(solution), "--json")
    done = ratiobench(*words, preexec_fn=close, stdout=None if 1 in closed else subprocess.PIPE)
    assert done.returncode == 0
    assert "decisions" in json.loads(solution.read_text())
    if 1 not in closed:
        assert json.loads(done.stdout)["lower"] == 58


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_an_encoding_lacks_is_escaped(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "→.json"
    shutil.copy(FILE, file)
    settings = {"env": {"PYTHONIOENCODING": encoding}, "capture_output": True}
    done = ratiobench("check", str(file), str(tmp_path / "李.json"), **settings)
    assert done.returncode == 2
    assert "\\u674e.json: cannot be read: No such file" in done.stderr


def test_without_a_home_nothing_is_called_like_one(tmp_path: Path) -> None:
    code = (
        "import os, pwd; os.environ.pop('HOME', None); os.environ.pop('XDG_CACHE_HOME', None); "
        "pwd.getpwuid = lambda number: {}[number]; from ratiobench.instances.io.disk_cache import user_cache; "
        "print(user_cache())"
    )
    done = python("-c", code, folder=tmp_path)
    assert os.path.isabs(done.stdout.strip())
    assert "~" not in done.stdout


def test_a_current_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    code = (
        "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); "
        "from ratiobench.bench.cli import main; sys.exit(main(['list', 'suites']))"
    )
    done = python("-c", code, folder=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (2, "ratiobench: the current folder is no longer there\n")


def test_a_folder_of_temporary_files_may_have_any_name(tmp_path: Path) -> None:
    """Jenkins has `%2F` in it, which CBC takes for something else."""
    folder = tmp_path / "job%2Fmain x"
    folder.mkdir()
    words = ("opt", FILE, "--formulation", "printed", "--backend", "cbc", "--json")
    done = ratiobench(*words, env={"TMPDIR": str(folder)}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["lower"] == json.loads(done.stdout)["upper"] == 58
    assert not list(folder.iterdir())


@pytest.mark.parametrize("head", [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\n# \xfc\n"])
def test_a_policy_file_is_read_as_python_reads_it(head: bytes, tmp_path: Path) -> None:
    """With the mark of byte order that editors write, or with a line that names its encoding."""
    file = tmp_path / "policy.py"
    file.write_bytes(head + POLICY.encode())
    assert read_policy(str(file)).name.endswith(":Never")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("opt", "f.json", "--solution", "f.json"), "'f.json' is read by this command, too"),
        (("opt", "f.json", "--solution", "s", "--certificate", "s"), "'s' is written by --solution, too"),
        (("simulate", "-", "-a", "greedy", "--certificate", "-"), "only one file can be standard input"),
        (("opt", "f.json", "--solution", "-"), "'-' is not the name of a file"),
        (("run", "tiny", "--out", ""), "'' is not the name of a file"),
    ],
)
def test_what_is_written_replaces_nothing_that_is_read(words: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path / "f.json")
    done = ratiobench(*words, cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert problem in done.stderr
    assert os.listdir(tmp_path) == ["f.json"]
    assert (tmp_path / "f.json").read_bytes() == Path(FILE).read_bytes()


def test_a_closed_pipe_ends_the_text_and_not_the_files(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = ratiobench("opt", FILE, "--solution", "s.json", cwd=tmp_path, stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert "decisions" in json.loads((tmp_path / "s.json").read_text())


def test_an_interrupt_ends_an_evaluation_at_once(tmp_path: Path) -> None:
    """The policy sleeps for as long as the budget lasts."""
    (tmp_path / "slow.py").write_text(POLICY.replace("return None", "__import__('time').sleep(50)"))
    code = "import signal, threading; from ratiobench.bench.cli import main; import sys, os; "
    code += "threading.Timer(8, os.kill, (os.getpid(), signal.SIGINT)).start(); "
    code += "sys.exit(main(['evaluate', 'slow.py:Never', '--no-isolate']))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=40,
    )  # fmt: skip
    assert (done.returncode, "interrupted" in done.stderr) == (130, True)
