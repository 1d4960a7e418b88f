"""A seccomp filter for users' algorithms: a program of the kernel's own that refuses system calls.

Numbers of system calls are pairs, of x86_64 and aarch64; on other machines there is no filter.

Source: Linux, `Documentation/userspace-api/seccomp_filter.rst`; numbers from `unistd_64.h` and `asm-generic/unistd.h`.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

_GET_SECCOMP, _SET_SECCOMP, _FILTER, _NO_NEW_PRIVILEGES = 21, 22, 2, 38  # Of Linux's `prctl`
# Instructions of classic BPF: load a word, jump if equal, if greater, if a bit is set, return, bitwise and
_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_BITS, _RETURN, _AND = 0x20, 0x15, 0x25, 0x45, 0x06, 0x54
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # Offsets in `struct seccomp_data`
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, and PARENT: a child of the server
_REFUSED_CLONES = 0x7E028000
_AF_UNIX, _SOCK_TYPE, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 0xF, 1, 5
_DEATH_SIGNAL, _SIGKILL = 1, 9
# Of `ioctl`: typing into a terminal; whom a signal goes to; flags, version and project of an inode
_REFUSED_IOCTLS = (0x5412, 0x541C, 0x8901, 0x8902, 0x40086602, 0x40046602, 0x40087602, 0x40047602, 0x401C5820)
# Of `fcntl`: whom a signal goes to when there is input, and which; how long what is written will be wanted
_REFUSED_FCNTLS = (8, 10, 15, 1036, 1038)
_LOCKS = (5, 6, 7, 36, 37, 38)  # Of `fcntl`, too: locks, which others see
_SOCKET_COOKIE = 57
_LAST = 469  # The last system call that is known here (Linux 6.17); later ones do not exist inside

_REFUSED: Mapping[str, tuple[int, int]] = {
    # Other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241), "migrate_pages": (256, 238), "move_pages": (279, 239),
    # What a process can leave behind for the next one on another process or on a file that stays.
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "file_setattr": (469, 469), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "fchown": (93, 55), "fchownat": (260, 54), "utimensat": (280, 88), "truncate": (76, 45),
    # What the kernel holds in memory of files tells what others have read.
    "preadv2": (327, 286), "mincore": (27, 232), "cachestat": (451, 451), "fadvise64": (221, 223),
    # Open files on their way from one process to another are counted by nobody.
    "sendmsg": (46, 211), "sendmmsg": (307, 269),
    # The network, and sockets with a name.
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "accept4": (288, 242), "bind": (49, 200),
    "listen": (50, 201),
    # Mounts, namespaces, and files by other ways than their names.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "unshare": (272, 97), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467), "statmount": (457, 457), "listmount": (458, 458), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "inotify_add_watch": (254, 27),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    # The clock and the machine.
    "clock_settime": (227, 112), "settimeofday": (164, 170), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "reboot": (169, 142), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "sethostname": (170, 161), "setdomainname": (171, 162),
    "syslog": (103, 116), "nfsservctl": (180, 42), "vhangup": (153, 58), "personality": (135, 92),
    # Parts of the kernel that are wide doors.
    "bpf": (321, 280), "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219),
    # Memory that belongs to no process, and outlives a run.
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}  # fmt: skip
_REFUSED_X86: Mapping[str, int] = {
    "iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "_sysctl": 156, "create_module": 174,
    "lookup_dcookie": 212, "chmod": 90, "chown": 92, "lchown": 94, "utime": 132, "utimes": 235, "futimesat": 261,
}  # fmt: skip
# Programs do without these where a kernel does not have them
_ABSENT: Mapping[str, tuple[int, int]] = {
    "clone3": (435, 435), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
}  # fmt: skip
# Their arguments decide
_CHECKED: Mapping[str, tuple[int, int]] = {
    "socketpair": (53, 199), "clone": (56, 220), "prctl": (157, 167), "prlimit64": (302, 261), "ioctl": (16, 29),
    "fcntl": (72, 25), "getsockopt": (55, 209),
}  # fmt: skip
_FLOCK = (73, 32)
_SIGNALS: Mapping[str, tuple[int, int]] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip


class Machine(NamedTuple):
    """A processor: its place in the tables of numbers, and the kernel's number of it (AUDIT_ARCH)."""

    place: int
    audit: int


