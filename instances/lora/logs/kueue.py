"""Workloads of Kueue, v1beta1 and v1beta2: `kubectl get workloads.kueue.x-k8s.io -A -o json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs.base import (
    CANCELLED,
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    SkippedLine,
    make_labels,
    register,
)
from ratiobench.instances.lora.logs.entries import Entry
from ratiobench.instances.lora.logs.kubernetes import (
    GPUS,
    MOST_PODS,
    Condition,
    asked_type,
    count_pod_gpus,
    find_conditions,
    name_object,
    no_gpu_rule,
    submission_time,
)
from ratiobench.instances.lora.logs.sacct import BACKWARDS, NOT_STARTED

MIXED = "of pod sets with different numbers of GPUs a pod"
FLAVORS = "of pod sets on different ResourceFlavors"
_LIMIT = "MaximumExecutionTimeExceeded"
# Names in v1beta2 and in v1beta1
_PAST = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
_ODD = ("Failed", "AdmissionChecksRejected", "OutOfSync")  # Reasons of `Finished` that are counted


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """The entries of `items` with their paths."""
    count = 0
    for path, value in iterate_entries(file, source, "items"):
        if path.startswith("items["):
            count += 1
            yield count, (path, value)


def job(row: Any, where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours."""
    path, value = row
    data = Entry(source, path, value)
    if data.text("kind", "Workload") != "Workload":
        read_by_k8s = data.text("kind") in ("Job", "Pod")
        return SkippedLine("Jobs and Pods, which --format k8s reads" if read_by_k8s else "other objects than Workloads")
    submit, spec, status = submission_time(data), data.object("spec"), data.object("status")
    held = find_conditions(status)
    limit = spec.integer("maximumExecutionTimeSeconds") or None
    finished, evicted = held.get("Finished"), held.get("Evicted")
    killed = finished is None and evicted is not None and _exceeded(evicted, status)
    start = held.get("PodsReady") or held.get("Admitted")
    if finished is None and not (killed and limit):
        if evicted is not None:
            return SkippedLine(f"evicted ({evicted.reason or 'without a reason'}), not finished", submit)
        return SkippedLine(NOT_STARTED if start is None else NO_END, submit)
    past = next((found for name in _PAST if (found := status.integer(name))), 0)
    if killed:
        seconds = limit or 0
    elif finished is None or start is None:
        return SkippedLine(CANCELLED, submit)
    elif finished.since < start.since:
        return SkippedLine(BACKWARDS, submit)
    else:
        seconds = finished.since - start.since + past
    found_sets = [each for each in spec.objects("podSets") if each.data.get("count") != 0]
    sets = [(each, gpus) for each in found_sets if (gpus := count_pod_gpus(each.object("template").object("spec")))]
    if not sets:
        rules = [no_gpu_rule(each.object("template").object("spec")) for each in found_sets]
        return SkippedLine(max(rules, key=len, default=NO_GPU), submit)
    count, each = 0, sets[0][1]
    for pods, gpus in sets:
        found = pods.integer("count", 1)
        count += 1 if found is None else found
        if count > MOST_PODS:
            raise pods.fail("count", f"{count} pods; at most {MOST_PODS} are read")
        if gpus != each:
            return SkippedLine(MIXED, submit)
    if not seconds:
        return SkippedLine(NO_TIME, submit)
    admission = status.object("admission")
    flavors = {_flavor(admission, pods) for pods, _ in sets}
    if len(flavors) > 1:
        return SkippedLine(FLAVORS, submit)
    namespace, name = name_object(data)
    labels = make_labels(
        namespace, admission.text("clusterQueue"), spec.text("queueName"), spec.integer("priority", -(2**31)) or 0
    )
    return Job(
        f"{namespace}/{name}",
        submit,
        seconds,
        1000 * each * count,
        limit,
        kind=flavors.pop(),
        pods=count,
        killed=killed,
        labels=labels,
        wait=None if start is None or past else max(0, start.since - submit),
        remarks=tuple(_remarks(status, [pods for pods, _ in sets], finished, past)),
        start=None if start is None or past else start.since,
    )


def _exceeded(evicted: Condition, status: Entry) -> bool:
    """Whether it was evicted for its limit; newer versions say so beside the reason that it was deactivated."""
    if _LIMIT in evicted.reason:
        return True
    causes = {each.text("underlyingCause") for each in status.object("schedulingStats").objects("evictions")}
    return evicted.reason.startswith("Deactivated") and _LIMIT in causes


def _flavor(admission: Entry, pods: Entry) -> str:
    """The ResourceFlavor of the GPUs of a pod set; else the type of GPU that its pods ask for."""
    name = pods.text("name")
    for each in admission.objects("podSetAssignments"):
        if each.text("name") == name:
            flavors = each.object("flavors")
            if found := next((found for gpu in GPUS if (found := flavors.text(gpu))), ""):
                return found
    return asked_type(pods.object("template").object("spec"))


def _remarks(status: Entry, sets: Sequence[Entry], finished: Condition | None, past: int) -> Iterator[str]:
    if finished is not None and finished.reason in _ODD:
        yield f"finished with the reason {finished.reason}; how long it ran counts"
    if past:
        reasons = sorted({each.text("reason") for each in status.object("schedulingStats").objects("evictions")})
        for told in [f" ({reason})" for reason in reasons] or [""]:
            yield f"had been evicted{told} and admitted again; the times of all admissions are added"
    if any(pods.integer("minCount") is not None for pods in sets):
        yield "could have run with fewer pods (minCount); all pods are read"
    if any("topologyRequest" in pods.data and pods.object("topologyRequest").text("required") for pods in sets):
        yield "asked for one topology domain (topologyRequest.required), which is not read"


register(
    LogFormat(
        name="kueue",
        title="Kueue (kubectl get workloads.kueue.x-k8s.io -A -o json)",
        reading=(
            f"GPUs are {' and '.join(GPUS)} of the pods of a workload's pod sets; sets without GPUs are dropped, those "
            "with as many GPUs a pod, such as master and workers, run together; a ResourceFlavor is a node type's name",
            "a workload runs from PodsReady, else from Admitted, to Finished, and Kueue overwrites these times when "
            "it is admitted again; what it ran before is added as Kueue counts it",
            "maximumExecutionTimeSeconds is the time limit; a namespace is a user, a ClusterQueue a group; days are "
            "those of UTC",
        ),
        rows=rows,
        job=job,
    )
)
