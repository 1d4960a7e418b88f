"""Solver processes: limits, crashes, replacement, and no process left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from ratiobench.formulations import backends, worker
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import Termination

ROOT = Path(__file__).resolve().parents[2]
INSTALLED_ALWAYS = ("highs", "cbc")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="checks processes by POSIX means")


@pytest.fixture
def process() -> Iterator[worker.Worker]:
    """A worker that imports no solver."""
    fresh = worker.Worker("test")
    yield fresh
    fresh.close()


def knapsack(size: int = 3) -> LinearModel:
    """Maximise sum (c+1) x_c over sum x_c <= 1: the optimum is `size`."""
    return LinearModel(
        name="knapsack",
        objective=np.arange(1.0, size + 1),
        lower=np.zeros(size),
        upper=np.ones(size),
        integer=np.ones(size, dtype=bool),
        row_start=np.array([0, size]),
        index=np.arange(size),
        value=np.ones(size),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([1.0]),
        columns=tuple(f"x_{c}" for c in range(size)),
        rows=("capacity",),
    )


# Functions that the worker runs by name.


def process_id() -> int:
    return os.getpid()


def hang_forever() -> None:
    while True:
        time.sleep(60)


def hang_with_child() -> None:
    """Starts a child that sleeps and waits for it, as the worker of CBC does."""
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=True)


def hang_with_detached_child(file: str) -> None:
    """Writes down the number of a child that has a session of its own, and waits for it."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(file).write_text(str(child.pid))
    child.wait()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop_abruptly() -> None:
    os.write(2, b"something broke\n")
    os._exit(7)


def raise_error() -> None:
    raise ValueError("two\nlines")


def print_much() -> str:
    """Noise on the C-level standard output, where the replies go."""
    os.write(1, b"x" * 100_000)
    print("more noise", flush=True)
    return "done"


