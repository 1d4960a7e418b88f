"""The toy family with an algorithm that draws, and one that draws too much every third time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ratiobench.bench.family.contract import NamedSummary
from ratiobench.bench.family.suite import Case, SolveSettings, Suite
from ratiobench.instances.io.seeds import Stream
from ratiobench.online import run_context
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.remarks import Remarks
from tests.support.toy_family import Numbers, ToyFamily


class DrawingFamily(ToyFamily):
    """Takes a part of the numbers, drawn anew in every repetition."""

    format = "ratiobench/drawing/1"

    def own_suites(self) -> Sequence[Suite]:
        """Two cases, and one with an algorithm that fails."""
        recipes = [{"seed": seed, "size": 8, "room": 3} for seed in range(2)]
        cases = [Case(f"d{i}", each, ("first", "draws"), SolveSettings(effort=2)) for i, each in enumerate(recipes)]
        bad = Case("bad", recipes[0], ("first", "stumbles"))
        return [Suite("drawing", "Runs that differ", tuple(cases)), Suite("drawing-bad", "A run that fails", (bad,))]

    def algorithms(self) -> Sequence[NamedSummary]:
        return [*super().algorithms(), NamedSummary("draws", "draws"), NamedSummary("stumbles", "stumbles")]

    def is_randomised(self, algorithm: str) -> bool:
        return algorithm in ("draws", "stumbles")

    def run(self, instance: Numbers, algorithm: str, prior: Any = None) -> OnlineRun:
        """The first numbers, up to a room that is drawn."""
        repetition = run_context.current().repetition
        if algorithm == "stumbles" and repetition == 3:
            raise ZeroDivisionError("nothing to divide")
        if not self.is_randomised(algorithm):
            return super().run(instance, algorithm, prior)
        room = Stream("draws", self.identity(instance), repetition).integer(1, instance.room)
        found = super().run(replace(instance, room=room), "first", prior)
        return replace(found, algorithm=algorithm, remarks=Remarks(algorithm), version=self.algorithm_key(algorithm))


FAMILY = DrawingFamily("drawing")
