"""Rigid tasks and gangs: the rules, the bound and its certificate, the search, against brute force."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ratiobench
from ratiobench.bench.cli.main import main
from ratiobench.formulations import backends
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora import run_search, runs
from ratiobench.formulations.lora.certificate import document as certificate_document
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.crosscheck import pairs
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import verify
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.format import FORMAT, FORMAT_2, content_hash, document, parse
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.restriction import list_runs, restrict
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision
from tests.support.examples import on_examples
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances_of_kinds


def made(*tasks: dict[str, Any], slots: int = 4, counts: tuple[int, ...] = (2, 1)) -> Instance:
    """Types g of `counts` nodes with 4 samples per slot and 4 MB; tasks have rate 2 and no cost unless they say so."""
    usual = {
        "arrival": 1, "deadline": slots, "memory_mb": 1, "work": 4, "bid": 10, "rate": [2] * len(counts),
        "energy_wh": [0] * len(counts), "vendors": [],
    }  # fmt: skip
    node = {"compute": 4, "memory_mb": 4, "tariff": [1] * slots}
    return parse(
        {
            "format": FORMAT_2, "name": "made", "slots": slots, "slot_seconds": 600, "base_memory_mb": 0,
            "node_types": [{"name": f"g{g}", "count": count, **node} for g, count in enumerate(counts)],
            "tasks": [usual | task for task in tasks],
        }
    )  # fmt: skip


@on_examples(tiny_instances_of_kinds(), samples(150))
def test_the_interval_encloses_brute_force_and_its_certificate_is_valid(instance: Instance) -> None:
    """lower <= OPT <= upper, with fewer schedules no more than with more, and the file says the same."""
    assert content_hash(parse(document(instance))) == content_hash(instance)
    optimum, best = enumerate_optimum(instance)
    assert check(instance, best).welfare == optimum
    assert check(instance, best).valid
    report = solve(instance, certified=True)
    assert report.lower <= optimum <= report.upper
    assert check(instance, report.solution).welfare == report.lower
    if report.certificate is not None:
        verdict = verify(instance, certificate_document(report.certificate))
        assert verdict.valid, verdict.problem
        assert report.certificate.lower <= optimum <= report.certificate.upper
    one_node, rigid = (
        enumerate_optimum(restrict(instance, kind))[0] for kind in (ScheduleKind.ONE_NODE, ScheduleKind.RIGID)
    )
    assert rigid <= one_node <= optimum


GANG = {"run": "gang", "nodes": 2, "work": 8}


@pytest.mark.parametrize(
    ("task", "cells", "rules"),
    [
        ({"run": "rigid"}, [(0, 1), (0, 2)], []),
        ({"run": "rigid"}, [(0, 1), (1, 2)], ["R2"]),
        ({"run": "rigid"}, [(0, 1), (0, 3)], ["R4"]),
        ({"run": "rigid"}, [(0, 1), (0, 2), (0, 3)], ["R4"]),
        ({"run": "rigid"}, [(0, 1)], ["4e"]),
        ({"run": "rigid", "arrival": 2}, [(0, 1), (0, 2)], ["R5"]),
        ({"run": "rigid", "deadline": 3}, [(0, 3), (0, 4)], ["R5"]),
        ({"run": "one-node"}, [(0, 1), (0, 3), (0, 4)], []),
        ({"run": "one-node"}, [(0, 1), (1, 3)], ["R2"]),
        ({"run": "any"}, [(0, 1), (1, 3)], []),
        ({"run": "any"}, [(0, 1), (1, 1)], ["4b"]),
        (GANG, [(0, 1), (1, 1), (0, 2), (1, 2)], []),
        (GANG, [(0, 1), (2, 1), (0, 2), (2, 2)], ["R3"]),
        (GANG, [(0, 1), (1, 1), (0, 2)], ["R1", "4e"]),
        (GANG, [(0, 1), (1, 1), (0, 3), (1, 3)], ["R4"]),
        (GANG, [(0, 1), (1, 1), (0, 2), (2, 2)], ["R2", "R3"]),
    ],
)
def test_the_checker_names_the_rule(task: dict[str, Any], cells: list[tuple[int, int]], rules: list[str]) -> None:
    report = check(made(task), (Decision(None, tuple(cells)),))
    assert [each.rule for each in report.violations] == rules


def test_a_gang_needs_its_nodes_at_the_same_time() -> None:
    """Two gangs of two nodes where two nodes are of a type: one after the other, or one is left out."""
    gang = GANG | {"rate": [4, 4]}
    assert list_runs(made(gang).task(0), made(gang).public("")) == [(0, 1, 4)]
    assert solve(made(gang, gang)).lower == 20
    assert solve(made(gang, gang, slots=1)).lower == 10


def test_nothing_but_the_default_makes_another_document() -> None:
    """A document of format 1 is one of format 2 with all defaults, under the same hash."""
    first = document(made({}))
    assert first["format"] == FORMAT
    assert content_hash(parse(first)) == content_hash(parse(first | {"format": FORMAT_2}))
    for more in ({"run": "rigid"}, {"limit": 5}, {"user": "ada"}, {"priority": -1}):
        other = made(more)
        assert document(other)["format"] == FORMAT_2
        assert content_hash(other) != content_hash(parse(first))
        assert content_hash(parse(document(other))) == content_hash(other)
    assert content_hash(made({"run": "any", "priority": 0})) == content_hash(parse(first))


@pytest.mark.parametrize(
    ("task", "field"),
    [
        ({"run": "moving"}, "run"),
        ({"run": ["any"]}, "run"),
        ({"run": "gang"}, "nodes"),
        ({"run": "gang", "nodes": 1}, "nodes"),
        ({"run": "rigid", "nodes": 2}, "nodes"),
        ({"nodes": 2}, "nodes"),
        ({"run": "gang", "nodes": 10**6, "rate": [2**30, 0]}, "nodes"),
        ({"run": "gang", "nodes": 10**6, "energy_wh": [2**40, 0]}, "nodes"),
        ({"limit": 0}, "limit"),
        ({"user": ""}, "user"),
        ({"queue": "q" * 81}, "queue"),
        ({"priority": 2**31}, "priority"),
    ],
)
def test_a_wrong_field_is_named(task: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=rf"tasks\[0\]\.{field}: ") as caught:
        made(task)
    assert len(str(caught.value)) < 300


def test_format_1_has_none_of_the_fields() -> None:
    data = document(made({"run": "rigid"})) | {"format": FORMAT}
    with pytest.raises(InputError, match="run: unknown field"):
        parse(data)


def test_a_changed_certificate_is_refused() -> None:
    instance = made({"run": "rigid"}, GANG, {"run": "rigid", "bid": 7}, {"bid": 9}, slots=2)
    report = solve(instance, certified=True)
    assert report.certificate is not None
    good = certificate_document(report.certificate)
    assert verify(instance, good).valid
    for i, decision in enumerate(good["decisions"]):
        if decision is not None:
            bad = copy.deepcopy(good)
            bad["decisions"][i]["cells"][0][1] += 1
            assert not verify(instance, bad).valid
    for key in ("lower", "upper"):
        assert not verify(instance, good | {key: good[key] + 1}).valid
    bad = copy.deepcopy(good)
    bad["lam"][0][0] += 1
    assert not verify(instance, bad).valid


@pytest.mark.parametrize("kind", ["any", "one-node", "rigid", "gang"])
def test_a_task_with_more_work_than_its_limit_is_not_served(kind: str) -> None:
    """Neither by OPT nor by any solver; a decision for it is refused unless it is void."""
    gang = {"nodes": 2} if kind == "gang" else {}
    instance = made({"run": kind, "limit": 3, **gang}, {"run": kind, "limit": 4, **gang})
    assert enumerate_optimum(instance)[0] == 10
    for settings_ in ({}, {"backend": "none"}, {"formulation": "enumerate"}):
        report = solve(instance, **settings_)  # type: ignore[arg-type]
        assert (report.lower, report.upper) == (10, 10)
        assert report.solution[0] is None
    if kind != "one-node":
        proof = solve(instance, certified=True).certificate
        assert proof is not None
        assert proof.upper == 10
        assert verify(instance, certificate_document(proof)).valid
    nodes, slots = range(2 if kind == "gang" else 1), range(1, 2 if kind == "gang" else 3)
    cells = tuple((node, slot) for slot in slots for node in nodes)
    assert [each.rule for each in check(instance, (Decision(None, cells), None)).violations] == ["4e"]
    assert check(instance, (Decision(None, cells, void=True), None)).valid


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Solvers by name, `crosscheck` and `export`; what knows other tasks alone says so in one line."""
    file, proof = tmp_path / "rigid.json", tmp_path / "rigid.cert"
    file.write_text(json.dumps(document(made({"run": "rigid"}, GANG))))
    assert main(["opt", str(file), "--certificate", str(proof)]) == 0
    assert capsys.readouterr().out.startswith("OPT = 20")
    assert main(["check", str(file), "--certificate", str(proof)]) == 0
    assert capsys.readouterr().out.startswith("valid")
    for backend in ("highs", "cbc", "cpsat"):
        assert main(["opt", str(file), "--backend", backend]) == 0
        printed = capsys.readouterr().out
        assert "OPT = 20" in printed
        assert f"/ {backend} " in printed
    assert main(["opt", str(file), "--formulation", "rigid", "--backend", "cbc"]) == 0
    assert "answer of the solver: rigid / cbc" in capsys.readouterr().out
    assert main(["crosscheck", str(file)]) == 0
    rows = len(pairs(ScheduleKind.RIGID)) + 1  # with the solvers of extras that are installed
    assert f"all agree: OPT = 20 micro-dollars ({rows} of {rows} rows end as optimal)" in capsys.readouterr().out
    assert main(["export", str(file), "--format", "lp"]) == 0
    assert "once_0: + 1 r_0_0_1_1" in capsys.readouterr().out
    mixed = tmp_path / "mixed.json"
    mixed.write_text(json.dumps(document(made({"run": "rigid"}, {}))))
    for arguments in (
        ["crosscheck", str(mixed)],
        ["export", str(mixed), "--format", "lp"],
        ["opt", str(mixed), "--formulation", "rigid"],
        ["opt", str(mixed), "--backend", "cbc"],
        ["export", str(file), "--format", "lp", "--formulation", "tight"],
        ["opt", str(file), "--formulation", "tight"],
        ["opt", str(file), "--formulation", "rigid", "--backend", "cpsat"],
        ["simulate", str(file), "--algorithm", "titan"],
    ):
        assert main(arguments) == 2, arguments
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
    assert ratiobench.opt(str(file)).lower == 20


