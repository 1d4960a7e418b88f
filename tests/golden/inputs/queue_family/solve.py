"""OPT: the shortest remaining work first is best on one machine with pre-emption (Schrage 1968)."""

from dataclasses import dataclass

from ratiobench.formulations.report import Proof, SolveReport, Status, Termination

VERSION = "1"


def replay(instance, answer):
    """Second by second: what is asked, what `answer` says to it, and the sum of the times that jobs stay.

    `answer` is called with (event, job, second, work left by job); it gives the job that runs from now on, or None.
    """
    jobs, left, running, arrived, cost, log = instance.jobs, {}, None, 0, 0, []
    horizon = sum(x for pair in instance.closed for x in pair) + sum(x for job in jobs for x in job) + 2
    for second in range(horizon):
        happened = []
        if running is not None and left[running] == 0:
            cost += second - jobs[running][0]
            del left[running]
            happened, running = [("completion", running)], None
        happened += [("arrival", i) for i, (arrival, _) in enumerate(jobs) if arrival == second]
        if second and instance.is_open(second) != instance.is_open(second - 1):
            happened.append(("capacity", None))
        for event, job in happened:
            if event == "arrival":
                left[job] = jobs[job][1]
                arrived += 1
            running = answer(event, job, second, left)
            log.append((event, job, running))
            if running is not None and running not in left:
                raise ValueError(f"second {second}: job {running} is not there")
        if arrived == len(jobs) and not left:
            return cost, log
        if running is not None and instance.is_open(second):
            left[running] -= 1
    raise ValueError("some job is never finished")


def solve(instance, formulation, backend, effort, gap, seconds, start=None):
    """The least sum of the times that jobs stay: it is known, so both ends of the interval are equal."""

    def shortest(event, job, second, left):
        return min(left, key=lambda i: (left[i], i), default=None)

    cost, log = replay(instance, shortest)
    return SolveReport(
        Status.OPTIMAL, cost, cost, tuple(log), Proof.THEOREM, "shortest-first", "none", Termination.NONE, False, 0.0
    )


def formulations():
    """Name and summary of every one."""
    return [("shortest-first", "the rule that is best")]


@dataclass(frozen=True)
class Report:
    """What the exact verification found."""

    cost: int
    problem: str
    finished: int

    def document(self):
        violations = [self.problem] if self.problem else []
        return {"valid": not violations, "welfare": self.cost, "admitted": self.finished, "violations": violations}


def check(instance, solution):
    """The log again, without the simulator: every question must be there, and every answer possible."""
    entries = iter(solution)

    def answer(event, job, second, left):
        entry = next(entries, None)
        if entry is None or entry[:2] != (event, job):
            raise ValueError(f"second {second}: asked at {event} of {job}, the log has {entry}")
        return entry[2]

    try:
        cost, _ = replay(instance, answer)
        rest = next(entries, None)
        return Report(cost, "" if rest is None else f"the log goes on with {rest}", len(instance.jobs))
    except ValueError as error:
        return Report(0, str(error), 0)
