"""Certificates that branch: the checker against lists of all schedules and patterns, and forgeries of trees."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.lora import certificate as certificates
from ratiobench.formulations.lora import solve as solving
from ratiobench.formulations.lora import verify as checker
from ratiobench.formulations.lora.bound.pricing import places, pool
from ratiobench.formulations.lora.bound.task_prices import (
    NEVER,
    best_set,
    descend,
    find_slots,
    new_scratch,
    no_decisions,
    table_size,
    through,
)
from ratiobench.formulations.lora.certificate import CellPrice, Certificate, ClassPrice, Node, Prices, parse
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum, list_schedules
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import tree_bound, verify
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named
from tests.support.certificates import (
    Document,
    TreePath,
    claimed,
    instances,
    paths,
    patterns,
    proofs,
    refused,
    resealed,
)
from tests.support.samples import of_sample, samples


def leaf_by_enumeration(instance: Instance, unit: int, prices: Prices, path: TreePath) -> int:
    """The bound of a leaf from the lists of all schedules and all patterns, in Python integers."""
    kinds = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    room = [node.memory_mb - instance.base_memory_mb for node in instance.node_types]
    said = dict(path)
    pi = {each[:3]: each.price for each in prices.classes}
    single = {
        (each.task, each.kind, each.first + j): price for each in prices.cells for j, price in enumerate(each.price)
    }
    total = 0
    paying: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    present: dict[tuple[int, int, int, int], int] = {}
    for i in range(instance.tasks):
        r = int(instance.memory_mb[i])
        best = None
        task = instance.task(i)
        served = False
        for value, decision in list_schedules(instance, instance.task(i)):
            cells = {(kinds[node], slot): int(instance.rate[i, kinds[node]]) for node, slot in decision.cells}
            if any(s > instance.node_types[g].compute or r > room[g] for (g, _), s in cells.items()):
                continue
            served = True
            option = task.options[decision.vendor or 0]
            of_what = {
                2: lambda what, begin=option.first: begin > what[1],
                3: lambda what, cells=cells: what[1:] in cells,
                4: lambda what, cells=cells: sum(g == what[1] for g, _ in cells) > what[3],
            }
            if not all(side == of_what[len(what)](what) for what, side in path if what[0] == i and what[1:]):
                continue
            paid = sum(
                prices.lam[g][t - 1] * s
                + prices.phi[g][t - 1] * r
                + (pi[g, s, r][t - 1] if (g, s, r) in pi else 0)
                + single.get((i, g, t), 0)
                for (g, t), s in cells.items()
            )
            best = max(unit * value - paid, unit * value - paid if best is None else best)
        admitted = said.get((i,), False) or any(side for what, side in path if what[0] == i and what[1:])
        if not said.get((i,), True):
            if admitted:
                return 0
            continue
        if admitted and best is None:
            return 0
        if best is not None:
            total += best if admitted else max(0, best)
        if not served:
            continue
        for g, node in enumerate(instance.node_types):
            usable = 0 < instance.rate[i, g] <= node.compute and r <= room[g]
            for t in range(min(option.first for option in task.options), task.deadline + 1):
                if usable and said.get((i, g, t), True):
                    key = g, int(instance.rate[i, g]), r, t - 1
                    present[key] = present.get(key, 0) + 1
                    s = int(instance.rate[i, g])
                    price = single.get((i, g, t), 0) + (pi[g, s, r][t - 1] if (g, s, r) in pi else 0)
                    paying.setdefault((g, t), []).append((price, s, r))
    for g, node in enumerate(instance.node_types):
        if any(each.kind == g for each in prices.cells):
            for t in range(1, instance.slots + 1):
                here = paying.get((g, t), [])
                sets = [chosen for n in range(len(here) + 1) for chosen in combinations(here, n)]
                worth = max(
                    sum(price for price, _, _ in chosen)
                    for chosen in sets
                    if sum(s for _, s, _ in chosen) <= node.compute and sum(r for _, _, r in chosen) <= room[g]
                )
                linear = node.compute * prices.lam[g][t - 1] + room[g] * prices.phi[g][t - 1]
                total += node.count * (linear + worth)
            continue
        here = [each for each in prices.classes if each.kind == g]
        fitting = patterns([(each.rate, each.memory_mb) for each in here], node.compute, room[g])
        for t in range(instance.slots):
            most = [present.get((*each[:3], t), 0) for each in here]
            worth = max(
                sum(min(n, m) * each.price[t] for n, m, each in zip(count, most, here, strict=True))
                for count in fitting
            )
            total += node.count * (node.compute * prices.lam[g][t] + room[g] * prices.phi[g][t] + worth)
    return total // unit


@st.composite
def trees(draw: st.DrawFn, instance: Instance, tables: int, path: tuple[Node, ...] = ()) -> tuple[Node, ...]:
    """A tree of decisions in preorder, a few levels deep."""
    task = st.integers(0, instance.tasks - 1)
    cell = st.tuples(task, st.integers(0, len(instance.node_types) - 1), st.integers(1, instance.slots))
    if len(path) == 4 or draw(st.integers(0, 3)) == 0:
        return (draw(st.integers(0, tables - 1)),)
    begin = st.tuples(task, st.integers(1, instance.slots))
    number = st.tuples(task, st.integers(0, len(instance.node_types) - 1), st.just(0), st.integers(0, instance.slots))
    node = draw(st.tuples(task) | cell | begin | number)
    if node in path:
        return (draw(st.integers(0, tables - 1)),)
    sides = [draw(trees(instance, tables, (*path, node))) for _ in range(2)]
    return (node, *sides[0], *sides[1])


@st.composite
def branched(draw: st.DrawFn) -> tuple[Instance, Certificate]:
    """A tiny instance with a tree and one or two tables of prices."""
    instance, proof = draw(proofs())
    assume(instance.tasks)
    halved = Prices(
        tuple(tuple(price // 2 for price in row) for row in proof.lam), proof.phi, tuple(reversed(proof.classes))
    )
    more = draw(st.sampled_from([(), (halved,)]))
    tree = draw(trees(instance, 1 + len(more)))
    return instance, replace(proof, more=more, tree=tree, cells=draw(cell_prices(instance, proof)))


@st.composite
def cell_prices(draw: st.DrawFn, instance: Instance, proof: Certificate) -> tuple[CellPrice, ...]:
    """Prices of some tasks' cells on some types, of the size of the others; none at all a third of the times."""
    if draw(st.integers(0, 2)) == 0:
        return ()
    top = draw(st.sampled_from([3, 12])) * proof.unit
    found = []
    for i in range(instance.tasks):
        for g in range(len(instance.node_types)):
            if draw(st.booleans()):
                first = draw(st.integers(1, instance.slots))
                price = draw(st.lists(st.integers(0, top), min_size=1, max_size=instance.slots - first + 1))
                found.append(CellPrice(i, g, first, tuple(price)))
    return tuple(found)