def small_day() -> Instance:
    """120 tasks, some of them gangs, on five nodes of two types."""
    draw = np.random.default_rng(7)
    tasks = []
    for arrival in sorted(draw.integers(1, 60, 120).tolist()):
        length, gang = int(draw.integers(2, 9)), bool(draw.integers(0, 4) == 0)
        rate = int(draw.choice([1, 2, 3, 4]))
        task = {
            "run": "rigid", "arrival": arrival, "deadline": min(72, arrival + 3 * length), "rate": [rate, rate],
            "work": length * rate, "bid": int(draw.integers(5, 40)) * length * rate, "memory_mb": 1,
        }  # fmt: skip
        tasks.append(task | ({"run": "gang", "nodes": 2, "work": 2 * length * rate} if gang else {}))
    return made(*tasks, slots=72, counts=(3, 2))


def test_the_search_of_a_small_day_gets_beyond_its_lists() -> None:
    """All its blocks together are fewer than those of a turn of a large day, and it has several turns."""
    instance = small_day()
    found = runs.find_runs(instance)
    order = run_search.order_tasks(found, runs.find_prices(found, 0.0, 200, lambda: False))
    lists = run_search.list_schedule(found, order, [np.argsort(-order.rank[0], kind="stable")], (0.0, 1.0))
    best, blocks = run_search.search(found, order, lists, 1, 2**62, lambda: False)
    assert blocks == run_search.BLOCKS_PER_TASK * 120 < run_search.FIRST_BLOCKS * run_search.PARTS
    assert best.welfare[0] > 1.01 * lists.welfare[0]
    report = check(instance, run_search.solution_of_runs(instance, found, best))
    assert (report.valid, report.welfare) == (True, best.welfare[0])


