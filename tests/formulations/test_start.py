"""The first moments of a command: Ctrl-C while it is loaded, and a home folder that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toy_runs import made, toy  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED_WHILE_LOADED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv = ["ratiobench", "list", "suites"]
from ratiobench.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("name", ["ratiobench.bench.cli", "ratiobench.bench.commands.listing", "ratiobench.bench.lora"])
def test_an_interrupt_while_the_commands_are_loaded_is_one_line(name: str) -> None:
    """Whatever is being imported: 130 and a line, no traceback, nothing on standard output."""
    code = INTERRUPTED_WHILE_LOADED.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ratiobench: interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that nobody can write")
@pytest.mark.usefixtures("toy")
def test_a_home_folder_that_cannot_be_written_is_not_talked_about(tmp_path: Path) -> None:
    """The library that draws keeps its cache elsewhere, and the error stream stays empty."""
    folder = made("toy", tmp_path / "out", "--only", "toy0")
    environment = {name: value for name, value in os.environ.items() if name != "MPLCONFIGDIR"}
    environment |= {"HOME": "/dev/null/home", "XDG_CONFIG_HOME": "/dev/null/a", "XDG_CACHE_HOME": "/dev/null/b"}
    environment |= {"RATIOBENCH_FAMILIES": "tests.support.toy_family"}
    command = [sys.executable, "-m", "ratiobench", "report", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("... ")]  # that it is still at work
    assert (done.returncode, said) == (0, [])
