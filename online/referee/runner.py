"""The process in which a user's algorithm lives (docs/development/index.md): it holds the past and nothing else."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import sys
import threading
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError
from types import ModuleType
from typing import Any

from ratiobench.formulations import timing
from ratiobench.online.answers import InvalidAnswer, locate_error, shorten
from ratiobench.online.referee.messages import Receiver
from ratiobench.online.referee.simulator import HANDLER, Question, answer_question
from ratiobench.online.referee.watch import listen_for_draws, watch

# Lines between the replies: numba begins to compile in this process, and is done
COMPILING = (b'"compiles"\n', b'"compiled"\n')
REFUSED = "refused"  # The key of an answer that stands for one that was not sent


def serve(protocol: str) -> None:
    """Build the algorithm that the first message names, then answer until the referee closes the pipe."""
    # `protocol`: the family's module. Its functions are `plain`, which copies an answer in JSON values, and, where the
    # family has them: `excess`, what is wrong with an answer that is too long to be sent; `exposed`, what an algorithm
    # shows of itself for audits; `adapt`, how the referee calls it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.dup(1)
    # What the algorithm prints must not get between the answers, nor into what the command prints.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    family = importlib.import_module(protocol)
    messages = Receiver(requests)
    _, path, given, barred, seed, pickled = messages.receive()
    drew = listen_for_draws()
    decide, report = watch(replies, barred)

    def send(reply: Mapping[str, Any]) -> None:
        # States of generators are long: they are looked at before and after the decisions, and before a seed
        drawn = {} if reply["kind"] == "answers" else {"drew": drew()}
        data = memoryview(json.dumps({**reply, **report(), **drawn}).encode() + b"\n")
        while data:
            data = data[os.write(replies, data) :]

    game = _Game(family, path, Options(given), seed, pickled)
    reply = game.build()
    send(reply)
    if reply["kind"] != "ready":
        return
    while True:
        try:
            message = messages.receive()
        except EOFError:
            return
        _listen_for_compiling(replies)
        decide(message[0] == "ask")
        answer = game.answer(message)
        decide(False)
        send(answer)


class Options(UserDict[str, str]):
    """The options of anyone's algorithm; it remembers which were read, for one that nobody reads is misspelt."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.unread = set(given)

    def __getitem__(self, key: str) -> str:
        self.unread.discard(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return Mapping.__contains__(self, key)  # by `__getitem__`: who asks for a name has read it

    def __iter__(self) -> Iterator[str]:
        self.unread.clear()  # who sees all names can find the one that it does not know
        return super().__iter__()


class _Game:
    """The algorithm and what it has answered."""

    def __init__(self, family: ModuleType, path: str, options: Options, seed: int, pickled: bytes | None) -> None:
        self._path, self._options, self._seed, self._pickled = path, options, seed, pickled
        self._adapt: Callable[[Any], Any] = getattr(family, "adapt", lambda algorithm: algorithm)
        self._plain: Callable[[Any], Any] = family.plain
        self._excess = getattr(family, "excess", lambda answer, public: None)
        self._exposed = getattr(family, "exposed", lambda algorithm: None)
        self._public: Any = None
        self._kept: list[tuple[int | None, Any, Any]] = []

    def _make(self) -> Any:
        """Of the class that the path names, or of the one that was handed over; or the object that was."""
        if self._pickled is None:
            module, _, attribute = self._path.partition(":")
            maker = getattr(importlib.import_module(module), attribute)
        else:
            maker = pickle.loads(self._pickled)
            if not isinstance(maker, type):
                return maker
        return maker(self._options) if self._options else maker()

    def build(self) -> dict[str, Any]:
        """Build the algorithm, or a new one in its place; what it declares, or why it cannot be built."""
        try:
            self._algorithm = algorithm = self._adapt(self._make())
            if randomised := bool(getattr(algorithm, "randomised", False)):
                algorithm.seed = self._seed
            self._batch = hasattr(algorithm, "decide_batch")
            constants = [str(name) for name in getattr(algorithm, "constants", ())]
            events = [name.removeprefix(HANDLER) for name in dir(algorithm) if name.startswith(HANDLER)]
        except BaseException as error:
            return {"kind": "import", "detail": locate_error(error)}
        declared = {"constants": constants, "batch": self._batch, "events": events, "randomised": randomised}
        return {"kind": "ready", **declared}

    def answer(self, message: tuple[Any, ...]) -> dict[str, Any]:
        """What is replied to a message, whatever the algorithm does."""
        try:
            return self._answer(message)
        except FrozenInstanceError as error:
            return {"kind": "read-only", "detail": locate_error(error)}
        except ValueError as error:
            return {"kind": "read-only" if "read-only" in str(error) else "error", "detail": locate_error(error)}
        except BaseException as error:  # the terminal's Ctrl-C does not come here: it is the algorithm's own
            return {"kind": "error", "detail": locate_error(error)}

    def _answer(self, message: tuple[Any, ...]) -> dict[str, Any]:
        if message[0] == "renew":
            return self.build()
        algorithm, clock = self._algorithm, timing.Stopwatch()
        if message[0] == "start":
            self._public, self._kept = message[1], []
            algorithm.start(message[1], message[2])
            return {"kind": "started", "unread": sorted(self._options.unread), "seconds": clock.seconds()}
        if message[0] == "ask":
            question: Question = message[1]
            answers = answer_question(algorithm, question, self._batch)
            seconds = clock.seconds()
            reply: Any
            if not isinstance(answers, list | tuple):
                reply = shorten(answers)
            elif len(answers) != len(question.indices):
                reply = f"{len(answers)} answers"
            else:
                reply = [self._told(answer) for answer in answers]
                self._kept.extend(zip(question.indices, answers, reply, strict=False))
            return {"kind": "answers", "answers": reply, "seconds": seconds}
        altered = [index for index, answer, before in self._kept if self._told(answer) != before]
        counts = {str(key)[:40]: int(value) for key, value in list(dict(getattr(algorithm, "counts", {})).items())[:20]}
        label = None if getattr(algorithm, "label", None) is None else shorten(algorithm.label)
        shows = self._exposed(algorithm)
        return {"kind": "end", "altered": altered, "counts": counts, "label": label, "exposed": shows}

    def _told(self, answer: Any) -> Any:
        """The answer as JSON values, a text where it is none, and why it is refused where it is too long to be sent."""
        try:
            problem = self._excess(answer, self._public)
            return self._plain(answer) if problem is None else {REFUSED: problem}
        except InvalidAnswer as error:
            return {"answered": shorten(answer), "wrong": shorten(error)}
        except (TypeError, ValueError):
            return shorten(answer)


def _listen_for_compiling(replies: int) -> None:
    """Tell the referee when numba compiles, if the algorithm has loaded it: that time is no algorithm's."""
    if (kernels := sys.modules.get("ratiobench.formulations.kernels")) is not None:
        kernels.load_numba()  # now, and not when the first kernel is called
    if "numba.core.event" not in sys.modules or timing.tell is not timing.ignore_time:
        return
    main = threading.get_ident()

    def tell(total: float, since: float) -> None:
        if threading.get_ident() == main and bool(since) != reply[0]:
            reply[0] = bool(since)
            os.write(replies, COMPILING[0] if since else COMPILING[1])

    reply = [False]
    timing.tell = tell
    timing.exclude_compilation()
