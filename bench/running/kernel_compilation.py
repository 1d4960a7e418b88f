"""Compiling what a first run needs, side by side in several processes, with a word at least every few seconds."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from ratiobench.bench.family.capabilities import Step
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.running import kernel_record
from ratiobench.bench.running.heartbeat import SILENCE, set_current
from ratiobench.bench.running.machine import usable_cores
from ratiobench.bench.running.pool import hide_main_module
from ratiobench.instances.io.errors import InputError

_OURS = "ratiobench."


class Kernel(NamedTuple):
    """A kernel that was compiled: its name, for how many combinations of types, and seconds of one core."""

    name: str
    signatures: int
    seconds: float


Say = Callable[[str], None]
Choice = Collection[str] | None  # Names of algorithms; None for all there are


def compile_all(chosen: dict[str, Choice], say: Say | None = None, without: Collection[str] = ()) -> list[Kernel]:
    """Compile and cache what the families need for these algorithms; returns what was not in the cache.

    Steps that wait for no other run side by side, as many as there are cores.

    `say`: prints a line; None: to standard error.
    """
    say = _to_stderr if say is None else say
    waiting = [
        (name, choice, step)
        for name, choice in chosen.items()
        for step in select_steps(_steps(families()[name], choice), without)
    ]
    if not waiting:
        return []
    workers = min(usable_cores(), len(waiting))
    began = time.monotonic()
    say(f"compiling once for {', '.join(chosen)}, about {_estimate(waiting, workers):.0f} s on {workers} idle cores")
    found = _shared(say)
    done: set[tuple[str, str]] = set()
    running: dict[Future[list[Kernel]], tuple[str, str]] = {}
    # Spawned: a forked process would inherit threads' locks. It compiles nothing that another one does.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        while waiting or running:
            ready = [each for each in waiting if all((each[0], name) in done for name in each[2].after)]
            for each in ready[: workers - len(running)]:
                waiting.remove(each)
                with hide_main_module():
                    future = pool.submit(_compile_step, each[0], each[1], each[2].name, say is not _silent)
                running[future] = each[0], each[2].name
            if not running:
                raise ValueError(f"{waiting[0][2].name} waits for what is no step: {', '.join(waiting[0][2].after)}")
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                found += future.result()
                done.add(running.pop(future))
    spent = sum(kernel.seconds for kernel in found)
    say(f"compiled: {len(found)} kernels in {time.monotonic() - began:.0f} s ({spent:.0f} CPU seconds)")
    return found


def select_steps(steps: Sequence[Step], without: Collection[str]) -> list[Step]:
    """The steps without those that serve nothing else; a step after one of these waits for its predecessors."""
    left_out = {step.name: step.after for step in steps if step.only_for and step.only_for in without}

    def awaited(names: Sequence[str]) -> Iterator[str]:
        for name in names:
            yield from awaited(left_out[name]) if name in left_out else [name]

    return [
        step._replace(after=tuple(dict.fromkeys(awaited(step.after)))) for step in steps if step.name not in left_out
    ]


def _estimate(steps: Sequence[tuple[str, Choice, Step]], workers: int) -> float:
    """Seconds on idle cores: no less than the longest chain of steps that wait for each other."""
    ends: dict[tuple[str, str], float] = {}

    def end(family: str, step: Step) -> float:
        if (family, step.name) not in ends:
            before = [each for name, _, each in steps if name == family and each.name in step.after]
            ends[family, step.name] = step.seconds + max((end(family, each) for each in before), default=0.0)
        return ends[family, step.name]

    total = sum(step.seconds for _, _, step in steps)
    return max(total / workers, *(end(family, step) for family, _, step in steps))


def compile_missing(
    family: Family, algorithms: Collection[str], quiet: bool = False, without: Collection[str] = ()
) -> None:
    """The same for the algorithms of a run, where the record does not say that it was done before.

    Families that do not say what they compile compile while they run. What goes wrong here is left to the run. A user's
    code never runs here: of an algorithm of ours that has some inside, the kernels are those of its default options.
    """
    if family.compilation_steps is None or families().get(family.name) is not family:
        return
    shipped = {each.name for each in family.algorithms()}
    plain = dict.fromkeys(kernel_record.strip_prior(name) for name in algorithms)
    known = [name for name in plain if name.partition(":")[0] in shipped]
    algorithms = list(dict.fromkeys(_without_user_code(family, name) for name in known))
    if kernel_record.is_compiled(family.name, algorithms, without):
        return
    set_current("")  # it tells by itself
    with suppress(BrokenProcessPool, InputError):
        compile_all({family.name: algorithms}, _silent if quiet else None, without)
        kernel_record.record_compiled(family.name, algorithms, without)


def _without_user_code(family: Family, name: str) -> str:
    return name.partition(":")[0] if family.runs_user_code(name) else name


def _silent(text: str) -> None:
    """Say nothing."""


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _steps(family: Family, choice: Choice) -> list[Step]:
    if family.compilation_steps is not None:
        return list(family.compilation_steps(choice))
    return [Step(f"what {family.name} needs", 1, family.warm)]


def _shared(say: Say) -> list[Kernel]:
    """Compile the one kernel that all steps use, before they start."""
    from ratiobench.formulations.kernels import sort_stably

    with collect_kernels(say) as found:
        for values in (np.zeros(1), np.zeros(1, np.int64)):
            sort_stably(values)
            values.flags.writeable = False
            sort_stably(values)
    return found


def _compile_step(family: str, choice: Choice, name: str, telling: bool) -> list[Kernel]:
    say = _to_stderr if telling else _silent
    step = next(each for each in _steps(families()[family], choice) if each.name == name)
    gc.disable()  # the compiler leaves little behind, and a tenth of its time goes into looking
    with collect_kernels(say) as found:
        say(f"  {step.name}, about {step.seconds:.0f} CPU seconds")
        step.work()
    return found


@contextmanager
def collect_kernels(say: Say | None = None) -> Iterator[list[Kernel]]:
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
            if name.startswith(_OURS):
                name = name.removeprefix(_OURS)
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
        last_report = time.monotonic()
        while not over.wait(0.5):
            if say is not None and listener.open and time.monotonic() - last_report > SILENCE:
                last_report = time.monotonic()
                say(f"    compiling {listener.open[0][0].removeprefix(_OURS).partition('.')[2]} ...")

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
