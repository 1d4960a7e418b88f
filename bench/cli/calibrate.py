"""The command `calibrate`: one's own device, measured."""

from __future__ import annotations

import argparse
import re
import sys
from fractions import Fraction
from pathlib import Path

from ratiobench.bench.cli.arguments import Command, seconds, up_to
from ratiobench.bench.cli.parser import NAME
from ratiobench.bench.cli.printing import print_json, require_writable
from ratiobench.bench.family.capabilities import CalibrationSettings
from ratiobench.bench.family.registry import find_calibrator
from ratiobench.bench.running.heartbeat import now_at
from ratiobench.instances.errors import InputError, not_one_of
from ratiobench.instances.files import write_text


def add_calibrate(command: Command) -> None:
    """The command `calibrate`."""
    sub = command("calibrate", _calibrate, "measure fine-tuning on your own GPU, for recipes and clusters")
    sub.set_defaults(busy="beginning")
    sub.add_argument("--out", dest="target", metavar="FILE", type=Path, required=True, help="file for the figures")
    sub.add_argument("--device", metavar="D", default="auto", help="auto, cpu, cuda or cuda:N (auto: a GPU, else cpu)")
    sub.add_argument("--dtype", metavar="T", default="auto", help="float32, tf32 or bfloat16 (auto: tf32 or float32)")
    sub.add_argument("--quick", action="store_true", help="a tiny model: seconds, to try the command")
    sub.add_argument("--tasks", metavar="N,...", type=_several, default=(4, 8, 16), help="tasks that share it (4,8,16)")
    sub.add_argument("--batch", metavar="N,...", type=_several, default=(2, 4, 8), help="samples of a batch (2,4,8)")
    sub.add_argument("--seconds", metavar="S", type=seconds, help="for each pair of these (5)")
    sub.add_argument(
        "--watts", metavar="W", type=_watts, help="power above idle, where it cannot be measured; said in the file"
    )
    sub.add_argument("--name", metavar="NAME", help="of the GPU, in recipes and clusters (the file's)")
    sub.add_argument("--json", action="store_true", help="the file on standard output as well")


def _calibrate(options: argparse.Namespace) -> int:
    calibrator = find_calibrator()
    if options.dtype not in calibrator.dtypes:
        raise InputError("--dtype", "", not_one_of(options.dtype, calibrator.dtypes))
    require_writable(options.target)
    settings = CalibrationSettings(
        name=options.name if options.name is not None else _named_after(options.target),
        device=options.device,
        dtype=options.dtype,
        quick=options.quick,
        tasks=options.tasks,
        batch=options.batch,
        seconds=options.seconds,
        watts=options.watts,
    )
    found = calibrator.measure(settings, now_at, lambda line: print(f"... {line}", file=sys.stderr, flush=True))
    write_text(options.target, found.text)
    if options.json:
        print_json(found.document)
        return 0
    print(f"{settings.name}: {found.summary}")
    print(f"{options.target} is written. Now, for example, {NAME} {found.usage(options.target)}")
    return 0


def _named_after(file: Path) -> str:
    """A name that the file's gives."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", file.name.partition(".")[0]).strip("-._")[:60] or "gpu"


def _several(text: str) -> tuple[int, ...]:
    return tuple(up_to(1024)(part) for part in text.split(","))


def _watts(text: str) -> Fraction:
    if len(text) <= 8 and text.replace(".", "", 1).isdecimal() and Fraction(text) <= 100_000:
        return Fraction(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of watts in 0..100000")
