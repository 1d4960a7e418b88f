"""Logs that are one JSON document, job by job: forms of several versions, what is left out, and bad fields."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.imports import Report, read_jobs
from ratiobench.instances.lora.logs import Job
from ratiobench.instances.lora.logs.base import make_labels, moment
from ratiobench.instances.lora.logs.sacct import LATE
from ratiobench.instances.lora.model import NO_LABELS, Labels

EIGHT = 1_772_352_000  # 2026-03-01T08:00:00Z


def read(tmp_path: Path, form: str, document: Any, skip_bad: bool = False) -> tuple[list[Job], Report]:
    path = tmp_path / "log"
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=1))
    report = Report("log", form)
    return list(read_jobs(path, form, report, skip_bad=skip_bad)), report


def at(hour: int, minute: int = 0) -> str:
    """A time of the first of March."""
    return f"2026-03-01T{hour:02d}:{minute:02d}:00Z"


def tres(kind: str, name: str, count: int) -> dict[str, Any]:
    """An entry of Slurm's resources."""
    return {"type": kind, "name": name, "id": 1, "count": count}


def new_job(number: int, **given: Any) -> dict[str, Any]:
    """A job as newer versions write it: lists and {set, infinite, number}."""
    time = {
        "submission": EIGHT,
        "eligible": EIGHT,
        "start": EIGHT + 600,
        "end": EIGHT + 4200,
        "elapsed": 3600,
        "suspended": 0,
        "limit": {"set": True, "infinite": False, "number": 120},
    }
    found = {
        "job_id": number,
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}, "task": ""},
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
        "association": {"user": "anna", "account": "lab", "cluster": "c", "partition": "gpu"},
        "user": "anna",
        "account": "lab",
        "partition": "gpu",
        "qos": "high",
        "priority": {"set": True, "infinite": False, "number": 77},
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "tres": {"allocated": [tres("cpu", "", 8), tres("node", "", 2), tres("gres", "gpu", 16)], "requested": []},
        "allocation_nodes": 2,
        "steps": [{"anything": [1, 2]}],
    }
    times = {key: given.pop(key) for key in tuple(given) if key in time}
    return found | {"time": time | times} | given


def old_job(number: int, **given: Any) -> dict[str, Any]:
    """A job as Slurm 21.08 writes it: texts, plain numbers, null."""
    return {
        "job_id": number,
        "array": {"job_id": None, "task_id": None, "task": None},
        "het": {"job_id": 0, "job_offset": None},
        "association": {"user": "ben", "account": "lab", "partition": None},
        "partition": "gpu",
        "priority": 5,
        "state": {"current": "COMPLETED", "reason": "None"},
        "time": {"submission": EIGHT, "eligible": EIGHT + 60, "start": EIGHT + 90, "end": EIGHT + 690, "limit": 10},
        "tres": {"allocated": [tres("gres", "gpu:a100", 2)]},
        "allocation_nodes": 1,
    } | given


def test_both_forms_of_slurms_json(tmp_path: Path) -> None:
    """States, limits and priorities as lists, objects and plain; labels; gangs; the wait counts from eligibility."""
    jobs, report = read(tmp_path, "sacct-json", {"meta": {}, "errors": [], "jobs": [new_job(1), old_job(2)]})
    assert jobs == [
        Job(
            "1", EIGHT, 3600, 16_000, 7200, nodes=2, labels=Labels("anna", "lab", "gpu/high", 77), wait=600,
            start=EIGHT + 600,
        ),
        Job(
            "2", EIGHT, 600, 2000, 600, kind="a100", nodes=1, labels=Labels("ben", "lab", "gpu", 5), wait=30,
            remarks=(LATE,), start=EIGHT + 90,
        ),
    ]  # fmt: skip
    assert (report.remarks, list(report.waits), report.warnings) == ({LATE: 1}, [600, 30], [])


