"""The corrected mechanisms: their search and their decisions against enumeration, in fractions."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.model import Public
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.algorithms import greedy
from ratiobench.online.lora.mechanism import ExactPrices, FloatPrices, FreeCapacity
from ratiobench.online.lora.roots import gain_below, is_gain_below, share_above
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import LinearTrace, Rule
from tests.support.literal import in_gigabytes
from tests.support.mechanisms import (
    CANONICAL,
    MECHANISMS,
    Prices,
    cheapest_by_enumeration,
    decide_by_definition,
    priced_instances,
    roomy_instances,
)
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

_RULE = Rule(Fraction(1), Fraction(1), Fraction(1), by_bbar=False)


def _book(kind: type[ExactPrices] | type[FloatPrices], public: Public, lam: Prices, phi: Prices) -> Any:
    book = kind(public, _RULE)
    for (k, t), value in lam.items():
        book.lam[(k, t) if isinstance(book, ExactPrices) else (k, t - 1)] = value
    for (k, t), value in phi.items():
        book.phi[(k, t) if isinstance(book, ExactPrices) else (k, t - 1)] = value
    return book


@settings(max_examples=samples(80))
@given(priced=priced_instances(), data=st.data())
def test_the_search_finds_the_schedule_that_enumeration_finds(
    priced: tuple[Instance, Prices, Prices], data: st.DataObject
) -> None:
    """In fractions and in doubles: cost, vendor, cells and ties, with and without room; negative costs included."""
    instance, lam, phi = priced
    public = instance.public("")
    kind = public.type_of_node
    shape = (instance.nodes, instance.slots)
    free = st.lists(st.integers(0, 6), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    compute, memory = (np.array(data.draw(free), dtype=np.int64).reshape(shape) for _ in range(2))
    compute = np.minimum(compute, public.compute[kind][:, None])
    memory = np.minimum(memory, public.memory_mb[kind][:, None])
    books = [_book(each, public, lam, phi) for each in (ExactPrices, FloatPrices)]
    for i in range(instance.tasks):
        task = instance.task(i)

        def fits(k: int, t: int) -> bool:
            rate = task.rate[kind[k]]  # noqa: B023
            return bool(rate <= compute[k, t - 1] and task.memory_mb <= memory[k, t - 1])  # noqa: B023

        for room, wanted in (
            (None, cheapest_by_enumeration(task, public, lam, phi)),
            (FreeCapacity(compute, memory), cheapest_by_enumeration(task, public, lam, phi, fits)),
        ):
            for book in books:
                found = book.cheapest(task, room)
                assert (found is None) == (wanted is None)
                if found is not None and wanted is not None:
                    assert (found.cost, found.option, found.cells) == wanted
                    assert found.work == sum(int(task.rate[kind[k]]) for k, _ in found.cells)
                    assert found.energy == sum(int(task.cost[kind[k], t - 1]) for k, t in found.cells)


@pytest.mark.parametrize("name", [*MECHANISMS, CANONICAL, "posted:room=ignored"])
@settings(max_examples=samples(40))
@given(instance=st.one_of(tiny_instances(), roomy_instances(max_tasks=4)))
def test_a_mechanism_decides_as_its_definition_says(name: str, instance: Instance) -> None:
    """Schedule, vendor, charge and exact cost of every task, and all prices in the end, by enumerated schedules."""
    result = run(instance, name)
    trace = result.trace
    assert isinstance(trace, LinearTrace)
    assert (result.valid, result.arithmetic) == (True, "exact")
    book: tuple[Prices, Prices] = ({}, {})
    wanted = decide_by_definition(instance, trace.rule, book)
    assert [trace.lam, trace.phi] == [{cell: price for cell, price in part.items() if price} for part in book]
    for i, (cost, answer) in enumerate(wanted):
        offer, decision = trace.offers[i], result.decisions[i]
        assert offer.value == (None if cost is None else int(instance.bid[i]) - cost)
        assert (None if decision is None else decision[:3]) == answer
        assert offer.payment == (cost if answer is not None else None)


@pytest.mark.parametrize("arith", ["exact", "float"])
def test_prices_grow_by_b_on_cells_that_are_used_again(arith: str) -> None:
    """B = 4, eta = 32/7, s = r = 1 of 4: eta/4 after one task, eta/4 (1 + 4/4) + eta/4 after two; not for 6."""
    data = document(in_gigabytes(named("truth_overbid_e")))
    data["tasks"] = [data["tasks"][2]] * 2 + [data["tasks"][2] | {"bid": 6}]
    trace = run(parse(data), f"posted:growth=4,arith={arith}").trace
    eta = trace.rule.eta_c
    assert (eta, trace.rule.eta_m) == (Fraction(32, 7), eta)
    assert [offer.admitted for offer in trace.offers] == [True, True, False]
    after = {(0, 1): pytest.approx(3 * eta / 4) if arith == "float" else 3 * eta / 4}
    assert (trace.lam, trace.phi) == (after, after)


def test_the_rules_are_the_theorems() -> None:
    """B, eta and G of each mechanism from its constants, on an instance where all are short."""
    instance = in_gigabytes(named("truth_overbid_e"))  # s = r = 1, C = 4: eps = 1/4; bids 2, 6, 8
    posted, edit, capped, bbar = (_rule(instance, name) for name in ("posted:growth=4", *MECHANISMS[1:]))
    # G = (1 + 4/4)^3 - 1 = 7, X = 8.
    assert posted == Rule(Fraction(4), Fraction(32, 7), Fraction(32, 7), by_bbar=False, gain=Fraction(7))
    gain = edit.gain
    assert gain is not None
    assert (1 + gain) ** 4 <= 8 < (1 + gain + Fraction(1, 2**19)) ** 4
    assert edit == Rule(Fraction(1), 8 / gain, 8 / gain, by_bbar=True, gain=gain)
    # (1 + 2/4)^4 - 1 = 65/16, cut to 20 binary digits (it has 7); X' = 0.35 * 8.
    assert (capped.gain, capped.eta_c) == (Fraction(65, 16), 2 * Fraction("0.35") * 8 / Fraction(65, 16))
    # Medians 6 and 6; bbar of the cheapest schedules: 2/2, (6-3)/2, 8/2.
    step = 6 / Fraction(3, 2) / Fraction("1.72")
    assert bbar == Rule(Fraction(1), step, step, by_bbar=True)


def test_compute_and_memory_have_steps_of_their_own() -> None:
    """Each mechanism from constants that are given: what is about memory moves phi, what is about compute lambda."""
    instance = in_gigabytes(named("truth_overbid_e"))
    # (1 + 2/2)^1 - 1 = 1; (1 + 3/2)^2 - 1 = 21/4.
    posted = _rule(instance, "posted:growth=2,cap_compute=3,cap_memory=5,largest_share=1/2,spread=9")
    assert (posted.eta_c, posted.eta_m) == (6, 10)
    edit = _rule(instance, "minimal-edit:cap_compute=3,cap_memory=5,largest_share=1/2")
    assert edit.gain is not None
    assert (edit.eta_c, edit.eta_m) == (3 / edit.gain, 5 / edit.gain)
    assert edit.weights == (1, 1)
    units = _rule(instance, f"{CANONICAL},cap_compute=3,cap_memory=5,largest_share=1/2,spread=30")
    assert units == replace(edit, weights=(Fraction(1, 10), Fraction(1, 6)))
    assert units.bbar(net=7, work=20, use=6) == Fraction(7, 3)
    capped = _rule(instance, "capped:growth=3,scale=1/7,alpha=3,memory_density=5,largest_share=1/2")
    assert (capped.eta_c, capped.eta_m) == (Fraction(9, 7) / Fraction(21, 4), Fraction(15, 7) / Fraction(21, 4))
    medians = "median_work_density=3,median_memory_density=5,median_bbar=2"
    bbar = _rule(instance, f"bbar-rule:divisor=7,{medians}")
    assert (bbar.eta_c, bbar.eta_m) == (Fraction(3, 14), Fraction(5, 14))


@pytest.mark.parametrize("doubles", [2**53, 0], ids=["in doubles", "in integers"])
def test_greedy_decides_as_its_definition_says(doubles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero prices for ever: the cheapest schedule with room, vendor and charge, by either kernel."""
    monkeypatch.setattr(greedy, "DOUBLES", doubles)
    free = Rule(Fraction(1), Fraction(0), Fraction(0), by_bbar=False)

    @settings(max_examples=samples(60))
    @given(instance=st.one_of(tiny_instances(max_tasks=5), roomy_instances()))
    def decides(instance: Instance) -> None:
        wanted = [answer for _, answer in decide_by_definition(instance, free)]
        assert [d if d is None else d[:3] for d in run(instance, "greedy").decisions] == wanted

    decides()


