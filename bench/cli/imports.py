"""The command `import`: a log of real jobs as instances."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.arguments import Command, add_max_bytes, up_to
from ratiobench.bench.cli.printing import print_json
from ratiobench.bench.family.capabilities import ImportSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_importer
from ratiobench.instances.errors import InputError, shorten
from ratiobench.instances.files import IMPORT_REPORT, check_writable, filling, write_text
from ratiobench.instances.numerals import seconds_of


def add_import(command: Command) -> None:
    """The command `import`."""
    sub = command("import", _import, "make instances of a log of real jobs, one per day or per some days")
    sub.set_defaults(busy="reading the log")
    sub.add_argument("log", metavar="LOG", type=Path, nargs="?", help="the log, plain or gzip; - for standard input")
    sub.add_argument("--format", metavar="F", help="of the log, as `list logs` names them")
    sub.add_argument("--cluster", metavar="TOML", type=Path, help="file with the nodes and the tariff")
    to = sub.add_mutually_exclusive_group()
    to.add_argument("--out", metavar="DIR", type=Path, help="folder for the instances and the report import.json")
    to.add_argument("--dry-run", action="store_true", help="say what would become of the log, and write nothing")
    to.add_argument(
        "--example", metavar="FILE.csv", type=Path, help="write a small made-up log, and its cluster beside it"
    )
    sub.add_argument("--family", metavar="NAME", help="what the jobs become; the first family that reads logs")
    sub.add_argument(
        "--columns", metavar="K=NAME,...", type=_columns, default={}, help="of a CSV: which column is what"
    )
    sub.add_argument("--skip-bad", action="store_true", help="count lines that cannot be read, and go on")
    sub.add_argument("--days", metavar="D", type=up_to(3660), default=1, help="days of submissions in an instance (1)")
    sub.add_argument("--from", dest="first", metavar="DAY", type=_day, help="first day of submissions, YYYY-MM-DD")
    sub.add_argument("--to", dest="last", metavar="DAY", type=_day, help="last day of submissions, YYYY-MM-DD")
    sub.add_argument("--slot", metavar="TIME", type=_length, default=600, help="length of a slot, such as 5m (10m)")
    sub.add_argument(
        "--tail", metavar="TIME", type=_duration, default=21_600, help="time behind the last day for late jobs (6h)"
    )
    sub.add_argument(
        "--slack",
        metavar="X",
        type=_slack,
        default=Fraction(3),
        help="times the fewest slots that a job may take that has neither deadline nor time limit (3)",
    )
    sub.add_argument(
        "--price",
        metavar="A[-B]",
        type=_price,
        default=(Fraction(1), Fraction(3)),
        help="dollars per GPU-hour that a job without a price bids, drawn evenly from A to B (1-3)",
    )
    sub.add_argument("--seed", metavar="NAME", default="0", help="names the draws (0)")
    add_max_bytes(sub)
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def _import(options: argparse.Namespace) -> int:
    if options.example is not None:
        return _write_example(options.example)
    _require(options)
    family, importing = find_importer(options.family)
    settings = ImportSettings(
        form=options.format,
        cluster=options.cluster,
        columns=options.columns,
        skip_bad=options.skip_bad,
        days=options.days,
        first=options.first,
        last=options.last,
        slot_seconds=options.slot,
        tail_seconds=options.tail,
        slack=options.slack,
        price=options.price,
        seed=options.seed,
    )
    if options.first and options.last and options.last < options.first:
        raise InputError("--to", "", f"{options.last} is before {options.first}")
    if options.out is not None and options.out.is_dir():
        check_writable(options.out / IMPORT_REPORT)
    report, instances = importing.read(options.log, settings, _tell)
    if options.dry_run:
        files = [f"{instance.name}.json.gz" for instance in instances]
    else:
        files = _write(family, instances, options.out)
        write_text(options.out / IMPORT_REPORT, json.dumps(report.document(), indent=1) + "\n")
    if options.json:
        print_json({**report.document(), "files": files})
        return 0
    print(report.text())
    for each in report.document()["instances"]:
        print(f"{each['name']}: " + ", ".join(f"{key} {value}" for key, value in each.items() if key != "name"))
    where = (
        "nothing was written (--dry-run)" if options.dry_run else f"in {options.out}, with the report {IMPORT_REPORT}"
    )
    print(f"{len(files)} instances, {where}")
    return 0


def _write_example(log: Path) -> int:
    """Write the example log, and its cluster beside it; say what to do with them."""
    cluster = log.with_suffix(".toml")
    if log.suffix != ".csv":
        raise InputError("--example", "", f"{shorten(str(log))} does not end with .csv")
    example = find_importer(None)[1].example
    if example is None:
        raise InputError("--example", "", "there is none")
    for path in (log, cluster):
        if path.exists():
            raise InputError("--example", "", f"{shorten(str(path))} is there already; name another file")
        check_writable(path)
    for path, text in zip((log, cluster), example(), strict=True):
        write_text(path, text)
    print(f"{log}: made-up jobs; {cluster}: their cluster. Now")
    print(
        shlex.join(["python", "-m", "ratiobench", "import", str(log), "--format", "csv", "--cluster", str(cluster)]),
        end="",
    )
    print(" --out days")
    return 0


def _require(options: argparse.Namespace) -> None:
    """What every import needs, but for `--example`."""
    needed = {"LOG": options.log, "--format": options.format, "--cluster": options.cluster}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise InputError("import", "", f"the following arguments are required: {', '.join(missing)}")
    if options.out is None and not options.dry_run:
        raise InputError("import", "", "one of the arguments --out --dry-run is required")


def _write(family: Family, instances: Any, out: Path) -> list[str]:
    """All instances, or none: they are made beside the folder and moved into it when the last one is there."""
    files: list[str] = []
    with filling(out) as beside:
        for instance in instances:
            files.append(f"{instance.name}.json.gz")
            write_text(beside / files[-1], family.dumps(instance))
            print(f"... {files[-1]}", file=sys.stderr)
    return files


def _tell(lines: int) -> None:
    print(f"... {lines:,} lines read", file=sys.stderr)


def _columns(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = part.partition("=")
        if not (name and equals and column) or name in found:
            raise argparse.ArgumentTypeError(f"{text!r} is not submit=NAME,duration=NAME,...")
        found[name] = column
    return found


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day YYYY-MM-DD") from None


def _duration(text: str) -> int:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _length(text: str) -> int:
    if found := _duration(text):
        return found
    raise argparse.ArgumentTypeError(f"{text!r}: a slot takes some time")


def _slack(text: str) -> Fraction:
    return _decimal(text, 1)


def _price(text: str) -> tuple[Fraction, Fraction]:
    low, dash, high = text.partition("-")
    found = _decimal(low, 0), _decimal(high if dash else low, 0)
    if found[0] > found[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: the first number is the larger one")
    return found


def _decimal(text: str, least: int) -> Fraction:
    if len(text) <= 12 and text.replace(".", "", 1).isdecimal() and least <= (found := Fraction(text)) <= 10**6:
        return found
    raise argparse.ArgumentTypeError(f"{text!r} is not a number in {least}..10^6")
