"""`python -m tests.power`: see `tests.power.run`."""

import sys

from tests.power.run import main

if __name__ == "__main__":
    sys.exit(main())
