"""Tenants instances and their documents, small enough for brute force."""

from typing import Any

from hypothesis import strategies as st

from ratiobench.instances.tenants.format import FORMAT, parse
from ratiobench.instances.tenants.model import Instance

Document = dict[str, Any]


@st.composite
def tenants_documents(draw: st.DrawFn, max_jobs: int = 4, max_types: int = 2, max_count: int = 2) -> Document:
    """The document of a tiny instance, with and without releases.

    It covers no job, one GPU, more GPUs than jobs, equal jobs, deadlines before the release, sensitivities of 0 and
    100 for all, theta, penalty and prices of 0, runs of one tick and two releases in one tick.
    """
    types = draw(st.integers(1, max_types))
    sensitivities = draw(st.sampled_from([[0, 20, 50, 100], [0], [100]]))
    releases = draw(st.sampled_from([[0], [0, 0, 2, 5]]))
    longest = draw(st.sampled_from([1, 4, 8]))
    jobs: list[Document] = [
        {
            "release": draw(st.sampled_from(releases)),
            "deadline": draw(st.integers(0, 12)),
            "cost_sensitivity": draw(st.sampled_from(sensitivities)),
            "run": draw(st.lists(st.integers(1, longest), min_size=types, max_size=types)),
        }
        for _ in range(draw(st.integers(0, max_jobs)))
    ]
    same: bool = draw(st.booleans())
    if jobs and same:
        jobs[-1] = dict(jobs[0])
    jobs.sort(key=lambda job: job["release"])
    return {
        "format": FORMAT,
        "name": "tiny",
        "tick_seconds": 60,
        "gpu_types": [
            {"name": f"t{k}", "count": draw(st.integers(1, max_count)), "price": draw(st.integers(0, 4))}
            for k in range(types)
        ],
        "theta": draw(st.integers(0, 3)),
        "late_penalty": draw(st.integers(0, 5)),
        "jobs": jobs,
    }


def tiny_instances(**limits: int) -> st.SearchStrategy[Instance]:
    return tenants_documents(**limits).map(lambda document: parse(document, "<hypothesis>"))
