"""Anyone's algorithm, run in a process of its own (`ratiobench.online.referee.runner`) that holds the past and nothing
else.

The instance never enters that process: it gets the public part, the declared constants and one arrival at a time, and
its answers come back as JSON. A second run, on the first half of the arrivals, shows whether the decisions are a
function of the past at all. What the algorithm starts ends with it, and counts in its memory, detached or not.

Most suites draw their instances from recipes, so whoever has the generator has the future. An algorithm may not load or
read, at any time, a module of `bench` (recipes, results) nor what only makes instances: the modules of
`ratiobench.instances.FAMILY` that neither that package itself nor any solver or algorithm of ours imports. The rest is
free: models, formats, solutions, protocols, and every solver and algorithm of ours on what has arrived so far.

The watch (`ratiobench.online.referee.watch.watch`) catches accidents and lazy cheating; a program that means to cheat
can get round it. `ratiobench.online.referee.sandbox` holds such a program back: all commands use it where the system
allows it, and a row says how its algorithm was isolated.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import IO, Any, TypeVar

from ratiobench.formulations.processes import (
    count_threads,
    descendants,
    end_keeper,
    is_dumpable,
    remove_tree,
    set_dumpable,
    sizes_of_removed_files,
    tree_memory_mb,
)
from ratiobench.formulations.timing import excluded_from_timing
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, make_printable, suggest_name
from ratiobench.instances.io.seeds import Stream
from ratiobench.online import run_context
from ratiobench.online.answers import read_whole, shorten
from ratiobench.online.modules import class_names
from ratiobench.online.outcome import Constant, Violation
from ratiobench.online.referee import confinement, sandbox
from ratiobench.online.referee.arrival_count import other_simulations
from ratiobench.online.referee.bounds import list_barred, shows_the_future
from ratiobench.online.referee.messages import Sender
from ratiobench.online.referee.process import AnyProcess, ServedProcess, start_process
from ratiobench.online.referee.runner import COMPILING, REFUSED
from ratiobench.online.referee.simulator import (
    ARRIVAL,
    LogEntry,
    Question,
    RefusedAnswer,
    RuleViolation,
    Simulator,
    first_difference,
    make_altered_violation,
    simulate,
)
from ratiobench.online.registry import Instance, Registry
from ratiobench.online.remarks import LANDLOCK, NO_ISOLATION, Remarks
from ratiobench.online.spec import Spec, suggest_commas, version

ANSWER_SECONDS = 600.0  # An algorithm that does not answer in this time has broken the protocol
BUILD_SECONDS = 60.0  # Where a run has a limit, building the algorithm has one of its own: its process has to start
# So much of what its process spends compiling with numba is in neither the seconds of a run nor its limit
COMPILING_SECONDS = 120.0
# An algorithm's process measures its time itself. The way there and back may take so much of the time in which the
# referee waits for an answer (seconds of each question, bytes a second); the rest is the algorithm's, whatever it says
WAY_SECONDS, WAY_BYTES = 0.01, 10**8
MEMORY_MB = 4096  # An algorithm that takes more memory, with the processes it starts, has broken the protocol
OUTPUT_BYTES = 5 * 10**6  # What an algorithm prints beyond that, in all its runs on an instance, is dropped
# Files that an algorithm may read before and between its decisions: each is looked through for the future
FILES = 1_000
REPEATS = 6  # So many whole runs must agree before one that drew is taken for reproducible, or one is said to peek
T = TypeVar("T")
Settle = Callable[[tuple[str, ...]], tuple[Constant, ...]]  # The constants of these names, with their values
_LINE_LIMIT = 2**26
_ALTERED = 20  # Arrivals whose altered answers are named
_NAMES = 100  # Constants and events that an algorithm may name
_REPLY_VALUES, _TASK_VALUES = 2**18, 2**13  # Values in a reply, and more for each task that it decides about
_CPU_SECONDS = 86_400  # Of each process of an isolated algorithm, where a run has no limit
_OWN_PROCESSES = 3  # Beside those of the algorithm: the keeper, or bubblewrap and the server inside
# Files and folders that an algorithm under Landlock may keep in its temporary folder, and how deep
_FOLDER_FILES, _FOLDER_DEPTH = 10_000, 100


class _Guard:
    """Ends the algorithm's process when it does not answer in time or grows too big, and remembers why."""

    def __init__(self, process: AnyProcess, *, isolated: bool = False, folder: str | None = None) -> None:
        self.foul: tuple[str, str] | None = None
        self._process, self._isolated, self._folder = process, isolated, folder
        self._limit = run_context.current().limit
        self._deadline: float | None = None
        self.begin(BUILD_SECONDS)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="algorithm-guard")
        self._thread.start()

    def begin(self, seconds: float | None = None) -> None:
        """The clock for a whole run starts, if there is a limit, or one for as many seconds."""
        context = run_context.current()
        if self._limit is not None and seconds is None:
            seconds = self._limit if context.left is None else max(0.0, min(self._limit, context.left()))
        self._end = None if self._limit is None or seconds is None else (time.monotonic() + seconds, seconds)

    def spare(self, seconds: float) -> None:
        """The clock for a whole run is put back so far."""
        if self._end is not None:
            self._end = (self._end[0] + seconds, self._end[1])

    def ask(self) -> None:
        self._deadline = time.monotonic() + ANSWER_SECONDS

    def answered(self) -> None:
        self._deadline = None

    def _run(self) -> None:
        turn = 0
        while not self._done.wait(0.05):
            turn += 1
            try:
                self.foul = self._judge(turn)
            except Exception as error:  # an error here may not switch the limits off
                self.foul = ("crash", f"it cannot be watched: {shorten(type(error).__name__)}")
            if self.foul is not None:
                end_keeper(self._process)
                return

    def _judge(self, turn: int) -> tuple[str, str] | None:
        now, deadline, end = time.monotonic(), self._deadline, self._end
        if end is not None and now > end[0]:
            return "timeout", run_context.stop_message(end[1])
        if deadline is not None and now > deadline:
            return "timeout", f"no answer within {ANSWER_SECONDS:g} s"
        if tree_memory_mb(self._process.pid) > MEMORY_MB:
            return "memory", f"more than {MEMORY_MB} MB in use"
        if not self._isolated:
            return None
        below = descendants(self._process.pid)
        if len(below) > confinement.PROCESSES + _OWN_PROCESSES:
            return "processes", f"more than {confinement.PROCESSES} processes at a time"
        if sum(map(count_threads, below)) > confinement.THREADS + 4 * (os.cpu_count() or 1):
            return "processes", f"more than {confinement.THREADS} threads at a time"
        if turn % 4:
            return None
        removed: dict[tuple[int, int], int] = {}
        for each in below:
            removed |= sizes_of_removed_files(each)
        if self._folder is not None:
            return _too_full(self._folder, removed)
        if sum(removed.values()) >> 20 > MEMORY_MB:
            return "memory", f"more than {MEMORY_MB} MB in use"
        return None

    def stop(self) -> None:
        self._done.set()
        _await_end(self._thread)


