"""EAPM: bags of identical tasks on heterogeneous machines, for profit per unit time (second paper, eq. 1-7)."""

from ratiobench.instances.eapm.format import (
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
from ratiobench.instances.eapm.model import Instance, Public, Solution, User

__all__ = [
    "Instance", "Public", "Solution", "User", "content_hash", "document", "dumps", "loads", "parse", "parse_solution",
    "read", "solution_document", "write",
]  # fmt: skip
