"""Family `eapm`: bags of tasks on heterogeneous machines, for profit per unit time (second paper)."""

from ratiobench.bench.family.contract import Family

FAMILY = Family(
    "eapm",
    "units/s",
    objective="profit rate",
    size=("users", "tasks", "machines"),
    places={"measures": "bench.evaluation:measures", "measure_names": "bench.evaluation:MEASURES"},
)