def grow(megabytes: int) -> int:
    """Touches that much memory, bit by bit, and holds it for long."""
    held = []
    for _ in range(megabytes // 10):
        held.append(np.ones(10 * 2**17))
        time.sleep(0.005)
    time.sleep(60)
    return len(held)


def grow_in_a_grandchild() -> None:
    """A shell that starts a program that takes 500 MB."""
    program = f"{sys.executable} -c 'import time; x = bytearray(500 * 2**20); time.sleep(60)'"
    subprocess.run(["sh", "-c", f"{program}; true"], check=False)


def grow_at_once() -> int:
    """One allocation far beyond the limit."""
    return len(np.ones(2**40))


def needs_what_is_not_there() -> None:
    import no_such_solver_package  # type: ignore[import-not-found]  # noqa: F401


def return_unpicklable() -> object:
    return lambda: None


HERE = "tests.formulations.test_backends"


def alive(pid: int) -> bool:
    """Whether the process still runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends(pid: int) -> bool:
    """Wait (up to a minute, on a busy machine) until the process is gone."""
    for _ in range(600):
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


def test_one_process_serves_many_calls(process: worker.Worker) -> None:
    pids = {process.call(f"{HERE}:process_id").value for _ in range(5)}
    assert pids == {process.pid}
    assert os.getpid() not in pids


def test_a_call_without_answer_is_a_timeout_and_the_process_is_replaced(process: worker.Worker) -> None:
    """The hard wall-clock limit kills; the next call has a new process."""
    before = process.call(f"{HERE}:process_id").value
    reply = process.call(f"{HERE}:hang_forever", wall_seconds=0.5)
    assert reply.termination is Termination.TIMEOUT
    assert "0.5 s" in reply.message
    assert not alive(before)
    assert process.call(f"{HERE}:process_id").value not in (None, before)


@pytest.mark.nightly
def test_a_timeout_also_ends_what_the_worker_started(process: worker.Worker) -> None:
    process.call(f"{HERE}:process_id")
    pid = process.pid
    found: list[int] = []

    def look() -> None:
        for _ in range(400):
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if children:
                found.extend(int(child) for child in children)
                return
            time.sleep(0.005)

    watcher = threading.Thread(target=look)
    watcher.start()
    assert process.call(f"{HERE}:hang_with_child", wall_seconds=3.0).termination is Termination.TIMEOUT
    watcher.join()
    assert found
    assert all(ends(child) for child in found)


@pytest.mark.parametrize(
    ("function", "words"), [("die", "was killed by SIGKILL"), ("stop_abruptly", "exit status 7: something broke")]
)
def test_a_dead_process_is_a_crash_and_is_replaced(process: worker.Worker, function: str, words: str) -> None:
    reply = process.call(f"{HERE}:{function}")
    assert reply.termination is Termination.CRASH
    assert words in reply.message
    assert process.call(f"{HERE}:process_id").termination is None


def test_a_process_killed_between_calls_is_replaced_silently(process: worker.Worker) -> None:
    first = process.call(f"{HERE}:process_id").value
    os.kill(first, signal.SIGKILL)
    assert ends(first) or process.pid is None
    assert process.call(f"{HERE}:process_id").value != first


@pytest.mark.nightly
def test_a_process_killed_from_outside_during_a_call_is_a_crash(process: worker.Worker) -> None:
    process.call(f"{HERE}:process_id")
    pid = process.pid
    assert pid is not None
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    reply = process.call(f"{HERE}:hang_forever", wall_seconds=60)
    assert reply.termination is Termination.CRASH


def test_growing_past_the_memory_limit_is_memory(process: worker.Worker) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("resident memory is watched through /proc")
    reply = process.call(f"{HERE}:grow", 2000, memory_mb=300, wall_seconds=60)
    assert reply.termination is Termination.MEMORY
    assert "300 MB" in reply.message
    assert process.call(f"{HERE}:process_id").termination is None


@pytest.mark.nightly
def test_the_memory_of_a_grandchild_counts(process: worker.Worker) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("resident memory is watched through /proc")
    reply = process.call(f"{HERE}:grow_in_a_grandchild", memory_mb=400, wall_seconds=30)
    assert reply.termination is Termination.MEMORY


@pytest.mark.nightly
def test_a_timeout_ends_a_detached_child_too(process: worker.Worker, tmp_path: Path) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("children are found through /proc")
    process.call(f"{HERE}:process_id")
    reply = process.call(f"{HERE}:hang_with_detached_child", str(tmp_path / "child"), wall_seconds=2.0)
    assert reply.termination is Termination.TIMEOUT
    assert ends(int((tmp_path / "child").read_text()))


def test_one_huge_allocation_is_memory(process: worker.Worker) -> None:
    """The address space is limited, so it fails before it is touched."""
    reply = process.call(f"{HERE}:grow_at_once", memory_mb=500)
    assert reply.termination is Termination.MEMORY


@pytest.mark.parametrize(
    ("function", "termination", "words"),
    [
        ("raise_error", Termination.ERROR, "ValueError: two lines"),
        ("return_unpicklable", Termination.ERROR, "cannot be sent"),
        ("needs_what_is_not_there", Termination.UNAVAILABLE, "no_such_solver_package is not installed"),
        ("no_such_function", Termination.ERROR, "no_such_function"),
    ],
)
def test_errors_are_replies_and_the_process_lives_on(
    process: worker.Worker, function: str, termination: Termination, words: str
) -> None:
    before = process.call(f"{HERE}:process_id").value
    reply = process.call(f"{HERE}:{function}")
    assert reply.termination is termination
    assert words in reply.message
    assert "\n" not in reply.message
    assert process.call(f"{HERE}:process_id").value == before


def test_what_a_solver_prints_does_not_disturb_the_replies(process: worker.Worker) -> None:
    assert process.call(f"{HERE}:print_much").value == "done"
    assert process.call(f"{HERE}:process_id").value == process.pid


def test_each_thread_has_its_own_worker() -> None:
    here = worker.worker("test-threads")
    assert worker.worker("test-threads") is here
    found: list[worker.Worker] = []
    thread = threading.Thread(target=lambda: found.append(worker.worker("test-threads")))
    thread.start()
    thread.join()
    assert found[0] is not here


PARENT = """
import sys, time
sys.path.insert(0, {root!r})
from ratiobench.formulations import worker
if __name__ == "__main__":
    process = worker.Worker("child")
    print(process.call("tests.formulations.test_backends:process_id").value, flush=True)
    {then}
"""


def parent(then: str, **popen: object) -> tuple[subprocess.Popen[str], int]:
    """A process that has a worker, and the worker's id."""
    code = PARENT.format(root=str(ROOT), then=then)
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT, **popen)  # type: ignore[call-overload]
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    return started, pid


@pytest.mark.parametrize(
    "then", ["pass", *(pytest.param(then, marks=pytest.mark.nightly) for then in ("sys.exit(3)", "raise ValueError"))]
)
def test_workers_end_with_their_parent(then: str) -> None:
    started, pid = parent(then, stderr=subprocess.DEVNULL)
    started.communicate(timeout=60)
    assert ends(pid)


@pytest.mark.parametrize("busy", [pytest.param(False, marks=pytest.mark.nightly), True])
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_workers_end_when_their_parent_is_killed(number: signal.Signals, busy: bool) -> None:
    """kill -9 leaves nothing behind, idle or in the middle of a call."""
    started, pid = parent(
        "process.call('tests.formulations.test_backends:hang_forever')" if busy else "time.sleep(600)"
    )
    if busy:
        time.sleep(0.2)
    started.send_signal(number)
    started.communicate(timeout=60)
    assert ends(pid)


