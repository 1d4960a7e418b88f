"""Logs that people really have, by the command: odd shapes from public reports, each with what is right, exactly.

`RATIOBENCH_DATA` names a folder with `cases`: logs, and scripts that write logs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.instances.cluster.format import read
from ratiobench.instances.cluster.model import Instance

CLUSTER = '[[pools]]\nname = "a100"\nnodes = 2\ngpus = 8\n[[pools]]\nname = "h100"\nnodes = 3\ngpus = 8\n'
HOUR = 3600


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the cluster file and what the script of the case writes; the folder of the case."""
    folder = Path(os.environ.get("RATIOBENCH_DATA", "")) / "cases" / request.param
    if not os.environ.get("RATIOBENCH_DATA") or not folder.is_dir():
        pytest.skip(f"RATIOBENCH_DATA names no folder with cases/{request.param}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(CLUSTER)
    if (folder / "make.py").exists():
        subprocess.run([sys.executable, folder / "make.py"], check=True)
    return folder


def imported(capsys: pytest.CaptureFixture[str], log: str | Path, form: str) -> tuple[dict[str, Any], Instance]:
    """The figures that the command prints, and the instance that it writes."""
    out = Path(f"{Path(log).stem}-{form}.out.json")
    assert main(["import", str(log), "--format", form, "--cluster", "c.toml", "--out", str(out), "--json"]) == 0
    return json.loads(capsys.readouterr().out), read(out)


def refused(capsys: pytest.CaptureFixture[str], log: str | Path, form: str) -> str:
    """The one line of a log that is refused with status 2; nothing is written."""
    assert main(["import", str(log), "--format", form, "--cluster", "c.toml", "--out", "out.json"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n"), Path("out.json").exists()) == ("", 1, False)
    return told.err.split(f"{log}: ", 1)[1].strip()


for_case = partial(pytest.mark.parametrize, "case", indirect=True)


@for_case(argvalues=["02-same-jobs-text-and-json"])
def test_text_and_json_of_the_same_jobs(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight jobs, two of them components of one heterogeneous job: the same six jobs, and the same two left out."""
    text, jobs = imported(capsys, "log.txt", "sacct")
    other, same = imported(capsys, "log.json", "sacct-json")
    assert text.pop("remarks").keys() - other.pop("remarks").keys() == {
        "have times without a zone, which are read as UTC; the cluster file may have a `zone`, or export with "
        "SLURM_TIME_FORMAT=%s"
    }
    assert {**text, "file": ""} == {**other, "file": ""}
    assert (text["read"], text["jobs"], text["left_out"]) == (8, 6, {"part of a heterogeneous job": [2, 3 * HOUR * 10]})
    for x in (jobs, same):
        assert x.jobs.ids == ("701", "702_1", "702_2", "706", "707", "708")
        assert x.jobs.run.tolist() == [2 * HOUR, HOUR, HOUR, 4 * HOUR, HOUR // 2, 2 * HOUR // 3]
        assert (x.jobs.logged - x.jobs.submit).tolist() == [300, 300, 360, 600, 300, 30]
        assert x.jobs.limit.tolist() == [4 * HOUR, 2 * HOUR, 2 * HOUR, 4 * HOUR, HOUR, HOUR]
        assert (x.jobs.nodes.tolist(), x.jobs.gpus.tolist()) == ([1, 1, 1, 2, 1, 1], [4, 1, 1, 8, 1, 2])
        assert x.jobs.allowed.tolist() == [[True, False]] * 3 + [[False, True]] + [[True, True]] * 2
        assert (x.accounts, x.users, x.qos) == (("acc",), ("u1",), ("normal",))


@for_case(argvalues=["03-sacct-other-shapes"])
def test_other_shapes_of_sacct(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read is one line that names the remedy; a column that was cut off is not 'without a GPU'."""
    for name, problem in (
        ("fixed-width", "line 1: 0 columns named JobID in the first line; exactly one is needed (`sacct --parsable2"),
        ("old-gres", "line 1: 0 columns named ReqTRES or AllocTRES in the first line"),
        ("no-header", "line 1: 0 columns named JobID in the first line"),
        (
            "truncated-tres",
            "line 2 AllocTRES: 'gres/gp+' does not say how many, below 10^7 (`sacct --parsable2` writes",
        ),
    ):
        assert refused(capsys, case / f"{name}.txt", "sacct").startswith(problem)
    epoch, jobs = imported(capsys, case / "epoch.txt", "sacct")
    assert (epoch["read"], epoch["jobs"], jobs.jobs.run.tolist()) == (2, 2, [14_583, HOUR])
    assert not any("zone" in remark for remark in epoch["remarks"])


@for_case(argvalues=["03-sacct-other-shapes"])
def test_a_night_in_which_the_clocks_change(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Elapsed is true: 6 h, 20 min, 1 h; End - Start says 5 h and less than nothing, and the report says so."""
    figures, jobs = imported(capsys, case / "dst.txt", "sacct")
    assert (figures["read"], figures["left_out"], jobs.jobs.run.tolist()) == (3, {}, [6 * HOUR, HOUR // 3, HOUR])
    assert figures["remarks"]["whose Elapsed is not End - Start (a clock change, a suspension): Elapsed counts"] == 2


@for_case(argvalues=["05-swf-of-the-archive"])
@pytest.mark.parametrize("name", ["plain", "tight", "tabs", "latin1", "negative", "negative2", "none"])
def test_headers_of_the_archive(case: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments in any form and encoding: six jobs, one cancelled before it started.

    The case leaves out the job of no length as well; specs/cluster.md decides that it counts as one second.
    """
    figures, x = imported(capsys, f"{name}.swf", "swf")
    assert (figures["read"], figures["jobs"]) == (6, 5)
    assert figures["left_out"] == {"cancelled before it started": [1, 0]}
    clock = 1_778_486_400 if name in ("plain", "tight", "tabs", "latin1") else 0
    assert (x.jobs.submit - clock).tolist() == [0, 60, 120, 400, 700]
    assert (x.jobs.ids, x.jobs.run.tolist()) == (("1", "2", "3", "4", "6"), [3600, 600, 1801, 1, 60])
    assert (x.jobs.logged - clock).tolist() == [5, -1 - clock, 120, 409, 700]
    assert (x.jobs.width.tolist(), x.jobs.limit.tolist()) == ([4, 2, 8, 4, 1], [7200, -1, 3600, -1, -1])


@for_case(argvalues=["05-swf-of-the-archive"])
def test_bad_and_odd_lines_of_the_archive(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """6e2 seconds are 600; a wait of -3, five fields and a comment with # are one line each."""
    figures, x = imported(capsys, "exponent.swf", "swf")
    assert (figures["read"], figures["jobs"], x.jobs.run.tolist()) == (2, 2, [3600, 600])
    assert x.jobs.submit.tolist() == [1_778_486_400, 1_778_487_600]
    assert refused(capsys, "wait-2.swf", "swf") == "line 9 wait time: '-3' is not a number in 0..2^33"
    assert refused(capsys, "five.swf", "swf") == "line 7: 5 fields; 18 are needed"
    assert refused(capsys, "hash.swf", "swf") == "line 1: 5 fields; 18 are needed"


@for_case(argvalues=["06-kueue-lists"])
def test_lists_of_kueue(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Requeue states, admission checks, master and worker; pods that were admitted count, a sidecar's GPU too."""
    figures, x = imported(capsys, "three.json", "kueue")
    assert (figures["read"], figures["jobs"], figures["left_out"]) == (3, 3, {})
    assert (x.jobs.nodes.tolist(), x.jobs.gpus.tolist(), x.jobs.run.tolist()) == ([1, 1, 2], [4, 2, 8], [HOUR] * 3)
    figures, x = imported(capsys, "partial.json", "kueue")
    assert (x.jobs.nodes.tolist(), x.jobs.gpus.tolist()) == ([2], [8])
    assert figures["remarks"]["admitted with fewer pods than asked for: those count"] == 1
    figures, x = imported(capsys, "sidecar.json", "kueue")
    assert (x.jobs.nodes.tolist(), x.jobs.gpus.tolist()) == ([1], [3])
    figures, x = imported(capsys, "slices.json", "kueue")
    assert (figures["read"], x.jobs.ids, x.jobs.width.tolist()) == (5, ("team-x/plain",), [4])
    assert figures["left_out"] == {
        f"asks for '{name}', which is no whole GPU": [1, 0]
        for name in ("nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "gpu-fraction", "volcano.sh/vgpu-memory")
    }


@for_case(argvalues=["06-kueue-lists"])
def test_what_people_have_instead_of_a_list_of_kueue(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A single object, a stream of objects, YAML, a table: one line that names the command that prints what is read."""
    command = "(`kubectl get workloads.kueue.x-k8s.io -A -o json` prints what is read)"
    assert refused(capsys, "single.json", "kueue") == f"items: the field is missing {command}"
    assert refused(capsys, "stream.json", "kueue").endswith(f"not JSON: there is text after the object {command}")
    for name in ("list.yaml", "table.txt"):
        assert refused(capsys, name, "kueue") == f"not a JSON object with a list `items` {command}"


@for_case(argvalues=["20-slices-of-a-gpu"])
def test_slices_of_a_gpu(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MIG slices, shards and MPS are left out by their names, not counted as whole GPUs or as none."""
    figures, x = imported(capsys, case / "log.txt", "sacct")
    assert (figures["read"], x.jobs.ids, x.jobs.width.tolist()) == (5, ("805",), [1])
    slices = ("gres/gpu:1g.10gb", "gres/gpu:nvidia_a100_80gb_pcie_3g.40gb", "gres/shard", "gres/mps")
    assert figures["left_out"] == {f"asks for {name}, which is no whole GPU": [1, 0] for name in slices}
