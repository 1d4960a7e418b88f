"""Certificates of clusters cannot be forged, and the checker stands on its own."""

import ast
import copy
import inspect
import math
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ratiobench.formulations.cluster import certificate as certificates
from ratiobench.formulations.cluster import check as checks
from ratiobench.formulations.cluster import verify as checker
from ratiobench.formulations.cluster.certificate import parse, seal
from ratiobench.formulations.cluster.solve import solve
from ratiobench.formulations.cluster.verify import verify
from ratiobench.instances.cluster.format import FILES as INSTANCES
from ratiobench.instances.cluster.model import COSTS, Instance
from ratiobench.instances.io.documents import to_document
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.instances.io.seeds import Stream
from tests.support.tiny_clusters import BEGIN, make_tiny

Document = dict[str, Any]


def _certified(number: int) -> tuple[Instance, Document]:
    """The certificate of a tiny instance in which somebody waits."""
    cost = COSTS[number % len(COSTS)]
    for attempt in range(100):
        instance = make_tiny("certificate", number, attempt)
        report = solve(instance, cost)
        assert report.certificate is not None
        data = to_document(report.certificate)  # type: ignore[arg-type]
        if report.lower > 0 and any(any(row["prices"]) for row in data["rows"]):
            return instance, _split(instance, data) if number % 2 else data
    raise AssertionError("nobody waits")


def _split(instance: Instance, data: Document) -> Document:
    """The same prices on both sides of a start of the last job."""
    job = len(instance.jobs) - 1
    branches = [{"leaf": 0, "job": job, "second": int(instance.jobs.release[job]) + 2}]
    data = data | {"branches": branches, "rows": [row | leaf for leaf in ({}, {"leaf": 1}) for row in data["rows"]]}
    data["scaled_lower"] = checker.bound(instance, parse(data))
    return data | {"sha256": seal(parse(data))}


def _change_branch(key: str, value: int) -> Callable[[Document, Instance, Stream], None]:
    return lambda data, instance, stream: [branch.update({key: value}) for branch in data.get("branches", ())]


def _place(data: Document, instance: Instance, j: int, start: int, nodes: list[int]) -> None:
    """Let job j start on these nodes."""
    low = int(instance.jobs.nodes[:j].sum())
    data["starts"][j], data["pools"][j] = start, int(instance.node_pool[nodes[0]])
    data["nodes"][low : low + len(nodes)] = nodes


def _nodes_of(data: Document, instance: Instance, j: int) -> list[int]:
    low = int(instance.jobs.nodes[:j].sum())
    nodes: list[int] = data["nodes"][low : low + int(instance.jobs.nodes[j])]
    return nodes


def _swap_price(change: Callable[[int], int]) -> Callable[[Document, Instance, Stream], None]:
    def forge(data: Document, instance: Instance, stream: Stream) -> None:
        rows = [row for row in data["rows"] if row["prices"]]
        row = rows[stream.integer(0, len(rows) - 1)]
        at = stream.integer(0, len(row["prices"]) - 1)
        row["prices"][at] = change(row["prices"][at])

    return forge


def _move_start(data: Document, instance: Instance, stream: Stream) -> None:
    j = stream.integer(0, len(instance.jobs) - 1)
    data["starts"][j] = int(instance.jobs.release[j]) - stream.integer(1, 5)


def _overlap(data: Document, instance: Instance, stream: Stream) -> None:
    """Two jobs that do not fit on a node together start there together."""
    jobs = instance.jobs
    for i, j in permutations(range(len(jobs)), 2):
        pool, start = data["pools"][i], data["starts"][i]
        full = jobs.gpus[i] + jobs.gpus[j] > instance.pools[pool].gpus
        if full and jobs.allowed[j, pool] and jobs.release[j] <= start and jobs.nodes[j] <= jobs.nodes[i]:
            _place(data, instance, j, start, _nodes_of(data, instance, i)[: int(jobs.nodes[j])])
            return


def _twice(data: Document, instance: Instance, stream: Stream) -> None:
    for j in np.flatnonzero(instance.jobs.nodes > 1).tolist():
        nodes = _nodes_of(data, instance, j)
        _place(data, instance, j, data["starts"][j], [nodes[0]] * len(nodes))


def _no_node(data: Document, instance: Instance, stream: Stream) -> None:
    data["nodes"][stream.integer(0, len(data["nodes"]) - 1)] = len(instance.node_gpus) + stream.integer(0, 9)


