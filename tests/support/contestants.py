"""Algorithms as a user would bring them: an honest one, and ones that cheat or fail, each in its own way.

They are run by their import path, in a process of their own; this module must import nothing heavy.
"""

import gc
import importlib
import importlib.util
import json
import os
import random
import runpy
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.online.lora.protocol import Decision, Public, Task, View


class Honest:
    """The first vendor, then the first node with room in each slot until the work is done; charges nothing."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        self.public = public

    def decide(self, task: Task, view: View) -> Any:
        return self.plan(task, view, task.options[0].first, task.deadline)

    def plan(self, task: Task, view: View, first: int, last: int) -> Decision | None:
        types = self.public.type_of_node
        room = view.room(task, self.public)
        cells: list[tuple[int, int]] = []
        done, cost = 0, task.options[0].price
        for slot in range(first, last + 1):
            free = np.flatnonzero(room[:, slot - 1])
            if len(free):
                node = int(free[0])
                cells.append((node, slot))
                done += int(task.rate[types[node]])
                cost += int(task.cost[types[node], slot - 1])
                if done >= task.work:
                    return Decision(task.options[0].vendor, tuple(cells), 0) if task.bid > cost else None
        return None


class Priced(Honest):
    """Shows prices in the end; the option says what they look like."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._kind = (options or {}).get("kind", "fractions")

    def prices(self) -> Any:
        public = self.public
        shape = public.nodes, public.slots
        slots = np.broadcast_to(np.arange(1, public.slots + 1), shape)
        whole = [[Fraction(int(t), 3) for t in row] for row in slots]
        free = np.zeros(shape, np.int64)
        tables: Mapping[str, Any] = {
            "fractions": (whole, free),
            "doubles": (slots / 3.0, free.tolist()),
            "none": None,
            "one": (whole,),
            "short": (whole, free[:, 1:]),
            "few": (whole[1:], free),
            "negative": (whole, free - Fraction(1, 2)),
            "nan": (slots * np.nan, free),
            "large": (slots * 1e300, free),
            "words": ([["much"] * public.slots] * public.nodes, free),
        }
        if self._kind == "error":
            raise OSError("no prices today")
        return tables[self._kind]


