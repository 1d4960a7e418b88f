"""Landlock (Linux 5.13): the files that this process and all that it starts may still use.

Source: Linux, `Documentation/userspace-api/landlock.rst`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # System calls, with the same numbers on all machines
_ASK_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
# How many rights on files each version knows; later ones know as many as the last here
_RIGHTS_OF_VERSION = (0, 13, 14, 15, 15, 16)
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15  # The last two: truncate, ioctl of devices
_MAKE_DEVICES_AND_SOCKETS = 1 << 6 | 1 << 9 | 1 << 11
TCP_VERSION, SIGNALS_VERSION = 4, 6
# List a folder; read what is beneath; read and write existing files; do all beneath but make devices and sockets
LIST, READ, USE, WRITE = "list", "read", "use", "write"
_NO_NEW_PRIVILEGES = 38


@cache
def version() -> int:
    """The version of Landlock (its ABI) that the running kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    with suppress(OSError, AttributeError):
        return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))))
    return 0


def restrict(rules: Iterable[tuple[str, str]]) -> None:
    """Restrict this thread, and all that it starts, to the files of the rules; for ever."""
    known = version()
    libc = ctypes.CDLL(None, use_errno=True)
    everything = (1 << _RIGHTS_OF_VERSION[min(known, len(_RIGHTS_OF_VERSION) - 1)]) - 1
    attributes = struct.pack("=Q", everything)
    if known >= TCP_VERSION:
        attributes += struct.pack("=Q", 3)  # neither bind nor connect by TCP
    if known >= SIGNALS_VERSION:
        attributes += struct.pack("=Q", 3)  # no named socket without a file, and no signal to a process outside
    made = libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if made < 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses Landlock")
    rights = {
        LIST: _READ_DIR,
        READ: _READ_DIR | _READ_FILE | _EXECUTE,
        USE: _READ_FILE | _WRITE_FILE,
        WRITE: everything & ~_MAKE_DEVICES_AND_SOCKETS,
    }
    try:
        for path, right in rules:
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
                try:
                    allowed = rights[right] & everything
                    if not os.path.isdir(f"/proc/self/fd/{opened}"):
                        allowed &= _OF_A_FILE
                    rule = struct.pack("=Qi", allowed, opened)
                    if allowed and libc.syscall(_ADD, made, _BENEATH, rule, ctypes.c_uint32(0)):
                        raise OSError(ctypes.get_errno(), "the kernel refuses a rule of Landlock")
                finally:
                    os.close(opened)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(_RESTRICT, made, ctypes.c_uint32(0)):
            raise OSError(ctypes.get_errno(), "the kernel refuses Landlock")
    finally:
        os.close(made)
