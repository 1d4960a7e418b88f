"""Kueue's Workloads, Jobs and Pods: pods that ran, sidecars, slices, gangs, what is left out, bad fields."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.io.errors import InputError
from tests.instances.cluster.test_slurm import EIGHT, read

GPU = "nvidia.com/gpu"


def at(hour: int, minute: int = 0) -> str:
    return f"2026-03-01T{hour:02d}:{minute:02d}:00Z"


def template(asked: dict[str, Any], key: str = "requests", **spec: Any) -> dict[str, Any]:
    """A pod's template with two containers, the second one without a GPU."""
    return {"spec": {"containers": [{"resources": {key: {"cpu": "4"} | asked}}, {"name": "b"}]} | spec}


def condition(kind: str, since: str | None, status: str = "True") -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": "r", "message": ""}


def named(name: str, **labels: str) -> dict[str, Any]:
    return {"name": name, "namespace": "ns", "creationTimestamp": at(8), "labels": labels}


def pods(count: int, gpus: object = "2", name: str = "main", **given: Any) -> dict[str, Any]:
    return {"name": name, "count": count, "template": template({GPU: gpus})} | given


ENDED = (condition("Admitted", at(8, 50)), condition("PodsReady", at(9)), condition("Finished", at(10)))


def workload(name: str, *sets: dict[str, Any], held: tuple[Any, ...] = ENDED, **given: Any) -> dict[str, Any]:
    """A workload, by default from nine to ten, with four pods of two GPUs."""
    admitted = {"clusterQueue": "cq", "podSetAssignments": given.pop("admitted", [])}
    spec = {"queueName": "lq", "podSets": list(sets) or [pods(4)]} | given.pop("spec", {})
    status = {"admission": admitted, "conditions": list(held)} | given.pop("status", {})
    return {"kind": "Workload", "metadata": named(name), "spec": spec, "status": status} | given


def test_workloads_of_kueue(tmp_path: Path) -> None:
    """Pods times GPUs; pods that were admitted count; sidecars count; master and workers run together."""
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {GPU: 1}}}
    before = {"resources": {"requests": {GPU: "8"}}}
    small = template({GPU: 2}, "limits", initContainers=[sidecar], nodeSelector={f"{GPU}.product": "A100"})
    items = [
        workload("a", spec={"maximumExecutionTimeSeconds": 7200}),
        workload("b", pods(4, "8", minCount=1), admitted=[{"name": "main", "count": 2}]),
        workload("c", pods(1, template=small)),
        workload("d", pods(1, name="master"), pods(3, name="worker"), pods(2, "0", name="log")),
        workload("e", pods(1, template=template({GPU: 2}, initContainers=[before]))),
        workload("f", held=(ENDED[0], condition("PodsReady", at(9), "False"), ENDED[2])),
        workload("g", status={"accumulatedPastExexcutionTimeSeconds": 5}),
    ]
    jobs, errors, log = read(tmp_path, "kueue", json.dumps({"kind": "List", "items": items}))
    assert errors == []
    assert [(j.nodes, j.gpus, j.left_out) for j in jobs] == [
        (4, 8, ""), (2, 16, ""), (1, 3, ""), (4, 8, ""), (1, 8, ""), (4, 8, ""), (4, 8, ""),
    ]  # fmt: skip
    first = jobs[0]
    assert (first.id, first.submit, first.start, first.run, first.limit) == ("ns/a", EIGHT, EIGHT + 3600, 3600, 7200)
    assert (first.user, first.account, first.partition, jobs[2].kind) == ("ns", "cq", "lq", "A100")
    assert (jobs[5].start, jobs[5].run) == (EIGHT + 3000, 4200)
    assert +log.remarks == {
        "admitted with fewer pods than asked for: those count": 1,
        "whose sidecar holds GPUs, which count": 1,
        "evicted and admitted again: the last run counts": 1,
    }


def sliced(name: str) -> dict[str, Any]:
    """A set of pods with something that is no whole GPU."""
    return pods(1, template=template({name: "1"}))


