"""A sandbox for anyone's algorithm, by bubblewrap (`bwrap`), where Linux and its settings allow one.

Inside there is no network, no process but the algorithm's own, and a file system that cannot be written but for an
empty `/tmp`: the Python installation with the system's libraries, our models, formats, solvers and algorithms, and the
algorithm's own module (of a package: the whole package). What can make an instance is not there, nor are instances,
results, home folders and the environment. Questions and answers travel through the pipes that it inherits.

Some of what is hidden may lie below what is shown: a checkout in `/usr/src`, a second copy of our packages among the
installed ones. Such folders are empty inside, wherever they are; where Python could not run without them the sandbox is
refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ratiobench import instances
from ratiobench.instances.io.errors import DEBUG, InputError
from ratiobench.online import run_context
from ratiobench.online.modules import module_file
from ratiobench.online.referee.watch import list_file_forms

_PROJECT = Path(instances.__file__).resolve().parents[1]
"""The folder of the four packages: of the checkout, or `ratiobench` itself where it is installed."""
_IMPORTED = Path(str(sys.modules["ratiobench"].__file__)).resolve().parents[1]
"""The folder in which `import ratiobench` finds the package."""
_LAYERS = ("formulations", "instances", "online")
_PACKAGES = (*_LAYERS, "bench", "ratiobench", "tests")
"""What a checkout or an installation of ours brings to the module path."""
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/etc/alternatives", "/etc/ld.so.cache", "/nix/store")
_KEPT = ("LANG", "LC_ALL", "PATH", "PYTHONHASHSEED", DEBUG)
_KEPT_OF = ("NUMBA_", "OMP_")
_CACHES = "/run/caches"
"""Where the compiled kernels are found inside: beside them new ones can be written, for this run."""
TMP_BYTES = 2**28
"""Of files in /tmp inside."""
_SHM_BYTES = 2**26
_KERNEL_BYTES = 2**27
"""Of kernels that are compiled inside, all folders together."""
_WALLS = ("--unshare-all", "--unshare-user", "--die-with-parent", "--cap-drop", "ALL")


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
def require() -> tuple[str, ...]:
    """The command that makes a sandbox, without what is in it; it is tried once.

    Raises
    ------
    InputError : bubblewrap is not installed or too old, or the system refuses a sandbox.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise InputError("--isolate", "", "needs bubblewrap, and there is no program `bwrap` on the path")
    # Without user namespaces of its own, where that can be had: in one it could mount memory that nobody counts.
    for walls in ((*_WALLS, "--disable-userns"), _WALLS):
        everything = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--size", "4096", "--tmpfs", "/tmp"]
        tried = subprocess.run(
            [program, *walls, *everything, "true"], capture_output=True, text=True, errors="replace", check=False
        )
        if not tried.returncode:
            return (program, *walls)
    problem = " ".join(tried.stderr.split())[:200] or f"exit status {tried.returncode}"
    old = " (version 0.7 of bubblewrap or later is needed)" if "--size" in problem else ""
    raise InputError("--isolate", "", f"the system refuses a sandbox: {problem}{old}")


def place(path: str | None, barred: Mapping[str, str], hidden: Sequence[Path]) -> Place:
    """The sandbox of the algorithm with this import path.

    Parameters
    ----------
    path : None for an algorithm that is no module: it has nothing of its own to be seen.
    barred : the modules that it must not have, each with its file.
    hidden : folders that are empty inside, beside those of the run (`ratiobench.online.run_context`), the current one,
        and our own.

    Raises
    ------
    InputError : no such module, no sandbox, or one that would have to show what it hides.
    """
    own = [] if path is None else [_own(path)]
    installed = tuple(dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)))
    floors = [*(_PROJECT / floor for floor in _LAYERS), _IMPORTED / "ratiobench"]
    shown = [*(Path(system) for system in _SYSTEM if not os.path.islink(system) and os.path.exists(system))]
    shown = list(dict.fromkeys([*shown, *map(Path, installed), *floors, *own]))

    def visible(path: Path) -> bool:
        return path.exists() and any(folder == path or folder in path.parents for folder in shown)

    command = [*require(), "--proc", "/proc", "--dev", "/dev"]
    command += ["--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    for system in _SYSTEM:
        command += ["--symlink", os.readlink(system), system] if os.path.islink(system) else []
    seen = [*(str(each.parent) for each in own), str(_IMPORTED)]
    seen += [entry for entry in sys.path if entry and visible(Path(entry))]
    empty = _empty(shown, [*hidden, *_to_hide(seen)])
    _require_needed(shown, empty)
    # What lies deeper comes later, and so on top: a package of ours in a checkout that is hidden, tables in a package.
    layers = [(each, False) for each in shown] + [(each, True) for each in empty]
    for each, is_empty in sorted(layers, key=lambda layer: (len(layer[0].parts), layer[1])):
        command += ["--tmpfs", str(each)] if is_empty else ["--ro-bind", str(each), str(each)]
    for file in (Path(form) for source in barred.values() for form in list_file_forms(source)):
        command += ["--ro-bind", os.devnull, str(file)] if _is_shown(file, shown, empty) and file.exists() else []
    command += _caches()
    for folder in (*empty, "/dev", "/"):
        command += ["--remount-ro", str(folder)]
    environment = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_OF)}
    environment.pop("NUMBA_CACHE_DIR", None)  # it is not there
    environment |= {"HOME": "/tmp", "TMPDIR": "/tmp"}
    return Place([*command, "--chdir", "/tmp"], list(dict.fromkeys(seen)), environment)


