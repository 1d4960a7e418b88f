"""The referee's end of the process in which a user's algorithm runs (docs/development/index.md)."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, TypeVar

from ratiobench.formulations.processes import end_keeper, remove_tree
from ratiobench.formulations.timing import excluded_from_timing
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, make_printable, suggest_name
from ratiobench.instances.io.seeds import Stream
from ratiobench.online import run_context
from ratiobench.online.answers import read_whole, shorten
from ratiobench.online.modules import class_names
from ratiobench.online.referee import limits, sandbox
from ratiobench.online.referee.arrival_count import Counter
from ratiobench.online.referee.bounds import list_barred
from ratiobench.online.referee.limits import COMPILING_SECONDS, Echo, cpu_seconds
from ratiobench.online.referee.messages import Sender
from ratiobench.online.referee.process import ServedProcess, start_process
from ratiobench.online.referee.runner import COMPILING, REFUSED
from ratiobench.online.referee.simulator import (
    ARRIVAL,
    Question,
    RefusedAnswer,
    RuleViolation,
    Simulator,
    Steps,
    Transcript,
    converse,
)
from ratiobench.online.remarks import LANDLOCK, NO_ISOLATION
from ratiobench.online.spec import Spec, suggest_commas

# An algorithm's process measures its time; the way there and back may take at most so much (a question; bytes a second)
WAY_SECONDS, WAY_BYTES = 0.01, 10**8
# Files that an algorithm may read before and between its decisions: each is looked through for the future
FILES = 1_000
T = TypeVar("T")
_LINE_LIMIT = 2**26
_REPLY_VALUES, _TASK_VALUES = 2**18, 2**13  # Values in a reply, and more for each task that it decides about


class Runner:
    """The referee's end of the algorithm's process; every way in which that can fail is a `RuleViolation`."""

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
        # `betrays`: whether a file that the algorithm read shows what it must not know; `seed`: name of the stream of
        # an algorithm that draws; `number`: of the run, two in a row share no hash seed.
        self._betrays, self._spec = betrays, spec
        self._sender = Sender(getattr(importlib.import_module(protocol), "sent_once", ()))
        context = run_context.current()
        own = context.own.get(spec.path)
        self._looked_at: set[str] = set()
        self._unread = bytearray()  # what its process has written beyond the last line
        self.drew = False  # something was drawn in its process from a source that nobody seeded
        self.started: list[str] = []  # names of the programs that it has started; our solvers are not among them
        self.seconds = 0.0  # in which it started and decided, compiling left out
        self._compiling = 0.0  # seconds that numba took in its process since the algorithm was built
        self._compiled = [0.0] if compiled is None else compiled  # the same of all runs on an instance
        self._compiles_since: float | None = None
        self._ready = contextlib.ExitStack()
        method = sandbox.choose_for(protocol, context.isolate)
        self.isolation = "" if context.isolate is False else method
        self._isolated = method != NO_ISOLATION
        self._folder: str | None = None
        if method == LANDLOCK:
            self._folder = os.path.realpath(tempfile.mkdtemp(prefix="ratiobench-run-"))
        try:
            path, files = (spec.path, ()) if own is None else (None, own.files)
            self._process = start_process(path, files, protocol, number, method, self._folder, cpu_seconds())
        except BaseException:
            self._remove_folder()
            raise
        limits.undumpable.change(1)
        assert self._process.stderr is not None
        self._echo = (echo or Echo(spec.name)).follow(self._process.stderr)
        self._guard = limits.Guard(self._process, isolated=self._isolated, folder=self._folder)
        self._closed = False
        drawn = Stream("algorithm", seed).integer(0, 2**60)
        options = dict(spec.options)
        if "seed" in options and context.repetition > 1:
            options["seed"] = str(drawn)
        self._what = ("build", spec.path, options, list_barred(), drawn, None if own is None else own.pickled)

    def build(self) -> Steps[None]:
        """Build the algorithm in the process."""
        spec = self._spec
        reply = yield from self._exchange(self._what, None, _built)
        if isinstance(reply, str):
            raise InputError("algorithm", spec.path, f"cannot be built: {reply}{_how_built(spec, reply)}")
        self.constants, self.batch, self.events, self.randomised = reply
        for name in spec.given:
            if name not in self.constants:
                raise InputError("algorithm", f"{spec.path}:{name}", f"{spec.path} declares no such constant")

    def rebuild(self) -> Steps[None]:
        """Build the algorithm anew in the same process, for another instance."""
        reply = yield from self._exchange(("renew",), None, _built)
        if isinstance(reply, str):
            raise RuleViolation("error", None, reply)

    def _start(self, public: Any, constants: Mapping[str, Fraction]) -> Steps[None]:
        self._guard.begin()
        message = ("start", public, dict(constants))
        unread = yield from self._exchange(message, None, lambda reply: list(reply["unread"]))
        if unread:
            where = f"{self._spec.path}:{shorten(unread[0])}"
            raise InputError("algorithm", where, "neither the constructor nor `start` reads this option: misspelt?")

    def _ask(self, question: Question) -> Steps[Sequence[Any]]:
        """The answers to one question; None, unasked, at events that the algorithm has no method for."""
        if question.event != ARRIVAL and question.event not in self.events:
            return [None] * len(question.indices)
        listed = question._replace(indices=list(question.indices), arrivals=list(question.arrivals))
        answers = yield from self._exchange(("ask", listed), question.indices[0], lambda reply: reply["answers"])
        if not isinstance(answers, list):
            return [answers]
        return [
            RefusedAnswer(shorten(answer[REFUSED])) if isinstance(answer, dict) and REFUSED in answer else answer
            for answer in answers
        ]

    def play(self, table: Simulator, constants: Mapping[str, Fraction], counter: Counter | None) -> Steps[Transcript]:
        """A whole run."""
        yield from self._start(table.public, constants)
        return (yield from converse(table, self._ask, counter, batch=self.batch))

    def end(self) -> Steps[tuple[list[int | None], dict[str, int], str | None, Any]]:
        """Arrivals whose answers were altered later, counts, label, and what it shows of itself."""
        return (yield from self._exchange(("end",), None, _last_words))

    def _exchange(self, message: tuple[Any, ...], index: int | None, take: Callable[[dict[str, Any]], T]) -> Steps[T]:
        """Send a message and take what is wanted from the reply, which may be anything at all."""
        assert self._process.stdin is not None
        data = self._sender.pack(message)
        self._guard.ask()
        # When the process is gone, what it had to say before (it peeked) still stands in the pipe.
        with contextlib.suppress(OSError):
            self._process.stdin.write(data)
            self._process.stdin.flush()
        sent, compiling = time.perf_counter(), self._compiling
        line = yield from self._read_line()
        while line in COMPILING:
            self._compiles(line == COMPILING[0])
            line = yield from self._read_line()
        self._compiles(False)
        passed = time.perf_counter() - sent - (self._compiling - compiling)
        if not line.endswith(b"\n"):
            self._guard.answered()
            self._guard.stop()
            end_keeper(self._process)
            code = self._process.wait()
            found = ("crash", f"the algorithm's process died (exit status {code})")
            if self._isolated and code in limits.CPU_TIME_IS_UP:
                found = ("timeout", f"more than {cpu_seconds()} s of processor time")
            rule, detail = self._guard.foul or found
            raise RuleViolation(rule, index, detail)
        try:
            asked = len(message[1].indices) if message[0] == "ask" else 0
            if packing.count_values(line) > min(packing.MOST, _REPLY_VALUES + _TASK_VALUES * asked):
                raise ValueError
            reply = _DECODER.decode(line.decode())
            if not self._isolated:  # a sandbox shows nothing that could betray the future
                self._look_through(reply["read"], index)
            self._guard.answered()
            if reply["kind"] in ("error", "read-only", "peeks"):
                raise RuleViolation(reply["kind"], index, shorten(reply["detail"], 300))
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

    def _read_line(self) -> Steps[bytes]:
        """The next line from the process; without its end if the process has ended, or the line is too long."""
        assert self._process.stdout is not None
        descriptor, end = self._process.stdout.fileno(), self._unread.find(b"\n")
        while end < 0 and len(self._unread) < _LINE_LIMIT:
            yield descriptor
            seen = len(self._unread)
            if not (data := os.read(descriptor, 2**20)):
                break
            self._unread += data
            end = self._unread.find(b"\n", seen)
        size = len(self._unread) if end < 0 else end + 1
        line = bytes(self._unread[:size])
        del self._unread[:size]
        return line

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
                what = f"read {make_printable(path, 300)}: it may use what it was given only"
                raise RuleViolation("peeks", index, what)

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
            self._compiling += spent
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
        limits.await_end(self._echo, 1)
        limits.undumpable.change(-1)
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()
        if isinstance(self._process, ServedProcess):
            self._process.release()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            remove_tree(self._folder)


_DECODER = json.JSONDecoder(parse_constant=int)  # `int` refuses NaN and infinities, which JSON does not have
_READY = ("ready", "import")
_REPLIES = {"build": _READY, "renew": _READY, "start": ("started",), "ask": ("answers",), "end": ("end",)}


def _how_built(spec: Spec, reply: str) -> str:
    context = run_context.current()
    if reply.startswith("ModuleNotFoundError") and context.isolate is not False:
        found = "installed packages and the modules that it imports from its own folder"
        return f"; in a sandbox an algorithm finds {found}"
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
    way = f"leave them out, or write `def __init__(self, options)` in {head}, a mapping"
    return f"; it takes no options ({given}): {way}"


def _built(reply: dict[str, Any]) -> tuple[tuple[str, ...], bool, tuple[str, ...], bool] | str:
    """Constants, whether it decides by batches, events that it answers, whether it draws; or why it was not built."""
    if reply["kind"] == "import":
        return shorten(reply["detail"], 300)
    constants, events = (tuple(dict.fromkeys(map(str, islice(reply[key], 100)))) for key in ("constants", "events"))
    return constants, bool(reply["batch"]), events, bool(reply["randomised"])


def _last_words(reply: dict[str, Any]) -> tuple[list[int | None], dict[str, int], str | None, Any]:
    counts = list(reply["counts"].items())[:20]
    read = {make_printable(str(key), 40): read_whole(value, 2**63 - 1) for key, value in counts}
    label = None if reply["label"] is None else shorten(reply["label"])
    altered = [None if i is None else read_whole(i, 2**63 - 1) for i in reply["altered"][:20]]  # so many are named
    return altered, read, label, reply["exposed"]
