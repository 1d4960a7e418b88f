"""The file format `ratiobench/cluster/1` (docs/reference/instances/cluster.md): reading, validation, writing.

Schedules are documents ``{"decisions": [[start, pool], ...], "nodes": [...]}``, and are written as SWF.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.cluster.model import (
    NONE,
    Instance,
    InstanceDocument,
    Jobs,
    JobsDocument,
    Running,
    RunningDocument,
    Schedule,
    find_name,
)
from ratiobench.instances.io.documents import InstanceFiles, convert, require_different
from ratiobench.instances.io.errors import InputError, name_source, shorten
from ratiobench.instances.io.fields import origin_of
from ratiobench.instances.io.files import sha256_of

FORMAT: Literal["ratiobench/cluster/1"] = "ratiobench/cluster/1"
WEIGHT_LIMIT = 2**36  # GPU-seconds of a job: its cost over four years of waiting stays below 2^63
LABELS = {"account": "accounts", "user": "users", "partition": "partitions", "qos": "qos"}  # column -> its table
# Fields that are the same in the file and in `Instance`
_SAME = ("pools", "begin", "partitions", "quotas", "cycle", "depth", "judged", "accounts", "users", "qos")
_RUNNING = RunningDocument.__struct_fields__[2:]  # Columns that are the same in the file and in `Running`
_OPTIONAL = ("limit", "logged", *LABELS)  # Columns of jobs of which -1 is the default
_PRIORITY_TABLES = {
    "shares": "accounts",
    "qos_priority": "qos",
    "partition_priority": "partitions",
    "account_priority": "accounts",
}


def _refuse(field: str, bad: Any, column: Any, problem: str) -> None:
    """An error for the first entry of a column that is bad; `[]` in the field stands for its place."""
    if np.any(bad):
        i = int(np.argmax(bad))
        raise InputError("", field.replace("[]", f"[{i}]"), f"{column[i]} {problem}")


def parse(data: Any, source: str = "<document>") -> Instance:
    top = convert(data, InstanceDocument, source)
    with name_source(source):
        partitions = tuple(part.name for part in top.partitions)
        tables = {"accounts": top.accounts, "users": top.users, "qos": top.qos, "partitions": partitions}
        for field, names in tables.items():
            require_different(f"{field}[]", names)
        for i, quota in enumerate(top.quotas):
            find_name(f"quotas[{i}].account", quota.account, top.accounts)
        priority = {}
        for key, table in _PRIORITY_TABLES.items():
            weights, least = getattr(top.priority, key), int(key == "shares")
            for name in weights:
                find_name(f"priority.{key}.{name}", name, tables[table])
            priority[key] = {name: weights[name] for name in tables[table] if weights.get(name, least) != least}
        sizes = {column: len(tables[table]) for column, table in LABELS.items()}
        instance = Instance(
            origin=origin_of(source, top.origin),
            jobs=_build_jobs(top, sizes),
            running=_build_running(top, sizes),
            priority=msgspec.structs.replace(top.priority, **priority),
            **{name: getattr(top, name) for name in (*_SAME, "name", "cost")},
        )
        _require_startable(top, instance)
    return instance


def _require_labels(field: str, columns: dict[str, Any], sizes: dict[str, int]) -> None:
    for name in sizes.keys() & columns.keys():
        column, problem = columns[name], f"is not below {sizes[name]}, the names"
        _refuse(field.format(name), column >= sizes[name], column, problem)


def _build_jobs(top: InstanceDocument, sizes: dict[str, int]) -> Jobs:
    n = len(top.jobs.submit)
    columns: dict[str, Any] = {}
    for column in JobsDocument.__struct_fields__:
        values = getattr(top.jobs, column)
        if column == "release" and not values:
            values = np.maximum(columns["submit"], top.begin)
        elif column in _OPTIONAL and not values:
            values = [NONE] * n
        if len(values) != n:
            raise InputError("", f"jobs.{column}", f"{len(values)} entries; {n} needed, one per job")
        columns[column] = values if column == "id" else freeze(values)
    require_different("jobs.id[]", top.jobs.id)
    submit, release, nodes, gpus = (columns[name] for name in ("submit", "release", "nodes", "gpus"))
    before = np.diff(submit, prepend=submit[:1]) < 0
    _refuse("jobs.submit[]", before, submit, "is before the job in front of it; jobs stand in order of submit")
    early = release < np.maximum(submit, top.begin)
    _refuse("jobs.release[]", early, release, "is before the submit or the beginning")
    _require_labels("jobs.{}[]", columns, sizes)
    sets = np.zeros((max(1, len(top.pool_sets)), len(top.pools)), dtype=bool)
    for i, numbers in enumerate(top.pool_sets):
        if not numbers or max(numbers) >= len(top.pools):
            problem = f"{numbers}: at least one number, all below {len(top.pools)}, is needed"
            raise InputError("", f"pool_sets[{i}]", problem)
        sets[i, numbers] = True
    choice = columns.pop("pools")
    _refuse("jobs.pools[]", choice >= len(top.pool_sets), choice, f"is not below {len(top.pool_sets)}, the sets")
    allowed = sets[choice]
    allowed.setflags(write=False)
    for q, pool in enumerate(top.pools):
        large = allowed[:, q] & ((nodes > pool.nodes) | (gpus > pool.gpus))
        problem = f"nodes are asked for, but {pool.name} has {pool.nodes} nodes of {pool.gpus} GPUs"
        _refuse("jobs.nodes[]", large, nodes, problem)
    area = nodes * gpus * columns["run"]
    _refuse("jobs.run[]", area >= WEIGHT_LIMIT, area, f"GPU-seconds; below {WEIGHT_LIMIT} is allowed")
    return Jobs(ids=tuple(columns.pop("id")), allowed=allowed, **columns)


def _build_running(top: InstanceDocument, sizes: dict[str, int]) -> Running:
    rows, begin, names = top.running, top.begin, [pool.name for pool in top.pools]
    columns = {column: freeze([getattr(row, column) for row in rows]) for column in _RUNNING}
    columns["pool"] = freeze([find_name(f"running[{i}].pool", row.pool, names) for i, row in enumerate(rows)])
    columns["nodes"] = freeze([len(row.nodes) for row in rows])
    start, end = columns["start"], columns["end"]
    _refuse("running[].start", start > begin, start, f"is after the beginning, {begin}")
    _refuse("running[].end", end <= begin, end, f"is not after the beginning, {begin}")
    _require_labels("running[].{}", columns, sizes)
    first = np.cumsum([0, *(pool.nodes for pool in top.pools)]).tolist()
    flat, free = [], [pool.gpus for pool in top.pools for _ in range(pool.nodes)]
    for i, (q, row) in enumerate(zip(columns["pool"].tolist(), rows, strict=True)):
        pool, field = top.pools[q], f"running[{i}]"
        if len(set(row.nodes)) != len(row.nodes) or not row.nodes or max(row.nodes) >= pool.nodes:
            problem = f"{shorten(row.nodes)}: different numbers below {pool.nodes}, the number of nodes, are needed"
            raise InputError("", f"{field}.nodes", problem)
        for c in pool.closures:
            if c.node in row.nodes and c.start < row.end and c.end > begin:
                problem = f"{row.end} is after {c.start}, when node {c.node} closes; a running job ends before that"
                raise InputError("", f"{field}.end", problem)
        for v in row.nodes:
            flat.append(first[q] + v)
            free[flat[-1]] -= row.gpus
            if free[flat[-1]] < 0:
                problem = f"{pool.gpus - free[flat[-1]]} GPUs run on node {v} of {row.pool}, which has {pool.gpus}"
                raise InputError("", f"{field}.gpus", problem)
    return Running(**columns, node=freeze(flat))


def _require_startable(top: InstanceDocument, instance: Instance) -> None:
    """Refuse a job that its partition's bound or its account's quota never lets start."""
    jobs = instance.jobs
    parts, accounts = [*(part.name for part in top.partitions), ""], [*top.accounts, ""]  # -1 is the empty name
    pairs, pair = np.unique(np.column_stack([jobs.partition, jobs.account]), axis=0, return_inverse=True)
    most = np.array([top.most_gpus(parts[part], accounts[account]) for part, account in pairs.tolist()])
    fits = jobs.allowed & (jobs.width[:, None] <= most.reshape(-1, len(top.pools))[pair.reshape(-1)])
    problem = "GPUs are more than the bounds of its partition or the quotas of its account allow"
    _refuse("jobs.nodes[]", ~fits.any(axis=1), jobs.width, problem)


def document(instance: Instance) -> dict[str, Any]:
    jobs, running = instance.jobs, instance.running
    sets, choice = np.unique(jobs.allowed, axis=0, return_inverse=True)
    columns: dict[str, list[Any]] = {"id": list(jobs.ids)}
    for column in JobsDocument.__struct_fields__[1:]:
        values: IntArray = choice.reshape(-1) if column == "pools" else getattr(jobs, column)
        if column == "release" and np.array_equal(values, np.maximum(jobs.submit, instance.begin)):
            continue
        if column not in _OPTIONAL or np.any(values != NONE):
            columns[column] = values.tolist()
    nodes = np.split(running.node, np.cumsum(running.nodes)[:-1])
    rows = [
        RunningDocument(
            instance.pools[q].name,
            (nodes[i] - instance.first_node[q]).tolist(),
            *(int(getattr(running, column)[i]) for column in _RUNNING),
        )
        for i, q in enumerate(running.pool.tolist())
    ]
    built = {
        **{key: getattr(instance, key) for key in _SAME if getattr(instance, key) is not None},
        "priority": instance.priority,
        "running": rows,
        "pool_sets": [np.flatnonzero(row).tolist() for row in sets],
    }
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(built))
    head = {"format": FORMAT, "name": instance.name, "origin": dict(instance.origin)}
    return head | ({} if instance.cost == "wait" else {"cost": instance.cost}) | content | {"jobs": columns}


FILES = InstanceFiles(parse, document, apart=("name", "origin", "cost"))
read, loads, dumps, write, content_hash = FILES.read, FILES.loads, FILES.dumps, FILES.write, FILES.content_hash


def identity(instance: Instance) -> str:
    """What tells instances apart in stored results: content and cost."""
    content = content_hash(instance)
    return content if instance.cost == "wait" else sha256_of([content, instance.cost])


_Whole = Annotated[int, msgspec.Meta(ge=-(2**40), le=2**40)]


class _Document(msgspec.Struct):  # other keys are ignored
    decisions: list[tuple[_Whole, _Whole]]
    nodes: list[_Whole]


def solution_document(schedule: Schedule) -> dict[str, Any]:
    """Start and pool of every job, and the nodes of all jobs, one behind the other, counted through all pools."""
    pairs = np.column_stack([schedule.start, schedule.pool])
    return {"decisions": pairs.tolist(), "nodes": schedule.node.tolist()}


def parse_solution(data: Any, source: str) -> Schedule:
    found = convert(data, _Document, source)
    pairs = np.array(found.decisions, dtype=np.int64).reshape(-1, 2)
    return Schedule(freeze(pairs[:, 0]), freeze(pairs[:, 1]), freeze(np.array(found.nodes, dtype=np.int64)))


def write_swf(instance: Instance, schedule: Schedule) -> str:
    """The schedule in the Standard Workload Format: jobs by their place in the file, labels by their numbers."""
    jobs, n = instance.jobs, len(instance.jobs)
    zero = min(instance.begin, *jobs.submit[:1].tolist())
    wait = np.where(schedule.start < 0, -1, schedule.start - jobs.submit)
    number, status, unknown = np.arange(1, n + 1), np.ones(n, dtype=np.int64), np.full(n, -1)
    fields = (
        number, jobs.submit - zero, wait, jobs.run, jobs.width, unknown, unknown, jobs.width, jobs.limit, unknown,
        status, jobs.user, jobs.account, unknown, jobs.partition, schedule.pool, unknown, unknown,
    )  # fmt: skip
    lines = [
        f"; UnixStartTime: {max(0, zero)}",
        f"; MaxNodes: {len(instance.node_gpus)}",
        f"; MaxProcs: {instance.capacity}",
        "; Note: user, group, queue and partition (pool) are numbers of the instance's tables, from 0",
        f"; Note: {len(instance.running)} jobs that ran at the beginning are left out",
        *(" ".join(map(str, row)) for row in np.column_stack(fields).tolist()),
    ]
    return "\n".join(lines) + "\n"


SOLUTION_FORMATS = {".swf": write_swf}
