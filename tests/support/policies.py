"""Policies as files, as a program would write them: good ones, failing ones, and ones that cheat."""

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
PEEKS = """
import ratiobench.instances.lora.generate


class Peeks:
    def start(self, public, constants):
        pass

    def decide(self, task, view):
        return None
"""


def write(folder: Path, text: str, name: str = "policy.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)
