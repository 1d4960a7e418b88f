"""The option `--timeline` of commands that run algorithms."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.instances.errors import InputError
from ratiobench.instances.files import write_atomically
from ratiobench.online.outcome import OnlineRun


def add_timeline(sub: argparse.ArgumentParser) -> None:
    """The option."""
    sub.add_argument(
        "--timeline",
        "--html",
        metavar="HTML",
        type=Path,
        help="write a page: load, prices, and why arrivals were turned away",
    )


def require_timeline(options: argparse.Namespace, family: Family) -> None:
    """Refuse, before the run, a family without time lines."""
    if options.timeline and family.timeline is None:
        raise InputError("--timeline", "", f"the family {family.name} has no time lines")


def write_timeline(options: argparse.Namespace, family: Family, instance: Any, runs: Sequence[OnlineRun]) -> None:
    """The page with the time lines of the runs, one below the other, where it is asked for."""
    if not options.timeline:
        return
    from ratiobench.bench.page.timeline import render_timelines

    name = str(getattr(instance, "name", "") or Path(options.file).name)
    write_atomically(options.timeline, render_timelines(family, instance, name, runs).encode())
    if not options.json:
        print(f"time line: {options.timeline}")