class HonestBatch(Honest):
    """The same, slot by slot: takes the highest bid of the slot only. With counts, a label and an option."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.label = f"keen={(options or {}).get('keen', 'no')}\nsecond line"
        self.counts = {"slots": 0}

    def decide_batch(self, tasks: Sequence[Task], view: View) -> list[Any]:
        self.counts["slots"] += 1
        best = max(range(len(tasks)), key=lambda j: tasks[j].bid)
        return [self.decide(task, view) if j == best else None for j, task in enumerate(tasks)]


class HonestNumpy(Honest):
    """Answers in NumPy integers and lists; prints on the way; keeps its data in files, and writes a log."""

    def __init__(self) -> None:
        print('{"welfare": 10}')
        folder = os.environ.get("CONTESTANT_FOLDER", os.getcwd())
        with open(os.path.join(folder, "weights.json"), encoding="utf-8") as file:
            self.weight = int(file.read())
        self.log = os.path.join(folder, "log.csv")

    def decide(self, task: Task, view: View) -> Any:
        print("deciding", task.index)
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(f"{task.index}\n")
        plan = super().decide(task, view)
        if plan is None:
            return None
        vendor = None if plan.vendor is None else np.int32(plan.vendor)
        return [vendor, np.array(plan.cells, dtype=np.int16), np.int64(self.weight)]


class BuildsOnOurs(Honest):
    """Asks an algorithm of ours, which is found by its name, and the verifier and a solver about what has arrived."""

    def __init__(self, options: Mapping[str, str]) -> None:
        from ratiobench.online.lora.registry import parse

        spec = parse(options["ours"])
        assert spec.entry is not None
        self.ours = spec.entry.make(dict(spec.options))
        self.constants = tuple(getattr(self.ours, "constants", ()))

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        self.ours.start(public, constants)

    def decide(self, task: Task, view: View) -> Any:
        """As ours would; what the task is worth alone is found by solving it."""
        from ratiobench.formulations.lora.check import check
        from ratiobench.formulations.lora.solve import solve
        from ratiobench.instances.io.seeds import Stream
        from ratiobench.instances.lora import parse
        from ratiobench.instances.lora.format import FORMAT

        Stream("mine").integers(0, 1, 1)
        alone = parse(
            {
                "format": FORMAT,
                "name": "alone",
                "slots": task.deadline,
                "slot_seconds": 1,
                "base_memory_mb": 1,
                "node_types": [{"name": "a", "count": 1, "compute": 4, "memory_mb": 9, "tariff": [1] * task.deadline}],
                "tasks": [
                    {
                        "arrival": task.arrival,
                        "deadline": task.deadline,
                        "memory_mb": task.memory_mb,
                        "work": task.work,
                        "bid": task.bid,
                        "rate": [int(task.rate[0])],
                        "energy_wh": [1],
                        "vendors": [],
                    }
                ],
            }
        )
        assert check(alone, solve(alone).solution).valid
        return self.ours.decide(task, view)


class Declares(Honest):
    constants: tuple[str, ...] = ("alpha", "beta")

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        self.label = f"{constants['alpha']} {constants['beta']}"

    def decide(self, task: Task, view: View) -> Any:
        return None


class DeclaresNonsense(Declares):
    constants = ("opt",)


class OverbooksCompute(Honest):
    """Takes node 0 in the first usable slots, full or not, for tasks that leave room for their memory."""

    def decide(self, task: Task, view: View) -> Any:
        slots = range(task.options[0].first, task.deadline + 1)
        return Decision(task.options[0].vendor, tuple((0, slot) for slot in slots))


class UnknownVendor(Honest):
    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return None if plan is None else plan._replace(vendor=len(task.vendors))


class TooEarly(Honest):
    """Runs before the vendor has delivered (or the task has arrived)."""

    def decide(self, task: Task, view: View) -> Any:
        first = task.options[0].first - 1
        return None if first < 1 else self.plan(task, view, first, task.deadline)


class TooLate(Honest):
    def decide(self, task: Task, view: View) -> Any:
        return self.plan(task, view, task.deadline + 1, self.public.slots)


class HalfDone(Honest):
    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return None if plan is None else plan._replace(cells=plan.cells[:-1])


class ChangesItsMind(Honest):
    """Gives back a list and alters it at the next arrival."""

    def __init__(self) -> None:
        self.last: list[Any] = []

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        if plan is None:
            return None
        for cell in self.last:
            cell[0] += 1
        self.last = [list(cell) for cell in plan.cells]
        return (plan.vendor, self.last, plan.payment)


class _Shifting(tuple[Any, ...]):
    """A tuple whose second reading differs from its first."""

    reads = 0

    def __iter__(self) -> Iterator[Any]:
        self.reads += 1
        return iter(self[: len(self) - (self.reads + 1) % 2])


class ShiftingTuple(Honest):
    """Cells that are one thing when they are checked and another when they are read again."""

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return None if plan is None else (plan.vendor, _Shifting(plan.cells), plan.payment)


class DecidesForOthers(HonestBatch):
    """Answers with a dictionary of decisions for tasks of its choice."""

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Any:
        return {0: self.decide(tasks[0], view)}


class TooManyAnswers(HonestBatch):
    def decide_batch(self, tasks: Sequence[Task], view: View) -> Any:
        answers = [self.decide(task, view) for task in tasks]
        return [*answers, answers[-1]]


class Answers(Honest):
    """Answers with what its option says, where it would admit."""

    ODD: Mapping[str, Any] = {
        "text": "yes",
        "generator": (None, ((0, t) for t in range(1, 2)), None),
        "floats": (None, ((0.0, 1.0),), None),
        "nan": (None, ((0, 1),), float("nan")),
        "payment": (None, ((0, 1),), 10**30),
        "huge": (None, ((0, 1),), 10**6000),
        "true": (None, ((0, True),), None),
        "pair": (None, ((0, 1),)),
        "triples": (None, ((0, 1, 2),), None),
        "nothing": (),
        "half a coin": Decision(None, ((0, 1),), 12.5),  # type: ignore[arg-type]
        "object": object(),
        "text inside": ("0", "01", "2"),
    }

    def __init__(self, options: Mapping[str, str]) -> None:
        self.odd = self.ODD[options["odd"].replace("_", " ")]

    def decide(self, task: Task, view: View) -> Any:
        return self.odd


class Overcharges(Honest):
    """Charges every task more than it bid, but the first one its bid."""

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return None if plan is None else plan._replace(payment=task.bid + (task.index > 0))


class Reads(Honest):
    """Reads its option `margin` in the way that `how` says."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.how = options["how"]
        if self.how == "get":
            options.get("margin", "1")
        if self.how == "all":
            dict(**options)
        if self.how == "copy":
            dict(options)
        if self.how == "in":
            assert "margin" in options

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        if self.how == "start":
            assert self.options["margin"]


