"""Everything that is proved, on many random instances in exact arithmetic: `nox -s theory`, a sample in the tests.

One shared set of instances: several nodes and types, vendors, ties, tight windows; a third with negative costs, the
others with bids raised until bbar >= 1, so that every proof has its assumptions somewhere. On each, OPT by enumeration
(and again by branch and bound), every algorithm with a theorem under the referee, and every check that can be made of
the runs. An invariant counts an instance when its check holds there; anything but `holds` and `not applicable` is a
failure that names the instance.
"""

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.moves import Bounds, draw_start, raise_bids
from ratiobench.bench.lora.counterexamples.tiny import (
    TinyInstance,
    TinyLimitExceeded,
    find_optimum,
    instance,
    menu,
    simulate_pdftsp,
)
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.basis.dual import Dual
from ratiobench.bench.lora.theory.claims import ProofStatus
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from ratiobench.online.outcome import OnlineRun
from tests.support.laboratory import PAPER, guarantees, truthfulness
from tests.tools import theory_guard, theory_laws, theory_lookahead

ALGORITHMS = (
    "pdftsp:units=given",
    "posted",
    "minimal-edit",
    "minimal-edit:units=canonical",
    "capped",
    "bbar-rule",
    "greedy",
)
PROVED = tuple(claim for claim in PAPER if claim.standing is ProofStatus.PROVED)
ROOMLESS = "posted:room=ignored"
# Of a mechanism with constants that no bid moves: each instance has one, in turn; pdFTSP is none of them
TRUTHFUL = ("truthful_bid", "truthful_type", "rational", "no_deficit")

# What must never fail; the first ones are the claims of `ratiobench.bench.lora.theory.claims` that are proved
INVARIANTS = (
    *(claim.name for claim in PROVED),
    "dual_certificate",
    "dual_at_random_prices",
    "theorem_a",
    "theorem_a_without_room_test",
    "theorem_b",
    "theorem_c",
    "theorem_c_a_priori",
    "theorem_g",
    *theory_guard.INVARIANTS,
    *theory_laws.INVARIANTS,
    *theory_lookahead.INVARIANTS,
    *TRUTHFUL,
    "two_optima_agree",
    "two_runs_agree",
)
CHUNK = 200  # Instances that a process takes at a time


class Failure(AssertionError):
    """An invariant that does not hold on an instance."""


_BOUNDS = (
    Bounds(tasks=5, slots=4, nodes=3, largest=40, costs=-9, vendors=True),
    Bounds(tasks=5, slots=5, nodes=2, largest=60, costs=0, vendors=True),
    Bounds(tasks=6, slots=4, nodes=2, largest=30, costs=None, vendors=False),
)


def sketch_of_number(j: int) -> TinyInstance:
    """Number j of the shared set, the same on every machine."""
    draws = RandomNumbers("theory", j)
    sketch = draw_start(draws, _BOUNDS[j % 3])
    if draws.draw_below(5):
        # Large nodes beside the tasks: no task fills one (eps < 1), and several prices build up.
        kinds = tuple(kind._replace(compute=2 * kind.compute, memory=3 * kind.memory) for kind in sketch.kinds)
        sketch = sketch._replace(kinds=kinds)
    return raise_bids(sketch) if j % 3 else sketch


def judged(j: int, sketch: TinyInstance) -> Iterator[Check]:
    """Every check on every run of the sketch's instance."""
    given = instance(sketch, f"theory {j}")
    best, solution = enumerate_optimum(given)
    reference = SolveReport(
        Status.OPTIMAL, best, best, solution, Proof.ENUMERATION, "-", "none", Termination.NONE, False, 0.0
    )
    menus = [menu(sketch, job) for job in sketch.jobs]
    yield _equal("two_optima_agree", find_optimum(sketch, menus), best)
    for name in ALGORITHMS:
        result = run(given, name)
        if not result.valid:
            raise Failure(f"{name}: {result.violations[0]}")
        if name == "pdftsp:units=given":
            case = Case(given, result, reference)
            for claim in PROVED:
                yield claim.check_run(case)
            yield _same_run(sketch, result.trace, result.welfare)
            yield _random_prices(given, best, RandomNumbers("theory", j, "prices"))
        yield from guarantees(given, result, reference)
        if name == ALGORITHMS[1 + j % (len(ALGORITHMS) - 1)]:
            yield from truthfulness(given, run(given, _public(name, result)))
    yield _without_room_test(given, reference)
    yield from theory_guard.judged_guards(j, sketch, given, reference)
    yield from theory_laws.judged_laws(j, sketch, given, reference)
    yield from theory_lookahead.judged_law(j)


