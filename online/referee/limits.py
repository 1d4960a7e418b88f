"""What a user's algorithm may use, watched from outside: time, memory, processes, files, and what it prints."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import stat
import threading
import time
from typing import IO

from ratiobench.formulations import processes
from ratiobench.formulations.processes import end_keeper, tree_memory_mb
from ratiobench.online import run_context
from ratiobench.online.answers import shorten
from ratiobench.online.referee import confinement, sandbox
from ratiobench.online.referee.process import AnyProcess

ANSWER_SECONDS = 600.0  # An algorithm that does not answer in this time has broken the protocol
BUILD_SECONDS = 60.0  # Where a run has a limit, building the algorithm has one of its own: its process has to start
# So much of what its process spends compiling with numba is in neither the seconds of a run nor its limit
COMPILING_SECONDS = 120.0
MEMORY_MB = 4096  # An algorithm that takes more memory, with the processes it starts, has broken the protocol
OUTPUT_BYTES = 5 * 10**6  # What an algorithm prints beyond that, in all its runs on an instance, is dropped
_OWN_PROCESSES = 3  # Beside those of the algorithm: the keeper, or bubblewrap and the server inside
# Files and folders that an algorithm under Landlock may keep in its temporary folder, and how deep
_FOLDER_FILES, _FOLDER_DEPTH = 10_000, 100


# Exit statuses of a process that the kernel ended for its processor time; the second one comes through bubblewrap
CPU_TIME_IS_UP = tuple(getattr(signal, "SIGXCPU", 24) * sign + shift for sign, shift in ((-1, 0), (1, 128)))


def cpu_seconds() -> int:
    """The processor time of each process of an isolated algorithm: all cores for as long as a run may take."""
    limit = run_context.current().limit
    if limit is None:
        return 86_400
    return math.ceil((limit + BUILD_SECONDS + COMPILING_SECONDS) * (os.cpu_count() or 1))


class Guard:
    """Ends the algorithm's process when it does not answer in time or grows too big, and remembers why."""

    def __init__(self, process: AnyProcess, *, isolated: bool = False, folder: str | None = None) -> None:
        self.foul: tuple[str, str] | None = None
        self._process, self._isolated, self._folder = process, isolated, folder
        self._limit, self._left = run_context.current().limit, run_context.current().left
        self._deadline: float | None = None
        self.begin(BUILD_SECONDS)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="algorithm-guard")
        self._thread.start()

    def begin(self, seconds: float | None = None) -> None:
        """The clock for a whole run starts, if there is a limit, or one for as many seconds."""
        self._end: tuple[float, float] | None = None
        if self._limit is not None:
            if seconds is None:
                seconds = self._limit if self._left is None else max(0.0, min(self._limit, self._left()))
            self._end = (time.monotonic() + seconds, seconds)

    def spare(self, seconds: float) -> None:
        """The clock for a whole run is put back so far."""
        if self._end is not None:
            self._end = (self._end[0] + seconds, self._end[1])

    def ask(self) -> None:
        self._deadline = time.monotonic() + ANSWER_SECONDS

    def answered(self) -> None:
        self._deadline = None

    def _run(self) -> None:
        turn = 0
        while not self._done.wait(0.05):
            turn += 1
            try:
                self.foul = self._judge(turn)
            except Exception as error:  # an error here may not switch the limits off
                self.foul = ("crash", f"it cannot be watched: {shorten(type(error).__name__)}")
            if self.foul is not None:
                end_keeper(self._process)
                return

    def _judge(self, turn: int) -> tuple[str, str] | None:
        now, deadline, end = time.monotonic(), self._deadline, self._end
        if self._left is not None and self._left() == -math.inf:
            return "timeout", "interrupted"
        if end is not None and now > end[0]:
            return "timeout", run_context.stop_message(end[1])
        if deadline is not None and now > deadline:
            return "timeout", f"no answer within {ANSWER_SECONDS:g} s"
        if tree_memory_mb(self._process.pid) > MEMORY_MB:
            return "memory", f"more than {MEMORY_MB} MB in use"
        if not self._isolated:
            return None
        below = processes.descendants(self._process.pid)
        if len(below) > confinement.PROCESSES + _OWN_PROCESSES:
            return "processes", f"more than {confinement.PROCESSES} processes at a time"
        if sum(map(processes.count_threads, below)) > confinement.THREADS + 4 * (os.cpu_count() or 1):
            return "processes", f"more than {confinement.THREADS} threads at a time"
        if turn % 4:
            return None
        removed: dict[tuple[int, int], int] = {}
        for each in below:
            removed |= processes.sizes_of_removed_files(each)
        device = None if self._folder is None else os.lstat(self._folder).st_dev
        if sum(size for (place, _), size in removed.items() if place != device) >> 20 > MEMORY_MB:
            return "memory", f"more than {MEMORY_MB} MB in use"
        if self._folder is None:
            return None
        return _too_full(self._folder, {inode: size for (place, inode), size in removed.items() if place == device})

    def stop(self) -> None:
        self._done.set()
        await_end(self._thread)


