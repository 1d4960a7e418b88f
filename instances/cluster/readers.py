"""Readers of job logs: SWF, `sacct` as text and JSON, CSV, Kueue's Workloads, Pods. Each line is a job, or left out.

The rules are the same in all formats. A job counts as requested, not as allocated. A part of an array is a job; a
part of a job that was requeued, and a part of a heterogeneous job, is left out. A slice or a share of a GPU is no GPU.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.io.text_files import rows as csv_rows

LARGEST = 10**11  # No number in a log is larger
CANCELLED, NOT_STARTED, NO_END, NO_GPU = "cancelled before it started", "not started", "without an end", "without a GPU"
REQUEUED, BACKWARDS, HETEROGENEOUS = "requeued: part of a run", "ends before it starts", "part of a heterogeneous job"
PART = "part of a job that stands whole in another line"


@dataclass(slots=True)
class LogJob:
    """A line of a log.

    Parameters
    ----------
    id : the job's name in the log.
    submit, eligible, start, end : seconds from 1970; None if the log does not say.
    limit : seconds; None for none.
    gpus, nodes : GPUs of the whole job; nodes, 0 if the log does not say.
    kind : type of GPU that it asked for; empty for any.
    account, user, partition, qos : names; empty for none.
    left_out : why it is no job of the instance; empty if it is one.
    line : where it stands in the log.
    """

    id: str
    submit: int
    eligible: int | None = None
    start: int | None = None
    end: int | None = None
    limit: int | None = None
    gpus: int = 0
    nodes: int = 0
    kind: str = ""
    account: str = ""
    user: str = ""
    partition: str = ""
    qos: str = ""
    left_out: str = ""
    line: Line | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Where a job stands, for errors, and how its times are read."""

    source: str
    where: str
    zone: ZoneInfo | None

    def fail(self, field: str, problem: str) -> InputError:
        return InputError(self.source, f"{self.where} {field}".strip(), problem)

    def number(self, field: str, text: str) -> int:
        """A number in 0..10^11, rounded up; 0 for no text."""
        try:
            value = float(text or 0)
        except ValueError:
            value = -1.0
        if not 0 <= value <= LARGEST:
            raise self.fail(field, f"{shorten(text)} is not a number in 0..10^11")
        return math.ceil(value)

    def second(self, field: str, text: str) -> int:
        """Seconds from 1970 of a number or of ISO 8601; a time without a zone is in the zone of the log, or in UTC."""
        found = _second(text, self.zone)
        if found is None:
            problem = f"{shorten(text)} is neither a time such as 2026-03-01T08:30:00+01:00 nor a number of seconds"
            raise self.fail(field, problem)
        return found


