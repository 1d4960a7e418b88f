"""Compare with what is stored: `python -m tests.golden [PART ...] [--only TEXT] [--long] [--write] [--workers N]`."""

from __future__ import annotations

import sys

from tests.golden.run import main

if __name__ == "__main__":
    sys.exit(main())
