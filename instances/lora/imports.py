"""Jobs of a log as instances of P: what a job becomes, what is left out by which rule, and what is assumed.

A job becomes a task. Its work is its GPU-seconds on the log's GPU; its rate on a node is its number of GPUs times the
node's speed, its memory its share of a node's GPU memory. It may run from the slot in which it was submitted, in most
formats without a pause (`rigid`), and on several nodes at once as a gang of equal parts. Each rule that leaves a job
out, and each law that stands in for what the log does not say, is counted and reported.
"""

from __future__ import annotations

import json
import math
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.io.text_files import open_text
from ratiobench.instances.lora.cluster import DAY, Cluster
from ratiobench.instances.lora.feasibility import load, servable
from ratiobench.instances.lora.format import BID_SUM_LIMIT, FORMAT_2, SLOT_LIMIT, parse
from ratiobench.instances.lora.import_basis import FIELD, Basis
from ratiobench.instances.lora.import_running import Crossing, Held, find_tail, place
from ratiobench.instances.lora.import_schedules import Facts, Schedules, Tails, tell_waits
from ratiobench.instances.lora.job_sizes import Converter, Sizes
from ratiobench.instances.lora.job_sizes import Laws as Laws
from ratiobench.instances.lora.logs import Job, LogFormat, Remark, list_formats
from ratiobench.instances.lora.model import NO_LABELS, Instance, Labels
from ratiobench.instances.lora.schedules import ScheduleKind

VERSION = 1
EARLY, DEAR = "with a deadline before its first slot ends", "with a larger bid than the format holds"
NAMED = 5  # Lines that could not be read and are named
DEFAULTS = Laws()
OTHER_DAYS = "of days that were not asked for"


@dataclass(slots=True)
class Report:
    """What became of the lines of a log."""

    source: str  # the log
    form: str  # its format
    jobs: int = 0  # how many it has, those left out included
    left: Counter[str] = field(default_factory=Counter)  # how many were left out, by rule
    bad: int = 0  # how many lines could not be read (with `skip_bad`)
    bad_named: list[str] = field(default_factory=list)  # the messages of the first of them: file, line, column, value
    counts: Counter[str] = field(default_factory=Counter)  # of imported jobs, what was taken from where
    instances: list[dict[str, Any]] = field(default_factory=list)  # a row per instance: name, tasks, servable, load
    notes: list[str] = field(default_factory=list)  # sentences on what is assumed
    remarks: Counter[str] = field(default_factory=Counter)  # what readers say of jobs, with their numbers
    warnings: list[str] = field(default_factory=list)  # what readers say of the log as a whole
    # seconds that jobs of the log waited, where it says so.
    waits: array[int] = field(default_factory=lambda: array("q"))
    # of `left`, how many readers left out, by the day of their submission.
    skipped: dict[int, Counter[str]] = field(default_factory=dict)
    prices: str = ""  # the list price as a file of the algorithm `pricelist`; empty where none is known
    handled: int = 0  # how many jobs were turned into tasks or left out when the instances so far were made
    to_handle: int = 0  # how many there are in all, of the days that were asked for

    @property
    def done(self) -> float:
        """The part of the jobs that the instances made so far account for, 0 to 1."""
        return self.handled / max(1, self.to_handle)

    @property
    def imported(self) -> int:
        """How many jobs became tasks."""
        return self.jobs - sum(self.left.values())

    def document(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "log": self.source,
            "format": self.form,
            "jobs": self.jobs,
            "imported": self.imported,
            "left_out": dict(self.left.most_common()),
            "bad_lines": self.bad,
            "first_bad_line": next(iter(self.bad_named), ""),
            "bad_lines_named": self.bad_named,
            "counts": dict(sorted(self.counts.items())),
            "instances": self.instances,
            "remarks": dict(self.remarks.most_common()),
            "warnings": self.warnings,
            "assumptions": self.notes,
        }

    def text(self) -> str:
        """The report for reading."""
        out = ", ".join(f"{count:,} {rule}" for rule, count in self.left.most_common())
        other = self.counts[OTHER_DAYS]
        days = f" ({other:,} others are {OTHER_DAYS})" * (other > 0)
        lines = [f"imported {self.imported:,} of {self.jobs:,} jobs" + (f": {out}" if out else "") + days]
        if self.bad:
            more = self.bad - len(self.bad_named)
            text = (
                "1 line that could not be read is"
                if self.bad == 1
                else f"{self.bad:,} lines that could not be read are"
            )
            lines += [f"{text} left out:", *(f"  {each}" for each in self.bad_named)]
            lines += [f"  and {more:,} more"] * (more > 0)
        lines += [f"- {note}" for note in self.notes]
        return "\n".join(lines)