@lru_cache(maxsize=65_536)
def _second(text: str, zone: ZoneInfo | None) -> int | None:
    if re.fullmatch(r"[0-9]{1,11}(\.[0-9]*)?", text):
        return int(float(text))
    try:
        time = datetime.fromisoformat(text)
        seconds = math.floor(time.replace(tzinfo=time.tzinfo or zone or ZoneInfo("UTC")).timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= LARGEST else None


Reader = Callable[[TextFile, str, ZoneInfo | None, Mapping[str, str]], Iterator[LogJob | InputError]]


def _each(rows: Iterator[tuple[Line, Any]], read: Callable[[Line, Any], LogJob]) -> Iterator[LogJob | InputError]:
    """The job of each row, or the error in it."""
    for line, row in rows:
        try:
            job = read(line, row)
            job.line = line
            labels = (job.id, job.account, job.user, job.partition, job.qos)
            if any("\ud800" <= c <= "\udfff" for text in labels if not text.isascii() for c in text):
                raise line.fail("", "holds bytes that are not UTF-8 text")
            yield job
        except InputError as error:
            yield error.with_traceback(None)


# ---- SWF ----

_SWF_START = re.compile(r";\s*UnixStartTime\s*:\s*([0-9]{1,10})\b")
_SWF_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?")


def read_swf(file: TextFile, source: str, zone: ZoneInfo | None, columns: Mapping[str, str]) -> Iterator[Any]:
    """Standard Workload Format: requested processors (field 8), allocated ones (field 5) where they are absent."""
    clock = 0

    def rows() -> Iterator[tuple[Line, list[str]]]:
        nonlocal clock
        for number, text in enumerate(file, start=1):
            if text.lstrip().startswith(";"):
                found = _SWF_START.match(text.strip())
                clock = int(found[1]) if found else clock
            elif words := text.split():
                yield Line(source, f"line {number}", zone), words

    def read(line: Line, words: list[str]) -> LogJob:
        if len(words) != 18:
            raise line.fail("", f"{len(words)} numbers; 18 are needed")
        for place, word in enumerate(words, start=1):
            if not _SWF_NUMBER.fullmatch(word) or abs(float(word)) > LARGEST:
                raise line.fail(f"field {place}", f"{shorten(word)} is not a number from -1 to 10^11")
        values = [float(word) for word in words]
        if values[1] < 0:
            raise line.fail("field 2", f"{words[1]}: a job has a submit time")
        job = LogJob(words[0], clock + int(values[1]), gpus=int(values[7] if values[7] > 0 else max(values[4], 0)))
        job.limit = int(values[8]) if values[8] > 0 else None
        labels = [words[place] if values[place] >= 0 else "" for place in (11, 12, 14)]
        job.user, job.account, job.partition = labels
        if values[2] >= 0:
            job.start = job.submit + int(values[2])
        if values[3] >= 0:  # without a wait, its run is known all the same
            job.end = (job.submit if job.start is None else job.start) + math.ceil(values[3])
        status = int(values[10])
        if status in (2, 3, 4):
            job.left_out = PART
        elif job.end is None or (status == 5 and values[3] <= 0):
            job.left_out = CANCELLED if status == 5 else NO_END
        return job

    return _each(rows(), read)


# ---- Slurm ----

_UNKNOWN = {"", "Unknown", "None", "N/A", "(null)", "UNLIMITED", "Partition_Limit", "INVALID"}
_UNFINISHED = {"RUNNING", "PENDING", "SUSPENDED", "RESIZING", "CONFIGURING", "COMPLETING"}
_STEP = re.compile(r"[0-9]+(_[0-9]+|\+[0-9]+)?\..+")
_SLURM_ID = re.compile(r"[0-9]+(_[0-9]+|_\[[^\]]*\]|\+[0-9]+)?")
_SLURM_TIME = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{2})(?:\.[0-9]+)?")
_PIECE = re.compile(r"[0-9]+g\.[0-9]+gb|mig", re.IGNORECASE)
_SLURM_NEEDED = ("JobID", "Submit", "Start", "End", "State")


@lru_cache(maxsize=4096)
def read_resources(text: str) -> tuple[int, str, int, str]:
    """GPUs, their type, nodes and a remark of a text such as ``cpu=8,gres/gpu=4,node=2``; -1 GPUs if it is wrong."""
    plain, nodes, typed, piece = 0, 0, dict[str, int](), ""
    for entry in text.split(","):
        name, _, value = entry.partition("=")
        if name not in ("node", "gres/gpu") and not name.startswith(
            ("gres/gpu:", "gres/shard", "gres/mps", "gres/mig")
        ):
            continue
        if not re.fullmatch("[0-9]{1,7}", value):
            return -1, "", 0, entry
        if name == "node":
            nodes = int(value)
        elif name == "gres/gpu":
            plain = int(value)
        elif name.startswith("gres/gpu:") and not _PIECE.search(name):
            typed[name[9:]] = typed.get(name[9:], 0) + int(value)
        elif int(value):
            piece = name
    whole = plain or sum(typed.values())  # Slurm writes the sum beside the types where it is set up to
    if piece:
        return 0, "", nodes, f"asks for {piece}, which is no whole GPU"
    return whole, next(iter(typed)) if len(typed) == 1 else "", nodes, ""


