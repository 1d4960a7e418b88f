"""The data of family `cluster`: a batch cluster and its jobs, in whole seconds.

A job j that starts at second s costs c_j(s) = max(low_j, weight_j (s - submit_j) + add_j) / unit_j (`costs`). Instances
are immutable and made by `ratiobench.instances.cluster.format.parse` alone, so everything that exists is validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.io.errors import make_printable

NONE = -1  # No limit, no label, no start in the log
DAY = 86_400
COSTS = ("wait-gpu-hours", "wait", "wait-gpus", "slowdown")


@dataclass(frozen=True, slots=True)
class Closure:
    """A node that is out of service.

    Parameters
    ----------
    node : number of the node in its pool, from 0.
    start, end : seconds; the node is closed in [start, end).
    announced : second from which policies know of it, at most `start`.
    """

    node: int
    start: int
    end: int
    announced: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Equal nodes.

    Parameters
    ----------
    name : of the pool.
    nodes : how many nodes.
    gpus : GPUs of one node (processors, if the log counts only those).
    closures : when nodes are out of service.
    """

    name: str
    nodes: int
    gpus: int
    closures: tuple[Closure, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of the cluster.

    Parameters
    ----------
    name : of the partition.
    pools : numbers of its pools.
    limit : the greatest time limit, seconds, and the limit of a job that has none; -1 for none.
    user_gpus, account_gpus : most running GPUs of one user, of one account, in this partition; -1 for no bound.
    """

    name: str
    pools: tuple[int, ...]
    limit: int = NONE
    user_gpus: int = NONE
    account_gpus: int = NONE


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of one account.

    Parameters
    ----------
    account : number of the account.
    nominal : GPUs of each pool that the account can always use.
    cohort : accounts of one cohort lend each other nominal GPUs that they do not use; empty: none.
    strict : whether a job that does not fit blocks the account's later jobs (StrictFIFO).
    """

    account: int
    nominal: tuple[int, ...]
    cohort: str = ""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Priority:
    """Weights of the multifactor priority, named as in slurm.conf.

    Parameters
    ----------
    age, size, fair_share, qos, partition, account : weights of the factors.
    max_age : seconds of waiting at which the age factor reaches 1.
    half_life : seconds in which past use loses half its weight.
    favor_small : whether the size factor is 1 - n / capacity instead of n / capacity.
    shares : (accounts,) shares of each account, at least 1.
    qos_priority, partition_priority, account_priority : priority of each quality of service, partition, account.
    """

    age: int = 0
    size: int = 0
    fair_share: int = 0
    qos: int = 0
    partition: int = 0
    account: int = 0
    max_age: int = 7 * DAY
    half_life: int = 7 * DAY
    favor_small: bool = False
    shares: tuple[int, ...] = ()
    qos_priority: tuple[int, ...] = ()
    partition_priority: tuple[int, ...] = ()
    account_priority: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """Jobs in order of submit; every column has one entry a job.

    Parameters
    ----------
    ids : names in the log.
    submit : seconds; waits count from here.
    release : seconds, at least submit and the beginning of the instance; earliest start, and policies see the job from
        here.
    run : true length, seconds, at least 1.
    limit : time limit that the user asked for, seconds; -1 for none.
    nodes, gpus : the job takes `gpus` GPUs on each of `nodes` different nodes of one pool.
    allowed : (jobs, pools) whether the job may use the pool.
    account, user, partition, qos : numbers in the instance's tables; -1 for none.
    logged : start in the log, seconds; -1 if it is not known.
    """

    ids: tuple[str, ...]
    submit: IntArray
    release: IntArray
    run: IntArray
    limit: IntArray
    nodes: IntArray
    gpus: IntArray
    allowed: NDArray[np.bool_]
    account: IntArray
    user: IntArray
    partition: IntArray
    qos: IntArray
    logged: IntArray

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def width(self) -> IntArray:
        """GPUs of the whole job."""
        return self.nodes * self.gpus


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """Jobs that run at the beginning, one entry each; they are not jobs of the instance and cost nothing.

    Parameters
    ----------
    pool, gpus : pool, and GPUs on each node.
    start, end : seconds; end is the true one, after the beginning.
    limit : time limit, seconds; -1 for none.
    account, user, partition : numbers in the instance's tables; -1 for none.
    nodes : number of nodes.
    node : the nodes of all of them, one behind the other, counted through all pools.
    """

    pool: IntArray
    gpus: IntArray
    start: IntArray
    end: IntArray
    limit: IntArray
    account: IntArray
    user: IntArray
    partition: IntArray
    nodes: IntArray
    node: IntArray

    def __len__(self) -> int:
        return len(self.pool)


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A cluster, its state at the beginning, and the jobs from then on.

    Parameters
    ----------
    name, origin : label and provenance; not part of the identity (hash).
    pools, partitions : the nodes, and who may use them.
    accounts, users, qos : names behind the numbers in columns.
    jobs : the jobs.
    running : jobs that run at the beginning.
    begin : second of the beginning.
    cycle, depth : backfilling is done every `cycle` seconds for the first `depth` jobs; 0: at every event, all jobs.
    judged : [from, to) of submits that tables of waits are about; None: all but the last day.
    quotas, priority : quotas of accounts, weights of the multifactor priority.
    cost : by which schedules are judged, one of `COSTS`; not part of the identity.
    cache : derived figures; not part of the identity.
    """

    name: str
    origin: Mapping[str, Any]
    pools: tuple[Pool, ...]
    partitions: tuple[Partition, ...]
    accounts: tuple[str, ...]
    users: tuple[str, ...]
    qos: tuple[str, ...]
    jobs: Jobs
    running: Running
    begin: int
    cycle: int = 0
    depth: int = 0
    judged: tuple[int, int] | None = None
    quotas: tuple[Quota, ...] = ()
    priority: Priority = field(default_factory=Priority)
    cost: str = "wait"
    cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        sizes = f"{len(self.jobs)} jobs, {self.capacity} GPUs in {len(self.pools)} pools"
        return f"<Instance {make_printable(self.name, 80)}: {sizes}>"

    @property
    def capacity(self) -> int:
        """GPUs of all pools."""
        return sum(pool.nodes * pool.gpus for pool in self.pools)

    @property
    def first_node(self) -> IntArray:
        """(pools + 1,) number of the first node of each pool, counted through all pools; last: how many nodes."""
        return freeze(np.cumsum([0, *(pool.nodes for pool in self.pools)]))

    @property
    def node_gpus(self) -> IntArray:
        """(nodes,) GPUs of every node."""
        return freeze(np.repeat([pool.gpus for pool in self.pools], [pool.nodes for pool in self.pools]))

    @property
    def node_pool(self) -> IntArray:
        """(nodes,) pool of every node."""
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

    @property
    def judged_jobs(self) -> NDArray[np.bool_]:
        """(jobs,) whether tables of waits count the job."""
        submit = self.jobs.submit
        if self.judged is not None:
            return np.asarray((submit >= self.judged[0]) & (submit < self.judged[1]))
        last = int(submit[-1]) if len(submit) else 0
        early = submit < last - DAY
        return np.asarray(early if early.any() else np.ones(len(submit), dtype=bool))


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Starts and places of all jobs.

    Parameters
    ----------
    start : (jobs,) seconds; the start of the run that completes.
    pool : (jobs,) number of the pool.
    node : the nodes of all jobs, one behind the other in the order of jobs, counted through all pools.
    """

    start: IntArray
    pool: IntArray
    node: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Costs of starts: c_j(s) = max(low_j, weight_j (s - submit_j) + add_j) / unit_j, all integers.

    Parameters
    ----------
    name : of the cost, one of `COSTS`.
    low, weight, add, unit, submit : (jobs,) the integers of the formula.
    total_weight : what the total is divided by for the mean that is printed.
    """

    name: str
    low: IntArray
    weight: IntArray
    add: IntArray
    unit: IntArray
    submit: IntArray
    total_weight: int

    def numerators(self, start: IntArray) -> IntArray:
        """(jobs,) unit_j c_j(start_j), exact."""
        return np.maximum(self.low, self.weight * (start - self.submit) + self.add)

    def total(self, start: IntArray) -> Fraction:
        """The cost of a schedule, exact."""
        numerators = self.numerators(start)
        units, group = np.unique(self.unit, return_inverse=True)
        sums = [0] * len(units)
        for place, value in zip(group.tolist(), numerators.tolist(), strict=True):
            sums[place] += value
        pairs = list(zip(sums, units.tolist(), strict=True)) or [(0, 1)]
        while len(pairs) > 1:  # in a tree, because the common unit has thousands of digits
            halves = zip(pairs[::2], pairs[1::2], strict=False)
            pairs = [(a * d + c * b, b * d) for (a, b), (c, d) in halves] + pairs[len(pairs) & ~1 :]
        return Fraction(*pairs[0])

    def mean(self, start: IntArray) -> float:
        """The figure that is printed: the mean wait in seconds (of a job, a GPU, a GPU-hour), or the mean slowdown."""
        if self.total_weight == 0:
            return 0.0
        return float(self.total(start) / self.total_weight)


def make_costs(jobs: Jobs, name: str) -> Costs:
    """Return the cost of this name for these jobs.

    `wait-gpu-hours`: weight nodes x gpus x run; `wait`: weight 1; `wait-gpus`: weight nodes x gpus; `slowdown`:
    max(1, (s - submit + run) / max(run, 10)), the bounded slowdown.
    """
    zero, one = np.zeros(len(jobs), dtype=np.int64), np.ones(len(jobs), dtype=np.int64)
    if name == "slowdown":
        bounded = np.maximum(jobs.run, 10)
        low, weight, add, unit = bounded, one, jobs.run, bounded
        total_weight = len(jobs)
    else:
        weight = {"wait-gpu-hours": jobs.width * jobs.run, "wait": one, "wait-gpus": jobs.width}[name]
        low, add, unit = zero, zero, one
        total_weight = int(weight.sum())
    return Costs(name, freeze(low), freeze(weight), freeze(add), freeze(unit), jobs.submit, total_weight)
