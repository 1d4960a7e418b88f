"""What the process of anyone's algorithm reads, starts and draws, watched from inside: accidents and lazy cheating."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pickle
import random
import re
import sys
import sysconfig
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ratiobench.online.answers import PROJECT

DATA = (".json", ".cert", ".gz", ".sqlite", ".db", ".csv", ".npz", ".npy", ".pkl", ".parquet")
_NEVER = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
_COMMANDS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
# In a command: the module that is run or imported, and whatever has a dot inside
_MODULES = re.compile(r"[a-z_]\w*(?:[.]\w+)+|(?:(?<=-m)|(?<=-m )|(?<=import )|(?<=from ))[a-z_]\w*")
_PROCESS = re.compile(r"/proc/(\d+)/(statm$|task/\d+/children$)?")


def watch(replies: int, barred: Mapping[str, str]) -> tuple[Callable[[bool], None], Callable[[], dict[str, list[str]]]]:
    """Watch what this process does, from now on: what is never allowed ends it."""
    # All that the hook uses is bound here. No object holds it, and names in modules can be given another meaning.
    dumps, write, leave, here = json.dumps, os.write, os._exit, os.getpid()
    realpath, fsdecode, path_like, frame_at = os.path.realpath, os.fsdecode, os.PathLike, sys._getframe
    words_of, modules_of, pid_of = re.compile(r"[\s'\",\[\]]+").split, _MODULES.findall, _PROCESS.match
    only_writes = _only_writes
    barred = dict(barred)
    barred_files = {form: module for module, file in barred.items() for form in list_file_forms(file)}
    libraries = tuple({os.path.realpath(folder) + os.sep for folder in (sys.prefix, sys.base_prefix)})
    installed = (*(folder + os.sep for folder in (sys.prefix, sys.base_prefix)), *libraries)
    packages = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
    project = tuple(str(folder) + os.sep for folder in PROJECT)
    frozen, data, commands, never, devices = "<frozen", DATA, _COMMANDS, _NEVER, ("/proc/", "/sys/", "/dev/")
    code = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".nbi", ".nbc", ".pth")
    own_ctypes = os.path.dirname(importlib.import_module("ctypes").__file__ or "") + os.sep
    own_subprocess = importlib.import_module("subprocess").__file__ or ""
    copies, not_while_deciding = ("os.fork", "os.forkpty"), ("socket.connect", "sqlite3.connect")
    reported, named = 1000, 5  # So many files are reported per message, so many started programs named, at most
    read: dict[str, None] = {}
    started: dict[str, None] = {}
    deciding = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            opened(*args[:3])
        elif event == "import":
            forbid(args[0] if args[0] in barred else None, "loads")
        elif event in never:
            caught(f"{event}: the objects of this process are out of bounds")
        elif event.startswith("ctypes."):
            file = caller((own_ctypes, frozen))
            if not file.startswith((*installed, *project)) and not any(folder in file for folder in packages):
                caught(f"{event}: memory is out of bounds")
        elif deciding and event in not_while_deciding:
            caught(f"{event} while deciding")
        elif event in commands:
            commanded(event, " ".join(map(text_of, args[:2])))
            if not caller((own_subprocess,)).startswith(project):  # our solvers have processes of their own
                note(text_of(args[0]) if event != "os.system" else "sh")
        elif event in copies:
            note("a copy of itself")

    def caller(but: tuple[str, ...]) -> str:
        """The file of the code that did it, past the files whose names begin so."""
        frame = frame_at(2)
        while frame is not None and frame.f_code.co_filename.startswith(but):
            frame = frame.f_back  # type: ignore[assignment]
        return "" if frame is None else frame.f_code.co_filename

    def note(program: str) -> None:
        if len(started) < named:
            started[program.strip().rpartition(os.sep)[2][:40]] = None

    def commanded(event: str, text: str) -> None:
        for module in modules_of(text):
            forbid(module if module in barred else None, f"{event} names")
        for word in words_of(text):
            forbid(barred_files.get(realpath(word)), f"{event} names")
            if foreign(word) or word.endswith(data):
                if deciding:
                    caught(f"{event} {word} while deciding")
                read[realpath(word)] = None

    def opened(path: object, mode: object = None, flags: object = 0) -> None:
        if not isinstance(path, str | bytes | path_like) or only_writes(mode, flags):
            return
        name = fsdecode(path)
        if foreign(name):
            caught(f"open {name}")
        full = realpath(name)
        # An import that is no statement shows by its file only.
        forbid(barred_files.get(full), "reads the code of")
        if name.endswith(code) or full.startswith(devices):
            return
        # Libraries read their own tables.
        if deciding and name.endswith(data) and not full.startswith(libraries):
            caught(f"open {name} while deciding")
        read[full] = None

    def foreign(path: str) -> bool:
        """A path into another process, where the referee's command line names the instance file."""
        # Sizes and numbers of children are no secret: our solvers watch the memory of their workers by them.
        match = pid_of(path)
        return match is not None and match[2] is None and int(match[1]) != here

    def text_of(value: Any) -> str:
        if isinstance(value, list | tuple):
            return " ".join(map(text_of, value))
        return fsdecode(value) if isinstance(value, str | bytes | path_like) else ""

    def forbid(module: str | None, how: str) -> None:
        if module is not None:
            caught(f"{how} {module}: what can make the instance again is out of bounds")

    def caught(what: str) -> NoReturn:
        # At once, and out: afterwards the algorithm could take it back.
        reply = memoryview(dumps({"kind": "peeks", "detail": what, "read": []}).encode() + b"\n")
        while reply:
            reply = reply[write(replies, reply) :]
        leave(3)

    def decide(now: bool) -> None:
        nonlocal deciding
        deciding = now

    def report() -> dict[str, list[str]]:
        seen = list(read)[:reported]
        read.clear()
        return {"read": seen, "started": list(started)}

    sys.addaudithook(hook)
    return decide, report


