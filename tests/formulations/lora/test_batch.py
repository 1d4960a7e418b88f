"""Batches on residual capacities: packings, bounds and programs, against enumeration."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.backends import installed_version, solve
from ratiobench.formulations.lora import batch
from ratiobench.formulations.lora.batch import solve_batch
from ratiobench.formulations.lora.bound import patterns, pricing
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.heuristic import improve, insertion
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.pooled import CellCounts, Supply, pack_slot
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import ENVIRONMENT, run
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

few = st.integers(1, 9)


def _columns(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]


@given(
    sizes=st.lists(st.tuples(few, few, st.integers(0, 4)), min_size=1, max_size=4),
    nodes=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4),
)
def test_packed_cells_have_room(sizes: list[tuple[int, int, int]], nodes: list[tuple[int, int]]) -> None:
    """No more cells than there are, none beyond a node's room, and none left over that still fits somewhere."""
    rate, memory, count = _columns(sizes)
    free, free_mb = _columns(nodes)
    take = pack_slot(rate, memory, count, free, free_mb)
    left, left_mb = free - take @ rate, free_mb - take @ memory
    assert (take >= 0).all()
    assert (take.sum(axis=0) <= count).all()
    assert min(left.min(), left_mb.min()) >= 0
    for c in np.flatnonzero(take.sum(axis=0) < count):
        assert not ((left >= rate[c]) & (left_mb >= memory[c])).any()


def _empty(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    public = instance.public("")
    types = public.type_of_node
    shape = (instance.nodes, instance.slots)
    return tuple(np.broadcast_to(each[types][:, None], shape).copy() for each in (public.compute, public.memory_mb))  # type: ignore[return-value]


def _without_vendors(instance: Instance) -> bool:
    return not len(instance.vendor_price)


@settings(max_examples=samples(80), deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors))
def test_bound_and_programs_enclose_the_optimum(instance: Instance) -> None:
    """On empty nodes a batch is the instance: the answer is the optimum, by enumeration, and valid."""
    best, _ = enumerate_optimum(instance)
    answer = solve_batch(instance, *_empty(instance))
    assert answer.lower == best
    assert answer.upper >= best
    report = check(instance, answer.solution)
    assert (report.valid, report.welfare) == (True, best)


@settings(max_examples=samples(80), deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors))
def test_exact_program_has_the_optimum(instance: Instance) -> None:
    """With every node by itself in every slot; with nodes pooled it is no less."""
    best, _ = enumerate_optimum(instance)
    p = pool(instance)
    if not p.tasks:
        return
    everywhere = set(product(range(len(p.nodes)), range(instance.slots)))
    for apart, exact in ((set(), False), (everywhere, True)):
        supply = Supply(p, *_empty(instance), apart)
        result = solve("highs", CellCounts(supply, np.arange(p.tasks)).model())
        assert result.bound is not None
        assert result.bound >= best - 1e-6
        assert not exact or abs(result.bound - best) < 1e-6


@settings(max_examples=samples(80), deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors), seed=st.integers(0, 99))
def test_any_prices_prove_a_bound(instance: Instance, seed: int) -> None:
    """Reduced profits and what the groups are worth add up to no less than the optimum."""
    best, _ = enumerate_optimum(instance)
    p = pool(instance)
    if not p.tasks:
        return
    supply = Supply(p, *_empty(instance))
    words = Stream("prices", seed)
    rent = np.where(supply.row >= 0, words.integers(0, 50, supply.row.size).reshape(supply.row.shape), 0)
    limits = words.integers(0, 3, supply.limits).astype(np.float64)
    profits = Pricer(p, parallel=False).integers(rent, 1)
    assert sum(profits.tolist()) + supply.worth(rent, limits) >= best


def test_large_numbers_make_no_tiny_batch_modest() -> None:
    """A solver's bound on rows of numbers beyond 2^22 is refused; patterns of a node are small numbers."""
    rows = [(81_570_696, 41_141_837, 23, 50_401_878, 0), (166_106_341, 172_732_998, 11, 399_667_132, 2)]
    tasks = [
        {"memory_mb": memory, "work": work, "bid": bid, "rate": [rate], "energy_wh": [energy]}
        for memory, work, bid, rate, energy in rows
    ]
    node = make_node(402_653_187, 167_772_164, tariff=[1])
    instance = make_instance(1, [node], tasks, base_memory_mb=3)
    result = run(instance, "titan")
    assert (result.label, result.welfare) == (f"titan (HiGHS {installed_version('highs')})", 23)


def test_nothing_is_compiled_once_it_is_warm() -> None:
    """Kernels have one signature each, whatever the batch: compiling is in no algorithm's seconds."""

    def signatures() -> dict[str, int]:
        kernels = [
            value for module in (batch, insertion, improve, pricing, patterns) for value in vars(module).values()
        ]
        return {each.__name__: len(each.signatures) for each in kernels if hasattr(each, "signatures")}

    batch.warm(ENVIRONMENT.small())
    warm = signatures()
    for name in ("tiny_contention", "tiny_vendors", "tiny_two_types"):
        run(named(name), "titan")
    assert signatures() == warm
