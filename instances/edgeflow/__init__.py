"""Family `edgeflow`: elastic training jobs with deadlines on cloud GPUs and on edge servers that are idle at times."""

from ratiobench.instances.edgeflow.format import content_hash, document, dumps, loads, parse, read, write
from ratiobench.instances.edgeflow.model import Instance, Job, Public
from ratiobench.instances.edgeflow.solution import Piece, Solution, parse_solution, solution_document

__all__ = [
    "Instance", "Job", "Piece", "Public", "Solution", "content_hash", "document", "dumps", "loads", "parse",
    "parse_solution", "read", "solution_document", "write",
]  # fmt: skip
