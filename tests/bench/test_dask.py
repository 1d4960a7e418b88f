"""A dask cluster of real processes on loopback: the same tables as a pool, whatever dies on the way."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.results.read import read_folder
from ratiobench.bench.running import dask_pool
from ratiobench.bench.running.dask_pool import DaskCluster
from ratiobench.bench.running.pool import WorkerLost
from ratiobench.bench.running.runner import RunOptions, run_suite
from tests.support.commands import refused
from tests.support.toy_runs import toy  # noqa: F401

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.usefixtures("toy"),
    pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals"),
]
ROOT = Path(__file__).resolve().parents[2]


class Cluster:
    """A scheduler and two worker processes with a nanny each, started by their commands."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        file = folder / "scheduler.json"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RATIOBENCH_FAMILIES": "tests.support.toy_family",
            "TOY_NAP": "0.05",
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
        }
        self.log = (folder / "log").open("w")
        self.processes: list[subprocess.Popen[bytes]] = []

        def start(command: str, *options: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{command}", "--no-dashboard", *options],
                env=environment,
                cwd=folder,
                stdout=self.log,
                stderr=self.log,
                start_new_session=True,
            )
            self.processes.append(process)
            return process

        self.scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        if workers:
            options = ["--nworkers", str(workers), "--nthreads", "1", "--local-directory", "."]
            start("worker", "--scheduler-file", str(file), *options)
        while not (file.is_file() and file.read_text().endswith("}")):
            assert self.scheduler.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]

    def close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.log.close()

    def workers(self) -> list[int]:
        """Process ids of the workers that are there now; waits for two."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(2)
            return list(client.run(os.getpid).values())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


def run(suite: str, out: Path, **options: Any) -> str:
    """Run a suite, without a report; its table."""
    run_suite(*find_suite(suite), RunOptions(out=out, quiet=True, **options))
    return table(out)


def table(out: Path) -> str:
    return read_folder(out).exact.to_csv()


@pytest.mark.parametrize(
    ("suite", "only"),
    [
        ("toy", ()),
        pytest.param("toy-bad", (), marks=pytest.mark.nightly),
        pytest.param("tiny", ("tiny_two_types", "thm5_T5*"), marks=pytest.mark.nightly),
    ],
)
def test_the_table_is_that_of_a_pool(suite: str, only: tuple[str, ...], cluster: Cluster, tmp_path: Path) -> None:
    pool = run(suite, tmp_path / "pool", only=only)
    assert run(suite, tmp_path / "dask", only=only, dask=cluster.address) == pool
    assert len(pool.splitlines()) > 4


@pytest.mark.nightly
def test_a_limit_holds_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    """The piece that hangs is ended, with the same reason as in a pool, and its worker goes on."""
    before = cluster.workers()
    text = run("toy-slow", tmp_path, dask=cluster.address, limit=2.5)
    assert "WorkerLost: ended at the limit of 2.5 s" in text
    assert text.count(",ok,") == 1
    assert sorted(cluster.workers()) == sorted(before)


def test_a_worker_killed_in_mid_run_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """SIGKILL for one worker after the other while pieces are in work: the run completes with the same table."""
    whole = run("toy", tmp_path / "pool")
    ended: list[str] = []
    running = threading.Thread(target=lambda: ended.append(run("toy", tmp_path / "dask", dask=cluster.address)))
    killed = cluster.workers()
    running.start()
    for count, pid in zip((2, 6), killed, strict=True):
        while running.is_alive() and _stored(tmp_path / "dask") < count:
            time.sleep(0.005)
        assert running.is_alive()
        os.kill(pid, signal.SIGKILL)
    running.join()
    assert ended == [whole]
    assert not set(killed) & set(cluster.workers())


def _stored(out: Path) -> int:
    from tests.bench.test_run import pieces

    return pieces(out)


def kill_the_worker() -> None:
    """Of the dask worker whose child runs this."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


@pytest.mark.nightly
def test_a_piece_that_kills_its_workers_is_given_up(cluster: Cluster) -> None:
    """After as many workers as the scheduler allows it is lost with a reason, and the next piece runs."""
    pool = DaskCluster(cluster.address)
    try:
        with pytest.raises(WorkerLost, match="died, one after another"):
            pool.submit(kill_the_worker).result(timeout=60)
        assert pool.submit(len, b"x" * 3_000_000).result(timeout=60) == 3_000_000
    finally:
        pool.shutdown()


