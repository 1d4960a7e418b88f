"""Integer programs over some tasks at a time: never worse, always feasible, at best where all tasks fit into one."""

from __future__ import annotations

import numpy as np
import pytest

from ratiobench.formulations import backends
from ratiobench.formulations.lora.bound.pricing import find_pool, places
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.heuristic.state import state_of, type_of_node
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.solution import Solution

PART = {"kind": "paper", "start": 60, "slots": 20, "quiet": 4, "arrivals": {"trace": "pai"}}


def _improved(instance: Instance, solution: Solution, windows: int, seed: int = 0, enough: int = 2**62) -> Solution:
    arguments = instance, solution, windows, seed, enough
    reply = backends.call("highs", "ratiobench.formulations.lora.heuristic.windows:improve", *arguments)
    assert reply.termination is None, reply.message
    found: Solution = reply.value[0]
    return found


@pytest.mark.parametrize("name", ["tiny_contention", "tiny_vendors", "tiny_two_types", "tiny_negative_tariff"])
def test_one_program_with_all_tasks_finds_the_optimum(name: str) -> None:
    """Vendors, two types, negative costs; from nothing, and from the optimum itself."""
    instance = named(name)
    optimum, best = enumerate_optimum(instance)
    for start in ((None,) * instance.tasks, best):
        report = check(instance, _improved(instance, start, 2))
        assert report.valid
        assert report.welfare == optimum


@pytest.mark.parametrize("nodes", [{"a100": 1, "a40": 1}, {"a100": 2, "a40": 9}])
def test_it_is_never_worse_feasible_and_the_same_again(nodes: dict[str, int]) -> None:
    """On few nodes, and on more of a type than a program looks at; and it ends where it is good enough."""
    instance = generate(PART | {"name": "part", "seed": ["windows"], "tasks": 14, "nodes": nodes, "sizes": "own"})
    before = solve(instance, backend="none")
    after = _improved(instance, before.solution, 3)
    report = check(instance, after)
    assert report.valid
    assert report.welfare >= before.lower
    assert after == _improved(instance, before.solution, 3)
    assert check(instance, _improved(instance, (None,) * instance.tasks, 3)).welfare > 0
    assert _improved(instance, before.solution, 3, enough=0) == before.solution


def test_given_schedules_stay_and_the_other_tasks_are_scheduled_at_best() -> None:
    """With every second task as the optimum has it, the optimum comes out; what does not fit beside others is left."""
    instance = named("tiny_contention")
    optimum, best = enumerate_optimum(instance)
    p = find_pool(instance)
    kinds = type_of_node(p)
    state = state_of(instance, p, best)
    given = []
    for j in np.flatnonzero(state.option >= 0).tolist():
        place = state.place[places(p)[j] : places(p)[j] + p.width[j]]
        types = p.kind[p.type_start[j] : p.type_start[j + 1]].tolist()
        local = np.array([-1 if node < 0 else types.index(kinds[node]) for node in place])
        given.append((j, int(state.option[j]), local))
    for schedules in (given, given[::2], [*given[::2], *given[::2]], []):
        name = "ratiobench.formulations.lora.heuristic.windows:complete"
        reply = backends.call("highs", name, instance, schedules, backends.Limits(work=100))
        assert reply.termination is None, reply.message
        solution, welfare = reply.value
        report = check(instance, solution)
        assert report.valid
        assert report.welfare == welfare == optimum


def test_certificates_of_small_instances_close() -> None:
    instance = generate(PART | {"name": "part", "seed": ["windows", 2], "tasks": 12, "nodes": {"a100": 1, "a40": 1}})
    plain = solve(instance, backend="none")
    certified = solve(instance, certified=True)
    assert certified.lower == certified.upper
    assert plain.lower <= certified.lower <= certified.upper <= plain.upper
