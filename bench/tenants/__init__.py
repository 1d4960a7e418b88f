"""Family `tenants`: jobs of many tenants on GPUs of several types; lateness, time and money in one cost, least best."""

from __future__ import annotations

from fractions import Fraction

from ratiobench.bench.family.packages import PackagedFamily
from ratiobench.bench.family.sense import Sense


class TenantsFamily(PackagedFamily):
    """Jobs of many tenants on GPUs of several types."""

    name = "tenants"
    unit = "1/100 micro-dollar"
    objective = "cost"
    sense = Sense.LEAST
    size = ("jobs", "gpus", "types")
    whole_values = True
    dollars = Fraction(1, 10**8)

    def warm(self) -> None:
        from ratiobench.formulations.tenants.solve import warm

        warm()
        super().warm()


FAMILY = TenantsFamily()
