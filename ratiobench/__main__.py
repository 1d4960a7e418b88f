"""`python -m ratiobench`, and the command `ratiobench`."""
# PYTHON_ARGCOMPLETE_OK: `ratiobench.bench.cli.parser.answer_completion`

from __future__ import annotations

import sys

from ratiobench.bench.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
