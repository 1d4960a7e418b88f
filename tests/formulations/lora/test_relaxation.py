"""Facets and the relaxation over cells of single tasks: against lists of all sets and schedules."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.formulations import backends
from ratiobench.formulations.lora.bound.facets import BROKEN, Separator
from ratiobench.formulations.lora.bound.pricing import Pool, pool
from ratiobench.formulations.lora.bound.task_prices import Slots, find_slots
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import IntArray
from tests.support.certificates import instances
from tests.support.samples import of_sample, samples


def fitting_sets(p: Pool, s: Slots, j: int) -> list[tuple[int, ...]]:
    """The sets of places of a pair whose tasks fit on one node."""
    here, g = range(int(s.start[j]), int(s.start[j + 1])), int(s.kind[j])
    return [
        chosen
        for k in range(len(here) + 1)
        for chosen in combinations(here, k)
        if sum(int(p.rate[s.entry[a]]) for a in chosen) <= p.compute[g]
        and sum(int(p.memory[s.owner[s.entry[a]]]) for a in chosen) <= p.capacity_mb[g]
    ]


def largest(sets: list[tuple[int, ...]], weight: IntArray) -> int:
    return max(sum(int(weight[a]) for a in chosen) for chosen in sets)


@settings(max_examples=samples(80), deadline=None)
@given(instances(), st.integers(0, 2**32 - 1))
def test_a_facet_cuts_off_the_point_and_no_set(instance: Instance, seed: int) -> None:
    """It is the largest value of a set on all nodes, and a mixture of sets breaks none."""
    p, random = pool(instance, spare=1), np.random.default_rng(seed)
    assume(p.tasks)
    s = find_slots(p)
    separator, nodes = Separator(p, s), p.nodes[s.kind]
    sets = [fitting_sets(p, s, j) for j in range(len(s.kind))]
    x = random.random(len(s.entry)) * np.repeat(nodes, np.diff(s.start))
    for facet in separator.separate(x):
        j = int(np.searchsorted(s.start, facet.place[0], side="right")) - 1
        weight = np.zeros(len(s.entry), np.int64)
        weight[facet.place] = facet.q
        assert facet.high == nodes[j] * largest(sets[j], weight)
        assert facet.q @ x[facet.place] > facet.high
    mixture = np.zeros(len(s.entry))
    for j, listed in enumerate(sets):
        for share in random.dirichlet(np.ones(3)):
            mixture[list(listed[random.integers(len(listed))])] += share * nodes[j]
    assert separator.separate(mixture) == []


def test_a_point_that_breaks_some_inequality_is_cut_off() -> None:
    """Random weights whose sum at the point is above that of every set."""
    random, found = np.random.default_rng(3), 0
    for seed in range(samples(60)):
        recipe = {"kind": "paper", "seed": seed, "nodes": {"a100": 1}, "tasks": 8, "slots": 6, "data": [500, 3000]}
        p = pool(generate(recipe | {"sizes": "wide"}), spare=1)
        s = find_slots(p)
        x = 0.3 + 0.7 * random.random(len(s.entry))
        facets = Separator(p, s).separate(x)
        cut = {int(np.searchsorted(s.start, facet.place[0], side="right")) - 1 for facet in facets}
        for j in range(len(s.kind)):
            sets, here = fitting_sets(p, s, j), slice(int(s.start[j]), int(s.start[j + 1]))
            weights = random.integers(0, 10, (20, len(s.entry)))
            highs = np.array([largest(sets, weight) for weight in weights])
            if (weights[:, here] @ x[here] > highs * (1 + 10 * BROKEN)).any():
                assert j in cut
                found += 1
    assert found > of_sample(20, 60)


@settings(max_examples=samples(60), deadline=None)
@given(instances(), st.integers(0, 2**32 - 1))
def test_the_relaxation_bounds_what_its_prices_prove_and_they_bound_opt(instance: Instance, seed: int) -> None:
    """With all facets that are found, without decisions and with some that the best solution keeps or not."""
    p = pool(instance, spare=1)
    assume(p.tasks and (np.diff(p.type_start) <= 2).all())
    reply = backends.call("highs", "tests.support.relaxation:bound_thrice", instance, seed)
    assert reply.termination is None, reply.message
    free, *others = reply.value
    assert free
    for value, proved in (pair for rounds in (free, *others) for pair in rounds):
        assert proved <= value + 0.1  # prices are rounded
    opt = enumerate_optimum(instance)[0]
    assert min(free[-1]) >= opt - 1e-6


@pytest.mark.parametrize("seed", [0, 2, 9])
def test_the_relaxation_knows_how_many_slots_an_offer_leaves(seed: int) -> None:
    """Its optimum equals the bound of its prices; it was .15 to .9 % above where it did not know the slots."""
    recipe = {"kind": "paper", "seed": seed, "nodes": {"a100": 1, "a40": 1}, "tasks": 28, "slots": 14, "quiet": 4}
    day = {"start": 50, "sizes": "own", "arrivals": {"trace": "philly", "day": "2017-10-10"}}
    reply = backends.call("highs", "tests.support.relaxation:bound_thrice", generate(recipe | day), 0)
    assert reply.termination is None, reply.message
    value, proved = reply.value[0][-1]
    assert proved <= value + 0.1 <= proved * 1.0001


def test_no_program_of_all_tasks_begins_after_the_tree_has_proved_the_solution() -> None:
    recipe = {"kind": "paper", "seed": ["closed", 5], "nodes": {"a100": 1, "a40": 1}, "tasks": 20, "slots": 24}
    instance = generate(recipe | {"quiet": 8, "start": 40, "arrivals": {"trace": "helios"}})
    reply = backends.call("highs", "tests.support.relaxation:count_programs", instance, 400)
    assert reply.termination is None, reply.message
    upper, lower, gaps = reply.value
    assert int(upper) == lower
    assert gaps
    assert min(gaps) >= 0.999


def test_a_tree_of_an_instance_without_facets() -> None:
    recipe = {"kind": "paper", "seed": 1, "nodes": {"a100": 1, "a40": 1}, "tasks": 10, "slots": 12, "quiet": 4}
    reply = backends.call("highs", "tests.support.relaxation:count_programs", generate(recipe), 400)
    assert reply.termination is None, reply.message
    upper, lower, _ = reply.value
    assert int(upper) == lower