class WritesToTheView(Honest):
    def decide(self, task: Task, view: View) -> Any:
        view.compute[:] = 10**9
        return super().decide(task, view)


class WritesToTheTask(Honest):
    def decide(self, task: Task, view: View) -> Any:
        task.work = 1  # type: ignore[misc]
        return super().decide(task, view)


class Raises(Honest):
    def decide(self, task: Task, view: View) -> Any:
        if task.index:
            raise RuntimeError("this cannot\nbe done")
        return None


class RaisesInTheHouse(Honest):
    def decide(self, task: Task, view: View) -> Any:
        return view.room(task, None)  # type: ignore[arg-type]


class Interrupts(Honest):
    def decide(self, task: Task, view: View) -> Any:
        raise KeyboardInterrupt


class Exits(Honest):
    def decide(self, task: Task, view: View) -> Any:
        sys.exit(0)


class Dies(Honest):
    def decide(self, task: Task, view: View) -> Any:
        os._exit(7)


class Hangs(Honest):
    """Does not answer, and has started a process that does not end either."""

    def decide(self, task: Task, view: View) -> Any:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        with open(os.environ["CONTESTANT_FOLDER"] + "/child", "w", encoding="utf-8") as file:
            file.write(str(child.pid))
        time.sleep(3600)


class HangsAtTheStart(Honest):
    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        time.sleep(3600)


class HangsInConstructor(Honest):
    def __init__(self) -> None:
        time.sleep(3600)


class ReadsData(Honest):
    def decide(self, task: Task, view: View) -> Any:
        try:
            with open("instance.json", encoding="utf-8") as file:
                file.read()
        except OSError:
            pass
        return None


class ReadsByCommand(Honest):
    def decide(self, task: Task, view: View) -> Any:
        subprocess.run(["cat", "instance.json"], check=False, capture_output=True)


class ReadsTheInstance(Honest):
    """Reads the instance before it starts, from the file that its option names, and decides by it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        with open(options["file"], "rb") as file:
            file.read()


class ReadsTheInstanceAtStart(ReadsTheInstance):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.file = options["file"]

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        os.close(os.open(self.file, os.O_RDONLY))


class ReadsTheInstanceByCommand(ReadsTheInstance):
    def __init__(self, options: Mapping[str, str]) -> None:
        subprocess.run(f"cat {options['file']}", shell=True, check=True, capture_output=True)


class ReadsTheCommandLine(Honest):
    """Looks up in the referee's process which file it was given."""

    def __init__(self) -> None:
        with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
            file.read()


class RegeneratesTasks(Honest):
    """Draws the instances of a recipe until one begins with the first task, and has that one solved."""

    optimum: Any = None

    def decide(self, task: Task, view: View) -> Any:
        if self.optimum is None:
            from ratiobench.formulations.lora.solve import solve
            from ratiobench.instances.lora.generate import generate

            drawn = (generate({"kind": "family", "name": "lead", "L": length}) for length in range(2, 9))
            found = next(each for each in drawn if each.task(0).bid == task.bid and each.slots == self.public.slots)
            self.optimum = solve(found, backend="none").solution
        return self.optimum[task.index]


def _snoop(module: str, way: str) -> None:
    folder = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir)
    file = os.path.join(folder, *module.split(".")) + ".py"
    command = [sys.executable, "-c", f"import {module}"]
    if way == "statement":
        exec(f"import {module}")
    elif way == "from":
        package, _, name = module.rpartition(".")
        exec(f"from {package} import {name}")
    elif way == "importlib":
        importlib.import_module(module)
    elif way == "runpy":
        runpy.run_path(file)
    elif way == "loader":
        spec = importlib.util.spec_from_file_location("mine", file)
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    elif way == "source":
        with open(file, encoding="utf-8") as source:
            source.read()
    elif way == "descriptor":
        os.close(os.open(file, os.O_RDONLY))
    elif way == "compiled":
        with open(importlib.util.cache_from_source(os.path.realpath(file)), "rb") as source:
            source.read()
    elif way == "command":
        subprocess.run(command, cwd=folder, check=False, capture_output=True)
    elif way == "shell":
        os.system(f"cat {file} > {os.devnull}")
    else:
        raise AssertionError(way)


