"""Compiling what a first run needs, a process for each group of kernels, with a word at least every few seconds."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bench.family.column import Family
from bench.family.known import families
from bench.family.parts import Step
from bench.running.heartbeat import SILENCE
from bench.running.machine import usable_cores

_OURS = ("bench", "formulations", "instances", "online")


class Kernel(NamedTuple):
    """A kernel that was compiled: its name, for how many combinations of types, and seconds of one core."""

    name: str
    signatures: int
    seconds: float


Say = Callable[[str], None]
Choice = Collection[str] | None
"""Names of algorithms; None for all there are."""


def compile_all(chosen: dict[str, Choice], say: Say | None = None) -> list[Kernel]:
    """Compile and cache what the families need for these algorithms; returns what was not in the cache.

    Groups of steps that share no file run side by side, as many as there are cores.
    """
    say = _to_stderr if say is None else say
    plans = [(name, choice, _groups(families()[name], choice)) for name, choice in chosen.items()]
    parts = [(name, choice, j) for name, choice, groups in plans for j in range(len(groups))]
    total = sum(step.seconds for _, _, groups in plans for group in groups for step in group)
    workers = min(usable_cores(), len(parts))
    began = time.monotonic()
    if not parts:
        return []
    say(f"compiling for {', '.join(chosen)}, about {total / max(1, workers):.0f} s the first time: {workers} at a time")
    found = _shared(say)
    # Spawned: a forked process would inherit threads' locks. It compiles nothing that another one does.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for kernels in pool.map(_compile_group, *zip(*parts, strict=True)):
            found += kernels
    spent = sum(kernel.seconds for kernel in found)
    say(f"compiled: {len(found)} kernels, {spent:.0f} s of work in {time.monotonic() - began:.0f} s")
    return found


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _groups(family: Family, choice: Choice) -> list[list[Step]]:
    if family.compiling is not None:
        return [list(group) for group in family.compiling(choice)]
    return [[Step(f"what {family.name} needs", 1, family.warm)]]


def _shared(say: Say) -> list[Kernel]:
    """Compile the one kernel that all groups use, before they start."""
    from formulations.kernels import ascending

    with listening(say) as found:
        for values in (np.zeros(1), np.zeros(1, np.int64)):
            ascending(values)
            values.flags.writeable = False
            ascending(values)
    return found


def _compile_group(family: str, choice: Choice, number: int) -> list[Kernel]:
    """In a process of its own: the steps of a group, one after the other."""
    with listening(_to_stderr) as found:
        for step in _groups(families()[family], choice)[number]:
            _to_stderr(f"  {step.name}, about {step.seconds:.0f} s")
            step.work()
    return found


@contextmanager
def listening(say: Say | None = None) -> Iterator[list[Kernel]]:
    """What is compiled inside, each kernel with the functions of numba that it needs but not with its own callees.

    say : is told when nothing has been ready for some seconds.
    """
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.open: list[list[Any]] = []
            self.seconds: dict[str, float] = {}
            self.signatures: dict[str, int] = {}

        def on_start(self, event: Any) -> None:
            self.open.append([self.name(event), time.thread_time(), 0.0])

        def on_end(self, event: Any) -> None:
            name, began, inside = self.open.pop()
            spent = time.thread_time() - began
            if name.partition(".")[0] in _OURS:
                self.seconds[name] = self.seconds.get(name, 0.0) + spent - inside
                self.signatures[name] = self.signatures.get(name, 0) + 1
                if self.open:
                    self.open[-1][2] += spent

        @staticmethod
        def name(event: Any) -> str:
            function = event.data["dispatcher"].py_func
            return f"{function.__module__}.{function.__qualname__}"

    listener, over = Listener(), threading.Event()

    def remind() -> None:
        told = time.monotonic()
        while not over.wait(0.5):
            if say is not None and listener.open and time.monotonic() - told > SILENCE:
                told = time.monotonic()
                say(f"    compiling {listener.open[0][0].removeprefix('formulations.').removeprefix('online.')} ...")

    thread = threading.Thread(target=remind, daemon=True)
    thread.start()
    event.register("numba:compile", listener)
    found: list[Kernel] = []
    try:
        yield found
    finally:
        event.unregister("numba:compile", listener)
        over.set()
        thread.join()
        found += [Kernel(name, listener.signatures[name], seconds) for name, seconds in listener.seconds.items()]
