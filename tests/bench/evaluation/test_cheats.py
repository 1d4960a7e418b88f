"""Cheats against `evaluate`: isolated none gains anything; what each gains without isolation stands in SECURITY.md."""

import ctypes
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ratiobench as rb
from ratiobench.bench.evaluation import evaluate as evaluation
from ratiobench.bench.evaluation.result import Evaluation
from ratiobench.formulations.processes import remove_tree
from ratiobench.instances.io.errors import InputError
from ratiobench.online.referee import isolation, limits, process, sandbox
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK, NO_ISOLATION
from tests.support.cheats import CHEATS, HONEST, NOTHING, STOPPED, WORKS, Cheat, policy_text

SECURITY = Path(__file__).parents[3] / "SECURITY.md"
# The way in which this system isolates by default; the two others are for `nox -s thorough`
STRONGEST = sandbox.choose(None)
WAYS = tuple(
    pytest.param(way, marks=[] if way == STRONGEST else pytest.mark.nightly)
    for way in (NO_ISOLATION, LANDLOCK, BUBBLEWRAP)
)
INSTANCES = 2
BY_CHANCE = ("hash seed", "chance")  # Cheats that a second run shows, unless it happens to be as the first one
MEMORY = ctypes.create_string_buffer(b"secret")  # A part of the referee's memory


@pytest.fixture(scope="module", autouse=True)
def _secret() -> Iterator[None]:
    """A secret in the environment, also of the servers from which policies are forked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATIOBENCH_SECRET", "secret")
        process.close_all()  # those that begin now have it, too
        yield
    process.close_all()


@pytest.fixture(scope="module", params=WAYS)
def wanted(request: pytest.FixtureRequest) -> str:
    """Tests of one way of isolation come one after another; each way begins with servers of its own."""
    process.close_all()
    name: str = request.param
    return name


@pytest.fixture
def way(wanted: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A way of isolation, the only one that can be had; skips where it cannot.

    Tests of one way share the servers from which policies are forked, as policies of one process do.
    """
    try:
        sandbox.choose(wanted)
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(sandbox, "requested", lambda isolate: wanted)
    return wanted


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user, in it a secret and a victim; the memory of a policy is bounded."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "victim").write_text("whole")
    monkeypatch.setattr(limits, "MEMORY_MB", 600)
    monkeypatch.setattr(limits, "OUTPUT_BYTES", 3000)
    yield tmp_path
    for left in (*Path(tempfile.gettempdir()).glob(f"cheat-{os.getpid()}*"), Path(f"/dev/shm/cheat-{os.getpid()}")):
        remove_tree(str(left)) if left.is_dir() else left.unlink(missing_ok=True)


@pytest.fixture
def landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are isolated by Landlock; skips where there is none."""
    if not sandbox.has_landlock():
        pytest.skip("the system has no Landlock")
    monkeypatch.setattr(sandbox, "requested", lambda isolate: LANDLOCK)


def evaluated(text: str, target: Path, port: int = 0, **options: Any) -> Evaluation:
    """The evaluation of a policy, with what a cheat may know of this process."""
    (target / "policy.py").write_text(text)
    given = f"target={target},referee={os.getpid()},address={ctypes.addressof(MEMORY)},port={port}"
    return rb.evaluate(f"{target / 'policy.py'}:Policy:{given}", stage="tiny", tiny=INSTANCES, **options)


def cheating(members: str) -> str:
    """A policy with these members, which cheats at once."""
    return policy_text(Cheat("", "", "", members=members), 0)


_honest: dict[str, float] = {}


def honest_score(target: Path, way: str) -> float:
    if way not in _honest:
        found = evaluated(HONEST, target)
        assert found.valid, found.reason
        assert found.isolation == way
        _honest[way] = found.combined_score
    return _honest[way]


def outcome(name: str, way: str, target: Path) -> tuple[str, str]:
    """What comes of a cheat, and why it was stopped."""
    honest = honest_score(target, way)
    with socket.create_server(("127.0.0.1", 0)) as server:
        budget = 3 if name == "endless decision" else 60
        # Where it works nothing stops it, however long it waits.
        wait = 0 if expected(name, way) == (WORKS,) else 0.5
        found = evaluated(policy_text(CHEATS[name], wait), target, server.getsockname()[1], budget=budget)
    assert found.isolation == way
    if not found.valid or found.time_limited:
        assert found.combined_score <= honest
        return STOPPED, found.reason or found.stopped
    return (WORKS if found.combined_score > honest else NOTHING), ""


def expected(name: str, way: str) -> tuple[str, ...]:
    cheat = CHEATS[name]
    if way != NO_ISOLATION:
        return (cheat.result,) if cheat.result else (NOTHING, STOPPED)
    return (NOTHING,) if cheat.root and os.geteuid() != 0 else (cheat.open_result,)


def test_the_honest_policy_has_something_to_gain(target: Path, way: str) -> None:
    always = HONEST.replace("return False", "return True")
    assert evaluated(always, target).combined_score > honest_score(target, way)


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing_in_a_sandbox(name: str, way: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its score is at most that of the honest policy; without a sandbox it gains what SECURITY.md says."""
    # One run after another: of runs that go on at once, some cheats would be stopped by chance.
    monkeypatch.setattr(evaluation, "MOST_WORKERS", 1)
    for _ in range(4 if name in BY_CHANCE else 1):
        found, why = outcome(name, way, target)
        if found == STOPPED:
            break
        process.close_all()  # the next try is in processes with other hash seeds
    assert found in expected(name, way), why
    if way != NO_ISOLATION:
        assert found != WORKS
        assert (target / "victim").read_text() == "whole"


