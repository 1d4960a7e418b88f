"""A batch cluster and its jobs, in whole seconds; `format.parse` alone makes instances, so all that exist are valid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from msgspec import field as entry
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.io.documents import require_different
from ratiobench.instances.io.errors import InputError, make_printable, require_known

NONE = -1  # No limit, no label, no start in the log
DAY = 86_400
LONGEST_RUN = 2**27
MOST_POOLS = 63  # Policies hold the pools of a job as bits
COSTS = ("wait-gpu-hours", "wait", "wait-gpus", "slowdown")

Second = Annotated[int, Meta(ge=0, le=2**33)]
Limit = Annotated[int, Meta(ge=-1, le=2**33)]  # -1 for none
Count = Annotated[int, Meta(ge=1, le=2**17)]
Gpus = Annotated[int, Meta(ge=1, le=1024)]
Place = Annotated[int, Meta(ge=0, le=2**20)]
Weight = Annotated[int, Meta(ge=0, le=2**32)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Code = Annotated[int, Meta(ge=-1, le=2**31)]


class Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of an instance that stands in its file."""


class Closure(Part, frozen=True):
    """A node that is out of service in [start, end)."""

    node: Place  # its number in its pool, from 0
    start: Second
    end: Second
    announced: Limit = NONE  # second from which policies know of it, at most `start`, which is the default

    def __post_init__(self) -> None:
        if self.announced == NONE:
            force_setattr(self, "announced", self.start)
        if not self.announced <= self.start < self.end:
            needed = f"announced {self.announced} <= start < end {self.end} is needed"
            raise InputError("", "start", f"{self.start}: {needed}")


class Pool(Part, frozen=True):
    """Equal nodes."""

    name: Name
    nodes: Count
    gpus: Gpus  # of one node (processors, if the log counts only those)
    closures: tuple[Closure, ...] = ()  # in order of start

    def __post_init__(self) -> None:
        force_setattr(self, "closures", tuple(sorted(self.closures, key=lambda c: (c.start, c.node))))
        ends = dict[int, int]()
        for i, c in enumerate(self.closures):
            if c.node >= self.nodes:
                raise InputError("", f"closures[{i}].node", f"{c.node} is not below {self.nodes}, the number of nodes")
            if c.start < (end := ends.get(c.node, 0)):
                problem = f"{c.start} is before {end}, the end of another closure of the node"
                raise InputError("", f"closures[{i}].start", problem)
            ends[c.node] = c.end


class Partition(Part, frozen=True):
    """A partition of the cluster."""

    name: Name
    pools: tuple[Name, ...]
    limit: Limit = NONE  # the greatest time limit, seconds, and the limit of a job that has none
    user_gpus: Limit = NONE  # most running GPUs of one user in this partition
    account_gpus: Limit = NONE


class Priority(Part, frozen=True):
    """Weights of the factors of the multifactor priority, named as in slurm.conf, and tables by name."""

    age: Weight = 0
    size: Weight = 0
    fair_share: Weight = 0
    qos: Weight = 0
    partition: Weight = 0
    account: Weight = 0
    max_age: Second = 7 * DAY  # seconds of waiting at which the age factor reaches 1
    half_life: Second = 7 * DAY  # seconds in which past use loses half its weight
    favor_small: bool = False  # whether the size factor is 1 - n / capacity instead of n / capacity
    shares: dict[str, Count] = entry(default_factory=dict)  # of accounts; 1 for those that are not named
    qos_priority: dict[str, Weight] = entry(default_factory=dict)  # this and the others: 0 for those not named
    partition_priority: dict[str, Weight] = entry(default_factory=dict)
    account_priority: dict[str, Weight] = entry(default_factory=dict)


class Quota(Part, frozen=True):
    """Quota of one account."""

    account: Name
    nominal: tuple[Place, ...]  # GPUs of each pool that the account can always use
    cohort: str = ""  # accounts of one cohort lend each other nominal GPUs that they do not use
    strict: bool = False  # whether a job that does not fit blocks the account's later jobs (StrictFIFO)


class JobsDocument(Part, frozen=True):
    """The columns of the jobs, in order of submit."""

    id: list[Name]
    submit: list[Second]
    run: list[Annotated[int, Meta(ge=1, le=LONGEST_RUN)]]
    nodes: list[Count]
    gpus: list[Gpus]
    pools: list[Place]
    release: tuple[Second, ...] = ()
    limit: tuple[Limit, ...] = ()
    account: tuple[Code, ...] = ()
    user: tuple[Code, ...] = ()
    partition: tuple[Code, ...] = ()
    qos: tuple[Code, ...] = ()
    logged: tuple[Limit, ...] = ()


class RunningDocument(Part, frozen=True):
    """A job that runs at the beginning; nodes are counted from 0 in its pool."""

    pool: Name
    nodes: list[Place]
    gpus: Gpus
    start: Second
    end: Second
    limit: Limit = NONE
    account: Code = NONE
    user: Code = NONE
    partition: Code = NONE