def test_what_is_left_out_of_kueue(tmp_path: Path) -> None:
    """Slices and shares by their names, also beside whole GPUs; workloads that have not begun or ended."""
    fraction = {"metadata": {"annotations": {"gpu-fraction": "0.5"}}} | template({})
    items = [
        workload("a", sliced("nvidia.com/mig-1g.5gb")),
        workload("b", pods(1), sliced("nvidia.com/gpu.shared") | {"name": "s"}),
        workload("c", sliced("volcano.sh/vgpu-number")),
        workload("d", pods(1, template=fraction)),
        workload("e", pods(1, "1"), pods(1, "2", name="w")),
        workload("f", pods(1, template={})),
        workload("g", held=(condition("QuotaReserved", at(9), "False"),)),
        workload("h", held=ENDED[:2]),
        workload("i", held=ENDED[2:]),
        workload("j", held=(condition("Admitted", at(9)), condition("Finished", at(8)))),
        workload("k", kind="ClusterQueue"),
    ]
    jobs, errors, _ = read(tmp_path, "kueue", json.dumps({"items": items}))
    assert errors == []
    assert [job.left_out for job in jobs] == [
        "asks for 'nvidia.com/mig-1g.5gb', which is no whole GPU",
        "asks for 'nvidia.com/gpu.shared', which is no whole GPU",
        "asks for 'volcano.sh/vgpu-number', which is no whole GPU",
        "asks for 'gpu-fraction', which is no whole GPU",
        "has pods with different numbers of GPUs",
        "without a GPU",
        "not started",
        "without an end",
        "cancelled before it started",
        "ends before it starts",
        "another object than a job",
    ]
    assert all(job.gpus == 0 for job in jobs[:4])


def batch(name: str, **given: Any) -> dict[str, Any]:
    """A Job of three pods at once, from nine to ten."""
    status = given.pop("status", {"startTime": at(9), "completionTime": at(10)})
    spec = {"parallelism": 3, "completions": 7, "template": template({GPU: 2})} | given
    return {
        "kind": "Job",
        "metadata": named(name, **{"kueue.x-k8s.io/queue-name": "q"}),
        "spec": spec,
        "status": status,
    }


def pod(name: str, start: str, end: str, gpus: object = 2, **labels: str) -> dict[str, Any]:
    ended = {"state": {"terminated": {"finishedAt": end}}}
    status = {"phase": "Failed", "conditions": [condition("PodScheduled", start)], "containerStatuses": [ended]}
    return {"kind": "Pod", "metadata": named(name, **labels), "status": status} | template({GPU: gpus})


def test_jobs_and_pods_of_kubernetes(tmp_path: Path) -> None:
    """Pods of a group are a gang, as many as ran at once; pods of a Job in the list are parts of it."""
    gang = {"leaderworkerset.sigs.k8s.io/name": "g"}
    items = [
        pod("p", at(9), at(10), **{"job-name": "one"}),
        pod("q", at(9), at(11), **{"job-name": "other"}),
        pod("g-0", at(9), at(12), **gang),
        pod("head", at(8, 30), at(13), 0, **gang),
        pod("g-1", at(9, 30), at(10), **gang),
        pod("g-1b", at(10, 30), at(11), 4, **gang),  # g-1 was started again
        batch("one"),
        batch("two", completions=2, status={"startTime": at(9), "conditions": [condition("Failed", at(9, 30))]}),
        pod("solo", at(9), at(10), "1"),
    ]
    items[-1]["status"] |= {"containerStatuses": [], "conditions": [condition("Ready", at(9, 45), "False")]}
    items[-1]["status"]["startTime"] = at(9)
    jobs, errors, _ = read(tmp_path, "k8s", json.dumps({"items": items}))
    assert errors == []
    kept = {j.id: (j.start and j.start - EIGHT, j.run, j.nodes, j.gpus) for j in jobs if not j.left_out}
    assert kept == {
        "ns/one": (3600, 3600, 3, 6),
        "ns/two": (3600, 1800, 2, 4),
        "ns/solo": (3600, 2700, 1, 1),
        "ns/q": (3600, 7200, 1, 2),
        "ns/g": (5400, 9000, 2, 8),
    }
    assert Counter(job.left_out for job in jobs if job.left_out) == {
        "part of a job that stands whole in another line": 1
    }
    assert next(job.partition for job in jobs if job.id == "ns/one") == "q"


