"""What the guard of Theorem H announces, and the numbers that it is made of."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.algorithms.learned import guarantee, guard_settings
from ratiobench.online.lora.guard import CLASSES, STEPS, Announcement, Guard, announce, bound_root, bound_weight
from ratiobench.online.lora.protocol import View
from tests.support.samples import samples
from tests.tools.theory_guard import heaviest

ONE = Fraction(1)


def _announce(given: Instance, classes: int = CLASSES) -> Announcement:
    return announce(given, Fraction(2), Fraction(0), ONE, classes)


def _of(kinds: tuple[Kind, ...], *tasks: tuple[tuple[int, ...], int, int]) -> Instance:
    """One slot; each task is (rates, memory, bid)."""
    jobs = tuple(Job(1, 1, memory, max(1, *rates), bid, rates) for rates, memory, bid in tasks)
    return instance(TinyInstance(1, kinds, jobs))


@settings(max_examples=samples(60), deadline=None)
@given(
    value=st.fractions(1, 500, max_denominator=10**6) | st.fractions(1, 2, max_denominator=10**9),
    degree=st.integers(1, 40),
)
def test_a_root_from_below_is_near_and_never_above(value: Fraction, degree: int) -> None:
    root = bound_root(value, degree)
    assert root >= 1
    assert root**degree <= value
    assert (root + Fraction(4, 2**40)) ** degree > value


@settings(max_examples=samples(60), deadline=None)
@given(value=st.fractions(10**6, 10**18), degree=st.integers(1, 6))
def test_a_root_of_a_huge_value_is_found_at_once_and_never_above(value: Fraction, degree: int) -> None:
    """Where doubles have too few bits for 1/2^40 it is near in proportion; by single steps some would take an hour."""
    root = bound_root(value, degree)
    assert root**degree <= value < (root * (1 + Fraction(1, 2**40))) ** degree


def test_what_is_announced_of_exact_classes() -> None:
    """A class per shape and type, the largest worth over weight; none where the task does not fit, or is not served."""
    given = _of((Kind(2, 10, 20), Kind(1, 4, 4)), ((5, 2), 4, 100), ((5, 2), 4, 60), ((2, 0), 10, 7), ((20, 9), 1, 50))
    first, second = _announce(given).kinds
    worth = {(2, 10): 7, (5, 4): 100}
    assert dict(zip(zip(first.rate, first.memory, strict=True), first.cap, strict=True)) == {
        shape: bid / first.weigh(*shape) for shape, bid in worth.items()
    }
    assert (second.rate, second.memory, second.cap) == ((2,), (4,), (100 / second.weigh(2, 4),))
    assert first.step == second.step == 1
    assert [first.find(5, 4), first.find(5, 5), first.find(2, 10)] == [1, -1, 0]
    wider = announce(given, Fraction(2), Fraction(3), Fraction(3, 2))
    assert wider.kinds[0].cap == tuple(cap * Fraction(3, 2) for cap in first.cap)
    assert wider.factor == 3 + 2


def test_a_node_type_without_a_class() -> None:
    """No task fits it: nothing is announced, its credit is 0, and its Omega counts for nothing."""
    announced = _announce(_of((Kind(1, 9, 9), Kind(3, 2, 2)), ((4, 4), 4, 9)))
    assert announced.kinds[1].rate == ()
    assert announced.kinds[1].find(1, 1) == -1
    guard = Guard(_of((Kind(1, 9, 9), Kind(3, 2, 2)), ((4, 4), 4, 9)).public(""), announced, exact=True)
    assert guard.credit[1].tolist() == [0]
    assert guard.start == announced.kinds[0].omega * guard.credit[0][0]
    none = _announce(_of((Kind(1, 2, 2),), ((4,), 4, 9)))
    assert (none.kinds[0].rate, none.factor) == ((), 2)


@pytest.mark.parametrize("classes", [4, 10, 20])
def test_a_grid_has_a_class_for_every_task(classes: int) -> None:
    """No more classes than asked for; each task's class is as large as it, no more than `step` larger, and its cap
    holds for all.
    """
    tasks = [((s,), r, 10 + s * r) for s in (1, 3, 4, 9, 17, 60, 100) for r in (1, 2, 5, 31, 100)]
    kind = _announce(_of((Kind(2, 100, 100),), *tasks), classes).kinds[0]
    assert 1 <= len(kind.rate) <= classes
    assert kind.step > 1
    for (rate,), memory, bid in tasks:
        j = kind.find(rate, memory)
        assert j >= 0
        assert rate <= kind.rate[j] <= rate * kind.step
        assert memory <= kind.memory[j] <= memory * kind.step
        assert kind.cap[j] * kind.weigh(rate, memory) >= bid


def _limits(guard: Guard, nodes: int, slots: int) -> tuple[Any, Any]:
    """L and c w of a task of 5 samples and 3 MB on empty nodes of 10 and 10."""
    free, every = np.full((nodes, slots), 10), np.arange(slots)
    view = View(1, free, free, np.zeros_like(free))
    node, least, most = guard.limits(0, 5, 3, every, np.zeros_like(every), np.full_like(every, nodes), view)
    assert not node.any(), "the first of equals"
    return least, most


def test_a_sale_at_the_lower_limit_leaves_a_credit_of_phi() -> None:
    given = _of((Kind(2, 10, 10),), ((5,), 3, 100), ((1,), 2, 10))
    announced = _announce(given)
    room = np.array([10]), np.array([10])
    for exact in (True, False):
        guard = Guard(given.public(""), announced, exact=exact)
        (least,), (most,) = _limits(guard, 2, 1)
        weight, beta = announced.kinds[0].weigh(5, 3), announced.beta / announced.kinds[0].omega
        before = guard.credit[0][0]
        assert 0 < least < most == before * (weight if exact else float(weight))
        guard.sell((3, [5]), np.array([0]), np.array([0]), np.array([least]), room)
        assert guard.credit[0][0] == pytest.approx(before + (beta if exact else float(beta)) * least / 2, rel=1e-15)
        assert guard.credit[0][0] == pytest.approx(guard._floor(0, guard._left[0][:1])[0], rel=1e-15)
        if exact:
            assert guard.worth() == announced.kinds[0].omega * 2 * guard.credit[0][0]


def test_credits_are_raised_within_what_was_earned() -> None:
    """Not before anything is earned; then by the same part of each need, for half of what is left."""
    given = _of((Kind(1, 10, 10),), ((5,), 3, 100))
    guard = Guard(given.public(""), announce(given, ONE, Fraction(1, 2), ONE), exact=True)
    before, wish = guard.credit[0][0], [np.array([Fraction(10**4)], object)]
    guard.raise_credit((0, 3, [5]), [0], wish)
    assert guard.credit[0][0] == before
    guard.earn(40, Fraction(0))  # all of it is the task's surplus: (1/2 + 1) 40 - 40 is left
    for raised in (10, 15):
        guard.raise_credit((0, 3, [5]), [0], wish)
        assert float((guard.credit[0][0] - before) * guard._worth[0]) == pytest.approx(raised)


MIXES = [(Fraction(a, 4), Fraction(b, 4)) for a, b in ((4, 4), (4, 0), (0, 4), (3, 4), (4, 1))]


@settings(max_examples=samples(100), deadline=None)
@given(
    compute=st.integers(1, 20),
    memory=st.integers(1, 20),
    sizes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=5),
    step=st.sampled_from((ONE, *STEPS)),
    mix=st.sampled_from(MIXES),
)
def test_omega_bounds_whatever_fits_a_node(
    compute: int, memory: int, sizes: list[tuple[int, int]], step: Fraction, mix: tuple[Fraction, Fraction]
) -> None:
    """By a table of all that fits, whatever part of compute and memory counts; exact for exact classes."""
    sizes = [(min(s, compute), min(r, memory)) for s, r in sizes]
    bound = bound_weight(tuple(s for s, _ in sizes), tuple(r for _, r in sizes), step, compute, memory, mix)
    every = {
        (rate, size)
        for s, r in sizes
        for rate in range(max(1, -(-s // step)), s + 1)
        for size in range(max(1, -(-r // step)), r + 1)
    }
    unit = int(4 * mix[0]) * memory, int(4 * mix[1]) * compute
    most = Fraction(heaviest(sorted(every), compute, memory, unit), 4 * compute * memory)
    assert most <= bound <= sum(mix)
    if step == 1:
        assert most == bound


@pytest.mark.parametrize(
    ("tasks", "unit"), [(((5, 1), (3, 1)), (Fraction(1, 10), 0)), (((1, 5), (1, 3)), (0, Fraction(1, 10)))]
)
def test_what_is_more_in_demand_is_what_weighs(
    tasks: tuple[tuple[int, int], ...], unit: tuple[Fraction, Fraction]
) -> None:
    """Compute alone, or memory alone, where the other is never short: then Omega is 1, and beta is not divided."""
    given = _of((Kind(3, 10, 10),), *(((rate,), memory, 100) for rate, memory in tasks))
    announced = announce(given, Fraction(20), ONE, ONE)
    kind = announced.kinds[0]
    assert [kind.weigh(rate, memory) for rate, memory in tasks] == [
        max(rate * unit[0], memory * unit[1]) for rate, memory in tasks
    ]
    assert kind.omega <= 1
    assert announced.factor == 1 + 20


def test_a_sale_below_the_limit_is_made_good() -> None:
    """As far as what was earned allows, in equal parts for the slots; the credit is then Phi, and the rest is less."""
    jobs = tuple(Job(1, 2, 3, 5, 100 + i, (5,)) for i in range(2))
    given = instance(TinyInstance(2, (Kind(1, 10, 10),), jobs))
    announced = announce(given, Fraction(4), Fraction(0), ONE)
    guard = Guard(given.public(""), announced, exact=True)
    least, _ = _limits(guard, 1, 2)
    wish = np.array([Fraction(0), least[1]], object)
    assert least[0] > 0
    assert guard.allowance(2) == 0
    assert (guard.discount(least, wish, 0) == least).all()
    guard.earn(200, Fraction(150))
    rest = 4 * 200 - 50
    assert guard.allowance(2) == Fraction(rest, 2 * 4 * 2)
    lower = guard.discount(least, wish, guard.allowance(2))
    assert lower[1] == least[1]
    assert lower[0] == least[0] - min(least[0], Fraction(rest, 2 * 4 * 2))
    worth = guard.worth()
    guard.sell((3, [5]), np.array([0]), np.array([0]), lower[:1], (np.array([10]), np.array([10])))
    grown = guard.worth() - worth
    assert grown == 4 * least[0]
    assert _limits(guard, 1, 1)[0][0] >= 0
    assert guard.allowance(1) == Fraction(rest - grown, 2 * 4)


def test_options_of_the_guard_are_read() -> None:
    options = {"guard": "59", "rho": "1", "margin": "3/2", "past": "settled"}
    assert guard_settings("learned", options, "guard") == (59, 1, Fraction(3, 2), True, 128)
    assert guarantee(options, "guard").startswith("OPT <= (1 + max(1, 59)) ALG + A0, ")
    assert guard_settings("learned", options | {"guard": "0"}, "guard") is None
