"""The filter of system calls and Landlock: what is refused, by the programs themselves and by the running kernel."""

import errno
import json
import platform
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ratiobench import instances
from ratiobench.instances.io import seeds
from ratiobench.online.referee import landlock, sandbox, system_calls
from ratiobench.online.referee.confinement import Confinement
from ratiobench.online.referee.system_calls import MACHINES, build_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
DENY, ABSENT = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
# Calls that every Python program needs
USED = {"read": (0, 63), "write": (1, 64), "openat": (257, 56), "futex": (202, 98), "mmap": (9, 222),
        "execve": (59, 221), "wait4": (61, 260), "kill": (62, 129)}  # fmt: skip


def verdict(code: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the filter says of a system call: an interpreter of classic BPF."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *(arguments + (0,) * 6)[:6])
    lines = list(struct.iter_unpack("=HBBI", code))
    value = place = 0
    while True:
        what, equal, other, operand = lines[place]
        place += 1
        if what == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif what == 0x54:
            value &= operand
        elif what == 0x06:
            return operand
        else:
            true = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}[what]
            place += equal if true else other


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_refuses_what_it_says(machine: str) -> None:
    """On both machines; what programs need is allowed, another machine's calls end the process."""
    code, found = build_filter(machine), MACHINES[machine]
    for numbers in system_calls._REFUSED.values():
        assert verdict(code, found.audit, numbers[found.place]) == DENY
    for numbers in system_calls._ABSENT.values():
        assert verdict(code, found.audit, numbers[found.place]) == ABSENT
    for numbers in USED.values():
        assert verdict(code, found.audit, numbers[found.place]) == ALLOW
    assert verdict(code, 7, 0) == KILL
    assert verdict(code, found.audit, 0x40000000) == ABSENT
    assert verdict(code, found.audit, system_calls._LAST + 1) == ABSENT


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide_where_they_must(machine: str) -> None:
    """Threads and pairs of streams are allowed, namespaces and datagrams are not; and so on."""
    code, found = build_filter(machine), MACHINES[machine]

    def of(name: str, *arguments: int) -> int:
        return verdict(code, found.audit, system_calls._CHECKED[name][found.place], *arguments)

    assert of("clone", 0x3D0F00) == of("clone", 17) == ALLOW
    assert {of("clone", 1 << bit | 17) for bit in (17, 25, 26, 27, 28, 29, 30)} == {DENY}
    assert of("socketpair", 1, 1 | 0x80000) == of("socketpair", 1, 5) == ALLOW
    assert of("socketpair", 1, 2) == of("socketpair", 2, 1) == DENY
    assert of("prctl", 1, 9) == of("prctl", 15) == ALLOW
    assert of("prctl", 1, 0) == of("prctl", 1, 17) == DENY
    assert of("prlimit64", 0) == ALLOW
    assert of("prlimit64", 1) == DENY
    assert of("ioctl", 1, 0x5401) == ALLOW
    assert of("ioctl", 1, 0x5412) == of("ioctl", 1, 0x541C) == of("ioctl", 1, 0x40086602) == DENY
    assert of("fcntl", 1, 4) == of("fcntl", 1, 6) == of("getsockopt", 1, 1, 3) == ALLOW
    assert of("fcntl", 1, 1036) == of("fcntl", 1, 8) == of("getsockopt", 1, 1, 57) == DENY


@pytest.mark.parametrize("machine", MACHINES)
def test_without_bubblewrap_nothing_is_locked(machine: str) -> None:
    """Others would see a lock; where Landlock does not look at signals, only the process itself gets some."""
    found = MACHINES[machine]
    code = build_filter(machine, keep_locks=True, signals_to=77)
    assert verdict(code, found.audit, system_calls._FLOCK[found.place]) == DENY
    assert verdict(code, found.audit, system_calls._CHECKED["fcntl"][found.place], 1, 6) == DENY
    assert verdict(code, found.audit, system_calls._CHECKED["fcntl"][found.place], 1, 3) == ALLOW
    for numbers in system_calls._SIGNALS.values():
        assert verdict(code, found.audit, numbers[found.place], 77) == ALLOW
        assert verdict(code, found.audit, numbers[found.place], 78) == DENY