@pytest.mark.nightly
def test_the_schedulers_death_is_one_line_and_the_run_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1; what was finished stays, and processes of our own end the run with the same table."""
    monkeypatch.setattr(dask_pool, "CONNECT", 3.0)
    out = tmp_path / "out"
    mortal = Cluster(tmp_path)
    try:
        mortal.workers()

        def kill() -> None:
            while _stored(out) < 4:
                time.sleep(0.005)
            mortal.close()

        killer = threading.Thread(target=kill)
        killer.start()
        status = main(["run", "toy", "--out", str(out), "--quiet", "--dask", mortal.address])
        killer.join()
    finally:
        mortal.close()
    errors = capsys.readouterr().err
    assert status == 1
    assert errors.count("\n") == 1, errors
    assert f"the dask scheduler at {mortal.address} is gone; what was finished is kept" in errors
    assert _stored(out) >= 4
    assert run("toy", out) == run("toy", tmp_path / "whole")


@pytest.mark.nightly
def test_a_module_that_the_workers_lack_is_named(cluster: Cluster, here: Path) -> None:
    """Anyone's algorithm by import path: the row says where the module is missing, the others are there."""
    (here / "homemade.py").write_text("class Nobody:\n    def decide(self, task, view):\n        return None\n")
    only, added = ("thm5_T5*",), ("homemade:Nobody",)
    text = run("tiny", here / "out", dask=cluster.address, only=only, add=added)
    [line] = [line for line in text.splitlines() if ",failed," in line]
    assert "there is no module 'homemade' on the import path of a dask worker; every worker needs the module" in line
    assert text.count(",ok,") == 11


@pytest.mark.nightly
def test_workers_with_other_code_are_refused(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers of two versions never meet in one table: one line, status 1."""
    monkeypatch.setattr(dask_pool, "hash_code", lambda: "0" * 64)
    assert main(["run", "toy", "--out", str(tmp_path), "--quiet", "--dask", cluster.address]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1, errors
    assert "its version of ratiobench, or of a package, is not the one here" in errors


@pytest.mark.nightly
def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No scheduler at the address, and no address at all: status 2, and nothing is written."""
    monkeypatch.setattr(dask_pool, "CONNECT", 0.5)
    out = tmp_path / "out"
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        line = refused(capsys, "run", "toy", "--out", str(out), "--quiet", "--dask", address)
        assert f"no dask scheduler answers at {address!r}" in line
    assert not out.exists()


@pytest.mark.nightly
def test_a_cluster_that_stays_without_workers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said, and after a while it ends in one line and status 1; processes of our own end the run."""
    monkeypatch.setattr(dask_pool, "POLL", 0.1)
    monkeypatch.setattr("ratiobench.bench.running.runner.POLL", 0.1)
    monkeypatch.setattr(dask_pool, "WORKERLESS", 1.0)
    empty = Cluster(tmp_path, workers=0)
    try:
        assert main(["run", "toy", "--out", str(tmp_path / "out"), "--dask", empty.address]) == 1
    finally:
        empty.close()
    errors = capsys.readouterr().err
    assert errors.splitlines() == [
        f"no dask worker at {empty.address}: waiting for one, up to 1 s",
        f"ratiobench: no dask worker at {empty.address} for 1 s; what was finished is kept",
    ]
    assert run("toy", tmp_path / "out").count(",ok,") == 14


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["silent", "noise", "closed", "worker"])
def test_what_is_no_scheduler_is_refused_in_a_line(
    what: str, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port that says nothing, or something else, or that nobody listens at, or a worker's: status 2, no folder."""
    monkeypatch.setattr(dask_pool, "CONNECT", 5.0 if what == "worker" else 0.5)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        if what != "closed":
            listener.listen()
        if what == "worker":
            with distributed.Client(cluster.address, set_as_default=False) as client:
                client.wait_for_workers(1)
                address = next(iter(client.scheduler_info()["workers"]))
        if what == "noise":

            def answer() -> None:
                with contextlib.suppress(OSError):
                    listener.accept()[0].sendall(b"\xff" * 100)

            threading.Thread(target=answer, daemon=True).start()
        line = refused(capsys, "run", "toy", "--dask", address, "--out", str(tmp_path / "out"))
    assert line.startswith(f"ratiobench: --dask: no dask scheduler answers at '{address}': ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["nonsense", "tcp://", "foo://bar:1", "http://127.0.0.1:80", "x" * 10_000])
def test_what_is_no_address_is_refused_in_a_line(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "run", "toy", "--dask", address, "--out", str(tmp_path / "out"))
    assert line.startswith("ratiobench: --dask: no dask scheduler answers at ")
    assert len(line) < 400
