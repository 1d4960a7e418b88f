"""Anyone's algorithm, run in a process of its own (`ratiobench.online.referee.runner`) that holds the past and nothing
else.

The instance never enters that process: it gets the public part, the declared constants and one arrival at a time, and
its answers come back as JSON. What the algorithm starts ends with it, and counts in its memory, detached or not.

| module | content |
|---|---|
| `process`, `server`, `sandbox`, `confinement` | how the process is started, in a sandbox or not |
| `limits` | what it may use, watched from outside |
| `isolation`, `messages`; `runner`, `watch` | the referee's end of the process; what runs in it |
| `simulator`, `user_run` | the questions of a run; whether the algorithm peeks |

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
from ratiobench.online.referee import sandbox
from ratiobench.online.referee.bounds import list_barred
from ratiobench.online.referee.limits import (
    COMPILING_SECONDS,
    CPU_TIME_IS_UP,
    Echo,
    Guard,
    await_end,
    cpu_seconds,
    undumpable,
)
from ratiobench.online.referee.messages import Sender
from ratiobench.online.referee.process import ServedProcess, start_process
from ratiobench.online.referee.runner import COMPILING, REFUSED
from ratiobench.online.referee.simulator import ARRIVAL, Question, RefusedAnswer, RuleViolation
from ratiobench.online.remarks import LANDLOCK, NO_ISOLATION
from ratiobench.online.spec import Spec, suggest_commas

# An algorithm's process measures its time itself. The way there and back may take so much of the time in which the
# referee waits for an answer (seconds of each question, bytes a second); the rest is the algorithm's, whatever it says
WAY_SECONDS, WAY_BYTES = 0.01, 10**8
# Files that an algorithm may read before and between its decisions: each is looked through for the future
FILES = 1_000
T = TypeVar("T")
_LINE_LIMIT = 2**26
_ALTERED = 20  # Arrivals whose altered answers are named
_NAMES = 100  # Constants and events that an algorithm may name
_REPLY_VALUES, _TASK_VALUES = 2**18, 2**13  # Values in a reply, and more for each task that it decides about


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
            self._process = start_process(path, files, protocol, number, method, self._folder, cpu_seconds())
        except BaseException:
            self._remove_folder()
            raise
        undumpable.change(1)
        assert self._process.stderr is not None
        self._echo = (echo or Echo(spec.name)).follow(self._process.stderr)
        self._guard = Guard(self._process, isolated=self._isolated, folder=self._folder)
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
            if self._isolated and code in CPU_TIME_IS_UP:
                found = ("timeout", f"more than {cpu_seconds()} s of processor time")
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
        await_end(self._echo, 1)
        undumpable.change(-1)
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
