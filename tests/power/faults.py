"""Faults in words, with the place where each can be planted today: `faults.toml` is rewritten as code moves."""

import tomllib
from pathlib import Path

from tests.power.mutants import Fault

FILE = Path(__file__).with_name("faults.toml")


def faults(root: Path) -> list[Fault]:
    """Read all faults; each text that is replaced stands once in its file."""
    found = []
    for entry in tomllib.loads(FILE.read_text())["fault"]:
        source = (root / entry["file"]).read_text()
        if source.count(entry["old"]) != 1:
            raise ValueError(f"{entry['words']}: {source.count(entry['old'])} places in {entry['file']}")
        begin = source.index(entry["old"])
        found.append(Fault(entry["words"], entry["file"], begin, begin + len(entry["old"]), entry["new"]))
    return found