def _too_full(folder: str, removed: dict[tuple[int, int], int]) -> tuple[str, str] | None:
    """The limit on its folder that an algorithm exceeds, None for none; `removed`: sizes of files without a name."""
    device = os.lstat(folder).st_dev
    shared = sum(size for (place, _), size in removed.items() if place != device)
    if shared >> 20 > MEMORY_MB:
        return "memory", f"more than {MEMORY_MB} MB in use"
    sizes = {inode: size for (place, inode), size in removed.items() if place == device}
    ways = [(folder, 0)]
    count = 0
    while ways:
        parent, depth = ways.pop()
        if depth > _FOLDER_DEPTH:
            return "disk", f"folders in its temporary folder are more than {_FOLDER_DEPTH} deep"
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                count += 1
                with contextlib.suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    sizes[about.st_ino] = about.st_blocks * 512
                    if stat.S_ISDIR(about.st_mode):
                        ways.append((entry.path, depth + 1))
    if count > _FOLDER_FILES or sum(sizes.values()) > sandbox.TMP_BYTES:
        return "disk", f"more than {sandbox.TMP_BYTES >> 20} MB or {_FOLDER_FILES} files in its temporary folder"
    return None


def _await_end(thread: threading.Thread, seconds: float | None = None) -> None:
    """Wait for the end of a thread, not for one's own: garbage, with what it closes, is collected in any thread."""
    if thread is not threading.current_thread():
        thread.join(seconds)