def test_ctrl_c_ends_the_parent_and_its_workers() -> None:
    """SIGINT to the whole foreground group in the middle of a call: KeyboardInterrupt above, no worker left."""
    started, pid = parent(
        "process.call('tests.formulations.test_backends:hang_forever')", stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(0.3)
    os.killpg(started.pid, signal.SIGINT)
    _, errors = started.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert ends(pid)


def solve_knapsack(size: int) -> float | None:
    return backends.solve("highs", knapsack(size)).bound


@pytest.mark.nightly
def test_backends_work_inside_pool_processes() -> None:
    """Also in daemonic ones, which may not start `multiprocessing` children."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(solve_knapsack, 4).result(timeout=120) == 4
    with get_context("spawn").Pool(1) as daemonic:
        assert daemonic.apply(solve_knapsack, (5,)) == 5


@pytest.mark.nightly
def test_the_caller_imports_no_solver() -> None:
    """After solving with everything, `sys.modules` of the caller has none of them."""
    code = textwrap.dedent(
        """
        import sys
        from ratiobench.instances.lora import parse
        from ratiobench.formulations.lora.solve import solve, export, formulations
        from ratiobench.formulations import backends
        task = {"arrival": 1, "deadline": 2, "memory_mb": 1, "work": 1, "bid": 3, "rate": [1], "energy_wh": [1],
                "vendors": []}
        node = {"name": "g", "count": 1, "compute": 1, "memory_mb": 1, "tariff": [1, 1]}
        instance = parse({"format": "ratiobench/lora/1", "name": "n", "slots": 2, "slot_seconds": 1,
                          "base_memory_mb": 0, "node_types": [node], "tasks": [task, task]})
        formulations()
        for pair in [("auto", "auto"), ("tight", "highs"), ("tight", "cbc"), ("printed", "cbc"),
                     ("printed-ortools", "highs"), ("cpsat", "cpsat"), ("tight", "scip"), ("tight", "gurobi")]:
            report = solve(instance, *pair)
            if report.termination.value != "unavailable":
                assert report.lower == report.upper == 4, (pair, report)
        export(instance, "mps", "printed")
        print([name for name in ("highspy", "ortools", "pulp", "pyscipopt", "gurobipy") if name in sys.modules])
        """
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("backend", ["highs", "cbc", "scip", "gurobi"])
def test_each_linear_backend_solves_from_a_start(backend: str) -> None:
    """With a version, an incumbent and a bound; or UNAVAILABLE with the reason."""
    version = backends.version(backend)
    result = backends.solve(backend, knapsack(4), start=np.array([1.0, 0.0, 0.0, 0.0]))
    if version is None:
        assert backend not in INSTALLED_ALWAYS
        assert result.termination is Termination.UNAVAILABLE
        assert f"is not installed: pip install -e '.[{backend}]'" in result.message
        pytest.skip(result.message)
    assert result.termination is Termination.OPTIMAL
    assert result.bound == pytest.approx(4)
    assert result.values is not None
    assert result.values.round().tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("backend", ["highs", "cbc", "scip", "gurobi"])
def test_an_infeasible_model_gives_neither_incumbent_nor_bound(backend: str) -> None:
    """Whatever numbers the solver holds then, they mean nothing."""
    if backends.version(backend) is None:
        pytest.skip(f"{backend} is not installed")
    model = knapsack(3)
    impossible = LinearModel(
        **{name: getattr(model, name) for name in model.__slots__ if name not in ("row_lower", "row_upper")},
        row_lower=np.array([5.0]),
        row_upper=np.array([np.inf]),
    )
    result = backends.solve(backend, impossible)
    assert result.termination is Termination.INFEASIBLE
    assert result.bound is None
    assert result.values is None


POLICIES = {"openevolve", "gepa", "gymnasium", "ppo"}  # Extras of programs that search for policies


def test_backends_that_are_extras_have_an_extra_of_their_name() -> None:
    """The command that a message names installs something, and the page of commands names the extra."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {*backends.EXTRAS, "dask", "isolate", *POLICIES} == set(extras)
    readme = (ROOT / "docs" / "guide" / "commands.md").read_text(encoding="utf-8")
    [told] = [paragraph for paragraph in readme.split("\n\n") if paragraph.startswith("Optional extras")]
    assert all(f"`{extra}`" in told for extra in extras)
    assert set(backends.EXTRAS) == set(backends.backends()) - set(INSTALLED_ALWAYS) - {"cpsat"}


def test_a_backend_that_does_not_exist_is_a_result() -> None:
    """Names are checked above; here it is not an exception either."""
    result = backends.solve("nonsense", knapsack())
    assert result.termination is Termination.UNAVAILABLE


def test_a_result_never_carries_nan_or_infinity() -> None:
    for bad in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="bound"):
            BackendResult(Termination.LIMIT, bound=bad)
        assert backends.finite_or_none(bad) is None
    assert backends.finite_or_none(1e30) is None
    assert backends.finite_or_none(-5.0) == -5.0
    with pytest.raises(ValueError, match="finite"):
        BackendResult(Termination.LIMIT, values=np.array([np.nan]))


def test_a_backends_hard_limit_holds() -> None:
    """A wall-clock limit shorter than the start of the process: a time-out, and the next solve works."""
    worker.worker("cbc").close()
    result = backends.solve("cbc", knapsack(), Limits(wall_seconds=0.01))
    assert result.termination is Termination.TIMEOUT
    assert backends.solve("cbc", knapsack()).termination is Termination.OPTIMAL


def test_all_workers_are_closed() -> None:
    """Each leaves the list of living ones when it ends."""
    living = [worker.worker(name) for name in ("highs", "cbc", "cpsat")]
    for each in living:
        assert backends.version(each.name)
    worker.close_all()
    assert [each.pid for each in living] == [None] * 3
