"""All solvers beside brute force on many random tiny instances: `nox -s crosscheck`, a sample in the tests."""

from __future__ import annotations

import argparse

from ratiobench.formulations.lora.crosscheck import crosscheck
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.report import Termination
from tests.formulations.lora.test_models import contended_instance


def compare_solvers(number: int) -> int:
    """Let every formulation and solver prove the optimum of an instance; the optimum by brute force.

    Parameters
    ----------
    number : of the instance.

    Raises
    ------
    AssertionError : a row that does not prove this optimum.
    """
    instance = contended_instance(number)
    optimum, _ = enumerate_optimum(instance)
    found = crosscheck(instance)
    assert found.verdict == "all agree", (number, found.differs)
    assert found.lower == found.upper == optimum, number
    for row in found.rows[:-1]:
        assert row.answer.status is Termination.OPTIMAL, (number, row)
        assert row.answer.verified == row.bound == optimum, (number, row)
    return optimum


def main() -> None:
    """Compare on so many instances; a line every 50."""
    parser = argparse.ArgumentParser(description="Every solver beside brute force on random tiny instances.")
    parser.add_argument("--count", type=int, default=300, help="instances (300)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (0)")
    options = parser.parse_args()
    positive = 0
    for done in range(1, options.count + 1):
        positive += compare_solvers(options.first + done - 1) > 0
        if done % 50 == 0 or done == options.count:
            print(f"{done} instances, on {positive} of them OPT > 0: all solvers agree", flush=True)


if __name__ == "__main__":
    main()