def pooled_relaxation(r: runs.Runs) -> float:
    """The optimum of the linear programme of starts over pooled types, by HiGHS, micro-dollars."""
    slots, kinds, nodes = r.sums.shape[1] - 1, len(r.compute), np.diff(r.first_node)
    limits = [float(nodes[g] * amounts[g]) for amounts in (r.compute, r.capacity_mb) for g in range(kinds)]
    high = np.concatenate([np.ones(len(r.task)), np.repeat(limits, slots)])
    rows: list[list[tuple[int, float]]] = [[] for _ in high]
    nets: list[float] = []
    for i in range(len(r.task)):
        for e in range(int(r.entry_start[i]), int(r.entry_start[i + 1])):
            for start in range(int(r.low[e]), int(r.high[e]) + 1):
                at = len(r.task) + int(r.kind[e]) * slots + np.arange(start, start + int(r.length[e]))
                rows[i].append((len(nets), 1.0))
                for row in at.tolist():
                    rows[row].append((len(nets), float(r.parts[i] * r.rate[e])))
                    rows[row + kinds * slots].append((len(nets), float(r.parts[i] * r.memory[i])))
                cost = r.factor[e] * (r.sums[r.row[e], start + r.length[e]] - r.sums[r.row[e], start])
                nets.append(float(r.bid[i] - r.price[e] - r.parts[i] * cost))
    size = len(nets)
    entries = [entry for row in rows for entry in row]
    model = LinearModel(
        name="pooled", objective=np.array(nets), lower=np.zeros(size), upper=np.ones(size),
        integer=np.zeros(size, dtype=bool), row_start=np.cumsum([0, *map(len, rows)]),
        index=np.array([column for column, _ in entries]), value=np.array([value for _, value in entries]),
        row_lower=np.full(len(rows), -np.inf), row_upper=high, columns=[f"x{c}" for c in range(size)],
        rows=[f"r{c}" for c in range(len(rows))],
    )  # fmt: skip
    result = backends.solve("highs", model)
    assert result.bound is not None
    return float(result.bound)


