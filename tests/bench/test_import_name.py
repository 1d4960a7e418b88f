"""One import name, `ratiobench`: no module is loaded twice, and the names of version 0.1 lead to the same modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ratiobench.old_names import PACKAGES

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str, folder: Path, *options: str, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with the checkout on its module path."""
    environment = {**os.environ, "PYTHONPATH": str(path), "RATIOBENCH_FAMILIES": "tests.support.toy_family"}
    command = [sys.executable, *options, *(["-c", code] if code else [])]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_no_module_is_loaded_under_two_names(tmp_path: Path) -> None:
    """All modules of the package, and some by their old names: one module object per file."""
    code = """
import importlib, os, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import bench.family.sense, instances.lora.solution, online
import ratiobench
for part in ("bench", "formulations", "instances", "online"):
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
names = [name for name in sys.modules if name.partition(".")[0] in ("bench", "formulations", "instances", "online")]
assert all(sys.modules[name] is sys.modules[f"ratiobench.{name}"] for name in names), names
print(len(files) > 450, [file for file, found in files.items() if len(found) > 1])
""".replace("FOLDERS", repr(tuple(f"{ROOT / name}{os.sep}" for name in (*PACKAGES, "ratiobench"))))
    done = run_python(code, tmp_path)
    assert (done.stdout, done.stderr) == ("True []\n", "")


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    """Neither NumPy nor the commands."""
    code = "import sys, ratiobench; print([m for m in sys.modules if m in ('pandas', 'numpy', 'ratiobench.bench')])"
    assert run_python(code, tmp_path).stdout == "[]\n"


def test_what_a_trained_policy_imports_loads_no_commands(tmp_path: Path) -> None:
    """The commands can make an instance again, so a policy that loads them is refused."""
    code = "import sys, ratiobench.environments.agent; print([m for m in sys.modules if 'ratiobench.bench' in m])"
    assert run_python(code, tmp_path).stdout == "[]\n"


@pytest.mark.parametrize("name", PACKAGES)
def test_old_names_lead_to_the_modules_of_today(name: str, tmp_path: Path) -> None:
    """With one warning that names the new one; inside the checkout and elsewhere, and below the package."""
    code = f"import {name}; import ratiobench.{name} as new, sys; print(sys.modules['{name}'] is new)"
    for folder, first in ((tmp_path, "import ratiobench; "), (ROOT, "")):
        done = run_python(first + code, folder)
        assert done.stdout == "True\n", done.stderr
        assert done.stderr.count("FutureWarning") == 1
        assert f"`{name}` is called `ratiobench.{name}`" in done.stderr


def test_modules_below_have_their_old_names_too(tmp_path: Path) -> None:
    """``instances.X``, and ``ratiobench.X`` for what is ``ratiobench.bench.X``; an unknown name is an error."""
    inside = "import ratiobench; from instances.lora.solution import Decision; print(Decision.__module__)"
    assert run_python(inside, tmp_path).stdout == "ratiobench.instances.lora.solution\n"
    shorter = "import ratiobench.family.sense as a, ratiobench.bench.family.sense as b; print(a is b)"
    assert run_python(shorter, tmp_path).stdout == "True\n"
    missing = run_python("import ratiobench; import ratiobench.nosuch", tmp_path)
    assert missing.stderr.endswith("No module named 'ratiobench.nosuch'\n")


def test_the_old_function_online_is_simulate(tmp_path: Path) -> None:
    """`ratiobench.online` is a package now, and can still be called."""
    code = (
        "import ratiobench as rb; from ratiobench.instances.lora.named import path; file = path('tiny_contention'); "
        "print(rb.online(file, 'greedy').welfare == rb.simulate(file, 'greedy').welfare)"
    )
    done = run_python(code, tmp_path)
    assert done.stdout == "True\n"
    assert "`ratiobench.online(...)` is called `ratiobench.simulate(...)`" in done.stderr


def test_the_old_commands_work(tmp_path: Path) -> None:
    """`python -m bench` in a checkout, and the command `online`: the same output, and a line on standard error."""
    new = run_python("", ROOT, "-m", "ratiobench", "list", "families")
    old = run_python("", ROOT, "-W", "ignore", "-m", "bench", "list", "families")
    assert new.stdout == old.stdout != ""
    assert "this is `python -m ratiobench` since version 0.2" in old.stderr
    file = str(ROOT / "instances" / "lora" / "named" / "tiny_contention.json")
    words = (file, "--algorithm", "greedy", "--json")
    new = run_python("", tmp_path, "-m", "ratiobench", "simulate", *words)
    old = run_python("", tmp_path, "-m", "ratiobench", "online", *words)
    assert old.stdout.partition('"seconds"')[0] == new.stdout.partition('"seconds"')[0] != ""
    assert "the command 'online' is called 'simulate' since version 0.2" in old.stderr


def test_other_packages_and_folders_of_the_old_names_are_left_alone(tmp_path: Path) -> None:
    """Packages in the current folder are imported as they are; folders of data are in nobody's way."""
    for name in PACKAGES:
        (tmp_path / name).mkdir()
    code = "import ratiobench as rb; print(set(rb.run('toy', only='toy0', out='out', workers=1).rows['state']))"
    done = run_python(code, tmp_path)
    assert (done.stdout, done.stderr) == ("{'ok'}\n", "")
    for name in PACKAGES:
        (tmp_path / name / "__init__.py").write_text("mine = True\n")
        (tmp_path / name / "part.py").write_text("mine = 7\n")
    imports = "; ".join(f"from {name}.part import mine as {name}" for name in PACKAGES)
    done = run_python(f"import ratiobench; {imports}; print({', '.join(PACKAGES)})", tmp_path)
    assert (done.stdout, done.stderr) == ("7 7 7 7\n", "")


def test_users_algorithms_find_first_with_room() -> None:
    """The name in version 0.1 of a function of the protocol, with a warning."""
    from ratiobench.online.lora import protocol

    with pytest.warns(FutureWarning, match="`first_free_node` since version 0.2"):
        assert protocol.first_with_room is protocol.first_free_node
