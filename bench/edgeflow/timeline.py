"""The time line of a run: GPUs and edge servers in use, when servers are there, and the outcome of the jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ratiobench.bench.family.capabilities import Refusal, Timeline, TimeSeries
from ratiobench.bench.show import clock_text
from ratiobench.formulations.edgeflow.check import check
from ratiobench.instances.edgeflow.model import CLOUD, DAY, Instance, Job, is_hopeless, span
from ratiobench.online.outcome import OnlineRun

PLACES = 240  # A time line has at most so many times, but for one that is not whole
STEPS = (1, 10, 60, 300, 600, 1800, 3600, 10_800, 43_200, DAY)
HOPELESS, NEVER, LATE = "cannot be met", "never ran", "ran and missed"
REASONS = {
    HOPELESS: "its deadline is too early even with the whole cloud and an edge server to itself",
    NEVER: "declined, or never given a GPU or a server before its deadline",
    LATE: "given GPUs or a server, but too few or too late",
}


def timeline(instance: Instance, run: OnlineRun) -> Timeline:
    """Share of the cloud's GPUs in use, of the edge servers in use and of those that are there, over time."""
    end = max([span(instance), *(piece.end for pieces in run.decisions for piece in pieces), 1])
    step = next((each for each in STEPS if -(-end // each) <= PLACES), -(-end // PLACES))
    count = -(-end // step)
    met = check(instance, run.decisions).met
    jobs = [instance.job(i) for i in range(instance.jobs)]
    cloud = _use(
        ((p.start, p.end, p.gpus) for pieces in run.decisions for p in pieces if p.place == CLOUD), step, count
    )
    edge = _use(((p.start, p.end, 1) for pieces in run.decisions for p in pieces if p.place != CLOUD), step, count)
    most = max((window.servers for window in instance.edge), default=0)
    loads = [TimeSeries("cloud GPUs", [Fraction(each, step * instance.gpus) for each in cloud])]
    if most:
        there = _use(((w.start, w.end, w.servers) for w in instance.edge), step, count)
        loads += [
            TimeSeries("edge servers", [Fraction(each, step * most) for each in edge]),
            TimeSeries("edge servers idle", [Fraction(each, step * most) for each in there]),
        ]
    refused = []
    for job, done, pieces in zip(jobs, met, run.decisions, strict=True):
        if not done:
            reason = HOPELESS if is_hopeless(instance, job) else LATE if pieces else NEVER
            about = f"{instance.models[job.model].name}, {job.deadline - job.submit:,} s to its deadline"
            refused.append(Refusal(job.index, job.submit // step + 1, reason, about))
    admitted = [0] * count
    for job, done in zip(jobs, met, strict=True):
        admitted[job.submit // step] += done
    return Timeline(
        unit=_unit(step), times=range(1, count + 1), loads=loads, prices={}, admitted=admitted, refused=refused,
        reasons=REASONS, clock=[clock_text(k * step) for k in range(count)],
        clock_title="time since the instance began",
        asked=[Fraction(each, step * instance.gpus) for each in _use(_asked(instance, jobs), step, count)],
    )  # fmt: skip


def _use(spans: Iterable[tuple[int, int, int]], step: int, count: int) -> list[int]:
    """The amount times the seconds in each step, of (from, to, amount); what is beyond the last step is left out."""
    found = [0] * count
    for start, end, amount in spans:
        for k in range(start // step, min(count, -(-end // step))):
            found[k] += amount * (min(end, (k + 1) * step) - max(start, k * step))
    return found


def _asked(instance: Instance, jobs: Sequence[Job]) -> Iterable[tuple[int, int, int]]:
    """What the jobs that can be met would use if each ran at once, with the least share that meets it."""
    for job in jobs:
        model = instance.models[job.model]
        window = job.deadline - job.submit - model.overhead_s
        for gpus, speed in model.useful(instance.gpus):
            if window > 0 and speed * window >= job.work:
                yield job.submit, job.submit + model.overhead_s + -(-job.work // speed), gpus
                break


def _unit(step: int) -> str:
    for size, word in ((DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if step % size == 0:
            return word if step == size else f"{step // size}-{word} slot"
    raise AssertionError(step)
