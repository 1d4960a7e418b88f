"""Anyone's algorithm, run in a process of its own that holds the past and nothing else.

The instance never enters that process: it gets the public part, the declared constants and one arrival at a time. An
audit hook there reports an algorithm that reads files or other objects' memory while it decides, and a second run on a
cut instance shows whether its decisions are a function of the past at all.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from multiprocessing.connection import Connection
from typing import Any

from instances.errors import InputError
from instances.lora.format import document
from instances.lora.format import parse as parse_instance
from instances.lora.model import Instance, Public, Task
from instances.lora.solution import Decision
from online.lora.protocol import View
from online.lora.referee import Ask, Foul, changes_of_mind, hear, outcome
from online.lora.registry import Spec, settle_constants
from online.outcome import OnlineRun, Violation

ANSWER_SECONDS = 600.0
"""An algorithm that does not answer in this time has broken the protocol."""

_WATCHED = ("gc.get_objects", "gc.get_referrers", "gc.get_referents", "subprocess.Popen", "os.system", "socket.connect")
_DATA = (".json", ".gz", ".sqlite", ".db", ".csv", ".npz", ".npy", ".pkl", ".parquet")


@contextlib.contextmanager
def user_path() -> Iterator[None]:
    """The current folder at the head of the import path, as `python -m` has it."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


class _Watch:
    """What the audit hook saw while the algorithm was deciding."""

    def __init__(self) -> None:
        self.deciding = False
        self.seen: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.deciding:
            return
        if event in _WATCHED:
            self.seen.append(event)
        elif event == "open" and args and isinstance(args[0], str | bytes | os.PathLike):
            path = os.fsdecode(args[0])
            if path.endswith(_DATA) or path.startswith("/proc/"):
                self.seen.append(f"open {path}")


