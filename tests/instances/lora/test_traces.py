"""Arrivals from the traces: shipped days, readers of the public formats, exact rescaling, and real rows if present."""

import csv
import gzip
import json
import os
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.arrivals import (
    SLOTS_PER_DAY,
    days,
    list_earlier_days,
    read_arrivals,
    scale_counts,
    span_counts,
    traces,
)
from ratiobench.instances.lora.calibration import read_shipped
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.prices import regions, tariff_from
from tests.support.documents import refusal_of

TRACES = ("helios", "pai", "philly")
RAW = {"pai": "pai_task_table.csv.gz", "philly": "philly.csv.gz", "helios": "cluster_log.csv.gz"}


@pytest.fixture(scope="module")
def raw() -> Path:
    folder = os.environ.get("RATIOBENCH_DATA")
    if not folder:
        pytest.skip("RATIOBENCH_DATA is not set: no real trace rows here")
    path = Path(folder) / "traces"
    if not path.is_dir():
        pytest.skip(f"RATIOBENCH_DATA has no folder traces: {path}")
    return path


def table(path: Path) -> dict[str, tuple[int, ...]]:
    """The counts of an arrivals_10min.csv."""
    counts: dict[str, list[int]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            assert int(row["slot"]) == len(counts.setdefault(row["day"], []))
            counts[row["day"]].append(int(row["count"]))
    return {day: tuple(values) for day, values in counts.items()}


@pytest.mark.parametrize("trace", TRACES)
def test_real_rows_give_exactly_the_counted_arrivals(trace: str, raw: Path) -> None:
    """Reading the trace's own rows gives every slot of every day as counted independently."""
    assert read_arrivals(trace, raw / trace / RAW[trace]) == table(raw / trace / "arrivals_10min.csv")


@pytest.mark.parametrize("trace", TRACES)
def test_shipped_days_are_the_counted_ones(trace: str, raw: Path) -> None:
    counted = table(raw / trace / "arrivals_10min.csv")
    shipped_days = (*list_earlier_days(trace), *days(trace))
    assert {day: span_counts(trace, day, 1)[0] for day in shipped_days} == {day: counted[day] for day in shipped_days}


def test_published_examples_are_read(raw: Path) -> None:
    """The complete rows that the traces' own documentation shows are read."""
    helios = read_arrivals("helios", raw / "helios" / "cluster_log.example.csv")
    assert {day: sum(counts) for day, counts in helios.items()} == {"2020-06-09": 3}
    assert helios["2020-06-09"][(18 * 60 + 41) // 10] == 3
    philly = read_arrivals("philly", raw / "philly" / "cluster_job_log.example.json")
    assert philly["2017-10-07"][(1 * 60 + 11) // 10] == sum(philly["2017-10-07"]) == 1
    pai = read_arrivals("pai", raw / "pai" / "pai_task_table.example.csv")
    assert [sum(counts) for counts in pai.values()] == [1]


def test_shipped_prices_are_the_rounded_real_ones(raw: Path) -> None:
    """Each shipped hour is the market's price rounded half to even."""
    for region, known in regions().items():
        real: dict[str, list[int]] = {}
        with (raw / "electricity" / f"day_ahead_price_{region}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                price = Decimal(row["price_per_mwh"]).quantize(Decimal(1), ROUND_HALF_EVEN)
                real.setdefault(row["time"][:10], []).append(int(price))
        for day in known:
            assert list(tariff_from(region, day).days[0]) == real[day]


def test_the_calibration_is_the_measured_one(raw: Path) -> None:
    """Every shipped row, base and capacity is what was measured, and no row that fitted is missing."""
    table = read_shipped()
    fitted: dict[tuple[int, int], tuple[Decimal, Decimal, Decimal]] = {}
    fastest = Decimal(0)
    with (raw.parent / "calibration" / "h200_multi_lora.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["model"], row["dtype"], row["seq_len"]) != ("gpt2", "float32/tf32", "1024"):
                continue
            assert Decimal(row["base_gb"]) * 1000 == table.base_memory_mb
            if row["peak_gb"] == "OOM":
                continue
            fastest = max(fastest, Decimal(row["samples_per_s"]))
            key = int(row["n_tasks"]), int(row["batch"])
            if key[0] in (4, 8, 16) and key[1] in (2, 4, 8):
                fitted[key] = Decimal(row["samples_per_s"]), Decimal(row["peak_gb"]), Decimal(row["watts"])
    assert table.gpus["h200"].compute == int(600 * fastest)
    assert {(p.tasks, p.batch) for p in table.profiles} == set(fitted)
    for profile in table.profiles:
        samples, peak, watts = fitted[profile.tasks, profile.batch]
        assert profile.rate["h200"] == int(600 * samples / profile.tasks)
        assert 0 <= profile.memory_mb - (1000 * peak - table.base_memory_mb) / profile.tasks < 1
        assert abs(profile.energy_wh["h200"] - (watts - 79) / profile.tasks / 6) <= Decimal("0.5")


def test_seven_days_of_each_trace_are_shipped() -> None:
    """Each trace has a listed summary and a week of 144 counts a day."""
    assert tuple(name for name, _ in traces()) == TRACES
    for name, summary in traces():
        assert len(days(name)) == 7
        assert days(name)[0] in summary
        for day in days(name):
            counts = span_counts(name, day, 1)[0]
            assert len(counts) == SLOTS_PER_DAY
            assert min(counts) >= 0 < sum(counts)


@pytest.mark.parametrize("trace", TRACES)
def test_days_before_the_week_are_shipped_as_history(trace: str) -> None:
    """Two weeks and more, without a gap up to the week; a span that begins there goes on in it, and recurs there."""
    known = (*list_earlier_days(trace), *days(trace))
    assert len(known) >= 21
    dates = [date.fromisoformat(day) for day in known]
    assert dates == [dates[0] + timedelta(days=j) for j in range(len(known))]
    assert len(span_counts(trace, known[0], 1)[0]) == SLOTS_PER_DAY
    last = list_earlier_days(trace)[-1]
    counts, recurs = span_counts(trace, last, 2)
    assert (counts, recurs) == (span_counts(trace, last, 1)[0] + span_counts(trace, days(trace)[0], 1)[0], False)
    assert span_counts(trace, days(trace)[-1], 2) == (
        span_counts(trace, days(trace)[-1], 1)[0] + span_counts(trace, days(trace)[0], 1)[0], True
    )  # fmt: skip


def test_a_recipe_may_name_an_earlier_day() -> None:
    recipe = {
        "kind": "paper",
        "nodes": 2,
        "tasks": 50,
        "arrivals": {"trace": "pai", "day": list_earlier_days("pai")[3]},
    }
    made = generate(recipe)
    arrived = np.bincount(made.arrival - 1, minlength=SLOTS_PER_DAY)
    assert tuple(arrived.tolist()) == scale_counts(span_counts("pai", list_earlier_days("pai")[3], 1)[0], 50)


def test_a_shipped_day_has_a_negative_price() -> None:
    """Both markets have a shipped day on which prices fall below zero."""
    for region, known in regions().items():
        assert any(min(tariff_from(region, day).days[0]) < 0 for day in known)
        assert all(len(tariff_from(region, day).days[0]) == 24 for day in known)


counts_strategy = st.lists(st.integers(0, 400), min_size=1, max_size=144)


@given(counts=counts_strategy, total=st.integers(0, 20_000))
def test_rescaling_keeps_the_total_and_every_stretch_s_share(counts: list[int], total: int) -> None:
    if sum(counts) == 0:
        if total:
            with pytest.raises(ValueError, match="no submissions"):
                scale_counts(counts, total)
        return
    result = scale_counts(counts, total)
    assert sum(result) == total
    assert min(result) >= 0
    for first in range(0, len(counts), 7):
        for last in range(first, len(counts) + 1, 5):
            exact = total * sum(counts[first:last])
            assert abs(sum(result[first:last]) * sum(counts) - exact) <= sum(counts)


@given(counts=counts_strategy, factor=st.integers(1, 50))
def test_rescaling_by_a_whole_number_multiplies(counts: list[int], factor: int) -> None:
    """Rescaling to a multiple of the total multiplies every slot; to the total itself changes nothing."""
    if sum(counts):
        assert scale_counts(counts, factor * sum(counts)) == tuple(factor * count for count in counts)


def test_slots_without_submissions_stay_empty() -> None:
    assert scale_counts((0, 5, 0, 0, 1, 0), 3000) == (0, 2500, 0, 0, 500, 0)


# Small made-up files in the three public formats.

PAI_ROWS = [
    "job1,worker,2.0,Terminated,57600.0,57700.0,600.0,29.3,100.0,T4",
    "job1,ps,1.0,Terminated,58199.0,58300.0,600.0,29.3,,CPU",
    "job2,tensorflow,1.0,Failed,57601.0,57700.0,600.0,29.3,50.0,MISC",
    "job3,tensorflow,1.0,Waiting,,,600.0,29.3,50.0,MISC",
    "job4,tensorflow,1.0,Terminated,58200.0,58900.0,600.0,29.3,25.0,V100",
    "job5,tensorflow,1.0,Terminated,143999.0,144100.0,,,100.0,",
]
PAI_COUNTS = {0: 1, 1: 1, 143: 1}

PHILLY_JOBS = [
    {"status": "Pass", "vc": "a", "jobid": "1", "attempts": [], "submitted_time": "2017-10-09 00:09:59", "user": "u"},
    {"status": "Killed", "vc": "b", "jobid": "2", "attempts": [], "submitted_time": "2017-10-09 00:10:00", "user": "u"},
    {"status": "Failed", "vc": "b", "jobid": "3", "attempts": [], "submitted_time": "2017-10-11 23:59:59", "user": "u"},
]

HELIOS_HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
HELIOS_ROWS = [
    "1,u,v,1,1,1,COMPLETED,2020-06-09 00:00:00,2020-06-09 00:00:00,2020-06-09 00:01:00,60,0",
    "2,u,v,0,8,1,COMPLETED,2020-06-09 00:00:01,2020-06-09 00:00:01,2020-06-09 00:01:00,59,0",
    "3,u,v,8,8,1,FAILED,2020-06-09 12:34:56,2020-06-09 12:35:00,2020-06-09 12:36:00,60,4",
]


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def day_of(counts: dict[int, int]) -> tuple[int, ...]:
    """The 144 counts with the given ones set."""
    return tuple(counts.get(slot, 0) for slot in range(SLOTS_PER_DAY))


def files() -> Iterator[tuple[str, str, dict[str, tuple[int, ...]]]]:
    """Trace, text of a file, and the arrivals in it."""
    pai = {"1970-01-02": day_of(PAI_COUNTS)}
    yield "pai", lines(*PAI_ROWS), pai
    header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
    yield "pai", lines(header, *PAI_ROWS), pai
    philly = {"2017-10-09": day_of({0: 1, 1: 1}), "2017-10-10": day_of({}), "2017-10-11": day_of({143: 1})}
    yield "philly", json.dumps(PHILLY_JOBS, indent=4), philly
    yield "philly", "\n" + json.dumps(PHILLY_JOBS), philly
    stamps = [f"{job['submitted_time']},60.0,1,60.0,{job['vc']}" for job in PHILLY_JOBS]
    yield "philly", lines("timestamp,duration,num_gpus,gpu_time,cluster", *stamps), philly
    helios = {"2020-06-09": day_of({0: 1, 75: 1})}
    yield "helios", lines(HELIOS_HEADER, *HELIOS_ROWS), helios
    yield "helios", lines(HELIOS_HEADER, *HELIOS_ROWS).replace("\n", "\r\n"), helios
    yield "pai", "", {}
    yield "philly", "[]", {}
    yield "helios", lines(HELIOS_HEADER), {}


@pytest.mark.parametrize(("trace", "text", "expected"), list(files()))
def test_public_formats_are_read_plain_and_gzipped(
    trace: str, text: str, expected: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    """A file in the trace's own format gives its counts per slot, days between included."""
    plain, packed = tmp_path / "log", tmp_path / "log.gz"
    plain.write_text(text, encoding="utf-8", newline="")
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_arrivals(trace, plain) == read_arrivals(trace, packed) == expected


def broken() -> Iterator[tuple[str, str, str, str]]:
    """Trace, text of a malformed file, the field and a piece of the message."""
    good = PAI_ROWS[0]
    yield "pai", lines(good, "a,b,c"), "line 2", "3 fields; 10 needed"
    yield "pai", lines(good, good.replace("57600.0", "noon")), "line 2 start_time", "'noon'"
    yield "pai", lines(good, good, good.replace("100.0", "-1")), "line 3 plan_gpu", "'-1'"
    yield "pai", lines(good.replace("57600.0", "1e300")), "line 1 start_time", "'1e300'"
    yield "pai", lines(good.replace("57600.0", "nan")), "line 1 start_time", "'nan'"
    yield "pai", lines(good.replace("57600.0", "9e10"), good), "days", "one of them is wrong"
    yield "philly", json.dumps(PHILLY_JOBS)[:-5], "line 1 column", "not JSON"
    yield "philly", json.dumps([PHILLY_JOBS[0], 7]), "[1]", "7 is not an object"
    yield "philly", json.dumps([{"vc": "a"}]), "[0].submitted_time", "missing"
    yield "philly", json.dumps([{"submitted_time": None}]), "[0].submitted_time", "null is not a time"
    yield "philly", json.dumps([{"submitted_time": "2017-13-01 00:00:00"}]), "[0].submitted_time", "2017-13-01"
    yield "philly", lines("when,duration", "2017-10-09 00:00:00,3"), "line 1", "0 columns named 'timestamp'"
    yield "philly", lines("timestamp,duration", "2017-10-09 00:00:00"), "line 2", "1 fields; 2 needed"
    yield "philly", lines("timestamp,duration", "2017-10-09,5"), "line 2 timestamp", "'2017-10-09'"
    yield "philly", lines("", "timestamp,duration", "2017-10-09,5"), "line 3 timestamp", "'2017-10-09'"
    yield "philly", "", "line 1", "0 columns"
    yield "helios", lines(HELIOS_HEADER, HELIOS_ROWS[0].replace(",1,1,1,", ",one,1,1,")), "line 2 gpu_num", "'one'"
    yield "helios", lines(HELIOS_HEADER, HELIOS_ROWS[0] + ",0"), "line 2", "13 fields; 12 needed"
    yield "helios", lines(HELIOS_HEADER, HELIOS_ROWS[1].replace("00:00:01", "00:00")), "line 2 submit_time", "00:00"
    yield "helios", lines(*HELIOS_ROWS), "line 1", "0 columns named 'gpu_num'"
    yield "helios", lines(HELIOS_HEADER, HELIOS_ROWS[0].replace("2020-06-09 00", "2020-06-09T00")), "line 2", "09T00"


@pytest.mark.parametrize(("trace", "text", "field", "piece"), list(broken()))
def test_malformed_rows_name_file_line_and_value(trace: str, text: str, field: str, piece: str, tmp_path: Path) -> None:
    """A row that cannot be read is an error with the file, the line and the value; none is skipped."""
    file = tmp_path / "log"
    file.write_text(text, encoding="utf-8", newline="")
    told = refusal_of(read_arrivals, trace, file)
    assert told.startswith(f"{file}: {field}")
    assert piece in told.removeprefix(f"{file}: {field}")


@pytest.mark.parametrize("trace", TRACES)
def test_damaged_files_are_named(trace: str, tmp_path: Path) -> None:
    """A gzip that is cut and bytes that are no text are errors with the file's name."""
    text = next(text for name, text, _ in files() if name == trace)
    packed = gzip.compress((text * 50).encode())
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="not a complete gzip file"):
        read_arrivals(trace, tmp_path / "cut.gz")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfa" * 10)
    with pytest.raises(InputError, match="not UTF-8"):
        read_arrivals(trace, tmp_path / "binary")


@pytest.mark.parametrize(
    ("trace", "where"),
    [
        ("pai", "alibaba/clusterdata"),
        ("philly", "msr-fiddle/philly-traces"),
        ("helios", "S-Lab-System-Group/HeliosData"),
    ],
)
def test_a_missing_file_says_where_the_data_are(trace: str, where: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"there is no such file.*{where}"):
        read_arrivals(trace, tmp_path / "absent")


def test_unknown_traces_and_days_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'mars' is not one of helios, pai, philly"):
        read_arrivals("mars", tmp_path)
    with pytest.raises(InputError, match="'mars' is not one of helios, pai, philly"):
        span_counts("mars", "2017-10-09", 1)
    with pytest.raises(InputError, match=r"'2001-01-01' is not shipped; shipped: 2017-10-09, .*own file"):
        span_counts("philly", "2001-01-01", 1)
    file = tmp_path / "log.json"
    file.write_text(json.dumps(PHILLY_JOBS))
    with pytest.raises(InputError, match="'2001-01-01' is not in the file, which has 2017-10-09 to 2017-10-11"):
        span_counts("philly", "2001-01-01", 1, file)
    with pytest.raises(InputError, match="'2016-01-01' is not one of"):
        tariff_from("DE", "2016-01-01")
    with pytest.raises(InputError, match="'UK' is not one of PJM, DE"):
        tariff_from("UK", "2016-01-01")
