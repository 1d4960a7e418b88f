"""Tenants: jobs of many tenants on heterogeneous GPUs; lateness, time and money in one cost, the least is best."""

from ratiobench.instances.tenants.format import content_hash, document, dumps, loads, parse, read, write
from ratiobench.instances.tenants.model import GpuType, Instance, Job, Public
from ratiobench.instances.tenants.solution import Solution, parse_solution, solution_document

__all__ = [
    "GpuType", "Instance", "Job", "Public", "Solution", "content_hash", "document", "dumps", "loads", "parse",
    "parse_solution", "read", "solution_document", "write",
]  # fmt: skip
