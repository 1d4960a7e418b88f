"""Which schedules imported jobs may have: rigid ones, gangs and their parts; limits, labels, and the report's words."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.cluster import read_cluster
from ratiobench.instances.lora.format import content_hash, document
from ratiobench.instances.lora.history import choose, join, split
from ratiobench.instances.lora.import_schedules import tell_waits
from ratiobench.instances.lora.imports import Report, import_log, read_jobs
from ratiobench.instances.lora.job_sizes import LOOSE, WIDE, WIDE_NODE, Converter, Laws, Split
from ratiobench.instances.lora.logs import Job, list_formats
from ratiobench.instances.lora.model import NO_LABELS, Instance, Labels
from ratiobench.instances.lora.schedules import ScheduleKind

CLUSTER = """
usd_per_kwh = 0.1
[[node]]
name = "big"
count = 3
gpus = 8
memory_gb = 80
watts = 300
[[node]]
name = "small"
count = 20
gpus = 4
memory_gb = 16
speed = 0.5
"""
ANY, ONE_NODE, RIGID, GANG = ScheduleKind
HEAD = "submit,duration,gpus,limit,run,nodes,user,group,memory_mb,type\n"


def imported(tmp_path: Path, rows: str, form: str = "csv", **laws: Any) -> tuple[Report, list[Instance]]:
    """The instances of a log; of a CSV with all columns."""
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    (tmp_path / "log").write_text(HEAD * (form == "csv") + rows)
    report, instances = import_log(tmp_path / "log", form, read_cluster(tmp_path / "cluster.toml"), Laws(**laws))
    return report, list(instances)


def splits(tmp_path: Path, jobs: Sequence[Job], form: str = "csv", run: ScheduleKind | None = None) -> list[Split]:
    """How jobs lie on the nodes."""
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    converter = Converter(read_cluster(tmp_path / "cluster.toml"), Laws(run=run), list_formats()[form], jobs)
    return [converter.split(job) for job in jobs]


def job(gpus: float, **given: Any) -> Job:
    """A job of so many GPUs."""
    return Job("j", 0, 100, round(1000 * gpus), **given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (job(8), Split(RIGID, 1, 8000)),
        (job(0.25), Split(RIGID, 1, 250)),
        (job(4, nodes=4), Split(GANG, 4, 1000)),  # as the log says, though they fit on one
        (job(9), Split(GANG, 2, 5000)),  # equal parts, rounded up
        (job(24), Split(GANG, 3, 8000)),
        (job(25), Split(GANG, 7, 4000)),  # there are no four big nodes: ceil(25 / 4) small ones
        (job(81), Split(RIGID, 1, 81_000, WIDE)),
        (job(10, nodes=4), Split(GANG, 4, 3000)),
        (job(2, nodes=5), Split(GANG, 2, 1000)),  # three nodes had no GPU
        (job(1, nodes=3), Split(RIGID, 1, 1000)),
        (job(0.5, nodes=3), Split(RIGID, 1, 500)),
        (job(12.5), Split(GANG, 2, 6250)),
        (job(2.5, nodes=2), Split(GANG, 2, 1250)),
        (job(16, nodes=1), Split(GANG, 2, 8000)),  # nodes of the log were larger
        (job(32, nodes=2), Split(GANG, 8, 4000)),
        (job(8, kind="SMALL"), Split(GANG, 2, 4000)),
        (job(100, kind="small"), Split(RIGID, 1, 100_000, WIDE)),
        (job(16, kind="none"), Split(GANG, 2, 8000)),
        (job(12, pods=4), Split(GANG, 2, 6000)),  # two pods of 3 GPUs on a big node
        (job(9, pods=3), Split(GANG, 2, 6000)),
        (job(15, pods=3), Split(GANG, 3, 5000)),
        (job(6, pods=3), Split(RIGID, 1, 6000)),
        (job(18, pods=2), Split(RIGID, 1, 18_000, WIDE)),  # no node has 9 GPUs
        (job(16, pods=2, gang=False), Split(RIGID, 1, 16_000, LOOSE)),
        (job(8, pods=2, gang=False), Split(RIGID, 1, 8000)),
        (job(8, run=ANY), Split(ANY, 1, 8000)),
        (job(9, run=ANY), Split(ANY, 1, 9000, WIDE_NODE)),
        (job(9, run=ONE_NODE), Split(ONE_NODE, 1, 9000, WIDE_NODE)),
        (job(9, run=GANG), Split(GANG, 2, 5000)),
        (job(4, run=RIGID, nodes=2), Split(GANG, 2, 2000)),
    ],
)
def test_on_how_many_nodes_a_job_runs(given: Job, expected: Split, tmp_path: Path) -> None:
    """As the log says where that fits, else on as many of the largest nodes as it needs."""
    assert splits(tmp_path, [given]) == [expected]


def test_the_option_is_asked_before_the_log(tmp_path: Path) -> None:
    jobs = [job(8), job(9), job(4, nodes=2), job(8, run=ANY), job(16, pods=2, gang=False)]
    told = {
        run: [(each.run, each.parts, bool(each.rule)) for each in splits(tmp_path, jobs, run=run)]
        for run in ScheduleKind
    }
    wide = [(1, False), (1, True), (1, False), (1, False), (1, True)]
    assert told[ANY] == [(ANY, *each) for each in wide]
    assert told[ONE_NODE] == [(ONE_NODE, *each) for each in wide]
    rigid = [(RIGID, 1, False), (GANG, 2, False), (GANG, 2, False), (RIGID, 1, False)]
    assert told[RIGID] == [*rigid, (RIGID, 1, True)]
    assert told[GANG] == [*rigid, (GANG, 2, False)]
    assert [each.run for each in splits(tmp_path, [job(1), job(1, run=RIGID)], "pai")] == [ANY, RIGID]


def test_what_a_gang_becomes(tmp_path: Path) -> None:
    """Rate, memory and energy of a part; work of all parts, for as long as the job ran; a bid of the GPUs it had."""
    rows = "0,1500,9,,,,,,1001,\n"
    report, (day,) = imported(tmp_path, rows, per_gpu_hour=(2_000_000, 2_000_000))
    assert (day.run.tolist(), day.parts.tolist(), day.limit.tolist()) == ([3], [2], [0])
    assert day.rate.tolist() == [[5 * 600 * 2, 0]]
    assert day.work.tolist() == [1500 * 10 * 2]  # halves of a GPU-second
    assert (day.memory_mb.tolist(), day.energy_wh.tolist()) == ([501], [[250, 0]])
    assert day.bid.tolist() == [1500 * 9 * 2_000_000 // 3600]
    assert (day.arrival.tolist(), day.deadline.tolist()) == ([1], [9])  # three slots, three times as many by law
    assert report.instances[0]["servable"] == 1
    assert "1 jobs are rigid, 1 of them gangs on 2 nodes (100 % of GPU time; --run any leaves 1 out)" in report.text()
    assert "those of 1 gangs were rounded up" in report.text()
    assert day.origin["run"] == "rigid"


def test_parts_of_halves_have_a_unit_in_which_all_is_whole(tmp_path: Path) -> None:
    """2.5 GPUs on two nodes are 1.25 on each."""
    _, (day,) = imported(tmp_path, "0,7,2.5,,,2,,,,\n")
    assert day.rate.tolist() == [[5 * 600 * 2, 5 * 600]]  # quarters of a GPU, halves of its speed
    assert day.work.tolist() == [7 * 10 * 2]


def test_limits_are_what_jobs_claim(tmp_path: Path) -> None:
    """In the instance, and in the window; a job that ran longer claims what it ran; on slow nodes it takes longer."""
    rows = (
        "0,900,2,3600,,,,,,\n"
        "0,900,2,600,,,,,,\n"  # longer than its limit
        "0,900,2,,,,,,,\n"
        "0,900,2,3600,,,,,,small\n"  # the plan is of 12 slots there
        "0,900,9,3600,,,,,,\n"
    )
    report, (day,) = imported(tmp_path, rows)
    assert day.limit.tolist() == [3600 * 4, 900 * 4, 0, 3600 * 4, 3600 * 20]
    assert day.deadline.tolist() == [18, 6, 6, 36, 18]  # three times the plan
    assert "4 jobs claim their time limit as work; 1 ran longer, so they claim what they ran." in report.text()
    plain, (same,) = imported(tmp_path, rows.rsplit("0,900,9", 1)[0], run=ANY)
    assert same.deadline.tolist() == [6, 1 + 1, 6, 6]
    assert (same.limit.tolist(), document(same)["format"]) == ([0] * 4, "ratiobench/lora/1")
    assert "claim" not in plain.text()


def test_a_limit_is_cut_with_its_window(tmp_path: Path) -> None:
    """A third of what is left of the day, and no less than the work: else no policy would begin the run."""
    report, (day,) = imported(tmp_path, "86000,600,2,360000,,,,,,\n86000,18000,2,360000,,,,,,\n")
    assert (day.slots, day.arrival.tolist(), day.deadline.tolist()) == (180, [144, 144], [180, 180])
    assert day.limit.tolist() == [12 * 600 * 4, 18_000 * 4]
    assert "2 time limits are cut with them." in report.text()


TIMES = "1970-01-01T00:00:00|1970-01-01T00:10:00|1970-01-01T01:10:25"
SACCT = "JobID|Submit|Start|End|AllocTRES|State|Timelimit|NNodes|User|Account|Partition|QOS|Priority|Eligible\n"


def test_jobs_killed_at_their_limit_have_it_as_work(tmp_path: Path) -> None:
    """Slurm ends them some seconds later. Labels and waits come from the optional columns."""
    rows = (
        f"1|{TIMES}|gres/gpu=2|TIMEOUT|01:00:00|1|anna|lab|gpu|high|4294901759|1970-01-01T00:05:00\n"
        f"2|{TIMES}|gres/gpu=8,node=2|COMPLETED|02:00:00||||gpu||7|Unknown\n"
        f"3|{TIMES}|gres/gpu=2|TIMEOUT|UNLIMITED|||||||\n"
    )
    report, (day,) = imported(tmp_path, SACCT + rows, "sacct")
    assert [work // 2 for work in day.work.tolist()] == [3600 * 2, 3625 * 8, 3625 * 2]
    assert [limit // 2 for limit in day.limit.tolist()] == [3600 * 2, 7200 * 8, 0]
    assert (day.run.tolist(), day.parts.tolist()) == ([2, 3, 2], [1, 2, 1])
    assert day.labels == {0: Labels("anna", "lab", "gpu/high", 2**31 - 1), 1: Labels(queue="gpu", priority=7)}
    assert "2 jobs claim their time limit as work; 1 were killed at it, so it is their work." in report.text()
    assert "1 of the jobs could not start at submission" in report.text()
    assert "waited 5 min on average" in report.text()


def test_one_import_has_jobs_of_every_kind(tmp_path: Path) -> None:
    """Each with its sentence; labels; whole slots, and shorter ones that add less."""
    rows = (
        "0,30,2,,any,,anna,lab,,\n"
        "0,30,2,,one-node,,anna,,,\n"
        "0,60,2,,rigid,,,,,\n"
        "0,60,4,,gang,2,,lab,,\n"
        "0,999999,8,,,,,,,\n"
    )
    report, (day,) = imported(tmp_path, rows)
    assert day.run.tolist() == [0, 1, 2, 3, 2]
    assert day.labels == {0: Labels("anna", "lab"), 1: Labels("anna"), 3: Labels(group="lab")}
    text = report.text()
    long = "They are 100 % of the GPU time: --tail 14d makes that 0.0 %."
    assert f"no schedule can finish in their window: 1. {long} Of the others:\n- 2 jobs are" in text
    assert "1 of them gangs on 2 nodes (50 % of GPU time); none may pause or move.\n" in text
    assert "1 jobs may pause between slots, at no cost, and stay on their node.\n" in text
    assert "1 jobs may pause, move to another node and go on, at no cost, between slots.\n" in text
    assert (
        "4 (100 %) are shorter than a slot of 600 s; whole slots add 1150 % to the GPU time: "
        "--slot 30s makes that 0.0 %." in text
    )
    assert report.document()["counts"]["gang"] == 1
    assert choose(day, day.arrival[:0]).labels == {}


def test_days_keep_what_jobs_may_do(tmp_path: Path) -> None:
    rows = "0,900,12,3600,,,anna,,,\n86400,900,2,,one-node,,,lab,,\n86400,900,2,,any,,,,,\n"
    _, days = imported(tmp_path, rows, tail=0)
    assert [content_hash(each) for each in split(join(days), days[0])] == [content_hash(each) for each in days]
    assert content_hash(join(days[::-1])) != content_hash(join(days))


def test_labels_of_swf_and_of_the_traces(tmp_path: Path) -> None:
    """Fields 12, 13 and 15; user and virtual cluster; Helios says how many nodes."""
    swf = "1 0 5 900 8 -1 -1 8 3600 -1 1 12 13 -1 15 -1 -1 -1\n2 0 5 900 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
    _, (day,) = imported(tmp_path, swf, "swf")
    assert (day.labels, day.run.tolist()) == ({0: Labels("12", "13", "15")}, [2, 2])
    helios = "job_id,user,vc,gpu_num,cpu_num,node_num,submit_time,duration\n7,u1,vc2,4,9,2,1970-01-01 08:00:00,40\n"
    _, (day,) = imported(tmp_path, helios, "helios")
    assert (day.labels, day.parts.tolist()) == ({0: Labels("u1", "vc2")}, [2])
    itp = "job_id,submission_time,duration,num_gpu\nx,100.5,60,24\n"
    _, (day,) = imported(tmp_path, itp, "itp")
    assert (day.labels.get(0, NO_LABELS), day.parts.tolist()) == (NO_LABELS, [3])


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("csv", HEAD + "0,900,2,,wild,,,,,\n", "line 2 run: 'wild' is none of any, one-node, rigid, gang"),
        ("csv", HEAD + "0,900,2,,,0,,,,\n", "line 2 nodes: '0' is not a whole number in 1..1000000"),
        ("csv", HEAD + "0,900,2,,,1.5,,,,\n", "line 2 nodes: '1.5' is not"),
        ("csv", HEAD + f"0,900,2,,,{'9' * 20},,,,\n", "line 2 nodes: '99999999999999999999' is not"),
        ("csv", HEAD + "0,900,2,,one-node,2,,,,\n", "line 2 nodes: 2, and the job is one-node: it runs on one node"),
        ("sacct", SACCT + f"1|{TIMES}|gres/gpu=2|FAILED||two||||||\n", "line 2 NNodes: 'two' is not a number"),
        (
            "sacct",
            SACCT + f"1|{TIMES}|gres/gpu=2,node=few|FAILED||||||||\n",
            "line 2 AllocTRES: 'node=few' does not say how many",
        ),
        ("sacct", SACCT + f"1|{TIMES}|gres/gpu=2|FAILED|||||||high|\n", "line 2 Priority: 'high' is not a number"),
        ("sacct", SACCT + f"1|{TIMES}|gres/gpu=2|FAILED||||||||never\n", "line 2 Eligible: 'never' is neither a time"),
        ("helios", "job_id,gpu_num,submit_time,duration,node_num\n7,4,0,40,many\n", "line 2 node_num: 'many' is not"),
    ],
)
def test_bad_values_of_the_new_columns_are_one_error(form: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_jobs(tmp_path / "log", form, Report("log", form)))
    assert f"log: {words}" in str(caught.value)


def test_waits_in_words() -> None:
    """In the unit that fits."""
    assert tell_waits(array("q", [0, 60])).startswith("In the log jobs waited 30 s on average before")
    assert "95 % of them at most 10 min." in tell_waits(array("q", [600]))
    assert "waited 2.5 h on" in tell_waits(array("q", [9000]))