def _finish_slurm(job: LogJob, state: str, piece: str) -> LogJob:
    """Why the job is left out, by the same rules for text and JSON."""
    if "+" in job.id:
        job.left_out = HETEROGENEOUS
    elif state in ("REQUEUED", "REVOKED"):
        job.left_out = REQUEUED
    elif job.start is None:
        job.left_out = NOT_STARTED if state in _UNFINISHED else CANCELLED
    elif job.end is None or state in _UNFINISHED:
        job.end, job.left_out = None, NO_END
    elif job.end < job.start:
        job.left_out = BACKWARDS
    elif job.end == job.start and state == "CANCELLED":
        job.left_out = CANCELLED
    elif not job.gpus:
        job.left_out = piece or NO_GPU
    return job


def read_sacct(file: TextFile, source: str, zone: ZoneInfo | None, columns: Mapping[str, str]) -> Iterator[Any]:
    """`sacct --parsable2 --format=JobID,Submit,Start,End,State,ReqTRES,...`; steps are parts of their job."""
    header = file.readline().strip().lstrip("\ufeff").split("|")
    for name in (*_SLURM_NEEDED, "ReqTRES"):
        if header.count(name) != 1:
            problem = f"{header.count(name)} columns named {name} in the first line; exactly one is needed"
            raise InputError(source, "line 1", f"{problem} (`sacct --parsable2 --format=...` writes them)")

    def rows() -> Iterator[tuple[Line, list[str]]]:
        for number, text in enumerate(file, start=2):
            fields = text.rstrip("\r\n").split("|")
            if len(fields) == len(header) + 1 and not fields[-1]:
                fields.pop()  # `--parsable` ends its lines with a bar
            if fields != [""] and not _STEP.fullmatch(fields[header.index("JobID")] if len(fields) > 4 else ""):
                yield Line(source, f"line {number}", zone), fields

    def read(line: Line, fields: list[str]) -> LogJob:
        if len(fields) != len(header):
            raise line.fail("", f"{len(fields)} fields; {len(header)} are needed, as the first line has")
        row = {name: "" if text in _UNKNOWN else text for name, text in zip(header, fields, strict=True)}
        if not _SLURM_ID.fullmatch(row["JobID"]):
            raise line.fail("JobID", f"{shorten(row['JobID'])} is not a job such as 17, 17_3 or 17+1")
        times = {name: line.second(name, row[name]) for name in ("Submit", "Start", "End", "Eligible") if row.get(name)}
        if "Submit" not in times:
            raise line.fail("Submit", f"{shorten(fields[header.index('Submit')])} is no time")
        gpus, kind, nodes, piece = read_resources(row["ReqTRES"])
        if gpus < 0:
            raise line.fail("ReqTRES", f"{shorten(piece)} does not say how many")
        limit = None
        if text := row.get("Timelimit", ""):
            found = _SLURM_TIME.fullmatch(text)
            if found is None:
                raise line.fail("Timelimit", f"{shorten(text)} is not a time such as 1-06:00:00 or 30:00")
            days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
            limit = 86_400 * days + 3600 * hours + 60 * minutes + seconds
        labels = {name.lower(): row.get(name, "") for name in ("Account", "User", "Partition", "QOS")}
        times_ = {key.lower(): times.get(key) for key in ("Eligible", "Start", "End")}
        nodes = (
            line.number("ReqNodes", row.get("ReqNodes", "")) or nodes or line.number("NNodes", row.get("NNodes", ""))
        )
        job = LogJob(row["JobID"], times["Submit"], limit=limit, gpus=gpus, nodes=nodes, kind=kind, **labels, **times_)
        return _finish_slurm(job, row["State"].split(" ")[0].rstrip("+"), piece)

    return _each(rows(), read)


