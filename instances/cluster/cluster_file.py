"""The cluster file of an import, in TOML: the nodes, who may use them, and the window.

It has what an instance file has of the cluster (pools, partitions, quotas, priority, cycle, depth, judged), `types` of
a pool (names of its GPUs in the log), and `begin`, `end` and `zone` of the window.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from zoneinfo import ZoneInfo

from ratiobench.instances.cluster.format import LONGEST_RUN, WEIGHT_LIMIT, ClusterDocument, sum_nominal
from ratiobench.instances.cluster.log_lines import LogJob, Reason
from ratiobench.instances.cluster.model import NONE, Pool, Second
from ratiobench.instances.io.documents import read_document
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import load_toml


class LogPool(Pool, frozen=True, kw_only=True):
    """A pool of the cluster file."""

    types: tuple[str, ...] = ()


class ClusterFile(ClusterDocument, frozen=True, kw_only=True, omit_defaults=False):
    """The cluster file; `begin` and `end` are seconds from 1970, `zone` a name such as Europe/Berlin."""

    pools: list[LogPool]
    begin: Second | None = None
    end: Second | None = None
    zone: str = ""

    def __post_init__(self) -> None:
        if self.begin is not None and self.end is not None and self.end <= self.begin:
            raise InputError("", "end", f"{self.end} is not after begin = {self.begin}")
        if self.zone:
            try:
                ZoneInfo(self.zone)
            except (KeyError, ValueError, OSError):
                problem = f"{shorten(self.zone)} is no time zone such as Europe/Berlin"
                raise InputError("", "zone", problem) from None


def read_cluster(path: str) -> ClusterFile:
    """Read a cluster file; the error of a bad one names the field."""
    return read_document(path, ClusterFile, load_toml)


class Shapes:
    """Nodes, GPUs of a node and pools of the jobs of a log."""

    def __init__(self, cluster: ClusterFile, where: str) -> None:
        self.pools = cluster.pools
        self.fits: dict[tuple[object, ...], tuple[int, int, tuple[int, ...]]] = {}
        self.types: dict[str, set[int]] = defaultdict(set)
        names = [pool.name for pool in cluster.pools]
        for q, pool in enumerate(cluster.pools):
            for kind in (pool.name, *pool.types):
                self.types[kind.lower()].add(q)
        self.partitions: dict[str, set[int]] = {}
        self.bounds: dict[str, float] = {}
        for i, part in enumerate(cluster.partitions):
            for pool_name in part.pools:
                if pool_name not in names:
                    raise InputError(where, f"partitions[{i}].pools", explain_unknown_name(pool_name, names))
            self.partitions[part.name] = {names.index(pool_name) for pool_name in part.pools}
            bounds = (bound for bound in (part.user_gpus, part.account_gpus) if bound != NONE)
            self.bounds[part.name] = min(bounds, default=math.inf)
        complete = all(len(quota.nominal) == len(names) for quota in cluster.quotas)  # else the instance is refused
        self.quotas = {q.account: sum_nominal(q, cluster.quotas) for q in cluster.quotas} if complete else {}

    def allowed(self, job: LogJob, strict: bool = True) -> set[int]:
        """The pools that the job may use by its partition, type of GPU and constraint.

        `strict`: unknown partitions and types are errors; a feature that is no type of GPU does not matter.
        """
        allowed = set(range(len(self.pools)))
        labels = (("partition", job.partition, self.partitions), ("type", job.kind.lower(), self.types))
        for field, label, table in labels:
            if label and table and label in table:
                allowed &= table[label]
            elif label and table and strict:
                problem = f"{explain_unknown_name(label, table)}, the names in the cluster file"
                raise InputError(job.source, f"{job.where} {field}", problem)
        features = re.findall(r"[\w.-]+", job.constraint.lower()) if job.constraint else []
        named = [self.types[feature] for feature in features if feature in self.types]
        return allowed & set[int]().union(*named) if named else allowed

    def place(self, job: LogJob) -> str:
        """Set the shape and the pools of a job; why it is left out, empty if it is not."""
        if job.left_out:
            return job.left_out
        key = job.partition, job.kind, job.constraint, job.nodes, job.gpus
        if key not in self.fits:
            allowed = self.allowed(job)
            widest = max((self.pools[q].gpus for q in allowed), default=1)
            nodes = min(job.nodes, job.gpus) or -(-job.gpus // widest)
            gpus = -(-job.gpus // nodes)
            pools = (q for q in sorted(allowed) if self.pools[q].nodes >= nodes and self.pools[q].gpus >= gpus)
            self.fits[key] = nodes, gpus, tuple(pools)
        job.nodes, job.node_gpus, job.pools = self.fits[key]
        width, most = job.nodes * job.node_gpus, self.quotas.get(job.account)
        if not job.pools:
            return Reason.TOO_LARGE
        if width > self.bounds.get(job.partition, math.inf) or (most and all(width > most[q] for q in job.pools)):
            return Reason.TOO_WIDE
        if width * job.length >= WEIGHT_LIMIT or job.length > LONGEST_RUN:
            return Reason.TOO_LONG
        return ""

    def ran_in(self, job: LogJob) -> tuple[int, ...]:
        """The pools in which the job may have run in the log."""
        allowed = self.allowed(job, strict=False)
        return tuple(sorted(self.types.get(job.ran.lower(), allowed) & allowed or allowed))