def _to_hide(path: Iterable[str]) -> Iterator[Path]:
    """The folders of the run, the current one, the checkout, and copies of our packages beside those that run."""
    yield from map(Path, (os.getcwd(), *run_context.current().hidden))
    yield _PROJECT / "bench"
    if (_PROJECT / "pyproject.toml").exists():  # no folder of installed packages
        yield _PROJECT
    for entry in {*map(Path, path), *_site_packages()}:
        copies = (entry / "instances" / "seeds.py", entry / "ratiobench" / "instances" / "seeds.py")
        if entry.resolve() not in (_PROJECT, _IMPORTED) and any(map(Path.exists, copies)):
            yield from (entry / name for name in _PACKAGES if (entry / name).is_dir())
            if (entry / "pyproject.toml").exists():
                yield entry


def _site_packages() -> Iterator[Path]:
    """Where packages are installed for the Pythons that are shown, whether this one finds them or not."""
    for prefix in {Path(each) for each in (sys.prefix, sys.base_prefix, "/usr", "/usr/local")}:
        for pattern in ("lib*/python3*/*-packages", "local/lib/python3*/*-packages", "Lib/site-packages"):
            yield from prefix.glob(pattern)


def _empty(shown: Sequence[Path], hidden: Iterable[Path]) -> list[Path]:
    """Where in the sandbox each hidden folder would be seen, by whatever way."""
    found: dict[Path, None] = {}
    for folder in {each.resolve() for each in hidden}:
        for each in shown:
            if folder.is_dir() and folder.is_relative_to(each.resolve()):
                found[each / folder.relative_to(each.resolve())] = None
    return list(found)


def _is_shown(path: Path, shown: Sequence[Path], empty: Sequence[Path]) -> bool:
    """Whether a path is seen inside: the deepest folder that it is in, or that it is, is shown and not empty."""
    filled, hidden = set(shown), set(empty)
    deepest = next((each for each in (path, *path.parents) if each in filled or each in hidden), None)
    return deepest is not None and deepest not in hidden


def _require_needed(shown: Sequence[Path], empty: Sequence[Path]) -> None:
    """Refuse a sandbox in which the algorithm, Python or a library of theirs would be hidden.

    Raises
    ------
    InputError : naming the folder that would have to be shown.
    """
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    mapped: set[str] = set()
    if os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            mapped = {
                line.split(maxsplit=5)[5].strip() for line in file if line.rstrip().endswith(".so") or ".so." in line
            }
    needed = [sys.executable, os.path.realpath(sys.executable), *libraries, *sorted(mapped)]
    for each in (*map(Path, needed), *shown):
        covers = [folder for folder in empty if each.is_relative_to(folder)]
        if covers and each.exists() and not _is_shown(each, shown, empty):
            problem = f"{max(covers)} holds what it hides and {each}, which the algorithm needs: use another folder"
            raise InputError("--isolate", "", problem)


def _own(path: str) -> Path:
    """What is the algorithm's own: its file, or the folder of the package that it is in."""
    file = module_file(path)
    parents = path.partition(":")[0].count(".")
    if file.name == "__init__.py":
        parents += 1
    own = file if parents == 0 else file.parents[parents - 1]
    return own.absolute()


def writable_folders() -> tuple[str, ...]:
    """The folders that can be written inside: temporary ones, and those of compiled kernels."""
    return ("/tmp", "/dev/shm", *map(str, _compiled()))


def _compiled() -> dict[Path, list[Path]]:
    """The folders of compiled kernels, each with their files."""
    folders = (folder for floor in _LAYERS for folder in sorted((_PROJECT / floor).rglob("__pycache__")))
    compiled = {
        folder: sorted(file for file in folder.iterdir() if file.suffix in (".nbi", ".nbc")) for folder in folders
    }
    return {folder: files for folder, files in compiled.items() if files}


def _caches() -> Iterator[str]:
    """Kernels that were compiled outside are read where they are looked for; their folders can be written inside."""
    compiled = _compiled()
    for number, (folder, files) in enumerate(compiled.items()):
        size = str(_KERNEL_BYTES // len(compiled))
        yield from ("--ro-bind", str(folder), f"{_CACHES}/{number}", "--size", size, "--tmpfs", str(folder))
        for file in files:
            yield from ("--symlink", f"{_CACHES}/{number}/{file.name}", str(file))
