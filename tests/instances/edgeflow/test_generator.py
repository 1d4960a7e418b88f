"""Recipes of family edgeflow: the same instance everywhere, what a recipe says, what it cannot say."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ratiobench.instances.edgeflow import tables
from ratiobench.instances.edgeflow.format import content_hash
from ratiobench.instances.edgeflow.generate import _within_wide, expected, generate, named, names, recipes, windows_of
from ratiobench.instances.edgeflow.logs import read_log
from ratiobench.instances.edgeflow.model import Instance, can_be_met, describe
from ratiobench.instances.edgeflow.tables import CLUSTERS, PUBLISHED
from ratiobench.instances.io.errors import InputError
from tests.support.documents import refusal_of

HASHES = [
    ({"kind": "gpu-day", "jobs": 200}, "3eac66c7"),
    ({"kind": "gpu-day", "cluster": "philly", "day": 14, "gpus": 80, "servers": 10}, "41b77675"),
    ({"kind": "gpu-day", "cluster": "philly", "day": 14, "durations": "day"}, "a639ca88"),
    ({"kind": "elasticflow", "trace": "testbed"}, "298c08b1"),
    ({"kind": "elasticflow", "trace": "t4"}, "b7659644"),
]


@pytest.mark.parametrize(("recipe", "begin"), HASHES)
def test_a_recipe_is_the_same_instance_everywhere(recipe: Mapping[str, Any], begin: str) -> None:
    assert content_hash(generate(recipe)).startswith(begin)


def test_a_day_has_its_arrivals_and_whole_work() -> None:
    """As many tasks as the day had, each in its ten minutes; work is seconds times the speed on the share."""
    instance = generate({"kind": "gpu-day", "cluster": "philly"})
    assert instance.jobs == 210
    counts = np.bincount(instance.submit // 600, minlength=144)
    assert counts.tolist() == list(tables.arrivals("philly")[0])
    assert all(list(model.gpus) == sorted(model.gpus) for model in instance.models)
    job = instance.job(7)
    model = instance.models[job.model]
    speed = dict(zip(model.gpus, model.speed, strict=True))[job.gpus]
    seconds, rest = divmod(job.work, speed)
    assert rest == 0
    assert seconds >= 600
    assert seconds // 2 <= job.deadline - job.submit <= seconds * 3 // 2


def test_one_seed_is_one_list_of_jobs() -> None:
    """GPUs, servers, factor and overheads change the place, tightness the deadlines; a sample is part of the day."""
    base = {"kind": "gpu-day", "jobs": 60, "seed": ["a", 1]}
    first = generate(base)
    other = generate({**base, "gpus": 16, "servers": 32, "factor": "0.9", "overhead": 0, "tightness": [100, 400]})
    for column in ("submit", "work", "model", "share"):
        assert getattr(first, column).tolist() == getattr(other, column).tolist()
    assert (other.deadline > first.deadline).all()
    assert other.models[0].overhead_s == 0
    assert generate({**base, "seed": ["a", 2]}).work.tolist() != first.work.tolist()
    assert generate({**base, "jobs": 500}).jobs == 500


def test_factor_and_memory() -> None:
    """The factor of the recipe, or of the model; large batches do not fit an edge server."""
    models = {model.name: model for model in generate({"kind": "gpu-day"}).models}
    assert models["resnet50/64"].edge_speed == 6843 * 65 // 100
    assert models["bert/64"].edge_speed == 6031 // 2
    assert models["gpt2/256"].edge_speed == models["resnet50/256"].edge_speed == 0
    assert {model.overhead_s for model in models.values()} == {2, 3, 4}
    models = {model.name: model for model in generate({"kind": "gpu-day", "factor": "0.3"}).models}
    assert models["bert/64"].edge_speed == 6031 * 3 // 10


def test_windows_of_every_day() -> None:
    """From the first moment on, on the clock of the instance; half of the servers in the afternoon."""
    texts = "02:00-09:00+14:00-17:00/2"
    assert windows_of(texts, 8, 0, 90_000)[:2] == [
        {"from": 7200, "to": 32_400, "servers": 8}, {"from": 50_400, "to": 61_200, "servers": 4},
    ]  # fmt: skip
    assert windows_of(texts, 1, 8 * 3600, 80_000) == [
        {"from": 0, "to": 3600, "servers": 1}, {"from": 64_800, "to": 90_000, "servers": 1},
    ]  # fmt: skip
    assert windows_of(texts, 0, 0, 90_000) == []


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_prepared_traces(name: str) -> None:
    """As many jobs as are said, on the paper's GPUs, from second 0."""
    instance = generate({"kind": "elasticflow", "trace": name})
    assert instance.gpus == PUBLISHED[name].gpus
    assert f"{instance.jobs:,}" in PUBLISHED[name].about
    assert instance.submit[0] == 0
    assert instance.edge == ()
    assert generate({"kind": "elasticflow", "trace": name, "jobs": 30, "gpus": 8}).jobs == 30


