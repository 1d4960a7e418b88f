"""A claim of the table `claims`: what is known of it, and among which instances a counterexample is searched for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.theory import claim


class ProofStatus(StrEnum):
    """What is known about a claim in general."""

    PROVED = "proved"  # As stated, under the assumptions named
    FALSE = "false"  # There is a shipped counterexample, or a proof
    # Proved for the mechanisms of Theorem T; for others the check examines runs
    PROVED_BY_T = "proved for mechanisms of Theorem T, not claimed of others"


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Among which instances a violation of the claim is searched for (`ratiobench.bench.lora.counterexamples`).

    The two sides of the claim on a sketch are measured by its entry of `MEASURES` in
    `ratiobench.bench.lora.counterexamples.targets`, which stands above the theory.
    """

    statement: str  # the claim in one sentence, with its source
    algorithm: str = "pdftsp"  # whose run is checked
    costs: int | None = None  # least operational cost to try: None for no costs, else 0 or a negative number
    vendors: bool = False  # whether tasks may have vendors
    # bids are raised until every minimal schedule has bbar >= 1: always, never (0) or once in so many starts.
    raised: int = 1
    nodes: int = 1  # number of nodes at which to search by default


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(claim.Claim[Case]):
    """A claim about runs in problem P."""

    # the claim about a single bidder, with much more work; None where it is not about bidders.
    check_one: Callable[[Case, int], Check] | None = None
    search: SearchSpace | None = None  # how a violation is searched for; None where it is not

    def check_bidder(self, case: Case, task: int) -> Check:
        """Check the claim about one bidder of a run that it is about."""
        assert self.check_one is not None, f"{self.name} is not about one bidder"
        problem = self.applies(case)
        return self.not_applicable(problem) if problem else self.check_one(case, task)
