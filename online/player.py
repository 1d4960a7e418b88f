"""The process in which anyone's algorithm lives: it holds the past and nothing else.

It gets pickled messages from the referee and answers in lines of JSON, so nothing of the algorithm's own ever runs in
the referee's process. An audit hook watches what the algorithm reads: while it decides it may use what it was given
only; what it reads before the first arrival is reported, for the referee to see whether it was the instance.

Out of bounds at any time is the code that could make the instance once more: an algorithm that loads one of those
modules, by whatever means, or reads its file, or names it in a command, ends there. `online.isolation` says which they
are. What is seen is the loading and the reading: code that somebody copied into a file of his own is not recognised,
nor what another program does that the algorithm starts, beyond the modules and files that its command line names.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import pickle
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from formulations.worker import die_with_parent
from instances.errors import DEBUG
from online.answers import Unfit, shown

DATA = (".json", ".gz", ".sqlite", ".db", ".csv", ".npz", ".npy", ".pkl", ".parquet")
_CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".nbi", ".nbc", ".pth")
_NEVER = ("gc.get_objects", "gc.get_referrers", "gc.get_referents", "socket.connect", "sqlite3.connect")
_COMMANDS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
_MODULES = re.compile(r"[a-z_]\w*(?:[.]\w+)+|(?:(?<=-m)|(?<=-m )|(?<=import )|(?<=from ))[a-z_]\w*")
"""In a command: the module that is run or imported, and whatever has a dot inside."""
_DEVICES = ("/proc/", "/sys/", "/dev/")
_HOUSE = tuple(Path(__file__).resolve().parents[1] / name for name in ("bench", "formulations", "instances", "online"))
Plain = Callable[[Any], Any]
"""A copy of an answer in JSON values; TypeError or ValueError where it is none."""
Exposed = Callable[[Any], Any]
"""What an algorithm shows of itself when the run is over, in JSON values; for audits."""
_REPORTED = 1000
"""At most so many files are reported per message."""


def serve(parent: int, protocol: str) -> None:
    """Build the algorithm that the first message names, then answer until the referee closes the pipe.

    `protocol` is the family's module that says what an answer is, by its function `plain`, and what an algorithm may
    show of itself in the end, by `exposed`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    # What the algorithm prints must not get between the answers, nor into what the command prints.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    family = importlib.import_module(protocol)
    plain: Plain = family.plain
    exposed: Exposed = getattr(family, "exposed", lambda algorithm: None)
    _, path, given, barred = pickle.load(requests)
    options = Options(given)
    watch = Watch(replies, barred)
    sys.addaudithook(watch)
    try:
        algorithm = _built(path, options)
        batch = hasattr(algorithm, "decide_batch")
        constants = [str(name) for name in getattr(algorithm, "constants", ())]
    except BaseException as error:
        _send(replies, {"kind": "import", "detail": located(error), "read": watch.taken()})
        return
    _send(replies, {"kind": "ready", "constants": constants, "batch": batch, "read": watch.taken()})
    _play(algorithm, batch, plain, exposed, requests, replies, watch, options)


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


def _play(
    algorithm: Any,
    batch: bool,
    plain: Plain,
    exposed: Exposed,
    requests: IO[bytes],
    replies: int,
    watch: Watch,
    options: Options,
) -> None:
    kept: list[tuple[int, Any, Any]] = []
    while True:
        try:
            message = pickle.load(requests)
        except EOFError:
            return
        watch.deciding = message[0] == "ask"
        try:
            reply = _answer(algorithm, batch, plain, exposed, message, kept)
            if reply["kind"] == "started":
                reply["unread"] = sorted(options.unread)
        except FrozenInstanceError as error:
            reply = {"kind": "read-only", "detail": located(error)}
        except ValueError as error:
            reply = {"kind": "read-only" if "read-only" in str(error) else "error", "detail": located(error)}
        except BaseException as error:  # the terminal's Ctrl-C does not come here: it is the algorithm's own
            reply = {"kind": "error", "detail": located(error)}
        watch.deciding = False
        _send(replies, reply | {"read": watch.taken()})


def _answer(
    algorithm: Any,
    batch: bool,
    plain: Plain,
    exposed: Exposed,
    message: tuple[Any, ...],
    kept: list[tuple[int, Any, Any]],
) -> dict[str, Any]:
    _seal(message)
    if message[0] == "start":
        algorithm.start(message[1], message[2])
        return {"kind": "started"}
    if message[0] == "ask":
        _, indices, arrivals, view = message
        answers = algorithm.decide_batch(arrivals, view) if batch else [algorithm.decide(arrivals[0], view)]
        if not isinstance(answers, list | tuple):
            return {"kind": "answers", "answers": shown(answers)}
        told = [_told(plain, answer) for answer in answers]
        kept.extend(zip(indices, answers, told, strict=False))
        return {"kind": "answers", "answers": told}
    altered = [index for index, answer, before in kept if _told(plain, answer) != before]
    counts = {str(key)[:40]: int(value) for key, value in list(dict(getattr(algorithm, "counts", {})).items())[:20]}
    label = None if getattr(algorithm, "label", None) is None else shown(algorithm.label)
    return {"kind": "end", "altered": altered, "counts": counts, "label": label, "exposed": exposed(algorithm)}


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


