"""The data of family `edgeflow`, in whole numbers: seconds, GPUs, milli-iterations, milli-iterations per second.

Instances are immutable and made by `ratiobench.instances.edgeflow.format.parse` alone, so what exists has been
validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.io.errors import make_printable

CLOUD, EDGE = 0, 1  # The places at which a piece of work runs


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which edge servers are available.

    Parameters
    ----------
    start, end : seconds, `end` not included.
    servers : how many.
    """

    start: int
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
        """The shares of at most so many GPUs that are faster than every smaller one (paper, section 2), ascending.

        Pairs of GPUs and milli-iterations per second.
        """
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
    """Elastic training jobs with deadlines on a cloud of GPUs and on edge servers that come and go.

    Parameters
    ----------
    name, origin : label and provenance; not part of the identity (hash).
    gpus : G, the GPUs of the cloud.
    node_gpus : GPUs of one of its nodes; only some policies and reports read it.
    edge : windows in order of time, disjoint.
    models : what may be trained.
    submit, deadline, model, work, share : (n,) the jobs' data, see `Job`; in order of submission.
    cache : derived figures of the format's code; not part of the identity.
    """

    name: str
    origin: Mapping[str, Any]
    gpus: int
    node_gpus: int
    edge: tuple[Window, ...]
    models: tuple[Model, ...]
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
        """n, the number of jobs."""
        return len(self.work)

    def public(self) -> Public:
        """Return the public part: known before the first job.

        Returns
        -------
        The public part.
        """
        return Public(self.gpus, self.node_gpus, self.edge, self.models)

    def job(self, i: int) -> Job:
        """Job i, from 0, as a policy sees it on arrival."""
        return Job(i, *(int(column[i]) for column in (self.submit, self.deadline, self.model, self.work, self.share)))
