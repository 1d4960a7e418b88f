"""The baselines against their literal twins: EFT, NTM, greedy, the Eris-style auction, Titan's batches."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.backends import BackendResult, installed_version
from ratiobench.formulations.lora import batch
from ratiobench.formulations.report import Termination
from ratiobench.instances.lora import Instance, content_hash, document, parse
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Task
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.algorithms import titan
from ratiobench.online.lora.algorithms.earliest import draw_vendor, find_fastest_vendor
from ratiobench.online.lora.algorithms.titan import Titan
from ratiobench.online.lora.constants import eris_high, eris_low
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.remarks import percentage
from tests.support.examples import Examples
from tests.support.literal import (
    Answer,
    Load,
    best_batch,
    eris_bounds,
    figures,
    place,
    run_earliest_finish,
    run_eris,
    run_greedy,
)
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

HIGHS = f"HiGHS {installed_version('highs')}"  # The solver of Titan's batches, as its label names it


def _answers(instance: Instance, algorithm: str) -> list[Answer | None]:
    result = run(instance, algorithm)
    assert result.valid, result.violations
    return [None if decision is None else decision[:3] for decision in result.decisions]


TINY = Examples(tiny_instances(max_tasks=5), samples(150), content_hash)


@pytest.mark.parametrize("admit", ["profitable", "all"])
@pytest.mark.parametrize("name", ["eft", "ntm"])
def test_earliest_finish_is_its_literal_twin(name: str, admit: str) -> None:
    """Vendor, fastest node with room per slot, lowest index on ties, rejection when the work is not covered."""

    def holds(instance: Instance) -> None:
        wanted = run_earliest_finish(instance, alone=name == "ntm", profitable=admit == "profitable")
        assert _answers(instance, f"{name}:admit={admit}") == wanted

    TINY.check(holds)


def test_greedy_is_its_literal_twin() -> None:
    """Cheapest schedule with room, charged at cost, admitted when the bid is above it."""

    def holds(instance: Instance) -> None:
        assert _answers(instance, "greedy") == run_greedy(instance)

    TINY.check(holds)


def test_eris_is_its_literal_twin() -> None:
    """Prices from 80-digit powers, rounded to 2^-20; charge q + sum e + price, rounded up."""

    def holds(instance: Instance) -> None:
        assert (eris_low(instance), eris_high(instance)) == eris_bounds(instance)
        assert _answers(instance, "eris") == run_eris(instance)

    TINY.check(holds)


def test_eris_in_doubles_agrees_where_integers_would_overflow() -> None:
    """Enormous bids on tiny tasks switch to doubles; the same instance in small figures decides alike."""
    small = document(named("tiny_contention"))
    large = document(named("tiny_contention"))
    factor = 2**32
    for task in large["tasks"]:
        task["bid"] *= factor
        task["vendors"] = [vendor | {"price": vendor["price"] * factor} for vendor in task["vendors"]]
    for node in large["node_types"]:
        node["tariff"] = [price * factor for price in node["tariff"]]
    one, other = _answers(parse(small), "eris"), _answers(parse(large), "eris")
    assert [answer and answer[:2] for answer in one] == [answer and answer[:2] for answer in other]
    for a, b in zip(one, other, strict=True):
        if a is not None and b is not None and a[2] is not None and b[2] is not None:
            assert abs(Fraction(b[2], factor) - a[2]) <= 1


def _single(tasks: list[dict[str, Any]], **node: int) -> Instance:
    """One node, one slot; tasks of one sample and one MB at no cost unless they say otherwise."""
    return make_instance(1, [make_node(100, 12) | node], tasks, base_memory_mb=3)


def test_eris_loads_a_base_model_per_task() -> None:
    """14 MB, tasks of 1 MB and a base of 3 MB each: three fit, where sharing one base model would fit eleven."""
    instance = _single([{"bid": 10 * 100**j} for j in range(5)], memory_mb=14)
    assert run(instance, "eris").admitted == 3
    assert run(instance, "greedy").admitted == 5
    assert _answers(instance, "eris") == run_eris(instance)


def test_titan_counts_the_vendor_price() -> None:
    """A bid of 5 does not pay a vendor of 6; of two tasks for one place the one that is worth more after its vendor."""
    dear, cheap = [{"price": 6, "delay": 0}], [{"price": 1, "delay": 0}]
    assert run(_single([{"bid": 5, "vendors": dear}]), "titan").admitted == 0
    instance = _single([{"bid": 9, "vendors": dear}, {"bid": 8, "vendors": cheap}], compute=1)
    assert [decision is not None for decision in run(instance, "titan").decisions] == [False, True]


@pytest.mark.parametrize("algorithm", ["pdftsp", "pdftsp:search=printed", "greedy", "eris", "eft"])
def test_of_two_vendors_alike_the_first_is_taken(algorithm: str) -> None:
    """Strictly better wins, in list order."""
    alike = [{"price": 1, "delay": 0}] * 3
    # The first bid of 1 makes the Eris-style price low enough for the second.
    instance = _single([{"bid": 1, "vendors": alike}, {"bid": 5000, "vendors": alike}])
    decision = run(instance, algorithm).decisions[1]
    assert decision is not None
    assert decision.vendor == 0


def test_the_fastest_vendor_breaks_ties_by_price_then_index() -> None:
    """Delay 0 at price 3 before delay 0 at price 5; of two alike the first."""
    data = document(named("tiny_vendors"))
    data["tasks"] = data["tasks"][:1]
    offers = [(5, 0), (3, 0), (3, 0), (1, 1)]
    data["tasks"][0]["vendors"] = [{"price": price, "delay": delay} for price, delay in offers]
    assert find_fastest_vendor(parse(data).task(0), parse(data).public("")).vendor == 1


def test_vendors_are_drawn_by_seed_and_task_alone() -> None:
    """Uniform over the vendors: each of three about a third of 600 draws; another seed draws otherwise."""
    data = document(named("tiny_vendors"))
    task = dict(data["tasks"][0], vendors=[{"price": n, "delay": 0} for n in range(3)], arrival=1)
    instance = parse(data | {"tasks": [task] * 600})
    one, two = ([draw_vendor(instance.task(i), instance.public(seed)).vendor for i in range(600)] for seed in "ab")
    assert one != two
    assert one == [draw_vendor(instance.task(i), instance.public("a")).vendor for i in range(600)]
    assert min(one.count(n) for n in range(3)) > 150


def _batches(instance: Instance) -> Iterator[list[Task]]:
    tasks = [instance.task(i) for i in range(instance.tasks)]
    for slot in sorted({task.arrival for task in tasks}):
        yield [task for task in tasks if task.arrival == slot]


def _compare_batches(instance: Instance, result: OnlineRun) -> None:
    """Every batch's welfare is the best that its residual capacity allows."""
    public = instance.public(content_hash(instance))
    load: Load = {}
    for tasks in _batches(instance):
        drawn = [task.options.index(draw_vendor(task, public)) for task in tasks]
        wanted = best_batch(tasks, drawn, public, load)
        got = 0
        for task, option in zip(tasks, drawn, strict=True):
            decision = result.decisions[task.index]
            if decision is not None:
                assert decision.vendor == task.options[option].vendor
                got += figures(task, public, option, decision.cells)[2]
                place(load, task, public, decision.cells)
        assert got == wanted


