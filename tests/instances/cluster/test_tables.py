"""Logs in the Standard Workload Format and in CSV, line by line."""

from collections import Counter
from pathlib import Path

import pytest

from tests.instances.cluster.test_slurm import EIGHT, read
from tests.support.documents import refusal_of


def line(**given: float | str) -> str:
    """A line of SWF: numbers by short names, what is not given is missing."""
    order = ["job", "submit", "wait", "run", "allocated", "cpu", "memory", "requested", "limit", "asked", "status"]
    order += ["user", "group", "program", "queue"]
    return " ".join(str(given.get(name, -1)) for name in order) + " -1 -1 -1"


SWF = "\r\n".join(
    [
        "; Acknowledge: M\udcfcller",
        ";   UnixStartTime: 1000000",
        "",
        line(
            job=1, submit=0, wait=5, run=100, allocated=4, requested=8, limit=3600, status=1, user=3, group=2, queue=0
        ),
        "  "
        + line(job=2, submit=10, run=100.5, allocated=4, status=1).replace(" ", "\t")
        + " ",  # nothing was asked for
        line(job=3, submit=20, wait=5, run=-1, requested=1, status=-1),
        line(job=4, submit=21, wait=0, run=0, requested=1, status=1),  # p = 0 counts
        line(job=5, submit=22, run=-1, requested=1, status=5),
        line(job=6, submit=23, run=50, requested=1, status=5),  # cancelled while it ran: it ran
        line(job=7, submit=24, run="6e2", requested=0, allocated=2, limit=0, status=0),  # failed jobs ran as well
        *(line(job=8, submit=25, run=50, requested=1, status=status) for status in (2, 3, 4)),
        line(job=9, submit=26, run=50, requested=0, allocated=0, status=1),
        "  ; a comment in the middle",
    ]
)


def test_every_line_of_swf(tmp_path: Path) -> None:
    """Width of field 8, else of field 5; missing values, parts of jobs, jobs that never ran, comments in Latin-1."""
    jobs, errors, _ = read(tmp_path, "swf", SWF.encode(errors="surrogateescape"))
    assert errors == []
    kept = [
        (j.id, j.submit - 10**6, j.start and j.start - 10**6, j.run, j.limit, j.gpus) for j in jobs if not j.left_out
    ]
    assert kept == [
        ("1", 0, 5, 100, 3600, 8),
        ("2", 10, None, 101, None, 4),
        ("4", 21, 21, 0, None, 1),
        ("6", 23, None, 50, None, 1),
        ("7", 24, None, 600, None, 2),
    ]
    assert [(j.user, j.account, j.partition) for j in jobs[:2]] == [("3", "2", "0"), ("", "", "")]
    assert Counter(job.left_out for job in jobs if job.left_out) == {
        "part of a job that stands whole in another line": 3,
        "without a run time": 1,
        "cancelled before it started": 1,
        "without a GPU": 1,
    }


@pytest.mark.parametrize("header", ["; UnixStartTime: -1", "; UnixStartTime: -86400", ";", "; UnixStartTime:"])
def test_a_header_without_a_clock_counts_from_1970(header: str, tmp_path: Path) -> None:
    (job,), _, _ = read(tmp_path, "swf", f"{header}\n{line(job=1, submit=7, run=5, requested=1)}\n")
    assert job.submit == 7


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (line(job=2, submit=60, wait=-3, run=600), "line 2 wait time: '-3' is not a number in 0..2^33"),
        (line(job=2, submit="1.2e+30", run=600), "line 2 submit time: '1.2e+30' is not"),
        (line(job=2, submit="nan", run=600), "line 2 submit time: 'nan' is not"),
        (line(job=2, submit="6e", run=600), "line 2 submit time: '6e' is not"),
        (line(job=2, submit=-1, run=600), "line 2 submit time: -1: a job has one"),
        (line(job=2, submit=2**33, wait=1, run=1), "line 2: holds a time beyond 2^33 seconds"),
        ("1 0 5 3600 4", "line 2: 5 fields; 18 are needed"),
        ("# made by a script", "line 2: 5 fields; 18 are needed"),
    ],
)
def test_a_bad_line_of_swf_is_named(bad: str, message: str, tmp_path: Path) -> None:
    good = line(job=1, submit=0, run=5, requested=1)
    jobs, errors, _ = read(tmp_path, "swf", f"{good}\n{bad}\n{good}\n")
    assert (len(jobs), len(errors)) == (2, 1)
    assert errors[0].startswith(message)