def test_what_is_left_out_of_kubernetes(tmp_path: Path) -> None:
    """Jobs and gangs that have not begun or ended, of no pod or GPU, and other objects."""
    waiting = pod("w", at(9), at(10), **{"ray.io/cluster": "r"}) | {"status": {"phase": "Pending"}}
    items = [
        batch("a", status={}),
        batch("b", status={"startTime": at(9)}),
        batch("c", status={"completionTime": at(9)}),
        batch("d", status={"startTime": at(9), "completionTime": at(8)}),
        batch("e", parallelism=0),
        batch("f") | {"kind": "CronJob"},
        pod("g", at(9), at(10), **{"ray.io/cluster": "r"}),
        waiting,
        pod("h", at(9), at(10)) | template({}, resourceClaims=[{"name": "gpu"}]),
    ]
    jobs, errors, _ = read(tmp_path, "k8s", json.dumps({"items": items}))
    assert errors == []
    assert Counter(job.left_out for job in jobs) == {
        "not started": 2,
        "without an end": 1,
        "cancelled before it started": 1,
        "ends before it starts": 1,
        "without a GPU": 1,
        "another object than a job": 1,
        "with resource claims, which are not read": 1,
    }


@pytest.mark.parametrize(
    ("form", "place", "value", "message"),
    [
        ("kueue", "metadata.creationTimestamp", None, "metadata.creationTimestamp: the field is missing"),
        ("kueue", "metadata.creationTimestamp", "soon", "metadata.creationTimestamp: 'soon' is neither a time such as"),
        (
            "kueue",
            "status.conditions.2.lastTransitionTime",
            5,
            "status.conditions[2].lastTransitionTime: 5 is not a text",
        ),
        ("kueue", "status.conditions.2.lastTransitionTime", None, "lastTransitionTime: the field is missing"),
        ("kueue", "spec.podSets.0.count", 0.5, "spec.podSets[0].count: 0.5 is not an integer"),
        ("kueue", "spec.podSets.0.template", template({GPU: "2k"}), "nvidia.com/gpu: '2k' is not a whole number"),
        ("kueue", "spec.maximumExecutionTimeSeconds", -1, "spec.maximumExecutionTimeSeconds: -1 is not"),
        ("k8s", "spec.parallelism", "two", "spec.parallelism: 'two' is not an integer"),
        ("k8s", "spec.template", template({GPU: True}), "nvidia.com/gpu: true is not a whole number"),
        ("k8s", "status.startTime", "9 o'clock", 'status.startTime: "9 o\'clock" is neither a time'),
        ("k8s", "kind", [1], "kind: a list of 1 is not a text"),
    ],
)
def test_a_bad_field_is_named(form: str, place: str, value: Any, message: str, tmp_path: Path) -> None:
    item = json.loads(json.dumps(workload("a") if form == "kueue" else batch("a")))
    holder, (*steps, last) = item, place.split(".")
    for step in steps:
        holder = holder[int(step) if isinstance(holder, list) else step]
    holder[last] = value
    jobs, errors, _ = read(
        tmp_path, form, json.dumps({"items": [item, batch("b") if form == "k8s" else workload("b")]})
    )
    assert (len(jobs), len(errors)) == (1, 1)
    assert errors[0].startswith("items[0].")
    assert message in errors[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(workload("a")), "items: the field is missing"),
        (f"{json.dumps(workload('a'))}\n{json.dumps(workload('b'))}\n", "JSON"),
        ("apiVersion: v1\nkind: List\nitems:\n", "JSON"),
        ("NAMESPACE   NAME   QUEUE\n", "JSON"),
    ],
)
def test_what_people_have_instead_is_refused(text: str, words: str, tmp_path: Path) -> None:
    """A single object, a stream of objects, YAML, kubectl's table."""
    with pytest.raises(InputError, match=words):
        read(tmp_path, "kueue", text)
