"""A later beginning of an instance: what runs and what waits then, by a schedule."""

from __future__ import annotations

import numpy as np

from ratiobench.instances.cluster.format import LABELS, document, parse
from ratiobench.instances.cluster.model import Instance, Schedule


def cut_window(instance: Instance, schedule: Schedule, begin: int, end: int | None = None) -> Instance:
    """Cut the jobs of a window out of an instance, with the jobs that run and wait at its beginning.

    Parameters
    ----------
    instance : the cluster and its jobs.
    schedule : starts and places of all jobs; they become the starts of the log.
    begin, end : seconds; jobs count that are submitted before `end` and start at `begin` or later.

    Returns
    -------
    The window. A job that waits at the beginning is released then; its wait counts from its submit.
    """
    jobs, start = instance.jobs, schedule.start
    kept = np.flatnonzero((start >= begin) & (jobs.submit < (np.inf if end is None else end))).tolist()
    top = document(instance)
    columns = {name: [values[j] for j in kept] for name, values in top["jobs"].items()}
    columns["release"] = np.maximum(jobs.release[kept], begin).tolist()
    columns["logged"] = start[kept].tolist()
    offset = np.cumsum([0, *jobs.nodes])
    rows = [row for row in top["running"] if row["end"] > begin]
    for j in np.flatnonzero((start < begin) & (start + jobs.run > begin)).tolist():
        q = int(schedule.pool[j])
        nodes = schedule.node[offset[j] : offset[j + 1]] - instance.first_node[q]
        row = {"pool": instance.pools[q].name, "nodes": nodes.tolist(), "gpus": int(jobs.gpus[j])}
        row |= {"start": int(start[j]), "end": int(start[j] + jobs.run[j]), "limit": int(jobs.limit[j])}
        rows.append(row | {label: int(getattr(jobs, label)[j]) for label in LABELS if label != "qos"})
    origin = {"window": [begin, end], "of": instance.name, **instance.origin}
    changed = {"begin": begin, "judged": None, "origin": origin, "running": rows, "jobs": columns}
    return parse(top | changed, instance.name)
