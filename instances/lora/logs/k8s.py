"""Jobs of Kubernetes: `kubectl get jobs -A -o json`, with their PodGroups where the cluster has them; or its pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs.base import (
    CANCELLED,
    NO_END,
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
    asked_type,
    count_pod_gpus,
    find_conditions,
    name_object,
    no_gpu_rule,
    submission_time,
)
from ratiobench.instances.lora.logs.pods import Pod, pods_as_jobs, read_pod
from ratiobench.instances.lora.logs.sacct import BACKWARDS, NOT_STARTED

_OTHER = "other objects than Jobs and Pods"
_WORKLOADS = "Workloads, which --format kueue reads"
_GROUPS = "scheduling.k8s.io/"
_Names = set[tuple[str, str, str]]  # Kind, namespace and name of objects


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """What each Job becomes, or why it cannot be read, and whether it is a gang; then the jobs that pods were.

    PodGroups may stand behind the Jobs that they make a gang, and pods before their Jobs.
    """
    found: list[tuple[Job | SkippedLine | InputError, _Names]] = []
    gangs: _Names = set()
    pods: list[Pod] = []
    jobs: set[tuple[str, str]] = set()
    for path, value in iterate_entries(file, source, "items"):
        if not path.startswith("items["):
            continue
        try:
            entry = Entry(source, path, value)
            if entry.text("kind") == "PodGroup" and entry.text("apiVersion").startswith(_GROUPS):
                gangs |= _members(entry)
            elif entry.text("kind") == "Pod":
                pod = read_pod(entry)
                if isinstance(pod, Pod):
                    pods.append(pod)
                else:
                    found.append((pod, set()))
            else:
                if entry.text("kind", "Job") == "Job":
                    jobs.add(name_object(entry))
                found.append((_read(entry), _names(entry)))
        except InputError as error:
            found.append((error.with_traceback(None), set()))
    for number, (outcome, names) in enumerate(found, start=1):
        yield number, (outcome, bool(names & gangs))
    for number, each in enumerate(pods_as_jobs(pods, jobs), start=len(found) + 1):
        yield number, (each, False)


def _names(entry: Entry) -> _Names:
    """What a Job and its PodGroup are called; empty for a Job of one pod, which is no gang."""
    if entry.object("spec").integer("parallelism") in (None, 1):
        return set()
    namespace, name = name_object(entry)
    group = entry.object("spec").object("template").object("spec").object("schedulingGroup").text("podGroupName")
    return {("PodGroup", namespace, group), ("Job", namespace, name)}


def _members(group: Entry) -> _Names:
    """Of a PodGroup that is a gang, its own name and those of the Jobs that own it."""
    gang = group.object("spec").object("schedulingPolicy").object("gang")
    if (gang.integer("minCount") or 0) <= 1:
        return set()
    namespace, name = name_object(group)
    owners = group.object("metadata").objects("ownerReferences")
    jobs = [owner.text("name") for owner in owners if owner.text("kind") == "Job"]
    return {("PodGroup", namespace, name), *(("Job", namespace, owner) for owner in jobs)}


def job(row: Any, where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours."""
    outcome, gang = row
    if isinstance(outcome, InputError):
        raise outcome
    return outcome._replace(gang=True) if gang and isinstance(outcome, Job) else outcome


def _read(data: Entry) -> Job | SkippedLine:
    if data.text("kind", "Job") != "Job":
        return SkippedLine(_WORKLOADS if data.text("kind") == "Workload" else _OTHER)
    submit, spec, status = submission_time(data), data.object("spec"), data.object("status")
    namespace, name = name_object(data)
    start, end = status.moment("startTime"), status.moment("completionTime")
    held = find_conditions(status)
    failed = held.get("Failed")
    if end is None and failed is not None:
        end = failed.since
    if end is None and "Complete" in held:
        end = held["Complete"].since
    if start is None:
        return SkippedLine(NOT_STARTED if end is None else CANCELLED, submit)
    if end is None:
        return SkippedLine(NO_END, submit)
    if end < start:
        return SkippedLine(BACKWARDS, submit)
    parallel, completions = spec.integer("parallelism"), spec.integer("completions")
    pods = 1 if parallel is None else parallel
    pods = pods if completions is None else min(pods, completions)
    template = spec.object("template")
    each = count_pod_gpus(template.object("spec"))
    if not each * pods:
        return SkippedLine(no_gpu_rule(template.object("spec")), submit)
    if pods > MOST_PODS:
        raise spec.fail("parallelism", f"{pods} pods; at most {MOST_PODS} are read")
    if end == start:
        return SkippedLine(NO_TIME, submit)
    limit = spec.integer("activeDeadlineSeconds")
    queue = data.object("metadata").object("labels").text("kueue.x-k8s.io/queue-name")
    priority = template.object("spec").integer("priority", -(2**31))
    return Job(
        f"{namespace}/{name}",
        submit,
        end - start,
        1000 * each * pods,
        limit or None,
        kind=asked_type(template.object("spec")),
        pods=pods,
        gang=False,
        killed=failed is not None and failed.reason == "DeadlineExceeded",
        labels=make_labels(namespace, "", queue, priority or 0),
        wait=max(0, start - submit),
        remarks=(f"failed ({failed.reason or 'without a reason'}); how long it ran counts",)
        if failed is not None
        else (),
        start=start,
    )


register(
    LogFormat(
        name="k8s",
        title="Kubernetes Jobs (kubectl get jobs -A -o json; jobs,podgroups where there are any) or pods (get pods)",
        reading=(
            f"GPUs are {' and '.join(GPUS)} of a pod's containers, times the pods at once (parallelism, at most "
            "completions); a node selector for a GPU product is the node type's name",
            "a Job runs from startTime to completionTime or failure, pods that wait for a node included",
            "pods are read where their Job is not in the list: those of one pod group, JobSet, training job, "
            "LeaderWorkerSet, Ray cluster or Volcano job are a gang, which runs from the moment at which all of them "
            "are on a node until the last one ends; all others are jobs of their own",
            "activeDeadlineSeconds is the time limit; a namespace is a user; days are those of UTC",
        ),
        rows=rows,
        job=job,
    )
)
