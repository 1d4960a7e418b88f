"""The process in which anyone's algorithm lives: it holds the past and nothing else.

It gets pickled messages from the referee and answers in lines of JSON, so nothing of the algorithm's own ever runs in
the referee's process. An audit hook watches what the algorithm reads: while it decides it may use what it was given
only; what it reads before the first arrival is reported, for the referee to see whether it was the instance.

Out of bounds at any time is the code that could make the instance once more: an algorithm that loads one of those
modules, by whatever means, or reads its file, or names it in a command, ends there. `online.referee.isolation` says
which they are. So are `gc`'s lists of all objects and, in the algorithm's own code, `ctypes`: both reach the watch.

The watch is Python in the algorithm's own process. It catches accidents and lazy cheating; who means to cheat can. Code
that somebody copied into a file of his own is not recognised, nor what another program does that the algorithm starts,
beyond the modules and files that its command line names; such programs are reported by their names. A wall that stands
is `online.referee.sandbox`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import pickle
import random
import re
import signal
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from instances.errors import DEBUG, tamed
from online.answers import Unfit, shown

DATA = (".json", ".gz", ".sqlite", ".db", ".csv", ".npz", ".npy", ".pkl", ".parquet")
_CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".nbi", ".nbc", ".pth")
_NEVER = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
_NOT_WHILE_DECIDING = ("socket.connect", "sqlite3.connect")
_COMMANDS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
_COPIES = ("os.fork", "os.forkpty")
_MODULES = re.compile(r"[a-z_]\w*(?:[.]\w+)+|(?:(?<=-m)|(?<=-m )|(?<=import )|(?<=from ))[a-z_]\w*")
"""In a command: the module that is run or imported, and whatever has a dot inside."""
_DEVICES = ("/proc/", "/sys/", "/dev/")
_PROCESS = re.compile(r"/proc/(\d+)/(statm$|task/\d+/children$)?")
_HOUSE = tuple(Path(__file__).resolve().parents[2] / name for name in ("bench", "formulations", "instances", "online"))
REFUSED = "refused"
"""The key of an answer that stands for one that was not sent."""
Plain = Callable[[Any], Any]
"""A copy of an answer in JSON values; TypeError or ValueError where it is none."""
Exposed = Callable[[Any], Any]
"""What an algorithm shows of itself when the run is over, in JSON values; for audits."""
Excess = Callable[[Any, Any], "str | None"]
"""What is wrong with an answer, given the public part, that is too long to be sent."""
_REPORTED = 1000
"""At most so many files are reported per message."""
_NAMED = 5
"""At most so many programs that the algorithm started are named."""


def serve(protocol: str) -> None:
    """Build the algorithm that the first message names, then answer until the referee closes the pipe.

    `protocol` is the family's module that says what an answer is, by its function `plain`, which one is too long, by
    `excess`, and what an algorithm may show of itself in the end, by `exposed`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    # What the algorithm prints must not get between the answers, nor into what the command prints.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    family = importlib.import_module(protocol)
    plain: Plain = family.plain
    excess: Excess = getattr(family, "excess", lambda answer, public: None)
    exposed: Exposed = getattr(family, "exposed", lambda algorithm: None)
    _, path, given, barred = pickle.load(requests)
    options = Options(given)
    drew = listen_for_draws()
    decide, report = watch(replies, barred)

    def send(reply: Mapping[str, Any]) -> None:
        _send(replies, {**reply, **report(), "drew": drew()})

    try:
        algorithm = _built(path, options)
        batch = hasattr(algorithm, "decide_batch")
        constants = [str(name) for name in getattr(algorithm, "constants", ())]
    except BaseException as error:
        send({"kind": "import", "detail": located(error)})
        return
    send({"kind": "ready", "constants": constants, "batch": batch})
    _Game(algorithm, batch, plain, excess, exposed, options).play(requests, send, decide)


