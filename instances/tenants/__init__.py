"""Tenants: jobs of many tenants on heterogeneous GPUs; lateness, time and money in one cost, the least is best."""

from ratiobench.instances.tenants.format import (
    content_hash,
    document,
    dumps,
    loads,
    parse,
    parse_solution,
    read,
    solution_document,
    write,
)
from ratiobench.instances.tenants.model import GpuType, Instance, Job, Public, Solution

__all__ = [
    "GpuType", "Instance", "Job", "Public", "Solution", "content_hash", "document", "dumps", "loads", "parse",
    "parse_solution", "read", "solution_document", "write",
]  # fmt: skip
