"""Running suites: the same numbers however it is run, nothing lost or done twice after a kill, failures as rows."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.running.machine import default_workers
from ratiobench.bench.running.pool import SpawnPool, WorkerLost
from ratiobench.bench.running.runner import _with_priors, hold_folder
from ratiobench.bench.storage.store import Store, StoredCase
from ratiobench.instances.io.errors import InputError, install_command
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.named import expected
from tests.support.commands import printed, refused
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
ROOT = Path(__file__).resolve().parents[2]


def test_results_that_depend_on_another_day_have_it_in_their_key() -> None:
    algorithms = [("greedy", "1"), ("learned:prior=yesterday", "2"), ("learned:prior=history", "3")]
    studies = [["curve", "learned:prior=yesterday", None, "4"]]
    case = StoredCase("case", "group", "ab", {}, {}, algorithms, {}, "key", studies=studies)

    def keys(prior: str, history: str) -> list[str]:
        found = _with_priors(case, prior, history)
        return [*(key for _, key in found.algorithms), *(study[-1] for study in found.studies)]

    assert keys("", "") == ["1", "2", "3", "4"]
    assert keys("cd", "ef") == ["1", "2 | yesterday cd", "3 | history ef", "4 | yesterday cd"]
    assert keys("cd", "") == ["1", "2 | yesterday cd", "3 | history cd", "4 | yesterday cd"]


def run(suite: str, out: Path, *more: str) -> int:
    return main(["run", suite, "--out", str(out), "--quiet", *more])


def table(out: Path) -> bytes:
    return (out / "results.csv").read_bytes()


def rows(out: Path) -> dict[str, dict[Any, Any]]:
    """The rows of a one-case suite by algorithm."""
    frame = pd.read_csv(out / "results.csv", dtype=str, keep_default_na=False)
    return {row["algorithm"]: row for row in frame.to_dict("records")}


def start(
    suite: str, out: Path, log: Path, nap: float, *more: str, largest_file: int | None = None
) -> subprocess.Popen[str]:
    """`run` in a process group of its own, with two workers and pieces of work that take `nap` seconds."""
    import resource

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOY_NAP": str(nap), "TOY_LOG": str(log)}
    if largest_file is not None:  # a cut .pyc file would fail every later import
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "ratiobench", "run", suite, "--out", str(out), "--workers", "2", *more]

    def limit() -> None:
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, cwd=ROOT, text=True, stderr=pipe, stdout=pipe, process_group=0, preexec_fn=limit
    )


def pieces(out: Path) -> int:
    path = out / "results.sqlite"
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            return int(connection.execute("SELECT count(*) FROM pieces WHERE stage != 'generate'").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are being made
        return 0


def wait_for_pieces(process: subprocess.Popen[str], out: Path, count: int) -> None:
    """Until so many pieces are stored, or the run is over."""
    while process.poll() is None and pieces(out) < count:
        time.sleep(0.01)


def family_left(log: Path) -> list[int]:
    """Processes of that run that are still alive, known by the log in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"TOY_LOG={log}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_until_gone(log: Path) -> None:
    """Until no process of that run is left; a run that leaves one behind never gets here."""
    for _ in range(3000):
        if not family_left(log):
            return
        time.sleep(0.01)
    pytest.fail(f"processes {family_left(log)} outlived their run")


def test_figures_do_not_depend_on_workers_or_repetition(tmp_path: Path) -> None:
    """One worker, two workers, and a second look at finished results give the same bytes."""
    assert run("toy", tmp_path / "one", "--workers", "1") == 0
    assert run("toy", tmp_path / "two", "--workers", "2") == 0
    assert table(tmp_path / "one") == table(tmp_path / "two")
    assert run("toy", tmp_path / "one") == 0
    assert table(tmp_path / "one") == table(tmp_path / "two")


def test_opt_is_solved_once_per_content_and_settings(tmp_path: Path, log: Path) -> None:
    """Two cases of one content share the reference and the runs; a repeated run does nothing again."""
    assert run("toy", tmp_path / "out") == 0
    first = Counter(line for line in log.read_text().splitlines() if not line.startswith("generate"))
    assert set(first.values()) == {1}
    assert sum(line.startswith("opt") for line in first) == 4
    log.unlink()
    for suite, failed in (("toy", 0), ("toy-none", 1)):  # one of its cases is a case of `toy`
        assert run(suite, tmp_path / "out") == failed
        assert all(line.startswith("generate") for line in log.read_text().splitlines())


