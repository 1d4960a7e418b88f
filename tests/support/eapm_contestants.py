"""Algorithms for EAPM as a user would bring them: honest ones, and ones that cheat or fail, each in its own way.

They are run by their import path, in a process of their own; this module must import nothing heavy.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ratiobench.online.eapm.protocol import Public, User, View


class Honest:
    """Each bag on the machine that would finish it first."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        self.public = public

    def decide(self, user: User, view: View) -> Any:
        best = int(np.argmin(view.load_ms + user.tasks * user.etc_ms))
        return tuple(user.tasks if j == best else 0 for j in range(len(self.public.machines)))


class Declares(Honest):
    constants = ("users",)

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        self.label = f"{constants['users']}"


class Answers(Honest):
    """Answers the second user with what its option says."""

    ODD: Mapping[str, Any] = {
        "too_few": (1, 1),
        "too_many": (3, 3),
        "negative": (6, -2),
        "short": (4,),
        "long": (2, 1, 1),
        "empty": (),
        "text": "22",
        "floats": (2.0, 2.0),
        "float_array": np.array([2.0, 2.0]),
        "table": np.array([[2, 2]]),
        "nan": (4, float("nan")),
        "true": (3, True),
        "truths": np.array([True, True]),
        "huge": (10**6000, 4 - 10**6000),
        "none": None,
        "mapping": {0: 2, 1: 2},
        "generator": (x for x in (2, 2)),
        "object": object(),
    }

    def __init__(self, options: Mapping[str, str]) -> None:
        self.odd = self.ODD[options["odd"]]

    def decide(self, user: User, view: View) -> Any:
        return self.odd if user.index == 1 else super().decide(user, view)


class ChangesItsMind(Honest):
    """Gives back a list and turns it round at the next arrival."""

    def __init__(self) -> None:
        self.last: list[int] = []

    def decide(self, user: User, view: View) -> Any:
        self.last.reverse()
        self.last = list(super().decide(user, view))
        return self.last


class FillsItsArray(Honest):
    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        self.shares = np.zeros(len(public.machines), np.int64)

    def decide(self, user: User, view: View) -> Any:
        self.shares[:] = super().decide(user, view)
        return self.shares


class WritesToTheView(Honest):
    def decide(self, user: User, view: View) -> Any:
        view.load_ms[:] = 0
        return super().decide(user, view)


class WritesToTheUser(Honest):
    def decide(self, user: User, view: View) -> Any:
        user.etc_ms[:] = 1
        return super().decide(user, view)


class ShrinksTheBag(Honest):
    def decide(self, user: User, view: View) -> Any:
        user.tasks = 1  # type: ignore[misc]
        return super().decide(user, view)


class ReadsTheFile(Honest):
    """Reads the file that its option names, before it starts."""

    def __init__(self, options: Mapping[str, str]) -> None:
        with open(options["file"], "rb") as file:
            file.read()


class ReadsTheHouse(Honest):
    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        from ratiobench.instances.eapm.generate import named, names

        super().start(public, constants)
        named(names()[0])


class WritesToThePipe(Honest):
    """Sends a line of its own, with text for a share, where the answers go, past the loop that serves it."""

    def decide(self, user: User, view: View) -> Any:
        for descriptor in range(3, 32):
            with suppress(OSError):
                os.write(descriptor, b'{"kind": "answers", "read": [], "answers": [["1", {}]]}\n')
        return super().decide(user, view)


class EveryOtherRun(Honest):
    """Decides otherwise in every second run: on the first half of the arrivals, as the referee makes its runs."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        with open(os.environ["CONTESTANT_FOLDER"] + "/runs", "a+", encoding="utf-8") as file:
            file.write("x")
            file.seek(0)
            self.odd = len(file.read()) % 2 == 1

    def decide(self, user: User, view: View) -> Any:
        return (user.tasks, 0) if self.odd else (0, user.tasks)


class BadConstructor:
    def __init__(self, needed: int, also: int) -> None:
        raise AssertionError("never reached")
