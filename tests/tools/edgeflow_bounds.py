"""Random tiny instances of edgeflow: every bound above the optimum, every schedule valid, nothing forged passes.

`python -m tests.tools.edgeflow_bounds [--count 2000] [--seed 1]` makes them in one process and says of each that is not
as it should be what came of it. What must hold: dual >= the optimum of `slots` = that of `enumerate` (where it is small
enough) >= every schedule that `check` finds valid; the certificate is accepted, mutants of it are refused; mutants of
a schedule are judged alike by `check` and `verify`.
"""

import argparse
import contextlib
import copy
import random
import time
from collections import Counter
from typing import Any

from ratiobench.bench.edgeflow.counterexample_search import draw_document
from ratiobench.formulations import worker
from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.edgeflow import verify as certificates
from ratiobench.formulations.edgeflow.check import check
from ratiobench.formulations.edgeflow.slots import enumerate_optimum
from ratiobench.formulations.edgeflow.solve import solve
from ratiobench.formulations.edgeflow.verify import Certificate, met, parse, seal, verify
from ratiobench.instances.edgeflow import format as files
from ratiobench.instances.edgeflow.model import Instance, Piece, Solution
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import RandomNumbers

Document = dict[str, Any]
SIZES = ((5, 30, 4), (3, 8, 2))  # Most jobs, seconds and GPUs of every other instance
STATES = 5_000  # Instances with more states in a second are not enumerated: it would take minutes


def tiny(draw: random.Random, jobs: int = 5, seconds: int = 30, gpus: int = 4) -> Instance:
    """A random instance within the limits of `slots`; of most jobs the work can be done in their window."""
    return files.parse(draw_document(RandomNumbers("tiny", draw.getrandbits(62)), jobs, seconds, gpus))


def mutant(draw: random.Random, solution: Solution) -> Solution:
    """The schedule with one number of one piece changed, or a piece left out, doubled or made up."""
    pieces = [list(each) for each in solution]
    if not pieces:
        return solution
    i = draw.randrange(len(pieces))
    row = pieces[i]
    if not row or draw.random() < 0.15:
        start = draw.randint(0, 29)
        row.append(Piece(start, start + draw.randint(1, 6), draw.choice([0, 1]), draw.choice([1, 2, 4])))
        row.sort()
    else:
        j = draw.randrange(len(row))
        what = draw.randrange(6)
        if what == 4:
            del row[j]
        elif what == 5:
            row.insert(j, row[j])
        else:
            values = list(row[j])
            values[what] = values[what] + draw.choice([-1, 1]) if what != 2 else 1 - values[what]
            row[j] = Piece(*values)
    return tuple(tuple(row) for row in pieces)


def forged(draw: random.Random, document: Document) -> Document:
    """The certificate with one number changed; resealed half the time."""
    other = copy.deepcopy(document)
    key = draw.choice(["upper", "lower", "gpu_prices", "edge_prices", "worths", "points", "scale", "instance"])
    if key == "instance":
        other[key] = "0" * 64
    elif isinstance(other[key], list):
        if not other[key]:
            return other
        k = draw.randrange(len(other[key]))
        other[key][k] += draw.choice([-1, 1])
    else:
        other[key] += draw.choice([-1, 1])
    if draw.random() < 0.5:
        with contextlib.suppress(InputError):
            other["sha256"] = seal(parse(other)[0])
    return other


def alike(instance: Instance, solution: Solution) -> str:
    """What is wrong with how the two checkers judge a schedule; empty if nothing."""
    one = check(instance, solution).value
    try:
        other: int | None = met(instance, solution)
    except CertificateError:
        other = None
    return "" if one == other else f"check says {one}, verify says {other}"


def judge(instance: Instance, draw: random.Random, mutants: int = 8) -> list[str]:
    """All that is not as it should be."""
    wrong = []
    exact = solve(instance, "slots")
    priced = solve(instance, "dual")
    if exact.lower != exact.upper:
        wrong.append(f"slots leaves {exact.interval}")
    if not priced.lower <= exact.lower <= priced.upper:
        wrong.append(f"dual {priced.interval}, slots {exact.interval}")
    try:
        value, schedule = enumerate_optimum(instance, STATES)
        if value != exact.lower or check(instance, schedule).value != value:
            wrong.append(f"enumerate {value}, slots {exact.interval}")
    except ValueError:
        pass
    for report in (exact, priced):
        if check(instance, report.solution).value != report.lower or alike(instance, report.solution):
            wrong.append("a schedule is not worth what is said")
        assert isinstance(report.certificate, Certificate)
        document = certificates.document(report.certificate)
        verdict = verify(instance, document)
        if not verdict.valid:
            wrong.append(f"certificate: {verdict.problem}")
        for _ in range(mutants):
            other = mutant(draw, report.solution)
            if problem := alike(instance, other):
                wrong.append(f"mutant: {problem}: {other}")
            value_of = check(instance, other).value
            if value_of is not None and value_of > exact.lower:
                wrong.append(f"a valid schedule meets {value_of}, slots {exact.interval}: {other}")
            spoiled = forged(draw, document)
            if spoiled != document and _passes(instance, spoiled, int(exact.lower)):
                wrong.append(f"a forged certificate passes: {spoiled}")
    return wrong


def _passes(instance: Instance, document: Document, optimum: int) -> bool:
    """Whether the checker accepts something that is not so, or whose seal is old."""
    try:
        verdict = verify(instance, document)
    except InputError:
        return False
    if not verdict.valid:
        return False
    found = verdict.certificate
    # A price that was changed and resealed may well be a proof of the same bound: then it is one.
    return not found.lower <= optimum <= found.upper or document["sha256"] != seal(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    told = time.monotonic()
    for number in range(options.count):
        draw = random.Random(options.seed * 1_000_003 + number)
        instance = tiny(draw, *SIZES[number % 2])
        for each in judge(instance, draw):
            counts["wrong"] += 1
            print(f"instance {number}: {each}", flush=True)
        counts["instances"] += 1
        if time.monotonic() - told > 5:
            told = time.monotonic()
            print(f"{number + 1} instances, {counts['wrong']} wrong", flush=True)
    worker.close_all()
    print(f"{counts['instances']} instances, {counts['wrong']} wrong")


if __name__ == "__main__":
    main()
