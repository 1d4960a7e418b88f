"""EdgeFlow instances and their documents, small enough to be solved second by second."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.model import Instance

Document = dict[str, Any]


@st.composite
def edgeflow_documents(draw: st.DrawFn, max_jobs: int = 5, max_seconds: int = 30, max_gpus: int = 4) -> Document:
    """The document of a tiny instance.

    It covers no job, hopeless jobs, models without level 1, with one level, slower with more GPUs, wider than the
    cloud, that do not fit on an edge server, without overheads and with ones that outlast windows; windows that touch,
    and none; arrivals, deadlines and windows in one second.
    """
    shares = [1 << k for k in range(max_gpus.bit_length() + 1)]
    models = [_model(draw, f"m{k}", shares) for k in range(draw(st.integers(1, 2)))]
    jobs = [_job(draw, models, max_seconds) for _ in range(draw(st.integers(0, max_jobs)))]
    ends = sorted(draw(st.sets(st.integers(0, max_seconds), max_size=4)))
    pairs = list(pairwise(ends))
    windows = pairs if draw(st.booleans()) else pairs[::2]
    return {
        "format": FORMAT,
        "name": "tiny",
        "cloud": {"gpus": draw(st.integers(1, max_gpus)), "node_gpus": draw(st.sampled_from([8, 1, 2]))},
        "edge": [{"from": a, "to": b, "servers": draw(st.integers(1, 2))} for a, b in windows],
        "models": models,
        "jobs": sorted(jobs, key=lambda job: job["submit"]),
    }


def _model(draw: st.DrawFn, name: str, shares: list[int]) -> Document:
    gpus = sorted(draw(st.sets(st.sampled_from(shares), min_size=1)))
    return {
        "name": name,
        "speed": [[share, draw(st.integers(1, 4) | st.integers(500, 4000))] for share in gpus],
        "edge_speed": draw(st.sampled_from([0, 1, 2, 700])),
        "overhead_s": draw(st.integers(0, 3)),
        "edge_overhead_s": draw(st.integers(0, 2)),
    }


def _job(draw: st.DrawFn, models: list[Document], seconds: int) -> Document:
    model = draw(st.sampled_from(models))
    submit = draw(st.integers(0, seconds - 1))
    deadline = draw(st.integers(submit + 1, seconds))
    gpus, speed = draw(st.sampled_from(model["speed"]))
    busy = draw(st.integers(1, deadline - submit))  # seconds that it takes at this level
    work = max(1, speed * busy - draw(st.integers(0, speed - 1)))
    return {"submit": submit, "deadline": deadline, "model": model["name"], "work": work, "gpus": gpus}


def tiny_instances(**limits: int) -> st.SearchStrategy[Instance]:
    return edgeflow_documents(**limits).map(lambda document: parse(document, "<hypothesis>"))