class ClusterDocument(Part, frozen=True, kw_only=True):
    """What an instance file and a cluster file say of a cluster."""

    pools: Annotated[tuple[Pool, ...], Meta(min_length=1, max_length=MOST_POOLS)]
    partitions: tuple[Partition, ...] = ()
    quotas: tuple[Quota, ...] = ()
    priority: Priority = Priority()
    cycle: Place = 0
    depth: Place = 0
    judged: tuple[Second, Second] | None = None

    def __post_init__(self) -> None:
        names = [pool.name for pool in self.pools]
        require_different("pools[]", names)
        require_different("partitions[]", [part.name for part in self.partitions])
        require_different("quotas[]", [quota.account for quota in self.quotas])
        for i, part in enumerate(self.partitions):
            for j, name in enumerate(part.pools):
                find_name(f"partitions[{i}].pools[{j}]", name, names)
        for i, quota in enumerate(self.quotas):
            if len(quota.nominal) != len(names):
                problem = f"{len(quota.nominal)} entries; {len(names)} needed, one per pool"
                raise InputError("", f"quotas[{i}].nominal", problem)
        if self.judged is not None and self.judged[0] >= self.judged[1]:
            problem = f"{list(self.judged)} is empty; the first second must be below the second one"
            raise InputError("", "judged", problem)

    def most_gpus(self, partition: str, account: str) -> list[float]:
        """By the bounds of its partition and its account's quotas, the most GPUs of each pool that a job can have."""
        parts = (part for part in self.partitions if part.name == partition)
        bounds = (bound for part in parts for bound in (part.user_gpus, part.account_gpus) if bound != NONE)
        most = [min(bounds, default=math.inf)] * len(self.pools)
        for own in self.quotas:
            if own.account == account:
                group = [quota.nominal for quota in self.quotas if quota is own or quota.cohort == own.cohort != ""]
                most = [min(gpus, sum(lent)) for gpus, *lent in zip(most, *group, strict=True)]
        return most


class InstanceDocument(ClusterDocument, frozen=True, kw_only=True):
    """The whole file."""

    format: Literal["ratiobench/cluster/1"]
    name: Name
    begin: Second
    pool_sets: list[list[Place]]
    jobs: JobsDocument
    origin: dict[str, Any] = entry(default_factory=dict)
    cost: Literal["wait-gpu-hours", "wait", "wait-gpus", "slowdown"] = "wait"
    accounts: tuple[Name, ...] = ()
    users: tuple[Name, ...] = ()
    qos: tuple[Name, ...] = ()
    running: tuple[RunningDocument, ...] = ()


