"""Family `eapm`: bags of tasks on heterogeneous machines, for profit per unit time (second paper)."""

from __future__ import annotations

from ratiobench.bench.family.packages import PackagedFamily


class EapmFamily(PackagedFamily):
    """Bags of tasks on heterogeneous machines."""

    name = "eapm"
    unit = "units/s"
    objective = "profit rate"
    size = ("users", "tasks", "machines")

    def warm(self) -> None:
        from ratiobench.formulations.eapm.solve import warm

        warm()
        super().warm()


FAMILY = EapmFamily()