def _wrong_pool(data: Document, instance: Instance, stream: Stream) -> None:
    data["pools"][stream.integer(0, len(instance.jobs) - 1)] += 1 + len(instance.pools)


def _closed(data: Document, instance: Instance, stream: Stream) -> None:
    """A job on a node while it is closed."""
    for node, start, end, _ in instance.closures.tolist():
        _put_on(data, instance, node, start, end, int(instance.node_gpus[node]))


def _held(data: Document, instance: Instance, stream: Stream) -> None:
    """A job where a job that runs at the beginning leaves too little."""
    running = instance.running
    for i, node in zip(np.repeat(np.arange(len(running)), running.nodes), running.node.tolist(), strict=True):
        _put_on(data, instance, node, BEGIN, int(running.end[i]), int(running.gpus[i]))


def _put_on(data: Document, instance: Instance, node: int, start: int, end: int, gpus: int) -> None:
    jobs, pool = instance.jobs, int(instance.node_pool[node])
    first, last = int(instance.first_node[pool]), int(instance.first_node[pool + 1])
    for j in range(len(jobs)):
        full = jobs.gpus[j] + gpus > instance.node_gpus[node]
        if full and jobs.allowed[j, pool] and jobs.release[j] < end:
            others = [other for other in range(first, last) if other != node]
            nodes = [node, *others[: int(jobs.nodes[j]) - 1]]
            _place(data, instance, j, max(start, int(jobs.release[j])), nodes)
            return


def _shift(key: str, by: int) -> Callable[[Document, Instance, Stream], None]:
    def forge(data: Document, instance: Instance, stream: Stream) -> None:
        data[key] += by * stream.integer(1, 1000)

    return forge


def _outside(data: Document, instance: Instance, stream: Stream) -> None:
    row = data["rows"][stream.integer(0, len(data["rows"]) - 1)]
    row["first"] += len(data["borders"]) - len(row["prices"])


def _longer(data: Document, instance: Instance, stream: Stream) -> None:
    row = data["rows"][stream.integer(0, len(data["rows"]) - 1)]
    row["prices"] += [stream.integer(0, 9)] * len(data["borders"])


def _same_row(data: Document, instance: Instance, stream: Stream) -> None:
    data["rows"].append(data["rows"][stream.integer(0, len(data["rows"]) - 1)])


def _backwards(data: Document, instance: Instance, stream: Stream) -> None:
    at = stream.integer(1, len(data["borders"]) - 1)
    data["borders"][at] = data["borders"][at - 1] - stream.integer(0, 1)


def _one_class(data: Document, instance: Instance, stream: Stream) -> None:
    """All jobs in one class, which has no prices: those that there are belong to nobody."""
    data["classes"] = [max(data["classes"]) + 1] * len(data["classes"])


def _drop(key: str) -> Callable[[Document, Instance, Stream], None]:
    def forge(data: Document, instance: Instance, stream: Stream) -> None:
        data[key].pop(stream.integer(0, len(data[key]) - 1))

    return forge


def _later(data: Document, instance: Instance, stream: Stream) -> None:
    j = stream.integer(0, len(instance.jobs) - 1)
    data["starts"][j] += 1000 * stream.integer(1, 9)


def _replace(key: str, value: Any) -> Callable[[Document, Instance, Stream], None]:
    return lambda data, instance, stream: data.update({key: value})


FORGERIES: dict[str, Callable[[Document, Instance, Stream], None]] = {
    "another instance": _replace("instance", "0" * 64),
    "a negative price": _swap_price(lambda price: -1 - price),
    "a huge price": _swap_price(lambda price: 2**61),
    "a price that is no integer": _swap_price(lambda price: price + 0.5),  # type: ignore[arg-type, return-value]
    "prices outside the segments": _outside,
    "more prices than segments": _longer,
    "prices given twice": _same_row,
    "borders that do not ascend": _backwards,
    "prices of no class": _one_class,
    "a job without class": _drop("classes"),
    "a start before the release": _move_start,
    "a later start": _later,
    "jobs that overlap": _overlap,
    "a node used twice": _twice,
    "a node there is not": _no_node,
    "a wrong pool": _wrong_pool,
    "a closed node": _closed,
    "a node that is held at the beginning": _held,
    "a missing start": _drop("starts"),
    "a missing node": _drop("nodes"),
    "a higher lower end": _shift("scaled_lower", 1),
    "a lower lower end": _shift("scaled_lower", -1),
    "a higher upper end": _shift("scaled_upper", 1),
    "a lower upper end": _shift("scaled_upper", -1),
    "another scale": lambda data, instance, stream: data.update(scale=data["scale"] * 3),
    "a branch of no leaf": _change_branch("leaf", 1),
    "a branch on no job": _change_branch("job", 1000),
    "a branch that splits nothing": _change_branch("second", BEGIN),
    "a missing branch": lambda data, instance, stream: data.pop("branches", None),
    "a field more": _replace("more", 1),
    "another format": _replace("format", "ratiobench/cluster-certificate/2"),
    "another cost": _replace("cost", "waits"),
}


