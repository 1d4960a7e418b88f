"""The command `import`: files and report, or one line of error and nothing written."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.instances.io.files import limit_file_size
from ratiobench.instances.lora.format import read

ROOT = Path(__file__).resolve().parents[2]
LOG = "submit,duration,gpus\n2026-03-01T08:00:00Z,900,2\n2026-03-02T08:00:00Z,900,1\n2026-03-02T09:00:00Z,900,64\n"
CLUSTER = "usd_per_kwh = 0.1\n[[node]]\nname = 'a'\ncount = 1\ngpus = 8\nmemory_gb = 16\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log and a cluster."""
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    Path("cluster.toml").write_text(CLUSTER)
    return tmp_path


BASE = ["import", "log.csv", "--format", "csv", "--cluster", "cluster.toml"]


def test_a_log_becomes_instances_and_a_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One per day; the report is printed, and beside them; all of it again as JSON."""
    assert main([*BASE, "--out", "days"]) == 0
    said = capsys.readouterr().out
    assert "imported 2 of 3 jobs: 1 wider than any node type has nodes\n" in said
    assert "2 instances, in days" in said
    assert sorted(path.name for path in Path("days").iterdir()) == [
        "import.json", "log-2026-03-01.json.gz", "log-2026-03-02.json.gz",
    ]  # fmt: skip
    assert read("days/log-2026-03-02.json.gz").tasks == 1
    report = json.loads(Path("days/import.json").read_text())
    assert main([*BASE, "--out", "days", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == report | {"files": ["log-2026-03-01.json.gz", "log-2026-03-02.json.gz"]}
    assert (report["jobs"], report["imported"], report["left_out"]) == (3, 2, {"wider than any node type has nodes": 1})


def test_a_dry_run_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BASE, "--dry-run", "--days", "7", "--slot", "5m", "--price", "2", "--slack", "1.5"]) == 0
    assert "1 instances, nothing was written" in capsys.readouterr().out
    assert sorted(path.name for path in here.iterdir()) == ["cluster.toml", "log.csv"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--format", "xls"], "xls"),
        (["--columns", "submit"], "submit"),
        (["--columns", "cost=a"], "cost"),
        (["--from", "soon"], "soon"),
        (["--from", "2026-03-02", "--to", "2026-03-01"], "--to"),
        (["--slot", "5 minutes"], "5 minutes"),
        (["--slot", "0"], "--slot"),
        (["--price", "3-1"], "3-1"),
        (["--slack", "0.5"], "0.5"),
        (["--family", "nobody"], "nobody"),
        (["--cluster", "log.csv"], "log.csv"),
        (["--to", "2025-01-01"], "all left out"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_written(
    words: list[str], problem: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main([*BASE, "--out", "days", *words])
    except SystemExit as end:
        status = int(str(end.code))
    assert status == 2
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if not line.startswith("...")]) == 1
    assert problem in lines[-1]
    assert not Path("days").exists()


def test_an_error_on_the_way_leaves_nothing_behind(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Energy that costs more than the format holds, on the last day: the first day's file is not there either."""
    Path("prices.csv").write_text("time,usd_per_kwh\n2026-03-01,0.1\n2026-03-02,1000000\n")
    Path("cluster.toml").write_text(CLUSTER.replace("usd_per_kwh = 0.1", "tariff = 'prices.csv'") + "watts = 1000000\n")
    assert main([*BASE, "--out", "days"]) == 2
    assert "log.csv" in capsys.readouterr().err
    assert not Path("days").exists()