def _told(plain: Plain, answer: Any) -> Any:
    """The answer as JSON values, or a text where it is none."""
    try:
        return plain(answer)
    except Unfit as error:
        return {"answered": shown(answer), "wrong": shown(error)}
    except (TypeError, ValueError):
        return shown(answer)


def line(error: BaseException) -> str:
    """An error on one line."""
    try:
        text = str(error)
    except Exception:  # an algorithm's own error may raise anything when it is asked what it says
        text = "it does not say what"
    return f"{type(error).__name__}: {' '.join(text.split())}"[:300]


def located(error: BaseException) -> str:
    """An error on one line with the place in the algorithm's own code that led to it, where there is one.

    ``Type: message (file:line)``, the file as seen from `sys.path`.
    """
    if os.environ.get(DEBUG):
        with contextlib.suppress(Exception):  # the algorithm may have put anything in place of the error stream
            traceback.print_exception(error)
    place = _place(error)
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


class Watch:
    """The audit hook: ends the process at what is never allowed, and notes the files that are read.

    Parameters
    ----------
    replies : file descriptor for the report.
    barred : the modules that may not be loaded, each with its file.
    """

    def __init__(self, replies: int, barred: Mapping[str, str]) -> None:
        self.deciding = False
        self._replies = replies
        self._barred = barred
        self._barred_files = {form: module for module, file in barred.items() for form in _forms(file)}
        self._read: dict[str, None] = {}
        self._libraries = tuple({os.path.realpath(folder) + os.sep for folder in (sys.prefix, sys.base_prefix)})

    def taken(self) -> list[str]:
        """The files read since the last call."""
        read, self._read = list(self._read)[:_REPORTED], {}
        return read

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*args[:3])
        elif event == "import":
            self._forbid(args[0] if args[0] in self._barred else None, "loads")
        elif self.deciding and event in _NEVER:
            self._caught(f"{event} while deciding")
        elif event in _COMMANDS:
            self._commanded(event, " ".join(map(_text, args[:2])))

    def _commanded(self, event: str, text: str) -> None:
        for module in _MODULES.findall(text):
            self._forbid(module if module in self._barred else None, f"{event} names")
        for word in re.split(r"[\s'\",\[\]]+", text):
            self._forbid(self._barred_files.get(os.path.realpath(word)), f"{event} names")
            if _foreign_process(word) or _named_data(word):
                if self.deciding:
                    self._caught(f"{event} {word} while deciding")
                self._read[os.path.realpath(word)] = None

    def _opened(self, path: object, mode: object = None, flags: object = 0) -> None:
        if not isinstance(path, str | bytes | os.PathLike) or _only_writes(mode, flags):
            return
        name = os.fsdecode(path)
        if _foreign_process(name):
            self._caught(f"open {name}")
        full = os.path.realpath(name)
        # An import that is no statement shows by its file only.
        self._forbid(self._barred_files.get(full), "reads the code of")
        if name.endswith(_CODE) or full.startswith(_DEVICES):
            return
        # Libraries read their own tables.
        if self.deciding and _named_data(name) and not full.startswith(self._libraries):
            self._caught(f"open {name} while deciding")
        self._read[full] = None

    def _forbid(self, module: str | None, how: str) -> None:
        if module is not None:
            self._caught(f"{how} {module}: what can make the instance again is out of bounds")

    def _caught(self, what: str) -> NoReturn:
        # At once, and out: afterwards the algorithm could take it back.
        _send(self._replies, {"kind": "peeks", "detail": what, "read": []})
        os._exit(3)


def _forms(file: str) -> list[str]:
    """A module's file and those that Python compiles it into."""
    compiled = [importlib.util.cache_from_source(file, optimization=level) for level in ("", 1, 2)]
    return [os.path.realpath(form) for form in (file, *compiled)]


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else ""


def _only_writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return not ({"r", "+"} & set(mode))
    return isinstance(flags, int) and flags & 3 == os.O_WRONLY


def _named_data(path: str) -> bool:
    return path.endswith(DATA)


def _foreign_process(path: str) -> bool:
    """A path into another process, where the referee's command line names the instance file.

    Sizes and numbers of children are no secret: our solvers watch the memory of their workers by them.
    """
    match = re.match(r"/proc/(\d+)/(statm$|task/\d+/children$)?", path)
    return match is not None and match[2] is None and int(match[1]) != os.getpid()