def test_odd_jobs_of_slurms_json(tmp_path: Path) -> None:
    """Limits in every form, arrays, suspension, what was asked for, typed sums, jobs killed at their limit."""
    unset = {"set": False, "infinite": False, "number": 0}
    both = [tres("gres", "gpu:a100", 1), tres("gres", "gpu:h100", 2)]
    document = {
        "jobs": [
            new_job(1, limit=unset),
            new_job(2, limit={"set": False, "infinite": True, "number": 0}),
            new_job(3, limit=None, suspended=100),
            new_job(4, limit=0),
            new_job(5, end=EIGHT + 7801, state={"current": ["TIMEOUT", "OTHER"]}),
            new_job(6, start=None, elapsed=50),
            new_job(7, array={"job_id": 90, "task_id": {"set": True, "infinite": False, "number": 3}}),
            new_job(8, tres={"allocated": [tres("gres", "gpu", 3), *both]}),
            new_job(9, tres={"allocated": [], "requested": [*both, tres("node", "", 9)]}),
            new_job(10, tres={"allocated": [tres("gres", "gpu:h100", 4), tres("gres", "shard", 4)]}),
        ]
    }
    jobs, report = read(tmp_path, "sacct-json", document)
    assert [job.limit for job in jobs[:5]] == [None, None, None, None, 7200]
    assert [job.seconds for job in jobs[2:6]] == [3500, 3600, 7201, 50]
    assert [job.killed for job in jobs[3:6]] == [False, True, False]
    assert jobs[5].wait is None
    assert [job.name for job in jobs[5:8]] == ["6", "90_3", "8"]
    assert [(job.gpus, job.kind, job.nodes) for job in jobs[7:]] == [(3000, "", 2), (3000, "", 2), (4000, "h100", 2)]
    assert not report.left


def test_what_is_left_out_of_slurms_json(tmp_path: Path) -> None:
    """Parts of heterogeneous jobs, jobs that have not ended or not begun, none without a GPU; errors are told."""
    document = {
        "jobs": [
            new_job(1, het={"job_id": 1, "job_offset": {"set": True, "infinite": False, "number": 0}}),
            new_job(2, het={"job_id": 1, "job_offset": {"set": True, "infinite": False, "number": 1}}),
            new_job(3, state={"current": ["RUNNING"]}, end=0),
            new_job(4, state={"current": ["PENDING"]}, start=0, end=0),
            new_job(5, state={"current": "CANCELLED by 7"}, start=0, elapsed=0),
            new_job(6, state={"current": ["CANCELLED"]}, end=EIGHT + 600),
            new_job(7, end=EIGHT + 600),
            new_job(8, end=EIGHT),
            new_job(9, tres={}),
            new_job(10, state={"current": ["REQUEUED"]}),
            new_job(11, state={"current": ["COMPLETED"]}, end=0, elapsed=None),
        ],
        "errors": [{"error": "the database\nis away", "error_number": 9}, {}],
    }
    jobs, report = read(tmp_path, "sacct-json", document)
    assert jobs == []
    assert report.left == Counter(
        {
            "parts of a heterogeneous job": 2,
            "without an end": 2,
            "not started yet": 1,
            "cancelled before it started": 2,
            "of zero length": 1,
            "that end before they start": 1,
            "without a GPU": 1,
            "requeued, to start again": 1,
        }
    )
    [told] = report.warnings
    assert told == "Slurm reports 2 errors in the log, so jobs may be missing: 'the database\\nis away'"


def template(gpus: object, key: str = "requests") -> dict[str, Any]:
    """A pod's template with two containers, the second one without a GPU."""
    containers = [{"name": "a", "resources": {key: {"cpu": "4", "nvidia.com/gpu": gpus}}}, {"name": "b"}]
    return {"spec": {"containers": containers}}


def condition(kind: str, since: str, reason: str = "", status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": ""}


def workload(name: str, *conditions: dict[str, str], version: str = "v1beta2", **given: Any) -> dict[str, Any]:
    """A workload of Kueue: four pods of two GPUs each, by default from nine to ten."""
    held = conditions or (
        condition("QuotaReserved", at(8, 30)),
        condition("Admitted", at(8, 50)),
        condition("PodsReady", at(9)),
        condition("Finished", at(10), "Succeeded"),
    )
    spec = {"queueName": "main", "priority": -3, "podSets": [{"name": "main", "count": 4, "template": template("2")}]}
    status = {
        "admission": {
            "clusterQueue": "team-a",
            "podSetAssignments": [{"name": "main", "flavors": {"cpu": "any", "nvidia.com/gpu": "a100"}, "count": 4}],
        },
        "conditions": list(held),
    }
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": at(8)},
        "spec": spec | given.pop("spec", {}),
        "status": status | given.pop("status", {}),
    }


