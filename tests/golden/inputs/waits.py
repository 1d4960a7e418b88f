"""A policy that waits on the third cluster that it sees, as long as the file `wait` stands beside it."""

import time
from pathlib import Path

HERE = Path(__file__).parent


class Waits:
    """Declines every task."""

    def start(self, public, constants):
        """Write a file for each number of nodes, and wait."""
        (HERE / f"begun.{len(public.type_of_node)}").touch()
        while (HERE / "wait").exists() and len(list(HERE.glob("begun.*"))) > 2:
            time.sleep(0.05)

    def decide(self, task, view):
        """Decline."""
