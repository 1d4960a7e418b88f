"""The data of family `tenants`, in integers: ticks, micro-dollars per tick, percent; costs in 1/100 micro-dollar.

A job that ends at tick C on a GPU of type k costs, with cs its sensitivity to cost in percent,

    100 late_penalty max(0, C - deadline) + (100 - cs) theta (C - release) + cs price_k run_k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ratiobench.instances.arrays import IntArray as IntArray
from ratiobench.instances.arrays import freeze as freeze
from ratiobench.instances.io.documents import Signed
from ratiobench.instances.io.errors import make_printable


@dataclass(frozen=True, slots=True)
class GpuType:
    """GPUs of one type."""

    name: str
    count: int
    price: int  # micro-dollars per tick of one GPU


@dataclass(frozen=True, slots=True)
class Job:
    """Job `index` as known at its submission.

    Parameters
    ----------
    index : position in the order of release, from 0.
    release, deadline : ticks; the deadline may lie before the release.
    cost_sensitivity : percent; 100 cares for money alone, 0 for time alone.
    run : ticks that it takes on a GPU of each type.
    """

    index: int
    release: int
    deadline: int
    cost_sensitivity: int
    run: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Public:
    """The public part, known before the first job: the GPUs, numbered through the types in order, and the two prices.

    Parameters
    ----------
    gpu_types : the types in order.
    theta, late_penalty : micro-dollars per tick of a job's time, and of its lateness.
    gpu_type : (m,) the type of every GPU.
    seed : names the random stream of an algorithm that draws.
    """

    gpu_types: tuple[GpuType, ...]
    theta: int
    late_penalty: int
    gpu_type: IntArray
    seed: str = ""

    def cost(self, job: Job, kind: int, end: int) -> int:
        """The cost of a job that ends at a tick on a GPU of a type, in 1/100 micro-dollar."""
        return (
            100 * self.late_penalty * max(0, end - job.deadline)
            + (100 - job.cost_sensitivity) * self.theta * (end - job.release)
            + job.cost_sensitivity * self.gpu_types[kind].price * job.run[kind]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """n jobs in order of release, m GPUs of K types."""

    name: str  # name, origin, cache: not part of the identity (hash)
    origin: Mapping[str, Any]
    tick_seconds: int
    gpu_types: tuple[GpuType, ...]
    theta: int  # theta, late_penalty: micro-dollars per tick
    late_penalty: int
    release: IntArray  # release, deadline, cost_sensitivity: (n,) see `Job`
    deadline: IntArray
    cost_sensitivity: IntArray
    run: IntArray  # (n, K) ticks, at least 1
    tenants: tuple[str, ...]  # tenants, kinds, iterations: (n,) labels, which no algorithm reads
    kinds: tuple[str, ...]
    iterations: IntArray
    cache: dict[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        size = f"{self.jobs} jobs, {self.gpus} GPUs of {len(self.gpu_types)} types"
        return f"<Instance {make_printable(self.name, 80)}: {size}>"

    def _repr_html_(self) -> str:
        from ratiobench.instances.io.display import make_html

        facts = {"jobs": self.jobs, "GPUs": self.gpus, "theta": self.theta, "late penalty": self.late_penalty}
        rows = [(kind.name, kind.count, kind.price) for kind in self.gpu_types]
        return make_html(self.name, facts, ("GPU type", "count", "micro-dollars per tick"), rows)

    @property
    def jobs(self) -> int:
        return len(self.release)

    @property
    def gpus(self) -> int:
        return sum(kind.count for kind in self.gpu_types)

    @property
    def gpu_type(self) -> IntArray:
        """(m,) the type of every GPU."""
        return freeze(np.repeat(np.arange(len(self.gpu_types)), [kind.count for kind in self.gpu_types]))

    def public(self, seed: str = "") -> Public:
        """What is known before the first job; `seed` names the random stream of algorithms that draw."""
        return Public(self.gpu_types, self.theta, self.late_penalty, self.gpu_type, seed)

    def job(self, j: int) -> Job:
        release, deadline, cs = (int(column[j]) for column in (self.release, self.deadline, self.cost_sensitivity))
        return Job(j, release, deadline, cs, tuple(self.run[j].tolist()))


class Start(NamedTuple):
    """Where and when a job starts."""

    gpu: Signed  # numbered through the types
    tick: Signed


# One start per job in order of release; None where there is none, which no valid solution has
Solution = tuple[Start | None, ...]


def service_rate(instance: Instance) -> Fraction:
    """Jobs per tick that all GPUs finish when they are busy; 0 without jobs."""
    if not instance.jobs:
        return Fraction(0)
    totals = instance.run.sum(axis=0).tolist()
    pairs = zip(instance.gpu_types, totals, strict=True)
    return sum((Fraction(kind.count * instance.jobs, total) for kind, total in pairs), Fraction(0))


def describe(instance: Instance) -> Mapping[str, Any]:
    """Figures to show, rounded; ``load``: the rate of releases over `service_rate`, None if all come at once."""
    span = int(instance.release[-1] - instance.release[0]) if instance.jobs else 0
    return {
        "jobs": instance.jobs,
        "gpus": instance.gpus,
        "types": len(instance.gpu_types),
        "span_ticks": span,
        "load": round(float(instance.jobs / (span * service_rate(instance))), 3) if span else None,
        "theta": instance.theta,
        "late_penalty": instance.late_penalty,
    }