@settings(max_examples=samples(80))
@given(branched())
def test_a_tree_proves_the_largest_of_its_leaves_and_no_less_than_opt(drawn: tuple[Instance, Certificate]) -> None:
    """Leaf by leaf against lists of all schedules and patterns; OPT lies below whatever the prices and decisions."""
    instance, proof = drawn
    found = tree_bound(instance, proof.unit, proof.tables, proof.tree)
    leaves = [leaf_by_enumeration(instance, proof.unit, proof.tables[j], path) for j, path in paths(proof.tree)]
    assert found == max(0, *leaves)
    assert found >= enumerate_optimum(instance)[0]


@pytest.mark.parametrize("name", ["tiny_contention", "tiny_two_types", "tiny_vendors"])
def test_prices_of_a_class_hold_for_tasks_without_prices_of_their_own(name: str) -> None:
    """From the first slot on, beside a type on which one task has some."""
    instance = replace(named(name), base_memory_mb=1)
    proof, _ = parse(claimed(instance))
    price = (2 * proof.unit,) * instance.slots
    kinds = {(0, int(instance.rate[i, 0]), int(instance.memory_mb[i])) for i in range(instance.tasks)}
    classes = tuple(ClassPrice(*each, price) for each in sorted(kinds) if each[1])
    table = proof.tables[0]._replace(classes=classes, cells=(CellPrice(0, 0, instance.slots, (proof.unit,)),))
    [(_, path)] = paths((0,))
    assert tree_bound(instance, proof.unit, (table,), (0,)) == leaf_by_enumeration(instance, proof.unit, table, path)


