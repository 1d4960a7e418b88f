"""Jobs of Kubernetes: `kubectl get jobs -A -o json`, with their PodGroups where the cluster has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ratiobench.instances.io.errors import InputError, shorten
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
from ratiobench.instances.lora.logs.sacct import BACKWARDS, NOT_STARTED

GPU = "nvidia.com/gpu"
MOST_PODS = 10**6
_OTHER = "other objects than Jobs"
_GROUPS = "scheduling.k8s.io/"
_Names = set[tuple[str, str, str]]
"""Kind, namespace and name of objects."""


class Condition(NamedTuple):
    """A condition that holds: since when, and why."""

    since: int
    reason: str


def find_conditions(status: Entry) -> dict[str, Condition]:
    """The conditions that hold, by their type."""
    found = {}
    for each in status.objects("conditions"):
        if each.text("status") == "True":
            since = each.moment("lastTransitionTime")
            if since is None:
                raise each.fail("lastTransitionTime", "the field is missing")
            found[each.text("type")] = Condition(since, each.text("reason"))
    return found


def count_pod_gpus(template: Entry) -> int:
    """GPUs of a pod: the sum over its containers of what they request, else of their limits."""
    count = 0
    for container in template.object("spec").objects("containers"):
        resources = container.object("resources")
        for key in ("requests", "limits"):
            if key not in resources.data:
                continue
            amounts = resources.object(key)
            value = amounts.data.get(GPU)
            if value is not None:
                if not re.fullmatch("[0-9]{1,7}", str(value)) or isinstance(value, bool):
                    raise amounts.fail(GPU, f"{shorten(value)} is not a whole number of GPUs")
                count += int(value)
                break
    return count


def name_object(entry: Entry) -> tuple[str, str]:
    """Namespace and name of an object."""
    metadata = entry.object("metadata")
    return metadata.text("namespace"), metadata.text("name")


def submission_time(entry: Entry) -> int:
    """When an object was created."""
    metadata = entry.object("metadata")
    created = metadata.moment("creationTimestamp")
    if created is None:
        raise metadata.fail("creationTimestamp", "the field is missing")
    return created


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """What each Job becomes, or why it cannot be read, its names, and those of the gangs: they may stand behind it."""
    found: list[tuple[Job | SkippedLine | InputError, _Names]] = []
    gangs: _Names = set()
    for path, value in iterate_entries(file, source, "items"):
        if not path.startswith("items["):
            continue
        try:
            entry = Entry(source, path, value)
            if entry.text("kind") == "PodGroup" and entry.text("apiVersion").startswith(_GROUPS):
                gangs |= _members(entry)
            else:
                found.append((_read(entry), _names(entry)))
        except InputError as error:
            found.append((error.with_traceback(None), set()))
    for number, (outcome, names) in enumerate(found, start=1):
        yield number, (outcome, bool(names & gangs))


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
        return SkippedLine(_OTHER)
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
    each = count_pod_gpus(template)
    if not each * pods:
        return SkippedLine(NO_GPU, submit)
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
        pods=pods,
        gang=False,
        killed=failed is not None and failed.reason == "DeadlineExceeded",
        labels=make_labels(namespace, "", queue, priority or 0),
        wait=max(0, start - submit),
        remarks=(f"failed ({failed.reason or 'without a reason'}); how long it ran counts",)
        if failed is not None
        else (),
    )


register(
    LogFormat(
        name="k8s",
        title="Kubernetes Jobs (kubectl get jobs -A -o json; jobs,podgroups where there are any)",
        reading=(
            f"GPUs are {GPU} of a pod's containers, times the pods at once (parallelism, at most completions)",
            "a Job runs from startTime to completionTime or failure, pods that wait for a node included",
            "activeDeadlineSeconds is the time limit; a namespace is a user; days are those of UTC",
        ),
        rows=rows,
        job=job,
    )
)
