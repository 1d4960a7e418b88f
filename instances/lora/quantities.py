"""Figures to show beside an instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ratiobench.instances.lora.feasibility import load, servable
from ratiobench.instances.lora.model import Instance


def describe(instance: Instance) -> Mapping[str, Any]:
    """Size and load of the instance."""
    return {
        "tasks": instance.tasks,
        "servable": int(servable(instance).sum()),
        "nodes": instance.nodes,
        "slots": instance.slots,
        "load": round(float(load(instance)), 3),
    }
