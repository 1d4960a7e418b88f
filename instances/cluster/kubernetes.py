"""Readers of Kubernetes: Kueue's Workloads, Jobs, and Pods whose Job is not in the list (docs/guide/logs.md)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

from ratiobench.instances.cluster import log_lines
from ratiobench.instances.cluster.log_lines import PIECE_OF_GPU, WHOLE_GPU, Log, LogJob, Reason, Row
from ratiobench.instances.io.errors import shorten
from ratiobench.instances.io.text_files import TextFile

_FRACTIONS = {"gpu-fraction", "gpu-memory"}  # Annotations of the KAI scheduler
_TYPES = (
    "nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)  # fmt: skip
# Labels of pods that run at the same time; a pod belongs to the first that it has
_GANGS = (
    "kueue.x-k8s.io/pod-group-name", "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io",
    "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster", "volcano.sh/job-name",
)  # fmt: skip
_JOBS = ("batch.kubernetes.io/job-name", "job-name")
_QUEUES = ("kueue.x-k8s.io/queue-name", "volcano.sh/queue-name")
_PAST = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")  # In two versions of Kueue


def _count_gpus(template: Row, log: Log) -> tuple[int, str, str]:
    """GPUs of a pod, or why it has none; their type."""
    spec, pieces = template.object("spec"), set[str]()

    def count(container: Row) -> int:
        resources = container.object("resources")
        asked, total = resources.object("limits").data | resources.object("requests").data, 0
        for name, value in asked.items():
            if WHOLE_GPU.fullmatch(name):
                if not re.fullmatch("[0-9]{1,4}", str(value)):
                    raise resources.fail(name, f"{shorten(value)} is not a whole number of GPUs")
                total += int(value)
            elif PIECE_OF_GPU.search(name) and str(value) != "0":
                pieces.add(name)
        return total

    beside, before = list[int](), [0]  # sidecars (init containers that go on); other init containers
    for container in spec.objects("initContainers"):
        (beside if container.text("restartPolicy") == "Always" else before).append(count(container))
    gpus = max(sum(map(count, spec.objects("containers"))), *before) + sum(beside)
    pieces |= _FRACTIONS & template.object("metadata").object("annotations").data.keys()
    if pieces:
        return 0, Reason.NO_WHOLE_GPU.format(shorten(min(pieces)[:80])), ""
    log.remarks["whose sidecar holds GPUs, which count"] += any(beside)
    claims = spec.objects("resourceClaims") and not gpus
    reason = Reason.CLAIMS if claims else "" if gpus else Reason.NO_GPU
    return gpus, reason, spec.object("nodeSelector").first(_TYPES)


def _conditions(status: Row) -> dict[str, int]:
    conditions = (row for row in status.objects("conditions") if row.text("status") == "True")
    return {row.text("type"): row.require_second("lastTransitionTime") for row in conditions}


def _begin(row: Row) -> LogJob:
    metadata = row.object("metadata")
    namespace = metadata.text("namespace")
    return LogJob(f"{namespace}/{metadata.text('name')}", metadata.require_second("creationTimestamp"), user=namespace)


def _settle(job: LogJob, end: int | None, no_gpu: str) -> LogJob:
    return job.settle(end, Reason.NOT_STARTED if end is None else Reason.CANCELLED, no_gpu or Reason.NO_GPU)


def read_kueue(file: TextFile, log: Log) -> Iterable[LogJob]:
    """Workloads of Kueue: from PodsReady, else Admitted, to Finished, with the pods that were admitted."""

    def read(row: Row) -> LogJob:
        job = _begin(row)
        if row.text("kind") not in ("", "Workload"):
            job.left_out = Reason.OTHER
            return job
        spec, status = row.object("spec"), row.object("status")
        since, admission = _conditions(status), status.object("admission")
        job.partition, job.account = spec.text("queueName"), admission.text("clusterQueue")
        job.limit = spec.integer("maximumExecutionTimeSeconds") or None
        job.start = since.get("PodsReady", since.get("Admitted"))
        admitted = {sets.text("name"): sets.integer("count") for sets in admission.objects("podSetAssignments")}
        widths, reasons = set[int](), set[str]()
        for pods in spec.objects("podSets"):
            gpus, reason, kind = _count_gpus(pods.object("template"), log)
            asked = pods.integer("count")
            count = admitted.get(pods.text("name")) or (1 if asked is None else asked)
            log.remarks["admitted with fewer pods than asked for: those count"] += count < (asked or 0)
            if gpus and count:
                job.gpus, job.nodes, job.kind = job.gpus + gpus * count, job.nodes + count, kind or job.kind
                widths.add(gpus)
            elif reason != Reason.NO_GPU and count:
                reasons.add(reason)
        if reasons:
            job.gpus = 0
        elif len(widths) > 1:
            job.left_out = Reason.MIXED
        log.remarks["evicted and admitted again: the last run counts"] += any(map(status.integer, _PAST))
        return _settle(job, since.get("Finished"), min(reasons, default=Reason.NO_GPU))

    command = "kubectl get workloads.kueue.x-k8s.io -A -o json"
    return log_lines.read_rows(log_lines.read_entries(file, log, "items", command), log, read)


def read_jobs(file: TextFile, log: Log) -> Iterable[LogJob]:
    """Jobs; pods of one group are a gang, other pods of no Job here are jobs."""
    jobs, gangs = set[str](), defaultdict[str, list[LogJob]](list)

    def read(row: Row) -> LogJob:
        job, spec, status = _begin(row), row.object("spec"), row.object("status")
        labels = row.object("metadata").object("labels")
        job.partition, job.limit = labels.first(_QUEUES), spec.integer("activeDeadlineSeconds") or None
        kind, since = row.text("kind"), _conditions(status)
        if kind == "Job":
            jobs.add(job.id)
            gpus, reason, job.kind = _count_gpus(spec.object("template"), log)
            parallel, completions = spec.integer("parallelism"), spec.integer("completions")
            job.nodes = min(1 if parallel is None else parallel, 10**6 if completions is None else completions)
            job.start, job.gpus = status.second("startTime"), gpus * job.nodes
            ends = [since[name] for name in ("Complete", "Failed") if name in since]
            return _settle(job, status.second("completionTime") or max(ends, default=None), reason)
        if kind not in ("", "Pod"):
            job.left_out = Reason.OTHER
            return job
        job.start = since.get("PodScheduled", status.second("startTime"))
        job.nodes, (job.gpus, reason, job.kind) = 1, _count_gpus(row, log)
        _settle(job, _pod_end(status) if status.text("phase") in ("Succeeded", "Failed") else None, reason)
        group, owner = labels.first(_GANGS), labels.first(_JOBS)
        if group and (job.gpus or reason == Reason.NO_GPU):  # heads and launchers without a GPU are parts of their gang
            job.gang = f"{job.user}/{group}"
        elif owner:
            job.owner = f"{job.user}/{owner}"
        return job

    rows = log_lines.read_entries(file, log, "items", "kubectl get jobs,pods -A -o json")
    for job in list(log_lines.read_rows(rows, log, read)):
        if job.gang:
            gangs[job.gang].append(job)
        else:
            job.left_out = Reason.PART if job.owner in jobs else job.left_out
            yield job
    for name, pods in gangs.items():
        yield _join(name, pods)


def _pod_end(status: Row) -> int | None:
    """When the last container ended; without that, since when the pod is not ready."""
    states = (container.object("state") for container in status.objects("containerStatuses"))
    ends = [state.object("terminated").second("finishedAt") for state in states]
    if not any(ends):
        ends = [row.second("lastTransitionTime") for row in status.objects("conditions") if row.text("type") == "Ready"]
    return max(filter(None, ends), default=None)


def _join(name: str, pods: list[LogJob]) -> LogJob:
    """The gang of these pods, which runs from when the most of them run until the last one ends."""
    pods = [pod for pod in pods if pod.gpus] or pods
    gang = pods[0]
    gang.id, gang.submit, gang.gpus = name, min(pod.submit for pod in pods), max(pod.gpus for pod in pods)
    gang.limit = max((pod.limit for pod in pods if pod.limit is not None), default=None)
    gang.left_out = next((pod.left_out for pod in pods if pod.left_out), "")
    gang.nodes = len(pods)
    spans = [(pod.start, pod.start + pod.run) for pod in pods if pod.start is not None and pod.run is not None]
    if spans:
        changes = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
        counts = list(accumulate(change for _, change in changes))
        gang.nodes = max(1, *counts)  # pods that were started again do not count twice
        gang.start = changes[counts.index(max(counts))][0]
        gang.run = max(end for _, end in spans) - gang.start
    gang.gpus *= gang.nodes
    return gang