@settings(max_examples=samples(40))
@given(branched())
def test_a_tree_of_one_leaf_never_proves_less_than_prices_alone(drawn: tuple[Instance, Certificate]) -> None:
    """No pattern has more cells of a class than there are tasks for it: the bound of a leaf is at least as tight."""
    instance, proof = drawn
    single = tree_bound(instance, proof.unit, proof.tables, (0,))
    assert single <= checker.dual_bound(instance, proof.unit, *proof.tables[0][:3]) or proof.cells


def branching(instance: Instance, tree: tuple[Node, ...]) -> Document:
    """A certificate with this tree on the prices that are found, and the upper end that it proves."""
    proof, _ = parse(claimed(instance))
    proof = replace(proof, tree=tree)
    return certificates.document(replace(proof, upper=tree_bound(instance, proof.unit, proof.tables, tree)))


def test_a_checker_that_forgets_a_leaf_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of its leaves a tree 'proves' less than OPT on a crowded instance; the comparison above says so."""
    instance = named("tiny_contention")
    opt, solution = enumerate_optimum(instance)
    admitted = tuple(i for i, decision in enumerate(solution) if decision)
    tree: tuple[Node, ...] = (*((i,) for i in admitted), *[0] * (len(admitted) + 1))
    document = branching(instance, tuple(node for node in tree))
    assert verify(instance, document).valid
    proof, _ = parse(document)
    leaves = checker._leaves

    def forgetful(*arguments: Any) -> Iterator[Any]:
        found = list(leaves(*arguments))
        worth = [leaf_by_enumeration(instance, proof.unit, proof.tables[j], path) for j, path in paths(proof.tree)]
        yield from (leaf for leaf, value in zip(found, worth, strict=True) if value < max(worth))

    monkeypatch.setattr(checker, "_leaves", forgetful)
    assert tree_bound(instance, proof.unit, proof.tables, proof.tree) != proof.upper
    assert verify(instance, document).problem.startswith("upper: ")
    assert proof.upper >= opt


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ([[0], 0], "tree: 1 branches have no leaf"),
        ([0, 0], "tree[1]: there is no branch left for it"),
        ([[0], 0, 0, [1], 0, 0], "tree[3]: there is no branch left for it"),
        ([[0], [0], 0, 0, 0], "tree[1]: [0] is decided twice"),
        ([[0, 1, 2], 0, [0, 1, 2], 0, 0], "tree[2]: [0, 1, 2] is decided twice"),
        ([[99], 0, 0], "tree[0]: there is no task or cell [99]"),
        ([[0, 2, 1], 0, 0], "tree[0]: there is no task or cell [0, 2, 1]"),
        ([[0, 0, 0], 0, 0], "tree[0]: there is no task or cell [0, 0, 0]"),
        ([[0, 0, 99], 0, 0], "tree[0]: there is no task or cell [0, 0, 99]"),
        ([1], "tree[0]: there is no table 1"),
    ],
)
def test_what_is_no_tree_is_named(tree: list[Any], problem: str) -> None:
    """A branch without a leaf, a leaf without a branch, a decision made twice, and what does not exist."""
    instance = named("tiny_contention")
    document = branching(instance, (0,))
    assert verify(instance, document).valid
    found = verify(instance, resealed(document | {"tree": tree})).problem
    assert found.split(": tasks are")[0] == problem


@pytest.mark.parametrize("tree", [[], None, [[0, 1], 0, 0], [[], 0, 0], [-1], [1.0], [True], [[0.0], 0, 0], ["0"]])
def test_what_is_no_node_is_refused_with_its_place(tree: Any) -> None:
    with pytest.raises(InputError, match=r"tree"):
        parse(branching(named("tiny_contention"), (0,)) | {"tree": tree})


@settings(max_examples=samples(60))
@given(data=st.data())
def test_no_number_of_a_tree_can_be_changed_unseen(data: st.DataObject) -> None:
    """As it stands a changed file is refused; sealed anew it may pass only where it proves the same."""
    instance, proof = data.draw(branched())
    upper = tree_bound(instance, proof.unit, proof.tables, proof.tree)
    assume(upper < 2**62)
    document = certificates.document(replace(proof, upper=upper))
    assert verify(instance, document).valid
    changed = copy.deepcopy(document)
    at = data.draw(st.integers(0, len(changed["tree"]) - 1))
    action = data.draw(st.sampled_from(["drop", "repeat", "other", "leaf"]))
    if action == "drop":
        changed["tree"].pop(at)
    elif action == "repeat":
        changed["tree"].insert(at, changed["tree"][at])
    elif action == "leaf":
        changed["tree"][at] = 0
    else:
        changed["tree"][at] = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4) | st.integers(0, 2))
    assume(changed != document)
    assert refused(instance, changed)
    try:
        forged = resealed(changed)
        said, _ = parse(forged)
        valid = verify(instance, forged).valid
        leaves = paths(said.tree) if valid else []
    except (InputError, CertificateError):
        return
    if valid:
        worth = [leaf_by_enumeration(instance, said.unit, said.tables[j], path) for j, path in leaves]
        assert max(0, *worth) == upper >= enumerate_optimum(instance)[0]


def test_files_without_a_tree_are_written_as_before() -> None:
    """One table of prices stays `/2`, with its own fields; a tree makes it `/3`."""
    instance = named("tiny_contention")
    document = claimed(instance)
    alone = certificates.document(replace(parse(document)[0], more=(), tree=()))
    assert alone["format"] == certificates.FORMAT
    assert not {"more", "tree"} & set(alone)
    assert verify(instance, alone).valid
    tree = branching(instance, (0,))
    assert tree["format"] == certificates.TREE_FORMAT
    assert refused(instance, tree | {"format": certificates.FORMAT})
    assert refused(instance, alone | {"format": certificates.TREE_FORMAT})


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([{"task": 99, "type": 0, "first": 1, "price": [1]}], "cells[0].task: there is no task 99"),
        ([{"task": 0, "type": 9, "first": 1, "price": [1]}], "cells[0].type: there is no node type 9"),
        ([{"task": 0, "type": 0, "first": 1, "price": [1]}] * 2, "cells[1]: the task and type stand twice"),
        ([{"task": 0, "type": 0, "first": 1, "price": [0, -1]}], "cells[0].price[1]: -1 is negative"),
        (
            [{"task": 0, "type": 0, "first": 0, "price": [1]}],
            "cells[0].price: 1 slots from slot 0 are not in 1..{slots}",
        ),
        (
            [{"task": 0, "type": 0, "first": 1, "price": [0] * 99}],
            "cells[0].price: 99 slots from slot 1 are not in 1..{slots}",
        ),
    ],
)
def test_what_are_no_prices_of_cells_is_named(cells: list[Any], problem: str) -> None:
    """Tasks, types and slots that are not there, a pair that stands twice, a negative price."""
    instance = named("tiny_contention")
    proof = replace(parse(claimed(instance))[0], tree=(0,), cells=(CellPrice(0, 0, 1, (3,)),))
    proof = replace(proof, upper=tree_bound(instance, proof.unit, proof.tables, proof.tree))
    document = certificates.document(proof)
    assert document["format"] == certificates.CELL_FORMAT
    assert verify(instance, document).valid
    assert verify(instance, resealed(document | {"cells": cells})).problem == problem.format(slots=instance.slots)


def test_a_large_tree_is_refused_by_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaves take from the same account as tasks and classes."""
    instance = named("tiny_contention")
    document = branching(instance, ((0,), 0, (1,), 0, 0))
    monkeypatch.setattr(checker, "STEPS_PER_TASK", 0)
    monkeypatch.setattr(checker, "STEPS_LIMIT", 100)
    assert verify(instance, document).problem.endswith("too many to check")