# Forged schedules, whose cost is claimed right, and the rule that they break
RULES = {
    "a start before the release": "(release)",
    "jobs that overlap": "(use)",
    "a node used twice": "(nodes)",
    "a node there is not": "(nodes)",
    "a wrong pool": "(pool)",
    "a closed node": "(use)",
    "a node that is held at the beginning": "(use)",
}


def _forge(name: str, held: list[tuple[Instance, Document]], number: int) -> bool | None:
    """Forge one certificate, sealed anew: is it refused? None if this instance has nothing to forge."""
    instance, original = held[number % len(held)]
    data = copy.deepcopy(original)
    FORGERIES[name](data, instance, Stream("forged", name, number))
    if data == original:
        return None
    if name in RULES:
        cost = checks.sum_costs(instance, data["cost"], data["starts"])
        data["scaled_upper"] = math.ceil(cost * data["scale"])
    try:
        data["sha256"] = seal(parse(data))
        verdict = verify(instance, data)
    except InputError:
        return True
    if name == "a huge price" and verdict.valid:
        return None  # nobody can run there: nothing else is proved
    return not verdict.valid and verdict.problem.startswith(RULES.get(name, ""))


@pytest.fixture(scope="module")
def held() -> list[tuple[Instance, Document]]:
    return [_certified(number) for number in range(8)]


def test_a_certificate_is_accepted_and_reads_back(held: list[tuple[Instance, Document]], tmp_path: Path) -> None:
    for instance, data in held:
        verdict = verify(instance, data)
        assert verdict.valid, verdict.problem
        for name in ("a.json", "a.cert"):
            certificates.write(parse(data), tmp_path / name)
            assert load_json(*read_bytes(tmp_path / name)) == data


def test_the_seal_alone_gives_a_change_away(held: list[tuple[Instance, Document]]) -> None:
    instance, data = held[0]
    assert verify(instance, data | {"sha256": "0" * 64}).problem.startswith("sha256")


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_is_refused(held: list[tuple[Instance, Document]], name: str) -> None:
    answers = [_forge(name, held, number) for number in range(16)]
    assert False not in answers
    assert True in answers


@pytest.mark.nightly
@pytest.mark.parametrize("name", FORGERIES)
def test_many_forged_certificates_are_refused(name: str) -> None:
    held = [_certified(number) for number in range(40)]
    answers = [_forge(name, held, number) for number in range(16, 516)]
    assert False not in answers
    assert answers.count(True) >= 100


@pytest.mark.parametrize("module", [checker, checks, certificates])
def test_the_checker_imports_nothing_of_what_it_checks(module: Any) -> None:
    tree = ast.parse(inspect.getsource(module))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {name.rpartition(".")[2] for name in names if name.startswith("ratiobench.formulations.cluster")}
    assert own <= {"certificate", "check", "cluster"}


def test_the_program_ends_with_0_for_a_valid_certificate_only(
    held: list[tuple[Instance, Document]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ratiobench.formulations.checksums import run_checker
    from ratiobench.instances.cluster.format import parse as parse_instance

    instance, data = held[0]
    paths = [str(tmp_path / name) for name in ("instance.json", "good.cert", "bad.cert")]
    INSTANCES.write(instance, paths[0])
    certificates.write(parse(data), paths[1])
    certificates.write(parse(data | {"scaled_lower": data["scaled_lower"] + 1}), paths[2])
    assert run_checker(parse_instance, verify, paths[:2]) == 0
    assert run_checker(parse_instance, verify, [paths[0], paths[2]]) == 1
    assert run_checker(parse_instance, verify, paths[:1]) == 2
    assert "valid" in capsys.readouterr().out
