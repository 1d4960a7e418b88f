"""Logs of jobs, line by line: what each odd line becomes, and that a bad one is one error."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.imports import Report, read_jobs
from ratiobench.instances.lora.logs import Job, list_formats
from ratiobench.instances.lora.logs.base import moment
from ratiobench.instances.lora.model import Labels


def read(
    tmp_path: Path, form: str, text: str, columns: Mapping[str, str] | None = None, skip_bad: bool = False
) -> tuple[list[Job], Report]:
    path = tmp_path / "log"
    path.write_text(text)
    report = Report("log", form)
    return list(read_jobs(path, form, report, columns, skip_bad)), report


def line(**given: float) -> str:
    """A line of SWF: numbers by short names, what is not given is missing."""
    order = ("job", "submit", "wait", "run", "allocated", "cpu", "memory", "requested", "limit", "asked", "status")
    values = [given.get(name, -1) for name in order] + [-1] * 7
    return " ".join(str(value) for value in values)


def test_every_line_of_swf(tmp_path: Path) -> None:
    """Missing values, parts of jobs, jobs that never ran, jobs without processors, comments and blank lines."""
    text = "\n".join(
        [
            "; Version: 2.2",
            ";   UnixStartTime: 1000000",
            "",
            line(job=1, submit=0, wait=5, run=100, allocated=4, requested=8, limit=3600, status=1),
            line(job=2, submit=10, run=100.5, allocated=4, status=1),  # nothing was asked for: what it got
            line(job=3, submit=20, run=-1, requested=1, status=-1),
            line(job=4, submit=21, run=0, requested=1, status=1),
            line(job=5, submit=22, run=-1, requested=1, status=5),
            line(job=6, submit=23, run=50, requested=1, status=5),  # cancelled while it ran: it ran
            line(job=7, submit=24, run=50, status=1),
            line(job=8, submit=25, run=50, requested=1, status=2),
            line(job=8, submit=26, run=50, requested=1, status=3),
            line(job=8, submit=27, run=50, requested=1, status=4),
            line(job=9, submit=28, run=7, requested=0, allocated=2, limit=0, status=0),  # failed jobs ran as well
            "  ; a comment in the middle",
        ]
    )
    jobs, report = read(tmp_path, "swf", text)
    assert jobs == [
        Job("1", 1_000_000, 100, 8000, 3600, start=1_000_005),
        Job("2", 1_000_010, 101, 4000),
        Job("6", 1_000_023, 50, 1000),
        Job("9", 1_000_028, 7, 2000),
    ]
    assert report.left == Counter(
        {
            "part of a job that stands whole in another line": 3,
            "without an end": 1,
            "of zero length": 1,
            "cancelled before it started": 1,
            "without a GPU": 1,
        }
    )
    assert (report.jobs, report.imported) == (11, 4)


HEAD = "JobID|Submit|Start|End|ReqTRES|AllocTRES|Timelimit|State"
MORNING = "2026-03-01T08:00:00"
SECOND = moment(MORNING, "", "", "")


def sacct(*rows: tuple[str, ...]) -> str:
    """A table of sacct: id, start, end, asked, got, limit, state; all were submitted at eight."""
    return "\n".join([HEAD, *("|".join((row[0], MORNING, *row[1:])) for row in rows)]) + "\n"


TEN, NOON = "2026-03-01T10:00:00", "2026-03-01T12:00:00"


def test_every_line_of_sacct(tmp_path: Path) -> None:
    """Arrays, steps, parts of a heterogeneous job, unknown times, types of GPU, days in the time limit, all states."""
    text = sacct(
        ("17", TEN, NOON, "gres/gpu=4,mem=64G", "billing=8,gres/gpu:a100=4,gres/gpu=4", "1-02:03:04", "COMPLETED"),
        ("17.batch", TEN, NOON, "", "cpu=8,gres/gpu=4", "", "COMPLETED"),
        ("17.extern", TEN, NOON, "", "cpu=8,gres/gpu=4", "", "COMPLETED"),
        ("17.0", TEN, NOON, "", "gres/gpu=4", "", "COMPLETED"),
        ("18_3", TEN, NOON, "gres/gpu=1", "gres/gpu=2", "02:00:00", "FAILED"),  # what it got counts
        ("18_[4-9%2]", "Unknown", "Unknown", "gres/gpu=1", "", "02:00:00", "PENDING"),
        ("19", "None", "2026-03-01T09:00:00", "gres/gpu=1", "", "02:00:00", "CANCELLED by 1000"),
        ("20", TEN, "Unknown", "gres/gpu=1", "gres/gpu=1", "UNLIMITED", "RUNNING"),
        ("21", TEN, NOON, "cpu=1", "cpu=1", "30:00", "COMPLETED"),
        ("22", TEN, TEN, "gres/gpu=1", "gres/gpu=1", "30:00", "COMPLETED"),
        ("23", TEN, TEN, "gres/gpu=1", "gres/gpu=1", "30:00", "CANCELLED by 7"),
        ("24+0", TEN, NOON, "gres/gpu:a100=2", "", "30:00", "TIMEOUT"),  # typed only, and only what was asked for
        ("24+1", TEN, NOON, "", "gres/gpu:a100=1,gres/gpu:h100=3", "Partition_Limit", "NODE_FAIL"),
        ("24+1.0", TEN, NOON, "", "", "", "COMPLETED"),
        ("25", TEN, "2026-03-01T10:00:01", "", "gres/gpu=1,gres/gpumem=10G", "2-06:00", "OUT_OF_MEMORY"),
        ("26", "Unknown", "Unknown", "gres/gpu=1", "", "", "REQUEUED"),
        ("28", TEN, NOON, "gres/gpu=1", "gres/gpu=1", "", "REQUEUED"),  # it has an end, and will have another
        ("27", NOON, TEN, "gres/gpu=1", "", "", "COMPLETED"),  # clocks were set back
    )  # fmt: skip
    jobs, report = read(tmp_path, "sacct", text)
    assert jobs == [
        Job("17", SECOND, 7200, 4000, 86_400 + 7200 + 184, kind="a100", start=SECOND + 7200),
        Job("18_3", SECOND, 7200, 2000, 7200, start=SECOND + 7200),
        Job("24+0", SECOND, 7200, 2000, 1800, kind="a100", killed=True, start=SECOND + 7200),
        Job("24+1", SECOND, 7200, 4000, start=SECOND + 7200),
        Job("25", SECOND, 1, 1000, 2 * 86_400 + 6 * 3600, start=SECOND + 7200),
    ]
    assert report.left == Counter(
        {
            "not started yet": 2,
            "cancelled before it started": 2,
            "without an end": 1,
            "without a GPU": 1,
            "of zero length": 1,
            "that end before they start": 1,
            "requeued, to start again": 1,
        }
    )
    assert report.jobs == 14


def test_lines_of_sacct_may_end_with_a_bar(tmp_path: Path) -> None:
    text = sacct(("1", TEN, NOON, "gres/gpu=1", "", "", "COMPLETED")).replace("\n", "|\n")
    assert [job.name for job in read(tmp_path, "sacct", text)[0]] == ["1"]


def test_a_csv_with_names_of_its_own(tmp_path: Path) -> None:
    """A column map, zones, fractions of a GPU, dollars, missing values; columns that nobody named are left alone."""
    text = (
        "when,len,cards,usd,until,mem,who\n"
        "2026-03-01T09:00:00+01:00,90.5,0.25,$1.234567891,2026-03-01T12:00:00Z,1000.5,me\n"
        "2026-03-01T08:00:00Z,,1,,,,you\n"
        "2026-03-01T08:00:00Z,60,0,,,,you\n"
        "2026-03-01T08:00:00Z,0,1,,,,you\n"
    )
    names = {
        "submit": "when",
        "duration": "len",
        "gpus": "cards",
        "bid": "usd",
        "deadline": "until",
        "memory_mb": "mem",
    }
    jobs, report = read(tmp_path, "csv", text, names)
    assert jobs == [Job("line 2", SECOND, 91, 250, None, 1001, SECOND + 4 * 3600, 1_234_567)]
    assert report.left == Counter({"without an end": 1, "without a GPU": 1, "of zero length": 1})


def test_a_limit_of_0_in_a_csv_is_no_limit(tmp_path: Path) -> None:
    jobs, _ = read(tmp_path, "csv", "submit,duration,gpus,limit\n100,50,1,0\n100,50,1,\n100,50,1,0.5\n")
    assert [job.limit for job in jobs] == [None, None, 1]


def test_a_csv_in_seconds_packed(tmp_path: Path) -> None:
    """Our own names need no map; gzip is read as it is."""
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"gpus,submit,duration,limit,type\n2,100,50,60,a40\n"))
    assert list(read_jobs(path, "csv", Report("", "csv"))) == [Job("line 2", 100, 50, 2000, 60, kind="a40")]


def test_the_three_traces(tmp_path: Path) -> None:
    """Philly as JSON (attempts add up, the widest counts) and as CSV, Helios, PAI (instances times their share)."""
    gpu = {"detail": [{"ip": "a", "gpus": ["0", "1"]}, {"ip": "b", "gpus": ["0"]}]}
    attempts = [
        {"start_time": "2026-03-01 09:00:00", "end_time": "2026-03-01 09:00:30", "detail": []},
        {"start_time": "2026-03-01 10:00:00", "end_time": "2026-03-01 10:00:40", **gpu},
    ]
    submitted = {"submitted_time": "2026-03-01 08:00:00"}
    log = [
        {**submitted, "jobid": "x", "attempts": attempts},
        {**submitted, "attempts": []},
        {**submitted, "attempts": [{"start_time": "2026-03-01 09:00:00", "end_time": None, "detail": []}]},
    ]
    jobs, report = read(tmp_path, "philly", json.dumps(log))
    assert jobs == [Job("x", SECOND, 70, 3000, nodes=2, start=SECOND + 7170)]
    assert report.left == Counter({"cancelled before it started": 1, "without an end": 1})
    table = "timestamp,duration,num_gpus,gpu_time,cluster\n2026-03-01 08:00:00,81.0,2,162.0,ab\n"
    assert read(tmp_path, "philly", table)[0] == [Job("line 2", SECOND, 81, 2000, labels=Labels(group="ab"))]
    helios = "job_id,user,gpu_num,submit_time,duration\n7,me,3,2026-03-01 08:00:00,40\n8,me,0,2026-03-01 08:00:00,40\n"
    jobs, report = read(tmp_path, "helios", helios)
    assert (jobs, report.left) == ([Job("7", SECOND, 40, 3000, labels=Labels("me"))], Counter({"without a GPU": 1}))
    pai = (
        "j,t,3,Terminated,100,160.5,,,50,V100\nj,u,1,Failed,100,160,,,50,\n"
        "j,v,1,Terminated,100,,,,50,\nj,w,1,Terminated,,,,,50,\n"
    )
    jobs, report = read(tmp_path, "pai", pai)
    assert jobs == [Job("j/t", 100 + 8 * 3600, 61, 1500, kind="V100", start=100 + 8 * 3600)]
    assert report.left == Counter({"without an end": 2, "without a start": 1})


GOOD = {
    "swf": line(job=1, submit=0, run=100, requested=1, status=1),
    "sacct": sacct(("1", TEN, NOON, "gres/gpu=1", "", "", "COMPLETED")),
    "csv": "submit,duration,gpus,deadline,bid\n2026-03-01T08:00:00,5,1,2026-03-02,3\n",
    "philly": "timestamp,duration,num_gpus\n2026-03-01 08:00:00,81.0,2\n",
    "helios": "job_id,gpu_num,submit_time,duration\n7,3,2026-03-01 08:00:00,40\n",
    "pai": "j,t,3,Terminated,100,160,,,50,V100\n",
}


@pytest.mark.parametrize(
    ("form", "good", "bad", "words"),
    [
        ("swf", "100", "x", ("line 1 run time", "'x'")),
        ("swf", " -1 -1", "", ("line 1", "numbers")),
        ("swf", "1 0", "1 -1", ("line 1 submit time",)),
        ("sacct", "JobID|", "Job|", ("line 1", "JobID")),
        ("sacct", "ReqTRES|AllocTRES", "a|b", ("line 1", "ReqTRES")),
        ("sacct", NOON, "noon", ("line 2 End", "'noon'")),
        ("sacct", "gres/gpu=1", "gres/gpu=few", ("line 2 ReqTRES", "gres/gpu=few")),
        ("sacct", "||COMPLETED", "|soon|COMPLETED", ("line 2 Timelimit", "'soon'")),
        ("sacct", "|COMPLETED", "", ("line 2", "fields")),
        ("sacct", "\n1|", "\nbatch|", ("line 2 JobID", "'batch'")),
        ("csv", "2026-03-02", "2026-03-02T00:00:00Z", ("line 2 deadline", "zone")),
        ("csv", "2026-03-02", "2026-03-02 00:00:00+01", ("line 2 deadline", "zone")),
        ("csv", ",5,", ",-5,", ("line 2 duration", "'-5'")),
        ("csv", ",3\n", ",much\n", ("line 2 bid", "'much'")),
        ("csv", ",3\n", "\n", ("line 2", "fields")),
        ("csv", "gpus", "cards", ("line 1", "'gpus'")),
        ("csv", "2026-03-01T08", "yesterday", ("line 2 submit", "yesterday")),
        ("philly", "81.0", "long", ("line 2 duration", "'long'")),
        ("helios", ",3,", ",three,", ("line 2 gpu_num", "'three'")),
        ("helios", "duration", "length", ("line 1", "duration")),
        ("pai", "160", "60", ("line 1 end_time", "60")),
        ("pai", ",V100", "", ("line 1", "fields")),
    ],
)
def test_a_bad_line_is_one_error_that_names_it(
    form: str, good: str, bad: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """File, line, column, value; `skip_bad` counts it, unless the file as a whole is wrong."""
    assert GOOD[form].count(good) >= 1
    text = GOOD[form].replace(good, bad, 1)
    with pytest.raises(InputError) as caught:
        read(tmp_path, form, text)
    assert all(word in str(caught.value) for word in ("log", *words)), caught.value
    if "line 1" in words and form != "swf" and form != "pai":
        with pytest.raises(InputError):
            read(tmp_path, form, text, skip_bad=True)
    else:
        jobs, report = read(tmp_path, form, text, skip_bad=True)
        assert (jobs, report.bad, report.bad_named) == ([], 1, [str(caught.value)])


def test_formats_and_columns_that_are_not_there(tmp_path: Path) -> None:
    for form, columns, word in (
        ("xls", {}, "csv, helios"),
        ("csv", {"cost": "a"}, "bid"),
        ("swf", {"bid": "a"}, "own"),
    ):
        with pytest.raises(InputError, match=word):
            read(tmp_path, form, "", columns)
    assert set(list_formats()) == {
        "csv", "helios", "itp", "k8s", "kueue", "pai", "philly", "sacct", "sacct-json", "swf",
    }  # fmt: skip