def test_so_many_leaves_as_can_be_checked_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("tiny_contention")
    cells = tuple(CellPrice(i, 0, int(instance.arrival[i]), (7,)) for i in range(instance.tasks))
    nothing = ((0,) * instance.slots,) * len(instance.node_types)
    prices = Prices(nothing, nothing, (), cells)
    monkeypatch.setattr(checker, "STEPS_PER_TASK", 0)
    counts = {}
    for limit in (10**6, 2 * 10**6, 1):
        monkeypatch.setattr(checker, "STEPS_LIMIT", limit)
        counts[limit] = checker.count_affordable_tables(instance, 1, prices)
    assert counts[1] == 0
    assert counts[10**6] > 1
    assert counts[2 * 10**6] in (2 * counts[10**6], 2 * counts[10**6] + 1)


def test_a_tree_that_cannot_be_checked_leaves_the_prices_without_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate(
        {"kind": "paper", "name": "part", "seed": ["too large", 1], "nodes": {"a100": 1, "a40": 1}, "tasks": 18,
         "arrivals": {"poisson": 50}, "start": 60, "slots": 16, "quiet": 4, "sizes": "wide"}
    )  # fmt: skip
    whole = solve(instance, certified=True)
    assert isinstance(whole.certificate, Certificate)
    assert len(whole.certificate.tree) > 1

    def too_large(*given: Any) -> int:
        checker.require(len(given[3]) == 1, "too many to check")
        return tree_bound(*given)

    monkeypatch.setattr(solving, "tree_bound", too_large)
    report = solve(instance, certified=True)
    assert isinstance(report.certificate, Certificate)
    assert "branching: too many to check" in report.message
    assert report.certificate.tree == (0,)
    assert report.lower <= whole.upper <= report.upper
    assert verify(instance, certificates.document(report.certificate)).valid