CSV = (
    "when,len,cards,who,card\n"
    "2026-03-01T09:00:00+01:00,90.5,2,me,A100\n"
    "2026-03-01T08:00:00Z,,1,you,\n"
    f"{EIGHT}.7,60,0,you,\n"
    "2026-03-01 08:00:00,60,0.25,you,\n"
)
NAMES = {"submit": "when", "duration": "len", "gpus": "cards", "user": "who", "type": "card"}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_csv_with_names_and_separators_of_its_own(mark: str, tmp_path: Path) -> None:
    """A column map, zones, parts of a GPU, missing values, four separators; a quoted name holds one."""
    text = "\ufeff" + CSV.replace(",", mark).replace("me", f'"m{mark}e"')
    jobs, errors, log = read(tmp_path, "csv", text, **NAMES)
    assert errors == []
    assert [(j.id, j.submit, j.start, j.run, j.gpus, j.kind, j.user) for j in jobs[:1]] == [
        ("", EIGHT, None, 91, 2, "A100", f"m{mark}e")
    ]
    assert [job.submit for job in jobs] == [EIGHT] * 4
    part = "asks for a part of a GPU, which is no whole GPU"
    assert [job.left_out for job in jobs] == ["", "without an end", "without a GPU", part]
    assert log.is_local


def test_our_own_names_need_no_map(tmp_path: Path) -> None:
    head = "id,submit,start,duration,gpus,nodes,limit,account,user,partition,qos\n"
    (job, other), _, _ = read(tmp_path, "csv", head + "7,9,12,5,4,2,60,a,u,p,q\n8,9,,5,1,,0,,,,\n")
    assert (job.id, job.submit, job.start, job.run, job.gpus, job.nodes, job.limit) == ("7", 9, 12, 5, 4, 2, 60)
    assert (job.account, job.user, job.partition, job.qos) == ("a", "u", "p", "q")
    assert (other.start, other.limit, other.nodes) == (None, None, 0)


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("90.5", "-5", "line 2 len: '-5' is not a number in 0..2^33"),
        (",2,", ",two,", "line 2 cards: 'two' is not a number"),
        (",me", "", "line 2: 4 fields; 5 are needed"),
        (
            "2026-03-01T09:00:00+01:00",
            "yesterday",
            "line 2 when: 'yesterday' is neither a time such as 2026-03-01T08:30:00+01:00 nor a number of seconds",
        ),
        ("me", "m\udce4", "line 2: holds bytes that are not UTF-8 text"),
    ],
)
def test_a_bad_row_of_a_csv_is_named(good: str, bad: str, message: str, tmp_path: Path) -> None:
    text = CSV.replace(good, bad, 1).encode(errors="surrogateescape")
    jobs, errors, _ = read(tmp_path, "csv", text, **NAMES)
    assert (len(jobs), len(errors)) == (3, 1)
    assert errors[0].startswith(message)


@pytest.mark.parametrize(
    ("text", "names", "words"),
    [
        ("a;b\n", {}, "line 1: no column 'submit'; the file has 'a, b'; --columns submit=NAME"),
        ("submit,duration,gpus\n", {"user": "who"}, "no column 'who'"),
        ("submit,duration,gpus\n", {"cost": "usd"}, "--columns: cost: 'cost' is not one of submit"),
        ("submit,duration,gpus,gpus\n", {}, "2 columns named gpus"),
    ],
)
def test_columns_that_are_not_there(text: str, names: dict[str, str], words: str, tmp_path: Path) -> None:
    assert words in refusal_of(read, tmp_path, "csv", text, **names)
