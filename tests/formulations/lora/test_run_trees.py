"""Trees of decisions about rigid tasks and gangs: the checker against brute force and a slow evaluation; forgeries."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.lora import certificate as certificates
from ratiobench.formulations.lora import verify as checker
from ratiobench.formulations.lora.certificate import CellPrice, Certificate, ClassPrice, Node, Prices, parse
from ratiobench.formulations.lora.models.enumerate import Schedule, enumerate_optimum, list_schedules
from ratiobench.formulations.lora.verify import dual_bound, tell_sum, tree_bound, verify
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.format import FORMAT_2, content_hash
from ratiobench.instances.lora.format import document as instance_document
from ratiobench.instances.lora.format import parse as parse_instance
from ratiobench.instances.lora.model import Instance
from tests.support.certificates import Document, TreePath, classes_of, paths, patterns, refused, resealed
from tests.support.samples import of_sample, samples

RIGID, GANG = 2, 3


def draw_instance(words: Stream, kinds: tuple[str, ...] = ("rigid", "gang")) -> Instance:
    """A tiny instance of tasks of these kinds: offers, limits, negative costs, jobs from before on some of them."""
    slots, types = words.integer(3, 5), words.integer(1, 2)
    nodes = [
        {"name": f"g{g}", "count": words.integer(1, 2), "compute": words.integer(3, 6),
         "memory_mb": words.integer(3, 7),
         "tariff": words.integers(-1 if words.integer(1, 4) == 1 else 0, 3, slots).tolist()}
        for g in range(types)
    ]  # fmt: skip
    total = sum(node["count"] for node in nodes)
    tasks = []
    for arrival in sorted(words.integers(1, slots - 1, words.integer(2, 4)).tolist()):
        kind = kinds[words.integer(0, len(kinds) - 1)]
        kind = "rigid" if kind == "gang" and total == 1 else kind
        parts = words.integer(2, total) if kind == "gang" else 1
        task = {
            "arrival": arrival, "deadline": max(words.integers(arrival, slots, 2).tolist()),
            "memory_mb": words.integer(1, 3), "work": words.integer(1, 5 * parts), "bid": words.integer(5, 60),
            "run": kind, "rate": words.integers(0, 4, types).tolist(),
            "energy_wh": words.integers(0, 2, types).tolist(),
            "vendors": [{"price": words.integer(0, 8), "delay": words.integer(0, 1)}
                        for _ in range(words.integer(0, 2))],
        }  # fmt: skip
        if kind == "gang":
            task["nodes"] = parts
        if words.integer(1, 8) == 1:
            task["limit"] = words.integer(1, 8)
        tasks.append(task)
    data: Document = {
        "format": FORMAT_2, "name": "tiny", "slots": slots, "slot_seconds": 600, "base_memory_mb": 1,
        "node_types": nodes, "tasks": tasks,
    }  # fmt: skip
    if words.integer(1, 4) == 1:
        last = words.integer(1, slots)
        data["running"] = [{"nodes": [0], "compute": 1, "memory_mb": 1, "last": last, "planned": last}]
    return parse_instance(data)


def draw_prices(words: Stream, instance: Instance, unit: int) -> Prices:
    """Prices of the size of bids; those of memory and classes are 0 in some tables."""
    types, slots = len(instance.node_types), instance.slots

    def row(top: int) -> tuple[int, ...]:
        return tuple(words.integers(0, top * unit, slots).tolist())

    tops = [words.integer(0, 6), words.integer(0, 2) * words.integer(0, 2), words.integer(0, 2) * words.integer(0, 4)]
    listed = [each for each in classes_of(instance) if tops[2] and words.integer(0, 2)]
    return Prices(
        tuple(row(tops[0]) for _ in range(types)),
        tuple(row(tops[1]) for _ in range(types)),
        tuple(ClassPrice(*each, row(tops[2])) for each in listed),
    )


def draw_tree(words: Stream, instance: Instance, tables: int, path: tuple[Node, ...] = ()) -> tuple[Node, ...]:
    """A tree of decisions about rigid tasks and gangs in preorder, four levels deep at most."""
    tasks = [i for i in range(instance.tasks) if instance.run[i] in (RIGID, GANG)]
    if len(path) == 4 or not tasks or words.integer(0, 4) == 0:
        return (words.integer(0, tables - 1),)
    i = tasks[words.integer(0, len(tasks) - 1)]
    choices: list[tuple[int, ...]] = [
        (i,),
        (i, words.integer(1, instance.slots)),
        (i, words.integer(0, len(instance.node_types) - 1), 0),
    ]
    node = choices[words.integer(0, 2)]
    if node in path:
        return (words.integer(0, tables - 1),)
    below = (draw_tree(words, instance, tables, (*path, node)) for _ in range(2))
    return (node, *(each for side in below for each in side))


def fitting_schedules(instance: Instance) -> list[list[Schedule]]:
    """Of each task the schedules whose cells fit on empty nodes."""
    kinds = [node for node in instance.node_types for _ in range(node.count)]
    types = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    found = []
    for i in range(instance.tasks):
        memory = int(instance.memory_mb[i])
        found.append(
            [
                each for each in list_schedules(instance, instance.task(i))
                if all(instance.rate[i, types[k]] <= kinds[k].compute
                       and memory <= kinds[k].memory_mb - instance.base_memory_mb for k, _ in each.decision.cells)
            ]
        )  # fmt: skip
    return found


def is_so(node: tuple[int, ...], decision: Any, types: list[int]) -> bool:
    """On which side of a node a task lies that has this schedule, or none."""
    if decision is None:
        return False
    if len(node) == 1:
        return True
    if len(node) == 2:
        return min(slot for _, slot in decision.cells) > node[1]
    return types[decision.cells[0][0]] == node[1]


def leaf_bound(instance: Instance, menu: list[list[Schedule]], unit: int, prices: Prices, path: TreePath) -> int:
    """The bound of a leaf in 1/unit micro-dollars, from lists of schedules and patterns; 0 for an empty one."""
    types = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    room = [node.memory_mb - instance.base_memory_mb for node in instance.node_types]
    pi = {each[:3]: each.price for each in prices.classes}
    total, nothing = 0, (0,) * instance.slots
    present: dict[tuple[int, int, int, int], int] = {}
    for i, schedules in enumerate(menu):
        mine = [(node, side) for node, side in path if node[0] == i]
        memory, worth = int(instance.memory_mb[i]), []
        if all(is_so(node, None, types) == side for node, side in mine):
            worth.append(0)
        for value, decision in schedules:
            if all(is_so(node, decision, types) == side for node, side in mine):
                cells = [(types[k], t - 1, int(instance.rate[i, types[k]])) for k, t in decision.cells]
                paid = sum(
                    prices.lam[g][t] * s + prices.phi[g][t] * memory + pi.get((g, s, memory), nothing)[t]
                    for g, t, s in cells
                )
                worth.append(unit * value - paid)
        if not worth:
            return 0
        total += max(worth)
        if schedules and ((i,), False) not in mine:
            first = min(option.first for option in instance.task(i).options)
            for g, node in enumerate(instance.node_types):
                rate = int(instance.rate[i, g])
                usable = 0 < rate <= node.compute and memory <= room[g] and instance.parts[i] <= node.count
                if usable and ((i, g, 0), False) not in mine:
                    for t in range(first - 1, int(instance.deadline[i])):
                        key = g, rate, memory, t
                        present[key] = present.get(key, 0) + 1
    for g, node in enumerate(instance.node_types):
        here = [each for each in prices.classes if each.kind == g]
        fitting = patterns([(each.rate, each.memory_mb) for each in here], node.compute, room[g])
        for t in range(instance.slots):
            most = [present.get((*each[:3], t), 0) for each in here]
            best = max(
                sum(min(n, m) * each.price[t] for n, m, each in zip(count, most, here, strict=True))
                for count in fitting
            )
            total += node.count * (node.compute * prices.lam[g][t] + room[g] * prices.phi[g][t] + best)
    for job in instance.running:
        for g in (types[k] for k in job.nodes):
            total -= sum(job.compute * prices.lam[g][t] + job.memory_mb * prices.phi[g][t] for t in range(job.last))
    return total


def scaled(prices: Prices, factor: int) -> Prices:
    """The same prices in a unit that is so many times finer."""

    def rows(table: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(factor * price for price in row) for row in table)

    classes = tuple(each._replace(price=rows((each.price,))[0]) for each in prices.classes)
    return Prices(rows(prices.lam), rows(prices.phi), classes)


@pytest.mark.parametrize("part", range(4))
def test_a_tree_proves_the_largest_of_its_leaves_and_no_less_than_opt(part: int) -> None:
    """On random instances, three trees each; in 64 bits and in Python's integers."""
    above = 0
    for number in range(samples(80)):
        words = Stream("run trees", part, number)
        kinds = ("rigid", "gang") if part < 3 else ("rigid", "gang", "any", "one-node")
        instance = draw_instance(words, kinds)
        optimum, _ = enumerate_optimum(instance)
        menu = fitting_schedules(instance)
        for _ in range(3):
            unit = 2 ** words.integer(0, 6)
            tables = tuple(draw_prices(words, instance, unit) for _ in range(words.integer(1, 3)))
            tree = draw_tree(words, instance, len(tables))
            leaves = [leaf_bound(instance, menu, unit, tables[j], path) // unit for j, path in paths(tree)]
            found = tree_bound(instance, unit, tables, tree, runs=True)
            assert found == max(0, *leaves)
            assert found >= optimum
            large = tuple(scaled(prices, 2**59 // unit) for prices in tables)
            assert tree_bound(instance, 2**59, large, tree, runs=True) == found
            above += len(leaves) > 1 and found > optimum
    assert above > of_sample(50, 80)


def test_a_tree_without_decisions_proves_what_prices_alone_prove() -> None:
    """The list of all runs against one task after the other, where no price of a class counts tasks."""
    for number in range(samples(100)):
        words = Stream("run trees", "one leaf", number)
        instance = draw_instance(words, ("rigid", "gang", "any", "one-node"))
        prices = draw_prices(words, instance, 8)
        plain = prices._replace(classes=())
        assert tree_bound(instance, 8, (plain,), (0,), runs=True) == dual_bound(instance, 8, *plain[:3])
        found = tree_bound(instance, 8, (plain, prices), (1,), runs=True)
        assert found <= dual_bound(instance, 8, *prices[:3])
        proof = Certificate(
            content_hash(instance), 8, *plain[:3], found, 0, (None,) * instance.tasks, (prices,), (1,), runs=True
        )
        told = tell_sum(instance, certificates.document(proof))
        assert told == f"in numbers: {found} is the largest bound of 1 branch"


def crowded(**fields: Any) -> Instance:
    """Two rigid tasks, a gang and a task that may pause, on three nodes of two types that hold two tasks each."""
    usual = {
        "arrival": 1, "deadline": 4, "memory_mb": 1, "work": 4, "bid": 20, "rate": [2, 1], "energy_wh": [1, 2],
        "vendors": [], "run": "rigid",
    }  # fmt: skip
    tasks: list[Document] = [{}, {"bid": 30, "deadline": 3}, {"run": "gang", "nodes": 2, "work": 8}, {"run": "any"}]
    node = {"compute": 2, "memory_mb": 3, "tariff": [1, 1, 2, 3]}
    data: Document = {
        "format": FORMAT_2, "name": "crowded", "slots": 4, "slot_seconds": 600, "base_memory_mb": 1,
        "node_types": [node | {"name": "a", "count": 2}, node | {"name": "b", "count": 1}],
        "tasks": [usual | task for task in tasks],
    }  # fmt: skip
    return parse_instance(data | fields)


TREE: tuple[Node, ...] = ((1, 1), (0, 0, 0), 0, 1, (2,), 2, (0, 2), 0, 1)


def proof_of(instance: Instance, tree: tuple[Node, ...] = TREE) -> Certificate:
    """A certificate with this tree, three tables of prices and the best schedule."""
    words = Stream("run trees", "crowded")
    lower, solution = enumerate_optimum(instance)
    tables = [draw_prices(words, instance, 4) for _ in range(3)]
    tables[0] = tables[0]._replace(classes=(ClassPrice(0, 2, 1, (3, 1, 4, 1)),))
    tables = [
        tables[0],
        *(each._replace(lam=tuple(tuple(1 + p for p in row) for row in each.lam)) for each in tables[1:]),
    ]
    upper = tree_bound(instance, 4, tuple(tables), tree, runs=True)
    return Certificate(
        content_hash(instance), 4, *tables[0][:3], upper, lower, solution, more=tuple(tables[1:]), tree=tree, runs=True
    )


def test_a_file_is_read_back_as_it_was_written() -> None:
    """Format `/5`, without a field of cells; its content says which kind of decisions there are."""
    instance = crowded()
    proof = proof_of(instance)
    document = certificates.document(proof)
    assert document["format"] == certificates.RUN_FORMAT == "ratiobench/lora-certificate/5"
    assert "cells" not in document
    assert parse(json.loads(json.dumps(document))) == (proof, document["sha256"])
    assert verify(instance, document) == (True, "", proof)
    assert replace(proof, runs=False).format == certificates.CELL_FORMAT
    with pytest.raises(ValueError, match="has a tree, and no prices of single cells"):
        replace(proof, cells=(CellPrice(0, 0, 1, (1,)),))
    with pytest.raises(ValueError, match="has a tree"):
        replace(proof, tree=())


def worst_leaf(instance: Instance, proof: Certificate) -> tuple[int, TreePath]:
    """Table and decisions of the leaf whose bound is the upper end."""
    menu = fitting_schedules(instance)
    return max(
        paths(proof.tree), key=lambda leaf: leaf_bound(instance, menu, proof.unit, proof.tables[leaf[0]], leaf[1])
    )


def test_a_changed_certificate_is_refused() -> None:
    """As it stands, and sealed anew: prices of the worst leaf, leaves, decisions, formats and prices of cells."""
    instance = crowded()
    proof = proof_of(instance)
    document = certificates.document(proof)
    assert verify(instance, document).valid
    table, _ = worst_leaf(instance, proof)

    def forged(**fields: Any) -> str:
        assert refused(instance, document | fields)
        return verify(instance, resealed(document | fields)).problem

    for part in ("lam", "phi"):
        changed = copy.deepcopy(document)
        (changed["more"][table - 1] if table else changed)[part][0][0] += 10_000
        assert refused(instance, changed)
        assert verify(instance, resealed(changed)).problem.startswith("upper: ")
        (changed["more"][table - 1] if table else changed)[part][0][0] = -1
        assert verify(instance, resealed(changed)).problem.endswith(f"{part}[0][0]: -1 is negative")
    tree = document["tree"]
    assert forged(tree=tree[:-1]) == "tree: 1 branches have no leaf"
    assert forged(tree=[*tree, 0]) == f"tree[{len(tree)}]: there is no branch left for it"
    assert forged(tree=[*tree[:-1], 3]) == f"tree[{len(tree) - 1}]: there is no table 3"
    assert forged(upper=proof.upper - 1).startswith("upper: ")
    assert forged(lower=proof.lower + 1).startswith("lower: ")
    other = {
        "format": certificates.CELL_FORMAT,
        "cells": [],
        "more": [each | {"cells": []} for each in document["more"]],
    }
    assert forged(**other) == "tree: decisions are about tasks that may have any schedule"
    assert refused(instance, document | {"format": certificates.CELL_FORMAT})
    assert refused(instance, document | {"format": certificates.TREE_FORMAT})
    with pytest.raises(InputError, match="cells: unknown field"):
        verify(instance, document | {"cells": []})
    with pytest.raises(InputError, match=r"more\[0\]\.cells: unknown field"):
        verify(instance, document | {"more": [document["more"][0] | {"cells": []}, document["more"][1]]})
    with pytest.raises(InputError, match=r"tree\[0\]: .* is none of: a task; a task and a slot"):
        verify(instance, document | {"tree": [[0, 1, 0, 2], 0, 0]})


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ([[3], 0, 0], "tree[0]: task 3 is neither rigid nor a gang: any"),
        ([[3, 2], 0, 0], "tree[0]: task 3 is neither rigid nor a gang: any"),
        ([[3, 0, 0], 0, 0], "tree[0]: task 3 is neither rigid nor a gang: any"),
        ([[4], 0, 0], "tree[0]: there is no task or run [4]"),
        ([[0, 0], 0, 0], "tree[0]: there is no task or run [0, 0]"),
        ([[0, 5], 0, 0], "tree[0]: there is no task or run [0, 5]"),
        ([[0, 2, 0], 0, 0], "tree[0]: there is no task or run [0, 2, 0]"),
        ([[0, 1, 1], 0, 0], "tree[0]: there is no task or run [0, 1, 1]"),
        ([[0, 2], [0, 2], 0, 0, 0], "tree[1]: [0, 2] is decided twice"),
        ([[0, 1, 0], 0, [0, 1, 0], 0, 0], "tree[2]: [0, 1, 0] is decided twice"),
        ([[0], 0], "tree: 1 branches have no leaf"),
    ],
)
def test_what_is_no_tree_about_runs_is_named(tree: list[Any], problem: str) -> None:
    instance = crowded()
    document = certificates.document(proof_of(instance))
    found = verify(instance, resealed(document | {"tree": tree})).problem
    assert found.split(": tasks are")[0] == problem


def test_no_change_passes_unless_it_proves_the_same() -> None:
    """Numbers of trees and prices of drawn certificates, changed and sealed anew, against the slow evaluation."""
    passed = 0
    for number in range(samples(150)):
        words = Stream("run trees", "changed", number)
        instance = draw_instance(words)
        optimum, solution = enumerate_optimum(instance)
        tables = tuple(draw_prices(words, instance, 2) for _ in range(2))
        tree = draw_tree(words, instance, 2)
        upper = tree_bound(instance, 2, tables, tree, runs=True)
        proof = Certificate(
            content_hash(instance), 2, *tables[0][:3], upper, optimum, solution, more=tables[1:], tree=tree, runs=True
        )
        document = certificates.document(proof)
        assert verify(instance, document).valid
        changed = copy.deepcopy(document)
        at = words.integer(0, len(tree) - 1)
        if words.integer(0, 3) == 0:
            changed["tree"].pop(at)
        elif isinstance(changed["tree"][at], list):
            changed["tree"][at][-1] += words.integer(0, 1) * 2 - 1
        else:
            row = (changed["more"][0] if words.integer(0, 1) else changed)["lam"][0]
            row[words.integer(0, len(row) - 1)] += words.integer(0, 40) - 4
        if changed == document:
            continue
        assert refused(instance, changed)
        try:
            said, _ = parse(resealed(changed))
        except InputError:
            continue
        if verify(instance, resealed(changed)).valid:
            passed += 1
            menu = fitting_schedules(instance)
            worth = [leaf_bound(instance, menu, 2, said.tables[j], path) // 2 for j, path in paths(said.tree)]
            assert max(0, *worth) == upper >= optimum
    assert passed < 75


def test_decisions_about_runs_and_about_cells_are_not_exchanged() -> None:
    """A tree of one kind is refused where the other kind is claimed; prices of cells are refused, too."""
    instance = crowded()
    proof = proof_of(instance)
    with pytest.raises(CertificateError, match="may have any schedule"):
        tree_bound(instance, 4, proof.tables, (0,))
    celled = proof.tables[1]._replace(cells=(CellPrice(0, 0, 1, (1,)),))
    with pytest.raises(CertificateError, match=r"more\[0\].cells: a tree about runs has no prices of single cells"):
        tree_bound(instance, 4, (proof.tables[0], celled), (0,), runs=True)
    data = instance_document(instance)
    movable = parse_instance(data | {"tasks": [task | {"run": "any"} for task in data["tasks"] if "nodes" not in task]})
    with pytest.raises(CertificateError, match="task 0 is neither rigid nor a gang: any"):
        tree_bound(movable, 4, proof.tables, ((0, 1), 0, 0), runs=True)


def test_the_steps_of_a_tree_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of every leaf take from the same account, and there is a largest number of runs."""
    instance = crowded()
    document = certificates.document(proof_of(instance))
    monkeypatch.setattr(checker, "STEPS_PER_TASK", 0)
    with monkeypatch.context() as lowered:
        lowered.setattr(checker, "STEPS_LIMIT", 5_000)
        assert verify(instance, document).problem.endswith("too many to check")
    with monkeypatch.context() as dearer:
        dearer.setattr(checker, "DECISION", 10**9)
        assert verify(instance, document).problem.startswith("tree: ")
        assert verify(instance, certificates.document(proof_of(instance, (0,)))).valid
    monkeypatch.setattr(checker, "RUNS_LIMIT", 3)
    assert verify(instance, document).problem == "task 0: more than 3 runs, too many to check"


def test_the_command_checks_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = crowded()
    file, proof, bad = tmp_path / "crowded.json", tmp_path / "crowded.cert", tmp_path / "bad.json"
    file.write_text(json.dumps(instance_document(instance)))
    found = proof_of(instance)
    certificates.write(found, proof)
    assert certificates.read(proof)[0] == found
    assert main(["check", str(file), "--certificate", str(proof), "--explain"]) == 0
    assert capsys.readouterr().out.startswith("valid")
    document = certificates.document(found)
    bad.write_text(json.dumps(document | {"tree": [[1, 2], *document["tree"][1:]]}))
    assert main(["check", str(file), "--certificate", str(bad)]) == 1
    assert capsys.readouterr().out.startswith("NOT VALID\n")
