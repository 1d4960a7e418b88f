"""`python -m ratiobench`, and the command `ratiobench`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> int:
    """Run a command; the exit status. Ctrl-C is answered in a line while the commands are still being loaded, too."""
    _mend_streams()
    if sys.argv[1:2] == ["--version"]:
        from ratiobench import __version__

        print(f"ratiobench {__version__}")
        return 0
    # A thread of OpenBLAS costs a tenth of a second in each process, and nothing here multiplies large matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import signal

    patient = signal.getsignal(signal.SIGINT) is not signal.default_int_handler  # ignored, as `nohup` wants it
    if not patient:
        signal.signal(signal.SIGINT, _leave)  # an exception would pass through anything's import
    from ratiobench.bench.cli import main as run

    if not patient:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        _leave()


def _mend_streams() -> None:
    """Have all three standard streams, closed ones as none, that print any text: what an encoding lacks is escaped."""
    import io

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:  # it was closed: the next file to be opened would get its number
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
        if number and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave(*_: object) -> NoReturn:
    os.write(2, b"ratiobench: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