LABELS = Labels("ns", "team-a", "main", -3)


def test_workloads_of_kueue(tmp_path: Path) -> None:
    """Pods times GPUs, the flavor as a type, labels, Admitted where no pods were ready, both names of the past."""
    admitted = (condition("Admitted", at(8, 50)), condition("PodsReady", at(9), status="False"))
    finished = condition("Finished", at(10), "Failed")
    past = {"accumulatedPastExexcutionTimeSeconds": 100}
    evictions = {"schedulingStats": {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}}
    set_of = {"name": "main", "count": 3, "template": template(1, "limits")}
    items = [
        workload("a"),
        workload("b", *admitted, finished, version="v1beta1", status=past),
        workload("c", *admitted, finished, status={"accumulatedPastExecutionTimeSeconds": 100} | evictions),
        workload(
            "d",
            spec={
                "maximumExecutionTimeSeconds": 7200,
                "podSets": [
                    {"name": "launcher", "count": 1, "template": template("0")},
                    set_of | {"minCount": 1, "topologyRequest": {"required": "rack"}},
                ],
            },
        ),
    ]
    jobs, report = read(tmp_path, "kueue", {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}})
    assert [job.seconds for job in jobs] == [3600, 4300, 4300, 3600]
    assert jobs[0] == Job(
        "ns/a", EIGHT, 3600, 8000, kind="a100", pods=4, labels=LABELS, wait=3600, start=EIGHT + 3600
    )  # fmt: skip
    assert jobs[1].start is None  # of a workload that was admitted twice the first start is not known
    assert (jobs[3].gpus, jobs[3].pods, jobs[3].limit, jobs[3].kind) == (3000, 3, 7200, "a100")
    assert [job.wait for job in jobs] == [3600, None, None, 3600]
    assert report.remarks == {
        "finished with the reason Failed; how long it ran counts": 2,
        "had been evicted and admitted again; the times of all admissions are added": 1,
        "had been evicted (Preempted) and admitted again; the times of all admissions are added": 1,
        "could have run with fewer pods (minCount); all pods are read": 1,
        "asked for one topology domain (topologyRequest.required), which is not read": 1,
    }


def test_workloads_that_were_evicted_and_others_left_out(tmp_path: Path) -> None:
    """One that was evicted for its limit ran for as long as that, in each spelling; others have not finished."""
    limit = {"maximumExecutionTimeSeconds": 1800}
    cause = {"schedulingStats": {"evictions": [{"reason": "Deactivated", "underlyingCause": "X"}]}}
    exceeded = json.loads(json.dumps(cause).replace("X", "MaximumExecutionTimeExceeded"))
    two = [{"name": name, "count": 1, "template": template(gpus)} for name, gpus in (("a", "1"), ("b", "2"))]
    items = [
        workload("a", condition("Evicted", at(9), "DeactivatedDueToMaximumExecutionTimeExceeded"), spec=limit),
        workload("b", condition("Evicted", at(9), "Deactivated"), spec=limit, status=exceeded),
        workload("c", condition("Evicted", at(9), "Deactivated"), spec=limit, status=cause),
        workload("d", condition("Evicted", at(9), "Preempted")),
        workload("e", condition("Evicted", at(9), "Preempted", "False"), condition("Admitted", at(9))),
        workload("f", condition("QuotaReserved", at(9), status="False")),
        workload("g", condition("Finished", at(9), "OutOfSync")),
        workload("h", condition("Admitted", at(9)), condition("Finished", at(8, 30))),
        workload("i", condition("Admitted", at(9)), condition("Finished", at(9))),
        workload("j", spec={"podSets": two}),
        workload("k", spec={"podSets": [two[0] | {"template": {}}]}),
        workload("l") | {"kind": "ClusterQueue"},
        workload("m") | {"kind": "Job"},
    ]
    jobs, report = read(tmp_path, "kueue", {"items": items})
    assert [(job.name, job.seconds, job.limit, job.killed) for job in jobs] == [
        ("ns/a", 1800, 1800, True),
        ("ns/b", 1800, 1800, True),
    ]
    assert report.left == Counter(
        {
            "evicted (Deactivated), not finished": 1,
            "evicted (Preempted), not finished": 1,
            "without an end": 1,
            "not started yet": 1,
            "cancelled before it started": 1,
            "that end before they start": 1,
            "of zero length": 1,
            "of pod sets with different numbers of GPUs a pod": 1,
            "without a GPU": 1,
            "other objects than Workloads": 1,
            "Jobs and Pods, which --format k8s reads": 1,
        }
    )


