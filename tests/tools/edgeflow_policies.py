"""Random tiny instances of edgeflow: upper bound >= optimum >= every valid run of every policy.

`python -m tests.tools.edgeflow_policies [--count 2000] [--seed 1]` makes them in one process and says of each that is
not as it should be what came of it; a slice of it is in `tests/online/edgeflow/test_policies.py`.
"""

import argparse
import random
import time

from ratiobench.formulations import worker
from ratiobench.formulations.edgeflow.solve import solve
from ratiobench.online.edgeflow.run import ENVIRONMENT, run
from ratiobench.online.run import list_choices
from tests.tools.edgeflow_bounds import SIZES, tiny

PLAYED = 20  # So many of the policies, with all choices of their options, play each instance


def judge(count: int, seed: int) -> int:
    """How many of so many instances are not as they should be."""
    draw = random.Random(seed)
    choices = list_choices(ENVIRONMENT)
    wrong, told = 0, time.monotonic()
    for k in range(count):
        instance = tiny(draw, *SIZES[k % 2])
        upper = solve(instance, "dual").upper
        best = solve(instance, "slots").upper
        assert upper is not None
        assert best is not None
        runs = {name: run(instance, name) for name in draw.sample(choices, PLAYED)}
        bad = [name for name, found in runs.items() if not found.valid or found.welfare > min(best, upper)]
        if bad or best > upper:
            wrong += 1
            print(f"instance {k} of seed {seed}: upper {upper}, optimum {best}, wrong: {bad}", flush=True)
        if time.monotonic() - told > 5:
            told = time.monotonic()
            print(f"{k + 1} instances, {wrong} wrong", flush=True)
    worker.close_all()
    return wrong


def main() -> int:
    """The command; status 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    wrong = judge(given.count, given.seed)
    runs = PLAYED * given.count
    print(f"{given.count} instances, {runs} runs, {wrong} wrong, {time.monotonic() - began:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
