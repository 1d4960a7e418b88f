"""The file format `ratiobench/cluster/1`: one JSON document, validated on reading, identified by its content.

Jobs are columns of equal length. A column that is left out is filled: release with the submits (or the beginning, if
that is later), limits and labels with -1 (none). In the file `pools` of a job is a number in the table `pool_sets`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NoReturn

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.cluster.model import (
    NONE,
    Count,
    Gpus,
    Instance,
    Jobs,
    Limit,
    Name,
    Part,
    Partition,
    Place,
    Pool,
    Priority,
    Quota,
    Running,
    Second,
    Weight,
    Weights,
)
from ratiobench.instances.io.documents import Documents, hash_once, require_format
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.fields import origin_of

FORMAT = "ratiobench/cluster/1"
WEIGHT_LIMIT = 2**36  # GPU-seconds of a job: its cost over four years of waiting stays below 2^63
LONGEST_RUN = 2**27
LABELS = {"account": "accounts", "user": "users", "partition": "partitions", "qos": "qos"}  # column -> its table

Length = Annotated[int, Meta(ge=1, le=LONGEST_RUN)]
Code = Annotated[int, Meta(ge=-1, le=2**31)]


class QuotaDocument(Part):
    """The quota of an account, by its name; `nominal` has a number for each pool."""

    account: Name
    nominal: tuple[Place, ...]
    cohort: str = ""
    strict: bool = False


class PriorityDocument(Weights):
    """Weights, and tables by name; who is not named has 1 share and priority 0."""

    shares: dict[str, Count] = msgspec.field(default_factory=dict)
    qos_priority: dict[str, Weight] = msgspec.field(default_factory=dict)
    partition_priority: dict[str, Weight] = msgspec.field(default_factory=dict)
    account_priority: dict[str, Weight] = msgspec.field(default_factory=dict)


class JobsDocument(Part):
    """The columns of the jobs, in order of submit."""

    id: list[Name]
    submit: list[Second]
    run: list[Length]
    nodes: list[Count]
    gpus: list[Gpus]
    pools: list[Place]
    release: tuple[Second, ...] = ()
    limit: tuple[Limit, ...] = ()
    account: tuple[Code, ...] = ()
    user: tuple[Code, ...] = ()
    partition: tuple[Code, ...] = ()
    qos: tuple[Code, ...] = ()
    logged: tuple[Limit, ...] = ()


class RunningDocument(Part):
    """A job that runs at the beginning; nodes are counted from 0 in its pool."""

    pool: Name
    nodes: list[Place]
    gpus: Gpus
    start: Second
    end: Second
    limit: Limit = NONE
    account: Code = NONE
    user: Code = NONE
    partition: Code = NONE


class InstanceDocument(Part):
    """The whole file."""

    format: str
    name: Name
    begin: Second
    pools: Annotated[list[Pool], Meta(min_length=1, max_length=100)]
    pool_sets: list[list[Place]]
    jobs: JobsDocument
    origin: dict[str, Any] = msgspec.field(default_factory=dict)
    cost: Literal["wait-gpu-hours", "wait", "wait-gpus", "slowdown"] = "wait"
    cycle: Place = 0
    depth: Place = 0
    judged: tuple[Second, Second] | None = None
    partitions: tuple[Partition, ...] = ()
    accounts: tuple[Name, ...] = ()
    users: tuple[Name, ...] = ()
    qos: tuple[Name, ...] = ()
    quotas: tuple[QuotaDocument, ...] = ()
    priority: PriorityDocument = PriorityDocument()
    running: tuple[RunningDocument, ...] = ()


def fields_of(kind: type[Struct]) -> tuple[str, ...]:
    """Names of the fields of a type, in order."""
    return tuple(field.name for field in msgspec.structs.fields(kind))


_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+|\.\.\.)\]")


def convert(data: Any, kind: type[Any], source: str) -> Any:
    """Validate decoded JSON (or TOML) as this type; the error names the field and its value."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        path, value = path.rstrip("`"), data
        for key, index in _STEP.findall(path):
            inside = value.get(key) if key else value[int(index)] if index.isdigit() else None
            if inside is None:
                break
            value = inside
        problem = problem[0].lower() + problem[1:]
        problem = problem if isinstance(value, dict) else f"{shorten(value)}: {problem}"
        raise InputError(source, path.removeprefix("."), problem) from None


class _Check:
    """The errors of one file."""

    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, field: str, problem: str) -> NoReturn:
        raise InputError(self.source, field, problem)

    def different(self, field: str, names: tuple[str, ...] | list[str]) -> None:
        """Names must differ, and must be text."""
        seen = set[str]()
        for i, name in enumerate(names):
            if name in seen:
                self.fail(f"{field}[{i}]", f"{shorten(name)} is given twice; names must differ")
            if any("\ud800" <= c <= "\udfff" for c in name):
                self.fail(f"{field}[{i}]", "holds a lone surrogate, which is not text")
            seen.add(name)

    def number(self, field: str, name: str, names: tuple[str, ...]) -> int:
        """The number of a name in a table."""
        if name not in names:
            self.fail(field, explain_unknown_name(name, names))
        return names.index(name)

    def column(self, field: str, bad: Any, column: Any, problem: str) -> None:
        """An error for the first entry of a column that is bad; `problem` says what is allowed."""
        if np.any(bad):
            i = int(np.argmax(bad))
            self.fail(f"{field}[{i}]", f"{column[i]} {problem}")


def parse(data: Any, source: str = "<document>") -> Instance:
    """Validate a decoded document and build the instance."""
    require_format(data, source, FORMAT)
    top: InstanceDocument = convert(data, InstanceDocument, source)
    check = _Check(source)
    origin = origin_of(source, top.origin)
    pool_names, parts = tuple(pool.name for pool in top.pools), tuple(part.name for part in top.partitions)
    tables = {"accounts": top.accounts, "users": top.users, "partitions": parts, "qos": top.qos}
    for field, names in ({"pools": pool_names} | tables).items():
        check.different(field, names)
    check.different("quotas", [quota.account for quota in top.quotas])
    pools = tuple(_parse_pool(check, f"pools[{i}]", pool) for i, pool in enumerate(top.pools))
    for i, part in enumerate(top.partitions):
        for j, pool_name in enumerate(part.pools):
            check.number(f"partitions[{i}].pools[{j}]", pool_name, pool_names)
    quotas = []
    for i, quota in enumerate(top.quotas):
        if len(quota.nominal) != len(pools):
            check.fail(f"quotas[{i}].nominal", f"{len(quota.nominal)} entries; {len(pools)} needed, one per pool")
        account = check.number(f"quotas[{i}].account", quota.account, top.accounts)
        quotas.append(Quota(account, quota.nominal, quota.cohort, quota.strict))
    if top.judged is not None and top.judged[0] >= top.judged[1]:
        check.fail("judged", f"{list(top.judged)} is empty; the first second must be below the second one")
    sizes = {column: len(tables[table]) for column, table in LABELS.items()}
    instance = Instance(
        name=top.name,
        origin=origin,
        pools=pools,
        partitions=top.partitions,
        accounts=top.accounts,
        users=top.users,
        qos=top.qos,
        jobs=_parse_jobs(check, top, pools, sizes),
        running=_parse_running(check, top, pools, sizes),
        begin=top.begin,
        cycle=top.cycle,
        depth=top.depth,
        judged=top.judged,
        quotas=tuple(quotas),
        priority=_parse_priority(check, top.priority, tables),
        cost=top.cost,
    )
    _require_startable(check, instance)
    return instance


def _parse_pool(check: _Check, field: str, pool: Pool) -> Pool:
    """The pool, its closures in order of start."""
    closures = sorted(pool.closures, key=lambda c: (c.start, c.node))
    ends: dict[int, int] = {}
    for i, c in enumerate(closures):
        where = f"{field}.closures[{i}]"
        if c.node >= pool.nodes:
            check.fail(f"{where}.node", f"{c.node} is not below {pool.nodes}, the number of nodes")
        if not c.announced <= c.start < c.end:
            problem = f"announced {c.announced}, start {c.start}, end {c.end}: announced <= start < end is needed"
            check.fail(where, problem)
        if c.start < ends.get(c.node, 0):
            check.fail(f"{where}.start", f"{c.start} is before {ends[c.node]}, the end of another closure of the node")
        ends[c.node] = c.end
    return Pool(pool.name, pool.nodes, pool.gpus, tuple(closures))


def _parse_jobs(check: _Check, top: InstanceDocument, pools: tuple[Pool, ...], sizes: dict[str, int]) -> Jobs:
    n = len(top.jobs.submit)
    columns: dict[str, Any] = {}
    for column in fields_of(JobsDocument):
        values = getattr(top.jobs, column)
        if not values and column in ("limit", "logged", *LABELS):
            values = [NONE] * n
        if column == "release" and not values:
            values = np.maximum(columns["submit"], top.begin)
        if len(values) != n:
            check.fail(f"jobs.{column}", f"{len(values)} entries; {n} needed, one per job")
        columns[column] = values if column == "id" else freeze(values)
    check.different("jobs.id", top.jobs.id)
    submit, release = columns["submit"], columns["release"]
    before = np.concatenate([[False], submit[1:] < submit[:-1]])
    check.column("jobs.submit", before, submit, "is before the job in front of it; jobs stand in order of submit")
    early = release < np.maximum(submit, top.begin)
    check.column("jobs.release", early, release, "is before the submit or the beginning")
    for column, size in sizes.items():
        check.column(f"jobs.{column}", columns[column] >= size, columns[column], f"is not below {size}, the names")
    sets = np.zeros((max(1, len(top.pool_sets)), len(pools)), dtype=bool)
    for i, numbers in enumerate(top.pool_sets):
        if not numbers or max(numbers) >= len(pools):
            check.fail(f"pool_sets[{i}]", f"{numbers}: at least one number, all below {len(pools)}, is needed")
        sets[i, numbers] = True
    choice = columns.pop("pools")
    check.column("jobs.pools", choice >= len(top.pool_sets), choice, f"is not below {len(top.pool_sets)}, the sets")
    allowed = sets[choice]
    nodes, gpus = columns["nodes"], columns["gpus"]
    for q, pool in enumerate(pools):
        large = allowed[:, q] & ((nodes > pool.nodes) | (gpus > pool.gpus))
        what = f"nodes are asked for, but {pool.name} has {pool.nodes} nodes of {pool.gpus} GPUs"
        check.column("jobs.nodes", large, nodes, what)
    area = nodes * gpus * columns["run"]
    check.column("jobs.run", area >= WEIGHT_LIMIT, area, f"GPU-seconds; below {WEIGHT_LIMIT} is allowed")
    allowed.setflags(write=False)
    return Jobs(ids=tuple(columns.pop("id")), allowed=allowed, **columns)


def _parse_running(check: _Check, top: InstanceDocument, pools: tuple[Pool, ...], sizes: dict[str, int]) -> Running:
    names, first = tuple(pool.name for pool in pools), np.cumsum([0, *(pool.nodes for pool in pools)])
    used = [[0] * pool.nodes for pool in pools]
    closed = {
        (q, c.node): c.start for q, pool in enumerate(pools) for c in reversed(pool.closures) if c.end > top.begin
    }
    flat: list[int] = []
    rows = []
    for i, job in enumerate(top.running):
        where = f"running[{i}]"
        q = check.number(f"{where}.pool", job.pool, names)
        if not job.start <= top.begin < job.end:
            check.fail(f"{where}.end", f"from {job.start} to {job.end} it does not run at the beginning, {top.begin}")
        if len(set(job.nodes)) != len(job.nodes) or not job.nodes or max(job.nodes) >= pools[q].nodes:
            problem = f"{shorten(job.nodes)}: different numbers below {pools[q].nodes}, the number of nodes, are needed"
            check.fail(f"{where}.nodes", problem)
        for v in job.nodes:
            used[q][v] += job.gpus
            if used[q][v] > pools[q].gpus:
                problem = f"{used[q][v]} GPUs run on node {v} of {job.pool}, which has {pools[q].gpus}"
                check.fail(f"{where}.gpus", problem)
            if closed.get((q, v), job.end) < job.end:
                problem = f"{job.end} is after {closed[q, v]}, when node {v} closes; a running job ends before that"
                check.fail(f"{where}.end", problem)
        for column in _RUNNING_LABELS:
            if getattr(job, column) >= sizes[column]:
                check.fail(f"{where}.{column}", f"{getattr(job, column)} is not below {sizes[column]}, the names")
        flat += [int(first[q]) + v for v in job.nodes]
        rows.append((*(getattr(job, column) for column in _RUNNING), q, len(job.nodes)))
    table = np.array(rows, dtype=np.int64).reshape(-1, len(_RUNNING) + 2).T
    columns = zip((*_RUNNING, "pool", "nodes"), map(freeze, table), strict=True)
    return Running(**dict(columns), node=freeze(flat))


_RUNNING = fields_of(RunningDocument)[2:]  # Columns that are the same in the file and in `Running`
_RUNNING_LABELS = [column for column in _RUNNING if column in LABELS]


def _parse_priority(check: _Check, given: PriorityDocument, tables: dict[str, tuple[str, ...]]) -> Priority:
    values = msgspec.structs.asdict(given)
    for key, table in _PRIORITY_TABLES.items():
        for name in values[key]:
            check.number(f"priority.{key}.{name}", name, tables[table])
        values[key] = tuple(values[key].get(name, int(key == "shares")) for name in tables[table])
    return Priority(**values)


_PRIORITY_TABLES = {
    "shares": "accounts",
    "qos_priority": "qos",
    "partition_priority": "partitions",
    "account_priority": "accounts",
}


def _require_startable(check: _Check, instance: Instance) -> None:
    """Refuse a job that its partition's bound or its account's quota never lets start."""
    jobs = instance.jobs
    for i, part in enumerate(instance.partitions):
        for bound in (part.user_gpus, part.account_gpus):
            if bound != NONE:
                bad = (jobs.partition == i) & (jobs.width > bound)
                check.column("jobs.nodes", bad, jobs.width, f"GPUs are more than {part.name}'s bound, {bound}")
    for quota in instance.quotas:
        most = freeze(sum_nominal(quota, instance.quotas))
        fits = (jobs.allowed & (most[None, :] >= jobs.width[:, None])).any(axis=1)
        name = instance.accounts[quota.account]
        bad = (jobs.account == quota.account) & ~fits
        check.column("jobs.nodes", bad, jobs.width, f"GPUs are more than the quotas of {shorten(name)} allow")


def sum_nominal(own: Any, quotas: Any) -> list[int]:
    """The most GPUs of each pool that an account can use: its own nominal ones and those of its cohort."""
    group = [quota.nominal for quota in quotas if quota is own or quota.cohort == own.cohort != ""]
    return [sum(column) for column in zip(*group, strict=True)]


def document(instance: Instance) -> dict[str, Any]:
    """The JSON document of an instance."""
    head = {"format": FORMAT, "name": instance.name, "origin": dict(instance.origin)}
    return head | ({} if instance.cost == "wait" else {"cost": instance.cost}) | _content(instance)


def _content(instance: Instance) -> dict[str, Any]:
    jobs, running = instance.jobs, instance.running
    sets, choice = np.unique(jobs.allowed, axis=0, return_inverse=True)
    columns: dict[str, list[Any]] = {"id": list(jobs.ids)}
    default = dict.fromkeys(("limit", "logged", *LABELS), NONE)
    for column in fields_of(JobsDocument)[1:]:
        values: IntArray = choice.reshape(-1) if column == "pools" else getattr(jobs, column)
        if column == "release" and np.array_equal(values, np.maximum(jobs.submit, instance.begin)):
            continue
        if column not in default or np.any(values != NONE):
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
    tables = {table: getattr(instance, table) for table in ("accounts", "qos")}
    tables["partitions"] = [part.name for part in instance.partitions]
    priority = msgspec.structs.asdict(instance.priority)
    for key, table in _PRIORITY_TABLES.items():
        least = int(key == "shares")
        pairs = zip(tables[table], priority[key], strict=True) if priority[key] else ()
        priority[key] = {name: value for name, value in pairs if value != least}
    quotas = [QuotaDocument(instance.accounts[u.account], u.nominal, u.cohort, u.strict) for u in instance.quotas]
    built = {
        "begin": instance.begin,
        "pools": instance.pools,
        "partitions": instance.partitions,
        "priority": PriorityDocument(**priority),
        "quotas": quotas,
        "running": rows,
        "pool_sets": [np.flatnonzero(row).tolist() for row in sets],
        "jobs": {},
        **{key: getattr(instance, key) for key in ("cycle", "depth", "accounts", "users", "qos")},
    }
    if instance.judged is not None:
        built["judged"] = instance.judged
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(built))
    return content | {"jobs": columns}


def content_hash(instance: Instance) -> str:
    """Compute the identity of an instance: the SHA-256 of its content without name and origin."""
    return hash_once(instance.cache, FORMAT, lambda: _content(instance))


FILES = Documents(parse, document)
read, loads, dumps, write = FILES.read, FILES.loads, FILES.dumps, FILES.write
