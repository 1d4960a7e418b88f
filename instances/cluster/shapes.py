"""Nodes, GPUs of a node and pools of the jobs of a log; jobs that fit nowhere are left out."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ratiobench.instances.cluster.cluster_file import ClusterFile
from ratiobench.instances.cluster.format import WEIGHT_LIMIT
from ratiobench.instances.cluster.log_lines import LogJob
from ratiobench.instances.cluster.model import NONE
from ratiobench.instances.cluster.report import Report
from ratiobench.instances.io.errors import InputError, explain_unknown_name

TOO_LARGE, TOO_LONG = "fits no pool that it may use", "asks for more GPU-seconds than an instance can hold"
TOO_WIDE = "is wider than a bound of its partition or the quotas of its account"
UNEVEN = "ask for GPUs that their nodes do not divide; every node has the greater part"
LONGEST_RUN = 2**27


@dataclass(slots=True)
class Shape:
    """A job with nodes, GPUs per node, and its pools."""

    job: LogJob
    nodes: int
    gpus: int
    pools: tuple[int, ...]
    run: int


class Shapes:
    """Nodes and pools of jobs; jobs that have none are counted as left out."""

    def __init__(self, cluster: ClusterFile, report: Report, where: str) -> None:
        self.pools, self.end, self.report = cluster.pools, cluster.end, report
        self.types: dict[str, set[int]] = defaultdict(set)
        names = [pool.name for pool in cluster.pools]
        for q, pool in enumerate(cluster.pools):
            for kind in (pool.name, *pool.types):
                self.types[kind.lower()].add(q)
        self.parts: dict[str, set[int]] = {}
        self.fits: dict[tuple[object, ...], tuple[int, int, tuple[int, ...]]] = {}
        for i, part in enumerate(cluster.partitions):
            for pool_name in part.pools:
                if pool_name not in names:
                    raise InputError(where, f"partitions[{i}].pools", explain_unknown_name(pool_name, names))
            self.parts[part.name] = {names.index(pool_name) for pool_name in part.pools}
        self.bounds = {
            part.name: min(bounds)
            for part in cluster.partitions
            if (bounds := [bound for bound in (part.user_gpus, part.account_gpus) if bound != NONE])
        }
        self.quotas = {}
        if all(len(quota.nominal) == len(names) for quota in cluster.quotas):  # else the instance is refused
            for own in cluster.quotas:
                group = [q.nominal for q in cluster.quotas if q is own or q.cohort == own.cohort != ""]
                self.quotas[own.account] = np.sum(group, axis=0)

    def allowed(self, job: LogJob, strict: bool = True) -> set[int]:
        """The pools that the job may use by its partition, type of GPU and constraint.

        `strict`: unknown partitions and types are errors; a feature that is no type of GPU does not matter.
        """
        allowed = set(range(len(self.pools)))
        for field, label, table in (("partition", job.partition, self.parts), ("type", job.kind.lower(), self.types)):
            if not label or not table or not (strict or label in table):
                continue
            if label not in table:
                problem = f"{explain_unknown_name(label, table)}, the names in the cluster file"
                raise InputError("", field, problem) if job.line is None else job.line.fail(field, problem)
            allowed &= table[label]
        features = re.findall(r"[\w.-]+", job.constraint.lower()) if job.constraint else []
        named = [self.types[feature] for feature in features if feature in self.types]
        return allowed & set[int]().union(*named) if named else allowed

    def _fit(self, job: LogJob) -> tuple[int, int, tuple[int, ...]]:
        """Nodes, GPUs of a node, and the pools that have them."""
        key = job.partition, job.kind, job.constraint, job.nodes, job.gpus
        if key not in self.fits:
            allowed = self.allowed(job)
            widest = max((self.pools[q].gpus for q in allowed), default=1)
            nodes = min(job.nodes, job.gpus) or -(-job.gpus // widest)
            gpus = -(-job.gpus // nodes)
            pools = (q for q in sorted(allowed) if self.pools[q].nodes >= nodes and self.pools[q].gpus >= gpus)
            self.fits[key] = nodes, gpus, tuple(pools)
        return self.fits[key]

    def shape(self, job: LogJob) -> Shape | None:
        """The shape of a job; None if it is left out."""
        run = max(1, job.run or 0)
        nodes, gpus, pools = (1, job.gpus, ()) if job.left_out else self._fit(job)
        is_wide = nodes * gpus > self.bounds.get(job.partition, math.inf)
        if job.account in self.quotas:
            is_wide |= all(nodes * gpus > self.quotas[job.account][q] for q in pools)
        is_long = nodes * gpus * run >= WEIGHT_LIMIT or run > LONGEST_RUN
        reasons = ((not pools, TOO_LARGE), (is_wide, TOO_WIDE), (is_long, TOO_LONG))
        if reason := job.left_out or next((text for applies, text in reasons if applies), ""):
            leave_out(job, reason, self.report)
            return None
        self.report.remarks[UNEVEN] += nodes * gpus != job.gpus
        return Shape(job, nodes, gpus, pools, run)

    def ran_in(self, job: LogJob) -> tuple[int, ...]:
        """The pools in which the job may have run in the log."""
        allowed = self.allowed(job, strict=False)
        return tuple(sorted(self.types.get(job.ran.lower(), allowed) & allowed or allowed))


def leave_out(job: LogJob, reason: str, report: Report) -> None:
    job.left_out = reason
    report.leave_out(reason, (job.run or 0) * job.gpus)