def test_cheats_leave_nothing_for_the_next_policy(target: Path, way: str) -> None:
    """The same sandboxes give the honest policy the same score after all of them."""
    before = honest_score(target, way)
    assert evaluated(HONEST, target).combined_score == before


def test_security_lists_every_cheat_with_what_it_gains() -> None:
    """`SECURITY.md` has a row for each, with the results that the tests above hold it to."""
    assert len(CHEATS) >= 40
    text = SECURITY.read_text(encoding="utf-8")
    found = re.search(r"<!-- cheats: begin -->\n(.*)<!-- cheats: end -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == table()


def table() -> str:
    lines = ["| the policy | without isolation | isolated |", "|---|---|---|"]
    for cheat in CHEATS.values():
        alone = cheat.open_result + " (as root)" * cheat.root
        lines.append(f"| {cheat.what} | {alone} | {cheat.result or f'{NOTHING} or {STOPPED}'} |")
    return "\n".join(lines) + "\n"


LEAVES = """
import os, tempfile

class Policy:
    def __init__(self, options):
        self.leaves = options["leaves"] == "1"

    def start(self, public, constants):
        folder = tempfile.gettempdir()
        about = os.stat(folder)
        found = [os.listdir(folder), os.listxattr(folder), oct(about.st_mode), int(about.st_mtime) == 99]
        found.append(os.getpriority(os.PRIO_PROCESS, os.getppid()))
        if self.leaves:
            for leave in (
                lambda: os.setxattr(folder, "user.seen", b"all"),
                lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 7),
                lambda: os.mkdir(f"{folder}/closed", 0),
                lambda: os.utime(folder, (99, 99)),
                lambda: os.chmod(folder, 0o711),
            ):
                try:
                    leave()
                except OSError:
                    pass
        if not self.leaves:
            raise RuntimeError(f"found {found}")

    def decide(self, task, view):
        return None
"""


def test_a_policy_finds_nothing_of_the_policy_before_it(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the sandboxes of bubblewrap: no name, attribute, mode, time or priority."""
    try:
        sandbox.choose(BUBBLEWRAP)
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(sandbox, "requested", lambda isolate: BUBBLEWRAP)
    for name in ("one", "other"):
        (target / f"{name}.py").write_text(LEAVES)

    def found(name: str, leaves: int) -> str:
        return rb.evaluate(f"{target / name}.py:Policy:leaves={leaves}", stage="tiny", tiny=INSTANCES).reason

    clean = found("other", 0)
    assert "found [[], []," in clean
    assert found("one", 1) == ""
    assert found("other", 0) == clean


@pytest.mark.usefixtures("landlock")
def test_limits_hold_whatever_folders_a_policy_makes(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,500 folders in one another are too many, and they are removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where no other test's runs are
    nest = """
def cheat(self):
    os.chdir(tempfile.gettempdir())
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    time.sleep(600)
"""
    found = evaluated(cheating(nest), target, budget=60)
    assert "folders in its temporary folder are more than" in found.reason
    assert not list(tmp_path.glob("ratiobench-run-*"))


@pytest.mark.usefixtures("landlock")
def test_files_that_are_removed_and_held_open_count(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written and has no name any more is still on the disk."""
    monkeypatch.setattr(sandbox, "TMP_BYTES", 2**22)
    hide = """
def cheat(self):
    self.files = [tempfile.TemporaryFile() for _ in range(8)]
    for file in self.files:
        file.write(b"x" * 2**20)
        file.flush()
    time.sleep(600)
"""
    found = evaluated(cheating(hide), target, budget=60)
    assert "disk: more than 4 MB" in found.reason


def test_time_for_compiling_is_granted_once(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a policy says that it compiles, the budget ends it."""
    monkeypatch.setattr(isolation, "COMPILING_SECONDS", 1.0)
    monkeypatch.setattr(evaluation, "MOST_WORKERS", 1)
    compiles = """
def decide(self, task, view):
    while True:
        for number in pipes():
            try:
                os.write(number, b'"compiles"\\n')
            except OSError:
                pass
        time.sleep(0.01)
"""
    found = evaluated(cheating(compiles), target, budget=2)
    assert found.time_limited


def test_all_runs_on_an_instance_share_the_budget(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thirds of it in the first run leave a third for the second one, which shows whether it peeks."""
    monkeypatch.setattr(evaluation, "MOST_WORKERS", 1)
    monkeypatch.setattr("ratiobench.online.referee.user_run.usable_threads", lambda: 1)  # one run after the other
    sleeps = """
def cheat(self):
    time.sleep(2)
"""
    found = evaluated(cheating(sleeps), target, budget=3)
    assert found.time_limited
    assert not any(result.state == "ok" for result in found.results)


@pytest.mark.usefixtures("landlock")
def test_memory_counts_though_the_first_thread_has_ended(target: Path) -> None:
    leave = """
def cheat(self):
    text = "import ctypes,threading,time; "
    text += "more = lambda: (time.sleep(.2), globals().update(x=b'x'*2**30), time.sleep(600)); "
    text += "threading.Thread(target=more).start(); "
    text += "ctypes.CDLL(None).syscall(60, 0)"
    subprocess.Popen([sys.executable, "-c", text])
    time.sleep(600)
"""
    found = evaluated(cheating(leave), target, budget=60)
    assert "memory: more than 600 MB" in found.reason


@pytest.mark.usefixtures("landlock")
def test_no_temporary_folder_is_left(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run under Landlock removes its own."""
    made: list[str] = []

    def make(prefix: str) -> str:
        made.append(tempfile.mkdtemp(prefix=prefix))
        return made[-1]

    monkeypatch.setattr(isolation, "tempfile", SimpleNamespace(mkdtemp=make))
    evaluated(HONEST, target)
    assert made
    assert not any(map(os.path.exists, made))