def test_another_effort_is_another_result(tmp_path: Path, log: Path) -> None:
    """`--effort 2` solves again, and says so; toy0 and toy2 had effort 1, toy1 and toy3 had 2."""
    assert run("toy", tmp_path / "out") == 0
    log.unlink()
    assert run("toy", tmp_path / "out", "--effort", "2") == 0
    solved = [line.rsplit(" ", 1)[1] for line in log.read_text().splitlines() if line.startswith("opt")]
    assert sorted(solved) == ["2", "2", "4", "4"]
    with Store.open(tmp_path / "out" / "results.sqlite") as store:
        assert store.about()["effort"] == 2
        assert [case.solve["effort"] for case in store.cases()] == [2, 4, 2, 4, 2]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.nightly)])
def test_kills_at_random_moments_then_resume_equal_the_uninterrupted_run(kills: int, tmp_path: Path) -> None:
    """While it starts, and some pieces further and some milliseconds later; nothing stored is lost or done again."""
    assert run("toy-many", tmp_path / "whole") == 0
    out, log = tmp_path / "out", tmp_path / "log"
    moments = Stream("tests", "kills")
    for kill in range(kills):
        process = start("toy-many", out, log, 0.2)
        before = pieces(out)
        if kill % 4 == 0:
            time.sleep(moments.integer(0, 900) / 1000)
        else:
            wait_for_pieces(process, out, before + moments.integer(1, 2))
            time.sleep(moments.integer(0, 20) / 1000)
        assert process.poll() is None
        stored = pieces(out)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert pieces(out) >= stored
    if Path("/proc").is_dir():
        wait_until_gone(log)
    process = start("toy-many", out, log, 0.0)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert table(out) == table(tmp_path / "whole")
    assert "many 39" in output
    # A kill costs at most what the two workers had in hand.
    done = Counter(line for line in log.read_text().splitlines() if line.startswith(("opt", "online")))
    assert sum(count - 1 for count in done.values()) <= 2 * kills


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_ctrl_c_is_one_line_status_130_and_stops_the_workers(tmp_path: Path) -> None:
    """The signal goes to the whole group, as a terminal sends it; the next run ends what was begun."""
    assert run("toy", tmp_path / "whole") == 0
    out, log = tmp_path / "out", tmp_path / "log"
    process = start("toy", out, log, nap=1.0)  # seconds of work are left, also where the machine is busy
    wait_for_pieces(process, out, 3)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors  # tables of cases that are done stand there, too
    complaints = [line for line in errors.splitlines() if line.startswith("ratiobench: ")]
    assert complaints == ["ratiobench: interrupted; what was finished is kept"]
    if Path("/proc").is_dir():
        wait_until_gone(log)
    assert run("toy", out) == 0
    assert table(out) == table(tmp_path / "whole")


_INTERRUPTED_IMPORT = """
import os, signal, sys
from ratiobench.__main__ import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            print("loading pandas")
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                pass  # as in a callback of a compiled module

sys.meta_path.insert(0, Interrupt())
sys.exit(main())
"""