class Echo:
    """What an algorithm prints, passed on to the error stream: up to `OUTPUT_BYTES`, then a line that says so."""

    def __init__(self, name: str) -> None:
        self._name, self._left, self._told = name, OUTPUT_BYTES, False

    def follow(self, pipe: IO[bytes]) -> threading.Thread:
        """Pass on what comes through the pipe, in a thread, until its end."""
        thread = threading.Thread(target=self._run, args=(pipe,), daemon=True, name="algorithm-echo")
        thread.start()
        return thread

    def _run(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 2**16):
                _print(data[: self._left])
                dropped, self._left = len(data) > self._left, max(0, self._left - len(data))
                if dropped and not self._told:
                    self._told = True
                    limit = f"{OUTPUT_BYTES / 10**6:g} MB"
                    _print(f"\nratiobench: {self._name} printed more than {limit}; the rest is dropped\n".encode())


# Control bytes, which a terminal would execute, are printed as question marks
_PRINTABLE = bytes(byte if byte in b"\t\n\r" or 32 <= byte != 127 else ord("?") for byte in range(256))


def _print(data: bytes) -> None:
    data = data.translate(_PRINTABLE)
    with contextlib.suppress(OSError):  # nobody reads it
        while data:
            data = data[os.write(2, data) :]


class _Shut:
    """While anyone's algorithm runs, its processes may not look into the memory of this one (root's may)."""

    def __init__(self) -> None:
        self._lock, self._holders, self._before = threading.RLock(), 0, False

    def change(self, by: int) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = is_dumpable()
            self._holders += by
            set_dumpable(self._before and self._holders == 0)


_shut = _Shut()