class _Entry:
    """A JSON object of a log: what is absent or null is empty, what is wrong is one error."""

    def __init__(self, line: Line, data: Any) -> None:
        self.line, self.data = line, data
        if not isinstance(data, dict):
            raise line.fail("", f"{shorten(data)} is not an object")

    def at(self, key: str) -> Line:
        return Line(self.line.source, f"{self.line.where}.{key}", self.line.zone)

    def object(self, key: str) -> _Entry:
        found = self.data.get(key)
        return _Entry(self.at(key), {} if found is None else found)

    def objects(self, key: str) -> list[_Entry]:
        found = self.data.get(key) or []
        if not isinstance(found, list):
            raise self.at(key).fail("", f"{shorten(found)} is not a list")
        return [_Entry(self.at(f"{key}[{i}]"), value) for i, value in enumerate(found)]

    def text(self, key: str) -> str:
        found = self.data.get(key) or ""
        if not isinstance(found, str):
            raise self.at(key).fail("", f"{shorten(found)} is not a text")
        return found

    def number(self, key: str) -> int | None:
        """An integer, or Slurm's {set, infinite, number}; None if it is absent, not set or infinite."""
        found = self.data.get(key)
        if isinstance(found, dict):
            inside = found
            found = None if inside.get("infinite") is True or inside.get("set") is False else inside.get("number")
        if found is None:
            return None
        if type(found) is not int or not 0 <= found <= LARGEST:
            raise self.at(key).fail("", f"{shorten(found)} is not an integer in 0..10^11")
        return found

    def moment(self, key: str) -> int | None:
        found = self.text(key)
        return self.at(key).second("", found) if found else None


def _entries(file: TextFile, source: str, zone: ZoneInfo | None, key: str) -> Iterator[tuple[Line, Any]]:
    for path, value in iterate_entries(file, source, key):
        if path.startswith(f"{key}["):
            yield Line(source, path, zone), value


def read_sacct_json(file: TextFile, source: str, zone: ZoneInfo | None, columns: Mapping[str, str]) -> Iterator[Any]:
    """`sacct --json`: a list `jobs`."""

    def read(line: Line, value: Any) -> LogJob:
        data = _Entry(line, value)
        time, array = data.object("time"), data.object("array")
        submit = time.number("submission")
        if submit is None:
            raise time.line.fail("", "the field submission is missing")
        whole, part, name = array.number("job_id"), array.number("task_id"), str(data.number("job_id") or "")
        if data.object("het").number("job_id"):
            name += "+"
        elif whole and part is not None:
            name = f"{whole}_{part}"
        texts = []
        for entry in data.object("tres").objects("requested"):
            label = "/".join(filter(None, (entry.text("type"), entry.text("name"))))
            texts.append(f"{label}={entry.number('count') or 0}")
        gpus, kind, nodes, piece = read_resources(",".join(texts))
        state = data.object("state").data.get("current", "")
        state = state[0] if isinstance(state, list) and state else state
        if not isinstance(state, str):
            raise line.fail("state.current", f"{shorten(state)} is neither a text nor a list of texts")
        limit = time.number("limit")
        job = LogJob(name, submit, time.number("eligible") or None, time.number("start") or None)
        job.end, job.limit = time.number("end") or None, 60 * limit if limit else None
        job.gpus, job.kind, job.nodes = gpus, kind, nodes or data.number("allocation_nodes") or 0
        job.account, job.user, job.partition, job.qos = map(data.text, ("account", "user", "partition", "qos"))
        return _finish_slurm(job, state.split(" ")[0], piece)

    return _each(_entries(file, source, zone, "jobs"), read)


# ---- CSV ----

_CSV = ("submit", "duration", "gpus", "id", "start", "limit", "nodes", "type", "account", "user", "partition", "qos")