@pytest.mark.parametrize("name", ["tiny_contention", "tiny_three_types", "tiny_tight_windows", "tiny_vendors"])
def test_small_instances_are_proved_by_branching(name: str) -> None:
    """Both ends are equal, in the report and in a certificate that the checker takes; the tree is the same again."""
    instance = named(name)
    report = solve(instance, certified=True)
    proof = report.certificate
    assert isinstance(proof, Certificate)
    assert proof.tree
    assert proof.lower == proof.upper == report.upper == enumerate_optimum(instance)[0]
    assert verify(instance, certificates.document(proof)).valid
    assert solve(instance, certified=True).certificate == proof


@settings(max_examples=samples(15))
@given(instances())
def test_whatever_the_tree_the_optimum_is_inside(instance: Instance) -> None:
    """Tiny instances of all kinds: negative costs, vendors, types that cannot be used."""
    report = solve(instance, certified=True)
    assert report.lower <= enumerate_optimum(instance)[0] <= report.upper
    if report.certificate is not None:
        assert verify(instance, certificates.document(report.certificate)).valid


@settings(max_examples=samples(60), deadline=None)
@given(instances(), st.booleans())
def test_small_instances_are_proved_both_ways(instance: Instance, certified: bool) -> None:
    """By prices of cells, programs and the tree, as instances are that are too large for a solver alone."""
    with mock.patch("ratiobench.formulations.lora.solve.TINY_COLUMNS", 0):
        report = solve(instance, certified=certified, seconds=None if certified else 60.0)
    assert report.lower == enumerate_optimum(instance)[0] == report.upper
    if report.certificate is not None:
        assert report.certificate.lower == report.certificate.upper
        assert verify(instance, certificates.document(report.certificate)).valid


def test_a_decision_on_the_begin_does_not_part_an_offer_from_a_better_one() -> None:
    """Pools leave out offers that are no better than an earlier one; the checker knows them, which must not count."""
    recipe = {
        "kind": "paper", "nodes": {"a100": 1, "a40": 1}, "tasks": 30, "slots": 12, "start": 50, "quiet": 2,
        "arrivals": {"poisson": 50}, "seed": ["begins", 11],
    }  # fmt: skip
    report = solve(generate(recipe), certified=True)
    assert report.certificate is not None
    assert any(isinstance(node, tuple) and len(node) == 2 for node in report.certificate.tree)
    assert report.certificate.upper == report.certificate.lower == 39_495


