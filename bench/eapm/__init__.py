"""Family `eapm`: bags of tasks on heterogeneous machines, for profit per unit time (second paper)."""

from ratiobench.bench.family.contract import Family

FAMILY = Family(
    "eapm",
    "units/s",
    objective="profit rate",
    size=("users", "tasks", "machines"),
    places={
        "describe": "instances.model:describe",
        "solution_document": "instances.format:solution_document",
        "parse_solution": "instances.format:parse_solution",
        "write_certificate": "formulations.verify:write",
        "measures": "bench.evaluation:measures",
        "measure_names": "bench.evaluation:MEASURES",
        "sources": "bench.claims:SOURCES",
    },
)
