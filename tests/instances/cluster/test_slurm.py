"""Slurm's accounting line by line, as text and as JSON: what each odd line becomes, and that a bad one is one error."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.cluster.log_lines import Log, LogJob
from ratiobench.instances.cluster.logs import READERS
from ratiobench.instances.cluster.slurm import ALLOCATED, ELAPSED
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.text_files import open_text

EIGHT = 1_772_352_000  # 2026-03-01T08:00:00Z
COLUMNS = ("JobID", "Start", "End", "Elapsed", "State", "ReqTRES", "Timelimit")
HEAD = "|".join((*COLUMNS, "Submit", "User", "Account", "Partition", "QOS", "Eligible"))


def read(folder: Path, form: str, text: str | bytes, **columns: str) -> tuple[list[LogJob], list[str], Log]:
    """The jobs of a log, the errors, and the log."""
    path = folder / "log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    log = Log(str(path), columns=columns, skip_bad=True)
    with open_text(path, errors="surrogateescape") as file:
        jobs = list(READERS[form][0](file, log))
    return jobs, [error.removeprefix(f"{path}: ") for error in log.bad], log


def clock(text: str) -> str:
    """hh:mm of the first of March."""
    return f"2026-03-01T{text}:00" if text[:1].isdigit() else text


def sacct(*rows: str) -> str:
    """Rows of id, start, end, elapsed, state, ReqTRES and limit; all were submitted at eight."""
    table = []
    for row in rows:
        fields = row.split("|")
        fields[1:3] = map(clock, fields[1:3])
        table.append("|".join([*fields, clock("08:00"), "anna", "lab", "gpu", "high", clock("08:00")]))
    return "\n".join([HEAD, *table]) + "\n"


def as_json(text: str) -> str:
    """The same lines as `sacct --json` writes them; steps are parts of their job there."""
    jobs = []
    for line in text.splitlines()[1:]:
        row = dict(zip(HEAD.split("|"), line.split("|"), strict=True))
        if "." in row["JobID"]:
            continue
        number, _, part = row["JobID"].replace("[", "").replace("]", "").partition("_")
        whole, _, offset = number.partition("+")

        def second(name: str, row: dict[str, str] = row) -> int:
            hour, minute = (row[name][11:16] or "00:00").split(":") if row[name][:1].isdigit() else ("0", "0")
            return EIGHT + 3600 * (int(hour) - 8) + 60 * int(minute) if row[name][:1].isdigit() else 0

        tres = []
        for entry in filter(None, row["ReqTRES"].split(",")):
            name, _, count = entry.partition("=")
            kind, _, label = name.partition("/")
            if count.isdigit():
                tres.append({"type": kind, "name": label, "count": int(count)})
        clock_of = row["Elapsed"].split(":")
        limit = row["Timelimit"].split(":")
        task = {"job_id": int(number), "task_id": {"set": True, "number": int(part)}} if part.isdigit() else {}
        minutes = {"set": True, "number": 60 * int(limit[0]) + int(limit[1])} if limit[0].isdigit() else None
        jobs.append(
            {
                "job_id": int(whole) + (int(offset) if offset else 0),
                "array": task,
                "het": {"job_id": int(whole) if offset else 0},
                "user": row["User"], "account": row["Account"], "partition": row["Partition"], "qos": row["QOS"],
                "state": {"current": [row["State"].split(" ")[0]]},
                "time": {
                    "submission": EIGHT, "eligible": EIGHT, "start": second("Start"), "end": second("End"),
                    "elapsed": 3600 * int(clock_of[0]) + 60 * int(clock_of[1]) if clock_of[0] else None,
                    "limit": minutes,
                },
                "tres": {"requested": tres},
            }
        )  # fmt: skip
    return json.dumps({"meta": {}, "jobs": jobs, "errors": []})


ODD = (
    "17|10:00|12:00|02:00:00|COMPLETED|gres/gpu=4,gres/gpu:a100=4,node=1,mem=64G|26:00:00",
    "17.batch|10:00|12:00|02:00:00|COMPLETED|gres/gpu=4|",
    "17.0|10:00|12:00|02:00:00|COMPLETED|gres/gpu=4|",
    "18_3|10:00|12:00|02:00:00|FAILED|gres/gpu=16,node=2|02:00:00",
    "18_[4-9]|Unknown|Unknown|00:00:00|PENDING|gres/gpu=1|02:00:00",
    "19|None|09:00|00:00:00|CANCELLED by 1000|gres/gpu=1|02:00:00",
    "20|10:00|Unknown|02:00:00|RUNNING|gres/gpu=1|UNLIMITED",
    "21|10:00|12:00|02:00:00|COMPLETED|cpu=1|00:30:00",
    "22|10:00|10:00|00:00:00|COMPLETED|gres/gpu=1|00:30:00",
    "23|10:00|10:00|00:00:00|CANCELLED by 7|gres/gpu=1|00:30:00",
    "24+0|10:00|12:00|02:00:00|TIMEOUT|gres/gpu:a100=2|00:30:00",
    "24+1|10:00|12:00|02:00:00|NODE_FAIL|gres/gpu:h100=2|00:30:00",
    "25|10:00|12:00|02:00:00|OUT_OF_MEMORY|gres/gpu:a100=1,gres/gpu:h100=2,gres/gpumem=10|Partition_Limit",
    "26|Unknown|Unknown|00:00:00|REQUEUED|gres/gpu=1|",
    "28|10:00|12:00|02:00:00|REQUEUED|gres/gpu=1|",
    "29|12:00|10:00||COMPLETED|gres/gpu=1|",
    "30|10:00|12:00|02:00:00|COMPLETED|gres/gpu:1g.10gb=2,gres/gpu=2,node=1|",
    "31|10:00|12:00|02:00:00|COMPLETED|gres/gpu:nvidia_a100_80gb_pcie_3g.40gb=1,gres/gpu=1|",
    "32|10:00|12:00|02:00:00|COMPLETED|gres/shard=2|",
    "33|10:00|12:00|02:00:00|COMPLETED|gres/mps=50|",
    "34|10:00|12:00|03:00:00|COMPLETED|gres/gpu=1|",
)
LEFT_OUT = {
    "not started": 1,
    "cancelled before it started": 2,
    "without an end": 1,
    "without a GPU": 1,
    "part of a heterogeneous job": 2,
    "requeued: part of a run": 2,
    "ends before it starts": 1,
    "asks for gres/gpu:1g.10gb, which is no whole GPU": 1,
    "asks for gres/gpu:nvidia_a100_80gb_pcie_3g.40gb, which is no whole GPU": 1,
    "asks for gres/shard, which is no whole GPU": 1,
    "asks for gres/mps, which is no whole GPU": 1,
}


@pytest.mark.parametrize("form", ["sacct", "sacct-json"])
def test_every_line_of_sacct(form: str, tmp_path: Path) -> None:
    """Steps, arrays, requeued pieces, heterogeneous jobs, slices, shares, states: the same in both formats."""
    text = sacct(*ODD)
    jobs, errors, log = read(tmp_path, form, text if form == "sacct" else as_json(text))
    assert errors == []
    assert Counter(job.left_out for job in jobs if job.left_out) == LEFT_OUT
    kept = [(j.id, j.submit, j.start, j.run, j.limit, j.gpus, j.nodes, j.kind) for j in jobs if not j.left_out]
    ten = EIGHT + 7200
    assert kept == [
        ("17", EIGHT, ten, 7200, 93_600, 4, 1, "a100"),
        ("18_3", EIGHT, ten, 7200, 7200, 16, 2, ""),
        ("22", EIGHT, ten, 0, 1800, 1, 0, ""),
        ("25", EIGHT, ten, 7200, None, 3, 0, ""),
        ("34", EIGHT, ten, 10_800, None, 1, 0, ""),
    ]
    assert {(j.user, j.account, j.partition, j.qos, j.eligible) for j in jobs} == {
        ("anna", "lab", "gpu", "high", EIGHT)
    }
    assert +log.remarks == {ELAPSED: 1}


def test_a_component_that_ends_before_it_starts_has_no_run(tmp_path: Path) -> None:
    """Its GPU-seconds are not known, not negative."""
    (job,), errors, _ = read(tmp_path, "sacct", sacct("24+0|12:00|10:00||FAILED|gres/gpu=2|"))
    assert (job.run, job.left_out, errors) == (None, "part of a heterogeneous job", [])


def test_what_was_allocated_counts_without_reqtres_and_ties_no_job_to_a_type(tmp_path: Path) -> None:
    text = sacct("1|10:00|12:00|02:00:00|COMPLETED|gres/gpu:a100=2,gres/gpu=2,node=1|").replace("ReqTRES", "AllocTRES")
    (job,), _, log = read(tmp_path, "sacct", text.replace("\n", "|\n"))  # `--parsable` ends lines with a bar
    assert (job.gpus, job.kind, job.nodes, +log.remarks) == (2, "", 1, {ALLOCATED: 1})


def new_job(**given: Any) -> dict[str, Any]:
    time = {"submission": EIGHT, "start": EIGHT + 60, "end": EIGHT + 90, "limit": 10}
    time |= {key: given.pop(key) for key in tuple(given) if key in ("limit", "suspended", "elapsed", "start")}
    tres = {"allocated": [{"type": "gres", "name": "gpu:a100", "count": 2}], "requested": []}
    return {"job_id": 5, "state": {"current": "COMPLETED"}, "time": time, "tres": tres, "allocation_nodes": 1} | given


def test_older_and_newer_forms_of_the_json(tmp_path: Path) -> None:
    """Limits in every form, suspension, people under `association`, errors that Slurm lists."""
    unset, infinite = {"set": False, "number": 0}, {"set": False, "infinite": True, "number": 0}
    jobs = [new_job(limit=limit) for limit in (10, 0, None, unset, infinite, {"set": True, "number": 3})]
    jobs[0]["tres"]["allocated"].append({"type": "energy", "name": "", "count": -2})
    jobs[5] = new_job(limit=2**20)
    jobs += [
        new_job(elapsed=20, association={"user": "ben", "account": "x"}),
        new_job(array={"job_id": 90, "task_id": 3}),
    ]
    found, errors, log = read(tmp_path, "sacct-json", json.dumps({"jobs": jobs, "errors": [{"error": "away"}]}))
    assert errors == []
    assert [job.limit for job in found[:6]] == [600, None, None, None, None, 60 * 2**20]
    assert (found[6].run, found[6].user, found[6].account, found[7].id) == (20, "ben", "x", "90_3")
    assert (log.remarks[ELAPSED], log.remarks[ALLOCATED]) == (1, 8)
    assert any("away" in text for text in log.remarks)


GOOD = sacct("1|10:00|12:00|02:00:00|COMPLETED|gres/gpu=1,node=1|01:00:00")


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("T12:00", "noon", "line 2 End: '2026-03-01noon:00' is neither a time"),
        ("gres/gpu=1", "gres/gpu=few", "line 2 ReqTRES: 'gres/gpu=few' does not say how many"),
        ("gres/gpu=1,node=1", "billing=96,gres/gp+", "line 2 ReqTRES: 'gres/gp+' does not say how many"),
        ("01:00:00", "soon", "line 2 Timelimit: 'soon' is not a time such as"),
        ("|COMPLETED", "", "line 2: 12 fields; 13 are needed"),
        ("\n1|", "\nbatch|", "line 2 JobID: 'batch' is not a job such as"),
        ("2026-03-01T08:00:00|anna", "|anna", "line 2 Submit: the field is missing or unknown"),
        ("anna", "\udce4nna", "line 2: holds bytes that are not UTF-8 text"),
    ],
)
def test_a_bad_line_is_one_error_that_names_it(good: str, bad: str, message: str, tmp_path: Path) -> None:
    """The lines behind it are read."""
    text = GOOD.replace(good, bad, 1) + GOOD.splitlines()[1].replace("1|", "2|", 1) + "\n"
    jobs, errors, _ = read(tmp_path, "sacct", text.encode(errors="surrogateescape"))
    assert [job.id for job in jobs] == ["2"]
    assert len(errors) == 1
    assert errors[0].startswith(message)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("JobID     Submit\n----- -----\n", "parsable2"),
        ("95|2026-05-11T08:00:00|2026-05-11T08:01:10\n", "0 columns named JobID in the first line"),
        ("JobID|Submit|Start|End|State|ReqGRES|AllocGRES\n", "0 columns named ReqTRES or AllocTRES"),
        ("", "0 columns named JobID"),
    ],
)
def test_a_file_without_its_first_line_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read(tmp_path, "sacct", text)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("", 7, "jobs[0]: 7 is not an object"),
        ("time", [], "jobs[0].time: a list of 0 is not an object"),
        ("time.submission", None, "jobs[0].time.submission: the field is missing"),
        ("time.start", "now", "jobs[0].time.start: 'now' is not an integer in 0..2^33"),
        ("time.end", -1, "jobs[0].time.end: -1 is not an integer"),
        ("state.current", [], "jobs[0].state.current: a list of 0 is neither"),
        ("tres.allocated", {"a": 1}, "jobs[0].tres.allocated: an object is not a list"),
        ("tres.allocated.0.count", "few", "jobs[0].tres.allocated[0].count: 'few' is not an integer"),
        ("tres.allocated.0.count", 10**8, "jobs[0].tres: 'gres/gpu:a100=100000000' does not say how many, below 10^7"),
        ("user", 5, "jobs[0].user: 5 is not a text"),
        ("user", "\udce4", "jobs[0]: holds bytes that are not UTF-8 text"),
    ],
)
def test_a_bad_field_of_the_json_is_named(place: str, value: Any, message: str, tmp_path: Path) -> None:
    document: dict[str, Any] = {"jobs": [new_job(), new_job()]}
    holder: Any = document["jobs"]
    *steps, last = ["0", *filter(None, place.split("."))]
    for step in steps:
        holder = holder[int(step) if isinstance(holder, list) else step]
    holder[int(last) if isinstance(holder, list) else last] = value
    text = json.dumps(document, ensure_ascii=False).encode(errors="surrogateescape")
    jobs, errors, _ = read(tmp_path, "sacct-json", text)
    assert len(jobs) == len(errors) == 1
    assert errors[0].startswith(message)