def read_csv(file: TextFile, source: str, zone: ZoneInfo | None, columns: Mapping[str, str]) -> Iterator[Any]:
    """Any table with a line of names; `columns` says which of them is our submit, duration, gpus, ..."""
    for name in columns:
        if name not in _CSV:
            raise InputError("--columns", name, explain_unknown_name(name, _CSV))
    first = file.readline()
    mark = max(",;\t|", key=first.count)
    lines = (text if mark == "," else text.replace(mark, ",") for text in file)  # names and numbers have no commas
    header = [name.strip() for name in first.rstrip("\r\n").split(mark)]
    place = {name: header.index(columns.get(name, name)) for name in _CSV if columns.get(name, name) in header}
    for name in (*_CSV[:3], *columns):
        if name not in place:
            problem = f"no column {shorten(columns.get(name, name))}; the file has {', '.join(header)}"
            raise InputError(source, "line 1", f"{problem}; --columns {name}=NAME says which it is")

    def read(line: Line, row: list[str]) -> LogJob:
        if len(row) != len(header):
            raise line.fail("", f"{len(row)} fields; {len(header)} are needed")
        text = {name: row[at].strip() for name, at in place.items()}
        gpus, submit = float(text["gpus"] or 0) if _SWF_NUMBER.fullmatch(text["gpus"] or "0") else -1.0, text["submit"]
        if gpus < 0:
            raise line.fail(columns.get("gpus", "gpus"), f"{shorten(text['gpus'])} is not a number of GPUs")
        job = LogJob(text.get("id") or line.where.removeprefix("line "), line.second("submit", submit), gpus=int(gpus))
        job.start = line.second("start", text["start"]) if text.get("start") else None
        if text["duration"]:
            begin = job.submit if job.start is None else job.start
            job.end = begin + line.number("duration", text["duration"])
        job.limit, job.nodes = (line.number(name, text.get(name, "")) for name in ("limit", "nodes"))
        job.limit, job.kind = job.limit or None, text.get("type", "")
        job.account, job.user, job.partition, job.qos = (text.get(name, "") for name in _CSV[8:])
        if job.end is None:
            job.left_out = NO_END
        elif gpus % 1 or not gpus:
            job.left_out = f"asks for {text['gpus']} GPUs, which is no whole GPU" if gpus else NO_GPU
        return job

    numbered = ((Line(source, f"line {number + 1}", zone), row) for number, row in csv_rows(lines, source))
    return _each(numbered, read)


# ---- Kubernetes ----

_GPU_NAMES = ("nvidia.com/gpu", "amd.com/gpu")
_ACCELERATOR = re.compile(r"gpu|mig-|gaudi|tpu|neuron")
_TYPES = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator")
_GANGS = (
    "kueue.x-k8s.io/pod-group-name",
    "scheduling.x-k8s.io/pod-group",
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "ray.io/cluster",
    "volcano.sh/job-name",
)


def _count_gpus(spec: _Entry) -> tuple[int, str]:
    """GPUs of a pod, the sum over its containers (a sidecar has none); why it has none."""
    count, why = 0, NO_GPU
    for container in spec.objects("containers"):
        resources = container.object("resources")
        asked = resources.object("limits").data | resources.object("requests").data
        for name, value in asked.items():
            if name in _GPU_NAMES:
                if not re.fullmatch("[0-9]{1,7}", str(value)):
                    raise container.line.fail(name, f"{shorten(value)} is not a whole number of GPUs")
                count += int(value)
            elif _ACCELERATOR.search(name):
                why = f"asks for {name}, which is no whole GPU"
    return count, why


def _conditions(status: _Entry) -> dict[str, int]:
    """Since when each condition holds."""
    held = (each for each in status.objects("conditions") if each.text("status") == "True")
    return {each.text("type"): each.moment("lastTransitionTime") or 0 for each in held}


def _metadata(data: _Entry) -> tuple[str, str, int]:
    metadata = data.object("metadata")
    created = metadata.moment("creationTimestamp")
    if created is None:
        raise metadata.line.fail("creationTimestamp", "the field is missing")
    return metadata.text("namespace"), metadata.text("name"), created


def _kind(spec: _Entry) -> str:
    selector = spec.object("nodeSelector")
    return next((found for name in _TYPES if (found := selector.text(name))), "")