MACHINES: Mapping[str, Machine] = {"x86_64": Machine(0, 0xC000003E), "aarch64": Machine(1, 0xC00000B7)}


@cache
def is_supported() -> bool:
    """Whether there is a filter for this machine, and the kernel takes filters."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        return False
    return int(ctypes.CDLL(None).prctl(_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def build_filter(machine: str = "", *, keep_locks: bool = False, signals_to: int | None = None) -> bytes:
    """The filter, as the kernel and bubblewrap read it: an array of `struct sock_filter`."""
    # `keep_locks`: no file can be locked, which others that read it would see; `signals_to`: the only process that may
    # be sent signals.
    found = MACHINES[machine or platform.machine()]
    place = found.place
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_JUMP_EQUAL, found.audit, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
        # On x86_64 the numbers of the other way to call (x32) lie above, too.
        _instruction(_JUMP_ABOVE, _LAST, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    refused = [numbers[place] for numbers in _REFUSED.values()]
    refused += [*(_REFUSED_X86.values() if place == 0 else ()), *[_FLOCK[place]] * keep_locks]
    rules = [(number, [_DENIED]) for number in refused]
    rules += [(numbers[place], [_instruction(_RETURN, _ERRNO | errno.ENOSYS)]) for numbers in _ABSENT.values()]
    rules += [(numbers[place], list(_check(name, keep_locks))) for name, numbers in _CHECKED.items()]
    if signals_to is not None:
        block = [_argument(0), _instruction(_JUMP_EQUAL, signals_to, 1, 0), _DENIED, _ALLOWED]
        rules += [(numbers[place], block) for numbers in _SIGNALS.values()]
    for number, block in rules:
        code += [_instruction(_JUMP_EQUAL, number, 0, len(block)), *block]
    return b"".join([*code, _ALLOWED])


def _check(name: str, keep_locks: bool) -> Iterator[bytes]:
    """What a system call is allowed with; the block ends with a return."""
    if name == "socketpair":  # a pair of streams can be sent to nobody else
        yield from (_argument(0), _instruction(_JUMP_EQUAL, _AF_UNIX, 1, 0), _DENIED)
        yield from (_argument(1), _instruction(_AND, _SOCK_TYPE))
        yield _instruction(_JUMP_EQUAL, _SOCK_STREAM, 2, 0)
        yield from (_instruction(_JUMP_EQUAL, _SOCK_SEQPACKET, 1, 0), _DENIED)
    elif name == "clone":
        yield from (_argument(0), _instruction(_JUMP_BITS, _REFUSED_CLONES, 0, 1), _DENIED)
    elif name == "prctl":  # what must end with its parent goes on to do so
        yield from (_argument(0), _instruction(_JUMP_EQUAL, _DEATH_SIGNAL, 0, 3))
        yield from (_argument(1), _instruction(_JUMP_EQUAL, _SIGKILL, 1, 0), _DENIED)
    elif name == "prlimit64":  # its own limits
        yield from (_argument(0), _instruction(_JUMP_EQUAL, 0, 1, 0), _DENIED)
    else:
        argument, refused = {
            "ioctl": (1, _REFUSED_IOCTLS),
            "fcntl": (1, _REFUSED_FCNTLS + _LOCKS * keep_locks),
            "getsockopt": (2, (_SOCKET_COOKIE,)),
        }[name]
        yield _argument(argument)
        for value in refused:
            yield from (_instruction(_JUMP_EQUAL, value, 0, 1), _DENIED)
    yield _ALLOWED


def _instruction(code: int, operand: int, equal: int = 0, other: int = 0) -> bytes:
    return struct.pack("=HBBI", code, equal, other, operand)


def _argument(place: int) -> bytes:
    """Load the lower half of an argument: all that are looked at here are numbers of 32 bits to the kernel, too."""
    return _instruction(_LOAD, _ARGUMENTS + 8 * place)


_ALLOWED, _DENIED = _instruction(_RETURN, _ALLOW), _instruction(_RETURN, _ERRNO | errno.EPERM)


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(code: bytes) -> None:
    """Put a filter on this thread, and on all threads and processes that it starts; it stays."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses a filter of system calls")
