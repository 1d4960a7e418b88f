"""The command `import`: a log of real jobs as instances."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import select_fields
from ratiobench.bench.family.capabilities import ImportReport, ImportSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_importer
from ratiobench.bench.options import (
    Choice,
    Columns,
    Date,
    Decimal,
    Duration,
    File,
    Integer,
    Options,
    Range,
    Text,
    argument,
    option,
    switch,
)
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import IMPORT_REPORT, PRICE_LIST, check_writable, fill_folder, write_text


@dataclass(frozen=True, kw_only=True)
class Import(Options):
    """Options of `import`."""

    log: Path | None = argument("the log, plain or gzip; - for standard input", File(), "LOG", default=None)
    format: str | None = option("format of the log, as `list logs` names them", Text(), "F")
    cluster: Path | None = option("file with the nodes and the tariff", File(), "TOML")
    out: Path | None = option("folder for the instances and the report import.json", File(), "DIR", either="to")
    dry_run: bool = switch("print the report of the import, and write nothing", either="to")
    example: Path | None = option(
        "write a small synthetic log and a cluster file for it", File(), "FILE.csv", either="to"
    )
    family: str | None = option("family of the instances (default: the first that reads logs)", Text(), "NAME")
    columns: Mapping[str, str] | None = option("names of the columns of a CSV log", Columns(), "K=NAME,...")
    skip_bad: bool = switch("skip lines that cannot be read, and count them")
    days: int = option("days of submissions in an instance", Integer(1, 3660), "D", default=1)
    from_: date | None = option("first day of submissions, YYYY-MM-DD", Date(), "DAY")
    to: date | None = option("last day of submissions, YYYY-MM-DD", Date(), "DAY")
    slot: int = option("length of a slot, such as 5m", Duration(1), "TIME", default=600, told="10m")
    tail: int | str = option(
        "time after the last day for late jobs; auto: until the last window ends",
        Duration(auto=True),
        "TIME",
        default=21_600,
        told="6h",
    )
    begin: str = option(
        "state of the nodes when a day begins; full: jobs of the log that run then keep their nodes until they end",
        Choice(("empty", "full")),
        default="empty",
    )
    slack: Fraction = option(
        "window of a job without a deadline, as a multiple of its fewest slots or of its time limit",
        Decimal(1, 10**6),
        "X",
        default=Fraction(3),
    )
    price: tuple[Fraction, Fraction] = option(
        "bid of a job without a price, dollars per GPU-hour, drawn uniformly from A to B",
        Range(Decimal(0, 10**6)),
        "A[-B]",
        default=(Fraction(1), Fraction(3)),
        told="1-3",
    )
    list_price: Fraction | None = option(
        "list price, dollars per GPU-hour, for `backtest`",
        Decimal(0, 10**6),
        "A",
        told="--price where that is one number",
    )
    seed: str = option("name of the random streams", Text(), "NAME", default="0")
    run: str | None = option(
        "allowed schedules of jobs; gang: rigid, with all pods of a Kubernetes Job at once",
        Choice(("any", "one-node", "rigid", "gang")),
        told="as the format says",
    )

    def settings(self) -> ImportSettings:
        """What the family is told."""
        others = {"form": self.format, "columns": self.columns or {}, "first": self.from_, "last": self.to}
        return select_fields(ImportSettings, self, slot_seconds=self.slot, tail_seconds=self.tail, **others)


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of a log of jobs."""

    instances: Sequence[Any]  # in the order of time; empty where they were written to files
    # how many jobs were imported, how many left out by which rule, what is assumed; ``text()``, ``document()``.
    report: ImportReport
    files: Sequence[str] = field(default=())  # their names

    def __repr__(self) -> str:
        return f"<Imported: {len(self.instances)} instances>"


def read(options: Import) -> ImportOutcome:
    """The instances, in memory."""
    _, importing = _importer(options)
    report, instances = importing.read(_log(options), options.settings(), lambda _: None)
    return ImportOutcome(list(instances), report)