@settings(max_examples=samples(100))
@given(instance=tiny_instances(max_nodes=2, max_slots=4))
def test_titan_decides_every_batch_best(instance: Instance) -> None:
    """Against enumeration over the batch, with the capacity that earlier batches left and the drawn vendors."""
    result = run(instance, "titan")
    assert result.valid, result.violations
    assert result.label == (f"titan ({HIGHS})" if result.counts["programs"] else "titan")
    assert (result.counts["at_limit"], result.counts["worst_gap_ppm"]) == (0, 0)
    assert result.counts["batches"] == len(list(_batches(instance)))
    assert {decision.payment for decision in result.decisions if decision is not None} <= {None}
    _compare_batches(instance, result)


@settings(max_examples=samples(60))
@given(instance=tiny_instances(max_nodes=2, max_slots=4))
def test_the_programs_alone_find_the_best_answer(instance: Instance) -> None:
    """Without insertion in between, what HiGHS says of pools, packed, is the batch optimum still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch._Batch, "_inserted", lambda self, s, order, shares=(): s)
        patch.setattr(Titan, "_earliest", lambda self, tasks, *_: (None,) * len(tasks))
        result = run(instance, "titan")
    assert result.counts["at_limit"] == 0
    _compare_batches(instance, result)


def _pack(sizes: list[int], bids: list[int], capacity: int, nodes: int) -> OnlineRun:
    """Titan on one slot and one node type, where packing is all that matters."""
    return run(
        make_instance(
            1,
            [make_node(capacity, 99, nodes)],
            [{"work": size, "bid": bid, "rate": [size]} for size, bid in zip(sizes, bids, strict=True)],
        ),
        "titan",
    )


def test_what_does_not_pack_is_not_promised() -> None:
    """Two nodes of 3 samples, three tasks of 2: 6 samples in the pool, but only two tasks fit; lowest bid out."""
    result = _pack([2, 2, 2], [5, 4, 6], 3, 2)
    assert [decision is not None for decision in result.decisions] == [True, False, True]
    assert result.counts["at_limit"] == 0


@settings(max_examples=samples(60))
@given(sizes=st.lists(st.integers(1, 9), min_size=4, max_size=8), seed=st.integers(1, 50), nodes=st.integers(2, 3))
def test_packing_is_solved_to_the_end(sizes: list[int], seed: int, nodes: int) -> None:
    """Sizes of up to 9 on nodes of 10: the pool's capacity is not what packs, and the answer is the best packing."""
    bids = [size * 10 + (seed * (j + 3)) % 7 for j, size in enumerate(sizes)]

    def best(j: int, left: tuple[int, ...]) -> int:
        if j == len(sizes):
            return 0
        value = best(j + 1, left)
        for k, room in enumerate(left):
            if room >= sizes[j] and room not in left[:k]:
                value = max(value, bids[j] + best(j + 1, (*left[:k], room - sizes[j], *left[k + 1 :])))
        return value

    result = _pack(sizes, bids, 10, nodes)
    assert result.valid
    assert (result.welfare, result.counts["at_limit"]) == (best(0, (10,) * nodes), 0)