def test_what_is_too_large_is_skipped_and_named_like_any_bad_value(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `--skip-bad` the first one ends the import; with it all are counted, and some named."""
    bad = ["9999999999", "1e400", "-1", "nan", "x", "1099512", "$2000000"]
    good = ["1099511", "$0.5"]
    rows = "".join(f"2026-03-01T08:00:00Z,900,1,{bid}\n" for bid in (*bad, *good))
    Path("log.csv").write_text(f"submit,duration,gpus,bid\n{rows}2026-03-01T08:00:00Z,1e300,1,1\n")
    assert main([*BASE, "--out", "days"]) == 2
    first = "log.csv: line 2 bid: '9999999999' is not an amount in dollars from 0 to 1,099,511"
    assert capsys.readouterr().err == f"ratiobench: {first}\n"
    assert not Path("days").exists()
    assert main([*BASE, "--out", "days", "--skip-bad"]) == 0
    said = capsys.readouterr().out
    assert "imported 2 of 2 jobs\n8 lines that could not be read are left out:\n" in said
    assert f"  {first}\n  log.csv: line 3 bid: '1e400'" in said
    assert "\n  and 3 more\n" in said
    report = json.loads(Path("days/import.json").read_text())
    assert (report["bad_lines"], report["first_bad_line"], len(report["bad_lines_named"])) == (8, first, 5)


def test_a_log_of_bad_lines_alone_says_what_is_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.csv").write_text(LOG.replace(",900,", ",x,"))
    assert main([*BASE, "--out", "days", "--skip-bad"]) == 2
    told = "no jobs; lines that could not be read: 3, the first: log.csv: line 2 duration: 'x' is not a number"
    assert capsys.readouterr().err.startswith(f"ratiobench: log.csv: {told}")


def test_a_log_of_which_every_job_is_left_out_makes_no_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.csv").write_text(LOG.replace(",900,", ",900,9"))
    assert main([*BASE, "--out", "days"]) == 2
    assert (
        capsys.readouterr().err == "ratiobench: log.csv: 3 jobs, all left out: 3 wider than any node type has nodes\n"
    )
    assert not Path("days").exists()


def test_bids_that_are_too_much_together_are_left_out_and_counted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A law of a million dollars an hour: one bid alone is more than the format holds."""
    Path("log.csv").write_text(LOG + "2026-03-02T08:00:00Z,900000,1\n")
    assert main([*BASE, "--dry-run", "--price", "1000000"]) == 0
    assert "1 with a larger bid than the format holds" in capsys.readouterr().out


def _limited_memory(words: list[str], megabytes: int = 700) -> tuple[int, str]:
    """Exit status and error output, without lines of progress, of a command in a process with little memory."""
    code = "import sys; from ratiobench.bench.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("... ")]
    return done.returncode, "".join(said)


@pytest.mark.parametrize(
    "form",
    ["csv", *(pytest.param(form, marks=pytest.mark.nightly) for form in ("sacct", "swf", "philly", "pai", "helios"))],
)
def test_a_log_of_one_endless_line_is_refused_in_little_memory(form: str, here: Path) -> None:
    """300 KB of gzip that are 300 MB without a line break, and 100 MB of one row of CSV over many lines."""
    Path("log.gz").write_bytes(gzip.compress(b"1") + gzip.compress(b"1" * 2**24) * 18)
    words = ["import", "log.gz", "--format", form, "--cluster", "cluster.toml", "--dry-run"]
    assert _limited_memory(words) == (
        2,
        "ratiobench: log.gz: line 1: longer than 1048576 characters, the most that is read\n",
    )
    if form in ("csv", "philly", "pai", "helios"):
        Path("log.gz").write_bytes(gzip.compress(b'"\n",' * 2**20) * 25)
        status, said = _limited_memory(words)
        assert status == 2
        assert re.fullmatch(
            r"ratiobench: log\.gz: line \d+: longer than 1048576 characters, the most that is read\n", said
        )


@pytest.mark.parametrize(
    ("form", "key"),
    [
        ("sacct-json", "jobs"),
        pytest.param("kueue", "items", marks=pytest.mark.nightly),
        pytest.param("k8s", "items", marks=pytest.mark.nightly),
    ],
)
def test_a_document_of_one_endless_job_is_refused_in_little_memory(form: str, key: str, here: Path) -> None:
    """A text without an end, and millions of empty lists; a million spaces are nothing.

    Lists take seconds to decode, and one reader decodes them for all three: they are given to one.
    """
    words = ["import", "log.gz", "--format", form, "--cluster", "cluster.toml", "--dry-run"]
    start = b" " * 2**20 + b'{"' + key.encode() + b'": ['
    for piece in (b"x" * 2**24, b"[]," * 2**22)[: 2 if form == "k8s" else 1]:
        opened = b'"' if piece.startswith(b"x") else b"["
        Path("log.gz").write_bytes(gzip.compress(start + opened) + gzip.compress(piece) * 18)
        problem = f"{key}[0]: longer than 4194304 characters, the most that is read"
        assert _limited_memory(words) == (2, f"ratiobench: log.gz: {problem}\n")


def test_a_log_is_read_like_an_instance(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No device; up to the limit, packed and unpacked; pipes and standard input are files like others."""
    words = ["--format", "csv", "--cluster", "cluster.toml", "--dry-run"]
    assert _limited_memory(["import", "/dev/zero", *words]) == (
        2,
        "ratiobench: /dev/zero: cannot be read: it is a device; - is standard input\n",
    )
    size = len(LOG.encode())
    Path("log.csv.gz").write_bytes(gzip.compress(LOG.encode() * 100))
    for name, how, most in (("log.csv", "", size - 1), ("log.csv.gz", "unpacked, ", 1000)):
        with limit_file_size(most):
            assert main(["import", name, *words]) == 2
        limit = f"more than {most} bytes, the most that is read"
        assert capsys.readouterr().err == f"ratiobench: {name}: {how}{limit}\n"
    with limit_file_size(size):
        assert main(["import", "log.csv", *words]) == 0
    capsys.readouterr()
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(gzip.compress(LOG.encode())))
    writer.start()
    assert main(["import", "pipe", *words]) == 0
    writer.join()
    assert "imported 2 of 3 jobs" in capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "ratiobench", "import", "-", *words],
        input=LOG, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "csv-2026-03-01" in done.stdout


def test_a_philly_log_of_too_many_values_is_refused_before_it_is_decoded(here: Path) -> None:
    """Nine million empty lists in a small file."""
    Path("log.gz").write_bytes(gzip.compress(b" \n[" + b"[]," * (2**23 + 1) + b"0]"))
    words = ["import", "log.gz", "--format", "philly", "--cluster", "cluster.toml", "--dry-run"]
    status, said = _limited_memory(words)
    assert (status, said) == (2, "ratiobench: log.gz: it has more than 16777216 values, the most that is read\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CLUSTER + "#" * 10**6, "cluster.toml: 1000072 bytes of TOML; at most 1000000 are read"),
        (CLUSTER + "a." * 1000 + "a = 1\n", "cluster.toml: line 7: more than 100 dots outside quotes"),
        (CLUSTER + "x = ['''\n''', {" + "a." * 1000 + "a=''}]\n", "cluster.toml: line 8: more than 100 dots outside"),
        (CLUSTER + f"x = '{'.' * 1000}' # \"{'.' * 1000}\"\n", "cluster.toml: node[0].x: unknown key"),
    ],
)
def test_toml_that_takes_memory_by_the_square_of_its_length_is_refused(
    text: str, problem: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dotted keys: 200 KB of them took 7.8 GB. Dots inside quotes are no keys, so far as quotes end on their line."""
    Path("cluster.toml").write_text(text)
    assert main([*BASE, "--dry-run"]) == 2
    assert capsys.readouterr().err.startswith(f"ratiobench: {problem}")
