"""Figures that describe an instance: how many jobs can be met at all, and how much of the cloud they need."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ratiobench.instances.edgeflow.model import Instance, Job
from ratiobench.instances.edgeflow.tables import DAY


def fastest(instance: Instance, job: Job) -> int:
    """Milli-iterations per second of the job's fastest useful share; 0 where the cloud is narrower than any."""
    levels = instance.models[job.model].useful(instance.gpus)
    return levels[-1][1] if levels else 0


def can_be_met(instance: Instance, job: Job) -> bool:
    """Whether the job is met if it has the whole cloud to itself from its submission on."""
    window = job.deadline - job.submit - instance.models[job.model].overhead_s
    return window > 0 and fastest(instance, job) * window >= job.work


def is_hopeless(instance: Instance, job: Job) -> bool:
    """Whether the job misses its deadline even with all of the cloud and an edge server at any time to itself."""
    model = instance.models[job.model]
    speed = max(fastest(instance, job), model.edge_speed if instance.edge else 0)
    return speed * max(0, job.deadline - job.submit - model.overhead_s) < job.work


def least_gpu_seconds(instance: Instance, job: Job) -> Fraction:
    """What the job's work takes on its most thrifty useful share, overheads left out; 0 where it has none."""
    levels = instance.models[job.model].useful(instance.gpus)
    return min((Fraction(job.work * gpus, speed) for gpus, speed in levels), default=Fraction(0))


def span(instance: Instance) -> int:
    """The last deadline; 0 without jobs."""
    return int(instance.deadline.max()) if instance.jobs else 0


def describe(instance: Instance) -> Mapping[str, Any]:
    """Size and load of the instance, to show beside it (rounded; nothing is decided by them).

    ``alone`` is how many jobs could be met in the cloud alone in the world; ``load`` the least GPU time of these over
    what the cloud has in whole days from the first submission to the last; ``servers`` the most idle edge servers.
    """
    jobs = [instance.job(i) for i in range(instance.jobs)]
    able = [job for job in jobs if can_be_met(instance, job)]
    days = -(-(jobs[-1].submit - jobs[0].submit + 1) // DAY) if jobs else 1
    need = sum((least_gpu_seconds(instance, job) for job in able), Fraction(0))
    return {
        "jobs": instance.jobs,
        "alone": len(able),
        "gpus": instance.gpus,
        "servers": max((window.servers for window in instance.edge), default=0),
        "windows": len(instance.edge),
        "models": len(set(instance.model.tolist())),
        "span_h": round(span(instance) / 3600, 1),
        "load": round(float(need / (instance.gpus * days * DAY)), 3),
    }
