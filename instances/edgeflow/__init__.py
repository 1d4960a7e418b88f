"""Family `edgeflow`: elastic training jobs with deadlines on cloud GPUs and idle edge servers."""

from ratiobench.instances.edgeflow.format import (
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
from ratiobench.instances.edgeflow.model import Instance, Job, Piece, Public, Solution

__all__ = [
    "Instance", "Job", "Piece", "Public", "Solution", "content_hash", "document", "dumps", "loads", "parse",
    "parse_solution", "read", "solution_document", "write",
]  # fmt: skip
