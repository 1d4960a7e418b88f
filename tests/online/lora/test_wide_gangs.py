"""The nodes of wide gangs, which are sorted, are those that a search part by part finds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ratiobench.formulations.lora import run_search
from ratiobench.formulations.lora.runs import sum_by_type
from ratiobench.online.lora.run import run
from ratiobench.online.lora.search import queueing
from tests.online.lora.test_later import cluster
from tests.support.samples import samples

FIRST_NODE = np.array([0, 3, 15, 15, 40])


def _uncompiled(kernel: Any) -> Any:
    """The function behind a kernel, which reads `WIDE` when it is called."""
    return getattr(kernel, "py_func", kernel)


def _draw_case(seed: int) -> tuple[Any, ...]:
    """Few different amounts, so that many nodes are alike: a type, a run, and how many of its nodes can take it."""
    chance = np.random.default_rng(seed)
    free = chance.integers(0, 4, (40, 6)) * chance.choice((1, 100))
    free_mb = chance.integers(1, 4, (40, 6))
    g, start = int(chance.choice((0, 1, 3))), int(chance.integers(0, 5))
    end, rate, memory = int(chance.integers(start + 1, 7)), int(chance.integers(0, 3)), int(chance.integers(0, 2))
    low, high = FIRST_NODE[g], FIRST_NODE[g + 1]
    room = (free[low:high, start:end] >= rate).all(axis=1) & (free_mb[low:high, start:end] >= memory).all(axis=1)
    return free, free_mb, g, start, end, rate, memory, int(room.sum())


@pytest.mark.parametrize("seed", range(samples(60)))
def test_a_queue_gives_a_wide_gang_the_same_nodes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("_fits", "_choose_by_sorting"):
        monkeypatch.setattr(queueing, part, _uncompiled(getattr(queueing, part)))
    free, free_mb, g, start, end, rate, memory, most = _draw_case(seed)
    for parts in range(1, most + 1):
        chosen = []
        for wide in (0, 1000):
            monkeypatch.setattr(queueing, "WIDE", wide)
            nodes = np.full(40, -1)
            low, high = FIRST_NODE[g], FIRST_NODE[g + 1]
            _uncompiled(queueing._choose)(free, free_mb, low, high, start, end, rate, memory, parts, nodes)
            chosen.append(nodes.tolist())
        assert chosen[0] == chosen[1]
        assert len(set(chosen[0][:parts])) == parts


@pytest.mark.parametrize("seed", range(samples(60)))
def test_a_plan_gives_a_wide_gang_the_same_nodes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_search, "_take_first", _uncompiled(run_search._take_first))
    free, free_mb, g, start, end, rate, memory, most = _draw_case(seed)
    for parts in range(1, most + 2):
        r = SimpleNamespace(
            kind=[g], length=[end - start], first_node=FIRST_NODE, rate=[rate], memory=[memory], parts=[parts],
            place=[0, parts],
        )  # fmt: skip
        chosen = []
        for wide in (0, 1000):
            monkeypatch.setattr(run_search, "WIDE", wide)
            z = SimpleNamespace(compute=free, memory=free_mb, nodes=np.full(40, -1))
            found = _uncompiled(run_search._choose_nodes)(r, z, 0, 0, start, np.empty(40))
            assert found == (parts <= most)
            chosen.append(z.nodes.tolist())
        assert chosen[0] == chosen[1]


def test_amounts_of_a_type_are_summed() -> None:
    table = np.random.default_rng(1).integers(-5, 9, (2, 40, 6))
    found = sum_by_type(SimpleNamespace(first_node=FIRST_NODE), table)  # type: ignore[arg-type]
    assert found.shape == (2, 4, 6)
    assert found.dtype == np.int64
    for g in range(4):
        assert found[:, g].tolist() == table[:, FIRST_NODE[g] : FIRST_NODE[g + 1]].sum(axis=1).tolist()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["queue:backfill=easy", "queue:backfill=conservative", "dual-plan"])
def test_a_gang_of_thousands_of_nodes_starts(name: str) -> None:
    """Part by part a queue took minutes for one of 10,000 nodes."""
    sizes = (6000, 1, 3000, 1, 6000)
    tasks = [
        {"arrival": 1 + i, "deadline": 18, "work": 3 * size, "bid": 30 * size + i}
        | ({"run": "gang", "nodes": size} if size > 1 else {})
        for i, size in enumerate(sizes)
    ]
    found = run(cluster(*tasks, nodes=(6500,), slots=18), name)
    assert found.valid
    assert found.admitted == len(sizes)
