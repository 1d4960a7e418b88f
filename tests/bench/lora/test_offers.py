"""Offers that are found again by compiled tables: the very costs, facts and doubts of the search in Python."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.theory.payments import offers
from ratiobench.bench.lora.theory.payments.offers import OfferVerification, verify_offers
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import LinearTrace
from ratiobench.online.outcome import OnlineRun
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

ROWS = (
    *("posted:arith=float", "posted:arith=float,room=ignored", "capped:arith=float", "bbar-rule:arith=float"),
    "greedy",
)


def _both(instance: Instance, found: OnlineRun, **more: Any) -> tuple[OfferVerification, OfferVerification]:
    """By tables, and with every table refused as too large."""

    def refuse(*_: object) -> None:
        raise StateSpaceTooLarge("too large")

    in_tables = verify_offers(instance, found, **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offers, "states", refuse)
        return in_tables, verify_offers(instance, found, **more)


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=samples(20))
@given(instance=tiny_instances(max_tasks=5))
def test_the_same_costs(name: str, instance: Instance) -> None:
    in_tables, in_python = _both(instance, run(instance, name))
    assert in_tables == in_python
    assert in_tables.broken is None
    assert name != "greedy" or all(cost is None or isinstance(cost, int) for cost in in_tables.costs)


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
    in_tables, in_python = _both(instance, replace(found, decisions=tuple(decisions)))
    assert in_tables == in_python


def test_the_allowance_of_tables_ends_in_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("tiny_two_types")
    result = run(instance, "posted:arith=float")
    in_tables, in_python = _both(instance, result, until=2)
    assert in_tables == in_python
    assert len(in_tables.costs) == 2
    whole = verify_offers(instance, result)
    monkeypatch.setattr(offers, "TABLES", 3)
    short = verify_offers(instance, result)
    assert short.costs == whole.costs[: len(short.costs)]
    assert "found again" in short.doubt
    assert not whole.doubt