def test_greedy_in_integers_takes_the_first_node_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks that fill a node each, on three nodes alike; whole numbers are used where doubles are too short."""
    data = document(in_gigabytes(named("truth_overbid_e")))
    data["node_types"][0]["count"] = 3
    data["tasks"] = [data["tasks"][2] | {"rate": [4], "work": 4}] * 4
    asked = []
    integers = greedy.Greedy._in_integers
    monkeypatch.setattr(greedy.Greedy, "_in_integers", lambda *told: asked.append(told[1].index) or integers(*told))
    for doubles, by_integers in ((2**53, []), (0, [0, 1, 2, 3])):
        monkeypatch.setattr(greedy, "DOUBLES", doubles)
        decisions = run(parse(data), "greedy").decisions
        assert [d if d is None else d.cells for d in decisions] == [((k, 1),) for k in range(3)] + [None]
        assert asked == by_integers


def _rule(instance: Instance, name: str) -> Rule:
    trace = run(instance, name).trace
    assert isinstance(trace, LinearTrace)
    return trace.rule


@settings(max_examples=samples(200))
@given(
    base=st.fractions(1, 60, max_denominator=300),
    share=st.fractions(Fraction(1, 500), 1, max_denominator=500),
    over=st.booleans(),
)
def test_real_powers_are_bounded_from_below_and_closely(base: Fraction, share: Fraction, over: bool) -> None:
    """G is below the power and within 2^-18 of it, proved in integers; shares are rounded up to 4096ths."""
    exponent = 1 / share if over else (1 - share) / share
    assume(exponent < 60)
    gain = gain_below(base, exponent)
    assert is_gain_below(gain, base, exponent)
    assert gain == 0 or not is_gain_below(gain * (1 + Fraction(1, 2**18)), base, exponent)
    assert (gain == 0) == (base == 1 or exponent == 0)
    assert share_above(share) == share
    odd = Fraction(10**6 - 1, 3 * 10**6)
    assert odd < share_above(odd) <= odd + Fraction(1, 4096)
    assert share_above(odd).denominator <= 4096