def test_the_prepared_traces_are_those_of_the_specification() -> None:
    """How many jobs can be met alone, less those that their start alone makes miss."""
    found = {name: generate({"kind": "elasticflow", "trace": name}) for name in ("testbed", "t4", "cluster10")}
    alone = {name: sum(can_be_met(each, each.job(i)) for i in range(each.jobs)) for name, each in found.items()}
    assert alone == {"testbed": 184, "t4": 180, "cluster10": 258}


@pytest.mark.parametrize("name", names())
def test_named_instances(name: str) -> None:
    """Each has a best value that is not above the jobs that can be met alone, where there is no edge server."""
    instance = named(name)
    assert instance.name == name
    assert generate({"kind": "named", "name": name}).origin["about"]
    alone = sum(can_be_met(instance, instance.job(i)) for i in range(instance.jobs))
    assert 0 <= expected(name)["opt"] <= (instance.jobs if instance.edge else alone)


def test_what_describes_an_instance() -> None:
    found = describe(generate({"kind": "gpu-day", "jobs": 200}))
    assert {name: found[name] for name in ("jobs", "alone", "gpus", "servers", "windows")} == {
        "jobs": 200, "alone": 171, "gpus": 64, "servers": 8, "windows": 5,
    }  # fmt: skip
    assert 0.3 < found["load"] < 0.8
    assert describe(named("no_jobs"))["load"] == 0


WRONG = [
    ({"kind": "gpu-day", "day": 28}, "day: 28 is not in 0..27, the days of pai"),
    ({"kind": "gpu-day", "cluster": "itb"}, "cluster: 'itb' is not one of"),
    ({"kind": "gpu-day", "jobs": 0}, "jobs: 0 is not in"),
    ({"kind": "gpu-day", "windows": "2-9"}, "windows: '2-9' is not HH:MM-HH:MM"),
    ({"kind": "gpu-day", "windows": "09:00-08:00"}, "windows: '09:00-08:00' does not end after"),
    ({"kind": "gpu-day", "windows": "02:00-09:00+08:00-10:00"}, "overlap"),
    ({"kind": "gpu-day", "tightness": [150, 50]}, "tightness[1]: 50"),
    ({"kind": "gpu-day", "factor": "5"}, "factor: '5' is not in 0..4"),
    ({"kind": "gpu-day", "shortest": 599}, "shortest: 599"),
    ({"kind": "gpu-day", "tightnes": [1, 2]}, "tightnes: unknown key"),
    ({"kind": "elasticflow"}, "trace: the key is missing"),
    ({"kind": "elasticflow", "trace": "t5"}, "trace: 't5' is not one of"),
    ({"kind": "gpu-log"}, "path: the key is missing"),
    ({"kind": "gpu-log", "path": "/nowhere.csv"}, "/nowhere.csv: cannot be read"),
    ({"kind": "named", "name": "x"}, "name: 'x' is not one of"),
    ({"kind": "nothing"}, "kind: 'nothing' is not one of"),
]


@pytest.mark.parametrize(("recipe", "problem"), WRONG)
def test_what_a_recipe_cannot_say(recipe: Mapping[str, Any], problem: str) -> None:
    assert problem in refusal_of(generate, recipe)


def test_forms_check_as_the_generator_does() -> None:
    """What files and the command line say is checked before anything is made."""
    forms = {form.name: form for form in recipes()}
    assert set(forms) == {"gpu-day", "elasticflow", "gpu-log", "named"}
    recipe = forms["gpu-day"].recipe("f", "", {"jobs": 5, "factor": "0.5"}, "label")
    assert generate(recipe).name == "label"
    with pytest.raises(InputError, match="day"):
        forms["gpu-day"].recipe("f", "", {"day": 400})


