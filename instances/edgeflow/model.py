"""The data of family `edgeflow`, in whole numbers: seconds, GPUs, milli-iterations, milli-iterations per second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.io.documents import Signed
from ratiobench.instances.io.errors import make_printable

CLOUD, EDGE = 0, 1  # The places at which a piece of work runs
DAY = 86_400  # Seconds of a day


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which edge servers are available."""

    start: int  # start, end: seconds, `end` not included
    end: int
    servers: int


@dataclass(frozen=True, slots=True)
class Model:
    """A model to train, with its speed by number of GPUs.

    Parameters
    ----------
    name : label; different for every model of an instance.
    gpus : powers of two, ascending: the shares of the cloud at which the speed was measured.
    speed : milli-iterations per second at each of them, at least 1; it need not grow.
    edge_speed : milli-iterations per second on an edge server; 0: it does not fit there.
    overhead_s, edge_overhead_s : seconds that a start or a change of share takes, and what a change of side adds to it.
    """

    name: str
    gpus: tuple[int, ...]
    speed: tuple[int, ...]
    edge_speed: int
    overhead_s: int
    edge_overhead_s: int

    def useful(self, most: int) -> tuple[tuple[int, int], ...]:
        """(GPUs, speed) of the shares of at most so many GPUs that are faster than every smaller one, ascending."""
        found: list[tuple[int, int]] = []
        for gpus, speed in zip(self.gpus, self.speed, strict=True):
            if gpus <= most and (not found or speed > found[-1][1]):
                found.append((gpus, speed))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as known at its submission.

    Parameters
    ----------
    index : position in the order of submission, from 0.
    submit, deadline : seconds; the work must be done in the seconds before the deadline.
    model : position in the instance's models.
    work : milli-iterations.
    gpus : the share that its user asked for, a power of two of the model's table.
    """

    index: int
    submit: int
    deadline: int
    model: int
    work: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Public:
    """The public part, known before the first job; neither the number of jobs nor what they are.

    Parameters
    ----------
    gpus : G, GPUs of the cloud.
    node_gpus : GPUs of one node.
    edge : windows of edge servers, in order of time.
    models : what may be trained.
    """

    gpus: int
    node_gpus: int
    edge: tuple[Window, ...]
    models: tuple[Model, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Elastic training jobs with deadlines on a cloud of GPUs and on edge servers that come and go."""

    name: str  # name, origin, cache: not part of the identity (hash)
    origin: Mapping[str, Any]
    gpus: int  # G
    node_gpus: int  # of one node; only some policies and reports read it
    edge: tuple[Window, ...]  # in order of time, disjoint
    models: tuple[Model, ...]
    # submit, deadline, model, work, share: (n,) the jobs' data, see `Job`; in order of submission.
    submit: IntArray
    deadline: IntArray
    model: IntArray
    work: IntArray
    share: IntArray
    cache: dict[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        size = f"{self.jobs} jobs, {self.gpus} GPUs, {len(self.edge)} edge windows, {len(self.models)} models"
        return f"<Instance {make_printable(self.name, 80)}: {size}>"

    @property
    def jobs(self) -> int:
        return len(self.work)

    def public(self) -> Public:
        return Public(self.gpus, self.node_gpus, self.edge, self.models)

    def job(self, i: int) -> Job:
        return Job(i, *(int(column[i]) for column in (self.submit, self.deadline, self.model, self.work, self.share)))


class Piece(NamedTuple):
    """Seconds [start, end) of a job at one place."""

    start: Signed  # start, end: seconds, `end` not included
    end: Signed
    place: Signed  # CLOUD or EDGE
    gpus: Signed


Solution = tuple[tuple[Piece, ...], ...]  # The pieces of every job in order of time; none where it never runs


def fastest(instance: Instance, job: Job) -> int:
    """Milli-iterations per second of the job's fastest useful share; 0 if the cloud is narrower than any."""
    levels = instance.models[job.model].useful(instance.gpus)
    return levels[-1][1] if levels else 0


def can_be_met(instance: Instance, job: Job) -> bool:
    """Whether the job is met if it has the whole cloud to itself."""
    window = job.deadline - job.submit - instance.models[job.model].overhead_s
    return window > 0 and fastest(instance, job) * window >= job.work


def is_hopeless(instance: Instance, job: Job) -> bool:
    """Whether the job misses its deadline even with all of the cloud and an edge server to itself."""
    model = instance.models[job.model]
    speed = max(fastest(instance, job), model.edge_speed if instance.edge else 0)
    return speed * max(0, job.deadline - job.submit - model.overhead_s) < job.work


def span(instance: Instance) -> int:
    return int(instance.deadline.max()) if instance.jobs else 0


def describe(instance: Instance) -> Mapping[str, Any]:
    """Figures to show, rounded: ``alone`` is how many jobs could be met in the cloud alone in the world.

    ``load`` is their least GPU time over what the cloud has in whole days from the first submission to the last.
    """
    jobs = [instance.job(i) for i in range(instance.jobs)]
    able = [job for job in jobs if can_be_met(instance, job)]
    days = -(-(jobs[-1].submit - jobs[0].submit + 1) // DAY) if jobs else 1
    levels = {job.index: instance.models[job.model].useful(instance.gpus) for job in able}
    need = sum(
        (min(Fraction(job.work * gpus, speed) for gpus, speed in levels[job.index]) for job in able), Fraction(0)
    )
    return {
        "jobs": instance.jobs,
        "alone": len(able),
        "gpus": instance.gpus,
        "servers": max((window.servers for window in instance.edge), default=0),
        "windows": len(instance.edge),
        "models": len(set(instance.model.tolist())),
        "span_h": round(span(instance) / 3600, 1),
        "load": round(float(need / (instance.gpus * days * DAY)), 3),
    }
