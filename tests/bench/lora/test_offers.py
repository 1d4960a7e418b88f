"""Offers that are found again in one compiled loop: the very costs, facts and doubts of one task at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.theory.payments import cost_kernel, offers
from ratiobench.bench.lora.theory.payments.offers import OfferVerification, verify_offers
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import LinearTrace
from ratiobench.online.outcome import OnlineRun
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

FLOATS = ("posted:arith=float", "posted:arith=float,room=ignored", "capped:arith=float", "bbar-rule:arith=float")


def _both(instance: Instance, found: OnlineRun, **more: Any) -> tuple[OfferVerification, OfferVerification]:
    used: list[cost_kernel.FoundCosts | None] = []

    def find(*each: Any) -> cost_kernel.FoundCosts | None:
        used.append(cost_kernel.find_costs(*each))
        return used[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offers, "find_costs", find)
        at_once = verify_offers(instance, found, **more)
    assert len(used) == 1
    assert used[0] is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offers, "find_costs", lambda *_: None)
        return at_once, verify_offers(instance, found, **more)


@pytest.mark.parametrize("name", FLOATS)
@settings(max_examples=samples(20))
@given(instance=tiny_instances(max_tasks=5))
def test_the_same_doubles(name: str, instance: Instance) -> None:
    at_once, one_by_one = _both(instance, run(instance, name))
    assert at_once == one_by_one
    assert at_once.broken is None


@settings(max_examples=samples(20))
@given(instance=tiny_instances(max_tasks=5))
def test_the_same_integers(instance: Instance) -> None:
    """Of the rule without prices, as in a run of many tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offers, "EXACT_TASKS", -1)
        at_once, one_by_one = _both(instance, run(instance, "greedy"))
    assert at_once == one_by_one
    assert all(cost is None or isinstance(cost, int) for cost in at_once.costs)


@settings(max_examples=samples(20))
@given(instance=tiny_instances(max_tasks=5), data=st.data())
def test_the_same_breach(instance: Instance, data: st.DataObject) -> None:
    """Of a run whose offers were tampered with: a decision dropped, a cost moved, an admission turned."""
    found = run(instance, "posted:arith=float")
    assert isinstance(found.trace, LinearTrace)
    if not found.trace.offers:
        return
    i = data.draw(st.integers(0, len(found.trace.offers) - 1))
    offer, decisions = found.trace.offers[i], list(found.decisions)
    kind = data.draw(st.sampled_from(["drop", "cost", "turn", "price"]))
    if kind == "drop":
        decisions[i] = None
    elif kind == "price":
        found.trace.lam[0, 1] = 0.5
    elif offer.value is not None:
        dearer = replace(offer, payment=3.0, value=float(offer.value) + 3)
        found.trace.offers[i] = dearer if kind == "cost" else replace(offer, admitted=not offer.admitted)
    at_once, one_by_one = _both(instance, replace(found, decisions=tuple(decisions)))
    assert at_once == one_by_one


def test_the_allowance_of_the_loop_ends_in_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("tiny_two_types")
    result = run(instance, "posted:arith=float")
    at_once, one_by_one = _both(instance, result, until=1)
    assert at_once == one_by_one
    assert len(at_once.costs) == 2
    monkeypatch.setattr(offers, "COMPILED_TASKS", 3)
    at_once, one_by_one = _both(instance, result)
    assert at_once.costs == one_by_one.costs[: len(at_once.costs)]
    assert "found again" in at_once.doubt
    assert not one_by_one.doubt


def test_what_the_loop_cannot_do_is_done_one_by_one() -> None:
    """Costs beyond 2^53 where nothing has a price, and cells that no referee passes."""
    whole = named("tiny_two_types")
    found = run(whole, "greedy")
    moved = [each and each._replace(cells=((99, 1),)) for each in found.decisions]
    assert cost_kernel.find_costs(whole, moved, None, None, whole.tasks, 99) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost_kernel, "DOUBLES", 1)
        assert cost_kernel.find_costs(whole, found.decisions, None, None, whole.tasks, 99) is None