class Snoops(Honest):
    """Gets at the module that its options name, in the way and at the time that they name; rejects all."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)
        self.snoop("build")

    def snoop(self, when: str) -> None:
        if self.options["when"] == when:
            _snoop(self.options["module"], self.options["way"])

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        self.snoop("start")

    def decide(self, task: Task, view: View) -> Any:
        self.snoop("decide")
        return None


class PeeksThroughBase(Honest):
    """Follows the arrays of a task to the table they might be a part of."""

    def decide(self, task: Task, view: View) -> Any:
        """The rates and costs of all tasks, or the referee's books, would stand there."""
        for array in (task.rate, task.cost, view.compute, view.memory_mb):
            if isinstance(array.base, np.ndarray) and array.base.size > array.size:
                raise AssertionError(f"a base of shape {np.shape(array.base)}")
        return super().decide(task, view)


class DrawsWithoutSeed(Honest):
    def decide(self, task: Task, view: View) -> Any:
        return super().decide(task, view) if random.random() < 0.5 else None


class LearnsFromItsLastRun(Honest):
    """Writes down what arrives, and knows it the next time."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        self.notes = os.environ["CONTESTANT_FOLDER"] + "/notes"
        with open(self.notes, "a+", encoding="utf-8") as file:
            file.seek(0)
            self.known = file.read().split()

    def decide(self, task: Task, view: View) -> Any:
        with open(self.notes, "a", encoding="utf-8") as file:
            file.write(f"{task.index} ")
        return None if str(task.index) in self.known else super().decide(task, view)


class EveryOtherRun(Honest):
    """Decides otherwise in every second run: on the first half of the arrivals, as the referee makes its runs."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        with open(os.environ["CONTESTANT_FOLDER"] + "/runs", "a+", encoding="utf-8") as file:
            file.write("x")
            file.seek(0)
            self.odd = len(file.read()) % 2 == 1

    def decide(self, task: Task, view: View) -> Any:
        return super().decide(task, view) if self.odd else None


class WritesToThePipe(Honest):
    """Sends lines of its own where the answers go, past the loop that serves it."""

    LINES: Mapping[str, bytes] = {
        "garbage": b"\x80\x05garbage\n",
        "list": b"[]\n",
        "deep": b"[" * 100_000 + b"\n",
        "digits": b'{"kind": "answers", "read": [], "answers": [' + b"9" * 5000 + b"]}\n",
        "empty": b'{"kind": "answers", "read": []}\n',
        "text": b'{"kind": "answers", "read": [], "answers": "all"}\n',
        "end": b'{"kind": "end", "read": [], "altered": [], "counts": {}, "label": null}\n',
        "cells": b'{"kind": "answers", "read": [], "answers": [[null, [["0", {}]], null]]}\n',
    }

    def __init__(self, options: Mapping[str, str]) -> None:
        self.line = self.LINES[options["line"]]

    def decide(self, task: Task, view: View) -> Any:
        for descriptor in range(3, 32):
            try:
                os.write(descriptor, self.line)
            except OSError:
                continue
        return None


class BadConstructor:
    def __init__(self, needed: int, also: int) -> None:
        raise AssertionError("never reached")


class ReplacesTheWatch(ReadsData):
    """Takes the watch apart at the start, by every name that it has, and reads while it decides."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        """A hook that says nothing, helpers that see nothing, and an end that is none."""
        from ratiobench.online.referee import watch

        super().start(public, constants)
        watch._only_writes = lambda *_: True
        watch.DATA = watch._NEVER = watch._COMMANDS = ()
        os._exit = os.path.realpath = lambda *_: None  # type: ignore[assignment]


class LooksAroundAtTheStart(Honest):
    """Goes through all objects of its process, for the watch, before it decides anything."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        gc.get_referrers(public)


class ReachesForMemory(Honest):
    def __init__(self) -> None:
        import ctypes

        ctypes.string_at(id(self), 8)


