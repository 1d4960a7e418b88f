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
        "timeline": "bench.evaluation:timeline",
        "measures": "bench.evaluation:measures",
        "measure_names": "bench.evaluation:MEASURES",
    },
)
