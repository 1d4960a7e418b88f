"""A made-up log of a GPU cluster on Kubernetes: what `kubectl get ... -o json` shows after some days."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

MONDAY = 1_772_409_600  # 2026-03-02T00:00:00Z
HOUR, DAY = 3600, 86_400
CLUSTER = """usd_per_kwh = 0.12
[[node]]
name = "h100"
count = 3
gpus = 8
memory_gb = 80
speed = 1.0
watts = 500
[[node]]
name = "a100"
count = 4
gpus = 8
memory_gb = 40
speed = 0.5
watts = 300
"""
# Namespaces, with their ClusterQueue and priority
TEAMS = {"nlp": ("research", 0), "vision": ("research", 0), "speech": ("product", 100), "intern": ("research", -10)}
Object = dict[str, Any]


def clock(second: int) -> str:
    """A moment as Kubernetes writes it."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_spec(gpus: int) -> Object:
    """The specification of a pod: a sidecar without GPUs and a container with them."""
    main: Object = {"name": "main", "image": "registry.example/train:1", "resources": {"requests": {"cpu": "8"}}}
    if gpus:
        main["resources"] = {
            "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": str(gpus)},
            "limits": {"nvidia.com/gpu": str(gpus)},
        }
    sidecar = {"name": "log", "image": "registry.example/log:2", "resources": {"requests": {"cpu": "100m"}}}
    return {"containers": [sidecar, main], "restartPolicy": "Never", "schedulerName": "default-scheduler"}


class Load:
    """One submission: what it is, when it came, began and ended, as every view of the log shows it.

    `sets`: name, pods and GPUs of a pod of each of its sets of pods.
    """

    def __init__(self, chance: random.Random, number: int, submit: int) -> None:
        self.number, self.submit = number, submit
        self.team = chance.choices(list(TEAMS), (4, 3, 2, 2))[0]
        self.kind = chance.choices(("Job", "PyTorchJob", "RayJob", "JobSet"), (10, 4, 1, 1))[0]
        self.flavor = chance.choice(("h100", "a100"))
        if self.kind == "Job":
            self.sets = [("main", 1, chance.choice((1, 1, 1, 2, 2, 4, 8)))]
        elif self.kind == "PyTorchJob":
            each = chance.choice((4, 8, 8))
            self.sets = [("master", 1, each), ("worker", chance.choice((1, 1, 2, 3)), each)]
        elif self.kind == "RayJob":
            self.sets = [("head", 1, 0), ("workers", chance.choice((2, 4)), 4), ("submitter", 1, 0)]
        else:
            self.sets = [("leader", 1, 0), ("workers", 2, 8)]
        self.wait = int(chance.expovariate(1 / 900))
        self.seconds = max(60, min(20 * HOUR, int(chance.lognormvariate(8.3, 1.3))))
        self.limit = chance.choice((None, None, 4 * HOUR, 24 * HOUR))
        self.fate = chance.choices(("done", "failed", "preempted", "running"), (20, 3, 1, 1))[0]
        if self.limit is not None and self.seconds > self.limit:
            self.seconds, self.fate = self.limit, "limit"
        self.name = f"{self.kind.lower()}-{self.team}-{number:04d}"

    @property
    def start(self) -> int:
        """When all of its pods ran."""
        return self.submit + self.wait

    @property
    def end(self) -> int:
        """When the last of its pods ended."""
        return self.start + self.seconds


def loads(seed: int = 1, count: int = 300, days: int = 4) -> list[Load]:
    """Submissions of some days, more by day than by night, in the order of time."""
    chance = random.Random(seed)
    times = []
    while len(times) < count:
        time = chance.randrange(days * DAY)
        if 8 <= time % DAY // HOUR < 19 or chance.random() < 0.25:
            times.append(MONDAY + time)
    return [Load(chance, number, time) for number, time in enumerate(sorted(times))]


def metadata(load: Load, name: str, **more: Any) -> Object:
    """Of an object, with what makes such documents long."""
    return {
        "name": name,
        "namespace": load.team,
        "creationTimestamp": clock(load.submit),
        "uid": f"0000-{load.number:08d}",
        "managedFields": [{"manager": "kueue", "operation": "Update", "fieldsV1": {"f:status": {}}}],
    } | more


