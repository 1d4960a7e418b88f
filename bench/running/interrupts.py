"""Ctrl-C while modules are loaded."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def postpone_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block, not inside: for imports of large packages.

    An exception inside an import of pandas can be lost in a callback, which prints a traceback and goes on; and Python
    ends by the signal, not with an exit status, after one inside the `exec` that makes a dataclass.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt
