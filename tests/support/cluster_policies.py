"""Own policies of family `cluster`: one that keeps the rules, and some that break one."""

from collections.abc import Sequence
from typing import Any

from ratiobench.online.cluster.protocol import Cluster, Job


class Fifo:
    """FCFS from what a policy sees, by counting free nodes of each pool."""

    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Sequence[Any]:
        """Start the first job, and ask again in the same second's stead: one job a pass."""
        for job in waiting:
            for pool in job.pools:
                free = (cluster.pool == pool) & (cluster.free >= job.gpus)
                if free.sum() >= job.nodes:
                    cluster.ask_at(now + 1)
                    return [(job, tuple(free.nonzero()[0][: job.nodes].tolist()))]
            return []
        return []


class Eager:
    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Sequence[Any]:
        return list(waiting)


class Sleepless:
    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Sequence[Any]:
        cluster.ask_at(now + 1)
        return []


class Idle:
    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Sequence[Any]:
        return []


class Wrong:
    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Any:
        return "job"


class Reads:
    """Looks for the length of a job that has not ended."""

    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Sequence[Any]:
        return [job for job in waiting if job.run < 10]  # type: ignore[attr-defined]
