"""One import name, `ratiobench`: no module is loaded twice, and importing a part loads that part alone."""

import os
from pathlib import Path

from tests.support.commands import python

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bench", "formulations", "instances", "online")


def test_no_module_is_loaded_under_two_names(tmp_path: Path) -> None:
    code = """
import importlib, os, pkgutil, sys
import ratiobench
for part in PACKAGES:
    package = importlib.import_module(f"ratiobench.{part}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        # Solvers are loaded in processes of their own: two of them in one process crash.
        if not module.name.endswith(("__main__", "finetuning")) and ".backends." not in module.name:
            importlib.import_module(module.name)
files = {}
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None)
    if file and os.path.realpath(file).startswith(FOLDERS):
        files.setdefault(os.path.realpath(file), set()).add(id(module))
print(len(files) > 400, [file for file, found in files.items() if len(found) > 1])
""".replace("FOLDERS", repr(tuple(f"{ROOT / name}{os.sep}" for name in (*PACKAGES, "ratiobench"))))
    code = code.replace("PACKAGES", repr(PACKAGES))
    done = python("-c", code, folder=tmp_path, check=False)
    assert (done.stdout, done.stderr) == ("True []\n", "")


def test_what_a_trained_policy_imports_loads_no_commands(tmp_path: Path) -> None:
    code = "import sys, ratiobench.environments.agent; print([m for m in sys.modules if 'ratiobench.bench' in m])"
    assert python("-c", code, folder=tmp_path).stdout == "[]\n"