def test_one_run_at_a_time_in_a_folder(tmp_path: Path) -> None:
    with hold_folder(tmp_path), pytest.raises(InputError, match="another process runs a suite"), hold_folder(tmp_path):
        pass
    with hold_folder(tmp_path):  # it was let go
        pass


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_ctrl_c_while_the_report_is_loaded_is_not_lost(tmp_path: Path) -> None:
    """Modules of pandas that are being initialised can swallow an exception: it is raised when all are loaded."""
    words = ["run", "toy", "--only", "toy0", "--workers", "1", "--out", str(tmp_path / "out")]
    command = [sys.executable, "-c", _INTERRUPTED_IMPORT, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "loading pandas\n"
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "ratiobench: interrupted; what was finished is kept"
    assert pieces(tmp_path / "out") == 7  # OPT, three runs and their audits
    assert not (tmp_path / "out" / "results.csv").exists()


_SIGNALS_OF_THE_SERVER = """
import os
from pathlib import Path
from ratiobench.bench.running.pool import SpawnPool
from ratiobench.formulations.processes import descendants

with SpawnPool(1) as pool:
    pool.submit(os.getpid).result()
    for pid in descendants(os.getpid()):
        if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes():
            print(Path(f"/proc/{pid}/status").read_text().partition("SigBlk:")[2].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no server")
def test_ctrl_c_does_not_reach_the_server_that_workers_are_forked_from() -> None:
    """It is in the terminal's process group, and is blocked there from the beginning, before it could ignore it."""
    command = [sys.executable, "-c", _SIGNALS_OF_THE_SERVER]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    masks = [int(mask, 16) for mask in done.stdout.split()]
    assert masks
    assert all(mask >> (signal.SIGINT - 1) & 1 for mask in masks)


def test_a_failure_costs_one_row_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An exception, a dead process and a broken rule: three rows with reasons, and the honest row beside them."""
    assert run("toy-bad", tmp_path) == 1
    found = rows(tmp_path)
    assert {name: row["state"] for name, row in found.items()} == {
        "first": "ok",
        "raises": "failed",
        "dies": "failed",
        "cheats": "invalid",
    }
    assert found["raises"]["reason"] == "ZeroDivisionError: nothing to divide"
    assert found["dies"]["reason"] == "WorkerLost: the worker process died"
    assert found["cheats"]["reason"].startswith("room: task")
    assert found["cheats"]["ratio_kind"] == ""
    assert found["first"]["ratio_kind"] == "interval"
    said = capsys.readouterr().err
    assert "2 of 4 rows failed" in said
    assert "1 of 4 rows are invalid" in said


def test_failures_are_tried_again_only_when_asked(tmp_path: Path, log: Path) -> None:
    """A plain second run leaves failures alone, --retry-failed does only them, --fresh does everything."""

    def done(*options: str) -> list[str]:
        log.write_text("")
        assert run("toy-bad", tmp_path / "out", *options) == 1
        return sorted(line.split()[-1] for line in log.read_text().splitlines() if line.startswith("online"))

    assert done() == ["cheats", "dies", "first", "raises"]
    assert done() == []
    assert done("--retry-failed") == ["dies", "raises"]
    assert done("--fresh") == ["cheats", "dies", "first", "raises"]


def test_an_instance_that_cannot_be_made_is_a_row(tmp_path: Path) -> None:
    assert run("toy-none", tmp_path) == 1
    found = pd.read_csv(tmp_path / "results.csv", dtype=str, keep_default_na=False).set_index(["case", "algorithm"])
    assert found.loc[("none", "first"), "reason"] == "no instance: RuntimeError: this recipe cannot be made"
    assert found.loc[("toy0", "first"), "state"] == "ok"


def test_a_piece_over_the_limit_is_ended_and_the_rest_goes_on(tmp_path: Path) -> None:
    """An algorithm that hangs is a failed row; the one after it runs in a new process."""
    assert run("toy-slow", tmp_path, "--limit", "4", "--workers", "1") == 1
    found = rows(tmp_path)
    assert found["hangs"]["reason"] == "WorkerLost: ended at the limit of 4 s"
    assert found["first"]["state"] == "ok"


def test_one_more_algorithm_runs_in_every_case(tmp_path: Path) -> None:
    assert run("toy", tmp_path) == 0
    before = pieces(tmp_path)
    assert run("toy", tmp_path, "--add", "above:mark=70") == 0
    frame = pd.read_csv(tmp_path / "results.csv")
    assert (frame["algorithm"] == "above:mark=70").sum() == 5
    assert pieces(tmp_path) == before + 2 * 4


def test_stored_instances_are_the_ones_that_were_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every row's instance lies beside the store, and `simulate` on that file gives the row's welfare."""
    assert run("toy", tmp_path) == 0
    frame = pd.read_csv(tmp_path / "results.csv", dtype=str)
    row = frame[(frame["case"] == "toy2") & (frame["algorithm"] == "first")].iloc[0]
    file = tmp_path / "instances" / f"{row['instance']}.json.gz"
    assert f"welfare {row['welfare']} " in printed(capsys, "simulate", str(file), "--algorithm", "first")


def test_any_concurrent_futures_executor_carries_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--dask uses nothing but the client's executor: with threads behind it the table is the same."""

    class Client:
        def __init__(self, address: str, **_: Any) -> None:
            assert address == "tcp://scheduler:1"

        def get_executor(self, **_: Any) -> Executor:
            return ThreadPoolExecutor(3)

        def nthreads(self) -> dict[str, int]:
            return {"a": 2, "b": 1}

    assert run("toy", tmp_path / "pool") == 0
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    monkeypatch.setattr("ratiobench.bench.running.dask_pool._find_scheduler", lambda distributed, address: None)
    assert run("toy", tmp_path / "dask", "--dask", "tcp://scheduler:1") == 0
    assert table(tmp_path / "dask") == table(tmp_path / "pool")


def test_an_unsound_store_is_refused_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder holds what it held: no instances beside the garbage; the same where a file is in the way."""
    garbage, blocked = tmp_path / "garbage", tmp_path / "blocked"
    for folder, name in ((garbage, "results.sqlite"), (blocked, "instances")):
        folder.mkdir()
        (folder / name).write_bytes(b"garbage " * 200)
        assert refused(capsys, "run", "toy", "--out", str(folder), "--quiet")
        assert [path.name for path in folder.iterdir()] == [name]
        assert (folder / name).read_bytes() == b"garbage " * 200


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files as Linux does")
def test_a_disk_that_fills_up_is_one_line_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """Files that cannot grow stop the run with status 1; what was stored stays, and the next run ends it."""
    out = tmp_path / "out"
    process = start("toy-plots", out, tmp_path / "log", 0.0, "--quiet", largest_file=64 * 1024)
    output, errors = process.communicate()
    assert process.returncode == 1, errors
    assert output == ""
    assert errors.count("\n") == 1, errors
    assert "results.sqlite: the result could not be stored" in errors
    assert "earlier results are kept" in errors
    stored = pieces(out)
    assert stored > 5
    wait_until_gone(tmp_path / "log")
    (tmp_path / "log").unlink()
    process = start("toy-plots", out, tmp_path / "log", 0.0)
    process.communicate()
    assert process.returncode == 0
    assert run("toy-plots", tmp_path / "whole") == 0
    assert table(out) == table(tmp_path / "whole")


def test_damaged_instance_files_are_made_again(tmp_path: Path) -> None:
    """Cut off, overwritten or deleted between two runs: the next run repairs them before it reads any."""
    assert run("toy", tmp_path) == 0
    before = table(tmp_path)
    files = sorted((tmp_path / "instances").iterdir())
    contents = [file.read_bytes() for file in files]
    files[0].write_bytes(contents[0][:20])
    files[1].write_bytes(b"garbage")
    files[2].unlink()
    with Store.open(tmp_path / "results.sqlite") as store:
        store.connection.execute("DELETE FROM pieces WHERE stage = 'audit'")
    assert run("toy", tmp_path) == 0
    assert table(tmp_path) == before
    assert [file.read_bytes() for file in files] == contents


def test_some_cases_of_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--only` runs and shows what its patterns fit, in the suite's order; the rest comes with the next full run."""
    assert run("toy", tmp_path, "--only", "toy[12]", "--only", "twi?") == 0
    assert list(pd.read_csv(tmp_path / "results.csv")["case"].unique()) == ["toy1", "toy2", "twin"]
    done = pieces(tmp_path)
    assert run("toy", tmp_path) == 0
    assert pd.read_csv(tmp_path / "results.csv")["case"].nunique() == 5
    # A part again: pieces stay, the table is that of the part.
    assert run("toy", tmp_path, "--only", "toy3") == 0
    assert list(pd.read_csv(tmp_path / "results.csv")["case"].unique()) == ["toy3"]
    assert pieces(tmp_path) > done
    line = refused(capsys, "run", "toy", "--out", str(tmp_path), "--only", "toy1", "--only", "nothing*")
    assert "--only: 'nothing*' fits no case of toy: toy0, toy1, toy2, toy3, twin" in line


def test_some_algorithms_of_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--rows` runs the suite's algorithms that its patterns fit, beside those that are added; others stay stored."""
    assert run("toy", tmp_path, "--rows", "fir*", "--add", "above:mark=9") == 0
    found = pd.read_csv(tmp_path / "results.csv")
    assert list(found["algorithm"].unique()) == ["first", "above:mark=9"]
    assert found["case"].nunique() == 5
    with Store.open(tmp_path / "results.sqlite") as store:
        assert store.about()["command"] == "python -m ratiobench run toy --rows 'fir*' --add above:mark=9"
        assert store.about()["rows"] == ["fir*"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Only the algorithms fir* of the suite." in page
    assert "above:mark=9" in page
    assert run("toy", tmp_path) == 0
    whole = set(pd.read_csv(tmp_path / "results.csv")["algorithm"])
    assert {"first", "one"} < whole
    done = pieces(tmp_path)
    assert run("toy", tmp_path, "--rows", "one") == 0
    assert pieces(tmp_path) == done
    assert set(pd.read_csv(tmp_path / "results.csv")["algorithm"]) == {"one"}
    line = refused(capsys, "run", "toy", "--out", str(tmp_path), "--rows", "nothing*")
    assert "--rows: 'nothing*' fits no algorithm of toy: " in line


def test_the_command_that_makes_the_table_stands_in_the_store(tmp_path: Path) -> None:
    """What is run and how hard, quoted for a shell; not where, nor by how many workers."""
    assert run("toy", tmp_path, "--only", "toy[01]", "--add", "above:mark=9", "--effort", "3", "--workers", "1") == 0
    with Store.open(tmp_path / "results.sqlite") as store:
        command = store.about()["command"]
    assert command == "python -m ratiobench run toy --only 'toy[01]' --add above:mark=9 --effort 3"


def test_a_report_of_nothing_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty file, and a store in which no run has begun; neither is touched."""
    for name in ("empty", "begun"):
        store = tmp_path / name / "results.sqlite"
        store.parent.mkdir()
        if name == "empty":
            store.touch()
        else:
            with Store.open(store):
                pass
        before = store.read_bytes()
        assert "holds no results; `run SUITE --out DIR`" in refused(capsys, "report", str(store.parent))
        assert store.read_bytes() == before
        assert [path.name for path in store.parent.iterdir()] == [store.name]


def test_without_distributed_dask_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The missing package is named, status 2, and nothing is written."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = refused(capsys, "run", "toy", "--out", str(tmp_path / "out"), "--dask", "tcp://scheduler:1")
    assert line.endswith(f"not installed: {install_command('dask')}\n")
    assert not (tmp_path / "out").exists()


def test_a_dead_process_of_the_pool_is_replaced() -> None:
    """The piece that it ran is lost, the next one runs in another process."""
    with SpawnPool(1) as pool:
        before = pool.submit(os.getpid).result()
        with pytest.raises(WorkerLost):
            pool.submit(os.kill, before, signal.SIGKILL).result()
        after = pool.submit(os.getpid).result()
    assert len({before, after, os.getpid()}) == 3


def test_short_memory_means_fewer_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker per core while 2 GiB each are free, never none."""
    monkeypatch.setattr("ratiobench.bench.running.machine.usable_cores", lambda: 8)
    for free, workers in ((None, 8), (64 * 2**30, 8), (7 * 2**30, 3), (2**20, 1)):
        monkeypatch.setattr("ratiobench.bench.running.machine.usable_bytes", lambda free=free: free)
        assert default_workers() == workers


@pytest.mark.nightly
def test_the_tiny_suite_proves_every_optimum_and_both_counterexamples(tmp_path: Path) -> None:
    """All shipped instances: OPT is the stored one, every run keeps the rules, Theorem 5 fails where it is known to."""
    assert run("tiny", tmp_path) == 0
    frame = pd.read_csv(tmp_path / "results.csv", dtype=str, keep_default_na=False)
    assert set(frame["state"]) == {"ok"}
    golden = {name: expected(name).get("opt") for name in frame["case"].unique()}
    assert sum(value is not None for value in golden.values()) >= 15
    for row in frame.to_dict("records"):
        assert row["opt_lower"] == row["opt_upper"]
        assert golden[row["case"]] in (None, row["opt_lower"])
    chosen = {row["case"]: row for row in frame.to_dict("records") if row["algorithm"] == "pdftsp"}
    for case, ratio, bound in (("thm5_T5_3tasks", "26", "49/2"), ("thm5_T4_4tasks_strict", "13", "12")):
        row = chosen[case]
        assert (row["theorem5"], row["theorem5_right"]) == ("violated", bound)
        assert (row["ratio_lower"], row["ratio_upper"], row["constants_source"]) == (ratio, ratio, "oracle")


def test_a_small_scale_has_its_own_cases_folder_and_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--scale small` runs the suite's small cases; a suite without them says so and nothing is written."""
    assert [case.name for case in find_suite("fig11")[1].small] == ["pai_40"]
    assert main(["run", "toy-plots", "--scale", "small", "--quiet", "--workers", "1"]) == 0
    with Store.open(here / "results" / "toy-plots-small" / "results.sqlite", create=False) as store:
        about = store.about()
        assert about["command"] == "python -m ratiobench run toy-plots --scale small"
        assert [case.name for case in store.cases()] == ["5 run 0", "5 run 1"]
    assert "--scale" in refused(capsys, "run", "toy", "--scale", "small", "--quiet")
    assert not (here / "results" / "toy-small").exists()