def test_the_best_set_of_tasks_on_a_node() -> None:
    """The checker's and the kernel's, against all subsets."""
    stream = Stream("tests", "best sets")
    for _ in range(samples(300)):
        n, compute, memory = stream.integer(0, 8), stream.integer(1, 12), stream.integer(1, 12)
        items = [(stream.integer(0, 30), stream.integer(1, 8), stream.integer(1, 8)) for _ in range(n)]
        items += items[:1] * 2
        best = max(
            sum(value for value, _, _ in chosen)
            for k in range(len(items) + 1)
            for chosen in combinations(items, k)
            if sum(rate for _, rate, _ in chosen) <= compute and sum(size for *_, size in chosen) <= memory
        )
        for unit in (1, 2**70):
            scaled = [(unit * value, *size) for value, *size in items]
            found = checker._best_set(scaled, compute, memory, checker.Steps(1))
            assert unit * best <= found <= unit * best * (1 if unit == 1 else 1 + Fraction(1, 2**30))
            assert checker._best_of_all_sets(scaled, compute, memory, checker.Steps(1)) == unit * best
        fitting = [each for each in items if each[1] <= compute and each[2] <= memory]
        if fitting:
            sizes = sorted({each[1:] for each in fitting})
            listed = checker._maximal_patterns(sizes, compute, memory, checker.Steps(1))
            for unit in (1, 2**70):
                scaled = [(unit * value, *size) for value, *size in fitting]
                assert checker._best_of_patterns(scaled, sizes, listed, checker.Steps(1)) == unit * best
        value, rate, size = np.array([*items, (0, 1, 1)]).T
        mine, weighing = np.zeros(len(items) + 1, np.int64), np.full(1, -1)
        arguments = value.astype(np.float64), np.ascontiguousarray(rate), np.ascontiguousarray(size), len(items)
        for _ in range(2):  # the second time from the set and the weights of the first
            assert best_set(*arguments, np.int64(compute), np.int64(memory), mine, weighing) == best
            assert value[:-1][mine[:-1] == 1].sum() == best
            fits = rate[mine == 1].sum() <= compute and size[mine == 1].sum() <= memory
            assert fits


