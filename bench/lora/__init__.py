"""Family `lora`: problem P, online scheduling and pricing of multi-LoRA fine-tuning tasks (main paper, section 2)."""

from fractions import Fraction

from ratiobench.bench.family.contract import Family

FAMILY = Family(
    "lora",
    "micro-dollars",
    headline="theorem5",
    size=("tasks", "slots", "nodes"),
    whole_values=True,
    dollars=Fraction(1, 1_000_000),
    places={
        "describe": "instances.quantities:describe",
        "solution_document": "instances.solution:solution_document",
        "parse_solution": "instances.solution:parse_solution",
        "write_certificate": "formulations.certificate:write",
        "sources": "bench.sources:SOURCES",
        "claims": "bench.theory.claims:THEORY",
        "counterexample_search": "bench.counterexamples.search:COUNTEREXAMPLES",
    },
)