def _too_full(folder: str, sizes: dict[int, int]) -> tuple[str, str] | None:
    """The limit on its folder that an algorithm exceeds; `sizes`: by inode, of files there that have no name."""
    ways, count = [(folder, 0)], 0
    while ways:
        parent, depth = ways.pop()
        if depth > _FOLDER_DEPTH:
            return "disk", f"folders in its temporary folder are more than {_FOLDER_DEPTH} deep"
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                count += 1
                with contextlib.suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    sizes[about.st_ino] = about.st_blocks * 512
                    if stat.S_ISDIR(about.st_mode):
                        ways.append((entry.path, depth + 1))
    if count > _FOLDER_FILES or sum(sizes.values()) > sandbox.TMP_BYTES:
        return "disk", f"more than {sandbox.TMP_BYTES >> 20} MB or {_FOLDER_FILES} files in its temporary folder"
    return None


def await_end(thread: threading.Thread, seconds: float | None = None) -> None:
    """Wait for the end of a thread, not for one's own: garbage, with what it closes, is collected in any thread."""
    if thread is not threading.current_thread():
        thread.join(seconds)


class Echo:
    """What an algorithm prints, passed on to the error stream: up to `OUTPUT_BYTES`, then a line that says so."""

    def __init__(self, name: str, *, silent: bool = False) -> None:
        self._name, self._left, self._told = name, 0 if silent else OUTPUT_BYTES, silent

    def follow(self, pipe: IO[bytes]) -> threading.Thread:
        """Pass on what comes through the pipe, in a thread, until its end."""
        thread = threading.Thread(target=self._run, args=(pipe,), daemon=True, name="algorithm-echo")
        thread.start()
        return thread

    def _run(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 2**16):
                _print(data[: self._left])
                dropped, self._left = len(data) > self._left, max(0, self._left - len(data))
                if dropped and not self._told:
                    self._told = True
                    limit = f"{OUTPUT_BYTES / 10**6:g} MB"
                    _print(f"\nratiobench: {self._name} printed more than {limit}; the rest is dropped\n".encode())


# Control bytes, which a terminal would execute, are printed as question marks
_PRINTABLE = bytes(byte if byte in b"\t\n\r" or 32 <= byte != 127 else ord("?") for byte in range(256))


def _print(data: bytes) -> None:
    data = data.translate(_PRINTABLE)
    with contextlib.suppress(OSError):  # nobody reads it
        while data:
            data = data[os.write(2, data) :]


class _Undumpable:
    """While anyone's algorithm runs, its processes may not look into the memory of this one (root's may)."""

    def __init__(self) -> None:
        self._lock, self._holders, self._before = threading.RLock(), 0, False

    def change(self, by: int) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = processes.is_dumpable()
            self._holders += by
            processes.set_dumpable(self._before and self._holders == 0)


undumpable = _Undumpable()
