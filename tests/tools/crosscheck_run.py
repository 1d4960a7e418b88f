"""All solvers beside brute force on many random tiny instances: `nox -s crosscheck`, a sample in the tests.

Each instance is solved by `crosscheck` and by `solve` with every pair of formulation and solver; then so many tiny
instances of any kind by `solve`. At last `solve` prices all tasks of an instance by exchanges, as it prices long ones.
"""

import argparse

from ratiobench.formulations.lora.crosscheck import crosscheck
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.report import Termination
from ratiobench.instances.lora import Instance, content_hash
from tests.formulations.lora.test_long_tasks import solve_long_tasks
from tests.formulations.lora.test_models import PAIRS, contended_instance, installed, prove_optimum
from tests.support.examples import Examples
from tests.support.strategies.lora import tiny_instances


def compare_solvers(number: int) -> int:
    """Let every formulation and solver prove the optimum of an instance; the optimum by brute force."""
    instance = contended_instance(number)
    optimum, _ = enumerate_optimum(instance)
    found = crosscheck(instance)
    assert found.verdict == "all agree", (number, found.differs)
    assert found.lower == found.upper == optimum, number
    for row in found.rows[:-1]:
        assert row.answer.status is Termination.OPTIMAL, (number, row)
        assert row.answer.verified == row.bound == optimum, (number, row)
    return optimum


def solve_by_all_pairs(instance: Instance) -> None:
    """Let `solve` prove the optimum of an instance with every formulation and every installed solver."""
    for formulation, backend in PAIRS:
        if backend in installed():
            prove_optimum(instance, formulation, backend)


def main() -> None:
    """Compare on so many instances; a line every 50."""
    parser = argparse.ArgumentParser(description="Every solver beside brute force on random tiny instances.")
    parser.add_argument("--count", type=int, default=300, help="instances (300)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (0)")
    options = parser.parse_args()
    positive = 0
    for done in range(1, options.count + 1):
        number = options.first + done - 1
        positive += compare_solvers(number) > 0
        solve_by_all_pairs(contended_instance(number))
        if done % 50 == 0 or done == options.count:
            print(f"{done} instances, on {positive} of them OPT > 0: all solvers agree", flush=True)
    Examples(tiny_instances(), options.count, content_hash).check(solve_by_all_pairs)
    print(f"{options.count} tiny instances of any kind: all pairs agree", flush=True)
    solve_long_tasks()
    print("long tasks: by exchanges the same interval as by tables", flush=True)


if __name__ == "__main__":
    main()
