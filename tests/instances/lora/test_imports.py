"""What jobs become: sizes on every node type, windows, bids, tariffs, and what is left out, each stated by hand."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.cluster import Cluster, read_cluster
from ratiobench.instances.lora.imports import Laws, Report, import_log
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.prices import regions
from ratiobench.instances.lora.prices import tariff as shipped
from ratiobench.instances.lora.schedules import ScheduleKind

CLUSTER = """
usd_per_kwh = 0.1234
[[node]]
name = "A100"
count = 2
gpus = 8
memory_gb = 80
speed = 1.5
watts = 300.5
[[node]]
name = "t4"
count = 3
gpus = 4
memory_gb = 16
"""


def cluster_of(tmp_path: Path, text: str = CLUSTER) -> Cluster:
    (tmp_path / "cluster.toml").write_text(text)
    return read_cluster(tmp_path / "cluster.toml")


def imported(tmp_path: Path, rows: str, cluster: str = CLUSTER, **laws: Any) -> tuple[Report, list[Instance]]:
    """The instances of a CSV log with all columns."""
    path = tmp_path / "log.csv"
    path.write_text(f"submit,duration,gpus,deadline,bid,type,memory_mb,limit\n{rows}")
    report, instances = import_log(path, "csv", cluster_of(tmp_path, cluster), Laws(**laws))
    return report, list(instances)


def test_what_a_job_becomes(tmp_path: Path) -> None:
    """Rates, work in half GPU-seconds (a speed of 1.5), memory, energy, windows by deadline, limit and law, bids."""
    rows = (
        "600,900,2,4000,1.5,,,\n"  # slots 2..6 by its deadline (the slot that holds second 4000 is not whole)
        "1200,900,8,,,,,5000\n"  # wider than a t4; 6 slots for its limit, three times as many by law
        "1799,601,4,,0,T4,1000,\n"  # asks for a t4; one slot and a second: two slots, three times as many by law
        "86399,10,1,,,,,\n"  # the last second of the day
    )
    report, (day,) = imported(tmp_path, rows, per_gpu_hour=(2_000_000, 2_000_000))
    assert (day.name, day.slots, day.slot_seconds, day.base_memory_mb) == ("log-1970-01-01", 180, 600, 0)
    assert [(node.name, node.count, node.compute, node.memory_mb) for node in day.node_types] == [
        ("A100", 2, 8 * 600 * 3, 8 * 80 * 1024),
        ("t4", 3, 4 * 600 * 2, 4 * 16 * 1024),
    ]
    assert set(day.node_types[0].tariff.tolist()) == {123}  # micro-dollars per Wh, of 0.1234 dollars per kWh
    assert day.arrival.tolist() == [2, 3, 3, 144]
    assert day.deadline.tolist() == [6, 20, 8, 146]
    assert day.work.tolist() == [900 * 2 * 2, 900 * 8 * 2, 601 * 4 * 2, 20]
    assert day.rate.tolist() == [[3600, 2400], [14400, 0], [0, 4800], [1800, 1200]]
    assert day.memory_mb.tolist() == [2 * 16 * 1024, 8 * 80 * 1024, 1000, 16 * 1024]
    assert day.energy_wh.tolist() == [[100, 0], [401, 0], [0, 0], [50, 0]]  # 300.5 W for 10 minutes: 50.08 Wh a GPU
    # 2 dollars per GPU-hour: 900 s on 8 GPUs are two GPU-hours.
    assert day.bid.tolist() == [1_500_000, 4_000_000, 0, 5555]
    assert report.counts["windows by their own deadline"] == report.counts["windows by law, of their time limit"] == 1
    assert report.counts["windows by law"] == report.counts["bids of their own"] == 2
    assert report.counts["shorter than a slot"] == 1
    assert report.instances == [{"name": "log-1970-01-01", "tasks": 4, "servable": 4, "load": 0.003}]
    assert "imported 4 of 4 jobs\n" in report.text()
    assert "1 (25 %) are shorter than a slot of 600 s" in report.text()


def test_what_is_left_out_and_cut(tmp_path: Path) -> None:
    """Wider than a node, a deadline before its slot ends, other days; a window is cut where its instance ends."""
    rows = (
        "600,900,9,,,,,\n600,900,8,,,t4,,\n600,900,1,1100,,,,\n600,900,1,500,,,,\n200000,900,1,,,,,\n"
        "86000,90000,1,,,h100,,\n"
    )
    report, (day,) = imported(tmp_path, rows, last=date(1970, 1, 1), tail=0, run=ScheduleKind.ANY)
    assert report.left == Counter({"wider than a node": 2, "with a deadline before its first slot ends": 2})
    assert (report.jobs, report.imported, day.tasks) == (5, 1, 1)
    assert report.text().splitlines()[0].endswith("(1 others are of days that were not asked for)")
    assert (day.arrival.tolist(), day.deadline.tolist(), day.slots) == ([144], [144], 144)
    assert report.counts["windows cut at the end of the instance"] == 1
    assert "no schedule can finish in their window: 1." in report.text()
    assert "1 jobs ask for a GPU type that no node has" in report.text()


def test_progress_counts_the_jobs_of_the_instances_so_far(tmp_path: Path) -> None:
    """Two jobs on the first day, one that no node holds; two on the third: 2/4 are done, then all."""
    path = tmp_path / "log.csv"
    path.write_text("submit,duration,gpus\n600,900,2\n700,900,99\n172900,900,1\n173000,900,1\n")
    report, instances = import_log(path, "csv", cluster_of(tmp_path), Laws())
    assert report.done == 0
    assert [(day.tasks, report.done) for day in instances] == [(1, 0.5), (2, 1.0)]


def test_instances_of_several_days_and_minutes(tmp_path: Path) -> None:
    """Two days in each, slots of a minute; days without jobs make no instance; jobs come in any order."""
    rows = "172900,60,1,,,,,\n60,61,1,,,,,\n0,60,1,,,,,\n600000,60,1,,,,,\n"
    report, days = imported(tmp_path, rows, days=2, slot_seconds=60, tail=0, slack=Fraction(3, 2))
    assert [day.name for day in days] == ["log-1970-01-01", "log-1970-01-03", "log-1970-01-07"]
    assert all(day.slots == 2880 for day in days)
    # On an A100, half as fast again as the log's GPU, 61 seconds fit into one slot.
    assert [day.arrival.tolist() for day in days] == [[1, 2], [2], [1361]]
    assert [day.deadline.tolist() for day in days] == [[2, 3], [3], [1362]]
    assert report.imported == 4


def test_fractions_of_a_gpu_have_a_unit_in_which_all_is_whole(tmp_path: Path) -> None:
    """An eighth and a third (in thousandths, rounded up), at speed 1.5: nothing is rounded after that."""
    _, (day,) = imported(tmp_path, "0,7,0.125,,,,,\n0,7,0.3333,,,,,\n")
    unit = 1000 * 2  # thousandths of a GPU, halves of its speed
    assert day.work.tolist() == [7 * 125 * unit // 1000, 7 * 334 * unit // 1000]
    assert day.rate.tolist() == [[75 * unit * 3 // 2, 75 * unit], [334 * 600 * 3, 334 * 600 * 2]]
    assert day.node_types[1].compute == 4 * 600 * unit


def test_thousandths_of_gpus_and_of_speed(tmp_path: Path) -> None:
    """0.333 GPU for 2,331 s at a speed of 0.777 are five slots to the second, not six."""
    slow = CLUSTER.replace("speed = 1.5", "speed = 0.777").replace("gpus = 4", "gpus = 0").split("[[node]]")[:2]
    _, (day,) = imported(tmp_path, "0,2331,0.333,,,,,\n", cluster="[[node]]".join(slow))
    assert int(day.work[0]) == 5 * int(day.rate[0, 0])
    assert day.deadline.tolist() == [15]


def test_a_price_holds_until_the_next_row_over_days_without_any(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(
        "time,usd_per_mwh\n1970-01-01T00:00:00,100\n1970-01-01T20:00:00,500\n1970-01-03T00:00:00,100\n"
    )
    file = CLUSTER.replace("usd_per_kwh = 0.1234", 'tariff = "prices.csv"')
    report, (day,) = imported(tmp_path, "90000,9,1,,,,,\n", cluster=file)
    assert day.node_types[0].tariff.tolist() == [500] * 144 + [100] * 36
    assert "begin again" not in report.text()


def test_slots_that_do_not_divide_a_day(tmp_path: Path) -> None:
    _, (day,) = imported(tmp_path, "86399,9,1,,,,,\n", slot_seconds=420, tail=0)
    assert (day.slots, day.arrival.tolist()) == (206, [206])


def test_only_jobs_of_the_days_asked_for_are_counted(tmp_path: Path) -> None:
    report, _ = imported(tmp_path, "0,,1,,,,,\n0,9,0,,,,,\n86400,9,1,,,,,\n", first=date(1970, 1, 2))
    assert (report.jobs, report.imported, sum(report.left.values())) == (1, 1, 0)
    assert "(2 others are of days that were not asked for)" in report.text()


def test_bids_by_law_are_drawn_from_names(tmp_path: Path) -> None:
    """The same for the same seed and day, others for others, all within the range."""
    rows = "".join(f"{60 * j},3600,1,,,,,\n" for j in range(50))
    bids = [imported(tmp_path, rows, seed=seed)[1][0].bid.tolist() for seed in ("a", "a", "b")]
    assert bids[0] == bids[1] != bids[2]
    assert 1_000_000 <= min(bids[0]) < max(bids[0]) <= 3_000_000
    assert len(set(bids[0])) > 40


def test_tariffs(tmp_path: Path) -> None:
    """One price; shipped days one after the other from the named one; a file by date, and again and again elsewhere."""
    region = CLUSTER.replace("usd_per_kwh = 0.1234", f'region = "DE"\nday = "{regions()["DE"][-1]}"')
    _, (day,) = imported(tmp_path, "0,9,1,,,,,\n", cluster=region)
    last, first = (shipped("DE", regions()["DE"][j]) for j in (-1, 0))
    assert day.node_types[0].tariff.tolist() == [*last, *first][:180]
    (tmp_path / "prices.csv").write_text(
        "time,usd_per_mwh\n1970-01-01T00:00:00,20.5\n1970-01-01T12:00:00,-3\n1970-01-02T06:00:00,40\n"
    )
    file = CLUSTER.replace("usd_per_kwh = 0.1234", 'tariff = "prices.csv"')
    report, (day,) = imported(tmp_path, "0,9,1,,,,,\n", cluster=file)
    assert day.node_types[1].tariff.tolist() == [20] * 72 + [-3] * 108
    assert "begin again" not in report.text()
    report, (day,) = imported(tmp_path, "864000,9,1,,,,,\n", cluster=file)
    assert day.node_types[1].tariff.tolist() == [20] * 72 + [-3] * 108
    assert "where the table ends its days begin again" in report.text()


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("usd_per_kwh = 0.1234", "", ("usd_per_kwh", "none is given")),
        ("usd_per_kwh = 0.1234", 'usd_per_kwh = 1\nregion = "DE"', ("usd_per_kwh and region are given",)),
        ("usd_per_kwh = 0.1234", 'usd_per_kwh = 1\nday = "2016-10-19"', ("day", "region")),
        ("usd_per_kwh = 0.1234", "usd_per_kwh = nan", ("usd_per_kwh",)),
        ("usd_per_kwh = 0.1234", "usd_per_kwh = 1e-999999999", ("usd_per_kwh",)),
        ("speed = 1.5", "speed = 1e999999999", ("node[0].speed",)),
        ("usd_per_kwh = 0.1234", 'region = "Mars"', ("region", "'Mars'")),
        ("usd_per_kwh = 0.1234", 'region = "DE"\nday = 2000-01-01', ("day", "2000-01-01")),
        ("usd_per_kwh = 0.1234", 'tariff = "nowhere.csv"', ("nowhere.csv",)),
        ("usd_per_kwh = 0.1234", 'tariff = "cluster.toml"', ("cluster.toml", "line 1")),
        ("usd_per_kwh", "usd", ("usd", "unknown key")),
        ("gpus = 8", "", ("node[0].gpus", "missing")),
        ("gpus = 8", "gpus = 0", ("node[0].gpus",)),
        ("gpus = 8", "gpus = 1.5", ("node[0].gpus", "whole")),
        ("gpus = 8", 'gpus = "8"', ("node[0].gpus", "'8'")),
        ("gpus = 8", "gpus = true", ("node[0].gpus",)),
        ("speed = 1.5", "speed = 1.2345", ("node[0].speed", "1.2345")),
        ("speed = 1.5", "speed = 0", ("node[0].speed",)),
        ("watts", "power", ("node[0].power", "unknown key")),
        ('"t4"', '"A100"', ("node[1].name", "twice")),
        ('"t4"', '""', ("node[1].name",)),
        ("[[node]]", "[node]", ("TOML",)),
    ],
)
def test_a_bad_cluster_is_one_error(good: str, bad: str, words: tuple[str, ...], tmp_path: Path) -> None:
    assert good in CLUSTER
    with pytest.raises(InputError) as caught:
        cluster_of(tmp_path, CLUSTER.replace(good, bad, 1) if good != "[[node]]" else CLUSTER.replace(good, bad))
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_log_that_gives_no_instance_is_an_error(tmp_path: Path) -> None:
    """No jobs, none that counts, or more slots than an instance may have."""
    for rows, laws, words in (
        ("", {}, "no jobs"),
        ("0,0,1,,,,,\n", {}, "1 jobs, all left out"),
        ("0,5,1,,,,,\n", {"days": 9, "slot_seconds": 30}, "slots of 30 s"),
    ):
        with pytest.raises(InputError, match=words):
            imported(tmp_path, rows, **laws)


def test_no_damage_to_a_log_or_a_cluster_is_another_error(tmp_path: Path) -> None:
    """Bytes changed, dropped and doubled: an instance, or one line."""
    log = "submit,duration,gpus,deadline,bid,type,memory_mb,limit\n2026-03-01T08:00:00,900,2,2026-03-02,1.5,,,\n"
    chance = random.Random("logs")
    for _ in range(400):
        texts = []
        for text in (log, CLUSTER):
            data = bytearray(text.encode())
            for _ in range(chance.randrange(3)):
                at = chance.randrange(len(data))
                data[at : at + chance.randrange(3)] = bytes(chance.choices(b'0,9-.:"=\n\xff[eZ', k=chance.randrange(3)))
            texts.append(bytes(data))
        (tmp_path / "log.csv").write_bytes(texts[0])
        (tmp_path / "cluster.toml").write_bytes(texts[1])
        with contextlib.suppress(InputError):
            list(import_log(tmp_path / "log.csv", "csv", read_cluster(tmp_path / "cluster.toml"))[1])
