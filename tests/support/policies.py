"""Policies as files, as a program would write them: good ones, failing ones, and ones that cheat."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "policies"

REJECTS = """
class Rejects:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return None
"""
CRASHES = """
class Crashes:
    def start(self, public, constants):
        self.seen = 0

    def decide(self, task, view):
        self.seen += 1
        if self.seen > 7:
            return 1 / 0
"""
OVERBOOKS = """
class Overbooks:
    def start(self, public, constants):
        self.slots = public.slots

    def decide(self, task, view):
        from ratiobench.instances.lora.solution import Decision

        cells = tuple((0, slot) for slot in range(task.arrival, task.deadline + 1))
        return Decision(0 if task.vendors else None, cells, 0)
"""
SLEEPS = """
import time


class Sleeps:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        time.sleep(30)
"""
REMEMBERS = """
import os
import tempfile


class Remembers:
    runs = 0

    def start(self, public, constants):
        for name in (f"{tempfile.gettempdir()}/seen", "/dev/shm/seen"):
            if os.path.exists(name):
                raise RuntimeError("a file of an earlier run is here")
            try:
                with open(name, "w") as file:
                    file.write("x")
            except PermissionError:
                pass
        if Remembers.runs or "seen" in os.environ:
            raise RuntimeError("the memory of an earlier run is here")
        Remembers.runs, os.environ["seen"] = 1, "x"

    def decide(self, task, view):
        return None
"""
STAYS = """
import os
import time


class Stays:
    def start(self, public, constants):
        try:
            alone = [name for name in os.listdir("/proc") if name.isdigit()]
        except PermissionError:
            alone = []
        if len(alone) > 4:
            raise RuntimeError(f"{len(alone)} processes")
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)

    def decide(self, task, view):
        return None
"""
# Reads the standard set's certificates, if they can be seen
LOOKS = """
import glob
import os

import ratiobench.online.lora.protocol as ours


class Looks:
    def start(self, public, constants):
        root = ours.__file__.rpartition("/online/")[0]
        found = glob.glob(f"{root}/bench/standard/R1/*.cert") + glob.glob(f"{root}/bench/standard/*.json")
        if found:
            with open(found[0], "rb") as file:
                file.read()
            raise RuntimeError("the standard set is here")

    def decide(self, task, view):
        return None
"""
PEEKS = """
import ratiobench.instances.lora.generate


class Peeks:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return None
"""


def write(folder: Path, text: str, name: str = "policy.py") -> str:
    """A policy's file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)