def test_a_batch_of_any_size_is_on_single_nodes() -> None:
    """50 nodes x 10 slots x 11 tasks: more than 5,000 binaries, and the optimum all the same."""
    task = {"work": 3, "bid": 5, "rate": [3], "energy_wh": [1]}
    result = run(make_instance(10, [make_node(9, 9, 50, tariff=[1] * 10)], [task] * 11), "titan")
    assert (result.counts["at_limit"], result.welfare) == (0, 44)


def test_titan_is_no_first_incumbent() -> None:
    """An instance on which a solver stopped early had 3 of 25: the answer is the optimum of the batches."""
    rows = [
        (1, 3, 4, 7, [1, 2, 4], [0, 1, 0], []), (1, 3, 4, 8, [4, 4, 2], [3, 1, 3], []),
        (1, 3, 12, 2, [3, 2, 3], [0, 2, 3], []), (1, 4, 12, 10, [1, 4, 4], [3, 2, 1], []),
        (1, 4, 6, 19, [1, 2, 2], [2, 2, 2], [{"price": 5, "delay": 0}]), (2, 2, 12, 3, [1, 1, 4], [0, 2, 0], []),
    ]  # fmt: skip
    nodes = [(6, 5, [2, 0, 1, 0]), (6, 2, [3, 0, 0, 3]), (5, 4, [1, 1, 2, 0])]
    instance = make_instance(
        4,
        [make_node(compute, memory, tariff=tariff) for compute, memory, tariff in nodes],
        [
            dict(zip(("arrival", "memory_mb", "work", "bid", "rate", "energy_wh", "vendors"), row, strict=True))
            for row in rows
        ],
    )
    result = run(instance, "titan")
    assert (result.welfare, result.label) == (25, f"titan ({HIGHS})")
    _compare_batches(instance, result)


