"""Figures that describe an instance, to show beside it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ratiobench.instances.tenants.model import Instance


def service_rate(instance: Instance) -> Fraction:
    """Jobs per tick that all GPUs finish when they are busy: the sum over GPUs of 1 / mean run; 0 without jobs."""
    if not instance.jobs:
        return Fraction(0)
    totals = instance.run.sum(axis=0).tolist()
    pairs = zip(instance.gpu_types, totals, strict=True)
    return sum((Fraction(kind.count * instance.jobs, total) for kind, total in pairs), Fraction(0))


def describe(instance: Instance) -> Mapping[str, Any]:
    """Size and load of the instance (rounded; nothing is decided by them).

    ``load`` is the rate of releases over `service_rate`; None where all jobs are released at once.
    """
    span = int(instance.release[-1] - instance.release[0]) if instance.jobs else 0
    return {
        "jobs": instance.jobs,
        "gpus": instance.gpus,
        "types": len(instance.gpu_types),
        "span_ticks": span,
        "load": round(float(instance.jobs / (span * service_rate(instance))), 3) if span else None,
        "theta": instance.theta,
        "late_penalty": instance.late_penalty,
    }