def run(options: Import) -> ImportOutcome | Path:
    """Write the instances and the report; or the example, whose log it returns."""
    if options.example is not None:
        return _write_example(options.example)
    _require(options)
    family, importing = _importer(options)
    if options.out is not None and options.out.is_dir():
        for name in (IMPORT_REPORT, PRICE_LIST):
            check_writable(options.out / name)
    report, instances = importing.read(_log(options), options.settings(), _tell)
    if options.out is None:
        return ImportOutcome((), report, [f"{instance.name}.json.gz" for instance in instances])
    files = _write(family, instances, report, options.out)
    write_text(options.out / IMPORT_REPORT, json.dumps(report.document(), indent=1) + "\n")
    if report.prices:
        write_text(options.out / PRICE_LIST, report.prices)
    else:  # of an earlier import
        (options.out / PRICE_LIST).unlink(missing_ok=True)
    return ImportOutcome((), report, files)


def _importer(options: Import) -> tuple[Family, Any]:
    if options.from_ and options.to and options.to < options.from_:
        raise InputError("--to", "", f"{options.to} is before {options.from_}")
    return find_importer(options.family)


def _log(options: Import) -> Path:
    return options.log or Path()


def text(options: Import, found: ImportOutcome | Path) -> Iterator[str]:
    """What became of the jobs, and the instances; of the example what to do with it."""
    if isinstance(found, Path):
        cluster = found.with_suffix(".toml")
        words = ["python", "-m", "ratiobench", "import", str(found), "--format", "csv", "--cluster", str(cluster)]
        yield f"{found}: a synthetic log; {cluster}: its cluster. Next:"
        yield f"{shlex.join(words)} --out days"
        return
    yield found.report.text()
    for each in found.report.document()["instances"]:
        yield f"{each['name']}: " + ", ".join(f"{key} {value}" for key, value in each.items() if key != "name")
    listed = f" and the list prices {PRICE_LIST}" * bool(found.report.prices)
    written = f"in {options.out}, with the report {IMPORT_REPORT}{listed}"
    yield f"{len(found.files)} instances, {'nothing was written (--dry-run)' if options.dry_run else written}"


def document(options: Import, found: ImportOutcome | Path) -> dict[str, Any]:
    """The report and the names of the files; of the example its two files."""
    if isinstance(found, Path):
        return {"files": [str(found), str(found.with_suffix(".toml"))]}
    return {**found.report.document(), "files": list(found.files)}


def _write_example(log: Path) -> Path:
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
    for path, content in zip((log, cluster), example(), strict=True):
        write_text(path, content)
    return log


def _require(options: Import) -> None:
    """What every import needs, but for `--example`."""
    needed = {"LOG": options.log, "--format": options.format, "--cluster": options.cluster}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise InputError("import", "", f"the following arguments are required: {', '.join(missing)}")
    if options.out is None and not options.dry_run:
        raise InputError("import", "", "one of the arguments --out --dry-run is required")


def _write(family: Family, instances: Any, report: ImportReport, out: Path) -> list[str]:
    """All instances, or none: they are made beside the folder and moved into it when the last one is there."""
    files: list[str] = []
    began = time.monotonic()
    set_current("making the first instance")
    with fill_folder(out) as beside:
        for instance in instances:
            files.append(f"{instance.name}.json.gz")
            write_text(beside / files[-1], family.dumps(instance))
            print(f"... {files[-1]}", file=sys.stderr)
            left = (time.monotonic() - began) * (1 - report.done) / max(report.done, 1e-6)
            set_current(f"instances made: {len(files)}, about {left:.0f} s left", again=True)
    return files


def _tell(lines: int) -> None:
    set_current(f"reading the log, {lines:,} lines", again=True)


IMPORT = Command(
    "import", "make instances of a log of real jobs, one per day or per several days", Import, run, text=text,
    document=document, busy="reading the log",
)  # fmt: skip
