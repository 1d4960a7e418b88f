"""Pods of Kubernetes: what jobs they were, where the objects that made them are not in the list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ratiobench.instances.lora.logs.base import CANCELLED, NO_END, NO_TIME, Job, SkippedLine, make_labels
from ratiobench.instances.lora.logs.entries import Entry
from ratiobench.instances.lora.logs.kubernetes import (
    asked_type,
    count_pod_gpus,
    find_conditions,
    name_object,
    no_gpu_rule,
    submission_time,
)
from ratiobench.instances.lora.logs.sacct import BACKWARDS, NOT_STARTED
from ratiobench.instances.lora.model import Labels

# Labels of pods that run at the same time; a pod belongs to the first that it has
GANG_LABELS = (
    "kueue.x-k8s.io/pod-group-name",
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "volcano.sh/job-name",
)
JOB_LABELS = ("batch.kubernetes.io/job-name", "job-name")
QUEUES = ("kueue.x-k8s.io/queue-name", "volcano.sh/queue-name")
_ENDED = ("Succeeded", "Failed")


class Pod(NamedTuple):
    """A pod that asks for GPUs."""

    name: str  # namespace and name; of a gang those of what its pods have in common
    gang: bool  # whether it runs with the others of that name
    submit: int  # submit, start, end: seconds from 1970; None for one that has not started, or not ended
    start: int | None
    end: int | None
    gpus: int  # that it requests
    kind: str  # the type of GPU that it asks for; empty for any
    limit: int | None  # seconds; None for none
    killed: bool  # whether it was ended at its limit
    failed: str  # why it failed; empty where it did not
    labels: Labels
    job: tuple[str, str] | None  # namespace and name of its Job; empty for none


def read_pod(data: Entry) -> Pod | SkippedLine:
    """A pod, or why it is none of ours."""
    submit, spec, status = submission_time(data), data.object("spec"), data.object("status")
    namespace, name = name_object(data)
    labels = data.object("metadata").object("labels")
    group = next((found for key in GANG_LABELS if (found := labels.text(key))), "")
    gpus = count_pod_gpus(spec)
    if not gpus:
        # Heads and launchers of a gang are no jobs of their own.
        return SkippedLine("" if group else no_gpu_rule(spec), submit)
    scheduled = find_conditions(status).get("PodScheduled")
    start = scheduled.since if scheduled is not None else status.moment("startTime")
    ended = status.text("phase") in _ENDED
    reasons = [status.text("reason"), *_container_reasons(status)]
    failed = status.text("phase") == "Failed"
    limit = spec.integer("activeDeadlineSeconds") or None
    killed = limit is not None and failed and status.text("reason") == "DeadlineExceeded"
    job = next((found for key in JOB_LABELS if (found := labels.text(key))), "")
    queue = next((found for key in QUEUES if (found := labels.text(key))), "")
    return Pod(
        f"{namespace}/{group or name}",
        bool(group),
        submit,
        start,
        _end(status) if ended else None,
        gpus,
        asked_type(spec),
        limit,
        killed,
        next(filter(None, reasons), "without a reason") if failed else "",
        make_labels(namespace, "", queue, spec.integer("priority", -(2**31)) or 0),
        (namespace, job) if job else None,
    )


def _container_reasons(status: Entry) -> Iterator[str]:
    for each in status.objects("containerStatuses"):
        found = each.object("state").object("terminated")
        if found.integer("exitCode"):
            yield found.text("reason")


def _end(status: Entry) -> int | None:
    """When the last container ended; without that, since when the pod is not ready."""
    ends = [
        found
        for each in status.objects("containerStatuses")
        if (found := each.object("state").object("terminated").moment("finishedAt")) is not None
    ]
    if ends:
        return max(ends)
    for each in status.objects("conditions"):
        if each.text("type") in ("Ready", "ContainersReady") and each.text("status") == "False":
            return each.moment("lastTransitionTime")
    return None


def pods_as_jobs(pods: Iterable[Pod], jobs: set[tuple[str, str]]) -> Iterator[Job | SkippedLine]:
    """What the pods were: those of a gang are one job, all others one each."""
    gangs: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.job in jobs:
            continue
        if pod.gang:
            gangs.setdefault(pod.name, []).append(pod)
        else:
            yield _job([pod])
    for each in gangs.values():
        yield _job(each)


def _job(pods: Sequence[Pod]) -> Job | SkippedLine:
    submit = min(pod.submit for pod in pods)
    begun = [pod for pod in pods if pod.start is not None]
    if not begun:
        ended = any(pod.end is not None for pod in pods)
        return SkippedLine(CANCELLED if ended else NOT_STARTED, submit)
    spans = [(pod.start, pod.end) for pod in begun if pod.start is not None and pod.end is not None]
    if len(spans) < len(begun) or len(begun) < len(pods):
        return SkippedLine(NO_END, submit)
    if any(end < start for start, end in spans):
        return SkippedLine(BACKWARDS, submit)
    count, start = _widest(spans)
    end = max(end for _, end in spans)
    if end == start:
        return SkippedLine(NO_TIME, submit)
    first, most = pods[0], max(pod.gpus for pod in pods)
    failed = sorted({pod.failed for pod in pods} - {""})
    remarks = [f"failed ({reason}); how long it ran counts" for reason in failed[:1]]
    if count < len(pods):
        remarks.append("had pods that were started again; as many as ran at the same time are read")
    if any(pod.gpus < most for pod in pods):
        remarks.append("had pods with fewer GPUs than others; all are read as the largest one")
    return Job(
        first.name,
        submit,
        end - start,
        1000 * most * count,
        max((pod.limit for pod in pods if pod.limit is not None), default=None),
        kind=first.kind,
        pods=count,
        gang=first.gang,
        killed=any(pod.killed for pod in pods),
        labels=first.labels,
        wait=max(0, start - submit),
        remarks=tuple(remarks),
        start=start,
    )


def _widest(spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The most pods that ran at the same time, and the first moment at which they did."""
    changes = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    now, most, since = 0, 0, changes[0][0]
    for moment, change in changes:
        now += change
        if now > most:
            most, since = now, moment
    return max(most, 1), since
