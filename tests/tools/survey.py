"""The claims over the shipped instances with their smallest witnesses: a second path to the tables of the READMEs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claims import Claim
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import expected, named, names
from ratiobench.online.lora.run import run
from tests.support.laboratory import PAPER


@dataclass(frozen=True, slots=True)
class Settled:
    """One claim over all instances looked at."""

    claim: Claim  # what was checked
    counts: Counter[Verdict]  # how many instances gave each verdict
    # the smallest instance that violates it (fewest tasks, then slots, then nodes, then by name), or None.
    witness: str | None
    check: Check | None

    @property
    def verdict(self) -> str:
        """In words: violated if it is anywhere, else on how many of the instances it holds."""
        applied = sum(count for verdict, count in self.counts.items() if verdict is not Verdict.NOT_APPLICABLE)
        if self.witness is not None:
            return f"violated on {self.counts[Verdict.VIOLATED]} of {applied}"
        return f"holds on {self.counts[Verdict.HOLDS]} of {applied}" if applied else "applies to none"


def survey(cases: Iterable[tuple[str, Case]]) -> list[Settled]:
    """Every claim on every case (name, case), in the order of the claims."""
    counts: dict[str, Counter[Verdict]] = {claim.name: Counter() for claim in PAPER}
    smallest: dict[str, tuple[tuple[int, int, int, str], Check]] = {}
    for name, case in cases:
        size = case.instance.tasks, case.instance.slots, case.instance.nodes, name
        for claim in PAPER:
            check = claim.check_run(case)
            counts[claim.name][check.status] += 1
            if check.status is Verdict.VIOLATED and (claim.name not in smallest or size < smallest[claim.name][0]):
                smallest[claim.name] = size, check
    found = []
    for claim in PAPER:
        least = smallest.get(claim.name)
        witness = None if least is None else least[0][3]
        found.append(Settled(claim, counts[claim.name], witness, None if least is None else least[1]))
    return found


def shipped_cases(algorithm: str = "pdftsp") -> Iterable[tuple[str, Case]]:
    """The shipped instances whose optimum is stored, each with a run of the algorithm."""
    for name in names():
        if "opt" in expected(name):
            instance: Instance = named(name)
            optimum = int(expected(name)["opt"])
            report = SolveReport(
                Status.OPTIMAL, optimum, optimum, None, Proof.ENUMERATION, "-", "none", Termination.NONE, False, 0.0
            )
            yield name, Case(instance, run(instance, algorithm), report)
