"""The simulator: keeps the time, asks at arrivals, completions and changes of capacity, and books what runs."""

from dataclasses import dataclass

from ratiobench.online.outcome import Violation
from ratiobench.online.referee.simulator import ARRIVAL, Question, RuleViolation
from ratiobench.online.registry import Registry
from ratiobench.online.run import Environment, Judgement

from . import format as documents
from .solve import check

REGISTRY = Registry(__package__, documents, protocol=documents.__name__)


@dataclass(frozen=True)
class View:
    """What an algorithm sees: the second, the work that is left of each job that is here, whether the machine works."""

    second: int
    left: dict[int, int]
    open: bool


class Simulator:
    """The state of one run."""

    noun, public = "job", None

    def __init__(self, instance):
        self.instance, self.arrivals = instance, len(instance.jobs)
        self.left, self.running, self.second = {}, None, 0

    def questions(self, batch):
        """From event to event; what happens next depends on the answers."""
        changes = sorted({x for window in self.instance.closed for x in window if x})
        coming = list(enumerate(self.instance.jobs))
        while coming or self.left:
            ends = self.second + self.left[self.running] if self.running is not None and self._works() else None
            moments = [ends, *(arrival for _, (arrival, _) in coming[:1]), *(x for x in changes if x > self.second)]
            moments = [x for x in moments if x is not None]
            if not moments:
                raise RuleViolation("starves", None, "no job runs, and nothing will happen any more")
            was, then = self._works(), min(moments)
            if self.running is not None and was:
                self.left[self.running] -= then - self.second
            self.second = then
            if self.running is not None and self.left[self.running] == 0:
                done, self.running = self.running, None
                del self.left[done]
                yield Question([done], [done], self._view(), "completion")
            while coming and coming[0][1][0] == self.second:
                i, (_, work) = coming.pop(0)
                self.left[i] = work
                yield Question([i], [(i, work)], self._view(), ARRIVAL)
            if self._works() != was:
                yield Question([None], [None], self._view(), "capacity")

    def _works(self):
        return self.instance.is_open(self.second)

    def _view(self):
        return View(self.second, dict(self.left), self._works())

    def copied(self, event, index, answer):
        """The answer, if it is one."""
        try:
            return documents.plain(answer)
        except TypeError:
            raise RuleViolation("protocol", index, f"answered {answer!r}, which is no job") from None

    def take(self, event, index, answer):
        """The job that runs from now on: starting another one stops the one before."""
        answer = self.copied(event, index, answer)
        if answer is not None and answer not in self.left:
            raise RuleViolation("runs", index, f"job {answer} is not there")
        self.running = answer
        return answer


class QueueEnvironment(Environment):
    """What this family adds to a run."""

    registry = REGISTRY

    def arrivals(self, instance):
        return len(instance.jobs)

    def table(self, instance, seed):
        return Simulator(instance)

    def first_half(self, instance):
        half = (len(instance.jobs) + 1) // 2
        while half < len(instance.jobs) and instance.jobs[half][0] == instance.jobs[half - 1][0]:
            half += 1
        return documents.Instance(instance.name, instance.jobs[:half], instance.closed)

    def judge(self, instance, log, violations):
        solution = tuple((entry.event, entry.about, entry.answer) for entry in log)
        found = check(instance, solution)
        broken = list(violations) or ([Violation("log", None, found.problem, "job")] if found.problem else [])
        return Judgement(solution, broken, found.cost, found.finished)

    def small(self):
        return documents.Instance("warm", ((0, 1),), ())


ENVIRONMENT = QueueEnvironment()
