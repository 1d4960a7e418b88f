"""The cluster file of an import, in TOML: the nodes, who may use them, and the window.

It has what an instance file has of the cluster (pools, partitions, quotas, priority, cycle, depth, judged), `types` of
a pool (names of its GPUs in the log), and `begin`, `end` and `zone` of the window.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo

import msgspec

from ratiobench.instances.cluster.format import (
    PartitionDocument,
    PoolDocument,
    PriorityDocument,
    QuotaDocument,
    Second,
    convert,
)
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import load_toml, read_bytes


class LogPool(PoolDocument, kw_only=True):
    """A pool of the cluster file."""

    types: list[str] = msgspec.field(default_factory=list)


class ClusterFile(msgspec.Struct, forbid_unknown_fields=True):
    """The cluster file; `begin` and `end` are seconds from 1970, `zone` a name such as Europe/Berlin."""

    pools: list[LogPool]
    partitions: list[PartitionDocument] = []
    quotas: list[QuotaDocument] = []
    priority: PriorityDocument = msgspec.field(default_factory=PriorityDocument)
    cycle: int = 0
    depth: int = 0
    judged: tuple[Second, Second] | None = None
    begin: Second | None = None
    end: Second | None = None
    zone: str = ""


def read_cluster(path: str) -> ClusterFile:
    """Read a cluster file.

    Parameters
    ----------
    path : of the TOML file.

    Returns
    -------
    What it says.

    Raises
    ------
    InputError : a field is missing, unknown or not allowed; names it.
    """
    data, source = read_bytes(path)
    cluster: ClusterFile = convert(load_toml(data, source), ClusterFile, source)
    if cluster.begin is not None and cluster.end is not None and cluster.end <= cluster.begin:
        raise InputError(source, "end", f"{cluster.end} is not after begin = {cluster.begin}")
    if cluster.zone:
        try:
            ZoneInfo(cluster.zone)
        except (KeyError, ValueError, OSError):
            raise InputError(source, "zone", f"{shorten(cluster.zone)} is no time zone such as Europe/Berlin") from None
    return cluster
