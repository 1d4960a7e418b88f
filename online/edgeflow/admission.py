"""Who is let in: ElasticFlow's rule, by which whoever is let in can be met together with all before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from instances.edgeflow.model import Job

Fits = Callable[[Sequence[int]], bool]
"""Whether a plan for these jobs, beside those that have been let in, is whole."""


def admit_one_by_one(new: Sequence[Job], fits: Fits) -> list[int]:
    """In order of arrival: each one that fits with those before."""
    taken: list[int] = []
    for job in new:
        if fits([*taken, job.index]):
            taken.append(job.index)
    return taken


def admit_together(new: Sequence[Job], fits: Fits) -> list[int]:
    """All or none, as the artifact does with the arrivals of a slot."""
    jobs = [job.index for job in new]
    return jobs if jobs and fits(jobs) else []


ADMITS = {"one": admit_one_by_one, "batch": admit_together}
"""By the value of the option `admit`."""