def pod_set(name: str, count: int, gpus: str = "8") -> dict[str, Any]:
    return {"name": name, "count": count, "template": template(gpus)}


def flavors(**names: str) -> dict[str, Any]:
    """Which ResourceFlavor each pod set has."""
    sets = [{"name": name, "flavors": {"nvidia.com/gpu": flavor}} for name, flavor in names.items()]
    return {"admission": {"clusterQueue": "cq", "podSetAssignments": sets}}


def test_pod_sets_with_as_many_gpus_a_pod_run_together(tmp_path: Path) -> None:
    """Master and workers of a training job, on one flavor; else it is left out."""
    both = {"podSets": [pod_set("master", 1), pod_set("worker", 3), {"name": "log", "count": 2, "template": {}}]}
    items = [
        workload("a", spec=both, status=flavors(master="h100", worker="h100")),
        workload("b", spec=both, status=flavors(master="h100", worker="a100")),
        workload("c", spec={"podSets": [pod_set("master", 1, "4"), pod_set("worker", 3)]}),
        workload("d", spec={"podSets": [pod_set("m", 1) | {"template": mig("1")}]}),
    ]
    jobs, report = read(tmp_path, "kueue", {"items": items})
    assert [(job.name, job.pods, job.gpus, job.kind) for job in jobs] == [("ns/a", 4, 32_000, "h100")]
    assert report.left == {
        "of pod sets on different ResourceFlavors": 1,
        "of pod sets with different numbers of GPUs a pod": 1,
        "without a GPU (they ask for 'nvidia.com/mig-1g.10gb', which is not read)": 1,
    }


def mig(count: str) -> dict[str, Any]:
    """A template that asks for slices of a GPU."""
    return {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.10gb": count}}}]}}


def pod(name: str, start: str | None, end: str | None, gpus: str = "8", **given: Any) -> dict[str, Any]:
    """A pod that came at eight; of a gang where `group` is given, of a Job where `of` is."""
    labels = {"training.kubeflow.org/job-name": given["group"]} if "group" in given else {}
    labels |= {"batch.kubernetes.io/job-name": given["of"]} if "of" in given else {}
    state = {} if end is None else {"terminated": {"exitCode": given.get("code", 0), "reason": "E", "finishedAt": end}}
    phase = given.get("phase", "Running" if end is None else "Succeeded")
    conditions = [] if start is None else [condition("PodScheduled", start)]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": at(8), "labels": labels},
        "spec": template(gpus)["spec"] | given.get("spec", {}),
        "status": {"phase": phase, "conditions": conditions, "containerStatuses": [{"state": state}]}
        | given.get("status", {}),
    }


def test_pods_of_kubernetes(tmp_path: Path) -> None:
    """Gangs run from the moment at which all pods are there; others alone; those of a Job in the list not twice."""
    selector = {"nodeSelector": {"nvidia.com/gpu.product": "A100"}, "activeDeadlineSeconds": 3600, "priority": 7}
    items = [
        pod("head", at(9), at(11), "0", group="g"),
        pod("g-0", at(9), at(11), group="g", spec=selector),
        pod("g-1", at(9, 10), at(10, 50), group="g"),
        pod("alone", at(9), at(10), "2", code=1, phase="Failed"),
        pod("batch-1", at(9), at(10), of="batch"),
        pod("gone-1", at(9), at(10), "4", of="gone"),
        pod("of-both", at(9), at(10), of="batch", group="set"),  # as a JobSet's, whose Jobs are in the list
        batch("batch"),
    ]
    jobs, report = read(tmp_path, "k8s", {"items": items})
    found = {job.name: job for job in jobs}
    assert list(found) == ["ns/batch", "ns/alone", "ns/gone-1", "ns/g"]
    assert found["ns/g"] == Job(
        "ns/g", EIGHT, 6600, 16_000, 3600, kind="A100", pods=2, labels=Labels("ns", "", "", 7), wait=4200,
        start=EIGHT + 4200,
    )  # fmt: skip
    assert (found["ns/alone"].gpus, found["ns/alone"].gang, found["ns/gone-1"].gpus) == (2000, False, 4000)
    assert report.remarks == {"failed (E); how long it ran counts": 1}
    assert not report.left


