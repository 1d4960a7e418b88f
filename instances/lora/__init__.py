"""Problem P: online scheduling and pricing of multi-LoRA fine-tuning tasks (main paper, section 2)."""

from ratiobench.instances.lora.format import content_hash, document, dumps, loads, parse, read, write
from ratiobench.instances.lora.model import Instance, NodeType, Public, Task, Vendor
from ratiobench.instances.lora.solution import Decision, Solution, read_solution, solution_document

__all__ = [
    "Decision", "Instance", "NodeType", "Public", "Solution", "Task", "Vendor", "content_hash", "document", "dumps",
    "loads", "parse", "read", "read_solution", "solution_document", "write",
]  # fmt: skip
