"""Writes a log of an instance and its starts in every format that is read."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.logs import ClusterFile, LogPool
from ratiobench.instances.cluster.model import Instance

SACCT = ("JobID", "Submit", "Start", "End", "Elapsed", "State", "ReqTRES", "Timelimit", "User", "Account", "Partition")


def cluster_of(x: Instance, **given: Any) -> ClusterFile:
    return ClusterFile(pools=[LogPool(pool.name, pool.nodes, pool.gpus) for pool in x.pools], **given)


def rows_of(x: Instance, starts: IntArray, epoch: int) -> Iterator[dict[str, Any]]:
    """The jobs as an accounting has them; a job with one pool asks for its type."""
    jobs = x.jobs
    for j in range(len(jobs)):
        pools = [pool.name for pool, may in zip(x.pools, jobs.allowed[j], strict=True) if may]
        yield {
            "id": jobs.ids[j],
            "submit": epoch + int(jobs.submit[j]),
            "start": epoch + int(starts[j]),
            "run": int(jobs.run[j]),
            "limit": int(jobs.limit[j]),
            "nodes": int(jobs.nodes[j]),
            "gpus": int(jobs.width[j]),
            "type": pools[0] if len(pools) == 1 < len(x.pools) else "",
            "account": x.accounts[jobs.account[j]] if x.accounts else "",
            "user": x.users[jobs.user[j]] if x.users else "",
        }


def iso(second: int, zone: ZoneInfo | None = None) -> str:
    """ISO 8601 without a zone, in this zone or UTC."""
    return datetime.fromtimestamp(second, zone or UTC).replace(tzinfo=None).isoformat()


def clock(seconds: int) -> str:
    """[days-]hours:minutes:seconds."""
    days, rest = divmod(seconds, 86_400)
    return f"{days}-" * (days > 0) + f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def sacct(rows: Iterator[dict[str, Any]], zone: ZoneInfo | None = None) -> str:
    """Text of `sacct --parsable2`."""
    lines = ["|".join(SACCT)]
    for row in rows:
        kind = f"gres/gpu:{row['type']}={row['gpus']}," if row["type"] else ""
        fields = [row["id"], *(iso(row[key], zone) for key in ("submit", "start"))]
        fields += [iso(row["start"] + row["run"], zone), clock(row["run"]), "COMPLETED"]
        fields += [f"cpu=4,{kind}gres/gpu={row['gpus']},node={row['nodes']}", clock(row["limit"])]
        lines.append("|".join([*fields, row["user"], row["account"], "gpu"]))
    return "\n".join(lines) + "\n"


def sacct_json(rows: Iterator[dict[str, Any]]) -> str:
    jobs = []
    for row in rows:
        tres = [{"type": "gres", "name": "gpu", "count": row["gpus"]}, {"type": "node", "count": row["nodes"]}]
        if row["type"]:
            tres.append({"type": "gres", "name": f"gpu:{row['type']}", "count": row["gpus"]})
        time = {"submission": row["submit"], "start": row["start"], "end": row["start"] + row["run"]}
        time |= {"limit": {"set": True, "number": row["limit"] // 60}, "elapsed": row["run"]}
        labels = {"user": row["user"], "account": row["account"], "partition": "gpu"}
        state = {"current": ["COMPLETED"]}
        jobs.append({"job_id": int(row["id"]), "time": time, "tres": {"requested": tres}, "state": state, **labels})
    return json.dumps({"jobs": jobs})


def csv(rows: Iterator[dict[str, Any]]) -> str:
    names = ("id", "submit", "start", "duration", "limit", "nodes", "gpus", "type", "account", "user", "partition")
    table = [";".join(names)]
    for row in rows:
        table.append(";".join(str((row | {"duration": row["run"], "partition": "gpu"})[name]) for name in names))
    return "\n".join(table) + "\n"


def swf(rows: Iterator[dict[str, Any]], epoch: int) -> str:
    """The Standard Workload Format: processors only, labels as numbers."""
    lines = [f"; UnixStartTime: {epoch}"]
    for row in rows:
        times = [row["submit"] - epoch, row["start"] - row["submit"], row["run"]]
        labels = [row["user"].removeprefix("u"), row["account"].removeprefix("a"), -1, -1, -1, -1, -1]
        numbers = [row["id"], *times, 9999, -1, -1, row["gpus"], row["limit"], -1, 1, *labels]
        lines.append(" ".join(map(str, numbers)))
    return "\n".join(lines) + "\n"


def _template(row: dict[str, Any], gpus: int) -> dict[str, Any]:
    selector = {"nvidia.com/gpu.product": row["type"]} if row["type"] else None
    container = {"resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    return {"spec": {"containers": [container], "nodeSelector": selector}}


def kueue(rows: Iterator[dict[str, Any]]) -> str:
    """Workloads; the namespace is the user, the ClusterQueue the account."""
    items = []
    for row in rows:
        metadata = {"namespace": row["user"], "name": row["id"], "creationTimestamp": f"{iso(row['submit'])}Z"}
        times = {"Admitted": row["start"], "Finished": row["start"] + row["run"]}
        held = [{"type": k, "status": "True", "lastTransitionTime": f"{iso(t)}Z"} for k, t in times.items()]
        sets = [{"name": "m", "count": row["nodes"], "template": _template(row, row["gpus"] // row["nodes"])}]
        spec = {"queueName": "gpu", "podSets": sets, "maximumExecutionTimeSeconds": row["limit"]}
        status = {"admission": {"clusterQueue": row["account"]}, "conditions": held}
        items.append({"kind": "Workload", "metadata": metadata, "spec": spec, "status": status})
    return json.dumps({"items": items})


def pods(rows: Iterator[dict[str, Any]]) -> str:
    """Pods; those of several nodes are of a group."""
    items = []
    for row in rows:
        for k in range(row["nodes"]):
            labels = {"kueue.x-k8s.io/queue-name": "gpu"}
            name = row["id"]
            if row["nodes"] > 1:
                labels["kueue.x-k8s.io/pod-group-name"], name = name, f"{name}-{k}"
            metadata = {"namespace": row["user"], "name": name, "creationTimestamp": f"{iso(row['submit'])}Z"}
            spec = _template(row, row["gpus"] // row["nodes"])["spec"] | {"activeDeadlineSeconds": row["limit"]}
            ended = {"state": {"terminated": {"finishedAt": f"{iso(row['start'] + row['run'])}Z"}}}
            since = {"type": "PodScheduled", "status": "True", "lastTransitionTime": f"{iso(row['start'])}Z"}
            status = {"phase": "Succeeded", "conditions": [since], "containerStatuses": [ended]}
            items.append({"kind": "Pod", "metadata": metadata | {"labels": labels}, "spec": spec, "status": status})
    return json.dumps({"items": items})