class Runner:
    """The referee's end of the algorithm's process; every way in which that can fail is a Foul.

    `protocol`: the family's module that says what an answer is, and, as `sent_once`, of which classes an object is sent
    once (`ratiobench.online.referee.messages`); `betrays`: whether a file that the algorithm read shows what it must
    not know; `seed`: name of the random stream of an algorithm that draws: it gets a number that depends on this alone,
    as its attribute `seed` if it is declared `randomised`, and from the second repetition on in the place of an option
    `seed`; `number`: of the run, among those that are compared with each other: two in a row share no hash seed;
    `drew`: something was drawn in its process from a source that nobody seeded; `started`: the programs that it has
    started, by their names; our solvers are not among them; `compiling`: seconds that numba took in its process since
    the algorithm was built; `compiled`: those of all runs on an instance; `seconds`: those in which it started and
    decided, compiling left out; `isolation`: how the process is isolated (`ratiobench.online.remarks`); empty where
    isolation does not apply.
    """

    def __init__(
        self,
        spec: Spec,
        protocol: str,
        betrays: Callable[[str], bool],
        echo: Echo | None = None,
        seed: str = "",
        number: int = 0,
        compiled: list[float] | None = None,
    ) -> None:
        self._betrays, self._path = betrays, spec.path
        self._sender = Sender(getattr(importlib.import_module(protocol), "sent_once", ()))
        own = run_context.current().own.get(spec.path)
        self._looked_at: set[str] = set()
        self.drew = False
        self.started: list[str] = []
        self.compiling = self.seconds = 0.0
        self._compiled = [0.0] if compiled is None else compiled
        self._compiles_since: float | None = None
        self._ready = contextlib.ExitStack()
        isolate = run_context.current().isolate
        method = sandbox.choose_for(protocol, isolate)
        self.isolation = "" if isolate is False else method
        self._isolated = method != NO_ISOLATION
        self._folder: str | None = None
        if method == LANDLOCK:
            self._folder = os.path.realpath(tempfile.mkdtemp(prefix="ratiobench-run-"))
        try:
            path, files = (spec.path, ()) if own is None else (None, own.files)
            self._process = start_process(path, files, protocol, number, method, self._folder, _cpu_seconds())
        except BaseException:
            self._remove_folder()
            raise
        _shut.change(1)
        assert self._process.stderr is not None
        self._echo = (echo or Echo(spec.name)).follow(self._process.stderr)
        self._guard = _Guard(self._process, isolated=self._isolated, folder=self._folder)
        self._closed = False
        try:
            drawn, options = _seeded(spec, seed)
            given = None if own is None else own.pickled
            reply = self._exchange(("build", spec.path, options, list_barred(), drawn, given), None, _built)
            if isinstance(reply, str):
                raise InputError("algorithm", spec.path, f"cannot be built: {reply}{_how_built(spec, reply)}")
            self.constants, self.batch, self.events, self.randomised = reply
            for name in spec.given:
                if name not in self.constants:
                    raise InputError("algorithm", f"{spec.path}:{name}", f"{spec.path} declares no such constant")
        except BaseException:
            self.close()
            raise

    def rebuild(self) -> None:
        """Build the algorithm anew in the same process, for another instance."""
        reply = self._exchange(("renew",), None, _built)
        if isinstance(reply, str):
            raise RuleViolation("error", None, reply)

    def start(self, public: Any, constants: Mapping[str, Fraction]) -> None:
        """Hand over the public part and the constants."""
        self._guard.begin()
        unread = self._exchange(("start", public, dict(constants)), None, lambda reply: list(reply["unread"]))
        if unread:
            where = f"{self._path}:{shorten(unread[0])}"
            raise InputError("algorithm", where, "neither the constructor nor `start` reads this option: misspelt?")

    def ask(self, question: Question) -> Sequence[Any]:
        """The answers to one question; None, unasked, at events that the algorithm has no method for."""
        if question.event != ARRIVAL and question.event not in self.events:
            return [None] * len(question.indices)
        message = ("ask", question.view, list(question.indices), list(question.arrivals), question.event)
        answers = self._exchange(message, question.indices[0], lambda reply: reply["answers"])
        return [_heard(answer) for answer in answers] if isinstance(answers, list) else [answers]

    def end(self) -> tuple[list[int | None], dict[str, int], str | None, Any]:
        """Arrivals whose answers were altered later, counts, label, and what it shows of itself."""
        return self._exchange(("end",), None, _last_words)

    def _exchange(self, message: tuple[Any, ...], index: int | None, take: Callable[[dict[str, Any]], T]) -> T:
        """Send a message and take what is wanted from the reply, which may be anything at all."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        data = self._sender.pack(message)
        self._guard.ask()
        # When the process is gone, what it had to say before (it peeked) still stands in the pipe.
        with contextlib.suppress(OSError):
            self._process.stdin.write(data)
            self._process.stdin.flush()
        sent, compiling = time.perf_counter(), self.compiling
        line = self._process.stdout.readline(_LINE_LIMIT)
        while line in COMPILING:
            self._compiles(line == COMPILING[0])
            line = self._process.stdout.readline(_LINE_LIMIT)
        self._compiles(False)
        passed = time.perf_counter() - sent - (self.compiling - compiling)
        if not line.endswith(b"\n"):
            self._guard.answered()
            self._guard.stop()
            end_keeper(self._process)
            code = self._process.wait()
            found = ("crash", f"the algorithm's process died (exit status {code})")
            if self._isolated and code in _CPU_TIME_IS_UP:
                found = ("timeout", f"more than {_cpu_seconds()} s of processor time")
            rule, detail = self._guard.foul or found
            raise RuleViolation(rule, index, detail)
        try:
            asked = len(message[2]) if message[0] == "ask" else 0
            if packing.count_values(line) > min(packing.MOST, _REPLY_VALUES + _TASK_VALUES * asked):
                raise ValueError
            reply = _DECODER.decode(line.decode())
            if not self._isolated:  # a sandbox shows nothing that could betray the future
                self._look_through(reply["read"], index)
            self._guard.answered()
            if reply["kind"] in ("error", "read-only", "peeks"):
                raise RuleViolation(reply["kind"], index, _detail(reply))
            if reply["kind"] not in _REPLIES[message[0]]:
                raise ValueError(reply["kind"])
            self.drew = self.drew or bool(reply.get("drew"))
            self.started = [shorten(name) for name in reply.get("started", ())]
            if message[0] in ("start", "ask"):
                way = WAY_SECONDS + len(data) / WAY_BYTES
                self.seconds += max(0.0, min(passed, max(passed - way, reply["seconds"])))
            return take(reply)
        except (ValueError, ArithmeticError, RecursionError, TypeError, LookupError, AttributeError):
            raise RuleViolation("protocol", index, f"answered {shorten(line[:80])!r}") from None

    def _look_through(self, paths: list[str], index: int | None) -> None:
        """Look whether a file that it read shows the future: each file once, so long as its clocks allow."""
        for path in paths:
            if path in self._looked_at:
                continue
            self._looked_at.add(path)
            if len(self._looked_at) > FILES:
                raise RuleViolation("peeks", index, f"read more than {FILES} files, the most that are looked through")
            if self._guard.foul is not None:
                raise RuleViolation(self._guard.foul[0], index, self._guard.foul[1])
            if self._betrays(path):
                raise RuleViolation(
                    "peeks", index, f"read {make_printable(path, 300)}: it may use what it was given only"
                )

    def _compiles(self, begins: bool) -> None:
        """The algorithm's process compiles from here on, or no longer; its word is taken for `COMPILING_SECONDS`."""
        if begins and self._compiles_since is None:
            self._ready.enter_context(excluded_from_timing())  # nor is it in the clocks of this process
            self._compiles_since = time.monotonic()
            self._guard.spare(COMPILING_SECONDS - self._compiled[0])
        elif not begins and self._compiles_since is not None:
            left = COMPILING_SECONDS - self._compiled[0]
            spent = min(time.monotonic() - self._compiles_since, left)
            self._guard.spare(spent - left)
            self.compiling += spent
            self._compiled[0] += spent
            self._compiles_since = None
            self._ready.close()

    def close(self) -> None:
        """End the process with whatever it started."""
        if self._closed:
            return
        self._closed = True
        self._guard.stop()
        end_keeper(self._process)
        self._process.wait()
        _await_end(self._echo, 1)
        _shut.change(-1)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if isinstance(self._process, ServedProcess):
            self._process.release()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            remove_tree(self._folder)