LOGS = {
    "philly.csv": (
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-09-25 00:10:00,900.0,3,1,a\n2017-09-25 01:00:00,599,1,1,a\n2017-09-26 23:00:00,7200,100,1,a\n"
    ),
    "pai.csv": (
        "j,t,2.0,Terminated,57600.0,58600.0,,,50.0,\nj,t,1.0,Failed,57600.0,58600.0,,,50.0,\n"
        "j,t,1.0,Terminated,57700.0,58400.5,,,400.0,V100\nj,t,1.0,Terminated,57700.0,,,,400.0,V100\n"
    ),
    "elastic.csv": (
        "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration\n"
        "1,90000,1000,bert,93000,64,4,2000\n0,86500,50,bert,90000,64,1,700\n"
    ),
}


def _from(tmp_path: Path, name: str, text: str, **keys: Any) -> Instance:
    path = tmp_path / name
    path.write_text(text)
    return generate({"kind": "gpu-log", "path": str(path), **keys})


def test_logs_of_ones_own(tmp_path: Path) -> None:
    """Shares are powers of two up to 64, short tasks are left out, a day begins at midnight of local time."""
    whole = _from(tmp_path, "philly.csv", LOGS["philly.csv"])
    assert whole.submit.tolist() == [600, 86_400 + 23 * 3600]
    assert whole.share.tolist() == [2, 64]
    assert _from(tmp_path, "philly.csv", LOGS["philly.csv"], day=1).submit.tolist() == [23 * 3600]
    assert _from(tmp_path, "philly.csv", LOGS["philly.csv"], shortest=0).jobs == 3
    assert _from(tmp_path, "philly.csv", LOGS["philly.csv"], jobs=1).jobs == 1
    assert not whole.origin["notes"]
    parts = "submit_time,duration,gpus\n0,700,0.5\n1,700,0.0\n2,700,1.50\n3,700,2.0\n4,700,0\n"
    some = _from(tmp_path, "parts.csv", parts)
    assert some.share.tolist() == [1, 2, 2]
    assert some.origin["notes"] == ["2 of 3 jobs ask for a part of a GPU, which is taken as a whole one"]
    pai = _from(tmp_path, "pai.csv", LOGS["pai.csv"], zone=8)
    assert pai.submit.tolist() == [0, 100]
    assert pai.share.tolist() == [2, 4]
    assert pai.origin["notes"] == ["1 of 2 jobs ask for a part of a GPU, which is taken as a whole one"]
    elastic = _from(tmp_path, "elastic.csv", LOGS["elastic.csv"])
    assert elastic.submit.tolist() == [100, 3600]
    assert elastic.deadline.tolist() == [3600, 6600]
    assert elastic.work.tolist() == [50_000, 1_000_000]
    assert [model.name for model in elastic.models] == ["bert/64"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n", "line 1: no column of submit: one of submit_time"),
        ("submit_time,duration\n1,2\n", "line 1: no column of gpus"),
        ("submit_time,duration,gpus\nx,2,1\n", "line 2 submit: 'x' is neither a number of seconds nor a time"),
        ("submit_time,duration,gpus\n1,-2,1\n", "line 2 seconds: '-2' is not a number"),
        ("submit_time,duration,gpus\n1,700\n", "line 2: 2 fields; 3 are needed"),
        ("submit_time,duration,gpus\n", "no job that used a GPU"),
        ("submit_time,duration,gpus\n1,5,1\n", "no job of at least 600 s"),
        (LOGS["elastic.csv"].replace("bert", "bart"), "'bart' with batch 64 was not measured on 1 A100 GPUs"),
        ("j,t,1,Terminated,1,2,,,x,\n", "line 1 plan_gpu: 'x'"),
    ],
)
def test_what_is_wrong_in_a_log(tmp_path: Path, text: str, problem: str) -> None:
    told = refusal_of(_from, tmp_path, "log.csv", text)
    assert "log.csv" in told
    assert problem in told


DATA = os.environ.get("RATIOBENCH_DATA")


