"""`python -m ratiobench`, and the command `ratiobench`."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn


def main() -> int:
    """Run a command; the exit status. Ctrl-C is answered in a line while the commands are still being loaded, too."""
    patient = signal.getsignal(signal.SIGINT) is not signal.default_int_handler  # ignored, as `nohup` wants it
    if not patient:
        signal.signal(signal.SIGINT, _leave)  # an exception would pass through anything's import
    from ratiobench.bench.cli.main import main as run

    if not patient:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        _leave()


def _leave(*_: object) -> NoReturn:
    os.write(2, b"ratiobench: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
