"""The traces behind the recipes: clusters whose days are drawn, and prepared traces."""

from __future__ import annotations

from ratiobench.instances.edgeflow.tables import CLUSTERS, PUBLISHED


def traces() -> list[tuple[str, str]]:
    """The traces by name, each with one sentence: what it is, and which recipe takes it."""
    days = [(name, f"{about}; counts and quantiles, recipe gpu-day") for name, about in CLUSTERS.items()]
    return days + [(name, f"{each.about}; whole, recipe elasticflow") for name, each in PUBLISHED.items()]