def read_jobs(
    path: str | os.PathLike[str],
    form: str,
    report: Report,
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    report_progress: Callable[[int], None] = lambda lines: None,
    wanted: Callable[[int], bool] = lambda submit: True,
    observe: Callable[[Job], None] = lambda job: None,
) -> Iterator[Job]:
    """The jobs of a log in its order; what is left out is counted in the report."""
    reader = _format(form, columns or {})
    source = str(path)
    with open_text(path, reader.title) as file:
        for count, (line, row) in enumerate(reader.rows(file, source, columns or {})):
            if count % 4096 == 0:
                report_progress(line)
            try:
                found = reader.job(row, f"line {line}", source)
            except InputError as error:
                if not skip_bad:
                    raise
                report.bad += 1
                if len(report.bad_named) < NAMED:
                    report.bad_named.append(str(error))
                continue
            if isinstance(found, Job):
                observe(found)
            if isinstance(found, Remark):
                report.warnings.append(found.text)
            elif found.submit is not None and not wanted(found.submit):
                report.counts[OTHER_DAYS] += isinstance(found, Job) or bool(found.rule)
            elif isinstance(found, Job):
                report.jobs += 1
                if found.remarks:
                    report.remarks.update(found.remarks)
                if found.wait is not None:
                    report.waits.append(found.wait)
                yield found
            elif found.rule:
                report.jobs += 1
                report.left[found.rule] += 1
                if found.submit is not None:
                    report.skipped.setdefault(found.submit // DAY, Counter())[found.rule] += 1


def _format(form: str, columns: Mapping[str, str]) -> LogFormat:
    known = list_formats()
    if form not in known:
        raise InputError("", "format", explain_unknown_name(form, known))
    for name in columns:
        if name not in known[form].mapped:
            mapped = ", ".join(known[form].mapped)
            allowed = f"known: {mapped}" if mapped else f"a log of format {form} has names of its own"
            raise InputError("", "columns", f"{shorten(name)} is no column; {allowed}")
    return known[form]


def import_log(
    path: str | os.PathLike[str],
    form: str,
    cluster: Cluster,
    laws: Laws = DEFAULTS,
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    report_progress: Callable[[int], None] = lambda lines: None,
) -> tuple[Report, Iterator[Instance]]:
    """What becomes of a log: the report, complete when all instances were made, and the instances in order of time."""
    if not 1 <= laws.slots <= SLOT_LIMIT:
        problem = f"{laws.slots} slots of {laws.slot_seconds} s; 1..{SLOT_LIMIT} are allowed"
        raise InputError("", "days", problem)
    report = Report(str(path), form)
    periods: dict[int, list[Job]] = {}
    begin = None if laws.first is None else _second(laws.first)
    end = None if laws.last is None else _second(laws.last) + DAY

    def wanted(submit: int) -> bool:
        return (begin is None or submit >= begin) and (end is None or submit < end)

    crossing = Crossing()
    observe = crossing.observe if laws.full else lambda job: None
    for job in read_jobs(path, form, report, columns, skip_bad, report_progress, wanted, observe):
        periods.setdefault(job.submit // DAY, []).append(job)
    if not periods:
        other = report.counts[OTHER_DAYS]
        rules = [f"{count:,} {rule}" for rule, count in report.left.most_common()]
        rules += [f"{other:,} {OTHER_DAYS}"] * (other > 0)
        found = f"{report.jobs + other} jobs, all left out: {', '.join(rules)}" if rules else "no jobs"
        found += f"; lines that could not be read: {report.bad}, the first: {report.bad_named[0]}" if report.bad else ""
        raise InputError(str(path), "", found)
    known = _format(form, {})
    converter = Converter(cluster, laws, known, chain(*periods.values(), crossing.jobs))
    first = min(periods) if laws.first is None else _second(laws.first) // DAY
    grouped: dict[int, list[Job]] = {}
    for day, jobs in periods.items():
        grouped.setdefault((day - first) // laws.days, []).extend(jobs)
    report.to_handle = sum(map(len, grouped.values()))
    if laws.tail is None:
        windows = (
            window.last
            for number, jobs in grouped.items()
            for job in jobs
            if (window := _window(job, converter, (first + number * laws.days) * DAY)) is not None
        )
        tail = find_tail(windows, laws.slot_seconds, laws.days, SLOT_LIMIT)
        converter.laws = replace(laws, tail=tail)
    stem = Path(path).name.partition(".")[0][:80].strip("-") or form
    return report, _instances(report, converter, grouped, first, stem, crossing)


def _second(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _instances(
    report: Report, converter: Converter, grouped: dict[int, list[Job]], first: int, stem: str, crossing: Crossing
) -> Iterator[Instance]:
    laws, recurring, schedules, tails = converter.laws, False, Schedules(converter.laws), Tails(converter.laws)
    for number in sorted(grouped):
        start = (first + number * laws.days) * DAY
        jobs = sorted(grouped.pop(number), key=lambda job: job.submit)
        report.handled += len(jobs)
        prices, recurs = converter.cluster.tariff.at_slots(start, laws.slots, laws.slot_seconds)
        recurring |= recurs
        name = f"{stem}-{datetime.fromtimestamp(start, UTC).date().isoformat()}"
        facts, basis = Facts(), Basis(laws)
        tasks = _tasks(report, converter, facts, basis, jobs, start, name)
        if not tasks:
            continue
        held = place(converter, crossing.running_at(start), start) if laws.full else None
        if held is not None:
            basis.hold(held)
            _count_held(report.counts, held)
        for day in range(start // DAY, start // DAY + laws.days):
            for rule, count in report.skipped.get(day, {}).items():
                basis.skip(rule, count)
        instance = parse(
            {
                "format": FORMAT_2,
                "name": name,
                "origin": _origin(report, converter, start),
                "slots": laws.slots,
                "slot_seconds": laws.slot_seconds,
                "base_memory_mb": 0,
                "node_types": [
                    {
                        "name": node.name,
                        "count": node.count,
                        "compute": converter.compute(node),
                        "memory_mb": node.gpus * node.memory_mb,
                        "tariff": prices,
                    }
                    for node in converter.cluster.nodes
                ],
                "tasks": tasks,
                **({"running": held.documents} if held is not None and held.documents else {}),
            },
            f"{report.source} as {name}",
        )
        can = servable(instance)
        basis.mark_unservable((instance.work[~can] // converter.per_second).tolist())
        instance = replace(instance, origin={**instance.origin, FIELD: basis.document()})
        tails.add(instance, can, facts)
        if converter.run is not ScheduleKind.ANY:
            schedules.add(instance, can, facts)
        count = int(can.sum())
        report.counts["that no schedule can finish in the instance"] += instance.tasks - count
        report.instances.append(
            {"name": name, "tasks": instance.tasks, "servable": count, "load": round(float(load(instance)), 3)}
        )
        yield instance
    if not report.instances:
        out = ", ".join(f"{count:,} {rule}" for rule, count in report.left.most_common())
        raise InputError(report.source, "", f"{report.jobs:,} jobs, all left out: {out}")
    report.notes[:] = _notes(report, converter, schedules, tails, recurring)
    report.prices = _price_list(converter)


def _price_list(converter: Converter) -> str:
    listed = converter.laws.listed
    if listed is None:
        return ""
    lines = ["# Dollars per GPU-hour, made by `import`: the list price of the log's GPU times the speed of the type."]
    for node in converter.cluster.nodes:
        price = Decimal(node.speed.numerator * listed) / Decimal(node.speed.denominator * 10**6)
        lines += [f"[types.{json.dumps(node.name)}]", f"gpus = {node.gpus}", f"price = {price:f}"]
    return "\n".join(lines) + "\n"


def _tasks(
    report: Report, converter: Converter, facts: Facts, basis: Basis, jobs: Sequence[Job], start: int, name: str
) -> list[dict[str, Any]]:
    laws, counts = converter.laws, report.counts
    drawn = Stream("ratiobench/lora/import", VERSION, laws.seed, name).integers(*laws.per_gpu_hour, len(jobs)).tolist()
    named = {node.name.casefold() for node in converter.cluster.nodes}
    tasks: list[dict[str, Any]] = []
    total = 0
    for job, price in zip(jobs, drawn, strict=True):
        sizes = converter.sizes(job)
        basis.count(job)
        if isinstance(sizes, str):
            report.left[sizes] += 1
            basis.leave_out(job, sizes)
            continue
        arrival, last, source = _find_window(job, sizes, laws, start)
        if last < arrival:
            report.left[EARLY] += 1
            basis.leave_out(job, EARLY)
            continue
        cut = _cut_limit(sizes, laws, arrival) if last > laws.slots else sizes.limit
        bid = sizes.seconds * job.gpus * price // 3_600_000 if job.bid is None else job.bid
        if total + bid > BID_SUM_LIMIT or bid > LIMIT:
            report.left[DEAR] += 1
            basis.leave_out(job, DEAR)
            continue
        total += bid
        counts[source] += 1
        counts["windows cut at the end of the instance"] += last > laws.slots
        counts["limits cut with their window"] += cut < sizes.limit
        counts["bids of their own" if job.bid is not None else "bids by law"] += 1
        counts["memory of their own" if job.memory_mb is not None else "memory by law"] += 1
        counts["shorter than a slot"] += job.seconds < laws.slot_seconds
        known = not job.kind or job.kind.casefold() in named
        counts["of a GPU type that the cluster does not name"] += not known
        basis.add(job, sizes, last, known, converter.per_second)
        counts["work, units"] += sizes.work
        counts["work in whole slots, units"] += sizes.needed * sizes.shape.best
        facts.best.append(sizes.shape.best)
        facts.last.append(arrival - 1 + sizes.needed)
        facts.short.append(job.seconds < laws.slot_seconds)
        facts.wide.append(job.gpus > converter.widest)
        task: dict[str, Any] = {
            "arrival": arrival,
            "deadline": min(last, laws.slots),
            "memory_mb": sizes.memory_mb,
            "work": sizes.work,
            "bid": bid,
            "rate": sizes.shape.rate,
            "energy_wh": sizes.shape.energy_wh,
            "vendors": [],
        }
        if converter.run is not ScheduleKind.ANY:
            _count_schedules(counts, job, sizes)
            task["run"] = sizes.split.run.value
            if sizes.split.parts > 1:
                task["nodes"] = sizes.split.parts
            if sizes.limit:
                task["limit"] = cut
            if job.labels is not NO_LABELS:
                task |= {key: value for key, value in zip(Labels._fields, job.labels, strict=True) if value}
        tasks.append(task)
    return tasks


class Window(NamedTuple):
    """First and last slot of a job's window, not cut at the end of the instance, and what the last one comes from."""

    arrival: int
    last: int
    source: str


def _window(job: Job, converter: Converter, start: int) -> Window | None:
    """The window of a job that becomes a task; None for one that is left out."""
    sizes = converter.sizes(job)
    return None if isinstance(sizes, str) else _find_window(job, sizes, converter.laws, start)


def _find_window(job: Job, sizes: Sizes, laws: Laws, start: int) -> Window:
    """The window of a job in an instance whose first slot begins at a second."""
    arrival = (job.submit - start) // laws.slot_seconds + 1
    if job.deadline is not None:
        return Window(arrival, (job.deadline - start) // laws.slot_seconds, "windows by their own deadline")
    if job.limit is not None and not sizes.limit:
        width = max(sizes.needed, -(-job.limit // laws.slot_seconds))
        return Window(arrival, arrival - 1 + width, "windows by their time limit")
    if job.limit is not None:  # it is planned for its limit, and a window as long would let it start at once only
        width = math.ceil(max(sizes.needed, sizes.planned) * laws.slack)
        return Window(arrival, arrival - 1 + width, "windows by law, of their time limit")
    return Window(arrival, arrival - 1 + math.ceil(sizes.needed * laws.slack), "windows by law")


def _count_held(counts: Counter[str], held: Held) -> None:
    """Count what the report says of jobs that run when an instance begins."""
    counts["running when an instance begins"] += len(held.documents)
    counts["running when an instance begins, GPU-seconds"] += held.seconds
    counts["running when an instance begins, without a start in the log"] += held.guessed
    counts["running when an instance begins, without room"] += held.left
    counts["running when an instance begins, without room, GPU-seconds"] += held.left_seconds


def _tell_held(counts: Counter[str]) -> Iterator[str]:
    """What jobs that run when an instance begins hold, in sentences."""
    jobs = counts["running when an instance begins"]
    hours = counts["running when an instance begins, GPU-seconds"] / 3600
    yield f"{jobs:,} jobs from before run when an instance begins, and hold {hours:,.0f} GPU-hours of its nodes."
    if guessed := counts["running when an instance begins, without a start in the log"]:
        yield f"Of {guessed:,} of these the log has no start: they count as running since their submission."
    if left := counts["running when an instance begins, without room"]:
        hours = counts["running when an instance begins, without room, GPU-seconds"] / 3600
        yield (
            f"{left:,} jobs that ran, too, find no room on these nodes and are left out ({hours:,.0f} GPU-hours): the "
            "log is of a larger cluster, or they waited."
        )


def _cut_limit(sizes: Sizes, laws: Laws, arrival: int) -> int:
    """The limit of a task whose window is cut at the end of the instance: it leaves as much of the window as by law.

    A policy plans a run for its limit, and would never begin one that is longer than what is left of the instance.
    """
    slots = max(sizes.needed, int((laws.slots - arrival + 1) / laws.slack))
    return min(sizes.limit, max(sizes.work, slots * sizes.shape.best))


def _count_schedules(counts: Counter[str], job: Job, sizes: Sizes) -> None:
    split = sizes.split
    counts[split.run.value] += 1
    if split.parts > 1:
        counts["gangs of rounded parts"] += split.parts * split.gpus > job.gpus
        counts["gangs on other nodes than in the log"] += 1 < job.nodes != split.parts
    if job.limit is not None:
        counts["limits"] += 1
        counts["killed at their limit"] += job.killed
        counts["longer than their limit"] += not job.killed and job.seconds > job.limit


def _origin(report: Report, converter: Converter, start: int) -> dict[str, Any]:
    laws, measured = converter.laws, converter.cluster.measured
    return {
        "importer": "log",
        "version": VERSION,
        "log": Path(report.source).name,
        "format": report.form,
        "start": datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "work": f"1/{converter.per_second} GPU-second of the log's GPU",
        "units_per_gpu_second": converter.per_second,
        "slack": str(laws.slack),
        "micro_dollars_per_gpu_hour": list(laws.per_gpu_hour),
        **({} if laws.listed is None else {"list_micro_dollars_per_gpu_hour": laws.listed}),
        "seed": laws.seed,
        "prices": converter.cluster.tariff.source,
        **({"calibrations": list(measured)} if measured else {}),
        **({"run": converter.run.value} if converter.run is not ScheduleKind.ANY else {}),
        **({"begin": "full"} if laws.full else {}),
    }


# How a report tells where windows come from, by the name of the count
_WINDOWS = {
    "windows by their own deadline": "end at the deadline in the log",
    "windows by their time limit": "end with the time limit, counted from the submission",
    "windows by law": "have {slack} times the fewest slots of the run (--slack)",
    "windows by law, of their time limit": "have {slack} times the fewest slots of the time limit (--slack)",
}


def _notes(report: Report, converter: Converter, schedules: Schedules, tails: Tails, recurring: bool) -> list[str]:
    """What is assumed, in sentences; only what bears on this log."""
    laws, counts = converter.laws, report.counts
    lines = [f"{each}." for each in (*report.warnings, *converter.form.reading)]
    lines += [f"{count:,} of the jobs {remark}." for remark, count in report.remarks.most_common()]
    low, high = (Fraction(end, 10**6) for end in laws.per_gpu_hour)
    windows = [f"{counts[key]:,} {text.format(slack=laws.slack)}" for key, text in _WINDOWS.items() if counts[key]]
    cut = counts["windows cut at the end of the instance"]
    if windows:
        lines.append(f"Windows: {', '.join(windows)}; {cut:,} are cut at the end of their instance (--tail, --days).")
    if limits := counts["limits cut with their window"]:
        lines.append(f"{limits:,} time limits are cut with them.")
    if counts["bids by law"]:
        price = f"{float(low):g}" if low == high else f"{float(low):g} to {float(high):g} (drawn uniformly)"
        lines.append(f"{counts['bids by law']:,} jobs without a bid get one by a rule: {price} dollars per GPU-hour.")
    if counts["memory by law"]:
        lines.append(
            f"{counts['memory by law']:,} jobs without GPU memory in the log get the share of a node's memory that "
            "equals their share of its GPUs."
        )
    if report.waits:
        lines.append(tell_waits(report.waits))
    if kinds := counts["of a GPU type that the cluster does not name"]:
        lines.append(f"{kinds:,} jobs ask for a GPU type that no node has; they may run on any node.")
    behind = " Of the others:" * (converter.run is not ScheduleKind.ANY)
    if hopeless := counts["that no schedule can finish in the instance"]:
        lines.append(f"Jobs that no schedule can finish in their window: {hopeless:,}.{tails.sentence()}{behind}")
    if converter.run is not ScheduleKind.ANY:
        lines += schedules.sentences(counts)
    elif report.imported:
        short = counts["shorter than a slot"]
        more = 100 * counts["work in whole slots, units"] / max(1, counts["work, units"]) - 100
        lines.append(
            "P lets a task pause, move to another node and go on, at no cost, between slots. That is a strong "
            f"assumption for short jobs: {short:,} ({100 * short / report.imported:.0f} %) are shorter than a slot of "
            f"{laws.slot_seconds} s. Tasks take whole slots, {more:.1f} % more than their work."
        )
    if laws.full:
        lines += _tell_held(counts)
    if any(node.watts for node in converter.cluster.nodes):
        lines.append("Energy is rounded to whole Wh per slot.")
    lines += converter.cluster.measured
    tariff = converter.cluster.tariff
    lines.append(f"Electricity: {tariff.source}{'; where the table ends its days begin again' * recurring}.")
    return lines