# Exit statuses of a process that the kernel ended for its processor time; the second one comes through bubblewrap
_CPU_TIME_IS_UP = tuple(getattr(signal, "SIGXCPU", 24) * sign + shift for sign, shift in ((-1, 0), (1, 128)))


def _cpu_seconds() -> int:
    """The processor time of each process of an isolated algorithm: all cores for as long as a run may take."""
    limit = run_context.current().limit
    if limit is None:
        return _CPU_SECONDS
    return math.ceil((limit + BUILD_SECONDS + COMPILING_SECONDS) * (os.cpu_count() or 1))


def _refuse(constant: str) -> None:
    """Refuse NaN and infinities, which JSON does not have."""
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _heard(answer: Any) -> Any:
    return RefusedAnswer(shorten(answer[REFUSED])) if isinstance(answer, dict) and REFUSED in answer else answer


_READY = ("ready", "import")
_REPLIES = {"build": _READY, "renew": _READY, "start": ("started",), "ask": ("answers",), "end": ("end",)}


def _how_built(spec: Spec, reply: str) -> str:
    context = run_context.current()
    if reply.startswith("ModuleNotFoundError") and context.isolate is not False:
        return (
            "; in a sandbox an algorithm finds installed packages and the modules that it imports from its own folder"
        )
    if reply.startswith("AttributeError: module") and spec.path not in context.own:
        return suggest_name(spec.path.partition(":")[2], class_names(spec.path))
    if hint := next(filter(None, (suggest_commas(spec.name, value) for value in spec.options.values())), ""):
        return hint
    if not reply.startswith("TypeError") or "argument" not in reply:
        return ""
    if not spec.options:
        return "; without options behind its name it is built without arguments"
    given = ", ".join(shorten(key) for key in spec.options)
    head = spec.path.partition(":")[2]
    return (
        f"; it takes no options ({given}): leave them out, or write `def __init__(self, options)` in {head}, a mapping"
    )