def test_odd_pods_of_kubernetes(tmp_path: Path) -> None:
    """Pods of a gang that were started again or differ, evicted ones, limits, and what is left out."""
    late = {"reason": "DeadlineExceeded"}
    evicted = {"reason": "Evicted", "conditions": [
        condition("PodScheduled", at(9)), condition("Ready", at(9, 30), status="False"),
    ], "containerStatuses": []}  # fmt: skip
    items = [
        pod("g-0", at(9), at(9, 20), group="g"),
        pod("g-0-again", at(9, 30), at(11), group="g"),
        pod("g-1", at(9, 10), at(11), "4", group="g"),
        pod("late", at(9), at(10), phase="Failed", spec={"activeDeadlineSeconds": 3600}, status=late),
        pod("evicted", None, None, phase="Failed", status=evicted),
        pod("h-0", at(9), at(10), group="h"),
        pod("h-1", at(9), None, group="h"),
        pod("waits", None, None, phase="Pending"),
        pod("cancelled", None, at(9)),
        pod("backwards", at(9), at(8, 30)),
        pod("short", at(9), at(9)),
        pod("runs", at(9), None),
        pod("service", at(9), None, "0"),
        pod("slice", at(9), at(10), "0", spec=mig("1")["spec"]),
        pod("claims", at(9), at(10), "0", spec={"containers": [], "resourceClaims": [{"name": "gpu"}]}),
    ]
    jobs, report = read(tmp_path, "k8s", {"items": items})
    assert [(job.name, job.seconds, job.gpus, job.pods, job.killed) for job in jobs] == [
        ("ns/late", 3600, 8000, 1, True),
        ("ns/evicted", 1800, 8000, 1, False),
        ("ns/g", 6600, 16_000, 2, False),
    ]
    assert report.remarks == {
        "failed (DeadlineExceeded); how long it ran counts": 1,
        "failed (Evicted); how long it ran counts": 1,
        "had pods that were started again; as many as ran at the same time are read": 1,
        "had pods with fewer GPUs than others; all are read as the largest one": 1,
    }
    assert report.left == {
        "not started yet": 1,
        "cancelled before it started": 1,
        "that end before they start": 1,
        "of zero length": 1,
        "without an end": 2,
        "without a GPU": 1,
        "without a GPU (they ask for 'nvidia.com/mig-1g.10gb', which is not read)": 1,
        "without a GPU (their resource claims are not read)": 1,
    }


