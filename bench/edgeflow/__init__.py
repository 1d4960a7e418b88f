"""Family `edgeflow`: elastic training jobs with deadlines on cloud GPUs and on idle edge servers."""

from ratiobench.bench.family.contract import Family

FAMILY = Family(
    "edgeflow",
    "jobs",
    objective="met",
    size=("jobs", "gpus", "windows"),
    whole_values=True,
    places={
        "traces": "instances.tables:traces",
        "describe": "instances.model:describe",
        "solution_document": "instances.format:solution_document",
        "parse_solution": "instances.format:parse_solution",
        "write_certificate": "formulations.verify:write",
        "timeline": "bench.evaluation:timeline",
        "measures": "bench.evaluation:measures",
        "measure_names": "bench.evaluation:MEASURES",
        "sources": "bench.claims:SOURCES",
    },
)