class Options(MutableMapping[str, str]):
    """The options of anyone's algorithm; it remembers which were read, for one that nobody reads is misspelt."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._values, self.unread = dict(given), set(given)

    def __getitem__(self, key: str) -> str:
        self.unread.discard(key)
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        self.unread.clear()  # who sees all names can find the one that it does not know
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __setitem__(self, key: str, value: str) -> None:
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]


def _built(path: str, options: Mapping[str, str]) -> Any:
    module, _, attribute = path.partition(":")
    maker = getattr(importlib.import_module(module), attribute)
    return maker(options) if options else maker()


class _Game:
    """The algorithm and what it has answered."""

    def __init__(
        self, algorithm: Any, batch: bool, plain: Plain, excess: Excess, exposed: Exposed, options: Options
    ) -> None:
        self._algorithm, self._batch, self._options = algorithm, batch, options
        self._plain, self._excess, self._exposed = plain, excess, exposed
        self._public: Any = None
        self._kept: list[tuple[int, Any, Any]] = []

    def play(
        self, requests: IO[bytes], send: Callable[[Mapping[str, Any]], None], decide: Callable[[bool], None]
    ) -> None:
        """Answer the messages, until there are no more; `decide` tells the watch when the algorithm decides."""
        while True:
            try:
                message = pickle.load(requests)
            except EOFError:
                return
            decide(message[0] == "ask")
            try:
                reply = self._answer(message)
            except FrozenInstanceError as error:
                reply = {"kind": "read-only", "detail": located(error)}
            except ValueError as error:
                reply = {"kind": "read-only" if "read-only" in str(error) else "error", "detail": located(error)}
            except BaseException as error:  # the terminal's Ctrl-C does not come here: it is the algorithm's own
                reply = {"kind": "error", "detail": located(error)}
            decide(False)
            send(reply)

    def _answer(self, message: tuple[Any, ...]) -> dict[str, Any]:
        algorithm = self._algorithm
        _seal(message)
        if message[0] == "start":
            self._public, self._kept = message[1], []
            algorithm.start(message[1], message[2])
            return {"kind": "started", "unread": sorted(self._options.unread)}
        if message[0] == "ask":
            _, indices, arrivals, view = message
            answers = algorithm.decide_batch(arrivals, view) if self._batch else [algorithm.decide(arrivals[0], view)]
            if not isinstance(answers, list | tuple):
                return {"kind": "answers", "answers": shown(answers)}
            if len(answers) != len(indices):
                return {"kind": "answers", "answers": f"{len(answers)} answers"}
            told = [self._told(answer) for answer in answers]
            self._kept.extend(zip(indices, answers, told, strict=False))
            return {"kind": "answers", "answers": told}
        altered = [index for index, answer, before in self._kept if self._told(answer) != before]
        counts = {str(key)[:40]: int(value) for key, value in list(dict(getattr(algorithm, "counts", {})).items())[:20]}
        label = None if getattr(algorithm, "label", None) is None else shown(algorithm.label)
        shows = self._exposed(algorithm)
        return {"kind": "end", "altered": altered, "counts": counts, "label": label, "exposed": shows}

    def _told(self, answer: Any) -> Any:
        """The answer as JSON values, a text where it is none, and why it is refused where it is too long to be sent."""
        try:
            problem = self._excess(answer, self._public)
            return self._plain(answer) if problem is None else {REFUSED: problem}
        except Unfit as error:
            return {"answered": shown(answer), "wrong": shown(error)}
        except (TypeError, ValueError):
            return shown(answer)


def _seal(value: Any) -> None:
    """Make every array in a message read-only again: those that were sent come out writable."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple | list):
        for each in value:
            _seal(each)
    elif is_dataclass(value):
        for field in fields(value):
            _seal(getattr(value, field.name))


def line(error: BaseException) -> str:
    """An error on one line that is safe to print."""
    try:
        text = str(error)
    except Exception:  # an algorithm's own error may raise anything when it is asked what it says
        text = "it does not say what"
    return tamed(f"{type(error).__name__}: {text}", 300)


def located(error: BaseException) -> str:
    """An error on one line with the place in the algorithm's own code that led to it, where there is one.

    ``Type: message (file:line)``, the file as seen from `sys.path`.
    """
    if os.environ.get(DEBUG):
        with contextlib.suppress(Exception):  # the algorithm may have put anything in place of the error stream
            traceback.print_exception(error)
    place = tamed(_place(error), 150)
    return f"{line(error)[: 299 - len(place)]} {place}".rstrip()


def _place(error: BaseException) -> str:
    """``(file:line)`` of the last frame that is neither ours nor a library's, the file as seen from `sys.path`."""
    strange = (*_HOUSE, *(Path(folder).resolve() for folder in (sys.prefix, sys.base_prefix)))
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = Path(frame.f_code.co_filename).resolve()
        if file.is_file() and not any(folder in file.parents for folder in strange):
            roots = [root for root in map(_folder, sys.path) if root in file.parents]
            root = max(roots, key=lambda root: len(root.parts), default=file.parent)
            return f"({file.relative_to(root)}:{number})"
    return ""


def _folder(entry: str) -> Path:
    return Path(entry).resolve()


def _send(replies: int, reply: Mapping[str, Any]) -> None:
    data = memoryview(json.dumps(reply).encode() + b"\n")
    while data:
        data = data[os.write(replies, data) :]


