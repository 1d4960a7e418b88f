"""What the figures of imported days rest on: each assumption, with its jobs and GPU-hours, kept in the instance."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ratiobench.instances.lora.import_running import Held
from ratiobench.instances.lora.job_sizes import Laws, Sizes
from ratiobench.instances.lora.logs import Job
from ratiobench.instances.lora.schedules import ScheduleKind

LEFT_OUT, ADDED = "left out", "added"
# Kinds of assumptions: of jobs that are not in the instance, and of GPU-hours that nobody asked for
KINDS = (LEFT_OUT, ADDED)
FIELD = "basis"  # The field of an instance's origin
_SCHEDULES = {
    ScheduleKind.ANY: "may pause, move to another node and go on at no cost, between slots (run = any)",
    ScheduleKind.ONE_NODE: "may pause between slots at no cost, and stay on their node (run = one-node)",
    ScheduleKind.RIGID: "run once, without a pause, on one node (run = rigid)",
    ScheduleKind.GANG: "run once, without a pause, on several nodes at once in equal parts (run = gang)",
}


class Basis:
    """The assumptions of one instance."""

    def __init__(self, laws: Laws) -> None:
        self._laws = laws
        low, high = (float(Fraction(end, 10**6)) for end in laws.per_gpu_hour)
        self._drawn = f"${low:g}" if low == high else f"drawn evenly from ${low:g} to ${high:g}"
        self._slack = f"{float(laws.slack):g}"
        self.jobs, self._seconds = 0, 0
        self._found: dict[tuple[str, str], list[int | None]] = {}

    def count(self, job: Job) -> None:
        """A job of the day; `leave_out` or `add` follows."""
        self.jobs += 1
        self._seconds += _gpu_seconds(job)

    def _add(self, what: str, seconds: int | None, kind: str = "", jobs: int = 1) -> None:
        found = self._found.setdefault((what, kind), [0, 0])
        found[0] = jobs + (found[0] or 0)
        found[1] = None if seconds is None or found[1] is None else found[1] + seconds

    def leave_out(self, job: Job, rule: str) -> None:
        """The job is not in the instance."""
        self._add(rule, _gpu_seconds(job), LEFT_OUT)

    def skip(self, rule: str, jobs: int) -> None:
        """Lines of the log for which the reader has this rule: it is not known what they used."""
        self.jobs += jobs
        self._add(rule, None, LEFT_OUT, jobs)

    def add(self, job: Job, sizes: Sizes, last: int, named: bool, per_second: int) -> None:
        """The job is a task.

        `last`: the last slot of its window, before that is cut at the end of the instance; `per_second`: units of work
        of a GPU-second.
        """
        laws, seconds = self._laws, _gpu_seconds(job)
        free = sizes.split.run is ScheduleKind.ANY and not sizes.limit
        self._add(
            "bids read from the log"
            if job.bid is not None
            else f"bids invented: {self._drawn} per GPU-hour of the run (--price)",
            seconds,
        )
        slack = self._slack
        if job.deadline is not None:
            window = "deadlines read from the log"
        elif job.limit is None:
            window = f"deadlines by a rule: {slack} times the fewest slots of the run (--slack)"
        elif free:
            window = "deadlines by a rule: the time limit, from the submission on"
        else:
            window = f"deadlines by a rule: {slack} times the fewest slots of the time limit (--slack)"
        self._add(window, seconds)
        if last > laws.slots:
            also = ", and time limits with them" if sizes.limit else ""
            self._add(f"windows cut at the end of the instance{also} (--tail, --days)", seconds)
        self._add(_SCHEDULES[sizes.split.run], seconds)
        if sizes.limit:
            what = "ended at their time limit in the log, which is taken as all their work"
            if not job.killed:
                what = "policies see the time limit in place of the length, which OPT knows"
            self._add(what, seconds)
        if job.memory_mb is None:
            self._add("GPU memory by a rule: the same share of a node as of its GPUs", seconds)
        if not named:
            self._add("may run on any node: no node has the name of their GPU type", seconds)
        whole = sizes.needed * sizes.shape.best - sizes.work
        self._add(
            f"whole slots of {laws.slot_seconds} s, which are taken and paid (--slot)", whole // per_second, ADDED
        )

    def hold(self, held: Held) -> None:
        """Jobs from before run when the instance begins."""
        if held.documents:
            self._add(
                "jobs from before hold their nodes until they end (--begin full)",
                held.seconds,
                ADDED,
                len(held.documents),
            )
        if held.left:
            self._add("jobs from before without room on these nodes", held.left_seconds, LEFT_OUT, held.left)

    def mark_unservable(self, seconds: list[int]) -> None:
        """Tasks with so many GPU-seconds that no schedule can finish in their windows."""
        if seconds:
            self._add("no schedule ends in their window (--tail, --days)", sum(seconds), LEFT_OUT, len(seconds))

    def document(self) -> Mapping[str, Any]:
        """JSON values for the origin of the instance."""
        found = [
            {"what": what, "jobs": jobs, "gpu_seconds": seconds, **({"kind": kind} if kind else {})}
            for (what, kind), (jobs, seconds) in self._found.items()
        ]
        return {"jobs": self.jobs, "gpu_seconds": self._seconds, "assumptions": found}


def _gpu_seconds(job: Job) -> int:
    return job.seconds * job.gpus // 1000
