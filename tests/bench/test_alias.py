"""`ratiobench`: another name of `bench`, and the very same modules."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "bench" / "alias"


def told(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What Python says to a script that is run in a folder, where both names can be imported."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{HOME}{os.pathsep}{ROOT}",
        "RATIOBENCH_FAMILIES": "tests.support.toy_family",
    }
    command = [sys.executable, *options, *(["-c", code] if code else [])]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_both_names_are_the_same_modules(tmp_path: Path) -> None:
    """Whichever is imported first; none is loaded twice, and each keeps its own name."""
    code = """
import ratiobench as rb
import ratiobench.family.sense as a
import bench.family.sense as b
import bench
from bench.family import suite
from ratiobench.family.suite import Suite
assert rb is bench and a is b and Suite is suite.Suite and rb.run is bench.run
assert b.__name__ == b.__spec__.name == "bench.family.sense" and b.__spec__.origin == b.__file__
try:
    import ratiobench.nosuch
except ModuleNotFoundError as error:
    print(error)
"""
    done = told(code, tmp_path)
    assert (done.stdout, done.stderr) == ("No module named 'ratiobench.nosuch'\n", "")


def test_the_alias_loads_nothing_heavy(tmp_path: Path) -> None:
    """As little as `bench` itself."""
    code = "import sys, ratiobench; print([m for m in sys.modules if m in ('pandas', 'numpy', 'bench.api')])"
    assert told(code, tmp_path).stdout == "[]\n"


def test_it_is_a_command(tmp_path: Path) -> None:
    """`python -m ratiobench` is `python -m bench`."""
    done = told("", tmp_path, "-m", "ratiobench", "list", "families")
    assert done.returncode == 0
    assert done.stdout == told("", tmp_path, "-m", "bench", "list", "families").stdout != ""


def test_another_package_called_bench_is_in_nobody_s_way(tmp_path: Path) -> None:
    """One that lies in the current folder is not taken for ours, not in worker processes either."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    code = """
import ratiobench as rb
found = rb.run("toy", only="toy0", out="out", workers=1)
print(set(found.rows["state"]))
"""
    done = told(code, tmp_path)
    assert (done.stdout, done.stderr) == ("{'ok'}\n", "")
    (tmp_path / "bench" / "__init__.py").write_text("")
    done = told("import bench, ratiobench", tmp_path)
    assert "ImportError: another package `bench` has been imported before" in done.stderr


def test_what_is_installed_has_both_names() -> None:
    """The packages of the wheel, found as pyproject.toml says: the alias once, and at the top."""
    find = pytest.importorskip("setuptools").find_namespace_packages
    how = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    found = [
        name
        for place in how["where"]
        for name in find(str(ROOT / place), exclude=how["exclude"], include=how["include"])
    ]
    assert {"bench", "bench.tables", "ratiobench"} <= set(found)
    assert not [name for name in found if "alias" in name]
    assert len(found) == len(set(found))