@pytest.mark.skipif(not DATA, reason="RATIOBENCH_DATA names no folder with the traces")
def test_real_logs() -> None:
    """The shipped counts are those of the logs, and the ElasticFlow traces are what the tables hold."""
    folder = Path(DATA or "")
    real = generate(
        {"kind": "gpu-log", "path": str(folder / "traces/philly/philly.csv.gz"), "day": 0, "gpus": 80, "servers": 10}
    )
    assert np.bincount(real.submit // 600, minlength=144).tolist() == list(tables.arrivals("philly")[0])
    tasks = [row for row in read_log(folder / "traces/philly/philly.csv.gz") if row.seconds >= 600]
    first = tasks[0].submit // 86_400
    for day in (0, 14, 17):  # those of the suite; by the whole trace's table .2, 2 and 2.9 times as heavy
        heavy = [row.seconds * row.gpus for row in tasks if row.submit // 86_400 - first == day]
        drawn = _gpu_seconds("philly", day)
        assert 0.75 < drawn * len(heavy) / sum(heavy) < 1.3
    pai = generate({"kind": "gpu-log", "path": str(folder / "traces/pai/pai_task_table.csv.gz"), "zone": 8, "day": 0})
    assert 0 <= sum(tables.arrivals("pai")[0]) - pai.jobs <= 2  # a task whose duration was cut has no end there
    path = str(folder / "edgeflow/trace_itp_195job.csv")
    log = generate({"kind": "gpu-log", "path": path, "shortest": 0, "gpus": 128, "servers": 0})
    ours = generate({"kind": "elasticflow", "trace": "testbed"})
    assert log.work.tolist() == ours.work.tolist()
    assert (log.deadline - log.submit).tolist() == (ours.deadline - ours.submit).tolist()


def _gpu_seconds(cluster: str, day: int) -> float:
    """The mean of a task that is drawn by the table of a day."""
    laws = tables.durations(cluster, day=day)
    parts = [(2 * k + 1) << 53 for k in range(64)]
    means = [cell.gpus * sum(_within_wide(cell, part) for part in parts) / len(parts) for cell in laws]
    return sum(cell.weight * mean for cell, mean in zip(laws, means, strict=True)) / sum(cell.weight for cell in laws)


def test_no_row_of_a_cluster_log_is_shipped() -> None:
    """Counts, and quantiles of three digits with ten tasks or more behind every cell."""
    for cluster in CLUSTERS:
        assert all(count >= 0 for day in tables.arrivals(cluster) for count in day)
        for day in (None, *range(len(tables.arrivals(cluster)))):
            for cell in tables.durations(cluster, day=day):
                assert cell.low <= cell.high
                assert all(int(str(x)[3:] or 0) == 0 for x in (cell.low, cell.high))
    for line in (tables.DATA / "durations_of_days.csv").read_text(encoding="ascii").splitlines()[1:]:
        *_, tasks, seconds = line.split(",")
        assert len(seconds.split()) <= max(1, int(tasks) // tables.CELL) + 1
        assert int(tasks) >= tables.CELL or not seconds


def test_durations_of_a_day() -> None:
    """As many tasks as the day had, and its own shares; in a wide cell each doubling is as likely as the next."""
    assert all(
        sum(counts) * 10**6 == pytest.approx(sum(cell.weight for cell in tables.durations("philly", day=day)), rel=1e-3)
        for day, counts in enumerate(tables.arrivals("philly"))
    )
    recipe = {"kind": "gpu-day", "cluster": "philly", "day": 19, "durations": "day"}
    own, whole = generate(recipe), generate(recipe | {"durations": "trace"})
    assert own.submit.tolist() == whole.submit.tolist()
    assert own.share.mean() < 1.1 < 1.2 < whole.share.mean()
    cell = tables.Cell(1, 600, 5000, 1)
    drawn = [_within_wide(cell, k << 50) for k in range(1024)]
    assert (drawn[0], drawn[-1]) == (600, 4985)
    pieces = np.histogram(drawn, [600, 1200, 2400, 4800, 5000])[0]
    assert pieces.tolist() == pytest.approx([1024 * 24 / 73] * 3 + [1024 / 73], abs=2)
    assert [_within_wide(tables.Cell(1, 700, 700, 1), part) for part in (0, 2**60 - 1)] == [700, 700]
