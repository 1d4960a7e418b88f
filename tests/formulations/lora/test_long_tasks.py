"""Tasks whose tables would be too large: exchanges find what the table says, and so does the checker's split."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from ratiobench.formulations.lora import certificate as certificates
from ratiobench.formulations.lora import solve as solve_module
from ratiobench.formulations.lora import verify as checker
from ratiobench.formulations.lora.bound import pricing
from ratiobench.formulations.lora.bound.lagrangian import dual_bound
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, pool
from ratiobench.formulations.lora.certificate import Certificate
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import Steps, verify
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples

UNIT = 2**10
NODES = ({"a100": 1, "a40": 2}, {"a100": 2}, {"a40": 1, "a100": 1})


def _instance(seed: int) -> Instance:
    """Long tasks on one or two types; on every fourth of these clusters electricity earns money now and then."""
    words = Stream("long tasks", seed)
    made = generate(
        {"kind": "paper", "name": "long", "seed": ["long", seed], "nodes": NODES[seed % 3], "sizes": "own",
         "tasks": 5 + words.integer(0, 30), "arrivals": {"poisson": 4}, "slots": 10 + words.integer(0, 50),
         "epochs": [1, 2 + words.integer(0, 12)]}
    )  # fmt: skip
    if seed % 4:
        return made
    types = []
    for node in made.node_types:
        cheaper = words.integers(0, 2 * int(node.tariff.max()) + 1, len(node.tariff))
        tariff = np.where(words.integers(0, 3, len(cheaper)) == 0, node.tariff - cheaper, node.tariff)
        types.append(replace(node, tariff=tariff))
    return replace(made, node_types=tuple(types))


def _rent(p: Pool, seed: int) -> np.typing.NDArray[np.int64]:
    words = Stream("rents", seed)
    size = len(p.class_kind) * p.tariff.shape[1]
    most = max(2, int(np.median(p.bid)) * UNIT // 8)
    return (words.integers(0, most, size) * (words.integers(0, 4, size) > 0)).reshape(len(p.class_kind), -1)


@pytest.mark.parametrize("seed", range(samples(40)))
def test_exchanges_find_what_the_table_says(seed: int) -> None:
    """In integers to the unit, in doubles to rounding; what a schedule is said to cost is what its cells cost."""
    p = pool(_instance(seed))
    tabled, exchanged = (Pricer(each) for each in (p._replace(exchanged=None), _exchanged(p)))
    rent = _rent(p, seed)
    assert exchanged.integers(rent, UNIT).tolist() == tabled.integers(rent, UNIT).tolist()
    prices = rent / UNIT
    assert np.allclose(exchanged.signed(prices), tabled.signed(prices), rtol=1e-12)
    found, known = exchanged.floats(prices), tabled.floats(prices)
    assert np.allclose(found.surplus, known.surplus, rtol=1e-12, atol=1e-6)


@pytest.mark.parametrize("seed", range(samples(40)))
def test_the_checkers_split_finds_what_its_amounts_say(seed: int) -> None:
    """From every slot on; of schedules that cannot be, more than can be paid."""
    words = Stream("split", seed)
    types, width = 1 + seed % 2, 1 + words.integer(0, 20)
    rate = np.sort(words.integers(1, 9, types))
    cost = words.integers(-20 * (seed % 4 == 0), 100, types * width).reshape(types, width)
    far = 3 * (width * 100 + 1)
    steps = Steps(10**3)
    for work in (1, words.integer(1, 4 * width), 9 * width):
        slow = checker._by_amounts(cost, rate, work, far, "task", steps, {})
        for slot in range(width):
            counts = [min(width, -(-work // int(s)) + int((row < 0).sum())) for s, row in zip(rate, cost, strict=True)]
            quick, _ = checker._by_split(cost[:, slot:], rate, work, far, counts, "task", steps, far, -far, None)
            assert quick == slow[slot] or min(quick, slow[slot]) > far // 2
            enough, _ = checker._by_split(cost[:, slot:], rate, work, far, counts, "task", steps, 50, -far, None)
            assert enough == quick or 50 <= enough <= quick


def _exchanged(p: Pool) -> Pool:
    return p._replace(exchanged=np.ones(p.tasks, np.int64))


def _bound(instance: Instance, p: Pool) -> int:
    """The dual bound of a pool, with a certificate that the checker finds valid."""
    dual = dual_bound(Pricer(p))
    table, nobody = solve_module._table_of(dual)[:3], (None,) * instance.tasks
    proof = Certificate(content_hash(instance), dual.unit, *table, dual.upper, 0, nobody)
    assert verify(instance, certificates.document(proof)).valid
    return dual.upper


def test_a_load_of_long_tasks_has_a_certificate() -> None:
    """All tasks by exchanges; the same upper end as by tables. `nox -s crosscheck` makes the search and the trees."""
    instance = _instance(1)
    p = pool(instance)
    assert p.exchanged is None
    before, after = _bound(instance, p), _bound(instance, _exchanged(p))
    assert abs(before - after) <= before // 500


def solve_long_tasks() -> None:
    """All tasks by exchanges, in the bound, in the search and in the trees; the same interval as by tables."""
    instance = _instance(1)
    before = solve(instance, backend="none", certified=True)
    with mock.patch.object(pricing, "LONG", 0):
        pricing.find_pool.cache_clear()
        flags = pool(instance).exchanged
        assert flags is not None
        assert flags.all()
        after = solve(instance, backend="none", certified=True)
    pricing.find_pool.cache_clear()
    for report in (before, after):
        assert report.certificate is not None
        assert verify(instance, certificates.document(report.certificate)).valid
    assert abs(before.upper - after.upper) <= before.upper // 500
    assert abs(before.lower - after.lower) <= before.upper // 50


@pytest.mark.parametrize("types", [1, 2])
def test_short_tasks_in_wide_windows_take_few_steps(types: int) -> None:
    """A task of a few cells that has thousands of slots to choose from, and electricity that earns money in some."""
    slots = 8_000
    node = make_node(20, 9, tariff=[-1] * 3 + [0] * (slots - 3))
    task = {"work": 50, "bid": 5, "rate": [7, 10][:types], "energy_wh": [1] * types}
    instance = make_instance(slots, [node] * types, [task] * 10, base_memory_mb=1)
    nothing = ((0,) * slots,) * types
    assert checker.dual_bound(instance, 1, nothing, nothing, ()) == 10 * (5 + 3)