def find_name(field: str, name: str, names: Sequence[str]) -> int:
    require_known(name, names, "", field)
    return names.index(name)


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Jobs in order of submit; every column has one entry a job."""

    ids: tuple[str, ...]  # names in the log
    submit: IntArray  # seconds; waits count from here
    release: IntArray  # seconds, at least submit and the beginning; earliest start, and policies see the job from here
    run: IntArray  # true length, seconds, at least 1
    limit: IntArray  # time limit that the user asked for, seconds; -1 for none
    nodes: IntArray  # the job takes `gpus` GPUs on each of so many different nodes of one pool
    gpus: IntArray
    allowed: NDArray[np.bool_]  # (jobs, pools) whether the job may use the pool
    account: IntArray  # numbers in the instance's tables; -1 for none
    user: IntArray
    partition: IntArray
    qos: IntArray
    logged: IntArray  # start in the log, seconds; -1 if it is not known

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def width(self) -> IntArray:  # GPUs of the whole job
        return self.nodes * self.gpus


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """Jobs that run at the beginning, one entry each; they are not jobs of the instance and cost nothing."""

    pool: IntArray
    gpus: IntArray  # on each node
    start: IntArray
    end: IntArray  # the true one, after the beginning
    limit: IntArray  # -1 for none
    account: IntArray
    user: IntArray
    partition: IntArray
    nodes: IntArray  # number of nodes
    node: IntArray  # the nodes of all of them, one behind the other, counted through all pools

    def __len__(self) -> int:
        return len(self.pool)


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A cluster, its state at the beginning, and the jobs from then on."""

    name: str  # label; with origin, cost and cache it is no part of the identity (hash)
    origin: Mapping[str, Any]
    pools: tuple[Pool, ...]
    partitions: tuple[Partition, ...]
    accounts: tuple[str, ...]  # names behind the numbers in columns
    users: tuple[str, ...]
    qos: tuple[str, ...]
    jobs: Jobs
    running: Running
    begin: int  # second of the beginning
    cycle: int = 0  # backfilling is done every `cycle` seconds for the first `depth` jobs; 0: at every event, all jobs
    depth: int = 0
    judged: tuple[int, int] | None = None  # [from, to) of submits that tables of waits count; None: not the last day
    quotas: tuple[Quota, ...] = ()
    priority: Priority = field(default_factory=Priority)
    cost: str = "wait"  # by which schedules are judged, one of `COSTS`
    cache: dict[str, Any] = field(default_factory=dict, repr=False)  # derived figures

    def __repr__(self) -> str:
        sizes = f"{len(self.jobs)} jobs, {self.capacity} GPUs in {len(self.pools)} pools"
        return f"<Instance {make_printable(self.name, 80)}: {sizes}>"

    @property
    def capacity(self) -> int:  # GPUs of all pools
        return sum(pool.nodes * pool.gpus for pool in self.pools)

    @property
    def first_node(self) -> IntArray:
        """(pools + 1,) the first node of each pool, counted through all pools; last: how many nodes."""
        return freeze(np.cumsum([0, *(pool.nodes for pool in self.pools)]))

    @property
    def node_gpus(self) -> IntArray:
        return freeze(np.repeat([pool.gpus for pool in self.pools], [pool.nodes for pool in self.pools]))

    @property
    def node_pool(self) -> IntArray:
        return freeze(np.repeat(np.arange(len(self.pools)), [pool.nodes for pool in self.pools]))

    @property
    def closures(self) -> IntArray:
        """(closures, 4) node (counted through all pools), start, end, announced; in order of start."""
        rows = [
            (int(first) + c.node, c.start, c.end, c.announced)
            for first, pool in zip(self.first_node, self.pools, strict=False)
            for c in pool.closures
        ]
        return freeze(sorted(rows, key=lambda row: (row[1], row[0]))).reshape(-1, 4)

    def gpu_seconds(self, begin: int, end: int) -> int:
        """GPU-seconds of the nodes that are in service in [begin, end)."""
        closed = np.diff(np.clip(self.closures[:, 1:3], begin, end), axis=1)[:, 0]
        return self.capacity * (end - begin) - int((closed * self.node_gpus[self.closures[:, 0]]).sum())

    @property
    def judged_jobs(self) -> NDArray[np.bool_]:  # (jobs,) whether tables of waits count the job
        submit = self.jobs.submit
        if self.judged is not None:
            return np.asarray((submit >= self.judged[0]) & (submit < self.judged[1]))
        early = submit < submit.max(initial=0) - DAY
        return np.asarray(early if early.any() else np.ones_like(early))


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    start: IntArray  # seconds, one a job; the start of the run that completes
    pool: IntArray
    node: IntArray  # the nodes of all jobs, one behind the other in the order of jobs, counted through all pools


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Costs of starts: c_j(s) = max(low_j, weight_j (s - submit_j) + add_j) / unit_j, all integers."""

    low: IntArray
    weight: IntArray
    add: IntArray
    unit: IntArray
    submit: IntArray
    total_weight: int  # what the total is divided by for the mean that is printed

    def numerators(self, start: IntArray) -> IntArray:  # (jobs,) unit_j c_j(start_j), exact
        wait = start - self.submit
        if int(self.weight.max(initial=0)) * int(np.abs(wait).max(initial=0)) >= 2**62:
            wait = wait.astype(object)
        return np.maximum(self.low, self.weight * wait + self.add)

    def total(self, start: IntArray) -> Fraction:
        units, group = np.unique(self.unit, return_inverse=True)
        sums = [0] * len(units)  # of integers without bounds
        for place, value in zip(group.tolist(), self.numerators(start).tolist(), strict=True):
            sums[place] += value
        pairs = list(zip(sums, units.tolist(), strict=True)) or [(0, 1)]
        while len(pairs) > 1:  # in a tree, because the common unit has thousands of digits
            halves = zip(pairs[::2], pairs[1::2], strict=False)
            pairs = [(a * d + c * b, b * d) for (a, b), (c, d) in halves] + pairs[len(pairs) & ~1 :]
        return Fraction(*pairs[0])

    def mean(self, start: IntArray) -> float:
        """The figure that is printed: the mean wait in seconds (of a job, a GPU, a GPU-hour), or the mean slowdown."""
        return float(self.total(start) / self.total_weight) if self.total_weight else 0.0


def make_costs(jobs: Jobs, name: str) -> Costs:
    one = freeze(np.ones(len(jobs)))
    if name == "slowdown":  # max(1, (s - submit + run) / max(run, 10)), the bounded slowdown
        bounded = freeze(np.maximum(jobs.run, 10))
        return Costs(bounded, one, jobs.run, bounded, jobs.submit, len(jobs))
    weight = {"wait-gpu-hours": jobs.width * jobs.run, "wait": one, "wait-gpus": jobs.width}[name]
    zero = freeze(0 * one)
    return Costs(zero, freeze(weight), zero, one, jobs.submit, sum(weight.tolist()))


def with_cost(instance: Instance, cost: str) -> Instance:
    require_known(cost, COSTS, "--cost")
    return replace(instance, cost=cost, cache={})


def describe(instance: Instance) -> dict[str, Any]:
    jobs = instance.jobs
    span = int(jobs.submit.max(initial=instance.begin)) - instance.begin
    asked = int((jobs.width * jobs.run)[jobs.submit >= instance.begin].sum())
    return {
        "jobs": len(jobs),
        "gpus": instance.capacity,
        "pools": len(instance.pools),
        "days": round(span / DAY, 2),
        "load": round(asked / (span * instance.capacity), 3) if span > 0 else None,
        "cost": instance.cost,
    }
