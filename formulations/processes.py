"""The processes below one: how much memory they hold, and the end of them all, those that detached themselves included.

A process can die before those that it started, and they can leave its group and its session. So what must not survive
runs under a keeper (`run_keeper`), to which the kernel gives every orphan below it (Linux; else a group is all there
is).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Protocol

GRACE = 5.0  # Seconds that a keeper has to end what is below it; then it is done from here
_SET_DEATH_SIGNAL, _DUMPABLE, _SET_DUMPABLE, _ADOPT_ORPHANS = 1, 3, 4, 36  # Numbers of Linux's `prctl`


class Process(Protocol):
    """What is needed of a process that was started: a part of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...  # None until it has been waited for
    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


def descendants(pid: int) -> list[int]:
    """The processes that this one started, and those that they started, and so on; none where the system is silent."""
    found = [pid]
    for parent in found:  # which grows on the way
        with contextlib.suppress(OSError, ValueError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{thread}/children") as file:
                    found += map(int, file.read().split())
    return found[1:]


def tree_memory_mb(pid: int) -> int:
    """Resident memory of the process and of all below it; 0 where the system does not tell."""
    pages = 0
    for each in (pid, *descendants(pid)):
        for place in _proc_folders(each):
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"{place}/statm") as file:
                if resident := int(file.read().split()[1]):
                    pages += resident
                    break
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20 if pages else 0


def _proc_folders(pid: int) -> Iterator[str]:
    """The folders of /proc with figures of a process: its own, then its threads', for the first one may have ended."""
    yield f"/proc/{pid}"
    with contextlib.suppress(OSError):
        yield from (f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task"))


def sizes_of_removed_files(pid: int) -> dict[tuple[int, int], int]:
    """Bytes of files that a process holds open or mapped without their names, by device and inode (Linux)."""
    opened: dict[tuple[int, int], int] = {}
    mapped: dict[tuple[int, int], int] = {}
    for place in _proc_folders(pid):
        with contextlib.suppress(OSError):
            for number in os.listdir(f"{place}/fd"):
                with contextlib.suppress(OSError):
                    about = os.stat(f"{place}/fd/{number}")
                    if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                        opened[about.st_dev, about.st_ino] = about.st_blocks * 512
            with open(f"{place}/maps", encoding="utf-8", errors="replace") as file:
                for line in file:
                    addresses, _, _, where, inode, *name = line.split(maxsplit=5)
                    if name and name[0].endswith("(deleted)\n"):
                        begin, end = (int(address, 16) for address in addresses.split("-"))
                        major, minor = (int(part, 16) for part in where.split(":"))
                        key = os.makedev(major, minor), int(inode)
                        mapped[key] = mapped.get(key, 0) + end - begin
        if opened or mapped:
            break
    return mapped | opened


def count_threads(pid: int) -> int:
    """The threads of a process; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def usable_threads() -> int:
    """Threads that this process may keep busy: of a pool's processes each has its part of the cores."""
    return int(os.environ.get("NUMBA_NUM_THREADS") or 0) or os.cpu_count() or 1


def remove_tree(folder: str) -> None:
    """Remove a folder with all that is in it, however deep it is and whatever its modes are, as far as that can be."""
    ways, number = [folder], 0
    emptied: list[str] = []
    while ways:
        parent = ways.pop()
        emptied.append(parent)
        with contextlib.suppress(OSError):
            os.chmod(parent, 0o700)
            with os.scandir(parent) as entries:
                inside = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
            for path, is_folder in inside:
                with contextlib.suppress(OSError):
                    if not is_folder:
                        os.unlink(path)
                    elif parent == folder:
                        ways.append(path)
                    else:
                        number += 1  # moved up before it is emptied, so that no path gets long
                        os.chmod(path, 0o700)  # to move a folder is to write into it
                        os.rename(path, moved := os.path.join(folder, f"{number}.{os.urandom(8).hex()}"))
                        ways.append(moved)
    for parent in reversed(emptied):
        with contextlib.suppress(OSError):
            os.rmdir(parent)


def kill_tree(process: Process) -> None:
    """Kill the process with all below it and its group. Not once it has been reaped: its number may be another's."""
    if process.returncode is not None:
        return
    below = descendants(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    _signal_all(below, signal.SIGKILL)


def _signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_keeper(process: Process) -> None:
    """Have a keeper end what is below it, and itself; where it does not, kill what can be found."""
    if process.returncode is None and sys.platform == "linux":
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    kill_tree(process)


def _control(option: int, value: int = 0) -> int:
    """One of Linux's settings of this process, or -1; nothing elsewhere."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))
    return -1


def is_dumpable() -> bool:
    """Whether other processes of this user may look into the memory of this one (root may, always)."""
    return _control(_DUMPABLE) == 1


def set_dumpable(value: bool) -> None:
    """Allow or forbid that (Linux)."""
    _control(_SET_DUMPABLE, int(value))


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies (Linux), and go at once if it already has."""
    if sys.platform == "linux":
        _control(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run_keeper(parent: int | None) -> None:
    """Split this process: the caller goes on in a child, and here a keeper stays that never returns.

    The keeper ends with the child, with the other end of its standard input, with its parent (`parent`, None where it
    cannot be known), and on SIGTERM, and before that it kills whatever is below it. Its exit status is the child's.
    """
    if sys.platform != "linux":
        if parent is not None and os.name == "posix":
            die_with_parent(parent)
        return
    if parent is not None and os.getppid() != parent:
        os._exit(1)
    parent = os.getppid()
    _control(_ADOPT_ORPHANS, 1)
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    pids: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: pids.append(number))
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    me = os.getpid()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(awake)
        os.close(waker)
        die_with_parent(me)
        return
    # Whoever waits for the child's output must not wait for the keeper's end of it.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    poll = select.poll()
    poll.register(awake, select.POLLIN)
    poll.register(0, 0)  # tells the end of it, and reads nothing
    status = _reaped(child)
    while status is None and not pids and os.getppid() == parent:
        events = dict(poll.poll(500))
        if awake in events:
            os.read(awake, 4096)
        status = _reaped(child)
        if 0 in events:
            break
    for _ in range(1000):
        below = descendants(me)
        if not below:
            break
        _signal_all(below, signal.SIGSTOP)
        _signal_all(below, signal.SIGKILL)
        found = _reaped(child)
        status = found if status is None else status
        time.sleep(0.002)
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        set_dumpable(False)  # one core file is enough
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(me, number)
    os._exit(0 if status is None else os.waitstatus_to_exitcode(status) & 255)


def _reaped(child: int) -> int | None:
    """Bury whatever has died below; the child's status, if it was among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                found = ended[1]
    return found