def test_prices_are_close_to_those_of_the_linear_programme() -> None:
    """No dual value is below its optimum, and that of the prices found is hardly above it."""
    found = runs.find_runs(small_day())
    optimum = pooled_relaxation(found)
    prices = runs.find_prices(found, 0.0, runs.ROUNDS, lambda: False)
    assert (1 - 1e-9) * optimum <= prices.value <= 1.002 * optimum


def test_tasks_without_nodes_go_first_in_the_next_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool packed again and again keeps more of its welfare than the first orders alone keep."""
    found = runs.find_runs(small_day())
    order = run_search.order_tasks(found, runs.find_prices(found, 0.0, 200, lambda: False))
    by_rank = np.argsort(-order.rank[0], kind="stable")
    listed = run_search.list_schedule(found, order, [by_rank], (0.0, 1.0))
    work = run_search.Search(found, order, listed, lambda: False, 2**62, 10**6)
    pool = work._anneal(run_search.keep(run_search.restore(found, order, listed, True)), 5_000, 0.03, True)
    packed = run_search.pack(found, order, pool)
    monkeypatch.setattr(run_search, "REPACKINGS", 0)
    first = run_search.pack(found, order, pool)
    assert first.welfare[0] < packed.welfare[0]
    report = check(small_day(), run_search.solution_of_runs(small_day(), found, packed))
    assert (report.valid, report.welfare) == (True, packed.welfare[0])