def test_the_best_set_of_many_tasks_on_a_node() -> None:
    """The checker's against the kernel's: 40 tasks of .1 to .4 of a node, also of equal sizes or values."""
    stream = Stream("tests", "best sets of many")
    for k in range(samples(60)):
        compute, memory = 10**3, 10**5
        grain = (1, 50)[k % 2]
        items = [
            (stream.integer(1, 10**6) * (k % 3 > 0) + 10**6, stream.integer(100, 400) // grain * grain,
             stream.integer(100, 400) // grain * grain * 100)
            for _ in range(40)
        ]  # fmt: skip
        value, rate, size = (np.array(column) for column in zip(*items, strict=True))
        known = np.zeros(40, np.int64), np.full(1, -1)
        kernel = best_set(value.astype(np.float64), rate, size, 40, np.int64(compute), np.int64(memory), *known)
        found = checker._best_set(items, compute, memory, checker.Steps(1))
        for unit in (1, 2**50):
            scaled = [(unit * each, *sizes) for each, *sizes in items]
            more = checker._best_set(scaled, compute, memory, checker.Steps(1))
            assert unit * found <= more <= unit * found * (1 if unit == 1 else 1 + Fraction(1, 2**30))
        assert found == kernel


def test_values_that_are_rounded_up_never_claim_too_little() -> None:
    """Values of 62 to 75 bits, which differ in the bits that are left out, against all subsets."""
    stream = Stream("tests", "large values")
    above = 0
    for _ in range(samples(300)):
        compute, memory = stream.integer(5, 20), stream.integer(5, 20)
        large = 2 ** stream.integer(60, 70)
        items = [
            (large * stream.integer(1, 30) + stream.integer(-9, 9), stream.integer(1, 8), stream.integer(1, 8))
            for _ in range(9)
        ]
        best = checker._best_of_all_sets(items, compute, memory, checker.Steps(1))
        found = checker._best_set(items, compute, memory, checker.Steps(1))
        assert best <= found <= best * (1 + Fraction(1, 2**30))
        above += found > best
    assert above > of_sample(100, 300)


def test_what_nodes_earn_at_prices_of_cells_is_what_their_best_sets_earn() -> None:
    """In every slot, against the list of all sets; also where tasks are out."""
    stream = Stream("tests", "node values")
    seen = 0
    for n in range(10):
        nodes = stream.integer(1, 2)
        sizes = ("profiles", "wide")[n % 2]
        recipe = {
            "kind": "paper",
            "seed": n,
            "nodes": {"a100": nodes, "a40": 1},
            "tasks": 9,
            "slots": 6,
            "sizes": sizes,
        }
        instance = generate(recipe | {"data": [500, 3000]})
        p = pool(instance, spare=1)
        if p.tasks == 0:
            continue
        s, w, d = find_slots(p), new_scratch(p, find_slots(p)), no_decisions(p)
        d.out[stream.integer(0, p.tasks - 1)] = stream.integer(0, 1)
        for _ in range(3):
            price = np.array(stream.integers(0, 50, p.kind.size * instance.slots), np.float64).reshape(len(p.kind), -1)
            state, direction = np.array([np.inf, 1.0, 0.0]), np.zeros(len(s.entry))
            gain = np.empty(p.tasks)
            descend(p, s, d, price, 1e9, places(p), w, 0.0, state, direction, 1, price.copy(), gain)
            for j, (g, t) in enumerate(zip(s.kind.tolist(), s.slot.tolist(), strict=True)):
                here = [e for e in s.entry[s.start[j] : s.start[j + 1]].tolist() if not d.out[s.owner[e]]]
                best = max(
                    sum(float(price[e, t]) for e in chosen)
                    for k in range(len(here) + 1)
                    for chosen in combinations(here, k)
                    if sum(p.rate[e] for e in chosen) <= p.compute[g]
                    and sum(p.memory[s.owner[e]] for e in chosen) <= p.capacity_mb[g]
                )
                assert w.worth[j] == best
                seen += best > 0
    assert seen > 100


@pytest.mark.parametrize("sets", [0, 1, 3])
def test_a_search_for_a_set_that_ends_early_never_claims_too_little(sets: int) -> None:
    """An open part counts as what it can be worth at most; with so few sets that is more than the best at times."""
    stream = Stream("tests", "sets that end early")
    above = 0
    for _ in range(samples(300)):
        compute, memory = stream.integer(5, 20), stream.integer(5, 20)
        items = [(stream.integer(1, 30), stream.integer(1, 8), stream.integer(1, 8)) for _ in range(9)]
        best = checker._best_set(items, compute, memory, checker.Steps(1))
        with mock.patch.object(checker, "SETS", sets):
            found = checker._best_set(items, compute, memory, checker.Steps(1))
        assert best <= found <= sum(value for value, *_ in items)
        above += found > best
    assert above > of_sample(10, 300)


def test_what_a_task_gains_through_a_cell_is_that_of_its_best_schedule_with_it() -> None:
    """Against the list of all schedules, minimal or not, at random prices; with and without a cell that is decided."""
    stream = Stream("tests", "through cells")
    seen = 0
    for n in range(12):
        small = {"tasks": 8, "slots": 6, "data": [500, 3000], "vendors": 2}
        instance = generate({"kind": "paper", "seed": n, "nodes": {"a100": 1, "a40": 1}} | small)
        p = pool(instance, spare=1)
        price = np.array(stream.integers(0, 900, len(p.kind) * instance.slots), np.float64).reshape(len(p.kind), -1)
        d = no_decisions(p)
        if p.tasks and n % 2:
            d.fixed[stream.integer(0, len(p.kind) - 1), stream.integer(0, instance.slots - 1)] = NEVER
        reach = np.empty(price.shape)
        through(p, d, price, np.empty(table_size(p)), reach)
        for j, i in enumerate(p.task.tolist()):
            here = range(int(p.type_start[j]), int(p.type_start[j + 1]))
            entry = {int(p.kind[e]): e for e in here}
            best = np.full((len(p.kind), instance.slots), -np.inf)
            for value, decision in list_schedules(instance, instance.task(i)):
                cells = [(entry.get(node, -1), slot - 1) for node, slot in decision.cells]  # a node of each type
                if any(e < 0 or d.fixed[e, t] == NEVER for e, t in cells):
                    continue
                gain = value - sum(price[e, t] for e, t in cells)
                for e, t in cells:
                    best[e, t] = max(best[e, t], gain)
            rows = list(here)
            window = slice(int(p.first[j]), int(p.first[j] + p.width[j]))
            assert reach[rows, window] == pytest.approx(best[rows, window])
            seen += int(np.isfinite(best[rows, window]).sum())
    assert seen > 200


def test_plain_solves_do_not_branch() -> None:
    """Nobody who asks for no certificate waits for a tree."""
    assert "branches" not in solve(named("tiny_contention")).work
