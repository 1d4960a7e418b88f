"""ElasticFlow's admission of new jobs: one by one in order of arrival, or all that arrive together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ratiobench.instances.edgeflow.model import Job

Fits = Callable[[Sequence[int]], bool]  # Whether one plan meets these jobs and those admitted before


def admit_one_by_one(new: Sequence[Job], fits: Fits) -> list[int]:
    """In order of arrival: each job that fits beside those before it."""
    taken: list[int] = []
    for job in new:
        if fits([*taken, job.index]):
            taken.append(job.index)
    return taken


def admit_together(new: Sequence[Job], fits: Fits) -> list[int]:
    """All or none, as the artifact treats the arrivals of a slot."""
    jobs = [job.index for job in new]
    return jobs if jobs and fits(jobs) else []


ADMITS = {"one": admit_one_by_one, "batch": admit_together}  # By the value of the option `admit`