class StartsPrograms(Honest):
    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        os.system("true")


class LeavesADaemon(Honest):
    """Starts a program that detaches itself and holds the error stream."""

    PROGRAM = "sleep 600"

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        os.system(f'setsid {self.PROGRAM} & echo $! > "$CONTESTANT_FOLDER/child"')


class WaitsForItsDaemon(LeavesADaemon):
    """Has the detached program do something that takes long."""

    def decide(self, task: Task, view: View) -> Any:
        time.sleep(3600)


class EatsMemoryElsewhere(WaitsForItsDaemon):
    PROGRAM = f"{sys.executable} -c 'import time; x = bytearray(600 * 2**20); time.sleep(600)'"


class Chatters(Honest):
    """Prints 5,000 bytes."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        print("x" * 4990)
        print("THE END")


class TooManyCells(Honest):
    def decide(self, task: Task, view: View) -> Any:
        return (None, [(0, task.arrival)] * 10**6, None)


class DrawsWithSeed(Honest):
    """Counts its runs, and draws from generators that it has seeded."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.odd = (options or {}).get("odd", "").split("+")
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        with open(os.environ["CONTESTANT_FOLDER"] + "/runs", "a+", encoding="utf-8") as file:
            file.write("x")
            file.seek(0)
            self.otherwise = str(len(file.read())) in self.odd
        self.draw()

    def draw(self) -> None:
        self.drawn = [random.random(), np.random.random(), random.Random(7), np.random.default_rng(7)]  # noqa: NPY002

    def decide(self, task: Task, view: View) -> Any:
        return None if self.otherwise else super().decide(task, view)


class DrawsByChance(DrawsWithSeed):
    """Draws from a source of chance as well; in which runs that shows, its option says."""

    def draw(self) -> None:
        self.drawn = [np.random.default_rng().random()]


class FillsTheSandbox(Honest):
    """Says how many MB it could write into each file system, and whether it could make a folder in the root."""

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        written = []
        for folder in ("/tmp", "/dev/shm", "/dev", "/"):
            number = 0
            try:
                with open(f"{folder}/filled", "wb", buffering=0) as file:
                    while number < 400 and file.write(bytes(2**20)) == 2**20:
                        number += 1
            except OSError:
                pass
            if os.path.exists(f"{folder}/filled"):
                os.remove(f"{folder}/filled")
            written.append(number)
        self.label = str(written)


class ForgesItsReads(Honest):
    """Answers in place of its process, with a list of files that it claims to have read: so many names of one file."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.file, self.number = options["file"], int(options["number"])

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        folder, name = os.path.split(self.file)
        read = [f"{folder}/{'./' * k}{name}" for k in range(self.number)]
        reply = {"kind": "started", "unread": [], "seconds": 0, "read": read, "drew": False, "started": []}
        for number in range(3, 12):
            try:
                if stat.S_ISFIFO(os.fstat(number).st_mode):
                    os.write(number, f"{json.dumps(reply)}\n".encode())
            except OSError:
                pass


class LooksOutOfTheSandbox(Honest):
    """Says what it can see and do from where it is; the option names a file outside."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.file = options["file"]

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        import socket

        super().start(public, constants)
        bench = importlib.util.find_spec("ratiobench.bench")  # an empty folder has no file
        package = "" if bench is None else os.path.dirname(bench.origin or "")
        outside = self.reads(os.listdir, package or "/nowhere"), self.reads(open, self.file)
        try:
            network = [name for _, name in socket.if_nameindex() if name != "lo"]
        except PermissionError:  # not even a question about it
            network = []
        try:
            with open(__file__, "a", encoding="utf-8"):
                writes = True
        except OSError:
            writes = False
        with open(f"{tempfile.gettempdir()}/mine", "w", encoding="utf-8") as file:
            file.write("x")
        try:
            crowd = sum(name.isdigit() for name in os.listdir("/proc")) > 6
        except PermissionError:
            crowd = False
        secret = "CONTESTANT_FOLDER" in os.environ
        self.label = f"{outside} {network} {writes} {crowd} {secret}"

    @staticmethod
    def reads(how: Any, path: str) -> bool:
        """Whether a file or folder can be read."""
        try:
            how(path)
        except OSError:
            return False
        return True