def listen_for_draws() -> Callable[[], bool]:
    """Listen, from now on, whether anything here is drawn from a source that nobody seeded; gives what asks for it."""
    # Heard are Python's and NumPy's generators and the system's source, where a program uses them by Python; uses of
    # the standard library (temporary names, ...) and ours (all seeded) do not count.
    heard = False
    seeded: set[str] = set()
    randoms: Any = random  # patched
    numpy_source: Any = importlib.import_module("numpy.random.bit_generator")
    makers = tuple(file for file in (random.__file__, importlib.import_module("secrets").__file__) if file)
    ignored = (sysconfig.get_path("stdlib") + os.sep, "<frozen", *(str(folder) + os.sep for folder in PROJECT))
    seed_one, system, seed_numpy = random.Random.seed, os.urandom, np.random.seed
    bits, before = numpy_source.randbits, (random.getstate(), _numpy_state())

    def hear() -> None:
        nonlocal heard
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename in makers:
            frame = frame.f_back
        file = "" if frame is None else frame.f_code.co_filename
        heard = heard or not file.startswith(ignored) or "-packages" in file

    def seed_of_one(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None:
            hear()
        seed_one(self, a, version)

    def seed_of_all(a: Any = None, version: int = 2) -> None:
        if a is not None:
            note_seed("random")
        randoms._inst.seed(a, version)

    def seed_of_numpy(seed: Any = None) -> None:
        if seed is not None:
            note_seed("numpy")
        seed_numpy(seed)

    def from_system(size: int) -> bytes:
        hear()
        return system(size)

    def bits_for_numpy(k: int) -> int:
        hear()
        return int(bits(k))

    randoms.Random.seed, randoms.seed, np.random.seed = seed_of_one, seed_of_all, seed_of_numpy
    os.urandom = randoms._urandom = from_system
    numpy_source.randbits = bits_for_numpy

    def note_seed(generator: str) -> None:
        """From here on its state says nothing of what was drawn before."""
        nonlocal heard
        if generator not in seeded:
            heard = drew()
            seeded.add(generator)

    def drew() -> bool:
        now = random.getstate(), _numpy_state()
        moved = {name for name, a, b in zip(("random", "numpy"), before, now, strict=True) if a != b}
        return heard or bool(moved - seeded)

    return drew


def prepare_watch() -> None:
    """Load what `listen_for_draws` uses, so that the forks of a server need not."""
    sysconfig.get_path("stdlib")
    _numpy_state()


def _numpy_state() -> bytes:
    """The state of NumPy's global generator."""
    return pickle.dumps(np.random.get_state())  # noqa: NPY002  (theirs may be it)


@cache
def list_file_forms(file: str) -> tuple[str, ...]:
    """A module's file and those that Python compiles it into."""
    forms = []
    for form in (file, *(importlib.util.cache_from_source(file, optimization=level) for level in ("", 1, 2))):
        folder, name = os.path.split(form)
        found = os.path.join(_real_folder(folder), name)
        forms.append(os.path.realpath(found) if os.path.islink(found) else found)
    return tuple(forms)


@cache
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _only_writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return not ({"r", "+"} & set(mode))
    return isinstance(flags, int) and flags & 3 == os.O_WRONLY