def condition(kind: str, since: int, reason: str = "", status: str = "True") -> Object:
    return {
        "type": kind, "status": status, "reason": reason or kind, "lastTransitionTime": clock(since),
        "message": "made up", "observedGeneration": 1,
    }  # fmt: skip


def workloads(made: list[Load], version: str = "v1beta2") -> Object:
    """`kubectl get workloads.kueue.x-k8s.io -A -o json`."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [
        _workload(each, version) for each in made
    ]}  # fmt: skip


def _workload(load: Load, version: str) -> Object:
    queue, priority = TEAMS[load.team]
    conditions = [
        condition("QuotaReserved", load.start),
        condition("Admitted", load.start),
        condition("PodsReady", load.start + 20),
    ]
    status: Object = {}
    if load.fate == "running":
        pass
    elif load.fate == "preempted":
        past = "accumulatedPastExecutionTimeSeconds" if version == "v1beta2" else "accumulatedPastExexcutionTimeSeconds"
        status[past] = 1800
        status["schedulingStats"] = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}
        conditions += [condition("Evicted", load.start - 60, "Preempted", "False"), condition("Finished", load.end)]
    elif load.fate == "limit":
        conditions += [condition("Evicted", load.end, "DeactivatedDueToMaximumExecutionTimeExceeded")]
    else:
        conditions += [condition("Finished", load.end, "Failed" if load.fate == "failed" else "Succeeded")]
    assignments = [
        {"name": name, "count": pods, "flavors": {"cpu": "cpu"} | ({"nvidia.com/gpu": load.flavor} if gpus else {})}
        for name, pods, gpus in load.sets
    ]
    spec: Object = {
        "active": True, "queueName": f"{load.team}-queue", "priority": priority,
        "podSets": [{"name": name, "count": pods, "template": {"metadata": {}, "spec": pod_spec(gpus)}}
                    for name, pods, gpus in load.sets],
    }  # fmt: skip
    if load.limit is not None:
        spec["maximumExecutionTimeSeconds"] = load.limit
    owner = {"kind": load.kind, "name": load.name, "controller": True}
    admission = {"clusterQueue": queue, "podSetAssignments": assignments}
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "Workload",
        "metadata": metadata(load, f"{load.name}-1a2b3", ownerReferences=[owner]),
        "spec": spec,
        "status": status | {"conditions": conditions, "admission": admission},
    }


def pods(made: list[Load]) -> Object:
    """`kubectl get pods -A -o json`: also those of services and of systems."""
    items = [pod for each in made for pod in _pods(each)]
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def _pods(load: Load) -> Iterator[Object]:
    labels = {
        "Job": {"batch.kubernetes.io/job-name": load.name, "job-name": load.name},
        "PyTorchJob": {"training.kubeflow.org/job-name": load.name},
        "RayJob": {"ray.io/cluster": load.name},
        "JobSet": {"jobset.sigs.k8s.io/jobset-name": load.name},
    }[load.kind]
    rank = 0
    for name, count, gpus in load.sets:
        for _ in range(count):
            began, ended = load.start + rank % 7, load.end - rank % 5
            running = {"running": {"startedAt": clock(began + 25)}}
            done = {
                "terminated": {
                    "exitCode": int(load.fate == "failed"), "reason": "Error" if load.fate == "failed" else "Completed",
                    "startedAt": clock(began + 25), "finishedAt": clock(ended),
                }
            }  # fmt: skip
            state = running if load.fate == "running" else done
            queue = {"kueue.x-k8s.io/queue-name": f"{load.team}-queue"}
            spec = pod_spec(gpus) | {"nodeName": f"{load.flavor}-{rank % 4}", "priority": TEAMS[load.team][1]}
            if load.limit is not None:
                spec["activeDeadlineSeconds"] = load.limit
            phase = {"running": "Running", "failed": "Failed", "limit": "Failed"}.get(load.fate, "Succeeded")
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata(
                    load, f"{load.name}-{name}-{rank}", labels=labels | queue,
                    ownerReferences=[{"kind": load.kind, "name": load.name, "controller": True}],
                ),
                "spec": spec,
                "status": {
                    "phase": phase, "startTime": clock(began),
                    **({"reason": "DeadlineExceeded"} if load.fate == "limit" else {}),
                    "conditions": [condition("PodScheduled", began), condition("Initialized", began)],
                    "containerStatuses": [
                        {"name": name, "state": state, "ready": False} for name in ("log", "main")
                    ],
                },
            }  # fmt: skip
            rank += 1