def _public(name: str, result: OnlineRun) -> str:
    """The algorithm with the constants of the run stated, so that they do not follow the bids."""
    stated = ",".join(f"{constant.name}={constant.value}" for constant in result.constants)
    return f"{name}{',' if ':' in name else ':'}{stated}" if stated else name


def _equal(name: str, one: object, other: object) -> Check:
    verdict = Verdict.HOLDS if one == other else Verdict.VIOLATED
    return Check(name, verdict, None, None, f"{one} and {other}")


def _same_run(sketch: TinyInstance, trace: object, welfare: int) -> Check:
    """pdFTSP by the referee and by the sketch's integers: F, admission, final prices, welfare."""
    assert isinstance(trace, PriceTrace)
    menus = [menu(sketch, job) for job in sketch.jobs]
    twin = simulate_pdftsp(sketch, menus)
    ours = [(None if a.plan is None else Fraction(a.value, a.over), a.admitted) for a in twin.answers]
    theirs = [(offer.value, offer.admitted) for offer in trace.offers]
    lam = {divmod(c, sketch.slots): Fraction(value, twin.over) for c, value in enumerate(twin.lam) if value}
    found = {(k, t - 1): value for (k, t), value in trace.lam.items()}
    return _equal("two_runs_agree", (ours, lam, twin.welfare), (theirs, found, welfare))


def _random_prices(given: Instance, best: int, draws: RandomNumbers) -> Check:
    """OPT <= D(lambda, phi) for any prices."""

    def table() -> dict[tuple[int, int], Fraction]:
        cells = [(k, t) for k in range(given.nodes) for t in range(1, given.slots + 1)]
        return {
            cell: Fraction(draws.draw_below(40), draws.draw_between(1, 12)) for cell in cells if draws.draw_below(3)
        }

    value = Dual(given).exact(table(), table()).value
    verdict = Verdict.HOLDS if best <= value else Verdict.VIOLATED
    return Check("dual_at_random_prices", verdict, Fraction(best), value)


def _without_room_test(given: Instance, reference: SolveReport) -> Check:
    """Theorem A: where eps < 1 prices alone keep to capacity (the referee would call a foul), with the same bound."""
    name = "theorem_a_without_room_test"
    result = run(given, ROOMLESS)
    if not result.valid:
        raise Failure(f"{ROOMLESS}: {result.violations[0]}")
    found = next(check for check in guarantees(given, result, reference) if check.name == "theorem_a")
    return Check(name, found.status, found.left, found.right, found.reason, found.witness)


def theory(first: int, count: int) -> Counter[str]:
    """On how many of the instances first, ..., first + count - 1 each invariant holds."""
    held: Counter[str] = Counter()
    for j in range(first, first + count):
        sketch = sketch_of_number(j)
        seen = {"instances"}
        try:
            for check in judged(j, sketch):
                if check.status not in (Verdict.HOLDS, Verdict.NOT_APPLICABLE):
                    raise Failure(f"{check.name} {check.status}: {check.left} <= {check.right} ({check.reason})")
                if check.status is Verdict.HOLDS and check.name in INVARIANTS:
                    seen.add(check.name)
        except TinyLimitExceeded:
            continue
        except Failure as failure:
            raise Failure(f"instance {j}: {failure}\n{sketch}") from None
        held.update(seen)
    return held


def _chunk(number: int) -> Counter[str]:
    return theory(number * CHUNK, CHUNK)


def main() -> None:
    parser = argparse.ArgumentParser(description="Every invariant on at least so many exact random instances.")
    parser.add_argument("--count", type=int, default=10_000, help="instances per invariant (10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first instance, in whole parts of 200 (0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="one per core")
    options = parser.parse_args()
    began = time.monotonic()
    held: Counter[str] = Counter()
    least = INVARIANTS[0]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        start, step = options.first // CHUNK, 4 * options.processes
        rounds = (range(first, first + step) for first in itertools.count(start, step))
        # Chunks are counted in order: which instances they are does not depend on the number of processes.
        for found in itertools.chain.from_iterable(pool.imap(_chunk, each) for each in rounds):
            held += found
            least = min(INVARIANTS, key=lambda name: held[name])
            rate = held["instances"] / (time.monotonic() - began)
            line = f"{held['instances']:,} instances, {rate:.0f}/s; least: {least} {held[least]:,}"
            print(line, file=sys.stderr, flush=True)
            if held[least] >= options.count:
                break
        pool.terminate()
    print(f"{held['instances']:,} instances in {time.monotonic() - began:.0f} s; each invariant held on:")
    for name in INVARIANTS:
        print(f"  {name:<30} {held[name]:>8,}")
    print("none violated")


if __name__ == "__main__":
    main()
