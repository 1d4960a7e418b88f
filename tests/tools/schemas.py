"""Write the JSON Schemas of suites' files, one per family: ``python -m tests.tools.schemas``."""

from __future__ import annotations

import json
from pathlib import Path

from ratiobench import instances
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite_schema import FILE, make_schema


def place(family: Family) -> Path:
    """Where the schema of a family of this house stands."""
    return Path(next(iter(instances.__path__))) / family.name / FILE


def text(family: Family) -> str:
    """The schema as it is shipped."""
    return json.dumps(make_schema(family), indent=1) + "\n"


if __name__ == "__main__":
    for each in families().values():
        place(each).write_text(text(each), encoding="utf-8")