def _seeded(spec: Spec, seed: str) -> tuple[int, dict[str, str]]:
    """The number for an algorithm that draws, and the options of this run."""
    number = Stream("algorithm", seed).integer(0, 2**60)
    again = "seed" in spec.options and run_context.current().repetition > 1
    return number, {**spec.options, "seed": str(number)} if again else dict(spec.options)


def _built(reply: dict[str, Any]) -> tuple[tuple[str, ...], bool, tuple[str, ...], bool] | str:
    """The declared constants, whether it decides by batches, the events it answers, whether it says that it draws.

    A text why it was not built.
    """
    if reply["kind"] == "import":
        return _detail(reply)
    constants, events = (tuple(dict.fromkeys(map(str, islice(reply[key], _NAMES)))) for key in ("constants", "events"))
    return constants, bool(reply["batch"]), events, bool(reply["randomised"])


def _last_words(reply: dict[str, Any]) -> tuple[list[int | None], dict[str, int], str | None, Any]:
    counts = {
        make_printable(str(key), 40): read_whole(value, 2**63 - 1) for key, value in list(reply["counts"].items())[:20]
    }
    label = None if reply["label"] is None else shorten(reply["label"])
    altered = [None if i is None else read_whole(i, 2**63 - 1) for i in reply["altered"][:_ALTERED]]
    return altered, counts, label, reply["exposed"]


def _detail(reply: Mapping[str, Any]) -> str:
    return shorten(reply["detail"], 300)


def require_buildable(registry: Registry[Any], text: str) -> None:
    """Refuse an import path whose class does not exist or cannot be built; it is built once, in its own process."""
    is_randomised(registry, text)


def is_randomised(registry: Registry[Any], text: str) -> bool:
    """Whether repetitions of a run may differ: the algorithm says so, or has an option `seed`."""
    spec = registry.parse(text)
    if spec.entry is not None:
        return spec.entry.is_randomised(spec.options)
    return _try_to_build(spec, registry.protocol, version(spec))[0] or "seed" in spec.options


def declared_constants(registry: Registry[Any], text: str) -> tuple[str, ...]:
    """The constants that an algorithm needs and that its name does not state."""
    spec = registry.parse(text)
    declared = registry.declared(spec) if spec.entry else _try_to_build(spec, registry.protocol, version(spec))[1]
    return tuple(name for name in declared if name not in spec.given)


_TRIED: dict[tuple[str, str, str], tuple[bool, tuple[str, ...]]] = {}


def _try_to_build(spec: Spec, protocol: str, code: str) -> tuple[bool, tuple[str, ...]]:
    """Build anyone's algorithm, with this code, and throw it away: what does not exist is found before any work.

    Whether it says that it draws, and the constants that it declares.
    """
    key = spec.name, protocol, code
    if key not in _TRIED:
        found: tuple[bool, tuple[str, ...]] = False, ()
        with contextlib.suppress(RuleViolation), excluded_from_timing():
            runner = Runner(spec, protocol, lambda path: False)
            runner.close()
            found = runner.randomised, runner.constants
        _TRIED[key] = found
    return _TRIED[key]


@dataclass(slots=True)
class UserRun:
    """A run of anyone's algorithm."""

    log: list[LogEntry]  # every question that was answered, with its answer; it ends before a foul
    violations: list[Violation]  # empty, or what ended or spoilt it
    constants: tuple[Constant, ...] = ()  # those it declares, settled
    counts: Mapping[str, int] = field(default_factory=dict)  # what it counts itself
    # its name, what it says of itself on one line, the programs it started, and how it was isolated.
    remarks: Remarks = field(default=Remarks(""))
    # wall time of start and decisions in the algorithm's process; not of building it, nor of what numba compiles in it.
    seconds: float = 0.0
    exposed: Any = None  # what it shows of itself for audits, in JSON values that nobody has checked
    drew: bool = False  # something was drawn in its process from a source that nobody seeded
    batch: bool = False  # it answers all arrivals of a moment together