def batch(name: str, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Job of Kubernetes: by default one pod of two GPUs, from nine to ten."""
    metadata = {"name": name, "namespace": "ns", "creationTimestamp": at(8)}
    spec = {"template": template("2", "limits")} | spec
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": metadata,
        "spec": spec,
        "status": {"startTime": at(9), "completionTime": at(10)} if status is None else status,
    }


def test_jobs_of_kubernetes(tmp_path: Path) -> None:
    """Pods at once, the limit, failures, gangs by the PodGroup that a template names or that a Job owns."""
    failed = {"startTime": at(9), "conditions": [condition("Failed", at(9, 30), "DeadlineExceeded")]}
    named = template("2")
    named["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    policy = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    group = {"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1alpha2", "spec": policy}
    items = [
        batch("a"),
        batch("b", failed, activeDeadlineSeconds=1800, parallelism=1),
        batch("c", parallelism=4, completions=3),
        batch("d", parallelism=4, template=named),
        batch("e", parallelism=4),
        group | {"metadata": {"name": "g", "namespace": "ns"}},
        group | {"metadata": {"name": "h", "namespace": "ns", "ownerReferences": [{"kind": "Job", "name": "e"}]}},
        group | {"metadata": {"name": "i", "namespace": "ns"}, "spec": {"schedulingPolicy": {"basic": {}}}},
    ]
    items[0]["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    jobs, report = read(tmp_path, "k8s", {"items": items})
    assert jobs[0] == Job(
        "ns/a", EIGHT, 3600, 2000, pods=1, gang=False, labels=Labels("ns", "", "q"), wait=3600,
        start=EIGHT + 3600,
    )  # fmt: skip
    assert (jobs[1].seconds, jobs[1].limit, jobs[1].killed) == (1800, 1800, True)
    assert [(job.pods, job.gpus, job.gang) for job in jobs[2:]] == [
        (3, 6000, False), (4, 8000, True), (4, 8000, True),
    ]  # fmt: skip
    assert report.remarks == {"failed (DeadlineExceeded); how long it ran counts": 1}


def test_what_is_left_out_of_kubernetes(tmp_path: Path) -> None:
    """Jobs that have not begun or ended, of no pod or GPU, and other objects."""
    items = [
        batch("a", {}),
        batch("b", {"startTime": at(9)}),
        batch("c", {"completionTime": at(9)}),
        batch("d", {"startTime": at(9), "conditions": [condition("Complete", at(9))]}),
        batch("e", {"startTime": at(9), "completionTime": at(8)}),
        batch("f", parallelism=0),
        batch("g", template={"spec": {"containers": [{"resources": {"requests": {"cpu": 1}}}]}}),
        batch("h") | {"kind": "CronJob"},
        batch("i") | {"kind": "Workload"},
    ]
    jobs, report = read(tmp_path, "k8s", {"items": items})
    assert jobs == []
    assert report.left == Counter(
        {
            "not started yet": 1,
            "without an end": 1,
            "cancelled before it started": 1,
            "of zero length": 1,
            "that end before they start": 1,
            "without a GPU": 2,
            "other objects than Jobs and Pods": 1,
            "Workloads, which --format kueue reads": 1,
        }
    )


GOOD = {"sacct-json": {"jobs": [new_job(1)]}, "kueue": {"items": [workload("a")]}, "k8s": {"items": [batch("a")]}}
PLACES: list[tuple[str, str, Any, str]] = [
    ("sacct-json", "jobs.0", 7, "jobs[0]: 7 is not an object"),
    ("sacct-json", "jobs.0.time", [], "jobs[0].time: a list of 0 is not an object"),
    ("sacct-json", "jobs.0.time.submission", None, "jobs[0].time.submission: the field is missing"),
    ("sacct-json", "jobs.0.time.start", "now", "jobs[0].time.start: 'now' is not an integer in 0..10^11"),
    ("sacct-json", "jobs.0.time.end", -1, "jobs[0].time.end: -1 is not"),
    ("sacct-json", "jobs.0.time.limit", True, "jobs[0].time.limit: true is not"),
    ("sacct-json", "jobs.0.time.limit.number", 1.5, "jobs[0].time.limit.number: 1.5 is not"),
    ("sacct-json", "jobs.0.state.current", [], "jobs[0].state.current: a list of 0 is neither"),
    ("sacct-json", "jobs.0.tres.allocated", {}, "jobs[0].tres.allocated: an object is not a list"),
    ("sacct-json", "jobs.0.tres.allocated.2.count", "few", "jobs[0].tres.allocated[2].count: 'few' is not"),
    ("sacct-json", "jobs.0.tres.allocated.2.count", 10**9, "jobs[0].tres.allocated: 1000000000 GPUs"),
    ("sacct-json", "jobs.0.user", 5, "jobs[0].user: 5 is not a text"),
    ("kueue", "items.0.metadata.creationTimestamp", None, "items[0].metadata.creationTimestamp: the field is missing"),
    ("kueue", "items.0.metadata.creationTimestamp", "soon", "items[0].metadata.creationTimestamp: 'soon' is neither"),
    ("kueue", "items.0.status.conditions.3.lastTransitionTime", 5, "conditions[3].lastTransitionTime: 5 is not a time"),
    ("kueue", "items.0.status.conditions.3.lastTransitionTime", None, "lastTransitionTime: the field is missing"),
    ("kueue", "items.0.spec.podSets.0.count", 0.5, "items[0].spec.podSets[0].count: 0.5 is not an integer"),
    ("kueue", "items.0.spec.podSets.0.count", 10**7, "items[0].spec.podSets[0].count: 10000000 pods; at most"),
    ("kueue", "items.0.spec.podSets.0.template", template("2k"), "requests.nvidia.com/gpu: '2k' is not a whole number"),
    ("kueue", "items.0.spec.priority", "high", "items[0].spec.priority: 'high' is not"),
    ("kueue", "items.0.spec.maximumExecutionTimeSeconds", -1, "items[0].spec.maximumExecutionTimeSeconds: -1 is not"),
    ("k8s", "items.0.spec.parallelism", "two", "items[0].spec.parallelism: 'two' is not"),
    ("k8s", "items.0.spec.parallelism", 10**7, "items[0].spec.parallelism: 10000000 pods; at most"),
    ("k8s", "items.0.spec.template", template(True, "limits"), "limits.nvidia.com/gpu: true is not a whole number"),
    ("k8s", "items.0.status.startTime", "9 o'clock", 'items[0].status.startTime: "9 o\'clock" is neither'),
    ("k8s", "items.0.kind", [], "items[0].kind: a list of 0 is not a text"),
]


@pytest.mark.parametrize(("form", "place", "value", "words"), PLACES)
def test_a_bad_field_is_one_error_that_names_it(form: str, place: str, value: Any, words: str, tmp_path: Path) -> None:
    document = json.loads(json.dumps(GOOD[form]))
    holder: Any = document
    *steps, last = [int(step) if step.isdecimal() else step for step in place.split(".")]
    for step in steps:
        holder = holder[step]
    holder[last] = value
    with pytest.raises(InputError) as caught:
        read(tmp_path, form, document)
    told = str(caught.value)
    assert told.startswith(str(tmp_path / "log") + ": ")
    assert words in told
    key = "jobs" if form == "sacct-json" else "items"
    document[key] += json.loads(json.dumps(GOOD[form][key]))
    jobs, report = read(tmp_path, form, document, skip_bad=True)
    assert (len(jobs), report.bad, report.bad_named) == (1, 1, [told])


@pytest.mark.parametrize("form", ["sacct-json", "kueue", "k8s"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a JSON object with a list"),
        ("[]", "not a JSON object with a list"),
        ("{}", "the field is missing"),
        ('{"KEY": 5}', "KEY: 5 is not a list"),
        ('{"KEY": [', ": not JSON: Expecting value"),
        ('{"KEY": [{"a": nope}]}', ": not JSON: Expecting value"),
        ('{"KEY": []} {', ": not JSON: there is text after the object"),
    ],
)
def test_a_document_that_is_none_is_one_error(form: str, text: str, words: str, tmp_path: Path) -> None:
    """With `skip_bad`, too: nothing behind it can be read."""
    key = "jobs" if form == "sacct-json" else "items"
    for skip_bad in (False, True):
        with pytest.raises(InputError) as caught:
            read(tmp_path, form, text.replace("KEY", key), skip_bad)
        assert words.replace("KEY", key) in str(caught.value)
        assert str(caught.value).startswith(str(tmp_path / "log") + ": ")


def test_labels_are_names_that_an_instance_holds() -> None:
    """What logs write for nothing is nothing; long names keep their differences; priorities their order."""
    assert make_labels("", "(null)", "-1") == make_labels() == NO_LABELS
    one, other = (make_labels("x" * 100 + end).user for end in "ab")
    assert one != other
    assert (len(one), one[:71]) == (80, "x" * 71)
    assert make_labels("\ud800").user == "\\ud800"
    assert make_labels(priority=2**32 - 1).priority == 2**31 - 1


def test_times_are_those_of_the_world() -> None:
    assert moment(at(8), "", "", "") == EIGHT
