"""Family `queue`: one machine, jobs that may be pre-empted, the least time that jobs stay."""

from dataclasses import asdict

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Case, NamedSummary, Suite

from . import format as documents
from . import solve as optimum


class QueueFamily(Family):
    """Pre-emptive jobs on one machine."""

    name, unit, objective, sense = "queue", "seconds", "stay", Sense.LEAST

    # The problem.

    format = documents.FORMAT
    parse = staticmethod(documents.parse)
    dumps = staticmethod(documents.dumps)
    identity = staticmethod(documents.content_hash)
    describe = staticmethod(documents.describe)
    generate = staticmethod(documents.generate)
    solution_document = staticmethod(documents.solution_document)

    def parse_solution(self, instance, data, source):
        return documents.parse_solution(data, source)

    def own_suites(self):
        """One suite: four cases."""
        cases = [Case(f"queue{i}", {"seed": i, "jobs": 8}, ("first", "shortest")) for i in range(4)]
        return [Suite("queue", "Eight jobs on one machine", tuple(cases))]

    # The optimum.

    solver_version = optimum.VERSION
    check_solution = staticmethod(optimum.check)

    def formulations(self):
        return NamedSummary.several(optimum.formulations())

    def solve(self, instance, settings, start=None):
        return optimum.solve(instance, **asdict(settings), start=start)

    # Online algorithms: imported when they are asked for.

    @property
    def environment(self):
        from .run import ENVIRONMENT

        return ENVIRONMENT


FAMILY = QueueFamily()
