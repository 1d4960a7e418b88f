"""Family `tenants`: jobs of many tenants on GPUs of several types; lateness, time and money in one cost, least best."""

from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense

FAMILY = Family(
    "tenants",
    "1/100 micro-dollar",
    objective="cost",
    sense=Sense.LEAST,
    size=("jobs", "gpus", "types"),
    whole_values=True,
    dollars=Fraction(1, 10**8),
    places={"measures": "bench.evaluation:measures", "measure_names": "bench.evaluation:MEASURES"},
)
