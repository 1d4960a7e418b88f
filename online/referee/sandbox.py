"""A sandbox for anyone's algorithm, by bubblewrap (`bwrap`), where Linux and its settings allow one.

Inside there is no network, no process but the algorithm's own, and a file system that cannot be written but for an
empty `/tmp`: the Python installation with the system's libraries, our models, formats, solvers and algorithms, and the
algorithm's own module (of a package: the whole package). What can make an instance is not there, nor are instances,
results, home folders and the environment. Questions and answers travel through the pipes that it inherits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import instances
from instances.errors import DEBUG, InputError
from online.modules import module_file
from online.referee.watch import forms

_HOUSE = Path(instances.__file__).resolve().parents[1]
_FLOORS = ("formulations", "instances", "online")
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/etc/alternatives", "/etc/ld.so.cache", "/nix/store")
_KEPT = ("LANG", "LC_ALL", "PATH", "PYTHONHASHSEED", DEBUG)
_KEPT_OF = ("NUMBA_", "OMP_")
_CACHES = "/run/caches"
"""Where the compiled kernels are found inside: beside them new ones can be written, for this run."""


@dataclass(frozen=True, slots=True)
class Place:
    """How to start Python in the sandbox.

    Parameters
    ----------
    command : to stand before Python's own.
    path : of the modules inside.
    environment : the variables inside.
    """

    command: list[str]
    path: list[str]
    environment: Mapping[str, str]


@cache
def require() -> str:
    """The program that makes sandboxes; it is tried once.

    Raises
    ------
    InputError : it is not installed, or the system refuses it.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise InputError("--isolate", "", "needs bubblewrap, and there is no program `bwrap` on the path")
    everything = [program, *_WALLS, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    tried = subprocess.run(everything, capture_output=True, text=True, errors="replace", check=False)
    if tried.returncode:
        problem = " ".join(tried.stderr.split())[:200] or f"exit status {tried.returncode}"
        raise InputError("--isolate", "", f"the system refuses a sandbox: {problem}")
    return program


_WALLS = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL")


def place(path: str | None, barred: Mapping[str, str], hidden: Sequence[Path]) -> Place:
    """The sandbox of the algorithm with this import path.

    Parameters
    ----------
    path : None for an algorithm that is no module: it has nothing of its own to be seen.
    barred : the modules that it must not have, each with its file.
    hidden : folders that are empty inside.

    Raises
    ------
    InputError : no such module, or no sandbox.
    """
    own = [] if path is None else [_own(path)]
    installed = tuple(dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)))
    shown = (*own, *(_HOUSE / floor for floor in _FLOORS), *map(Path, installed))

    def visible(path: Path) -> bool:
        return path.exists() and any(folder == path or folder in path.parents for folder in shown)

    command = [require(), *_WALLS, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for system in _SYSTEM:
        if os.path.islink(system):
            command += ["--symlink", os.readlink(system), system]
        else:
            command += ["--ro-bind-try", system, system]
    for folder in reversed(shown):
        command += ["--ro-bind", str(folder), str(folder)]
    for folder in hidden:
        command += ["--tmpfs", str(folder)] if visible(folder) else []
    for file in (Path(form) for source in barred.values() for form in forms(source)):
        command += ["--ro-bind", os.devnull, str(file)] if visible(file) else []
    command += _caches()
    seen = [*(str(each.parent) for each in own), str(_HOUSE)]
    seen += [entry for entry in sys.path if entry and visible(Path(entry))]
    environment = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_OF)}
    environment.pop("NUMBA_CACHE_DIR", None)  # it is not there
    environment |= {"HOME": "/tmp", "TMPDIR": "/tmp"}
    return Place([*command, "--chdir", "/tmp"], list(dict.fromkeys(seen)), environment)


def _own(path: str) -> Path:
    """What is the algorithm's own: its file, or the folder of the package that it is in."""
    file = module_file(path)
    parents = path.partition(":")[0].count(".")
    if file.name == "__init__.py":
        parents += 1
    own = file if parents == 0 else file.parents[parents - 1]
    return own.absolute()


def _caches() -> Iterator[str]:
    """Kernels that were compiled outside are read where they are looked for; their folders can be written inside."""
    folders = (folder for floor in _FLOORS for folder in sorted((_HOUSE / floor).rglob("__pycache__")))
    for number, folder in enumerate(folders):
        compiled = [file for file in folder.iterdir() if file.suffix in (".nbi", ".nbc")]
        if compiled:
            yield from ("--ro-bind", str(folder), f"{_CACHES}/{number}", "--tmpfs", str(folder))
            for file in sorted(compiled):
                yield from ("--symlink", f"{_CACHES}/{number}/{file.name}", str(file))