def _perform(
    table: Simulator,
    spec: Spec,
    protocol: str,
    betrays: Callable[[str], bool],
    settle: Settle,
    echo: Echo,
    seed: str,
    number: int,
    compiled: list[float],
) -> UserRun:
    """One run in a process of its own; `settle` gives the constants that the algorithm declares."""
    played = UserRun([], [], remarks=Remarks(spec.name))
    runner: Runner | None = None
    try:
        with excluded_from_timing():
            runner = Runner(spec, protocol, betrays, echo, seed, number, compiled)
        played.constants = settle(runner.constants)
        runner.start(table.public, {constant.name: constant.value for constant in played.constants})
        played.batch = runner.batch
        transcript = simulate(table, runner.ask, batch=runner.batch)
        played.seconds = runner.seconds
        played.log = transcript.log
        played.violations = transcript.violations  # answers that came as texts were altered by nobody since
        if not played.violations:
            changed, counts, label, played.exposed = runner.end()
            played.violations = [make_altered_violation(table, i) for i in changed]
            played.counts = counts
            origin = () if spec.plugin is None else (spec.plugin.origin,)
            played.remarks = Remarks(
                spec.name,
                notes=origin if label is None else (*origin, label),
                starts=tuple(runner.started),
                isolated=runner.isolation,
            )
            played.drew = runner.drew
    except RuleViolation as error:
        played.violations = [error.violation(table)]
    finally:
        if runner is not None:
            runner.close()
    return played


def run_user_algorithm(
    registry: Registry[Instance],
    spec: Spec,
    instance: Instance,
    table: Callable[[Instance], Simulator],
    first_half: Callable[[Instance], Instance],
    prior: Instance | None = None,
    seed: str = "",
    *,
    once: bool = False,
) -> UserRun:
    """Run anyone's algorithm by its import path, then again on the first half of the arrivals.

    `table` lays out a run on an instance, `first_half` makes an instance of the first arrivals, whole questions, at
    least one. `prior` is the instance that `prior=yesterday` stands for; nothing of it but the constants reaches the
    algorithm. `seed` names the random stream of one that draws, the same for all runs here.

    Up to half time the logs must be the same. If they are not, whole runs tell an algorithm that answers differently
    each time (it `draws`, or is `not reproducible` for another reason) from one that `peeks`. So they do where
    something was drawn without a seed, for two runs may agree by chance. `once`: the first run alone, where nothing was
    drawn, for a caller that has seen all that.
    """
    echo, compiled = Echo(spec.name), [0.0]
    over = 0

    def perform(part: Instance, settle: Settle, number: int) -> UserRun:
        nonlocal over
        betrays = partial(shows_the_future, registry=registry, instance=instance)
        books = table(part)
        to_come = (books.arrivals + 1) // 2 if number == 0 and not once else 0
        with other_simulations(over, to_come):
            found = _perform(books, spec, registry.protocol, betrays, settle, echo, seed, number, compiled)
        over += books.arrivals
        return found

    played = perform(instance, lambda names: registry.settle_constants(spec, names, instance, prior), 0)
    if (once and not played.drew) or played.violations or not played.log:
        return played
    half = first_half(instance)
    again = perform(half, lambda names: played.constants, 1)
    if again.violations and again.violations[0].rule == "timeout":
        played.violations = again.violations
        return played
    different = first_difference(played.log, again.log, table(half).arrivals)
    suspect = bool(again.violations) or different is not None
    drew = played.drew or again.drew
    for number in range(REPEATS if drew or suspect else 0):
        repeated = perform(instance, lambda names: played.constants, number + 1)
        if repeated.violations or repeated.log != played.log:
            where = different or first_difference(played.log, repeated.log, len(played.log))
            rule, detail = "not reproducible", "a second run answers differently"
            if drew:
                rule, detail = "draws", f"{detail}: it draws from a source without a seed"
            elif again.violations:
                detail += f" ({again.violations[0]})"
            played.violations = [RuleViolation(rule, where and where.about, detail).violation(table(instance))]
            return played
    if suspect:
        detail = "the answer differs when later arrivals are taken away"
        if again.violations:
            detail += f" ({again.violations[0]})"
        played.violations = [RuleViolation("peeks", different and different.about, detail).violation(table(instance))]
    return played