def _serve(pipe: Connection, path: str, options: Mapping[str, str]) -> None:
    """The algorithm's process: build it, then answer until the pipe closes."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch = _Watch()
    kept: list[tuple[int, Any, Any]] = []
    try:
        with user_path():
            module, _, attribute = path.partition(":")
            try:
                maker = getattr(importlib.import_module(module), attribute)
            except Exception as error:
                pipe.send(("import", f"{type(error).__name__}: {error}"))
                return
            try:
                algorithm = maker(dict(options)) if options else maker()
            except Exception as error:
                pipe.send(("import", f"{attribute}({dict(options) or ''}): {type(error).__name__}: {error}"))
                return
            wanted = tuple(getattr(algorithm, "constants", ()))
            pipe.send(("ready", wanted, hasattr(algorithm, "decide_batch")))
            sys.addaudithook(watch)
            while True:
                message = pipe.recv()
                watch.deciding = True
                try:
                    answer = _answer(algorithm, message, kept)
                finally:
                    watch.deciding = False
                if watch.seen:
                    pipe.send(("peeks", watch.seen[0]))
                    return
                pipe.send(answer)
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _answer(algorithm: Any, message: tuple[Any, ...], kept: list[tuple[int, Any, Any]]) -> tuple[Any, ...]:
    kind = message[0]
    try:
        if kind == "start":
            algorithm.start(message[1], message[2])
            return ("started",)
        if kind == "ask":
            tasks, view = message[1], message[2]
            if hasattr(algorithm, "decide_batch"):
                answers = list(algorithm.decide_batch(tasks, view))
            else:
                answers = [algorithm.decide(tasks[0], view)]
            kept.extend((task.index, answer, _plain(answer)) for task, answer in zip(tasks, answers, strict=False))
            return ("answers", [_plain(answer) for answer in answers])
        altered = [index for index, answer, before in kept if _plain(answer) != before]
        counts = {str(k): int(v) for k, v in dict(getattr(algorithm, "counts", {})).items()}
        label = getattr(algorithm, "label", None)
        return ("end", altered, counts, None if label is None else str(label)[:100])
    except Exception as error:
        return ("error", f"{type(error).__name__}: {error}")


def _plain(answer: Any) -> Any:
    """The answer in builtin types, so that the referee's process unpickles nothing of the user's."""
    if answer is None:
        return None
    try:
        vendor, cells, payment = answer
        plain = (
            vendor if vendor is None else vendor.__index__(),
            tuple((node.__index__(), slot.__index__()) for node, slot in cells),
            payment if payment is None else payment.__index__(),
        )
        return plain if not isinstance(vendor, bool) and not isinstance(payment, bool) else str(answer)
    except (TypeError, ValueError, AttributeError):
        return str(answer)[:80]


class _Player:
    """The referee's end of the algorithm's process."""

    def __init__(self, spec: Spec) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, spec.path, dict(spec.options)), daemon=False)
        self._process.start()
        theirs.close()
        reply = self._receive(None)
        if reply[0] == "import":
            self.close()
            raise InputError("algorithm", spec.path, f"cannot be built: {reply[1]}")
        self.constants: tuple[str, ...] = tuple(str(name) for name in reply[1])
        self.batch: bool = reply[2]

    def _receive(self, task: int | None) -> tuple[Any, ...]:
        if not self._pipe.poll(ANSWER_SECONDS):
            raise Foul("timeout", task, f"no answer within {ANSWER_SECONDS:.0f} s")
        try:
            reply: tuple[Any, ...] = self._pipe.recv()
        except (EOFError, OSError):
            raise Foul("crash", task, "the algorithm's process died") from None
        if reply[0] == "error":
            raise Foul("error", task, reply[1])
        if reply[0] == "peeks":
            raise Foul("peeks", task, f"{reply[1]} while deciding: it may use what it was given only")
        return reply

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._pipe.send(("start", public, dict(constants)))
        self._receive(None)

    def ask(self, tasks: Sequence[Task], view: View) -> Sequence[Any]:
        try:
            self._pipe.send(("ask", list(tasks), view))
        except (BrokenPipeError, OSError):
            raise Foul("crash", tasks[0].index, "the algorithm's process died") from None
        answers: list[Any] = self._receive(tasks[0].index)[1]
        return answers

    def end(self) -> tuple[list[int], dict[str, int], str | None]:
        self._pipe.send(("end",))
        reply = self._receive(None)
        return reply[1], reply[2], reply[3]

    def close(self) -> None:
        self._pipe.close()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _perform(
    instance: Instance, spec: Spec, seed: str, constants: tuple[Any, ...] | None
) -> tuple[list[Decision | None], list[Violation], tuple[Any, ...], dict[str, int], str | None]:
    """One run in a fresh process; `constants` fixes them, else they are settled from what the algorithm declares."""
    player = _Player(spec)
    try:
        if constants is None:
            constants = settle_constants(spec, player.constants, instance)
        public = instance.public(seed)
        decisions: list[Decision | None] = [None] * instance.tasks
        try:
            player.start(public, {constant.name: constant.value for constant in constants})
            ask: Ask = player.ask
            decisions, violations, kept = hear(instance, ask, public, batch=player.batch)
            violations += changes_of_mind(instance, kept, decisions)
            if violations:
                return decisions, violations, constants, {}, None
            altered, counts, label = player.end()
            violations += [
                Violation("changed decision", i, "the answer was altered after it had been given") for i in altered
            ]
            return decisions, violations, constants, counts, label
        except Foul as foul:
            return decisions, [foul.violation], constants, {}, None
    finally:
        player.close()


def _cut(instance: Instance) -> Instance:
    """The first half of the arrivals (whole slots), as an instance of its own."""
    half = instance.tasks // 2
    while 0 < half < instance.tasks and instance.arrival[half] == instance.arrival[half - 1]:
        half += 1
    data = document(instance)
    data["tasks"] = data["tasks"][:half]
    return parse_instance(data, "the first half")


def play_isolated(instance: Instance, spec: Spec, seed: str) -> OnlineRun:
    """Run anyone's algorithm by its import path, then again on the first half of the arrivals.

    The decisions on the first half must be the same: an algorithm whose answers depend on later arrivals `peeks`, one
    that draws from an unseeded source is not reproducible; both are named.
    """
    from online.lora.registry import canonical

    started = time.perf_counter()
    try:
        decisions, violations, constants, counts, label = _perform(instance, spec, seed, None)
    except Foul as foul:
        decisions, violations, constants, counts, label = [None] * instance.tasks, [foul.violation], (), {}, None
    seconds = time.perf_counter() - started
    if not violations and instance.tasks > 1:
        cut = _cut(instance)
        again, fouls, _, _, _ = _perform(cut, spec, seed, constants)
        different = next((i for i in range(cut.tasks) if again[i] != decisions[i]), None)
        if fouls or different is not None:
            detail = str(fouls[0]) if fouls else "the answer differs when later arrivals are taken away"
            violations = [Violation("peeks or not reproducible", different, detail)]
    return outcome(
        instance, decisions, violations, spec.name, canonical(spec.name).rpartition(" ")[2], constants, seconds,
        label=label or spec.name,
        arithmetic="unknown",
        counts=counts,
        trace=None,
    )  # fmt: skip