def watch(replies: int, barred: Mapping[str, str]) -> tuple[Callable[[bool], None], Callable[[], dict[str, list[str]]]]:
    """Watch what this process does, from now on: what is never allowed ends it.

    Parameters
    ----------
    replies : file descriptor for the report.
    barred : the modules that may not be loaded, each with its file.

    Returns
    -------
    A function to be told whether the algorithm decides, and one that gives the files read since its last call and the
    programs started so far, by their names.
    """
    # All that the hook uses is bound here. No object holds it, and names in modules can be given another meaning.
    dumps, write, leave, here = json.dumps, os.write, os._exit, os.getpid()
    realpath, fsdecode, path_like, frame_at = os.path.realpath, os.fsdecode, os.PathLike, sys._getframe
    words_of, modules_of, pid_of = re.compile(r"[\s'\",\[\]]+").split, _MODULES.findall, _PROCESS.match
    only_writes = _only_writes
    barred = dict(barred)
    barred_files = {form: module for module, file in barred.items() for form in forms(file)}
    libraries = tuple({os.path.realpath(folder) + os.sep for folder in (sys.prefix, sys.base_prefix)})
    installed = (*(folder + os.sep for folder in (sys.prefix, sys.base_prefix)), *libraries)
    packages = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
    house = tuple(str(folder) + os.sep for folder in _HOUSE)
    frozen, data, code, devices = "<frozen", DATA, _CODE, _DEVICES
    own_ctypes = os.path.dirname(importlib.import_module("ctypes").__file__ or "") + os.sep
    own_subprocess = importlib.import_module("subprocess").__file__ or ""
    commands, copies, never, not_while_deciding = _COMMANDS, _COPIES, _NEVER, _NOT_WHILE_DECIDING
    reported, named = _REPORTED, _NAMED
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
            if not in_a_library(caller((own_ctypes, frozen))):
                caught(f"{event}: memory is out of bounds")
        elif deciding and event in not_while_deciding:
            caught(f"{event} while deciding")
        elif event in commands:
            commanded(event, " ".join(map(text_of, args[:2])))
            if not caller((own_subprocess,)).startswith(house):  # our solvers have processes of their own
                note(text_of(args[0]) if event != "os.system" else "sh")
        elif event in copies:
            note("a copy of itself")

    def caller(but: tuple[str, ...]) -> str:
        """The file of the code that did it, past the files whose names begin so."""
        frame = frame_at(2)
        while frame is not None and frame.f_code.co_filename.startswith(but):
            frame = frame.f_back  # type: ignore[assignment]
        return "" if frame is None else frame.f_code.co_filename

    def in_a_library(file: str) -> bool:
        return file.startswith((*installed, *house)) or any(folder in file for folder in packages)

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
        """A path into another process, where the referee's command line names the instance file.

        Sizes and numbers of children are no secret: our solvers watch the memory of their workers by them.
        """
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
    """Listen, from now on, whether anything here is drawn from a source that nobody seeded; gives what asks for it.

    Heard are Python's and NumPy's generators and the system's source, where a program uses them by Python; the standard
    library's own uses (temporary names, ...) and ours (all seeded) do not count. It is no proof that a decision depends
    on a draw.
    """
    heard = False
    seeded: set[str] = set()
    randoms: Any = random  # patched
    numpy_source: Any = importlib.import_module("numpy.random.bit_generator")
    makers = tuple(file for file in (random.__file__, importlib.import_module("secrets").__file__) if file)
    ignored = (sysconfig.get_path("stdlib") + os.sep, "<frozen", *(str(folder) + os.sep for folder in _HOUSE))
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
            seeded.add("random")
        randoms._inst.seed(a, version)

    def seed_of_numpy(seed: Any = None) -> None:
        if seed is not None:
            seeded.add("numpy")
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

    def drew() -> bool:
        now = random.getstate(), _numpy_state()
        moved = {name for name, a, b in zip(("random", "numpy"), before, now, strict=True) if a != b}
        return heard or bool(moved - seeded)

    return drew


def _numpy_state() -> bytes:
    """The state of NumPy's global generator."""
    return pickle.dumps(np.random.get_state())  # noqa: NPY002  (theirs may be it)


def forms(file: str) -> list[str]:
    """A module's file and those that Python compiles it into."""
    compiled = [importlib.util.cache_from_source(file, optimization=level) for level in ("", 1, 2)]
    return [os.path.realpath(form) for form in (file, *compiled)]


def _only_writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return not ({"r", "+"} & set(mode))
    return isinstance(flags, int) and flags & 3 == os.O_WRONLY
