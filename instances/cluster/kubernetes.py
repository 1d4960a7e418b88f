"""Readers of Kubernetes: Kueue's Workloads, Jobs, and Pods whose Job is not in the list.

GPUs are what the containers ask for; a sidecar's count. A MIG slice, a virtual or a shared GPU is no GPU, and a
workload that asks for one is left out by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ratiobench.instances.cluster.log_lines import (
    BACKWARDS,
    CANCELLED,
    NO_END,
    NO_GPU,
    NOT_STARTED,
    PART,
    Entry,
    Line,
    Log,
    LogJob,
    read_each,
    read_entries,
)
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
_PIECES = re.compile(r"gpu|mig-|gaudi|tpu|neuron")
_FRACTIONS = {"gpu-fraction", "gpu-memory"}  # Annotations of the KAI scheduler
_TYPES = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
# Labels of pods that run at the same time; a pod belongs to the first that it has
_GANGS = (
    "kueue.x-k8s.io/pod-group-name",
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "volcano.sh/job-name",
)
_JOBS = ("batch.kubernetes.io/job-name", "job-name")
_QUEUES = ("kueue.x-k8s.io/queue-name", "volcano.sh/queue-name")
MIXED, OTHER = "has pods with different numbers of GPUs", "another object than a job"


def _first(labels: Entry, names: Iterable[str]) -> str:
    return next((found for name in names if (found := labels.text(name))), "")


def _count_gpus(template: Entry, log: Log) -> tuple[int, str, str]:
    """GPUs of a pod, or why it has none; their type.

    Sidecars (init containers that go on) run beside the containers, other init containers before them.
    """
    spec, pieces = template.object("spec"), set[str]()

    def count(container: Entry) -> int:
        resources = container.object("resources")
        asked, total = resources.object("limits").data | resources.object("requests").data, 0
        for name, value in asked.items():
            if name in _GPUS:
                if not re.fullmatch("[0-9]{1,4}", str(value)):
                    raise resources.fail(name, f"{shorten(value)} is not a whole number of GPUs")
                total += int(value)
            elif _PIECES.search(name) and str(value) != "0":
                pieces.add(name)
        return total

    before = spec.objects("initContainers")
    sidecars = sum(count(each) for each in before if each.text("restartPolicy") == "Always")
    gpus = sum(map(count, spec.objects("containers"))) + sidecars
    gpus = max([gpus, *(count(each) + sidecars for each in before if each.text("restartPolicy") != "Always")])
    pieces |= _FRACTIONS & template.object("metadata").object("annotations").data.keys()
    if pieces:
        return 0, f"asks for {shorten(min(pieces)[:80])}, which is no whole GPU", ""
    if sidecars:
        log.remarks["whose sidecar holds GPUs, which count"] += 1
    why = "with resource claims, which are not read" if spec.objects("resourceClaims") and not gpus else NO_GPU
    return gpus, "" if gpus else why, _first(spec.object("nodeSelector"), _TYPES)


def _conditions(status: Entry) -> dict[str, int]:
    """Since when each condition holds."""
    found = {}
    for each in status.objects("conditions"):
        if each.text("status") == "True":
            since = each.moment("lastTransitionTime")
            if since is None:
                raise each.fail("lastTransitionTime", "the field is missing")
            found[each.text("type")] = since
    return found


def _begin(data: Entry) -> LogJob:
    """Name, submit and user (the namespace) of an object."""
    metadata = data.object("metadata")
    created = metadata.moment("creationTimestamp")
    if created is None:
        raise metadata.fail("creationTimestamp", "the field is missing")
    namespace = metadata.text("namespace")
    return LogJob(f"{namespace}/{metadata.text('name')}", created, user=namespace)


def _finish(job: LogJob, end: int | None, why: str) -> LogJob:
    """The run of a job, and why it is left out."""
    if job.start is not None and end is not None:
        job.run = end - job.start
    if job.left_out:
        return job
    if job.start is None:
        job.left_out = NOT_STARTED if end is None else CANCELLED
    elif job.run is None:
        job.left_out = NO_END
    elif job.run < 0:
        job.run, job.left_out = None, BACKWARDS
    elif not job.gpus:
        job.left_out = why or NO_GPU
    return job


def read_kueue(file: TextFile, log: Log) -> Iterator[LogJob | InputError]:
    """`kubectl get workloads.kueue.x-k8s.io -A -o json`: from PodsReady, else Admitted, to Finished.

    A workload has the pods that it was admitted with, which may be fewer than it asked for.
    """

    def read(line: Line, value: Any) -> LogJob:
        data = Entry(line, value)
        job = _begin(data)
        if data.text("kind") not in ("", "Workload"):
            job.left_out = OTHER
            return job
        spec, status = data.object("spec"), data.object("status")
        held, admission = _conditions(status), status.object("admission")
        job.partition, job.account = spec.text("queueName"), admission.text("clusterQueue")
        job.limit = spec.number("maximumExecutionTimeSeconds") or None
        job.start, end = held.get("PodsReady", held.get("Admitted")), held.get("Finished")
        admitted = {each.text("name"): each.number("count") for each in admission.objects("podSetAssignments")}
        each, reasons = set[int](), set[str]()
        for pods in spec.objects("podSets"):
            gpus, why, kind = _count_gpus(pods.object("template"), log)
            asked = pods.number("count")
            count = admitted.get(pods.text("name")) or (1 if asked is None else asked)
            log.remarks["admitted with fewer pods than asked for: those count"] += count < (asked or 0)
            if gpus and count:
                job.gpus, job.nodes, job.kind = job.gpus + gpus * count, job.nodes + count, kind or job.kind
                each.add(gpus)
            elif why != NO_GPU and count:
                reasons.add(why)
        if reasons:
            job.gpus = 0
        elif len(each) > 1:
            job.left_out = MIXED
        past = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")  # two versions
        if any(map(status.number, past)):
            log.remarks["evicted and admitted again: the last run counts"] += 1
        return _finish(job, end, min(reasons, default=NO_GPU))

    return read_each(read_entries(file, log, "items"), read)


def read_jobs(file: TextFile, log: Log) -> Iterator[LogJob | InputError]:
    """`kubectl get jobs,pods -A -o json`: Jobs; pods of one group are a gang, other pods of no Job here are jobs.

    A gang runs from when the most of its pods run until the last one ends.
    """
    jobs, gangs, pods = set[str](), dict[str, list[LogJob]](), dict[str, list[LogJob]]()
    grouped: list[LogJob] = []

    def read(line: Line, value: Any) -> LogJob:
        data = Entry(line, value)
        job, spec, status = _begin(data), data.object("spec"), data.object("status")
        labels = data.object("metadata").object("labels")
        job.partition, job.limit = _first(labels, _QUEUES), spec.number("activeDeadlineSeconds") or None
        kind, held = data.text("kind"), _conditions(status)
        if kind == "Job":
            jobs.add(job.id)
            template, parallel, completions = (
                spec.object("template"),
                spec.number("parallelism"),
                spec.number("completions"),
            )
            gpus, why, job.kind = _count_gpus(template, log)
            job.nodes = min(1 if parallel is None else parallel, *([] if completions is None else [completions]), 10**6)
            job.start, job.gpus = status.moment("startTime"), gpus * job.nodes
            ends = [held[name] for name in ("Complete", "Failed") if name in held]
            return _finish(job, status.moment("completionTime") or max(ends, default=None), why)
        if kind not in ("", "Pod"):
            job.left_out = OTHER
            return job
        job.start = held.get("PodScheduled", status.moment("startTime"))
        end = _pod_end(status) if status.text("phase") in ("Succeeded", "Failed") else None
        job.nodes, (job.gpus, why, job.kind) = 1, _count_gpus(data, log)
        _finish(job, end, why)
        group, owner = _first(labels, _GANGS), _first(labels, _JOBS)
        if group and (job.gpus or why == NO_GPU):  # heads and launchers without a GPU are parts of their gang
            gangs.setdefault(f"{job.user}/{group}", []).append(job)
            grouped.append(job)
        elif owner:
            pods.setdefault(f"{job.user}/{owner}", []).append(job)
            grouped.append(job)
        return job

    for found in read_each(read_entries(file, log, "items"), read):
        if not grouped or grouped[-1] is not found:
            yield found
    for owner, members in pods.items():
        for pod in members:
            pod.left_out = PART if owner in jobs else pod.left_out
            yield pod
    for name, members in gangs.items():
        yield _join(name, members)


def _pod_end(status: Entry) -> int | None:
    """When the last container ended; without that, since when the pod is not ready."""
    ended = (each.object("state").object("terminated") for each in status.objects("containerStatuses"))
    ends = [end for each in ended if (end := each.moment("finishedAt")) is not None]
    if not ends:
        conditions = (each for each in status.objects("conditions") if each.text("type") == "Ready")
        ends = [end for each in conditions if (end := each.moment("lastTransitionTime")) is not None]
    return max(ends, default=None)


def _join(name: str, pods: list[LogJob]) -> LogJob:
    """The gang of these pods."""
    pods = [pod for pod in pods if pod.gpus] or pods
    first = pods[0]
    first.id, first.submit, first.gpus = name, min(pod.submit for pod in pods), max(pod.gpus for pod in pods)
    first.limit = max((pod.limit for pod in pods if pod.limit is not None), default=None)
    spans = [(pod.start, pod.start + pod.run) for pod in pods if pod.start is not None and pod.run is not None]
    first.left_out = next((pod.left_out for pod in pods if pod.left_out), "")
    changes = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    most = now = 0
    for second, change in changes:
        now += change
        if now > most:
            most, first.start = now, second
    first.nodes = max(most, 1) if spans else len(pods)  # pods that were started again do not count twice
    first.gpus *= first.nodes
    if spans and first.start is not None:
        first.run = max(end for _, end in spans) - first.start
    return first