_CROWD = {
    "kind": "paper", "name": "crowd", "seed": ["crowd"], "arrivals": {"trace": "pai"}, "tasks": 60, "start": 60,
    "slots": 24, "quiet": 4, "nodes": {"a100": 1, "a40": 1},
}  # fmt: skip


def test_a_limit_is_told_and_the_answer_is_no_worse_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that stops at once: the row says at how many batches, and with what gap.

    Every batch is still worth as much as serving it task by task, cheapest or earliest first.
    """
    instance = generate(_CROWD)
    monkeypatch.setattr(batch, "solve", lambda *_: BackendResult(Termination.LIMIT))
    others: list[tuple[int, int]] = []

    def watched(part: Instance, free: Any, free_mb: Any, effort: int, gap: Any, starts: Any) -> batch.Answer:
        answer = batch.solve_batch(part, free, free_mb, effort, gap, starts)
        p = batch.pool(part)
        if p.tasks:
            each = batch._Batch(part, p, free, free_mb)
            cheapest = each._inserted(each._empty, np.arange(p.tasks))
            others.append((answer.lower, max(each.make_state(starts[0]).welfare, cheapest.welfare)))
        return answer

    monkeypatch.setattr(titan, "solve_batch", watched)
    result = run(instance, "titan")
    assert result.valid, result.violations
    assert len(others) > 5
    assert all(mine >= other for mine, other in others)
    stopped, batches, gap = (result.counts[name] for name in ("at_limit", "batches", "worst_gap_ppm"))
    assert 0 < stopped < batches
    assert result.label == f"titan (at limit {stopped} of {batches}, gap {percentage(gap)} %) ({HIGHS})"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (1, "0.0001"), (99, "0.0099"), (3_200, "0.32"), (3_201, "0.33"), (20_409, "2.1"), (142_858, "15"),
        (995_001, "100"), (1_000_000, "100"), (2_000_001, "210"), (10_000, "1"),
    ],
)  # fmt: skip
def test_a_gap_is_told_rounded_up(parts: int, text: str) -> None:
    assert percentage(parts) == text
    assert Fraction(text) * 10_000 >= parts


def test_a_solver_that_fails_is_a_failure_and_no_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash must not look like an algorithm that earns nothing."""
    monkeypatch.setattr(batch, "solve", lambda *_: BackendResult(Termination.CRASH, message="gone"))
    with pytest.raises(RuntimeError, match="crash: gone"):
        run(generate(_CROWD), "titan")


def test_titan_s_answers_come_out_alike() -> None:
    """Twice the same decisions on a crowded part of a day; one batch is hard, and no answer is far from its bound."""
    result = run(generate(_CROWD), "titan")
    assert result.valid
    assert result.counts["at_limit"] <= 1
    assert result.counts["worst_gap_ppm"] <= 3_000
    assert run(generate(_CROWD), "titan").decisions == result.decisions


def test_eris_rejects_a_bid_that_equals_its_price() -> None:
    """The task that defines L faces a price of exactly its bid at load 0, whichever way L rounds."""
    for bid in (10, 11):
        assert run(make_instance(1, [make_node(9, 9)], [{"bid": bid}], base_memory_mb=1), "eris").admitted == 0
    assert run(named("thm5_T5_3tasks"), "eris").welfare == 300