CHILD = """
import ctypes, json, os, pickle, sys
import numba, numpy
from ratiobench.online.referee import confinement, landlock, system_calls

told = pickle.load(open(sys.argv[1], "rb"))
if os.fork() == 0:  # with one thread
    confinement.confine(told)
    libc = ctypes.CDLL(None, use_errno=True)
    found = {}
    for name, numbers in (system_calls._REFUSED | system_calls._ABSENT).items():
        number = numbers[system_calls.MACHINES[os.uname().machine].place]
        found[name] = libc.syscall(number, -1, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno()
    found["numba"] = int(numba.njit(lambda n: n + 1)(1))
    found["numpy"] = float((numpy.ones((300, 300)) @ numpy.ones((300, 300)))[0, 0])
    for name, path in json.loads(sys.argv[2]).items():
        try:
            found[name] = open(path).read(9)
        except OSError as error:
            found[name] = error.errno
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not sandbox.has_landlock(), reason="the system has no Landlock")
def test_the_kernel_refuses_what_the_filter_says(tmp_path: Path) -> None:
    """By prctl, with Landlock; NumPy and numba go on to work, and a folder with a secret in it shows the rest."""
    import pickle

    (tmp_path / "shown" / "hidden").mkdir(parents=True)
    (tmp_path / "temporary").mkdir()
    files = {"seen": tmp_path / "shown" / "a", "secret": tmp_path / "shown" / "hidden" / "b", "other": tmp_path / "c"}
    for file in files.values():
        file.write_text("text")
    system = [Path(each) for each in (*sandbox._SYSTEM, sys.prefix, sys.base_prefix, *sys.path[1:])]
    view = sandbox._View([*system, tmp_path / "shown"], [tmp_path / "shown" / "hidden"], [], [])
    rules = [*sandbox._grant(view), ("/dev/null", landlock.USE), *((each, landlock.READ) for each in sandbox._READABLE)]
    told = Confinement(rules, str(tmp_path / "temporary"), {"HOME": str(tmp_path / "temporary")}, 100)
    (tmp_path / "told").write_bytes(pickle.dumps(told))
    words = [str(tmp_path / "told"), json.dumps({name: str(file) for name, file in files.items()})]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *words], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert {found[name] for name in system_calls._REFUSED} == {errno.EPERM}
    assert {found[name] for name in system_calls._ABSENT} == {errno.ENOSYS}
    assert (found["numba"], found["numpy"]) == (2, 300)
    assert (found["seen"], found["secret"], found["other"]) == ("text", errno.EACCES, errno.EACCES)


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="there is no filter for this machine")
def test_bubblewrap_gets_the_filter() -> None:
    """Its numbers come through a pipe that is closed afterwards."""
    with sandbox.filter_pipe() as (words, descriptors):
        assert words == ("--seccomp", str(descriptors[0]))
        with open(descriptors[0], "rb", closefd=False) as file:
            assert file.read() == build_filter()


@pytest.mark.parametrize("package", [".", "ratiobench"])
def test_another_copy_of_our_packages_is_hidden(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout or an installed one, known by a file that the packages have as they are now."""
    root = Path(instances.__file__).resolve().parents[1]
    copied = tmp_path / package / Path(seeds.__file__).resolve().relative_to(root)
    copied.parent.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(sandbox, "_SYSTEM", (*sandbox._SYSTEM, str(tmp_path)))
    monkeypatch.syspath_prepend(str(tmp_path))
    copied.touch()
    rules = sandbox.confined_place(None, str(tmp_path)).rules
    granted = [Path(each) for each, kind in rules if kind == landlock.READ]
    assert not any(each in (copied, *copied.parents) for each in granted)
    assert tmp_path / "other" in granted
