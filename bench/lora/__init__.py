"""Family `lora`: problem P, online scheduling and pricing of multi-LoRA fine-tuning tasks (main paper, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import BidCurve, Bidding, CounterexampleSearch, SingleNode
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Listed, SolveSettings
from ratiobench.formulations.report import SolveReport
from ratiobench.online.outcome import OnlineRun

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class LoraFamily(Family):
    """Tasks that can be kept on one node, bidders, and a search for counterexamples."""

    @property
    def staying(self) -> SingleNode:
        """`one-node` instead of P."""
        from ratiobench.instances.lora.schedules import ScheduleKind

        def solve(instance: Any, settings: SolveSettings) -> SolveReport:
            from ratiobench.formulations.lora.solve import solve

            return solve(instance, **asdict(settings), schedules=ScheduleKind.ONE_NODE)

        def run(instance: Any, algorithm: str, prior: Any = None) -> OnlineRun:
            from ratiobench.online.lora.run import run

            return run(instance, algorithm, prior=prior, schedules=ScheduleKind.ONE_NODE)

        def check(instance: Any, data: Any, source: str) -> Mapping[str, Any]:
            from ratiobench.formulations.lora.check import check

            solution = self.solution(instance, data, source)
            return check(instance, solution, schedules=ScheduleKind.ONE_NODE).document()

        return SingleNode(solve, run, check)

    @property
    def hunting(self) -> CounterexampleSearch:
        """Local search over tiny instances, in exact arithmetic."""
        from ratiobench.bench.lora.hunt.search import search_counterexample
        from ratiobench.bench.lora.hunt.worst import search_worst_case
        from ratiobench.bench.lora.theory.claims import list_searches

        return CounterexampleSearch(
            lambda: [Listed(name, how.statement) for name, how in list_searches().items()],
            search_counterexample,
            search_worst_case,
        )

    @property
    def bidding(self) -> Bidding:
        """Exact curves, constants that come from the bids following the bid; else by trying bids."""
        from ratiobench.bench.lora.theory.bidder import audit_bidder, curve

        def utility_curve(instance: Any, algorithm: str, task: int) -> BidCurve:
            return curve(instance, self.run(instance, algorithm), task)

        return Bidding(utility_curve, audit_bidder)


FAMILY = LoraFamily(
    "lora",
    "micro-dollars",
    headline="theorem5",
    size=("tasks", "slots", "nodes"),
    whole_values=True,
    dollars=Fraction(1, 1_000_000),
)