def read_kueue(file: TextFile, source: str, zone: ZoneInfo | None, columns: Mapping[str, str]) -> Iterator[Any]:
    """`kubectl get workloads.kueue.x-k8s.io -A -o json`: from PodsReady, else Admitted, to Finished."""

    def read(line: Line, value: Any) -> LogJob:
        data = _Entry(line, value)
        namespace, name, submit = _metadata(data)
        spec, status = data.object("spec"), data.object("status")
        held = _conditions(status)
        job = LogJob(f"{namespace}/{name}", submit, user=namespace, partition=spec.text("queueName"))
        job.account = status.object("admission").text("clusterQueue")
        job.start, job.end = held.get("PodsReady", held.get("Admitted")), held.get("Finished")
        job.limit = spec.number("maximumExecutionTimeSeconds") or None
        each, why = set(), NO_GPU
        for pods in spec.objects("podSets"):
            template = pods.object("template").object("spec")
            gpus, reason = _count_gpus(template)
            count = pods.number("count")
            count = 1 if count is None else count
            if gpus and count:
                job.gpus, job.nodes, job.kind = job.gpus + gpus * count, job.nodes + count, _kind(template)
                each.add(gpus)
            why = reason if reason != NO_GPU else why
        if len(each) > 1:
            job.left_out = "has pods with different numbers of GPUs"
        elif job.end is None:
            job.left_out = NO_END if job.start is not None else NOT_STARTED
        elif job.start is None:
            job.left_out = CANCELLED
        elif job.end < job.start:
            job.left_out = BACKWARDS
        elif not job.gpus:
            job.left_out = why
        return job

    return _each(_entries(file, source, zone, "items"), read)


def read_pods(file: TextFile, source: str, zone: ZoneInfo | None, columns: Mapping[str, str]) -> Iterator[Any]:
    """`kubectl get pods -A -o json`: pods of one group are a gang, which runs while all of them do; others are jobs."""
    gangs: dict[str, list[LogJob]] = {}

    def read(line: Line, value: Any) -> LogJob:
        data = _Entry(line, value)
        namespace, name, submit = _metadata(data)
        labels, spec, status = data.object("metadata").object("labels"), data.object("spec"), data.object("status")
        group = next((found for key in _GANGS if (found := labels.text(key))), "")
        job = LogJob(f"{namespace}/{group or name}", submit, user=namespace, kind=_kind(spec), nodes=1)
        job.partition = labels.text("kueue.x-k8s.io/queue-name")
        job.limit = spec.number("activeDeadlineSeconds") or None
        job.start = _conditions(status).get("PodScheduled", status.moment("startTime"))
        containers = status.objects("containerStatuses")
        ends = [each.object("state").object("terminated").moment("finishedAt") for each in containers]
        if status.text("phase") in ("Succeeded", "Failed"):
            job.end = max((end for end in ends if end is not None), default=None)
        job.gpus, why = _count_gpus(spec)
        if not job.gpus:
            job.left_out = why
        elif job.start is None:
            job.left_out = NOT_STARTED if job.end is None else CANCELLED
        elif job.end is None:
            job.left_out = NO_END
        if group and job.gpus:
            gangs.setdefault(job.id, []).append(job)
        return job

    for found in _each(_entries(file, source, zone, "items"), read):
        if isinstance(found, InputError) or found.id not in gangs:
            yield found
    for pods in gangs.values():
        first, spans = pods[0], [(pod.start, pod.end) for pod in pods if pod.start is not None and pod.end is not None]
        first.submit = min(pod.submit for pod in pods)
        first.nodes, first.gpus = len(pods), len(pods) * max(pod.gpus for pod in pods)
        first.left_out = next((pod.left_out for pod in pods if pod.left_out), "")
        if not first.left_out:
            first.start, first.end = max(start for start, _ in spans), max(end for _, end in spans)
        yield first


FORMATS: dict[str, Reader] = {
    "swf": read_swf,
    "sacct": read_sacct,
    "sacct-json": read_sacct_json,
    "csv": read_csv,
    "kueue": read_kueue,
    "pods": read_pods,
}
