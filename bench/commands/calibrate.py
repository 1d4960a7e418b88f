"""The command `calibrate`: one's own device, measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import NAME, Command
from ratiobench.bench.commands.shared import select_fields
from ratiobench.bench.commands.texts import require_writable
from ratiobench.bench.family.capabilities import CalibrationResult, CalibrationSettings
from ratiobench.bench.family.registry import find_calibrator
from ratiobench.bench.options import SECONDS, Decimal, File, Integers, Options, Text, option, required, switch
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import write_text


@dataclass(frozen=True, kw_only=True)
class Calibrate(Options):
    """Options of `calibrate`."""

    out: Path = required("file to write", File(), "FILE")
    device: str = option("device: auto, cpu, cuda or cuda:N", Text(), "D", default="auto", told="auto: a GPU, else cpu")
    dtype: str = option(
        "number format: float32, tf32 or bfloat16", Text(), "T", default="auto", told="auto: tf32 or float32"
    )
    quick: bool = switch("measure a tiny model in seconds, to try the command")
    tasks: tuple[int, ...] = option("numbers of tasks that share the GPU", Integers(1024), "N,...", default=(4, 8, 16))
    batch: tuple[int, ...] = option("batch sizes in samples", Integers(1024), "N,...", default=(2, 4, 8))
    seconds: float | None = option("seconds for each pair of these", SECONDS, "S", told="5")
    watts: Fraction | None = option(
        "power above idle in watts, where it cannot be measured; the file says so",
        Decimal(0, 100_000, "a number of watts"),
        "W",
    )
    name: str | None = option("name of the GPU in recipes and clusters", Text(), "NAME", told="the file's")

    @property
    def called(self) -> str:
        """The name of the device; without one given, after the file."""
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.out.name.partition(".")[0]).strip("-._")[:60]
        return self.name if self.name is not None else stem or "gpu"


def run(options: Calibrate) -> CalibrationResult:
    """Measure, and write the file."""
    calibrator = find_calibrator()
    if options.dtype not in calibrator.dtypes:
        raise InputError("--dtype", "", explain_unknown_name(options.dtype, calibrator.dtypes))
    require_writable(options.out)
    settings = select_fields(CalibrationSettings, options, name=options.called)
    found = calibrator.measure(settings, set_current, lambda line: print(f"... {line}", file=sys.stderr, flush=True))
    write_text(options.out, found.text)
    return found


def text(options: Calibrate, found: CalibrationResult) -> Iterator[str]:
    """What was measured, and what to do with the file."""
    yield f"{options.called}: {found.summary}"
    yield f"{options.out} is written. Now, for example, {NAME} {found.usage(options.out)}"


def document(options: Calibrate, found: CalibrationResult) -> Any:
    """The file."""
    return found.document


CALIBRATE = Command(
    "calibrate", "measure fine-tuning on your GPU, for recipes and clusters", Calibrate, run, text=text,
    document=document, busy="beginning", keeps=False,
)  # fmt: skip
